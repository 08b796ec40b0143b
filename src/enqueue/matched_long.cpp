#include "enqueue/matched_long.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

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
constexpr const char* kCopy = "hr_matched_long_copy";
// Context ID offset for the exchange of cards; follows the uses in comm::ContextUse.
constexpr std::uint32_t kCardContext = comm::kSurvivorsContext + 4;
// Shares begin at multiples of this number of elements, so that no 16-byte vector crosses from one share to the next.
constexpr std::uint64_t kShareElements = 64;
// Maximum number of elements if they must be moved one by one, because the buffers' offsets modulo 16 differ. For more
// elements, the general method is faster, because it uses more blocks.
constexpr std::uint64_t kMostByElements = std::uint64_t{64} << 10;
constexpr std::uint64_t kVector = 16;
constexpr std::uint64_t kMostBlocks = 32;
static_assert(kMostBlocks <= kernels::kMatchedLongMostBlocks);

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

// Addresses of the buffers of all ranks.
struct Buffers {
  std::uint64_t from[kernels::kMatchedRanks] = {}, to[kernels::kMatchedRanks] = {};
};

// True if the data is copied, not combined.
bool is_copy(const Call& call) { return call.op == nullptr; }
bool is_bcast(const Call& call) { return call.operation == coll::Operation::kBcast; }
bool is_allgather(const Call& call) { return call.operation == coll::Operation::kAllgather; }
bool is_allreduce(const Call& call) { return call.operation == coll::Operation::kAllreduce; }

// Fills in the buffers that the operation reads and writes.
void set_buffers(const Call& call, const Buffers& all, kernels::MatchedLong* work) {
  kernels::ReduceArguments& arguments = work->reduction;
  arguments.ninputs = arguments.noutputs = 0;
  for (int rank = 0; rank < call.size(); ++rank) {
    if (!is_bcast(call) || rank == call.root) arguments.inputs[arguments.ninputs++] = all.from[index_of(rank)];
    if (!is_bcast(call) || rank != call.root) arguments.outputs[arguments.noutputs++] = all.to[index_of(rank)];
  }
  work->own_input = is_allgather(call) ? 1 : 0;
  work->own_output = is_copy(call) || is_allreduce(call) ? 0 : 1;
}

// Fills in the shares of `count` elements.
void set_shares(const Call& call, std::uint64_t count, kernels::MatchedLong* work) {
  const auto ranks = static_cast<std::uint64_t>(call.size());
  const bool blocks = work->own_output != 0;  // of reduce_scatter
  const std::uint64_t sharers = is_bcast(call) ? ranks - 1 : ranks;
  const std::uint64_t multiple = is_allgather(call) ? 1 : kShareElements;
  const std::uint64_t equal = ((count + sharers - 1) / sharers + multiple - 1) / multiple * multiple;
  const std::uint64_t all = static_cast<std::uint64_t>(call.send.all().count);
  for (int rank = 0; rank < call.size(); ++rank) {
    const std::size_t index = index_of(rank);
    const std::uint64_t first = work->first[index];
    std::uint64_t share = is_bcast(call) && rank == call.root ? 0 : equal;
    // An element of the datatype is one or more of the kernel's elements.
    if (blocks) share = static_cast<std::uint64_t>(call.send.count(rank)) * (count / all);
    work->first[index + 1] = first + std::min(share, count - first);
  }
}

std::uint64_t longest_share(const kernels::MatchedLong& work) {
  std::uint64_t longest = 0;
  for (std::uint64_t rank = 0; rank < work.ranks; ++rank)
    longest = std::max(longest, work.first[rank + 1] - work.first[rank]);
  return longest;
}

// Returns how a kernel can access elements of `bytes` bytes at the addresses of the shares. All ranks see the same
// offsets.
kernels::ReduceAccess access_of(const kernels::MatchedLong& work, std::uint64_t bytes) {
  std::uint64_t all = 0, differs = 0, odd = 0;
  for (std::uint64_t rank = 0; rank < work.ranks; ++rank) {
    if (work.first[rank] == work.first[rank + 1]) continue;
    const std::uint64_t offset = work.first[rank] * bytes;
    const auto input = [&](std::uint64_t i) { return work.reduction.inputs[i] + (work.own_input != 0 ? 0 : offset); };
    const auto output = [&](std::uint64_t i) {
      return work.reduction.outputs[i] + (work.own_output != 0 ? 0 : offset);
    };
    const std::uint64_t first = input(work.own_input != 0 ? rank : 0);
    const auto look = [&](std::uint64_t address) {
      all |= address;
      differs |= address ^ first;
    };
    odd |= first % kVector % bytes;
    for (std::uint64_t i = 0; i < work.reduction.ninputs && work.own_input == 0; ++i) look(input(i));
    for (std::uint64_t i = 0; i < work.reduction.noutputs; ++i) {
      if (work.own_output == 0 || i == rank) look(output(i));
    }
    look(first);
  }
  if (all % bytes != 0) return kernels::kReduceByBytes;
  return differs % kVector == 0 && odd == 0 ? kernels::kReduceByVectors : kernels::kReduceByElements;
}

struct LongMatch final : Match {
  LongMatch(p2p::Request& from, const Call& call) : Match(from, call.comm->context() + kCardContext), call_(call) {
    for (int rank = 0; rank < call.size(); ++rank) {
      if (rank != call.rank()) sides.push_back({call.members->peer_proc(rank), rank, 0, 0, {}, {}});
    }
  }

  // Finds this rank's buffers. False if the operation writes where others still read.
  bool find_views() {
    views_[kTo] = call_.recv.all();
    if (is_allreduce(call_) || is_bcast(call_)) {
      views_[kFrom] = contribution(call_);
      return true;
    }
    if (is_allgather(call_) && call_.in_place) return call_.recv.block(call_.rank(), &views_[kFrom]).ok();
    views_[kFrom] = call_.send.all();
    return !call_.in_place;
  }
  [[nodiscard]] std::uint64_t address(Buffer which) const {
    return reinterpret_cast<std::uintptr_t>(views_[which].data());
  }

  // Returns the kernel for reductions; its name is null if there is none.
  [[nodiscard]] layout::device::ReduceKernel reduction() const {
    layout::device::Reduction what;
    what.ninputs = call_.size();
    what.noutputs = 1;
    std::fill_n(what.inputs, what.ninputs, address(kFrom));
    what.outputs[0] = address(kTo);
    what.count = views_[kFrom].count;
    return layout::device::reduce_kernel(*call_.op, *views_[kFrom].type, what);
  }

  void prepare() override {
    if (!find_views()) return;
    where = views_[kTo].where;
    if (!is_usable(views_[kFrom]) || !is_usable(views_[kTo]) || views_[kFrom].where.context != where.context) return;
    offer_kernel();
    if (!offers_kernel()) return;
    const char* kernel = kCopy;
    if (!is_copy(call_)) {
      kernel_ = long_kernel(reduction().name);
      if (kernel_ == nullptr) return;
      kernel = kernel_->name;
    }
    Context* device = nullptr;
    if (!open(kReady, &device, &ready_kernel_) || !open(kernel, &device, &long_kernel_)) return;
    const Current current(*device);
    for (Side& each : sides) {
      if (!give(kFrom, each) || !give(kTo, each)) return;
    }
    const MatchedLongWords first{};
    if (!take_memory(sizeof first, std::as_bytes(std::span(&first, 1))).ok()) return;
    set_able(*device);
    for (Side& each : sides) {
      each.own.bytes = call_.bytes;
      each.own.work = kind_of_work();
    }
  }

  // The same on all ranks if they call the same operation.
  [[nodiscard]] std::uint64_t kind_of_work() const {
    const auto operation = static_cast<std::uint64_t>(call_.operation) << 56;
    if (is_copy(call_)) return operation | static_cast<std::uint64_t>(call_.root);
    return operation | static_cast<std::uint64_t>(call_.op->kind()) << 32 |
           static_cast<std::uint64_t>(views_[kFrom].type->basic());
  }

  bool give(Buffer which, Side& side) const {
    Operand& operand = side.own.operands[which];
    operand.address = address(which);
    return mem::device::exports_to(side.proc, views_[which].where) &&
           mem::device::export_to(side.proc, views_[which].where, &operand.memory).ok();
  }

  std::unique_ptr<Matched> connect() override {
    if (!kernel_waits()) return nullptr;
    Context* device = nullptr;
    if (!Context::of(where, &device).ok()) return nullptr;
    const Current current(*device);
    if (!current.status().ok()) return nullptr;
    auto made = std::make_unique<MatchedLong>(*this);
    const std::size_t self = index_of(call_.rank());
    Buffers all;
    kernels::MatchedLong& work = made->long_;
    for (const Side& each : sides) {
      const std::size_t rank = index_of(each.rank);
      if (each.other.bytes != each.own.bytes || each.other.work != each.own.work ||
          !map(*device, each, &work.words[rank]) ||
          !map_operand(*device, each.proc, each.other.operands[kFrom], &made->buffers_.mappings, &all.from[rank]) ||
          !map_operand(*device, each.proc, each.other.operands[kTo], &made->buffers_.mappings, &all.to[rank]))
        return nullptr;
      made->ready_.at[rank] = work.words[rank] + offsetof(MatchedLongWords, ready) + self * sizeof(std::uint32_t);
    }
    made->ready_.own = work.words[self] = words;
    all.from[self] = address(kFrom);
    all.to[self] = address(kTo);
    if (!set_work(all, &work)) return nullptr;
    std::ranges::copy(made->ready_.at, work.at);
    made->both_ = work;
    made->both_.starts = 1;
    set_common(*device, false, made.get());
    made->ready_kernel_ = ready_kernel_;
    made->long_kernel_ = long_kernel_;
    made->buffers_.released = words + offsetof(MatchedLongWords, released);
    return made;
  }

  // False if the general method is faster, or the only one.
  bool set_work(const Buffers& all, kernels::MatchedLong* work) const {
    work->rank = static_cast<std::uint64_t>(call_.rank());
    work->ranks = static_cast<std::uint64_t>(call_.size());
    std::uint64_t bytes = 0;
    if (is_copy(call_)) {
      bytes = work->element = widest_element(all);
      work->reduction.count = call_.bytes / bytes * (is_allgather(call_) ? work->ranks : 1);
    } else {
      bytes = kernel_->bytes;
      work->reduction = reduction().arguments;
    }
    set_buffers(call_, all, work);
    set_shares(call_, work->reduction.count, work);
    const kernels::ReduceAccess access = access_of(*work, bytes);
    if (access == kernels::kReduceByBytes ||
        (access == kernels::kReduceByElements && work->reduction.count > kMostByElements))
      return false;
    work->reduction.access = access;
    const std::uint64_t share = longest_share(*work);
    const std::uint64_t units = access == kernels::kReduceByVectors ? share * bytes / kVector : share;
    work->blocks = std::clamp<std::uint64_t>((units + kernels::kMatchedLongThreads - 1) / kernels::kMatchedLongThreads,
                                             1, kMostBlocks);
    return true;
  }

  // Returns the size of the widest elements (8, 4 or 1 bytes) into which all buffers and blocks can be divided.
  [[nodiscard]] std::uint64_t widest_element(const Buffers& all) const {
    std::uint64_t bits = call_.bytes;
    for (int rank = 0; rank < call_.size(); ++rank) bits |= all.from[index_of(rank)] | all.to[index_of(rank)];
    for (const std::uint64_t bytes : {8, 4}) {
      if (bits % bytes == 0) return bytes;
    }
    return 1;
  }

  const Call& call_;  // the request's
  layout::View views_[2];
  const LongKernel* kernel_ = nullptr;  // null: a copy
  mem::device::FunctionHandle ready_kernel_ = nullptr, long_kernel_ = nullptr;
};

}  // namespace

MatchedLong::~MatchedLong() {
  if (state == nullptr) return;  // the end of the session has closed the buffers
  buffers_.where = where_;
  buffers_.stream = stream_;
  buffers_.graphs = std::move(graphs_);
  enqueue::close_buffers(std::move(buffers_));
}

std::vector<Matched::Release> MatchedLong::releases() const { return {{buffers_.released, 1}}; }

std::unique_ptr<Match> match_long(p2p::Request& request, const Call& call) {
  using enum coll::Operation;
  switch (call.operation) {
    case kBcast:
    case kAllgather:
    case kAllreduce:
    case kReduceScatter:
    case kReduceScatterBlock:
      return std::make_unique<LongMatch>(request, call);
    default:
      return nullptr;
  }
}

}  // namespace hr::enqueue
