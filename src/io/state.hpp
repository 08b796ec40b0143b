// State of io/ for the process, from init() to finalize(). Owner: process-wide. Threads: library lock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/layer_state.hpp"
#include "io/datarep.hpp"
#include "io/worker.hpp"

namespace hr::io {

struct State {
  std::vector<std::unique_ptr<Representation>> representations;
  std::unique_ptr<Worker> worker;  // null before the first background job
  std::uint64_t shared_files = 0;  // number of shared files made; part of their names
};

namespace detail {
extern LayerState<State> current_state;
}

[[nodiscard]] State& state();
// Returns the worker thread, which is started at the first call.
[[nodiscard]] Worker& worker();

}  // namespace hr::io
