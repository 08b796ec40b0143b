// Ranks die one at a time, at random moments; the survivors see the error, create their own communicator and
// continue. At its end a rank reports its part and whether the result is right: "recovered, N are left".
//
//   recover OPERATION SEED [DEATHS]     one from the table below, or "random": a different one before each death
//   recover solver SEED [DEATHS]        a computation that continues from its last checkpoint, to the right result
//   recover leave SEED                  like "random", but a rank that sees the error ends at once, by MPI_Finalize
//   recover told-OPERATION              barrier, send, start, receive or request: see be_told()
//   recover wait                        prints its parent's pid, and waits for other ranks to be killed
//
// Run it with mpiexec --enable-recovery. With a CUDA driver, half of the buffers are device memory.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../gpu/device_memory.hpp"
#include "mpi-ext.h"

namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;

int world_rank = 0;
unsigned long seed = 1;
const char* now_doing = "nothing";

[[noreturn]] void fail(int line, const std::string& what) {
  std::fprintf(stderr, "rank %d, seed %lu, %s: line %d: %s\n", world_rank, seed, now_doing, line, what.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::abort();
}

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

#define CHECK(condition) \
  if (!(condition)) fail(__LINE__, "not true: " #condition)
#define CHECK_OK(call) \
  if (const int code_ = (call); code_ != MPI_SUCCESS) fail(__LINE__, #call ": " + text_of(code_))

int class_of(int code) {
  int found = -1;
  MPI_Error_class(code, &found);
  return found;
}

// --- operations: each returns an error code, and is repeated until it fails ---

struct Group {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 0;
};

struct Buffers {
  Buffers(int count, int size, MemoryKind kind)
      : count(count),
        out(static_cast<std::size_t>(count * size) * sizeof(int), kind, std::max(gpu::device(), 0)),
        in(static_cast<std::size_t>(count * size) * sizeof(int), kind, std::max(gpu::device(), 0)) {
    const std::vector<int> ones(static_cast<std::size_t>(count * size), 1);
    out.write(std::as_bytes(std::span(ones)));
    in.write(std::as_bytes(std::span(ones)));
  }
  int count;
  DeviceMemory out, in;
};

struct Try {
  const Group& group;
  Buffers& buffers;
  int round;
  [[nodiscard]] int right() const { return (group.rank + 1) % group.size; }
  [[nodiscard]] int left() const { return (group.rank + group.size - 1) % group.size; }
  [[nodiscard]] int root() const { return round % group.size; }
  [[nodiscard]] void* out() const { return buffers.out.get(); }
  [[nodiscard]] void* in() const { return buffers.in.get(); }
  [[nodiscard]] int count() const { return buffers.count; }
};

int sendrecv(const Try& t) {
  return MPI_Sendrecv(t.out(), t.count(), MPI_INT, t.right(), 1, t.in(), t.count(), MPI_INT, t.left(), 1, t.group.comm,
                      MPI_STATUS_IGNORE);
}
// Returns one of several errors: that of the first request with an error.
int worst(int code, int count, const MPI_Status* statuses) {
  if (code == MPI_SUCCESS || class_of(code) != MPI_ERR_IN_STATUS) return code;
  for (int i = 0; i < count; ++i) {
    if (statuses[i].MPI_ERROR != MPI_SUCCESS && class_of(statuses[i].MPI_ERROR) != MPI_ERR_PENDING)
      return statuses[i].MPI_ERROR;
  }
  return code;
}
// Cleans up after a failure: started operations still use the buffers, which are about to be destroyed.
int give_up(int code, MPI_Request* requests, int count) {
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&requests[i]);
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  return code;
}
int waitall(const Try& t) {
  MPI_Request requests[4];
  MPI_Status statuses[4];
  int count = 0;
  for (const int peer : {t.left(), t.right()}) {
    const int part = t.count() / 2 + 1;
    int* const in = static_cast<int*>(t.in()) + (count == 0 ? 0 : t.count() / 2);
    if (const int code =
            MPI_Irecv(in, std::min(part, t.count() - t.count() / 2), MPI_INT, peer, 2, t.group.comm, &requests[count]);
        code != MPI_SUCCESS)
      return give_up(code, requests, count);
    ++count;
  }
  for (const int peer : {t.right(), t.left()}) {
    if (const int code = MPI_Issend(t.out(), t.count() / 2, MPI_INT, peer, 2, t.group.comm, &requests[count]);
        code != MPI_SUCCESS)
      return give_up(code, requests, count);
    ++count;
  }
  return give_up(worst(MPI_Waitall(count, requests, statuses), count, statuses), requests, count);
}
int any_source(const Try& t) {
  MPI_Request request;
  if (const int code = MPI_Isend(t.out(), t.count(), MPI_INT, t.right(), 3, t.group.comm, &request);
      code != MPI_SUCCESS)
    return code;
  const int code = MPI_Recv(t.in(), t.count(), MPI_INT, MPI_ANY_SOURCE, 3, t.group.comm, MPI_STATUS_IGNORE);
  const int sent = MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS ? code : sent;
}
// A receive with a request stays posted until the failure is acknowledged or the communicator revoked.
int pending(const Try& t) {
  MPI_Request receive, send;
  if (const int code = MPI_Irecv(t.in(), t.count(), MPI_INT, MPI_ANY_SOURCE, 4, t.group.comm, &receive);
      code != MPI_SUCCESS)
    return code;
  if (const int code = MPI_Isend(t.out(), t.count(), MPI_INT, t.right(), 4, t.group.comm, &send); code != MPI_SUCCESS)
    return give_up(code, &receive, 1);
  int code = MPI_Wait(&receive, MPI_STATUS_IGNORE);
  if (class_of(code) == MPIX_ERR_PROC_FAILED_PENDING) {
    CHECK(receive != MPI_REQUEST_NULL);
    // The left neighbour may be alive: its message can arrive before the cancellation, which then has no effect.
    CHECK_OK(MPI_Cancel(&receive));
    MPI_Status status;
    if (MPI_Wait(&receive, &status) == MPI_SUCCESS) {
      int is_cancelled = 0, received = 0;
      CHECK_OK(MPI_Test_cancelled(&status, &is_cancelled));
      CHECK_OK(MPI_Get_count(&status, MPI_INT, &received));
      CHECK(is_cancelled == 1 || (received == t.count() && status.MPI_SOURCE == t.left() && status.MPI_TAG == 4));
    }
  }
  const int sent = MPI_Wait(&send, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS ? code : sent;
}
int probe(const Try& t) {
  MPI_Request request;
  MPI_Status status;
  if (const int code = MPI_Isend(t.out(), t.count(), MPI_INT, t.right(), 5, t.group.comm, &request);
      code != MPI_SUCCESS)
    return code;
  int code = MPI_Probe(t.left(), 5, t.group.comm, &status);
  if (code == MPI_SUCCESS) code = MPI_Recv(t.in(), t.count(), MPI_INT, t.left(), 5, t.group.comm, MPI_STATUS_IGNORE);
  const int sent = MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code != MPI_SUCCESS ? code : sent;
}
int test_loop(const Try& t) {
  MPI_Request requests[2];
  if (const int code = MPI_Irecv(t.in(), t.count(), MPI_INT, t.left(), 6, t.group.comm, &requests[0]);
      code != MPI_SUCCESS)
    return code;
  if (const int code = MPI_Isend(t.out(), t.count(), MPI_INT, t.right(), 6, t.group.comm, &requests[1]);
      code != MPI_SUCCESS)
    return give_up(code, requests, 1);
  MPI_Status statuses[2];
  int done = 0, code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && done == 0) code = MPI_Testall(2, requests, &done, statuses);
  return give_up(worst(code, 2, statuses), requests, 2);
}
int persistent(const Try& t) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int code = MPI_Recv_init(t.in(), t.count(), MPI_INT, t.left(), 7, t.group.comm, &requests[0]);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Send_init(t.out(), t.count(), MPI_INT, t.right(), 7, t.group.comm, &requests[1]);
  if (code != MPI_SUCCESS) return code;
  for (int i = 0; i < 3 && code == MPI_SUCCESS; ++i) {
    code = MPI_Startall(2, requests);
    if (code == MPI_SUCCESS) code = worst(MPI_Waitall(2, requests, statuses), 2, statuses);
  }
  if (code != MPI_SUCCESS) give_up(code, requests, 2);
  for (MPI_Request& each : requests) MPI_Request_free(&each);
  return code;
}
int partitioned(const Try& t) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  const int parts = 4, each = t.count() / parts;
  int code =
      MPI_Precv_init(t.in(), parts / 2, 2 * each, MPI_INT, t.left(), 8, t.group.comm, MPI_INFO_NULL, &requests[0]);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Psend_init(t.out(), parts, each, MPI_INT, t.right(), 8, t.group.comm, MPI_INFO_NULL, &requests[1]);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Startall(2, requests);
  for (int p = parts; p-- > 0 && code == MPI_SUCCESS;) code = MPI_Pready(p, requests[1]);
  const int waited = worst(MPI_Waitall(2, requests, statuses), 2, statuses);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  return code != MPI_SUCCESS ? code : waited;
}

int barrier(const Try& t) { return MPI_Barrier(t.group.comm); }
int bcast(const Try& t) { return MPI_Bcast(t.in(), t.count(), MPI_INT, t.root(), t.group.comm); }
int reduce(const Try& t) { return MPI_Reduce(t.out(), t.in(), t.count(), MPI_INT, MPI_SUM, t.root(), t.group.comm); }
int allreduce(const Try& t) { return MPI_Allreduce(t.out(), t.in(), t.count(), MPI_INT, MPI_SUM, t.group.comm); }
int gather(const Try& t) {
  return MPI_Gather(t.out(), t.count(), MPI_INT, t.in(), t.count(), MPI_INT, t.root(), t.group.comm);
}
int scatter(const Try& t) {
  return MPI_Scatter(t.out(), t.count(), MPI_INT, t.in(), t.count(), MPI_INT, t.root(), t.group.comm);
}
int allgather(const Try& t) {
  return MPI_Allgather(t.out(), t.count(), MPI_INT, t.in(), t.count(), MPI_INT, t.group.comm);
}
int alltoall(const Try& t) {
  return MPI_Alltoall(t.out(), t.count(), MPI_INT, t.in(), t.count(), MPI_INT, t.group.comm);
}
int scan(const Try& t) { return MPI_Scan(t.out(), t.in(), t.count(), MPI_INT, MPI_SUM, t.group.comm); }
int exscan(const Try& t) { return MPI_Exscan(t.out(), t.in(), t.count(), MPI_INT, MPI_SUM, t.group.comm); }
int reduce_scatter(const Try& t) {
  return MPI_Reduce_scatter_block(t.out(), t.in(), t.count(), MPI_INT, MPI_SUM, t.group.comm);
}
int nonblocking(const Try& t) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  if (const int code = MPI_Ibarrier(t.group.comm, &requests[0]); code != MPI_SUCCESS) return code;
  if (const int code = MPI_Iallreduce(t.out(), t.in(), t.count(), MPI_INT, MPI_SUM, t.group.comm, &requests[1]);
      code != MPI_SUCCESS)
    return code;
  return worst(MPI_Waitall(2, requests, statuses), 2, statuses);
}
int dup(const Try& t) {
  MPI_Comm made = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(t.group.comm, &made);
  if (code == MPI_SUCCESS) CHECK_OK(MPI_Comm_free(&made));
  return code;
}
int split(const Try& t) {
  MPI_Comm made = MPI_COMM_NULL;
  int code = MPI_Comm_split(t.group.comm, t.group.rank % 2, 0, &made);
  // The communicator may have been created on only some members.
  int flag = code == MPI_SUCCESS ? 1 : 0;
  const int agreed = MPIX_Comm_agree(t.group.comm, &flag);
  if (agreed != MPI_SUCCESS || flag == 0) {
    if (code == MPI_SUCCESS) MPI_Comm_free(&made);
    return agreed != MPI_SUCCESS ? agreed : MPIX_ERR_PROC_FAILED;
  }
  CHECK_OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  if (MPI_Barrier(made) != MPI_SUCCESS) MPIX_Comm_revoke(made);
  MPI_Comm_free(&made);
  return MPI_SUCCESS;
}
int agree(const Try& t) {
  int flag = ~(1 << (t.group.rank % 31));
  const int code = MPIX_Comm_agree(t.group.comm, &flag);
  if (code == MPI_SUCCESS) CHECK((flag & (1 << (t.group.rank % 31))) == 0);
  return code;
}
int shrink(const Try& t) {
  MPI_Comm made = MPI_COMM_NULL;
  int code = MPIX_Comm_shrink(t.group.comm, &made);
  if (code != MPI_SUCCESS) return code;
  int size = 0;
  CHECK_OK(MPI_Comm_size(made, &size));
  if (MPI_Barrier(made) != MPI_SUCCESS) MPIX_Comm_revoke(made);
  MPI_Comm_free(&made);
  // Returns the same on all processes, although the results of the barrier may differ.
  return size < t.group.size ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS;
}

struct Operation {
  const char* name;
  int (*run)(const Try&);
  bool ends_everywhere;  // true if it ends at all survivors without a revocation
};
constexpr Operation kOperations[] = {
    {"sendrecv", sendrecv, false},
    {"waitall", waitall, false},
    {"any_source", any_source, false},
    {"pending", pending, false},
    {"probe", probe, false},
    {"test", test_loop, false},
    {"persistent", persistent, false},
    {"partitioned", partitioned, false},
    {"barrier", barrier, true},
    {"bcast", bcast, true},
    {"reduce", reduce, true},
    {"allreduce", allreduce, true},
    {"gather", gather, true},
    {"scatter", scatter, true},
    {"allgather", allgather, true},
    {"alltoall", alltoall, true},
    {"scan", scan, true},
    {"exscan", exscan, true},
    {"reduce_scatter", reduce_scatter, true},
    {"nonblocking", nonblocking, true},
    {"dup", dup, true},
    {"split", split, true},
    {"agree", agree, true},
    {"shrink", shrink, true},
};

// --- dying ---

void die(int) { ::kill(::getpid(), SIGKILL); }

// Kills this process after this number of microseconds, wherever it is then.
void die_later(int microseconds) {
  ::signal(SIGALRM, die);
  const itimerval when{{0, 0}, {microseconds / 1000000, std::max(microseconds % 1000000, 1)}};
  ::setitimer(ITIMER_REAL, &when, nullptr);
}

// --- Continuing ---

Group group_of(MPI_Comm comm) {
  Group group{comm, 0, 0};
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_rank(comm, &group.rank));
  CHECK_OK(MPI_Comm_size(comm, &group.size));
  return group;
}

// Creates the communicator of the survivors and frees the old one.
void recover(Group& group, bool revoke) {
  if (revoke) {
    CHECK_OK(MPIX_Comm_revoke(group.comm));
    int revoked = 0;
    CHECK_OK(MPIX_Comm_is_revoked(group.comm, &revoked));
    CHECK(revoked == 1);
    CHECK(class_of(MPI_Barrier(group.comm)) == MPIX_ERR_REVOKED);
    int value = 0;
    CHECK(class_of(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, group.comm)) == MPIX_ERR_REVOKED);
  }
  MPI_Comm next = MPI_COMM_NULL;
  CHECK_OK(MPIX_Comm_shrink(group.comm, &next));
  MPI_Group failed = MPI_GROUP_NULL;
  CHECK_OK(MPIX_Comm_get_failed(group.comm, &failed));
  int failures = 0, acknowledged = 0;
  CHECK_OK(MPI_Group_size(failed, &failures));
  CHECK_OK(MPI_Group_free(&failed));
  CHECK(failures >= 1);
  CHECK_OK(MPIX_Comm_ack_failed(group.comm, failures, &acknowledged));
  CHECK(acknowledged == failures);
  int flag = 1;
  CHECK_OK(MPIX_Comm_agree(group.comm, &flag));  // succeeds once all have acknowledged the failure
  CHECK(flag == 1);
  const int before = group.size;
  if (group.comm != MPI_COMM_WORLD) CHECK_OK(MPI_Comm_free(&group.comm));
  group = group_of(next);
  CHECK(group.size == before - failures);
  int sum = 0;
  CHECK_OK(MPI_Allreduce(&group.rank, &sum, 1, MPI_INT, MPI_SUM, group.comm));
  CHECK(sum == group.size * (group.size - 1) / 2);
  CHECK_OK(MPIX_Comm_agree(group.comm, &flag));  // after this, all have the sum, and the next rank may die
}

MemoryKind memory_kind(std::mt19937_64& random) {
  if (!gpu::available() || random() % 2 == 0) return MemoryKind::kHost;
  const MemoryKind kinds[] = {MemoryKind::kDevice, MemoryKind::kPool, MemoryKind::kHostPinned};
  return kinds[random() % 3];
}

bool leaves = false;

// All processes draw the same numbers.
void one_death(Group& group, const char* name, std::mt19937_64& plan) {
  const Operation* operation = nullptr;
  for (const Operation& each : kOperations) {
    if (std::strcmp(each.name, name) == 0) operation = &each;
  }
  if (operation == nullptr) operation = &kOperations[plan() % std::size(kOperations)];
  now_doing = operation->name;
  const int victim = static_cast<int>(plan() % static_cast<unsigned long>(group.size));
  const int rounds = static_cast<int>(plan() % 20);
  const int delay = static_cast<int>(plan() % 3000);
  const int counts[] = {4, 40, 3000, 20000, 100000};
  const int count = counts[plan() % 5];
  const MemoryKind kind = memory_kind(plan);
  const bool revoke = !operation->ends_everywhere || plan() % 2 == 0;
  Buffers buffers(count, group.size, kind);
  int code = MPI_SUCCESS;
  for (int round = 0; code == MPI_SUCCESS; ++round) {
    if (group.rank == victim && round == rounds) die_later(delay);
    code = operation->run({group, buffers, round});
  }
  const int error = class_of(code);
  if (error != MPIX_ERR_PROC_FAILED && error != MPIX_ERR_REVOKED && error != MPIX_ERR_PROC_FAILED_PENDING)
    fail(__LINE__, "another error: " + text_of(code));
  if (leaves) {
    // Needed unless the operation ends everywhere anyway.
    if (!operation->ends_everywhere) MPIX_Comm_revoke(group.comm);
    group.size -= 1;
    return;
  }
  recover(group, revoke);
}

// --- a computation: averages values with their neighbours, a fixed number of times ---

constexpr int kCells = 480, kSteps = 120, kCheckpoint = 10;

double start_value(int cell) { return cell % 17 * 1.5 + cell % 5; }

std::vector<double> averaged(const std::vector<double>& before) {
  std::vector<double> after(before.size() - 2);
  for (std::size_t i = 0; i < after.size(); ++i) after[i] = (before[i] + before[i + 1] + before[i + 2]) / 3;
  return after;
}

class Solver {
 public:
  Solver() : saved_(kCells) {
    for (int cell = 0; cell < kCells; ++cell) saved_[static_cast<std::size_t>(cell)] = start_value(cell);
  }
  // Runs from the last checkpoint that all processes have; returns an error if a process has died.
  int run(const Group& group) {
    int from = saved_at_;
    if (const int code = MPI_Allreduce(&saved_at_, &from, 1, MPI_INT, MPI_MIN, group.comm); code != MPI_SUCCESS)
      return code;
    if (from != saved_at_) {  // this process has a later checkpoint than others
      saved_ = older_;
      saved_at_ = older_at_;
    }
    if (saved_at_ != from) fail(__LINE__, "no common checkpoint");
    const int base = kCells / group.size, rest = kCells % group.size;
    std::vector<int> counts, places;
    for (int rank = 0, place = 0; rank < group.size; ++rank) {
      counts.push_back(base + (rank < rest ? 1 : 0));
      places.push_back(place);
      place += counts.back();
    }
    const auto first = saved_.begin() + places[static_cast<std::size_t>(group.rank)];
    std::vector<double> own(first, first + counts[static_cast<std::size_t>(group.rank)]);
    for (int step = from; step < kSteps;) {
      if (const int code = one_step(group, own); code != MPI_SUCCESS) return code;
      if (++step % kCheckpoint != 0) continue;
      std::vector<double> all(kCells);
      if (const int code = MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_DOUBLE, all.data(),
                                          counts.data(), places.data(), MPI_DOUBLE, group.comm);
          code != MPI_SUCCESS)
        return code;
      older_ = std::exchange(saved_, all);
      older_at_ = std::exchange(saved_at_, step);
    }
    return MPI_Barrier(group.comm);
  }
  void check() const {
    std::vector<double> all(kCells);
    for (int cell = 0; cell < kCells; ++cell) all[static_cast<std::size_t>(cell)] = start_value(cell);
    for (int step = 0; step < kSteps; ++step) {
      std::vector<double> framed(all);
      framed.insert(framed.begin(), all.back());
      framed.push_back(all.front());
      all = averaged(framed);
    }
    CHECK(saved_at_ == kSteps);
    CHECK(saved_ == all);
  }

 private:
  static int one_step(const Group& group, std::vector<double>& own) {
    const int left = (group.rank + group.size - 1) % group.size, right = (group.rank + 1) % group.size;
    std::vector<double> framed(own.size() + 2);
    std::copy(own.begin(), own.end(), framed.begin() + 1);
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int code = MPI_Irecv(&framed.front(), 1, MPI_DOUBLE, left, 1, group.comm, &requests[0]);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Irecv(&framed.back(), 1, MPI_DOUBLE, right, 2, group.comm, &requests[1]);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Isend(&own.back(), 1, MPI_DOUBLE, right, 1, group.comm, &requests[2]);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Isend(&own.front(), 1, MPI_DOUBLE, left, 2, group.comm, &requests[3]);
    if (code != MPI_SUCCESS) return code;
    code = worst(MPI_Waitall(4, requests, statuses), 4, statuses);
    if (code == MPI_SUCCESS) own = averaged(framed);
    return code;
  }

  std::vector<double> saved_, older_;
  int saved_at_ = 0, older_at_ = -1;
};

void solve(Group& group, int deaths, std::mt19937_64& plan) {
  now_doing = "solver";
  Solver solver;
  for (;;) {
    const int victim = static_cast<int>(plan() % static_cast<unsigned long>(group.size));
    const int delay = static_cast<int>(plan() % 20000);
    if (deaths > 0 && group.size > 1) {
      --deaths;
      if (group.rank == victim) {
        die_later(delay);
        for (;;)
          static_cast<void>(solver.run(group));  // until this process dies, perhaps after it has finished the work
      }
    }
    int code = solver.run(group);
    // Processes that wait for one that has given up must be released.
    if (code != MPI_SUCCESS) CHECK_OK(MPIX_Comm_revoke(group.comm));
    // All or none have the result: a process that died in the last barrier may have let some through.
    int flag = code == MPI_SUCCESS ? 1 : 0;
    code = MPIX_Comm_agree(group.comm, &flag);
    if (code == MPI_SUCCESS && flag == 1) break;
    recover(group, true);
  }
  solver.check();
}

// A rank dies, and another one revokes the communicator on which all the others call an operation in a loop. These
// calls fail immediately, and each rank must nevertheless learn of the revocation. Codes equal their classes.
void be_told(const Group& group, const std::string& by) {
  now_doing = "told";
  constexpr int kVictim = 1;
  int value = 0;
  MPI_Request persistent = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Send_init(&value, 1, MPI_INT, kVictim, 5, group.comm, &persistent));
  if (group.rank == kVictim) ::raise(SIGKILL);
  for (int code = MPI_SUCCESS; code != MPIX_ERR_REVOKED;) {
    if (by == "barrier") {
      code = MPI_Barrier(group.comm);
    } else if (by == "send") {
      code = MPI_Send(&value, 1, MPI_INT, kVictim, 5, group.comm);
    } else if (by == "start") {
      code = MPI_Start(&persistent);
      if (code == MPI_SUCCESS) code = MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    } else if (by == "receive") {
      code = MPI_Recv(&value, 1, MPI_INT, kVictim, 5, group.comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      code = MPI_Irecv(&value, 1, MPI_INT, kVictim, 5, group.comm, &request);
      if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(code == MPI_SUCCESS || code == MPIX_ERR_PROC_FAILED || code == MPIX_ERR_REVOKED);
    if (code == MPIX_ERR_PROC_FAILED) CHECK(text_of(code).find("rank 1") != std::string::npos);
    if (code == MPIX_ERR_PROC_FAILED && group.rank == 0) CHECK_OK(MPIX_Comm_revoke(group.comm));
  }
  CHECK_OK(MPI_Request_free(&persistent));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  const char* name = argc > 1 ? argv[1] : "random";
  seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  Group group = group_of(MPI_COMM_WORLD);
  int deaths = argc > 3 ? std::atoi(argv[3]) : 1;
  if (gpu::available()) gpu::select(world_rank % gpu::device_count());
  std::mt19937_64 plan(seed);
  leaves = std::strcmp(name, "leave") == 0;
  if (std::strcmp(name, "wait") == 0) {
    now_doing = "wait";
    std::printf("%d\n", static_cast<int>(::getppid()));
    std::fflush(stdout);
    while (MPI_Barrier(group.comm) == MPI_SUCCESS) {
    }
    recover(group, false);
  } else if (std::strncmp(name, "told-", 5) == 0) {
    be_told(group, name + 5);
    recover(group, false);
  } else if (std::strcmp(name, "solver") == 0) {
    solve(group, deaths, plan);
  } else {
    for (; deaths > 0 && group.size > 1; --deaths) one_death(group, name, plan);
  }
  std::printf("recovered, %d are left\n", group.size);
  std::fflush(stdout);
  MPI_Finalize();
}
