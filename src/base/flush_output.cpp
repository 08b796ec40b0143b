#include "base/flush_output.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>

namespace hr {
namespace {

// A step may wait for a lock whose owner waits for this thread, so it runs in a separate thread, which is then
// abandoned.
using Step = void (*)();

constexpr std::size_t kStack = std::size_t{256} << 10;
constexpr long kTurn = 400'000'000;  // ns for each step
constexpr long kPause = 1'000'000;   // ns
constexpr int kMostPauses = 2500;

template <class Function>
Function find(const char* name) noexcept {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

void flush_standard() { std::fflush(stdout); }

// Used if the thread that holds the stream's lock waits for this very process to end. By then the stream's contents are
// complete, or that thread is in the middle of a line whose loss does not matter.
void flush_standard_without_lock() { ::fflush_unlocked(stdout); }

void flush_all() { std::fflush(nullptr); }

// Flushes C++ streams, which buffer text themselves if they are not synchronised with C's. Uses the program's C++
// library, found by its symbols, as this library may use another one. If the program has never used the streams, the
// first call here creates them.
void flush_cpp() {
  static char initializer[16];
  const auto make = find<void (*)(void*)>("_ZNSt8ios_base4InitC1Ev");
  const auto flush = find<void* (*)(void*)>("_ZNSo5flushEv");
  void* const out = ::dlsym(RTLD_DEFAULT, "_ZSt4cout");
  if (make == nullptr || flush == nullptr || out == nullptr) return;
  make(initializer);
  flush(out);
}

// Calls gfortran's function, which flushes all units, or else the library's own, which flushes the standard units with
// any compiler (src/fortran/sources/output.f90).
void flush_fortran() {
  if (const auto flush = find<void (*)(const int*)>("_gfortran_flush_i4"); flush != nullptr) return flush(nullptr);
  if (const auto flush = find<void (*)()>("hr_f_flush"); flush != nullptr) flush();
}

struct Flusher {
  Step step;
  sem_t done{};
};

// Static, as abandoned threads may still use them.
Flusher cpp{flush_cpp}, fortran{flush_fortran}, standard{flush_standard}, without_lock{flush_standard_without_lock},
    all_streams{flush_all};
std::atomic<bool> begun{false};
std::atomic<bool> over{false};

void* run(void* argument) {
  auto& flusher = *static_cast<Flusher*>(argument);
  flusher.step();
  ::sem_post(&flusher.done);
  return nullptr;
}

bool begin(Flusher& flusher) noexcept {
  ::sem_init(&flusher.done, 0, 0);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStack);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool runs = ::pthread_create(&thread, &attributes, run, &flusher) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return runs;
}

bool ended(Flusher& flusher) noexcept {
  timespec end{};
  ::clock_gettime(CLOCK_REALTIME, &end);
  end.tv_nsec += kTurn;
  end.tv_sec += end.tv_nsec / 1'000'000'000;
  end.tv_nsec %= 1'000'000'000;
  int result = 0;
  while ((result = ::sem_timedwait(&flusher.done, &end)) != 0 && errno == EINTR) {
  }
  return result == 0;
}

// Runs a step in a thread; false if the thread could not be started, or does not end in time.
bool flush(Flusher& flusher) noexcept { return begin(flusher) && ended(flusher); }

// Flushes from this thread, for the case that no thread could be started; false if the stream is locked.
bool flush_if_free() noexcept {
  if (::ftrylockfile(stdout) != 0) return false;
  ::fflush_unlocked(stdout);
  ::funlockfile(stdout);
  return true;
}

}  // namespace

void flush_output() noexcept {
  if (begun.exchange(true)) {
    // Another thread is flushing, and must be able to finish.
    const timespec pause{0, kPause};
    for (int at = 0; at < kMostPauses && !over.load(); ++at) ::nanosleep(&pause, nullptr);
    return;
  }
  // C++'s and Fortran's streams are first, as their contents may go into C's.
  flush(cpp);
  flush(fortran);
  if (!flush(standard) && !flush_if_free()) flush(without_lock);
  flush(all_streams);
  over.store(true);
}

}  // namespace hr
