// Programs that spawn (MPI 5.0 section 11.8). Run as "spawn CASE [children]"; the children receive the case as an
// argument.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "family.hpp"

namespace {

using family::rank_in;
using family::remote_size_of;
using family::size_of;

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

MPI_Info info_of(const std::map<std::string, std::string>& pairs) {
  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_create(&info));
  for (const auto& [key, value] : pairs) CHECK_OK(MPI_Info_set(info, key.c_str(), value.c_str()));
  return info;
}

// Collective over `comm`; arguments that are significant only at the root are invalid elsewhere.
MPI_Comm spawn(MPI_Comm comm, int root, const std::string& part, int children,
               const std::map<std::string, std::string>& hints = {}) {
  std::string word = part;
  char* arguments[] = {word.data(), nullptr};
  std::vector<int> codes(children + 1, -1);
  MPI_Comm inter = MPI_COMM_NULL;
  if (rank_in(comm) == root) {
    MPI_Info info = info_of(hints);
    CHECK_OK(MPI_Comm_spawn(own_path().c_str(), arguments, children, info, root, comm, &inter, codes.data()));
    CHECK_OK(MPI_Info_free(&info));
  } else {
    CHECK_OK(MPI_Comm_spawn(nullptr, nullptr, -5, MPI_INFO_NULL, root, comm, &inter, codes.data()));
  }
  for (int child = 0; child < children; ++child) CHECK_EQ(codes[child], MPI_SUCCESS);
  CHECK_EQ(codes[children], -1);
  CHECK_EQ(remote_size_of(inter), children);
  return inter;
}

void values(int children) {
  for (int round = 0; round < 3; ++round) {
    MPI_Comm inter =
        spawn(MPI_COMM_WORLD, size_of(MPI_COMM_WORLD) - 1, round == 1 ? "connected child" : "child", children);
    family::use(inter, true);
    // In one round, the communicator is only freed, so both sides stay connected until they end together.
    CHECK_OK(round == 1 ? MPI_Comm_free(&inter) : MPI_Comm_disconnect(&inter));
  }
}

// Headrace's mpiexec passes a child its rank and the number of children in other launchers' variables, too.
void check_told_place() {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  CHECK(rank != nullptr && size != nullptr);
  CHECK_EQ(std::string(rank), std::to_string(rank_in(MPI_COMM_WORLD)));
  CHECK_EQ(std::string(size), std::to_string(size_of(MPI_COMM_WORLD)));
  CHECK(std::getenv("OMPI_COMM_WORLD_NODE_RANK") == nullptr);  // this rank counts the processes of all jobs of the host
}

void child(MPI_Comm parent, bool disconnects) {
  if (std::getenv("PMI_HEADRACE") != nullptr) check_told_place();
  family::use(parent, false);
  CHECK_OK(disconnects ? MPI_Comm_disconnect(&parent) : MPI_Comm_free(&parent));
  CHECK(parent == MPI_COMM_NULL);
  MPI_Comm again = parent;
  CHECK_OK(MPI_Comm_get_parent(&again));
  CHECK(again == MPI_COMM_NULL);
}

int universe() {
  int* size = nullptr;
  int is_known = 0;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &size, &is_known));
  CHECK(is_known);
  return *size;
}

// Spawns processes up to the universe size passed to the launcher; children see the same size.
void fill_universe(MPI_Comm parent) {
  int size = universe();
  if (parent != MPI_COMM_NULL) {
    int told = 0;
    CHECK_OK(MPI_Bcast(&told, 1, MPI_INT, 0, parent));
    CHECK_EQ(told, size);
    CHECK_OK(MPI_Comm_disconnect(&parent));
    return;
  }
  CHECK_EQ(size, 7);
  MPI_Comm inter = spawn(MPI_COMM_WORLD, 0, "in a universe", size - size_of(MPI_COMM_WORLD));
  CHECK_OK(MPI_Bcast(&size, 1, MPI_INT, rank_in(MPI_COMM_WORLD) == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
  CHECK_OK(MPI_Comm_disconnect(&inter));
}

// All ranks concurrently spawn several children each on MPI_COMM_SELF.
void self(int children) {
  std::vector<MPI_Comm> inters;
  for (int at = 0; at < 3; ++at) inters.push_back(spawn(MPI_COMM_SELF, 0, "child", children));
  for (MPI_Comm& inter : inters) {
    family::use(inter, true);
    CHECK_OK(MPI_Comm_disconnect(&inter));
  }
}

// Two programs, one of them twice.
void multiple() {
  std::string path = own_path();
  char* commands[] = {path.data(), path.data(), path.data()};
  char one[] = "member", two[] = "first part", three[] = "second=part";
  char* first[] = {one, two, nullptr};
  char* second[] = {one, three, nullptr};
  char** arguments[] = {first, second, first};
  const int counts[] = {1, 2, 1};
  MPI_Info infos[] = {MPI_INFO_NULL, info_of({{"wdir", "/"}}), MPI_INFO_NULL};
  std::vector<int> codes(5, -1);
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_spawn_multiple(3, commands, arguments, counts, infos, 0, MPI_COMM_WORLD, &inter, codes.data()));
  CHECK_OK(MPI_Info_free(&infos[1]));
  CHECK_EQ(codes[3], MPI_SUCCESS);
  CHECK_EQ(codes[4], -1);
  CHECK_EQ(remote_size_of(inter), 4);
  const int mine = -1;
  std::vector<int> all(4);
  CHECK_OK(MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, inter));
  const int numbers[] = {0, 1, 1, 2};
  for (int at = 0; at < 4; ++at) CHECK_EQ(all[at], numbers[at]);
  CHECK_OK(MPI_Comm_disconnect(&inter));
}

void member(MPI_Comm parent, const std::string& argument) {
  int* number = nullptr;
  int flag = 0;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag));
  CHECK_EQ(flag, 1);
  CHECK_EQ(argument, std::string(*number == 1 ? "second=part" : "first part"));
  if (*number == 1) CHECK_EQ(std::filesystem::current_path().string(), std::string("/"));
  std::vector<int> all(remote_size_of(parent));
  CHECK_OK(MPI_Allgather(number, 1, MPI_INT, all.data(), 1, MPI_INT, parent));
  CHECK_OK(MPI_Comm_disconnect(&parent));
}

// A child spawns children, and introduces them to its parents.
void nested(MPI_Comm parent, const std::string& part) {
  const bool top = parent == MPI_COMM_NULL;
  MPI_Comm above = MPI_COMM_NULL;  // of the parents and the children
  if (!top) CHECK_OK(MPI_Intercomm_merge(parent, 1, &above));
  if (part == "grandchild") {
    MPI_Comm own = MPI_COMM_NULL;
    CHECK_OK(MPI_Intercomm_create(MPI_COMM_WORLD, 0, above, 0, 7, &own));
    family::use(own, false);
    CHECK_OK(MPI_Comm_disconnect(&own));
    CHECK_OK(MPI_Comm_disconnect(&above));
    CHECK_OK(MPI_Comm_disconnect(&parent));
    return;
  }
  MPI_Comm below = MPI_COMM_NULL;
  MPI_Comm next = spawn(MPI_COMM_WORLD, 0, top ? "nested child" : "grandchild", top ? 1 : 2);
  CHECK_OK(MPI_Intercomm_merge(next, 0, &below));
  if (!top) {
    // The child is the leader of the group of parents and child: it has the last rank there, and only it knows the
    // grandchildren.
    MPI_Comm both = MPI_COMM_NULL;
    CHECK_OK(MPI_Intercomm_create(above, size_of(above) - 1, below, 1, 7, &both));
    family::use(both, true);
    CHECK_OK(MPI_Comm_disconnect(&both));
    CHECK_OK(MPI_Comm_disconnect(&above));
    CHECK_OK(MPI_Comm_disconnect(&parent));
  } else {
    MPI_Comm both = MPI_COMM_NULL;
    CHECK_OK(MPI_Intercomm_create(below, size_of(below) - 1, MPI_COMM_NULL, 0, 7, &both));
    CHECK_EQ(remote_size_of(both), 2);
    family::use(both, true);
    CHECK_OK(MPI_Comm_disconnect(&both));
  }
  CHECK_OK(MPI_Comm_disconnect(&below));
  CHECK_OK(MPI_Comm_disconnect(&next));
}

// --- Info keys ---

void info(const std::string& directory) {
  std::filesystem::create_directories(directory + "/bin");
  std::filesystem::create_directories(directory + "/work here");
  const std::string link = directory + "/bin/some_program";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(own_path(), link);
  std::ofstream(directory + "/hints") << "# hints\n wdir = " << directory
                                      << "/work here\nenv=HR_TEST_ONE=from a file\n";
  struct Case {
    std::string command;
    std::map<std::string, std::string> hints;
    std::string where;
    std::string one;
  };
  const std::string here = std::filesystem::current_path();
  const Case cases[] = {
      {own_path(), {}, here, ""},
      {own_path(), {{"wdir", directory + "/work here"}}, directory + "/work here", ""},
      {"some_program", {{"path", "/nowhere:" + directory + "/bin"}}, here, ""},
      {"./some_program", {{"wdir", directory + "/bin"}}, directory + "/bin", ""},
      {own_path(), {{"env", "HR_TEST_ONE=a b=c\nHR_TEST_TWO=2"}, {"unknown", "x"}, {"soft", "1:1"}}, here, "a b=c"},
      {own_path(), {{"file", directory + "/hints"}}, directory + "/work here", "from a file"},
      {own_path(), {{"host", "localhost"}}, here, ""},
  };
  for (const Case& each : cases) {
    MPI_Info hints = info_of(each.hints);
    std::string words[] = {"told", each.where, each.one};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    MPI_Comm inter = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_spawn(each.command.c_str(), arguments, 1, hints, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE));
    CHECK_OK(MPI_Info_free(&hints));
    CHECK_OK(MPI_Comm_disconnect(&inter));
  }
}

void told(MPI_Comm parent, const std::string& where, const std::string& one) {
  CHECK(std::filesystem::equivalent(std::filesystem::current_path(), where));
  const char* variable = std::getenv("HR_TEST_ONE");
  CHECK_EQ(std::string(variable != nullptr ? variable : ""), one);
  CHECK_OK(MPI_Comm_disconnect(&parent));
}

// --- Invalid calls ---

// Every rank receives the error, and a code for each process to be spawned.
void refuses(const char* command, int processes, const std::map<std::string, std::string>& hints, const char* says) {
  MPI_Info info = info_of(hints);
  std::vector<int> codes(processes + 1, -1);
  MPI_Comm inter = MPI_COMM_NULL;
  const int code = MPI_Comm_spawn(command, MPI_ARGV_NULL, processes, info, 0, MPI_COMM_WORLD, &inter, codes.data());
  CHECK_CLASS(code, MPI_ERR_SPAWN);
  if (check::headrace() && check::error_text(code).find(says) == std::string::npos)
    check::fail(__FILE__, __LINE__, "\"" + check::error_text(code) + "\" does not say \"" + says + "\"");
  for (int at = 0; at < processes; ++at) CHECK_EQ(check::error_class(codes[at]), MPI_ERR_SPAWN);
  CHECK_EQ(codes[processes], -1);
  CHECK(inter == MPI_COMM_NULL);
  CHECK_OK(MPI_Info_free(&info));
}

void errors() {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  refuses("/nowhere/a_program_that_is_not_there", 3, {}, "No such file");
  refuses("a_program_that_is_not_there", 2, {}, "No such file");
  refuses("/dev/null", 1, {}, "Permission denied");
  refuses(own_path().c_str(), 2, {{"wdir", "/no/such/directory"}}, "no such directory");
  refuses(own_path().c_str(), 2, {{"arch", "abacus"}}, "abacus");
  refuses(own_path().c_str(), 2, {{"env", "novalue"}}, "novalue");
  refuses("/bin/true", 2, {}, "without MPI_Init");
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_CLASS(MPI_Comm_spawn(own_path().c_str(), MPI_ARGV_NULL, -1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                             MPI_ERRCODES_IGNORE),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_spawn(own_path().c_str(), MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                             MPI_ERRCODES_IGNORE),
              MPI_ERR_SPAWN);
  CHECK_CLASS(MPI_Comm_spawn(own_path().c_str(), MPI_ARGV_NULL, 1, MPI_INFO_NULL, size_of(MPI_COMM_WORLD),
                             MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
              MPI_ERR_ROOT);
  // Spawning still works after these errors.
  inter = spawn(MPI_COMM_WORLD, 0, "child", 1);
  family::use(inter, true);
  CHECK_OK(MPI_Comm_disconnect(&inter));
}

// The program exists only on this host; processes on the hosts h2, h3... are to execute it.
void missing(int hosts) {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const std::string copy = std::filesystem::temp_directory_path() / ("hr_only_here." + std::to_string(::getpid()));
  std::filesystem::copy_file(own_path(), copy);
  std::map<std::string, std::string> hints;
  for (int host = 2; host < 2 + hosts; ++host) hints["host"] += (host == 2 ? "h" : ",h") + std::to_string(host) + ":1";
  refuses(copy.c_str(), hosts, hints, "hr_only_here");
  std::filesystem::remove(copy);
  MPI_Comm inter = spawn(MPI_COMM_WORLD, 0, "child", hosts, hints);
  family::use(inter, true);
  CHECK_OK(MPI_Comm_disconnect(&inter));
}

// With --enable-recovery: rank 1 of three children ends before MPI_Init. `how`: it "exits" with a code, "leaves" with
// 0, or "dies".
void fails(const std::string& how) {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  std::string part = "failing", word = how;
  char* arguments[] = {part.data(), word.data(), nullptr};
  int codes[3] = {-1, -1, -1};
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_CLASS(MPI_Comm_spawn(own_path().c_str(), arguments, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes),
              MPI_ERR_SPAWN);
  CHECK(inter == MPI_COMM_NULL);
  CHECK_EQ(codes[0], MPI_SUCCESS);
  CHECK_EQ(check::error_class(codes[1]), MPI_ERR_SPAWN);
  CHECK_EQ(codes[2], MPI_SUCCESS);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  inter = spawn(MPI_COMM_WORLD, 0, "child", 1);
  family::use(inter, true);
  CHECK_OK(MPI_Comm_disconnect(&inter));
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("the parents went on\n");
}

void fail_before_init(const std::string& how) {
  const char* const rank = std::getenv("PMI_RANK");
  if (rank == nullptr || std::strcmp(rank, "1") != 0) return;
  if (how == "dies") ::raise(SIGKILL);
  std::_Exit(how == "exits" ? 3 : 0);
}

// --- Ends of processes ---

// The children make no MPI call once they have disconnected: their parents' calls must complete nevertheless. The last
// children continue after their parents have ended.
void leave(const std::string& file) {
  constexpr int kRounds = 20;
  const bool first = rank_in(MPI_COMM_WORLD) == 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string words[] = {"stay", file + std::to_string(round)};
    char* arguments[] = {words[0].data(), words[1].data(), nullptr};
    std::filesystem::remove(words[1]);
    MPI_Comm inter = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_spawn(own_path().c_str(), arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                            MPI_ERRCODES_IGNORE));
    CHECK_OK(MPI_Comm_disconnect(&inter));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (round == kRounds - 1) MPI_Finalize();
    if (first) std::ofstream(words[1]) << "left\n";
  }
  std::exit(0);
}

// Uses communicators, windows and a file of both sides, and then disconnects from the other side.
void use_and_disconnect(MPI_Comm* inter, bool first, const std::string& file) {
  family::use(*inter, first);
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_File opened = MPI_FILE_NULL;
  CHECK_OK(MPI_Intercomm_merge(*inter, first ? 0 : 1, &merged));
  CHECK_OK(MPI_File_open(merged, file.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &opened));
  CHECK_OK(MPI_File_close(&opened));
  CHECK_CLASS(MPI_File_open(merged, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &opened), MPI_ERR_NO_SUCH_FILE);
  CHECK_OK(MPI_Comm_disconnect(&merged));
  CHECK_OK(MPI_Comm_disconnect(inter));
}

// Children that have disconnected end, although their parent calls no MPI function.
void outlive(const std::string& file, int children) {
  std::string words[] = {"short-lived", file};
  char* arguments[] = {words[0].data(), words[1].data(), nullptr};
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_spawn(own_path().c_str(), arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                          MPI_ERRCODES_IGNORE));
  std::vector<pollfd> alive;
  for (int child = 0; child < children && rank_in(MPI_COMM_WORLD) == 0; ++child) {
    int pid = -1;
    CHECK_OK(MPI_Recv(&pid, 1, MPI_INT, child, 0, inter, MPI_STATUS_IGNORE));
    alive.push_back({static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)), POLLIN, 0});
    CHECK(alive.back().fd >= 0);
  }
  use_and_disconnect(&inter, true, file);
  for (pollfd& each : alive) {
    CHECK_EQ(::poll(&each, 1, -1), 1);  // the child ends
    ::close(each.fd);
  }
}

void live_shortly(MPI_Comm parent, const std::string& file) {
  const int pid = ::getpid();
  CHECK_OK(MPI_Send(&pid, 1, MPI_INT, 0, 0, parent));
  use_and_disconnect(&parent, false, file);
}

void stay(MPI_Comm parent, const std::string& file) {
  CHECK_OK(MPI_Comm_disconnect(&parent));
  while (!std::filesystem::exists(file)) ::usleep(1000);
  family::use_within(MPI_COMM_WORLD);
}

// If a child dies, the calls that wait for it return; the parent continues (-disable-auto-cleanup).
void mourn() {
  MPI_Comm inter = spawn(MPI_COMM_WORLD, 0, "die", 2);
  CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  int value = -1;
  const int code = MPI_Recv(&value, 1, MPI_INT, 1, 0, inter, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) check::fail(__FILE__, __LINE__, "the receive from a process that died has succeeded");
  std::printf("the receive ends: %s\n", check::error_text(code).c_str());
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
  CHECK_EQ(value, 5);
  CHECK_OK(MPI_Comm_disconnect(&inter));
}

void die(MPI_Comm parent) {
  // The child must not die before the other child has returned from MPI_Init.
  int value = 5;
  if (rank_in(MPI_COMM_WORLD) == 1) {
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    ::raise(SIGKILL);
  }
  CHECK_OK(MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
  for (int to = 0; to < remote_size_of(parent); ++to) CHECK_OK(MPI_Send(&value, 1, MPI_INT, to, 0, parent));
  CHECK_OK(MPI_Comm_disconnect(&parent));
  MPI_Finalize();
  ::_exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string part = words.empty() ? "values" : words[0];
  const int children = words.size() > 1 ? std::atoi(words[1].c_str()) : 2;
  if (part == "failing") fail_before_init(words.at(1));
  check::Environment environment(&argc, &argv);
  MPI_Comm parent = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_get_parent(&parent));
  const bool is_child = part == "child" || part == "member" || part == "told" || part == "stay" || part == "die" ||
                        part == "nested child" || part == "grandchild" || part == "connected child" ||
                        part == "in a universe" || part == "failing" || part == "short-lived";
  CHECK_EQ(parent != MPI_COMM_NULL, is_child);
  if (part == "child" || part == "connected child") child(parent, part == "child");
  if (part == "member") member(parent, words.at(1));
  if (part == "told") told(parent, words.at(1), words.at(2));
  if (part == "stay") stay(parent, words.at(1));
  if (part == "die") die(parent);
  if (part == "short-lived") live_shortly(parent, words.at(1));
  if (part == "outlive") outlive(words.at(1), 2);
  if (part == "nested" || part == "nested child" || part == "grandchild") nested(parent, part);
  if (part == "universe" || part == "in a universe") fill_universe(parent);
  if (part == "cores") CHECK(universe() >= static_cast<int>(std::thread::hardware_concurrency()));
  if (part == "values") values(children);
  if (part == "self") self(children);
  if (part == "multiple") multiple();
  if (part == "info") info(words.at(1));
  if (part == "errors") errors();
  if (part == "fails") fails(words.at(1));
  if (part == "leave") leave(words.at(1));
  if (part == "mourn") mourn();
  if (part == "missing") missing(children);
  if (part == "elsewhere") {
    // Until this job spawns on another host, it uses no transport except perhaps shared memory.
    MPI_Comm inter = spawn(MPI_COMM_WORLD, 0, "child", children, {{"host", "h2:" + std::to_string(children)}});
    family::use(inter, true);
    CHECK_OK(MPI_Comm_disconnect(&inter));
  }
  // This child runs until it is killed.
  while (part == "loop") {
    MPI_Comm inter = spawn(MPI_COMM_WORLD, 0, "child", children);
    family::use(inter, true);
    CHECK_OK(MPI_Comm_disconnect(&inter));
  }
  return 0;
}
