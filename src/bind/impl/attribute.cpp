// Caching: attributes of communicators, datatypes and windows (MPI 5.0 section 7.7; deprecated names, section 16.1).
#include <climits>

#include "base/abi.hpp"
#include "base/attributes.hpp"
#include "base/lock.hpp"
#include "bind/error_codes.hpp"
#include "bind/handles.hpp"
#include "bind/impl.hpp"
#include "boot/boot.hpp"

namespace hr::bind::impl {

namespace {

// Converts a callback's return code to the call's error, with a message that names the callback.
Status from_callback(int code, const char* which, int keyval) {
  if (code == MPI_SUCCESS) return kOk;
  const Status status = fail(Errc::kOther, "the %s callback of keyval %d returned %d", which, keyval, code);
  return code > 0 ? Status::from_code(code) : status;
}

// Calls a callback without the library lock: the callback may wait for a lock of the program (in Python, the
// interpreter's) whose owner waits for the library lock. Attribute sets permit this (base/attributes.hpp).
template <class Callback>
int without_lock(Callback&& callback) {
  const int depth = LibraryLock::suspend();
  const int code = callback();
  LibraryLock::resume(depth);
  return code;
}

template <class Handle>
Keyval::Copy copier(int (*function)(Handle, int, void*, void*, void*, int*), void* extra_state) {
  const auto predefined = reinterpret_cast<std::uintptr_t>(function);
  if (predefined == abi::kCommNullCopyFn) return nullptr;
  if (predefined == abi::kCommDupFn) {
    return [](void*, int, void* value, void** new_value, bool* keep) {
      *new_value = value;
      *keep = true;
      return kOk;
    };
  }
  return [function, extra_state](void* object, int keyval, void* value, void** new_value, bool* keep) {
    int flag = 0;
    const int code = without_lock(
        [&] { return function(static_cast<Handle>(object), keyval, extra_state, value, new_value, &flag); });
    *keep = flag != 0;
    return from_callback(code, "copy", keyval);
  };
}

template <class Handle>
Keyval::Delete deleter(int (*function)(Handle, int, void*, void*), void* extra_state) {
  if (function == nullptr) return nullptr;
  return [function, extra_state](void* object, int keyval, void* value) {
    const int code = without_lock([&] { return function(static_cast<Handle>(object), keyval, value, extra_state); });
    return from_callback(code, "delete", keyval);
  };
}

Status free_number(KeyvalKind kind, int& keyval) {
  HR_TRY(free_keyval(kind, keyval));
  keyval = MPI_KEYVAL_INVALID;
  return kOk;
}

Status set(AttributeSet& attributes, KeyvalKind kind, void* object, int number, void* value) {
  std::shared_ptr<const Keyval> keyval;
  HR_TRY(find_keyval(kind, number, &keyval));
  return attributes.set(object, std::move(keyval), value);
}

// `attribute_val` is the address of the program's pointer.
Status get(const AttributeSet* attributes, KeyvalKind kind, int number, void* attribute_val, int& flag) {
  // A freed keyval stays valid for the attributes that still use it (section 7.7.2).
  if (attributes != nullptr && attributes->get(number, static_cast<void**>(attribute_val))) {
    flag = 1;
    return kOk;
  }
  std::shared_ptr<const Keyval> keyval;
  HR_TRY(find_keyval(kind, number, &keyval));
  flag = 0;
  return kOk;
}

Status erase(AttributeSet* attributes, KeyvalKind kind, void* object, int number) {
  void* value = nullptr;
  if (attributes != nullptr && attributes->get(number, &value)) return attributes->erase(object, number);
  std::shared_ptr<const Keyval> keyval;
  HR_TRY(find_keyval(kind, number, &keyval));
  return fail(Errc::kKeyval, "no attribute is cached under keyval %d", number);
}

// Returns the address of a predefined attribute of section 9.1.2, as programs get it; nullptr for any other keyval.
// *known: false if the attribute has no value.
int* predefined_value(int keyval, bool* known) {
  static int tag_ub = INT_MAX;
  static int host = MPI_PROC_NULL;
  static int io = MPI_ANY_SOURCE;
  static int wtime_is_global;
  static int appnum;
  static int universe_size;
  static int last_used;
  *known = true;
  switch (keyval) {
    case MPI_TAG_UB:
      return &tag_ub;
    case MPI_HOST:
      return &host;
    case MPI_IO:
      return &io;
    case MPI_WTIME_IS_GLOBAL:
      wtime_is_global = boot::processes().job_on_one_host() ? 1 : 0;
      return &wtime_is_global;
    case MPI_APPNUM:
      appnum = boot::identity().appnum;
      return &appnum;
    case MPI_UNIVERSE_SIZE:
      universe_size = boot::identity().universe_size;
      *known = universe_size >= 0;
      return &universe_size;
    case MPI_LASTUSEDCODE:
      last_used = last_used_code();
      return &last_used;
    default:
      return nullptr;
  }
}

// Returns the address of an attribute of a window (section 12.2.6) other than its base; nullptr for any other keyval.
void* predefined_value(rma::Window& win, int keyval) {
  switch (keyval) {
    case MPI_WIN_SIZE:
      return &win.values_.size;
    case MPI_WIN_DISP_UNIT:
      return &win.values_.displacement_unit;
    case MPI_WIN_CREATE_FLAVOR:
      return &win.values_.flavor;
    case MPI_WIN_MODEL:
      return &win.values_.model;
    default:
      return nullptr;
  }
}

AttributeSet& of(layout::Datatype& datatype) {
  if (datatype.attributes_ == nullptr) datatype.attributes_ = std::make_unique<AttributeSet>();
  return *datatype.attributes_;
}

}  // namespace

// --- communicators ---

Status comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                          MPI_Comm_delete_attr_function* comm_delete_attr_fn, int& comm_keyval, void* extra_state) {
  comm_keyval = create_keyval(KeyvalKind::kCommunicator, copier(comm_copy_attr_fn, extra_state),
                              deleter(comm_delete_attr_fn, extra_state));
  return kOk;
}

Status comm_free_keyval(int& comm_keyval) { return free_number(KeyvalKind::kCommunicator, comm_keyval); }

Status comm_set_attr(comm::Communicator& comm, int comm_keyval, void* attribute_val) {
  return set(comm.attributes_, KeyvalKind::kCommunicator, comm.handle(), comm_keyval, attribute_val);
}

Status comm_get_attr(comm::Communicator& comm, int comm_keyval, void* attribute_val, int& flag) {
  bool known = false;
  if (int* const value = predefined_value(comm_keyval, &known); value != nullptr) {
    flag = known ? 1 : 0;
    if (known) *static_cast<void**>(attribute_val) = value;
    return kOk;
  }
  return get(&comm.attributes_, KeyvalKind::kCommunicator, comm_keyval, attribute_val, flag);
}

Status comm_delete_attr(comm::Communicator& comm, int comm_keyval) {
  return erase(&comm.attributes_, KeyvalKind::kCommunicator, comm.handle(), comm_keyval);
}

// --- datatypes ---

Status type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                          MPI_Type_delete_attr_function* type_delete_attr_fn, int& type_keyval, void* extra_state) {
  type_keyval = create_keyval(KeyvalKind::kDatatype, copier(type_copy_attr_fn, extra_state),
                              deleter(type_delete_attr_fn, extra_state));
  return kOk;
}

Status type_free_keyval(int& type_keyval) { return free_number(KeyvalKind::kDatatype, type_keyval); }

Status type_set_attr(layout::Datatype& datatype, int type_keyval, void* attribute_val) {
  return set(of(datatype), KeyvalKind::kDatatype, datatype.handle(), type_keyval, attribute_val);
}

Status type_get_attr(layout::Datatype& datatype, int type_keyval, void* attribute_val, int& flag) {
  return get(datatype.attributes_.get(), KeyvalKind::kDatatype, type_keyval, attribute_val, flag);
}

Status type_delete_attr(layout::Datatype& datatype, int type_keyval) {
  return erase(datatype.attributes_.get(), KeyvalKind::kDatatype, datatype.handle(), type_keyval);
}

// --- windows ---

Status win_create_keyval(MPI_Win_copy_attr_function* win_copy_attr_fn, MPI_Win_delete_attr_function* win_delete_attr_fn,
                         int& win_keyval, void* extra_state) {
  win_keyval = create_keyval(KeyvalKind::kWindow, copier(win_copy_attr_fn, extra_state),
                             deleter(win_delete_attr_fn, extra_state));
  return kOk;
}

Status win_free_keyval(int& win_keyval) { return free_number(KeyvalKind::kWindow, win_keyval); }

Status win_set_attr(rma::Window& win, int win_keyval, void* attribute_val) {
  return set(win.attributes_, KeyvalKind::kWindow, win.handle(), win_keyval, attribute_val);
}

Status win_get_attr(rma::Window& win, int win_keyval, void* attribute_val, int& flag) {
  // The value of the base attribute is the address itself.
  void* const value = win_keyval == MPI_WIN_BASE ? win.values_.base : predefined_value(win, win_keyval);
  if (value != nullptr || win_keyval == MPI_WIN_BASE) {
    flag = 1;
    *static_cast<void**>(attribute_val) = value;
    return kOk;
  }
  return get(&win.attributes_, KeyvalKind::kWindow, win_keyval, attribute_val, flag);
}

Status win_delete_attr(rma::Window& win, int win_keyval) {
  return erase(&win.attributes_, KeyvalKind::kWindow, win.handle(), win_keyval);
}

// --- deprecated ---

Status keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int& keyval, void* extra_state) {
  return comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}

Status keyval_free(int& keyval) { return comm_free_keyval(keyval); }

Status attr_put(comm::Communicator& comm, int keyval, void* attribute_val) {
  return comm_set_attr(comm, keyval, attribute_val);
}

Status attr_get(comm::Communicator& comm, int keyval, void* attribute_val, int& flag) {
  return comm_get_attr(comm, keyval, attribute_val, flag);
}

Status attr_delete(comm::Communicator& comm, int keyval) { return comm_delete_attr(comm, keyval); }

}  // namespace hr::bind::impl
