// Processes: the table of the processes known to this process. It contains the processes of its own job, and later the
// processes that it spawns or connects to.
//
// A process is named by its index in this table (`proc`), which does not change while MPI is in use. Groups and
// communicators hold this index, not a rank in one job. Processes of this process's own job come first, in the order of
// their ranks, so that their index is their rank. Indices are local to this process: messages to others name a process
// by its job and the rank in it.
//
// An entry contains the data that is known about a process without contacting it. The address of the process is not
// stored: the transports look up its published data under key() when they connect, or receive it when jobs connect
// (transport/transport.hpp). Processes of other jobs stay in the table when they are disconnected, and get the same
// index if they connect again. Owner: boot, from init() to finalize(). Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hr::boot {

// Host number of a process whose host is not known; such a process counts as alone on its host.
inline constexpr int kUnknownHost = -1;

struct Process {
  int rank = 0;             // rank in its job
  int host = kUnknownHost;  // a host number; processes with equal numbers share memory
  std::uint16_t job = 0;    // index into the jobs of the table; 0: this process's own job
  bool failed = false;      // the process has died or can no longer be reached
};
static_assert(sizeof(Process) <= 64);

class Processes {
 public:
  // Creates the table of a job of one process.
  Processes() : Processes("", 0, {0}) {}
  // Creates the table of a job from the host of each rank.
  Processes(std::string job, int own_rank, const std::vector<int>& host_of_rank);

  [[nodiscard]] int size() const noexcept { return static_cast<int>(entries_.size()); }
  // Returns the index of this process.
  [[nodiscard]] int self() const noexcept { return self_; }
  [[nodiscard]] const Process& operator[](int proc) const noexcept { return entries_[static_cast<std::size_t>(proc)]; }
  [[nodiscard]] std::string_view job_of(int proc) const noexcept { return jobs_[(*this)[proc].job]; }

  [[nodiscard]] int host_of(int proc) const noexcept { return (*this)[proc].host; }
  [[nodiscard]] bool same_host(int one, int other) const noexcept {
    return one == other || (host_of(one) == host_of(other) && host_of(one) != kUnknownHost);
  }
  [[nodiscard]] bool on_this_host(int proc) const noexcept { return same_host(proc, self_); }
  // Returns the processes of this job on this host, in the order of their ranks.
  [[nodiscard]] std::span<const int> of_this_host() const noexcept { return of_this_host_; }
  // True if this process is the first of its job on this host.
  [[nodiscard]] bool first_on_host() const noexcept { return of_this_host_.front() == self_; }
  // True if all processes of this job are on this host.
  [[nodiscard]] bool job_on_one_host() const noexcept { return of_this_host_.size() == job_size_; }

  // --- other jobs (MPI 5.0 chapter 11) ---
  // Returns the index of a process; adds an entry if it is not known yet. Clears the failed mark of a process of
  // another job.
  int add(std::string_view job, int rank, int host);
  // Returns the index of a process; -1 if it is not known.
  [[nodiscard]] int find(std::string_view job, int rank) const noexcept;
  // True if there are processes of other jobs.
  [[nodiscard]] bool has_others() const noexcept { return entries_.size() > job_size_; }
  [[nodiscard]] bool is_other(int proc) const noexcept { return (*this)[proc].job != 0; }
  // Returns a non-negative number for `proc` that is the same in all processes; indices differ between processes.
  [[nodiscard]] int number_of(int proc) const noexcept {
    const Process& entry = (*this)[proc];
    return static_cast<int>((numbers_[entry.job] + static_cast<std::uint32_t>(entry.rank)) & 0x7fffffff);
  }
  // Returns the index of the process with that number; -1 if this process knows no such process.
  [[nodiscard]] int with_number(int number) const noexcept;
  // True if `one` is before `other` in an order that is the same in all processes.
  [[nodiscard]] bool before(int one, int other) const noexcept;
  // Returns the number of the host with that signature (peer_address.hpp; the same in all jobs), or a new number if the
  // signature is not known.
  int host_with(std::string_view signature);
  // Sets the signature of a host of this job; processes of other jobs with that signature are on the same host.
  void name_host(int host, std::string_view signature);

  // Records whether the job of a process has the settings of this job on which choices in collective operations depend.
  void set_alike(int proc, bool alike) noexcept { alike_[(*this)[proc].job] = alike; }
  [[nodiscard]] bool alike(int proc) const noexcept { return alike_[(*this)[proc].job]; }

  void mark_failed(int proc) noexcept { entries_[static_cast<std::size_t>(proc)].failed = true; }
  [[nodiscard]] bool failed(int proc) const noexcept { return (*this)[proc].failed; }

  // Returns the key under which a process publishes data about itself to its job, such as its address.
  [[nodiscard]] std::string key(std::string_view what, int proc) const;

 private:
  std::vector<Process> entries_;
  std::vector<std::string> jobs_;                  // [0]: this process's own job
  std::vector<std::uint32_t> numbers_;             // number of the first process of each job
  std::vector<bool> alike_{true};                  // for each job
  std::unordered_map<std::uint64_t, int> others_;  // indexed by job and rank
  std::unordered_map<std::string, int> hosts_;     // indexed by signature
  int next_host_ = 0;
  std::vector<int> of_this_host_;
  std::size_t job_size_ = 1;
  int self_ = 0;
};

}  // namespace hr::boot
