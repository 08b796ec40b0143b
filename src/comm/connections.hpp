// Connections: with which processes of other jobs this one is connected (MPI 5.0 section 11.10.4).
//
// A process is connected as long as a communicator holds it. A communicator that is disconnected lets go of its
// processes; one that is freed does not, so that those stay connected to the end. Who is connected with nobody of a
// meeting any more gives up its paths. MPI_Finalize is collective over connected processes: each tells each that it is
// there, and waits for the same, so that nobody leaves whom others still have something to say to.
// Owner: comm's State. Threads: library lock.
#pragma once

#include <map>

namespace hr::comm {

class Communicator;

struct Connections {
  std::map<int, int> uses;  // by process of another job: communicators
};

// From its construction to its destruction.
void hold_connections(Communicator& comm);
void release_connections(Communicator& comm) noexcept;

// All processes of other jobs in the communicator have come here, or are lost. Without processes of other jobs it does
// nothing.
void leave_together(Communicator& comm);
// To all that are still connected.
void say_goodbye();

}  // namespace hr::comm
