#include "comm/group.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/abi.hpp"
#include "boot/boot.hpp"

namespace hr::comm {

namespace {

// Finds the rank of a process in O(1), after a setup of O(size) if the group is not a range. Uses a table, because
// process numbers are small.
class RankTable {
 public:
  explicit RankTable(const Group& group) : procs_(group.procs()) {
    if (procs_.is_range()) return;
    int highest = -1;
    for (const int proc : group.procs()) highest = std::max(highest, proc);
    ranks_.assign(static_cast<std::size_t>(highest) + 1, abi::kUndefined);
    for (int rank = 0; rank < group.size(); ++rank) ranks_[static_cast<std::size_t>(group.proc(rank))] = rank;
  }
  [[nodiscard]] int rank(int proc) const noexcept {
    if (procs_.is_range()) return procs_.rank_of(proc);
    const auto index = static_cast<std::size_t>(proc);
    return index < ranks_.size() ? ranks_[index] : abi::kUndefined;
  }
  [[nodiscard]] bool has(int proc) const noexcept { return rank(proc) != abi::kUndefined; }

 private:
  ProcList procs_;
  std::vector<int> ranks_;
};

// True if the entries are equally spaced, and none occurs twice.
bool is_progression(const std::vector<int>& procs) noexcept {
  if (procs.size() < 2) return true;
  const int stride = procs[1] - procs[0];
  for (std::size_t i = 1; i < procs.size(); ++i) {
    if (procs[i] - procs[i - 1] != stride) return false;
  }
  return stride != 0;
}

Status check_ranks(const Group& group, std::span<const int> ranks) {
  std::vector<bool> seen(static_cast<std::size_t>(group.size()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = ranks[i];
    if (rank < 0 || rank >= group.size()) {
      return fail(Errc::kRank, "rank %d (entry %zu) is outside the group of %d processes", rank, i, group.size());
    }
    if (seen[static_cast<std::size_t>(rank)]) return fail(Errc::kRank, "rank %d (entry %zu) is given twice", rank, i);
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return kOk;
}

Status expand(const Group& group, int count, const int (*ranges)[3], std::vector<int>* ranks) {
  if (count < 0) return fail(Errc::kArg, "the number of ranges is %d: must not be negative", count);
  for (int i = 0; i < count; ++i) {
    const auto [first, last, stride] = ranges[i];
    if (stride == 0) return fail(Errc::kArg, "range %d has stride 0", i);
    if (first < 0 || first >= group.size() || last < 0 || last >= group.size()) {
      return fail(Errc::kRank, "range %d (%d to %d) leaves the group of %d processes", i, first, last, group.size());
    }
    if ((stride > 0 && first > last) || (stride < 0 && first < last)) {
      return fail(Errc::kArg, "range %d: stride %d does not lead from %d to %d", i, stride, first, last);
    }
    for (std::int64_t rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride) {
      ranks->push_back(static_cast<int>(rank));
    }
  }
  return check_ranks(group, *ranks);
}

Ref<Group> complement(const Group& group, std::span<const int> ranks) {
  std::vector<bool> leave_out(static_cast<std::size_t>(group.size()));
  for (const int rank : ranks) leave_out[static_cast<std::size_t>(rank)] = true;
  std::vector<int> procs;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (!leave_out[static_cast<std::size_t>(rank)]) procs.push_back(group.proc(rank));
  }
  return make_group(std::move(procs), group);
}

Ref<Group> select(const Group& group, std::span<const int> ranks) {
  std::vector<int> procs;
  procs.reserve(ranks.size());
  for (const int rank : ranks) procs.push_back(group.proc(rank));
  return make_group(std::move(procs), group);
}

}  // namespace

Group& group_empty() noexcept {
  static Group* const empty = [] {
    Group* group = Arena<Group>::instance().create(ProcList(), std::vector<int>{}, abi::kUndefined);
    group->set_predefined_handle(abi::kGroupEmpty);
    return group;
  }();
  return *empty;
}

Group* predefined_group(std::uintptr_t abi_value) noexcept {
  return abi_value == abi::kGroupEmpty ? &group_empty() : nullptr;
}

Ref<Group> make_group(std::vector<int> procs, std::shared_ptr<p2p::BufferPool> session_buffer) {
  const auto size = static_cast<int>(procs.size());
  if (is_progression(procs)) {
    const ProcList range = size == 0 ? ProcList() : ProcList::range(procs[0], size > 1 ? procs[1] - procs[0] : 1, size);
    return group_of(range, std::move(session_buffer));
  }
  const ProcList list(procs.data(), size);  // stays valid when the vector is moved
  const int own = list.rank_of(boot::processes().self());
  return Ref<Group>::adopt(Arena<Group>::instance().create(list, std::move(procs), own, std::move(session_buffer)));
}

Ref<Group> group_of(const ProcList& procs, std::shared_ptr<p2p::BufferPool> session_buffer) {
  if (procs.size() == 0) return Ref<Group>::share(&group_empty());
  if (!procs.is_range()) return make_group(std::vector<int>(procs.begin(), procs.end()), std::move(session_buffer));
  const int own = procs.rank_of(boot::processes().self());
  return Ref<Group>::adopt(Arena<Group>::instance().create(procs, std::vector<int>{}, own, std::move(session_buffer)));
}

int compare(const Group& a, const Group& b) {
  if (a.size() != b.size()) return abi::kUnequal;
  if (std::equal(a.procs().begin(), a.procs().end(), b.procs().begin())) return abi::kIdent;
  return is_subset(a, b) ? abi::kSimilar : abi::kUnequal;
}

Ref<Group> unite(const Group& a, const Group& b) {
  const RankTable table(a);
  std::vector<int> procs(a.procs().begin(), a.procs().end());
  for (const int proc : b.procs()) {
    if (!table.has(proc)) procs.push_back(proc);
  }
  return make_group(std::move(procs), a.size() > 0 ? a : b);
}

Ref<Group> intersect(const Group& a, const Group& b) {
  const RankTable table(b);
  std::vector<int> procs;
  for (const int proc : a.procs()) {
    if (table.has(proc)) procs.push_back(proc);
  }
  return make_group(std::move(procs), a);
}

Ref<Group> subtract(const Group& a, const Group& b) {
  const RankTable table(b);
  std::vector<int> procs;
  for (const int proc : a.procs()) {
    if (!table.has(proc)) procs.push_back(proc);
  }
  return make_group(std::move(procs), a);
}

Status include(const Group& group, std::span<const int> ranks, Ref<Group>* result) {
  HR_TRY(check_ranks(group, ranks));
  *result = select(group, ranks);
  return kOk;
}

Status exclude(const Group& group, std::span<const int> ranks, Ref<Group>* result) {
  HR_TRY(check_ranks(group, ranks));
  *result = complement(group, ranks);
  return kOk;
}

Status include_ranges(const Group& group, int count, const int (*ranges)[3], Ref<Group>* result) {
  std::vector<int> ranks;
  HR_TRY(expand(group, count, ranges, &ranks));
  *result = select(group, ranks);
  return kOk;
}

Status exclude_ranges(const Group& group, int count, const int (*ranges)[3], Ref<Group>* result) {
  std::vector<int> ranks;
  HR_TRY(expand(group, count, ranges, &ranks));
  *result = complement(group, ranks);
  return kOk;
}

Status translate(const Group& from, std::span<const int> ranks, const Group& to, int* result) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != abi::kProcNull && (ranks[i] < 0 || ranks[i] >= from.size())) {
      return fail(Errc::kRank, "rank %d (entry %zu) is outside the first group of %d processes", ranks[i], i,
                  from.size());
    }
  }
  const RankTable table(to);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    result[i] = ranks[i] == abi::kProcNull ? abi::kProcNull : table.rank(from.proc(ranks[i]));
  }
  return kOk;
}

bool is_subset(const Group& part, const Group& whole) {
  const RankTable table(whole);
  return std::all_of(part.procs().begin(), part.procs().end(), [&](int proc) { return table.has(proc); });
}

bool overlap(const Group& a, const Group& b) {
  const RankTable table(b);
  return std::any_of(a.procs().begin(), a.procs().end(), [&](int proc) { return table.has(proc); });
}

bool on_one_host(const ProcList& procs) noexcept {
  const boot::Processes& processes = boot::processes();
  for (const int proc : procs) {
    if (!processes.same_host(proc, procs[0])) return false;
  }
  return true;
}

}  // namespace hr::comm
