#include "boot/job_exchange.hpp"

#include <string>
#include <vector>

#include "base/secret.hpp"

namespace hr::boot {
namespace {

constexpr const char* kJob = "headrace-job";
// Keys of the exchange itself. They contain a blank, unlike the names of settings.
constexpr const char* kName = "job name";
constexpr const char* kHosts = "job hosts";

std::string view_key(int rank) { return "headrace-view-" + std::to_string(rank); }

Status read_views(Provider& provider, int size, Hosts* hosts) {
  std::vector<std::string> views(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    HR_TRY(provider.get(rank, view_key(rank), &views[static_cast<std::size_t>(rank)]));
  }
  *hosts = compare_views(views);
  return kOk;
}

Status take_hosts(std::string_view text, int size, Hosts* hosts) {
  if (parse_hosts(text, size, hosts)) return kOk;
  return fail(Errc::kOther, "boot: \"%.*s\" was sent as hosts", static_cast<int>(text.size()), text.data());
}

}  // namespace

Status exchange_job(Provider& provider, std::string_view view, Identity* identity, Hosts* hosts, KeyValues* settings) {
  const bool alone = identity->size == 1;
  const bool first = identity->rank == 0;
  if (alone) hosts->of_rank.assign(1, 0);
  if (hosts->of_rank.empty() && provider.compares_views()) {
    std::string text;
    HR_TRY(provider.compare_views(view, &text));
    HR_TRY(take_hosts(text, identity->size, hosts));
  } else if (hosts->of_rank.empty()) {
    HR_TRY(provider.put(view_key(identity->rank), view));
    HR_TRY(provider.fence());
    if (first) {
      HR_TRY(read_views(provider, identity->size, hosts));
      settings->insert_or_assign(kHosts, format_hosts(*hosts));
    }
  }
  // Other launchers choose any job name ("kvs_0", "12.0"): the suffix makes it unique on the host, and keeps other
  // users from predicting the names of its files.
  if (first && !provider.names_jobs()) settings->insert_or_assign(kName, digits_of(make_nonce()));
  if (first) settings->insert_or_assign(std::string(kJobSecret), digits_of(make_nonce()));
  if (!alone) {
    if (first) HR_TRY(put_long(provider, kJob, join(*settings)));
    if (!provider.can_wait()) HR_TRY(provider.fence());
    if (!first) {
      std::string text;
      HR_TRY(provider.can_wait() ? get_long_waiting(provider, 0, kJob, &text) : get_long(provider, 0, kJob, &text));
      HR_TRY(split(text, settings));
    }
  }
  if (const auto name = settings->find(kName); name != settings->end()) identity->job_id += "_" + name->second;
  if (const auto found = settings->find(kHosts); found != settings->end() && hosts->of_rank.empty()) {
    HR_TRY(take_hosts(found->second, identity->size, hosts));
  }
  if (hosts->of_rank.size() == static_cast<std::size_t>(identity->size)) return kOk;
  return fail(Errc::kOther, "boot: process 0 has not published the hosts of the processes");
}

}  // namespace hr::boot
