// Declarations used by the generated C side of the Fortran bindings (api/gen/fortran_c.py).
#pragma once

#include <string>

#include "fortran/callbacks.hpp"
#include "fortran/errors.hpp"
#include "fortran/handles.hpp"
#include "fortran/lengths.hpp"
#include "fortran/logicals.hpp"
#include "fortran/sections.hpp"
#include "fortran/sentinels.hpp"
#include "fortran/start.hpp"
#include "fortran/text.hpp"
#include "mpi.h"

// Fortran calls HR_F(send), which calls HR_MPI(Send).
#ifdef HR_PROFILING
#define HR_F(name) hr_pf_##name
#define HR_MPI(name) PMPI_##name
#else
#define HR_F(name) hr_f_##name
#define HR_MPI(name) MPI_##name
#endif

namespace hr::fortran {

inline int too_many_operations() {
  return error(MPI_ERR_OP, "operations were made of more than 256 different Fortran functions");
}

// The requests of a call that may complete several.
template <class Request>
class Completions {
 public:
  Completions(const Request* requests, long count) : before_(active() ? count : 0) {
    for (std::size_t i = 0; i < before_.size(); ++i) before_[i] = requests[i];
  }
  void end(const Request* after) const {
    for (std::size_t i = 0; i < before_.size(); ++i)
      finish_if_completed(const_cast<Elements<Request>&>(before_)[i], after[i]);
  }

 private:
  static bool active() noexcept { return __atomic_load_n(&deferred_copies, __ATOMIC_ACQUIRE) != 0; }
  Elements<Request> before_;
};

}  // namespace hr::fortran

using namespace hr::fortran;  // NOLINT: generated sources have nothing else in them
namespace f = hr::fortran;    // NOLINT: for names that arguments have too
