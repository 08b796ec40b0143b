#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "base/dropped.hpp"
#include "base/knobs.hpp"
#include "base/layer_state.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "boot/process_name.hpp"
#include "transport/network/unavailable.hpp"
#include "transport/record_list.hpp"
#include "transport/report.hpp"
#include "transport/transport.hpp"

namespace hr::transport {
namespace {

// State from init() to finalize().
struct State {
  std::vector<std::unique_ptr<Transport>> owned;
  std::vector<Transport*> active;
  std::vector<const Record*> records;  // records that the knob allows
  std::string why_network;             // why the network transport was chosen; empty: there is none
  const Handlers* handlers = nullptr;
  std::vector<std::unique_ptr<Transport>> disconnected;  // a thread may still be asleep in these
};
LayerState<State> state;

void refuse(int from, const Header& /*header*/, const std::byte* /*payload*/, std::size_t /*bytes*/) {
  drop_message(from, "no handler here accepts messages of its kind (does it run another version of the library?)");
}

std::string known_names() {
  std::string names;
  for (const Record* record : record_list()) names += (names.empty() ? "" : ", ") + std::string(record->name);
  return names;
}

// Collects the records that the knob allows, in the order of the list.
Status allowed(std::vector<const Record*>* out) {
  const std::string& wanted = knobs().transports;
  if (wanted == "auto") {
    out->assign(record_list().begin(), record_list().end());
    return kOk;
  }
  std::vector<std::string_view> names;
  for (std::string_view rest = wanted; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.empty()) continue;
    if (std::ranges::none_of(record_list(), [&](const Record* record) { return name == record->name; })) {
      return fail(Errc::kOther, "HEADRACE_TRANSPORTS=%s: there is no transport \"%.*s\" (there are %s; auto uses all)",
                  wanted.c_str(), static_cast<int>(name.size()), name.data(), known_names().c_str());
    }
    names.push_back(name);
  }
  for (const Record* record : record_list()) {
    if (std::ranges::find(names, record->name) != names.end()) out->push_back(record);
  }
  return kOk;
}

// Message size for which the times of paths are compared: short enough for latency to matter, and long enough for
// bandwidth.
constexpr std::size_t kComparedBytes = 4096;

// Returns the transport with the lowest cost(caps), the first of equals; cost() returns nullopt if a transport does not
// qualify.
template <class CostOf>
Transport* cheapest(int proc, CostOf&& cost) noexcept {
  if (state == nullptr) return nullptr;
  Transport* best = nullptr;
  double least = 0;
  for (Transport* each : state->active) {
    if (!each->reaches(proc)) continue;
    const std::optional<Cost> stated = cost(each->caps(proc));
    if (!stated) continue;
    const double seconds = stated->seconds(kComparedBytes);
    if (best != nullptr && seconds >= least) continue;
    best = each;
    least = seconds;
  }
  return best;
}

Transport* path_of_messages(int proc) noexcept {
  return cheapest(proc, [](const Caps& caps) { return std::optional(caps.messages()); });
}

bool reaches_everybody(int size) noexcept {
  const auto reached = [](int proc) {
    return std::ranges::any_of(state->active, [proc](Transport* each) { return each->reaches(proc); });
  };
  for (int proc = 0; proc < size; ++proc) {
    if (!reached(proc)) return false;
  }
  return true;
}

std::string_view name_of(NetworkChoice choice) noexcept {
  switch (choice) {
    case NetworkChoice::kTcp:
      return "tcp";
    case NetworkChoice::kUcx:
      return "ucx";
    case NetworkChoice::kOfi:
      return "ofi";
    case NetworkChoice::kAuto:
      break;
  }
  return "";
}

// Returns the name of a transport's library for people.
std::string_view title_of(const Record& record) noexcept {
  const std::string_view name = record.name;
  return name == "ofi" ? "libfabric" : name == "ucx" ? "UCX" : name;
}

// A network transport, and why the job uses it.
struct Choice {
  const Record* record;
  std::string why;
};

// Returns the network transports to try, in order: among those that the user allows, all that suit this host, or else
// all. The doctor gives the same reasons (python/headrace/doctor/checks/network.py).
std::vector<Choice> network_choices() {
  std::vector<const Record*> allowed;
  const std::string_view wanted = name_of(knobs().network);
  for (const Record* record : state->records) {
    if (record->fills_gaps && (wanted.empty() || wanted == record->name)) allowed.push_back(record);
  }
  std::vector<Choice> suiting;
  for (const Record* record : allowed) {
    if (allowed.size() < 2) break;
    std::string why = record->suits_host != nullptr ? record->suits_host() : "it suits every host";
    if (!why.empty()) suiting.push_back({record, std::move(why)});
  }
  if (!suiting.empty()) return suiting;
  const std::string setting =
      wanted.empty() ? "HEADRACE_TRANSPORTS is " + knobs().transports : "HEADRACE_NETWORK is " + std::string(wanted);
  std::vector<Choice> all;
  for (const Record* record : allowed) all.push_back({record, setting});
  return all;
}

void note_choice(const Record& record, const std::string& why) {
  log::write(log::Level::kDecision, "network: messages to other hosts go by %s: %s", record.name, why.c_str());
  state->why_network = why;
}

// Makes the transport that carries messages to other hosts: the first choice that this process can provide. If there is
// none, the transport is one that reports the error of the first choice.
Status make_network(const Job& job, std::unique_ptr<Transport>* out) {
  const std::vector<Choice> choices = network_choices();
  if (choices.empty()) return kOk;
  std::string missed;
  for (const auto& [record, why] : choices) {
    const bool opens = choices.size() == 1 || record->can_open == nullptr || record->can_open();
    if (opens && record->create(job, *state->handlers, out).ok()) {
      note_choice(*record, missed.empty() ? why : missed);
      return kOk;
    }
    // A setting that only this library heeds must not be ignored silently.
    if (opens && why.starts_with("HEADRACE_")) {
      note_choice(*record, why);
      *out = network::make_unavailable(job, record->name, take_detail());
      return kOk;
    }
    if (opens && choices.size() > 1) log::write(log::Level::kNote, "network: %s", take_detail().c_str());
    if (missed.empty()) missed = std::string(title_of(*record)) + " cannot be used, although " + why;
  }
  const auto& [record, why] = choices.front();
  note_choice(*record, why);
  if (choices.size() > 1 && record->create(job, *state->handlers, out).ok()) return kOk;
  *out = network::make_unavailable(job, record->name, take_detail());
  return kOk;
}

std::string names_of_active() {
  std::string names;
  for (const Transport* each : state->active) names.append(names.empty() ? "" : ", ").append(each->name());
  return names;
}

void add(std::unique_ptr<Transport> made) {
  state->active.push_back(made.get());
  state->owned.push_back(std::move(made));
}

// Returns the processes of both groups that are on this host.
PeerGroups on_this_host(const Job& job, const PeerGroups& groups) {
  PeerGroups here;
  here.name = groups.name;
  here.first = groups.first;
  std::ranges::copy_if(groups.ours, std::back_inserter(here.ours),
                       [&](int proc) { return job.processes.on_this_host(proc); });
  std::ranges::copy_if(groups.theirs, std::back_inserter(here.theirs),
                       [&](int proc) { return job.processes.on_this_host(proc); });
  return here;
}

}  // namespace

Status init(const Job& job, Handlers& handlers) {
  for (Handler& handler : handlers.of_kind) {
    if (handler == nullptr) handler = refuse;
  }
  state = std::make_unique<State>();
  state->handlers = &handlers;
  HR_TRY(allowed(&state->records));
  for (const Record* record : state->records) {
    if (record->fills_gaps) continue;
    std::unique_ptr<Transport> made;
    HR_TRY(record->create(job, handlers, &made));
    if (made != nullptr) add(std::move(made));
  }
  if (!reaches_everybody(job.size)) {
    std::unique_ptr<Transport> made;
    HR_TRY(make_network(job, &made));
    if (made != nullptr) add(std::move(made));
  }
  if (knobs().report_transports) HR_TRY(announce_host(job));
  if (job.size > 1) HR_TRY(boot::fence());
  for (Transport* transport : state->active) HR_TRY(transport->open());
  if (knobs().report_transports) report(job, path_of_messages, state->why_network);
  return kOk;
}

Transport* path_to_memory(int proc) noexcept {
  return cheapest(proc,
                  [](const Caps& caps) { return caps.remote_read ? std::optional(caps.memory()) : std::nullopt; });
}

Transport* exposing() noexcept {
  const auto found = std::ranges::find_if(active(), [](const Transport* each) { return each->may_expose(); });
  return found == active().end() ? nullptr : *found;
}

Status connect(int proc, Paths* out) {
  if (Transport* messages = path_of_messages(proc); messages != nullptr) {
    HR_TRY(messages->connect(proc));
    Transport* memory = path_to_memory(proc);
    // A path to memory is optional: it only makes copies faster.
    if (memory != nullptr && memory != messages && !memory->connect(proc).ok()) {
      static_cast<void>(take_detail());
      memory = nullptr;
    }
    *out = {messages, memory, messages->caps(proc)};
    out->caps.remote_read = memory != nullptr;
    if (memory != nullptr) out->caps.host_memory = memory->caps(proc).memory();
    log::write(log::Level::kTrace, "rank %d is reached by %.*s%s%.*s", proc, static_cast<int>(messages->name().size()),
               messages->name().data(), memory == nullptr ? "" : ", its memory by ",
               memory == nullptr ? 0 : static_cast<int>(memory->name().size()),
               memory == nullptr ? "" : memory->name().data());
    return kOk;
  }
  return fail(Errc::kOther, "none of the transports here (%s) reaches %s; HEADRACE_TRANSPORTS=%s",
              names_of_active().c_str(), boot::process_name(boot::processes(), proc).c_str(),
              knobs().transports.c_str());
}

bool shares_memory(int proc) noexcept {
  const Transport* transport = path_of_messages(proc);
  if (transport == nullptr) return false;
  const Caps caps = transport->caps(proc);
  return caps.same_node || caps.same_address_space;
}

Status describe(const Job& job, bool make, std::string* address) {
  for (Transport* each : state->active) {
    if (address->empty()) HR_TRY(each->describe(address));
  }
  if (!make || !address->empty()) return kOk;
  std::unique_ptr<Transport> made;
  HR_TRY(make_network(job, &made));
  if (made == nullptr) return kOk;
  HR_TRY(made->open());
  HR_TRY(made->describe(address));
  add(std::move(made));
  return kOk;
}

Status connect_groups(const Job& job, const PeerGroups& groups) {
  PeerGroups here = on_this_host(job, groups);
  for (const Record* record : state->records) {
    if (record->connect_groups == nullptr || here.theirs.empty()) continue;
    std::unique_ptr<Transport> made;
    HR_TRY(record->connect_groups(job, *state->handlers, here, &made));
    if (made != nullptr) add(std::move(made));
  }
  for (std::size_t at = 0; at < groups.theirs.size(); ++at) {
    const int proc = groups.theirs[at];
    if (path_of_messages(proc) != nullptr) continue;
    const std::string& address = groups.addresses[at];
    const bool reached = std::ranges::any_of(
        state->active, [&](Transport* each) { return !address.empty() && each->set_peer_address(proc, address).ok(); });
    if (!reached) {
      return fail(Errc::kOther,
                  "none of the transports here (%s) reaches %s: give both jobs the same HEADRACE_NETWORK and "
                  "HEADRACE_TRANSPORTS",
                  names_of_active().c_str(), boot::process_name(job.processes, proc).c_str());
    }
  }
  return kOk;
}

namespace {

template <class IsOver>
void close_if(IsOver&& is_over, bool asleep) {
  if (state == nullptr) return;
  if (!asleep) state->disconnected.clear();
  for (auto each = state->owned.begin(); each != state->owned.end();) {
    if (!is_over(**each)) {
      ++each;
      continue;
    }
    static_cast<void>((*each)->finalize());
    std::erase(state->active, each->get());
    if (asleep) state->disconnected.push_back(std::move(*each));
    each = state->owned.erase(each);
  }
}

}  // namespace

void disconnect(std::span<const int> procs, bool asleep) {
  close_if([procs](Transport& each) { return each.disconnect(procs); }, asleep);
}

void abandon(std::string_view groups, bool asleep) {
  const auto is_over = [groups](Transport& each) {
    if (each.connects(groups)) each.abandon();
    return each.connects(groups);
  };
  close_if(is_over, asleep);
}

std::span<Transport* const> active() noexcept {
  return state == nullptr ? std::span<Transport* const>{} : std::span<Transport* const>(state->active);
}

Status finalize(void (*then)()) {
  Status first = kOk;
  if (state == nullptr) return first;
  for (auto& transport : state->owned) {
    const Status status = transport->finalize();
    if (first.ok()) first = status;
  }
  if (then != nullptr) then();
  state.reset();
  return first;
}

}  // namespace hr::transport
