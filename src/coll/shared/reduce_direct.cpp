#include "coll/shared/reduce_direct.hpp"

#include <algorithm>

namespace hr::coll::shared {
namespace {

// What stays in a core's cache with two operands; large enough for the cost of a system call.
constexpr Count kPieceBytes = 131072;

}  // namespace

Status combine_by_reading(const Call& call, const View& own, const View& result) {
  const Count size = own.type->size();
  const Count elements = std::max<Count>(1, kPieceBytes / size);
  const Cut cut{contribution(call).count, call.size()};
  const Count begin = cut.begin(call.rank());
  TypedScratch scratch(call.size() > 2 ? std::min(elements, own.count) : 0, *own.type);
  for (Count done = 0; done < own.count; done += elements) {
    const Count count = std::min(elements, own.count - done);
    const View piece = slice(result, done, count);
    const auto read = [&](int step, const View& to) {
      const int from = (call.rank() + step) % call.size();
      return read_from(call, from, exposed_by(call, from).send + static_cast<std::uint64_t>((begin + done) * size), to);
    };
    HR_TRY(read(1, piece));
    HR_TRY(combine(call, slice(own, done, count), piece));
    for (int step = 2; step < call.size(); ++step) {
      const View other = slice(scratch.view(), 0, count);
      HR_TRY(read(step, other));
      HR_TRY(combine(call, other, piece));
    }
  }
  return kOk;
}

}  // namespace hr::coll::shared
