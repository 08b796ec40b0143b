#include "transport/ofi/library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "transport/network/rdma.hpp"

namespace hr::transport::ofi {
namespace {

constexpr const char* kName = "libfabric.so.1";

std::string path_of(void* function) {
  Dl_info info{};
  return function != nullptr && ::dladdr(function, &info) != 0 ? info.dli_fname : kName;
}

// Two copies of libfabric in one process would interfere, so a copy that is already loaded is used.
void* open_any(std::string* tried) {
  if (void* library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); library != nullptr) return library;
  const std::string& directory = knobs().ofi_dir;
  const std::string path = directory.empty() ? kName : directory + "/" + kName;
  if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  const char* reason = ::dlerror();
  *tried = reason != nullptr ? reason : path;
  return nullptr;
}

Status load(Library* out) {
  std::string tried;
  void* const library = open_any(&tried);
  if (library == nullptr) {
    return fail(
        Errc::kOther,
        "processes of this job share no memory, and libfabric, which is to carry their messages, is not found (%s). "
        "Install it (Debian: libfabric1), say where %s is (HEADRACE_OFI_DIR), or use TCP (HEADRACE_NETWORK=tcp), which "
        "needs no library",
        tried.c_str(), kName);
  }
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(::dlsym(library, name));
    if (*function == nullptr) missing = name;
  };
  find("fi_getinfo", &out->getinfo);
  find("fi_freeinfo", &out->freeinfo);
  find("fi_dupinfo", &out->dupinfo);
  find("fi_fabric", &out->fabric);
  find("fi_version", &out->version);
  find("fi_strerror", &out->strerror);
  out->path = path_of(reinterpret_cast<void*>(out->getinfo));
  if (missing != nullptr) return fail(Errc::kOther, "%s has no function %s", out->path.c_str(), missing);
  const std::uint32_t version = out->version();
  if (version < kVersion) {
    return fail(Errc::kOther, "%s is libfabric %u.%u: 1.9 or newer is needed", out->path.c_str(), FI_MAJOR(version),
                FI_MINOR(version));
  }
  log::write(log::Level::kDecision, "ofi: libfabric %u.%u in %s", FI_MAJOR(version), FI_MINOR(version),
             out->path.c_str());
  return kOk;
}

constexpr LentVariable kSettings[] = {
    {"IPATH_NO_BACKTRACE", "1"},
    {"HFI_NO_BACKTRACE", "1"},
    {"FI_OFI_RXM_MSG_RX_SIZE", "64"},
    {"FI_OFI_RXM_MSG_TX_SIZE", "64"},
    {"FI_OFI_RXM_RX_SIZE", "256"},
    {"FI_OFI_RXM_TX_SIZE", "256"},
    {"FI_OFI_RXM_CM_PROGRESS_INTERVAL", "1000"},
    {"FI_TCP_MAX_RX_SIZE", "256"},
};

}  // namespace

Settings::Settings() : LentVariables(kSettings) {}

bool goes_by_tcp() {
  const std::string& wanted = knobs().ofi_provider;
  if (!wanted.empty()) return wanted.starts_with("tcp");
  const network::RdmaDevices& devices = network::rdma_devices();
  return devices.rdma.empty() && devices.cxi.empty();
}

std::string suits_host() {
  std::vector<std::string> devices = network::rdma_devices().cxi;
  std::ranges::copy_if(network::rdma_devices().rdma, std::back_inserter(devices), [](std::string_view name) {
    return name.starts_with("efa") || name.starts_with("rdmap") || name.starts_with("hfi1");
  });
  if (!devices.empty()) return network::this_host_has(devices);
  return knobs().ofi_provider.empty() ? "" : "HEADRACE_OFI_PROVIDER is set";
}

Status open_library(const Library** out) {
  static Library library;
  static bool loaded = false;
  if (!loaded) HR_TRY(load(&library));
  loaded = true;
  *out = &library;
  return kOk;
}

}  // namespace hr::transport::ofi
