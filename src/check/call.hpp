// Call: one call by the program as seen by the checker: the function, its arguments by name, and the call site.
//
// Entry points describe their arguments (api/gen/entries.py) if calls are checked (bind/checked_calls.hpp). Owner: the
// entry point, for the duration of the call. Threads: a Call belongs to its thread; shared data needs the library lock.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/object.hpp"
#include "check/call_site.hpp"
#include "check/operations.hpp"

namespace hr::check {

struct Argument {
  enum class Use : std::uint8_t {
    kRead,     // a buffer that the call does not write
    kWritten,  // a buffer that it may write
    kForHost,  // counts, statuses: for the CPU
    kGiven,    // an array of handles
    kMade,     // destination of handles: one, or an array
    kChanged,  // handles that the call may set to null: one, or an array
    kHandle,   // a handle
    kNumber
  };
  const char* name;
  const void* address;  // kHandle: the handle
  Use use;
  ObjectKind kind{};     // of handles
  long long amount = 0;  // kNumber: the value; arrays: number of elements

  static Argument memory(const char* name, const void* address, Use use) { return {name, address, use}; }
  static Argument handle(const char* name, const void* handle, ObjectKind kind) {
    return {name, handle, Use::kHandle, kind};
  }
  static Argument handles(const char* name, const void* address, Use use, ObjectKind kind, long long length) {
    return {name, address, use, kind, address == nullptr ? 0 : length};
  }
  static Argument number(const char* name, long long value) { return {name, nullptr, Use::kNumber, {}, value}; }

  // True for memory that the CPU always reads or writes.
  [[nodiscard]] bool for_host() const noexcept {
    return use == Use::kForHost || use == Use::kGiven || use == Use::kMade || use == Use::kChanged;
  }
  [[nodiscard]] std::span<void* const> values() const noexcept {
    return {static_cast<void* const*>(address), static_cast<std::size_t>(amount < 0 ? 0 : amount)};
  }
};

class Call {
 public:
  Call(const char* function, const void* caller, std::span<const Argument> arguments) noexcept
      : function_(function), call_site_{function, caller}, arguments_(arguments) {}

  // Returns "MPI_Send" for MPI_Send and MPI_Send_c.
  [[nodiscard]] std::string_view function() const noexcept {
    const std::string_view name(function_);
    return name.ends_with("_c") ? name.substr(0, name.size() - 2) : name;
  }
  [[nodiscard]] bool is(std::string_view name) const noexcept { return function() == name; }
  // Finds the call site in the program: the caller may be part of the library (Fortran, MPICH's ABI).
  void find_call_site() noexcept { call_site_.address = program_caller(call_site_.address); }
  [[nodiscard]] const CallSite& call_site() const noexcept { return call_site_; }
  [[nodiscard]] std::span<const Argument> arguments() const noexcept { return arguments_; }

  // Find an argument by name; return null or 0 if there is none.
  [[nodiscard]] const Argument* find(std::string_view name) const noexcept;
  [[nodiscard]] const void* address(std::string_view name) const noexcept;
  [[nodiscard]] long long number(std::string_view name) const noexcept;
  // Returns the live object behind a handle argument; null if there is none.
  template <class T>
  [[nodiscard]] T* object(std::string_view name) const noexcept;

  // Handles of the arguments that the call may change (kChanged), in order, as they were before the call.
  std::vector<void*> before;
  // Object on which a detected error is raised; null: none.
  Object* where = nullptr;
  // Buffers that the call, or the operation that it starts, reads and writes while it is in progress (operations.hpp).
  std::vector<Buffer> buffers;
  // Operations that the call has completed; set in leave().
  std::vector<Operation> completed;
  // True if the call's own receive, as in MPI_Recv, has matched its message (match.hpp).
  bool matched = false;
  double since = 0;  // when the call began, or last saw a message matched (base/clock.hpp)
  // Context of the communicator, window or file that the call frees; 0: none.
  std::uint32_t ended_context = 0;

 private:
  const char* function_;
  CallSite call_site_;
  std::span<const Argument> arguments_;

 public:
  Call* outer = nullptr;  // the enclosing call of this thread
};

// Returns the innermost call of this thread; null: none.
Call* current_call() noexcept;

}  // namespace hr::check
