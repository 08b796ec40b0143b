// A communication pattern: one method of filling the halos, and the record that describes it.
//
// A pattern consists of a file in patterns/ that contains its record, and a line in patterns/list.cpp. A pattern object
// lives for one run and uses the memory of the run's backend.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backend.hpp"
#include "decomposition.hpp"
#include "times.hpp"

namespace halo3d {

// Objects that a pattern works with; all of them outlive it.
struct Setup {
  const Decomposition& decomposition;
  Backend& backend;
  Times& times;
  int way;  // direction in which the fields move
};

class Pattern {
 public:
  explicit Pattern(const Setup& setup) : setup_(setup) {}
  virtual ~Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Fills all halo faces of all fields; complete on return.
  virtual void exchange() = 0;
  // Exchanges and updates; the fields have moved by one point on return, or once Backend::wait() has returned.
  virtual void step();

 protected:
  const Setup setup_;
};

inline constexpr int kNone = -1;

struct PatternRecord {
  const char* name;
  int host_step, device_step;  // numbers in the published series, on host and device; kNone: does not run there
  const char* sentence;
  std::unique_ptr<Pattern> (*make)(const Setup& setup);
  bool captured = false;  // the messages are part of a graph, which is not possible on AMD devices

  int step(bool on_device) const { return on_device ? device_step : host_step; }
};

std::span<const PatternRecord* const> all_patterns();
// Finds a pattern by name, "stepN" or "N"; null if the device has no such pattern.
const PatternRecord* find_pattern(const std::string& name, bool on_device);

}  // namespace halo3d
