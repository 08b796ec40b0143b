// Handles and objects: a program holds handles, the layers work on objects.
//
// A handle below 0x1000 is a constant of the ABI and names a predefined object; any other is the address of a live
// Object in the arena of its type. lookup() is safe for every value a program may pass (base/object.hpp).
// Threads: library lock.
#pragma once

#include <cstdint>

#include "base/abi.hpp"
#include "base/object.hpp"
#include "comm/communicator.hpp"
#include "comm/errhandler.hpp"
#include "comm/group.hpp"
#include "comm/info.hpp"
#include "comm/session.hpp"
#include "io/file.hpp"
#include "layout/datatype.hpp"
#include "layout/op.hpp"
#include "mpi.h"
#include "p2p/p2p.hpp"
#include "p2p/request.hpp"
#include "rma/window.hpp"

namespace hr::bind {

inline constexpr std::uintptr_t kFirstAddress = 0x1000;

// Tables of the ABI's ranges of predefined communicators and datatypes, which every call looks up. Filled by
// runtime.cpp for as long as the library is initialised; otherwise all null.
inline constexpr std::uintptr_t kFirstCommunicator = abi::kCommNull;
inline constexpr std::uintptr_t kFirstDatatype = abi::kDatatypeNull;
inline comm::Communicator* predefined_communicators[3] = {};
inline layout::Datatype* predefined_datatypes[0x200] = {};

// The C handle type of each object type.
template <class T>
struct HandleOf;
template <>
struct HandleOf<comm::Communicator> {
  using Type = MPI_Comm;
  static constexpr std::uintptr_t kNull = abi::kCommNull;
  static comm::Communicator* predefined(std::uintptr_t value) noexcept {
    return value - kFirstCommunicator < 3 ? predefined_communicators[value - kFirstCommunicator] : nullptr;
  }
};
template <>
struct HandleOf<layout::Datatype> {
  using Type = MPI_Datatype;
  static constexpr std::uintptr_t kNull = abi::kDatatypeNull;
  static layout::Datatype* predefined(std::uintptr_t value) noexcept {
    return value - kFirstDatatype < 0x200 ? predefined_datatypes[value - kFirstDatatype] : nullptr;
  }
};
template <>
struct HandleOf<comm::Group> {
  using Type = MPI_Group;
  static constexpr std::uintptr_t kNull = abi::kGroupNull;
  static comm::Group* predefined(std::uintptr_t value) noexcept { return comm::predefined_group(value); }
};
template <>
struct HandleOf<layout::Op> {
  using Type = MPI_Op;
  static constexpr std::uintptr_t kNull = abi::kOpNull;
  static layout::Op* predefined(std::uintptr_t value) noexcept { return layout::predefined_op(value); }
};
template <>
struct HandleOf<comm::Errhandler> {
  using Type = MPI_Errhandler;
  static constexpr std::uintptr_t kNull = abi::kErrhandlerNull;
  static comm::Errhandler* predefined(std::uintptr_t value) noexcept { return comm::predefined_errhandler(value); }
};
template <>
struct HandleOf<comm::Info> {
  using Type = MPI_Info;
  static constexpr std::uintptr_t kNull = abi::kInfoNull;
  static comm::Info* predefined(std::uintptr_t value) noexcept {
    return value == abi::kInfoEnv ? &comm::info_env() : nullptr;
  }
};
// For kinds of objects of which none is predefined.
template <class T, class Handle, std::uintptr_t kNullValue>
struct WithoutPredefined {
  using Type = Handle;
  static constexpr std::uintptr_t kNull = kNullValue;
  static T* predefined(std::uintptr_t) noexcept { return nullptr; }
};
template <>
struct HandleOf<comm::Session> : WithoutPredefined<comm::Session, MPI_Session, abi::kSessionNull> {};
template <>
struct HandleOf<rma::Window> : WithoutPredefined<rma::Window, MPI_Win, abi::kWinNull> {};
template <>
struct HandleOf<io::File> : WithoutPredefined<io::File, MPI_File, abi::kFileNull> {};
template <>
struct HandleOf<p2p::Request> : WithoutPredefined<p2p::Request, MPI_Request, abi::kRequestNull> {};
template <>
struct HandleOf<p2p::Message> : WithoutPredefined<p2p::Message, MPI_Message, abi::kMessageNull> {};

template <class T>
using Handle = typename HandleOf<T>::Type;

template <class T>
[[nodiscard]] inline Handle<T> null_handle() noexcept {
  return reinterpret_cast<Handle<T>>(HandleOf<T>::kNull);
}

// Returns the live object behind a handle; nullptr for the null handle and for anything that is not a live object.
template <class T>
[[nodiscard]] inline T* lookup(Handle<T> handle) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value < kFirstAddress) return HandleOf<T>::predefined(value);
  return Arena<T>::instance().owns(handle) ? reinterpret_cast<T*>(handle) : nullptr;
}

// Returns the revoked communicator behind a handle, which lookup() does not find; nullptr for anything else.
[[nodiscard]] comm::Communicator* lookup_revoked(MPI_Comm handle) noexcept;
// lookup() for functions that may be called with a revoked communicator.
template <class T>
[[nodiscard]] inline T* lookup_revoked_too(Handle<T> handle) noexcept {
  T* const found = lookup<T>(handle);
  return found != nullptr ? found : lookup_revoked(handle);
}

// Returns the handle of an object; the null handle for nullptr.
template <class T>
[[nodiscard]] inline Handle<T> handle_of(const T* object) noexcept {
  return object == nullptr ? null_handle<T>() : static_cast<Handle<T>>(object->handle());
}

}  // namespace hr::bind
