// Frames: how messages between mpiexec and its agents follow one another on a pipe. Each is its size (four bytes, least
// first) and so many bytes.
//
// Plain values. What comes in is not trusted: a size above the limit is an error, and memory grows with what has
// arrived, not with what was announced.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hr::launcher {

inline constexpr std::size_t kLargestFrame = std::size_t{16} << 20;
inline constexpr std::size_t kFrameHeader = 4;

// payload: up to kLargestFrame bytes.
void append_frame(std::string* to, std::string_view payload);

class FrameDecoder {
 public:
  void add(std::string_view bytes);
  // The next whole frame; false where there is none yet, or nothing more to come after an error.
  bool next(std::string* payload);
  // A size was announced that no frame has.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

 private:
  std::string received_;
  std::size_t taken_ = 0;  // of received_
  bool broken_ = false;
};

}  // namespace hr::launcher
