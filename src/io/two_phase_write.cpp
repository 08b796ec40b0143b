// The rounds of a collective write.
#include <new>

#include "io/two_phase.hpp"

namespace hr::io {

using p2p::Task;

namespace {

Status send_parts(const Operation& operation, const Plan& plan, std::vector<Part>& parts, p2p::RequestList* requests) {
  const layout::View& memory = operation.memory();
  for (Part& part : parts) {
    if (part.bytes == 0) continue;
    if (memory.contiguous) {
      HR_TRY(send_to(plan, part.aggregator, part_of(memory, part.offset, part.bytes), requests));
      continue;
    }
    part.held.reset(new (std::nothrow) std::byte[part.bytes]);
    if (part.held == nullptr) return fail(Errc::kNoMem, "no memory for %zu bytes to pack", part.bytes);
    HR_TRY(layout::pack(memory, part.offset, part.bytes, part.held.get()));
    HR_TRY(send_to(plan, part.aggregator, bytes_view(part.held.get(), part.bytes), requests));
  }
  return kOk;
}

Task fill(const Plan* plan, Count round, Chunk* chunk) {
  HR_CO_TRY(make_buffer(*plan, Fill::kNone, chunk));
  Task hearing = receive_announcements(plan, round, &chunk->announced);
  HR_CO_TRY(co_await hearing);
  const std::size_t count = chunk->announced.members.size();
  p2p::RequestList requests(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (chunk->announced.headers[i].bytes == 0) continue;
    Ref<layout::Datatype> type;
    layout::View view;
    HR_CO_TRY(view_of(chunk->announced, i, chunk->buffer.get(), &type, &view));
    HR_CO_TRY(receive_from(*plan, chunk->announced.members[i], view, &requests));
  }
  HR_CO_TRY(co_await requests.all());
  co_return kOk;
}

Status write_chunk(const PosixFile& disk, const Chunk& chunk) {
  const Announced& announced = chunk.announced;
  for (const Interval& each : cover(announced.lists, 0)) {
    std::size_t done = 0;
    HR_TRY(disk.write(each.first, chunk.buffer.get() + (each.first - announced.chunk.first),
                      static_cast<std::size_t>(each.last - each.first), &done));
  }
  return kOk;
}

Task aggregate(Operation* operation, Plan* plan, Count round, Chunk* chunk) {
  Task settling = settle(plan, chunk);
  HR_CO_TRY(co_await settling);
  Task filling = fill(plan, round, chunk);
  HR_CO_TRY(co_await filling);
  // After a failure, nothing more is written.
  if (!plan->status.ok()) co_return kOk;
  std::function<Status()> what = [disk = operation->place().disk, chunk] { return write_chunk(*disk, *chunk); };
  Task writing = use_disk(operation, plan, chunk, &what);
  HR_CO_TRY(co_await writing);
  co_return kOk;
}

}  // namespace

Task write_together(Operation* operation, Plan* plan) {
  Chunk chunks[2];
  const std::size_t most = 3 * plan->aggregators.size();
  std::vector<Part> parts;
  for (Count round = 0; round < plan->rounds; ++round) {
    p2p::RequestList sends(most);
    HR_CO_TRY(announce(*operation, *plan, round, &parts, &sends));
    HR_CO_TRY(send_parts(*operation, *plan, parts, &sends));
    if (plan->own_place >= 0) {
      Task aggregating = aggregate(operation, plan, round, &chunks[round % 2]);
      HR_CO_TRY(co_await aggregating);
    }
    HR_CO_TRY(co_await sends.all());
  }
  Task first = settle(plan, &chunks[0]);
  HR_CO_TRY(co_await first);
  Task second = settle(plan, &chunks[1]);
  HR_CO_TRY(co_await second);
  co_return kOk;
}

}  // namespace hr::io
