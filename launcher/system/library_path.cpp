#include "system/library_path.hpp"

#include <filesystem>

#include "config.hpp"

namespace hr::launcher {
namespace {

namespace fs = std::filesystem;

// True for folders that the loader searches anyway.
bool is_system_directory(const fs::path& folder) {
  const std::string text = folder.string();
  for (const std::string_view each : {"/lib", "/lib64", "/usr/lib", "/usr/lib64"}) {
    if (text == each || text.starts_with(std::string(each) + "/")) return true;
  }
  return false;
}

// True for a conda environment, whose libstdc++, libtinfo and libssl break system programs.
bool is_in_environment(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder.parent_path() / "conda-meta", ignored);
}

}  // namespace

std::string library_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  for (const char* relative : {"../lib", HEADRACE_LIB_FROM_BIN}) {
    const fs::path folder = (self.parent_path() / relative).lexically_normal();
    if (!fs::exists(folder / "libmpi_abi.so.1", error)) continue;
    return is_system_directory(folder) || is_in_environment(folder) ? std::string() : folder.string();
  }
  return {};
}

std::string with_folder(std::string_view path, std::string_view folder) {
  std::string joined(path);
  if (folder.empty()) return joined;
  // The loader ignores an empty variable. In any other, an empty entry means the working directory, and is kept in its
  // place.
  if (joined.empty()) return std::string(folder);
  const std::string framed = ":" + joined + ":";
  if (framed.find(":" + std::string(folder) + ":") != std::string::npos) return joined;
  return joined + ":" + std::string(folder);
}

}  // namespace hr::launcher
