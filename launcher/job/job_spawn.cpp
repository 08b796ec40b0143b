// Services of mpiexec for running ranks: starts other processes, and stores published names.
#include <signal.h>

#include <utility>

#include "boot/key_values.hpp"
#include "job/job.hpp"
#include "plan/planning.hpp"
#include "plan/spawn_request.hpp"

namespace hr::launcher {

using Kind = Message::Kind;

void Job::reply(const Spawner& to, std::string line) {
  if (to.world == nullptr || to.world->over) return;
  to.world->tree->down({.kind = Kind::kReply, .host = to.host, .rank = to.rank, .text = std::move(line)});
}

void Job::on_spawn(World& world, const Message& message) {
  const int host = world.tree->plan().host_of[static_cast<std::size_t>(message.rank)];
  Spawner spawner{&world, host, message.rank};
  const auto refuse = [&](const std::string& why) {
    reply(spawner, "cmd=spawn_result rc=-1 msg=" + boot::escape(why));
  };
  const auto request = decode_spawn(message.text);
  if (ending_) return refuse("the job is ending");
  if (!request || request->programs.empty()) return refuse("the request is not understood");
  spawner.reads_ends = request->reads_ends;
  JobPlan plan;
  if (!plan_spawn(options_, *request, &plan).ok()) return refuse(take_detail());
  ++spawned_;
  World& spawned = add_world(std::move(plan));
  spawned.spawner = spawner;
  if (!open_outputs(spawned)) return;
  spawned.tree->start();
}

void Job::answer_spawn(World& spawned, const std::string& line) {
  spawned.answered = true;
  reply(*spawned.spawner, line);
}

namespace {

// Returns " failed=1,3 msg=..."; omits parts that are empty.
std::string told_of(const std::vector<int>& failed, const std::string& why) {
  std::string text;
  for (const int rank : failed) text += (text.empty() ? " failed=" : ",") + std::to_string(rank);
  return why.empty() ? text : text + " msg=" + boot::escape(why);
}

}  // namespace

// Refuses a spawn, and ends the processes that it has started.
void Job::refuse_spawn(World& spawned, const std::string& why, std::vector<int> failed) {
  answer_spawn(spawned, "cmd=spawn_result rc=-1" + told_of(failed, why));
  end_spawned(spawned);
}

void Job::end_spawned(World& spawned) {
  if (std::exchange(spawned.finishing, true)) return;
  signal(spawned, SIGKILL);
  loop_.after(std::chrono::milliseconds(0), [&spawned] { spawned.tree->down({.kind = Kind::kFinish}); });
}

bool Job::serves() const { return worlds_.front().tree->plan().adopted >= 0; }

bool Job::end_spawned_alone(World& world, int exit_code, const std::string& why) {
  if ((!options_.keep_going && !serves()) || !world.spawner || ending_) return false;
  if (world.finishing) return true;
  world.why_failed = why;
  go_on(exit_code, why);
  tell_spawned_ended(world);
  end_spawned(world);
  return true;
}

// Notifies the spawner, which may still be waiting for processes of the spawned world. Those that use only sessions do
// not connect to it.
void Job::tell_spawned_ended(World& spawned) {
  if (spawned.connected || !spawned.spawner->reads_ends) return;
  reply(*spawned.spawner,
        "cmd=spawn_ended job=" + spawned.tree->plan().id + told_of(spawned.failed, spawned.why_failed));
}

void Job::drop_finished() {
  if (!where_.empty()) return;  // it refers to worlds, and the job ends soon
  for (auto each = worlds_.begin(); each != worlds_.end();) {
    // Standard input and the time limit belong to the first world.
    if (each->number == 0 || !each->over || over_) {
      ++each;
      continue;
    }
    for (World& other : worlds_) {
      if (other.spawner && other.spawner->world == &*each) other.spawner->world = nullptr;
    }
    each = worlds_.erase(each);
  }
}

void Job::on_name(World& world, const Message& message) {
  const int host = world.tree->plan().host_of[static_cast<std::size_t>(message.rank)];
  const Spawner asker{&world, host, message.rank};
  std::vector<KeyValue> pairs;
  if (!unpack(message.text, &pairs) || pairs.size() != 1) return;
  const auto& [service, port] = pairs.front();
  const auto known = names_.find(service);
  const bool is_known = known != names_.end();
  switch (message.numbers[0]) {
    case Message::kPublish:
      if (!is_known) names_[service] = port;
      return reply(asker,
                   is_known ? "cmd=publish_result rc=-1 msg=already_published" : "cmd=publish_result rc=0 msg=success");
    case Message::kUnpublish:
      if (is_known) names_.erase(known);
      return reply(asker,
                   is_known ? "cmd=unpublish_result rc=0 msg=success" : "cmd=unpublish_result rc=-1 msg=not_published");
    default:
      return reply(asker, is_known ? "cmd=lookup_result rc=0 port=" + known->second
                                   : "cmd=lookup_result rc=-1 msg=not_published");
  }
}

}  // namespace hr::launcher
