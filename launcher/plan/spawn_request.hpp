// SpawnRequest: a rank's request to start processes (PMI-1's "mcmd=spawn"). Plain values.
//
// It arrives as lines, in one block per program. Headrace's library escapes the text after the '='
// (boot/key_values.hpp), so that any string fits into a line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/packing.hpp"

namespace hr::launcher {

// Maximum size of a request. Each line counts kSpawnLine more than its length, because encode() adds lengths and counts
// and the result must fit into a frame.
inline constexpr std::size_t kLongestSpawn = std::size_t{4} << 20;
inline constexpr std::size_t kSpawnLine = 16;

struct SpawnRequest {
  struct Part {
    int ranks = 0;
    std::vector<std::string> arguments;  // the first is the program as written
    std::vector<KeyValue> info;
  };
  std::vector<Part> programs;
  std::vector<KeyValue> given;  // initial pairs of the new job's key-value space
  bool reads_ends = false;      // the spawner is Headrace's library, which reads unsolicited messages
};

std::string encode(const SpawnRequest& request);
// Returns nullopt if the bytes are not a request.
std::optional<SpawnRequest> decode_spawn(std::string_view bytes);

// Collects the lines of one rank. A request that is not understood, or is longer than kLongestSpawn, is returned
// without programs.
class SpawnLines {
 public:
  // begin() is called at "mcmd=spawn", and add() for each line up to "endcmd".
  void begin() { lines_.clear(), open_ = true; }
  [[nodiscard]] bool open() const noexcept { return open_; }
  void add(std::string_view line);
  // Called at "endcmd". Returns the request if this was the block of its last program.
  std::optional<SpawnRequest> end();
  // Returns the reason why the last request has no programs.
  [[nodiscard]] const char* problem() const noexcept { return problem_; }

 private:
  bool open_ = false;
  std::vector<std::string> lines_;
  std::size_t bytes_ = 0;  // size of all lines of the request; beyond kLongestSpawn, lines are dropped
  // Index of this block among the request's programs, and their number.
  int number_ = 0;
  int programs_ = 0;
  bool good_ = true;  // true if all blocks so far are valid
  const char* problem_ = "";
  SpawnRequest request_;
};

}  // namespace hr::launcher
