// Memory: memory of this process that others may access through UCX, and the keys to memory of others.
//
// A RemoteKey holds a number, unique in the process that exposed the memory, then UCX's own packed key. A key that UCX
// has unpacked belongs to an endpoint; a bounded number of them is kept for later operations. Owner: the transport.
// Threads: library lock.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "transport/transport.hpp"
#include "transport/ucx/worker.hpp"

namespace hr::transport::ucx {

class Memory {
 public:
  Memory(const Library& library, const Worker& worker) : library_(library), worker_(worker) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Status expose(std::byte* address, std::size_t bytes, bool device, RemoteKey* key);
  void withdraw(const RemoteKey& key) noexcept;

  // Do the same as the functions in transport.hpp; `endpoint` is that of the process.
  Status get(int proc, ucp_ep_h endpoint, const RemoteKey& key, std::span<const RemotePart> parts, Operation* done);
  Status put(int proc, ucp_ep_h endpoint, const RemoteKey& key, std::span<const RemotePart> parts, Operation* done);
  // Completes when all puts started before through this endpoint have arrived.
  void flush(ucp_ep_h endpoint, Operation* done);

  // Releases nothing: everything is left to the end of the process.
  void abandon() noexcept {
    keys_.clear();
    exposed_.clear();
  }

  // Destroys the keys of that process, before its endpoint is closed; no operation with it is pending.
  void forget(int proc) noexcept;

  // Return the number in a key, and whether this process's host memory of that number contains these bytes.
  [[nodiscard]] static std::uint64_t number_of(const RemoteKey& key) noexcept;
  [[nodiscard]] bool exposes(std::uint64_t number, std::uint64_t address, std::size_t bytes) const noexcept;

 private:
  struct Exposed {
    ucp_mem_h handle;
    std::uint64_t address;
    std::size_t bytes;
    bool device;
  };
  struct Key {
    ucp_rkey_h key = nullptr;
    int uses = 0;  // number of operations pending with it
  };
  struct Pending;

  Status key_for(int proc, ucp_ep_h endpoint, const RemoteKey& key, Key** out);
  void drop_unused() noexcept;
  // Handles UCX's result of starting a part.
  void started(Pending* pending, ucs_status_ptr_t answer);
  static void ended(void* request, ucs_status_t status, void* pending);
  static void end(Pending* pending, ucs_status_t status);
  [[nodiscard]] ucp_request_param_t parameters(Pending* pending) const noexcept;
  template <class Start>
  Status move(int proc, ucp_ep_h endpoint, const RemoteKey& key, std::span<const RemotePart> parts, Operation* done,
              Start&& start);

  const Library& library_;
  const Worker& worker_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Exposed> exposed_;
  std::map<std::pair<int, std::uint64_t>, Key> keys_;  // indexed by process and number
};

}  // namespace hr::transport::ucx
