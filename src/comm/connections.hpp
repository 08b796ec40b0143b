// Connections: the processes of other jobs that this one is connected with (MPI 5.0 section 11.10.4).
//
// A process is connected as long as a communicator holds it. A communicator that is disconnected releases its
// processes; one that is freed does not, so that those stay connected to the end. A process parts from those that it is
// no longer connected with. MPI_Finalize is collective over connected processes: each tells each that it is there, and
// waits for the same, so that no process leaves while another still has something to send to it. Owner: comm's State.
// Threads: library lock.
#pragma once

#include <map>

namespace hr::comm {

class Communicator;

struct Connections {
  std::map<int, int> uses;  // by process of another job: communicators
};

// Called at its construction and at its destruction.
void hold_connections(Communicator& comm);
void release_connections(Communicator& comm) noexcept;

// Waits until all processes of other jobs in the communicator have come here, or have failed. Without processes of
// other jobs it does nothing.
void leave_together(Communicator& comm);
// Does the same with all that are still connected.
void say_goodbye();

}  // namespace hr::comm
