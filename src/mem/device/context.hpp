// Context: the library's state in a driver context that owns buffers: streams, events, kernels, staging memory.
//
// The library never creates a driver context: a Context is made for one of the program's, when memory in it is first
// used. The streams are blocking ones (flags 0), so that the library's work is ordered after earlier work on the legacy
// default stream and before later work there. Operations that a program has enqueued in a stream use the context's
// independent twin, whose streams are not blocking (mem/independent.hpp).
//
// Owner: the state of mem/, until release_contexts() (MPI_Finalize) or until the program is found to have
// destroyed the context (its id changed). A Context* is valid during one call of the layer above; do not keep it.
// Threads: under the library lock; any thread may use any Context through Current.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/driver_epoch.hpp"
#include "base/status.hpp"
#include "mem/device.hpp"
#include "mem/mem.hpp"

namespace hr::mem::device {

class ResidentCopier;

class Context {
 public:
  // *context: the context in which work on device or managed memory at `location` runs. This is the context in which
  // the memory was allocated or, for pool and VMM memory, which belongs to no context, the device's primary context,
  // else the caller's current one. For independent memory, it is the twin of that context.
  static Status of(const Location& location, Context** context);
  // Creates everything that independent work needs, so that it need not call driver functions that wait for all streams
  // while the program's stream waits for this work. The context must be current.
  Status prepare_independent();

  // True if the context with this handle and id has not been destroyed.
  [[nodiscard]] static bool alive(ContextHandle handle, std::uint64_t id) noexcept;

  [[nodiscard]] ContextHandle handle() const noexcept { return handle_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] int device() const noexcept { return device_; }
  // Returns the locality of the device, which identifies the device to other processes. It consists of the device's
  // identity (device_links.hpp), the same number in every process whichever devices are visible there, and of whether
  // processes that share the device are time-sliced (they are, unless MPS is running). Never 0.
  [[nodiscard]] std::uint64_t locality() const noexcept {
    return identity_ | (device_time_sliced_ ? kTimeSlicedBit : 0);
  }
  // True if two processes with these localities are time-sliced on one device. 0: no device.
  [[nodiscard]] static bool share_time_sliced(std::uint64_t one, std::uint64_t other) noexcept {
    return one == other && (one & kTimeSlicedBit) != 0;
  }
  // Returns the locality of the device that holds this memory; 0 for host memory, or if no context can work on it.
  [[nodiscard]] static std::uint64_t locality_of(const Location& location);
  // Records that another process has memory on the device of that locality. True if that process and this one are
  // time-sliced on the device that holds `location`. Once there is such a process, time_sliced() is true for the
  // context there: work for the multiprocessors waits until the device has switched to this process; copy engines do
  // not wait.
  static bool note_peer_device(const Location& location, std::uint64_t locality);
  [[nodiscard]] bool time_sliced() const noexcept { return time_sliced_; }
  [[nodiscard]] int multiprocessors() const noexcept { return multiprocessors_; }
  [[nodiscard]] StreamHandle stream() const noexcept { return stream_; }

  // Returns a stream (blocking except in a twin) for copies that need not wait for one another; `key` selects one of
  // kCopyStreams streams. These streams are few, as they share the device's queues with the program's streams. The
  // context must be current.
  static constexpr int kCopyStreams = 2;
  Status copy_stream(int key, StreamHandle* stream);

  // True if the default stream was idle when last queried and no work can have been enqueued since
  // (base/driver_epoch.hpp).
  [[nodiscard]] bool idle() const noexcept { return base_ != nullptr || idle_epoch_ == DriverEpoch::current(); }
  // Queries the default stream unless it is known to be idle; kNotReady if it must not be queried
  // (default_stream_barred()). The context must be current.
  [[nodiscard]] Result query_default_stream();
  // Waits until all work on the default stream is done. The context must be current.
  Status finish_default_stream();
  // For Fence. *number: identifies the fence to fence_passed(), which becomes true once all work that the program has
  // put on the default stream so far is done. *set: false if fences are not available; then that work is done on
  // return. The context must be current.
  Status set_fence(bool* set, std::uint32_t* number);
  [[nodiscard]] bool fence_passed(std::uint32_t number);
  // Returns the Context with this handle and id, or its twin; null if it no longer exists.
  static Context* find(ContextHandle handle, std::uint64_t id, bool independent = false) noexcept;
  // True for a twin.
  [[nodiscard]] bool independent() const noexcept { return base_ != nullptr; }

  // Copier of this context, created on first use.
  [[nodiscard]] ResidentCopier& resident_copier();

  // For WorkEvent: take an event from the context's free list, and put it back (if the context still exists).
  Status take_event(EventHandle* event);
  static void return_event(ContextHandle context, std::uint64_t id, EventHandle event) noexcept;
  // Also for WorkEvent: work on a stream completes in order, so a complete event shows that all events recorded before
  // it on that stream are complete, and the driver need not be queried about these. next_record(): a number for an
  // event that is recorded now. passed(): true if that event, or a later one on the stream, has been seen complete.
  [[nodiscard]] std::uint64_t next_record() noexcept { return ++records_; }
  [[nodiscard]] bool passed(StreamHandle stream, std::uint64_t record) const noexcept;
  void note_passed(StreamHandle stream, std::uint64_t record) noexcept;

  // Returns a kernel of the embedded image, loaded on first use. Null if the library was built without kernels, the
  // image does not run on this device, or the knob device_kernels is off: the caller then uses copy engines. The
  // context must be current.
  Status kernel(const char* name, FunctionHandle* function);

  // True if kernels of this context may access memory of `other`; enables the access on first use. The answer holds for
  // memory allocated in a context (not pool or VMM memory, whose owner decides about access). The context must be
  // current.
  bool can_access(const Context& other);

  // Makes later work on stream(), or on `stream` of this context, wait for all work enqueued so far on stream() of
  // `other` (and on the legacy default stream there).
  Status order_after(Context& other) { return order_after(other, stream_); }
  Status order_after(Context& other, StreamHandle stream);

  // Waits until all work enqueued on stream() is done.
  Status synchronize(const char* what);

  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  static constexpr std::uint64_t kTimeSlicedBit = std::uint64_t{1} << 63;

  friend class Staging;
  friend class PinnedStaging;
  friend void release_contexts();

  struct Buffer {
    DeviceAddress address = 0;
    std::size_t bytes = 0;
  };

  Context(ContextHandle handle, std::uint64_t id, int device) noexcept;
  // Owner of the free events and of the free pinned memory.
  [[nodiscard]] Context& owner() noexcept { return base_ != nullptr ? *base_ : *this; }
  static Status find_or_open(const Location& location, Context** context);
  Status twin(Context** context);
  [[nodiscard]] unsigned stream_flags() const noexcept {
    return base_ != nullptr ? kStreamNonBlocking : kStreamDefault;
  }
  static Status open(ContextHandle handle, int device, Context** context);
  static Context* retained_primary(int device) noexcept;
  Status load_module();
  Status load_all_kernels();
  bool prepare_fences();
  void release() noexcept;

  ContextHandle handle_;
  std::uint64_t id_;
  int device_;
  int multiprocessors_ = 1;
  std::uint64_t identity_;
  bool device_time_sliced_;
  bool time_sliced_ = false;
  bool primary_retained_ = false;
  StreamHandle stream_ = nullptr;
  EventHandle event_ = nullptr;
  enum class Module : std::uint8_t { kUnknown, kLoaded, kNone } module_state_ = Module::kUnknown;
  ModuleHandle module_ = nullptr;
  std::vector<std::pair<const char*, FunctionHandle>> kernels_;
  std::vector<std::pair<std::uint64_t, bool>> peers_;  // by context id
  std::vector<StreamHandle> copy_streams_;
  // Fences are consecutive numbers that a dedicated stream writes into a word of pinned memory.
  StreamHandle fence_stream_ = nullptr;
  std::uint32_t* fence_word_ = nullptr;
  std::uint32_t last_fence_ = 0;
  std::uint32_t looks_at_fence_ = 0;
  std::uint64_t idle_epoch_ = 0;
  std::uint64_t alive_epoch_ = 0;  // driver epoch in which the context was last seen alive
  Context* base_ = nullptr;        // in a twin: the context whose twin this is
  std::unique_ptr<Context> twin_;  // null until there is independent work
  std::unique_ptr<ResidentCopier> resident_copier_;
  std::vector<EventHandle> free_events_;
  std::uint64_t records_ = 0;
  std::vector<std::pair<StreamHandle, std::uint64_t>>
      passed_;  // the last record seen complete, by stream of this context
  std::vector<Buffer> free_buffers_;
  std::size_t cached_bytes_ = 0;
  std::vector<std::span<std::byte>> free_pinned_;
  std::size_t cached_pinned_bytes_ = 0;
};

// Makes a context current for a scope and restores the earlier one. Failure is reported by status().
class Current {
 public:
  explicit Current(const Context& context);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

// Releases everything: streams, modules, buffers, retained primary contexts.
void release_contexts();

}  // namespace hr::mem::device
