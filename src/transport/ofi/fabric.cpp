#include "transport/ofi/fabric.hpp"

#include <netinet/in.h>
#include <rdma/fi_cm.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "base/knobs.hpp"
#include "base/lent_variables.hpp"
#include "base/log.hpp"
#include "topo/allowed_cpus.hpp"
#include "transport/network/socket_address.hpp"
#include "transport/ofi/address.hpp"
#include "transport/ofi/nearest.hpp"
#include "transport/ofi/peer.hpp"

namespace hr::transport::ofi {
namespace {

constexpr std::string_view kLoopback = "127.0.0.1";

// Maximum length of messages that ofi_rxm sends immediately. Over TCP, it sends them directly into the receiver's
// buffer; over verbs it cannot. Two processes with different limits try to connect forever.
constexpr LentVariable kEagerLimit{"FI_OFI_RXM_EAGER_LIMIT", "65792"};

// Returns the number that a text of digits contains.
consteval std::size_t number_in(std::string_view text) {
  std::size_t number = 0;
  for (const char digit : text) number = 10 * number + static_cast<std::size_t>(digit - '0');
  return number;
}
// Otherwise a long message would be a rendezvous of ofi_rxm, which takes a round trip before the one of this library.
static_assert(number_in(kEagerLimit.value) >= kFront + kMaxPayload);

// Providers that are used only if the user names them: they reach no other host, are superseded or experimental, or
// combine other providers.
constexpr std::array<std::string_view, 8> kUnasked = {"shm", "sm2", "sockets", "net", "udp", "mrail", "lnx", "hook"};
constexpr std::array<std::string_view, 4> kKernelNetworks = {"tcp", "udp", "sockets", "net"};

// True if the name of one of the provider's layers ("tcp;ofi_rxm") begins with `name`, optionally preceded by "ofi_".
bool consists_of(std::string_view provider, std::string_view name) noexcept {
  for (std::string_view rest = provider; !rest.empty();) {
    std::string_view layer = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), layer.size() + 1));
    if (layer.starts_with("ofi_")) layer.remove_prefix(4);
    if (layer.starts_with(name)) return true;
  }
  return false;
}

bool is_unasked(std::string_view provider) noexcept {
  return std::ranges::any_of(kUnasked, [&](std::string_view name) { return consists_of(provider, name); });
}

bool is_of_kernel(std::string_view provider) noexcept {
  return std::ranges::any_of(kKernelNetworks, [&](std::string_view name) { return consists_of(provider, name); });
}

// Returns the address of a device, without a port; its family is AF_UNSPEC if it is not that of a socket.
sockaddr_storage socket_address(const fi_info& info) noexcept {
  sockaddr_storage address{};
  const bool has = info.src_addr != nullptr && (info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
                                                info.addr_format == FI_SOCKADDR_IN6);
  if (!has) return address;
  std::memcpy(&address, info.src_addr, std::min(info.src_addrlen, sizeof address));
  const std::size_t length = network::length_of(address);
  return length != 0 && info.src_addrlen >= length ? address : sockaddr_storage{};
}

// True for addresses at which other hosts cannot reach this one: loopback addresses, and IPv6 addresses that are valid
// on one link only.
bool is_local_address(const fi_info& info) noexcept {
  const sockaddr_storage address = socket_address(info);
  if (network::is_loopback(address)) return true;
  return address.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

// True if the user's list of devices ("mlx5_0:1,eth0") is empty or contains this one.
bool is_wanted_device(const fi_info& info) {
  std::string_view rest = knobs().network_devices;
  if (rest.empty()) return true;
  const std::string_view device = info.domain_attr->name != nullptr ? info.domain_attr->name : "";
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    if (!entry.empty() && device == entry.substr(0, entry.find(':'))) return true;
  }
  return false;
}

// Returns the address of the device's card on the PCI bus; empty if the provider does not tell it.
std::string card_of(const fi_info& info) {
  if (info.nic == nullptr || info.nic->bus_attr == nullptr || info.nic->bus_attr->bus_type != FI_BUS_PCI) return {};
  const fi_pci_attr& pci = info.nic->bus_attr->attr.pci;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id, pci.device_id,
                pci.function_id);
  return text.data();
}

// True if both cards are of one kind and in one network, so that either serves.
bool are_alike(const fi_info& one, const fi_info& other) noexcept {
  const auto equal = [](const char* a, const char* b) {
    return a == b || (a != nullptr && b && std::strcmp(a, b) == 0);
  };
  if (!equal(one.fabric_attr->prov_name, other.fabric_attr->prov_name)) return false;
  if (!equal(one.fabric_attr->name, other.fabric_attr->name)) return false;
  const fi_link_attr* const link = one.nic->link_attr;
  const fi_link_attr* const link2 = other.nic->link_attr;
  if (link == nullptr || link2 == nullptr) return link == link2;
  return link->speed == link2->speed && link->state == link2->state && equal(link->network_type, link2->network_type);
}

}  // namespace

Status Fabric::failed(const char* what, long error) const {
  return fail(Errc::kOther, "ofi: provider %s on %s: %s: %s (FI_LOG_LEVEL=warn says more)", provider().c_str(),
              device().c_str(), what, library_.text(error).c_str());
}

std::string Fabric::device() const { return info_->domain_attr->name != nullptr ? info_->domain_attr->name : "-"; }

// Asks libfabric for the usable providers. `provider`: the one to query; empty: all.
int Fabric::ask(const std::string& provider, bool loopback, fi_info** all) const {
  fi_info* const hints = library_.dupinfo(nullptr);
  if (hints == nullptr) return -FI_ENOMEM;
  hints->caps = FI_MSG | FI_RMA | FI_MULTI_RECV;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_UNSPEC;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  if (!provider.empty()) hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  int answer = -FI_ENODATA;
  if (loopback) answer = library_.getinfo(kVersion, kLoopback.data(), nullptr, FI_SOURCE, hints, all);
  if (answer != 0) answer = library_.getinfo(kVersion, nullptr, nullptr, 0, hints, all);
  library_.freeinfo(hints);
  return answer;
}

// Finds the usable devices of the providers, in libfabric's order: it lists the fastest first. Emulated hosts use the
// loopback interface only; a provider may list others, although it was asked for that one. libfabric 1.19 and later
// start only the provider that is requested, which takes a fraction of the time; so the TCP provider is requested if
// there is no hardware for another. If there is, and the user has not asked for libfabric, its providers for the
// kernel's network are left out: they accept connections from everybody, and Headrace's own TCP does not.
Status Fabric::find_candidates(network::Listens listens, std::vector<Info>* out) const {
  const std::string& wanted = knobs().ofi_provider;
  const bool by_devices = !knobs().network_devices.empty();
  const bool loopback = listens == network::Listens::kOnLoopback && !by_devices;
  const bool tcp_alone = wanted.empty() && goes_by_tcp();
  const bool hardware_alone = wanted.empty() && !tcp_alone && knobs().network == NetworkChoice::kAuto;
  fi_info* all = nullptr;
  int answer = ask(tcp_alone ? "tcp" : wanted, loopback, &all);
  if (answer != 0 && tcp_alone) answer = ask("", loopback, &all);
  std::string seen;
  std::vector<Info> local;
  for (const fi_info* each = all; answer == 0 && each != nullptr; each = each->next) {
    const std::string_view name = each->fabric_attr->prov_name;
    if (seen.find(name) == std::string::npos) seen.append(seen.empty() ? "" : ", ").append(name);
    if ((wanted.empty() && is_unasked(name)) || !is_wanted_device(*each)) continue;
    if (hardware_alone && is_of_kernel(name)) continue;
    // The user may name hardware, and uses that for emulated hosts, too.
    const bool stays = network::is_loopback(socket_address(*each)) || (!wanted.empty() && !is_of_kernel(name));
    if (loopback && !stays) continue;
    const bool reached = loopback || by_devices || !is_local_address(*each);
    (reached ? *out : local).emplace_back(library_.dupinfo(each), library_.freeinfo);
  }
  if (listens != network::Listens::kForOtherHosts) std::ranges::move(local, std::back_inserter(*out));
  if (all != nullptr) library_.freeinfo(all);
  if (!out->empty()) return kOk;
  return fail(Errc::kOther,
              "ofi: no provider of libfabric serves %s%s%s%s%s (available: %s; `fi_info -t FI_EP_RDM` lists them): set "
              "HEADRACE_OFI_PROVIDER or HEADRACE_NETWORK_DEVICES to others, or use TCP (HEADRACE_NETWORK=tcp)",
              loopback ? "on the loopback interface, which the emulated hosts of this job use" : "here",
              wanted.empty() ? "" : ", HEADRACE_OFI_PROVIDER=", wanted.c_str(),
              by_devices ? ", HEADRACE_NETWORK_DEVICES=" : "", knobs().network_devices.c_str(),
              seen.empty() ? library_.text(answer).c_str() : seen.c_str());
}

// Puts the cards that are like that of the first candidate into the order in which this process should try them.
// Interfaces of the kernel's network are left in their order: each may be in a network of its own.
void Fabric::prefer_near_cards(std::size_t turn, std::vector<Info>* candidates) {
  const fi_info& first = *candidates->front();
  if (card_of(first).empty() || is_of_kernel(first.fabric_attr->prov_name)) return;
  const auto others = std::ranges::stable_partition(
      *candidates, [&](const Info& each) { return !card_of(*each).empty() && are_alike(*each, first); });
  std::vector<std::string> cards;
  for (auto each = candidates->begin(); each != others.begin(); ++each) cards.push_back(card_of(**each));
  std::vector<Info> ordered;
  for (const std::size_t i : nearest_first(cards, topo::allowed_cpus(), turn))
    ordered.push_back(std::move((*candidates)[i]));
  std::ranges::move(ordered, candidates->begin());
}

// A provider may list a device that it cannot open. Several entries of one device differ in the form of the address.
Status Fabric::open(network::Listens listens, std::size_t turn, std::size_t least_landing) {
  std::vector<Info> candidates;
  HR_TRY(find_candidates(listens, &candidates));
  prefer_near_cards(turn, &candidates);
  std::string first_error;
  std::string tried;
  for (Info& each : candidates) {
    info_ = each.release();
    const std::string name = provider() + " on " + device();
    if (name == tried) {
      close();
      continue;
    }
    if (open_endpoint(least_landing).ok()) {
      log::write(log::Level::kDecision, "ofi: provider %s", name.c_str());
      return kOk;
    }
    tried = name;
    const std::string error = take_detail();
    log::write(log::Level::kDecision, "%s", error.c_str());
    if (first_error.empty()) first_error = error;
    close();
  }
  return fail(Errc::kOther, "%s; use another provider (HEADRACE_OFI_PROVIDER), or TCP (HEADRACE_NETWORK=tcp)",
              first_error.c_str());
}

Status Fabric::open_endpoint(std::size_t least_landing) {
  const std::string name = provider();
  kernel_network_ = is_of_kernel(name);
  releases_failed_ = consists_of(name, "rxm");
  loses_first_ = consists_of(name, "tcp") && !consists_of(name, "rxm");
  if (const int made = library_.fabric(info_->fabric_attr, &fabric_, nullptr); made != 0) return failed("open", made);
  if (const int made = ::fi_domain(fabric_, info_, &domain_, nullptr); made != 0) return failed("domain", made);
  fi_av_attr table{};
  table.type = info_->domain_attr->av_type == FI_AV_MAP ? FI_AV_MAP : FI_AV_TABLE;
  if (const int made = ::fi_av_open(domain_, &table, &addresses_, nullptr); made != 0) return failed("addresses", made);
  // A provider that cannot signal arrivals is polled.
  fi_cq_attr completions{};
  completions.format = FI_CQ_FORMAT_DATA;
  completions.wait_obj = FI_WAIT_FD;
  if (::fi_cq_open(domain_, &completions, &queue_, nullptr) == 0) {
    if (::fi_control(&queue_->fid, FI_GETWAIT, &descriptor_) != 0) descriptor_ = -1;
  } else {
    completions.wait_obj = FI_WAIT_NONE;
    if (const int made = ::fi_cq_open(domain_, &completions, &queue_, nullptr); made != 0)
      return failed("completion queue", made);
  }
  {
    const bool has_limit = releases_failed_ && kernel_network_;
    const LentVariables limit(std::span(&kEagerLimit, has_limit ? 1 : 0));
    if (const int made = ::fi_endpoint(domain_, info_, &endpoint_, nullptr); made != 0) return failed("endpoint", made);
    const char* const set = releases_failed_ ? environment(kEagerLimit.name) : nullptr;
    terms_ = set == nullptr ? name : name + " with " + kEagerLimit.name + "=" + set;
  }
  if (const int made = ::fi_ep_bind(endpoint_, &addresses_->fid, 0); made != 0)
    return failed("binding addresses", made);
  if (const int made = ::fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV); made != 0)
    return failed("binding the completion queue", made);
  static_cast<void>(
      ::fi_setopt(&endpoint_->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least_landing, sizeof least_landing));
  if (const int made = ::fi_enable(endpoint_); made != 0) return failed("enabling the endpoint", made);
  return kOk;
}

void Fabric::close() noexcept {
  const auto shut = [](auto** object) {
    if (*object != nullptr) static_cast<void>(::fi_close(&(*object)->fid));
    *object = nullptr;
  };
  shut(&endpoint_);
  shut(&queue_);
  shut(&addresses_);
  shut(&domain_);
  shut(&fabric_);
  descriptor_ = -1;
  if (info_ != nullptr) library_.freeinfo(std::exchange(info_, nullptr));
}

void Fabric::abandon() noexcept {
  endpoint_ = nullptr;
  queue_ = nullptr;
  addresses_ = nullptr;
  domain_ = nullptr;
  fabric_ = nullptr;
  info_ = nullptr;
}

Status Fabric::address(std::vector<std::byte>* out) const {
  std::size_t length = kMostPlace;
  out->resize(length);
  if (const int got = ::fi_getname(&endpoint_->fid, out->data(), &length); got != 0) return failed("its address", got);
  out->resize(length);
  return kOk;
}

Status Fabric::add_address(const std::vector<std::byte>& address, fi_addr_t* out) {
  // A provider may read more bytes than its own addresses have.
  alignas(std::max_align_t) std::array<std::byte, kMostPlace> padded{};
  std::ranges::copy(std::span(address).first(std::min(address.size(), padded.size())), padded.begin());
  const int added = ::fi_av_insert(addresses_, padded.data(), 1, out, 0, nullptr);
  return added == 1 ? kOk : failed("adding an address", added < 0 ? added : -FI_EINVAL);
}

void Fabric::remove_address(fi_addr_t address) noexcept {
  static_cast<void>(::fi_av_remove(addresses_, &address, 1, 0));
}

Status Fabric::add(void* address, std::size_t bytes, std::uint64_t access, Registration* out) {
  // Keys that this process chooses are random: others cannot guess them.
  std::uint64_t key = 0;
  const auto mode = static_cast<std::uint64_t>(info_->domain_attr->mr_mode);
  int made = -FI_ENOKEY;
  for (int attempt = 0; attempt < 8 && made == -FI_ENOKEY; ++attempt) {
    if ((mode & FI_MR_PROV_KEY) == 0) {
      if (::getrandom(&key, sizeof key, 0) != sizeof key) return fail(Errc::kOther, "ofi: no random numbers");
      const std::size_t length = info_->domain_attr->mr_key_size;
      if (length > 0 && length < sizeof key) key &= (std::uint64_t{1} << 8 * length) - 1;
    }
    made = ::fi_mr_reg(domain_, address, bytes, access, 0, key, 0, &out->region, nullptr);
  }
  if (made != 0) return failed("registering memory", made);
  if ((mode & FI_MR_ENDPOINT) != 0) {
    made = ::fi_mr_bind(out->region, &endpoint_->fid, 0);
    if (made == 0) made = ::fi_mr_enable(out->region);
    if (made != 0) {
      remove(out);
      return failed("registering memory", made);
    }
  }
  out->descriptor = ::fi_mr_desc(out->region);
  out->key = ::fi_mr_key(out->region);
  out->base = (mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<std::uint64_t>(address) : 0;
  return kOk;
}

void Fabric::remove(Registration* registration) noexcept {
  if (registration->region != nullptr) static_cast<void>(::fi_close(&registration->region->fid));
  *registration = {};
}

bool Fabric::arm() noexcept {
  fid* waited[] = {&queue_->fid};
  return descriptor_ >= 0 && ::fi_trywait(fabric_, waited, 1) == FI_SUCCESS;
}

}  // namespace hr::transport::ofi
