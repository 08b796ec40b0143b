#include "transport/ucx/updates.hpp"

#include <atomic>
#include <cstring>

#include "base/dropped.hpp"
#include "transport/ucx/active_messages.hpp"

namespace hr::transport::ucx {
namespace {

bool may_update(std::uint64_t address, std::uint64_t bytes) noexcept {
  return (bytes == 4 || bytes == 8) && address % bytes == 0;
}

// Applies an update; returns the previous value.
template <class Word>
std::uint64_t apply(std::uint64_t address, Update update, std::uint64_t operand, std::uint64_t compare) noexcept {
  const std::atomic_ref<Word> word(*reinterpret_cast<Word*>(address));
  const auto value = static_cast<Word>(operand);
  switch (update) {
    case Update::kAdd:
      return word.fetch_add(value);
    case Update::kAnd:
      return word.fetch_and(value);
    case Update::kOr:
      return word.fetch_or(value);
    case Update::kXor:
      return word.fetch_xor(value);
    case Update::kSwap:
      return word.exchange(value);
    case Update::kCompareSwap:
      break;
  }
  auto before = static_cast<Word>(compare);
  word.compare_exchange_strong(before, value);
  return before;
}

}  // namespace

// Reads a text, which is short, from the header of the message, and queues it; does nothing else from within UCX.
template <class Text, std::vector<Text> Updates::* kList>
ucs_status_t Updates::arrive(void* self, const void* header, std::size_t header_bytes, void* /*data*/,
                             std::size_t /*bytes*/, const ucp_am_recv_param_t* /*how*/) {
  auto& updates = *static_cast<Updates*>(self);
  Text text;
  const char* fault = "the text of an update has another length";
  if (header_bytes == sizeof text) {
    std::memcpy(&text, header, sizeof text);
    fault = updates.fault_of(text);
  }
  fault == nullptr ? (updates.*kList).push_back(text) : drop_message(-1, fault);
  return UCS_OK;
}

const char* Updates::fault_of(const Request& request) const noexcept {
  if (names_.proc_of(request.from, request.secret) < 0) return kUnknownSender;
  const bool known = request.update <= static_cast<std::uint32_t>(Update::kCompareSwap);
  return known && may_update(request.address, request.bytes) ? nullptr : "it asks for an update that does not exist";
}

const char* Updates::fault_of(const Answer& answer) const noexcept {
  const int from = names_.proc_of(answer.from, answer.secret);
  if (from < 0) return kUnknownSender;
  return pending_.contains({from, answer.number}) ? nullptr : "it answers an update that nobody has asked for";
}

Status Updates::listen() {
  HR_TRY(ucx::listen(library_, worker_, kUpdateRequests, 0, arrive<Request, &Updates::asked_>, this));
  return ucx::listen(library_, worker_, kUpdateAnswers, 0, arrive<Answer, &Updates::answered_>, this);
}

Status Updates::start(int proc, ucp_ep_h endpoint, const RemoteKey& key, std::uint64_t address, std::size_t bytes,
                      Update update, std::uint64_t operand, std::uint64_t compare, std::uint64_t* before,
                      Operation* done) {
  if (!may_update(address, bytes)) return Errc::kUnsupportedOperation;
  const Request request{names_.own_for(proc),
                        static_cast<std::uint32_t>(update),
                        names_.secret_of(proc),
                        next_,
                        Memory::number_of(key),
                        address,
                        bytes,
                        operand,
                        compare};
  const ucs_status_t status = send_text(library_, endpoint, kUpdateRequests, request);
  if (status != UCS_OK) {
    return fail(Errc::kOther, "ucx: memory of rank %d cannot be updated: %s", proc, library_.status_string(status));
  }
  pending_.emplace(std::pair{proc, next_++}, Pending{before, done});
  return kOk;
}

void Updates::serve(const Request& request, int from, ucp_ep_h endpoint) {
  Answer answer{names_.own_for(from), 0, names_.secret_of(from), request.number, 0};
  if (memory_.exposes(request.memory, request.address, request.bytes)) {
    const auto update = static_cast<Update>(request.update);
    answer.done = 1;
    answer.before = request.bytes == 8
                        ? apply<std::uint64_t>(request.address, update, request.operand, request.compare)
                        : apply<std::uint32_t>(request.address, update, request.operand, request.compare);
  }
  static_cast<void>(send_text(library_, endpoint, kUpdateAnswers, answer));  // a failed path is reported elsewhere
}

void Updates::end(const Answer& answer) {
  const auto found = pending_.find({names_.proc_of(answer.from, answer.secret), answer.number});
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  pending_.erase(found);
  if (answer.done != 0 && pending.before != nullptr) *pending.before = answer.before;
  pending.done->status = answer.done != 0 ? kOk : Status(Errc::kRmaRange);
  pending.done->complete = true;
}

bool Updates::ended(int proc, std::uint64_t up_to) const noexcept {
  const auto oldest = pending_.lower_bound({proc, 0});
  return oldest == pending_.end() || oldest->first.first != proc || oldest->first.second > up_to;
}

void Updates::fail_pending(int proc) {
  for (auto at = pending_.lower_bound({proc, 0}); at != pending_.end() && at->first.first == proc;) {
    const Pending pending = at->second;
    at = pending_.erase(at);
    pending.done->status = Errc::kOther;
    pending.done->complete = true;
  }
}

}  // namespace hr::transport::ucx
