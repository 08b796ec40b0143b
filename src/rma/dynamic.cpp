// Dynamic windows: attaching and detaching memory (MPI 5.0 section 12.2.4). Only the process that has attached memory
// knows it, so that process executes the operations of others. Displacements are addresses in that process.
#include <algorithm>
#include <cstdint>

#include "rma/rma.hpp"

namespace hr::rma {

namespace {

Status check_dynamic(const Window& window, const char* function) {
  if (window.flavor_ == Flavor::kDynamic) return kOk;
  return fail(Errc::kRmaFlavor, "%s is for windows of MPI_Win_create_dynamic", function);
}

}  // namespace

Status attach(Window& window, void* base, Count size) {
  HR_TRY(check_dynamic(window, "MPI_Win_attach"));
  if (size < 0) return fail(Errc::kSize, "size is %lld", static_cast<long long>(size));
  if (base == nullptr && size > 0) return fail(Errc::kBase, "base is null, size %lld", static_cast<long long>(size));
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const auto bytes = static_cast<std::size_t>(size);
  for (const Attached& each : window.attached_) {
    if (begin >= each.begin + each.bytes || begin + bytes <= each.begin) continue;
    return fail(Errc::kRmaAttach, "%p to %p overlaps memory that is attached to this window: %p to %p", base,
                reinterpret_cast<void*>(begin + bytes), reinterpret_cast<void*>(each.begin),
                reinterpret_cast<void*>(each.begin + each.bytes));
  }
  window.attached_.push_back({begin, bytes});
  return kOk;
}

Status detach(Window& window, const void* base) {
  HR_TRY(check_dynamic(window, "MPI_Win_detach"));
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const auto found = std::find_if(window.attached_.begin(), window.attached_.end(),
                                  [begin](const Attached& each) { return each.begin == begin; });
  if (found == window.attached_.end())
    return fail(Errc::kRmaAttach, "no memory was attached to this window at %p", base);
  window.attached_.erase(found);
  return kOk;
}

}  // namespace hr::rma
