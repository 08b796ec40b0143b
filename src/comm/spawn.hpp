// Dynamic processes (MPI 5.0 chapter 11): spawning, ports, and joining.
//
// All functions except those that open and close ports are collective over `comm`. Arguments that are significant at
// the root are checked only there; an error in them is returned on all processes. A new intercommunicator has the error
// handler of `comm` (section 9.3). Errors: MPI_ERR_SPAWN, MPI_ERR_PORT, MPI_ERR_COMM (`comm` is an intercommunicator),
// those of connect_groups(). Threads: library lock, released during waits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "boot/spawning.hpp"
#include "comm/communicator.hpp"

namespace hr::comm {

// `at_root`: kOk, or an error in the root's arguments. *codes: receives an error class for each process to be started,
// on all processes of `comm`.
Status spawn(Communicator& comm, int root, Status at_root, const std::vector<boot::SpawnedProgram>& programs,
             std::vector<int>* codes, Ref<Communicator>* result);

// Connects a spawned process to its parents; collective over the world communicator. Does nothing in a process that was
// not spawned.
Status connect_parent();
// MPI_Comm_get_parent; null if there is none.
[[nodiscard]] Communicator* parent() noexcept;

Status open_port(std::string* name);
// Closes a port, and rejects callers that have not been accepted. Errors: MPI_ERR_PORT if this process has no such open
// port.
Status close_port(const std::string& name);
Status accept(Communicator& comm, int root, const std::string& port, Ref<Communicator>* result);
// MPI_Comm_connect. `seconds`: time limit at the root; negative: knob connect_timeout. Errors: MPI_ERR_PORT if `port`
// is not the name of an open port, or if the other side closes the port or does not accept within the time limit.
Status connect(Communicator& comm, int root, const std::string& port, double seconds, Ref<Communicator>* result);

// MPI_Comm_join: connects through a connected stream socket, which the program may use again afterwards.
Status join(int socket, Ref<Communicator>* result);

}  // namespace hr::comm
