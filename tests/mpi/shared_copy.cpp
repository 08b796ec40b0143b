// Long messages that sender and receiver copy together, and every reason that prevents this: the sender or the receiver
// is late, the sender may not write the receiver's memory, the receiver may not read the sender's. Arguments: the
// reason, and "channel" for a communicator on a channel (HEADRACE_CHANNELS).
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/check.hpp"
#include "common/flags.hpp"

namespace {

MPI_Comm comm = MPI_COMM_NULL;

constexpr std::size_t kGuard = 4096;
constexpr std::size_t kSizes[] = {16384, 16385, 32768, 32769, 49152, 65536, 100001, 262144, 1000003, 4194304, 9000001};

unsigned char byte_at(std::size_t at, int message) {
  return static_cast<unsigned char>((at * 2654435761U >> 11) + static_cast<unsigned>(message) * 37U);
}

void fill(unsigned char* data, std::size_t bytes, int message) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = byte_at(i, message);
}

void check_whole(const unsigned char* data, std::size_t bytes, int message) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != byte_at(i, message)) {
      check::fail(__FILE__, __LINE__,
                  "message " + std::to_string(message) + ": byte " + std::to_string(i) + " of " +
                      std::to_string(bytes) + " is wrong");
    }
  }
  for (std::size_t i = bytes; i < bytes + kGuard; ++i) CHECK_EQ(data[i], 0xaa);
}

// Exchanges one message at a time in each direction.
void one_by_one(const check::Environment& mpi, int repeats) {
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const std::size_t bytes : kSizes) {
      std::vector<unsigned char> data(bytes + kGuard, 0xaa);
      const int count = static_cast<int>(bytes);
      for (int from = 0; from < 2; ++from) {
        if (mpi.rank == from) {
          fill(data.data(), bytes, from);
          CHECK_OK(MPI_Send(data.data(), count, MPI_BYTE, 1 - from, 1, comm));
          std::memset(data.data(), 0xaa, data.size());  // the buffer may be reused
        } else {
          std::memset(data.data(), 0xaa, data.size());
          CHECK_OK(MPI_Recv(data.data(), count, MPI_BYTE, from, 1, comm, MPI_STATUS_IGNORE));
          check_whole(data.data(), bytes, from);
        }
      }
    }
  }
}

// Many messages at once in both directions, some longer than the receiver's buffer; both ranks test at random times.
void crossing(const check::Environment& mpi, unsigned seed) {
  std::mt19937 random(seed);
  constexpr int kMessages = 12;
  std::vector<std::vector<unsigned char>> out(kMessages), in(kMessages);
  std::size_t length[2][kMessages], room[2][kMessages];
  for (auto& of_rank : length) {
    for (std::size_t& bytes : of_rank) bytes = 10000 + random() % 2000000;
  }
  for (int rank = 0; rank < 2; ++rank) {
    for (int m = 0; m < kMessages; ++m)
      room[rank][m] = random() % 4 == 0 ? length[1 - rank][m] / 2 : length[1 - rank][m];
  }
  std::mt19937 own(seed * 2 + static_cast<unsigned>(mpi.rank));
  MPI_Request requests[2 * kMessages];
  MPI_Status statuses[2 * kMessages];
  const int peer = 1 - mpi.rank;
  for (int m = 0; m < kMessages; ++m) {
    in[static_cast<std::size_t>(m)].assign(room[mpi.rank][m] + kGuard, 0xaa);
    out[static_cast<std::size_t>(m)].resize(length[mpi.rank][m]);
    fill(out[static_cast<std::size_t>(m)].data(), length[mpi.rank][m], m);
  }
  for (int m = 0; m < kMessages; ++m) {
    const auto at = static_cast<std::size_t>(m);
    CHECK_OK(MPI_Irecv(in[at].data(), static_cast<int>(room[mpi.rank][m]), MPI_BYTE, peer, m, comm, &requests[m]));
    if (own() % 3 == 0) {
      int flag = 0;
      CHECK_OK(MPI_Iprobe(peer, 999, comm, &flag, MPI_STATUS_IGNORE));
    }
    CHECK_OK(
        MPI_Isend(out[at].data(), static_cast<int>(out[at].size()), MPI_BYTE, peer, m, comm, &requests[kMessages + m]));
  }
  const int code = MPI_Waitall(2 * kMessages, requests, statuses);
  bool truncated = false;
  for (int m = 0; m < kMessages; ++m) {
    const bool fits = room[mpi.rank][m] >= length[peer][m];
    truncated = truncated || !fits;
    if (code != MPI_SUCCESS) {
      CHECK_EQ(check::error_class(statuses[m].MPI_ERROR), fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    }
    check_whole(in[static_cast<std::size_t>(m)].data(), room[mpi.rank][m], m);
  }
  CHECK_EQ(code == MPI_SUCCESS, !truncated);
}

// Sends more messages in one direction than can be copied jointly at once, and more than there are shared words.
void burst(const check::Environment& mpi, unsigned seed) {
  std::mt19937 random(seed);
  constexpr int kMessages = 90;
  std::vector<std::vector<unsigned char>> data(kMessages);
  std::vector<MPI_Request> requests(kMessages);
  for (int m = 0; m < kMessages; ++m) {
    std::vector<unsigned char>& message = data[static_cast<std::size_t>(m)];
    const std::size_t bytes = 16385 + random() % 150000;
    message.assign(bytes + kGuard, 0xaa);
    MPI_Request& request = requests[static_cast<std::size_t>(m)];
    if (mpi.rank == 0) {
      fill(message.data(), bytes, m);
      CHECK_OK(MPI_Isend(message.data(), static_cast<int>(bytes), MPI_BYTE, 1, 4, comm, &request));
    } else {
      CHECK_OK(MPI_Irecv(message.data(), static_cast<int>(bytes), MPI_BYTE, 0, 4, comm, &request));
    }
  }
  CHECK_OK(MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE));
  if (mpi.rank == 0) {
    for (std::vector<unsigned char>& message : data) std::memset(message.data(), 0xaa, message.size());  // ours again
  }
  CHECK_OK(MPI_Barrier(comm));
  for (int m = 0; mpi.rank == 1 && m < kMessages; ++m) {
    const std::vector<unsigned char>& message = data[static_cast<std::size_t>(m)];
    check_whole(message.data(), message.size() - kGuard, m);
  }
}

// The receiver is outside MPI from the start of its receive until the sender has finished: the sender needs no help.
void receiver_is_away(const check::Environment& mpi) {
  check::Flags sent(mpi);
  for (int message = 1; message <= 8; ++message) {
    const std::size_t bytes = (std::size_t{16384} << message) + 5;
    std::vector<unsigned char> data(bytes + kGuard, 0xaa);
    if (mpi.rank == 0) {
      fill(data.data(), bytes, message);
      CHECK_OK(MPI_Send(data.data(), static_cast<int>(bytes), MPI_BYTE, 1, 5, comm));
      std::memset(data.data(), 0xaa, data.size());  // the buffer is free again
      sent.set(message);
    } else {
      MPI_Request request;
      CHECK_OK(MPI_Probe(0, 5, comm, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Irecv(data.data(), static_cast<int>(bytes), MPI_BYTE, 0, 5, comm, &request));
      sent.await(0, message);
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      check_whole(data.data(), bytes, message);
    }
  }
}

// The sender is outside MPI from the start of the receive to its end: the receiver needs no help.
void sender_is_away(const check::Environment& mpi) {
  check::Flags received(mpi);
  for (int message = 1; message <= 8; ++message) {
    const std::size_t bytes = std::size_t{65536} << message;
    std::vector<unsigned char> data(bytes + kGuard, 0xaa);
    if (mpi.rank == 0) {
      fill(data.data(), bytes, message);
      MPI_Request request;
      CHECK_OK(MPI_Isend(data.data(), static_cast<int>(bytes), MPI_BYTE, 1, 3, comm, &request));
      received.await(1, message);
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      CHECK_OK(MPI_Recv(data.data(), static_cast<int>(bytes), MPI_BYTE, 0, 3, comm, MPI_STATUS_IGNORE));
      received.set(message);
      check_whole(data.data(), bytes, message);
    }
  }
}

// The sender's ring is full when it is asked for help, and it leaves MPI after a call in which it may have helped: the
// receiver must not need an answer that still waits for space.
void answer_has_no_space(const check::Environment& mpi) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr int kShort = 300;  // more than a ring takes
  check::Flags filled(mpi), received(mpi);
  std::vector<unsigned char> data(kBytes + kGuard, 0xaa);
  std::vector<int> values(kShort);
  std::vector<MPI_Request> requests(kShort + 1, MPI_REQUEST_NULL);
  for (int message = 1; message <= 3; ++message) {
    if (mpi.rank == 0) {
      fill(data.data(), kBytes, message);
      CHECK_OK(MPI_Isend(data.data(), kBytes, MPI_BYTE, 1, 6, comm, &requests.back()));
      for (int i = 0; i < kShort; ++i) {
        values[static_cast<std::size_t>(i)] = message * 1000 + i;
        CHECK_OK(MPI_Isend(&values[static_cast<std::size_t>(i)], 1, MPI_INT, 1, 7, comm,
                           &requests[static_cast<std::size_t>(i)]));
      }
      filled.set(message);
      for (int sent = 0; sent == 0;) {
        const double begun = MPI_Wtime();
        CHECK_OK(MPI_Test(&requests.back(), &sent, MPI_STATUS_IGNORE));
        if (MPI_Wtime() - begun > 1e-3) break;  // it has helped
      }
      received.await(1, message);
      CHECK_OK(MPI_Waitall(kShort + 1, requests.data(), MPI_STATUSES_IGNORE));
    } else {
      std::memset(data.data(), 0xaa, data.size());
      MPI_Request request;
      CHECK_OK(MPI_Irecv(data.data(), kBytes, MPI_BYTE, 0, 6, comm, &request));
      filled.await(0, message);
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      received.set(message);
      check_whole(data.data(), kBytes, message);
      for (int i = 0; i < kShort; ++i) {
        int value = 0;
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE));
        CHECK_EQ(value, message * 1000 + i);
      }
    }
  }
}

// Makes this system call fail with EPERM in all threads of this process from now on.
void forbid(long call) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof rules / sizeof *rules, rules};
  CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  CHECK_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program), 0);
}

// The CPU may read this memory, but another process may not: the middle of the buffer is mapped for writing only.
void partly_unreadable(const check::Environment& mpi) {
  constexpr std::size_t kBytes = std::size_t{3} << 20;
  for (int repeat = 0; repeat < 6; ++repeat) {
    if (mpi.rank == 0) {
      auto* data = static_cast<unsigned char*>(
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      CHECK_EQ(data == MAP_FAILED, false);
      fill(data, kBytes, repeat);
      CHECK_EQ(mprotect(data + (kBytes / 8) * static_cast<std::size_t>(repeat), kBytes / 8, PROT_WRITE), 0);
      CHECK_OK(MPI_Send(data, kBytes, MPI_BYTE, 1, 2, comm));
      CHECK_EQ(munmap(data, kBytes), 0);
    } else {
      std::vector<unsigned char> data(kBytes + kGuard, 0xaa);
      CHECK_OK(MPI_Recv(data.data(), kBytes, MPI_BYTE, 0, 2, comm, MPI_STATUS_IGNORE));
      check_whole(data.data(), kBytes, repeat);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool on_channel = argc > 2 && std::string(argv[2]) == "channel";
  const check::Environment mpi(&argc, &argv, 2, on_channel ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  unsigned seed = std::random_device{}();
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, comm));
  if (mpi.rank == 0) std::printf("seed %u\n", seed);

  one_by_one(mpi, 3);
  for (unsigned round = 0; round < 6; ++round) crossing(mpi, seed + round);
  burst(mpi, seed);
  if (mode == "away") {
    sender_is_away(mpi);
    receiver_is_away(mpi);
    answer_has_no_space(mpi);
  }
  if (mode == "unreadable") partly_unreadable(mpi);
  if (mode == "no_write" && mpi.rank == 0) forbid(SYS_process_vm_writev);
  if (mode == "no_read" && mpi.rank == 1) forbid(SYS_process_vm_readv);
  if (mode == "neither" && mpi.rank == 0) {
    forbid(SYS_process_vm_writev);
    forbid(SYS_process_vm_readv);
  }
  burst(mpi, seed + 1);
  one_by_one(mpi, 3);
  for (unsigned round = 0; round < 6; ++round) crossing(mpi, seed + 100 + round);
  burst(mpi, seed + 2);
  CHECK_OK(MPI_Comm_free(&comm));
  return 0;
}
