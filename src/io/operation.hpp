// Operation: one data access to a file, with everything that it needs until it has ended.
//
// The three forms of a call share one implementation: run() on the caller's stack, start() in a request, begin() and
// end() in a request that the File holds. An operation in the background (all forms but run()) reads and writes files
// on the worker's thread; only the parts that need the library lock run on the program's threads: messages, device
// data, conversions.
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
  // Reports the number of bytes of the program's buffer that were moved.
  void describe(p2p::Completion* completion) const noexcept override;

  // Checks the call, advances the individual pointer, and converts data to write. Called before any data is moved. If a
  // collective call is rejected here, this process takes part without data, because the others wait for it; execute()
  // then ends with that error.
  Status prepare();
  // Moves the data. The operation must outlive the task.
  [[nodiscard]] p2p::Task execute();

  // --- For the implementations of data movement ---
  [[nodiscard]] bool writes() const noexcept { return access_.way == Way::kWrite; }
  [[nodiscard]] bool collective() const noexcept { return access_.collective; }
  [[nodiscard]] bool background() const noexcept { return background_; }
  [[nodiscard]] File& file() const noexcept { return *file_; }
  [[nodiscard]] const FileView& view() const noexcept { return *view_; }
  [[nodiscard]] const layout::View& memory() const noexcept { return memory_; }
  // Returns the number of bytes of the view's data to move.
  [[nodiscard]] Count bytes() const noexcept { return static_cast<Count>(memory_.packed); }
  [[nodiscard]] Count position() const noexcept { return position_; }
  [[nodiscard]] int tag() const noexcept { return tag_; }
  [[nodiscard]] Place place() const noexcept { return {disk_.get(), view_.get(), &file_->hints_, position_}; }
  void set_done(std::size_t bytes) noexcept { done_ = bytes; }

  // Runs a job that reads or writes files: on this thread, with the lock released, or on the worker's thread.
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
  layout::View memory_;                // memory that is moved: the program's buffer, or held_
  std::unique_ptr<std::byte[]> held_;  // data that is converted, or staged for the worker
  Count position_ = 0;
  Count etypes_ = 0;  // number of etypes by which pointers advance
  std::size_t done_ = 0;
  int tag_ = 0;
  bool background_;
  bool converts_ = false;
  Status refused_;
  std::string refusal_;
  Job job_;  // last, because its destructor waits for the thread, which uses the other members
};

}  // namespace hr::io
