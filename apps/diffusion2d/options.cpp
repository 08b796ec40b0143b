#include "options.hpp"

namespace diffusion2d {
namespace {

using command_line::parse_int;
using command_line::split;

bool parse_device(const std::string& text, Options& options) {
  options.device_number = -1;
  if (text == "auto") {
    options.device = DeviceChoice::kAuto;
  } else if (text == "host") {
    options.device = DeviceChoice::kHost;
  } else if (text == "cuda") {
    options.device = DeviceChoice::kCuda;
  } else if (text.rfind("cuda:", 0) == 0) {
    options.device = DeviceChoice::kCuda;
    return parse_int(text.substr(5), 0, options.device_number);
  } else {
    return false;
  }
  return true;
}

bool parse_grid(const std::string& text, Options& options) {
  const std::vector<std::string> parts = split(text);
  return parts.size() == 2 && parse_int(parts[0], 1, options.nx) && parse_int(parts[1], 1, options.ny);
}

bool parse_scaling(const std::string& text, Scaling& scaling) {
  if (text == "strong") {
    scaling = Scaling::kStrong;
  } else if (text == "weak") {
    scaling = Scaling::kWeak;
  } else if (text == "both") {
    scaling = Scaling::kBoth;
  } else {
    return false;
  }
  return true;
}

}  // namespace

command_line::OptionTable option_table(Options& into) {
  command_line::OptionTable table;
  table.add(
      "--variant", "LIST", "how strips exchange their edge rows: names separated by commas,\nall (the default)",
      [&into](const std::string& text) {
        into.variants = split(text);
        return !text.empty();
      },
      "names from --list, separated by commas, or all");
  table.add_flag("--list", "the variants", into.list);
  table.add(
      "--device", "KIND",
      "host, cuda, cuda:N (that GPU for every rank), or auto: cuda where every\nrank finds a GPU (the default)",
      [&into](const std::string& text) { return parse_device(text, into); }, "host, cuda, cuda:N or auto");
  table.add(
      "--grid", "NX,NY", "points along x and rows along y; NY must divide by the number of ranks\n(128,8192)",
      [&into](const std::string& text) { return parse_grid(text, into); }, "NX,NY, each at least 1, like 128,8192");
  table.add(
      "--steps", "N", "time steps (200)", [&into](const std::string& text) { return parse_int(text, 1, into.steps); },
      "a whole number of at least 1");
  table.add(
      "--scaling", "KIND",
      "the job's first rank alone, its first two, four, ... and all: strong\n(the same grid), weak (NY rows a rank), "
      "or both",
      [&into](const std::string& text) { return parse_scaling(text, into.scaling); }, "strong, weak or both");
  table.add_text("--json", "FILE", "write the results there", into.json, "the name of a file");
  return table;
}

std::string usage(const command_line::OptionTable& table) {
  return "usage: mpiexec -n N diffusion2d [options]\n"
         "Lets heat spread over a grid that is split along y into one strip a rank, and checks every point.\n" +
         table.help() +
         "The published case: mpiexec -n 4 diffusion2d --grid 128,131072 --steps 10000 --scaling strong\n"
         "Exit codes: 0 all valid; 1 a result is wrong; 2 bad arguments; 3 a resource is missing.\n";
}

}  // namespace diffusion2d
