// Processes: the processes that this one knows of, its own job's and later those that it spawns or connects to.
//
// A process is an index into this table, the same for as long as MPI is in use: groups and communicators hold that
// index (`proc`), and not a rank in one job. Processes of this process's own job come first, in the order of their
// ranks, so that there the index is the rank. Indices are this process's own affair: what others are told is the job
// and the rank in it.
//
// An entry is what has to be known of a process that nobody has talked to. How it is reached is not stored: the
// transports look up what it has published under key() when they connect, or were told it when jobs met
// (transport/transport.hpp). Processes of other jobs stay in the table when they are parted from, and have the same
// index should they come back.
// Owner: boot, from init() to finalize(). Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hr::boot {

// Of a process whose host is not known: it is on the host of no other.
inline constexpr int kUnknownHost = -1;

struct Process {
  int rank = 0;             // in its job
  int host = kUnknownHost;  // a number; processes with equal ones share memory
  std::uint16_t job = 0;    // index into the jobs of the table; 0: this process's own
  bool lost = false;        // it cannot be reached any more
};
static_assert(sizeof(Process) <= 64);

class Processes {
 public:
  // Of a job of one process.
  Processes() : Processes("", 0, {0}) {}
  // Of a job with a host for each rank.
  Processes(std::string job, int own_rank, const std::vector<int>& host_of_rank);

  [[nodiscard]] int size() const noexcept { return static_cast<int>(entries_.size()); }
  // This process.
  [[nodiscard]] int self() const noexcept { return self_; }
  [[nodiscard]] const Process& operator[](int proc) const noexcept { return entries_[static_cast<std::size_t>(proc)]; }
  [[nodiscard]] std::string_view job_of(int proc) const noexcept { return jobs_[(*this)[proc].job]; }

  [[nodiscard]] int host_of(int proc) const noexcept { return (*this)[proc].host; }
  [[nodiscard]] bool same_host(int one, int other) const noexcept {
    return one == other || (host_of(one) == host_of(other) && host_of(one) != kUnknownHost);
  }
  [[nodiscard]] bool on_this_host(int proc) const noexcept { return same_host(proc, self_); }
  // The processes of this job on this host, by rank.
  [[nodiscard]] std::span<const int> of_this_host() const noexcept { return of_this_host_; }
  // Whether this process is the first of them.
  [[nodiscard]] bool first_on_host() const noexcept { return of_this_host_.front() == self_; }
  // Whether all processes of this job are on this host.
  [[nodiscard]] bool job_on_one_host() const noexcept { return of_this_host_.size() == job_size_; }

  // --- other jobs (MPI 5.0 chapter 11) ---
  // The index of a process; a new entry where it is not known yet. Of another job's it says where it is, and that it
  // can be reached.
  int add(std::string_view job, int rank, int host);
  // -1: it is not known.
  [[nodiscard]] int find(std::string_view job, int rank) const noexcept;
  // Whether there are processes of other jobs.
  [[nodiscard]] bool has_others() const noexcept { return entries_.size() > job_size_; }
  [[nodiscard]] bool is_other(int proc) const noexcept { return (*this)[proc].job != 0; }
  // A number from 0 that stands for the process everywhere: indices differ from process to process.
  [[nodiscard]] int number_of(int proc) const noexcept {
    const Process& entry = (*this)[proc];
    return static_cast<int>((numbers_[entry.job] + static_cast<std::uint32_t>(entry.rank)) & 0x7fffffff);
  }
  // -1: of no process here.
  [[nodiscard]] int with_number(int number) const noexcept;
  // An order of processes that is the same everywhere.
  [[nodiscard]] bool before(int one, int other) const noexcept;
  // The number of a host by its signature (contact.hpp), which is the same in all jobs; a new one where it is not
  // known.
  int host_with(std::string_view signature);
  // The signature of a host of this job: processes of others that have it are there, too.
  void name_host(int host, std::string_view signature);

  void mark_lost(int proc) noexcept { entries_[static_cast<std::size_t>(proc)].lost = true; }
  [[nodiscard]] bool lost(int proc) const noexcept { return (*this)[proc].lost; }

  // The key under which a process publishes something about itself to its job, such as its address.
  [[nodiscard]] std::string key(std::string_view what, int proc) const;

 private:
  std::vector<Process> entries_;
  std::vector<std::string> jobs_;                  // [0]: this process's own
  std::vector<std::uint32_t> numbers_;             // of the first process of each job
  std::unordered_map<std::uint64_t, int> others_;  // by job and rank
  std::unordered_map<std::string, int> hosts_;     // by signature
  int next_host_ = 0;
  std::vector<int> of_this_host_;
  std::size_t job_size_ = 1;
  int self_ = 0;
};

}  // namespace hr::boot
