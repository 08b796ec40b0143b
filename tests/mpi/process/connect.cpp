// Programs that connect (MPI 5.0 sections 11.9 and 11.10): within a job, and between two separately started jobs. Run
// as "connect CASE [file]".
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "family.hpp"
#include "mpi-ext.h"

namespace {

using family::rank_in;
using family::size_of;

constexpr const char* kService = "a service: of two words";

MPI_Comm half_of_world(bool* first) {
  const int rank = rank_in(MPI_COMM_WORLD);
  *first = rank < size_of(MPI_COMM_WORLD) / 2;
  MPI_Comm half = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, *first ? 0 : 1, 0, &half));
  return half;
}

// One half of the world publishes a port and accepts; the other half looks the port up and connects.
void within() {
  bool first = false;
  MPI_Comm half = half_of_world(&first);
  char port[MPI_MAX_PORT_NAME] = "";
  const bool leads = rank_in(half) == 0;
  if (first && leads) {
    CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
    CHECK_OK(MPI_Publish_name(kService, MPI_INFO_NULL, port));
  }
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Comm inter = MPI_COMM_NULL;
    if (first) {
      CHECK_OK(MPI_Comm_accept(leads ? port : "not looked at", MPI_INFO_NULL, 0, half, &inter));
    } else {
      char found[MPI_MAX_PORT_NAME] = "";
      if (leads) CHECK_OK(MPI_Lookup_name(kService, MPI_INFO_NULL, found));
      CHECK_OK(MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &inter));
    }
    family::use(inter, first);
    CHECK_OK(MPI_Comm_disconnect(&inter));
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (first && leads) {
    CHECK_OK(MPI_Unpublish_name(kService, MPI_INFO_NULL, port));
    CHECK_OK(MPI_Close_port(port));
  }
  CHECK_OK(MPI_Comm_free(&half));
}

// Opens a port in process 0, and writes its name to a file, which is complete when it appears. Returns the name; empty
// in the other processes.
std::string open_port(const std::string& file) {
  if (rank_in(MPI_COMM_WORLD) != 0) return "";
  char port[MPI_MAX_PORT_NAME] = "";
  CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
  std::ofstream(file + ".new") << port;
  std::filesystem::rename(file + ".new", file);
  return port;
}

// Awaits the file in process 0, and returns the name in it; empty in the other processes.
std::string port_in(const std::string& file) {
  std::string port;
  if (rank_in(MPI_COMM_WORLD) != 0) return port;
  while (!std::filesystem::exists(file)) ::usleep(1000);
  std::getline(std::ifstream(file), port);
  std::filesystem::remove(file);
  return port;
}

// Two jobs connect three times.
void serve(const std::string& file) {
  const std::string port = open_port(file);
  for (int round = 0; round < 3; ++round) {
    MPI_Comm inter = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_accept(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    family::use(inter, true);
    // The last connection remains until MPI_Finalize.
    CHECK_OK(round == 2 ? MPI_Comm_free(&inter) : MPI_Comm_disconnect(&inter));
  }
  if (!port.empty()) CHECK_OK(MPI_Close_port(port.c_str()));
}

void call(const std::string& file) {
  const std::string port = port_in(file);
  for (int round = 0; round < 3; ++round) {
    MPI_Comm inter = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    family::use(inter, false);
    CHECK_OK(round == 2 ? MPI_Comm_free(&inter) : MPI_Comm_disconnect(&inter));
  }
}

// Connects twice; the first time fails, as the last process of the second job has no descriptor left. No path of that
// attempt may remain, as the next one connects the same processes.
void second_serve(const std::string& file) {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const std::string port = open_port(file);
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_CLASS(MPI_Comm_accept(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_OTHER);
  CHECK_OK(MPI_Comm_accept(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  family::use(inter, true);
  CHECK_OK(MPI_Comm_disconnect(&inter));
  if (!port.empty()) CHECK_OK(MPI_Close_port(port.c_str()));
}

void second_call(const std::string& file) {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const std::string port = port_in(file);
  rlimit limit{};
  CHECK_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (rank_in(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1) {
    const int lowest = ::dup(STDERR_FILENO);  // all descriptors below are in use
    ::close(lowest);
    const rlimit none{static_cast<rlim_t>(lowest), limit.rlim_max};
    CHECK_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_CLASS(MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_OTHER);
  CHECK_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  CHECK_OK(MPI_Comm_connect(port.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  family::use(inter, false);
  CHECK_OK(MPI_Comm_disconnect(&inter));
}

// Two processes join over a socket, which they can reuse afterwards.
void join(const std::string& path) {
  const int rank = rank_in(MPI_COMM_WORLD);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  int listening = -1;
  if (rank == 0) {
    ::unlink(path.c_str());
    listening = ::socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    CHECK_EQ(::listen(listening, 1), 0);
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  int socket = -1;
  if (rank == 0) {
    socket = ::accept(listening, nullptr, nullptr);
    ::close(listening);
    ::unlink(path.c_str());
  } else {
    socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  for (int round = 0; round < 2; ++round) {
    // The program may use the socket immediately afterwards.
    MPI_Comm inter = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_join(socket, &inter));
    const char said = static_cast<char>('a' + rank);
    char heard = 0;
    CHECK_EQ(::write(socket, &said, 1), 1);
    CHECK_EQ(::read(socket, &heard, 1), 1);
    CHECK_EQ(heard, static_cast<char>('a' + 1 - rank));
    CHECK_EQ(family::remote_size_of(inter), 1);
    family::use(inter, rank == 0);
    CHECK_OK(MPI_Comm_disconnect(&inter));
  }
  ::close(socket);
}

// A port's secrets, which follow the address and number in its name, are never printed.
void expect_no_secret(int code, const std::string& port) {
  const std::string text = check::error_text(code);
  for (std::size_t at = port.size() - 65; at + 8 <= port.size(); ++at) {
    CHECK(text.find(port.substr(at, 8)) == std::string::npos);
  }
}

// Names that would break a launcher's protocol, and invented port names.
void odd_names(const char* port) {
  char found[MPI_MAX_PORT_NAME] = "";
  CHECK_CLASS(MPI_Lookup_name("", MPI_INFO_NULL, found), MPI_ERR_NAME);
  CHECK_CLASS(MPI_Publish_name("", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
  CHECK_CLASS(MPI_Unpublish_name("", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
  CHECK_CLASS(MPI_Publish_name("somebody", MPI_INFO_NULL, ""), MPI_ERR_PORT);
  const std::string odd = "a b\ncmd=abort exitcode=3\nport=%41\t=";
  for (const std::string& each : {std::string("odd"), odd}) {
    CHECK_OK(MPI_Publish_name(each.c_str(), MPI_INFO_NULL, odd.c_str()));
    CHECK_OK(MPI_Lookup_name(each.c_str(), MPI_INFO_NULL, found));
    CHECK_EQ(std::string(found), odd);
    CHECK_OK(MPI_Unpublish_name(each.c_str(), MPI_INFO_NULL, odd.c_str()));
  }
}

void errors() {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm inter = MPI_COMM_NULL;
  char port[MPI_MAX_PORT_NAME] = "";
  CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
  std::string wrong = port;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (const std::string name : {"", "nonsense", "headrace_127.0.0.1_70000_x_y"}) {
    CHECK_CLASS(MPI_Comm_connect(name.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Comm_accept(name.c_str(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Close_port(name.c_str()), MPI_ERR_PORT);
    CHECK(inter == MPI_COMM_NULL);
  }
  CHECK_CLASS(MPI_Comm_accept(wrong.c_str(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  // The port is open, but no process accepts connections on it (the test sets HEADRACE_CONNECT_TIMEOUT).
  const double begin = MPI_Wtime();
  const int late = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  CHECK_CLASS(late, MPI_ERR_PORT);
  expect_no_secret(late, port);
  CHECK(MPI_Wtime() - begin >= 0.5 && inter == MPI_COMM_NULL);
  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "timeout", "0.1"));
  const int code = MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter);
  CHECK_CLASS(code, MPI_ERR_PORT);
  if (check::headrace()) CHECK(check::error_text(code).find("nobody accepted") != std::string::npos);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Close_port(port));
  for (const std::string& gone : {std::string(port), std::string(port) + " ", wrong}) {
    const int nobody = MPI_Comm_connect(gone.c_str(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    CHECK_CLASS(nobody, MPI_ERR_PORT);
    expect_no_secret(nobody, port);
  }
  CHECK_CLASS(MPI_Close_port(port), MPI_ERR_PORT);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank_in(MPI_COMM_WORLD) == 0) {
    char found[MPI_MAX_PORT_NAME] = "";
    CHECK_CLASS(MPI_Lookup_name("nobody", MPI_INFO_NULL, found), MPI_ERR_NAME);
    CHECK_CLASS(MPI_Unpublish_name("nobody", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    CHECK_OK(MPI_Publish_name("somebody", MPI_INFO_NULL, port));
    CHECK_CLASS(MPI_Publish_name("somebody", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    CHECK_OK(MPI_Lookup_name("somebody", MPI_INFO_NULL, found));
    CHECK_EQ(std::string(found), std::string(port));
    CHECK_OK(MPI_Unpublish_name("somebody", MPI_INFO_NULL, port));
    CHECK_CLASS(MPI_Lookup_name("somebody", MPI_INFO_NULL, found), MPI_ERR_NAME);
    odd_names(port);
  }
  int pipes[2];
  CHECK_EQ(::pipe(pipes), 0);
  CHECK_CLASS(MPI_Comm_join(pipes[0], &inter), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_join(-1, &inter), MPI_ERR_ARG);
  // The other side closes the socket in the middle of the exchange.
  int ends[2];
  CHECK_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ::close(ends[1]);
  CHECK_CLASS(MPI_Comm_join(ends[0], &inter), MPI_ERR_OTHER);
  CHECK_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const char nonsense[] = "\377\377\377\377\377\377\377\377 this is no message";
  CHECK_EQ(::write(ends[1], nonsense, sizeof nonsense), static_cast<ssize_t>(sizeof nonsense));
  CHECK_CLASS(MPI_Comm_join(ends[0], &inter), MPI_ERR_OTHER);
  for (const int each : {pipes[0], pipes[1], ends[0], ends[1]}) ::close(each);
}

// Exits once every other member of MPI_COMM_WORLD has called this function, so that the exit disturbs none of their
// earlier calls.
void die_behind_all() {
  int word = 0;
  for (int other = 0; other < size_of(MPI_COMM_WORLD); ++other) {
    if (other == rank_in(MPI_COMM_WORLD)) continue;
    CHECK_OK(MPI_Recv(&word, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  ::raise(SIGKILL);
}

void see_off(int victim) {
  const int word = 0;
  if (victim == rank_in(MPI_COMM_WORLD)) return die_behind_all();
  CHECK_OK(MPI_Send(&word, 1, MPI_INT, victim, 1, MPI_COMM_WORLD));
}

// With --enable-recovery: MPI_Comm_accept and MPI_Comm_connect return an error when a process that they may be waiting
// for has died. It is either a member of the group or a process that was about to connect.
void loses(int case_number) {
  const int rank = rank_in(MPI_COMM_WORLD);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
  CHECK_OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD));
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, 0, &half));
  CHECK_OK(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN));
  see_off(case_number == 0 ? 2 : 1);  // a process about to connect, or a member of the accepting group
  if (rank < 2) {
    CHECK_CLASS(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter), MPIX_ERR_PROC_FAILED);
  } else if (case_number == 0) {
    CHECK_CLASS(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter), MPIX_ERR_PROC_FAILED);
  } else {
    // If the others knew of the failure before this call, no process accepts connections on the port, which stays open.
    MPI_Info info = MPI_INFO_NULL;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "timeout", "1"));
    CHECK(MPI_Comm_connect(port, info, 0, half, &inter) != MPI_SUCCESS);
    CHECK_OK(MPI_Info_free(&info));
  }
  MPI_Comm left = MPI_COMM_NULL;
  CHECK_OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left));
  CHECK_OK(MPI_Barrier(left));
  if (rank == 0) std::printf("%d are left\n", size_of(left));
  std::fflush(stdout);
  MPI_Finalize();
  std::exit(0);
}

// A process that had failed before MPI_Comm_accept began, but after the port was opened, may also have been about to
// connect; it is reported once, and the next call waits for others.
void lost_before() {
  const int rank = rank_in(MPI_COMM_WORLD);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
  CHECK_OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD));
  see_off(2);
  int word = 0;
  CHECK_CLASS(MPI_Recv(&word, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  MPI_Comm inter = MPI_COMM_NULL;
  if (rank == 0) {
    CHECK_CLASS(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPIX_ERR_PROC_FAILED);
    CHECK_OK(MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
    CHECK_OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    CHECK_OK(MPI_Close_port(port));
  } else {
    CHECK_OK(MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
  }
  CHECK_OK(MPI_Comm_disconnect(&inter));
  if (rank == 0) std::printf("one connected\n");
  std::fflush(stdout);
  MPI_Finalize();
  std::exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "within";
  const std::string file = argc > 2 ? argv[2] : "";
  check::Environment environment(&argc, &argv);
  if (part == "within") within();
  if (part == "serve") serve(file);
  if (part == "call") call(file);
  if (part == "second_serve") second_serve(file);
  if (part == "second_call") second_call(file);
  if (part == "join") join(file);
  if (part == "errors") errors();
  if (part == "loses") loses(std::atoi(argv[2]));
  if (part == "lost_before") lost_before();
  return 0;
}
