// Names: the numbers with which messages identify their senders, and the secrets that authenticate senders.
//
// In messages within a job, the name is the sender's rank; in messages to other jobs, it is the sender's number, which
// is the same everywhere (boot::Processes::number_of()), with a bit that distinguishes the two. A secret is a random
// number that each process generates and publishes with its address: through the launcher to its job, and to processes
// of other jobs when they connect. Every message carries the secret of its receiver, because anything that can reach
// this host can connect to this process over TCP. The secret is not encrypted. Owner: the transport. Threads: library
// lock.
#pragma once

#include <sys/random.h>

#include <cstdint>
#include <map>

#include "transport/transport.hpp"

namespace hr::transport::network {

using Secret = std::uint64_t;

// The reason for dropping a message whose sender is not known.
inline constexpr const char* kUnknownSender = "its sender is unknown to this process, or it lacks the secret";

class Names {
 public:
  explicit Names(const Job& job)
      : processes_(job.processes),
        rank_(static_cast<std::uint32_t>(job.rank)),
        size_(static_cast<std::uint32_t>(job.size)) {}

  // Generates the secret of this process. Errors: MPI_ERR_OTHER with the system's reason.
  Status make_secret() {
    if (::getrandom(&own_secret_, sizeof own_secret_, 0) == sizeof own_secret_) return kOk;
    return fail(Errc::kOther, "network: the system has no random numbers (getrandom)");
  }
  [[nodiscard]] Secret own_secret() const noexcept { return own_secret_; }
  // Sets the secret of another process, taken from its address.
  void set_secret(int proc, Secret secret) { secrets_[proc] = secret; }
  // Returns the secret of process `proc`; 0 before set_secret().
  [[nodiscard]] Secret secret_of(int proc) const noexcept {
    const auto found = secrets_.find(proc);
    return found != secrets_.end() ? found->second : 0;
  }

  // Returns the name of this process in messages to process `proc`.
  [[nodiscard]] std::uint32_t own_for(int proc) const noexcept {
    if (!processes_.is_other(proc)) [[likely]]
      return rank_;
    return kOfOthers | static_cast<std::uint32_t>(processes_.number_of(processes_.self()));
  }
  // Returns the sender of a message with this name and secret; -1 if it is unknown to this process, or disconnected.
  [[nodiscard]] int proc_of(std::uint32_t name, Secret secret) const noexcept {
    if (secret != own_secret_) [[unlikely]]
      return -1;
    if (name < size_) [[likely]]
      return name != rank_ ? static_cast<int>(name) : -1;
    const auto found = others_.find(name);
    return found != others_.end() ? found->second : -1;
  }

  // Add and remove a process of another job.
  void add(int proc) { others_[kOfOthers | static_cast<std::uint32_t>(processes_.number_of(proc))] = proc; }
  void remove(int proc) {
    others_.erase(kOfOthers | static_cast<std::uint32_t>(processes_.number_of(proc)));
    secrets_.erase(proc);
  }

 private:
  static constexpr std::uint32_t kOfOthers = std::uint32_t{1} << 31;

  const boot::Processes& processes_;
  std::uint32_t rank_;
  std::uint32_t size_;
  Secret own_secret_ = 0;
  std::map<int, Secret> secrets_;  // indexed by process
  std::map<std::uint32_t, int> others_;
};

}  // namespace hr::transport::network
