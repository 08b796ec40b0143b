#include "check/accesses.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "layout/op.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

using layout::OpKind;

struct Row {
  std::string_view function;
  AccessKind kind;
};
constexpr Row kRows[] = {{"MPI_Put", AccessKind::kPut},
                         {"MPI_Rput", AccessKind::kPut},
                         {"MPI_Get", AccessKind::kGet},
                         {"MPI_Rget", AccessKind::kGet},
                         {"MPI_Accumulate", AccessKind::kUpdate},
                         {"MPI_Raccumulate", AccessKind::kUpdate},
                         {"MPI_Get_accumulate", AccessKind::kUpdate},
                         {"MPI_Rget_accumulate", AccessKind::kUpdate},
                         {"MPI_Fetch_and_op", AccessKind::kUpdate},
                         {"MPI_Compare_and_swap", AccessKind::kUpdate}};

bool is_update(const Access& access) noexcept {
  return access.kind == AccessKind::kUpdate || access.kind == AccessKind::kFetch;
}
bool reads(AccessKind kind) noexcept {
  return kind == AccessKind::kGet || kind == AccessKind::kFetch || kind == AccessKind::kLoad;
}

// Returns the element type of an update; 0 if there are several. Signed and unsigned integers of one size count as the
// same.
std::uint8_t basic_of(const layout::Datatype& type) {
  const layout::BasicType* const uniform = type.uniform();
  if (uniform == nullptr) return 0;
  using layout::Basic;
  constexpr std::pair<Basic, Basic> kAlike[] = {{Basic::kUint8, Basic::kInt8},
                                                {Basic::kUint16, Basic::kInt16},
                                                {Basic::kUint32, Basic::kInt32},
                                                {Basic::kUint64, Basic::kInt64}};
  const auto* const found = std::ranges::find(kAlike, uniform->basic, &std::pair<Basic, Basic>::first);
  return static_cast<std::uint8_t>(found == std::end(kAlike) ? uniform->basic : found->second);
}

// True for operators whose order affects the result if two different ones are applied.
bool combines(std::uint8_t op) noexcept {
  return op != kOtherOp && op != static_cast<std::uint8_t>(OpKind::kNoOp) &&
         op != static_cast<std::uint8_t>(OpKind::kReplace);
}

const layout::Datatype* target_type(const Call& call) {
  const bool one = call.find("target_datatype") == nullptr;
  const auto* const type = call.object<layout::Datatype>(one ? "datatype" : "target_datatype");
  return type != nullptr && type->committed() ? type : nullptr;
}

}  // namespace

void Intervals::add(const Range& range) {
  std::uintptr_t begin = range.begin, end = range.end;
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin() && std::prev(at)->second >= begin) --at;
  while (at != ranges_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = ranges_.erase(at);
  }
  ranges_.emplace_hint(at, begin, end);
}

std::optional<Range> Intervals::common(const Range& range) const {
  auto at = ranges_.upper_bound(range.begin);
  if (at != ranges_.begin() && std::prev(at)->second > range.begin) --at;
  if (at == ranges_.end() || at->first >= range.end) return std::nullopt;
  return Range{std::max(range.begin, at->first), std::min(range.end, at->second)};
}

std::optional<Range> Intervals::common(const Intervals& other) const {
  const Intervals& few = ranges_.size() <= other.ranges_.size() ? *this : other;
  const Intervals& many = &few == this ? other : *this;
  for (const auto& [begin, end] : few.ranges_) {
    if (const auto found = many.common(Range{begin, end})) return found;
  }
  return std::nullopt;
}

std::optional<Access> access_of(const Call& call) {
  const auto* const row = std::ranges::find(kRows, call.function(), &Row::function);
  if (row == std::end(kRows)) return std::nullopt;
  Access access{row->kind};
  if (row->kind != AccessKind::kUpdate) return access;
  const auto* const op = call.object<layout::Op>("op");
  access.op = op == nullptr || op->kind() == OpKind::kUser ? kOtherOp : static_cast<std::uint8_t>(op->kind());
  if (op != nullptr && op->kind() == OpKind::kNoOp) access.kind = AccessKind::kFetch;
  const layout::Datatype* const type = target_type(call);
  if (type == nullptr || type->uniform() == nullptr) return access;
  access.basic = basic_of(*type);
  access.size = std::max<std::uint8_t>(type->uniform()->size, 1);
  return access;
}

bool conflict(const Access& a, const Access& b, bool one_origin) noexcept {
  if (reads(a.kind) && reads(b.kind)) return false;
  if (!is_update(a) || !is_update(b)) return true;
  if (a.basic == 0 || b.basic == 0) return false;
  if (a.basic != b.basic || a.size != b.size || a.phase != b.phase) return true;
  return !one_origin && a.op != b.op && combines(a.op) && combines(b.op);
}

const char* verb(AccessKind kind) noexcept {
  switch (kind) {
    case AccessKind::kGet:
    case AccessKind::kFetch:
    case AccessKind::kLoad:
      return "is read";
    case AccessKind::kPut:
    case AccessKind::kStore:
      return "is written";
    default:
      return "is updated";
  }
}

bool target_ranges(const Call& call, std::vector<Range>* ranges) {
  auto* const window = call.object<rma::Window>("win");
  const auto rank = static_cast<int>(call.number("target_rank"));
  if (window == nullptr || rank < 0 || rank >= window->size() || window->epoch_ == rma::Epoch::kNone) return false;
  const layout::Datatype* const type = target_type(call);
  if (type == nullptr || call.number("target_disp") < 0) return false;
  const bool one = call.find("target_datatype") == nullptr;
  const Count count = one ? 1 : call.number("target_count");
  const Count at = call.number("target_disp") * window->member(rank).displacement_unit;
  return collect_ranges({static_cast<std::uintptr_t>(at), *type, count}, ranges) && !ranges->empty();
}

Completes completed_by(const Call& call) {
  const std::string_view name = call.function();
  if (!name.starts_with("MPI_Win_")) return {};
  constexpr std::string_view kOfAll[] = {"MPI_Win_fence", "MPI_Win_complete", "MPI_Win_unlock_all", "MPI_Win_flush_all",
                                         "MPI_Win_free"};
  if (std::ranges::find(kOfAll, name) != std::end(kOfAll)) return {true, true, -1, true};
  if (name == "MPI_Win_flush_local_all") return {true, true, -1, false};
  const auto rank = static_cast<int>(call.number("rank"));
  if (name == "MPI_Win_unlock" || name == "MPI_Win_flush") return {true, false, rank, true};
  if (name == "MPI_Win_flush_local") return {true, false, rank, false};
  return {};
}

}  // namespace hr::check
