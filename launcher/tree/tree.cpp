#include "tree/tree.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "boot/host_view.hpp"
#include "words/values.hpp"

namespace hr::launcher {

using Kind = Message::Kind;

namespace {

// Determines the hosts from pairs of a view and the ranks that reported it.
std::string hosts_of_views(const std::vector<KeyValue>& views, int ranks) {
  std::vector<std::string> view_of_rank(static_cast<std::size_t>(ranks));
  for (const auto& [view, with] : views) {
    for (const std::string& rank : split(with, ' ')) {
      const auto at = static_cast<std::size_t>(std::strtoul(rank.c_str(), nullptr, 10));
      if (at < view_of_rank.size()) view_of_rank[at] = view;
    }
  }
  return boot::format_hosts(boot::compare_views(view_of_rank));
}

}  // namespace

Tree::Tree(EventLoop& loop, JobPlan plan, int own, int first, int last, bool is_root, Callbacks callbacks)
    : loop_(loop),
      plan_(std::move(plan)),
      encoded_plan_(first < last ? encode(plan_) : std::string()),
      own_host_(own),
      is_root_(is_root),
      callbacks_(std::move(callbacks)),
      own_(loop, plan_, own,
           {.post = [this](const Message& message) { on_own(message); },
            .target = callbacks_.target,
            .others =
                [this] {
                  std::set<pid_t> commands = callbacks_.others();
                  for (const RemoteHost& child : children_) commands.insert(child.pid());
                  return commands;
                },
            .has_other_jobs = callbacks_.has_other_jobs,
            .standard_input = callbacks_.standard_input}) {
  const int places = last - first;
  const int subtrees = std::min(places, plan_.degree);
  for (int child = 0; child < subtrees; ++child) {
    const int end = first + places / subtrees + (child < places % subtrees ? 1 : 0);
    RemoteHost& added = children_.emplace_back(
        loop, plan_, encoded_plan_, first, end,
        [this, child](const Message& message) { on_child(*std::next(children_.begin(), child), message); });
    static_cast<void>(added);
    first = end;
  }
  members_ = children_.size() + (own >= 0 && !plan_.ranks_of(own).empty() ? 1 : 0);
}

void Tree::start() {
  for (RemoteHost& child : children_) child.start();
  if (own_.prepare()) ++ready_;
  check_ready();
}

void Tree::turn_or_pass(const Message& message) { is_root_ ? down(message) : callbacks_.up(message); }

void Tree::to_children(const Message& message) {
  for (RemoteHost& child : children_) child.send(message);
}

// Combines messages from the parts of this subtree.
bool Tree::gather(const Message& message, RemoteHost* child) {
  const std::size_t exchange = message.numbers[0] == Message::kViews ? 1 : 0;
  switch (message.kind) {
    case Kind::kValues:
      unpack(message.text, &collected_[exchange]);
      return true;
    case Kind::kFence:
      ++in_fence_[exchange];
      if (child != nullptr) child->in_fence[exchange] = true;
      check_fence(static_cast<int>(exchange));
      return true;
    case Kind::kReady:
      ++ready_;
      check_ready();
      return true;
    case Kind::kDone:
      ++done_;
      check_done();
      return true;
    case Kind::kAnswer:
      turn_or_pass(message);
      return true;
    default:
      return false;
  }
}

void Tree::on_own(const Message& message) {
  if (gather(message, nullptr)) return;
  if (message.kind == Kind::kAsk) return on_ask(message.text, nullptr);
  callbacks_.up(message);
}

void Tree::on_child(RemoteHost& child, const Message& message) {
  if (gather(message, &child)) return;
  if (message.kind == Kind::kAsk) return on_ask(message.text, &child);
  callbacks_.up(message);
  if (message.kind == Kind::kHostFailed && child.is_gone()) exclude(child);
}

// Excludes a failed child from exchanges, if the job continues without it.
void Tree::exclude(RemoteHost& child) {
  if (!plan_.keep_going) return;
  --members_;
  for (const int exchange : {Message::kSpace, Message::kViews}) {
    const auto at = static_cast<std::size_t>(exchange);
    if (std::exchange(child.in_fence[at], false)) --in_fence_[at];
    if (in_fence_[at] != 0) check_fence(exchange);
  }
}

// Forwards a request to the parent, once. The root sends it to all hosts, and the host whose rank puts the value
// answers.
void Tree::on_ask(const std::string& key, RemoteHost* child) {
  if (child != nullptr && own_.pmi().knows(key)) {
    for (std::string& part : pack(own_.pmi().put_with(key))) {
      child->send({.kind = Kind::kAnswer, .text = std::move(part)});
    }
    return;
  }
  if (!asked_.insert(key).second) return;
  if (is_root_) {
    down({.kind = Kind::kWanted, .text = key});
  } else {
    callbacks_.up({.kind = Kind::kAsk, .text = key});
  }
}

void Tree::check_fence(int exchange) {
  const auto at = static_cast<std::size_t>(exchange);
  if (in_fence_[at] < members_) return;
  in_fence_[at] = 0;
  for (RemoteHost& child : children_) child.in_fence[at] = false;
  std::vector<KeyValue> pairs = std::exchange(collected_[at], {});
  if (is_root_ && exchange == Message::kViews) pairs = {{"hosts", hosts_of_views(pairs, plan_.ranks())}};
  for (std::string& part : pack(pairs)) {
    turn_or_pass({.kind = Kind::kValues, .numbers = {exchange}, .text = std::move(part)});
  }
  turn_or_pass({.kind = Kind::kFence, .numbers = {exchange}});
}

void Tree::check_ready() {
  if (ready_ == children_.size() + 1) callbacks_.up({.kind = Kind::kReady});
}

void Tree::check_done() {
  if (finished_here_ && done_ == children_.size()) callbacks_.up({.kind = Kind::kDone});
}

void Tree::down(const Message& message) {
  switch (message.kind) {
    case Kind::kInput:
    case Kind::kWhere:
    case Kind::kReply:
    case Kind::kCredit: {
      if (message.host == own_host_) return own_.handle(message);
      const int place = place_of(plan_, message.host);
      for (RemoteHost& child : children_) {
        if (child.holds(place)) child.send(message);
      }
      return;
    }
    case Kind::kGo:
      to_children(message);
      return own_.start();
    case Kind::kFinish:
      return finish();
    default:
      to_children(message);
      return own_.handle(message);
  }
}

void Tree::finish() {
  if (std::exchange(finished_here_, true)) return;
  for (RemoteHost& child : children_) child.finish();
  own_.finish();
  check_done();
}

std::set<pid_t> Tree::pids() const {
  std::set<pid_t> all = own_.pids();
  for (const RemoteHost& child : children_) {
    if (child.pid() > 0) all.insert(child.pid());
  }
  return all;
}

void Tree::reap() {
  own_.reap();
  for (RemoteHost& child : children_) child.reap();
}

void Tree::expect_silence(bool expected) {
  for (RemoteHost& child : children_) child.expect_silence(expected);
}

void Tree::flush(std::chrono::milliseconds limit) {
  for (RemoteHost& child : children_) child.flush(limit);
}

}  // namespace hr::launcher
