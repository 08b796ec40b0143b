// Names of the functions of a process, from its memory map and the symbol tables of its files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hr::launcher {

class Symbols {
 public:
  explicit Symbols(pid_t pid);
  // Returns "name in file", "file+0x10", or the address; `returns`: the address is a return address.
  std::string name(std::uint64_t address, bool returns);

 private:
  struct Region {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;  // offset in the file
    std::string path;
  };
  struct Function {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::string name;
  };
  struct Segment {
    std::uint64_t offset = 0;  // offset in the file
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
  };
  struct File {
    std::vector<Segment> segments;
    std::vector<Function> functions;  // sorted by address
  };
  const File& file(const std::string& path);

  std::string root_;  // the process's root directory
  std::vector<Region> regions_;
  std::map<std::string, File> files_;
};

}  // namespace hr::launcher
