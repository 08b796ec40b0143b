// How mpiexec and an agent find one another on the pipes of the command that started it.
//
// A login shell may print before the agent does, or even repeat what it reads. So mpiexec sends a line with a random
// key, and takes for the agent's answer only a line with a keyed hash, which nothing that merely repeats can make.
// Nothing that stands before is interpreted. That nobody else reads or writes these pipes is ssh's matter. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/secret.hpp"

namespace hr::launcher {

// What mpiexec sends, with a newline, and what the agent reads of it.
std::string hello_line(const Nonce& nonce);
std::optional<Nonce> read_hello(std::string_view line);

// What the agent answers, lines of its own. `version` of the program: one word.
std::string proof_line(const Nonce& nonce, std::string_view version);

// Looks for the answer in what comes from the command.
class ProofSearch {
 public:
  explicit ProofSearch(const Nonce& nonce) : nonce_(nonce) {}

  // True once it is there; *rest gets what follows it.
  bool add(std::string_view bytes, std::string* rest);
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  // More was printed than any greeting has.
  [[nodiscard]] bool gave_up() const noexcept { return skipped_ > kMostNoise; }
  // What came last, for a message about what went wrong.
  [[nodiscard]] const std::string& last_line() const noexcept { return last_line_; }

 private:
  static constexpr std::size_t kMostNoise = std::size_t{1} << 20;
  static constexpr std::size_t kLongestLine = 4096;

  bool is_proof(std::string_view line);

  Nonce nonce_;
  std::string line_;  // the beginning of one
  std::string last_line_;
  std::string version_;
  std::size_t skipped_ = 0;
};

}  // namespace hr::launcher
