// ConsensusMember: one member's part in one consensus, as a state machine without I/O. Its inputs are messages and
// failures; its outputs are messages and, at the end, the outcome.
//
// The leader is the first surviving member, in the order that all members share. The others send it their opinions.
// Once the leader has the opinions of all survivors, it proposes an outcome; once all survivors have accepted the
// proposal, the outcome is decided, and the leader announces it. If the leader fails, the next one queries all members,
// and those that have accepted a proposal report it. The new leader proposes the newest of these proposals again,
// because the old leader, or members that have also failed, may have decided on it. A member that a new leader has
// queried accepts no proposal from an older leader. So all members that decide, even if they fail later, decide on the
// same outcome (uniform agreement), provided that no living member is considered failed; messages of members considered
// failed are ignored.
//
// A member that has decided still answers queries, so its state machine is kept for a while. Owner: Consensus
// (consensus.cpp). Threads: library lock.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace hr::comm {

// A set of members, one bit for each.
class MemberSet {
 public:
  MemberSet() = default;
  explicit MemberSet(int members, bool all = false)
      : words_((static_cast<std::size_t>(members) + 63) / 64, all ? ~std::uint64_t{0} : 0) {}
  void add(int member) { words_[static_cast<std::size_t>(member) / 64] |= std::uint64_t{1} << (member % 64); }
  [[nodiscard]] bool has(int member) const {
    return (words_[static_cast<std::size_t>(member) / 64] >> (member % 64) & 1) != 0;
  }
  void unite(const MemberSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  void intersect(const MemberSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  }
  [[nodiscard]] std::vector<std::uint64_t>& words() noexcept { return words_; }
  [[nodiscard]] const std::vector<std::uint64_t>& words() const noexcept { return words_; }
  bool operator==(const MemberSet&) const = default;

 private:
  std::vector<std::uint64_t> words_;
};

// A member's opinion, or the outcome: the bitwise AND of the flags, the failures known to any member, and the
// failures that all have acknowledged.
struct Opinion {
  std::int32_t flag = 0;
  MemberSet failed{};
  MemberSet acknowledged{};
  bool operator==(const Opinion&) const = default;
};

struct ConsensusMessage {
  enum class Kind : std::uint8_t {
    kOpinion,   // sent to the leader, with the newest accepted proposal, if any
    kAsk,       // query by a new leader, sent to all
    kProposal,  // sent by the leader to all
    kAccepted,  // sent to the leader
    kDecided,   // sent to all, or in answer to a member's message
  };
  Kind kind = Kind::kOpinion;
  std::int32_t leader = -1;  // kOpinion: leader whose proposal was accepted; kProposal, kAccepted: leader that made the
                             // proposal
  Opinion opinion{};         // kOpinion
  Opinion outcome{};         // kProposal, kDecided; kOpinion: the accepted proposal
};

class ConsensusMember {
 public:
  struct World {
    std::function<bool(int member)> has_failed;
    std::function<void(int member, const ConsensusMessage& message)> send;
  };
  ConsensusMember(int members, int own, World world)
      : own_(own), world_(std::move(world)), answers_(static_cast<std::size_t>(members)) {}

  // Starts to take part.
  void join(Opinion opinion);
  // Handles a message. The sender must not have failed.
  void take(int from, const ConsensusMessage& message);
  // Checks whether members have failed, and reacts.
  void look_at_failures();

  [[nodiscard]] bool decided() const noexcept { return decided_; }
  [[nodiscard]] const Opinion& outcome() const noexcept { return outcome_; }

 private:
  struct Answer {
    bool known = false;
    ConsensusMessage message;
    bool accepted = false;  // the member has accepted this process's proposal
  };

  [[nodiscard]] int members() const noexcept { return static_cast<int>(answers_.size()); }
  [[nodiscard]] int first_left() const;
  [[nodiscard]] ConsensusMessage own_opinion() const;
  void tell(int member);
  void tell_all(const ConsensusMessage& message);
  void lead();
  void decide(const Opinion& outcome);

  int own_;
  World world_;
  bool joined_ = false;
  Opinion opinion_;
  int leader_ = -1;    // member to which the opinion was sent
  int promised_ = -1;  // proposals of earlier leaders are not accepted
  int accepted_ = -1;  // leader whose proposal was accepted
  Opinion outcome_;    // accepted, or decided
  bool decided_ = false;
  bool asked_ = false;     // this process leads, and has queried all members
  bool proposed_ = false;  // as leader
  std::vector<Answer> answers_;
};

}  // namespace hr::comm
