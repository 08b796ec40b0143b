// Memory: memory of this process that others may access through UCX, and the keys to other processes' memory.
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
  // An open path to another process.
  struct To {
    int proc;
    ucp_ep_h endpoint;
    void* path;  // argument of `failed`
  };
  using Failed = void (*)(void* path, ucs_status_t status);

  // `failed`: called when an operation has failed because of its path.
  Memory(const Library& library, const Worker& worker, Failed failed)
      : library_(library), worker_(worker), failed_(failed) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // See the functions of these names in transport.hpp.
  Status expose(std::byte* address, std::size_t bytes, RemoteKey* key);
  void withdraw(const RemoteKey& key) noexcept;
  Status get(const To& to, const RemoteKey& key, std::span<const RemotePart> parts, Operation* done);
  Status put(const To& to, const RemoteKey& key, std::span<const RemotePart> parts, Operation* done);
  void flush(const To& to, Operation* done);

  // Releases nothing: everything is left until the end of the process.
  void abandon() noexcept {
    keys_.clear();
    exposed_.clear();
  }

  // Destroys the keys of that process, before its endpoint is closed; no operation with it is pending.
  void forget(int proc) noexcept;

 private:
  struct Key {
    ucp_rkey_h key = nullptr;
    int uses = 0;  // number of pending operations with this key
  };
  struct Pending;

  Status key_for(const To& to, const RemoteKey& key, Key** out);
  void drop_unused() noexcept;
  // Handles what UCX returned when an operation was started.
  static void started(Pending* pending, ucs_status_ptr_t answer);
  static void ended(void* request, ucs_status_t status, void* pending);
  static void end(Pending* pending, ucs_status_t status);
  [[nodiscard]] ucp_request_param_t parameters(Pending* pending) const noexcept;
  template <class Start>
  Status move(const To& to, const RemoteKey& key, std::span<const RemotePart> parts, Operation* done, Start&& start);

  const Library& library_;
  const Worker& worker_;
  Failed failed_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, ucp_mem_h> exposed_;         // indexed by number
  std::map<std::pair<int, std::uint64_t>, Key> keys_;  // indexed by process and number
};

}  // namespace hr::transport::ucx
