// Options of a run. Filled in once from the command line, the same on all ranks, and read-only afterwards.
#pragma once

#include <string>
#include <vector>

namespace diffusion2d {

enum class DeviceChoice { kAuto, kHost, kCuda };
enum class Scaling { kNone, kStrong, kWeak, kBoth };

struct Options {
  std::vector<std::string> variants = {"all"};
  DeviceChoice device = DeviceChoice::kAuto;
  int device_number = -1;  // N of --device cuda:N; -1: local rank modulo the number of devices
  Scaling scaling = Scaling::kNone;
  int nx = 128, ny = 8192;  // points along x and rows along y, without the walls
  int steps = 200;
  std::string json;  // file for the results; empty: none
  bool list = false;
};

enum class ParseResult { kRun, kHelp, kError };

// On kError, `message` names the argument and a valid value.
[[nodiscard]] ParseResult parse(int argc, char** argv, Options& options, std::string& message);
const char* usage();

}  // namespace diffusion2d
