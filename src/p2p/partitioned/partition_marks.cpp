#include "p2p/partitioned/partition_marks.hpp"

#include <algorithm>
#include <cstring>

#include "layout/device/chunk_copy.hpp"
#include "mem/device/program_state.hpp"

namespace hr::p2p {

Status PartitionMarks::create(int partitions, const layout::View& data) {
  bytes_ = whole_pages(std::max(static_cast<std::size_t>(partitions), std::size_t{1}) * sizeof(unsigned));
  words_ = take_pages(bytes_);
  if (words_ == nullptr) return fail(Errc::kNoMem, "no memory for the marks of %d partitions", partitions);
  layout::View on_device = data;
  if (data.where.device < 0) {
    int device = mem::device::first_device_in_use();
    if (device < 0) device = mem::device::current_device();
    if (device < 0) return kOk;
    on_device.where.device = static_cast<std::int16_t>(device);
  }
  return layout::device::pin(on_device, {words_.get(), bytes_}, &pinned_);
}

void PartitionMarks::clear() noexcept { std::memset(words_.get(), 0, bytes_); }

unsigned* PartitionMarks::device() const noexcept {
  return pinned_.address() != 0 ? reinterpret_cast<unsigned*>(pinned_.address()) : host();
}

}  // namespace hr::p2p
