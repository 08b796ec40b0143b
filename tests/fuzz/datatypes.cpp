// Compares datatype constructors with typemaps written out entry by entry (tests/unit/layout/reference.hpp). Compares
// results for arguments at the limits of a count with 128-bit sums.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/abi.hpp"
#include "driver.hpp"
#include "layout/view.hpp"
#include "random_type.hpp"

namespace {

using namespace hr::layout;
using namespace hr::layout::test;
using hr::Count;
using hr::fuzz::check;
using Wide = __int128;

const bool ends_at_first_failure = [] { return testing::GTEST_FLAG(break_on_failure) = true; }();

constexpr std::size_t kMostEntries = 400;

Made array_of_ranks(RandomTypes& choose, const Made& old) {
  const auto ndims = static_cast<std::size_t>(choose.number(1, 3));
  std::vector<Count> sizes;
  std::vector<int> distributions, arguments, processes;
  int ranks = 1;
  for (std::size_t i = 0; i < ndims; ++i) {
    constexpr int kKinds[] = {hr::abi::kDistributeBlock, hr::abi::kDistributeCyclic, hr::abi::kDistributeNone};
    const int kind = kKinds[choose.number(0, 2)];
    sizes.push_back(choose.number(1, 7));
    distributions.push_back(kind);
    processes.push_back(kind == hr::abi::kDistributeNone ? 1 : static_cast<int>(choose.number(1, 3)));
    const auto least = (sizes.back() + processes.back() - 1) / processes.back();  // a block that holds all
    const bool plain = kind == hr::abi::kDistributeNone || choose.number(0, 1) == 0;
    arguments.push_back(plain ? hr::abi::kDistributeDfltDarg
                              : static_cast<int>(kind == hr::abi::kDistributeBlock ? least : choose.number(1, 3)));
    ranks *= processes.back();
  }
  const int rank = static_cast<int>(choose.number(0, ranks - 1));
  const int order = choose.number(0, 1) == 0 ? hr::abi::kOrderC : hr::abi::kOrderFortran;
  Made made;
  made.how = "darray(rank " + std::to_string(rank) + ", " + old.how + ")";
  made.reference = darray_reference(rank, sizes, distributions, arguments, processes, order, old.reference);
  EXPECT_OK(make_darray(ranks, rank, static_cast<int>(ndims), sizes.data(), distributions.data(), arguments.data(),
                        processes.data(), order, *old.type, CallForm::kLarge, &made.type));
  return made;
}

void compare(const Made& made, Count count) {
  const Reference& reference = made.reference;
  check(made.type->size() == reference.size(), "size of " + made.how);
  if (reference.entries.empty()) return;
  check(made.type->lb() == reference.lb() && made.type->extent() == reference.extent(), "bounds of " + made.how);
  check(made.type->true_lb() == reference.true_lb(), "true lower bound of " + made.how);
  check(made.type->true_lb() + made.type->true_extent() == reference.true_ub(), "true extent of " + made.how);
  if (!made.type->commit().ok()) check(false, "commit of " + made.how);

  const std::vector<Entry> entries = reference.elements(count);
  if (entries.empty()) return;
  Count low = std::numeric_limits<Count>::max(), high = std::numeric_limits<Count>::min();
  for (const Entry& entry : entries) {
    low = std::min(low, entry.displacement);
    high = std::max(high, entry.displacement + entry.type->size);
  }
  std::vector<std::byte> memory(static_cast<std::size_t>(high - low));
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 + 1);
  View view;
  check(make_view(memory.data() - low, count, *made.type, &view).ok(), "view of " + made.how);
  std::vector<std::byte> packed(view.packed);
  check(pack(view, 0, packed.size(), packed.data()).ok(), "packing of " + made.how);
  check(packed == reference_pack(entries, memory.data() - low), "packed bytes of " + made.how);
  // In two pieces, divided anywhere, into memory with other content.
  if (!reference.disjoint(count)) return;
  std::vector<std::byte> back(memory.size(), std::byte{0xee}), wanted = back;
  check(make_view(back.data() - low, count, *made.type, &view).ok(), "view of " + made.how);
  const std::size_t cut = packed.size() / 3;
  check(unpack(view, cut, packed.size() - cut, packed.data() + cut).ok(), "unpacking of " + made.how);
  check(unpack(view, 0, cut, packed.data()).ok(), "unpacking of " + made.how);
  reference_unpack(entries, wanted.data() - low, packed);
  check(back == wanted, "what is unpacked, or what lies between, of " + made.how);
}

// Uses counts and strides as large as possible: no bound may wrap around.
void at_the_ends(RandomTypes& choose, const Made& old) {
  constexpr Count kMost = std::numeric_limits<Count>::max(), kLeast = std::numeric_limits<Count>::min();
  const auto value = [&](bool negative) -> Count {
    const Count shift = choose.number(0, 62);
    const Count near = (Count{1} << shift) + choose.number(-2, 2);
    switch (choose.number(0, negative ? 3 : 1)) {
      case 0:
        return std::max<Count>(near, 0);
      case 1:
        return kMost - choose.number(0, 3);
      case 2:
        return -near;
      default:
        return kLeast + choose.number(0, 3);
    }
  };
  const Datatype& type = *old.type;
  const Count count = value(false), block = value(false), stride = value(true);
  const bool bytes = choose.number(0, 1) == 1;
  hr::Ref<Datatype> made;
  const bool ok = (bytes ? make_hvector(count, block, stride, *old.type, CallForm::kLarge, &made)
                         : make_vector(count, block, stride, *old.type, CallForm::kLarge, &made))
                      .ok();
  if (!ok) (void)hr::take_detail();
  if (ok) check(made->size() >= 0, "a size below nothing: vector of " + old.how);
  if (count == 0 || block == 0 || type.size() == 0) return;
  // The four corners determine the bounds.
  const auto limit = [](Wide number) { return number > Wide{kMost} * 4 || number < Wide{kLeast} * 4; };
  const Wide step = Wide{stride} * (bytes ? 1 : type.extent());
  const bool step_fits = step <= kMost && step >= kLeast;
  long double size =
      static_cast<long double>(type.size()) * static_cast<long double>(count) * static_cast<long double>(block);
  if (size > 9.3e18L) return check(!ok, "a size that does not fit is no error: vector of " + old.how);
  const Wide last = step_fits ? Wide{count - 1} * step : 0, across = Wide{block - 1} * type.extent();
  const Wide low = std::min<Wide>(last, 0) + std::min<Wide>(across, 0) + type.true_lb();
  const Wide high = std::max<Wide>(last, 0) + std::max<Wide>(across, 0) + type.true_lb() + type.true_extent();
  if (!step_fits || limit(low) || limit(high) || low < kLeast || high > kMost) {
    if (count > 1 || step_fits) check(!ok, "bounds that do not fit are no error: vector of " + old.how);
  } else if (ok) {
    check(made->true_lb() == static_cast<Count>(low), "true lower bound of a large vector of " + old.how);
    check(made->true_lb() + made->true_extent() == static_cast<Count>(high),
          "true extent of a large vector of " + old.how);
    check(made->size() == type.size() * count * block, "size of a large vector of " + old.how);
  } else {
    const Wide room = Wide{1} << 61;
    check(low < -room || high > room || size > 2.3e18L, "a vector that fits is an error: of " + old.how);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  RandomTypes choose(std::span<const std::uint8_t>(data, size));
  const Count count = choose.number(0, 3);
  Made made = choose.make(static_cast<int>(choose.number(0, 4)), kMostEntries);
  compare(made, count);
  if (made.reference.entries.size() < 20) compare(array_of_ranks(choose, made), count);
  at_the_ends(choose, made);
  return 0;
}
