// Current distance of the cores of two ranks: the time of a cache line from one to the other, without MPI.
//
// The host of a virtual machine moves its cores: they are threads of one core, neighbours, or at the two ends of a
// chip, for some milliseconds to seconds, and whatever is measured meanwhile differs by a factor of up to ten.
//
// Owner: the measuring code of both ranks. Every call is collective over the two; they spin, each on its own core.
#pragma once

#include "common/world.hpp"

namespace bench {

class Distance {
 public:
  // For the two ranks of `world`, on one node. Ends the job (code 3) if they get no memory in common.
  explicit Distance(const World& world);
  ~Distance();
  Distance(const Distance&) = delete;
  Distance& operator=(const Distance&) = delete;

  // Returns nanoseconds, one way, the mean of 100 round trips: the same on both ranks.
  double now();

 private:
  struct Words;
  const World& world_;
  Words* words_ = nullptr;
  unsigned turn_ = 0;
};

}  // namespace bench
