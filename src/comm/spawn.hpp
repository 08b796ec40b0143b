// Dynamic processes (MPI 5.0 chapter 11): spawning, ports, and joining.
//
// All but the functions of ports are collective over `comm`; arguments significant at the root are looked at there
// alone, and an error in them is an error on all. An intercommunicator has the error handler of `comm` (section 9.3).
// Errors: MPI_ERR_SPAWN, MPI_ERR_PORT, MPI_ERR_COMM (`comm` is an intercommunicator), those of connecting. Threads:
// library lock; others are let in during a wait.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "boot/spawning.hpp"
#include "comm/communicator.hpp"

namespace hr::comm {

// `at_root`: kOk, or an error in the arguments there. *codes: an error class for each process that was to be started;
// on all processes of `comm`.
Status spawn(Communicator& comm, int root, Status at_root, const std::vector<boot::SpawnedProgram>& programs,
             std::vector<int>* codes, Ref<Communicator>* result);

// Connects a spawned process with its parents; collective over world. Without effect in others.
Status connect_parent();
// MPI_Comm_get_parent; null: none.
[[nodiscard]] Communicator* parent() noexcept;

Status open_port(std::string* name);
// Callers that have not been accepted are turned away. MPI_ERR_PORT: no open port of this process.
Status close_port(const std::string& name);
Status accept(Communicator& comm, int root, const std::string& port, Ref<Communicator>* result);
// MPI_ERR_PORT also if the port was closed before an accept, or none comes in time. `seconds`: at the root; less than
// 0: knob connect_timeout.
Status connect(Communicator& comm, int root, const std::string& port, double seconds, Ref<Communicator>* result);

// MPI_Comm_join: over a connected stream socket, which is free again afterwards.
Status join(int socket, Ref<Communicator>* result);

}  // namespace hr::comm
