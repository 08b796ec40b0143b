// Message: what the hosts of a job tell one another, up and down the tree of mpiexec and its agents.
//
// All have one form, so that there is one decoder to trust. What the numbers mean stands beside each kind. Plain value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packing.hpp"

namespace hr::launcher {

struct Message {
  enum class Kind : std::uint8_t {
    kAlive,  // says only that the sender is there

    // Down
    kPlan,    // text: JobPlan; host, numbers[0]: first host of the receiver's subtree (itself), and past the last
    kGo,      // start the ranks
    kSignal,  // numbers: signal; 1 where the job is being ended
    kInput,   // to the host of rank 0. text: standard input; empty: its end
    kCredit,  // to a host. numbers: stream; bytes of output that were taken, -1: nobody wants more
    kWanted,  // text: a key that somebody waits for
    kLeft,    // a rank has ended well: who waits for others will not see it. text: it died so, and the job goes on
    kWhere,   // to the host of the rank. numbers: milliseconds to find out where it is
    kFinish,  // no rank runs any more, or none shall
    kReply,   // to the host of the rank. text: a line of PMI for it

    // Both ways
    kValues,  // numbers[0]: exchange (below). text: pairs, which belong to the next kFence of that exchange
    kFence,   // numbers[0]: exchange. Up: all ranks of the subtree take part; down: that was all
    kAnswer,  // text: pairs that somebody waited for

    // Up
    kReady,       // the subtree could start
    kDone,        // nothing is left in the subtree
    kProblem,     // numbers: exit code, 1 + the program that cannot be started (0: another thing). text: what cannot be
                  // done
    kLost,        // host, numbers[0]: hosts that are gone; numbers[1]: 1 where the first had been ready. text: why
    kBound,       // rank, numbers[0]: pid. text: its CPUs. Without a rank, the picture of the host
    kOutput,      // rank, numbers: 0 standard output, 1 standard error; 1 where the next one goes on with it. text
    kInputTaken,  // send more
    kAsk,         // text: a key that a rank waits for
    kStuck,       // a rank waits for one that has left
    kAbort,       // rank, numbers: pid, code
    kCrashed,     // rank, numbers: pid, signal. text: stack, or empty
    kWhereIs,     // rank, numbers[0]: pid. text
    kEnded,       // rank, numbers: pid, si_code, si_status, flags (below)
    kSpawn,       // rank. text: SpawnRequest
    kName,        // rank, numbers[0]: what about a service (below). text: a pair of its name and its port, or empty
    kCounters,    // text: a page of counters that a rank has left (docs/counters.md)
    kLast = kCounters
  };

  // An exchange: what the key-value space gains at a barrier, or, once, what the ranks see of their hosts; of the
  // latter one value comes down, where all are.
  static constexpr int kSpace = 0;
  static constexpr int kViews = 1;

  // Of kName.
  static constexpr int kPublish = 0;
  static constexpr int kUnpublish = 1;
  static constexpr int kLookUp = 2;

  // Of kEnded; the signal of a crash it announced stands above them.
  static constexpr int kInitialised = 1;
  static constexpr int kFinalized = 2;
  static constexpr int kCrashShift = 8;

  Kind kind = Kind::kAlive;
  int host = -1;
  int rank = -1;
  std::array<int, 4> numbers{};
  std::string text = {};
};

std::string encode(const Message& message);
// nullopt where the bytes are no message. Ranks and hosts are from -1 on; whether they exist is the receiver's to
// check.
std::optional<Message> decode(std::string_view bytes);

// Pairs as the text of a message, cut so that each fits well into a frame.
std::vector<std::string> pack(const std::vector<KeyValue>& pairs);
// False where the text is none of those.
bool unpack(std::string_view text, std::vector<KeyValue>* pairs);

}  // namespace hr::launcher
