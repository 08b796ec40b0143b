// Events of the tool information interface (MPI 5.0 section 15.3.8): the library's events (base/events.hpp), from a
// single source, the clock of the process. Codes are returned, never raised.
//
// An event happens within an MPI call, with the library lock held, and perhaps during a delivery. A callback that makes
// only restricted use of MPI is called immediately. One that may call any MPI function gets a copy of the event in the
// next round of progress; if too many are waiting, events are dropped, and the dropped handler is called. Owner: the
// tool owns its registrations, until it frees them. Threads: library lock.
#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/events.hpp"
#include "bind/handles.hpp"
#include "bind/impl.hpp"
#include "bind/tool_results.hpp"
#include "bind/tool_state.hpp"
#include "p2p/progress.hpp"

namespace {

constexpr std::size_t kLevels = 4;
constexpr MPI_T_cb_safety kSafety[kLevels] = {MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                                              MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};

}  // namespace

// Objects behind the standard's opaque handles.
struct MPI_T_event_registration_t {
  struct Callback {
    MPI_T_event_cb_function* function = nullptr;
    void* user_data = nullptr;
  };
  hr::events::Event event;
  std::array<Callback, kLevels> callbacks{};
  MPI_T_event_dropped_cb_function* dropped_handler = nullptr;
  MPI_Count dropped = 0;
};

struct MPI_T_event_instance_t {
  hr::events::Event event;
  int elements = 0;
  std::int64_t values[hr::events::kMostElements] = {};
  MPI_Count timestamp = 0;
};

namespace hr::bind::impl {
namespace {

using Registration = MPI_T_event_registration_t;
using Instance = MPI_T_event_instance_t;

constexpr std::size_t kMostWaiting = 4096;
constexpr MPI_Count kTicksPerSecond = 1'000'000'000;

struct Waiting {
  Registration* registration;
  Instance instance;
};

struct State {
  std::vector<std::unique_ptr<Registration>> registrations;
  std::deque<Waiting> waiting;  // for callbacks that may call any MPI function
  bool handing_out = false;
};

// Returns the state. It is process-wide, because registrations may precede MPI_Init and outlive MPI_Finalize.
State& state() {
  static State it;
  return it;
}

MPI_Count now() { return static_cast<MPI_Count>(now_seconds() * static_cast<double>(kTicksPerSecond)); }

bool is_event(int index) { return index >= 0 && static_cast<std::size_t>(index) < std::size(events::kRecords); }

std::size_t level_of(MPI_T_cb_safety safety) {
  const auto* const found = std::find(std::begin(kSafety), std::end(kSafety), safety);
  return static_cast<std::size_t>(found - std::begin(kSafety));
}

// Returns MPI_SUCCESS if the registration is live and the callback safety level (null: none to check) is valid.
int check(MPI_T_event_registration registration, const MPI_T_cb_safety* safety = nullptr) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  const auto& all = state().registrations;
  const bool found = std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.get() == registration; });
  if (!found) return MPI_T_ERR_INVALID_HANDLE;
  return safety != nullptr && level_of(*safety) == kLevels ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

int give_new_info(MPI_Info* info) {
  if (info == nullptr) return MPI_SUCCESS;
  Ref<comm::Info> made = comm::create_info();
  if (!made) return MPI_T_ERR_MEMORY;
  *info = handle_of(made.detach());
  return MPI_SUCCESS;
}

void call(const Registration::Callback& callback, Registration& registration, const Instance& instance,
          MPI_T_cb_safety safety) {
  callback.function(const_cast<Instance*>(&instance), &registration, safety, callback.user_data);
}

void tell_dropped(Registration& registration) {
  if (registration.dropped == 0 || registration.dropped_handler == nullptr) return;
  const MPI_Count count = std::exchange(registration.dropped, 0);
  registration.dropped_handler(count, &registration, 0, MPI_T_CB_REQUIRE_NONE, registration.callbacks[0].user_data);
}

// Passes the waiting events to their callbacks; true if there were any. Runs as a progress hook, when no operation is
// in an intermediate state.
bool hand_out(void* /*unused*/) {
  State& all = state();
  if (all.handing_out) return false;
  all.handing_out = true;
  // Events caused by the callbacks themselves wait for the next round.
  const std::size_t count = all.waiting.size();
  for (std::size_t i = 0; i < count && !all.waiting.empty(); ++i) {
    const Waiting next = all.waiting.front();
    all.waiting.pop_front();
    const Registration::Callback callback = next.registration->callbacks[0];
    if (callback.function != nullptr) call(callback, *next.registration, next.instance, MPI_T_CB_REQUIRE_NONE);
  }
  for (std::size_t i = 0; i < all.registrations.size(); ++i) tell_dropped(*all.registrations[i]);
  all.handing_out = false;
  if (all.waiting.empty()) p2p::remove_hook(&hand_out, nullptr);
  return count != 0;
}

void take(events::Event event, std::span<const std::int64_t> elements) {
  Instance instance{.event = event, .elements = static_cast<int>(elements.size()), .timestamp = now()};
  std::copy(elements.begin(), elements.end(), instance.values);
  State& all = state();
  for (std::size_t i = 0; i < all.registrations.size(); ++i) {
    Registration& each = *all.registrations[i];
    if (each.event != event) continue;
    std::size_t level = 1;
    while (level < kLevels && each.callbacks[level].function == nullptr) ++level;
    if (level < kLevels) {
      call(each.callbacks[level], each, instance, kSafety[1]);
    } else if (each.callbacks[0].function != nullptr) {
      all.waiting.size() < kMostWaiting ? all.waiting.push_back({&each, instance}) : void(++each.dropped);
      p2p::add_hook(&hand_out, nullptr);
    }
  }
}

// Enables the events that have a callback.
void count_wanted() {
  std::uint32_t wanted = events::detail::wanted & events::detail::kChecker;
  for (const auto& each : state().registrations) {
    for (const auto& callback : each->callbacks) {
      if (callback.function != nullptr) wanted |= 1U << static_cast<unsigned>(each->event);
    }
  }
  events::detail::sink = take;
  const bool changes = (wanted != 0) != events::wanted();
  events::detail::wanted = wanted;
  if (changes && events::detail::changed != nullptr) events::detail::changed();
}

}  // namespace

// --- sources ---

int t_source_get_num(int* num_sources) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (num_sources == nullptr) return MPI_T_ERR_INVALID;
  give(num_sources, 1);
  return MPI_SUCCESS;
}

int t_source_get_info(int source_index, char* name, int* name_len, char* desc, int* desc_len,
                      MPI_T_source_order* ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks, MPI_Info* info) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
  give_text("headrace", name, name_len);
  give_text("What the library does in this process, by the clock of MPI_Wtime.", desc, desc_len);
  give(ordering, MPI_T_SOURCE_ORDERED);
  give(ticks_per_second, kTicksPerSecond);
  give(max_ticks, static_cast<MPI_Count>(LLONG_MAX));
  return give_new_info(info);
}

int t_source_get_timestamp(int source_index, MPI_Count* timestamp) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
  give(timestamp, now());
  return MPI_SUCCESS;
}

// --- events ---

int t_event_get_num(int* num_events) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (num_events == nullptr) return MPI_T_ERR_INVALID;
  give(num_events, static_cast<int>(std::size(events::kRecords)));
  return MPI_SUCCESS;
}

int t_event_get_info(int event_index, char* name, int* name_len, int* verbosity, MPI_Datatype* array_of_datatypes,
                     MPI_Aint* array_of_displacements, int* num_elements, MPI_T_enum* enumtype, MPI_Info* info,
                     char* desc, int* desc_len, int* bind) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!is_event(event_index)) return MPI_T_ERR_INVALID_INDEX;
  const events::Record& record = events::kRecords[event_index];
  give_text(tool_name(record.name), name, name_len);
  give_text(record.sentence, desc, desc_len);
  give(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
  for (int i = 0; num_elements != nullptr && i < std::min(*num_elements, record.elements); ++i) {
    if (array_of_datatypes != nullptr) array_of_datatypes[i] = MPI_INT64_T;
    if (array_of_displacements != nullptr) array_of_displacements[i] = static_cast<MPI_Aint>(8 * i);
  }
  give(num_elements, record.elements);
  give(enumtype, MPI_T_ENUM_NULL);
  give(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
  return give_new_info(info);
}

int t_event_get_index(const char* name, int* event_index) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || event_index == nullptr) return MPI_T_ERR_INVALID;
  for (std::size_t i = 0; i < std::size(events::kRecords); ++i) {
    if (tool_name(events::kRecords[i].name) != name) continue;
    *event_index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

// --- registrations ---

int t_event_handle_alloc(int event_index, void* /*obj_handle*/, MPI_Info /*info*/,
                         MPI_T_event_registration* event_registration) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!is_event(event_index)) return MPI_T_ERR_INVALID_INDEX;
  if (event_registration == nullptr) return MPI_T_ERR_INVALID;
  auto& made = state().registrations.emplace_back(std::make_unique<Registration>());
  made->event = static_cast<events::Event>(event_index);
  *event_registration = made.get();
  return MPI_SUCCESS;
}

// No hints are supported.
int t_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info /*info*/) {
  return check(event_registration);
}

int t_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info* info_used) {
  const int code = check(event_registration);
  return code == MPI_SUCCESS ? give_new_info(info_used) : code;
}

int t_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info /*info*/,
                              void* user_data, MPI_T_event_cb_function event_cb_function) {
  if (const int code = check(event_registration, &cb_safety); code != MPI_SUCCESS) return code;
  event_registration->callbacks[level_of(cb_safety)] = {event_cb_function, user_data};
  count_wanted();
  return MPI_SUCCESS;
}

int t_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                              MPI_Info /*info*/) {
  return check(event_registration, &cb_safety);
}

int t_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                              MPI_Info* info_used) {
  const int code = check(event_registration, &cb_safety);
  return code == MPI_SUCCESS ? give_new_info(info_used) : code;
}

int t_event_handle_free(MPI_T_event_registration event_registration, void* user_data,
                        MPI_T_event_free_cb_function free_cb_function) {
  if (const int code = check(event_registration); code != MPI_SUCCESS) return code;
  State& all = state();
  std::erase_if(all.waiting, [&](const Waiting& each) { return each.registration == event_registration; });
  const auto found = std::find_if(all.registrations.begin(), all.registrations.end(),
                                  [&](const auto& each) { return each.get() == event_registration; });
  const std::unique_ptr<Registration> alive = std::move(*found);
  all.registrations.erase(found);
  count_wanted();
  if (free_cb_function != nullptr) free_cb_function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data);
  return MPI_SUCCESS;
}

int t_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                MPI_T_event_dropped_cb_function dropped_cb_function) {
  if (const int code = check(event_registration); code != MPI_SUCCESS) return code;
  event_registration->dropped_handler = dropped_cb_function;
  return MPI_SUCCESS;
}

// --- within a callback ---

int t_event_read(MPI_T_event_instance event_instance, int element_index, void* buffer) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (event_instance == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (element_index < 0 || element_index >= event_instance->elements) return MPI_T_ERR_INVALID_INDEX;
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  std::memcpy(buffer, &event_instance->values[element_index], sizeof(std::int64_t));
  return MPI_SUCCESS;
}

int t_event_copy(MPI_T_event_instance event_instance, void* buffer) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (event_instance == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  std::memcpy(buffer, event_instance->values,
              static_cast<std::size_t>(event_instance->elements) * sizeof(std::int64_t));
  return MPI_SUCCESS;
}

int t_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count* event_timestamp) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (event_instance == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  give(event_timestamp, event_instance->timestamp);
  return MPI_SUCCESS;
}

int t_event_get_source(MPI_T_event_instance event_instance, int* source_index) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (event_instance == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  give(source_index, 0);
  return MPI_SUCCESS;
}

}  // namespace hr::bind::impl
