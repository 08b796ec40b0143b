#include "base/tuned_knobs.hpp"

#include <sstream>

#include "base/knobs.hpp"
#include "base/machine.hpp"
#include "base/own_files.hpp"
#include "base/setting_line.hpp"

namespace hr {
namespace {

std::string path_beside(const std::string& tuning_file) {
  if (tuning_file == "off") return {};
  std::string path = tuning_file;
  if (tuning_file == "auto") {
    path = config_directory();
    if (path.empty()) return {};
    path += "/headrace/tuning.json";
  }
  const auto name = path.find_last_of('/') + 1;  // 0 if there is none
  if (const auto dot = path.find_last_of('.'); dot != std::string::npos && dot > name) path.resize(dot);
  return path + ".messages";
}

std::string without(const std::string& path, const std::string& why) {
  return path + ": " + why + "; run `headrace tune --messages` here";
}

}  // namespace

TunedKnobs read_tuned_knobs(const std::string& tuning_file) {
  TunedKnobs found;
  found.path = path_beside(tuning_file);
  if (found.path.empty()) return found;
  std::string text;
  if (const Status read = read_file(found.path, kLargestTextFile, &text); !read.ok()) {
    const std::string why = take_detail();
    if (read.errc() != Errc::kNoSuchFile) found.problem = "it " + why;
    return found;
  }
  std::istringstream file(text);
  std::string machine;
  std::string version;
  for (std::string line; std::getline(file, line);) {
    const auto [name, value, has_value] = parse_setting_line(line);
    if (!has_value) continue;
    if (name == "machine") {
      machine = value;
    } else if (name == "version") {
      version = value;
    } else if (const auto at = name.find('@'); at != std::string_view::npos) {
      found.of_peers.push_back(
          {std::string(trimmed(name.substr(0, at))), std::string(trimmed(name.substr(at + 1))), std::string(value)});
    } else {
      found.values.emplace_back(name, value);
    }
  }
  if (version != HEADRACE_VERSION) {
    found.left_out =
        without(found.path, "it was measured with version \"" + version + "\", this is " + HEADRACE_VERSION);
  } else if (const std::string here = describe(this_machine()); machine != here) {
    found.left_out = without(found.path, "it is from another machine (" + machine + "; this is " + here + ")");
  }
  if (!found.left_out.empty()) {
    found.values.clear();
    found.of_peers.clear();
  }
  return found;
}

}  // namespace hr
