#include "boot/job_exchange.hpp"

#include <unistd.h>

#include <ctime>
#include <map>
#include <string>

#include "boot/process_mapping.hpp"

namespace hr::boot {
namespace {

constexpr const char* kJob = "headrace-job";
// Keys of the exchange's own beside the settings; those have no blank in them.
constexpr const char* kName = "job name";
constexpr const char* kHosts = "job hosts";

std::string host_key(int rank) { return "headrace-host-" + std::to_string(rank); }

// Launchers of others name the job as they like ("kvs_0", "12.0"): this makes it unique on the host.
std::string unique_name() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  const auto stamp =
      static_cast<unsigned long long>(time.tv_sec) * 1000000000ull + static_cast<unsigned long long>(time.tv_nsec);
  return std::to_string(::getpid()) + "_" + std::to_string(stamp);
}

// Numbers follow from the order of first appearance.
Status read_hosts(Provider& provider, int size, std::vector<int>* hosts) {
  std::map<std::string, int> number_of;
  for (int rank = 0; rank < size; ++rank) {
    std::string host;
    HR_TRY(provider.get(host_key(rank), &host));
    hosts->push_back(number_of.emplace(host, static_cast<int>(number_of.size())).first->second);
  }
  return kOk;
}

}  // namespace

Status exchange_job(Provider& provider, std::string_view host, Identity* identity, std::vector<int>* hosts,
                    KeyValues* settings) {
  const bool alone = identity->size == 1;
  const bool first = identity->rank == 0;
  if (alone) hosts->assign(1, 0);
  const bool gathers = hosts->empty();
  if (gathers) {
    HR_TRY(provider.put(host_key(identity->rank), host));
    HR_TRY(provider.fence());
    if (first) {
      HR_TRY(read_hosts(provider, identity->size, hosts));
      settings->insert_or_assign(kHosts, format_process_mapping(*hosts));
    }
  }
  if (first && !provider.names_jobs()) settings->insert_or_assign(kName, unique_name());
  if (!alone) {
    if (first) HR_TRY(put_long(provider, kJob, join(*settings)));
    if (!provider.can_wait()) HR_TRY(provider.fence());
    if (!first) {
      std::string text;
      HR_TRY(get_long(provider, kJob, provider.can_wait(), &text));
      HR_TRY(split(text, settings));
    }
  }
  if (const auto name = settings->find(kName); name != settings->end()) identity->job_id += "_" + name->second;
  if (const auto found = settings->find(kHosts); found != settings->end() && hosts->empty()) {
    auto mapping = parse_process_mapping(found->second, identity->size);
    if (!mapping) return fail(Errc::kOther, "boot: process 0 sent \"%s\" as hosts", found->second.c_str());
    *hosts = std::move(*mapping);
  }
  return kOk;
}

}  // namespace hr::boot
