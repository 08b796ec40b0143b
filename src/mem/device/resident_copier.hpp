// ResidentCopier: a kernel that stays on a device for short copies (kernels/resident_copy.cu), and the mailbox through
// which it receives them. It starts a copy sooner than a copy engine does (docs/adr/0012-resident-copy-kernel.md).
//
// It is launched while the process waits for messages, and exits when no entry has arrived for a while; until then, a
// request of the program to its device, for example to free memory, may have to wait. Entries are written only for a
// kernel that is known to run. A kernel sets a flag when it exits: entries still pending then are not done, and their
// submitters copy by other means.
//
// Order: it runs on a separate stream that nothing waits for. So copies are submitted only while the default stream is
// idle, and completed ones are visible to all. Owner: its Context. From the first launch() or prepare() on, it holds a
// page of pinned memory, 256 bytes of device memory and a stream. Threads: library lock. Nothing here waits for the
// device, except release().
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "base/status.hpp"
#include "mem/device.hpp"

namespace hr::kernels {
struct CopyMailbox;
}

namespace hr::mem::device {

class Context;

class ResidentCopier {
 public:
  // Maximum size in bytes of a copy in one entry.
  static constexpr std::size_t kLargest = std::size_t{1} << 20;

  enum class Progress : std::uint8_t { kPending, kDone, kExited };

  explicit ResidentCopier(Context& context) noexcept : context_(context) {}
  ResidentCopier(const ResidentCopier&) = delete;
  ResidentCopier& operator=(const ResidentCopier&) = delete;

  // Launches the kernel for copies of up to `bytes`, unless it is running. Does nothing if entries of the last launch
  // are pending or that launch has not started yet, or if the kernel cannot run: no kernels, no memory, a device in an
  // error state. If the last launches got no entry, launches it only occasionally. The context must be current.
  void launch(std::size_t bytes);
  // False if launch() would do nothing.
  [[nodiscard]] bool wants_launch(std::size_t bytes) const;
  // Makes the kernel exit after its pending entries.
  void stop();
  // Disables the kernel permanently, because other processes need the device while this one waits.
  void disable() noexcept { disabled_ = true; }
  // True unless the kernel is disabled or known to be unable to run.
  [[nodiscard]] bool usable() const noexcept { return !disabled_ && state_ != State::kImpossible; }

  // running(): true if the kernel accepts copies of that size now. starting_soon(): true if it soon will, so that
  // waiting for it is worthwhile.
  [[nodiscard]] bool running(std::size_t bytes);
  [[nodiscard]] bool starting_soon(std::size_t bytes) const;
  // False if the mailbox is full, or an address is too large for an entry. `bytes` > 0.
  bool submit(DeviceAddress target, DeviceAddress source, std::size_t bytes, std::uint32_t* entry);
  // Must be called until the answer is not kPending; after a device error, the entry counts as ended.
  Status poll(std::uint32_t entry, Progress* answer);

  // Waits until the kernel has exited. The context must be current.
  void release() noexcept;

  // Creates the memory and the stream that launch() needs, if they do not exist yet. False: the kernel cannot run.
  bool prepare();

 private:
  bool fails(Status* status);
  void write_entry(DeviceAddress target, DeviceAddress source, std::size_t bytes);
  [[nodiscard]] bool done(std::uint32_t number) const;
  [[nodiscard]] bool started();
  [[nodiscard]] bool first_block_exited() const;  // the kernel accepts no more entries
  [[nodiscard]] bool exited() const;              // all blocks have exited

  Context& context_;
  enum class State : std::uint8_t { kNew, kReady, kImpossible } state_ = State::kNew;
  bool disabled_ = false;
  bool launched_ = false;  // and not stopped since; the kernel may have exited by itself
  bool running_ = false;   // all blocks of this launch have been seen running
  kernels::CopyMailbox* mailbox_ = nullptr;
  DeviceAddress relay_ = 0;
  StreamHandle stream_ = nullptr;
  std::uint32_t launch_ = 0;
  std::uint32_t blocks_ = 0;
  std::uint32_t next_ = 1;   // number of the next entry
  std::uint32_t first_ = 1;  // number of this launch's first entry
  double launched_at_ = 0;
  unsigned idle_launches_ = 0;     // in a row, without an entry
  unsigned skipped_launches_ = 0;  // launches still to be skipped
  std::minstd_rand random_;
  unsigned pending_ = 0;  // entries that poll() has not reported as ended
  unsigned polls_ = 0;
};

// A copy submitted to the resident copy kernel of a context; its submitter keeps it until poll() reports its outcome.
class ResidentCopy {
 public:
  // True if the copy is accepted, for which the context's resident copy kernel must be running or about to start.
  // `bytes` > 0.
  bool begin(Context& context, DeviceAddress target, DeviceAddress source, std::size_t bytes);
  [[nodiscard]] bool active() const noexcept { return state_ != State::kNone; }
  // kExited: the copy has not been made, and the caller must make it.
  Status poll(ResidentCopier::Progress* answer);

  // *context: the context to which the copy was submitted. Errors: MPI_ERR_OTHER if that context no longer exists.
  Status context(Context** context) const;
  [[nodiscard]] DeviceAddress target() const noexcept { return target_; }
  [[nodiscard]] DeviceAddress source() const noexcept { return source_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  enum class State : std::uint8_t { kNone, kStarting, kSubmitted } state_ = State::kNone;
  ContextHandle context_ = nullptr;
  std::uint64_t id_ = 0;
  bool independent_ = false;
  std::uint32_t entry_ = 0;
  DeviceAddress target_ = 0;
  DeviceAddress source_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace hr::mem::device
