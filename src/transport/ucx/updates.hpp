// Updates: atomic updates of other processes' memory, executed by the owner's processor when a request arrives.
//
// So they are atomic whatever the network supports, even with respect to the owner's own atomic operations; they need
// the owner's progress. UCX's atomic operations would be executed by the network for some peers and by the processor
// for others, and paths that detect failures support none at all unless the network has them. Owner: the transport.
// Threads: library lock.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "transport/transport.hpp"
#include "transport/ucx/memory.hpp"
#include "transport/ucx/names.hpp"

namespace hr::transport::ucx {

class Updates {
 public:
  Updates(const Library& library, const Worker& worker, const Memory& memory, const Names& names)
      : library_(library), worker_(worker), memory_(memory), names_(names) {}

  // Handles requests and answers of others from now on.
  Status listen();

  Status start(int proc, ucp_ep_h endpoint, const RemoteKey& key, std::uint64_t address, std::size_t bytes,
               Update update, std::uint64_t operand, std::uint64_t compare, std::uint64_t* before, Operation* done);

  [[nodiscard]] bool has_work() const noexcept { return !asked_.empty() || !answered_.empty(); }
  // Executes requests of others, and ends updates that they have answered. endpoint_of(proc): null if there is no path.
  template <class EndpointOf>
  void work(EndpointOf&& endpoint_of) {
    for (const Request& request : std::exchange(asked_, {})) {
      const int from = names_.proc_of(request.from, request.secret);
      if (from < 0) continue;  // it has been disconnected meanwhile
      if (ucp_ep_h endpoint = endpoint_of(from); endpoint != nullptr) serve(request, from, endpoint);
    }
    for (const Answer& answer : std::exchange(answered_, {})) end(answer);
  }

  // Return the number of the last update started so far, and whether all updates with that process up to a number have
  // ended.
  [[nodiscard]] std::uint64_t last() const noexcept { return next_ - 1; }
  [[nodiscard]] bool ended(int proc, std::uint64_t up_to) const noexcept;
  // Ends all updates with that process with an error.
  void fail_pending(int proc);

 private:
  // Messages on the wire.
  struct Request {
    std::uint32_t from;
    std::uint32_t update;  // Update
    Secret secret;
    std::uint64_t number;
    std::uint64_t memory;  // number in the key
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t operand;
    std::uint64_t compare;
  };
  struct Answer {
    std::uint32_t from;
    std::uint32_t done;  // 0: the memory is not exposed, or not any more
    Secret secret;
    std::uint64_t number;
    std::uint64_t before;
  };
  struct Pending {
    std::uint64_t* before;
    Operation* done;
  };

  // Return null, or the fault of a message that has arrived.
  [[nodiscard]] const char* fault_of(const Request& request) const noexcept;
  [[nodiscard]] const char* fault_of(const Answer& answer) const noexcept;
  void serve(const Request& request, int from, ucp_ep_h endpoint);
  void end(const Answer& answer);
  template <class Text, std::vector<Text> Updates::* kList>
  static ucs_status_t arrive(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                             const ucp_am_recv_param_t* how);

  const Library& library_;
  const Worker& worker_;
  const Memory& memory_;
  const Names& names_;
  std::uint64_t next_ = 1;
  std::map<std::pair<int, std::uint64_t>, Pending> pending_;  // indexed by process and number
  std::vector<Request> asked_;
  std::vector<Answer> answered_;
};

}  // namespace hr::transport::ucx
