// A mapped 64-bit ELF file: its tables, and the libraries that it needs. Offsets in tables are followed only within the
// file. Owner: the reader; the memory lasts as long as the object.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hr::launcher {

class ElfFile {
 public:
  explicit ElfFile(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // True if the file is empty or cannot be read.
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // Returns the ELF header; null if the file is not a 64-bit ELF file.
  [[nodiscard]] const Elf64_Ehdr* header() const noexcept;
  // Returns the segments; if the file is too short, only those that are complete.
  [[nodiscard]] std::vector<Elf64_Phdr> segments() const;
  // Returns item `number` of the table at `offset`; null beyond the end of the file.
  template <class Item>
  [[nodiscard]] const Item* at(std::uint64_t offset, std::uint64_t number = 0) const noexcept {
    if (offset > size_ || number > size_ / sizeof(Item)) return nullptr;
    const std::uint64_t place = offset + number * sizeof(Item);
    return place % alignof(Item) == 0 && place + sizeof(Item) <= size_ ? reinterpret_cast<const Item*>(begin_ + place)
                                                                       : nullptr;
  }
  // Returns the bytes from an offset on, at most the given number.
  [[nodiscard]] std::string_view bytes(std::uint64_t offset, std::uint64_t most) const noexcept;
  // Returns the string from an offset to its null character, or to the end of the file.
  [[nodiscard]] std::string_view text(std::uint64_t offset) const noexcept;
  // Returns the names of the libraries that the file needs.
  [[nodiscard]] std::vector<std::string> needed_libraries() const;

 private:
  const char* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hr::launcher
