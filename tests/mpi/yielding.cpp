// A rank that waits in a test loop, or in a thread, yields its core to the process that it waits for. All ranks are on
// one core here, however many the machine has: the rounds take seconds if each lasts until the scheduler preempts the
// waiting rank. The number of unsuccessful calls shows whether a rank yields.
//
//   mpi_yielding test | testany | testall | testsome | status | iprobe | improbe | threads | overlap | load | spare
//                spare stays | absent
//   mpi_yielding CASE many [later]     the library sees a machine with 64 processors; the ranks go to their
//                                      core only after MPI_Init
//   mpi_yielding CASE slow             asking the system for messages of other hosts takes some microseconds; the
//                                      library sees a machine with one processor
//   mpi_yielding late one              a message of another host is late; the library sees one processor
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/check.hpp"
#include "common/cpus.hpp"
#include "common/statistic.hpp"

namespace {

constexpr int kTurns = 50;
// A time slice lasts milliseconds, during which a rank tests tens of thousands of times.
constexpr unsigned long long kMostAsked = 2000;
constexpr unsigned long long kFewAsked = 20;
// A thread without a process to yield to spins ten times as often.
constexpr unsigned long long kMostSpun = 2000;

bool many_processors = false;
bool slow_system = false;
bool one_processor = false;
constexpr double kSlowSeconds = 4e-6;

void share_one_core() { check::use_cpus({check::cpus_of_launcher().front()}); }

class GivenWay {
 public:
  [[nodiscard]] unsigned long long times() const { return yielded_.value() + slept_.value(); }

 private:
  check::Statistic yielded_{"HEADRACE_WAITS_YIELDED"};
  check::Statistic slept_{"HEADRACE_WAITS_SLEPT"};
};

// Tests for the message with one call, and receives it; true if it has arrived.
using Ask = std::function<bool(MPI_Request* request, int from, int* value)>;

bool take(int from, int* value) {
  CHECK_OK(MPI_Recv(value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return true;
}

const std::map<std::string, Ask> kAsks{
    {"test",
     [](MPI_Request* request, int, int*) {
       int flag = 0;
       CHECK_OK(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
       return flag != 0;
     }},
    {"testany",
     [](MPI_Request* request, int, int*) {
       int flag = 0, index = -1;
       CHECK_OK(MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE));
       return flag != 0;
     }},
    {"testall",
     [](MPI_Request* request, int, int*) {
       int flag = 0;
       CHECK_OK(MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE));
       return flag != 0;
     }},
    {"testsome",
     [](MPI_Request* request, int, int*) {
       int count = 0, index = -1;
       CHECK_OK(MPI_Testsome(1, request, &count, &index, MPI_STATUSES_IGNORE));
       return count == 1;
     }},
    {"status",
     [](MPI_Request* request, int, int*) {
       int flag = 0;
       CHECK_OK(MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE));
       if (flag != 0) CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
       return flag != 0;
     }},
    {"iprobe",
     [](MPI_Request*, int from, int* value) {
       int flag = 0;
       CHECK_OK(MPI_Iprobe(from, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
       return flag != 0 && take(from, value);
     }},
    {"improbe", [](MPI_Request*, int from, int* value) {
       int flag = 0;
       MPI_Message message;
       CHECK_OK(MPI_Improbe(from, 0, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
       if (flag != 0) CHECK_OK(MPI_Mrecv(value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
       return flag != 0;
     }}};

// Sends a value around the ranks; returns how often this rank tested without success.
unsigned long long ring(const check::Environment& mpi, const std::string& how, int turns) {
  const bool probes = how == "iprobe" || how == "improbe";
  const int from = (mpi.rank + mpi.size - 1) % mpi.size;
  const int to = (mpi.rank + 1) % mpi.size;
  unsigned long long asked = 0;
  for (int turn = 0; turn < turns; ++turn) {
    int value = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (!probes) CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &request));
    if (mpi.rank == 0) CHECK_OK(MPI_Send(&turn, 1, MPI_INT, to, 0, MPI_COMM_WORLD));
    while (!kAsks.at(how)(&request, from, &value)) ++asked;
    CHECK_EQ(value, turn);
    if (mpi.rank != 0) CHECK_OK(MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD));
  }
  return asked;
}

void asking(const check::Environment& mpi, const std::string& how) {
  const GivenWay given;
  ring(mpi, how, 5);
  const unsigned long long asked = ring(mpi, how, kTurns);
  CHECK(asked < kTurns * kMostAsked);
  // With other programs on this core, a rank may be preempted before it has tested often in any turn.
  CHECK(given.times() > 0 || asked < kTurns * kFewAsked);
}

// A value is passed from a thread of rank 0 to one of rank 1, to the other of rank 0, to the other of rank 1.
void threads(const check::Environment& mpi) {
  const auto work = [&](int thread) {
    const int peer = 1 - mpi.rank;
    for (int turn = 0; turn < kTurns; ++turn) {
      int value = -1;
      const int own = 10 * mpi.rank + thread;
      const int next = mpi.rank == 0 ? 10 + thread : 1 - thread;
      const bool starts = own == 0;
      if (starts) CHECK_OK(MPI_Send(&turn, 1, MPI_INT, peer, next, MPI_COMM_WORLD));
      CHECK_OK(MPI_Recv(&value, 1, MPI_INT, peer, own, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQ(value, turn);
      if (!starts) CHECK_OK(MPI_Send(&value, 1, MPI_INT, peer, next, MPI_COMM_WORLD));
    }
  };
  const check::Statistic spun("HEADRACE_WAITS_SPUN");
  std::thread other(work, 1);
  work(0);
  other.join();
  // Two threads wait. A wait beside the load of another program polls longest, but never as long as one that has a core
  // to itself.
  CHECK(spun.value() < kTurns * 2 * kMostSpun);
}

// A rank that computes and tests occasionally is not delayed.
void overlap(const check::Environment& mpi) {
  int value = -1;
  MPI_Request request;
  CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, mpi.rank, 1, MPI_COMM_WORLD, &request));
  const GivenWay given;
  volatile double sum = 0;
  for (int i = 0; i < 3000; ++i) {
    for (int j = 0; j < 20000; ++j) sum = sum + j;
    int flag = 1;
    CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK_EQ(flag, 0);
  }
  CHECK_EQ(given.times(), 0ULL);
  CHECK_OK(MPI_Send(&mpi.rank, 1, MPI_INT, mpi.rank, 1, MPI_COMM_WORLD));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(value, mpi.rank);
}

// Waits until the process sleeps.
void await_sleep(int process) {
  constexpr double kMostSeconds = 20;
  const double end = MPI_Wtime() + kMostSeconds;
  for (char state = 'R'; state != 'S';) {
    CHECK(MPI_Wtime() < end);
    const timespec pause{0, 100'000};
    ::nanosleep(&pause, nullptr);
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    int number = 0;
    std::string name;
    file >> number >> name >> state;
  }
}

// A wait for another host yields a few times, and then sleeps, although other ranks share its core: each of its rounds
// is a system call.
void late_message(const check::Environment& mpi) {
  constexpr unsigned long long kMostYields = 20;
  const int last = mpi.size - 1;
  int waiter = static_cast<int>(::getpid());
  CHECK_OK(MPI_Bcast(&waiter, 1, MPI_INT, 0, MPI_COMM_WORLD));
  for (int turn = 0; turn < kTurns; ++turn) {
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    int value = -1;
    const check::Statistic yielded("HEADRACE_WAITS_YIELDED");
    if (mpi.rank == 0) CHECK_OK(MPI_Recv(&value, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (mpi.rank == 0) CHECK_EQ(value, turn);
    // In the first turn, events of the connection also wake the rank, and it yields again after each.
    if (mpi.rank == 0 && turn > 0) CHECK(yielded.value() < kMostYields);
    if (mpi.rank != last) continue;
    await_sleep(waiter);
    CHECK_OK(MPI_Send(&turn, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
  }
}

// Runs another program on this core as long as this object and this process exist.
class Load {
 public:
  Load() : process_(::fork()) {
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const volatile bool computes = true;
    while (computes) {
    }
  }
  ~Load() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  pid_t process_;
};

// Sends a value around the ranks. True if this rank's waits slept more often than they yielded.
bool sleeps_more_often(const check::Environment& mpi) {
  const check::Statistic yielded("HEADRACE_WAITS_YIELDED");
  const check::Statistic slept("HEADRACE_WAITS_SLEPT");
  const int to = (mpi.rank + 1) % mpi.size;
  const int from = (mpi.rank + mpi.size - 1) % mpi.size;
  for (int turn = 0; turn < 4 * kTurns; ++turn) {
    int value = -1;
    if (mpi.rank == 0) CHECK_OK(MPI_Send(&turn, 1, MPI_INT, to, 0, MPI_COMM_WORLD));
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(value, turn);
    if (mpi.rank != 0) CHECK_OK(MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD));
  }
  return slept.value() > yielded.value();
}

// Waits sleep while another program loads the core, instead of yielding to it repeatedly. If still other programs wait
// on the core, yields are short for a moment, and waits rightly yield.
void beside_load(const check::Environment& mpi) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    int slept = sleeps_more_often(mpi) ? 1 : 0;
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &slept, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (slept == 1) return;
  }
  CHECK(false && "waits yielded more often than they slept");
}

// Computes until the given MPI_Wtime().
void compute_until(double moment) {
  while (MPI_Wtime() < moment) {
  }
}

// Rank 0, on a loaded core, moves once to the CPUs named by mpiexec. With `stays`, HEADRACE_LEAVE_LOADED_CORE is off,
// and rank 0 does not move.
void leaves_loaded_core(const check::Environment& mpi, bool stays) {
  constexpr double kMostSeconds = 20;
  std::vector<int> every(CPU_SETSIZE);
  std::iota(every.begin(), every.end(), 0);
  check::use_cpus(every);
  const std::vector<int> all = check::allowed_cpus();  // the system excludes CPUs that may not be used
  const std::vector<int> first(all.begin(), all.begin() + 1);
  std::optional<Load> load;
  if (mpi.rank == 0) {
    check::use_cpus(first);
    load.emplace();
    std::string named = std::to_string(first.front()) + "/";
    for (const int cpu : all) named += (cpu == first.front() ? "" : ",") + std::to_string(cpu);
    ::setenv("PMI_HEADRACE_CPUS", named.c_str(), 1);
  } else {
    check::use_cpus({all.back()});
  }
  const check::Statistic left("HEADRACE_LOADED_CORES_LEFT");
  const double end = MPI_Wtime() + (stays ? 1 : kMostSeconds);
  for (int go_on = 1; go_on != 0;) {
    // Rank 0 waits for rank 1, which is late.
    if (mpi.rank == 1) compute_until(MPI_Wtime() + 2e-3);
    go_on = left.value() == 0 && MPI_Wtime() < end ? 1 : 0;
    CHECK_OK(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  if (mpi.rank != 0) return;
  CHECK_EQ(left.value(), stays ? 0ULL : 1ULL);
  CHECK(check::allowed_cpus() == (stays ? first : all));
}

double core_seconds() {
  timespec time{};
  CHECK_EQ(::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A rank that waits long in a collective for a computing rank leaves its core to others most of the time.
void absent(const check::Environment& mpi) {
  constexpr double kAway = 0.2;
  for (int i = 0; i < 8; ++i) CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));  // they use shared memory from now on
  const double wall = MPI_Wtime();
  const double core = core_seconds();
  if (mpi.rank == 1) compute_until(wall + kAway);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (mpi.rank == 0) CHECK(core_seconds() - core < (MPI_Wtime() - wall) / 2);
}

}  // namespace

// These functions replace the system's, also for the library.
extern "C" [[gnu::visibility("default")]] long sysconf(
    int name) {  // NOLINT(readability-inconsistent-declaration-parameter-name)
  static const auto real = reinterpret_cast<long (*)(int)>(::dlsym(RTLD_NEXT, "sysconf"));
  if (name == _SC_NPROCESSORS_ONLN && many_processors) return 64;
  return name == _SC_NPROCESSORS_ONLN && (slow_system || one_processor) ? 1 : real(name);
}
extern "C" [[gnu::visibility("default")]] int epoll_wait(int set, epoll_event* events, int most, int milliseconds) {
  using Function = int (*)(int, epoll_event*, int, int);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "epoll_wait"));
  const double end = MPI_Wtime() + kSlowSeconds;
  while (slow_system && MPI_Wtime() < end) {
  }
  return real(set, events, most, milliseconds);
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const auto has = [&](const std::string& word) { return std::find(argv, argv + argc, word) != argv + argc; };
  many_processors = has("many");
  slow_system = has("slow");
  one_processor = has("one");
  if (how == "absent" || how == "spare") {
    const check::Environment mpi(&argc, &argv, 2, MPI_THREAD_SINGLE);
    how == "absent" ? absent(mpi) : leaves_loaded_core(mpi, has("stays"));
    return 0;
  }
  if (!has("later")) share_one_core();
  std::optional<Load> load;
  if (how == "load") load.emplace();
  const check::Environment mpi(&argc, &argv, 2, how == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  if (has("later")) share_one_core();
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (how == "threads") {
    threads(mpi);
  } else if (how == "overlap") {
    overlap(mpi);
  } else if (how == "load") {
    beside_load(mpi);
  } else if (how == "late") {
    late_message(mpi);
  } else {
    asking(mpi, how);
  }
}
