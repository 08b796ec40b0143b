// Short calls execute few instructions: a second process single-steps rank 0 and counts them. The minimum over several
// calls is compared, because the other rank may be late. Argument "channel": calls under MPI_THREAD_MULTIPLE on a
// communicator with a channel; "channel driver": beside a GPU driver.
#include <mpi.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>

#include "common/check.hpp"

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <sys/user.h>

namespace {

constexpr int kCalls = 20;
constexpr long kNone = -1;

// Counts the instructions between two traps of the traced process; kNone if it has ended or cannot be traced.
long count_between_traps(pid_t process) {
  long steps = kNone;
  int signal = 0;
  for (int status = 0;;) {
    if (::ptrace(steps < 0 ? PTRACE_CONT : PTRACE_SINGLESTEP, process, nullptr, signal) != 0) return kNone;
    if (::waitpid(process, &status, __WALL) != process || !WIFSTOPPED(status)) return kNone;
    signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    siginfo_t about{};
    ::ptrace(PTRACE_GETSIGINFO, process, nullptr, &about);
    const bool trap = signal == 0 && about.si_code == SI_KERNEL;
    if (trap && steps >= 0) return steps;
    steps = trap ? 0 : steps < 0 ? steps : steps + 1;
  }
}

// Writes the minimum count over kCalls calls to `answers`.
[[noreturn]] void trace(pid_t process, int orders, int answers) {
  char order = 0;
  long least = kNone;
  if (::read(orders, &order, 1) != 1) ::_exit(0);
  int status = 0;
  const bool attached = ::ptrace(PTRACE_ATTACH, process, nullptr, nullptr) == 0;
  if (attached) ::waitpid(process, &status, __WALL);
  for (int call = 0; attached && call < kCalls; ++call) {
    const long count = count_between_traps(process);
    least = least == kNone ? count : std::min(least, count);
  }
  if (attached) ::ptrace(PTRACE_DETACH, process, nullptr, nullptr);
  if (::write(answers, &least, sizeof least) != sizeof least) ::_exit(1);
  ::_exit(0);
}

// Returns the minimum number of instructions of a call on rank 0; the other ranks only make the calls.
template <class Call>
long least_of(Call&& call) {
  const bool traced = check::world_rank() == 0;
  if (!traced) {
    for (int i = 0; i < kCalls; ++i) call();
    return kNone;
  }
  int orders[2], answers[2];
  if (::pipe(orders) != 0 || ::pipe(answers) != 0) return kNone;
  const pid_t self = ::getpid();
  const pid_t tracer = ::fork();
  if (tracer == 0) trace(self, orders[0], answers[1]);
  ::prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
  struct sigaction nothing{};  // without a tracer, a trap does nothing
  nothing.sa_handler = [](int) {};
  ::sigaction(SIGTRAP, &nothing, nullptr);
  const char order = 1;
  if (::write(orders[1], &order, 1) != 1) return kNone;
  // Waits until the tracer has attached, or has ended.
  for (bool ready = false; !ready && ::waitpid(tracer, nullptr, WNOHANG) == 0;) {
    char line[128];
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
      int number = 0;
      if (std::sscanf(line, "TracerPid: %d", &number) == 1) ready = number == tracer;
    }
    if (file != nullptr) std::fclose(file);
  }
  for (int i = 0; i < kCalls; ++i) {
    asm volatile("int3" ::: "memory");
    call();
    asm volatile("int3" ::: "memory");
  }
  long least = kNone;
  if (::read(answers[0], &least, sizeof least) != sizeof least) least = kNone;
  for (const int each : {orders[0], orders[1], answers[0], answers[1]}) ::close(each);
  ::waitpid(tracer, nullptr, 0);
  return least;
}

void at_most(const char* what, long found, long limit) {
  if (check::world_rank() != 0) return;
  if (found == kNone) {
    std::printf("%s: this system lets no process trace another\n", what);
    return;
  }
  std::printf("%s: %ld instructions, at most %ld\n", what, found, limit);
  CHECK(found <= limit);
}

// Instructions that prefetch the line of a later message, on processors where that pays (base/cache_hints.hpp).
long prefetching() { return __builtin_cpu_is("intel") != 0 ? 6 : 0; }

constexpr int kWindow = 16;

// Counts calls on a channel. The other rank sends the next window only after a message that reports the arrival of the
// previous one. `more`: instructions for each message that are allowed beyond those without a driver.
void on_channel(MPI_Comm comm, long* values, long more) {
  const int rank = check::world_rank();
  MPI_Request requests[kWindow];
  for (MPI_Request& each : requests) each = MPI_REQUEST_NULL;
  const auto window = [&](int sender) {
    for (int i = 0; i < kWindow; ++i) {
      if (rank == sender) MPI_Isend(&values[i], 8, MPI_BYTE, 1 - rank, 1, comm, &requests[i]);
      if (rank != sender) MPI_Irecv(&values[i], 8, MPI_BYTE, 1 - rank, 1, comm, &requests[i]);
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    if (rank != sender) MPI_Send(nullptr, 0, MPI_BYTE, 1 - rank, 2, comm);
    if (rank == sender && rank != 0) MPI_Recv(nullptr, 0, MPI_BYTE, 0, 2, comm, MPI_STATUS_IGNORE);
  };
  const auto drain = [&] {
    for (int i = 0; i < kCalls && rank == 0; ++i) MPI_Recv(nullptr, 0, MPI_BYTE, 1, 2, comm, MPI_STATUS_IGNORE);
  };
  for (int i = 0; i < kCalls; ++i) window(0), window(1);
  drain();
  at_most("MPI_Send of 8 B on a channel", least_of([&] {
            if (rank == 0) MPI_Send(values, 8, MPI_BYTE, 1, 1, comm);
            if (rank == 1) MPI_Recv(values, 8, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
          }),
          390 + more);
  // Each time the other rank is late, MPI_Waitall looks for messages, which takes some hundred instructions.
  at_most("16 MPI_Isend and MPI_Waitall on a channel", least_of([&] { window(0); }), kWindow * (480 + more));
  drain();
  at_most("16 MPI_Irecv, MPI_Waitall and MPI_Send on a channel", least_of([&] { window(1); }), kWindow * (640 + more));
}

// Argument "driver": there is a GPU driver, and the data is on the stack, and then in the heap.
int on_channel(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  long on_stack[kWindow] = {};
  const bool driver = argc > 2;
  const long more = prefetching() + (driver ? 45 : 0);
  on_channel(comm, on_stack, more);
  if (driver) {
    const auto in_heap = std::make_unique<long[]>(kWindow);
    on_channel(comm, in_heap.get(), more);
  }
  MPI_Comm_free(&comm);
  return MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return on_channel(argc, argv);
  MPI_Init(&argc, &argv);
  const int rank = check::world_rank();
  long sent = 1, received = 0;
  // After many calls, shared memory and plans exist.
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&sent, &received, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 100; ++i) {
    if (rank == 0) MPI_Send(&sent, sizeof sent, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&received, sizeof received, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  // The receiver must not sleep, or each send would have to wake it (HEADRACE_SPIN_ROUNDS in CMakeLists.txt).
  at_most("MPI_Send of 8 B", least_of([&] {
            if (rank == 0) MPI_Send(&sent, sizeof sent, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            if (rank == 1) MPI_Recv(&received, sizeof received, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          }),
          265 + prefetching());
  at_most("MPI_Allreduce of 8 B",
          least_of([&] { MPI_Allreduce(&sent, &received, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); }), 1000);
  CHECK_EQ(received, 2);
  MPI_Finalize();
}

#else

int main() { std::puts("counts instructions of optimised code for x86-64 only"); }

#endif
