// Connections: the processes of other jobs to which this process is connected (MPI 5.0 section 11.10.4).
//
// A process stays connected until no communicator holds it. Disconnecting a communicator releases its processes;
// freeing it does not, so they stay connected until MPI_Finalize. The transport closes its connections to released
// processes. MPI_Finalize is collective over connected processes: each exchanges a message with every other, so that no
// process leaves while another may still send to it. Owner: comm's State. Threads: library lock.
#pragma once

namespace hr::comm {

class Communicator;

// hold_connections() is called when assemble() creates the communicator, release_connections() when it is destroyed.
void hold_connections(Communicator& comm);
void release_connections(Communicator& comm) noexcept;

// Waits until all processes of other jobs in the communicator have called this function, or have failed. Does nothing
// if there are no such processes.
void leave_together(Communicator& comm);
// Likewise waits for all processes that are still connected, and then disconnects from them.
void say_goodbye();

}  // namespace hr::comm
