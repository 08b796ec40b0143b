#include "rma/operation.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/abi.hpp"
#include "base/short_copy.hpp"
#include "base/statistics.hpp"
#include "coll/view_tools.hpp"
#include "rma/atomic.hpp"
#include "rma/segments.hpp"
#include "transport/transport.hpp"

namespace hr::rma {

using layout::OpKind;
using layout::View;

namespace {

constexpr std::size_t kMostSegments = 4096;  // longest list passed to the system; longer ones use messages

// Bytes that the operation accesses, relative to the start of the target's memory.
struct Range {
  Count begin = 0;
  Count end = 0;
};

Status range_of(const Operation& operation, Count unit, Range* range) {
  const layout::Datatype& type = *operation.type;
  Count at = 0;
  Count across = 0;
  bool overflow = __builtin_mul_overflow(operation.displacement, unit, &at);
  overflow |= __builtin_mul_overflow(operation.count - 1, type.extent(), &across);
  Count first = 0;
  Count length = 0;
  overflow |= __builtin_add_overflow(type.true_lb(), std::min<Count>(across, 0), &first);
  overflow |= __builtin_add_overflow(at, first, &range->begin);
  overflow |= __builtin_sub_overflow(type.true_extent(), std::min<Count>(across, 0), &length);
  overflow |= __builtin_add_overflow(length, std::max<Count>(across, 0), &length);
  overflow |= __builtin_add_overflow(range->begin, length, &range->end);
  if (!overflow) return kOk;
  return fail(Errc::kRmaRange, "target_disp %lld and %lld elements do not fit 63 bits",
              static_cast<long long>(operation.displacement), static_cast<long long>(operation.count));
}

std::uint64_t begin_of(const Operation& operation, const Member& member) {
  return static_cast<std::uint64_t>(operation.displacement * member.displacement_unit);
}

// Returns the target's part as a view, at a given address.
View view_at(std::uint64_t address, const Operation& operation) {
  View view;
  view.address = reinterpret_cast<std::byte*>(address);
  view.count = operation.count;
  view.type = operation.type;
  view.packed = operation.target_bytes();
  view.contiguous = operation.type->contiguous(operation.count);
  return view;
}

// Checks that attached memory contains all of these bytes.
Status check_attached(const Window& window, std::uintptr_t begin, std::uintptr_t end) {
  std::uintptr_t at = begin;
  while (at < end) {
    const auto found = std::find_if(window.attached_.begin(), window.attached_.end(), [at](const Attached& each) {
      return at >= each.begin && at - each.begin < each.bytes;
    });
    if (found == window.attached_.end()) {
      return fail(Errc::kRmaRange,
                  "bytes %p to %p of rank %d are not all attached to the window: MPI_Win_attach the memory before "
                  "others use it (target_disp is an address in dynamic windows)",
                  reinterpret_cast<void*>(begin), reinterpret_cast<void*>(end), window.rank());
    }
    at = found->begin + found->bytes;
  }
  return kOk;
}

// Data for the target, contiguous in host memory.
class Packed {
 public:
  Status take(const View& view) {
    if (view.packed == 0) return kOk;
    data_ = view.data();
    if (view.allows_memcpy()) return kOk;
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(view.packed);
    data_ = scratch_.get();
    return layout::pack(view, 0, view.packed, scratch_.get());
  }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::unique_ptr<std::byte[]> scratch_;
};

// Contiguous buffer for a result, which is then copied to the origin's buffer.
class Result {
 public:
  explicit Result(const View& view, std::size_t bytes) : view_(view), bytes_(bytes) {
    if (bytes == 0 || view.allows_memcpy()) return;
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
  [[nodiscard]] std::byte* data() noexcept { return scratch_ ? scratch_.get() : bytes_ == 0 ? nullptr : view_.data(); }
  Status give() { return scratch_ ? layout::unpack(view_, 0, bytes_, scratch_.get()) : kOk; }

 private:
  const View& view_;
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> scratch_;
};

// Copies contiguous host memory; source and target may overlap.
void copy_contiguous(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes <= 32) return copy_short(to, from, bytes);
  std::memmove(to, from, bytes);
}

Status move(const View& from, const View& to) {
  if (from.allows_memcpy() && to.allows_memcpy()) [[likely]] {
    copy_contiguous(to.data(), from.data(), std::min(from.packed, to.packed));
    return kOk;
  }
  return layout::copy(from, to);
}

Status update_here(const Operation& operation, const View& target, const Exclusion& exclusion) {
  Packed operand;
  HR_TRY(operand.take(operation.origin));
  const std::byte* const data = operation.origin.packed == 0 ? nullptr : operand.data();
  if (operation.kind == OperationKind::kAccumulate)
    return update(target, *operation.op, *operation.element, data, nullptr, exclusion);
  Result result(operation.result, target.packed);
  if (operation.kind == OperationKind::kGetAccumulate) {
    HR_TRY(update(target, *operation.op, *operation.element, data, result.data(), exclusion));
  } else {
    HR_TRY(compare_and_swap(target, data, operation.compare, result.data(), exclusion));
  }
  return result.give();
}

}  // namespace

View view_of_target(Window& window, const Operation& operation) {
  const Member& member = window.member(operation.rank);
  return view_at(member.address + begin_of(operation, member), operation);
}

const layout::Op* op_of(OpKind kind) noexcept {
  for (std::uintptr_t value = abi::kOpNull; value < abi::kOpNull + 0x20; ++value) {
    const layout::Op* const op = layout::predefined_op(value);
    if (op != nullptr && op->kind() == kind) return op;
  }
  return layout::predefined_op(abi::kNoOp);
}

Status check_range(const Operation& operation, const Window& window, const Member& member) {
  if (window.flavor_ == Flavor::kDynamic || operation.target_bytes() == 0) return kOk;
  Range range;
  HR_TRY(range_of(operation, member.displacement_unit, &range));
  if (range.begin >= 0 && range.end <= member.bytes) [[likely]]
    return kOk;
  return fail(Errc::kRmaRange,
              "bytes %lld to %lld are not all in rank %d's part of the window, which has %lld bytes (target_disp is "
              "counted in units of %lld bytes)",
              static_cast<long long>(range.begin), static_cast<long long>(range.end), operation.rank,
              static_cast<long long>(member.bytes), static_cast<long long>(member.displacement_unit));
}

Status locate(Window& window, const Operation& operation, View* target) {
  const Member& own = window.own();
  const std::uint64_t at = reinterpret_cast<std::uint64_t>(own.base) + begin_of(operation, own);
  if (window.flavor_ != Flavor::kDynamic) {
    HR_TRY(check_range(operation, window, own));
    if (window.where_.is_host()) [[likely]] {
      *target = view_at(at, operation);
      target->where = window.where_;
      return kOk;
    }
  }
  if (window.flavor_ == Flavor::kDynamic && operation.target_bytes() != 0) {
    Range range;
    HR_TRY(range_of(operation, 1, &range));
    HR_TRY(check_attached(window, static_cast<std::uintptr_t>(range.begin), static_cast<std::uintptr_t>(range.end)));
  }
  return layout::make_view(reinterpret_cast<void*>(at), operation.count, *operation.type, target);
}

Status execute_locally(Window& window, Operation& operation) {
  Member& member = window.member(operation.rank);
  View target;
  if (member.path == Path::kOwn) {
    HR_TRY(locate(window, operation, &target));
  } else {
    target = view_at(reinterpret_cast<std::uint64_t>(member.base) + begin_of(operation, member), operation);
    if (member.device != nullptr) target.where = *member.device;
  }
  switch (operation.kind) {
    case OperationKind::kPut:
      return move(operation.origin, target);
    case OperationKind::kGet:
      return move(target, operation.result);
    default:
      return update_here(operation, target, window.exclusion(member));
  }
}

Status execute_by_system(Window& window, Operation& operation) {
  Member& member = window.member(operation.rank);
  const bool puts = operation.kind == OperationKind::kPut;
  const View& origin = puts ? operation.origin : operation.result;
  const std::size_t bytes = std::min(origin.packed, operation.target_bytes());
  Packed given;
  Result wanted(origin, bytes);
  if (puts) HR_TRY(given.take(origin));
  std::byte* local = puts ? const_cast<std::byte*>(given.data()) : wanted.data();
  std::vector<transport::RemotePart> parts;
  std::size_t left = bytes;
  const View target = view_of_target(window, operation);
  const Status listed = for_each_segment(target, [&](std::byte* address, std::size_t length) {
    const std::size_t now = std::min(length, left);
    if (parts.size() == kMostSegments) return Status::again();
    if (now != 0) parts.push_back({reinterpret_cast<std::uint64_t>(address), local, now});
    local += now;
    left -= now;
    return kOk;
  });
  HR_TRY(listed);
  const int proc = window.proc(operation.rank);
  const Status moved =
      puts ? member.memory->put(proc, nullptr, parts, nullptr) : member.memory->get(proc, nullptr, parts, nullptr);
  if (moved == Errc::kUnsupportedOperation) {
    static_cast<void>(take_detail());
    member.path = Path::kMessage;
    return Status::again();
  }
  HR_TRY(moved);
  add(Statistic::rma_by_system);
  return puts ? kOk : wanted.give();
}

}  // namespace hr::rma
