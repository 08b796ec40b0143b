// Machine: the properties of a machine on which measured settings depend.
//
// Owner: plain values. Threads: any. Reads a few lines of /proc; starts no driver.
#pragma once

#include <string>
#include <vector>

namespace hr {

struct Machine {
  std::string cpu;                // model name; "" if the system does not report it
  int cpus = 0;                   // number of online CPUs
  std::vector<std::string> gpus;  // model of each GPU, sorted, as reported by NVIDIA's kernel module
  friend bool operator==(const Machine&, const Machine&) = default;
};

Machine this_machine();
// Returns the host's name (gethostname); empty if the system does not report it.
std::string host_name();

// True on AMD processors. There, a store to a line in another core's second-level cache is slow, and non-temporal
// stores pay if the reader is far away (reader_distance.hpp). Neither is true of Intel processors, on which memory that
// is reused soon is faster.
bool is_amd() noexcept;

// Returns a phrase for messages: "Intel Xeon 8480, 2 CPUs, 1 x NVIDIA H200".
std::string describe(const Machine& machine);

}  // namespace hr
