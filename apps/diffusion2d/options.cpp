#include "options.hpp"

#include <cerrno>
#include <cstdlib>

namespace diffusion2d {
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

// Result of parsing an option; `wants`: the required form of its value; empty if the option is unknown.
struct Outcome {
  bool taken;
  std::string wants;
};

Outcome parse_valued(const std::string& name, const std::string& value, Options& options) {
  if (name == "--variant") {
    options.variants = split(value);
    return {!value.empty(), "names from --list, separated by commas, or all"};
  }
  if (name == "--device") return {parse_device(value, options), "host, cuda, cuda:N or auto"};
  if (name == "--scaling") return {parse_scaling(value, options.scaling), "strong, weak or both"};
  if (name == "--grid") return {parse_grid(value, options), "NX,NY, each at least 1, like 128,8192"};
  if (name == "--steps") return {parse_int(value, 1, options.steps), "an integer of at least 1"};
  if (name == "--json") return {!(options.json = value).empty(), "the name of a file"};
  return {false, ""};
}

}  // namespace

ParseResult parse(int argc, char** argv, Options& options, std::string& message) {
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i], value;
    if (name == "--help" || name == "-h") return ParseResult::kHelp;
    if (name == "--list") {
      options.list = true;
      continue;
    }
    bool has_value = false;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
      has_value = true;
    } else if (i + 1 < argc) {
      value = argv[++i];
      has_value = true;
    }
    const Outcome outcome = parse_valued(name, value, options);
    if (outcome.taken) continue;
    if (outcome.wants.empty()) {
      message = "unknown option '" + name + "'; --help lists those there are";
    } else {
      message = name + " requires " + outcome.wants + (has_value ? ", not '" + value + "'" : "");
    }
    return ParseResult::kError;
  }
  return ParseResult::kRun;
}

const char* usage() {
  return "usage: mpiexec -n N diffusion2d [options]\n"
         "Lets heat spread over a grid that is split along y into one strip a rank, and checks every point.\n"
         "  --variant LIST    how strips exchange their edge rows: names separated by commas, all (the default)\n"
         "  --list            the variants\n"
         "  --device KIND     host, cuda, cuda:N (that GPU for every rank), or auto: cuda where every rank finds a "
         "GPU\n"
         "                    (the default)\n"
         "  --grid NX,NY      points along x and rows along y; NY must divide by the number of ranks (128,8192)\n"
         "  --steps N         time steps (200)\n"
         "  --scaling KIND    the job's first rank alone, its first two, four, ... and all: strong (the same grid), "
         "weak\n"
         "                    (NY rows a rank), or both\n"
         "  --json FILE       write the results there\n"
         "  --help            this text\n"
         "The published case: mpiexec -n 4 diffusion2d --grid 128,131072 --steps 10000 --scaling strong\n"
         "Exit codes: 0 all valid; 1 a result is wrong; 2 bad arguments; 3 a resource is missing.\n";
}

}  // namespace diffusion2d
