// LayerState: state of a layer while MPI is in use, from its init() to its finalize(). An owning pointer like
// std::unique_ptr, except that a program that exits without MPI_Finalize leaves the object as it is. No layer controls
// the order of destructors at exit, so one layer's destructor could use what another has already released, and other
// threads may still be in the library. The system frees the memory; the launcher removes resources outside the process.
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
  // Removes the state and returns it; the caller destroys it.
  std::unique_ptr<T> take() noexcept { return std::unique_ptr<T>(std::exchange(state_, nullptr)); }

  [[nodiscard]] T* get() const noexcept { return state_; }
  T* operator->() const noexcept { return state_; }
  T& operator*() const noexcept { return *state_; }
  bool operator==(std::nullptr_t) const noexcept { return state_ == nullptr; }

 private:
  T* state_ = nullptr;
};

}  // namespace hr
