// How far apart the cores of two ranks are just now: what a cache line takes from one to the other, without MPI.
//
// The host of a virtual machine moves its cores: they are threads of one core, neighbours, or at the two ends of a
// chip, for some milliseconds to seconds, and whatever is measured meanwhile differs by a factor of up to ten.
//
// Owner: who measures, on both ranks at once. Every call is collective of the two; they spin, each on a core of its
// own.
#pragma once

#include "common/world.hpp"

namespace bench {

class Distance {
 public:
  // Of the two ranks of `world`, on one node. Ends the job (code 3) where they get no memory in common.
  explicit Distance(const World& world);
  ~Distance();
  Distance(const Distance&) = delete;
  Distance& operator=(const Distance&) = delete;

  // Nanoseconds, one way, the mean of 100 there and back: the same on both ranks.
  double now();

 private:
  struct Words;
  const World& world_;
  Words* words_ = nullptr;
  unsigned turn_ = 0;
};

}  // namespace bench
