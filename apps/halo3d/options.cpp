#include "options.hpp"

#include <cerrno>
#include <cstdlib>

namespace halo3d {
namespace {

bool parse_int(const std::string& text, int least, int& value) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || number < least || number > 1000000000) return false;
  value = static_cast<int>(number);
  return true;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t comma = text.find(',', from);
    parts.push_back(text.substr(from, comma - from));
    if (comma == std::string::npos) return parts;
    from = comma + 1;
  }
}

// Parses "N" (N along each axis) or "X,Y,Z".
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

// Sets an option without a value; true if `name` is one.
bool parse_flag(const std::string& name, Options& options) {
  if (name == "--reverse") {
    options.reverse = true;
  } else if (name == "--double") {
    options.double_precision = true;
  } else if (name == "--no-identity-check") {
    options.identity_check = false;
  } else if (name == "--baseline") {
    options.baseline = true;
  } else if (name == "--list") {
    options.list = true;
  } else {
    return false;
  }
  return true;
}

enum class Outcome { kTaken, kBadValue, kUnknown };

Outcome parse_valued(const std::string& name, const std::string& value, Options& options) {
  const auto taken = [](bool good) { return good ? Outcome::kTaken : Outcome::kBadValue; };
  if (name == "--pattern") {
    options.patterns = split(value);
    return taken(!value.empty());
  }
  if (name == "--device") return taken(parse_device(value, options.device));
  if (name == "--size") return taken(parse_triple(value, options.size));
  if (name == "--local") return taken(parse_triple(value, options.local));
  if (name == "--procs") return taken(split(value).size() == 3 && parse_triple(value, options.procs));
  if (name == "--steps") return taken(parse_int(value, 1, options.steps));
  if (name == "--check-every") return taken(parse_int(value, 0, options.check_every));
  if (name == "--profiles") return taken(!(options.profiles = value).empty());
  if (name == "--json") return taken(!(options.json = value).empty());
  return Outcome::kUnknown;
}

}  // namespace

ParseResult parse(int argc, char** argv, Options& options, std::string& message) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i], value;
    if (name == "--help" || name == "-h") return ParseResult::kHelp;
    if (parse_flag(name, options)) continue;
    bool has_value = false;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
      has_value = true;
    } else if (i + 1 < argc) {
      value = argv[i + 1];
      has_value = true;
      ++i;
    }
    switch (parse_valued(name, value, options)) {
      case Outcome::kTaken:
        break;
      case Outcome::kBadValue:
        message =
            has_value ? "option " + name + " does not take '" + value + "'" : "option " + name + " requires a value";
        return ParseResult::kError;
      case Outcome::kUnknown:
        message = "unknown option '" + name + "'";
        return ParseResult::kError;
    }
  }
  return ParseResult::kRun;
}

const char* usage() {
  return "usage: mpiexec -n N halo3d [options]\n"
         "Moves three fields through a periodic box of blocks, one a rank, and measures the halo exchange.\n"
         "  --pattern LIST       names or step0 to step11, separated by commas; all (the default); see --list\n"
         "  --list               the patterns\n"
         "  --device KIND        host, cuda, or auto: cuda where every rank finds a GPU (the default)\n"
         "  --size N | X,Y,Z     points of the whole box\n"
         "  --local N | X,Y,Z    points of each rank, instead of --size (48)\n"
         "  --procs PX,PY,PZ     ranks along each axis (MPI_Dims_create)\n"
         "  --steps N            steps a pattern (100)\n"
         "  --check-every N      compare all elements with what they must be every N steps, too, not only at the end\n"
         "  --no-identity-check  leave out the three steps, before the timing, of a field of all different elements\n"
         "  --baseline           measure as many steps of the update alone, without any exchange, too\n"
         "  --reverse            move towards lower coordinates\n"
         "  --double             double precision instead of single\n"
         "  --profiles DIR       write each rank's profiles along x, y and z there\n"
         "  --json FILE          write the results there\n"
         "  --help               this text\n"
         "The published case (600^3 in 2 x 2 x 2 ranks): mpiexec -n 8 halo3d --size 600 --steps 15000 "
         "--check-every 1510\n";
}

}  // namespace halo3d
