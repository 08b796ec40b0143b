#include "program/symbols.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "program/elf_file.hpp"

namespace hr::launcher {
namespace {

std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

std::string as_hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Symbols::Symbols(pid_t pid) : root_("/proc/" + std::to_string(pid) + "/root") {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    Region region;
    unsigned long long begin = 0, end = 0, offset = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %llx %*s %*s %n", &begin, &end, &offset, &path) != 3) continue;
    region.begin = begin;
    region.end = end;
    region.offset = offset;
    if (path > 0) region.path = line.substr(std::min(static_cast<std::size_t>(path), line.size()));
    regions_.push_back(std::move(region));
  }
}

const Symbols::File& Symbols::file(const std::string& path) {
  const auto [entry, fresh] = files_.try_emplace(path);
  File& file = entry->second;
  if (!fresh) return file;
  const ElfFile bytes(root_ + path);
  const Elf64_Ehdr* const header = bytes.header();
  if (header == nullptr) return file;
  for (const Elf64_Phdr& segment : bytes.segments()) {
    if (segment.p_type == PT_LOAD) file.segments.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
  }
  // The full symbol table is first, as it contains the other one.
  for (const std::uint32_t kind : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (std::uint64_t i = 0; i < header->e_shnum && file.functions.empty(); ++i) {
      const auto* table = bytes.at<Elf64_Shdr>(header->e_shoff, i);
      if (table == nullptr || table->sh_type != kind) continue;
      const auto* names = bytes.at<Elf64_Shdr>(header->e_shoff, table->sh_link);
      if (names == nullptr) continue;
      for (std::uint64_t at = 0; at < table->sh_size / sizeof(Elf64_Sym); ++at) {
        const auto* symbol = bytes.at<Elf64_Sym>(table->sh_offset, at);
        if (symbol == nullptr) break;
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_value == 0) continue;
        file.functions.push_back(
            {symbol->st_value, symbol->st_size, std::string(bytes.text(names->sh_offset + symbol->st_name))});
      }
    }
  }
  std::ranges::sort(file.functions, {}, &Function::begin);
  return file;
}

std::string Symbols::name(std::uint64_t address, bool returns) {
  const std::uint64_t inside =
      address - (returns ? 1 : 0);  // a call that does not return may be a function's last instruction
  const auto region =
      std::ranges::find_if(regions_, [&](const Region& each) { return inside >= each.begin && inside < each.end; });
  if (region == regions_.end() || region->path.empty()) return as_hex(address);
  const std::string short_name = region->path.substr(region->path.rfind('/') + 1);
  const std::uint64_t in_file = inside - region->begin + region->offset;
  const File& known = file(region->path);
  const auto segment =
      std::ranges::find_if(known.segments, [&](const Segment& each) { return in_file - each.offset < each.bytes; });
  if (segment != known.segments.end()) {
    const std::uint64_t place = in_file - segment->offset + segment->address;
    auto after = std::ranges::upper_bound(known.functions, place, {}, &Function::begin);
    if (after != known.functions.begin() &&
        place - std::prev(after)->begin < std::max<std::uint64_t>(std::prev(after)->bytes, 1))
      return readable(std::prev(after)->name) + " in " + short_name;
  }
  return short_name + "+" + as_hex(in_file);
}

}  // namespace hr::launcher
