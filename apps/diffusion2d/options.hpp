// Options of a run. Filled in once from the command line, equal on all ranks, read-only from then on.
#pragma once

#include <string>
#include <vector>

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

enum class ParseResult { kRun, kHelp, kError };

// On kError `message` names the argument and a value that would work.
[[nodiscard]] ParseResult parse(int argc, char** argv, Options& options, std::string& message);
const char* usage();

}  // namespace diffusion2d
