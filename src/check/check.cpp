#include "check/check.hpp"

#include <utility>

#include "base/checks.hpp"
#include "base/clock.hpp"
#include "base/events.hpp"
#include "check/collectives.hpp"
#include "check/diagnostic.hpp"
#include "check/enqueued.hpp"
#include "check/messages.hpp"
#include "check/report.hpp"
#include "check/state.hpp"
#include "check/watch.hpp"
#include "comm/communicator.hpp"
#include "io/file.hpp"
#include "rma/window.hpp"

namespace hr::check {

LayerState<State> state;

namespace {

thread_local Call* innermost = nullptr;

Object* object_of_errors(const Call& call) {
  for (const Argument& each : call.arguments()) {
    const std::string_view name(each.name);
    if (each.kind == ObjectKind::kWindow && name == "win") return call.object<rma::Window>(name);
    if (each.kind == ObjectKind::kFile && name == "fh") return call.object<io::File>(name);
    if (each.kind == ObjectKind::kCommunicator && each.use == Argument::Use::kHandle)
      return call.object<comm::Communicator>(name);
  }
  return nullptr;
}

}  // namespace

Call* current_call() noexcept { return innermost; }

bool begin() {
  if (wants_full_check()) state = std::make_unique<State>();
  return is_on();
}

void start() {
  if (!is_on()) return;
  begin_messages();
  events::let_checker_look(true);
  for (const Diagnostic* each : diagnostics()) {
    if (each->start != nullptr) each->start();
  }
}

void end() {
  if (!is_on()) return;
  for (const Diagnostic* each : diagnostics()) {
    if (each->stop != nullptr) each->stop();
  }
  events::let_checker_look(false);
  end_messages();
  innermost = nullptr;
  state.reset();
}

bool is_on() noexcept { return state != nullptr; }

Status enter(Call& call) {
  pause_watching();
  call.find_call_site();
  call.outer = std::exchange(innermost, &call);
  call.since = now_seconds();
  call.where = object_of_errors(call);
  for (const Argument& each : call.arguments()) {
    if (each.use == Argument::Use::kChanged)
      call.before.insert(call.before.end(), each.values().begin(), each.values().end());
  }
  Status status = kOk;
  for (const Diagnostic* each : diagnostics()) {
    if (each->before != nullptr && status.ok()) status = each->before(call);
  }
  if (status.ok()) return kOk;
  keep_detail(call.function());
  const std::string detail = take_detail();
  static_cast<void>(leave(call, status.code()));
  set_detail(detail);
  return status;
}

Status leave(Call& call, int code) {
  Status first = kOk;
  innermost = call.outer;
  call.completed = take_completed(call);
  if (code == 0) complete_waited(call);
  if (code == 0) note_started(call);
  for (const Diagnostic* each : diagnostics()) {
    if (each->after == nullptr) continue;
    const Status status = each->after(call, code);
    if (status.ok()) continue;
    if (code == 0 && first.ok()) {
      keep_detail(call.function());
      first = status;
    } else {
      report("%s", take_detail().c_str());
    }
  }
  // Cleared here, because the buffers and operations hold references to types, which are counted under the library
  // lock.
  call.buffers.clear();
  call.completed.clear();
  if (innermost == nullptr) resume_watching();
  return first;
}

Status explain(Status status) {
  if (!is_on()) return status;
  const Status better = explain_collective(status);
  if (better.code() != status.code() && innermost != nullptr) keep_detail(innermost->function());
  return better;
}

void at_finalize() {
  if (!is_on()) return;
  for (const Diagnostic* each : diagnostics()) {
    if (each->at_finalize != nullptr) each->at_finalize();
  }
}

}  // namespace hr::check
