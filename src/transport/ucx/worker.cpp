#include "transport/ucx/worker.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "transport/network/silence.hpp"
#include "transport/ucx/maker_names.hpp"
#include "transport/ucx/tcp_use.hpp"

namespace hr::transport::ucx {
namespace {

// The oldest interface version with all functions used here; newer libraries support it.
constexpr unsigned kMajor = 1;
constexpr unsigned kMinor = 13;

constexpr int kRails = 2;  // maximum number of networks that a long message uses at once

using Settings = std::vector<std::pair<const char*, std::string>>;

std::string microseconds(double seconds) { return std::to_string(std::llround(seconds * 1e6)) + "us"; }

// The processes that this transport serves share no memory, even if they are on one machine. Without its cache of
// registered memory, UCX need not watch which memory the program frees. TCP sends 8 KiB and receives 64 KiB at a time
// by default; larger segments raise its bandwidth (docs/adr/0027-messages-over-ucx.md). TCP listens on an address of
// each device that it uses.
// By default UCX connects within the creation of an endpoint: a silent host would then hold up all progress, and a
// process that dies meanwhile would leave an endpoint that aborts this one.
Settings our_settings(bool loopback_alone) {
  Settings all = {
      {"TLS", paths_of_ucx(loopback_alone)}, {"RCACHE_ENABLE", "n"}, {"TCP_RX_SEG_SIZE", "260k"},
      {"TCP_TX_SEG_SIZE", "260k"},           {"TCP_CONN_NB", "y"},   {"WARN_UNUSED_ENV_VARS", "n"},
  };
  const Knobs& chosen = knobs();
  if (std::string devices = devices_of_ucx(loopback_alone); !devices.empty()) {
    all.emplace_back("NET_DEVICES", std::move(devices));
  }
  // Over TCP the segments of a rendezvous are messages, for which UCX uses one network by default.
  const std::string rails = std::to_string(chosen.network_rails != 0 ? chosen.network_rails : kRails);
  for (const char* kind : {"MAX_RNDV_RAILS", "MAX_EAGER_RAILS"}) all.emplace_back(kind, rails);
  const network::Probes probes = network::keepalive_probes();
  all.emplace_back("KEEPALIVE_INTERVAL", microseconds(chosen.network_timeout / 4));
  all.emplace_back("TCP_KEEPIDLE", microseconds(probes.first));
  all.emplace_back("TCP_KEEPINTVL", microseconds(probes.between));
  all.emplace_back("TCP_KEEPCNT", std::to_string(network::Probes::kCount));
  all.emplace_back("TCP_USER_TIMEOUT", microseconds(network::silence_seconds()));
  return all;
}

}  // namespace

Worker::~Worker() {
  stop();
  if (context_ != nullptr) library_->cleanup(context_);
}

void Worker::stop() noexcept {
  if (worker_ != nullptr) library_->worker_destroy(worker_);
  worker_ = nullptr;
}

Status Worker::create(const Library& library, bool loopback_alone) {
  library_ = &library;
  loopback_alone_ = loopback_alone;
  constexpr std::uint64_t kNeeded = UCP_FEATURE_AM | UCP_FEATURE_RMA;
  // A network that cannot signal arrivals is polled.
  if (make_context(kNeeded | UCP_FEATURE_WAKEUP).ok() && make_worker().ok()) {
    if (library.worker_get_efd(worker_, &descriptor_) != UCS_OK) descriptor_ = -1;
  } else {
    static_cast<void>(take_detail());
    if (context_ != nullptr) library.cleanup(context_);
    context_ = nullptr;
    HR_TRY(make_context(kNeeded));
    HR_TRY(make_worker());
  }
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  device_memory_ = library.context_query(context_, &attributes) == UCS_OK &&
                   (attributes.memory_types & std::uint64_t{1} << kDeviceMemory) != 0;
  return kOk;
}

Status Worker::make_context(std::uint64_t features) {
  ucp_config_t* settings = nullptr;
  if (const ucs_status_t read = library_->config_read(nullptr, nullptr, &settings); read != UCS_OK) {
    return fail(Errc::kOther, "ucx: the settings (UCX_*) cannot be read: %s", library_->status_string(read));
  }
  for (const auto& [name, value] : our_settings(loopback_alone_)) {
    // A UCX version that does not know a setting does not need it.
    if (environment(("UCX_" + std::string(name)).c_str()) == nullptr) {
      static_cast<void>(library_->config_modify(settings, name, value.c_str()));
    }
  }
  ucp_params_t wanted{};
  wanted.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  wanted.features = features;
  wanted.name = "headrace";
  const ucs_status_t made = library_->init_version(kMajor, kMinor, &wanted, settings, &context_);
  library_->config_release(settings);
  if (made == UCS_OK) return kOk;
  context_ = nullptr;
  return fail(Errc::kOther, "ucx: no network can be used: %s (UCX_LOG_LEVEL=info says more)%s",
              library_->status_string(made), advice_without_tcp(loopback_alone_).c_str());
}

Status Worker::make_worker() {
  ucp_worker_params_t wanted{};
  wanted.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  wanted.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  const ucs_status_t made = library_->worker_create(context_, &wanted, &worker_);
  if (made == UCS_OK) return kOk;
  worker_ = nullptr;
  return fail(Errc::kOther, "ucx: no worker: %s (UCX_LOG_LEVEL=info says more)", library_->status_string(made));
}

Status Worker::address(std::vector<std::byte>* out) const {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
  const ucs_status_t asked = library_->worker_query(worker_, &attributes);
  if (asked != UCS_OK) return fail(Errc::kOther, "ucx: the worker has no address: %s", library_->status_string(asked));
  const auto* bytes = reinterpret_cast<const std::byte*>(attributes.address);
  out->assign(bytes, bytes + attributes.address_length);
  library_->worker_release_address(worker_, attributes.address);
  return kOk;
}

}  // namespace hr::transport::ucx
