// Reports messages that were sent and never received (MPI 5.0 section 11.2.2), at their destination, in MPI_Finalize.
// By then, all processes have synchronised; each notifies every other one that it has sent its last
// message.
#include <algorithm>
#include <cstdint>
#include <set>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "check/diagnostic.hpp"
#include "check/match.hpp"
#include "check/messages.hpp"
#include "check/state.hpp"
#include "p2p/progress.hpp"

namespace hr::check {
namespace {

// Maximum number of processes with which the check waits for messages that are still in flight.
constexpr int kMostProcesses = 64;
// Time limit of the wait for processes that may never reach MPI_Finalize.
constexpr double kMostSeconds = 10;

struct Lost final : FileState {
  std::set<int> ended;  // processes that have sent their last message
};

void take_final(const Told& told) { own<Lost>().ended.insert(told.from); }

void meet_all(int size) {
  const int self = boot::processes().self();
  for (int proc = 0; proc < size; ++proc) {
    if (proc != self) tell(proc, Word::kFinal, 0, {});
  }
  const auto all_ended = [size] { return own<Lost>().ended.size() + 1 == static_cast<std::size_t>(size); };
  const double end = now_seconds() + kMostSeconds;
  static_cast<void>(p2p::wait_until([&] { return all_ended() || p2p::any_failures() || now_seconds() > end; }));
}

void at_finalize() {
  const Call* const call = current_call();
  if (call == nullptr || !call->is("MPI_Finalize") || p2p::any_failures()) return;  // a failed process receives nothing
  const int size = boot::identity().size;
  if (size > 1 && size <= kMostProcesses) meet_all(size);
  if (p2p::any_failures()) return;
  for (const std::string& text : messages_without_receive())
    log::write(log::Level::kError, "check full: message: %s never received; receive it, or do not send it",
               text.c_str());
}

void start() { on_word(Word::kFinal, take_final); }

}  // namespace

extern const Diagnostic kLost;
const Diagnostic kLost{"message", start, nullptr, nullptr, nullptr, at_finalize};

}  // namespace hr::check
