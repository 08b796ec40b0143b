// FileStates: state of each source file of a layer while the layer is in use; each file defines its own struct, which
// is in no header.
//
// A state is created on first use and destroyed with the object that holds all of them, which the layer creates at init
// and destroys at finalize. So no state survives a finalize. Owner: the layer's state object. Threads:
// library lock.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace hr {

class FileState {
 public:
  FileState() = default;
  FileState(const FileState&) = delete;
  FileState& operator=(const FileState&) = delete;
  virtual ~FileState() = default;
};

// `Layer`: any type of the layer; it separates the indices of two layers' states.
template <class Layer>
class FileStates {
 public:
  // Returns the state of that type. Must not be called in the destructor of another state.
  template <class State>
  [[nodiscard]] State& of() {
    std::unique_ptr<FileState>& state = states_[kPlace<State>];
    if (state == nullptr) [[unlikely]]
      state = std::make_unique<State>();
    return static_cast<State&>(*state);
  }

 private:
  static inline std::size_t places_ = 0;
  template <class State>
  static inline const std::size_t kPlace = places_++;

  std::vector<std::unique_ptr<FileState>> states_{places_};
};

}  // namespace hr
