#include "boot/node_flag.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/secret.hpp"
#include "boot/boot.hpp"
#include "boot/job_exchange.hpp"
#include "boot/state.hpp"

namespace hr::boot {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

Name name_of(std::string_view flag) {
  // Any user of the host may bind an abstract name, but only the processes of the job can predict this one.
  Nonce key{};
  read_digits(setting(kJobSecret), &key);
  const std::string of_job = identity().job_id + "-" + std::string(flag);
  const std::string text = "headrace-" + digits_of({keyed_hash(key, of_job + "-1"), keyed_hash(key, of_job + "-2")});
  Name name;
  name.address.sun_family = AF_UNIX;
  // A leading zero byte makes the name abstract.
  static_assert(sizeof name.address.sun_path > 64);
  std::copy(text.begin(), text.end(), name.address.sun_path + 1);
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

int open_socket() { return ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

}  // namespace

bool set_node_flag(std::string_view name) {
  const Name own = name_of(name);
  const int flag = open_socket();
  if (flag < 0) return false;
  if (::bind(flag, reinterpret_cast<const sockaddr*>(&own.address), own.bytes) == 0) {
    keep_open(flag);
    return true;
  }
  ::close(flag);
  return false;
}

bool node_flag_is_set(std::string_view name) {
  const Name wanted = name_of(name);
  const int asking = open_socket();
  if (asking < 0) return false;
  const bool up = ::connect(asking, reinterpret_cast<const sockaddr*>(&wanted.address), wanted.bytes) == 0;
  ::close(asking);
  return up;
}

}  // namespace hr::boot
