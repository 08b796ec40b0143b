// File: one process's side of an open file (MPI 5.0 section 14.2).
//
// Owner: reference counted. The handle is one reference, an operation under way holds another. The descriptor is closed
// by MPI_File_close; the object may live on for operations that the program forgot. Threads: library lock. Parts that
// other threads of this layer look at are held by those threads: the descriptor (PosixFile) and the view are not
// changed while an operation is under way.
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

// Shares an error of any member with all of them; when it is over, all have come here. A member with an error of its
// own keeps it, with its text.
[[nodiscard]] p2p::Task agree(comm::Members members, Status* status);

// A split collective that has begun.
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

  // Returns the members for the exchanges of a collective call, by messages that no other call has.
  [[nodiscard]] comm::Members members() const;
  [[nodiscard]] comm::Members members(int tag) const;
  // Does the same as agree() above, in a call that waits.
  Status agree(Status own);
  // Sends `bytes` from process 0 to all. All have come here before only if they have agreed before.
  Status tell(void* data, std::size_t bytes);

  Ref<comm::Communicator> comm_;  // its own, of the same processes
  Ref<comm::Errhandler> errhandler_;
  std::shared_ptr<PosixFile> disk_;
  int amode_ = 0;
  bool atomic_ = false;
  Hints hints_;
  std::shared_ptr<const FileView> view_;
  Count pointer_ = 0;  // the individual one, in etypes
  std::unique_ptr<SharedWords> shared_;
  Split split_;
};

}  // namespace hr::io
