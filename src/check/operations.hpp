// Operations: the table of the operations that the program has started and not completed, indexed by request. Each has
// a list of the buffers that the program must not touch.
//
// The request that the library shares among completed sends (p2p::completed_send_request()) is replaced by a separate
// one, so that each operation has a handle. Internal to check/. Owner: the table, from the call that starts an
// operation to the call that completes it; then the Call of the completing call. Threads: library lock.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/count.hpp"
#include "check/call_site.hpp"
#include "layout/datatype.hpp"

namespace hr::check {

class Call;

// Data of the program that an operation reads or writes.
struct Buffer {
  const char* name = "";
  const void* address = nullptr;
  Count count = 0;
  Ref<layout::Datatype> type;
  bool written = false;
  bool hashed = false;
  std::uint64_t hash = 0;  // hash of its contents when the operation began
};

struct Operation {
  enum class Kind : std::uint8_t { kSend, kReceive, kCollective, kOther };
  Kind kind = Kind::kOther;
  const void* request = nullptr;  // handle of its request
  CallSite call_site;
  std::uint32_t context = 0;  // context of its communicator; 0: none
  int peer = 0;               // sends, receives: rank
  int tag = 0;
  std::uint64_t collective = 0;  // begun_collective()
  std::uint32_t window = 0;      // context of the window of a one-sided operation; 0: none
  int target = -1;               // rank in the window
  bool persistent = false;
  bool active = true;
  std::vector<Buffer> buffers;
};

using Operations = std::unordered_map<const void*, Operation>;
Operations& operations();

// Called in leave(). take_completed(): returns the operations that the call has completed, and removes them from the
// table (persistent operations are copied). note_started(): adds the operations that the call has started.
std::vector<Operation> take_completed(const Call& call);
void note_started(Call& call);

// Returns the buffers of a call that is not a collective operation: address, count and datatype of each.
std::vector<Buffer> buffers_of(const Call& call);
// True if the call has an argument of that name (`peer`: "dest", "source") and it is MPI_PROC_NULL.
[[nodiscard]] bool is_nobody(const Call& call, const char* peer);

}  // namespace hr::check
