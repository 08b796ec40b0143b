// File: one process's side of an open file (MPI 5.0 section 14.2).
//
// Owner: reference counted. The handle and each pending operation hold references. The descriptor is closed by
// MPI_File_close; the object may outlive that for operations that the program has not completed. Threads: library lock.
// The worker thread uses the descriptor (PosixFile) and the view, which are shared with pending operations and do not
// change meanwhile.
#pragma once

#include <memory>
#include <string>

#include "base/object.hpp"
#include "comm/agree.hpp"
#include "comm/communicator.hpp"
#include "comm/errhandler.hpp"
#include "io/file_view.hpp"
#include "io/hints.hpp"
#include "io/posix_file.hpp"
#include "p2p/request.hpp"
#include "p2p/task.hpp"

namespace hr::io {

class SharedWords;

// Distributes an error of any member to all of them; when the task ends, all members have called agree(). A member that
// already has an error keeps it, with its error message.
[[nodiscard]] p2p::Task agree(comm::Members members, Status* status);

// A split collective in progress.
struct Split {
  p2p::Request* request = nullptr;  // null: none
  void* buffer = nullptr;
  int kind = 0;
};

class File final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kFile;
  File();
  ~File();

  [[nodiscard]] bool may_read() const noexcept;
  [[nodiscard]] bool may_write() const noexcept;
  [[nodiscard]] bool sequential() const noexcept;
  [[nodiscard]] bool alone() const noexcept { return comm_->size() == 1; }

  // Returns the members for the exchanges of a collective call, with a tag that no other call uses.
  [[nodiscard]] comm::Members members() const;
  [[nodiscard]] comm::Members members(int tag) const;
  // Calls agree() above, and waits for it.
  Status agree(Status own);
  // Broadcasts `bytes` bytes from process 0. Does not synchronize the processes, unlike agree().
  Status tell(void* data, std::size_t bytes);

  Ref<comm::Communicator> comm_;  // a separate communicator of the same processes
  Ref<comm::Errhandler> errhandler_;
  std::shared_ptr<PosixFile> disk_;
  int amode_ = 0;
  bool atomic_ = false;
  Hints hints_;
  std::shared_ptr<const FileView> view_;
  Count pointer_ = 0;  // individual file pointer, in etypes
  std::unique_ptr<SharedWords> shared_;
  Split split_;
};

}  // namespace hr::io
