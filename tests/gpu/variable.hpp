// Variable: a performance variable of the library, read through MPI_T: a counter or a level.
//
// Owner: its session. Must be destroyed before MPI_Finalize.
#pragma once

#include <mpi.h>

#include "common/check.hpp"

namespace hr::test {

class Variable {
 public:
  explicit Variable(const char* name, int kind = MPI_T_PVAR_CLASS_COUNTER) {
    int provided = 0, index = -1, count = 0;
    CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK_OK(MPI_T_pvar_get_index(name, kind, &index));
    CHECK_OK(MPI_T_pvar_session_create(&session_));
    CHECK_OK(MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &count));
    if (kind == MPI_T_PVAR_CLASS_COUNTER) CHECK_OK(MPI_T_pvar_start(session_, handle_));  // a level needs no start
  }
  ~Variable() {
    MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  unsigned long long value() {
    unsigned long long value = 0;
    CHECK_OK(MPI_T_pvar_read(session_, handle_, &value));
    return value;
  }
  // Returns the count since the last call.
  unsigned long long take() {
    unsigned long long value = 0;
    CHECK_OK(MPI_T_pvar_readreset(session_, handle_, &value));
    return value;
  }

 private:
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle handle_ = MPI_T_PVAR_HANDLE_NULL;
};

}  // namespace hr::test
