#include "comm/consensus.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/dropped.hpp"
#include "comm/core/state.hpp"
#include "comm/failure.hpp"
#include "comm/survive/consensus_member.hpp"
#include "p2p/active_message.hpp"
#include "p2p/process_failure.hpp"

namespace hr::comm {
namespace {

// Number of later decisions on a communicator after which a consensus is forgotten.
constexpr std::uint32_t kRemembered = 32;
// Limit the messages for a consensus in which this process does not yet take part, and the table's entries.
constexpr std::size_t kMostEarly = 65536;
constexpr std::size_t kMostKnown = 65536;

// Header of an active message; the words of two sets for each of two opinions follow.
struct Head {
  std::int32_t members;
  std::int32_t leader;
  std::int32_t flag;
  std::int32_t outcome_flag;
  ConsensusMessage::Kind kind;
};

std::vector<std::byte> encode(const ConsensusMessage& message, int members) {
  const std::size_t words = MemberSet(members).words().size();
  const Head head{members, message.leader, message.opinion.flag, message.outcome.flag, message.kind};
  std::vector<std::byte> bytes(sizeof head + 4 * words * sizeof(std::uint64_t));
  std::memcpy(bytes.data(), &head, sizeof head);
  std::byte* at = bytes.data() + sizeof head;
  for (const Opinion* opinion : {&message.opinion, &message.outcome}) {
    for (const MemberSet* set : {&opinion->failed, &opinion->acknowledged}) {
      if (!set->words().empty()) std::memcpy(at, set->words().data(), words * sizeof(std::uint64_t));
      at += words * sizeof(std::uint64_t);
    }
  }
  return bytes;
}

// Decodes a message. False if it is malformed, or if the size of the communicator is known (members >= 0) and the
// message is for another size.
bool decode(const std::byte* bytes, std::size_t length, int members, ConsensusMessage* out) {
  Head head;
  if (length < sizeof head) return false;
  std::memcpy(&head, bytes, sizeof head);
  if (head.members < 1 || (members >= 0 && head.members != members)) return false;
  const std::size_t words = (static_cast<std::size_t>(head.members) + 63) / 64;
  if (length != sizeof head + 4 * words * sizeof(std::uint64_t)) return false;
  if (head.kind > ConsensusMessage::Kind::kDecided || head.leader < -1 || head.leader >= head.members) return false;
  ConsensusMessage& message = *out;
  message.kind = head.kind;
  message.leader = head.leader;
  message.opinion.flag = head.flag;
  message.outcome.flag = head.outcome_flag;
  const std::byte* at = bytes + sizeof head;
  for (Opinion* opinion : {&message.opinion, &message.outcome}) {
    for (MemberSet* set : {&opinion->failed, &opinion->acknowledged}) {
      *set = MemberSet(head.members);
      const std::size_t set_bytes = words * sizeof(std::uint64_t);
      std::memcpy(set->words().data(), at, set_bytes);
      at += set_bytes;
    }
  }
  return true;
}

using Key = std::pair<std::uint32_t, std::uint32_t>;  // context of the communicator, number
std::uint64_t subject_of(const Key& key) { return std::uint64_t{key.first} << 32 | key.second; }

// A consensus. Exists once this process has started it or has received a message of it.
struct Consensus {
  std::unique_ptr<ConsensusMember> member;  // null until this process starts it
  std::vector<int> procs;                   // processes of the members; set when this process starts the consensus
  std::vector<std::pair<int, ConsensusMessage>> early;
  std::size_t failures_seen = 0;

  [[nodiscard]] int index_of(int proc) const {
    const auto found = std::find(procs.begin(), procs.end(), proc);
    return found == procs.end() ? -1 : static_cast<int>(found - procs.begin());
  }
};

}  // namespace

class ConsensusTable {
 public:
  std::map<Key, Consensus> all;
};

State::State() = default;
State::~State() = default;  // defined here, where the types of all members are complete

namespace {

std::map<Key, Consensus>& table() {
  if (state->consensus == nullptr) state->consensus = std::make_unique<ConsensusTable>();
  return state->consensus->all;
}

void on_active_message(const p2p::ActiveMessage& arrived) {
  if (state == nullptr || arrived.sender_failed) return;
  const Key key{static_cast<std::uint32_t>(arrived.subject >> 32), static_cast<std::uint32_t>(arrived.subject)};
  const auto known = table().find(key);
  const bool begun = known != table().end() && known->second.member != nullptr;
  ConsensusMessage message;
  if (!decode(arrived.payload, arrived.bytes, begun ? static_cast<int>(known->second.procs.size()) : -1, &message))
    return drop_message(arrived.from, "it is not an agreement message");
  if (!begun) {
    // Members send at most kMostEarly messages before this process takes part, and few agreements run ahead of it.
    if (key.first >= p2p::kMostContexts || (known == table().end() && table().size() >= kMostKnown) ||
        (known != table().end() && known->second.early.size() >= kMostEarly))
      return drop_message(arrived.from, "it belongs to an agreement that is unknown to this process");
    table()[key].early.emplace_back(arrived.from, std::move(message));
    return;
  }
  Consensus& consensus = known->second;
  if (const int from = consensus.index_of(arrived.from); from >= 0) consensus.member->take(from, message);
}

Consensus& begin(const Key& key, const Participants& participants, Opinion opinion) {
  Consensus& consensus = table()[key];
  for (int i = 0; i < participants.size(); ++i) consensus.procs.push_back(participants.proc(i));
  ConsensusMember::World world;
  world.has_failed = [&consensus](int member) {
    return p2p::has_failed(consensus.procs[static_cast<std::size_t>(member)]);
  };
  world.send = [&consensus, key](int member, const ConsensusMessage& message) {
    const std::vector<std::byte> bytes = encode(message, static_cast<int>(consensus.procs.size()));
    p2p::send_active_message(consensus.procs[static_cast<std::size_t>(member)], p2p::ActiveMessageId::kConsensus,
                             subject_of(key), bytes.data(), bytes.size());
  };
  consensus.member = std::make_unique<ConsensusMember>(participants.size(), participants.me(), std::move(world));
  for (const auto& [proc, message] : std::exchange(consensus.early, {})) {
    const int from = consensus.index_of(proc);
    const bool fits = message.outcome.failed.words().size() == MemberSet(participants.size()).words().size();
    if (from >= 0 && fits && !p2p::has_failed(proc)) consensus.member->take(from, message);
  }
  consensus.failures_seen = p2p::failed_processes().size();
  consensus.member->join(std::move(opinion));
  return consensus;
}

bool is_decided(void* argument) {
  auto& consensus = *static_cast<Consensus*>(argument);
  if (const std::size_t failures = p2p::failed_processes().size(); failures != consensus.failures_seen) {
    consensus.failures_seen = failures;
    consensus.member->look_at_failures();
  }
  return consensus.member->decided();
}

void forget_old(const Key& decided) {
  if (decided.second < kRemembered) return;
  auto& all = table();
  all.erase(all.lower_bound({decided.first, 0}), all.lower_bound({decided.first, decided.second - kRemembered}));
}

Opinion own_opinion(const Communicator& comm, const Participants& participants, int flag) {
  Opinion opinion{flag, MemberSet(participants.size()), MemberSet(participants.size())};
  const auto failed = p2p::failed_processes();
  for (int i = 0; i < participants.size(); ++i) {
    const auto found = std::find(failed.begin(), failed.end(), participants.proc(i));
    if (found == failed.end()) continue;
    opinion.failed.add(i);
    if (static_cast<std::size_t>(found - failed.begin()) < comm.acknowledged_) opinion.acknowledged.add(i);
  }
  return opinion;
}

void learn(const Participants& participants, const Opinion& outcome, Agreed* agreed) {
  agreed->flag = outcome.flag;
  agreed->failed.clear();
  agreed->acknowledged = true;
  for (int i = 0; i < participants.size(); ++i) {
    if (!outcome.failed.has(i)) continue;
    const int proc = participants.proc(i);
    agreed->failed.push_back(proc);
    agreed->acknowledged &= outcome.acknowledged.has(i);
    if (i != participants.me() && !p2p::has_failed(proc))
      p2p::mark_failed(proc, fail(Errc::kProcFailed, "another process has seen it fail"));
  }
}

}  // namespace

p2p::Task reach_consensus(Communicator& comm, const Participants& participants, Agreed* agreed) {
  const Key key{comm.context(), comm.agreements_++};
  Consensus& consensus = begin(key, participants, own_opinion(comm, participants, agreed->flag));
  p2p::When decided{is_decided, &consensus};
  co_await decided;
  learn(participants, consensus.member->outcome(), agreed);
  forget_old(key);
  co_return kOk;
}

namespace {

Status answer(const Agreed& agreed, int* flag) {
  *flag = agreed.flag;
  if (agreed.acknowledged) return kOk;
  return fail(Errc::kProcFailed,
              "members of the communicator have failed, process %d among them, which not everybody has acknowledged "
              "(MPIX_Comm_ack_failed); the flag was agreed upon all the same",
              agreed.failed.front());
}

p2p::Task agree(Communicator* comm, const Participants* participants, int* flag) {
  Agreed agreed;
  agreed.flag = *flag;
  p2p::Task consensus = reach_consensus(*comm, *participants, &agreed);
  HR_CO_TRY(co_await consensus);
  co_return answer(agreed, flag);
}

class PendingAgreement final : public p2p::TaskResources {
 public:
  explicit PendingAgreement(Communicator& comm) : communicator(Ref<Communicator>::share(&comm)), participants(comm) {}
  [[nodiscard]] const char* what() const noexcept override { return "agreement"; }

  Ref<Communicator> communicator;
  Participants participants;
};

}  // namespace

Status agree_with_survivors(Communicator& comm, int* flag) {
  const Participants participants(comm);
  return p2p::run_blocking(agree(&comm, &participants, flag));
}

Status iagree_with_survivors(Communicator& comm, int* flag, p2p::Request** request) {
  auto pending = std::make_unique<PendingAgreement>(comm);
  p2p::Task task = agree(&comm, &pending->participants, flag);
  return p2p::run_as_request(std::move(task), std::move(pending), &comm, request);
}

void begin_consensus() { p2p::set_active_message_handler(p2p::ActiveMessageId::kConsensus, on_active_message); }

void forget_consensus(std::uint32_t context) noexcept {
  if (state == nullptr || state->consensus == nullptr) return;
  auto& all = state->consensus->all;
  all.erase(all.lower_bound({context, 0}), all.lower_bound({context + 1, 0}));
}

}  // namespace hr::comm
