#include "transport/ucx/library.hpp"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/knobs.hpp"
#include "base/lent_variables.hpp"
#include "base/log.hpp"
#include "transport/network/rdma.hpp"
#include "transport/ucx/maker_names.hpp"

namespace hr::transport::ucx {
namespace {

constexpr const char* kName = "libucp.so.0";

// Returns the UCX libraries among the Python packages of the environment in which this library is installed. The
// packages are under the environment's lib/.
std::vector<std::string> packages_beside_us() {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&packages_beside_us), &own) == 0 || own.dli_fname == nullptr) return {};
  const std::string_view path = own.dli_fname;
  const std::string folder(path.substr(0, path.rfind('/') + 1));
  glob_t found{};
  std::vector<std::string> paths;
  const std::string pattern = folder + "python3*/*-packages/libucx/lib/" + kName;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

std::string path_of(void* library) {
  Dl_info info{};
  void* const known = ::dlsym(library, "ucp_init_version");
  return known != nullptr && ::dladdr(known, &info) != 0 ? info.dli_fname : kName;
}

// Tries to open the library; adds the reason of a failure to `tried`.
void* attempt(const std::string& path, std::string* tried) {
  if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  const char* reason = ::dlerror();
  *tried += (tried->empty() ? "" : "; ") + std::string(reason != nullptr ? reason : path.c_str());
  return nullptr;
}

void* open_any(std::string* tried) {
  // Unless this variable forbids it, UCX patches mmap and similar functions when it is loaded, to observe the program's
  // memory; nothing else prevents that.
  const LentVariables without_hooks{{"UCX_MEM_EVENTS", "n"}};
  // Two copies of UCX in one process would interfere.
  if (void* library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); library != nullptr) return library;
  if (const std::string& directory = knobs().ucx_dir; !directory.empty()) {
    return attempt(directory + "/" + kName, tried);
  }
  if (void* library = attempt(kName, tried); library != nullptr) return library;
  std::vector<std::string> others = packages_beside_us();
#ifdef HR_UCX_OF_BUILD
  others.emplace_back(HR_UCX_OF_BUILD);
#endif
  for (const std::string& path : others) {
    if (void* library = attempt(path, tried); library != nullptr) return library;
  }
  return nullptr;
}

// True if UCX should load its device module, without which it does not support device memory.
bool wants_device_memory() {
  switch (knobs().device_network_direct) {
    case DeviceNetworkDirectChoice::kOn:
      return true;
    case DeviceNetworkDirectChoice::kOff:
      return false;
    case DeviceNetworkDirectChoice::kAuto:
      break;
  }
  return host_has_rdma();
}

// Sets the options of the part of UCX that reads its settings while it is loaded: by default it prints warnings that
// are meaningless to the user, handles crash signals, which are the program's or this library's (bind/crash.hpp), and
// initialises the device driver, which only GPUDirect needs.
void quieten(void* library) {
  using SetValue = ucs_status_t (*)(const char*, const char*);
  using DisableSignals = void (*)();
  const auto set = reinterpret_cast<SetValue>(::dlsym(library, "ucs_global_opts_set_value"));
  const auto set_unless = [&](const char* variable, const char* name, const char* value) {
    if (set != nullptr && environment(variable) == nullptr) static_cast<void>(set(name, value));
  };
  set_unless("UCX_LOG_LEVEL", "LOG_LEVEL", "fatal");
  set_unless("UCX_MODULES", "MODULES", wants_device_memory() ? kOwnDeviceModules : kNoDeviceModules);
  set_unless("UCX_MEMTYPE_CACHE", "MEMTYPE_CACHE", "n");
  set_unless("UCX_VFS_ENABLE", "VFS_ENABLE", "n");
  const auto disable = reinterpret_cast<DisableSignals>(::dlsym(library, "ucs_debug_disable_signals"));
  const bool user_decides = environment("UCX_ERROR_SIGNALS") != nullptr || environment("UCX_HANDLE_ERRORS") != nullptr;
  if (disable != nullptr && !user_decides) disable();
}

Status find_functions(void* library, Library* out) {
  const char* missing = nullptr;
  const auto find = [&](const char* name) {
    void* const found = ::dlsym(library, name);
    if (found == nullptr) missing = name;
    return found;
  };
#define HR_FIND(name) out->name = reinterpret_cast<decltype(out->name)>(find("ucp_" #name));
  HR_UCP_FUNCTIONS(HR_FIND)
#undef HR_FIND
#define HR_FIND(name) out->name = reinterpret_cast<decltype(out->name)>(::dlsym(library, "ucp_" #name));
  HR_UCP_OPTIONAL(HR_FIND)
#undef HR_FIND
  out->status_string = reinterpret_cast<decltype(out->status_string)>(find("ucs_status_string"));
  out->path = path_of(library);
  if (missing == nullptr) return kOk;
  return fail(Errc::kOther, "%s has no function %s: UCX 1.14 or newer is needed (pip install 'headrace[ucx]')",
              out->path.c_str(), missing);
}

// Older versions do not copy the header of an active message (UCP_AM_SEND_FLAG_COPY_HEADER), and ignore that flag.
Status check_version(const Library& library) {
  unsigned major = 0, minor = 0, release = 0;
  library.get_version(&major, &minor, &release);
  if (UCP_VERSION(major, minor) >= UCP_VERSION(1, 14)) return kOk;
  return fail(Errc::kOther,
              "%s is UCX %u.%u, and 1.14 or newer is needed (pip install 'headrace[ucx]', and HEADRACE_UCX_DIR names "
              "its directory)",
              library.path.c_str(), major, minor);
}

Status load(Library* out) {
  std::string tried;
  void* const library = open_any(&tried);
  if (library == nullptr) {
    return fail(Errc::kOther,
                "processes of this job share no memory, and UCX, which is to carry their messages, is not found (%s). "
                "Install it (pip install 'headrace[ucx]', or libucx-cu13), say where %s is (HEADRACE_UCX_DIR), or use "
                "TCP (HEADRACE_NETWORK=tcp), which needs no library",
                tried.c_str(), kName);
  }
  quieten(library);
  HR_TRY(find_functions(library, out));
  HR_TRY(check_version(*out));
  log::write(log::Level::kDecision, "ucx: version %s in %s", out->get_version_string(), out->path.c_str());
  return kOk;
}

}  // namespace

bool host_has_rdma() { return !network::rdma_devices().rdma.empty(); }

std::string suits_host() {
  if (host_has_rdma()) return network::this_host_has(network::rdma_devices().rdma);
  if (knobs().rma_network == RmaNetworkChoice::kOn) return "HEADRACE_RMA_NETWORK is on";
  if (knobs().device_network_direct == DeviceNetworkDirectChoice::kOn) return "HEADRACE_DEVICE_NETWORK_DIRECT is on";
  return "";
}

Status open_library(const Library** out) {
  static Library library;
  static bool loaded = false;
  if (!loaded) HR_TRY(load(&library));
  loaded = true;
  *out = &library;
  return kOk;
}

}  // namespace hr::transport::ucx
