#include "layout/device/copy_batch.hpp"

#include <algorithm>
#include <utility>

#include "base/statistics.hpp"

namespace hr::layout::device {
namespace {

constexpr const char* kKernel = "hr_copy_batch";

}  // namespace

Status CopyBatch::add(const SideShape& from, const SideShape& to, std::size_t bytes) {
  if (bytes == 0) return kOk;
  batch_.pieces[count_++] = copy_arguments(from, to, 0, bytes);
  return count_ == kernels::kCopyBatch ? launch() : kOk;
}

Status CopyBatch::launch() {
  if (count_ == 0) return kOk;
  mem::device::FunctionHandle function = nullptr;
  HR_TRY(context_.kernel(kKernel, &function));
  if (function == nullptr) {
    return fail(Errc::kUnsupportedOperation, "the library has no kernels for device %d", context_.device());
  }
  std::uint64_t wanted = 0;
  for (unsigned i = 0; i < count_; ++i) wanted += batch_.pieces[i].blocks;
  const std::uint64_t most = copy_blocks(context_);
  unsigned blocks = 0;
  for (unsigned i = 0; i < count_; ++i) {
    std::uint32_t& share = batch_.pieces[i].blocks;
    if (wanted > most) share = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, share * most / wanted));
    blocks += share;
  }
  const unsigned pieces = std::exchange(count_, 0);
  void* parameters[] = {&batch_};
  HR_DEVICE(context_.device(), launch,
            (function, blocks, 1, 1, kernels::kCopyThreads, 1, 1, 0, stream_, parameters, nullptr),
            "kernel %s, %u pieces", kKernel, pieces);
  hr::add(Statistic::device_copy_launches);
  return kOk;
}

}  // namespace hr::layout::device
