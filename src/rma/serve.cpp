#include "rma/serve.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/abi.hpp"
#include "base/dropped.hpp"
#include "coll/view_tools.hpp"
#include "p2p/p2p.hpp"
#include "p2p/process_failure.hpp"
#include "rma/atomic.hpp"
#include "rma/describe.hpp"
#include "rma/state.hpp"

namespace hr::rma {

namespace {

using p2p::Task;

bool accumulates(const Service& self) {
  return self.head.kind != OperationKind::kPut && self.head.kind != OperationKind::kGet;
}
bool has(const Service& self, wire::Flag flag) { return (self.head.flags & flag) != 0; }

bool gets(const Service& self) {
  return self.head.kind == OperationKind::kGet || self.head.kind == OperationKind::kGetAccumulate ||
         self.head.kind == OperationKind::kCompareSwap;
}

// True if `head` is consistent, and matches the number of bytes that follow it.
bool is_complete(const wire::Head& head, std::size_t bytes) {
  constexpr unsigned kFlags = wire::kDescriptionFollows | wire::kDataFollows | wire::kResultFollows;
  if (head.kind > OperationKind::kCompareSwap || head.op > layout::OpKind::kNoOp || (head.flags & ~kFlags) != 0)
    return false;
  if (head.count < 0 || head.tag > wire::kMostTag || (head.kind == OperationKind::kCompareSwap && head.count != 1))
    return false;
  if (head.description > wire::kMostDescription) return false;
  const std::size_t description = (head.flags & wire::kDescriptionFollows) != 0 ? 0 : head.description;
  if (description > bytes) return false;
  return bytes - description == ((head.flags & wire::kDataFollows) != 0 ? 0 : head.data);
}

// True if the data has the size of the target's part; for a put it may be shorter.
bool has_expected_data(const Service& self) {
  switch (self.head.kind) {
    case OperationKind::kGet:
      return self.head.data == 0;
    case OperationKind::kPut:
      return self.head.data <= self.target.packed;
    case OperationKind::kCompareSwap:
      return self.head.data == 2 * self.target.packed;
    default:
      return self.head.data == (self.head.op == layout::OpKind::kNoOp ? 0 : self.target.packed);
  }
}

// Finds the type, and the operation's part of this process's memory.
Status find_target(Service& self) {
  Window& window = *self.window;
  if (self.head.type != 0) {
    layout::Datatype* const type = layout::predefined_type(self.head.type);
    if (type == nullptr) return fail(Errc::kType, "there is no predefined datatype %#x", self.head.type);
    self.type = Ref<layout::Datatype>::share(type);
  } else {
    HR_TRY(state->made_types.find(self.description, &self.type));
  }
  Operation operation{self.head.kind};
  operation.displacement = self.head.displacement;
  operation.count = self.head.count;
  operation.type = self.type.get();
  std::size_t all = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(operation.count), static_cast<std::size_t>(self.type->size()),
                             &all))
    return fail(Errc::kCount, "%lld elements at the target do not fit 63 bits",
                static_cast<long long>(operation.count));
  HR_TRY(locate(window, operation, &self.target));
  if (has_expected_data(self) && (has(self, wire::kResultFollows) || all <= wire::kMost || !gets(self))) return kOk;
  return fail(Errc::kRmaRange, "an operation on %zu bytes of the window has %llu bytes", all,
              static_cast<unsigned long long>(self.head.data));
}

Status receive(Service& self, const layout::View& into, p2p::Request** request) {
  return p2p::ireceive(into, wire::to_target(*self.window, self.rank, self.head.tag), request);
}

layout::View view_of(std::vector<std::byte>& bytes) { return coll::bytes_view(bytes.data(), bytes.size()); }

// Executes the operation. Its part of the memory must be known, and the origin's data must have arrived.
Status execute_service(Service& self) {
  const bool wants = self.head.kind == OperationKind::kGetAccumulate || self.head.kind == OperationKind::kCompareSwap;
  if (wants || (self.head.kind == OperationKind::kGet && !has(self, wire::kResultFollows)))
    self.result.resize(self.target.packed);
  std::byte* const operand = self.data.empty() ? nullptr : self.data.data();
  const Exclusion exclusion = self.window->exclusion(self.window->own());
  switch (self.head.kind) {
    case OperationKind::kPut:
      return has(self, wire::kDataFollows) ? kOk : layout::unpack(self.target, 0, self.data.size(), operand);
    case OperationKind::kGet:
      return layout::pack(self.target, 0, self.result.size(), self.result.data());
    case OperationKind::kCompareSwap:
      return compare_and_swap(self.target, operand, operand + self.data.size() / 2, self.result.data(), exclusion);
    default: {
      const layout::Datatype* const element = element_of(*self.type);
      if (element == nullptr) return fail(Errc::kType, "the target's datatype has elements of several types");
      const layout::Op* const op = op_of(self.head.op);
      if (op == nullptr) return fail(Errc::kOp, "there is no such operation");
      if (op->kind() != layout::OpKind::kReplace && op->kind() != layout::OpKind::kNoOp)
        HR_TRY(layout::check_op(*op, *element));
      return update(self.target, *op, *element, operand, wants ? self.result.data() : nullptr, exclusion);
    }
  }
}

bool has_turn(void* argument) {
  const auto& self = *static_cast<Service*>(argument);
  return self.window->member(self.rank).accumulates_done == self.turn;
}

// Receives the parts that follow the message. *placed: set to the result of find_target().
Task receive_rest(Service* self, Status* placed) {
  p2p::Requests<1> requests;
  if (has(*self, wire::kDescriptionFollows)) {
    self->description.resize(self->head.description);
    HR_CO_TRY(receive(*self, view_of(self->description), requests.next()));
    const Status received = co_await requests.all();
    HR_CO_TRY(received);
  }
  *placed = find_target(*self);
  if (!has(*self, wire::kDataFollows)) co_return kOk;
  // The data of a put is received directly into the window. Data without a valid target is also received, as far as
  // necessary to complete its send.
  if (placed->ok() && self->head.kind == OperationKind::kPut) {
    HR_CO_TRY(receive(*self, self->target, requests.next()));
  } else {
    self->data.resize(placed->ok() ? self->head.data : 0);
    HR_CO_TRY(receive(*self, view_of(self->data), requests.next()));
  }
  std::string why = take_detail();
  const Status received = co_await requests.all();
  if (received.ok() || !placed->ok()) set_detail(std::move(why));
  co_return placed->ok() ? received : kOk;
}

Task send_result(Service* self) {
  p2p::Requests<1> requests;
  const Window& window = *self->window;
  layout::View from = self->target;
  if (self->head.kind != OperationKind::kGet) from = view_of(self->result);
  HR_CO_TRY(p2p::isend(from, window.proc(self->rank), wire::to_origin(window, window.rank(), self->head.tag),
                       p2p::Mode::kStandard, requests.next()));
  const Status sent = co_await requests.all();
  co_return sent;
}

Task serve(Service* self) {
  Status placed = kOk;
  Task rest = receive_rest(self, &placed);
  Status done = co_await rest;
  if (done.ok()) done = placed;
  if (accumulates(*self)) {
    if (!has_turn(self)) {
      const std::string why = take_detail();
      const p2p::When turn{has_turn, self, self->window->context()};
      const Status waited = co_await turn;
      if (waited.ok()) set_detail(why);
    }
    ++self->window->member(self->rank).accumulates_done;
  }
  HR_CO_TRY(done);
  HR_CO_TRY(execute_service(*self));
  if (!has(*self, wire::kResultFollows)) co_return kOk;
  Task sending = send_result(self);
  const Status sent = co_await sending;
  co_return sent;
}

void answer(Service& self, Status status) {
  const bool inlined = status.ok() && !has(self, wire::kResultFollows);
  std::string why;
  if (!status.ok()) why = take_detail().substr(0, wire::kMost / 2);
  const void* const payload = inlined ? static_cast<const void*>(self.result.data()) : why.data();
  const std::size_t bytes = inlined ? self.result.size() : why.size();
  const Status sent = p2p::send_active_message(
      self.window->proc(self.rank),
      wire::header(wire::Action::kAnswer, *self.window, self.cookie, 0, status.ok() ? 0 : status.code()), payload,
      bytes);
  if (!sent.ok()) static_cast<void>(take_detail());  // the origin has failed
}

void end(Service& self) {
  answer(self, self.task.result());
  self.link.unlink();
  delete &self;
}

// Takes the lock for another process, and notifies it; false if the lock is not free.
bool try_lock(LockWaiter& waiter) {
  LockWord& word = waiter.window->own().control->lock;
  const bool has_it = waiter.exclusive ? word.try_exclusive(&waiter.waits) : word.try_shared();
  if (!has_it) return false;
  const Status told =
      p2p::send_active_message(waiter.window->proc(waiter.rank), wire::header(wire::Action::kLocked, *waiter.window));
  Member& member = waiter.window->member(waiter.rank);
  member.asks = false;
  if (told.ok()) {
    member.lent = waiter.exclusive ? Member::Lock::kExclusive : Member::Lock::kShared;
  } else {
    static_cast<void>(take_detail());
    word.release(waiter.exclusive);
  }
  return true;
}

}  // namespace

void take_operation(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  Window* const window = window_of(from, header);
  if (window == nullptr) return;
  wire::Head head;
  if (bytes >= sizeof head) std::memcpy(&head, payload, sizeof head);
  if (bytes < sizeof head || !is_complete(head, bytes - sizeof head))
    return drop_message(from, "an operation on a window does not have its stated length, or is not an operation");
  auto* const self = new Service;
  self->window = Ref<Window>::share(window);
  self->rank = wire::rank_of(header);
  self->cookie = header.words[2];
  self->head = head;
  const std::byte* at = payload + sizeof self->head;
  if (!has(*self, wire::kDescriptionFollows)) {
    self->description.assign(at, at + self->head.description);
    at += self->head.description;
  }
  self->data.assign(at, payload + bytes);
  if (accumulates(*self)) self->turn = window->member(self->rank).accumulates_come++;
  state->services.push_back(*self);
  self->task = serve(self);
  if (self->task.done()) return end(*self);
  watch();
}

void take_lock(Window& window, const transport::Header& header) {
  Member& member = window.member(wire::rank_of(header));
  if (member.lent != Member::Lock::kNone || member.asks || window.own().control == nullptr)
    return drop_message(window.proc(wire::rank_of(header)), "it requests a lock that it has or has already requested");
  member.asks = true;
  LockWaiter waiter{Ref<Window>::share(&window), wire::rank_of(header), wire::detail_of(header) != 0};
  if (try_lock(waiter)) return;
  state->lock_waiters.push_back(std::move(waiter));
  watch();
}

void take_unlock(Window& window, const transport::Header& header) {
  Member& member = window.member(wire::rank_of(header));
  const bool exclusive = wire::detail_of(header) != 0;
  if (member.lent != (exclusive ? Member::Lock::kExclusive : Member::Lock::kShared))
    return drop_message(window.proc(wire::rank_of(header)), "it releases a lock that it does not have");
  member.lent = Member::Lock::kNone;
  window.own().control->lock.release(exclusive);
  grant_locks();
}

bool advance_services() {
  bool moved = false;
  for (Service* each = state->services.front(); each != nullptr;) {
    Service* const next = state->services.next(*each);
    bool resumed = false;
    if (each->task.advance(&resumed)) end(*each);
    moved |= resumed;
    each = next;
  }
  return grant_locks() || moved;
}

bool grant_locks() {
  bool moved = false;
  for (auto each = state->lock_waiters.begin(); each != state->lock_waiters.end();) {
    const bool failed = p2p::has_failed(each->window->proc(each->rank));
    if (failed) each->window->own().control->lock.stop_waiting(&each->waits);
    const bool over = failed || try_lock(*each);
    moved |= over;
    each = over ? state->lock_waiters.erase(each) : std::next(each);
  }
  return moved;
}

void forget_services(const Window& window) {
  for (Service* each = state->services.front(); each != nullptr;) {
    Service* const next = state->services.next(*each);
    if (each->window.get() == &window) {
      each->link.unlink();
      delete each;
    }
    each = next;
  }
  state->lock_waiters.remove_if([&](const LockWaiter& each) { return each.window.get() == &window; });
}

}  // namespace hr::rma
