// Status: result of every internal function that can fail.
//
// A Status is one int: 0 is success, a positive value is an error class of the standard (the ABI's value, see
// errc.hpp), and "again" means "no room now, make progress and retry"; it is never returned to a user. The message that
// explains an error is kept separately, in a thread-local detail buffer, which the function that detects the error
// fills (fail() below) and the entry layer reads with take_detail(). So a Status is passed in a register, and the
// success path touches no memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/errc.hpp"

namespace hr {

class [[nodiscard]] Status {
 public:
  constexpr Status() noexcept = default;
  constexpr explicit(false) Status(Errc error_class) noexcept : code_(static_cast<int>(error_class)) {}

  static constexpr Status again() noexcept { return Status(kAgainCode); }
  // Creates a Status from a code returned by a user's callback (attribute, error handler, user-defined class).
  static constexpr Status from_code(int code) noexcept { return Status(code); }

  [[nodiscard]] constexpr bool ok() const noexcept { return code_ == 0; }
  [[nodiscard]] constexpr bool is_again() const noexcept { return code_ == kAgainCode; }
  [[nodiscard]] constexpr int code() const noexcept { return code_; }
  [[nodiscard]] constexpr Errc errc() const noexcept { return static_cast<Errc>(code_); }

  friend constexpr bool operator==(Status, Status) noexcept = default;

 private:
  static constexpr int kAgainCode = -1;
  constexpr explicit Status(int code) noexcept : code_(code) {}
  int code_ = 0;
};

inline constexpr Status kOk{};

// Records the reason (printf-style, one sentence: cause, place, remedy) and returns the class.
[[gnu::format(printf, 2, 3), gnu::cold, gnu::noinline]] Status fail(Errc error_class, const char* format, ...);

// Returns the last recorded detail of this thread, and clears it; empty if none was recorded.
std::string take_detail();
// Restores a detail that was taken (a request that failed on another thread, or earlier, keeps its own).
void set_detail(std::string text);

}  // namespace hr

// Returns from the enclosing function if the expression is not success.
#define HR_TRY(expression)                            \
  do {                                                \
    const ::hr::Status hr_try_status_ = (expression); \
    if (!hr_try_status_.ok()) [[unlikely]]            \
      return hr_try_status_;                          \
  } while (false)
