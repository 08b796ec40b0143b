// Dynamic processes (MPI 5.0 sections 11.8 to 11.10).
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/abi.hpp"
#include "bind/handles.hpp"
#include "bind/impl.hpp"
#include "boot/spawning.hpp"
#include "comm/spawn.hpp"
#include "mpi.h"
#include "p2p/progress.hpp"

namespace hr::bind::impl {

namespace {

std::string working_directory() {
  char text[4096];
  return ::getcwd(text, sizeof text) != nullptr ? text : "";
}

// Returns the info hints for the launcher. A relative "wdir" is relative to the root's working directory, which is also
// the default unless the key "file" is set (section 11.8.4 leaves both to the implementation).
std::vector<std::pair<std::string, std::string>> hints_of(const comm::Info* info) {
  std::vector<std::pair<std::string, std::string>> hints;
  bool names_directory = false;
  for (int n = 0; info != nullptr && n < info->size(); ++n) {
    const std::string& key = info->key(n);
    std::string value = *info->get(key);
    names_directory = names_directory || key == "file";
    if (key == "wdir") {
      names_directory = true;
      if (!value.starts_with('/')) value = working_directory() + "/" + value;
    }
    hints.emplace_back(key, std::move(value));
  }
  if (!names_directory) hints.emplace_back("wdir", working_directory());
  return hints;
}

Status add_program(const char* command, char** arguments, int processes, const comm::Info* info,
                   std::vector<boot::SpawnedProgram>* programs) {
  if (command == nullptr || *command == '\0') return fail(Errc::kArg, "the command to be spawned has no name");
  if (processes < 0) return fail(Errc::kArg, "maxprocs is %d: must not be negative", processes);
  boot::SpawnedProgram& program = programs->emplace_back();
  program.command = command;
  program.processes = processes;
  for (; arguments != MPI_ARGV_NULL && *arguments != nullptr; ++arguments) program.arguments.emplace_back(*arguments);
  program.info = hints_of(info);
  return kOk;
}

Status spawn(comm::Communicator& comm, int root, Status at_root, const std::vector<boot::SpawnedProgram>& programs,
             Ref<comm::Communicator>* intercomm, int* codes) {
  int processes = 0;
  for (const boot::SpawnedProgram& program : programs) processes += program.processes;
  if (at_root.ok() && comm.rank() == root && processes == 0)
    at_root = fail(Errc::kSpawn, "no process is requested: the sum of maxprocs is 0");
  std::vector<int> classes;
  const Status status = comm::spawn(comm, root, at_root, programs, &classes, intercomm);
  if (codes != MPI_ERRCODES_IGNORE) {
    for (std::size_t at = 0; at < classes.size(); ++at) codes[at] = classes[at];
  }
  return status;
}

// Returns the value of the info's key "timeout", in seconds as in MPICH; -1: the default.
double time_limit(const comm::Info* info) {
  const std::string* const text = info != nullptr ? info->get("timeout") : nullptr;
  if (text == nullptr) return -1;
  char* end = nullptr;
  const double seconds = std::strtod(text->c_str(), &end);
  return end != text->c_str() && *end == '\0' && seconds >= 0 ? seconds : -1;
}

void copy_port(const std::string& port, char* port_name) {
  const std::size_t length = ::strnlen(port.c_str(), MPI_MAX_PORT_NAME - 1);
  std::memcpy(port_name, port.data(), length);
  port_name[length] = '\0';
}

}  // namespace

Status comm_spawn(const char* command, char** argv, int maxprocs, comm::Info* info, int root, comm::Communicator& comm,
                  Ref<comm::Communicator>& intercomm, int* array_of_errcodes) {
  std::vector<boot::SpawnedProgram> programs;
  const Status at_root = comm.rank() == root ? add_program(command, argv, maxprocs, info, &programs) : kOk;
  return spawn(comm, root, at_root, programs, &intercomm, array_of_errcodes);
}

Status comm_spawn_multiple(int count, char** array_of_commands, char*** array_of_argv, const int* array_of_maxprocs,
                           const MPI_Info* array_of_info, int root, comm::Communicator& comm,
                           Ref<comm::Communicator>& intercomm, int* array_of_errcodes) {
  std::vector<boot::SpawnedProgram> programs;
  Status at_root = kOk;
  for (int n = 0; comm.rank() == root && n < count && at_root.ok(); ++n) {
    const comm::Info* info = lookup<comm::Info>(array_of_info[n]);
    if (info == nullptr && array_of_info[n] != MPI_INFO_NULL) {
      at_root = fail(Errc::kInfo, "array_of_info[%d] is not an info object", n);
      break;
    }
    char** const arguments = array_of_argv != MPI_ARGVS_NULL ? array_of_argv[n] : MPI_ARGV_NULL;
    at_root = add_program(array_of_commands[n], arguments, array_of_maxprocs[n], info, &programs);
  }
  return spawn(comm, root, at_root, programs, &intercomm, array_of_errcodes);
}

// Returns the same communicator each time; the program may free the handle.
Status comm_get_parent(Ref<comm::Communicator>& parent) {
  parent = Ref<comm::Communicator>::adopt(comm::parent());
  return kOk;
}

Status open_port(comm::Info* /*info*/, char* port_name) {
  std::string name;
  HR_TRY(comm::open_port(&name));
  copy_port(name, port_name);
  return kOk;
}

Status close_port(const char* port_name) { return comm::close_port(port_name); }

Status comm_accept(const char* port_name, comm::Info* /*info*/, int root, comm::Communicator& comm,
                   Ref<comm::Communicator>& newcomm) {
  return comm::accept(comm, root, comm.rank() == root ? port_name : "", &newcomm);
}

Status comm_connect(const char* port_name, comm::Info* info, int root, comm::Communicator& comm,
                    Ref<comm::Communicator>& newcomm) {
  return comm::connect(comm, root, comm.rank() == root ? port_name : "", time_limit(info), &newcomm);
}

Status comm_join(int fd, Ref<comm::Communicator>& intercomm) { return comm::join(fd, &intercomm); }

Status publish_name(const char* service_name, comm::Info* /*info*/, const char* port_name) {
  return boot::publish(service_name, port_name);
}

Status unpublish_name(const char* service_name, comm::Info* /*info*/, const char* /*port_name*/) {
  return boot::unpublish(service_name);
}

Status lookup_name(const char* service_name, comm::Info* /*info*/, char* port_name) {
  p2p::poll();  // the program may repeat the lookup until another process has published the name
  std::string port;
  HR_TRY(boot::look_up(service_name, &port));
  copy_port(port, port_name);
  return kOk;
}

}  // namespace hr::bind::impl
