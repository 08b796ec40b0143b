// Memory: memory of this process that others may access through libfabric, and accesses to other processes' memory.
//
// A RemoteKey holds a number that is unique in this process, the provider's key, the length, and the address of the
// first byte in two forms: as accesses use it, and as it is in its process.
// Owner: the transport. Threads: library lock.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "transport/ofi/fabric.hpp"
#include "transport/ofi/requests.hpp"
#include "transport/transport.hpp"

namespace hr::transport::ofi {

class Memory {
 public:
  Memory(Fabric& fabric, Requests& requests) : fabric_(fabric), requests_(requests) {}
  ~Memory() { close(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // See the functions of these names in transport.hpp.
  Status expose(std::byte* address, std::size_t bytes, RemoteKey* key);
  void withdraw(const RemoteKey& key) noexcept;
  Status move(int proc, Line& to, const RemoteKey& key, std::span<const RemotePart> parts, bool write, Operation* done);
  // Completes when all writes started so far to process `proc` are complete.
  void flush(int proc, Operation* done);

  void close() noexcept;
  void abandon() noexcept { exposed_.clear(); }

 private:
  struct Move;
  struct Writes {
    std::uint64_t begun = 0;
    std::uint64_t ended = 0;
    Status status = kOk;
    std::multimap<std::uint64_t, Operation*> flushes;  // key: the number of writes that a flush waits for
  };

  static void part_done(Request& request, int error);
  void end(Move* move);

  Fabric& fabric_;
  Requests& requests_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Registration> exposed_;  // indexed by number
  std::map<int, Writes> writes_;                   // indexed by process
};

}  // namespace hr::transport::ofi
