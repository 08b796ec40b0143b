// Processes that come and go (MPI 5.0 chapter 11): spawning, ports, and joining.
//
// All but the functions of ports are collective over `comm`; what is significant at the root is looked at there alone,
// and what is wrong there is an error on all. An intercommunicator has the error handler of `comm` (section 9.3).
// Errors: MPI_ERR_SPAWN, MPI_ERR_PORT, MPI_ERR_COMM (`comm` is an intercommunicator), those of connecting. Threads:
// library lock; others are let in while something is awaited.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "boot/spawning.hpp"
#include "comm/communicator.hpp"

namespace hr::comm {

// `at_root`: kOk, or what was wrong with the arguments there. *codes: for each process that was to be started, an error
// class; on all processes of `comm`.
Status spawn(Communicator& comm, int root, Status at_root, const std::vector<boot::SpawnedProgram>& programs,
             std::vector<int>* codes, Ref<Communicator>* result);

// In a process that was spawned, collective over world: connects with who spawned it. Without effect in others.
Status meet_parent();
// MPI_Comm_get_parent; null: none.
[[nodiscard]] Communicator* parent() noexcept;

Status open_port(std::string* name);
// Callers that nobody has accepted are turned away. MPI_ERR_PORT: no open port of this process.
Status close_port(const std::string& name);
Status accept(Communicator& comm, int root, const std::string& port, Ref<Communicator>* result);
// MPI_ERR_PORT also where the port was closed before anybody accepted, or nobody does in time. `seconds`: at the root;
// less than 0: knob connect_timeout.
Status connect(Communicator& comm, int root, const std::string& port, double seconds, Ref<Communicator>* result);

// MPI_Comm_join: over a connected stream socket, which is free again afterwards.
Status join(int socket, Ref<Communicator>* result);

}  // namespace hr::comm
