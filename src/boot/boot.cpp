#include "boot/boot.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

#include "base/log.hpp"
#include "boot/node_words.hpp"
#include "boot/provider.hpp"

namespace hr::boot {
namespace {

Identity self;
std::unique_ptr<Provider> provider;
NodeWords node_words;

// What two processes on one node have in common and two nodes have not.
std::string host_id() {
  utsname names{};
  ::uname(&names);
  std::string id = names.nodename;
  std::string boot;
  if (std::ifstream("/proc/sys/kernel/random/boot_id") >> boot) id += "-" + boot;
  return file_safe(id);
}

// For launchers that do not say where the ranks are: everyone publishes its host, node numbers follow from the order of
// first appearance.
Status find_nodes() {
  HR_TRY(provider->put("headrace-host-" + std::to_string(self.rank), host_id()));
  HR_TRY(provider->fence());
  std::map<std::string, int> node_of_host;
  for (int rank = 0; rank < self.size; ++rank) {
    std::string host;
    HR_TRY(provider->get("headrace-host-" + std::to_string(rank), &host));
    self.node_of_rank.push_back(node_of_host.emplace(host, static_cast<int>(node_of_host.size())).first->second);
  }
  return kOk;
}

bool first_of_its_node(const Identity& identity) {
  const auto& nodes = identity.node_of_rank;
  const int own = nodes[static_cast<std::size_t>(identity.rank)];
  return std::find(nodes.begin(), nodes.end(), own) - nodes.begin() == identity.rank;
}

}  // namespace

Status init() {
  const ProviderRecord* chosen = nullptr;
  for (const ProviderRecord* record : provider_list()) {
    if (record->detect()) {
      chosen = record;
      break;
    }
  }
  self = Identity();
  provider = chosen->create();
  HR_TRY(provider->connect(&self));
  log::set_identity(self.rank, self.size);
  if (self.node_of_rank.empty()) HR_TRY(find_nodes());
  const auto& nodes = self.node_of_rank;
  const auto here = std::count(nodes.begin(), nodes.end(), nodes[static_cast<std::size_t>(self.rank)]);
  if (self.processes_here == 0) self.processes_here = static_cast<int>(here);
  node_words = NodeWords(nodes[static_cast<std::size_t>(self.rank)], first_of_its_node(self), here == 1);
  log::write(log::Level::kDecision, "boot: %s, rank %d of %d on node %d, job %s", chosen->name, self.rank, self.size,
             self.node_of_rank[static_cast<std::size_t>(self.rank)], self.job_id.c_str());
  return kOk;
}

const Identity& identity() noexcept { return self; }

Status put(std::string_view key, std::string_view value) { return provider->put(key, value); }

Status get(std::string_view key, std::string* value) { return provider->get(key, value); }

Status fence() {
  HR_TRY(node_words.publish(*provider));
  return provider->fence();
}

Status begin_fence() {
  HR_TRY(node_words.publish(*provider));
  return provider->begin_fence();
}

Status fence_done(bool* done) { return provider->fence_done(done); }

void tell(std::string_view key, std::string_view value) { node_words.tell(key, value); }

Status told(std::string_view key, std::string* value) { return node_words.told(*provider, key, value); }

Status finalize() { return provider->finalize(); }

bool show_stack(int signal) noexcept { return provider != nullptr && provider->show_stack(signal); }

void abort(int exit_code, std::string_view message) {
  if (!message.empty()) {
    log::write(log::Level::kError, "%.*s", static_cast<int>(message.size()), message.data());
  }
  if (provider != nullptr) provider->abort(exit_code);
  // A code whose low byte is 0 would look like success to a shell.
  ::_exit((exit_code & 0xff) == 0 ? 1 : exit_code);
}

std::string file_safe(std::string_view text) {
  std::string safe(text);
  for (char& letter : safe) {
    const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                       (letter >= 'A' && letter <= 'Z') || letter == '_' || letter == '-';
    if (!plain) letter = '_';
  }
  return safe;
}

}  // namespace hr::boot
