// Opening, closing and deleting files (MPI 5.0 sections 14.2.1 to 14.2.3).
#include <fcntl.h>

#include <bit>
#include <cstring>

#include "base/abi.hpp"
#include "comm/create.hpp"
#include "io/io.hpp"
#include "io/shared_words.hpp"

namespace hr::io {
namespace {

constexpr int kModes = abi::kModeAppend | abi::kModeCreate | abi::kModeDeleteOnClose | abi::kModeExcl |
                       abi::kModeRdonly | abi::kModeRdwr | abi::kModeSequential | abi::kModeUniqueOpen |
                       abi::kModeWronly;

Status check_mode(int amode) {
  const int ways = amode & (abi::kModeRdonly | abi::kModeRdwr | abi::kModeWronly);
  if (std::popcount(static_cast<unsigned>(ways)) != 1)
    return fail(Errc::kAmode, "amode is %#x; give one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR",
                static_cast<unsigned>(amode));
  if ((amode & ~kModes) != 0)
    return fail(Errc::kAmode, "amode is %#x, of which %#x is not a file access mode", static_cast<unsigned>(amode),
                static_cast<unsigned>(amode & ~kModes));
  if ((amode & abi::kModeRdonly) != 0 && (amode & (abi::kModeCreate | abi::kModeExcl)) != 0)
    return fail(Errc::kAmode, "MPI_MODE_CREATE and MPI_MODE_EXCL cannot be with MPI_MODE_RDONLY");
  if ((amode & abi::kModeRdwr) != 0 && (amode & abi::kModeSequential) != 0)
    return fail(Errc::kAmode, "MPI_MODE_SEQUENTIAL cannot be with MPI_MODE_RDWR");
  return kOk;
}

int system_flags(int amode) {
  if ((amode & abi::kModeRdonly) != 0) return O_RDONLY;
  return (amode & abi::kModeWronly) != 0 ? O_WRONLY : O_RDWR;
}

int creation_flags(int amode) {
  return ((amode & abi::kModeCreate) != 0 ? O_CREAT : 0) | ((amode & abi::kModeExcl) != 0 ? O_EXCL : 0);
}

// Opens the file on process 0, which may create it, and then on the others.
Status open_everywhere(File& file, const char* name, int amode) {
  const bool first = file.comm_->rank() == 0;
  const unsigned permissions = file.hints_.permissions >= 0 ? static_cast<unsigned>(file.hints_.permissions) : 0666;
  Status status;
  if (first) status = file.disk_->open(name, system_flags(amode) | creation_flags(amode), permissions);
  HR_TRY(file.agree(status));
  if (!first) status = file.disk_->open(name, system_flags(amode), permissions);
  return file.agree(status);
}

Status agree_on_mode(File& file, int amode, const char* name) {
  int firsts = amode;
  HR_TRY(file.tell(&firsts, sizeof firsts));
  Status status;
  if (firsts != amode)
    status = fail(Errc::kNotSame, "amode is %#x here and %#x on process 0", static_cast<unsigned>(amode),
                  static_cast<unsigned>(firsts));
  if (status.ok()) status = check_mode(amode);
  if (status.ok() && *name == '\0') status = fail(Errc::kBadFile, "the file has no name");
  return file.agree(status);
}

// Sets the file pointers to the end in append mode.
Status seek_to_end(File& file) {
  if ((file.amode_ & abi::kModeAppend) == 0) return kOk;
  Count bytes = 0;
  Status status = file.disk_->size(&bytes);
  HR_TRY(file.agree(status));
  HR_TRY(file.tell(&bytes, sizeof bytes));
  file.pointer_ = bytes;
  if (file.comm_->rank() == 0) file.shared_->place_pointer(bytes);
  return file.agree(kOk);
}

// Opens the file once it has its communicator; all processes have the same result.
Status open_together(File& file, const char* name, int amode) {
  HR_TRY(agree_on_mode(file, amode, name));
  HR_TRY(open_everywhere(file, name, amode));
  if (file.sequential()) file.disk_->note_stream();
  file.view_ = FileView::bytes();
  file.shared_ = std::make_unique<SharedWords>(*file.comm_);
  HR_TRY(p2p::run_blocking(file.shared_->open(file.members())));
  return seek_to_end(file);
}

}  // namespace

Status open(comm::Communicator& comm, const char* name, int amode, const comm::Info* info, Ref<File>* result) {
  if (comm.is_inter()) return fail(Errc::kComm, "files are opened on intracommunicators");
  Ref<File> file = Ref<File>::adopt(Arena<File>::instance().create());
  if (!file) return fail(Errc::kNoMem, "no memory for another file (%zu are open)", Arena<File>::instance().live());
  HR_TRY(comm::create(comm, *comm.local_, &file->comm_));
  file->disk_ = std::make_shared<PosixFile>();
  file->amode_ = amode;
  if (info != nullptr) file->hints_.take(*info);
  const Status opened = open_together(*file, name, amode);
  opened.ok() ? static_cast<void>(*result = std::move(file)) : comm::end_connections(*file->comm_);
  return opened;
}

Status close(File& file) {
  if (file.split_.request != nullptr)
    return fail(Errc::kOther, "a split collective operation on %s is under way; end it first",
                file.disk_->path().c_str());
  Status status = file.agree(kOk);
  const Status closed = file.disk_->close();
  if (status.ok()) status = closed;
  status = file.agree(status);
  if ((file.amode_ & abi::kModeDeleteOnClose) != 0) {
    Status deleted;
    if (file.comm_->rank() == 0) deleted = unlink(file.disk_->path());
    deleted = file.agree(deleted);
    if (status.ok()) status = deleted;
  }
  file.shared_.reset();
  comm::end_connections(*file.comm_);
  return status;
}

Status remove(const char* name) {
  if (*name == '\0') return fail(Errc::kBadFile, "the file has no name");
  return unlink(name);
}

}  // namespace hr::io
