// Flushes of the buffers of buffered sends (MPI 5.0 section 3.6), at process, communicator and session level: a flush
// completes once all messages in the buffer have, and then the buffer can be reused.
#include <vector>

#include "../common/check.hpp"

namespace {

enum class Owner { kProcess, kComm, kSession };
enum Tag { kData, kFlushed, kSeen };

constexpr int kBytes = 4 << 20;  // too long to be sent before its receive is posted

// A buffer for one message, and a communicator whose buffered sends use it.
class Attached {
 public:
  explicit Attached(Owner owner) : owner_(owner), memory_(kBytes + MPI_BSEND_OVERHEAD) {
    const int room = static_cast<int>(memory_.size());
    MPI_Group group = MPI_GROUP_NULL;
    switch (owner) {
      case Owner::kProcess:
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        CHECK_OK(MPI_Buffer_attach(memory_.data(), room));
        break;
      case Owner::kComm:
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        CHECK_OK(MPI_Comm_attach_buffer(comm, memory_.data(), room));
        break;
      case Owner::kSession:
        CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session_));
        CHECK_OK(MPI_Session_attach_buffer(session_, memory_.data(), room));
        CHECK_OK(MPI_Group_from_session_pset(session_, "mpi://WORLD", &group));
        CHECK_OK(MPI_Comm_create_from_group(group, "handle_buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        CHECK_OK(MPI_Group_free(&group));
        break;
    }
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  }
  ~Attached() {
    void* address = nullptr;
    int size = -1;
    if (owner_ == Owner::kProcess) CHECK_OK(MPI_Buffer_detach(static_cast<void*>(&address), &size));
    if (owner_ == Owner::kComm) CHECK_OK(MPI_Comm_detach_buffer(comm, static_cast<void*>(&address), &size));
    if (owner_ == Owner::kSession) CHECK_OK(MPI_Session_detach_buffer(session_, static_cast<void*>(&address), &size));
    CHECK(address == memory_.data());
    CHECK_EQ(size, memory_.size());
    CHECK_OK(MPI_Comm_free(&comm));
    if (owner_ == Owner::kSession) CHECK_OK(MPI_Session_finalize(&session_));
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

  void flush() {
    if (owner_ == Owner::kProcess) CHECK_OK(MPI_Buffer_flush());
    if (owner_ == Owner::kComm) CHECK_OK(MPI_Comm_flush_buffer(comm));
    if (owner_ == Owner::kSession) CHECK_OK(MPI_Session_flush_buffer(session_));
  }
  MPI_Request iflush() {
    MPI_Request request = MPI_REQUEST_NULL;
    if (owner_ == Owner::kProcess) CHECK_OK(MPI_Buffer_iflush(&request));
    if (owner_ == Owner::kComm) CHECK_OK(MPI_Comm_iflush_buffer(comm, &request));
    if (owner_ == Owner::kSession) CHECK_OK(MPI_Session_iflush_buffer(session_, &request));
    CHECK(request != MPI_REQUEST_NULL);
    return request;
  }

  MPI_Comm comm = MPI_COMM_NULL;

 private:
  Owner owner_;
  std::vector<char> memory_;
  MPI_Session session_ = MPI_SESSION_NULL;
};

void receive(MPI_Comm comm, int from, char value) {
  std::vector<char> data(kBytes, '-');
  CHECK_OK(MPI_Recv(data.data(), kBytes, MPI_CHAR, from, kData, comm, MPI_STATUS_IGNORE));
  for (char each : data) CHECK_EQ(each, value);
}

// Sends twice to this process itself: the request does not complete before the message is received; afterwards the
// buffer is free.
void to_self(Owner owner) {
  Attached buffer(owner);
  int rank = -1;
  CHECK_OK(MPI_Comm_rank(buffer.comm, &rank));
  std::vector<char> data(kBytes);
  for (char value : {'a', 'b'}) {
    data.assign(data.size(), value);
    CHECK_OK(MPI_Bsend(data.data(), kBytes, MPI_CHAR, rank, kData, buffer.comm));
    MPI_Request request = buffer.iflush();
    if (check::headrace()) {
      int flag = -1;
      CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
      CHECK_EQ(flag, 0);
      CHECK_CLASS(MPI_Bsend(data.data(), kBytes, MPI_CHAR, rank, kData, buffer.comm), MPI_ERR_BUFFER);
    }
    receive(buffer.comm, rank, value);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    buffer.flush();
  }
}

// Rank 1 receives late: rank 0 must not return from its flush before that.
void to_other(Owner owner) {
  Attached buffer(owner);
  int rank = -1;
  CHECK_OK(MPI_Comm_rank(buffer.comm, &rank));
  if (rank == 0) {
    std::vector<char> data(kBytes, 'c');
    CHECK_OK(MPI_Bsend(data.data(), kBytes, MPI_CHAR, 1, kData, buffer.comm));
    buffer.flush();
    CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 1, kFlushed, buffer.comm));
    // The buffer is empty, so another message fits immediately.
    data.assign(data.size(), 'd');
    CHECK_OK(MPI_Bsend(data.data(), kBytes, MPI_CHAR, 1, kData, buffer.comm));
    CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 1, kSeen, buffer.comm, MPI_STATUS_IGNORE));
  } else if (rank == 1) {
    int flag = 0;
    const double end = MPI_Wtime() + 0.05;
    while (flag == 0 && MPI_Wtime() < end) CHECK_OK(MPI_Iprobe(0, kFlushed, buffer.comm, &flag, MPI_STATUS_IGNORE));
    if (check::headrace()) CHECK_EQ(flag, 0);
    receive(buffer.comm, 0, 'c');
    CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 0, kFlushed, buffer.comm, MPI_STATUS_IGNORE));
    receive(buffer.comm, 0, 'd');
    CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, kSeen, buffer.comm));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  for (Owner owner : {Owner::kProcess, Owner::kComm, Owner::kSession}) {
    to_self(owner);
    if (mpi.size > 1) to_other(owner);
  }
}
