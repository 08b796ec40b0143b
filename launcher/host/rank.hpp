// One rank on this host. Plain state, owned by HostRanks.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>

#include "base/ranges.hpp"
#include "plan/spawn_request.hpp"
#include "system/descriptor.hpp"
#include "system/event_loop.hpp"
#include "system/line_reader.hpp"

namespace hr::launcher {

class Forwarder;

struct Rank {
  int number = 0;
  pid_t pid = -1;  // also its process group; reserved until the job ends, as the zombie is kept
  bool ended = false;
  bool in_background = false;             // its process has ended, but another holds the other end of the PMI socket
  EventLoop::TimerId background_limit{};  // set if in_background
  std::string program_file{};             // the file that its process executed first (identity_of_file())
  int crash = 0;   // signal of the crash that it reports, while it waits for its stack to be shown
  Descriptor pmi;  // this process's end of the PMI socket of its program
  Descriptor
      inherited;  // this process's end of the socket with which the rank was started, while its program uses another
  LineReader pmi_lines{kLongestSpawn + 1};  // lines read from `pmi`; no command is longer
  Descriptor counters;                  // page of the rank (docs/counters.md), once it has one; open until the job ends
  std::array<Forwarder*, 2> outputs{};  // destinations of its standard output and error, once it runs
};

}  // namespace hr::launcher
