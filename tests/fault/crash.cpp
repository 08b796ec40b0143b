// A program in which one rank crashes in the given way while the others wait for it. Usage: crash WAY RANK
#include <mpi.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

volatile int zero = 0;
int* volatile nowhere = nullptr;

// Each crash has its own function, whose name must appear in the stack.
[[gnu::noinline]] int read_nowhere() { return *nowhere + 1; }

[[gnu::noinline]] int divide_by_zero() { return 100 / zero; }

[[gnu::noinline]] int read_past_the_file() {
  const int file = ::memfd_create("empty", 0);
  const volatile char* page = static_cast<char*>(::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0));
  return page[0];
}

[[gnu::noinline]] int fall_without_end(int depth) {
  volatile char room[4096];
  room[depth % 4096] = 1;
  return zero == 0 ? fall_without_end(depth + 1) + room[0] : 0;
}

[[gnu::noinline]] int give_up() { std::abort(); }
[[gnu::noinline]] int illegal() { __builtin_trap(); }
[[gnu::noinline]] int sent() { return ::raise(SIGSEGV); }

// Inside the library: the buffer cannot be read.
[[gnu::noinline]] int send_nowhere() {
  void* const buffer = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return MPI_Send(buffer, 64, MPI_BYTE, 0, 0, MPI_COMM_SELF);
}

[[gnu::noinline]] int in_a_thread() {
  std::thread(read_nowhere).join();
  return 0;
}

// A crash of the child does not affect the rank, which continues.
[[gnu::noinline]] int in_a_child() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(read_nowhere());
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) return 0;
  std::exit(6);
}

void handle(int) {
  static constexpr std::string_view kText = "the program's own handler\n";
  if (::write(STDERR_FILENO, kText.data(), kText.size()) > 0) ::_exit(9);
}

int crash(std::string_view way) {
  if (way == "read") return read_nowhere();
  if (way == "divide") return divide_by_zero();
  if (way == "bus") return read_past_the_file();
  if (way == "deep") return fall_without_end(0);
  if (way == "abort") return give_up();
  if (way == "illegal") return illegal();
  if (way == "sent") return sent();
  if (way == "thread") return in_a_thread();
  if (way == "child") return in_a_child();
  if (way == "send") return send_nowhere();
  return read_nowhere();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argv[1];
  if (way == "before") std::signal(SIGSEGV, handle);
  MPI_Init(&argc, &argv);
  if (way == "after") std::signal(SIGSEGV, handle);
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (way == "removed") {  // MPI_Finalize leaves the signal handlers unchanged
    MPI_Finalize();
    struct sigaction now{};
    ::sigaction(SIGSEGV, nullptr, &now);
    return now.sa_handler == SIG_DFL ? 0 : 5;
  }
  // "all": every rank crashes at once, when all have started, or when another has crashed before the barrier was over.
  if (way == "all") {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == std::atoi(argv[2]) || way == "all") zero = crash(way);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
