// Tuned knobs: values measured by `headrace tune --messages`, in the file tuning.messages next to the tuning file
// tuning.json.
//
//   # comments, as everywhere
//   machine = AMD EPYC, 2 CPUs        as describe(this_machine()) returns it
//   version = 0.1.0
//   eager_bytes = 65536               any knob
//   eager_bytes @ same-cache = 8192   only for messages with these peers
//   network_eager_bytes @ a,b = 262144
//
// Such a value replaces a knob's default; the configuration file and the environment take precedence over it. A file of
// another machine or version is ignored, as machines of several kinds may share a home directory. Peers: same-cache
// (both processes are bound to cores of one last-level cache), same-host (all others of the host), or the names of two
// hosts, in either order. Owner: plain values. Threads: any.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hr {

struct TunedForPeers {
  std::string name, peers, text;
};

struct TunedKnobs {
  std::string path;                                         // "" if there is none
  std::vector<std::pair<std::string, std::string>> values;  // names and texts, not checked
  std::vector<TunedForPeers> of_peers;
  std::string left_out;  // reason why the file is ignored; "" if it is used, or does not exist
  std::string problem;   // reason why the file cannot be read, as a clause; "" otherwise
};

// Reads the file of tuned knobs. `tuning_file`: value of the knob tuning_file.
TunedKnobs read_tuned_knobs(const std::string& tuning_file);

}  // namespace hr
