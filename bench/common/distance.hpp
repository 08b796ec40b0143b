// Current distance of the cores of two ranks: the transfer time of a cache line between them, without MPI.
//
// The host of a virtual machine moves the machine's cores: for milliseconds to seconds, two of them may share a core,
// be neighbours, or be at opposite ends of a chip, and the measured times differ by a factor of up to ten.
//
// Owner: the measuring code of both ranks. Every call is collective over the two ranks, which spin, each on its own
// core.
#pragma once

#include "common/world.hpp"

namespace bench {

class Distance {
 public:
  // For the two ranks of `world`, on the same node. Ends the job (code 3) if they cannot share memory.
  explicit Distance(const World& world);
  ~Distance();
  Distance(const Distance&) = delete;
  Distance& operator=(const Distance&) = delete;

  // Returns the one-way time in nanoseconds, the mean of 100 round trips; the same on both ranks.
  double now();

 private:
  struct Words;
  const World& world_;
  Words* words_ = nullptr;
  unsigned turn_ = 0;
};

}  // namespace bench
