// An aggregator's chunk of the file, which the worker reads or writes while messages are in progress.
#include <new>
#include <utility>

#include "io/state.hpp"
#include "io/two_phase.hpp"

namespace hr::io {

using p2p::Task;

Status make_buffer(const Plan& plan, Fill fill, Chunk* chunk) {
  if (chunk->buffer != nullptr) return kOk;
  const auto bytes = static_cast<std::size_t>(plan.chunk);
  chunk->buffer.reset(fill == Fill::kZeros ? new (std::nothrow) std::byte[bytes]()
                                           : new (std::nothrow) std::byte[bytes]);
  if (chunk->buffer != nullptr) return kOk;
  return fail(Errc::kNoMem, "no memory for a buffer of %lld bytes; hint cb_buffer_size makes it smaller",
              static_cast<long long>(plan.chunk));
}

Task use_disk(Operation* operation, Plan* plan, Chunk* chunk, std::function<Status()>* work) {
  if (operation->background() || plan->rounds > 1) {
    worker().submit(chunk->job, std::move(*work));
    chunk->under_way = true;
    co_return kOk;
  }
  Task working = operation->work(&chunk->job, work);
  const Status worked = co_await working;
  plan->note(worked);
  co_return kOk;
}

Task settle(Plan* plan, Chunk* chunk) {
  if (!chunk->under_way) co_return kOk;
  p2p::When over = chunk->job.over();
  HR_CO_TRY(co_await over);
  chunk->under_way = false;
  plan->note(chunk->job.result());
  co_return kOk;
}

}  // namespace hr::io
