#include "bind/runtime.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/counters.hpp"
#include "base/counters_page.hpp"
#include "base/flush_output.hpp"
#include "base/knobs.hpp"
#include "base/lock.hpp"
#include "base/log.hpp"
#include "bind/checked_calls.hpp"
#include "bind/crash.hpp"
#include "bind/device_check.hpp"
#include "bind/function_names.hpp"
#include "bind/handles.hpp"
#include "bind/raise.hpp"
#include "bind/stack_answer.hpp"
#include "bind/version.hpp"
#include "boot/boot.hpp"
#include "check/check.hpp"
#include "check/threads.hpp"
#include "coll/coll.hpp"
#include "coll/counting.hpp"
#include "coll/select/tuning.hpp"
#include "comm/communicator.hpp"
#include "comm/failure.hpp"
#include "comm/spawn.hpp"
#include "enqueue/enqueue.hpp"
#include "io/io.hpp"
#include "layout/op.hpp"
#include "mem/mem.hpp"
#include "mpi.h"
#include "p2p/buffered.hpp"
#include "p2p/channel.hpp"
#include "p2p/counting.hpp"
#include "p2p/p2p.hpp"
#include "p2p/progress_thread.hpp"
#include "rma/rma.hpp"

namespace hr::bind {
namespace {

enum class World { kBefore, kInside, kAfter };

// Uses of MPI by the process. Process-wide, as MPI_Initialized may be called at any time.
struct State {
  int uses = 0;  // the world model and every session
  bool layers_up = false;
  bool resumed = false;  // initialised again after MPI_Finalize
  bool checked = false;  // calls are checked (checked_calls.hpp)
  World world = World::kBefore;
  int level = MPI_THREAD_SINGLE;
  pthread_t main_thread{};
};
State state;

void fill_tables() {
  for (std::uintptr_t i = 0; i < std::size(predefined_communicators); ++i) {
    predefined_communicators[i] = comm::predefined_communicator(kFirstCommunicator + i);
  }
  for (std::uintptr_t i = 0; i < std::size(predefined_datatypes); ++i) {
    predefined_datatypes[i] = layout::predefined_type(kFirstDatatype + i);
  }
}

// Removes a revoked communicator from the table, so that calls that communicate no longer find its handle.
void drop_from_table(comm::Communicator& revoked) {
  for (auto& entry : predefined_communicators) {
    if (entry == &revoked) entry = nullptr;
  }
}

void clear_tables() {
  for (auto& entry : predefined_communicators) entry = nullptr;
  for (auto& entry : predefined_datatypes) entry = nullptr;
}

// Publishes the counters; a failure does not end the job.
void publish_counters() {
  const boot::Identity& identity = boot::identity();
  counters::About about;
  about.job = identity.job_id;
  about.rank = identity.rank;
  about.size = identity.size;
  about.host_number = boot::processes().host_of(identity.rank);
  about.library = kLibraryVersion;
  about.functions = kFunctionNames;
  about.places = kChannelFunctions;
  about.protocols = p2p::names_of_protocols();
  const auto algorithms = coll::algorithm_names();
  about.algorithms.assign(algorithms.begin(), algorithms.end());
  for (int i = 0; i < coll::kOperations; ++i)
    about.operations.emplace_back(coll::name(static_cast<coll::Operation>(i)));
  int file = -1;
  if (counters::publish(about, &file).ok()) return boot::keep_file(file);
  log::write(log::Level::kDecision, "%s", take_detail().c_str());
}

// Brings up the layers that need all processes of the job. They stay up until MPI_Finalize or the process ends: each
// process begins and ends sessions independently, so a second exchange with the others would wait for processes that
// begin no second session.
Status bring_up() {
  stack_answer::listen();
  mem::init();
  state.resumed = state.world == World::kAfter;
  HR_TRY(state.resumed ? boot::resume() : boot::init({&coll::tuning::kSetting, 1}));
  if (knobs().counters) publish_counters();
  const bool devices = device_check::begin();
  state.checked = check::begin() || devices;
  HR_TRY(p2p::init());
  check::start();
  if (knobs().progress_thread != ProgressThreadChoice::kOff) {
    runtime::enable_threads();
    HR_TRY(p2p::progress_thread::start());
  }
  crash::watch();
  state.layers_up = true;
  return kOk;
}

// Takes down every layer, even if one fails; returns the first failure.
Status take_down() {
  state.layers_up = false;
  check::end();
  counters::note_finalized();
  const Status messages = p2p::finalize();
  mem::shutdown();
  const Status launcher = boot::finalize();
  crash::unwatch();
  return messages.ok() ? launcher : messages;
}

// Takes down the layers of a program whose last session has ended; a failure can no longer be reported.
void tear_down_at_exit() {
  if (state.layers_up && state.uses == 0) static_cast<void>(take_down());
}

Status add_use() {
  if (!state.layers_up) {
    HR_TRY(bring_up());
    static const int registered = std::atexit(tear_down_at_exit);
    static_cast<void>(registered);
  }
  if (state.uses == 0) {
    coll::init();
    HR_TRY(comm::init());
    rma::init();
    io::init();
    enqueue::init();
    fill_tables();
    comm::on_revoked(drop_from_table);
    ready = state.checked ? kNotReady : kReady;
    checking = state.checked;
  }
  ++state.uses;
  return kOk;
}

void drop_use() {
  if (--state.uses > 0) return;
  ready = kNotReady;
  checking = false;
  clear_tables();
  enqueue::finalize();
  io::finalize();
  rma::finalize();
  comm::finalize();
  coll::finalize();
}

}  // namespace

namespace runtime {

Status acquire() { return add_use(); }

Status release() {
  drop_use();
  // After MPI_Finalize, takes the layers down without waiting for the exit handler: the launcher expects the process to
  // end. A process whose layers were brought up again after MPI_Finalize keeps them for the next session.
  if (state.uses == 0 && state.world == World::kAfter && state.layers_up && !state.resumed) return take_down();
  return kOk;
}

Status init_world(int required, int* provided) {
  if (state.world != World::kBefore) return fail(Errc::kOther, "MPI was initialised before in this process");
  HR_TRY(add_use());
  state.world = World::kInside;
  state.level = required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE : required;
  state.main_thread = ::pthread_self();
  if (state.level != MPI_THREAD_SINGLE) DriverEpoch::set_multithreaded();
  if (state.level == MPI_THREAD_MULTIPLE) enable_threads();
  // Offers no channels if sessions exist, whose communicators already have their channel, or if calls are checked: the
  // checker must examine every call.
  if (state.level == MPI_THREAD_MULTIPLE && state.uses == 1 && !state.checked && p2p::channels::offer())
    ready = kReadyWithChannels;
  check::allow_threads(state.level);
  *provided = state.level;
  return comm::connect_parent();
}

Status finalize_world() {
  if (state.world == World::kAfter) return fail(Errc::kOther, "MPI_Finalize was called before");
  if (state.world == World::kBefore) return fail(Errc::kOther, "MPI_Init was not called; sessions end one by one");
  Ref<comm::Communicator> failed;
  const Status streams = enqueue::finish_all(&failed);
  std::string why;
  if (!streams.ok()) {
    why = take_detail();
    set_detail(why);
    // The handler gets the communicator, and may use MPI, as long as there is one.
    raise(Call{"MPI_Finalize"}, failed.get(), streams);
    failed = {};
  }
  Status ended = comm::delete_predefined_attributes();
  if (ended.ok()) {
    check::at_finalize();
    ended = p2p::process_buffer().flush();
  }
  if (!ended.ok()) return ended;
  state.world = World::kAfter;
  drop_use();
  const Status down = state.uses == 0 ? take_down() : kOk;
  if (streams.ok()) return down;
  if (!down.ok()) log::write(log::Level::kError, "%s; no call returns this error", take_detail().c_str());
  set_detail(std::move(why));
  blame_handler(*comm::predefined_errhandler(abi::kErrorsReturn));
  return streams;
}

bool in_use() noexcept { return state.uses > 0; }
bool world_initialized() noexcept { return state.world != World::kBefore; }
bool world_finalized() noexcept { return state.world == World::kAfter; }
int thread_level() noexcept { return state.level; }
bool is_main_thread() noexcept { return ::pthread_equal(state.main_thread, ::pthread_self()) != 0; }

void enable_threads() noexcept {
  if (LibraryLock::enabled()) return;
  DriverEpoch::set_multithreaded();
  LibraryLock::enable();
  // The guard of the current call has not taken the lock, because it was disabled, but will release it.
  LibraryLock::acquire();
}

}  // namespace runtime

void not_ready(const char* function) {
  flush_output();
  log::write(log::Level::kError, "%s was called %s", function,
             runtime::world_finalized() ? "after MPI_Finalize" : "before MPI_Init (or MPI_Session_init)");
  ::_exit(1);
}

}  // namespace hr::bind
