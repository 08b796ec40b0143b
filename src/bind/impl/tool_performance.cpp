// Performance variables of the tool information interface (MPI 5.0 section 15.3.7; bind/tool_variables.hpp). Codes are
// returned, never raised.
//
// Levels show the current value, high-water marks the maximum since the process began; both are continuous and
// read-only. Each handle of a counter counts separately while it is started, beginning at 0 or at the value written.
// Owner: sessions own their handles; the tool owns its sessions. Threads: library lock.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "bind/impl.hpp"
#include "bind/tool_results.hpp"
#include "bind/tool_state.hpp"
#include "bind/tool_variables.hpp"

// Objects behind the standard's opaque handles.
struct MPI_T_pvar_handle_t {
  using Number = unsigned long long;

  const hr::bind::PerformanceVariable* variable;
  bool started = false;
  Number before = 0;  // count when the handle was last stopped
  Number since = 0;   // value of the statistic when the handle was last started, reset or written

  [[nodiscard]] bool counts() const noexcept { return variable->kind == hr::bind::PerformanceVariable::Kind::kCounter; }
  [[nodiscard]] Number value() const noexcept {
    const Number now = variable->value(variable->argument);
    if (!counts()) return now;
    return started ? before + (now - since) : before;
  }
  void set(Number value) noexcept {
    before = value;
    since = variable->value(variable->argument);
  }
  void start(bool on) noexcept {
    set(value());
    started = on;
  }
};

struct MPI_T_pvar_session_t {
  std::vector<std::unique_ptr<MPI_T_pvar_handle_t>> handles;
};

namespace hr::bind::impl {
namespace {

std::vector<std::unique_ptr<MPI_T_pvar_session_t>> sessions;

template <class T>
auto find(std::vector<std::unique_ptr<T>>& all, const T* wanted) {
  return std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.get() == wanted; });
}

// Returns MPI_SUCCESS if the session exists and owns the handle.
int check(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (find(sessions, session) == sessions.end()) return MPI_T_ERR_INVALID_SESSION;
  return find(session->handles, handle) == session->handles.end() ? MPI_T_ERR_INVALID_HANDLE : MPI_SUCCESS;
}

bool known(int index) { return index >= 0 && static_cast<std::size_t>(index) < performance_variables().size(); }

int class_of(const PerformanceVariable& variable) {
  switch (variable.kind) {
    case PerformanceVariable::Kind::kCounter:
      return MPI_T_PVAR_CLASS_COUNTER;
    case PerformanceVariable::Kind::kHighWaterMark:
      return MPI_T_PVAR_CLASS_HIGHWATERMARK;
    default:
      return MPI_T_PVAR_CLASS_LEVEL;
  }
}

// Applies a change to one handle, or returns `refusal` if its variable is not a counter; with MPI_T_PVAR_ALL_HANDLES,
// applies it to all counters of the session.
template <class Change>
int change(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int refusal, const Change& apply) {
  if (handle != MPI_T_PVAR_ALL_HANDLES) {
    if (const int code = check(session, handle); code != MPI_SUCCESS) return code;
    if (!handle->counts()) return refusal;
    apply(*handle);
    return MPI_SUCCESS;
  }
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (find(sessions, session) == sessions.end()) return MPI_T_ERR_INVALID_SESSION;
  for (const auto& each : session->handles) {
    if (each->counts()) apply(*each);
  }
  return MPI_SUCCESS;
}

}  // namespace

int t_pvar_get_num(int* num_pvar) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (num_pvar == nullptr) return MPI_T_ERR_INVALID;
  give(num_pvar, static_cast<int>(performance_variables().size()));
  return MPI_SUCCESS;
}

int t_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class, MPI_Datatype* datatype,
                    MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* readonly, int* continuous,
                    int* atomic) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!known(pvar_index)) return MPI_T_ERR_INVALID_INDEX;
  const PerformanceVariable& variable = performance_variables()[static_cast<std::size_t>(pvar_index)];
  const bool counter = variable.kind == PerformanceVariable::Kind::kCounter;
  give_text(tool_name(variable.name), name, name_len);
  give_text(variable.sentence, desc, desc_len);
  give(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
  give(var_class, class_of(variable));
  give(datatype, MPI_UNSIGNED_LONG_LONG);
  give(enumtype, MPI_T_ENUM_NULL);
  give(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
  give(readonly, counter ? 0 : 1);
  give(continuous, counter ? 0 : 1);
  give(atomic, counter ? 1 : 0);
  return MPI_SUCCESS;
}

int t_pvar_get_index(const char* name, int var_class, int* pvar_index) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || pvar_index == nullptr) return MPI_T_ERR_INVALID;
  const auto all = performance_variables();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (class_of(all[i]) != var_class || tool_name(all[i].name) != name) continue;
    *pvar_index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_pvar_session_create(MPI_T_pvar_session* pe_session) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (pe_session == nullptr) return MPI_T_ERR_INVALID;
  *pe_session = sessions.emplace_back(std::make_unique<MPI_T_pvar_session_t>()).get();
  return MPI_SUCCESS;
}

int t_pvar_session_free(MPI_T_pvar_session* pe_session) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (pe_session == nullptr) return MPI_T_ERR_INVALID_SESSION;
  const auto found = find(sessions, *pe_session);
  if (found == sessions.end()) return MPI_T_ERR_INVALID_SESSION;
  sessions.erase(found);
  *pe_session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

int t_pvar_handle_alloc(MPI_T_pvar_session pe_session, int pvar_index, void* /*obj_handle*/, MPI_T_pvar_handle* handle,
                        int* count) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (find(sessions, pe_session) == sessions.end()) return MPI_T_ERR_INVALID_SESSION;
  if (!known(pvar_index)) return MPI_T_ERR_INVALID_INDEX;
  if (handle == nullptr) return MPI_T_ERR_INVALID;
  pe_session->handles.emplace_back(
      new MPI_T_pvar_handle_t{&performance_variables()[static_cast<std::size_t>(pvar_index)]});
  *handle = pe_session->handles.back().get();
  give(count, 1);
  return MPI_SUCCESS;
}

int t_pvar_handle_free(MPI_T_pvar_session pe_session, MPI_T_pvar_handle* handle) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (handle == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (const int code = check(pe_session, *handle); code != MPI_SUCCESS) return code;
  pe_session->handles.erase(find(pe_session->handles, *handle));
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_pvar_start(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return change(pe_session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](MPI_T_pvar_handle_t& each) { each.start(true); });
}

int t_pvar_stop(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return change(pe_session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](MPI_T_pvar_handle_t& each) { each.start(false); });
}

int t_pvar_reset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return change(pe_session, handle, MPI_T_ERR_PVAR_NO_WRITE, [](MPI_T_pvar_handle_t& each) { each.set(0); });
}

int t_pvar_read(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf) {
  if (const int code = check(pe_session, handle); code != MPI_SUCCESS) return code;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  const MPI_T_pvar_handle_t::Number value = handle->value();
  std::memcpy(buf, &value, sizeof value);
  return MPI_SUCCESS;
}

int t_pvar_readreset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf) {
  if (const int code = check(pe_session, handle); code != MPI_SUCCESS) return code;
  if (!handle->counts()) return MPI_T_ERR_PVAR_NO_ATOMIC;
  if (const int code = t_pvar_read(pe_session, handle, buf); code != MPI_SUCCESS) return code;
  handle->set(0);
  return MPI_SUCCESS;
}

int t_pvar_write(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, const void* buf) {
  if (const int code = check(pe_session, handle); code != MPI_SUCCESS) return code;
  if (!handle->counts()) return MPI_T_ERR_PVAR_NO_WRITE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  MPI_T_pvar_handle_t::Number value = 0;
  std::memcpy(&value, buf, sizeof value);
  handle->set(value);
  return MPI_SUCCESS;
}

}  // namespace hr::bind::impl
