#include "wire/frame.hpp"

namespace hr::launcher {
namespace {

std::size_t read_size(const char* from) noexcept {
  std::size_t size = 0;
  for (std::size_t at = kFrameHeader; at-- > 0;) size = size << 8 | static_cast<unsigned char>(from[at]);
  return size;
}

}  // namespace

void append_frame(std::string* to, std::string_view payload) {
  for (std::size_t at = 0; at < kFrameHeader; ++at) *to += static_cast<char>(payload.size() >> (8 * at) & 0xff);
  *to += payload;
}

void FrameDecoder::add(std::string_view bytes) {
  if (broken_) return;
  if (taken_ == received_.size()) {
    received_.clear();
    taken_ = 0;
  }
  received_ += bytes;
}

bool FrameDecoder::next(std::string* payload) {
  if (broken_ || received_.size() - taken_ < kFrameHeader) return false;
  const std::size_t size = read_size(received_.data() + taken_);
  if (size > kLargestFrame) {
    broken_ = true;
    received_.clear();
    taken_ = 0;
    return false;
  }
  if (received_.size() - taken_ - kFrameHeader < size) {
    received_.erase(0, taken_);
    taken_ = 0;
    return false;
  }
  payload->assign(received_, taken_ + kFrameHeader, size);
  taken_ += kFrameHeader + size;
  return true;
}

}  // namespace hr::launcher
