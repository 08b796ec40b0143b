#include "remote.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "driver_function.hpp"
#include "main.hpp"
#include "segment.hpp"

extern char** environ;

namespace cuda_ipc {
namespace {

using hr::test::driver_function;

bool every_byte(Address address, std::size_t bytes, unsigned char value) {
  std::vector<unsigned char> content(bytes);
  gpu::copy(content.data(), reinterpret_cast<const void*>(address), bytes);
  return std::all_of(content.begin(), content.end(), [value](unsigned char byte) { return byte == value; });
}

std::map<Address, hr::test::Segment>& segments() {
  static auto* all = new std::map<Address, hr::test::Segment>;
  return *all;
}

int export_chunk(Address address, int* descriptor) {
  static auto* retain = driver_function<int(unsigned long long*, void*)>("cuMemRetainAllocationHandle");
  static auto* get =
      driver_function<int(int*, unsigned long long, int, unsigned long long)>("cuMemExportToShareableHandle");
  static auto* release = driver_function<int(unsigned long long)>("cuMemRelease");
  unsigned long long handle = 0;
  if (const int result = retain(&handle, reinterpret_cast<void*>(address)); result != 0) return result;
  const int result = get(descriptor, handle, 1, 0);
  release(handle);
  return result;
}

void receive_all(int socket, void* to, std::size_t bytes, bool* closed) {
  *closed = ::recv(socket, to, bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes);
}

}  // namespace

Reply execute(const Request& request) {
  Reply reply;
  switch (request.what) {
    case What::kInit:
      reply.result = gpu::available() ? 0 : 100;
      reply.value = gpu::available() ? static_cast<std::uint64_t>(gpu::device_count()) : 0;
      break;
    case What::kSelect:
      gpu::select(request.device);
      break;
    case What::kAllocate: {
      static auto* allocate = driver_function<int(Address*, std::size_t)>("cuMemAlloc_v2");
      reply.result = allocate(&reply.address, request.bytes);
      break;
    }
    case What::kFree: {
      static auto* free = driver_function<int(Address)>("cuMemFree_v2");
      reply.result = free(request.address);
      break;
    }
    case What::kExport: {
      static auto* get = driver_function<int(Handle*, Address)>("cuIpcGetMemHandle");
      reply.result = get(&reply.handle, request.address);
      break;
    }
    case What::kOpen: {
      static auto* open = driver_function<int(Address*, Handle, unsigned)>("cuIpcOpenMemHandle_v2");
      reply.result = open(&reply.address, request.handle, kLazyEnablePeerAccess);
      break;
    }
    case What::kClose: {
      static auto* close = driver_function<int(Address)>("cuIpcCloseMemHandle");
      reply.result = close(request.address);
      break;
    }
    case What::kFill:
      gpu::fill(reinterpret_cast<void*>(request.address), request.value, request.bytes);
      break;
    case What::kCheck:
      reply.value = every_byte(request.address, request.bytes, request.value) ? 1 : 0;
      break;
    case What::kUsed: {
      static auto* info = driver_function<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2");
      std::size_t free = 0, total = 0;
      reply.result = info(&free, &total);
      reply.value = total - free;
      break;
    }
    case What::kUuid: {
      static auto* get = driver_function<int(Uuid*, int)>("cuDeviceGetUuid_v2");
      reply.result = get(&reply.uuid, request.device);
      break;
    }
    case What::kSetWord: {  // in the shared memory of descriptor `device`
      void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, request.device, 0);
      __atomic_store_n(static_cast<unsigned*>(memory), request.value, __ATOMIC_RELEASE);
      ::munmap(memory, 4096);
      break;
    }
    case What::kMapChunks: {
      const std::size_t chunks = request.bytes / hr::test::Segment::granularity();
      hr::test::Segment made = hr::test::Segment::full(chunks, request.value != 0);
      reply.address = reinterpret_cast<Address>(made.data());
      segments().emplace(reply.address, std::move(made));
      break;
    }
    case What::kUnmapChunks:
      segments().erase(request.address);
      break;
    case What::kExportChunk: {
      int descriptor = -1;
      reply.result = export_chunk(request.address, &descriptor);
      reply.value = static_cast<std::uint64_t>(::getpid()) << 32 | static_cast<unsigned>(descriptor);
      break;
    }
    case What::kCloseDescriptor:
      reply.result = ::close(request.device);
      break;
  }
  return reply;
}

int serve(int socket) {
  while (true) {
    Request request{};
    bool closed = false;
    receive_all(socket, &request, sizeof request, &closed);
    if (closed) return 0;
    const Reply reply = execute(request);
    if (::send(socket, &reply, sizeof reply, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof reply)) return 1;
  }
}

Remote::Remote(const std::vector<std::string>& environment, int kept) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  std::vector<std::string> variables = environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::string(*entry).find('=') + 1);
    const bool replaced = std::any_of(environment.begin(), environment.end(),
                                      [&](const std::string& own) { return own.rfind(name, 0) == 0; });
    if (!replaced) variables.push_back(*entry);
  }
  std::vector<char*> pointers;
  for (std::string& variable : variables) pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  std::string number = std::to_string(ends[1]);
  char name[] = "unit_cuda_ipc", option[] = "--remote";
  char* arguments[] = {name, option, number.data(), nullptr};
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    (void)::fcntl(ends[1], F_SETFD, 0);
    if (kept >= 0) (void)::fcntl(kept, F_SETFD, 0);
    ::execve("/proc/self/exe", arguments, pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

Remote::~Remote() {
  ::close(socket_);
  if (process_ > 0) (void)::waitpid(process_, nullptr, 0);
}

Reply Remote::ask(const Request& request) {
  Reply reply{};
  bool closed = true;
  if (::send(socket_, &request, sizeof request, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof request)) {
    receive_all(socket_, &reply, sizeof reply, &closed);
  }
  EXPECT_FALSE(closed) << "the other process has ended";
  return reply;
}

void Remote::kill() {
  ::kill(process_, SIGKILL);
  (void)::waitpid(process_, nullptr, 0);
  process_ = -1;
}

}  // namespace cuda_ipc
