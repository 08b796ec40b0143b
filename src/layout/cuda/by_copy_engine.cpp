#include "layout/cuda/by_copy_engine.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "mem/cuda/context.hpp"

namespace hr::layout::cuda {
namespace {

const mem::Location kHostMemory{};

// The elements [first, first + count) of a view, mirrored in host memory.
struct Mirror {
  std::byte* device = nullptr;  // lowest byte that they span
  std::size_t bytes = 0;
  View host;                    // the same elements in the mirror
};

void mirror_of(const View& view, Count first, Count count, std::byte* memory, Mirror* mirror) {
  const Datatype& type = *view.type;
  const Count reach = (count - 1) * type.extent();  // from the first element to the last
  std::byte* origin = view.address + first * type.extent();
  const Count low = type.true_lb() + std::min<Count>(reach, 0);
  mirror->device = origin + low;
  mirror->bytes = static_cast<std::size_t>(type.true_extent() + std::abs(reach));
  mirror->host = view;
  mirror->host.address = memory - low;
  mirror->host.count = count;
  mirror->host.packed = static_cast<std::size_t>(count * type.size());
  mirror->host.where = kHostMemory;
  mirror->host.contiguous = false;
}

// Elements that are mirrored at a time: as many as fit a staging piece, at least one.
Count group_of(const View& view) {
  const Datatype& type = *view.type;
  const Count piece = static_cast<Count>(mem::cuda::staging_piece());
  const Count distance = std::max<Count>(std::abs(type.extent()), 1);
  return std::max<Count>(1, (piece - type.true_extent()) / distance);
}

template <class Move>
Status for_each_group(const View& view, std::size_t offset, std::size_t bytes, const Move& move) {
  const auto size = static_cast<std::size_t>(view.type->size());
  const Count group = group_of(view);
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;
  for (std::size_t done = 0; done < bytes;) {
    const auto first = static_cast<Count>((offset + done) / size);
    const auto last = static_cast<Count>((offset + bytes + size - 1) / size);
    const Count count = std::min(group, last - first);
    Mirror mirror;
    mirror_of(view, first, count, nullptr, &mirror);
    if (mirror.bytes > capacity) {
      memory.reset(new (std::nothrow) std::byte[mirror.bytes]);
      if (memory == nullptr) return fail(Errc::kNoMem, "no host memory for the %zu bytes that a type spans", mirror.bytes);
      capacity = mirror.bytes;
    }
    mirror_of(view, first, count, memory.get(), &mirror);
    const std::size_t inside = offset + done - static_cast<std::size_t>(first) * size;
    const std::size_t length = std::min(bytes - done, mirror.host.packed - inside);
    HR_TRY(mem::copy(memory.get(), kHostMemory, mirror.device, view.where, mirror.bytes));
    HR_TRY(move(mirror, inside, length, done, memory.get()));
    done += length;
  }
  return kOk;
}

}  // namespace

Status pack_by_copy_engine(const View& from, std::size_t offset, std::size_t bytes, std::byte* to_host) {
  return for_each_group(from, offset, bytes,
                        [&](const Mirror& mirror, std::size_t inside, std::size_t length, std::size_t done, std::byte*) {
                          return layout::pack(mirror.host, inside, length, to_host + done);
                        });
}

Status unpack_by_copy_engine(const View& to, std::size_t offset, std::size_t bytes, const std::byte* from_host) {
  return for_each_group(
      to, offset, bytes,
      [&](const Mirror& mirror, std::size_t inside, std::size_t length, std::size_t done, std::byte* memory) {
        HR_TRY(layout::unpack(mirror.host, inside, length, from_host + done));
        return mem::copy(mirror.device, to.where, memory, kHostMemory, mirror.bytes);
      });
}

}  // namespace hr::layout::cuda
