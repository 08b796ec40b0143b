#include "coll/compose/hosts.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "boot/boot.hpp"

namespace hr::coll {

Hosts::Hosts(const comm::Communicator& comm, comm::ProcList procs, Sequence sequence)
    : comm_(comm), sequence_(sequence) {
  std::map<int, int> numbers;  // host's number in the job -> its number in this object
  for (const int proc : procs)
    host_.push_back(numbers.emplace(boot::processes().host_of(proc), static_cast<int>(numbers.size())).first->second);
  begin_.assign(numbers.size() + 1, 0);
  for (const int host : host_) ++begin_[index(host) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  in_order_ = std::is_sorted(host_.begin(), host_.end());
  by_host_.resize(host_.size());
  std::iota(by_host_.begin(), by_host_.end(), 0);
  std::stable_sort(by_host_.begin(), by_host_.end(), [&](int a, int b) { return of(a) < of(b); });
  own_host_ = of(comm.rank());
  const std::span<const int> here = ranks(own_host_);
  here_ = std::make_unique<Members>(comm, std::vector<int>(here.begin(), here.end()), sequence);
  if (here_->own() == 0) firsts_ = std::make_unique<Members>(comm, speakers(-1), sequence);
}

const Members& Hosts::lasts() const {
  if (lasts_ == nullptr) {
    std::vector<int> ranks;
    for (int host = 0; host < count(); ++host) ranks.push_back(by_host_[index(begin(host + 1) - 1)]);
    lasts_ = std::make_unique<Members>(comm_, std::move(ranks), sequence_);
  }
  return *lasts_;
}

const Members& Hosts::alike() const {
  if (alike_ == nullptr) {
    std::vector<int> ranks;
    for (int host = 0; host < count(); ++host) ranks.push_back(by_host_[index(begin(host) + here_->own())]);
    alike_ = std::make_unique<Members>(comm_, std::move(ranks), sequence_);
  }
  return *alike_;
}

int Hosts::most_on_one() const noexcept {
  int most = 0;
  for (int host = 0; host < count(); ++host) most = std::max(most, begin(host + 1) - begin(host));
  return most;
}

int Hosts::speaker(int root) const noexcept {
  if (root < 0 || of(root) != own_host_) return 0;
  const std::span<const int> here = ranks(own_host_);
  return static_cast<int>(std::find(here.begin(), here.end(), root) - here.begin());
}

std::vector<int> Hosts::speakers(int root) const {
  std::vector<int> speaking;
  speaking.reserve(index(count()));
  for (int host = 0; host < count(); ++host)
    speaking.push_back(root >= 0 && of(root) == host ? root : by_host_[index(begin(host))]);
  return speaking;
}

}  // namespace hr::coll
