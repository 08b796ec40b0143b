#include "p2p/channel/arrivals.hpp"

#include <cstring>

#include "base/dropped.hpp"
#include "base/lock.hpp"

namespace hr::p2p::channel {
namespace {

// One word, so that it fits into the static thread-local storage of the initial-exec model: every message reads it.
__attribute__((tls_model("initial-exec"))) constinit thread_local Channel* delivering = nullptr;

Envelope envelope_of(const transport::Header& header) noexcept {
  return {static_cast<std::uint32_t>(header.words[0] >> 32), static_cast<int>(header.words[1] & 0xffffffffU),
          static_cast<int>(header.words[1] >> 32)};
}

void deliver_eager(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  delivering->arrive_eager(from, envelope_of(header), payload, bytes);
}
void deliver_rts(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  RtsBody body;
  transport::RendezvousData data;
  if (bytes != sizeof body && bytes != sizeof body + sizeof data)
    return drop(from, "a ready-to-send message of a channel has another length");
  std::memcpy(&body, payload, sizeof body);
  if (bytes != sizeof body) std::memcpy(&data, payload + sizeof body, sizeof data);
  delivering->arrive_rts(from, envelope_of(header), header.words[2], body.sender, body.address, data);
}
void deliver_cts(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  std::uint64_t wanted = 0;
  if (bytes != sizeof wanted) return drop(from, "a clear-to-send message of a channel has another length");
  std::memcpy(&wanted, payload, sizeof wanted);
  delivering->arrive_cts(from, header.words[2], header.words[1], wanted);
}
void deliver_data(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  delivering->arrive_data(from, header.words[1], header.words[2], payload, bytes);
}
void deliver_done(int from, const transport::Header& header, const std::byte*, std::size_t) {
  delivering->arrive_done(from, header.words[2]);
}
void deliver_share(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  ChannelShare share;
  if (bytes != sizeof share) return drop(from, "a request for help with a message has another length");
  std::memcpy(&share, payload, sizeof share);
  delivering->arrive_share(from, header.words[2], header.words[1], share);
}
void deliver_shared(int from, const transport::Header& header, const std::byte*, std::size_t) {
  delivering->arrive_shared(from, header.words[1], header.words[2], header.words[0] >> 32 != 0);
}
void deliver_cancel(int from, const transport::Header& header, const std::byte*, std::size_t) {
  delivering->arrive_cancel(from, envelope_of(header).context, header.words[2]);
}
void deliver_cancelled(int from, const transport::Header& header, const std::byte*, std::size_t) {
  delivering->arrive_cancelled(from, header.words[2]);
}
void deliver_wanted(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  std::uint64_t tag = 0;
  if (bytes != sizeof tag) return drop(from, "a request for data on the engine has another length");
  std::memcpy(&tag, payload, sizeof tag);
  delivering->arrive_wanted(from, header.words[2], header.words[1], static_cast<int>(tag & INT32_MAX));
}
void deliver_failed(int from, const transport::Header& header, const std::byte*, std::size_t) {
  delivering->arrive_failed(from, header.words[1]);
}
void refuse(int from, const transport::Header&, const std::byte*, std::size_t) {
  drop(from, "a channel accepts no messages of its kind");
}

}  // namespace

void add_handlers(transport::MessageHandlers& handlers) {
  handlers.fill(refuse);
  const auto add = [&handlers](Kind kind, transport::Handler handler) {
    handlers[static_cast<std::size_t>(kind)] = handler;
  };
  add(Kind::kEager, deliver_eager);
  add(Kind::kRts, deliver_rts);
  add(Kind::kCts, deliver_cts);
  add(Kind::kData, deliver_data);
  add(Kind::kDone, deliver_done);
  add(Kind::kShare, deliver_share);
  add(Kind::kShared, deliver_shared);
  add(Kind::kCancel, deliver_cancel);
  add(Kind::kCancelled, deliver_cancelled);
  add(Kind::kWanted, deliver_wanted);
  add(Kind::kFailed, deliver_failed);
}

void drop(int from, const char* why) noexcept {
  const LibraryGuard guard;
  drop_message(from, why);
}

void report(events::Event event, std::initializer_list<std::int64_t> elements) {
  const LibraryGuard guard;
  events::emit(event, elements);
}

void set_delivering(Channel* channel) noexcept { delivering = channel; }

}  // namespace hr::p2p::channel
