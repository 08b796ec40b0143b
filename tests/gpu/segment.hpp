// Segment: a range of addresses that a program fills with chunks of memory and empties again (VMM), like frameworks
// with growing segments.
//
// Owner: RAII; its memory must not be in use when it is destroyed. Threads: the caller's context must be current.
#pragma once

#include <cstddef>
#include <vector>

#include "../../apps/common/gpu.hpp"

namespace hr::test {

class Segment {
 public:
  // Reserves space for `chunks` chunks, none of which is mapped. `exportable`: they may be passed to other processes.
  explicit Segment(std::size_t chunks, bool exportable = true) : mapped_(chunks, false) {
    properties_.type = 1;                       // CU_MEM_ALLOCATION_TYPE_PINNED
    properties_.location = {1, gpu::device()};  // CU_MEM_LOCATION_TYPE_DEVICE
    properties_.handle_types = exportable ? 1 : 0;
    chunk_bytes_ = granularity();
    GPU_CALL(cuMemAddressReserve, &base_, bytes(), std::size_t{0}, gpu::detail::DevicePointer{0}, 0ull);
  }
  // Creates a segment with all chunks mapped.
  static Segment full(std::size_t chunks, bool exportable = true) {
    Segment made(chunks, exportable);
    for (std::size_t i = 0; i < chunks; ++i) made.map(i);
    return made;
  }
  ~Segment() {
    if (mapped_.empty()) return;
    GPU_CALL(cuCtxSynchronize);
    for (std::size_t i = 0; i < mapped_.size(); ++i) unmap(i);
    GPU_CALL(cuMemAddressFree, base_, bytes());
  }
  Segment(Segment&& other) noexcept
      : properties_(other.properties_), base_(other.base_), chunk_bytes_(other.chunk_bytes_) {
    mapped_.swap(other.mapped_);
  }
  Segment& operator=(Segment&&) = delete;

  static std::size_t granularity() {
    gpu::detail::AllocationProperties properties{};
    properties.type = 1;
    properties.location = {1, gpu::device()};
    std::size_t bytes = 0;
    GPU_CALL(cuMemGetAllocationGranularity, &bytes, &properties, 0);
    return bytes;
  }

  // Maps new memory for a chunk that has none.
  void map(std::size_t i) { map(i, properties_.handle_types != 0, properties_.location.id); }
  // map() with other properties. `device`: owner of the memory, which this device must be able to access.
  void map(std::size_t i, bool exportable, int device) {
    gpu::detail::AllocationProperties properties = properties_;
    properties.handle_types = exportable ? 1 : 0;
    properties.location.id = device;
    unsigned long long handle = 0;
    GPU_CALL(cuMemCreate, &handle, chunk_bytes_, &properties, 0ull);
    GPU_CALL(cuMemMap, chunk(i), chunk_bytes_, std::size_t{0}, handle, 0ull);
    GPU_CALL(cuMemRelease, handle);  // the mapping keeps the memory
    const gpu::detail::AccessDescription access[] = {{properties.location, 3}, {properties_.location, 3}};
    GPU_CALL(cuMemSetAccess, chunk(i), chunk_bytes_, access, std::size_t{device == properties_.location.id ? 1U : 2U});
    mapped_[i] = true;
  }
  // Call it after waiting for work on the chunk.
  void unmap(std::size_t i) {
    if (mapped_[i]) GPU_CALL(cuMemUnmap, chunk(i), chunk_bytes_);
    mapped_[i] = false;
  }

  [[nodiscard]] unsigned char* data() const { return reinterpret_cast<unsigned char*>(base_); }
  [[nodiscard]] std::size_t chunk_bytes() const { return chunk_bytes_; }
  [[nodiscard]] std::size_t bytes() const { return mapped_.size() * chunk_bytes_; }

 private:
  [[nodiscard]] gpu::detail::DevicePointer chunk(std::size_t i) const { return base_ + i * chunk_bytes_; }

  gpu::detail::AllocationProperties properties_{};
  gpu::detail::DevicePointer base_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::vector<bool> mapped_;
};

}  // namespace hr::test
