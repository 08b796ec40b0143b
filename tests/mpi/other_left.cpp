// Blocking calls whose other process has left MPI end with MPI_ERR_OTHER, by the error handler of their communicator;
// before, everything that the process had sent is received. Rank 0 makes the calls, the others leave.
//
//   mpi_other_left [threads | fatal]
//
// threads: with MPI_THREAD_MULTIPLE. fatal: with the error handler that ends the job.
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kFirst = 5, kOthers = 6, kLate = 8, kNever = 9;  // tags
constexpr int kManyMessages = 300;
constexpr int kPoison = -77;
constexpr int kLong = 1 << 18;  // integers, too many to be sent without a receive

struct Job {
  int rank = check::world_rank();
  int size = check::world_size();
  MPI_Comm comm = MPI_COMM_WORLD;
};

void expect_left(const char* what, int code, const std::string& who) {
  if (check::error_class(code) != MPI_ERR_OTHER)
    check::fail(__FILE__, __LINE__, std::string(what) + " returned " + check::error_text(code));
  const std::string text = check::error_text(code);
  if (check::headrace() && text.find(who + " left MPI") == std::string::npos)
    check::fail(__FILE__, __LINE__, std::string(what) + ": \"" + text + "\" does not name " + who);
}

// Calls on integers that nobody sends or receives; each returns the error.
using Calls = std::vector<std::pair<const char*, std::function<int(int peer, int* data)>>>;

int wait_for(MPI_Request* request) { return MPI_Wait(request, MPI_STATUS_IGNORE); }

Calls receiving_calls(MPI_Comm comm) {
  return {
      {"MPI_Recv",
       [=](int peer, int* data) { return MPI_Recv(data, kLong, MPI_INT, peer, kNever, comm, MPI_STATUS_IGNORE); }},
      {"MPI_Irecv",
       [=](int peer, int* data) {
         MPI_Request request;
         CHECK_OK(MPI_Irecv(data, 1, MPI_INT, peer, kNever, comm, &request));
         return wait_for(&request);
       }},
      {"MPI_Recv_init",
       [=](int peer, int* data) {
         MPI_Request request;
         CHECK_OK(MPI_Recv_init(data, 1, MPI_INT, peer, kNever, comm, &request));
         CHECK_OK(MPI_Start(&request));
         const int code = wait_for(&request);
         CHECK_OK(MPI_Request_free(&request));
         return code;
       }},
      {"MPI_Sendrecv",
       [=](int peer, int* data) {
         const int sent = 1;
         return MPI_Sendrecv(&sent, 1, MPI_INT, peer, kNever, data, 1, MPI_INT, peer, kNever, comm, MPI_STATUS_IGNORE);
       }},
      {"MPI_Isendrecv",
       [=](int peer, int* data) {
         const int sent = 1;
         MPI_Request request;
         CHECK_OK(MPI_Isendrecv(&sent, 1, MPI_INT, peer, kNever, data, 1, MPI_INT, peer, kNever, comm, &request));
         return wait_for(&request);
       }},
      {"MPI_Probe", [=](int peer, int*) { return MPI_Probe(peer, kNever, comm, MPI_STATUS_IGNORE); }},
      {"MPI_Mprobe",
       [=](int peer, int*) {
         MPI_Message message;
         return MPI_Mprobe(peer, kNever, comm, &message, MPI_STATUS_IGNORE);
       }},
  };
}

Calls sending_calls(MPI_Comm comm) {
  return {
      {"MPI_Send", [=](int peer, int* data) { return MPI_Send(data, kLong, MPI_INT, peer, kNever, comm); }},
      {"MPI_Ssend", [=](int peer, int* data) { return MPI_Ssend(data, 1, MPI_INT, peer, kNever, comm); }},
      {"MPI_Isend",
       [=](int peer, int* data) {
         MPI_Request request;
         CHECK_OK(MPI_Isend(data, kLong, MPI_INT, peer, kNever, comm, &request));
         return wait_for(&request);
       }},
      {"MPI_Psend_init",
       [=](int peer, int* data) {
         MPI_Request request;
         CHECK_OK(MPI_Psend_init(data, 2, kLong / 2, MPI_INT, peer, kNever, comm, MPI_INFO_NULL, &request));
         CHECK_OK(MPI_Start(&request));
         CHECK_OK(MPI_Pready_range(0, 1, request));
         const int code = wait_for(&request);
         CHECK_OK(MPI_Request_free(&request));
         return code;
       }},
  };
}

void call_all(const Job& job, const Calls& calls) {
  std::vector<int> data(kLong, kPoison);
  for (const auto& [what, call] : calls) {
    for (int peer = 1; peer < job.size; ++peer)
      expect_left(what, call(peer, data.data()), "rank " + std::to_string(peer) + " has");
  }
  CHECK(std::ranges::count(data, kPoison) == kLong);
}

// Only the message of the process that has left fails; the other request completes.
void wait_for_all(const Job& job) {
  const int sent = 23;
  int got[2] = {kPoison, kPoison};
  MPI_Request requests[2];
  MPI_Status statuses[2];
  CHECK_OK(MPI_Irecv(&got[0], 1, MPI_INT, 1, kNever, job.comm, &requests[0]));
  CHECK_OK(MPI_Irecv(&got[1], 1, MPI_INT, 0, kNever, job.comm, &requests[1]));
  CHECK_OK(MPI_Send(&sent, 1, MPI_INT, 0, kNever, job.comm));
  CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
  CHECK_CLASS(statuses[0].MPI_ERROR, MPI_ERR_OTHER);
  CHECK_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
  CHECK_EQ(got[0], kPoison);
  CHECK_EQ(got[1], 23);
}

// A buffered message, too long to be sent without a receive, to each of the others.
void send_buffered(const Job& job, std::vector<char>* buffer) {
  buffer->resize(static_cast<std::size_t>(job.size) * (kLong * sizeof(int) + MPI_BSEND_OVERHEAD));
  const std::vector<int> data(kLong, 1);
  CHECK_OK(MPI_Buffer_attach(buffer->data(), static_cast<int>(buffer->size())));
  for (int peer = 1; peer < job.size; ++peer) CHECK_OK(MPI_Bsend(data.data(), kLong, MPI_INT, peer, kNever, job.comm));
}

void detach_buffer() {
  void* address = nullptr;
  int bytes = 0;
  CHECK_OK(MPI_Buffer_detach(&address, &bytes));
}

int receive(int source, int tag, MPI_Comm comm, int* from = nullptr) {
  int value = kPoison, count = -1;
  MPI_Status status;
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, source, tag, comm, &status));
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 1);
  CHECK_EQ(status.MPI_TAG, tag);
  if (from != nullptr) *from = status.MPI_SOURCE;
  return value;
}

// Once all others have left, no process can send a message from any source.
void receive_from_any(const Job& job) {
  const std::string who =
      job.size == 2 ? "rank 1 has" : "all " + std::to_string(job.size - 1) + " processes that may send have";
  int value = kPoison;
  expect_left("MPI_Recv", MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kNever, job.comm, MPI_STATUS_IGNORE), who);
  expect_left("MPI_Probe", MPI_Probe(MPI_ANY_SOURCE, kNever, job.comm, MPI_STATUS_IGNORE), who);
  CHECK_EQ(value, kPoison);
}

void stay(const Job& job, bool threads) {
  CHECK_EQ(receive(1, kFirst, job.comm), kFirst);
  if (job.size > 2) {
    // The last rank sends only after the others have left.
    int from = -1;
    CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, kLate, job.comm, MPI_STATUS_IGNORE));
    CHECK_EQ(receive(MPI_ANY_SOURCE, kLate, job.comm, &from), kLate);
    CHECK_EQ(from, job.size - 1);
  }
  call_all(job, receiving_calls(job.comm));
  call_all(job, sending_calls(job.comm));
  wait_for_all(job);
  std::vector<char> buffer;
  send_buffered(job, &buffer);
  detach_buffer();
  for (int i = 0; i < kManyMessages; ++i) CHECK_EQ(receive(1, kOthers, job.comm), i);
  if (!threads) receive_from_any(job);  // another thread might send the message
}

void leave(const Job& job) {
  if (job.rank == 1) {
    for (int i = 0; i < kManyMessages; ++i) CHECK_OK(MPI_Send(&i, 1, MPI_INT, 0, kOthers, job.comm));
    CHECK_OK(MPI_Send(&kFirst, 1, MPI_INT, 0, kFirst, job.comm));
  } else if (job.rank == job.size - 1) {
    int value = kPoison;
    for (int peer = 1; peer < job.rank; ++peer)
      expect_left("MPI_Recv", MPI_Recv(&value, 1, MPI_INT, peer, kNever, job.comm, MPI_STATUS_IGNORE),
                  "rank " + std::to_string(peer) + " has");
    CHECK_EQ(value, kPoison);
    CHECK_OK(MPI_Send(&kLate, 1, MPI_INT, 0, kLate, job.comm));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const bool threads = how == "threads";
  int provided = 0;
  CHECK_OK(MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided));
  CHECK(provided >= (threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE));
  Job job;
  if (how == "fatal") {
    if (job.rank == 0) receive(1, kNever, job.comm);
    return MPI_Finalize();
  }
  // The errors of one communicator are returned; others would end the job.
  if (!threads) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &job.comm));
  CHECK_OK(MPI_Comm_set_errhandler(job.comm, MPI_ERRORS_RETURN));
  std::vector<char> buffer;
  if (job.rank == 0) {
    stay(job, threads);
    send_buffered(job, &buffer);  // MPI_Finalize waits until it has left
  } else {
    leave(job);
  }
  CHECK_OK(MPI_Finalize());
  return 0;
}
