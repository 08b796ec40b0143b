// Machine: what tells one kind of machine from another, as far as measured settings depend on it.
//
// Owner: plain values. Threads: any. Reads a few lines of /proc; starts no driver.
#pragma once

#include <string>
#include <vector>

namespace hr {

struct Machine {
  std::string cpu;                // model name, "" where the system does not say
  int cpus = 0;                   // on line
  std::vector<std::string> gpus;  // model of each, sorted, as far as NVIDIA's kernel module tells
  friend bool operator==(const Machine&, const Machine&) = default;
};

Machine this_machine();
// As the host calls itself (gethostname); empty where the system does not say.
std::string host_name();

// What an AMD processor keeps in a core's second-level cache comes slowly to another core that stores to it, and goes
// with non-temporal stores to one far away (reader_distance.hpp). Neither holds for Intel's, where memory that is soon
// used again is the faster one.
bool is_amd() noexcept;

// One phrase for messages: "Intel Xeon 8480, 2 CPUs, 1 x NVIDIA H200".
std::string describe(const Machine& machine);

}  // namespace hr
