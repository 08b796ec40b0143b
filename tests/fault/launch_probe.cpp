// A program that communicates with its launcher as the library does, and then follows its arguments:
//   launch_probe [step]...   in order, for every rank; "step@R" only on rank R
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "boot/boot.hpp"

namespace {

namespace boot = hr::boot;

int own_rank = 0;  // boot clears it at finalize()

void check(hr::Status status) {
  if (status.ok()) return;
  std::fprintf(stderr, "launch_probe: %s\n", hr::take_detail().c_str());
  std::exit(99);
}

void say_hello() {
  const boot::Identity& self = boot::identity();
  std::string nodes;
  for (int rank = 0; rank < self.size; ++rank) nodes += std::to_string(boot::processes().host_of(rank));
  std::printf("rank %d of %d app %d nodes %s launcher %d job %s\n", self.rank, self.size, self.appnum, nodes.c_str(),
              self.has_launcher ? 1 : 0, self.job_id.c_str());
  std::fflush(stdout);
}

// Publishes every rank's pid and reads all others'.
void exchange() {
  const boot::Identity& self = boot::identity();
  check(boot::put("pid-" + std::to_string(self.rank), std::to_string(::getpid())));
  check(boot::fence());
  for (int rank = 0; rank < self.size; ++rank) {
    std::string value;
    check(boot::get(rank, "pid-" + std::to_string(rank), &value));
    if (std::atoi(value.c_str()) <= 0) check(hr::fail(hr::Errc::kOther, "pid of rank %d is %s", rank, value.c_str()));
  }
  check(boot::fence());
}

// Starts a process in its own session that outlives this one.
void leave_orphan() {
  if (::fork() != 0) return;
  ::setsid();
  for (;;) ::pause();
}

void do_step(std::string_view step) {
  if (step == "init") {
    check(boot::init());
    own_rank = boot::identity().rank;
  } else if (step == "hello") {
    say_hello();
  } else if (step == "here") {
    std::printf("%d here\n", boot::identity().processes_here);
    std::fflush(stdout);
  } else if (step == "place") {
    const char* place = std::getenv("MPI_LOCALRANKID");
    const char* of = std::getenv("MPI_LOCALNRANKS");
    const char* foreign = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    const bool same = place != nullptr && foreign != nullptr && std::string_view(foreign) == place;
    std::printf("place %s of %s%s\n", place != nullptr ? place : "?", of != nullptr ? of : "?",
                same ? "" : ", another in Open MPI's variable");
    std::fflush(stdout);
  } else if (step == "exchange") {
    exchange();
  } else if (step == "fence") {
    check(boot::fence());
  } else if (step == "finalize") {
    check(boot::finalize());
  } else if (step == "hang") {
    for (;;) ::pause();
  } else if (step == "orphan") {
    leave_orphan();
  } else if (step == "shm") {
    std::ofstream("/dev/shm/headrace." + boot::identity().job_id + ".test") << "x";
  } else if (step == "deaf") {
    ::signal(SIGTERM, SIG_IGN);
  } else if (step.starts_with("start=")) {
    check(std::system(step.data() + 6) == 0 ? hr::kOk : hr::fail(hr::Errc::kOther, "%s failed", step.data() + 6));
  } else if (step.starts_with("exit=")) {
    std::exit(std::atoi(step.data() + 5));
  } else if (step.starts_with("abort=")) {
    boot::abort(std::atoi(step.data() + 6), "the program gave up");
  } else if (step.starts_with("raise=")) {
    ::raise(std::atoi(step.data() + 6));
  } else {
    std::fprintf(stderr, "launch_probe: no step \"%.*s\"\n", static_cast<int>(step.size()), step.data());
    std::exit(98);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int at = 1; at < argc; ++at) {
    std::string step = argv[at];
    if (const auto sign = step.find('@'); sign != std::string::npos) {
      if (std::atoi(step.c_str() + sign + 1) != own_rank) continue;
      step.resize(sign);
    }
    do_step(step);
  }
  return 0;
}
