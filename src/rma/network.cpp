#include "rma/network.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/statistics.hpp"
#include "p2p/p2p.hpp"
#include "p2p/process_failure.hpp"
#include "rma/operation.hpp"
#include "rma/origin.hpp"
#include "rma/state.hpp"

namespace hr::rma {

namespace {

constexpr int kKeysTag = 0x10030;

// Message to the other members, which describes how to reach the sender's part.
struct Reach {
  std::uint64_t address = 0;
  transport::RemoteKey key;  // empty if the part cannot be reached over the network
};

Reach expose_own(Window& window) {
  Reach own{};
  std::byte* const base = window.own().base;
  if (!has_network(window) || !window.where_.is_host() || base == nullptr || window.own().bytes == 0) return own;
  const Status exposed =
      transport::exposing()->expose(base, static_cast<std::size_t>(window.own().bytes), &window.key_);
  if (!exposed.ok()) {
    log::write(log::Level::kDecision, "other processes use messages for this part of a window: %s",
               take_detail().c_str());
    window.key_ = {};
    return own;
  }
  own.address = reinterpret_cast<std::uint64_t>(base);
  own.key = window.key_;
  return own;
}

// Reaches the member's memory with messages from now on.
void use_messages(Member& member, int proc, const std::string& why) {
  log::write(log::Level::kDecision, "operations on rank %d's part of a window use messages: %s", proc, why.c_str());
  member.path = Path::kMessage;
  member.key.reset();
}

// True if the network executes put and get on the path to the member; the first use determines this.
bool is_reached(Window& window, int rank) {
  Member& member = window.member(rank);
  if (member.memory != nullptr) [[likely]]
    return true;
  const int proc = window.proc(rank);
  transport::Transport* const network = transport::exposing();
  if (network == nullptr || !network->reaches(proc) || !network->connect(proc).ok()) {
    use_messages(member, proc, take_detail());
    return false;
  }
  if (!network->caps(proc).exposed_memory) {
    use_messages(member, proc,
                 "the network does not execute put and get without the target's process (HEADRACE_RMA_NETWORK)");
    return false;
  }
  log::write(log::Level::kDecision, "operations on rank %d's part of a window use the network's put and get", proc);
  member.memory = network;
  return true;
}

void ended(transport::Operation& done) {
  OriginOperation& self = *static_cast<OriginOperation::Moving&>(done).owner;
  self.answered = done.status.ok();
  static_cast<void>(advance(self));
}

// Lists an operation that the network has not executed yet. `counted`: true if the operation uses the origin's buffers.
void list(std::unique_ptr<OriginOperation> self, Window& window, int rank, bool counted) {
  Member& member = window.member(rank);
  self->window = Ref<Window>::share(&window);
  self->rank = rank;
  self->counted = counted;
  self->moving.owner = self.get();
  self->moving.then = ended;
  member.unsent += counted ? 1 : 0;
  ++member.unanswered;
  ++window.unanswered_;
  state->asked.push_back(*self.release());
  watch();
}

}  // namespace

bool has_network(const Window& window) noexcept {
  if (window.flavor_ == Flavor::kDynamic || transport::exposing() == nullptr) return false;
  for (int rank = 0; rank < window.size(); ++rank) {
    if (!p2p::shares_memory(window.proc(rank)) && rank != window.rank()) return true;
  }
  return false;
}

Status share_keys(Window& window, const std::vector<Facts>& facts) {
  if (std::ranges::none_of(facts, [](const Facts& each) { return each.network != 0; })) return kOk;
  const Reach own = expose_own(window);
  std::vector<Reach> all(facts.size());
  HR_TRY(p2p::run_blocking(
      comm::allgather(exchange_members(window, kKeysTag), &own, sizeof own, reinterpret_cast<std::byte*>(all.data()))));
  for (int rank = 0; rank < window.size(); ++rank) {
    const Reach& its = all[static_cast<std::size_t>(rank)];
    Member& member = window.member(rank);
    const bool usable = its.key.bytes != 0 && its.key.bytes <= transport::RemoteKey::kMost;
    if (!usable || member.path != Path::kMessage || p2p::shares_memory(window.proc(rank))) continue;
    member.path = Path::kNetwork;
    member.address = its.address;
    member.key = std::make_unique<transport::RemoteKey>(its.key);
  }
  return kOk;
}

void withdraw_key(Window& window) noexcept {
  const transport::RemoteKey key = std::exchange(window.key_, {});
  if (key.bytes != 0 && transport::exposing() != nullptr) transport::exposing()->withdraw(key);
}

Status start_by_network(Window& window, Operation& operation, p2p::Request** request) {
  const bool puts = operation.kind == OperationKind::kPut;
  const layout::View& local = puts ? operation.origin : operation.result;
  const layout::View target = view_of_target(window, operation);
  if (!local.allows_network() || !target.contiguous || !is_reached(window, operation.rank)) return Status::again();
  HR_TRY(await_room(window, operation.rank));
  Member& member = window.member(operation.rank);
  const int proc = window.proc(operation.rank);
  auto self = std::make_unique<OriginOperation>();
  if (request != nullptr) HR_TRY(make_program_request(*self, request));
  const transport::RemotePart part{reinterpret_cast<std::uint64_t>(target.data()), local.data(),
                                   std::min(local.packed, target.packed)};
  const Status started = puts ? member.memory->put(proc, member.key.get(), {&part, 1}, &self->moving)
                              : member.memory->get(proc, member.key.get(), {&part, 1}, &self->moving);
  if (!started.ok()) {
    // If the process has failed, sending it a message reports the failure.
    const std::string why = take_detail();
    if (started == Errc::kUnsupportedOperation) use_messages(member, proc, why);
    if (request != nullptr) {
      release(std::exchange(*request, nullptr));
      release(self->program);
    }
    return Status::again();
  }
  add(Statistic::rma_by_network);
  if (puts && !std::exchange(member.unflushed, true)) {
    ++window.unflushed_;
    ++member.unanswered;
    ++window.unanswered_;
  }
  if (!self->moving.complete || !self->moving.status.ok()) {
    list(std::move(self), window, operation.rank, true);
  } else if (request != nullptr) {
    self->program->finish({});
    release(self->program);
  }
  return kOk;
}

void flush_network(Window& window, int rank) {
  Member& member = window.member(rank);
  if (!std::exchange(member.unflushed, false)) return;
  --window.unflushed_;
  --member.unanswered;
  --window.unanswered_;
  auto self = std::make_unique<OriginOperation>();
  if (const Status started = member.memory->flush(window.proc(rank), &self->moving); !started.ok()) {
    static_cast<void>(take_detail());  // the path has failed, which is reported in a moment
    self->moving.end(started);
  }
  if (!self->moving.complete || !self->moving.status.ok()) list(std::move(self), window, rank, false);
}

}  // namespace hr::rma
