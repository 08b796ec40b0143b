// Data access: every function of section 14.4 of MPI 5.0 combines a mode, a pointer, and a form of the call.
#include "bind/impl.hpp"
#include "bind/status.hpp"
#include "io/io.hpp"

namespace hr::bind::impl {
namespace {

using io::Access;
using io::File;
using io::Pointer;
using io::Way;
using layout::Datatype;

Access access_of(Way way, Pointer pointer, bool collective, Count offset, const void* buf, Count count,
                 Datatype* type) {
  return {way, pointer, collective, offset, const_cast<void*>(buf), count, type};
}

Status run_now(File& fh, const Access& access, MPI_Status* status) {
  p2p::Completion completion;
  const Status moved = io::run(fh, access, &completion);
  fill_status(status, completion);
  return moved;
}

Status end_now(File& fh, const Access& access, MPI_Status* status) {
  p2p::Completion completion;
  const Status moved = io::end(fh, access, &completion);
  fill_status(status, completion);
  return moved;
}

}  // namespace

Status file_read_at(io::File& fh, Count offset, void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kRead, Pointer::kExplicit, false, offset, buf, count, &datatype), status);
}
Status file_iread_at(io::File& fh, Count offset, void* buf, Count count, Datatype& datatype, p2p::Request*& request) {
  return io::start(fh, access_of(Way::kRead, Pointer::kExplicit, false, offset, buf, count, &datatype), &request);
}
Status file_read_at_all(io::File& fh, Count offset, void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kRead, Pointer::kExplicit, true, offset, buf, count, &datatype), status);
}
Status file_iread_at_all(io::File& fh, Count offset, void* buf, Count count, Datatype& datatype,
                         p2p::Request*& request) {
  return io::start(fh, access_of(Way::kRead, Pointer::kExplicit, true, offset, buf, count, &datatype), &request);
}
Status file_read_at_all_begin(io::File& fh, Count offset, void* buf, Count count, Datatype& datatype) {
  return io::begin(fh, access_of(Way::kRead, Pointer::kExplicit, true, offset, buf, count, &datatype));
}
Status file_read_at_all_end(io::File& fh, void* buf, MPI_Status* status) {
  return end_now(fh, access_of(Way::kRead, Pointer::kExplicit, true, 0, buf, 0, nullptr), status);
}
Status file_read(io::File& fh, void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kRead, Pointer::kIndividual, false, 0, buf, count, &datatype), status);
}
Status file_iread(io::File& fh, void* buf, Count count, Datatype& datatype, p2p::Request*& request) {
  return io::start(fh, access_of(Way::kRead, Pointer::kIndividual, false, 0, buf, count, &datatype), &request);
}
Status file_read_all(io::File& fh, void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kRead, Pointer::kIndividual, true, 0, buf, count, &datatype), status);
}
Status file_iread_all(io::File& fh, void* buf, Count count, Datatype& datatype, p2p::Request*& request) {
  return io::start(fh, access_of(Way::kRead, Pointer::kIndividual, true, 0, buf, count, &datatype), &request);
}
Status file_read_all_begin(io::File& fh, void* buf, Count count, Datatype& datatype) {
  return io::begin(fh, access_of(Way::kRead, Pointer::kIndividual, true, 0, buf, count, &datatype));
}
Status file_read_all_end(io::File& fh, void* buf, MPI_Status* status) {
  return end_now(fh, access_of(Way::kRead, Pointer::kIndividual, true, 0, buf, 0, nullptr), status);
}
Status file_read_shared(io::File& fh, void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kRead, Pointer::kShared, false, 0, buf, count, &datatype), status);
}
Status file_iread_shared(io::File& fh, void* buf, Count count, Datatype& datatype, p2p::Request*& request) {
  return io::start(fh, access_of(Way::kRead, Pointer::kShared, false, 0, buf, count, &datatype), &request);
}
Status file_read_ordered(io::File& fh, void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kRead, Pointer::kShared, true, 0, buf, count, &datatype), status);
}
Status file_read_ordered_begin(io::File& fh, void* buf, Count count, Datatype& datatype) {
  return io::begin(fh, access_of(Way::kRead, Pointer::kShared, true, 0, buf, count, &datatype));
}
Status file_read_ordered_end(io::File& fh, void* buf, MPI_Status* status) {
  return end_now(fh, access_of(Way::kRead, Pointer::kShared, true, 0, buf, 0, nullptr), status);
}

Status file_write_at(io::File& fh, Count offset, const void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kWrite, Pointer::kExplicit, false, offset, buf, count, &datatype), status);
}
Status file_iwrite_at(io::File& fh, Count offset, const void* buf, Count count, Datatype& datatype,
                      p2p::Request*& request) {
  return io::start(fh, access_of(Way::kWrite, Pointer::kExplicit, false, offset, buf, count, &datatype), &request);
}
Status file_write_at_all(io::File& fh, Count offset, const void* buf, Count count, Datatype& datatype,
                         MPI_Status* status) {
  return run_now(fh, access_of(Way::kWrite, Pointer::kExplicit, true, offset, buf, count, &datatype), status);
}
Status file_iwrite_at_all(io::File& fh, Count offset, const void* buf, Count count, Datatype& datatype,
                          p2p::Request*& request) {
  return io::start(fh, access_of(Way::kWrite, Pointer::kExplicit, true, offset, buf, count, &datatype), &request);
}
Status file_write_at_all_begin(io::File& fh, Count offset, const void* buf, Count count, Datatype& datatype) {
  return io::begin(fh, access_of(Way::kWrite, Pointer::kExplicit, true, offset, buf, count, &datatype));
}
Status file_write_at_all_end(io::File& fh, const void* buf, MPI_Status* status) {
  return end_now(fh, access_of(Way::kWrite, Pointer::kExplicit, true, 0, buf, 0, nullptr), status);
}
Status file_write(io::File& fh, const void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kWrite, Pointer::kIndividual, false, 0, buf, count, &datatype), status);
}
Status file_iwrite(io::File& fh, const void* buf, Count count, Datatype& datatype, p2p::Request*& request) {
  return io::start(fh, access_of(Way::kWrite, Pointer::kIndividual, false, 0, buf, count, &datatype), &request);
}
Status file_write_all(io::File& fh, const void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kWrite, Pointer::kIndividual, true, 0, buf, count, &datatype), status);
}
Status file_iwrite_all(io::File& fh, const void* buf, Count count, Datatype& datatype, p2p::Request*& request) {
  return io::start(fh, access_of(Way::kWrite, Pointer::kIndividual, true, 0, buf, count, &datatype), &request);
}
Status file_write_all_begin(io::File& fh, const void* buf, Count count, Datatype& datatype) {
  return io::begin(fh, access_of(Way::kWrite, Pointer::kIndividual, true, 0, buf, count, &datatype));
}
Status file_write_all_end(io::File& fh, const void* buf, MPI_Status* status) {
  return end_now(fh, access_of(Way::kWrite, Pointer::kIndividual, true, 0, buf, 0, nullptr), status);
}
Status file_write_shared(io::File& fh, const void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kWrite, Pointer::kShared, false, 0, buf, count, &datatype), status);
}
Status file_iwrite_shared(io::File& fh, const void* buf, Count count, Datatype& datatype, p2p::Request*& request) {
  return io::start(fh, access_of(Way::kWrite, Pointer::kShared, false, 0, buf, count, &datatype), &request);
}
Status file_write_ordered(io::File& fh, const void* buf, Count count, Datatype& datatype, MPI_Status* status) {
  return run_now(fh, access_of(Way::kWrite, Pointer::kShared, true, 0, buf, count, &datatype), status);
}
Status file_write_ordered_begin(io::File& fh, const void* buf, Count count, Datatype& datatype) {
  return io::begin(fh, access_of(Way::kWrite, Pointer::kShared, true, 0, buf, count, &datatype));
}
Status file_write_ordered_end(io::File& fh, const void* buf, MPI_Status* status) {
  return end_now(fh, access_of(Way::kWrite, Pointer::kShared, true, 0, buf, 0, nullptr), status);
}

}  // namespace hr::bind::impl
