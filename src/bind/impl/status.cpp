// Accessors of the fields of a status (MPI 5.0 sections 3.2.5, 5.1.11, 13.3), and conversions to its Fortran forms
// (section 19.3.5), which are the same eight integers.
#include "bind/status.hpp"

#include <cstring>

#include "bind/impl.hpp"
#include "layout/datatype.hpp"
#include "layout/elements.hpp"

namespace hr::bind::impl {
namespace {

static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint) &&
              sizeof(MPI_F08_status) == sizeof(MPI_Status));

int copy_status(void* to, const void* from) {
  std::memcpy(to, from, sizeof(MPI_Status));
  return MPI_SUCCESS;
}

Status set_elements(MPI_Status* status, const layout::Datatype& datatype, Count count) {
  set_status_bytes(*status, static_cast<std::uint64_t>(layout::bytes_of_basic_elements(datatype, count)));
  return kOk;
}

}  // namespace

Status get_count(const MPI_Status* status, layout::Datatype& datatype, Count& count) {
  count = layout::elements_of(datatype, static_cast<Count>(status_bytes(*status)));
  return kOk;
}

Status get_elements(const MPI_Status* status, layout::Datatype& datatype, Count& count) {
  count = layout::basic_elements_of(datatype, static_cast<Count>(status_bytes(*status)));
  return kOk;
}

Status get_elements_x(const MPI_Status* status, layout::Datatype& datatype, Count& count) {
  return get_elements(status, datatype, count);
}

Status status_set_elements(MPI_Status* status, layout::Datatype& datatype, Count count) {
  return set_elements(status, datatype, count);
}

Status status_set_elements_x(MPI_Status* status, layout::Datatype& datatype, Count count) {
  return set_elements(status, datatype, count);
}

Status test_cancelled(const MPI_Status* status, int& flag) {
  flag = status_cancelled(*status) ? 1 : 0;
  return kOk;
}

Status status_set_cancelled(MPI_Status* status, bool flag) {
  set_status_cancelled(*status, flag);
  return kOk;
}

Status status_get_source(const MPI_Status* status, int& source) {
  source = status->MPI_SOURCE;
  return kOk;
}

Status status_get_tag(const MPI_Status* status, int& tag) {
  tag = status->MPI_TAG;
  return kOk;
}

Status status_get_error(const MPI_Status* status, int& err) {
  err = status->MPI_ERROR;
  return kOk;
}

Status status_set_source(MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return kOk;
}

Status status_set_tag(MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return kOk;
}

Status status_set_error(MPI_Status* status, int err) {
  status->MPI_ERROR = err;
  return kOk;
}

int status_c2f(const MPI_Status* c_status, MPI_Fint* f_status) { return copy_status(f_status, c_status); }
int status_f2c(const MPI_Fint* f_status, MPI_Status* c_status) { return copy_status(c_status, f_status); }
int status_c2f08(const MPI_Status* c_status, MPI_F08_status* f08_status) { return copy_status(f08_status, c_status); }
int status_f082c(const MPI_F08_status* f08_status, MPI_Status* c_status) { return copy_status(c_status, f08_status); }

Status status_f082f(const MPI_F08_status* f08_status, MPI_Fint* f_status) {
  copy_status(f_status, f08_status);
  return kOk;
}

Status status_f2f08(const MPI_Fint* f_status, MPI_F08_status* f08_status) {
  copy_status(f08_status, f_status);
  return kOk;
}

}  // namespace hr::bind::impl
