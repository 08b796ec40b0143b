// ConsensusMember: simulates all members of random sets of processes; the test delivers and loses their messages, and
// kills members.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

#include "comm/survive/consensus_member.hpp"

namespace hr::comm {
namespace {

// The members, which detect failures at different times. Messages between two members stay in order.
class Universe {
 public:
  Universe(int members, std::uint64_t seed) : size_(members), random_(seed) {
    const auto count = static_cast<std::size_t>(members);
    dead_.assign(count, false);
    joined_.assign(count, false);
    knows_.assign(count, std::vector<bool>(count, false));
    lines_.resize(count * count);
    for (int member = 0; member < members; ++member) {
      ConsensusMember::World world;
      world.has_failed = [this, member](int other) { return knows_[at(member)][at(other)]; };
      world.send = [this, member](int to, const ConsensusMessage& message) {
        if (!dead_[at(member)]) line(member, to).push_back(message);
      };
      members_.push_back(std::make_unique<ConsensusMember>(members, member, std::move(world)));
    }
  }

  // Performs random steps until none is possible.
  void run(int deaths) {
    for (;;) {
      const int what = draw(0, 9);
      bool moved = false;
      if (what == 0 && deaths > 0 && draw(0, 3) == 0) {
        --deaths;
        kill(draw(0, size_ - 1));
        moved = true;
      } else if (what <= 2) {
        moved = learn();
      } else if (what <= 4) {
        moved = join();
      } else {
        moved = deliver();
      }
      if (!moved && !learn() && !join() && !deliver()) return;
    }
  }

  void check() const {
    const Opinion* outcome = nullptr;
    for (int member = 0; member < size_; ++member) {
      const ConsensusMember& each = *members_[at(member)];
      ASSERT_TRUE(each.decided() || dead_[at(member)]) << "member " << member;
      if (!each.decided()) continue;
      if (outcome == nullptr) outcome = &each.outcome();
      ASSERT_EQ(each.outcome(), *outcome) << "member " << member;
    }
    if (outcome == nullptr) return;
    // Every survivor's flag is in the result, and no survivor is in a set of failed members.
    for (int member = 0; member < size_; ++member) {
      if (dead_[at(member)]) continue;
      EXPECT_EQ(outcome->flag & 1 << member, 0);
      EXPECT_FALSE(outcome->failed.has(member));
    }
  }

 private:
  static std::size_t at(int member) { return static_cast<std::size_t>(member); }
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::deque<ConsensusMessage>& line(int from, int to) { return lines_[at(from) * at(size_) + at(to)]; }

  void kill(int member) {
    dead_[at(member)] = true;
    for (int to = 0; to < size_; ++to) {
      auto& unsent = line(member, to);
      unsent.resize(static_cast<std::size_t>(draw(0, static_cast<int>(unsent.size()))));
    }
  }
  bool learn() {
    std::vector<std::pair<int, int>> open;
    for (int member = 0; member < size_; ++member) {
      for (int other = 0; other < size_; ++other) {
        if (!dead_[at(member)] && dead_[at(other)] && !knows_[at(member)][at(other)]) open.emplace_back(member, other);
      }
    }
    if (open.empty()) return false;
    const auto [member, other] = open[at(draw(0, static_cast<int>(open.size()) - 1))];
    knows_[at(member)][at(other)] = true;
    members_[at(member)]->look_at_failures();
    return true;
  }
  bool join() {
    std::vector<int> open;
    for (int member = 0; member < size_; ++member) {
      if (!dead_[at(member)] && !joined_[at(member)]) open.push_back(member);
    }
    if (open.empty()) return false;
    const int member = open[at(draw(0, static_cast<int>(open.size()) - 1))];
    joined_[at(member)] = true;
    Opinion opinion{~(1 << member), MemberSet(size_), MemberSet(size_)};
    for (int other = 0; other < size_; ++other) {
      if (knows_[at(member)][at(other)]) opinion.failed.add(other);
    }
    members_[at(member)]->join(std::move(opinion));
    return true;
  }
  bool deliver() {
    std::vector<std::pair<int, int>> open;
    for (int from = 0; from < size_; ++from) {
      for (int to = 0; to < size_; ++to) {
        if (!dead_[at(to)] && !line(from, to).empty()) open.emplace_back(from, to);
      }
    }
    if (open.empty()) return false;
    const auto [from, to] = open[at(draw(0, static_cast<int>(open.size()) - 1))];
    const ConsensusMessage message = line(from, to).front();
    line(from, to).pop_front();
    if (!knows_[at(to)][at(from)]) members_[at(to)]->take(from, message);
    return true;
  }

  int size_;
  std::mt19937_64 random_;
  std::vector<bool> dead_, joined_;
  std::vector<std::vector<bool>> knows_;  // [member][other]: true if the member knows that the other is dead
  std::vector<std::deque<ConsensusMessage>> lines_;
  std::vector<std::unique_ptr<ConsensusMember>> members_;
};

TEST(Consensus, of_members_that_stay) {
  for (int members = 1; members <= 12; ++members) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      Universe universe(members, seed);
      universe.run(0);
      universe.check();
      if (HasFatalFailure()) FAIL() << members << " members, seed " << seed;
    }
  }
}

TEST(Consensus, whoever_dies_whenever) {
  for (int members = 2; members <= 8; ++members) {
    for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
      Universe universe(members, seed * 100 + static_cast<std::uint64_t>(members));
      universe.run(static_cast<int>(seed % static_cast<std::uint64_t>(members)));
      universe.check();
      if (HasFatalFailure()) FAIL() << members << " members, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace hr::comm
