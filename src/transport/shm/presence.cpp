#include "transport/shm/presence.hpp"

#include <fcntl.h>

namespace hr::transport::shm {
namespace {

struct flock lock_of(int index) noexcept {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  return lock;
}

}  // namespace

void show_presence(int file, int index) noexcept {
  struct flock lock = lock_of(index);
  ::fcntl(file, F_OFD_SETLK, &lock);
}

bool is_present(int file, int index) noexcept {
  struct flock lock = lock_of(index);
  return ::fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace hr::transport::shm
