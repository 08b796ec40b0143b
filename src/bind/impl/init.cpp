// Start and end of the world model (MPI 5.0 section 11.2).
#include "base/lock.hpp"
#include "base/log.hpp"
#include "bind/impl.hpp"
#include "bind/runtime.hpp"
#include "boot/boot.hpp"
#include "comm/communicator.hpp"

namespace hr::bind::impl {

Status init(int* /*argc*/, char*** /*argv*/) {
  int provided = 0;
  return runtime::init_world(MPI_THREAD_SINGLE, &provided);
}

Status init_thread(int* /*argc*/, char*** /*argv*/, int required, int& provided) {
  return runtime::init_world(required, &provided);
}

Status finalize() { return runtime::finalize_world(); }

Status initialized(int& flag) {
  flag = runtime::world_initialized() ? 1 : 0;
  return kOk;
}

Status finalized(int& flag) {
  flag = runtime::world_finalized() ? 1 : 0;
  return kOk;
}

Status query_thread(int& provided) {
  provided = runtime::thread_level();
  return kOk;
}

Status is_thread_main(int& flag) {
  flag = runtime::is_main_thread() ? 1 : 0;
  return kOk;
}

// Ends the whole job, whatever the communicator, as section 11.4.2 permits.
Status abort(comm::Communicator& comm, int errorcode) {
  const char* name = comm.name_.empty() ? "a communicator without a name" : comm.name_.c_str();
  std::string text = "MPI_Abort: the program called it with code " + std::to_string(errorcode) + " on " + name;
  boot::abort(errorcode, text);
}

}  // namespace hr::bind::impl
