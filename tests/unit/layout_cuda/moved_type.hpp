// Elements of a type in memory of any kind, with the expected content from the reference.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "device_memory.hpp"
#include "layout/view.hpp"
#include "random_type.hpp"

namespace hr::layout::test {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;

// Memory for `count` elements, with random content, guard bytes around them, and a copy on the host.
class Elements {
 public:
  Elements(const Made& made, Count count, MemoryKind kind, int device, std::uint64_t seed)
      : entries_(made.reference.elements(count)),
        content_(span_of(entries_, &low_)),
        memory_(content_.size(), kind, device),
        made_(&made),
        count_(count) {
    std::mt19937_64 random(seed);
    for (std::byte& byte : content_) byte = static_cast<std::byte>(random());
    memory_.write(content_);
  }

  // Makes a view of the elements, as an MPI call does. Managed memory may move between host and device with each
  // access, so its view must be made anew after an access; a view of any other memory stays valid.
  Status view(View* view) { return make_view(memory_.bytes() + origin(), count_, *made_->type, view); }
  [[nodiscard]] std::vector<std::byte> packed() const { return reference_pack(entries_, content_.data() + origin()); }
  // Updates the expected content: the given range of offsets in `packed` has arrived.
  void expect(const std::vector<std::byte>& packed, std::size_t begin, std::size_t end) {
    std::vector<std::byte> merged = this->packed();
    std::copy(packed.begin() + static_cast<std::ptrdiff_t>(begin), packed.begin() + static_cast<std::ptrdiff_t>(end),
              merged.begin() + static_cast<std::ptrdiff_t>(begin));
    reference_unpack(entries_, content_.data() + origin(), merged);
  }
  [[nodiscard]] bool as_expected() const { return memory_.read() == content_; }

 private:
  static constexpr Count kGuard = 64;
  static std::size_t span_of(const std::vector<Entry>& entries, Count* low) {
    Count high = 0;
    *low = 0;
    for (const Entry& entry : entries) {
      *low = std::min(*low, entry.displacement);
      high = std::max(high, entry.displacement + entry.type->size);
    }
    // The low end is a multiple of 16 before the origin, like the start of an allocation.
    *low = -((-*low + 15) / 16 * 16);
    return static_cast<std::size_t>(high - *low + 2 * kGuard);
  }
  [[nodiscard]] Count origin() const { return kGuard - low_; }

  std::vector<Entry> entries_;
  Count low_ = 0;
  std::vector<std::byte> content_;
  DeviceMemory memory_;
  const Made* made_;
  Count count_;
};

}  // namespace hr::layout::test
