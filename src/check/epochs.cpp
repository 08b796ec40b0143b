// Epochs: accesses of one origin to the same memory of a target within one epoch, of which the outcome is undefined
// (MPI 5.0 section 12.7): put with anything, get with an update. Updates may meet each other.
//
// Calls outside an epoch, and those that end one that is not open, are errors without the checker (rma/epoch.hpp).
#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "check/finding.hpp"
#include "check/runs.hpp"
#include "check/state.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

enum class Kind : std::uint8_t { kGet, kPut, kUpdate };

struct Access {
  std::uintptr_t end;
  Kind kind;
  Site site;
};

// Of one target, by where they begin in its part of the window.
struct Accesses {
  std::multimap<std::uintptr_t, Access> by_begin;
  std::uintptr_t longest = 0;
};

struct Epochs final : FileState {
  std::map<std::pair<std::uint32_t, int>, Accesses> of;  // by context and target
};

bool conflict(Kind a, Kind b) { return a == Kind::kPut || b == Kind::kPut || a != b; }

const char* verb(Kind kind) {
  return kind == Kind::kGet ? "is read" : kind == Kind::kPut ? "is written" : "is updated";
}

bool find_kind(const Call& call, Kind* kind) {
  constexpr std::pair<std::string_view, Kind> kKinds[] = {{"MPI_Put", Kind::kPut},
                                                          {"MPI_Rput", Kind::kPut},
                                                          {"MPI_Get", Kind::kGet},
                                                          {"MPI_Rget", Kind::kGet},
                                                          {"MPI_Accumulate", Kind::kUpdate},
                                                          {"MPI_Raccumulate", Kind::kUpdate},
                                                          {"MPI_Get_accumulate", Kind::kUpdate},
                                                          {"MPI_Rget_accumulate", Kind::kUpdate},
                                                          {"MPI_Fetch_and_op", Kind::kUpdate},
                                                          {"MPI_Compare_and_swap", Kind::kUpdate}};
  const auto* const found = std::ranges::find(kKinds, call.function(), &std::pair<std::string_view, Kind>::first);
  if (found == std::end(kKinds)) return false;
  *kind = found->second;
  return true;
}

Status add(Accesses& all, const Run& run, Kind kind, const Call& call, int rank) {
  const std::uintptr_t from = run.begin > all.longest ? run.begin - all.longest : 0;
  for (auto at = all.by_begin.lower_bound(from); at != all.by_begin.end() && at->first < run.end; ++at) {
    const Access& other = at->second;
    if (other.end <= run.begin) continue;
    if (!conflict(kind, other.kind)) {
      if (at->first == run.begin && other.end == run.end && other.kind == kind) return kOk;
      continue;
    }
    const std::uintptr_t begin = std::max(run.begin, at->first), end = std::min(run.end, other.end);
    const std::string site = text(other.site);
    return fail(
        Errc::kRmaConflict,
        "epoch: bytes %lld to %lld of the window's memory at rank %d %s here, and in the same epoch %s by %s; put a "
        "synchronisation (MPI_Win_fence, MPI_Win_flush) between the two, or take other memory",
        static_cast<long long>(begin), static_cast<long long>(end - 1), rank, verb(kind), verb(other.kind),
        site.c_str());
  }
  all.by_begin.emplace(run.begin, Access{run.end, kind, call.site()});
  all.longest = std::max(all.longest, run.end - run.begin);
  return kOk;
}

Status before(Call& call) {
  Kind kind{};
  if (!find_kind(call, &kind)) return kOk;
  auto* const window = call.object<rma::Window>("win");
  const auto rank = static_cast<int>(call.number("target_rank"));
  if (window == nullptr || rank < 0 || rank >= window->size() || window->epoch_ == rma::Epoch::kNone) return kOk;
  const bool one = call.find("target_datatype") == nullptr;
  const auto* const type = call.object<layout::Datatype>(one ? "datatype" : "target_datatype");
  if (type == nullptr || !type->committed() || call.number("target_disp") < 0) return kOk;
  const Count count = one ? 1 : call.number("target_count");
  const Count at = call.number("target_disp") * window->member(rank).displacement_unit;
  std::vector<Run> runs;
  if (!collect_runs({static_cast<std::uintptr_t>(at), *type, count}, &runs)) return kOk;
  Accesses& all = own<Epochs>().of[{window->context(), rank}];
  for (const Run& run : runs) HR_TRY(add(all, run, kind, call, rank));
  return kOk;
}

// What has been synchronised: of one target, or of all.
Status after(Call& call, int code) {
  constexpr std::string_view kOfOne[] = {"MPI_Win_unlock", "MPI_Win_flush"};
  constexpr std::string_view kOfAll[] = {"MPI_Win_fence", "MPI_Win_complete", "MPI_Win_unlock_all",
                                         "MPI_Win_flush_all"};
  auto& of = own<Epochs>().of;
  if (call.is("MPI_Win_free") && call.ended_context != 0)
    std::erase_if(of, [&](const auto& entry) { return entry.first.first == call.ended_context; });
  const auto* const window = call.object<rma::Window>("win");
  if (window == nullptr || code != 0 || of.empty()) return kOk;
  if (std::ranges::find(kOfOne, call.function()) != std::end(kOfOne))
    of.erase({window->context(), static_cast<int>(call.number("rank"))});
  if (std::ranges::find(kOfAll, call.function()) != std::end(kOfAll))
    std::erase_if(of, [&](const auto& entry) { return entry.first.first == window->context(); });
  return kOk;
}

}  // namespace

extern const Finding kEpochs;
const Finding kEpochs{"epoch", nullptr, nullptr, before, after, nullptr};

}  // namespace hr::check
