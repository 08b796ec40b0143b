#include "enqueue/matched_long.hpp"

#include <algorithm>
#include <cstring>

#include "coll/reduction.hpp"
#include "enqueue/matched_allreduce.hpp"
#include "layout/device/reduce.hpp"

namespace hr::enqueue {
namespace {

using coll::Call;
using kernels::MatchedLongWords;
using mem::device::Context;
using mem::device::Current;

constexpr const char* kReady = "hr_matched_ready";
// Context for the cards, beyond those of comm::ContextUse.
constexpr std::uint32_t kCardContext = comm::kSurvivorsContext + 4;
// Shares begin at multiples of this number of elements, so that no 16-byte vector crosses from one share to the next.
constexpr std::uint64_t kShareElements = 64;
// Buffers whose offsets modulo 16 differ are combined element by element, for which the general method uses more
// blocks.
constexpr std::uint64_t kMostByElements = std::uint64_t{256} << 10;

struct LongKernel {
  const char* reduction;  // the kernel of layout::device that performs this reduction
  const char* name;
  std::uint64_t bytes;  // of an element
};
constexpr LongKernel kKernels[] = {
    {"hr_reduce_bits_4", "hr_matched_long_bits_4", 4}, {"hr_reduce_bits_8", "hr_matched_long_bits_8", 8},
    {"hr_reduce_i32", "hr_matched_long_i32", 4},       {"hr_reduce_i64", "hr_matched_long_i64", 8},
    {"hr_reduce_u32", "hr_matched_long_u32", 4},       {"hr_reduce_u64", "hr_matched_long_u64", 8},
    {"hr_reduce_f16", "hr_matched_long_f16", 2},       {"hr_reduce_bf16", "hr_matched_long_bf16", 2},
    {"hr_reduce_f32", "hr_matched_long_f32", 4},       {"hr_reduce_f64", "hr_matched_long_f64", 8},
};

const LongKernel* long_kernel(const char* reduction) {
  if (reduction == nullptr) return nullptr;
  const auto* const found =
      std::ranges::find_if(kKernels, [&](const LongKernel& each) { return !std::strcmp(each.reduction, reduction); });
  return found == std::end(kKernels) ? nullptr : found;
}

std::size_t index_of(int rank) { return static_cast<std::size_t>(rank); }

enum Buffer : std::size_t { kFrom, kTo };

struct LongMatch final : Match {
  LongMatch(p2p::Request& from, const Call& call) : Match(from, call.comm->context() + kCardContext), call_(call) {
    for (int rank = 0; rank < call.size(); ++rank) {
      if (rank != call.rank()) sides.push_back({call.members->peer_proc(rank), rank, 0, 0, {}, {}});
    }
  }

  [[nodiscard]] const layout::View& view(Buffer which) const {
    return which == kFrom ? contribution(call_) : call_.recv.all();
  }

  // Returns the kernel for buffers at these addresses, in the order of ranks.
  [[nodiscard]] layout::device::ReduceKernel reduction(const std::uint64_t* from, const std::uint64_t* to) const {
    layout::device::Reduction what;
    what.ninputs = what.noutputs = call_.size();
    std::copy_n(from, call_.size(), what.inputs);
    std::copy_n(to, call_.size(), what.outputs);
    what.count = call_.recv.all().count;
    return layout::device::reduce_kernel(*call_.op, *call_.recv.all().type, what);
  }

  void prepare() override {
    where = view(kTo).where;
    if (!is_usable(view(kFrom)) || !is_usable(view(kTo)) || view(kFrom).where.context != where.context) return;
    offer_kernel();
    if (!offers_kernel()) return;
    std::vector<std::uint64_t> from(index_of(call_.size()), reinterpret_cast<std::uintptr_t>(view(kFrom).data()));
    std::vector<std::uint64_t> to(index_of(call_.size()), reinterpret_cast<std::uintptr_t>(view(kTo).data()));
    const layout::device::ReduceKernel combine = reduction(from.data(), to.data());
    kernel_ = long_kernel(combine.name);
    if (kernel_ == nullptr || combine.arguments.access == kernels::kReduceByBytes) return;
    Context* device = nullptr;
    if (!open(kReady, &device, &ready_kernel_) || !open(kernel_->name, &device, &long_kernel_)) return;
    const Current current(*device);
    for (Side& each : sides) {
      if (!give(kFrom, each) || !give(kTo, each)) return;
    }
    const MatchedLongWords first{};
    if (!take_memory(sizeof first, std::as_bytes(std::span(&first, 1))).ok()) return;
    set_able(*device);
    for (Side& each : sides) {
      each.own.bytes = call_.bytes;
      each.own.work = static_cast<std::uint64_t>(call_.op->kind()) << 32 |
                      static_cast<std::uint64_t>(call_.recv.all().type->basic());
    }
  }

  bool give(Buffer which, Side& side) const {
    Operand& operand = side.own.operands[which];
    operand.address = reinterpret_cast<std::uintptr_t>(view(which).data());
    return mem::device::exports_to(side.proc, view(which).where) &&
           mem::device::export_to(side.proc, view(which).where, &operand.memory).ok();
  }

  std::unique_ptr<Matched> connect() override {
    if (!kernel_waits()) return nullptr;
    Context* device = nullptr;
    if (!Context::of(where, &device).ok()) return nullptr;
    const Current current(*device);
    if (!current.status().ok()) return nullptr;
    auto made = std::make_unique<MatchedLong>(*this);
    const std::size_t self = index_of(call_.rank());
    std::uint64_t from[kernels::kMatchedRanks] = {}, to[kernels::kMatchedRanks] = {};
    kernels::MatchedLong& work = made->long_;
    for (const Side& each : sides) {
      const std::size_t rank = index_of(each.rank);
      if (each.other.bytes != each.own.bytes || each.other.work != each.own.work ||
          !map(*device, each, &work.words[rank]) ||
          !map_operand(*device, each.proc, each.other.operands[kFrom], &made->buffers_.mappings, &from[rank]) ||
          !map_operand(*device, each.proc, each.other.operands[kTo], &made->buffers_.mappings, &to[rank]))
        return nullptr;
      made->ready_.at[rank] = work.words[rank] + offsetof(MatchedLongWords, ready) + self * sizeof(std::uint32_t);
    }
    made->ready_.own = work.words[self] = words;
    from[self] = reinterpret_cast<std::uintptr_t>(view(kFrom).data());
    to[self] = reinterpret_cast<std::uintptr_t>(view(kTo).data());
    work.reduction = reduction(from, to).arguments;
    // All ranks see the same offsets.
    if (work.reduction.access == kernels::kReduceByBytes ||
        (work.reduction.access == kernels::kReduceByElements && call_.bytes > kMostByElements))
      return nullptr;
    set_work(&work);
    set_common(*device, false, made.get());
    made->ready_kernel_ = ready_kernel_;
    made->long_kernel_ = long_kernel_;
    made->buffers_.released = words + offsetof(MatchedLongWords, released);
    return made;
  }

  void set_work(kernels::MatchedLong* work) const {
    const auto ranks = static_cast<std::uint64_t>(call_.size());
    work->rank = static_cast<std::uint64_t>(call_.rank());
    work->ranks = ranks;
    const std::uint64_t share = (work->reduction.count + ranks - 1) / ranks;
    work->share = (share + kShareElements - 1) / kShareElements * kShareElements;
    const bool vectors = work->reduction.access == kernels::kReduceByVectors;
    const std::uint64_t units = vectors ? work->share * kernel_->bytes / 16 : work->share;
    work->blocks = std::clamp<std::uint64_t>((units + kernels::kMatchedLongThreads - 1) / kernels::kMatchedLongThreads,
                                             1, kernels::kMatchedLongMostBlocks);
  }

  const Call& call_;  // the request's
  const LongKernel* kernel_ = nullptr;
  mem::device::FunctionHandle ready_kernel_ = nullptr, long_kernel_ = nullptr;
};

}  // namespace

MatchedLong::~MatchedLong() {
  if (state == nullptr) return;  // the end of the session has closed them
  buffers_.where = where_;
  buffers_.stream = stream_;
  buffers_.in_graph = in_graph_;
  enqueue::close_buffers(std::move(buffers_));
}

std::vector<Matched::Release> MatchedLong::releases() const { return {{buffers_.released, 1}}; }

std::unique_ptr<Match> match_long_allreduce(p2p::Request& request, const Call& call) {
  return std::make_unique<LongMatch>(request, call);
}

}  // namespace hr::enqueue
