// Frames: the format of messages between mpiexec and its agents on a pipe. Each frame consists of its size (four bytes,
// least significant first) and its content.
//
// Plain values. Input is not trusted: a size above the limit is an error, and memory grows with the data received, not
// with the size announced.
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
  // Sets *payload to the payload of the next complete frame. False if no frame is complete yet, or none will follow
  // because of an error.
  bool next(std::string* payload);
  // True if an impossible size was announced.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

 private:
  std::string received_;
  std::size_t taken_ = 0;  // bytes of received_ that are already decoded
  bool broken_ = false;
};

}  // namespace hr::launcher
