// Message: communication between the hosts of a job, up and down the tree of mpiexec and its agents.
//
// All messages have one form, so that there is only one decoder to trust. The meaning of the numbers is given with each
// kind. Plain value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/packing.hpp"

namespace hr::launcher {

struct Message {
  enum class Kind : std::uint8_t {
    kAlive,  // reports only that the sender is alive. numbers[0]: runnable threads for each CPU of its host

    // Down
    kPlan,    // text: JobPlan; host, numbers[0]: places (tree/remote_host.hpp) of the receiver's own host, which is
              // the first of its subtree, and one past the last
    kGo,      // start the ranks
    kSignal,  // numbers: signal; 1 if the job is being ended
    kInput,   // sent to the host of rank 0. text: standard input; empty: its end
    kCredit,  // sent to a host. numbers: stream; bytes of output consumed, -1: send no more
    kWanted,  // text: a key that a rank waits for
    kLeft,    // a rank has ended, and will not join waiting ranks. text: why it died, if the job continues
    kWhere,   // sent to the host of the rank. numbers: time limit for getting its stacks, in milliseconds
    kFinish,  // no rank is running, or none is to start
    kReply,   // sent to the host of the rank. text: a PMI line for it

    // Both ways
    kValues,  // numbers[0]: exchange (below). text: pairs, which belong to the next kFence of that exchange
    kFence,   // numbers[0]: exchange. Up: all ranks of the subtree have entered; down: it is complete
    kAnswer,  // text: pairs that a rank waited for

    // Up
    kReady,    // the subtree is able to start
    kDone,     // nothing is left in the subtree
    kProblem,  // numbers: exit code, 1 + the program that cannot be started (0: something else). text: what cannot be
               // done
    kHostFailed,  // host, numbers[0]: the first of the hosts that have ended, and their number; numbers[1]: 1 if it had
                  // been ready. text: why
    kBound,       // rank, numbers[0]: pid. text: its CPUs. If rank is -1, the picture of the host
    kOutput,      // rank, numbers: 0 standard output, 1 standard error; 1 if the next one continues it. text
    kInputTaken,  // the input was consumed: send more
    kAsk,         // text: a key that a rank waits for
    kStuck,       // a rank waits for another rank that has left
    kAbort,       // rank, numbers: pid, code
    kCrashed,     // rank, numbers: pid, signal. text: stack, or empty
    kWhereIs,     // rank, numbers[0]: pid. text
    kEnded,       // rank, numbers: pid, si_code, si_status, flags (below)
    kSpawn,       // rank. text: SpawnRequest
    kName,        // rank, numbers[0]: request about a service (below). text: a pair of its name and its port, or empty
    kCounters,    // text: a page of counters that a rank has left (docs/counters.md)
    kLast = kCounters
  };

  // Exchanges. kSpace: the values added to the key-value space at a barrier. kViews, once: the ranks' views of their
  // hosts; the result is a single value, the placement of all ranks.
  static constexpr int kSpace = 0;
  static constexpr int kViews = 1;

  // Requests of kName.
  static constexpr int kPublish = 0;
  static constexpr int kUnpublish = 1;
  static constexpr int kLookUp = 2;

  // Flags of kEnded. The bits above them hold the signal of a crash that the rank reported.
  static constexpr int kInitialised = 1;
  static constexpr int kFinalized = 2;
  static constexpr int kUsedWorld = 4;  // with kFinalized: not only sessions
  static constexpr int kCrashShift = 8;

  Kind kind = Kind::kAlive;
  int host = -1;
  int rank = -1;
  std::array<int, 4> numbers{};
  std::string text = {};
};

std::string encode(const Message& message);
// Decodes a message; nullopt if the bytes are not one. Ranks and hosts are at least -1; the receiver checks that they
// exist.
std::optional<Message> decode(std::string_view bytes);

// Encodes pairs as values of `text`. Each value easily fits into a frame.
std::vector<std::string> pack(const std::vector<KeyValue>& pairs);
// Decodes pairs; false if the text does not have the form that pack() produces.
bool unpack(std::string_view text, std::vector<KeyValue>* pairs);

}  // namespace hr::launcher
