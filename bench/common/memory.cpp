#include "common/memory.hpp"

#include <sys/mman.h>

#include <cstring>

#include "gpu.hpp"

namespace bench {

bool memory_kind(const std::string& name, MemoryKind& kind) {
  for (const MemoryKind candidate : {MemoryKind::kHost, MemoryKind::kCuda, MemoryKind::kManaged}) {
    if (name == memory_name(candidate)) {
      kind = candidate;
      return true;
    }
  }
  return false;
}

const char* memory_name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kHost:
      return "host";
    case MemoryKind::kCuda:
      return "cuda";
    case MemoryKind::kManaged:
      return "managed";
  }
  return "?";
}

bool prepare_memory(MemoryKind kind, int local_rank, std::string& reason) {
  if (kind == MemoryKind::kHost) return true;
  if (!gpu::available()) {
    reason = "no CUDA driver (libcuda.so.1) with a device here";
    return false;
  }
  gpu::select(local_rank);
  return true;
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  if (kind_ == MemoryKind::kHost) {
    munmap(data_, size_);
  } else {
    gpu::free(data_);
  }
}

bool Buffer::allocate(MemoryKind kind, std::size_t bytes) {
  kind_ = kind;
  size_ = bytes == 0 ? 1 : bytes;
  if (kind == MemoryKind::kHost) {
    void* data = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    data_ = data == MAP_FAILED ? nullptr : data;
    return data_ != nullptr;
  }
  data_ = gpu::allocate(size_, kind == MemoryKind::kCuda ? gpu::Memory::kDevice : gpu::Memory::kManaged);
  gpu::fill(data_, 0, size_);
  return true;
}

void Buffer::write(const void* from, std::size_t bytes) {
  if (kind_ == MemoryKind::kHost) {
    std::memcpy(data_, from, bytes);
  } else {
    gpu::copy(data_, from, bytes);
  }
}

void Buffer::read(void* to, std::size_t bytes) const {
  if (kind_ == MemoryKind::kHost) {
    std::memcpy(to, data_, bytes);
  } else {
    gpu::copy(to, data_, bytes);
  }
}

}  // namespace bench
