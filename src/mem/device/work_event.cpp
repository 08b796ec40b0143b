#include "mem/device/work_event.hpp"

namespace hr::mem::device {

Status WorkEvent::record(Context& context, StreamHandle stream) {
  drop();
  HR_TRY(context.take_event(&event_));
  context_ = context.handle();
  id_ = context.id();
  device_ = context.device();
  stream_ = stream;
  record_ = context.next_record();
  HR_DEVICE(device_, event_record, (event_, stream), "at the end of a transfer");
  return kOk;
}

Status WorkEvent::poll(const char* what, bool* done) {
  *done = true;
  if (event_ == nullptr) return kOk;
  Context* const context = Context::find(context_, id_);
  if (context != nullptr && context->passed(stream_, record_)) {
    drop();
    return kOk;
  }
  const Result result = driver().event_query(event_);
  if (result == kNotReady) {
    *done = false;
    return kOk;
  }
  if (result == kSuccess && context != nullptr) context->note_passed(stream_, record_);
  drop();
  return report(result, "event_query", device_, "%s", what);
}

void WorkEvent::drop() noexcept {
  if (event_ == nullptr) return;
  Context::return_event(context_, id_, event_);
  event_ = nullptr;
}

WorkEvent::~WorkEvent() { drop(); }

}  // namespace hr::mem::device
