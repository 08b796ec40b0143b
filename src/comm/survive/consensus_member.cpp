#include "comm/survive/consensus_member.hpp"

#include <algorithm>

namespace hr::comm {

using Kind = ConsensusMessage::Kind;

int ConsensusMember::first_left() const {
  int member = 0;
  while (member != own_ && world_.has_failed(member)) ++member;
  return member;
}

ConsensusMessage ConsensusMember::own_opinion() const {
  return {.kind = Kind::kOpinion, .leader = accepted_, .opinion = opinion_, .outcome = outcome_};
}

void ConsensusMember::tell(int member) {
  if (decided_) return world_.send(member, {.kind = Kind::kDecided, .outcome = outcome_});
  if (joined_) world_.send(member, own_opinion());
}

void ConsensusMember::tell_all(const ConsensusMessage& message) {
  for (int member = 0; member < members(); ++member) {
    if (member != own_ && !world_.has_failed(member)) world_.send(member, message);
  }
}

void ConsensusMember::join(Opinion opinion) {
  if (joined_) return;
  joined_ = true;
  opinion_ = std::move(opinion);
  if (decided_) return;
  // Answers an earlier query from another leader, even if that member no longer leads.
  if (promised_ >= 0 && promised_ != first_left() && !world_.has_failed(promised_)) tell(promised_);
  look_at_failures();
}

void ConsensusMember::look_at_failures() {
  if (!joined_ || decided_) return;
  const int leader = first_left();
  if (leader == own_) return lead();
  if (leader == leader_) return;
  leader_ = leader;
  tell(leader);
}

// Does as much of the leader's work as the messages received so far allow.
void ConsensusMember::lead() {
  leader_ = own_;
  promised_ = own_;
  if (!std::exchange(asked_, true) && own_ != 0) tell_all({.kind = Kind::kAsk, .leader = own_});
  const auto everybody = [this](bool Answer::* has) {
    for (int member = 0; member < members(); ++member) {
      if (member != own_ && !world_.has_failed(member) && !(answers_[static_cast<std::size_t>(member)].*has))
        return false;
    }
    return true;
  };
  if (!proposed_) {
    if (!everybody(&Answer::known)) return;
    proposed_ = true;
    // Proposes the newest proposal that a member has accepted; if there is none, the combination of all opinions.
    int newest = accepted_;
    Opinion all = opinion_;
    for (int member = 0; member < members(); ++member) {
      if (world_.has_failed(member) && member != own_) all.failed.add(member);
      const Answer& answer = answers_[static_cast<std::size_t>(member)];
      if (member == own_ || !answer.known) continue;
      if (answer.message.leader > newest) {
        newest = answer.message.leader;
        outcome_ = answer.message.outcome;
      }
      all.flag &= answer.message.opinion.flag;
      all.failed.unite(answer.message.opinion.failed);
      all.acknowledged.intersect(answer.message.opinion.acknowledged);
    }
    if (newest < 0) outcome_ = std::move(all);
    accepted_ = own_;
    tell_all({.kind = Kind::kProposal, .leader = own_, .outcome = outcome_});
  }
  if (everybody(&Answer::accepted)) {
    tell_all({.kind = Kind::kDecided, .outcome = outcome_});
    decide(Opinion(outcome_));
  }
}

void ConsensusMember::decide(const Opinion& outcome) {
  outcome_ = outcome;
  decided_ = true;
}

void ConsensusMember::take(int from, const ConsensusMessage& message) {
  Answer& answer = answers_[static_cast<std::size_t>(from)];
  switch (message.kind) {
    case Kind::kDecided:
      if (decided_) return;
      decide(message.outcome);
      // Forwards the outcome to members that wait for it: all if this member leads, else those that already consider
      // this member the leader.
      for (int member = 0; member < members(); ++member) {
        const bool waits = leader_ == own_ || answers_[static_cast<std::size_t>(member)].known;
        if (member != own_ && waits && !world_.has_failed(member)) world_.send(member, message);
      }
      return;
    case Kind::kOpinion:
      if (decided_) return tell(from);
      if (!proposed_) {
        answer.known = true;
        answer.message = message;
      }
      return look_at_failures();
    case Kind::kAsk:
      promised_ = std::max(promised_, from);
      return tell(from);
    case Kind::kProposal:
      if (decided_) return tell(from);
      if (message.leader < promised_) return;
      promised_ = accepted_ = message.leader;
      outcome_ = message.outcome;
      return world_.send(from, {.kind = Kind::kAccepted, .leader = message.leader});
    case Kind::kAccepted:
      if (message.leader == own_) answer.accepted = true;
      return look_at_failures();
  }
}

}  // namespace hr::comm
