#include "common/memory.hpp"

#include <sys/mman.h>

#include <cstring>

#include "gpu.hpp"

namespace bench {
namespace {

struct Kind {
  MemoryKind kind;
  const char* name;
  gpu::Memory memory;  // kind of driver allocation; unused for host memory
};
constexpr Kind kKinds[] = {{MemoryKind::kHost, "host", {}},
                           {MemoryKind::kCuda, "cuda", gpu::Memory::kDevice},
                           {MemoryKind::kManaged, "managed", gpu::Memory::kManaged},
                           {MemoryKind::kPool, "pool", gpu::Memory::kPool},
                           {MemoryKind::kVmm, "vmm", gpu::Memory::kVmm},
                           {MemoryKind::kPinned, "pinned", gpu::Memory::kHostPinned},
                           {MemoryKind::kManagedOnHost, "managed-on-host", gpu::Memory::kManaged}};

const Kind& record(MemoryKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

// True if the CPU touches this memory, false if the GPU does.
bool by_cpu(MemoryKind kind) {
  return kind == MemoryKind::kHost || kind == MemoryKind::kPinned || kind == MemoryKind::kManagedOnHost;
}

}  // namespace

bool memory_kind(const std::string& name, MemoryKind& kind) {
  for (const Kind& candidate : kKinds) {
    if (name != candidate.name) continue;
    kind = candidate.kind;
    return true;
  }
  return false;
}

const char* memory_name(MemoryKind kind) { return record(kind).name; }

bool prepare_device(int local_rank, std::string& reason) {
  if (!gpu::available()) {
    reason = "no CUDA driver (libcuda.so.1) and no HIP runtime (libamdhip64.so) with a device here";
    return false;
  }
  gpu::select(local_rank);
  return true;
}

void Buffer::release() {
  if (data_ == nullptr) return;
  if (kind_ == MemoryKind::kHost) {
    munmap(data_, size_);
  } else {
    gpu::free(data_);
  }
  data_ = nullptr;
}

bool Buffer::allocate(MemoryKind kind, std::size_t bytes) {
  release();
  kind_ = kind;
  size_ = bytes == 0 ? 1 : bytes;
  if (kind == MemoryKind::kHost) {
    void* data = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    data_ = data == MAP_FAILED ? nullptr : data;
    return data_ != nullptr;
  }
  data_ = gpu::allocate(size_, record(kind).memory);
  if (by_cpu(kind_)) {
    std::memset(data_, 0, size_);
  } else {
    gpu::fill(data_, 0, size_);
  }
  return true;
}

void Buffer::write(const void* from, std::size_t bytes) {
  if (by_cpu(kind_)) {
    std::memcpy(data_, from, bytes);
  } else {
    gpu::copy(data_, from, bytes);
  }
}

void Buffer::read(void* to, std::size_t bytes) const {
  if (by_cpu(kind_)) {
    std::memcpy(to, data_, bytes);
  } else {
    gpu::copy(to, data_, bytes);
  }
}

}  // namespace bench
