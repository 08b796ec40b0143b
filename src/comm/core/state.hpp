// State of comm/ while MPI is in use, from init() to finalize(); the next use of MPI creates a new one. Internal to
// comm/.
//
// Objects that exist before init() and after finalize() (predefined error handlers, MPI_GROUP_EMPTY, MPI_INFO_ENV) are
// not part of the state, because programs may use them before MPI_Init and after MPI_Finalize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/layer_state.hpp"
#include "boot/port.hpp"
#include "comm/communicator.hpp"

namespace hr::comm {

// Numbers of contexts; a set bit means taken. Grows with the highest number ever taken.
struct ContextTable {
  std::vector<std::uint64_t> taken;
  std::deque<std::uint32_t> resting;  // see rest_context()
  int agreements_under_way = 0;
};

// See consensus.cpp.
class ConsensusTable;

// A port opened by the program.
struct OpenPort {
  std::unique_ptr<boot::Port> port;
  // Number of failed processes (p2p::failed_processes) when the port was opened, or when an accept on it last reported
  // a failure; each failure is reported once.
  std::size_t failures_reported = 0;
};

// See connections.hpp.
struct Connections {
  std::map<int, int> uses;  // process of another job -> number of communicators that hold it
};

struct State {
  State();
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Ref<Communicator> world;
  Ref<Communicator> self;
  ContextTable contexts;
  std::vector<std::uint32_t> early_revocations;  // failure.cpp
  std::unique_ptr<ConsensusTable> consensus;     // consensus.cpp
  Communicator* parent = nullptr;                // the handle holds the reference; null if none, or freed
  Connections connections;
  std::vector<OpenPort> ports;
  std::vector<std::uint8_t> channels;  // indexed by the number of a context; see channels_of_context()
  std::set<std::string> shown_hints;   // ignored hints of which a line has been printed
};

// Prints, once per hint and reason, that a hint of a communicator is ignored (HEADRACE_VERBOSE=1).
void show_ignored(const std::string& key, const std::string& value, const char* why);

// Returns the number of channels that all members of a context offer for communicators over several hosts. They agree
// on this number together with the context. Returns 1 for contexts that exist from the start.
[[nodiscard]] int channels_of_context(std::uint32_t context) noexcept;

// Null before init() and after finalize().
extern LayerState<State> state;

}  // namespace hr::comm
