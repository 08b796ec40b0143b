// ProgramStream: a stream of the program, in which the library enqueues writes of words and waits for words.
//
// A stream that waits for a word holds no multiprocessor. Everything that the stream did before a write is visible to
// the host once the word is; everything that the host or another device did before it set a word is visible to the work
// after the wait.
//
// Owner: none; the program owns the stream. Threads: append(): any, one at a time per stream; all others: library lock.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

// Number of a capture; 0: no capture.
using CaptureId = std::uint64_t;

class ProgramStream {
 public:
  // Errors: MPI_ERR_OTHER (no driver, no current context, a driver without these operations), MPI_ERR_ARG (the
  // per-thread default stream, which stands for several streams; a handle that the driver does not know).
  static Status open(StreamHandle handle, ProgramStream* made);

  [[nodiscard]] StreamHandle handle() const noexcept { return handle_; }
  // Returns the library's state in the stream's context; null if the program has destroyed the context.
  [[nodiscard]] Context* context() const noexcept { return Context::find(context_, id_); }

  enum class Capture : std::uint8_t { kNone, kActive, kBroken };
  // Reports whether the program is capturing the stream, which must exist. Errors: MPI_ERR_OTHER (its context was
  // destroyed, its device failed).
  Status capture(Capture* state) const;
  // Returns the driver's number of the capture of a stream for which capture() has reported kActive; the same number
  // for all captures if the driver cannot tell them apart.
  [[nodiscard]] CaptureId capture_id() const noexcept;
  // True if the driver can capture the operations of append(). Tries this once, with a stream of the library.
  [[nodiscard]] bool can_be_captured();

  // Both create an operation for append().
  [[nodiscard]] static StreamOperation write(DeviceAddress word, std::uint32_t value) noexcept;
  // The wait ends when *word - value, as a signed number, is not negative.
  [[nodiscard]] StreamOperation wait(DeviceAddress word, std::uint32_t value) const noexcept;
  // Appends the operations to the stream, in this order. May wait for space in the stream: call it without the library
  // lock.
  Status append(std::span<StreamOperation> operations) const;
  // Appends a kernel with one parameter; otherwise like append().
  Status launch(FunctionHandle function, unsigned blocks, unsigned threads, void* parameter) const;
  // True if the stream has done all work submitted so far. The stream must not be captured.
  [[nodiscard]] bool idle() const noexcept;
  // Waits until the stream has done all work submitted so far. Call it without the library lock.
  Status synchronize() const;

 private:
  [[nodiscard]] Status enter(bool* pushed) const;
  bool try_capture();

  StreamHandle handle_ = nullptr;
  ContextHandle context_ = nullptr;
  std::uint64_t id_ = 0;
  int device_ = -1;
  unsigned wait_flags_ = 0;
  bool batched_ = false;  // the driver takes several operations in one call
  enum class Ability : std::uint8_t { kUnknown, kYes, kNo } capturable_ = Ability::kUnknown;
};

}  // namespace hr::mem::device
