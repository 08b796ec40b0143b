// Calls on windows without the library lock (rma/direct.hpp).
#include "bind/channel_calls.hpp"
#include "bind/entry.hpp"
#include "rma/direct.hpp"

namespace hr::bind::channel_calls {
namespace {

namespace direct = rma::direct;
namespace quick = rma::quick;
using counters::Access;
using rma::Window;

// The types and the window of a put or get. False if an argument is wrong.
struct Transfer {
  Transfer(MPI_Count count, MPI_Datatype type, MPI_Count target_count, MPI_Datatype target_type, MPI_Win win) noexcept
      : window(lookup<Window>(win)), origin(committed(type)), target(committed(target_type)) {
    valid = window != nullptr && origin != nullptr && target != nullptr && count >= 0 && target_count >= 0;
  }
  Window* window;
  layout::Datatype* origin;
  layout::Datatype* target;
  bool valid;
};

// Counts an update that `body` executes, and that accesses as many bytes as it returns; 0: the ordinary body follows.
template <class Body>
[[gnu::always_inline]] inline bool update(const Call& call, Access access, int* code, Body&& body) {
  Counted counted(call);
  const std::size_t bytes = body();
  if (bytes == 0) [[unlikely]]
    return counted.withdraw(), false;
  counted.accesses(access, bytes);
  *code = MPI_SUCCESS;
  return true;
}

// The same for a call that synchronizes; false: the ordinary body follows.
template <class Body>
[[gnu::always_inline]] inline bool synchronize(const Call& call, MPI_Win win, int* code, Body&& body) {
  Window* const window = lookup<Window>(win);
  if (window == nullptr) return false;
  direct::take_turn(false);
  Counted counted(call);
  if (!body(*window)) [[unlikely]]
    return counted.withdraw(), false;
  *code = MPI_SUCCESS;
  return true;
}

}  // namespace

bool put(const Call& call, const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
         int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
         int* code) {
  const Transfer args(origin_count, origin_datatype, target_count, target_datatype, win);
  if (!args.valid) return false;
  const quick::Sides sides =
      quick::find_sides(origin_addr, origin_count, *args.origin, {target_rank, target_disp, target_count, *args.target},
                        *args.window, false);
  if (sides.target == nullptr) return false;
  direct::take_turn(false);
  Counted counted(call);
  quick::put(sides);
  counted.accesses(Access::kPut, sides.bytes);
  *code = MPI_SUCCESS;
  return true;
}

bool get(const Call& call, void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
         MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win, int* code) {
  const Transfer args(origin_count, origin_datatype, target_count, target_datatype, win);
  if (!args.valid) return false;
  const quick::Sides sides =
      quick::find_sides(origin_addr, origin_count, *args.origin, {target_rank, target_disp, target_count, *args.target},
                        *args.window, false);
  if (sides.target == nullptr) return false;
  direct::take_turn(*args.window, target_rank);
  Counted counted(call);
  quick::get(sides);
  counted.accesses(Access::kGet, sides.bytes);
  *code = MPI_SUCCESS;
  return true;
}

bool accumulate(const Call& call, const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                MPI_Win win, int* code) {
  const Transfer args(origin_count, origin_datatype, target_count, target_datatype, win);
  const layout::Op* const with = lookup<layout::Op>(op);
  if (!args.valid || with == nullptr) return false;
  direct::take_turn(false);
  return update(call, Access::kAccumulate, code, [&] {
    return quick::update_one(origin_addr, origin_count, *args.origin,
                             {target_rank, target_disp, target_count, *args.target}, *with, *args.window);
  });
}

bool fetch_and_op(const Call& call, const void* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank,
                  MPI_Aint target_disp, MPI_Op op, MPI_Win win, int* code) {
  Window* const window = lookup<Window>(win);
  const layout::Datatype* const type = committed(datatype);
  const layout::Op* const with = lookup<layout::Op>(op);
  if (window == nullptr || type == nullptr || with == nullptr) return false;
  direct::take_turn(*window, with->kind() == layout::OpKind::kNoOp ? target_rank : -1);
  return update(call, Access::kFetch, code, [&] {
    return quick::fetch(origin_addr, result_addr, *type, target_rank, target_disp, *with, *window);
  });
}

bool compare_and_swap(const Call& call, const void* origin_addr, const void* compare_addr, void* result_addr,
                      MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win, int* code) {
  Window* const window = lookup<Window>(win);
  const layout::Datatype* const type = committed(datatype);
  if (window == nullptr || type == nullptr) return false;
  direct::take_turn(false);
  return update(call, Access::kFetch, code, [&] {
    return quick::swap(origin_addr, compare_addr, result_addr, *type, target_rank, target_disp, *window);
  });
}

bool win_flush(const Call& call, int rank, MPI_Win win, int* code) {
  return synchronize(call, win, code, [rank](Window& window) { return direct::flush(window, rank); });
}

bool win_flush_local(const Call& call, int rank, MPI_Win win, int* code) { return win_flush(call, rank, win, code); }

bool win_flush_all(const Call& call, MPI_Win win, int* code) {
  return synchronize(call, win, code, [](Window& window) { return direct::flush_all(window); });
}

bool win_flush_local_all(const Call& call, MPI_Win win, int* code) { return win_flush_all(call, win, code); }

// A program that polls memory with loads calls this in between.
bool win_sync(const Call& call, MPI_Win win, int* code) {
  return synchronize(call, win, code, [](Window& window) {
    if (!direct::sync(window)) return false;
    direct::take_turn(true);
    return true;
  });
}

bool win_lock(const Call& call, int lock_type, int rank, int assert, MPI_Win win, int* code) {
  return synchronize(call, win, code, [=](Window& window) { return direct::lock(window, lock_type, rank, assert); });
}

bool win_unlock(const Call& call, int rank, MPI_Win win, int* code) {
  return synchronize(call, win, code, [rank](Window& window) { return direct::unlock(window, rank); });
}

}  // namespace hr::bind::channel_calls
