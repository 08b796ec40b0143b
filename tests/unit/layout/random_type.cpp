#include "random_type.hpp"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/abi.hpp"
#include "layout/op.hpp"

namespace hr::layout::test {

std::uint64_t test_seed() {
  const char* text = std::getenv("HR_TEST_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : 20261121;
  std::printf("HR_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

Ref<Datatype> predefined(std::uintptr_t abi_value) { return Ref<Datatype>::share(predefined_type(abi_value)); }

Count RandomTypes::chosen(Count low, Count high) {
  const auto choices = static_cast<std::uint64_t>(high - low) + 1;
  std::uint64_t value = 0;
  for (std::uint64_t reach = 1; reach < choices && !choices_.empty(); reach <<= 8) {
    value = value << 8 | choices_.front();
    choices_ = choices_.subspan(1);
  }
  return low + static_cast<Count>(value % choices);
}

Made RandomTypes::basic() {
  constexpr std::uintptr_t kChoices[] = {abi::kByte,       abi::kChar,           abi::kShort,     abi::kInt,
                                         abi::kDouble,     abi::kFloat,          abi::kDoubleInt, abi::kShortInt,
                                         abi::kLongDouble, abi::kCDoubleComplex, abi::kInt64T,    abi::kReal2};
  const auto choice = static_cast<std::size_t>(number(0, static_cast<Count>(std::size(kChoices)) - 1));
  Made made;
  made.type = predefined(kChoices[choice]);
  made.reference = basic_reference(*made.type);
  made.how = made.type->name();
  return made;
}

Made RandomTypes::make(int depth, std::size_t most) {
  Made made = basic();
  for (int level = 0; level < depth; ++level) {
    made = number(0, 5) == 0 ? array(made) : derive(made, most);
    if (made.reference.entries.size() > most) return by_choices_ && choices_.empty() ? basic() : make(depth, most);
  }
  return made;
}

namespace {
std::string list(const std::vector<Count>& values) {
  std::string text = "{";
  for (const Count value : values) text += std::to_string(value) + ",";
  return text + "}";
}
}  // namespace

Made RandomTypes::array(const Made& old) {
  const auto ndims = static_cast<std::size_t>(number(1, 4));
  const int order = number(0, 1) == 0 ? abi::kOrderC : abi::kOrderFortran;
  std::vector<Count> sizes, subsizes, starts;
  for (std::size_t i = 0; i < ndims; ++i) {
    sizes.push_back(number(1, 4));
    subsizes.push_back(number(1, sizes.back()));
    starts.push_back(number(0, sizes.back() - subsizes.back()));
  }
  Made made;
  made.how = "subarray(" + list(sizes) + list(subsizes) + list(starts) + std::to_string(order) + ", " + old.how + ")";
  made.reference = subarray_reference(sizes, subsizes, starts, order, old.reference);
  EXPECT_OK(make_subarray(static_cast<int>(ndims), sizes.data(), subsizes.data(), starts.data(), order, *old.type,
                          CallForm::kLarge, &made.type));
  return made;
}

Made RandomTypes::derive(const Made& old, std::size_t most) {
  const Count n = number(0, 9) == 0 ? 0 : number(1, 6);
  const Count block = number(0, 9) == 0 ? 0 : number(1, 4);
  const Count extent = old.reference.extent();
  const CallForm form = CallForm::kLarge;
  Made made;
  std::vector<Count> blocks, displacements;
  std::vector<Reference> same(static_cast<std::size_t>(n), old.reference);
  // Displacements are mostly far enough apart to avoid overlapping blocks; otherwise they are arbitrary.
  const Count room = (number(0, 3) == 0 ? 1 : block) + number(0, 3);
  const auto fill = [&](Count unit, bool equal_blocks) {
    for (Count i = 0; i < n; ++i) {
      blocks.push_back(equal_blocks ? block : number(0, block));
      displacements.push_back((number(0, 4) == 0 ? number(-20, 20) : i * room + number(0, 1)) * unit);
    }
  };
  const auto scaled = [&](std::vector<Count> values) {
    for (Count& value : values) value *= extent;
    return values;
  };
  const auto kind = number(0, 9);
  switch (kind) {
    case 0:
      EXPECT_OK(make_contiguous(n, *old.type, form, &made.type));
      made.how = "contiguous(" + std::to_string(n);
      made.reference = struct_reference({n}, {0}, {old.reference});
      break;
    case 1:
    case 2: {
      const Count stride = number(0, 3) == 0 ? -room : room;
      for (Count i = 0; i < n; ++i) {
        blocks.push_back(block);
        displacements.push_back(i * stride * (kind == 1 ? extent : extent + 3));
      }
      if (kind == 1) {
        EXPECT_OK(make_vector(n, block, stride, *old.type, form, &made.type));
      } else {
        EXPECT_OK(make_hvector(n, block, stride * (extent + 3), *old.type, form, &made.type));
      }
      made.how = (kind == 1 ? "vector(" : "hvector(") + std::to_string(n) + "," + std::to_string(block) + "," +
                 std::to_string(stride);
      made.reference = struct_reference(blocks, displacements, same);
      break;
    }
    case 3:
      fill(1, false);
      EXPECT_OK(make_indexed(n, blocks.data(), displacements.data(), *old.type, form, &made.type));
      made.how = "indexed(" + list(blocks) + list(displacements);
      made.reference = struct_reference(blocks, scaled(displacements), same);
      break;
    case 4:
      fill(extent + 1, false);
      EXPECT_OK(make_hindexed(n, blocks.data(), displacements.data(), *old.type, form, &made.type));
      made.how = "hindexed(" + list(blocks) + list(displacements);
      made.reference = struct_reference(blocks, displacements, same);
      break;
    case 5:
      fill(1, true);
      EXPECT_OK(make_indexed_block(n, block, displacements.data(), *old.type, form, &made.type));
      made.how = "indexed_block(" + std::to_string(block) + list(displacements);
      made.reference = struct_reference(blocks, scaled(displacements), same);
      break;
    case 6:
      fill(extent + 2, true);
      EXPECT_OK(make_hindexed_block(n, block, displacements.data(), *old.type, form, &made.type));
      made.how = "hindexed_block(" + std::to_string(block) + list(displacements);
      made.reference = struct_reference(blocks, displacements, same);
      break;
    case 7: {
      std::vector<Made> parts;
      std::vector<Datatype*> types;
      std::vector<Reference> references;
      Count next = number(-8, 8);
      made.how = "struct(";
      for (Count i = 0; i < n; ++i) {
        parts.push_back(number(0, 1) == 0 ? old : make(static_cast<int>(number(0, 1)), most / 8));
        const Made& part = parts.back();
        types.push_back(part.type.get());
        references.push_back(part.reference);
        blocks.push_back(number(0, 3));
        displacements.push_back(next);
        next += number(0, 6) == 0 ? number(-40, 40) : part.reference.extent() * blocks.back() + number(0, 9);
        made.how += std::to_string(blocks.back()) + "@" + std::to_string(displacements.back()) + " " + part.how + "; ";
      }
      EXPECT_OK(make_struct(n, blocks.data(), displacements.data(), types, form, &made.type));
      made.reference = struct_reference(blocks, displacements, references);
      break;
    }
    case 8: {
      const Count lb = old.reference.lb() + number(-6, 2);
      const Count new_extent = old.reference.extent() + number(0, 16);
      EXPECT_OK(make_resized(*old.type, lb, new_extent, form, &made.type));
      made.how = "resized(" + std::to_string(lb) + "," + std::to_string(new_extent);
      made.reference = resized_reference(old.reference, lb, new_extent);
      break;
    }
    default:
      EXPECT_OK(make_dup(*old.type, &made.type));
      made.how = "dup(";
      made.reference = old.reference;
      break;
  }
  made.how += ", " + old.how + ")";
  return made;
}

}  // namespace hr::layout::test
