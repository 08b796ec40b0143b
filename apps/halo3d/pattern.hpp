// A communication pattern: one way to fill the halos, and the record that describes it.
//
// A pattern is one file in patterns/ that holds its record, and one line in patterns/list.cpp. It lives for one run and
// uses the memory of the run's backend.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backend.hpp"
#include "decomposition.hpp"
#include "times.hpp"

namespace halo3d {

// Context of a pattern; every member outlives it.
struct Setup {
  const Decomposition& decomposition;
  Backend& backend;
  Times& times;
  int way;  // in which the fields move
};

class Pattern {
 public:
  explicit Pattern(const Setup& setup) : setup_(setup) {}
  virtual ~Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Fills all faces of all fields' halos, complete on return.
  virtual void exchange() = 0;
  // Exchanges and updates; the fields have moved by one point on return, or once Backend::wait() has returned.
  virtual void step();

 protected:
  const Setup setup_;
};

inline constexpr int kNone = -1;

struct PatternRecord {
  const char* name;
  int host_step, device_step;  // its number in the published series, or kNone where it is not meant to run
  const char* sentence;
  std::unique_ptr<Pattern> (*make)(const Setup& setup);

  int step(bool on_device) const { return on_device ? device_step : host_step; }
};

std::span<const PatternRecord* const> all_patterns();
// Finds a pattern by name, "stepN" or "N"; null if the device has no such pattern.
const PatternRecord* find_pattern(const std::string& name, bool on_device);

}  // namespace halo3d
