#include "p2p/single_copy.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "p2p/engine.hpp"

namespace hr::p2p {
namespace single_copy {
namespace {

constexpr int kTrials = 4;

// Seconds a byte, the best seen, and how often it was tried.
struct Rate {
  double seconds_per_byte = 0;
  int tried = 0;
  void add(double seconds, std::size_t bytes) {
    const double rate = seconds / static_cast<double>(bytes);
    if (tried == 0 || rate < seconds_per_byte) seconds_per_byte = rate;
    ++tried;
  }
  [[nodiscard]] double seconds(std::size_t bytes) const { return seconds_per_byte * static_cast<double>(bytes); }
};

struct SizeClass {
  Rate read;
  Rate stream;
  [[nodiscard]] bool measuring() const { return read.tried < kTrials || stream.tried < kTrials; }
};

std::array<SizeClass, 65> classes;
bool refused = false;  // the system does not let us read other processes
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
  if (size_class.measuring()) return size_class.read.tried <= size_class.stream.tried ? 0.0 : 1.0;
  return size_class.read.seconds(receive.total_);
}

Status begin(const Announcement& announced, Request& receive) {
  Peer& peer = engine()->peers[static_cast<std::size_t>(announced.from_proc)];
  const double start = now_seconds();
  const Status status =
      peer.transport->read_remote(announced.from_proc, announced.remote_address, receive.view_.data(), receive.total_);
  if (status.errc() == Errc::kUnsupportedOperation) {
    refused = true;
    log::note_once(refusal_noted, "large messages take two copies instead of one: %s", take_detail().c_str());
    return status;
  }
  class_of(receive.total_).read.add(now_seconds() - start, receive.total_);
  send_answer(announced.from_proc, wire::answer(wire::Kind::kDone, announced.sender_cookie));
  finish_rendezvous(receive, status);
  return kOk;
}

}  // namespace

double stream_seconds(const Announcement& announced, const Request& receive) {
  if (!eligible(announced, receive)) return 0.5;
  const SizeClass& size_class = class_of(receive.total_);
  if (size_class.measuring()) return 0.5;
  return size_class.stream.seconds(receive.total_);
}

void stream_begins(Request& receive) { receive.started_ = now_seconds(); }

void stream_ends(Request& receive) {
  const double started = std::exchange(receive.started_, 0);
  if (started == 0 || receive.total_ < knobs().single_copy_bytes) return;
  class_of(receive.total_).stream.add(now_seconds() - started, receive.total_);
}

}  // namespace single_copy

const Rendezvous kSingleCopy{"single_copy", single_copy::probe, single_copy::begin};

}  // namespace hr::p2p
