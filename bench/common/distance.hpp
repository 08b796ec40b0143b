// Current distance of the cores of two ranks: the time that a cache line takes from one to the other, without MPI.
//
// The host of a virtual machine moves the machine's cores: for milliseconds to seconds, two of them are threads of one
// core, neighbours, or at the two ends of a chip, and the times measured then differ by a factor of up to ten.
//
// Owner: the measuring code of both ranks. Every call is collective over the two; they spin, each on its own core.
#pragma once

#include "common/world.hpp"

namespace bench {

class Distance {
 public:
  // For the two ranks of `world`, on one node. Ends the job (code 3) if they cannot share memory.
  explicit Distance(const World& world);
  ~Distance();
  Distance(const Distance&) = delete;
  Distance& operator=(const Distance&) = delete;

  // Returns nanoseconds one way, the mean of 100 round trips; the same on both ranks.
  double now();

 private:
  struct Words;
  const World& world_;
  Words* words_ = nullptr;
  unsigned turn_ = 0;
};

}  // namespace bench
