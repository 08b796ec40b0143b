#include "p2p/partition_marks.hpp"

#include <cstdlib>
#include <cstring>
#include <span>

#include "mem/cuda/program_state.hpp"

namespace hr::p2p {
namespace {

constexpr std::size_t kPage = 65536;  // of any machine

}  // namespace

void PartitionMarks::Free::operator()(unsigned* words) const noexcept { std::free(words); }

Status PartitionMarks::create(int partitions, const layout::View& data) {
  bytes_ = (static_cast<std::size_t>(partitions) * sizeof(unsigned) / kPage + 1) * kPage;
  words_.reset(static_cast<unsigned*>(std::aligned_alloc(kPage, bytes_)));
  if (words_ == nullptr) return fail(Errc::kNoMem, "no memory for the marks of %d partitions", partitions);
  clear();
  mem::Location where = data.where;
  if (where.device < 0) where.device = static_cast<std::int16_t>(mem::cuda::first_device_in_use());
  if (where.device < 0) return kOk;
  mem::cuda::Context* context = nullptr;
  HR_TRY(mem::cuda::Context::of(where, &context));
  const mem::cuda::Current current(*context);
  HR_TRY(current.status());
  return pinned_.pin(*context, {reinterpret_cast<std::byte*>(words_.get()), bytes_});
}

void PartitionMarks::clear() noexcept { std::memset(words_.get(), 0, bytes_); }

unsigned* PartitionMarks::device() const noexcept {
  return pinned_.address() != 0 ? reinterpret_cast<unsigned*>(pinned_.address()) : words_.get();
}

}  // namespace hr::p2p
