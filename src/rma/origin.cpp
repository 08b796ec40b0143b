#include "rma/origin.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/dropped.hpp"
#include "base/statistics.hpp"
#include "coll/view_tools.hpp"
#include "p2p/p2p.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "rma/describe.hpp"
#include "rma/operation.hpp"
#include "rma/state.hpp"
#include "rma/wire.hpp"

namespace hr::rma {

namespace {

// Maximum numbers of concurrent operations; each takes memory here and at the target. The limit for operations with
// data messages is lower, because every round of progress checks them.
constexpr std::uint32_t kMostUnanswered = 8192;
constexpr std::size_t kMostStarted = 256;

void list_started(OriginOperation& self) {
  self.moves = true;
  ++state->started_count;
  state->started.push_back(self);
}
void unlist(OriginOperation& self) {
  if (std::exchange(self.moves, false)) --state->started_count;
  self.link.unlink();
}

class OperationState final : public p2p::RequestState {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "one-sided operation"; }
};

// A message under construction, contiguous in memory so that it can be sent.
class Message {
 public:
  explicit Message(const wire::Head& head) { append(&head, sizeof head); }
  void append(const void* data, std::size_t bytes) {
    if (bytes != 0) std::memcpy(bytes_ + used_, data, bytes);
    used_ += bytes;
  }
  Status append(const layout::View& view) {
    HR_TRY(layout::pack(view, 0, view.packed, bytes_ + used_));
    used_ += view.packed;
    return kOk;
  }
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return used_; }

 private:
  alignas(16) std::byte bytes_[wire::kMost];
  std::size_t used_ = 0;
};

wire::Head head_of(const Operation& operation) {
  wire::Head head{};
  head.kind = operation.kind;
  if (operation.op != nullptr) head.op = operation.op->kind();
  head.type = handle_of(*operation.type);
  head.data = operation.kind == OperationKind::kCompareSwap ? 2 * operation.origin.packed : operation.origin.packed;
  head.displacement = operation.displacement;
  head.count = operation.count;
  return head;
}

// Marks the parts that do not fit into the message and are sent after it.
void divide(wire::Head& head, const Operation& operation, std::size_t longest) {
  std::size_t room = std::min(longest, wire::kMost) - sizeof head;
  if (head.description > room) {
    head.flags |= wire::kDescriptionFollows;
  } else {
    room -= head.description;
  }
  if (head.data > room) head.flags |= wire::kDataFollows;
  if (operation.has_result() && operation.target_bytes() > std::min(longest, wire::kMost))
    head.flags |= wire::kResultFollows;
}

Status send_bytes(OriginOperation& self, const layout::View& view, const wire::Head& head) {
  Window& window = *self.window;
  self.requests.push_back(nullptr);
  return p2p::isend(view, window.proc(self.rank), wire::to_target(window, window.rank(), head.tag),
                    p2p::Mode::kStandard, &self.requests.back());
}

bool sent(const OriginOperation& self) {
  return std::all_of(self.requests.begin(), self.requests.end(),
                     [](const p2p::Request* each) { return each == nullptr || each->complete(); });
}

void fail_operation(OriginOperation& self, Status status, std::string why) {
  if (!self.status.ok()) return;
  self.status = status;
  self.why = std::move(why);
}

void end(OriginOperation& self) {
  for (p2p::Request* request : self.requests) {
    if (request == nullptr) continue;
    if (!request->completion_.error.ok()) fail_operation(self, request->completion_.error, request->detail());
    release(request);
  }
  Window& window = *self.window;
  Member& member = window.member(self.rank);
  // A wait that detected the failure of the process has already subtracted all unanswered operations.
  if (member.unanswered != 0) {
    --member.unanswered;
    --window.unanswered_;
  }
  if (self.counted && member.unsent != 0) --member.unsent;
  if (self.program != nullptr) {
    p2p::Completion completion;
    completion.error = self.status;
    if (!self.status.ok()) set_detail(std::move(self.why));
    self.program->finish(completion);
    release(self.program);
  } else if (!self.status.ok()) {
    note_failure(window, self.status, std::move(self.why));
  }
  unlist(self);
  state->cookies.take_back(self.cookie);
  delete &self;
}

}  // namespace

Status await_room(Window& window, int rank) {
  const auto has_room = [&] {
    return window.member(rank).unanswered < kMostUnanswered && state->started_count < kMostStarted;
  };
  if (has_room()) [[likely]]
    return kOk;
  const int proc = window.proc(rank);
  return p2p::wait_until(has_room, [proc] { return p2p::has_failed(proc) ? p2p::failure_error(proc) : kOk; });
}

Status make_program_request(OriginOperation& self, p2p::Request** request) {
  self.program = Arena<p2p::Request>::instance().create();
  if (self.program == nullptr) return fail(Errc::kNoMem, "no memory for another request");
  self.program->state_ = std::make_unique<OperationState>();
  self.program->retain();
  *request = self.program;
  return kOk;
}

bool advance(OriginOperation& self) {
  Window& window = *self.window;
  if (self.moving.owner != nullptr) {
    // The network may use the buffers until it has ended the operation. The report of a failed path follows.
    if (!self.moving.complete) return false;
    if (!self.answered && !p2p::has_failed(window.proc(self.rank))) return false;
  }
  if (!self.answered && p2p::has_failed(window.proc(self.rank))) {
    const Status failed = p2p::failure_error(window.proc(self.rank));
    fail_operation(self, failed, take_detail());
    self.answered = true;
  }
  if (self.answered && !self.status.ok() && self.incoming != nullptr && !self.incoming->complete())
    static_cast<void>(p2p::cancel(*self.incoming));
  if (!sent(self)) return false;
  if (self.answered) {
    end(self);
    return true;
  }
  unlist(self);
  state->asked.push_back(self);
  // An operation without a result no longer needs its buffers.
  if (!self.counted || self.result.packed != 0) return true;
  self.counted = false;
  Member& member = window.member(self.rank);
  if (member.unsent != 0) --member.unsent;
  return true;
}

void leave_operations() {
  for (OriginOperation* each = state->asked.front(); each != nullptr;) {
    OriginOperation* const next = state->asked.next(*each);
    if (each->moving.owner != nullptr) {
      unlist(*each);
      each->window = {};
      each->moving.then = [](transport::Operation& done) { delete static_cast<OriginOperation::Moving&>(done).owner; };
      if (each->moving.complete) delete each;
    }
    each = next;
  }
}

namespace {

Status send_parts(Window& window, const Operation& operation, wire::Head& head, const std::byte* description,
                  OriginOperation* self) {
  Message message(head);
  const bool describes = (head.flags & wire::kDescriptionFollows) == 0;
  const bool carries = (head.flags & wire::kDataFollows) == 0;
  if (describes) message.append(description, head.description);
  if (carries) HR_TRY(message.append(operation.origin));
  if (carries && operation.kind == OperationKind::kCompareSwap)
    message.append(operation.compare, operation.origin.packed);
  if ((head.flags & wire::kResultFollows) != 0) {
    self->requests.push_back(nullptr);
    HR_TRY(p2p::ireceive(operation.result, wire::to_origin(window, operation.rank, head.tag), &self->requests.back()));
    self->incoming = self->requests.back();
  }
  HR_TRY(p2p::send_active_message(window.proc(operation.rank),
                                  wire::header(wire::Action::kOperate, window, self != nullptr ? self->cookie : 0),
                                  message.data(), message.bytes()));
  if (!describes) HR_TRY(send_bytes(*self, coll::bytes_view(self->description.data(), self->description.size()), head));
  return carries ? kOk : send_bytes(*self, operation.origin, head);
}

}  // namespace

void note_failure(Window& window, Status status, std::string why) {
  if (!window.failure_.ok()) return;
  window.failure_ = status;
  window.why_ = std::move(why);
}

Status start_by_message(Window& window, Operation& operation, p2p::Request** request) {
  HR_TRY(await_room(window, operation.rank));
  add(Statistic::rma_by_message);
  Member& member = window.member(operation.rank);
  std::size_t longest = 0;
  HR_TRY(p2p::longest_active_message(window.proc(operation.rank), &longest));
  wire::Head head = head_of(operation);
  std::vector<std::byte> description;
  if (head.type == 0) description = describe(*operation.type);
  if (description.size() > wire::kMostDescription) {
    return fail(Errc::kNoMem,
                "the target's datatype takes %zu bytes to describe to rank %d, and at most %zu are sent: use a "
                "type of fewer blocks, or several calls",
                description.size(), operation.rank, wire::kMostDescription);
  }
  head.description = static_cast<std::uint32_t>(description.size());
  divide(head, operation, longest);
  OriginOperation* self = nullptr;
  const bool lasts = head.flags != 0 || operation.has_result() || request != nullptr;
  if (lasts) {
    self = new OriginOperation;
    self->cookie = state->cookies.give(*self);
    self->window = Ref<Window>::share(&window);
    self->rank = operation.rank;
    self->result = operation.result;
    self->result_type = Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(operation.result.type));
    self->counted = head.flags != 0 || operation.has_result();
    self->requests.reserve(3);
    head.flags != 0 ? list_started(*self) : state->asked.push_back(*self);
    member.unsent += self->counted ? 1 : 0;
  }
  ++member.unanswered;
  ++window.unanswered_;
  if (head.flags != 0) head.tag = member.next_tag++ & wire::kMostTag;
  const std::byte* const described = description.data();
  if (self != nullptr) self->description = std::move(description);
  Status status = request == nullptr ? kOk : make_program_request(*self, request);
  if (status.ok()) status = send_parts(window, operation, head, described, self);
  if (self != nullptr) {
    if (!status.ok()) {
      // The operation ends like any other, once its pending messages have ended.
      std::string why = take_detail();
      set_detail(why);
      fail_operation(*self, status, std::move(why));
      self->answered = true;
      unlist(*self);
      list_started(*self);
      if (request != nullptr && *request != nullptr) release(std::exchange(*request, nullptr));
    }
    watch();
  } else if (!status.ok()) {
    --member.unanswered;
    --window.unanswered_;
  }
  return status;
}

void take_answer(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  Window* const window = window_of(from, header);
  if (window == nullptr) return;
  const int error = wire::error_of(header);
  const Status status = error == 0 ? kOk : Status::from_code(error);
  std::string why;
  if (error != 0) why.assign(reinterpret_cast<const char*>(payload), bytes);
  if (header.words[2] == 0) {
    Member& member = window->member(wire::rank_of(header));
    if (member.unanswered == 0) return;
    --member.unanswered;
    --window->unanswered_;
    if (error != 0) note_failure(*window, status, std::move(why));
    return;
  }
  OriginOperation* const asked = state->cookies.find(header.words[2]);
  const bool fits = asked != nullptr && !asked->answered && asked->window.get() == window &&
                    asked->rank == wire::rank_of(header) && (error != 0 || bytes <= asked->result.packed);
  if (!fits) return drop_message(from, "it answers an operation on a window that does not exist");
  OriginOperation& self = *asked;
  if (error != 0) {
    fail_operation(self, status, std::move(why));
  } else if (bytes != 0) {
    if (const Status unpacked = layout::unpack(self.result, 0, bytes, payload); !unpacked.ok())
      fail_operation(self, unpacked, take_detail());
  }
  self.answered = true;
  advance(self);
}

namespace {

bool advance_all(IntrusiveList<OriginOperation, &OriginOperation::link>& list) {
  bool moved = false;
  for (OriginOperation* each = list.front(); each != nullptr;) {
    OriginOperation* const next = list.next(*each);
    moved |= advance(*each);
    each = next;
  }
  return moved;
}

// Ends operations whose target has failed; true if something moved.
bool fail_pending() {
  bool moved = false;
  for (OriginOperation* each = state->asked.front(); each != nullptr;) {
    OriginOperation* const next = state->asked.next(*each);
    if (p2p::has_failed(each->window->proc(each->rank))) moved |= advance(*each);
    each = next;
  }
  return moved;
}

}  // namespace

bool advance_started() {
  const bool moved = advance_all(state->started);
  return p2p::any_failures() ? fail_pending() || moved : moved;
}

}  // namespace hr::rma
