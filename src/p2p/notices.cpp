#include "p2p/notices.hpp"

#include "p2p/engine.hpp"
#include "p2p/loss.hpp"
#include "p2p/rendezvous.hpp"

namespace hr::p2p {
namespace {

struct Handlers final : FileState {
  NoticeHandler of[kNotices] = {};
};

void deliver_notice(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (wire::way(header) >= kNotices) return drop_arrival(from, header, payload, bytes);
  const NoticeHandler handler = own<Handlers>().of[wire::way(header)];
  if (handler != nullptr) handler({from, is_lost(from), header.words[1], payload, bytes});
}

constexpr Arrival kArrivals[] = {{wire::Kind::kNotice, deliver_notice}};

}  // namespace

std::span<const Arrival> notice_arrivals() noexcept { return kArrivals; }

void set_notice_handler(Notice kind, NoticeHandler handler) {
  if (engine() != nullptr) own<Handlers>().of[static_cast<std::size_t>(kind)] = handler;
}

void send_notice(int proc, Notice kind, std::uint64_t subject, const void* payload, std::size_t bytes) {
  send_control(proc, wire::notice(static_cast<std::uint8_t>(kind), subject), payload, bytes);
}

}  // namespace hr::p2p
