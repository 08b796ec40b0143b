// Options of a run. Filled in once from the command line, equal on all ranks, read-only from then on.
#pragma once

#include <string>
#include <vector>

#include "option_table.hpp"

namespace diffusion2d {

enum class DeviceChoice { kAuto, kHost, kCuda };
enum class Scaling { kNone, kStrong, kWeak, kBoth };

struct Options {
  std::vector<std::string> variants = {"all"};
  DeviceChoice device = DeviceChoice::kAuto;
  int device_number = -1;  // N of --device cuda:N; -1: the rank's number on its node, modulo the devices there
  Scaling scaling = Scaling::kNone;
  int nx = 128, ny = 8192;  // points along x and rows along y, without the walls
  int steps = 200;
  std::string json;  // file for the results; empty: none
  bool list = false;
};

// Returns the options, parsed into `into`.
[[nodiscard]] command_line::OptionTable option_table(Options& into);
[[nodiscard]] std::string usage(const command_line::OptionTable& table);

}  // namespace diffusion2d
