#include "transport/tcp/interface.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "base/knobs.hpp"

namespace hr::transport::tcp {
namespace {

struct Candidate {
  Interface interface;
  bool running = false;   // it has a carrier
  bool hardware = false;  // it leads to a device, unlike a tunnel or a bridge between containers
  [[nodiscard]] bool is_ipv4() const noexcept { return interface.address.ss_family == AF_INET; }
};

// Returns the speed that the driver states, in Mbit/s; 0 if it states none.
double speed_of(const std::string& name) {
  double speed = 0;
  std::ifstream("/sys/class/net/" + name + "/speed") >> speed;
  return std::max(speed, 0.0);
}

// True if a device drives the interface, or one of the interfaces below it (those of a bond, a bridge or a VLAN).
bool is_on_hardware(const std::string& name, int depth = 0) {
  constexpr int kDeepest = 4;
  const std::filesystem::path directory = "/sys/class/net/" + name;
  std::error_code none;
  if (std::filesystem::exists(directory / "device", none)) return true;
  if (depth == kDeepest) return false;
  constexpr std::string_view kBelow = "lower_";
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(kBelow) && is_on_hardware(file.substr(kBelow.size()), depth + 1)) return true;
  }
  return false;
}

bool is_usable(const ifaddrs& each) noexcept {
  if (each.ifa_addr == nullptr || (each.ifa_flags & IFF_UP) == 0) return false;
  if (each.ifa_addr->sa_family == AF_INET) return true;
  if (each.ifa_addr->sa_family != AF_INET6) return false;
  // An address that is valid on one link only is ambiguous on another host.
  return !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(each.ifa_addr)->sin6_addr);
}

Status find(std::vector<Candidate>* out) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return fail(Errc::kOther, "tcp: the network interfaces cannot be listed: %s", std::strerror(errno));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, ::freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (!is_usable(*each)) continue;
    Candidate found;
    found.interface.name = each->ifa_name;
    found.interface.is_loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
    const std::size_t length = each->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&found.interface.address, each->ifa_addr, length);
    found.interface.bytes_per_second = speed_of(found.interface.name) * 1e6 / 8;
    found.running = (each->ifa_flags & IFF_RUNNING) != 0;
    found.hardware = is_on_hardware(found.interface.name);
    out->push_back(std::move(found));
  }
  return kOk;
}

bool is_wanted(std::string_view name) {
  std::string_view rest = knobs().network_devices;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    if (entry == name) return true;
  }
  return false;
}

// True if the first is the better choice. False if they are equal: then the one that the system lists first is taken.
bool is_better(const Candidate& one, const Candidate& other) noexcept {
  if (one.running != other.running) return one.running;
  if (one.hardware != other.hardware) return one.hardware;
  if (one.is_ipv4() != other.is_ipv4()) return one.is_ipv4();
  return one.interface.bytes_per_second > other.interface.bytes_per_second;
}

Status none_serves(const std::vector<Candidate>& all, Listens listens) {
  std::string names;
  for (const Candidate& each : all) {
    if (names.find(each.interface.name) == std::string::npos)
      names += (names.empty() ? "" : ", ") + each.interface.name;
  }
  if (!knobs().network_devices.empty()) {
    return fail(Errc::kOther,
                "tcp: HEADRACE_NETWORK_DEVICES=%s names no network interface that is up and has an address (this host "
                "has: %s)",
                knobs().network_devices.c_str(), names.empty() ? "none" : names.c_str());
  }
  if (listens == Listens::kOnLoopback) {
    return fail(Errc::kOther,
                "tcp: the loopback interface, which the emulated hosts of this job use, is not up (interfaces with an "
                "address: %s): ip link set lo up",
                names.empty() ? "none" : names.c_str());
  }
  return fail(Errc::kOther,
              "tcp: no network interface with which other hosts can reach this one is up (interfaces with an address: "
              "%s). HEADRACE_NETWORK_DEVICES names the interface to use, which may be lo for a job on one host",
              names.empty() ? "none" : names.c_str());
}

}  // namespace

Status choose_interface(Listens listens, Interface* out) {
  std::vector<Candidate> all;
  HR_TRY(find(&all));
  const bool by_name = !knobs().network_devices.empty();
  const Candidate* best = nullptr;
  const auto consider = [&](auto&& qualifies) {
    for (const Candidate& each : all) {
      if (qualifies(each) && (best == nullptr || is_better(each, *best))) best = &each;
    }
  };
  if (by_name) {
    consider([](const Candidate& each) { return is_wanted(each.interface.name); });
  } else {
    if (listens != Listens::kOnLoopback) consider([](const Candidate& each) { return !each.interface.is_loopback; });
    if (best == nullptr && listens != Listens::kForOtherHosts)
      consider([](const Candidate& each) { return each.interface.is_loopback; });
  }
  if (best == nullptr) return none_serves(all, listens);
  *out = best->interface;
  return kOk;
}

}  // namespace hr::transport::tcp
