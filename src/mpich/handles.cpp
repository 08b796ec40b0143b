#include "mpich/handles.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>

namespace hr::mpich {
namespace {

struct Numbers {
  std::mutex mutex;
  std::unordered_map<void*, unsigned> of;
};

// Never destroyed, as programs call MPI from their destructors.
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
unsigned Table<kind>::add_known(void* object) noexcept {
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
void Table<kind>::drop_known(unsigned index) noexcept {
  Numbers& known = numbers<kind>();
  const std::lock_guard lock(known.mutex);
  void* const object = slots_.find(index);
  if (object == nullptr || --slots_.at(index).uses > 0) return;
  known.of.erase(object);
  slots_.give_back(index);
}

template <Kind kind>
constinit thread_local Kept Table<kind>::kept_ __attribute__((tls_model("initial-exec"))) = {};

template <Kind kind>
void Table<kind>::get_more() noexcept {
  // The destructor returns the remaining slots when the thread ends.
  struct End {
    ~End() { give_back_kept(); }
    void noted() noexcept {}
  };
  static thread_local End end;
  end.noted();
  const std::lock_guard lock(numbers<kind>().mutex);
  for (unsigned i = 0; i < kMostKept / 4; ++i) {
    const unsigned index = slots_.take(nullptr);
    slots_.at(index).next = kept_.first;
    kept_ = {index, kept_.count + 1};
  }
}

template <Kind kind>
void Table<kind>::give_back_kept() noexcept {
  const std::lock_guard lock(numbers<kind>().mutex);
  while (kept_.first != 0) {
    const unsigned index = kept_.first;
    kept_ = {slots_.at(index).next, kept_.count - 1};
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
