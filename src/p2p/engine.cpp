#include "p2p/engine.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "p2p/buffered.hpp"
#include "p2p/device_get.hpp"
#include "p2p/device_put.hpp"
#include "p2p/freed_exports.hpp"
#include "p2p/local_copy.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/staged.hpp"

namespace hr::p2p {
namespace {

// Where what arrives by another transport than the one that sleeps does not end the sleep.
constexpr double kSleepUnheard = 200e-6;

std::unique_ptr<Engine> the_engine;

// The path to a process has failed. Whoever waits for it would wait for ever.
void lose(int proc, Status /*why*/) {
  boot::abort(1, "rank " + std::to_string(proc) + " cannot be reached any more: " + take_detail());
}

}  // namespace

Matcher& make_matcher(std::uint32_t context) {
  auto& matchers = the_engine->matchers;
  if (context >= matchers.size()) matchers.resize(context + 1);
  matchers[context] = std::make_unique<Matcher>();
  return *matchers[context];
}

Status connect(Peer& peer) {
  HR_TRY(transport::connect(peer.proc, &peer.transport));
  peer.caps = peer.transport->caps(peer.proc);
  // A synchronous eager message carries a cookie in front of its data.
  peer.eager_bytes = std::min(knobs().eager_bytes, peer.caps.max_payload - sizeof(wire::EagerSyncHead));
  peer.plain_below = peer.eager_bytes + 1;
  return kOk;
}

void mark_busy(Peer& peer) {
  if (peer.busy) return;
  peer.busy = true;
  the_engine->busy.push_back(&peer);
  progress_thread::wake();
}

Status init() {
  const boot::Identity& identity = boot::identity();
  the_engine = std::make_unique<Engine>();
  current_engine = the_engine.get();
  the_engine->rank = identity.rank;
  the_engine->peers = std::vector<Peer>(static_cast<std::size_t>(identity.size));
  for (int proc = 0; proc < identity.size; ++proc) the_engine->peers[static_cast<std::size_t>(proc)].proc = proc;
  the_engine->processes_on_node = identity.processes_here;
  the_engine->oversubscribed = the_engine->processes_on_node > ::sysconf(_SC_NPROCESSORS_ONLN);
  const transport::Job job{identity.rank, identity.size, identity.node_of_rank, identity.job_id};
  add_handlers(the_engine->upcalls.handlers);
  the_engine->upcalls.lost = lose;
  HR_TRY(transport::init(job, the_engine->upcalls));
  freed_exports::init();
  the_engine->transports = transport::active();
  for (transport::Transport* each : the_engine->transports) {
    if (!each->can_sleep()) continue;
    if (the_engine->sleeper == nullptr) {
      the_engine->sleeper = each;
    } else {
      the_engine->sleep_limit = kSleepUnheard;
    }
  }
  the_engine->done = completed_request(Completion{});
  if (the_engine->done == nullptr) return fail(Errc::kNoMem, "no address space for requests");
  count_cores();
  set_pace();
  return kOk;
}

Status finalize() {
  if (the_engine == nullptr) return kOk;
  progress_thread::stop();
  HR_TRY(process_buffer().flush());
  wait_until([] { return the_engine->busy.empty() && staged::idle(); });
  staged::finalize();
  device_get::finalize();
  device_put::finalize();
  freed_exports::finalize();
  local_copy::finalize();
  const Status status = transport::finalize();
  release(the_engine->done);
  current_engine = nullptr;
  the_engine.reset();
  return status;
}

}  // namespace hr::p2p
