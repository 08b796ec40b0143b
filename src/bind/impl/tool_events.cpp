// Events of the tool information interface (MPI 5.0 section 15.3.8): there are none yet, so that every index, handle
// and name is unknown.
#include "bind/impl.hpp"
#include "bind/tool_state.hpp"

namespace hr::bind::impl {
namespace {

// The answer to a question about something that does not exist.
int unknown(int code) { return tool_initialised() ? code : MPI_T_ERR_NOT_INITIALIZED; }

int none(int* number) {
  if (!tool_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (number != nullptr) *number = 0;
  return MPI_SUCCESS;
}

}  // namespace

int t_source_get_num(int* num_sources) { return none(num_sources); }

int t_source_get_info(int, char*, int*, char*, int*, MPI_T_source_order*, MPI_Count*, MPI_Count*, MPI_Info*) {
  return unknown(MPI_T_ERR_INVALID_INDEX);
}

int t_source_get_timestamp(int, MPI_Count*) { return unknown(MPI_T_ERR_INVALID_INDEX); }

int t_event_get_num(int* num_events) { return none(num_events); }

int t_event_get_info(int, char*, int*, int*, MPI_Datatype*, MPI_Aint*, int*, MPI_T_enum*, MPI_Info*, char*, int*,
                     int*) {
  return unknown(MPI_T_ERR_INVALID_INDEX);
}

int t_event_get_index(const char*, int*) { return unknown(MPI_T_ERR_INVALID_NAME); }

int t_event_handle_alloc(int, void*, MPI_Info, MPI_T_event_registration*) { return unknown(MPI_T_ERR_INVALID_INDEX); }

int t_event_handle_set_info(MPI_T_event_registration, MPI_Info) { return unknown(MPI_T_ERR_INVALID_HANDLE); }
int t_event_handle_get_info(MPI_T_event_registration, MPI_Info*) { return unknown(MPI_T_ERR_INVALID_HANDLE); }

int t_event_register_callback(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info, void*, MPI_T_event_cb_function) {
  return unknown(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_callback_set_info(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info) {
  return unknown(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_callback_get_info(MPI_T_event_registration, MPI_T_cb_safety, MPI_Info*) {
  return unknown(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_handle_free(MPI_T_event_registration, void*, MPI_T_event_free_cb_function) {
  return unknown(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_set_dropped_handler(MPI_T_event_registration, MPI_T_event_dropped_cb_function) {
  return unknown(MPI_T_ERR_INVALID_HANDLE);
}

int t_event_read(MPI_T_event_instance, int, void*) { return unknown(MPI_T_ERR_INVALID_HANDLE); }
int t_event_copy(MPI_T_event_instance, void*) { return unknown(MPI_T_ERR_INVALID_HANDLE); }
int t_event_get_timestamp(MPI_T_event_instance, MPI_Count*) { return unknown(MPI_T_ERR_INVALID_HANDLE); }
int t_event_get_source(MPI_T_event_instance, int*) { return unknown(MPI_T_ERR_INVALID_HANDLE); }

}  // namespace hr::bind::impl
