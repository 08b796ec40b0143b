// The death of a process of another job, in every call that may wait for it. Rank 1 of one side dies before it has
// exchanged a message with any process of the other side, whose calls all end with an error. The other processes
// continue, unless the whole job dies.
//
//   ends child CALL     a spawned process dies        ends parent CALL    a process that has spawned dies
//   ends serve FILE CALL, ends call FILE CALL         one of two connected jobs dies as a whole
//
// CALL: the first call after the connection, which waits until the death is known.
#include <mpi-ext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "family.hpp"

namespace {

using family::rank_in;
using family::remote_size_of;

constexpr int kDead = 1;  // rank of the process that dies, in its job and in the merged communicator
constexpr int kLong = 1 << 20;

struct Connection {
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  std::vector<int> memory = std::vector<int>(8);
};

std::vector<int>& numbers() {
  static std::vector<int> all(kLong, 7);
  return all;
}

int wait(MPI_Request request) { return MPI_Wait(&request, MPI_STATUS_IGNORE); }

int receive(Connection& to, int from) {
  return MPI_Recv(numbers().data(), 1, MPI_INT, from, 0, to.inter, MPI_STATUS_IGNORE);
}

int receive_later(Connection& to) {
  MPI_Request request;
  CHECK_OK(MPI_Irecv(numbers().data(), kLong, MPI_INT, kDead, 0, to.inter, &request));
  return wait(request);
}

// Returns the error of the first test that does not succeed.
int test(Connection& to) {
  MPI_Request request;
  CHECK_OK(MPI_Irecv(numbers().data(), 1, MPI_INT, kDead, 0, to.inter, &request));
  int done = 0, code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && done == 0) code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return code;
}

int look(Connection& to) {
  int found = 0, code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && found == 0) code = MPI_Iprobe(kDead, 0, to.inter, &found, MPI_STATUS_IGNORE);
  return code;
}

int send_long(Connection& to) { return MPI_Send(numbers().data(), kLong, MPI_INT, kDead, 0, to.inter); }

int broadcast(Connection& to, MPI_Comm comm, int root) {
  MPI_Request request;
  const int code = MPI_Ibcast(to.memory.data(), 1, MPI_INT, root, comm, &request);
  return code == MPI_SUCCESS ? wait(request) : code;
}

int sum(MPI_Comm comm) {
  int own = 1, all = 0;
  return MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, comm);
}

int lock(Connection& to) {
  int value = -1;
  int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kDead, 0, to.window);
  if (code == MPI_SUCCESS) code = MPI_Get(&value, 1, MPI_INT, kDead, 0, 1, MPI_INT, to.window);
  return code == MPI_SUCCESS ? MPI_Win_unlock(kDead, to.window) : code;
}

int duplicate(MPI_Comm comm) {
  MPI_Comm made;
  return MPI_Comm_dup(comm, &made);
}

using Calls = std::map<std::string, std::function<int(Connection&)>>;

// Returns the calls that must end with an error, by name.
const Calls& calls() {
  static const Calls all{
      {"receive", [](Connection& to) { return receive(to, kDead); }},
      {"any", [](Connection& to) { return receive(to, MPI_ANY_SOURCE); }},
      {"later", receive_later},
      {"test", test},
      {"probe", [](Connection& to) { return MPI_Probe(kDead, 0, to.inter, MPI_STATUS_IGNORE); }},
      {"look", look},
      {"synchronous", [](Connection& to) { return MPI_Ssend(&kDead, 1, MPI_INT, kDead, 0, to.inter); }},
      {"long", send_long},
      {"barrier", [](Connection& to) { return MPI_Barrier(to.inter); }},
      {"broadcast", [](Connection& to) { return broadcast(to, to.inter, kDead); }},
      {"sum", [](Connection& to) { return sum(to.inter); }},
      {"duplicate", [](Connection& to) { return duplicate(to.inter); }},
      {"merged", [](Connection& to) { return sum(to.merged); }},
      {"merged_broadcast", [](Connection& to) { return broadcast(to, to.merged, kDead); }},
      {"fence", [](Connection& to) { return MPI_Win_fence(0, to.window); }},
      {"lock", lock},
  };
  return all;
}

bool uses_window(const std::string& call) { return call == "fence" || call == "lock"; }
bool uses_merged(const std::string& call) { return call.starts_with("merged") || uses_window(call); }

void open(Connection& to, MPI_Comm inter, bool dying_side, const std::string& first) {
  to.inter = inter;
  CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  // Merging sends messages, after which the processes know one another.
  if (!uses_merged(first)) return;
  CHECK_OK(MPI_Intercomm_merge(inter, dying_side ? 0 : 1, &to.merged));
  CHECK_OK(MPI_Comm_set_errhandler(to.merged, MPI_ERRORS_RETURN));
  if (!uses_window(first)) return;
  const auto bytes = static_cast<MPI_Aint>(to.memory.size() * sizeof(int));
  CHECK_OK(MPI_Win_create(to.memory.data(), bytes, sizeof(int), MPI_INFO_NULL, to.merged, &to.window));
  CHECK_OK(MPI_Win_set_errhandler(to.window, MPI_ERRORS_RETURN));
}

// The window can no longer be freed: it remains until the end of the program, and so does its communicator.
void close(Connection& to, const std::string& first) {
  if (to.merged != MPI_COMM_NULL && !uses_window(first)) CHECK_OK(MPI_Comm_disconnect(&to.merged));
  CHECK_OK(MPI_Comm_disconnect(&to.inter));
}

void expect_failure(const std::string& call, int code) {
  int error = -1;
  CHECK_OK(MPI_Error_class(code, &error));
  // Memory that both processes map can still be read.
  if (call == "lock" && error == MPI_SUCCESS) return;
  if (error != MPIX_ERR_PROC_FAILED)
    check::fail(__FILE__, __LINE__, call + " returned " + (code == MPI_SUCCESS ? "success" : check::error_text(code)));
}

// The surviving side: the first call ends, and then all others. After that, it waits only for processes that live.
void live(Connection& to, const std::string& first) {
  if (rank_in(MPI_COMM_WORLD) == 0) CHECK_OK(MPI_Send(&kDead, 1, MPI_INT, 0, 1, to.inter));
  const bool leaves = calls().find(first) == calls().end();
  if (!leaves) expect_failure(first, calls().at(first)(to));
  for (const auto& [name, call] : calls()) {
    const bool can = (!uses_merged(name) || to.merged != MPI_COMM_NULL) && (!uses_window(name) || uses_window(first));
    if (!leaves && name != first && can) expect_failure(name, call(to));
  }
  if (first != "finalize") close(to, first);
}

// The side of the process that dies: the other side tells rank 0 that this process may die, and rank 0 passes that on.
void die(Connection& to, const std::string& first) {
  int word = 0;
  if (rank_in(MPI_COMM_WORLD) == kDead) {
    CHECK_OK(MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    ::raise(SIGKILL);
  }
  if (rank_in(MPI_COMM_WORLD) == 0) {
    CHECK_OK(MPI_Recv(&word, 1, MPI_INT, 0, 1, to.inter, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Send(&word, 1, MPI_INT, kDead, 1, MPI_COMM_WORLD));
  }
  if (first != "finalize") close(to, first);
  MPI_Finalize();
  ::_exit(0);  // skips the barrier of ~Environment
}

MPI_Comm spawn(const std::string& part, const std::string& first) {
  std::string words[] = {part + " of", first};
  char* arguments[] = {words[0].data(), words[1].data(), nullptr};
  const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_spawn(path.c_str(), arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
  return inter;
}

MPI_Comm serve(const std::string& file) {
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank_in(MPI_COMM_WORLD) == 0) {
    CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
    std::ofstream(file + ".new") << port << '\n';
    std::filesystem::rename(file + ".new", file);
  }
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  return inter;
}

MPI_Comm call(const std::string& file) {
  std::string port;
  while (rank_in(MPI_COMM_WORLD) == 0 && !std::getline(std::ifstream(file), port)) {
  }
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  return inter;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string& part = words.at(0);
  const std::string& first = words.back();
  check::Environment environment(&argc, &argv);
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_get_parent(&inter));
  if (part == "child" || part == "parent") inter = spawn(part, first);
  if (part == "serve") inter = serve(words.at(1));
  if (part == "call") inter = call(words.at(1));
  Connection to;
  const bool dies = part == "parent" || part == "child of" || part == "call";
  open(to, inter, dies, first);
  dies ? die(to, first) : live(to, first);
  if (!dies && rank_in(MPI_COMM_WORLD) == 0) std::printf("all calls ended\n");
  return 0;
}
