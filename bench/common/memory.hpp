// Buffers of all memory kinds that a benchmark can send from and receive into.
//
// A Buffer owns its allocation and releases it in its destructor. All kinds but host are allocated with the CUDA
// driver, opened at run time (apps/common/gpu.hpp); without a driver, the programs still run on the host. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <string>

namespace bench {

enum class MemoryKind {
  kHost,
  kCuda,          // cuMemAlloc
  kManaged,       // cuMemAllocManaged, touched by the GPU
  kPool,          // cuMemAllocAsync
  kVmm,           // cuMemCreate, several chunks mapped to one address range
  kPinned,        // cuMemHostAlloc
  kManagedOnHost  // cuMemAllocManaged, touched by the CPU
};
inline constexpr char kMemoryKinds[] = "host, cuda, managed, pool, vmm, pinned or managed-on-host";

[[nodiscard]] bool memory_kind(const std::string& name, MemoryKind& kind);
const char* memory_name(MemoryKind kind);

// Makes this rank's GPU (local rank modulo the number of devices) current. Returns false, with the reason, if there is
// none. Must be called before a Buffer of any kind but host is allocated.
[[nodiscard]] bool prepare_device(int local_rank, std::string& reason);

class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { release(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Allocates zeroed, page-aligned memory and releases the buffer's old memory. Returns false if there is no host
  // memory; a failed driver call ends the program.
  [[nodiscard]] bool allocate(MemoryKind kind, std::size_t bytes);
  void* data() const { return data_; }
  std::size_t size() const { return size_; }

  void write(const void* from, std::size_t bytes);  // copies from host memory; complete on return
  void read(void* to, std::size_t bytes) const;     // copies to host memory; complete on return

 private:
  void release();

  MemoryKind kind_ = MemoryKind::kHost;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bench
