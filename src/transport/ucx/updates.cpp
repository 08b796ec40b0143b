#include "transport/ucx/updates.hpp"

#include <atomic>
#include <cstring>

namespace hr::transport::ucx {
namespace {

// Active messages; 0 is the transport's own (ucx.cpp).
constexpr unsigned kRequests = 1;
constexpr unsigned kAnswers = 2;

// What was there before.
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

// In the header of the message, as it is short; nothing is done from within UCX.
template <class Text, std::vector<Text> Updates::* kList>
ucs_status_t Updates::arrive(void* self, const void* header, std::size_t header_bytes, void* /*data*/,
                             std::size_t /*bytes*/, const ucp_am_recv_param_t* /*how*/) {
  Text text;
  if (header_bytes != sizeof text) return UCS_OK;
  std::memcpy(&text, header, sizeof text);
  (static_cast<Updates*>(self)->*kList).push_back(text);
  return UCS_OK;
}

Status Updates::listen() {
  const std::pair<unsigned, ucp_am_recv_callback_t> handlers[] = {{kRequests, arrive<Request, &Updates::asked_>},
                                                                  {kAnswers, arrive<Answer, &Updates::answered_>}};
  for (const auto& [kind, handler] : handlers) {
    ucp_am_handler_param_t wanted{};
    wanted.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    wanted.id = kind;
    wanted.cb = handler;
    wanted.arg = this;
    const ucs_status_t status = library_.worker_set_am_recv_handler(worker_.get(), &wanted);
    if (status != UCS_OK) return fail(Errc::kOther, "ucx: no active messages: %s", library_.status_string(status));
  }
  return kOk;
}

template <class Text>
ucs_status_t Updates::send(ucp_ep_h endpoint, unsigned kind, const Text& text) {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_AM_SEND_FLAG_COPY_HEADER | UCP_AM_SEND_FLAG_EAGER;
  const ucs_status_ptr_t answer = library_.am_send_nbx(endpoint, kind, &text, sizeof text, nullptr, 0, &how);
  if (UCS_PTR_IS_PTR(answer)) library_.request_free(answer);  // goes on by itself
  return UCS_PTR_IS_ERR(answer) ? UCS_PTR_STATUS(answer) : UCS_OK;
}

Status Updates::start(int proc, ucp_ep_h endpoint, const RemoteKey& key, std::uint64_t address, std::size_t bytes,
                      Update update, std::uint64_t operand, std::uint64_t compare, std::uint64_t* before,
                      Operation* done) {
  if ((bytes != 4 && bytes != 8) || address % bytes != 0) return Errc::kUnsupportedOperation;
  const Request request{names_.own_for(proc),
                        static_cast<std::uint32_t>(update),
                        next_,
                        Memory::number_of(key),
                        address,
                        bytes,
                        operand,
                        compare};
  const ucs_status_t status = send(endpoint, kRequests, request);
  if (status != UCS_OK) {
    return fail(Errc::kOther, "ucx: memory of rank %d cannot be updated: %s", proc, library_.status_string(status));
  }
  pending_.emplace(std::pair{proc, next_++}, Pending{before, done});
  return kOk;
}

void Updates::serve(const Request& request, int from, ucp_ep_h endpoint) {
  Answer answer{names_.own_for(from), 0, request.number, 0};
  if (memory_.exposes(request.memory, request.address, request.bytes)) {
    const auto update = static_cast<Update>(request.update);
    answer.done = 1;
    answer.before = request.bytes == 8
                        ? apply<std::uint64_t>(request.address, update, request.operand, request.compare)
                        : apply<std::uint32_t>(request.address, update, request.operand, request.compare);
  }
  static_cast<void>(send(endpoint, kAnswers, answer));  // a path that fails is told by itself
}

void Updates::end(const Answer& answer) {
  const auto found = pending_.find({names_.proc_of(answer.from), answer.number});
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

void Updates::lose(int proc) {
  for (auto at = pending_.lower_bound({proc, 0}); at != pending_.end() && at->first.first == proc;) {
    const Pending pending = at->second;
    at = pending_.erase(at);
    pending.done->status = Errc::kOther;
    pending.done->complete = true;
  }
}

}  // namespace hr::transport::ucx
