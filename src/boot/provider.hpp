// A provider: one way of being started. One file with one record each; provider_list.cpp names them in the order asked.
//
// Owner: boot.cpp holds the one that was chosen, from init() to the end of the process. Threads: library lock.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "boot/boot.hpp"

namespace hr::boot {

class Provider {
 public:
  virtual ~Provider() = default;
  // Fills rank, size, appnum, universe_size, job_id, has_launcher; node_of_rank and processes_here where the launcher
  // tells, else left empty.
  virtual Status connect(Identity* identity) = 0;
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Status get(std::string_view key, std::string* value) = 0;
  virtual Status fence() = 0;
  virtual Status begin_fence() = 0;
  virtual Status fence_done(bool* done) = 0;
  virtual Status finalize() = 0;
  // See boot.hpp. Launchers of others show none.
  virtual bool show_stack(int) noexcept { return false; }
  // Best effort, returns; the caller exits.
  virtual void abort(int exit_code) noexcept = 0;
};

struct ProviderRecord {
  const char* name;
  bool (*detect)() noexcept;  // pure: looks at the environment, changes nothing
  std::unique_ptr<Provider> (*create)();
};

std::span<const ProviderRecord* const> provider_list() noexcept;

// The text with everything that is not a letter, a digit, '_' or '-' replaced: safe in a file name.
std::string file_safe(std::string_view text);

}  // namespace hr::boot
