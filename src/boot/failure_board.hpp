// FailureBoard: lists the failed processes of a job that continues without them (mpiexec --enable-recovery), in memory
// that the launcher's process on a host writes and the ranks there map. A check is one load.
//
// Entries are appended and never change; all processes on a host see them in one order. Memory order: the writer stores
// an entry, then the count (release); readers load the count (acquire), then entries. Owner: the launcher makes and
// removes the file; each process maps it from init() on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/shared_file.hpp"

namespace hr::boot {

class FailureBoard {
 public:
  // Returns the file's path. `number`: identifies the launcher's process that writes it; a machine may have several.
  [[nodiscard]] static std::string path(const std::string& directory, std::string_view job, int number);

  // Creates a board for a job of `ranks` processes, each of which fails at most once. Errors: those of SharedFile.
  Status create(const std::string& path, int ranks);
  Status attach(const std::string& path, int ranks);

  // Adds a rank that has died; called by the launcher. False: there is no memory for it.
  bool post(int rank, std::string_view why);

  [[nodiscard]] std::uint32_t count() const noexcept { return head().count.load(std::memory_order_acquire); }
  [[nodiscard]] int rank(std::uint32_t entry) const noexcept { return entries()[entry].rank; }
  [[nodiscard]] std::string_view why(std::uint32_t entry) const noexcept { return entries()[entry].why; }

 private:
  struct alignas(64) Head {
    std::atomic<std::uint32_t> count;
  };
  struct Entry {
    std::int32_t rank;
    char why[124];  // null-terminated
  };
  [[nodiscard]] static std::size_t bytes_for(int ranks) noexcept {
    return sizeof(Head) + static_cast<std::size_t>(ranks) * sizeof(Entry);
  }
  [[nodiscard]] Head& head() const noexcept { return *reinterpret_cast<Head*>(file_.data()); }
  [[nodiscard]] Entry* entries() const noexcept { return reinterpret_cast<Entry*>(file_.data() + sizeof(Head)); }

  SharedFile file_{"let the job end with a rank's death: leave out --enable-recovery"};
  int ranks_ = 0;
};

}  // namespace hr::boot
