#include "boot/channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/secret.hpp"

namespace hr::boot {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kPiece = std::size_t{256} << 10;

std::string length_text(std::uint64_t length) {
  std::string bytes(kLengthBytes, '\0');
  for (std::size_t at = 0; at < kLengthBytes; ++at) bytes[at] = static_cast<char>(length >> (8 * at) & 0xff);
  return bytes;
}

std::uint64_t length_of(std::string_view bytes) noexcept {
  std::uint64_t length = 0;
  for (std::size_t at = kLengthBytes; at-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[at]);
  return length;
}

bool would_wait(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Channel::Channel(int socket, bool owned, Greeting greeting)
    : socket_(socket), owned_(owned), greeting_(std::move(greeting)) {
  greeting_over_ = greeting_.expected.empty();
  greeting_sent_ = greeting_over_;
  if (!greeting_sent_ && greeting_.first) {
    out_ = greeting_.own;
    greeting_sent_ = true;
  }
}

Channel::~Channel() {
  if (owned_) ::close(socket_);
}

void Channel::send(std::string_view message) {
  out_.erase(0, written_);
  written_ = 0;
  out_ += length_text(message.size());
  out_ += message;
}

Status Channel::step() {
  HR_TRY(write_some());
  HR_TRY(read_some());
  return write_some();
}

Status Channel::write_some() {
  // The side that sends second holds its messages back until it has verified the other side's greeting.
  if (!greeting_sent_) return kOk;
  while (!flushed()) {
    const ssize_t count = ::send(socket_, out_.data() + written_, out_.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && would_wait(errno)) return kOk;
    if (count < 0)
      return fail(Errc::kOther, "the connection to the other group's root broke: %s", std::strerror(errno));
    written_ += static_cast<std::size_t>(count);
  }
  return kOk;
}

Status Channel::read_up_to(std::size_t size, bool* whole) {
  while (in_.size() < size) {
    const std::size_t have = in_.size();
    const std::size_t piece = std::min(size - have, kPiece);
    in_.resize(have + piece);
    const ssize_t count = ::recv(socket_, in_.data() + have, piece, MSG_DONTWAIT);
    const int reason = errno;
    in_.resize(have + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count > 0) continue;
    *whole = false;
    if (count < 0 && would_wait(reason)) return kOk;
    return fail(Errc::kOther, "the other group's root closed the connection%s%s", count < 0 ? ": " : "",
                count < 0 ? std::strerror(reason) : "");
  }
  *whole = true;
  return kOk;
}

Status Channel::read_some() {
  bool whole = false;
  if (!greeting_over_) {
    HR_TRY(read_up_to(greeting_.expected.size(), &whole));
    if (!whole) return kOk;
    if (!equal_secrets(in_, greeting_.expected))
      return fail(Errc::kPort, "the process that answers at the port is not the one that opened it");
    in_.clear();
    greeting_over_ = true;
    if (!greeting_sent_) {
      out_.insert(0, greeting_.own);
      greeting_sent_ = true;
    }
  }
  if (whole_) return kOk;
  HR_TRY(read_up_to(kLengthBytes, &whole));
  if (!whole) return kOk;
  const std::uint64_t length = length_of(in_);
  if (length > kLongest) return fail(Errc::kOther, "the other group's root sent no valid message of this library");
  HR_TRY(read_up_to(kLengthBytes + static_cast<std::size_t>(length), &whole_));
  return kOk;
}

bool Channel::take(std::string* message) {
  if (!whole_) return false;
  *message = in_.substr(kLengthBytes);
  in_.clear();
  whole_ = false;
  return true;
}

}  // namespace hr::boot
