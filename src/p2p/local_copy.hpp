// Local copy: a message of this process to itself. On the host it is done at the meeting of both; between views on
// devices it is started there, and a progress hook ends both requests.
//
// Owner: the table in local_copy.cpp, until everything in it is complete. Threads: library lock.
#pragma once

namespace hr::p2p::local_copy {

// Nothing is under way any more.
void finalize();

}  // namespace hr::p2p::local_copy
