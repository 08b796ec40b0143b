#include "boot/processes.hpp"

#include <algorithm>

#include "base/fnv.hpp"

namespace hr::boot {
namespace {

// Returns a hash of the job's name. Nearly all pairs of large jobs have hashes so far apart that the numbers of their
// processes differ.
std::uint32_t first_number(std::string_view job) noexcept { return static_cast<std::uint32_t>(fold(fnv1a(job))); }

std::uint64_t key_of(std::uint16_t job, int rank) noexcept {
  return std::uint64_t{job} << 32 | static_cast<std::uint32_t>(rank);
}

}  // namespace

Processes::Processes(std::string job, int own_rank, const std::vector<int>& host_of_rank)
    : job_size_(host_of_rank.size()), self_(own_rank) {
  numbers_.push_back(first_number(job));
  jobs_.push_back(std::move(job));
  next_host_ = 1 + *std::max_element(host_of_rank.begin(), host_of_rank.end());
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
    numbers_.push_back(first_number(job));
    alike_.push_back(false);
  }
  const auto [place, is_new] = others_.try_emplace(key_of(number, rank), size());
  if (is_new) entries_.emplace_back();
  Process& entry = entries_[static_cast<std::size_t>(place->second)];
  entry.rank = rank;
  if (is_new) entry.host = host;
  entry.job = number;
  entry.failed = false;
  return place->second;
}

int Processes::find(std::string_view job, int rank) const noexcept {
  const auto known = std::find(jobs_.begin(), jobs_.end(), job);
  if (known == jobs_.end() || rank < 0) return -1;
  const auto number = static_cast<std::uint16_t>(known - jobs_.begin());
  if (number == 0) return rank < static_cast<int>(job_size_) ? rank : -1;
  const auto found = others_.find(key_of(number, rank));
  return found != others_.end() ? found->second : -1;
}

int Processes::with_number(int number) const noexcept {
  for (int proc = 0; proc < size(); ++proc) {
    if (number_of(proc) == number) return proc;
  }
  return -1;
}

bool Processes::before(int one, int other) const noexcept {
  const Process& a = (*this)[one];
  const Process& b = (*this)[other];
  return a.job == b.job ? a.rank < b.rank : jobs_[a.job] < jobs_[b.job];
}

int Processes::host_with(std::string_view signature) {
  const auto [place, is_new] = hosts_.try_emplace(std::string(signature), next_host_);
  if (is_new) ++next_host_;
  return place->second;
}

void Processes::name_host(int host, std::string_view signature) {
  const auto [place, is_new] = hosts_.try_emplace(std::string(signature), host);
  if (is_new || place->second == host) return;
  // Processes of other jobs were added with this signature before it was known to belong to a host of this job.
  for (Process& each : entries_) {
    if (each.host == place->second) each.host = host;
  }
  place->second = host;
}

std::string Processes::key(std::string_view what, int proc) const {
  return "headrace-" + std::string(what) + "-" + std::to_string((*this)[proc].rank);
}

}  // namespace hr::boot
