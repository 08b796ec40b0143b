// One fuzz target: reads any bytes, and must neither crash nor hang, nor fail a check().
//
// With clang a target is linked with libFuzzer (-fsanitize=fuzzer), which learns from coverage; otherwise with
// driver.cpp, which mutates the corpus at random. Both call the same function.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace hr::fuzz {

// Standard error, even if a target has silenced the tested code.
inline const int report = ::dup(2);

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Fails if a condition that must be true for every input is false.
inline void check(bool holds, const std::string& what) {
  if (holds) return;
  ::dprintf(report, "fuzz: %s\n", what.c_str());
  std::abort();
}

}  // namespace hr::fuzz
