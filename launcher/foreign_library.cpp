#include "foreign_library.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

namespace hr::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "Headrace";  // src/bind/mark.cpp
constexpr std::array kLibraries{"libmpi_abi.so.1", "libmpi.so.12"};

// Copies what is at an offset of the file's head; false if that is too short.
template <typename T>
bool read_at(std::string_view head, std::size_t offset, T* value) {
  if (offset > head.size() || head.size() - offset < sizeof(T)) return false;
  std::memcpy(value, head.data() + offset, sizeof(T));
  return true;
}

bool has_mark(std::string_view notes) {
  Elf64_Nhdr note{};
  for (std::size_t at = 0; read_at(notes, at, &note);) {
    const std::string_view rest = notes.substr(at + sizeof note);
    if (note.n_namesz == kMark.size() + 1 && rest.starts_with(kMark)) return true;
    const auto padded = [](Elf64_Word size) { return (std::size_t{size} + 3) & ~std::size_t{3}; };
    at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
  }
  return false;
}

// Names of the libraries that an ELF file needs; empty for other files, and if the file contradicts itself.
class NeededLibraries {
 public:
  explicit NeededLibraries(const fs::path& program) : file_(program, std::ios::binary) {
    Elf64_Ehdr header{};
    if (!read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
    if (header.e_ident[EI_CLASS] != ELFCLASS64) return;
    Elf64_Phdr dynamic{};
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr part{};
      if (!read(header.e_phoff + i * sizeof part, &part)) return;
      if (part.p_type == PT_LOAD) loaded_.push_back(part);
      if (part.p_type == PT_DYNAMIC) dynamic = part;
    }
    std::vector<Elf64_Xword> offsets;
    Elf64_Addr strings = 0;
    Elf64_Dyn entry{};
    for (std::size_t i = 0; i < kMostEntries && (i + 1) * sizeof entry <= dynamic.p_filesz; ++i) {
      if (!read(dynamic.p_offset + i * sizeof entry, &entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED) offsets.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    }
    for (const Elf64_Xword offset : offsets) names_.push_back(text_at(strings + offset));
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  static constexpr std::size_t kMostEntries = 1000;

  template <typename T>
  bool read(std::uint64_t offset, T* value) {
    file_.clear();
    return file_.seekg(static_cast<std::streamoff>(offset)) &&
           file_.read(reinterpret_cast<char*>(value), sizeof *value);
  }

  // Returns the text at an address of the loaded program, at most 63 characters.
  std::string text_at(Elf64_Addr address) {
    for (const Elf64_Phdr& part : loaded_) {
      if (address < part.p_vaddr || address - part.p_vaddr >= part.p_filesz) continue;
      std::array<char, 64> bytes{};
      file_.clear();
      if (!file_.seekg(static_cast<std::streamoff>(part.p_offset + (address - part.p_vaddr)))) return {};
      file_.read(bytes.data(), bytes.size() - 1);
      return bytes.data();
    }
    return {};
  }

  std::ifstream file_;
  std::vector<Elf64_Phdr> loaded_;
  std::vector<std::string> names_;
};

// Also true for a file that cannot be read: the loader will report why.
bool is_ours(const fs::path& library) {
  std::ifstream file(library, std::ios::binary);
  std::array<char, 4096> page{};
  file.read(page.data(), page.size());
  const std::string_view head(page.data(), static_cast<std::size_t>(file.gcount()));
  Elf64_Ehdr header{};
  if (!read_at(head, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return head.empty();
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (header.e_phoff > head.size() || !read_at(head, header.e_phoff + i * sizeof part, &part)) return false;
    if (part.p_type == PT_NOTE && part.p_offset < head.size() && has_mark(head.substr(part.p_offset, part.p_filesz)))
      return true;
  }
  return false;
}

// Returns "mpich 5.0.2" for mpich-5.0.2.dist-info.
std::string package_name(const fs::path& folder) {
  std::string text = folder.stem().string();
  std::replace(text.begin(), text.end(), '-', ' ');
  return text;
}

bool lists(const fs::path& record, const std::string& library) {
  std::ifstream file(record);
  for (std::string line; std::getline(file, line);) {
    if (line.find("/lib/" + library + ",") != std::string::npos) return true;
  }
  return false;
}

// Returns the package of the environment that owns the file according to pip's lists; empty: none does.
std::string owner_of(const std::string& library, const fs::path& folder) {
  std::error_code ignored;
  for (const auto& python : fs::directory_iterator(folder, ignored)) {
    if (!python.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const auto& package : fs::directory_iterator(python.path() / packages, ignored)) {
        if (package.path().extension() != ".dist-info") continue;
        const std::string name = package_name(package.path());
        if (!name.starts_with("headrace ") && lists(package.path() / "RECORD", library)) return name;
      }
    }
  }
  return {};
}

}  // namespace

std::string foreign_libraries(const fs::path& folder) {
  std::string names, owner;
  for (const std::string library : kLibraries) {
    std::error_code ignored;
    if (!fs::is_regular_file(folder / library, ignored) || is_ours(folder / library)) continue;
    names += (names.empty() ? "" : " and ") + (folder / library).string();
    if (owner.empty()) owner = owner_of(library, folder);
  }
  if (names.empty()) return {};
  return "another MPI has overwritten " + names + (owner.empty() ? "" : ", which the package " + owner + " has, too") +
         ": programs that load it fail in MPI_Init or run alone. Keep the two in different environments; "
         "headrace doctor names all files";
}

std::string foreign_libraries_here() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = self.parent_path().parent_path() / "lib";
  // A folder of the system may well have other libraries.
  if (error || !fs::exists(folder / "libheadrace_fortran.so.1", error)) return {};
  return foreign_libraries(folder);
}

std::string program_of_open_mpi(const fs::path& program) {
  std::error_code error;
  if (!fs::is_regular_file(program, error)) return {};
  const NeededLibraries needed(program);
  for (const std::string& name : needed.names()) {
    if (name != "libmpi.so.40" && name != "libmpi.so.20") continue;
    return program.string() + " was compiled for Open MPI (it needs " + name +
           "): each of its ranks would run alone. Compile it with Headrace's mpicc, mpicxx or mpifort, or start it "
           "with Open MPI's mpirun";
  }
  return {};
}

}  // namespace hr::launcher
