// Rules of HIP that the fake runtime must enforce, because a library that expects CUDA's rules would break them. Run
// with each version.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

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
  void* const stream = nullptr;
  expect(call("hipStreamWaitValue32", stream, plain, 1U, kAtLeast, kMask) == kInvalidValue,
         "a stream does not wait for a word in plain memory");
  expect(call("hipStreamWriteValue32", stream, signal, 1U, 0U) == 0, "a stream writes a word");
  expect(call("hipStreamWaitValue32", stream, signal, 1U, kAtLeast, kMask) == 0, "a stream waits for a signal");
  expect(call("hipStreamSynchronize", stream) == 0, "the wait ends");
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

}  // namespace

int main(int argc, char** argv) {
  const int version = argc > 1 ? std::atoi(argv[1]) : 7;
  char name[32];
  std::snprintf(name, sizeof name, "libamdhip64.so.%d", version);
  library = ::dlopen(name, RTLD_NOW);
  int number = 0;
  expect(library != nullptr && call("hipRuntimeGetVersion", &number) == 0 && number / 10000000 == version,
         "the runtime is of this version");
  if (library == nullptr) return 1;
  pointers(version);
  errors(version);
  words();
  streams(version);
  handles(version);
  return failures == 0 ? 0 : 1;
}
