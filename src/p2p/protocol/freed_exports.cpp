#include "p2p/protocol/freed_exports.hpp"

#include "base/clock.hpp"
#include "mem/mem.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p::freed_exports {
namespace {

constexpr double kSweepSeconds = 200e-6;
// Number of rounds between two readings of the clock.
constexpr unsigned kRoundsBetweenLooks = 64;

struct State final : FileState {
  double next_sweep = 0;
  unsigned rounds = 0;
};
State& state() { return own<State>(); }

// Memory is exported only to processes of this host; there is no path to one that has disconnected.
void tell(int process, const transport::Header& header) {
  if (transport::shares_memory(process)) send_control(process, header);
}

void revoke(int process, std::uint64_t allocation) { tell(process, wire::answer(wire::Kind::kRevoke, allocation)); }

void refuse(int process, mem::Unmappable what) {
  tell(process, wire::answer(wire::Kind::kRefuse, static_cast<std::uint64_t>(what)));
}

void deliver_revoke(int from, const transport::Header& header, const std::byte*, std::size_t) {
  const std::uint64_t memory = header.words[2];
  for (const Rendezvous* each : protocols()) {
    if (each->forget != nullptr) each->forget(from, memory);
  }
  mem::forget_peer_memory(from, memory);
}

void deliver_refuse(int from, const transport::Header& header, const std::byte*, std::size_t) {
  mem::hide_memory_from(from, header.words[2] == 0 ? mem::Unmappable::kChunks : mem::Unmappable::kAll);
}

constexpr Arrival kArrivals[] = {{wire::Kind::kRevoke, deliver_revoke}, {wire::Kind::kRefuse, deliver_refuse}};

bool look(void*) {
  if (++state().rounds % kRoundsBetweenLooks != 0) return false;
  const double now = now_seconds();
  if (now < state().next_sweep) return false;
  state().next_sweep = now + kSweepSeconds;
  mem::sweep_exports();
  if (!mem::any_exports()) remove_hook(&look, nullptr);
  return false;
}

void begin() { add_hook(&look, nullptr); }

}  // namespace

std::span<const Arrival> arrivals() noexcept { return kArrivals; }

void init() { mem::set_export_hooks(&begin, &revoke, &refuse); }

void finalize() {
  remove_hook(&look, nullptr);
  mem::set_export_hooks(nullptr, nullptr, nullptr);
}

}  // namespace hr::p2p::freed_exports
