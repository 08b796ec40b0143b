// MPI_Reduce_local (section 6.9.7). Two device buffers are combined by a kernel if there is one; otherwise device data
// passes through host copies.
#include "coll/check.hpp"
#include "coll/coll.hpp"
#include "coll/view_tools.hpp"
#include "layout/device/reduce.hpp"

namespace hr::coll {

Status reduce_local(const void* inbuf, void* inoutbuf, Count count, Datatype& type, Op& op) {
  HR_TRY(not_in_place(inbuf, count, "inbuf"));
  HR_TRY(not_in_place(inoutbuf, count, "inoutbuf"));
  HR_TRY(layout::check_op(op, type));
  layout::View in;
  layout::View inout;
  HR_TRY(layout::make_view(inbuf, count, type, &in));
  HR_TRY(layout::make_view(inoutbuf, count, type, &inout));
  if (in.packed == 0) return kOk;
  HR_TRY(not_aliased(in, inout));

  if (in.where.is_device() && inout.where.is_device()) {
    bool done = false;
    HR_TRY(layout::device::apply(op, in, inout, &done));
    if (done) return kOk;
  }
  TypedScratch in_copy(in.where.is_device() ? count : 0, type);
  TypedScratch inout_copy(inout.where.is_device() ? count : 0, type);
  std::byte* left = in.address;
  std::byte* right = inout.address;
  if (in.where.is_device()) {
    HR_TRY(layout::copy(in, in_copy.view()));
    left = in_copy.view().address;
  }
  if (!inout.where.is_device()) return layout::apply(op, left, right, count, type);
  HR_TRY(layout::copy(inout, inout_copy.view()));
  HR_TRY(layout::apply(op, left, inout_copy.view().address, count, type));
  return layout::copy(inout_copy.view(), inout);
}

}  // namespace hr::coll
