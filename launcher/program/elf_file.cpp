#include "program/elf_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "system/descriptor.hpp"

namespace hr::launcher {

ElfFile::ElfFile(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat found{};
  if (!file.is_open() || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_size <= 0) return;
  void* memory = ::mmap(nullptr, static_cast<std::size_t>(found.st_size), PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) return;
  begin_ = static_cast<const char*>(memory);
  size_ = static_cast<std::size_t>(found.st_size);
}

ElfFile::~ElfFile() {
  if (begin_ != nullptr) ::munmap(const_cast<char*>(begin_), size_);
}

const Elf64_Ehdr* ElfFile::header() const noexcept {
  const auto* header = at<Elf64_Ehdr>(0);
  const bool known = header != nullptr && std::equal(ELFMAG, ELFMAG + SELFMAG, header->e_ident) &&
                     header->e_ident[EI_CLASS] == ELFCLASS64;
  return known ? header : nullptr;
}

std::vector<Elf64_Phdr> ElfFile::segments() const {
  std::vector<Elf64_Phdr> found;
  const Elf64_Ehdr* const known = header();
  for (std::uint64_t i = 0; known != nullptr && i < known->e_phnum; ++i) {
    const auto* segment = at<Elf64_Phdr>(known->e_phoff, i);
    if (segment == nullptr) break;
    found.push_back(*segment);
  }
  return found;
}

std::string_view ElfFile::bytes(std::uint64_t offset, std::uint64_t most) const noexcept {
  return offset < size_ ? std::string_view(begin_ + offset, std::min<std::uint64_t>(most, size_ - offset))
                        : std::string_view();
}

std::string_view ElfFile::text(std::uint64_t offset) const noexcept {
  const std::string_view rest = bytes(offset, size_);
  return rest.substr(0, rest.find('\0'));
}

std::vector<std::string> ElfFile::needed_libraries() const {
  std::vector<Elf64_Xword> offsets;
  Elf64_Addr strings = 0;
  const std::vector<Elf64_Phdr> parts = segments();
  for (const Elf64_Phdr& part : parts) {
    if (part.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t i = 0; i < part.p_filesz / sizeof(Elf64_Dyn); ++i) {
      const auto* entry = at<Elf64_Dyn>(part.p_offset, i);
      if (entry == nullptr || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) offsets.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    }
  }
  std::vector<std::string> names;
  for (const Elf64_Xword offset : offsets) {
    const Elf64_Addr address = strings + offset;  // address in the loaded program
    for (const Elf64_Phdr& part : parts) {
      if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
        names.emplace_back(text(part.p_offset + (address - part.p_vaddr)));
    }
  }
  return names;
}

}  // namespace hr::launcher
