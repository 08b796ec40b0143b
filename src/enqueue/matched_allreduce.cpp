#include "enqueue/matched_allreduce.hpp"

#include <algorithm>
#include <cstring>

#include "coll/reduction.hpp"
#include "layout/device/reduce.hpp"

namespace hr::enqueue {
namespace {

using coll::Call;
using kernels::MatchedWords;
using mem::device::Context;
using mem::device::Current;

// Maximum size of vectors that go through slots; longer vectors also do if a rank puts at most kMostPutBytes in all.
constexpr std::size_t kMostBytes = 8192;
constexpr std::size_t kMostPutBytes = 65536;
constexpr const char* kPut = "hr_matched_put";
// Context ID offset for the exchange of cards; follows the uses in comm::ContextUse.
constexpr std::uint32_t kCardContext = comm::kSurvivorsContext + 2;
// The slots follow the words.
constexpr std::size_t kWordBytes = matched_slot(sizeof(MatchedWords));

struct EndKernel {
  const char* reduction;  // the kernel of layout::device that performs this reduction
  const char* end;
  const char* both;
};
constexpr EndKernel kEndKernels[] = {
    {"hr_reduce_bits_4", "hr_matched_bits_4", "hr_matched_both_bits_4"},
    {"hr_reduce_bits_8", "hr_matched_bits_8", "hr_matched_both_bits_8"},
    {"hr_reduce_i32", "hr_matched_i32", "hr_matched_both_i32"},
    {"hr_reduce_i64", "hr_matched_i64", "hr_matched_both_i64"},
    {"hr_reduce_u32", "hr_matched_u32", "hr_matched_both_u32"},
    {"hr_reduce_u64", "hr_matched_u64", "hr_matched_both_u64"},
    {"hr_reduce_f16", "hr_matched_f16", "hr_matched_both_f16"},
    {"hr_reduce_bf16", "hr_matched_bf16", "hr_matched_both_bf16"},
    {"hr_reduce_f32", "hr_matched_f32", "hr_matched_both_f32"},
    {"hr_reduce_f64", "hr_matched_f64", "hr_matched_both_f64"},
};

const EndKernel* end_kernel(const char* reduction) {
  if (reduction == nullptr) return nullptr;
  const auto* const found =
      std::ranges::find_if(kEndKernels, [&](const EndKernel& each) { return !std::strcmp(each.reduction, reduction); });
  return found == std::end(kEndKernels) ? nullptr : found;
}

std::size_t index_of(int rank) { return static_cast<std::size_t>(rank); }

std::uint64_t ready_word(std::uint64_t words, int rank) {
  return words + offsetof(MatchedWords, ready) + index_of(rank) * sizeof(std::uint32_t);
}

struct AllreduceMatch final : Match {
  AllreduceMatch(p2p::Request& from, const Call& call)
      : Match(from, call.comm->context() + kCardContext), call_(call), bytes_(call.bytes) {
    for (int rank = 0; rank < call.size(); ++rank) {
      if (rank != call.rank()) sides.push_back({call.members->peer_proc(rank), rank, 0, 0, {}, {}});
    }
  }

  // Returns the address of the slots; the slot of rank 0 comes first.
  [[nodiscard]] std::uint64_t slots_at(std::uint64_t base) const { return base + kWordBytes; }
  // Distance between slots in bytes, with or without lines.
  [[nodiscard]] std::uint64_t slot(bool lines) const {
    return lines ? matched_line_slot(bytes_) : matched_slot(bytes_);
  }
  [[nodiscard]] std::uint64_t generation(bool lines) const { return index_of(call_.size()) * slot(lines); }

  // Returns the kernel that combines the slots into the program's buffer.
  [[nodiscard]] layout::device::ReduceKernel reduction() const {
    layout::device::Reduction what;
    what.ninputs = call_.size();
    std::fill_n(what.inputs, what.ninputs, slots_at(words));
    what.outputs[0] = reinterpret_cast<std::uintptr_t>(call_.recv.all().data());
    what.noutputs = 1;
    what.count = call_.recv.all().count;
    return layout::device::reduce_kernel(*call_.op, *call_.recv.all().type, what);
  }

  void prepare() override {
    const layout::View& from = contribution(call_);
    const layout::View& to = call_.recv.all();
    where = to.where;
    if (!is_usable(from) || !is_usable(to) || from.where.context != to.where.context) return;
    for (const Side& each : sides) {
      if (!mem::device::exports_to(each.proc, where)) return;
    }
    const layout::device::ReduceKernel combine = reduction();
    const EndKernel* const end = end_kernel(combine.name);
    if (end == nullptr || combine.arguments.access == kernels::kReduceByBytes) return;
    Context* device = nullptr;
    if (!open(kPut, &device, &put_kernel_) || !open(end->end, &device, &end_kernel_) ||
        !open(end->both, &device, &both_kernel_))
      return;
    const Current current(*device);
    const MatchedWords first{};
    offer_kernel();
    if (!take_memory(kWordBytes + kernels::kMatchedGenerations * generation(offers_kernel()),
                     std::as_bytes(std::span(&first, 1)))
             .ok())
      return;
    set_able(*device);
    for (Side& each : sides) {
      each.own.bytes = bytes_;
      each.own.work = static_cast<std::uint64_t>(call_.op->kind()) << 32 |
                      static_cast<std::uint64_t>(call_.recv.all().type->basic());
    }
  }

  std::unique_ptr<Matched> connect() override {
    Context* device = nullptr;
    if (!Context::of(where, &device).ok()) return nullptr;
    const Current current(*device);
    if (!current.status().ok()) return nullptr;
    auto made = std::make_unique<MatchedAllreduce>(*this);
    const bool lines = kernel_waits();
    const std::size_t own_slot = index_of(call_.rank()) * slot(lines);
    kernels::MatchedPut& put = made->put_;
    for (const Side& each : sides) {
      std::uint64_t other = 0;
      if (each.other.bytes != bytes_ || each.other.work != each.own.work || !map(*device, each, &other)) return nullptr;
      put.to[index_of(each.rank)] = slots_at(other) + own_slot;
      put.ready[index_of(each.rank)] = ready_word(other, call_.rank());
    }
    put.to[index_of(call_.rank())] = slots_at(words) + own_slot;
    put.own = words;
    put.from = reinterpret_cast<std::uintptr_t>(contribution(call_).data());
    put.bytes = bytes_;
    put.generation = generation(lines);
    put.lines = lines ? 1 : 0;
    put.parts = lines
                    ? std::clamp<std::uint64_t>((bytes_ + kernels::kMatchedPartBytes - 1) / kernels::kMatchedPartBytes,
                                                1, kernels::kMatchedMostParts)
                    : 1;
    made->end_ = end(lines);
    made->both_ = {put, made->end_};
    set_common(*device, !lines, made.get());
    made->put_kernel_ = put_kernel_;
    made->end_kernel_ = end_kernel_;
    made->both_kernel_ = both_kernel_;
    return made;
  }

  [[nodiscard]] kernels::MatchedEnd end(bool lines) const {
    const layout::device::ReduceKernel combine = reduction();
    kernels::MatchedEnd end{};
    end.own = words;
    end.slots = slots_at(words);
    end.slot = slot(lines);
    end.generation = generation(lines);
    end.to = combine.arguments.outputs[0];
    end.count = combine.arguments.count;
    end.ranks = static_cast<std::uint64_t>(call_.size());
    end.rank = static_cast<std::uint64_t>(call_.rank());
    end.op = combine.arguments.op;
    end.vectors = combine.arguments.access == kernels::kReduceByVectors ? 1 : 0;
    end.lines = lines ? 1 : 0;
    return end;
  }

  const Call& call_;  // the request's
  std::size_t bytes_;
  mem::device::FunctionHandle put_kernel_ = nullptr, end_kernel_ = nullptr, both_kernel_ = nullptr;
};

bool goes_through_slots(const Call& call) {
  return call.bytes <= kMostBytes || call.bytes * (index_of(call.size()) - 1) <= kMostPutBytes;
}

}  // namespace

bool is_usable(const layout::View& view) {
  return view.contiguous && view.where.is_device() && !view.where.managed && view.where.context != nullptr;
}

Launch MatchedAllreduce::start() {
  return {put_kernel_, static_cast<unsigned>(end_.ranks * put_.parts), kernels::kMatchedThreads, &put_};
}

Launch MatchedAllreduce::end() {
  const std::uint64_t blocks =
      std::clamp<std::uint64_t>((end_.count + kernels::kMatchedBlockElements - 1) / kernels::kMatchedBlockElements, 1,
                                kernels::kMatchedMostBlocks);
  return {end_kernel_, static_cast<unsigned>(blocks), kernels::kMatchedThreads, &end_};
}

Launch MatchedAllreduce::both() {
  const Launch end = this->end();
  return {both_kernel_, end.blocks, end.threads, &both_};
}

std::unique_ptr<Match> match_short_allreduce(p2p::Request& request, const Call& call) {
  if (call.operation != coll::Operation::kAllreduce || !goes_through_slots(call)) return nullptr;
  return std::make_unique<AllreduceMatch>(request, call);
}

std::vector<Matched::Release> MatchedAllreduce::releases() const {
  std::vector<Release> all{{put_.own + offsetof(MatchedWords, released), 1}};
  for (int rank = 0; rank < static_cast<int>(end_.ranks); ++rank) {
    all.push_back({ready_word(put_.own, rank), kernels::kMatchedReleased});
  }
  return all;
}

void MatchedAllreduce::add_words(std::vector<mem::device::DeviceAddress>* words) const {
  for (int rank = 0; rank < static_cast<int>(end_.ranks) && end_.lines == 0; ++rank) {
    if (index_of(rank) != end_.rank) words->push_back(ready_word(put_.own, rank));
  }
}

}  // namespace hr::enqueue
