// Choice buffers that are passed by descriptor (docs/adr/0021-fortran.md).
//
// A dense array is passed as its address. Any other section stands for the array of its elements in sequence (MPI
// 5.0 section 19.1.12). It is described to MPI as a derived datatype, so that nothing is copied. If no datatype can
// describe it (reductions, blocks of a section whose elements are not equally spaced), it is copied to a dense
// array, and back when the call ends, or when its request completes in a call from Fortran. Threads: a Section belongs
// to one call; data that outlives it has a lock.
#pragma once

#include "fortran/compiler.hpp"
#include "fortran/sentinels.hpp"
#include "mpi.h"

namespace hr::fortran {

class Section {
 public:
  explicit Section(const void* descriptor) noexcept {
    void* base = nullptr;
    __builtin_memcpy(&base, descriptor, sizeof(base));  // the first member, from any compiler (Fortran 2018, 18.5.3)
    address_ = address(base);
    if (hr_f_describe(descriptor, &shape_, kMaxRank) != 0) [[unlikely]]
      dense_ = false;
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  ~Section() {
    if (!dense_) [[unlikely]]
      release();
  }

  [[nodiscard]] void* data() const noexcept { return address_; }
  [[nodiscard]] bool dense() const noexcept { return dense_; }

  // Describes one message of *count elements of *type, and replaces both. Returns an error code, as do the next three
  // functions.
  template <class Count>
  int message(Count* count, MPI_Datatype* type) {
    MPI_Count wide = *count;
    const int code = describe_message(&wide, type);
    *count = static_cast<Count>(wide);
    return code;
  }
  // Replaces *type so that any number of elements, at any position, can be described. Copies the section if there is no
  // such datatype.
  int elements(MPI_Datatype* type);
  // Copies the section, if the datatype must stay unchanged.
  int copy();
  // For calls without a datatype: fails if the memory is not dense.
  int storage();

  // Called after the call: copies received data back.
  void end();
  // Called after a call with a request: the copy is kept until the request completes.
  void defer(MPI_Request request, bool received);
  [[nodiscard]] bool copied() const noexcept { return copy_ != nullptr; }

 private:
  int describe_message(MPI_Count* count, MPI_Datatype* type);
  void release() noexcept;

  void* address_ = nullptr;
  bool dense_ = true;
  void* copy_ = nullptr;
  Shape shape_;
};

// Raises an error for a call that cannot wait until data is copied back (one-sided, persistent); returns the code.
int no_copies(const char* function);

// Number of pending requests whose buffers were copied. Each call that completes requests must call finish() for them.
extern int deferred_copies;
void finish(MPI_Request request);
// Called when the program frees a request that may be active; the copy is then never freed.
void abandon(MPI_Request request);

// Calls finish() if the call has completed the request, given its value before and after the call.
inline void finish_if_completed(MPI_Request before, MPI_Request after) {
  if (__atomic_load_n(&deferred_copies, __ATOMIC_ACQUIRE) != 0 && before != after) [[unlikely]]
    finish(before);
}

}  // namespace hr::fortran
