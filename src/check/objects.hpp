// Objects: names of handles in messages, and the objects behind handles. Internal to check/. Threads: library lock.
#pragma once

#include <string>

#include "base/object.hpp"
#include "comm/communicator.hpp"

namespace hr::check {

struct HandleType {
  ObjectKind kind;
  const char* name;     // "MPI_Comm"
  const char* release;  // advice on how to release it: "free with MPI_Comm_free"
};
const HandleType& handle_type(ObjectKind kind) noexcept;

// True if the handle is that of a live object created by the program; false for the ABI's constants.
bool is_live(const void* handle, ObjectKind kind) noexcept;

// Returns "MPI_COMM_WORLD", the name that the program gave it, or where it was created; "the communicator" if nothing
// is known.
std::string name_of(const comm::Communicator& comm);

}  // namespace hr::check
