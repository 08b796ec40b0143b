#include "layout/external32.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "layout/elements.hpp"
#include "layout/reduce/scalars.hpp"

namespace hr::layout {
namespace {

// Data is converted in pieces of about this many bytes (at least one element).
constexpr Count kPiece = Count{1} << 18;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Copies words of `width` bytes, with their bytes reversed on little-endian machines.
void turn(const std::byte* from, std::byte* to, std::size_t words, std::size_t width) {
  if constexpr (std::endian::native == std::endian::big) {
    std::memcpy(to, from, words * width);
    return;
  }
  const auto loop = [&]<class T>(T (*swap)(T)) {
    for (std::size_t i = 0; i < words; ++i) store<T>(to + i * sizeof(T), swap(load<T>(from + i * sizeof(T))));
  };
  switch (width) {
    case 1:
      std::memcpy(to, from, words);
      break;
    case 2:
      loop(+[](std::uint16_t v) -> std::uint16_t { return __builtin_bswap16(v); });
      break;
    case 4:
      loop(+[](std::uint32_t v) -> std::uint32_t { return __builtin_bswap32(v); });
      break;
    case 8:
      loop(+[](std::uint64_t v) -> std::uint64_t { return __builtin_bswap64(v); });
      break;
    case 16:
      loop(+[](Uint128 v) -> Uint128 {
        return Uint128{__builtin_bswap64(static_cast<std::uint64_t>(v))} << 64 |
               __builtin_bswap64(static_cast<std::uint64_t>(v >> 64));
      });
      break;
    default:
      break;
  }
}

template <class Native, class External>
Status narrow(const BasicType& type, const std::byte* from, std::byte* to, Count n) {
  for (Count i = 0; i < n; ++i) {
    const Native value = load<Native>(from + i * static_cast<Count>(sizeof(Native)));
    const auto small = static_cast<External>(value);
    if (static_cast<Native>(small) != value) {
      return fail(Errc::kConversion, "a value of %s needs more than the %d bytes that it has in external32", type.name,
                  type.external32);
    }
    std::byte swapped[sizeof(External)];
    store(swapped, small);
    turn(swapped, to + i * static_cast<Count>(sizeof(External)), 1, sizeof(External));
  }
  return kOk;
}

template <class Native, class External>
void widen(const std::byte* from, std::byte* to, Count n) {
  for (Count i = 0; i < n; ++i) {
    std::byte swapped[sizeof(External)];
    turn(from + i * static_cast<Count>(sizeof(External)), swapped, 1, sizeof(External));
    store(to + i * static_cast<Count>(sizeof(Native)), static_cast<Native>(load<External>(swapped)));
  }
}

void quad_from_long_double(const std::byte* from, std::byte* to, Count n) {
  for (Count i = 0; i < n; ++i) {
    std::byte value[16];
    store(value, static_cast<Quad>(load<long double>(from + 16 * i)));
    turn(value, to + 16 * i, 1, 16);
  }
}

void long_double_from_quad(const std::byte* from, std::byte* to, Count n) {
  for (Count i = 0; i < n; ++i) {
    std::byte value[16];
    turn(from + 16 * i, value, 1, 16);
    const auto number = static_cast<long double>(load<Quad>(value));
    // In x86's format, the value takes ten bytes; the padding is set to zero, so that equal values have equal bytes.
    constexpr std::size_t kValueBytes = std::numeric_limits<long double>::digits == 64 ? 10 : 16;
    std::memset(to + 16 * i, 0, 16);
    std::memcpy(to + 16 * i, &number, kValueBytes);
  }
}

std::size_t word_of(const BasicType& type) {
  if (type.basic == Basic::kByte) return 1;
  return type.group == BasicGroup::kComplex ? type.size / 2U : type.size;
}

// Encodes `n` values of one predefined type, which are contiguous on both sides.
Status encode(const BasicType& type, const std::byte* from, std::byte* to, Count n) {
  if (type.basic == Basic::kFloat80) {
    quad_from_long_double(from, to, n);
  } else if (type.basic == Basic::kComplex80) {
    quad_from_long_double(from, to, 2 * n);
  } else if (type.basic == Basic::kWchar) {
    return narrow<std::uint32_t, std::uint16_t>(type, from, to, n);
  } else if (type.external32 == 4 && type.basic == Basic::kInt64) {
    return narrow<std::int64_t, std::int32_t>(type, from, to, n);
  } else if (type.external32 == 4 && type.basic == Basic::kUint64) {
    return narrow<std::uint64_t, std::uint32_t>(type, from, to, n);
  } else {
    const std::size_t word = word_of(type);
    turn(from, to, static_cast<std::size_t>(n) * type.size / word, word);
  }
  return kOk;
}

void decode(const BasicType& type, const std::byte* from, std::byte* to, Count n) {
  if (type.basic == Basic::kFloat80) {
    long_double_from_quad(from, to, n);
  } else if (type.basic == Basic::kComplex80) {
    long_double_from_quad(from, to, 2 * n);
  } else if (type.basic == Basic::kWchar) {
    widen<std::uint32_t, std::uint16_t>(from, to, n);
  } else if (type.external32 == 4 && type.basic == Basic::kInt64) {
    widen<std::int64_t, std::int32_t>(from, to, n);
  } else if (type.external32 == 4 && type.basic == Basic::kUint64) {
    widen<std::uint64_t, std::uint32_t>(from, to, n);
  } else {
    const std::size_t word = word_of(type);
    turn(from, to, static_cast<std::size_t>(n) * type.size / word, word);
  }
}

Count external32_size(const Typemap& map) noexcept {
  switch (map.kind) {
    case Typemap::Kind::kEmpty:
      return 0;
    case Typemap::Kind::kLeaf:
      return map.uniform->external32;
    case Typemap::Kind::kRepeat:
      return map.count * external32_size(*map.children[0]);
    case Typemap::Kind::kSequence: {
      if (map.leaves == 0) return 0;
      if (map.uniform != nullptr) return map.leaves * map.uniform->external32;
      Count size = 0;
      for (std::size_t part = 0; part < map.displacements.size(); ++part) {
        size += map.repeat(part) * external32_size(map.child(part));
      }
      return size;
    }
  }
  return 0;
}

// Moves complete elements through a buffer that holds them in the native representation.
class Pieces {
 public:
  explicit Pieces(const View& view)
      : view_(view), size_(view.type->size()), each_(size_ == 0 ? 0 : std::max<Count>(1, kPiece / size_)) {
    each_ = std::min(each_, view.count);
    buffer_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(each_ * size_)]);
  }

  // Calls convert(const BasicType&, native, n) for every sequence of equal basic types, and before(offset, bytes,
  // buffer) and after(...) around each piece; one of the two moves the piece to or from the view.
  template <class Before, class Convert, class After>
  Status run(Before&& before, Convert&& convert, After&& after) {
    if (buffer_ == nullptr) {
      return fail(Errc::kNoMem, "no memory for %lld bytes to convert external32 in",
                  static_cast<long long>(each_ * size_));
    }
    const BasicType* uniform = view_.type->uniform();
    for (Count done = 0; done < view_.count && size_ > 0; done += each_) {
      const Count n = std::min(each_, view_.count - done);
      const auto offset = static_cast<std::size_t>(done * size_);
      const auto bytes = static_cast<std::size_t>(n * size_);
      HR_TRY(before(offset, bytes, buffer_.get()));
      std::byte* native = buffer_.get();
      if (uniform != nullptr) {
        HR_TRY(convert(*uniform, native, n * view_.type->typemap().leaves));
      } else {
        Status status;
        for (Count i = 0; i < n; ++i) {
          for_each_leaf(view_.type->typemap(), 0, [&](const LeafRun& leaf) {
            if (status.ok()) status = convert(*leaf.type, native, leaf.count);
            native += leaf.count * leaf.type->size;
          });
        }
        HR_TRY(status);
      }
      HR_TRY(after(offset, bytes, buffer_.get()));
    }
    return kOk;
  }

 private:
  const View& view_;
  Count size_;
  Count each_;
  std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace

Count external32_size(const Datatype& type) noexcept { return external32_size(type.typemap()); }

Status pack_external32(const View& from, std::byte* to) {
  return Pieces(from).run(
      [&](std::size_t offset, std::size_t bytes, std::byte* native) { return pack(from, offset, bytes, native); },
      [&](const BasicType& type, const std::byte* native, Count n) {
        std::byte* external = to;
        to += n * type.external32;
        return encode(type, native, external, n);
      },
      [](std::size_t, std::size_t, std::byte*) { return kOk; });
}

Status unpack_external32(const View& to, const std::byte* from) {
  return Pieces(to).run(
      [](std::size_t, std::size_t, std::byte*) { return kOk; },
      [&](const BasicType& type, std::byte* native, Count n) {
        decode(type, from, native, n);
        from += n * type.external32;
        return kOk;
      },
      [&](std::size_t offset, std::size_t bytes, std::byte* native) { return unpack(to, offset, bytes, native); });
}

}  // namespace hr::layout
