// Probing (MPI 5.0 section 3.8): finds, or extracts, the first message that a receive would match.
#include "p2p/core/steps.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {
namespace {

void describe(const Unexpected& message, Completion* completion) {
  *completion = {};
  completion->source = message.envelope.source;
  completion->tag = message.envelope.tag;
  completion->bytes = message.bytes;
}

Unexpected* look(const Envelope& wanted) { return matcher(wanted.context).find(wanted); }

// Searches the queue, and searches it again after a round of progress, during which other threads may have removed
// messages.
Unexpected* look_with_progress(const Envelope& wanted) {
  if (Unexpected* message = look(wanted)) return message;
  poll_for_probe();
  return look(wanted);
}

// Waits for a message that a receive would match.
Status await(const Envelope& wanted, Unexpected** message) {
  if ((*message = look(wanted)) != nullptr) return kOk;
  Backoff backoff;
  for (;;) {
    backoff.pause(poll());
    if (backoff.is_long() && should_look_for_left()) [[unlikely]]
      HR_TRY(can_be_sent(wanted));
    if ((*message = look(wanted)) != nullptr) return kOk;
    if (any_failures()) [[unlikely]]
      HR_TRY(can_complete_unposted(wanted));
  }
}

Status extract(Unexpected& found, Message** message, Completion* completion) {
  Message* handle = Arena<Message>::instance().create();
  if (handle == nullptr) return fail(Errc::kNoMem, "no memory for another matched message");
  matcher(found.envelope.context).take(found);
  handle->unexpected_ = &found;
  describe(found, completion);
  *message = handle;
  return kOk;
}

}  // namespace

Status iprobe(const Envelope& wanted, bool* found, Completion* completion) {
  const Unexpected* message = look_with_progress(wanted);
  *found = message != nullptr;
  if (!*found) return can_complete_unposted(wanted);
  describe(*message, completion);
  return kOk;
}

Status probe(const Envelope& wanted, Completion* completion) {
  Unexpected* message = nullptr;
  HR_TRY(await(wanted, &message));
  describe(*message, completion);
  return kOk;
}

Status improbe(const Envelope& wanted, bool* found, Message** message, Completion* completion) {
  Unexpected* here = look_with_progress(wanted);
  *found = here != nullptr;
  return *found ? extract(*here, message, completion) : can_complete_unposted(wanted);
}

Status mprobe(const Envelope& wanted, Message** message, Completion* completion) {
  Unexpected* here = nullptr;
  HR_TRY(await(wanted, &here));
  return extract(*here, message, completion);
}

Status mreceive(const layout::View& data, Message* message, Completion* completion) {
  Request* request = nullptr;
  HR_TRY(imreceive(data, message, &request));
  HR_TRY(wait(*request));
  *completion = request->completion_;
  if (!completion->error.ok()) set_detail(request->detail());
  release(request);
  return completion->error;
}

Status imreceive(const layout::View& data, Message* message, Request** out) {
  Unexpected* unexpected = message->unexpected_;
  Request* request = make_request(data, true, unexpected->envelope, unexpected->from_proc);
  if (request == nullptr)
    return fail(Errc::kNoMem, "no memory for another request (%zu are live)", Arena<Request>::instance().live());
  request->retain();
  request->engine_reference_ = true;
  message->unexpected_ = nullptr;
  release(message);
  consume(unexpected, *request);
  *out = request;
  return kOk;
}

}  // namespace hr::p2p
