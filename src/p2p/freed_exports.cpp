#include "p2p/freed_exports.hpp"

#include "base/clock.hpp"
#include "mem/mem.hpp"
#include "p2p/engine.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p::freed_exports {
namespace {

constexpr double kSweepSeconds = 200e-6;
// Even the clock is only looked at now and then.
constexpr unsigned kRoundsBetweenLooks = 64;

double next_sweep = 0;
unsigned rounds = 0;

void revoke(int process, std::uint64_t allocation) {
  send_answer(process, wire::answer(wire::Kind::kRevoke, allocation));
}

void refuse(int process) { send_answer(process, wire::answer(wire::Kind::kRefuse, 0)); }

bool look(void*) {
  if (++rounds % kRoundsBetweenLooks != 0) return false;
  const double now = now_seconds();
  if (now < next_sweep) return false;
  next_sweep = now + kSweepSeconds;
  mem::sweep_exports();
  if (!mem::any_exports()) remove_hook(&look, nullptr);
  return false;
}

void begin() { add_hook(&look, nullptr); }

}  // namespace

void init() { mem::set_export_keeper(&begin, &revoke, &refuse); }

void finalize() {
  remove_hook(&look, nullptr);
  mem::set_export_keeper(nullptr, nullptr, nullptr);
}

}  // namespace hr::p2p::freed_exports
