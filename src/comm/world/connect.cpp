#include "comm/connect.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "boot/peer_address.hpp"
#include "comm/failure.hpp"
#include "comm/world/wait_outside.hpp"
#include "p2p/connect_groups.hpp"

namespace hr::comm {
namespace {

// --- Blobs: numbers and strings in sequence ---

void add_bytes(const void* data, std::size_t bytes, Blob* to) {
  if (bytes == 0) return;
  const std::size_t before = to->size();
  to->resize(before + bytes);
  std::memcpy(to->data() + before, data, bytes);
}

void add_text(std::string_view text, Blob* to) {
  const auto length = static_cast<std::uint32_t>(text.size());
  add_bytes(&length, sizeof length, to);
  add_bytes(text.data(), text.size(), to);
}

class Reading {
 public:
  explicit Reading(const Blob& blob) noexcept : blob_(blob) {}
  bool take(void* to, std::size_t bytes) {
    if (blob_.size() - at_ < bytes) return false;
    std::memcpy(to, blob_.data() + at_, bytes);
    at_ += bytes;
    return true;
  }
  bool take_text(std::string* text) {
    std::uint32_t length = 0;
    if (!take(&length, sizeof length) || blob_.size() - at_ < length) return false;
    text->assign(reinterpret_cast<const char*>(blob_.data()) + at_, length);
    at_ += length;
    return true;
  }
  [[nodiscard]] bool done() const noexcept { return at_ == blob_.size(); }

 private:
  const Blob& blob_;
  std::size_t at_ = 0;
};

Status not_ours() { return fail(Errc::kOther, "the other group's leader sent what this library does not write"); }

std::vector<std::string> texts_of(const std::vector<Blob>& blobs) {
  std::vector<std::string> texts;
  for (const Blob& each : blobs) texts.emplace_back(reinterpret_cast<const char*>(each.data()), each.size());
  return texts;
}

// --- The description of a group, sent to the other group ---

struct GroupInfo {
  std::uint64_t number = 0;  // random
  std::int32_t leader = 0;   // index among the peers
  std::vector<std::string> peers;
};

Blob pack(const GroupInfo& info) {
  Blob blob;
  add_bytes(&info.number, sizeof info.number, &blob);
  add_bytes(&info.leader, sizeof info.leader, &blob);
  for (const std::string& each : info.peers) add_text(each, &blob);
  return blob;
}

Status unpack(const Blob& blob, GroupInfo* info) {
  Reading reading(blob);
  if (!reading.take(&info->number, sizeof info->number) || !reading.take(&info->leader, sizeof info->leader))
    return not_ours();
  while (!reading.done()) {
    if (!reading.take_text(&info->peers.emplace_back())) return not_ours();
  }
  const auto count = static_cast<std::int32_t>(info->peers.size());
  return info->leader >= 0 && info->leader < count ? kOk : not_ours();
}

std::uint64_t random_number() noexcept {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(ticks());
  return number;
}

// Returns this process's address. `network`: whether to include an address for other hosts in any case.
Status own_address(bool network, std::string* text) {
  boot::PeerAddress address = boot::own_address();
  const Status status = p2p::describe(network, &address.network);
  *text = boot::format(address);
  return status;
}

// True if the processes of both groups are on several hosts, and some have no network address.
bool wants_network(const GroupInfo& one, const GroupInfo& other) {
  std::string host;
  bool several = false;
  bool lacks = false;
  for (const GroupInfo* side : {&one, &other}) {
    for (const std::string& text : side->peers) {
      boot::PeerAddress address;
      if (!boot::parse(text, &address).ok()) return false;
      several = several || (!host.empty() && host != address.host);
      host = address.host;
      lacks = lacks || address.network.empty();
    }
  }
  return several && lacks;
}

// Gathers the addresses of all members and lets the leaders exchange them. own->number: in: this process's; out: the
// leader's.
Status exchange_info(const Members& members, int leader, Line* line, bool network, GroupInfo* own, GroupInfo* other) {
  const bool leads = members.me == leader;
  std::string address;
  const Status described = own_address(network, &address);
  std::string why = described.ok() ? "" : take_detail();
  Blob own_blob;
  add_bytes(address.data(), address.size(), &own_blob);
  std::vector<Blob> peers;
  HR_TRY(p2p::run_blocking(allgather_blobs(members, &own_blob, &peers)));
  own->peers = texts_of(peers);
  Blob theirs;
  Status at_leader = kOk;
  if (leads) at_leader = line->trade(pack(*own), &theirs);
  if (leads && at_leader.ok()) add_bytes(&own->number, sizeof own->number, &theirs);
  HR_TRY(tell(members, leader, at_leader, &theirs));
  std::memcpy(&own->number, theirs.data() + theirs.size() - sizeof own->number, sizeof own->number);
  theirs.resize(theirs.size() - sizeof own->number);
  *other = {};
  HR_TRY(unpack(theirs, other));
  if (!why.empty()) log::write(log::Level::kDecision, "no address for other hosts: %s", why.c_str());
  return kOk;
}

// Adds all processes to the table of processes; returns processes and addresses in the order of `peers`.
Status enter(const std::vector<std::string>& peers, std::vector<int>* procs, std::vector<std::string>* addresses,
             std::vector<std::string>* jobs) {
  for (const std::string& text : peers) {
    boot::PeerAddress address;
    HR_TRY(boot::parse(text, &address));
    procs->push_back(boot::add_peer(address));
    if (addresses != nullptr) addresses->push_back(address.network);
    if (std::find(jobs->begin(), jobs->end(), address.job) == jobs->end()) jobs->push_back(address.job);
  }
  return kOk;
}

std::string hex(std::uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(number));
  return text;
}

struct Sides {
  std::vector<int> ours;
  std::vector<int> theirs;
  int tag = 0;       // the value is the same on both sides
  std::string name;  // of the groups; empty if all processes are of one job
};

Status connect_peers(const GroupInfo& own, const GroupInfo& other, Sides* sides) {
  transport::PeerGroups groups;
  std::vector<std::string> jobs;
  HR_TRY(enter(own.peers, &sides->ours, nullptr, &jobs));
  HR_TRY(enter(other.peers, &sides->theirs, &groups.addresses, &jobs));
  for (const int proc : sides->theirs) {
    if (std::find(sides->ours.begin(), sides->ours.end(), proc) != sides->ours.end())
      return fail(Errc::kComm, "the local and the remote group have processes in common");
  }
  const boot::Processes& processes = boot::processes();
  const int own_leader = sides->ours[static_cast<std::size_t>(own.leader)];
  const int other_leader = sides->theirs[static_cast<std::size_t>(other.leader)];
  const std::uint64_t number = own.number ^ other.number;
  sides->tag = hash_tag(&number, sizeof number);
  if (jobs.size() == 1) return kOk;
  groups.first = processes.before(own_leader, other_leader);
  groups.ours = sides->ours;
  groups.theirs = sides->theirs;
  const std::string host = boot::own_address().host;
  // The launcher of the first leader's job removes files whose names begin with that job's name.
  groups.name = std::string(processes.job_of(groups.first ? own_leader : other_leader)) + ".connect." + hex(number) +
                "." + hex(static_cast<std::uint64_t>(hash_tag(host.data(), host.size())));
  sides->name = groups.name;
  return p2p::connect_groups(groups);
}

// Succeeds if all members have succeeded. Otherwise returns this member's error, or an error for the failure of another
// member.
Status require_all(const Members& members, Status own) {
  std::string text = own.ok() ? "" : take_detail();
  std::uint64_t good = own.ok() ? 1 : 0;
  HR_TRY(p2p::run_blocking(and_reduce(members, &good, 1)));
  set_detail(std::move(text));
  if (!own.ok()) return own;
  return good != 0 ? kOk : fail(Errc::kOther, "another process of the group could not reach the other group");
}

}  // namespace

Status ChannelLine::trade(const Blob& own, Blob* other) {
  channel_->send({reinterpret_cast<const char*>(own.data()), own.size()});
  Status status = kOk;
  bool arrived = false;
  std::string text;
  wait_outside([&] {
    status = channel_->step();
    arrived = arrived || channel_->take(&text);
    return (arrived && channel_->flushed()) || !status.ok();
  });
  if (!arrived || !channel_->flushed()) {
    // In a job that survives process failures, the other leader has died, or has given up because a member of its group
    // has died.
    if (boot::identity().failure_board < 0) return status;
    const std::string why = take_detail();
    return fail(Errc::kProcFailed, "%s", why.c_str());
  }
  if (!status.ok()) static_cast<void>(take_detail());
  other->resize(text.size());
  std::memcpy(other->data(), text.data(), text.size());
  return kOk;
}

Status tell(const Members& members, int leader, Status at_leader, Blob* blob) {
  struct {
    int code;
    std::uint64_t bytes;
  } news{at_leader.code(), blob->size()};
  const bool leads = members.me == leader;
  if (leads && !at_leader.ok()) {
    blob->clear();
    const std::string text = take_detail();
    add_bytes(text.data(), text.size(), blob);
    news.bytes = blob->size();
  }
  HR_TRY(p2p::run_blocking(broadcast(members, leader, &news, sizeof news)));
  blob->resize(news.bytes);
  if (news.bytes != 0) HR_TRY(p2p::run_blocking(broadcast(members, leader, blob->data(), blob->size())));
  if (news.code == 0) return kOk;
  set_detail(std::string(reinterpret_cast<const char*>(blob->data()), blob->size()));
  return Status::from_code(news.code);
}

Status tell_status(const Members& members, int leader, Status at_leader) {
  Blob none;
  return tell(members, leader, at_leader, &none);
}

namespace {

// Connects this process to the other side, and waits until all processes of both sides have done so.
Status connect_sides(const Members& members, int leader, Line* line, const GroupInfo& own, const GroupInfo& other,
                     Sides* sides) {
  const bool leads = members.me == leader;
  const Status connected = connect_peers(own, other, sides);
  // No process continues before all processes of both sides are connected.
  const Status all = require_all(members, connected);
  std::string why = all.ok() ? "" : take_detail();
  Status at_leader = kOk;
  if (leads) {
    Blob good;
    const char word = all.ok() ? 1 : 0;
    add_bytes(&word, 1, &good);
    Blob answer;
    at_leader = line->trade(good, &answer);
    if (at_leader.ok() && (answer.size() != 1 || answer[0] == std::byte{0}) && all.ok())
      at_leader = fail(Errc::kOther, "a process of the other group could not reach this one");
  }
  if (!all.ok()) {
    set_detail(std::move(why));
    return all;
  }
  return tell_status(members, leader, at_leader);
}

}  // namespace

Status connect_groups(const Members& members, int leader, Status at_leader, Line* line, Ref<Group> local,
                      const Ref<Errhandler>& errhandler, Ref<Communicator>* result) {
  HR_TRY(tell_status(members, leader, at_leader));
  GroupInfo own{random_number(), leader, {}};
  GroupInfo other;
  HR_TRY(exchange_info(members, leader, line, false, &own, &other));
  if (wants_network(own, other)) HR_TRY(exchange_info(members, leader, line, true, &own, &other));
  Sides sides;
  const Status connected = connect_sides(members, leader, line, own, other, &sides);
  if (!connected.ok()) {
    std::string why = take_detail();
    p2p::abandon(sides.name);
    set_detail(std::move(why));
    return connected;
  }
  p2p::confirm(sides.name);
  const Bridge bridge{leader, sides.theirs[static_cast<std::size_t>(other.leader)],
                      kBootstrapNumber * kContextSpacing + kLeaderContext, sides.tag};
  return join_groups(members, bridge, std::move(sides.theirs), std::move(local), errhandler, result);
}

Status join_groups(const Members& members, const Bridge& bridge, std::vector<int> remote_procs, Ref<Group> local,
                   const Ref<Errhandler>& errhandler, Ref<Communicator>* result) {
  Ref<Group> remote = make_group(std::move(remote_procs));
  if (overlap(*local, *remote)) return fail(Errc::kComm, "the local and the remote group have processes in common");
  Ref<Communicator> made = assemble(std::move(local), std::move(remote), errhandler);
  HR_TRY(check_no_room(made));
  Agreement agreement;
  agreement.members = members;
  agreement.leader = bridge.leader;
  agreement.remote_leader = bridge.remote_leader;
  agreement.leader_context = bridge.context;
  agreement.leader_tag = bridge.tag;
  std::uint32_t context = 0;
  HR_TRY(p2p::run_blocking(agree_on_context(agreement, &context)));
  made->context_ = context;
  apply_early_revocation(*made);
  *result = std::move(made);
  return kOk;
}

// --- Names: the common job and the ranks, or one name per process ---

namespace {
constexpr char kOfOneJob = 1;
constexpr char kOfSeveral = 2;
}  // namespace

Blob pack_names(const ProcList& procs) {
  const boot::Processes& processes = boot::processes();
  const bool one =
      std::all_of(procs.begin(), procs.end(), [&](int proc) { return processes[proc].job == processes[procs[0]].job; });
  Blob blob;
  add_bytes(one ? &kOfOneJob : &kOfSeveral, 1, &blob);
  if (!one) {
    for (const int proc : procs) add_text(boot::format(boot::name_of(proc)), &blob);
    return blob;
  }
  add_text(processes.job_of(procs[0]), &blob);
  for (const int proc : procs) add_bytes(&processes[proc].rank, sizeof(int), &blob);
  return blob;
}

bool of_one_job(const ProcList& procs, const Blob& names) {
  const boot::Processes& processes = boot::processes();
  Reading reading(names);
  char kind = 0;
  std::string job;
  if (!reading.take(&kind, 1) || kind != kOfOneJob || !reading.take_text(&job)) return false;
  return std::all_of(procs.begin(), procs.end(), [&](int proc) { return processes.job_of(proc) == job; });
}

Status unpack_names(const Blob& names, std::vector<int>* procs) {
  const boot::Processes& processes = boot::processes();
  Reading reading(names);
  char kind = 0;
  std::string job;
  if (!reading.take(&kind, 1) || kind != kOfOneJob || !reading.take_text(&job)) return not_ours();
  while (!reading.done()) {
    int rank = -1;
    if (!reading.take(&rank, sizeof rank)) return not_ours();
    procs->push_back(processes.find(job, rank));
    if (procs->back() < 0) return fail(Errc::kOther, "rank %d of job %s is not known here", rank, job.c_str());
  }
  return kOk;
}

}  // namespace hr::comm
