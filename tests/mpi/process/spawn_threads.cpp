// Threads that spawn, and publish names, at the same time (MPI 5.0 sections 11.6 and 11.9.4). Some of the spawned jobs
// fail: their processes exit before MPI_Init, or use only the sessions model.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "family.hpp"

namespace {

constexpr int kRounds = 4;

int spawn(MPI_Comm comm, std::string part, int children, MPI_Comm* inter) {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe");
  char* arguments[] = {part.data(), nullptr};
  return MPI_Comm_spawn(path.c_str(), arguments, children, MPI_INFO_NULL, 0, comm, inter, MPI_ERRCODES_IGNORE);
}

void spawn_good(MPI_Comm comm, int children) {
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm inter = MPI_COMM_NULL;
    CHECK_OK(spawn(comm, "child", children, &inter));
    CHECK_EQ(family::remote_size_of(inter), children);
    family::use(inter, true);
    CHECK_OK(MPI_Comm_disconnect(&inter));
  }
}

void spawn_failing(MPI_Comm comm, const std::string& part) {
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm inter = MPI_COMM_NULL;
    CHECK_CLASS(spawn(comm, part, 2, &inter), MPI_ERR_SPAWN);
    CHECK(inter == MPI_COMM_NULL);
  }
}

void publish(int rank, const std::atomic<int>& spawning) {
  for (int round = 0; spawning != 0; ++round) {
    const std::string name = "of rank " + std::to_string(rank), port = "port " + std::to_string(round);
    char found[MPI_MAX_PORT_NAME] = "";
    CHECK_OK(MPI_Publish_name(name.c_str(), MPI_INFO_NULL, port.c_str()));
    CHECK_OK(MPI_Lookup_name(name.c_str(), MPI_INFO_NULL, found));
    CHECK_EQ(std::string(found), port);
    CHECK_OK(MPI_Unpublish_name(name.c_str(), MPI_INFO_NULL, port.c_str()));
  }
}

void use_sessions() {
  MPI_Session session = MPI_SESSION_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  CHECK_OK(MPI_Session_finalize(&session));
}

void parents(int rank) {
  std::atomic<int> spawning = 4;
  std::vector<std::thread> threads;
  std::vector<MPI_Comm> comms(4);
  const auto run = [&](int at, auto call) {
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[at]));
    threads.emplace_back([&, at, call] {
      call(comms[at]);
      --spawning;
    });
  };
  run(0, [](MPI_Comm comm) { spawn_good(comm, 1); });
  run(1, [](MPI_Comm comm) { spawn_good(comm, 2); });
  run(2, [](MPI_Comm comm) { spawn_failing(comm, "exits"); });
  run(3, [](MPI_Comm comm) { spawn_failing(comm, "sessions"); });
  threads.emplace_back([&] { publish(rank, spawning); });
  for (std::thread& each : threads) each.join();
  for (MPI_Comm& each : comms) CHECK_OK(MPI_Comm_free(&each));
  if (rank == 0) std::printf("all threads have spawned\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "parents";
  if (part == "exits") return 3;
  if (part == "sessions") {
    use_sessions();
    return 0;
  }
  const check::Environment environment(&argc, &argv, 1, part == "parents" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  if (part == "parents") parents(environment.rank);
  MPI_Comm parent = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_get_parent(&parent));
  CHECK_EQ(parent != MPI_COMM_NULL, part == "child");
  if (part != "child") return 0;
  family::use(parent, false);
  CHECK_OK(MPI_Comm_disconnect(&parent));
  return 0;
}
