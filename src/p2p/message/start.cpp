// Starts and ends the engine, and the paths to other processes.
#include <unistd.h>

#include <algorithm>

#include "base/events.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "p2p/active_message.hpp"
#include "p2p/buffered.hpp"
#include "p2p/channel.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/counting.hpp"
#include "p2p/failure/failure_watch.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/protocol/freed_exports.hpp"
#include "p2p/protocol/rendezvous.hpp"
#include "p2p/wait/round_watch.hpp"
#include "transport/network/channels.hpp"

namespace hr::p2p {

namespace {

// Sets the limit that follows from the peer's caps.
void limit_eager(Peer& peer) {
  // A synchronous eager message carries a cookie in front of its data.
  const std::size_t longest = peer.caps.max_payload - sizeof(wire::EagerSyncHead);
  peer.eager_bytes = peer.caps.eager_bytes != 0 ? peer.caps.eager_bytes : std::min(knobs().eager_bytes, longest);
}

}  // namespace

bool takes_less(Peer& peer) {
  const transport::Caps now = peer.transport->caps(peer.proc);
  if (now.max_payload >= peer.caps.max_payload) return false;
  log::write(log::Level::kNote, "longer messages to rank %d travel in small pieces: %s", peer.proc,
             take_detail().c_str());
  peer.caps = now;
  limit_eager(peer);
  peer.plain_below = std::min(peer.plain_below, peer.eager_bytes + 1);
  return true;
}

Status connect(int proc, Peer** out) {
  if (peer_of(proc).failed) return failure_error(proc);
  transport::Paths paths;
  if (const Status status = transport::connect(proc, &paths); !status.ok()) {
    // If the job continues after failures, that process has died, and the launcher's report has not arrived yet.
    if (the_engine->failure_watch == nullptr) return status;
    mark_failed(proc, status);
    return failure_error(proc);
  }
  Peer& peer = make_peer(proc);
  peer.transport = paths.messages;
  peer.memory = paths.memory;
  peer.caps = paths.caps;
  limit_eager(peer);
  peer.plain_below = peer.eager_bytes + 1;
  peer.connected = true;
  peer.counted = &row_of(peer);
  *out = &peer;
  return kOk;
}

bool shares_memory(int proc) noexcept { return transport::shares_memory(proc); }

void mark_busy(Peer& peer) {
  if (peer.busy) return;
  peer.busy = true;
  the_engine->busy.push_back(&peer);
  progress_thread::wake();
}

void list_transports() {
  Engine& state = *the_engine;
  const auto active = transport::active();
  state.transports.assign(active.begin(), active.end());
  if (state.failure_watch != nullptr) state.transports.push_back(state.failure_watch.get());
  state.sleeper.open(state.transports);
  state.polls_network = std::ranges::any_of(active, [&state](const auto* each) { return !each->reaches(state.rank); });
  list_round_watch();
  progress.shared_cpus.until = 0;  // this process has yet to report its CPUs to those that new transports reach
}

Status init() {
  const boot::Identity& identity = boot::identity();
  the_engine = std::make_unique<Engine>();
  the_engine->rank = identity.rank;
  the_engine->peers.assign(static_cast<std::size_t>(identity.size), &the_engine->unconnected);
  the_engine->processes_on_node = identity.processes_here;
  the_engine->oversubscribed = the_engine->processes_on_node > ::sysconf(_SC_NPROCESSORS_ONLN);
  const transport::Job job{identity.rank, identity.size, boot::processes(), identity.job_id};
  add_handlers(the_engine->handlers.of_kind);
  events::detail::changed = watch_messages;
  watch_messages();
  the_engine->handlers.failed = mark_failed;
  HR_TRY(transport::init(job, the_engine->handlers));
  freed_exports::init();
  HR_TRY(make_failure_watch(&the_engine->failure_watch));
  // A process that dies as soon as its program starts must not remove anything that others have yet to open.
  if (the_engine->failure_watch != nullptr) HR_TRY(boot::fence());
  list_transports();
  the_engine->done = completed_request(Completion{});
  if (the_engine->done == nullptr) return fail(Errc::kNoMem, "no address space for requests");
  begin_progress();
  set_active_message_handler(ActiveMessageId::kOpenChannel, [](const ActiveMessage& message) {
    channels::open_for(message.from, message.subject, false);
  });
  transport::network::channel_maker = [](int from, int number) {
    channels::open_for(from, static_cast<std::uint64_t>(number), true);
  };
  transport::network::poll_channels = [] { static_cast<void>(channels::poll()); };
  channels::ask_with([](int proc, int number) {
    send_active_message(proc, ActiveMessageId::kOpenChannel, static_cast<std::uint64_t>(number), nullptr, 0);
  });
  return kOk;
}

namespace {

// Waits until all survivors have called finalize(): in a job that continues after failures, they may still query
// whether a message that they have sent was matched (process_failure.hpp).
Status wait_for_survivors() {
  if (the_engine->failure_watch == nullptr) return kOk;
  HR_TRY(boot::begin_fence());
  Status status = kOk;
  bool everybody = false;
  const Status waited = wait_until([&] {
    status = boot::fence_done(&everybody);
    return everybody || !status.ok();
  });
  return status.ok() ? waited : status;
}

}  // namespace

Status finalize() {
  if (the_engine == nullptr) return kOk;
  channels::drain();
  progress_thread::stop();
  freed_exports::finalize();  // other processes unmap everything when they leave
  Status first = process_buffer().flush();
  const auto idle = [](const Rendezvous* each) { return each->idle == nullptr || each->idle(); };
  const Status sent = wait_until(
      [&idle] { return the_engine->busy.empty() && std::all_of(protocols().begin(), protocols().end(), idle); });
  if (first.ok()) first = sent;
  if (const Status waited = wait_for_survivors(); first.ok()) first = waited;
  for (const Rendezvous* each : protocols()) {
    if (each->finalize != nullptr) each->finalize();
  }
  the_engine->sleeper.close();
  const Status closed = transport::finalize(channels::close);
  if (first.ok()) first = closed;
  release(the_engine->done);
  the_engine.reset();
  return first;
}

}  // namespace hr::p2p
