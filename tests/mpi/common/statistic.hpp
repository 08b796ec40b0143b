// A performance variable of the library, found by name (MPI 5.0 section 15.3.7), relative to its value when this object
// was constructed.
#pragma once

#include <mpi.h>

#include "common/check.hpp"

namespace check {

class Statistic {
 public:
  explicit Statistic(const char* name) {
    int provided = 0;
    int index = -1;
    int count = 0;
    CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK_OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
    CHECK_OK(MPI_T_pvar_session_create(&session_));
    CHECK_OK(MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &count));
    CHECK_EQ(count, 1);
    CHECK_OK(MPI_T_pvar_start(session_, handle_));
  }
  ~Statistic() {
    MPI_T_pvar_handle_free(session_, &handle_);
    MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
  }
  Statistic(const Statistic&) = delete;
  Statistic& operator=(const Statistic&) = delete;

  [[nodiscard]] unsigned long long value() const {
    unsigned long long value = 0;
    CHECK_OK(MPI_T_pvar_read(session_, handle_, &value));
    return value;
  }

 private:
  MPI_T_pvar_session session_;
  MPI_T_pvar_handle handle_;
};

}  // namespace check
