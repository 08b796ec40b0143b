#include "coll/shared/reduce_direct.hpp"

#include <algorithm>

namespace hr::coll::shared {
namespace {

constexpr Count kPieceBytes = 32768;

}  // namespace

Status combine_by_reading(const Call& call, const View& own) {
  const Count size = own.type->size();
  const Count elements = std::max<Count>(1, kPieceBytes / size);
  const Cut cut{contribution(call).count, call.size()};
  const Count begin = cut.begin(call.rank());
  TypedScratch scratch(std::min(elements, own.count), *own.type);
  for (Count done = 0; done < own.count; done += elements) {
    const View piece = slice(own, done, std::min(elements, own.count - done));
    const View read = slice(scratch.view(), 0, piece.count);
    for (int step = 1; step < call.size(); ++step) {
      const int from = (call.rank() + step) % call.size();
      const auto offset = static_cast<std::uint64_t>((begin + done) * size);
      HR_TRY(read_from(call, from, exposed_by(call, from).send + offset, read));
      HR_TRY(combine(call, read, piece));
    }
  }
  return kOk;
}

}  // namespace hr::coll::shared
