// Handshake of mpiexec and an agent on the pipes of the command that started the agent.
//
// A login shell may print before the agent does, or even repeat its input. So mpiexec sends a line with a random key,
// and accepts as the agent's answer only a line with a keyed hash, which a mere echo cannot produce. Output before that
// line is not interpreted. Protecting these pipes from other readers and writers is left to ssh. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/secret.hpp"

namespace hr::launcher {

// Return the line that mpiexec sends, with its newline, and the key that the agent reads from it.
std::string handshake_line(const Nonce& nonce);
std::optional<Nonce> read_handshake(std::string_view line);

// Returns the lines with which the agent answers. `version`: the program's version, one word.
std::string proof_line(const Nonce& nonce, std::string_view version);

// Looks for the answer in the output of the command.
class ProofSearch {
 public:
  explicit ProofSearch(const Nonce& nonce) : nonce_(nonce) {}

  // True once the answer is complete. *rest: the bytes that follow it.
  bool add(std::string_view bytes, std::string* rest);
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  // True if the command has printed more than any greeting contains.
  [[nodiscard]] bool gave_up() const noexcept { return skipped_ > kMostNoise; }
  // Returns the last line, for an error message.
  [[nodiscard]] const std::string& last_line() const noexcept { return last_line_; }

 private:
  static constexpr std::size_t kMostNoise = std::size_t{1} << 20;
  static constexpr std::size_t kLongestLine = 4096;

  bool is_proof(std::string_view line);

  Nonce nonce_;
  std::string line_;  // an unfinished line
  std::string last_line_;
  std::string version_;
  std::size_t skipped_ = 0;
};

}  // namespace hr::launcher
