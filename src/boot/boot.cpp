#include "boot/boot.hpp"

#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "base/flush_output.hpp"
#include "base/fnv.hpp"
#include "base/knobs.hpp"
#include "base/layer_state.hpp"
#include "base/log.hpp"
#include "base/shared_file.hpp"
#include "boot/host_view.hpp"
#include "boot/job_exchange.hpp"
#include "boot/numbered_values.hpp"
#include "boot/provider.hpp"
#include "boot/state.hpp"

namespace hr::boot {
namespace {

LayerState<State> state;
LayerState<State> retired;  // state of a process that may call resume()

// Returns an id that the processes on one host share, and that two hosts seldom share.
std::string host_id() {
  utsname names{};
  ::uname(&names);
  std::string id = names.nodename;
  if (!boot_id().empty()) id += "-" + boot_id();
  return file_safe(id);
}

// Name of a setting: the machine of process 0.
constexpr const char* kMachine = "job machine";
// Prefix of the names of knobs; names of settings are single words.
constexpr std::string_view kKnob = "knob ";

KeyValues read_settings(std::span<const Setting> settings) {
  KeyValues values;
  for (const Setting& each : settings) values.emplace(each.name, each.read());
  for (const JobKnob& knob : job_knobs()) values.emplace(std::string(kKnob) + knob.name, knob.text);
  return values;
}

// True for knobs of collective operations and devices, and for settings that are no knobs.
bool decides_collectives(std::string_view name) noexcept {
  if (!name.starts_with(kKnob)) return name.find(' ') == std::string_view::npos;
  name.remove_prefix(kKnob.size());
  return name.starts_with("coll_") || name.starts_with("device_");
}

std::string sign(const KeyValues& settings) {
  std::uint64_t number = kFnvStart;
  for (const auto& [name, text] : settings) {
    if (!decides_collectives(name)) continue;
    number = fnv1a(name + "=" + text + "\n", number);
  }
  return std::to_string(number);
}

// Sets this process's job-scope knobs to the values of process 0.
void take_knobs(const KeyValues& settings) {
  std::vector<JobKnob> knobs;
  for (auto at = settings.lower_bound(kKnob); at != settings.end() && at->first.starts_with(kKnob); ++at) {
    knobs.push_back({at->first.substr(kKnob.size()), at->second});
  }
  for (const JobKnob& differed : take_job_knobs(knobs)) {
    log::write(log::Level::kNote, "knob %s is \"%s\" here, but process 0's value holds for the job: \"%s\"",
               differed.name.c_str(), differed.text.c_str(), knob_text(differed.name).c_str());
  }
}

}  // namespace

State::~State() { close_flags(); }

void State::close_flags() noexcept {
  for (const int flag : node_flags) ::close(flag);
  node_flags.clear();
}

const std::string& boot_id() {
  static const std::string id = [] {
    std::string read;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> read;
    return read;
  }();
  return id;
}

Status init(std::span<const Setting> settings) {
  for (const ProviderRecord* record : provider_list()) {
    if (record->detect()) return init_with(record->create(), record->name, settings);
  }
  return fail(Errc::kOther, "boot: it is not known how this process was started");
}

Status init_with(std::unique_ptr<Provider> provider, const char* name, std::span<const Setting> settings) {
  state = std::make_unique<State>();
  state->provider = std::move(provider);
  Identity& self = state->identity;
  Hosts hosts;
  HR_TRY(state->provider->connect(&self, &hosts.of_rank));
  self.declared_hosts = self.processes_here != 0;
  static_cast<void>(boot_id());
  log::set_identity(self.rank, self.size);
  if (self.rank == 0) state->settings = read_settings(settings);
  const bool looks = self.size > 1 && hosts.of_rank.empty();
  const std::string looked_in = knobs().shm_dir;
  const std::string machine = looks ? host_id() : "";
  if (looks && self.rank == 0) state->settings.emplace(kMachine, machine);
  HostView view = looks ? HostView(looked_in, self.job_id, machine) : HostView();
  if (!view.refused().empty())
    log::write(self.rank == 0 ? log::Level::kError : log::Level::kNote,
               "%s belongs to another user and is not used; the host's name says which processes share it. Remove "
               "it, or put the files of jobs elsewhere with HEADRACE_SHM_DIR=<directory>",
               view.refused().c_str());
  const Status exchanged = exchange_job(*state->provider, view.text(), &self, &hosts, &state->settings);
  if (exchanged.ok()) state->processes = Processes(self.job_id, self.rank, hosts.of_rank);
  // Removes the link: all processes have read it, or none needs it any more.
  if (!exchanged.ok() || view.made() || state->processes.first_on_host()) view.forget();
  HR_TRY(exchanged);
  if (self.rank != 0) take_knobs(state->settings);
  if (looks && looked_in != knobs().shm_dir && !state->processes.on_this_host(0) && setting(kMachine) == machine) {
    log::write(log::Level::kError,
               "HEADRACE_SHM_DIR is %s here and %s in process 0 of the same machine, so this process counts as one of "
               "another host: set it to the same directory in all processes",
               looked_in.c_str(), knobs().shm_dir.c_str());
  }
  const int host = state->processes.host_of(self.rank);
  const bool mixed = std::find(hosts.mixed.begin(), hosts.mixed.end(), host) != hosts.mixed.end();
  SharedFile::need_names(mixed);
  const std::size_t here = state->processes.of_this_host().size();
  if (self.processes_here == 0) self.processes_here = static_cast<int>(here);
  state->node_store = NodeStore(host, self.rank, state->processes.of_this_host().front(), here == 1);
  log::write(log::Level::kDecision, "boot: %s, rank %d of %d on node %d, job %s%s", name, self.rank, self.size, host,
             self.job_id.c_str(), mixed ? "; processes of this node are in several pid or user namespaces" : "");
  return kOk;
}

Provider& provider() noexcept { return *state->provider; }

const Identity& identity() noexcept {
  static const Identity alone;
  return state != nullptr ? state->identity : alone;
}

Processes& processes() noexcept {
  static Processes alone;
  return state != nullptr ? state->processes : alone;
}

Status begin_fence() {
  HR_TRY(state->node_store.publish(*state->provider));
  return state->provider->begin_fence();
}

Status fence_done(bool* done) { return state->provider->fence_done(done); }

const std::string& setting(std::string_view name) noexcept {
  static const std::string none;
  if (state == nullptr) return none;
  const auto found = state->settings.find(name);
  return found != state->settings.end() ? found->second : none;
}

const std::string& settings_signature() {
  static const std::string none;
  if (state == nullptr) return none;
  if (state->settings_signature.empty()) state->settings_signature = sign(state->settings);
  return state->settings_signature;
}

Status put(std::string_view key, std::string_view value) { return state->provider->put(key, value); }

Status get(int owner, std::string_view key, std::string* value) { return state->provider->get(owner, key, value); }

Status get_numbered(std::string_view key, int first, int count, std::vector<std::string>* values) {
  return state->provider->get_numbered(key, first, count, values);
}

Status fence() {
  HR_TRY(state->node_store.publish(*state->provider));
  return state->provider->fence();
}

void node_put(std::string_view key, std::string_view value) { state->node_store.put(key, value); }

Status node_get(std::string_view key, std::string* value) {
  return state->node_store.get(*state->provider, key, value);
}

void keep_open(int socket) {
  if (state != nullptr) state->node_flags.push_back(socket);
}

Status finalize() {
  if (state == nullptr) return kOk;
  std::unique_ptr<State> ending = state.take();  // a signal handler that runs now finds no state
  const Status status = ending->provider->finalize();
  if (ending->identity.size == 1 || ending->provider->can_resume()) {
    ending->close_flags();
    retired = std::move(ending);
  }
  return status;
}

Status resume() {
  if (retired == nullptr) {
    return fail(Errc::kOther,
                "MPI was finalised in this process, and this launcher takes no process back: begin the session before "
                "MPI_Finalize, or start the job with Headrace's mpiexec");
  }
  if (retired->provider->can_resume()) HR_TRY(retired->provider->resume());
  const int host = retired->processes.host_of(retired->identity.rank);
  const auto here = retired->processes.of_this_host();
  retired->node_store = NodeStore(host, retired->identity.rank, here.front(), here.size() == 1);
  state = retired.take();
  return kOk;
}

void keep_file(int file) noexcept {
  if (state != nullptr && state->identity.keeps_files) state->provider->keep_file(file);
}

bool show_stack(int signal) noexcept { return state != nullptr && state->provider->show_stack(signal); }

void abort(int exit_code, std::string_view message) {
  // If another process also aborts the job, the launcher's SIGTERM must not end this one before it prints the reason.
  ::signal(SIGTERM, SIG_IGN);
  // Flushes before informing the launcher, which then ends the other processes and shows the output so far.
  flush_output();
  if (!message.empty()) {
    log::write(log::Level::kError, "%.*s", static_cast<int>(message.size()), message.data());
  }
  if (state != nullptr) state->provider->abort(exit_code);
  // An exit code whose low byte is 0 would look like success to a shell.
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
