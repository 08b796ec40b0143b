// Remote: another process that uses the CUDA driver and executes requests. It runs this program.
//
// Owner: ends the process when it dies. Threads: one at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cuda_ipc {

using Address = unsigned long long;

struct Handle {
  unsigned char bytes[64];
};
struct Uuid {
  unsigned char bytes[16];
  bool operator==(const Uuid&) const = default;
};

inline constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kInvalidContext = 201,
                     kPeerAccessUnsupported = 217, kIllegalAddress = 700;
inline constexpr unsigned kLazyEnablePeerAccess = 1;

enum class What {
  kInit,
  kSelect,
  kAllocate,
  kFree,
  kExport,
  kOpen,
  kClose,
  kFill,
  kCheck,
  kUsed,
  kUuid,
  kSetWord,
  // Memory in chunks, exportable if `value` is not 0. kExportChunk: the low half of Reply::value is the descriptor of
  // the chunk, the high half the process id. kCloseDescriptor: `device` is the descriptor.
  kMapChunks,
  kUnmapChunks,
  kExportChunk,
  kCloseDescriptor
};

struct Request {
  What what;
  int device = 0;
  Address address = 0;
  std::size_t bytes = 0;
  unsigned char value = 0;
  Handle handle{};
};
struct Reply {
  int result = 0;
  Address address = 0;
  std::uint64_t value = 0;  // for kUsed, a number of bytes; for kCheck, 1 if every byte has the value
  Handle handle{};
  Uuid uuid{};
};

// Executes a request as a Remote does; the tests do the same in their own process.
Reply execute(const Request& request);

// The other end: executes requests from a socket until the socket is closed. Returns the exit code of the process.
int serve(int socket);

class Remote {
 public:
  // `environment`: NAME=VALUE, in addition to this process's environment. The file descriptor `kept` is open in the
  // other process under the same number.
  explicit Remote(const std::vector<std::string>& environment = {}, int kept = -1);
  ~Remote();
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  Reply ask(const Request& request);
  // Ends the process at once, with SIGKILL.
  void kill();

 private:
  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace cuda_ipc
