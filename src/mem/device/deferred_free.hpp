// DeferredFrees: driver calls that free something, deferred while a stream of the program may be waiting for this
// library.
//
// The driver frees memory, pinned memory and mappings of other processes' memory only when all streams of the context
// are done. A stream that waits for an operation of this library is done only after this thread has continued, so such
// a call would never return. While a Hold exists, the calls are collected; they are made when the last Hold ends.
//
// Owner: process-wide, until release_contexts(). Threads: library lock.
#pragma once

#include "mem/device.hpp"

namespace hr::mem::device {

class DeferredFrees {
 public:
  enum class Kind : std::uint8_t { kDevice, kPinned, kImport };

  // While a Hold exists, nothing is freed.
  class Hold {
   public:
    void set(bool held) noexcept;
    Hold() = default;
    ~Hold() { set(false); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    bool held_ = false;
  };
  [[nodiscard]] static bool held() noexcept { return holds_ != 0; }

  // Frees what is at `address`, now or at the end of the last Hold. The context must be current, and may be destroyed
  // before the end of the Hold. Failures are ignored: they mean that the program has ended its use of the device.
  static void free(Kind kind, ContextHandle context, std::uint64_t context_id, DeviceAddress address) noexcept;
  // Frees everything that is left. Called when no stream can be waiting.
  static void flush() noexcept;

 private:
  static inline constinit int holds_ = 0;
};

}  // namespace hr::mem::device
