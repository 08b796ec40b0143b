// Counts of driver calls: with FAKE_CUDA_COUNTS=PREFIX, each process writes PREFIX.<pid> when it ends, with a line
// "call number main" for each function that it has called, without the version in its name; `main`: calls by its first
// thread.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "state.hpp"

namespace fake_cuda {
namespace {

struct Counts {
  std::mutex mutex;
  struct Number {
    std::uint64_t all = 0, main = 0;
  };
  std::map<const char*, Number> calls;  // key: the address of the name
  std::string file;
};

void write_all(Counts& counts) {
  const std::lock_guard lock(counts.mutex);
  std::map<std::string, Counts::Number> named;
  for (const auto& [call, number] : counts.calls) {
    named[without_version(call)].all += number.all;
    named[without_version(call)].main += number.main;
  }
  std::FILE* const out = std::fopen((counts.file + '.' + std::to_string(::getpid())).c_str(), "w");
  if (out == nullptr) return;
  for (const auto& [call, number] : named) {
    std::fprintf(out, "%s %llu %llu\n", call.c_str(), static_cast<unsigned long long>(number.all),
                 static_cast<unsigned long long>(number.main));
  }
  std::fclose(out);
}

// Returns null if nothing is counted. The object is never destroyed, as the program's destructors may call the driver.
Counts* counts() {
  static Counts* const made = []() -> Counts* {
    const char* const prefix = std::getenv("FAKE_CUDA_COUNTS");
    if (prefix == nullptr || *prefix == '\0') return nullptr;
    static auto* const all = new Counts;
    all->file = prefix;
    std::atexit([] { write_all(*all); });
    return all;
  }();
  return made;
}

}  // namespace

void count(const char* call) {
  Counts* const all = counts();
  if (all == nullptr) return;
  static thread_local const bool is_main = ::gettid() == ::getpid();
  const std::lock_guard lock(all->mutex);
  ++all->calls[call].all;
  if (is_main) ++all->calls[call].main;
}

}  // namespace fake_cuda
