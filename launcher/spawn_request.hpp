// SpawnRequest: what a rank asks its launcher to start (PMI-1's "mcmd=spawn"). Plain values.
//
// It comes as lines, a block for each program. Ours escape what stands behind the '=' (boot/key_values.hpp), so that
// any text fits in a line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packing.hpp"

namespace hr::launcher {

// What a request may take, with kSpawnLine more for each of its lines: as a message it still fits a frame.
inline constexpr std::size_t kLongestSpawn = std::size_t{4} << 20;
inline constexpr std::size_t kSpawnLine = 16;

struct SpawnRequest {
  struct Part {
    int ranks = 0;
    std::vector<std::string> arguments;  // the first is the program as written
    std::vector<KeyValue> info;
  };
  std::vector<Part> programs;
  std::vector<KeyValue> given;  // what the new job finds in its key-value space
};

std::string encode(const SpawnRequest& request);
// nullopt where the bytes are no request.
std::optional<SpawnRequest> decode_spawn(std::string_view bytes);

// The lines of one rank. What is not understood, or longer than kLongestSpawn, makes the request one without programs.
class SpawnLines {
 public:
  // Between "mcmd=spawn" and "endcmd".
  void begin() { lines_.clear(), open_ = true; }
  [[nodiscard]] bool open() const noexcept { return open_; }
  void add(std::string_view line);
  // At "endcmd". The request, where that was the last of its programs.
  std::optional<SpawnRequest> end();
  // Why the last request has no programs.
  [[nodiscard]] const char* problem() const noexcept { return problem_; }

 private:
  bool open_ = false;
  std::vector<std::string> lines_;
  std::size_t bytes_ = 0;  // of all lines of the request; above kLongestSpawn none is kept
  // Of this block: which of the request's programs it is.
  int number_ = 0;
  int programs_ = 0;
  bool good_ = true;  // all blocks so far
  const char* problem_ = "";
  SpawnRequest request_;
};

}  // namespace hr::launcher
