#include "mpich/handles.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>

#include "mpich/entry.hpp"

namespace hr::mpich {
namespace {

std::atomic<bool> several{true};
std::once_flag asked;
bool noted = false;

// In the World Model the level of threads is known from MPI_Init on; a session may bring threads at any time.
void ask() {
  int initialized = 0;
  int level = MPI_THREAD_MULTIPLE;
  if (noted || standard.MPI_Initialized(&initialized) != MPI_SUCCESS || initialized == 0) return;
  if (standard.MPI_Query_thread(&level) == MPI_SUCCESS) several = level == MPI_THREAD_MULTIPLE;
}

// Held for a few instructions.
class Gate {
 public:
  Gate() noexcept : held_(several.load(std::memory_order_relaxed)) {
    if (!held_) return;
    for (int round = 0; word_.test_and_set(std::memory_order_acquire); ++round) {
      if (round > 100) sched_yield();
    }
  }
  ~Gate() {
    if (held_) word_.clear(std::memory_order_release);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  inline static std::atomic_flag word_;
  bool held_;
};

struct Numbers {
  std::mutex mutex;
  std::unordered_map<void*, unsigned> of;
};

// Never destroyed: programs call MPI from destructors of their own.
template <Kind kind>
Numbers& numbers() {
  static auto* const one = new Numbers;
  return *one;
}

}  // namespace

bool several_threads() noexcept { return several.load(std::memory_order_relaxed); }

void note_several_threads() noexcept {
  noted = true;
  several = true;
}

void Slots::grow() noexcept {
  if (grown_ == kChunks) {
    std::fprintf(stderr, "headrace: the program holds 67 million MPI handles of one kind; no more can be numbered\n");
    std::abort();
  }
  auto* chunk = static_cast<Slot*>(std::calloc(kChunkSlots, sizeof(Slot)));
  if (chunk == nullptr) {
    std::fprintf(stderr, "headrace: no memory for %u MPI handles\n", kChunkSlots);
    std::abort();
  }
  // The first numbers of a kind may be predefined handles.
  const unsigned reserved = grown_ == 0 ? 16 : 0;
  const unsigned first = grown_ * kChunkSlots;
  for (unsigned i = kChunkSlots; i-- > reserved;) {
    chunk[i].next = free_;
    free_ = first + i;
  }
  chunks_[grown_].store(chunk, std::memory_order_release);
  ++grown_;
}

template <Kind kind>
unsigned Table<kind>::add_fresh(void* object) noexcept {
  std::call_once(asked, ask);
  const Gate gate;
  return slots_.take(object);
}

template <Kind kind>
unsigned Table<kind>::add_known(void* object) noexcept {
  if constexpr (kind == Kind::kSession) note_several_threads();
  Numbers& known = numbers<kind>();
  const std::lock_guard lock(known.mutex);
  const auto found = known.of.find(object);
  if (found != known.of.end()) {
    ++slots_.at(found->second).uses;
    return found->second;
  }
  const unsigned index = slots_.take(object);
  known.of.emplace(object, index);
  return index;
}

template <Kind kind>
void Table<kind>::drop(int handle) noexcept {
  const unsigned index = static_cast<unsigned>(handle) & kIndexMask;
  if constexpr (Traits<kind>::kFresh) {
    const Gate gate;
    if (slots_.find(index) != nullptr) slots_.give_back(index);
  } else {
    Numbers& known = numbers<kind>();
    const std::lock_guard lock(known.mutex);
    void* const object = slots_.find(index);
    if (object == nullptr || --slots_.at(index).uses > 0) return;
    known.of.erase(object);
    slots_.give_back(index);
  }
}

template class Table<Kind::kComm>;
template class Table<Kind::kGroup>;
template class Table<Kind::kDatatype>;
template class Table<Kind::kErrhandler>;
template class Table<Kind::kOp>;
template class Table<Kind::kInfo>;
template class Table<Kind::kWin>;
template class Table<Kind::kRequest>;
template class Table<Kind::kMessage>;
template class Table<Kind::kSession>;

}  // namespace hr::mpich
