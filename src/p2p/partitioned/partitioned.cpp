#include "p2p/partitioned.hpp"

#include <algorithm>
#include <utility>

#include "layout/op.hpp"
#include "mem/independent.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/partitioned/partitioned_operation.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/task.hpp"

namespace hr::p2p {
namespace {

PartitionedOperations& operations() { return own<PartitionedOperations>(); }

Status make(const PartitionedArguments& arguments, bool is_receive, Request** out) {
  Request* request =
      make_request(arguments.data, is_receive, {arguments.context, arguments.own_rank, arguments.tag}, -1);
  if (request == nullptr)
    return fail(Errc::kNoMem, "no memory for another request (%zu are live)", Arena<Request>::instance().live());
  request->persistent_ = true;
  request->active_ = false;
  request->state_ = std::make_unique<Partitioned>(*request, arguments, is_receive);
  *out = request;
  return kOk;
}

Partitioned* partitioned(Request& request, bool is_receive) {
  auto* const found = dynamic_cast<Partitioned*>(request.state_.get());
  return found != nullptr && request.is_receive_ == is_receive ? found : nullptr;
}

Status find_started_send(Request& request, Partitioned** out) {
  *out = partitioned(request, false);
  if (*out == nullptr)
    return fail(Errc::kRequest,
                "the request is not of a partitioned send (MPI_Psend_init), which alone has partitions "
                "that can be marked as ready");
  if (!request.active())
    return fail(Errc::kRequest,
                "the partitioned send is not started; call MPI_Start before its partitions are marked "
                "as ready");
  return kOk;
}

}  // namespace

Partitioned::Partitioned(Request& request, const PartitionedArguments& arguments, bool is_receive)
    : request_(&request),
      arguments_(arguments),
      type_(Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(arguments.data.type))),
      is_receive_(is_receive),
      id_(operations().next_id++) {
  operations().alive.emplace(id_, this);
  matched_ = arguments_.peer_proc < 0;
}

Partitioned::~Partitioned() {
  if (engine() == nullptr) return;
  auto& alive = operations().alive;
  if (const auto found = alive.find(id_); found != alive.end() && found->second == this) alive.erase(found);
  for (Part& each : parts_) {
    if (each.message != nullptr) detail::abandon(&each.message, 1);
  }
}

// --- matching ---

void Partitioned::match(int parts, int first_tag) {
  matched_ = true;
  first_tag_ = first_tag;
  if (unfit_ = make_parts(parts); !unfit_.ok()) why_unfit_ = take_detail();
}

void Partitioned::match_other_size(std::size_t bytes) {
  matched_ = true;
  unfit_ = fail(Errc::kTruncate,
                "the partitioned %s rank %d with tag %d has %zu bytes in all, the other side %zu: both must have the "
                "same amount of data",
                is_receive_ ? "receive from" : "send to", arguments_.peer_rank, arguments_.tag, arguments_.data.packed,
                bytes);
  why_unfit_ = take_detail();
}

bool Partitioned::uses_tags(const PartitionedArguments& of, int first, int count) const noexcept {
  return is_receive_ && matched_ && arguments_.context == of.context && arguments_.peer_rank == of.peer_rank &&
         first < first_tag_ + static_cast<int>(parts_.size()) && first_tag_ < first + count;
}

Status Partitioned::make_parts(int count) {
  const mem::IndependentScope scope(arguments_.data.where.independent);
  parts_ = std::vector<Part>(static_cast<std::size_t>(count));
  const std::size_t bytes = count == 0 ? 0 : arguments_.data.packed / static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < parts_.size(); ++i) HR_TRY(make_part(i * bytes, bytes, &parts_[i]));
  return kOk;
}

Status Partitioned::make_part(std::size_t offset, std::size_t bytes, Part* part) {
  const auto element = static_cast<std::size_t>(type_->size());
  part->offset = offset;
  if (bytes == 0 || (offset % element == 0 && bytes % element == 0)) {
    // Computed as integers, as the address may be MPI_BOTTOM.
    const Count first = element == 0 ? 0 : static_cast<Count>(offset / element);
    const auto address = reinterpret_cast<std::uintptr_t>(arguments_.data.address) +
                         static_cast<std::uintptr_t>(first * type_->extent());
    return layout::make_view(reinterpret_cast<void*>(address), bytes == 0 ? 0 : static_cast<Count>(bytes / element),
                             *type_, &part->view);
  }
  part->aside = std::make_unique_for_overwrite<std::byte[]>(bytes);
  return layout::make_view(part->aside.get(), static_cast<Count>(bytes), *layout::predefined_type(abi::kByte),
                           &part->view);
}

void Partitioned::become_independent() {
  arguments_.data.where.independent = true;
  for (Part& each : parts_) each.view.where.independent = true;
}

Status Partitioned::marks(PartitionMarks** out) {
  if (marks_ == nullptr) {
    if (request_->active())
      return fail(Errc::kRequest, "the partitioned %s is started; prepare it for kernels before MPI_Start",
                  is_receive_ ? "receive" : "send");
    auto made = std::make_unique<PartitionMarks>();
    HR_TRY(made->create(arguments_.partitions, arguments_.data));
    marks_ = std::move(made);
  }
  *out = marks_.get();
  return kOk;
}

// --- one start ---

Status Partitioned::start(Request& request) {
  request.begin();
  request.active_ = true;
  request.completion_ = {};
  request.detail_.clear();
  request.retain();
  request.engine_reference_ = true;
  not_ready_ = is_receive_ ? 0 : arguments_.partitions;
  settled_ = 0;
  given_up_ = false;
  error_ = kOk;
  for (Part& each : parts_) each.begun = each.settled = false;
  ready_.assign(is_receive_ ? 0 : static_cast<std::size_t>(arguments_.partitions), false);
  look_for_ready_ = true;
  if (marks_ != nullptr) marks_->clear();
  if (is_receive_ && matched_) begin_ready();
  PartitionedOperations& all = operations();
  all.started.push_back(this);
  add_hook(&PartitionedOperations::advance_all, &all);
  return kOk;
}

Status Partitioned::cancel(Request& request) { return request.complete() ? kOk : under_way("cancelled"); }
Status Partitioned::may_free() const { return under_way("freed"); }

Status Partitioned::under_way(const char* verb) const {
  return fail(Errc::kRequest,
              "the partitioned %s rank %d with tag %d is under way and cannot be %s: %scomplete it with MPI_Wait or "
              "MPI_Test first",
              is_receive_ ? "receive from" : "send to", arguments_.peer_rank, arguments_.tag, verb,
              is_receive_ ? "" : "mark all partitions as ready (MPI_Pready) and ");
}

void Partitioned::begin_ready() {
  look_for_ready_ = false;
  for (std::size_t i = 0; i < parts_.size() && !given_up_; ++i) {
    if ((is_receive_ || ready_[i]) && !parts_[i].begun) begin(i);
  }
}

void Partitioned::begin(std::size_t index) {
  Part& part = parts_[index];
  part.begun = true;
  const int tag = first_tag_ + static_cast<int>(index);
  const Status status = is_receive_
                            ? ireceive(part.view, {arguments_.context, arguments_.peer_rank, tag}, &part.message)
                            : isend(part.view, arguments_.peer_proc, {arguments_.context, arguments_.own_rank, tag},
                                    Mode::kStandard, &part.message);
  if (!status.ok()) note(status);
}

void Partitioned::note(Status error) {
  std::string text = take_detail();
  if (!error_.ok()) return;
  error_ = error;
  why_ = std::move(text);
}

// True once the part's message has ended; the first call after that moves its data to the destination.
bool Partitioned::settle(Part& part) {
  if (part.settled) return true;
  if (!part.begun || (part.message != nullptr && !part.message->complete())) return false;
  part.settled = true;
  Request* const message = std::exchange(part.message, nullptr);
  if (message == nullptr) return true;
  Status status = message->completion_.error;
  if (!status.ok()) {
    set_detail(message->detail());
  } else if (part.aside != nullptr && is_receive_) {
    status = layout::unpack(arguments_.data, part.offset, message->completion_.bytes, part.aside.get());
  }
  if (!status.ok()) note(status);
  release(message);
  return true;
}

bool Partitioned::advance() {
  if (!given_up_) {
    Status why = unfit_;
    if (!unfit_.ok()) {
      set_detail(why_unfit_);
    } else if (any_failures() && arguments_.peer_proc >= 0) {
      why = can_complete({arguments_.context, arguments_.peer_rank, arguments_.tag});
    }
    if (!why.ok()) give_up(why);
  }
  if (matched_ && look_for_ready_) begin_ready();
  const bool marked = marks_ != nullptr && look_at_marks();
  const std::size_t before = settled_;
  while (settled_ < parts_.size() && settle(parts_[settled_])) ++settled_;
  return marked || settled_ != before;
}

// Makes the partitions of a send ready that kernels have marked; sets the marks of a receive's partitions that have
// arrived. True if there were any.
bool Partitioned::look_at_marks() {
  bool moved = false;
  for (int i = 0; i < arguments_.partitions; ++i) {
    if (is_receive_) {
      if (marks_->is_set(i) || given_up_ || !matched_ || look_for_ready_ || !has_come(i)) continue;
      marks_->set(i);
    } else {
      if (not_ready_ == 0) break;
      if (ready_[static_cast<std::size_t>(i)] || !marks_->is_set(i)) continue;
      make_ready(i);
    }
    moved = true;
  }
  return moved;
}

bool Partitioned::is_over() noexcept {
  if (!given_up_) return matched_ && not_ready_ == 0 && settled_ == parts_.size();
  return std::all_of(parts_.begin(), parts_.end(), [&](Part& each) { return !each.begun || settle(each); });
}

void Partitioned::report() {
  Completion completion;
  if (is_receive_ && arguments_.peer_proc < 0) {
    completion.source = abi::kProcNull;
  } else if (is_receive_) {
    completion.source = arguments_.peer_rank;
    completion.tag = arguments_.tag;
    completion.bytes = arguments_.data.packed;
  }
  completion.error = error_;
  if (!error_.ok()) set_detail(why_);
  complete(*request_, completion);
}

bool PartitionedOperations::advance_all(void* self) {
  auto& all = *static_cast<PartitionedOperations*>(self);
  if (all.advancing) return false;  // another thread is advancing them, inside a long copy
  all.advancing = true;
  bool moved = false;
  for (std::size_t i = 0; i < all.started.size();) {
    Partitioned* const each = all.started[i];
    moved |= each->advance();
    if (!each->is_over()) {
      ++i;
      continue;
    }
    all.started[i] = all.started.back();
    all.started.pop_back();
    each->report();
    moved = true;
  }
  all.advancing = false;
  if (all.started.empty()) remove_hook(&advance_all, self);
  return moved;
}

// --- calls of the program ---

Status Partitioned::check_ready(int partition) const {
  if (partition < 0 || partition >= arguments_.partitions)
    return fail(Errc::kArg, "partition %d does not exist; the partitioned send has %d, from 0 on", partition,
                arguments_.partitions);
  if (ready_[static_cast<std::size_t>(partition)])
    return fail(Errc::kArg, "partition %d has been marked as ready before since the last MPI_Start", partition);
  return kOk;
}

void Partitioned::make_ready(int partition) {
  const auto index = static_cast<std::size_t>(partition);
  ready_[index] = true;
  --not_ready_;
  if (matched_ && !look_for_ready_ && !given_up_ && index < parts_.size()) begin(index);
}

Status Partitioned::has_arrived(int partition, bool* arrived) {
  if (partition < 0 || partition >= arguments_.partitions)
    return fail(Errc::kArg, "partition %d does not exist; the partitioned receive has %d, from 0 on", partition,
                arguments_.partitions);
  *arrived = true;
  if (!request_->active() || request_->complete() || given_up_) return kOk;
  *arrived = false;
  if (matched_ && !look_for_ready_) *arrived = has_come(partition);
  return kOk;
}

// True if the sender's parts that this partition overlaps have arrived. The parts are found by their fractions of the
// whole, which works even if there are no bytes.
bool Partitioned::has_come(int partition) {
  const auto own = static_cast<std::size_t>(arguments_.partitions);
  const std::size_t at = static_cast<std::size_t>(partition) * parts_.size();
  for (std::size_t i = at / own; i * own < at + parts_.size(); ++i) {
    if (!settle(parts_[i])) return false;
  }
  return true;
}

Status partitioned_send_init(const PartitionedArguments& arguments, Request** request) {
  HR_TRY(make(arguments, false, request));
  if (arguments.peer_proc >= 0) send_partitioned_rts(static_cast<Partitioned&>(*(*request)->state_));
  return kOk;
}

Status partitioned_receive_init(const PartitionedArguments& arguments, Request** request) {
  HR_TRY(make(arguments, true, request));
  if (arguments.peer_proc >= 0) post_partitioned(static_cast<Partitioned&>(*(*request)->state_));
  return kOk;
}

bool is_partitioned(const Request& request) noexcept {
  return dynamic_cast<const Partitioned*>(request.state_.get()) != nullptr;
}

Status partitions_ready(Request& request, int low, int high) {
  Partitioned* send = nullptr;
  HR_TRY(find_started_send(request, &send));
  if (low > high)
    return fail(Errc::kArg, "the range of partitions from %d to %d is empty: the first is beyond the last", low, high);
  HR_TRY(send->check_ready(low));
  HR_TRY(send->check_ready(high));
  for (int i = low; i <= high; ++i) HR_TRY(send->check_ready(i));
  for (int i = low; i <= high; ++i) send->make_ready(i);
  return kOk;
}

Status partitions_ready(Request& request, int count, const int* partitions) {
  Partitioned* send = nullptr;
  HR_TRY(find_started_send(request, &send));
  for (int i = 0; i < count; ++i) HR_TRY(send->check_ready(partitions[i]));
  std::vector<int> sorted(partitions, partitions + count);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return fail(Errc::kArg, "partition %d is in the list more than once", *twice);
  for (int i = 0; i < count; ++i) send->make_ready(partitions[i]);
  return kOk;
}

Status partition_marks(Request& request, PartitionMarks** marks, int* partitions) {
  auto* const operation = dynamic_cast<Partitioned*>(request.state_.get());
  if (operation == nullptr)
    return fail(Errc::kRequest,
                "the request is not of partitioned communication (MPI_Psend_init, MPI_Precv_init), which alone has "
                "partitions");
  *partitions = operation->arguments().partitions;
  return operation->marks(marks);
}

Status partition_arrived(Request& request, int partition, bool* arrived) {
  Partitioned* const receive = partitioned(request, true);
  if (receive == nullptr)
    return fail(Errc::kRequest,
                "the request is not of a partitioned receive (MPI_Precv_init), which alone has "
                "partitions that arrive");
  HR_TRY(receive->has_arrived(partition, arrived));
  if (*arrived) return kOk;
  // Rounds let other threads in. The request stays valid unless the program frees it during this call.
  Status status = kOk;
  const auto ask = [&] {
    status = receive->has_arrived(partition, arrived);
    return !status.ok() || *arrived;
  };
  poll_for_test(ask);
  static_cast<void>(ask());
  return status;
}

}  // namespace hr::p2p
