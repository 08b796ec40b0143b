// Libraries of another MPI in place of Headrace's.
#include "program/foreign_library.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace hr::launcher {
namespace {

namespace fs = std::filesystem;

// Returns an ELF file with one header and one note, whose owner is the argument.
std::string library_with_note(std::string_view owner) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr part{};
  part.p_type = PT_NOTE;
  part.p_offset = sizeof header + sizeof part;
  Elf64_Nhdr note{};
  note.n_namesz = static_cast<Elf64_Word>(owner.size() + 1);
  note.n_type = 1;
  std::string name(owner);
  name.resize((owner.size() + 4) & ~std::size_t{3});
  part.p_filesz = sizeof note + name.size();
  std::string bytes;
  for (const auto& [data, size] :
       {std::pair<const void*, std::size_t>{&header, sizeof header}, {&part, sizeof part}, {&note, sizeof note}})
    bytes.append(static_cast<const char*>(data), size);
  return bytes + name;
}

class ForeignLibrary : public testing::Test {
 protected:
  ForeignLibrary() : prefix_(fs::path(testing::TempDir()) / ("foreign" + std::to_string(::getpid()))) {}
  ~ForeignLibrary() override { fs::remove_all(prefix_); }

  void write(const std::string& path, std::string_view text) {
    fs::create_directories((prefix_ / path).parent_path());
    std::ofstream(prefix_ / path, std::ios::binary) << text;
  }
  std::string found() const { return foreign_libraries(prefix_ / "lib"); }

  const fs::path prefix_;
};

TEST_F(ForeignLibrary, NothingIsSaidOfOurs) {
  EXPECT_EQ(found(), "");
  write("lib/libmpi.so.12", library_with_note("Headrace"));
  write("lib/libmpi_abi.so.1", library_with_note("Headrace"));
  EXPECT_EQ(found(), "");
}

TEST_F(ForeignLibrary, AnotherIsNamedWithItsPackage) {
  write("lib/libmpi_abi.so.1", library_with_note("Headrace"));
  write("lib/libmpi.so.12", library_with_note("GNU"));
  EXPECT_NE(found().find("another MPI has overwritten " + (prefix_ / "lib/libmpi.so.12").string() + ": "),
            std::string::npos)
      << found();
  write("lib/python3.11/site-packages/headrace-1.dist-info/RECORD", "../../../lib/libmpi.so.12,sha256=x,1\n");
  EXPECT_EQ(found().find("the package"), std::string::npos) << found();
  write("lib/python3.11/site-packages/mpich-5.0.2.dist-info/RECORD", "a,,\n../../../lib/libmpi.so.12,sha256=x,1\n");
  EXPECT_NE(found().find("which the package mpich 5.0.2 has, too"), std::string::npos) << found();
}

TEST_F(ForeignLibrary, BrokenFilesAreForeign) {
  const std::string ours = library_with_note("Headrace");
  // Checks that a file of any length is not read past its end.
  for (std::size_t size = 1; size < ours.size() - 4; ++size) {
    write("lib/libmpi.so.12", std::string_view(ours).substr(0, size));
    EXPECT_NE(found(), "") << size;
  }
  std::string far = ours;
  const Elf64_Off nowhere = ~Elf64_Off{0} - 8;
  std::memcpy(far.data() + offsetof(Elf64_Ehdr, e_phoff), &nowhere, sizeof nowhere);
  write("lib/libmpi.so.12", far);
  EXPECT_NE(found(), "");
  std::string long_note = ours;
  const Elf64_Word most = ~Elf64_Word{0};
  std::memcpy(long_note.data() + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), &most, sizeof most);
  write("lib/libmpi.so.12", long_note);
  EXPECT_NE(found(), "");
}

// Returns an ELF file with a header, two segments, a dynamic section that needs these libraries, and their names.
std::string program_that_needs(const std::vector<std::string>& libraries) {
  const Elf64_Addr kBase = 0x400000;
  std::string names(1, '\0');
  std::vector<Elf64_Dyn> dynamic;
  for (const std::string& library : libraries) {
    dynamic.push_back({DT_NEEDED, {names.size()}});
    names += library + '\0';
  }
  dynamic.push_back({DT_STRTAB, {0}});
  dynamic.push_back({DT_NULL, {0}});
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phnum = 2;
  std::array<Elf64_Phdr, 2> parts{};
  const std::size_t at = sizeof header + sizeof parts, bytes = dynamic.size() * sizeof dynamic[0];
  parts[0].p_type = PT_LOAD;
  parts[0].p_vaddr = kBase;
  parts[0].p_filesz = at + bytes + names.size();
  parts[1].p_type = PT_DYNAMIC;
  parts[1].p_offset = at;
  parts[1].p_filesz = bytes;
  dynamic[libraries.size()].d_un.d_ptr = kBase + at + bytes;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.append(reinterpret_cast<const char*>(parts.data()), sizeof parts);
  file.append(reinterpret_cast<const char*>(dynamic.data()), bytes);
  return file + names;
}

TEST_F(ForeignLibrary, ProgramsOfOpenMpiAreNamed) {
  const auto said = [&](const std::string& bytes) {
    write("program", bytes);
    return program_of_open_mpi(prefix_ / "program");
  };
  EXPECT_NE(
      said(program_that_needs({"libc.so.6", "libmpi.so.40"})).find("compiled for Open MPI (it needs libmpi.so.40)"),
      std::string::npos);
  EXPECT_EQ(said(program_that_needs({"libmpi_abi.so.1", "libc.so.6"})), "");
  EXPECT_EQ(said(program_that_needs({"libmpi.so.12"})), "");
  EXPECT_EQ(said("#!/bin/sh\n"), "");
  EXPECT_EQ(said(""), "");
  EXPECT_EQ(program_of_open_mpi(prefix_), "");
  // A truncated file yields nothing.
  const std::string whole = program_that_needs({"libmpi.so.40"});
  for (std::size_t bytes = 0; bytes < whole.size() - 1; ++bytes) EXPECT_EQ(said(whole.substr(0, bytes)), "") << bytes;
}

}  // namespace
}  // namespace hr::launcher
