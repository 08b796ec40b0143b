// The calls of section 12.3: checks their arguments, and chooses the path to the target.
#include "base/abi.hpp"
#include "base/counters.hpp"
#include "base/short_copy.hpp"
#include "p2p/p2p.hpp"
#include "p2p/progress.hpp"
#include "rma/describe.hpp"
#include "rma/epoch.hpp"
#include "rma/operation.hpp"
#include "rma/quick.hpp"
#include "rma/rma.hpp"

namespace hr::rma {

using layout::Datatype;
using layout::Op;
using layout::OpKind;

namespace {

void aim(Operation& operation, const Target& target) {
  operation.rank = target.rank;
  operation.displacement = target.displacement;
  operation.count = target.count;
  operation.type = &target.type;
}

// Completes a call for MPI_PROC_NULL, which does nothing.
Status nothing(p2p::Request** request) {
  if (request == nullptr) return kOk;
  p2p::Completion completion;
  completion.source = abi::kProcNull;
  *request = p2p::completed_request(completion);
  return *request != nullptr ? kOk : fail(Errc::kNoMem, "no memory for another request");
}

Status does_not_fit(const char* what, std::size_t bytes, std::size_t room) {
  return fail(Errc::kTruncate, "%s has %zu bytes and there is room for %zu: counts and datatypes do not match", what,
              bytes, room);
}

Status check_fit(const Operation& operation) {
  const std::size_t target = operation.target_bytes();
  const std::size_t given = operation.origin.packed;
  if (operation.kind == OperationKind::kPut && given > target) return does_not_fit("the origin's data", given, target);
  if (operation.has_result() && target > operation.result.packed)
    return does_not_fit("the target's data", target, operation.result.packed);
  const bool combines = operation.kind == OperationKind::kAccumulate ||
                        (operation.kind == OperationKind::kGetAccumulate && operation.op->kind() != OpKind::kNoOp);
  if (combines && given != target) return does_not_fit("the origin's data", given, target);
  return kOk;
}

// Checks the types and the operation of an accumulate. Errors: MPI_ERR_TYPE, MPI_ERR_OP (section 12.3.4).
Status check_update(Operation& operation, const Op& op, Datatype* origin, bool fetches) {
  if (op.kind() == OpKind::kUser)
    return fail(Errc::kOp, "operations of MPI_Op_create cannot be used here: take a predefined one");
  if (op.kind() == OpKind::kNoOp && !fetches)
    return fail(Errc::kOp, "MPI_NO_OP is for MPI_Get_accumulate, MPI_Rget_accumulate and MPI_Fetch_and_op");
  operation.op = &op;
  operation.element = element_of(*operation.type);
  if (operation.element == nullptr && operation.target_bytes() != 0)
    return fail(Errc::kType, "the target's datatype has elements of several predefined types; one is allowed here");
  if (operation.target_bytes() == 0) return kOk;
  if (origin != nullptr) {
    const Datatype* const its = element_of(*origin);
    if (its == nullptr || its->basic() != operation.element->basic()) {
      return fail(Errc::kType, "the origin's elements are %s, the target's %s: they must be of one predefined type",
                  its == nullptr ? "of several types" : its->name().c_str(), operation.element->name().c_str());
    }
  }
  if (op.kind() == OpKind::kReplace || op.kind() == OpKind::kNoOp) return kOk;
  return layout::check_op(op, *operation.element);
}

counters::Access access_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kPut:
      return counters::Access::kPut;
    case OperationKind::kGet:
      return counters::Access::kGet;
    case OperationKind::kAccumulate:
      return counters::Access::kAccumulate;
    default:
      return counters::Access::kFetch;
  }
}

Status execute(Window& window, Operation& operation, p2p::Request** request) {
  Member& member = window.member(operation.rank);
  HR_TRY(check_fit(operation));
  HR_TRY(check_range(operation, window, member));
  const bool moves = operation.kind == OperationKind::kPut || operation.kind == OperationKind::kGet;
  counters::count_access(access_of(operation.kind), operation.target_bytes());
  Status done = Status::again();
  if (member.path == Path::kOwn || member.path == Path::kMapped) {
    done = execute_locally(window, operation);
  } else if (member.path == Path::kRead && moves) {
    done = execute_by_system(window, operation);
  } else if (member.path == Path::kNetwork && moves) {
    const Status started = start_by_network(window, operation, request);
    if (!started.is_again()) return started;
  }
  if (done.is_again()) return start_by_message(window, operation, request);
  HR_TRY(done);
  quick::stored = true;
  return nothing(request);
}

}  // namespace

void quick::serve_others(const Window& window, int read) {
  calls_to_turn = kCallsPerTurn;
  if (read == window.rank()) {
    p2p::poll_for_test([] { return false; });
  } else {
    p2p::poll();
  }
}

namespace {

// Completes a call whose operation is done; creates its request, if any.
Status done(p2p::Request** request) {
  if (request != nullptr) *request = p2p::completed_send_request();
  return kOk;
}

}  // namespace

Status put_any(const void* origin, Count count, Datatype& type, const Target& target, Window& window,
               p2p::Request** request) {
  if (request != nullptr) quick::take_turn(window);
  if (request != nullptr && quick::put(origin, count, type, target, window, true)) return done(request);
  HR_TRY(check_access(window, target.rank, request != nullptr));
  if (target.rank == abi::kProcNull) return nothing(request);
  Operation operation{OperationKind::kPut};
  aim(operation, target);
  HR_TRY(layout::make_view(origin, count, type, &operation.origin));
  return execute(window, operation, request);
}

Status get_any(void* origin, Count count, Datatype& type, const Target& target, Window& window,
               p2p::Request** request) {
  if (request != nullptr) quick::take_turn(window, target.rank);
  if (request != nullptr && quick::get(origin, count, type, target, window, true)) return done(request);
  HR_TRY(check_access(window, target.rank, request != nullptr));
  if (target.rank == abi::kProcNull) return nothing(request);
  Operation operation{OperationKind::kGet};
  aim(operation, target);
  HR_TRY(layout::make_view(origin, count, type, &operation.result));
  return execute(window, operation, request);
}

Status accumulate(const void* origin, Count count, Datatype& type, const Target& target, Op& op, Window& window,
                  p2p::Request** request) {
  quick::take_turn(window);
  if (quick::may_ask(window, request != nullptr) &&
      quick::counted(counters::Access::kAccumulate, quick::update_one(origin, count, type, target, op, window)))
    return done(request);
  HR_TRY(check_access(window, target.rank, request != nullptr));
  if (target.rank == abi::kProcNull) return nothing(request);
  Operation operation{OperationKind::kAccumulate};
  aim(operation, target);
  HR_TRY(check_update(operation, op, &type, false));
  HR_TRY(layout::make_view(origin, count, type, &operation.origin));
  return execute(window, operation, request);
}

Status get_accumulate(const void* origin, Count count, Datatype* type, void* result, Count result_count,
                      Datatype& result_type, const Target& target, Op& op, Window& window, p2p::Request** request) {
  quick::take_turn(window, op.kind() == OpKind::kNoOp ? target.rank : -1);
  HR_TRY(check_access(window, target.rank, request != nullptr));
  if (target.rank == abi::kProcNull) return nothing(request);
  Operation operation{OperationKind::kGetAccumulate};
  aim(operation, target);
  const bool ignores = op.kind() == OpKind::kNoOp;  // the origin's buffer is not used
  if (!ignores && type == nullptr) return fail(Errc::kType, "origin_datatype is MPI_DATATYPE_NULL");
  HR_TRY(check_update(operation, op, ignores ? nullptr : type, true));
  if (!ignores) HR_TRY(layout::make_view(origin, count, *type, &operation.origin));
  HR_TRY(layout::make_view(result, result_count, result_type, &operation.result));
  return execute(window, operation, request);
}

Status fetch_and_op_any(const void* origin, void* result, Datatype& type, int rank, Count displacement, Op& op,
                        Window& window) {
  if (type.row_ == nullptr) return fail(Errc::kType, "MPI_Fetch_and_op requires predefined datatypes");
  return get_accumulate(origin, 1, &type, result, 1, type, {rank, displacement, 1, type}, op, window);
}

Status compare_and_swap_any(const void* origin, const void* compare, void* result, Datatype& type, int rank,
                            Count displacement, Window& window) {
  using layout::BasicGroup;
  HR_TRY(check_access(window, rank, false));
  const auto group = type.row_ == nullptr ? BasicGroup::kPair : type.row_->group;
  if (group == BasicGroup::kPair || group == BasicGroup::kFloating || group == BasicGroup::kComplex)
    return fail(Errc::kType,
                "MPI_Compare_and_swap requires integers, logicals, MPI_BYTE, MPI_AINT, MPI_OFFSET and MPI_COUNT");
  if (rank == abi::kProcNull) return kOk;
  Operation operation{OperationKind::kCompareSwap};
  aim(operation, {rank, displacement, 1, type});
  HR_TRY(layout::make_view(origin, 1, type, &operation.origin));
  HR_TRY(layout::make_view(result, 1, type, &operation.result));
  layout::View compared;
  HR_TRY(layout::make_view(compare, 1, type, &compared));
  std::byte expected[16];
  if (compared.packed > sizeof expected) return fail(Errc::kType, "MPI_Compare_and_swap of %zu bytes", compared.packed);
  HR_TRY(layout::pack(compared, 0, compared.packed, expected));
  operation.compare = expected;
  return execute(window, operation, nullptr);
}

}  // namespace hr::rma
