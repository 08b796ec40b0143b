#include "boot/pmix_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/knobs.hpp"
#include "base/log.hpp"

namespace hr::boot::pmix {
namespace {

constexpr const char* kName = "libpmix.so.2";

// Returns the path of the PMIx library that the parent process has mapped. The parent is the launcher's daemon if the
// daemon started this process directly. Empty if there is none, or if the map may not be read.
std::string of_launcher() {
  std::ifstream maps("/proc/" + std::to_string(::getppid()) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto path = line.find('/');
    if (path != std::string::npos && line.find(std::string("/") + kName, path) != std::string::npos) {
      return line.substr(path);
    }
  }
  return {};
}

void* attempt(const std::string& path, std::string* tried) {
  if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  const char* reason = ::dlerror();
  *tried += (tried->empty() ? "" : "; ") + std::string(reason != nullptr ? reason : path.c_str());
  return nullptr;
}

void* open_any(std::string* tried) {
  if (void* library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); library != nullptr) return library;
  if (const std::string& directory = knobs().pmix_dir; !directory.empty()) {
    return attempt(directory + "/" + kName, tried);
  }
  // The launcher's library has the right version, but reading another process's memory map may be forbidden.
  if (const std::string path = of_launcher(); !path.empty()) {
    if (void* library = attempt(path, tried); library != nullptr) return library;
  }
  return attempt(kName, tried);
}

template <class Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  return *function != nullptr;
}

Library library;
bool opened = false;

}  // namespace

Status open_library(const Library** found) {
  *found = &library;
  if (opened) return kOk;
  std::string tried;
  void* const handle = open_any(&tried);
  if (handle == nullptr) {
    return fail(
        Errc::kOther,
        "boot: this process was started by a PMIx launcher (PMIX_NAMESPACE is set), and the PMIx library cannot "
        "be opened: %s. Install it, or name its directory with HEADRACE_PMIX_DIR, or start the program with "
        "Headrace's mpiexec or with srun --mpi=pmi2 (alone: unset PMIX_NAMESPACE)",
        tried.c_str());
  }
  Library made;
  const bool complete =
      find(handle, "PMIx_Init", &made.init) && find(handle, "PMIx_Finalize", &made.finalize) &&
      find(handle, "PMIx_Abort", &made.abort) && find(handle, "PMIx_Put", &made.put) &&
      find(handle, "PMIx_Commit", &made.commit) && find(handle, "PMIx_Fence_nb", &made.begin_fence) &&
      find(handle, "PMIx_Get", &made.get) && find(handle, "PMIx_Register_event_handler", &made.register_event) &&
      find(handle, "PMIx_Publish", &made.publish) && find(handle, "PMIx_Unpublish", &made.unpublish) &&
      find(handle, "PMIx_Lookup", &made.look_up) && find(handle, "PMIx_Error_string", &made.error_string);
  Dl_info info{};
  const bool known = complete && ::dladdr(reinterpret_cast<const void*>(made.init), &info) != 0;
  if (!complete) return fail(Errc::kOther, "boot: the PMIx library lacks a function: %s", ::dlerror());
  log::write(log::Level::kDecision, "boot: PMIx in %s", known && info.dli_fname != nullptr ? info.dli_fname : kName);
  library = made;
  opened = true;
  return kOk;
}

}  // namespace hr::boot::pmix
