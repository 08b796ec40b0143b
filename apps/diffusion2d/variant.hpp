// A variant: how a strip receives its neighbours' edge rows, and when it computes. Each consists of a file in variants/
// and a line in its list.cpp.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "backend.hpp"
#include "strip.hpp"

namespace diffusion2d {

// Times of one rank in seconds. Computation during an exchange counts towards the phase in which the host waits for
// that computation.
struct Times {
  double exchange = 0, update = 0;
};

// Measures its own lifetime, and adds it to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), begin_(MPI_Wtime()) {}
  ~Stopwatch() { sum_ += MPI_Wtime() - begin_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_;
  const double begin_;
};

class Variant {
 public:
  Variant(const Strip& strip, Backend& backend, Times& times) : strip_(strip), field_(backend), times_(times) {}
  virtual ~Variant() = default;
  // Performs one time step; complete on return.
  virtual void step() = 0;

 protected:
  const Strip& strip_;
  Backend& field_;
  Times& times_;
};

struct VariantRecord {
  const char* name;
  const char* sentence;
  std::unique_ptr<Variant> (*make)(const Strip&, Backend&, Times&);
};

const std::vector<const VariantRecord*>& all_variants();
// Returns the variants with these names; if a name is unknown, an empty list and a message.
std::vector<const VariantRecord*> find_variants(const std::vector<std::string>& names, std::string& message);

}  // namespace diffusion2d
