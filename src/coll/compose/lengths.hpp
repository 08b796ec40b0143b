// LengthsOfHost: a step that gathers, at the host's speaker, the number of bytes that each process of the host sends or
// receives. Used where only the processes themselves know these lengths (gatherv, scatterv).
//
// Owner: a local of the coroutine, before the steps that need it. Threads: library lock.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/compose/all_blocks.hpp"
#include "coll/compose/step.hpp"

namespace hr::coll {

class LengthsOfHost {
 public:
  // `asked`: whether the lengths are needed; the same on all processes of the host.
  LengthsOfHost(const Call& call, const Levels& levels, bool asked)
      : step_(call, asked ? &levels.here() : nullptr, Operation::kGather) {
    step_.call.root = levels.speaker();
    step_.call.bytes = sizeof own_;
    step_.call.send = one_block(bytes_of(&own_, 1));
    if (!asked || !levels.speaks()) return;
    all_.resize(static_cast<std::size_t>(levels.here().size()));
    step_.call.recv = byte_blocks(bytes_of(all_.data(), all_.size()), sizeof own_);
  }
  [[nodiscard]] Task ask(std::size_t own) {
    own_ = own;
    return step_.run();
  }
  // Returns the lengths by index in here(), on the speaker; elsewhere an empty list.
  [[nodiscard]] std::vector<std::size_t> take() { return std::move(all_); }

 private:
  static View bytes_of(std::size_t* numbers, std::size_t count) noexcept {
    return bytes_view(reinterpret_cast<std::byte*>(numbers), count * sizeof *numbers);
  }

  std::size_t own_ = 0;
  std::vector<std::size_t> all_;
  Step step_;
};

// Returns, on the root, the lengths of all its `blocks`; on other speakers, the lengths of their host's blocks.
// `equal`: all blocks have the same length, which all members know.
[[nodiscard]] inline std::vector<std::size_t> lengths_of(const Call& call, const Blocks& blocks, bool equal,
                                                         const Levels& levels, LengthsOfHost& told) {
  if (!levels.speaks()) return {};
  if (equal) return AllBlocks::equal(levels.hosts(), blocks, call.bytes);
  return call.is_root() ? AllBlocks::of_buffer(levels.hosts(), blocks) : told.take();
}

}  // namespace hr::coll
