#include "layout/host/moves.hpp"

#include "layout/host/moves_sets.hpp"

namespace hr::layout::host {
namespace {

struct Sets {
  const Moves* list[3] = {};
  std::size_t size = 0;

  Sets() noexcept {
    list[size++] = &kPlainMoves;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") != 0) list[size++] = &kAvx2Moves;
    // VBMI marks the first generation on which 64-byte vectors do not slow the core down.
    if (__builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
        __builtin_cpu_supports("avx512vbmi") != 0) {
      list[size++] = &kAvx512Moves;
    }
#endif
  }
};

const Sets& sets() noexcept {
  static const Sets instance;
  return instance;
}

RunClass class_of(std::size_t length, std::size_t long_run) noexcept {
  switch (length) {
    case 1:
      return kRun1;
    case 2:
      return kRun2;
    case 3:
      return kRun3;
    case 4:
      return kRun4;
    case 8:
      return kRun8;
    case 12:
      return kRun12;
    case 16:
      return kRun16;
    case 24:
      return kRun24;
    case 32:
      return kRun32;
    case 40:
      return kRun40;
    case 48:
      return kRun48;
    case 64:
      return kRun64;
    case 96:
      return kRun96;
    case 128:
      return kRun128;
    default:
      break;
  }
  if (length < 8) return kRun5To7;
  if (length < 16) return kRun9To15;
  if (length < 32) return kRun17To31;
  if (length < 64) return kRun33To63;
  if (length < 128) return kRun65To127;
  return length < long_run ? kRunMedium : kRunLong;
}

}  // namespace

const RunMoves& Moves::of(Count length) const noexcept {
  return runs[class_of(static_cast<std::size_t>(length), long_run)];
}

std::span<const Moves* const> all_moves() noexcept { return {sets().list, sets().size}; }

const Moves& moves() noexcept { return *sets().list[sets().size - 1]; }

}  // namespace hr::layout::host
