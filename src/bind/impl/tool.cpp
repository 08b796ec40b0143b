// The tool information interface (MPI 5.0 section 15.3): the knobs as control variables, and the only category, which
// also contains the performance variables (tool_performance.cpp). Codes are returned, never raised.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "base/events.hpp"
#include "base/knobs.hpp"
#include "base/statistics.hpp"
#include "bind/impl.hpp"
#include "bind/runtime.hpp"
#include "bind/tool_results.hpp"
#include "bind/tool_state.hpp"
#include "bind/tool_variables.hpp"

// Objects behind the standard's opaque handles.
struct MPI_T_cvar_handle_t {
  std::size_t knob;
};

namespace hr::bind {

namespace {
int initialisations = 0;
}

bool tool_initialised() noexcept { return initialisations > 0; }

namespace impl {
namespace {

constexpr const char* kCategory = "headrace";
// Maximum length of a string variable, including the terminator.
constexpr int kTextRoom = 1024;

// Returns the datatype for knobs of a type: MPI_CHAR for strings and enumerations, else a numeric type.
MPI_Datatype type_of(std::string_view type) {
  if (type == "int" || type == "bool") return MPI_INT;
  if (type == "size") return MPI_UNSIGNED_LONG_LONG;
  if (type == "double") return MPI_DOUBLE;
  return MPI_CHAR;
}

// Returns the name of the environment variable, such as "HEADRACE_SHM_DIR".
std::string variable_name(const KnobRecord& record) { return tool_name(record.name); }

template <class Number>
int read_number(const std::string& text, void* buf) {
  Number value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  std::memcpy(buf, &value, sizeof value);
  return MPI_SUCCESS;
}

template <class Number>
std::string number_text(const void* buf) {
  Number value{};
  std::memcpy(&value, buf, sizeof value);
  return std::to_string(value);
}

std::string text_in(std::string_view type, const void* buf) {
  if (type == "int") return number_text<int>(buf);
  if (type == "bool") return number_text<int>(buf) == "0" ? "off" : "on";
  if (type == "size") return number_text<unsigned long long>(buf);
  if (type == "double") return number_text<double>(buf);
  return std::string(static_cast<const char*>(buf), ::strnlen(static_cast<const char*>(buf), kTextRoom));
}

}  // namespace

int t_init_thread(int required, int* provided) {
  ++initialisations;
  if (required == MPI_THREAD_MULTIPLE) runtime::enable_threads();
  give(provided, required);
  return MPI_SUCCESS;
}

int t_finalize() {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  --initialisations;
  return MPI_SUCCESS;
}

// --- control variables ---

int t_cvar_get_num(int* num_cvar) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (num_cvar == nullptr) return MPI_T_ERR_INVALID;
  give(num_cvar, static_cast<int>(knob_records().size()));
  return MPI_SUCCESS;
}

int t_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                    MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (cvar_index < 0 || static_cast<std::size_t>(cvar_index) >= knob_records().size()) return MPI_T_ERR_INVALID_INDEX;
  const KnobRecord& record = knob_records()[static_cast<std::size_t>(cvar_index)];
  give_text(variable_name(record), name, name_len);
  give_text(record.sentence, desc, desc_len);
  give(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
  give(datatype, type_of(record.type));
  give(enumtype, MPI_T_ENUM_NULL);
  give(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
  give(scope, std::string_view(record.scope) == "job" ? MPI_T_SCOPE_ALL_EQ : MPI_T_SCOPE_LOCAL);
  return MPI_SUCCESS;
}

int t_cvar_get_index(const char* name, int* cvar_index) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || cvar_index == nullptr) return MPI_T_ERR_INVALID;
  for (std::size_t i = 0; i < knob_records().size(); ++i) {
    if (variable_name(knob_records()[i]) != name) continue;
    *cvar_index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_cvar_handle_alloc(int cvar_index, void* /*obj_handle*/, MPI_T_cvar_handle* handle, int* count) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (cvar_index < 0 || static_cast<std::size_t>(cvar_index) >= knob_records().size()) return MPI_T_ERR_INVALID_INDEX;
  if (handle == nullptr) return MPI_T_ERR_INVALID;
  const auto knob = static_cast<std::size_t>(cvar_index);
  *handle = new MPI_T_cvar_handle_t{knob};
  give(count, type_of(knob_records()[knob].type) == MPI_CHAR ? kTextRoom : 1);
  return MPI_SUCCESS;
}

int t_cvar_handle_free(MPI_T_cvar_handle* handle) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (handle == nullptr || *handle == MPI_T_CVAR_HANDLE_NULL) return MPI_T_ERR_INVALID_HANDLE;
  delete *handle;
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (handle == MPI_T_CVAR_HANDLE_NULL) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  const std::string_view type = knob_records()[handle->knob].type;
  const std::string text = knob_text(handle->knob);
  if (type == "int") return read_number<int>(text, buf);
  if (type == "size") return read_number<unsigned long long>(text, buf);
  if (type == "double") return read_number<double>(text, buf);
  if (type == "bool") {
    const int value = text == "on" || text == "true" || text == "1" ? 1 : 0;
    std::memcpy(buf, &value, sizeof value);
    return MPI_SUCCESS;
  }
  int room = kTextRoom;
  give_text(text, static_cast<char*>(buf), &room);
  return MPI_SUCCESS;
}

// Layers read their knobs when they are initialised, so knobs can be set only before that.
int t_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (handle == MPI_T_CVAR_HANDLE_NULL) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  if (runtime::in_use()) return MPI_T_ERR_CVAR_SET_NOT_NOW;
  const KnobRecord& record = knob_records()[handle->knob];
  return set_knob(record.name, text_in(record.type, buf)) ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

// --- the one category ---

int t_category_get_num(int* num_cat) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (num_cat == nullptr) return MPI_T_ERR_INVALID;
  give(num_cat, 1);
  return MPI_SUCCESS;
}

int t_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len, int* num_cvars,
                        int* num_pvars, int* num_categories) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (cat_index != 0) return MPI_T_ERR_INVALID_INDEX;
  give_text(kCategory, name, name_len);
  give_text("All settings of the library, which docs/knobs.md describes, and numbers about what it does.", desc,
            desc_len);
  give(num_cvars, static_cast<int>(knob_records().size()));
  give(num_pvars, static_cast<int>(performance_variables().size()));
  give(num_categories, 0);
  return MPI_SUCCESS;
}

int t_category_get_num_events(int cat_index, int* num_events) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (cat_index != 0) return MPI_T_ERR_INVALID_INDEX;
  give(num_events, static_cast<int>(std::size(events::kRecords)));
  return MPI_SUCCESS;
}

int t_category_get_index(const char* name, int* cat_index) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || cat_index == nullptr) return MPI_T_ERR_INVALID;
  if (std::string_view(name) != kCategory) return MPI_T_ERR_INVALID_NAME;
  *cat_index = 0;
  return MPI_SUCCESS;
}

int t_category_get_cvars(int cat_index, int len, int* indices) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (cat_index != 0) return MPI_T_ERR_INVALID_INDEX;
  if (len < 0 || (indices == nullptr && len > 0)) return MPI_T_ERR_INVALID;
  for (int i = 0; i < len && static_cast<std::size_t>(i) < knob_records().size(); ++i) indices[i] = i;
  return MPI_SUCCESS;
}

int t_category_get_pvars(int cat_index, int len, int* indices) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (cat_index != 0) return MPI_T_ERR_INVALID_INDEX;
  if (len < 0 || (indices == nullptr && len > 0)) return MPI_T_ERR_INVALID;
  for (int i = 0; i < len && static_cast<std::size_t>(i) < performance_variables().size(); ++i) indices[i] = i;
  return MPI_SUCCESS;
}

int t_category_get_events(int cat_index, int len, int* indices) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (cat_index != 0) return MPI_T_ERR_INVALID_INDEX;
  if (len < 0 || (indices == nullptr && len > 0)) return MPI_T_ERR_INVALID;
  for (int i = 0; i < len && static_cast<std::size_t>(i) < std::size(events::kRecords); ++i) indices[i] = i;
  return MPI_SUCCESS;
}

int t_category_get_categories(int cat_index, int /*len*/, int* /*indices*/) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  return cat_index == 0 ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}

int t_category_changed(int* update_number) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  give(update_number, 0);
  return MPI_SUCCESS;
}

// --- enumerations: no variable has one ---

int t_enum_get_info(MPI_T_enum /*enumtype*/, int* /*num*/, char* /*name*/, int* /*name_len*/) {
  return tool_initialised() ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_NOT_INITIALIZED;
}

int t_enum_get_item(MPI_T_enum /*enumtype*/, int /*index*/, int* /*value*/, char* /*name*/, int* /*name_len*/) {
  return tool_initialised() ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_NOT_INITIALIZED;
}

}  // namespace impl
}  // namespace hr::bind
