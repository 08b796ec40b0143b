#include "program/foreign_library.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "program/elf_file.hpp"

namespace hr::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "Headrace";  // src/bind/mark.cpp
constexpr std::array kLibraries{"libmpi_abi.so.1", "libmpi.so.12"};

// Copies the value at an offset; false if the bytes end before that.
template <typename T>
bool read_at(std::string_view bytes, std::size_t offset, T* value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(value, bytes.data() + offset, sizeof(T));
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

// True if the library is Headrace's, or cannot be read: in that case, the loader will report why.
bool is_ours(const fs::path& library) {
  const ElfFile file(library);
  if (file.header() == nullptr) return file.empty();
  return std::ranges::any_of(file.segments(), [&](const Elf64_Phdr& part) {
    return part.p_type == PT_NOTE && has_mark(file.bytes(part.p_offset, part.p_filesz));
  });
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

// Returns the package of the environment that owns the file according to pip's lists; empty if there is none.
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
  // A system folder may legitimately contain other libraries.
  if (error || !fs::exists(folder / "libheadrace_fortran.so.1", error)) return {};
  return foreign_libraries(folder);
}

std::string program_of_open_mpi(const fs::path& program) {
  std::error_code error;
  if (!fs::is_regular_file(program, error)) return {};
  for (const std::string& name : ElfFile(program).needed_libraries()) {
    if (name != "libmpi.so.40" && name != "libmpi.so.20") continue;
    return program.string() + " was compiled for Open MPI (it needs " + name +
           "): each of its ranks would run alone. Compile it with Headrace's mpicc, mpicxx or mpifort, or start it "
           "with Open MPI's mpirun";
  }
  return {};
}

}  // namespace hr::launcher
