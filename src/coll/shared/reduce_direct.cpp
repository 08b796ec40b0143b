#include "coll/shared/reduce_direct.hpp"

#include <algorithm>

namespace hr::coll::shared {
namespace {

// What stays in a core's cache with two operands; large enough for the cost of a system call.
constexpr Count kPieceBytes = 131072;

// result = this process's part of all vectors, combined; host memory, one run of bytes. `own` is the contribution to
// it, elsewhere in memory.
Status combine_part(const Call& call, const View& own, const View& result) {
  const Count size = own.type->size();
  const Count elements = std::max<Count>(1, kPieceBytes / size);
  const Cut cut{contribution(call).count, call.size()};
  const Count begin = cut.begin(call.rank());
  TypedScratch scratch(call.size() > 2 ? std::min(elements, own.count) : 0, *own.type);
  for (Count done = 0; done < own.count; done += elements) {
    const Count count = std::min(elements, own.count - done);
    const View piece = slice(result, done, count);
    const auto read = [&](int step, const View& to) {
      const int from = (call.rank() + step) % call.size();
      return read_from(call, from, exposed_by(call, from).send + static_cast<std::uint64_t>((begin + done) * size), to);
    };
    HR_TRY(read(1, piece));
    HR_TRY(combine(call, slice(own, done, count), piece));
    for (int step = 2; step < call.size(); ++step) {
      const View other = slice(scratch.view(), 0, count);
      HR_TRY(read(step, other));
      HR_TRY(combine(call, other, piece));
    }
  }
  return kOk;
}

// The other parts, each where its process has combined it.
Status read_parts(const Call& call, const Cut& cut) {
  for (int step = 1; step < call.size(); ++step) {
    const int from = (call.rank() + step) % call.size();
    HR_TRY(read_from(call, from, exposed_by(call, from).recv, cut.of(call.recv.all(), from)));
  }
  return kOk;
}

}  // namespace

Task reduce_by_reading(const Call& call, bool takes, const Algorithm& otherwise) {
  const View& vector = contribution(call);
  const Cut cut{vector.count, call.size()};
  const View contributed = cut.of(vector, call.rank());
  // The part goes where the result does, but not over a contribution, which is needed again if reading fails somewhere.
  const bool apart = !takes || call.in_place;
  TypedScratch room(apart ? contributed.count : 0, *contributed.type);
  const View part = apart ? room.view() : cut.of(call.recv.all(), call.rank());
  CellFree free{call};
  HR_CO_UNTIL(call, free);
  expose(call, {readable_address(vector), readable_address(part), vector.packed});
  CellsArrived arrived = others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->seen_everybody(call.ticket);
  bool done = all_readable(call, true);
  if (done) {
    const Steps steps(call);
    Task combining = conclude(call, steps, &Control::published, combine_part(call, contributed, part), &done);
    HR_CO_TRY(co_await combining);
    if (done) {
      const Status status = takes ? read_parts(call, cut) : kOk;
      Task reading = conclude(call, steps, &Control::consumed, status, &done);
      HR_CO_TRY(co_await reading);
    }
  }
  if (done && takes && apart) HR_CO_TRY(layout::copy(part, cut.of(call.recv.all(), call.rank())));
  if (done) co_return kOk;
  Task other = otherwise.run(call);
  const Status status = co_await other;
  co_return status;
}

}  // namespace hr::coll::shared
