#include "mem/hip/chunks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "mem/hip/runtime.hpp"

namespace hr::mem::hip {
namespace {

constexpr int kCountsReferences = 712;  // ROCm 7.12

// Lets this thread make calls for chunks while the program captures a stream, which some versions refuse otherwise.
class RelaxedCapture {
 public:
  RelaxedCapture() noexcept : changed_(exchange()) {}
  ~RelaxedCapture() {
    if (changed_) exchange();
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  bool exchange() noexcept {
    const auto function = runtime().hipThreadExchangeStreamCaptureMode;
    const QuietCalls quietly;
    return function != nullptr && quietly(function(&mode_)) == device::kSuccess;
  }

  static constexpr int kRelaxed = 2;
  int mode_ = kRelaxed;
  bool changed_;
};

// Runs `work` with the handle of the chunk at an address.
template <class Work>
Result with_chunk(DeviceAddress address, const Work& work) {
  const RelaxedCapture relaxed;
  const QuietCalls quietly;
  device::ChunkHandle chunk = 0;
  Result result = quietly(runtime().hipMemRetainAllocationHandle(&chunk, address));
  if (result != device::kSuccess) return result;
  result = work(chunk);
  if (runtime().version >= kCountsReferences) static_cast<void>(quietly(runtime().hipMemRelease(chunk)));
  return result;
}

// BothWays: a pointer to a descriptor. The lower half of the pointer, read as a number, is that descriptor as well, so
// that both forms of hipMemImportFromShareableHandle() find it.
class BothWays {
 public:
  explicit BothWays(int descriptor) noexcept {
    const auto number = static_cast<std::uintptr_t>(descriptor);
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    bytes_ = 2 * page;  // the descriptor may cross the end of the first page
    for (const Highs& highs : kHighs) {
      for (std::uintptr_t high = highs.first; high < highs.end; high += highs.step) {
        if (!map((high << 32) + number / page * page)) continue;
        pointer_ = static_cast<std::byte*>(memory_) + number % page;
        std::memcpy(pointer_, &descriptor, sizeof descriptor);
        return;
      }
    }
  }
  ~BothWays() { release(); }
  BothWays(const BothWays&) = delete;
  BothWays& operator=(const BothWays&) = delete;
  // Null if no suitable address was free.
  [[nodiscard]] void* get() const noexcept { return pointer_; }

 private:
  // Upper halves of addresses to try; user space ends at 0x7fff. The thread sanitizer leaves the first range to
  // programs, and keeps the second one for itself: it ends programs that try to map memory there.
  struct Highs {
    std::uintptr_t first, end, step;
  };
  static constexpr Highs kHighs[] = {{0x7e81, 0x7fe0, 0x11}, {0x2000, 0x7000, 0x101}};

  bool map(std::uintptr_t wanted) noexcept {
    void* const found = ::mmap(reinterpret_cast<void*>(wanted), bytes_, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (found == MAP_FAILED) return false;
    memory_ = found;
    if (reinterpret_cast<std::uintptr_t>(found) == wanted) return true;
    release();  // kernels before 4.17 take the address as a hint
    return false;
  }
  void release() noexcept {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
    memory_ = nullptr;
    pointer_ = nullptr;
  }

  void* memory_ = nullptr;
  std::byte* pointer_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace

bool has_chunks() noexcept {
  const Runtime& calls = runtime();
  return calls.major >= 6 && calls.hipMemGetAccess != nullptr && calls.hipMemRetainAllocationHandle != nullptr &&
         calls.hipMemGetAllocationPropertiesFromHandle != nullptr && calls.hipMemExportToShareableHandle != nullptr &&
         calls.hipMemImportFromShareableHandle != nullptr && calls.hipMemRelease != nullptr &&
         calls.hipMemAddressReserve != nullptr && calls.hipMemAddressFree != nullptr && calls.hipMemMap != nullptr &&
         calls.hipMemUnmap != nullptr && calls.hipMemSetAccess != nullptr;
}

bool is_chunk(DeviceAddress address, DeviceAddress start, int device) noexcept {
  constexpr int kExportable = 10;  // HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE
  const QuietCalls quietly;
  int answer = 1;
  if (quietly(runtime().hipPointerGetAttribute(&answer, kExportable, address)) == device::kSuccess) return answer == 0;
  // Versions in which this function does nothing leave the value as it is.
  constexpr auto kUnknown = ~0ull;
  unsigned long long access = kUnknown;
  const Place place{kPlaceDevice, device};
  const RelaxedCapture relaxed;
  return start != 0 && runtime().hipMemGetAccess != nullptr &&
         quietly(runtime().hipMemGetAccess(&access, &place, start)) == device::kSuccess && access != kUnknown;
}

unsigned long long handle_types_of_chunk(DeviceAddress address) noexcept {
  if (!has_chunks()) return 0;
  ChunkProperties properties;
  const Result result = with_chunk(address, [&](device::ChunkHandle chunk) {
    const QuietCalls quietly;
    return quietly(runtime().hipMemGetAllocationPropertiesFromHandle(&properties, chunk));
  });
  return result == device::kSuccess ? static_cast<unsigned>(properties.handle_types) : 0;
}

Result chunk_export(int* descriptor, DeviceAddress address) {
  return with_chunk(address, [&](device::ChunkHandle chunk) {
    const QuietCalls quietly;
    return quietly(runtime().hipMemExportToShareableHandle(descriptor, chunk, device::kHandleFileDescriptor, 0));
  });
}

Result chunk_import(device::ChunkHandle* handle, int descriptor) {
  const BothWays pointer(descriptor);
  if (pointer.get() == nullptr) return device::kOutOfMemory;
  const QuietCalls quietly;
  return quietly(runtime().hipMemImportFromShareableHandle(handle, pointer.get(), device::kHandleFileDescriptor));
}

}  // namespace hr::mem::hip
