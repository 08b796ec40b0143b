#include "fortran/callbacks.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "fortran/handles.hpp"
#include "fortran/logicals.hpp"

namespace hr::fortran {
namespace {

// Stack space for a LOGICAL of any compiler.
struct Logical {
  alignas(16) unsigned char bytes[16] = {};
};

template <class Function>
Function* as(Procedure procedure) {
  return reinterpret_cast<Function*>(procedure);
}

const Procedures& procedures(void* extra_state) { return *static_cast<Procedures*>(extra_state); }

// --- Attributes ---

// `Integer`: MPI_Aint, or int for the deprecated functions.
template <class Integer, class Handle>
int copy_attribute(const Procedures& all, Procedure procedure, Handle handle, int keyval, void* in, void* out,
                   int* flag) {
  int number = number_of(handle);
  auto extra_state = static_cast<Integer>(all.extra_state);
  auto value = static_cast<Integer>(attribute_for_fortran(keyval, in));
  Integer copied = value;
  Logical keep;
  int code = MPI_SUCCESS;
  as<void(int*, int*, Integer*, Integer*, Integer*, void*, int*)>(procedure)(&number, &keyval, &extra_state, &value,
                                                                             &copied, keep.bytes, &code);
  *flag = hr_f_is_true(keep.bytes);
  if (*flag != 0) {
    *static_cast<void**>(out) =
        sizeof(Integer) == sizeof(int) ? small_attribute_for_c(static_cast<int>(copied)) : attribute_for_c(copied);
  }
  return code;
}

template <class Integer, class Handle>
int delete_attribute(const Procedures& all, Procedure procedure, Handle handle, int keyval, void* attribute) {
  int number = number_of(handle);
  auto extra_state = static_cast<Integer>(all.extra_state);
  auto value = static_cast<Integer>(attribute_for_fortran(keyval, attribute));
  int code = MPI_SUCCESS;
  as<void(int*, int*, Integer*, Integer*, int*)>(procedure)(&number, &keyval, &value, &extra_state, &code);
  return code;
}

template <class Handle, int kPlace>
int copier(Handle handle, int keyval, void* extra_state, void* in, void* out, int* flag) {
  const Procedures& all = procedures(extra_state);
  return all.small ? copy_attribute<int>(all, all.procedure[kPlace], handle, keyval, in, out, flag)
                   : copy_attribute<MPI_Aint>(all, all.procedure[kPlace], handle, keyval, in, out, flag);
}

template <class Handle, int kPlace>
int deleter(Handle handle, int keyval, void* attribute, void* extra_state) {
  const Procedures& all = procedures(extra_state);
  return all.small ? delete_attribute<int>(all, all.procedure[kPlace], handle, keyval, attribute)
                   : delete_attribute<MPI_Aint>(all, all.procedure[kPlace], handle, keyval, attribute);
}

// --- Generalized requests ---

template <int kPlace>
int query(void* extra_state, MPI_Status* status) {
  Procedures& all = *static_cast<Procedures*>(extra_state);
  int code = MPI_SUCCESS;
  as<void(MPI_Aint*, MPI_Status*, int*)>(all.procedure[kPlace])(&all.extra_state, status, &code);
  return code;
}

template <int kPlace>
int release(void* extra_state) {
  auto* all = static_cast<Procedures*>(extra_state);
  int code = MPI_SUCCESS;
  as<void(MPI_Aint*, int*)>(all->procedure[kPlace])(&all->extra_state, &code);
  delete all;  // this is the last call for this request
  return code;
}

template <int kPlace>
int cancel(void* extra_state, int complete) {
  Procedures& all = *static_cast<Procedures*>(extra_state);
  Logical flag;
  hr_f_set_logical(flag.bytes, complete);
  int code = MPI_SUCCESS;
  as<void(MPI_Aint*, void*, int*)>(all.procedure[kPlace])(&all.extra_state, flag.bytes, &code);
  return code;
}

// --- Data representations ---

template <class Count, int kPlace>
int convert(void* user, MPI_Datatype type, Count count, void* file, MPI_Offset position, void* extra_state) {
  Procedures& all = *static_cast<Procedures*>(extra_state);
  int number = number_of(type);
  int code = MPI_SUCCESS;
  as<void(void*, int*, Count*, void*, MPI_Offset*, MPI_Aint*, int*)>(all.procedure[kPlace])(
      user, &number, &count, file, &position, &all.extra_state, &code);
  return code;
}

template <int kPlace>
int file_extent(MPI_Datatype type, MPI_Aint* extent, void* extra_state) {
  Procedures& all = *static_cast<Procedures*>(extra_state);
  int number = number_of(type);
  int code = MPI_SUCCESS;
  as<void(int*, MPI_Aint*, MPI_Aint*, int*)>(all.procedure[kPlace])(&number, extent, &all.extra_state, &code);
  return code;
}

// --- Operations: C passes the function no state, so each Fortran function has a separate C function ---

template <class Count>
struct Operations {
  using Function = void(void*, void*, Count*, MPI_Datatype*);
  static inline std::array<std::atomic<Procedure>, kOperations> procedures{};

  template <std::size_t kIndex>
  static void call(void* in, void* inout, Count* count, MPI_Datatype* type) {
    int number = number_of(*type);
    as<void(void*, void*, Count*, int*)>(procedures[kIndex].load(std::memory_order_acquire))(in, inout, count, &number);
  }

  template <std::size_t... kIndex>
  static Function* function(std::size_t index, std::index_sequence<kIndex...>) {
    static constexpr std::array<Function*, kOperations> kFunctions = {&call<kIndex>...};
    return kFunctions[index];
  }

  static Function* of(Procedure procedure) {
    static std::mutex lock;
    const std::lock_guard guard(lock);
    for (std::size_t i = 0; i < procedures.size(); ++i) {
      Procedure there = procedures[i].load(std::memory_order_relaxed);
      if (there == nullptr) procedures[i].store(there = procedure, std::memory_order_release);
      if (there == procedure) return function(i, std::make_index_sequence<kOperations>());
    }
    return nullptr;
  }
};

// --- Error handlers ---

struct Handlers {
  std::mutex lock;
  std::unordered_map<MPI_Errhandler, Procedure> procedures;
};
Handlers& handlers() {
  static auto* made = new Handlers;  // errors may be raised after static destructors
  return *made;
}

template <class Handle>
void handle_error(Handle* object, int* code, int (*current)(Handle, MPI_Errhandler*)) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (current(*object, &handler) != MPI_SUCCESS) return;
  Procedure procedure = nullptr;
  {
    const std::lock_guard guard(handlers().lock);
    const auto found = handlers().procedures.find(handler);
    if (found != handlers().procedures.end()) procedure = found->second;
  }
  PMPI_Errhandler_free(&handler);
  if (procedure == nullptr) return;
  int number = number_of(*object);
  as<void(int*, int*)>(procedure)(&number, code);
  handle_from(number, object);
}

}  // namespace

#define HR_ATTRIBUTE(Type, Handle)                                                                 \
  template <>                                                                                      \
  MPI_##Type##_copy_attr_function* trampoline<MPI_##Type##_copy_attr_function, 0>(Procedure) {     \
    return copier<Handle, 0>;                                                                      \
  }                                                                                                \
  template <>                                                                                      \
  MPI_##Type##_delete_attr_function* trampoline<MPI_##Type##_delete_attr_function, 1>(Procedure) { \
    return deleter<Handle, 1>;                                                                     \
  }
HR_ATTRIBUTE(Comm, MPI_Comm)
HR_ATTRIBUTE(Type, MPI_Datatype)
HR_ATTRIBUTE(Win, MPI_Win)
#undef HR_ATTRIBUTE

template <>
MPI_Grequest_query_function* trampoline<MPI_Grequest_query_function, 0>(Procedure) {
  return query<0>;
}
template <>
MPI_Grequest_free_function* trampoline<MPI_Grequest_free_function, 1>(Procedure) {
  return release<1>;
}
template <>
MPI_Grequest_cancel_function* trampoline<MPI_Grequest_cancel_function, 2>(Procedure) {
  return cancel<2>;
}

// Programs pass MPI_CONVERSION_FN_NULL to request no conversion.
#define HR_CONVERSION(place)                                                                                     \
  template <>                                                                                                    \
  MPI_Datarep_conversion_function* trampoline<MPI_Datarep_conversion_function, place>(Procedure procedure) {     \
    return procedure == hr_f_no_conversion(0) ? MPI_CONVERSION_FN_NULL : convert<int, place>;                    \
  }                                                                                                              \
  template <>                                                                                                    \
  MPI_Datarep_conversion_function_c* trampoline<MPI_Datarep_conversion_function_c, place>(Procedure procedure) { \
    return procedure == hr_f_no_conversion(1) ? MPI_CONVERSION_FN_NULL_C : convert<MPI_Count, place>;            \
  }
HR_CONVERSION(0)
HR_CONVERSION(1)
#undef HR_CONVERSION

template <>
MPI_Datarep_extent_function* trampoline<MPI_Datarep_extent_function, 2>(Procedure) {
  return file_extent<2>;
}

MPI_User_function* user_function(Procedure procedure) { return Operations<int>::of(procedure); }
MPI_User_function_c* user_function_c(Procedure procedure) { return Operations<MPI_Count>::of(procedure); }

void comm_handler(MPI_Comm* comm, int* code, ...) { handle_error(comm, code, PMPI_Comm_get_errhandler); }
void win_handler(MPI_Win* win, int* code, ...) { handle_error(win, code, PMPI_Win_get_errhandler); }
void file_handler(MPI_File* file, int* code, ...) { handle_error(file, code, PMPI_File_get_errhandler); }
void session_handler(MPI_Session* session, int* code, ...) { handle_error(session, code, PMPI_Session_get_errhandler); }

void note_handler(MPI_Errhandler handler, Procedure procedure) {
  const std::lock_guard guard(handlers().lock);
  handlers().procedures[handler] = procedure;
}

}  // namespace hr::fortran
