#include "job/serve.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "job/job.hpp"
#include "plan/planning.hpp"

namespace hr::launcher {
namespace {

int socket_in(const char* text) {
  int descriptor = -1;
  std::from_chars(text, text + std::strlen(text), descriptor);
  int type = 0;
  socklen_t size = sizeof type;
  return descriptor > STDERR_FILENO && ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 ? descriptor
                                                                                                        : -1;
}

}  // namespace

int serve(const char* descriptor) {
  const int socket = socket_in(descriptor);
  if (socket < 0) {
    std::fprintf(stderr,
                 "mpiexec --serve is started by the library for a process that spawns; it is not for use by hand\n");
    return kUsageExit;
  }
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  // The first process ends at once, and the client waits for it, so that it does not stay a zombie.
  const pid_t pid = ::fork();
  if (pid != 0) ::_exit(pid > 0 ? 0 : 1);
  Options options;
  Program client;
  client.ranks = 1;
  client.arguments = {"client"};
  options.programs.push_back(client);
  options.mapping.bound = false;
  JobPlan plan;
  Options planned = options;
  if (!make_plan(&planned, &plan).ok()) {
    std::fprintf(stderr, "mpiexec: %s\n", take_detail().c_str());
    return kUsageExit;
  }
  plan.adopted = socket;
  return Job(options, std::move(plan)).run();
}

}  // namespace hr::launcher
