// LateStores: device memory as one kernel sees it, if its stores become visible to others only when it ends, which may
// happen in AMD's coarse-grained memory. The kernel works on copies, and the bytes that it has changed are stored at
// its end.
//
// Owner: the operation that runs the kernel. Threads: those that run its blocks; `state().mutex` is held around at().
#pragma once

#include <map>
#include <memory>

#include "state.hpp"

namespace fake_cuda {

class LateStores {
 public:
  // Returns the kernel's address of coarse-grained device memory.
  void* at(const Allocation& allocation, Address address);
  // Stores the changed bytes. The kernel has ended.
  void finish();

 private:
  struct Free {
    std::size_t bytes;  // length of the memory
    void operator()(unsigned char* memory) const;
  };
  using Memory = std::unique_ptr<unsigned char, Free>;
  class Kept;
  static Kept& kept();
  struct Piece {
    std::size_t bytes = 0;
    unsigned char* real = nullptr;
    Memory before, now;
  };
  Piece& piece_at(const Allocation& allocation, Address* address);

  std::map<Address, Piece> pieces_;  // by their first address
};

}  // namespace fake_cuda
