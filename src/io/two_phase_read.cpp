// The rounds of a collective read.
#include <new>

#include "io/two_phase.hpp"

namespace hr::io {

using p2p::Task;

namespace {

// Largest gap that is read with its neighbors.
constexpr Count kSmallGap = Count{32} << 10;

// Receives this process's data of a round.
Status expect_parts(const Operation& operation, const Plan& plan, std::vector<Part>& parts,
                    p2p::RequestList* requests) {
  const layout::View& memory = operation.memory();
  for (Part& part : parts) {
    if (part.bytes == 0) continue;
    if (memory.contiguous) {
      HR_TRY(receive_from(plan, part.aggregator, part_of(memory, part.offset, part.bytes), requests, Direction::kBack));
      continue;
    }
    part.held.reset(new (std::nothrow) std::byte[part.bytes]);
    if (part.held == nullptr) return fail(Errc::kNoMem, "no memory for %zu bytes to unpack", part.bytes);
    HR_TRY(receive_from(plan, part.aggregator, bytes_view(part.held.get(), part.bytes), requests, Direction::kBack));
  }
  return kOk;
}

Status unpack_parts(const Operation& operation, const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    if (part.held != nullptr) HR_TRY(layout::unpack(operation.memory(), part.offset, part.bytes, part.held.get()));
  }
  return kOk;
}

Status read_chunk(const PosixFile& disk, const Announced& announced, std::byte* buffer) {
  for (const Interval& each : cover(announced.lists, kSmallGap)) {
    const auto bytes = static_cast<std::size_t>(each.last - each.first);
    std::size_t done = 0;
    HR_TRY(disk.read(each.first, buffer + (each.first - announced.chunk.first), bytes, &done));
    if (done < bytes) {
      return fail(Errc::kIo, "%s became shorter while it was read: it ends before byte %lld", disk.path().c_str(),
                  static_cast<long long>(each.last));
    }
  }
  return kOk;
}

// This process's requests in a round.
struct Wanted {
  explicit Wanted(std::size_t most) : requests(most) {}
  std::vector<Part> parts;
  p2p::RequestList requests;
};

// Receives the requests for a chunk, and reads it.
Task fetch(Operation* operation, Plan* plan, Count round, Chunk* chunk) {
  // Fills the buffer with zeros, so that no old memory contents are sent after a failed read.
  HR_CO_TRY(make_buffer(*plan, Fill::kZeros, chunk));
  Task hearing = receive_announcements(plan, round, &chunk->announced);
  HR_CO_TRY(co_await hearing);
  std::function<Status()> what = [disk = operation->place().disk, chunk] {
    return read_chunk(*disk, chunk->announced, chunk->buffer.get());
  };
  Task reading = use_disk(operation, plan, chunk, &what);
  HR_CO_TRY(co_await reading);
  co_return kOk;
}

// Sends the data read to the processes that requested it.
Task deliver(Plan* plan, Chunk* chunk) {
  Task settling = settle(plan, chunk);
  HR_CO_TRY(co_await settling);
  const std::size_t count = chunk->announced.members.size();
  p2p::RequestList requests(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (chunk->announced.headers[i].bytes == 0) continue;
    Ref<layout::Datatype> type;
    layout::View view;
    HR_CO_TRY(view_of(chunk->announced, i, chunk->buffer.get(), &type, &view));
    HR_CO_TRY(send_to(*plan, chunk->announced.members[i], view, &requests, Direction::kBack));
  }
  HR_CO_TRY(co_await requests.all());
  co_return kOk;
}

}  // namespace

// Requests the data of a round before the data of the previous one is delivered.
Task read_together(Operation* operation, Plan* plan) {
  Chunk chunks[2];
  const std::size_t most = 3 * plan->aggregators.size();
  Wanted wanted[2] = {Wanted(most), Wanted(most)};
  for (Count round = 0; round <= plan->rounds; ++round) {
    if (round < plan->rounds) {
      Wanted& next = wanted[round % 2];
      HR_CO_TRY(announce(*operation, *plan, round, &next.parts, &next.requests));
      HR_CO_TRY(expect_parts(*operation, *plan, next.parts, &next.requests));
      if (plan->own_place >= 0) {
        Task fetching = fetch(operation, plan, round, &chunks[round % 2]);
        HR_CO_TRY(co_await fetching);
      }
    }
    if (round == 0) continue;
    if (plan->own_place >= 0) {
      Task delivering = deliver(plan, &chunks[(round - 1) % 2]);
      HR_CO_TRY(co_await delivering);
    }
    Wanted& last = wanted[(round - 1) % 2];
    HR_CO_TRY(co_await last.requests.all());
    HR_CO_TRY(unpack_parts(*operation, last.parts));
  }
  co_return kOk;
}

}  // namespace hr::io
