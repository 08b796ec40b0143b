#include "plan/host_environment.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/knobs.hpp"
#include "system/library_path.hpp"

extern char** environ;

namespace hr::launcher {
namespace {

// Variables in which a session or a resource manager describes one host, or one process there.
constexpr std::string_view kOfHost[] = {
    "HOSTNAME",        "HOST",           "SSH_CLIENT",          "SSH_CONNECTION",
    "SSH_TTY",         "SSH_AUTH_SOCK",  "XDG_RUNTIME_DIR",     "XDG_SESSION_ID",
    "SLURMD_NODENAME", "SLURM_NODEID",   "SLURM_TOPOLOGY_ADDR", "SLURM_PROCID",
    "SLURM_LOCALID",   "SLURM_TASK_PID", "SLURM_GTIDS",
};

// Variables in which another launcher has passed this process its place in a job, which a program would mistake for its
// own place. Other variables of launchers, such as HYDRA_FULL_ERROR and PMIX_MCA_gds, are passed on to the program. A
// word that ends with '_' stands for all names that begin with it.
constexpr std::string_view kOfOuterLauncher[] = {
    "PMI_",
    "PMI2_",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "OMPI_COMM_WORLD_",
    "MV2_COMM_WORLD_",
    "HYDI_CONTROL_FD",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "PMIX_ID",
    "PMIX_VERSION",
    "PMIX_HOSTNAME",
    "PMIX_LAUNCHER_RNDZ_URI",
    "PMIX_KEEPALIVE_PIPE",
    "PMIX_SECURITY_MODE",
    "PMIX_PTL_MODULE",
    "PMIX_BFROP_BUFFER_TYPE",
    "PMIX_GDS_MODULE",
    "PMIX_SERVER_",
    "PMIX_SYSTEM_",
    "PMIX_DSTORE_",
};

// Names under which Open MPI and MVAPICH tell a rank its place.
constexpr struct {
  const char* name;
  int RankPlace::* value;
} kForeignNames[] = {
    {"OMPI_COMM_WORLD_RANK", &RankPlace::rank},
    {"OMPI_COMM_WORLD_SIZE", &RankPlace::ranks},
    {"OMPI_COMM_WORLD_LOCAL_RANK", &RankPlace::local_rank},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", &RankPlace::local_ranks},
    {"OMPI_COMM_WORLD_NODE_RANK", &RankPlace::node_rank},
    {"MV2_COMM_WORLD_RANK", &RankPlace::rank},
    {"MV2_COMM_WORLD_SIZE", &RankPlace::ranks},
    {"MV2_COMM_WORLD_LOCAL_RANK", &RankPlace::local_rank},
    {"MV2_COMM_WORLD_LOCAL_SIZE", &RankPlace::local_ranks},
};

bool from_outer_launcher(std::string_view name) {
  return std::any_of(std::begin(kOfOuterLauncher), std::end(kOfOuterLauncher), [name](std::string_view word) {
    return word.ends_with('_') ? name.starts_with(word) : name == word;
  });
}

using Variables = std::map<std::string, std::string>;

// Adds "NAME=VALUE" texts; a name that is there already gets the new value only if `replace`.
void add(const std::vector<std::string>& texts, bool replace, Variables* variables) {
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) continue;
    const auto [at, is_new] = variables->emplace(text.substr(0, equals), text.substr(equals + 1));
    if (!is_new && replace) at->second = text.substr(equals + 1);
  }
}

std::vector<std::string> as_strings(const Variables& variables) {
  std::vector<std::string> strings;
  strings.reserve(variables.size());
  for (const auto& [name, value] : variables) strings.push_back(name + "=" + value);
  return strings;
}

}  // namespace

std::vector<std::string> make_environment(const Inherited& inherited, const std::vector<Variable>& variables) {
  const auto is_inherited = [&inherited](std::string_view name) {
    return inherited.all || std::find(inherited.names.begin(), inherited.names.end(), name) != inherited.names.end();
  };
  Variables merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || from_outer_launcher(text.substr(0, equals))) continue;
    if (!is_inherited(text.substr(0, equals))) continue;
    merged.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& [name, value] : variables) merged.insert_or_assign(name, value);
  return as_strings(merged);
}

std::vector<std::string> environment_here(const std::vector<std::string>& environment,
                                          const std::string& library_folder, bool is_root) {
  Variables merged;
  add(environment, false, &merged);
  if (!is_root) {
    for (const std::string_view each : kOfHost) {
      const std::string name(each);
      const auto sent = merged.find(name);
      if (sent == merged.end()) continue;
      const char* here = hr::environment(name.c_str());
      here != nullptr ? void(sent->second = here) : void(merged.erase(sent));
    }
  }
  if (!library_folder.empty()) {
    std::string& path = merged["LD_LIBRARY_PATH"];
    path = with_folder(path, library_folder);
  }
  return as_strings(merged);
}

std::vector<std::string> foreign_variables(const RankPlace& place) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : kForeignNames) {
    if (place.*value >= 0) variables.push_back(std::string(name) + "=" + std::to_string(place.*value));
  }
  return variables;
}

std::vector<std::string> with_variables(const std::vector<std::string>& environment,
                                        const std::vector<std::string>& own, const std::vector<std::string>& defaults) {
  Variables merged;
  add(environment, false, &merged);
  add(own, true, &merged);
  add(defaults, false, &merged);
  return as_strings(merged);
}

}  // namespace hr::launcher
