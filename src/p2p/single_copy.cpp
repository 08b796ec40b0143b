#include "p2p/single_copy.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "p2p/engine.hpp"
#include "p2p/shared_copy.hpp"

namespace hr::p2p {
namespace single_copy {
namespace {

constexpr int kTrials = 4;
// Seconds that stand for "not this way", and for a stream that is not known.
constexpr double kSlow = 1.0;
constexpr double kUnknown = 0.5;
// A stream must be faster by this to be preferred: it needs the sender all the while, which may be computing.
constexpr double kStreamGain = 0.8;

// Seconds a byte, and how often it was tried.
struct Rate {
  double seconds_per_byte = 0;
  int tried = 0;
  // The best seen: for what is tried seldom, the first times in memory that nobody has touched yet.
  void add_best(double seconds, std::size_t bytes) {
    const double rate = seconds / static_cast<double>(bytes);
    if (tried == 0 || rate < seconds_per_byte) seconds_per_byte = rate;
    ++tried;
  }
  // What it takes of late: a good time now and then is no reason.
  void add_recent(double seconds, std::size_t bytes) {
    const double rate = seconds / static_cast<double>(bytes);
    seconds_per_byte = tried == 0 ? rate : 0.75 * seconds_per_byte + 0.25 * rate;
    ++tried;
  }
  [[nodiscard]] double seconds(std::size_t bytes) const { return seconds_per_byte * static_cast<double>(bytes); }
};

struct SizeClass {
  Rate read;
  Rate stream;
  std::uint64_t transfers = 0;
  [[nodiscard]] bool measuring() const {
    return read.tried < kTrials || stream.tried < kTrials || std::has_single_bit(transfers);
  }
};

std::array<SizeClass, 65> classes;
const Request* timed = nullptr;  // the receive whose stream is being timed; one at a time
std::size_t first_piece = 0;     // of it
bool refused = false;            // the system does not let us read other processes
bool refusal_noted = false;

SizeClass& class_of(std::size_t bytes) { return classes[static_cast<std::size_t>(std::bit_width(bytes))]; }

bool eligible(const Announcement& announced, const Request& receive) {
  return announced.remote_address != 0 && receive.view_.contiguous && receive.view_.where.is_host() &&
         receive.total_ >= knobs().single_copy_bytes;
}

double probe(const Announcement& announced, const Request& receive, const transport::Caps& caps) {
  if (!caps.remote_read || refused || !eligible(announced, receive)) return kCannot;
  if (knobs().shm_single_copy == ShmSingleCopyChoice::kOn) return 0.0;
  const SizeClass& size_class = class_of(receive.total_);
  // What is read meanwhile would count for the stream that is timed.
  if (timed != nullptr) return kSlow;
  if (size_class.measuring()) return size_class.read.tried <= size_class.stream.tried ? 0.0 : kSlow;
  return kStreamGain * size_class.read.seconds(receive.total_);
}

Status begin(const Announcement& announced, Request& receive) {
  ++class_of(receive.total_).transfers;
  const Status status = shared_copy::begin(announced, receive);
  if (!status.ok()) {
    refused = true;
    log::note_once(refusal_noted, "large messages take two copies instead of one: %s", take_detail().c_str());
  }
  return status;
}

}  // namespace

double stream_seconds(const Announcement& announced, const Request& receive) {
  if (!eligible(announced, receive)) return kUnknown;
  const SizeClass& size_class = class_of(receive.total_);
  if (timed != nullptr || size_class.measuring()) return kUnknown;
  return size_class.stream.seconds(receive.total_);
}

void stream_begins(const Announcement& announced, const Request& receive) {
  if (!eligible(announced, receive)) return;
  SizeClass& size_class = class_of(receive.total_);
  if (timed == nullptr && size_class.measuring()) timed = &receive;
  ++size_class.transfers;
}

void piece_arrived(Request& receive, std::size_t bytes) {
  if (receive.offset_ == 0) {
    receive.started_ = now_seconds();
    first_piece = bytes;
  }
  if (receive.offset_ + bytes < receive.total_) return;
  // From piece to piece: the sender may have begun late.
  if (const std::size_t rest = receive.total_ - first_piece; rest != 0)
    class_of(receive.total_).stream.add_best(now_seconds() - receive.started_, rest);
}

void ends(const Request& receive) {
  if (timed == &receive) timed = nullptr;
}

bool times(const Request& receive) { return timed == &receive; }

void read_took(const Request& receive, double seconds) {
  class_of(receive.total_).read.add_recent(seconds, receive.total_);
}

}  // namespace single_copy

const Rendezvous kSingleCopy{"single_copy", single_copy::probe, single_copy::begin};

}  // namespace hr::p2p
