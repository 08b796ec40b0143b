#include "comm/core/connections.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "boot/boot.hpp"
#include "comm/agree.hpp"
#include "comm/communicator.hpp"
#include "comm/context.hpp"
#include "comm/core/state.hpp"
#include "p2p/connect_groups.hpp"
#include "p2p/process_failure.hpp"

namespace hr::comm {
namespace {

constexpr std::uint32_t kGoodbyeContext = kBootstrapNumber * kContextSpacing + kLeaderContext;
constexpr int kGoodbyeTag = 0x7ffffffe;

template <class Each>
void for_each_other(const Communicator& comm, Each&& each) {
  for (const Ref<Group>* group : {&comm.local_, &comm.remote_}) {
    if (!*group) continue;
    for (const int proc : (*group)->procs()) {
      if (boot::processes().is_other(proc)) each(proc);
    }
  }
}

// Waits until each of the other processes has also called this function, or has failed. A failure does not end the wait
// for the rest.
void wait_for_each(const std::vector<int>& others, std::uint32_t context, int tag) {
  const int self = boot::processes().self();
  std::vector<p2p::Task> tasks;
  tasks.reserve(others.size());
  for (const int proc : others) {
    if (!p2p::has_failed(proc)) tasks.push_back(exchange(self, proc, context, tag, nullptr, nullptr, 0));
  }
  for (p2p::Task& task : tasks) {
    if (!p2p::run_blocking(std::move(task)).ok()) static_cast<void>(take_detail());
  }
}

}  // namespace

void hold_connections(Communicator& comm) {
  if (!boot::processes().has_others()) [[likely]]
    return;
  for_each_other(comm, [&comm](int proc) {
    comm.has_others_ = true;
    if (state != nullptr) ++state->connections.uses[proc];
  });
}

void release_connections(Communicator& comm) noexcept {
  if (!comm.has_others_ || state == nullptr) return;
  // A freed communicator releases no connections, but one that was never completed does.
  if (!comm.disconnects_ && comm.context_ != 0) return;
  std::vector<int> disconnected;
  for_each_other(comm, [&disconnected](int proc) {
    const auto found = state->connections.uses.find(proc);
    if (found == state->connections.uses.end() || --found->second > 0) return;
    state->connections.uses.erase(found);
    disconnected.push_back(proc);
  });
  if (!disconnected.empty()) p2p::disconnect(disconnected);
}

void leave_together(Communicator& comm) {
  if (!comm.has_others_) return;
  std::vector<int> others;
  for_each_other(comm, [&others](int proc) { others.push_back(proc); });
  const auto tag = static_cast<int>(comm.creations_++ & 0x7fffffff);
  wait_for_each(others, comm.context() + kCreationContext, tag);
}

void say_goodbye() {
  std::vector<int> connected;
  for (const auto& [proc, uses] : state->connections.uses) connected.push_back(proc);
  wait_for_each(connected, kGoodbyeContext, kGoodbyeTag);
  state->connections.uses.clear();
  if (!connected.empty()) p2p::disconnect(connected);
}

}  // namespace hr::comm
