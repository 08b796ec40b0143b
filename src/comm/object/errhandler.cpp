#include "comm/errhandler.hpp"

#include <array>
#include <string>

#include "base/abi.hpp"
#include "base/driver_epoch.hpp"
#include "boot/boot.hpp"

namespace hr::comm {

namespace {

Errhandler* make_predefined(ErrhandlerKind kind, std::uintptr_t abi_value) {
  Errhandler* handler = Arena<Errhandler>::instance().create(kind, ErrhandlerTarget::kAny, nullptr);
  handler->set_predefined_handle(abi_value);
  return handler;
}

const char* target_name(ErrhandlerTarget target) {
  switch (target) {
    case ErrhandlerTarget::kAny:
      return "any object";
    case ErrhandlerTarget::kCommunicator:
      return "communicators";
    case ErrhandlerTarget::kSession:
      return "sessions";
    case ErrhandlerTarget::kWindow:
      return "windows";
    case ErrhandlerTarget::kFile:
      return "files";
  }
  return "other objects";
}

}  // namespace

Errhandler* predefined_errhandler(std::uintptr_t abi_value) noexcept {
  static const std::array<Errhandler*, 3> handlers = {
      make_predefined(ErrhandlerKind::kFatal, abi::kErrorsAreFatal),
      make_predefined(ErrhandlerKind::kAbort, abi::kErrorsAbort),
      make_predefined(ErrhandlerKind::kReturn, abi::kErrorsReturn),
  };
  const std::uintptr_t index = abi_value - abi::kErrorsAreFatal;
  return index < handlers.size() ? handlers[index] : nullptr;
}

Ref<Errhandler> create_errhandler(ErrhandlerTarget target, Errhandler::Function function) {
  return Ref<Errhandler>::adopt(
      Arena<Errhandler>::instance().create(ErrhandlerKind::kUser, target, std::move(function)));
}

Status check_errhandler(const Errhandler& handler, ErrhandlerTarget target) {
  if (handler.target() == ErrhandlerTarget::kAny || handler.target() == target) return kOk;
  return fail(Errc::kErrhandler, "the error handler was created for %s, not for %s", target_name(handler.target()),
              target_name(target));
}

int invoke(Errhandler& handler, void* handle, int code, std::string_view text) {
  switch (handler.kind()) {
    case ErrhandlerKind::kReturn:
      return code;
    case ErrhandlerKind::kUser: {
      // The function may free its own handler.
      const Ref<Errhandler> keep = Ref<Errhandler>::share(&handler);
      void* object = handle;
      handler.function()(&object, &code);
      return DriverEpoch::after_callback(code);
    }
    case ErrhandlerKind::kFatal:
    case ErrhandlerKind::kAbort:
      break;
  }
  // The exit status has only 8 bits, and must not become 0.
  const int status = error_class_of(code) & 0xff;
  boot::abort(status == 0 ? 1 : status, text);
}

}  // namespace hr::comm
