// LayerState: what a layer keeps while MPI is in use, from its init() to its finalize(). A pointer that owns, like
// std::unique_ptr, but for one thing: a program that exits without MPI_Finalize leaves it as it is. Destructors at exit
// run in an order that no layer chooses, so that those of one would use what another has let go, and other threads may
// still be in there. The system takes the memory; what is not the process's own is the launcher's to remove.
// Threads: library lock.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace hr {

template <class T>
class LayerState {
 public:
  constexpr LayerState() noexcept = default;
  LayerState(const LayerState&) = delete;
  LayerState& operator=(const LayerState&) = delete;

  LayerState& operator=(std::unique_ptr<T> made) noexcept {
    take();
    state_ = made.release();
    return *this;
  }
  void reset() noexcept { take(); }
  // There is none from here on; the caller ends it.
  std::unique_ptr<T> take() noexcept { return std::unique_ptr<T>(std::exchange(state_, nullptr)); }

  [[nodiscard]] T* get() const noexcept { return state_; }
  T* operator->() const noexcept { return state_; }
  T& operator*() const noexcept { return *state_; }
  bool operator==(std::nullptr_t) const noexcept { return state_ == nullptr; }

 private:
  T* state_ = nullptr;
};

}  // namespace hr
