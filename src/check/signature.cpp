#include "check/signature.hpp"

#include <algorithm>

#include "base/abi.hpp"

namespace hr::check {
namespace {

using layout::Typemap;

constexpr std::uint64_t kModulus = (std::uint64_t{1} << 61) - 1;
constexpr std::uint64_t kBase = 1'000'003'579;

std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept {
  const auto product = static_cast<unsigned __int128>(a) * b;
  const auto sum = static_cast<std::uint64_t>(product & kModulus) + static_cast<std::uint64_t>(product >> 61);
  return sum >= kModulus ? sum - kModulus : sum;
}
std::uint64_t plus(std::uint64_t a, std::uint64_t b) noexcept { return (a + b) % kModulus; }

std::uint64_t power(std::uint64_t exponent) noexcept {
  std::uint64_t result = 1;
  for (std::uint64_t square = kBase; exponent != 0; exponent >>= 1, square = times(square, square)) {
    if ((exponent & 1) != 0) result = times(result, square);
  }
  return result;
}

Signature repeated(Signature once, std::uint64_t count) noexcept {
  Signature result;
  for (; count != 0; count >>= 1, once = followed_by(once, once)) {
    if ((count & 1) != 0) result = followed_by(result, once);
  }
  return result;
}

// The group distinguishes types with the same representation but different meanings: characters, bytes, integers.
Signature of_basic(const layout::BasicType& type) noexcept {
  using Group = layout::BasicGroup;
  const bool integer =
      type.group == Group::kCInteger || type.group == Group::kFortranInteger || type.group == Group::kMultiLanguage;
  const auto group = static_cast<std::uint64_t>(integer ? Group::kCInteger : type.group);
  const bool packed = type.abi == abi::kPacked;
  const bool character = type.group == Group::kNoGroup && type.size == 1;  // MPI_CHAR and MPI_CHARACTER
  const auto basic = static_cast<std::uint64_t>(character ? layout::Basic::kInt8 : type.basic);
  return {1, (basic << 8 | group) + 1, packed};
}

Signature of_map(const Typemap& map) {
  Signature result;
  switch (map.kind) {
    case Typemap::Kind::kEmpty:
      break;
    case Typemap::Kind::kLeaf:
      return of_basic(*map.uniform);
    case Typemap::Kind::kRepeat:
      return repeated(of_map(*map.children[0]), static_cast<std::uint64_t>(map.count));
    case Typemap::Kind::kSequence: {
      // Usually all parts have the same child.
      const bool same = map.children.size() == 1;
      const Signature child = same ? of_map(*map.children[0]) : Signature{};
      for (std::size_t part = 0; part < map.displacements.size(); ++part) {
        const Signature& each = same ? child : of_map(map.child(part));
        result = followed_by(result, repeated(each, static_cast<std::uint64_t>(map.repeat(part))));
      }
      break;
    }
  }
  return result;
}

// Returns the signature of the first `length` basic types of `count` copies of a map.
Signature first_of(const Typemap& map, std::uint64_t count, std::uint64_t length) {
  const auto each = static_cast<std::uint64_t>(map.leaves);
  if (each == 0 || length == 0) return {};
  const std::uint64_t whole = std::min(length / each, count);
  Signature result = repeated(of_map(map), whole);
  std::uint64_t left = whole == count ? 0 : length - whole * each;
  if (left == 0) return result;
  if (map.kind == Typemap::Kind::kRepeat)
    return followed_by(result, first_of(*map.children[0], static_cast<std::uint64_t>(map.count), left));
  for (std::size_t part = 0; part < map.displacements.size() && left != 0; ++part) {
    const Signature next = first_of(map.child(part), static_cast<std::uint64_t>(map.repeat(part)), left);
    left -= next.length;
    result = followed_by(result, next);
  }
  return result;
}

}  // namespace

Signature followed_by(const Signature& first, const Signature& second) noexcept {
  return {first.length + second.length, plus(first.hash, times(power(first.length), second.hash)),
          first.packed || second.packed};
}

Signature signature_of(const layout::Datatype& type, Count count) {
  return repeated(of_map(type.typemap()), static_cast<std::uint64_t>(count));
}

Signature prefix_of(const layout::Datatype& type, Count count, std::uint64_t length) {
  return first_of(type.typemap(), static_cast<std::uint64_t>(count), length);
}

std::string describe(const layout::Datatype& type, Count count) {
  std::string text = std::to_string(count) + " x ";
  if (!type.name().empty()) return text + type.name();
  if (type.uniform() != nullptr) return text + "a type of " + type.uniform()->name;
  return text + "a type of several basic types";
}

}  // namespace hr::check
