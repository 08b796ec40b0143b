// external32: any type, any values, any external bytes. Values with the same width as in memory are compared byte by
// byte in reverse order; unpacking and repacking yields the same bytes, or an error.
#include "layout/external32.hpp"

#include <algorithm>
#include <cstring>

#include "base/abi.hpp"
#include "driver.hpp"
#include "random_type.hpp"

namespace {

using namespace hr::layout;
using namespace hr::layout::test;
using hr::Count;
using hr::fuzz::check;

const bool ends_at_first_failure = [] { return testing::GTEST_FLAG(break_on_failure) = true; }();

// Returns the size of one number in a value: a complex value has two.
std::size_t width_of(const BasicType& type) { return type.group == BasicGroup::kComplex ? type.size / 2U : type.size; }

// Writes one entry in external32; false if that takes more than reversing bytes.
bool external(const Entry& entry, const std::byte* origin, std::byte* to) {
  const BasicType& type = *entry.type;
  if (type.size != type.external32 || type.basic == Basic::kFloat80 || type.basic == Basic::kComplex80) return false;
  const std::size_t width = type.basic == Basic::kByte ? 1 : width_of(type);
  for (std::size_t at = 0; at < type.size; at += width) {
    std::reverse_copy(origin + entry.displacement + at, origin + entry.displacement + at + width, to + at);
  }
  return true;
}

}  // namespace

// The first half of the input determines the type, the rest contains the values.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  RandomTypes choose(std::span<const std::uint8_t>(data, size / 2));
  const Count count = choose.number(0, 3);
  const Made made = choose.make(static_cast<int>(choose.number(0, 3)), 100);
  if (!made.reference.disjoint(count)) return 0;
  if (!made.type->commit().ok()) check(false, "commit of " + made.how);
  const std::vector<Entry> entries = made.reference.elements(count);
  const auto [low, high] = reach(entries);
  Count bytes = 0;
  for (const Entry& entry : entries) bytes += entry.type->external32;
  check(external32_size(*made.type) * count == bytes, "size in external32 of " + made.how);
  std::vector<std::byte> memory(static_cast<std::size_t>(high - low)), packed(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0, at = size / 2; i < memory.size() && size > 0; ++i, at = at + 1 < size ? at + 1 : size / 2) {
    memory[i] = static_cast<std::byte>(data[at]);
  }
  View view;
  check(make_view(memory.data() - low, count, *made.type, &view).ok(), "view of " + made.how);
  if (pack_external32(view, packed.data()).ok()) {
    std::byte* at = packed.data();
    std::byte wanted[64];
    for (const Entry& entry : entries) {
      if (external(entry, memory.data() - low, wanted)) {
        check(std::memcmp(at, wanted, entry.type->external32) == 0, "bytes in external32 of " + made.how);
      }
      at += entry.type->external32;
    }
  } else {
    (void)hr::take_detail();
  }
  // The other direction: a file may contain any bytes.
  for (std::size_t i = 0; i < packed.size() && size > 0; ++i) packed[i] = static_cast<std::byte>(data[i % size]);
  std::vector<std::byte> again(packed.size());
  if (!unpack_external32(view, packed.data()).ok()) {
    (void)hr::take_detail();
  } else if (pack_external32(view, again.data()).ok()) {
    check(unpack_external32(view, again.data()).ok(), "what was packed cannot be unpacked: " + made.how);
  } else {
    (void)hr::take_detail();
  }
  return 0;
}
