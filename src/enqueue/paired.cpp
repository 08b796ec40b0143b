#include "enqueue/paired.hpp"

#include <algorithm>
#include <cstring>

#include "boot/boot.hpp"
#include "p2p/partitioned.hpp"

namespace hr::enqueue {
namespace {

using mem::device::Context;
using mem::device::Current;

constexpr const char* kKernel = "hr_paired";
// Longer messages gain less from slots than the second copy and the slots' memory cost.
constexpr std::size_t kMostBytes = std::size_t{4} << 20;
// The slots follow the words.
constexpr std::size_t kWordBytes = kMatchedAlignment;
static_assert(sizeof(kernels::PairedWords) <= kWordBytes);
// Context ID offset for the exchange of cards; follows the uses in comm::ContextUse.
constexpr std::uint32_t kCardContext = comm::kSurvivorsContext + 1;
// Cards have the message's tag with one more bit, which distinguishes the two directions.
constexpr int kMostTag = 1 << 30;

bool is_message(const p2p::Request& request) {
  return request.persistent() && request.view_.type != nullptr &&
         request.context_ == static_cast<comm::Communicator*>(request.communicator_)->context() &&
         !p2p::is_partitioned(request);
}

// True for a receive, and for a standard-mode or ready send.
bool is_plain(const p2p::Request& request) {
  return !request.synchronous_ &&
         std::strcmp(request.state_->what(), request.is_receive_ ? "persistent receive" : "persistent send") == 0;
}

struct MessageMatch final : Match {
  MessageMatch(p2p::Request& from, int proc, int rank)
      : Match(from, static_cast<comm::Communicator*>(from.communicator_)->context() + kCardContext) {
    const int own = from.is_receive_ ? 1 : 0;
    sides.push_back({proc, rank, from.tag_ * 2 + own, from.tag_ * 2 + 1 - own, {}, {}});
  }

  void prepare() override {
    const layout::View& view = request->view_;
    where = view.where;
    side().own.bytes = view.packed;
    if (!view.contiguous || !view.where.is_device() || view.where.managed || view.where.context == nullptr ||
        view.packed == 0 || view.packed > kMostBytes || !is_plain(*request) ||
        (!to_self() && !mem::device::exports_to(side().proc, view.where)))
      return;
    Context* device = nullptr;
    mem::device::FunctionHandle kernel = nullptr;
    if (!open(kKernel, &device, &kernel)) return;
    const Current current(*device);
    const kernels::PairedWords first{request->is_receive_ ? 0 : kernels::kPairedSlots, 0, 0};
    if (view.packed <= kernels::kPairedWaitedBytes || request->is_receive_) offer_kernel();
    std::size_t slots = request->is_receive_ ? kernels::kPairedSlots * matched_slot(view.packed) : 0;
    // A shorter message may arrive, in lines.
    if (slots != 0 && offers_kernel()) {
      const std::uint64_t most = std::min<std::uint64_t>(view.packed, kernels::kPairedLineBytes);
      slots = std::max(slots, kernels::kPairedLineSlots * matched_line_slot(most));
    }
    if (take_memory(kWordBytes + slots, std::as_bytes(std::span(&first, 1))).ok()) set_able(*device);
  }

  std::unique_ptr<Matched> connect() override {
    const bool receives = request->is_receive_;
    const std::uint64_t bytes = receives ? side().other.bytes : side().own.bytes;
    if (bytes > (receives ? side().own.bytes : side().other.bytes)) return nullptr;
    Context* device = nullptr;
    mem::device::FunctionHandle kernel = nullptr;
    if (!open(kKernel, &device, &kernel)) return nullptr;
    const Current current(*device);
    auto pair = std::make_unique<Paired>(*this);
    kernels::PairedMove& move = pair->move_;
    if (!map(*device, side(), &move.other)) return nullptr;
    const auto data = reinterpret_cast<std::uintptr_t>(request->view_.data());
    move.own = words;
    move.bytes = bytes;
    move.blocks = std::clamp<std::uint64_t>((bytes + kernels::kPairedBlockBytes - 1) / kernels::kPairedBlockBytes, 1,
                                            kernels::kPairedMostBlocks);
    move.from = receives ? move.own + kWordBytes : data;
    move.to = receives ? data : move.other + kWordBytes;
    (receives ? move.from_step : move.to_step) = matched_slot(receives ? side().own.bytes : side().other.bytes);
    if (kernel_waits() && bytes <= kernels::kPairedWaitedBytes) {
      if (!let_kernel_wait(move).ok()) return nullptr;
    }
    set_common(*device, receives && move.way == kernels::kPairedReady, pair.get());
    pair->kernel_ = kernel;
    if (receives) {
      pair->result_.source = side().rank;
      pair->result_.tag = request->tag_;
      pair->result_.bytes = bytes;
    }
    return pair;
  }

  Status let_kernel_wait(kernels::PairedMove& move) {
    move.way = kernels::kPairedWait;
    if (move.bytes > kernels::kPairedLineBytes) return kOk;
    const bool receives = request->is_receive_;
    move.way = receives ? kernels::kPairedTakeLines : kernels::kPairedSendLines;
    move.blocks = 1;
    (receives ? move.from_step : move.to_step) = matched_line_slot(move.bytes);
    const kernels::PairedWords first{receives ? 0 : kernels::kPairedLineSlots, 0, 0};
    return write_words(std::as_bytes(std::span(&first, 1)));
  }

  Side& side() { return sides.front(); }
  bool to_self() { return side().proc == boot::processes().self(); }
};

}  // namespace

Paired::Paired(const Match& match)
    : Matched(match),
      is_receive_(match.request->is_receive_),
      rank_(match.sides.front().rank),
      tag_(match.request->tag_) {
  kind_ = is_receive_ ? Kind::kReceive : Kind::kSend;
}

std::string Paired::text() const {
  return std::string(what()) + (is_receive_ ? " from rank " : " to rank ") + std::to_string(rank_) + " with tag " +
         std::to_string(tag_);
}

std::vector<Matched::Release> Paired::releases() const {
  return {{move_.own + offsetof(kernels::PairedWords, ready), 2 * kernels::kPairedReleased}};
}

Status match_message(p2p::Request& request, std::size_t index, std::unique_ptr<Match>* match) {
  if (!is_message(request)) return kOk;
  if (request.is_receive_ && (request.source_ == abi::kAnySource || request.tag_ == abi::kAnyTag)) {
    return fail(Errc::kRequest,
                "array_of_requests[%zu] is a receive from any source or with any tag: only a receive that names both "
                "can be matched before it is started",
                index);
  }
  if (request.tag_ >= kMostTag) return kOk;
  const auto& comm = *static_cast<comm::Communicator*>(request.communicator_);
  const int proc = request.is_receive_ ? comm.peer_proc(request.source_) : request.proc_;
  if (proc != boot::processes().self() && !p2p::shares_memory(proc)) return kOk;
  int rank = request.source_;
  if (!request.is_receive_) {
    rank = 0;
    while (comm.peer_proc(rank) != proc) ++rank;
  }
  *match = std::make_unique<MessageMatch>(request, proc, rank);
  return kOk;
}

void Paired::add_words(std::vector<mem::device::DeviceAddress>* words) const {
  if (move_.way == kernels::kPairedReady) words->push_back(move_.own + offsetof(kernels::PairedWords, ready));
}

void add_moves(std::span<Paired* const> pairs, std::deque<kernels::PairedMoves>* moves, std::vector<Launch>* launches) {
  while (!pairs.empty()) {
    const std::size_t count = std::min<std::size_t>(pairs.size(), kernels::kPairedMoves);
    kernels::PairedMoves& made = moves->emplace_back();
    made.width = 1;
    for (std::size_t i = 0; i < count; ++i) {
      made.each[i] = pairs[i]->move_;
      made.width = std::max(made.width, pairs[i]->move_.blocks);
    }
    launches->push_back({pairs[0]->kernel_, static_cast<unsigned>(count * made.width), kernels::kPairedThreads, &made});
    pairs = pairs.subspan(count);
  }
}

}  // namespace hr::enqueue
