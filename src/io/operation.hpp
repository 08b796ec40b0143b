// Operation: one data access of a file, with all that it needs until it is over.
//
// The three forms of a call share one implementation: run() on the caller's stack, start() in a request, begin() and
// end() in a request that the File keeps. If it runs in the background (all but run()), files are read and written by
// the worker's thread, and the library's thread only does the parts that need the lock: messages, data of devices,
// conversions.
//
// Owner: the caller's stack, or the request. Threads: library lock.
#pragma once

#include <memory>

#include "io/datarep.hpp"
#include "io/file.hpp"
#include "io/io.hpp"
#include "io/transfer.hpp"
#include "io/worker.hpp"
#include "p2p/task.hpp"

namespace hr::io {

class Operation final : public p2p::TaskResources {
 public:
  Operation(File& file, const Access& access, bool background) noexcept;
  ~Operation() override = default;
  [[nodiscard]] const char* what() const noexcept override;
  // Reports the bytes of the program's buffer that were moved.
  void describe(p2p::Completion* completion) const noexcept override;

  // Checks the call, advances the individual pointer, converts data to write. Called before any data is moved. A
  // collective call that is refused here takes part without data, since the others wait for this process; execute()
  // then ends with that error.
  Status prepare();
  // Moves the data. The operation outlives the task.
  [[nodiscard]] p2p::Task execute();

  // --- for the ways of moving data ---
  [[nodiscard]] bool writes() const noexcept { return access_.way == Way::kWrite; }
  [[nodiscard]] bool collective() const noexcept { return access_.collective; }
  [[nodiscard]] bool background() const noexcept { return background_; }
  [[nodiscard]] File& file() const noexcept { return *file_; }
  [[nodiscard]] const FileView& view() const noexcept { return *view_; }
  [[nodiscard]] const layout::View& memory() const noexcept { return memory_; }
  // Bytes to move, of the view's data.
  [[nodiscard]] Count bytes() const noexcept { return static_cast<Count>(memory_.packed); }
  [[nodiscard]] Count position() const noexcept { return position_; }
  [[nodiscard]] int tag() const noexcept { return tag_; }
  [[nodiscard]] Place place() const noexcept { return {disk_.get(), view_.get(), &file_->hints_, position_}; }
  void set_done(std::size_t bytes) noexcept { done_ = bytes; }

  // Runs a job that reads or writes files: here, with the lock released, or on the worker's thread.
  [[nodiscard]] p2p::Task work(Job* job, std::function<Status()>* what);

 private:
  Status check_arguments();
  Status check() const;
  Status find_position();
  Status convert();
  Status stage();
  [[nodiscard]] p2p::Task claim();
  [[nodiscard]] p2p::Task move();
  Status finish();

  Ref<File> file_;
  std::shared_ptr<PosixFile> disk_;
  std::shared_ptr<const FileView> view_;
  Access access_;
  Ref<layout::Datatype> type_;
  layout::View program_;               // the program's buffer
  layout::View memory_;                // the memory moved: the buffer, or held_
  std::unique_ptr<std::byte[]> held_;  // converted, or staged for the worker
  Count position_ = 0;
  Count etypes_ = 0;  // etypes that pointers move by
  std::size_t done_ = 0;
  int tag_ = 0;
  bool background_;
  bool converts_ = false;
  Status refused_;
  std::string refusal_;
  Job job_;  // its destructor waits for the thread: last, so that the rest still exists
};

}  // namespace hr::io
