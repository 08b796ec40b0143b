#include "boot/peer_address.hpp"

#include <sys/stat.h>

#include <charconv>
#include <cstdlib>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "boot/key_values.hpp"
#include "boot/state.hpp"

namespace hr::boot {
namespace {

constexpr const char* kJob = "j";
constexpr const char* kRank = "r";
constexpr const char* kHost = "h";
constexpr const char* kNetwork = "n";
constexpr const char* kSettings = "s";

std::string own_signature() {
  const std::string& directory = knobs().shm_dir;
  struct stat state{};
  ::stat(directory.c_str(), &state);
  std::string text = boot_id() + "." + std::to_string(state.st_dev) + "." + std::to_string(state.st_ino);
  // One machine may be declared to be several hosts.
  if (identity().declared_hosts) text += ".as" + std::to_string(processes().host_of(processes().self()));
  return text;
}

std::string value(const KeyValues& pairs, const char* key) {
  const auto found = pairs.find(key);
  return found != pairs.end() ? found->second : std::string();
}

}  // namespace

PeerAddress own_address() {
  PeerAddress address = name_of(processes().self());
  address.host = own_signature();
  address.settings = settings_signature();
  return address;
}

PeerAddress name_of(int proc) { return {std::string(processes().job_of(proc)), processes()[proc].rank, "", "", ""}; }

std::string format(const PeerAddress& address) {
  KeyValues pairs{{kJob, address.job}, {kRank, std::to_string(address.rank)}};
  if (!address.host.empty()) pairs.emplace(kHost, address.host);
  if (!address.network.empty()) pairs.emplace(kNetwork, address.network);
  if (!address.settings.empty()) pairs.emplace(kSettings, address.settings);
  return join(pairs);
}

Status parse(std::string_view text, PeerAddress* address) {
  KeyValues pairs;
  HR_TRY(split(text, &pairs));
  *address = {value(pairs, kJob), 0, value(pairs, kHost), value(pairs, kNetwork), value(pairs, kSettings)};
  const std::string rank = value(pairs, kRank);
  const char* const end = rank.data() + rank.size();
  const auto read = std::from_chars(rank.data(), end, address->rank);
  if (read.ec == std::errc() && read.ptr == end && address->rank >= 0 && !address->job.empty()) return kOk;
  return fail(Errc::kOther, "\"%.*s\" was sent as the address of a process", static_cast<int>(text.size()),
              text.data());
}

int add_peer(const PeerAddress& address) {
  Processes& all = processes();
  const int known = all.find(address.job, address.rank);
  if (known >= 0 && !all.is_other(known)) {
    if (!address.host.empty()) all.name_host(all.host_of(known), address.host);
    return known;
  }
  const int added = all.add(address.job, address.rank, all.host_with(address.host));
  if (!address.host.empty()) all.set_alike(added, address.settings == settings_signature());
  return added;
}

}  // namespace hr::boot
