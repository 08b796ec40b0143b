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

// True if the handle belongs to a live object created by the program; false for the ABI's constants.
bool is_live(const void* handle, ObjectKind kind) noexcept;

// Returns the communicator's name ("MPI_COMM_WORLD", or the name given by the program), else the place where it was
// created; "the communicator" if neither is known.
std::string name_of(const comm::Communicator& comm);

}  // namespace hr::check
