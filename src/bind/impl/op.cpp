// User-defined reduction operations (MPI 5.0 section 6.9.5).
#include "layout/op.hpp"

#include <algorithm>
#include <limits>

#include "bind/handles.hpp"
#include "bind/impl.hpp"

namespace hr::bind::impl {
namespace {

using layout::Op;

Status make_op(bool commute, Op::UserFunction function, Ref<Op>* op) {
  Op* made = Arena<Op>::instance().create(layout::OpKind::kUser, commute);
  if (made == nullptr) {
    return fail(Errc::kNoMem, "no memory for another operation (%zu are alive); free those no longer needed",
                Arena<Op>::instance().live());
  }
  made->user_ = std::move(function);
  *op = Ref<Op>::adopt(made);
  return kOk;
}

// Calls function(in, inout, n) for pieces of at most `most` elements, because the length in the plain form is an int.
template <class Function>
void in_pieces(const void* in, void* inout, Count count, const layout::Datatype& type, Count most,
               Function&& function) {
  // User functions declare both arrays without const.
  auto* from = static_cast<std::byte*>(const_cast<void*>(in));
  auto* to = static_cast<std::byte*>(inout);
  for (Count done = 0; done < count; done += most) {
    const Count n = std::min(most, count - done);
    function(from + done * type.extent(), to + done * type.extent(), n);
  }
}

Status check_function(const void* function) {
  return function != nullptr ? kOk : fail(Errc::kArg, "user_fn is null; pass the function that combines two arrays");
}

}  // namespace

Status op_create(MPI_User_function* user_fn, bool commute, Ref<Op>& op) {
  HR_TRY(check_function(reinterpret_cast<const void*>(user_fn)));
  return make_op(
      commute,
      [user_fn](const void* in, void* inout, Count count, const layout::Datatype& type) {
        in_pieces(in, inout, count, type, std::numeric_limits<int>::max(), [&](void* from, void* to, Count n) {
          int length = static_cast<int>(n);
          MPI_Datatype handle = handle_of(&type);
          user_fn(from, to, &length, &handle);
        });
        return kOk;
      },
      &op);
}

Status op_create_c(MPI_User_function_c* user_fn, bool commute, Ref<Op>& op) {
  HR_TRY(check_function(reinterpret_cast<const void*>(user_fn)));
  return make_op(
      commute,
      [user_fn](const void* in, void* inout, Count count, const layout::Datatype& type) {
        in_pieces(in, inout, count, type, count, [&](void* from, void* to, Count n) {
          MPI_Count length = n;
          MPI_Datatype handle = handle_of(&type);
          user_fn(from, to, &length, &handle);
        });
        return kOk;
      },
      &op);
}

Status op_free(Op& op) {
  if (op.is_predefined()) {
    return fail(Errc::kOp, "the operation is predefined and cannot be freed");
  }
  release(&op);
  return kOk;
}

Status op_commutative(Op& op, int& commute) {
  commute = op.commutative() ? 1 : 0;
  return kOk;
}

}  // namespace hr::bind::impl
