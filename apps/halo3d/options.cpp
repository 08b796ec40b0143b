#include "options.hpp"

namespace halo3d {
namespace {

using command_line::parse_int;
using command_line::split;

// Parses "N" (N along each axis) or "X,Y,Z"; false for any other string.
bool parse_triple(const std::string& text, std::array<int, 3>& values) {
  const std::vector<std::string> parts = split(text);
  if (parts.size() != 1 && parts.size() != 3) return false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!parse_int(parts[parts.size() == 1 ? 0 : axis], 1, values[axis])) return false;
  }
  return true;
}

bool parse_device(const std::string& text, DeviceChoice& device) {
  if (text == "auto") {
    device = DeviceChoice::kAuto;
  } else if (text == "host") {
    device = DeviceChoice::kHost;
  } else if (text == "cuda") {
    device = DeviceChoice::kCuda;
  } else {
    return false;
  }
  return true;
}

}  // namespace

command_line::OptionTable option_table(Options& into) {
  command_line::OptionTable table;
  const auto triple = [](std::array<int, 3>& values) {
    return [&values](const std::string& text) { return parse_triple(text, values); };
  };
  const std::string numbers = "N or X,Y,Z, each an integer of at least 1";
  table.add(
      "--pattern", "LIST", "names or step0 to step11, separated by commas; all (the default); see --list",
      [&into](const std::string& text) {
        into.patterns = split(text);
        return !text.empty();
      },
      "names from --list, separated by commas, or all");
  table.add_flag("--list", "the patterns", into.list);
  table.add(
      "--device", "KIND", "host, cuda, or auto: cuda where every rank finds a GPU (the default)",
      [&into](const std::string& text) { return parse_device(text, into.device); }, "host, cuda or auto");
  table.add("--size", "N | X,Y,Z", "points of the whole box", triple(into.size), numbers);
  table.add("--local", "N | X,Y,Z", "points of each rank, instead of --size (48)", triple(into.local), numbers);
  table.add(
      "--procs", "PX,PY,PZ", "ranks along each axis (MPI_Dims_create)",
      [&into](const std::string& text) { return split(text).size() == 3 && parse_triple(text, into.procs); },
      "PX,PY,PZ, each an integer of at least 1");
  table.add(
      "--steps", "N", "steps a pattern (100)",
      [&into](const std::string& text) { return parse_int(text, 1, into.steps); }, "an integer of at least 1");
  table.add(
      "--check-every", "N", "compare all elements with what they must be every N steps, too, not only at the end",
      [&into](const std::string& text) { return parse_int(text, 0, into.check_every); }, "a whole number");
  table.add_flag("--no-identity-check",
                 "leave out the three steps, before the timing, of a field of all different elements",
                 into.identity_check, false);
  table.add_flag("--baseline", "measure as many steps of the update alone, without any exchange, too", into.baseline);
  table.add_flag("--reverse", "move towards lower coordinates", into.reverse);
  table.add_flag("--double", "double precision instead of single", into.double_precision);
  table.add_text("--profiles", "DIR", "write each rank's profiles along x, y and z there", into.profiles,
                 "the name of a directory");
  table.add_text("--json", "FILE", "write the results there", into.json, "the name of a file");
  return table;
}

std::string usage(const command_line::OptionTable& table) {
  return "usage: mpiexec -n N halo3d [options]\n"
         "Moves three fields through a periodic box of blocks, one a rank, and measures the halo exchange.\n" +
         table.help() +
         "The published case (600^3 in 2 x 2 x 2 ranks): mpiexec -n 8 halo3d --size 600 --steps 15000 "
         "--check-every 1510\n";
}

}  // namespace halo3d
