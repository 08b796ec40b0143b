// Errhandler: the reaction to an MPI call that fails (MPI 5.0 section 9.3).
//
// Owner: reference counted; a communicator, session, window or file holds a reference to its handler, so
// MPI_Errhandler_free may be called earlier. Predefined handlers live as long as the process. Threads: immutable. A
// user's function runs with the library lock held.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "base/object.hpp"
#include "base/status.hpp"

namespace hr::comm {

enum class ErrhandlerKind : std::uint8_t { kFatal, kAbort, kReturn, kUser };

// Kind of object for which a user's handler was created; predefined handlers fit all kinds.
enum class ErrhandlerTarget : std::uint8_t { kAny, kCommunicator, kSession, kWindow, kFile };

class Errhandler final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kErrhandler;
  // Created by bind/ around the program's function. The function may change both arguments (MPI passes pointers to
  // them). Changes to *handle are ignored; *code becomes the result of the MPI call.
  using Function = std::function<void(void** handle, int* code)>;

  Errhandler(ErrhandlerKind kind, ErrhandlerTarget target, Function function)
      : Object(kKind), kind_(kind), target_(target), function_(std::move(function)) {}

  [[nodiscard]] ErrhandlerKind kind() const noexcept { return kind_; }
  [[nodiscard]] ErrhandlerTarget target() const noexcept { return target_; }
  [[nodiscard]] const Function& function() const noexcept { return function_; }

 private:
  ErrhandlerKind kind_;
  ErrhandlerTarget target_;
  Function function_;
};

// Returns the object behind MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN (ABI values); nullptr for
// MPI_ERRHANDLER_NULL and unknown values. Usable before initialisation.
Errhandler* predefined_errhandler(std::uintptr_t abi_value) noexcept;

// Creates a user's handler. Returns an empty Ref if the arena is full.
Ref<Errhandler> create_errhandler(ErrhandlerTarget target, Errhandler::Function function);

// Errors: MPI_ERR_ERRHANDLER if `handler` was created for another kind of object.
Status check_errhandler(const Errhandler& handler, ErrhandlerTarget target);

// Returns the error class of a code. The upper bits hold the slot of the detail text, set by bind/ (ADR 1).
constexpr int error_class_of(int code) noexcept { return code & 0xffff; }

// Raises `code` (as the program will see it; never MPI_SUCCESS) on an object whose handle is `handle`. `text`: message
// for the user. MPI_ERRORS_ARE_FATAL and MPI_ERRORS_ABORT: prints it and ends the job; does not return.
// MPI_ERRORS_RETURN: returns `code`. A user's function: calls it, and returns the code that it leaves (section 9.3).
// Once bind/ has chosen the handler, this is the only function that it has to call.
int invoke(Errhandler& handler, void* handle, int code, std::string_view text);

}  // namespace hr::comm
