#include "check/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <string_view>

#include "base/abi.hpp"
#include "check/diagnostic.hpp"
#include "check/state.hpp"

namespace hr::check {
namespace {

// Uses atomics, because a program that uses more threads than permitted makes calls without the library lock.
struct Threads final : FileState {
  std::atomic<int> level{abi::kThreadMultiple};
  pthread_t main{};
  std::atomic<pthread_t> inside{};  // the thread in a call
  std::atomic<int> depth{0};        // number of nested calls of that thread
};

bool allows_any_thread(const Call& call) {
  constexpr std::string_view kFunctions[] = {"MPI_Initialized",    "MPI_Finalized",   "MPI_Query_thread",
                                             "MPI_Is_thread_main", "MPI_Get_version", "MPI_Get_library_version"};
  const std::string_view name = call.function();
  return name.starts_with("MPI_T_") || std::ranges::find(kFunctions, name) != std::end(kFunctions);
}

bool equal(pthread_t a, pthread_t b) noexcept { return ::pthread_equal(a, b) != 0; }

Status before(Call& call) {
  auto& threads = own<Threads>();
  const int level = threads.level.load(std::memory_order_relaxed);
  if (level == abi::kThreadMultiple || allows_any_thread(call)) return kOk;
  const pthread_t self = ::pthread_self();
  if (level != abi::kThreadSerialized) {
    if (equal(threads.main, self)) return kOk;
    return fail(Errc::kOther,
                "thread: a thread that did not initialise MPI calls it, and the level is %s; ask MPI_Init_thread for "
                "MPI_THREAD_SERIALIZED, or MPI_THREAD_MULTIPLE if threads call at the same time",
                level == abi::kThreadSingle ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED");
  }
  if (threads.depth.load() != 0 && !equal(threads.inside.load(), self))
    return fail(
        Errc::kOther,
        "thread: another thread is in a call of MPI, and the level is MPI_THREAD_SERIALIZED; let one thread call "
        "at a time, or ask MPI_Init_thread for MPI_THREAD_MULTIPLE");
  threads.inside.store(self);
  threads.depth.fetch_add(1);
  return kOk;
}

Status after(Call& call, int /*code*/) {
  auto& threads = own<Threads>();
  const bool counted = threads.level.load(std::memory_order_relaxed) == abi::kThreadSerialized &&
                       !allows_any_thread(call) && threads.depth.load() != 0 &&
                       equal(threads.inside.load(), ::pthread_self());
  if (counted) threads.depth.fetch_sub(1);
  return kOk;
}

}  // namespace

void allow_threads(int level) {
  if (state == nullptr) return;
  auto& threads = own<Threads>();
  threads.main = ::pthread_self();
  threads.level.store(level, std::memory_order_relaxed);
}

extern const Diagnostic kThreads;
const Diagnostic kThreads{"thread", nullptr, nullptr, before, after, nullptr};

}  // namespace hr::check
