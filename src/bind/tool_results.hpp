// Stores results of functions of the tool information interface (MPI 5.0 section 15.3); a null pointer means that the
// tool does not need the result.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>

namespace hr::bind {

// *length (section 15.3.3): on entry the size of the buffer, on return the full length including the terminator.
inline void give_text(std::string_view text, char* to, int* length) {
  if (length == nullptr) return;
  if (to != nullptr && *length > 0) {
    const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
    std::memcpy(to, text.data(), copied);
    to[copied] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

// Stores a result, unless the pointer is null.
template <class T>
void give(T* to, T value) {
  if (to != nullptr) *to = value;
}

// Returns "HEADRACE_SHM_DIR" for "shm_dir".
inline std::string tool_name(std::string_view name) {
  std::string full = "headrace_" + std::string(name);
  std::transform(full.begin(), full.end(), full.begin(), [](unsigned char c) { return std::toupper(c); });
  return full;
}

}  // namespace hr::bind
