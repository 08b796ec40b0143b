// Rules of HIP that the fake runtime must enforce, because a library that expects CUDA's rules would break them. Run
// with each version.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace {

void* library = nullptr;
int failures = 0;

template <class... Arguments>
int call(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library, name));
  return function == nullptr ? -1 : function(arguments...);
}

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "not so: %s\n", what);
  ++failures;
}

struct Attributes {
  int type, device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned flags;
};

// Returns true if a process that opens the runtime and does `work` is aborted.
template <class Work>
bool aborts(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    (void)std::freopen("/dev/null", "w", stderr);
    work();
    std::_Exit(0);
  }
  int status = 0;
  (void)::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

constexpr int kInvalidValue = 1, kBufferId = 7, kRangeSize = 12;

void pointers(int version) {
  Attributes attributes{};
  int here = 0;
  const int unknown = call("hipPointerGetAttributes", &attributes, static_cast<const void*>(&here));
  expect(unknown == (version < 6 ? kInvalidValue : 0), "host memory is an error in ROCm 5 alone");
  expect(version < 6 || attributes.type == 0, "host memory is unregistered from ROCm 6 on");
  void* memory = nullptr;
  expect(call("hipMalloc", &memory, std::size_t{100}) == 0, "hipMalloc");
  expect(call("hipPointerGetAttributes", &attributes, static_cast<const void*>(memory)) == 0 &&
             attributes.type == (version < 6 ? 1 : 2),
         "the type of device memory depends on the version");
  for (const int attribute : {kBufferId, kRangeSize}) {
    std::uint64_t value = ~std::uint64_t{0};
    expect(call("hipPointerGetAttribute", static_cast<void*>(&value), attribute, memory) == 0 &&
               value >> 32 == 0xffffffff && static_cast<std::uint32_t>(value) != 0xffffffff,
           "the attribute has 32 bits");
  }
  expect(call("hipFree", memory) == 0, "hipFree");
  expect(call("hipMalloc", &memory, std::size_t{0}) == 0 && memory == nullptr, "nothing is allocated as null");
}

void errors(int version) {
  expect(call("hipHostFree", static_cast<void*>(&version)) != 0, "freeing what is not there fails");
  int devices = 0;
  expect(call("hipGetDeviceCount", &devices) == 0, "hipGetDeviceCount");
  const int left = call("hipGetLastError");
  expect((left != 0) == (version >= 7), "an error stays until it is read from ROCm 7 on, else until the next call");
  expect(call("hipGetLastError") == 0, "reading the last error clears it");
}

void words() {
  void *plain = nullptr, *signal = nullptr;
  constexpr unsigned kSignalMemory = 2, kAtLeast = 0, kMask = ~0U;
  expect(call("hipMalloc", &plain, std::size_t{8}) == 0, "hipMalloc");
  expect(call("hipExtMallocWithFlags", &signal, std::size_t{16}, kSignalMemory) == kInvalidValue,
         "signal memory comes in pieces of 8 bytes");
  expect(call("hipExtMallocWithFlags", &signal, std::size_t{8}, kSignalMemory) == 0, "hipExtMallocWithFlags");
  auto* const word = static_cast<std::uint32_t*>(signal);
  expect(*word == 1, "signal memory begins as 1, and the host may read it");
  void* const stream = nullptr;
  expect(call("hipStreamWaitValue32", stream, plain, 1U, kAtLeast, kMask) == kInvalidValue,
         "a stream does not wait for a word in plain memory");
  expect(call("hipStreamWriteValue32", stream, signal, 1U, 0U) == 0, "a stream writes a word");
  expect(call("hipStreamWaitValue32", stream, signal, 1U, kAtLeast, kMask) == 0, "a stream waits for a signal");
  expect(call("hipStreamSynchronize", stream) == 0, "the wait ends");

  // Waits that have ended, and one that ends when the host writes.
  const auto write = [word](std::uint32_t value) { std::atomic_ref<std::uint32_t>(*word).store(value); };
  constexpr unsigned kNonBlocking = 1;
  constexpr int kNotReady = 600, kRelaxed = 2;
  void* own = nullptr;
  expect(call("hipStreamCreateWithFlags", &own, kNonBlocking) == 0, "hipStreamCreateWithFlags");
  write(0xfffffff0);
  expect(call("hipStreamWaitValue32", own, signal, 5U, kAtLeast, kMask) == 0 && call("hipStreamSynchronize", own) == 0,
         "a high number is at least a low one");
  write(0x105);
  expect(call("hipStreamWaitValue32", own, signal, 5U, kAtLeast, 0xffU) == 0 && call("hipStreamSynchronize", own) == 0,
         "bits outside the mask do not count");
  expect(call("hipStreamWaitValue32", own, signal, 0xfffffff0U, kAtLeast, kMask) == 0 &&
             call("hipStreamQuery", own) == kNotReady,
         "a low number is not at least a high one: numbers do not wrap around");
  write(0xfffffff1);
  expect(call("hipStreamSynchronize", own) == 0, "the host ends a wait");

  // The operations do not become part of a capture.
  void* graph = nullptr;
  void* executable = nullptr;
  expect(call("hipStreamBeginCapture", own, kRelaxed) == 0, "hipStreamBeginCapture");
  expect(call("hipStreamWriteValue32", own, signal, 7U, 0U) == 0 &&
             call("hipStreamWaitValue32", own, signal, 7U, kAtLeast, kMask) == 0,
         "operations in a capture are no error");
  while (std::atomic_ref<std::uint32_t>(*word).load() != 7) {
  }
  expect(call("hipStreamEndCapture", own, &graph) == 0, "they leave the capture valid");
  write(9);
  expect(call("hipGraphInstantiateWithFlags", &executable, graph, 0ULL) == 0 &&
             call("hipGraphLaunch", executable, own) == 0 && call("hipStreamSynchronize", own) == 0 && *word == 9,
         "the graph holds none of them");
  expect(call("hipGraphExecDestroy", executable) == 0 && call("hipGraphDestroy", graph) == 0 &&
             call("hipStreamDestroy", own) == 0,
         "destruction");
  expect(call("hipFree", plain) == 0 && call("hipFree", signal) == 0, "hipFree");
}

void streams(int version) {
  void* const legacy = reinterpret_cast<void*>(std::uintptr_t{1});
  expect((call("hipStreamSynchronize", legacy) == 0) == (version >= 6),
         "the default stream has a handle from ROCm 6 on");
}

void handles(int version) {
  unsigned char handle[64];
  struct Handle {
    unsigned char bytes[64];
  };
  void* memory = nullptr;
  expect(call("hipMalloc", &memory, std::size_t{100}) == 0, "hipMalloc");
  expect(call("hipIpcGetMemHandle", static_cast<void*>(handle), memory) == 0, "hipIpcGetMemHandle");
  Handle passed{};
  std::memcpy(passed.bytes, handle, sizeof handle);
  void* mapped = nullptr;
  expect(call("hipIpcOpenMemHandle", &mapped, passed, version < 6 ? 1U : 0U) == kInvalidValue,
         "the flag of another version is refused");
  expect(call("hipIpcOpenMemHandle", &mapped, passed, version < 6 ? 0U : 1U) != 0, "the exporter cannot open its own");
  expect(call("hipFree", memory) == 0, "hipFree");
}

std::size_t bytes_in_use() {
  std::size_t free = 0, total = 0;
  expect(call("hipMemGetInfo", &free, &total) == 0, "hipMemGetInfo");
  return total - free;
}

void exports(int version) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::size_t before = bytes_in_use();
  struct Handle {
    unsigned char bytes[64];
  } handle{};
  for (const bool exported : {false, true}) {
    void* memory = nullptr;
    expect(call("hipMalloc", &memory, kBytes) == 0, "hipMalloc");
    if (exported) expect(call("hipIpcGetMemHandle", &handle, memory) == 0, "hipIpcGetMemHandle");
    expect(call("hipFree", memory) == 0, "hipFree");
    expect(bytes_in_use() == before + (exported && version >= 700 ? kBytes : 0),
           "in ROCm 7, exported memory stays in use");
  }
}

struct Place {
  int type = 1, device = 0;
};
struct ChunkProperties {
  int type = 1, handle_type = 1;
  Place place;
  void* unused = nullptr;
  unsigned char flags[8] = {};
};

// A range with one chunk; `handle` has been released.
struct Chunk {
  static constexpr std::size_t kBytes = 1 << 16;
  Chunk() {
    const ChunkProperties properties;
    expect(call("hipMemCreate", &handle, kBytes, &properties, 0ULL) == 0, "hipMemCreate");
    expect(call("hipMemAddressReserve", &start, kBytes, std::size_t{0}, static_cast<void*>(nullptr), 0ULL) == 0,
           "hipMemAddressReserve");
    expect(call("hipMemMap", start, kBytes, std::size_t{0}, handle, 0ULL) == 0, "hipMemMap");
    expect(call("hipMemRelease", handle) == 0, "hipMemRelease");
  }
  void *start = nullptr, *handle = nullptr;
};

// The child of a process that has used the runtime may not use it, so each child here makes the first call itself.
void chunks(int version) {
  constexpr int kCounts = 712, kByValue = 701;
  if (version < 600) {
    const Chunk chunk;
    int descriptor = -1;
    expect(call("hipMemExportToShareableHandle", &descriptor, chunk.handle, 1, 0ULL) != 0, "ROCm 5 exports no chunks");
    return;
  }
  expect(aborts([] {
           void *memory = nullptr, *handle = nullptr;
           (void)call("hipMalloc", &memory, std::size_t{64});
           (void)call("hipMemRetainAllocationHandle", &handle, memory);
         }) == (version < kCounts),
         "asking for the chunk of other memory crashes before ROCm 7.12");
  expect(aborts([] {
           const Chunk chunk;
           void* handle = nullptr;
           (void)call("hipMemRetainAllocationHandle", &handle, chunk.start);
           (void)call("hipMemRelease", handle);
         }) == (version < kCounts),
         "a retained handle may be released from ROCm 7.12 on");
  const auto import = [](bool by_value) {
    const Chunk chunk;
    void *handle = nullptr, *imported = nullptr;
    int descriptor = -1;
    (void)call("hipMemRetainAllocationHandle", &handle, chunk.start);
    (void)call("hipMemExportToShareableHandle", &descriptor, handle, 1, 0ULL);
    void* const value = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
    if (call("hipMemImportFromShareableHandle", &imported, by_value ? value : &descriptor, 1) != 0) std::abort();
  };
  expect(aborts([&] { import(true); }) == (version < kByValue), "a descriptor is imported by value from ROCm 7.1 on");
  expect(aborts([&] { import(false); }) == (version >= kByValue), "a descriptor is imported by address before");
}

// A kernel stores elements in turn, and counts each in host memory.
void late_stores() {
  constexpr unsigned kCount = 1 << 23, kNonBlocking = 1, kFineGrained = 1;
  constexpr std::size_t kBytes = kCount * sizeof(std::uint32_t);
  std::string image = "__CLANG_OFFLOAD_BUNDLE__";
  image.append(sizeof(std::uint64_t), '\0').append("HRKERNELstreams").push_back('\0');
  void *module = nullptr, *function = nullptr, *kernels = nullptr, *copies = nullptr, *from = nullptr;
  expect(call("hipModuleLoadData", &module, static_cast<const void*>(image.data())) == 0 &&
             call("hipModuleGetFunction", &function, module, "streams_step") == 0 &&
             call("hipStreamCreateWithFlags", &kernels, kNonBlocking) == 0 &&
             call("hipStreamCreateWithFlags", &copies, kNonBlocking) == 0 && call("hipMalloc", &from, kBytes) == 0 &&
             call("hipMemset", from, 1, kBytes) == 0,
         "a kernel");
  for (const bool fine : {false, true}) {
    void *to = nullptr, *counts = nullptr;
    expect(call("hipExtMallocWithFlags", &to, kBytes, fine ? kFineGrained : 0U) == 0 &&
               call("hipHostMalloc", &counts, kBytes, 0U) == 0 && call("hipMemset", to, 0, kBytes) == 0,
           "memory");
    std::memset(counts, 0, kBytes);
    const auto* const count = static_cast<const std::uint32_t*>(counts);
    const auto counted = [&](unsigned i) {
      return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(count[i])).load() != 0;
    };
    unsigned all = kCount;
    void* arguments[] = {&to, &from, &counts, &all};
    expect(call("hipModuleLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, kernels, static_cast<void**>(arguments),
                static_cast<void**>(nullptr)) == 0,
           "hipModuleLaunchKernel");
    while (!counted(0)) {
    }
    std::uint32_t first = 2;
    expect(call("hipMemcpyAsync", static_cast<void*>(&first), to, sizeof first, 4, copies) == 0 &&
               call("hipStreamSynchronize", copies) == 0,
           "a copy beside the kernel");
    if (!counted(kCount - 1))
      expect((first != 0) == fine, "stores to coarse-grained memory are invisible while the kernel runs");
    expect(call("hipStreamSynchronize", kernels) == 0 &&
               call("hipMemcpy", static_cast<void*>(&first), to, sizeof first, 4) == 0 && first == 0x01010101,
           "stores are visible when the kernel has ended");
    expect(call("hipFree", to) == 0 && call("hipHostFree", counts) == 0, "hipFree");
  }
}

// Copies to pinned memory of each kind, with events of each kind behind them.
void non_coherent() {
  constexpr unsigned kNonBlocking = 1, kMapped = 2, kCoherent = 0x40000000, kNonCoherent = 0x80000000, kNoTiming = 2,
                     kToSystem = 0x80000000;
  constexpr std::size_t kBytes = 100000;
  const struct {
    unsigned memory, event;
    bool visible;
  } cases[] = {{0, kNoTiming, true},
               {kMapped | kCoherent, kNoTiming, true},
               {kMapped, kNoTiming, false},
               {kNonCoherent, kNoTiming, false},
               {kNonCoherent, kNoTiming | kToSystem, true}};
  void *from = nullptr, *stream = nullptr;
  expect(call("hipMalloc", &from, kBytes) == 0 && call("hipMemset", from, 7, kBytes) == 0 &&
             call("hipStreamCreateWithFlags", &stream, kNonBlocking) == 0,
         "memory and a stream");
  for (const auto& each : cases) {
    void *to = nullptr, *event = nullptr, *back = nullptr;
    expect(call("hipHostMalloc", &to, kBytes, each.memory) == 0 && call("hipMalloc", &back, kBytes) == 0 &&
               call("hipEventCreateWithFlags", &event, each.event) == 0,
           "pinned memory and an event");
    std::memset(to, 0, kBytes);
    const auto* const last = static_cast<const unsigned char*>(to) + kBytes - 1;
    expect(call("hipMemcpyAsync", to, from, kBytes, 4, stream) == 0 &&
               call("hipMemcpyAsync", back, to, kBytes, 4, stream) == 0 && call("hipEventRecord", event, stream) == 0 &&
               call("hipEventSynchronize", event) == 0,
           "a copy");
    expect((*last == 7) == each.visible,
           "stores to memory that is not coherent need an event that releases to system scope");
    expect(call("hipStreamSynchronize", stream) == 0 && *last == 7, "a wait for the stream makes stores visible");
    unsigned char seen = 0;
    void* const end = static_cast<unsigned char*>(back) + kBytes - 1;
    expect(call("hipMemcpy", static_cast<void*>(&seen), end, std::size_t{1}, 4) == 0 && seen == 7,
           "the device sees its own stores");
    std::memset(to, 5, kBytes);
    expect(call("hipMemcpyAsync", back, to, kBytes, 4, stream) == 0 && call("hipStreamSynchronize", stream) == 0 &&
               call("hipMemcpy", static_cast<void*>(&seen), end, std::size_t{1}, 4) == 0 && seen == 5,
           "the next operation sees what the host has stored");
    expect(call("hipEventDestroy", event) == 0 && call("hipHostFree", to) == 0 && call("hipFree", back) == 0,
           "freeing");
  }
  expect(call("hipStreamDestroy", stream) == 0 && call("hipFree", from) == 0, "freeing");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "7";
  const int version = std::atoi(name.c_str());
  const std::size_t dot = name.find('.');
  const int whole = 100 * version + (dot == std::string::npos ? 0 : std::atoi(name.c_str() + dot + 1));
  library = ::dlopen(("libamdhip64.so." + std::to_string(version)).c_str(), RTLD_NOW);
  if (library == nullptr) return 1;
  chunks(whole);  // before this process uses the runtime
  int number = 0;
  expect(call("hipRuntimeGetVersion", &number) == 0 && number / 10000000 == version, "the runtime is of this version");
  pointers(version);
  errors(version);
  words();
  streams(version);
  handles(version);
  exports(whole);
  late_stores();
  non_coherent();
  return failures == 0 ? 0 : 1;
}
