// FileStates: state of the files of a layer while the layer is up, for each file a struct of its own that is in no
// header.
//
// A state is made at its first use and destroyed with the object that holds them all, which the layer makes at init and
// destroys at finalize. So a second start begins anew, and nothing is left of the first. Owner: the layer's state
// object. Threads: library lock.
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

// `Layer`: any type of the layer's; it keeps the indices of two layers' states apart.
template <class Layer>
class FileStates {
 public:
  // Not to be called within the destructor of another one.
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
