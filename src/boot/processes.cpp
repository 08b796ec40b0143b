#include "boot/processes.hpp"

#include <algorithm>

namespace hr::boot {

Processes::Processes(std::string job, int own_rank, const std::vector<int>& host_of_rank)
    : job_size_(host_of_rank.size()), self_(own_rank) {
  jobs_.push_back(std::move(job));
  entries_.resize(job_size_);
  const int own_host = host_of_rank[static_cast<std::size_t>(own_rank)];
  for (std::size_t rank = 0; rank < job_size_; ++rank) {
    entries_[rank].rank = static_cast<int>(rank);
    entries_[rank].host = host_of_rank[rank];
    if (host_of_rank[rank] == own_host) of_this_host_.push_back(static_cast<int>(rank));
  }
  of_this_host_.shrink_to_fit();
}

int Processes::add(std::string_view job, int rank, int host) {
  const auto known = std::find(jobs_.begin(), jobs_.end(), job);
  const auto number = static_cast<std::uint16_t>(known - jobs_.begin());
  if (number == 0) return rank;
  if (known == jobs_.end()) {
    jobs_.emplace_back(job);
  } else {
    const auto same = [&](const Process& each) { return each.job == number && each.rank == rank; };
    const auto found = std::find_if(entries_.begin() + static_cast<std::ptrdiff_t>(job_size_), entries_.end(), same);
    if (found != entries_.end()) return static_cast<int>(found - entries_.begin());
  }
  Process made;
  made.rank = rank;
  made.host = host;
  made.job = number;
  entries_.push_back(made);
  return size() - 1;
}

std::string Processes::key(std::string_view what, int proc) const {
  return "headrace-" + std::string(what) + "-" + std::to_string((*this)[proc].rank);
}

}  // namespace hr::boot
