// rma: one-sided communication (MPI 5.0 chapter 12), for bind/.
//
// Arguments are those of the C functions, in the same order. The entry points have checked that handles are live,
// counts not negative and types committed; everything else is checked here. Ranks may be MPI_PROC_NULL in communication
// calls, locks and flushes.
//
// Completion (section 12.5): an operation is complete when a call that ends its epoch, or a flush, has returned. These
// calls make progress while they wait, and end with MPIX_ERR_PROC_FAILED if a process on which they depend fails. If an
// operation fails at the target, the call that completes it, or its request, fails. Progress: operations that the
// target has to execute are executed in any call of the target that makes progress, or in its progress thread
// (needs_progress()).
//
// Errors: MPI_ERR_RMA_SYNC (no epoch, or another kind of epoch), MPI_ERR_RMA_RANGE (outside the window),
// MPI_ERR_RANK, MPI_ERR_DISP, MPI_ERR_SIZE, MPI_ERR_OP, MPI_ERR_TYPE, MPI_ERR_LOCKTYPE, MPI_ERR_ASSERT, MPI_ERR_GROUP,
// MPI_ERR_RMA_ATTACH, MPI_ERR_RMA_SHARED, MPI_ERR_RMA_FLAVOR, MPI_ERR_TRUNCATE (more data than fits into the target's
// part). Threads: library lock.
#pragma once

#include "layout/op.hpp"
#include "layout/view.hpp"
#include "p2p/request.hpp"
#include "rma/quick.hpp"
#include "rma/window.hpp"

namespace hr::rma {

// Called in MPI_Init after comm's init(); in MPI_Finalize before comm's finalize().
void init();
void finalize();

// --- Section 12.2. All are collective over the communicator ---
Status create(void* base, Count size, Count unit, const comm::Info* hints, comm::Communicator& comm,
              Ref<Window>* window);
// *base: receives the address of this process's memory. `flavor`: kAllocate or kShared.
Status allocate(Flavor flavor, Count size, Count unit, const comm::Info* hints, comm::Communicator& comm, void** base,
                Ref<Window>* window);
Status create_dynamic(const comm::Info* hints, comm::Communicator& comm, Ref<Window>* window);
// Deletes the attributes, waits for all members, and releases the handle's reference.
Status free(Window& window);
Status attach(Window& window, void* base, Count size);
Status detach(Window& window, const void* base);
// Finds a process's memory; for MPI_PROC_NULL, that of the first process that has any. Memory that this process cannot
// access directly has size 0.
Status shared_query(Window& window, int rank, Count* size, Count* unit, void** base);
void set_info(Window& window, const comm::Info* hints);
Ref<comm::Info> get_info(const Window& window);
// True if other processes may need this one to make progress while it computes, so that a progress thread is useful.
[[nodiscard]] bool needs_progress(Window& window) noexcept;

// --- Section 12.3. `request`: null for the plain form; else *request receives a reference, which the caller owns ---
Status put_any(const void* origin, Count count, layout::Datatype& type, const Target& target, Window& window,
               p2p::Request** request);
Status get_any(void* origin, Count count, layout::Datatype& type, const Target& target, Window& window,
               p2p::Request** request);
inline Status put(const void* origin, Count count, layout::Datatype& type, const Target& target, Window& window) {
  quick::take_turn(window);
  return quick::put(origin, count, type, target, window, false) ? kOk
                                                                : put_any(origin, count, type, target, window, nullptr);
}
inline Status get(void* origin, Count count, layout::Datatype& type, const Target& target, Window& window) {
  quick::take_turn(window, target.rank);
  return quick::get(origin, count, type, target, window, false) ? kOk
                                                                : get_any(origin, count, type, target, window, nullptr);
}
Status accumulate(const void* origin, Count count, layout::Datatype& type, const Target& target, layout::Op& op,
                  Window& window, p2p::Request** request = nullptr);
// `type` may be null with MPI_NO_OP, which does not read the origin's buffer.
Status get_accumulate(const void* origin, Count count, layout::Datatype* type, void* result, Count result_count,
                      layout::Datatype& result_type, const Target& target, layout::Op& op, Window& window,
                      p2p::Request** request = nullptr);
Status fetch_and_op_any(const void* origin, void* result, layout::Datatype& type, int rank, Count displacement,
                        layout::Op& op, Window& window);
inline Status fetch_and_op(const void* origin, void* result, layout::Datatype& type, int rank, Count displacement,
                           layout::Op& op, Window& window) {
  quick::take_turn(window, op.kind() == layout::OpKind::kNoOp ? rank : -1);
  return quick::counted(counters::Access::kFetch, quick::fetch(origin, result, type, rank, displacement, op, window))
             ? kOk
             : fetch_and_op_any(origin, result, type, rank, displacement, op, window);
}
Status compare_and_swap_any(const void* origin, const void* compare, void* result, layout::Datatype& type, int rank,
                            Count displacement, Window& window);
inline Status compare_and_swap(const void* origin, const void* compare, void* result, layout::Datatype& type, int rank,
                               Count displacement, Window& window) {
  quick::take_turn(window);
  return quick::counted(counters::Access::kFetch,
                        quick::swap(origin, compare, result, type, rank, displacement, window))
             ? kOk
             : compare_and_swap_any(origin, compare, result, type, rank, displacement, window);
}

// --- Section 12.5 ---
Status fence(Window& window, int assertion);
Status start(Window& window, const comm::Group& group, int assertion);
Status complete(Window& window);
Status post(Window& window, const comm::Group& group, int assertion);
Status wait(Window& window);
Status test(Window& window, bool* done);
Status lock(Window& window, int type, int rank, int assertion);
Status unlock(Window& window, int rank);
Status lock_all(Window& window, int assertion);
Status unlock_all(Window& window);
// Waits until the origin's buffers may be reused and, unless `local`, the operations are done at the target.
Status flush_any(Window& window, int rank, bool local);
inline Status flush(Window& window, int rank, bool local) {
  quick::take_turn(window);
  return quick::flush(window, rank) ? kOk : flush_any(window, rank, local);
}
Status flush_all(Window& window, bool local);
Status sync(Window& window);

}  // namespace hr::rma
