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

// In the World Model the level of threads is known from MPI_Init on.
void ask() {
  int initialized = 0;
  int level = MPI_THREAD_MULTIPLE;
  const bool world = standard.MPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0 &&
                     standard.MPI_Query_thread(&level) == MPI_SUCCESS;
  Callers unknown = Callers::kUnknown;
  callers.compare_exchange_strong(unknown, world && level != MPI_THREAD_MULTIPLE ? Callers::kOne : Callers::kSeveral);
}

// Held for a few instructions.
class Gate {
 public:
  Gate() noexcept {
    for (int round = 0; word_.test_and_set(std::memory_order_acquire); ++round) {
      if (round > 100) sched_yield();
    }
  }
  ~Gate() { word_.clear(std::memory_order_release); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  inline static std::atomic_flag word_;
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
unsigned Table<kind>::add_shared(void* object) noexcept {
  if constexpr (Traits<kind>::kFresh) {
    if (callers.load(std::memory_order_relaxed) == Callers::kUnknown) [[unlikely]] ask();
    const Gate gate;
    return slots_.take(object);
  } else {
    if constexpr (kind == Kind::kSession) callers = Callers::kSeveral;
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
}

template <Kind kind>
void Table<kind>::drop_shared(unsigned index) noexcept {
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
