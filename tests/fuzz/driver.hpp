// One fuzz target: reads any bytes, and must neither crash nor hang, nor find that what it compares differs (check()).
//
// With clang a target is linked with libFuzzer (-fsanitize=fuzzer), which learns from coverage; elsewhere with
// driver.cpp, which changes the corpus at random. Both call the same function.
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

// Standard error, also where a target has silenced what it tests.
inline const int report = ::dup(2);

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// What must hold for every input.
inline void check(bool holds, const std::string& what) {
  if (holds) return;
  ::dprintf(report, "fuzz: %s\n", what.c_str());
  std::abort();
}

}  // namespace hr::fuzz
