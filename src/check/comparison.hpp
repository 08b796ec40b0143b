// Comparison: compares the members' records of one collective call, as each record arrives. Internal to check/.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "check/collectives.hpp"

namespace hr::check {

struct Member {
  int proc;
  Record record;
  std::vector<Signature> sends;
  std::vector<Signature> expects;
  bool told = false;
};

class Comparison {
 public:
  // Errors: the record does not agree with earlier ones; every later call then returns the same error.
  Status add(Member member);
  [[nodiscard]] bool complete() const noexcept;
  [[nodiscard]] std::vector<Member>& members() noexcept { return members_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  std::vector<std::byte> clock;  // merged from the members whose records have arrived (clock.hpp)

 private:
  Status compare(const Member& first, const Member& other) const;
  Status compare_parts() const;

  std::vector<Member> members_;
  Status found_ = kOk;
  std::string text_;
};

}  // namespace hr::check
