// Threads that exchange messages on channels, and record them: threads <directory> <threads> <rounds>.
//
// Each thread of the two ranks has its own communicator and window; it sends messages of every kind to the other rank
// and to itself, and accesses the other rank's memory. After half of them, every rank writes <directory>/<rank>.half
// and waits for <directory>/on; in the end, it writes <directory>/<rank>.json and stays until <directory>/go exists:
// rank 0 outside MPI, rank 1 in MPI_Recv on a channel. Meanwhile check.py reads the pages.
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../common/check.hpp"

namespace {

struct Known {
  std::map<std::string, std::uint64_t> calls, messages, bytes, sizes, sent_in, accesses, accessed;
  void add(const Known& other) {
    const auto all = [](auto& to, const auto& from) {
      for (const auto& [key, value] : from) to[key] += value;
    };
    all(calls, other.calls), all(messages, other.messages), all(bytes, other.bytes), all(sizes, other.sizes);
    all(sent_in, other.sent_in), all(accesses, other.accesses), all(accessed, other.accessed);
  }
  void called(const char* function) { ++calls[function]; }
  void sent(const char* function, int to, std::size_t length) {
    ++messages[std::to_string(to)];
    bytes[std::to_string(to)] += length;
    ++sizes[std::to_string(std::bit_width(length | 1) - 1)];
    sent_in[function] += length;
  }
};

std::string json(const std::map<std::string, std::uint64_t>& table) {
  std::string out = "{";
  for (const auto& [key, value] : table) out += (out.size() > 1 ? ",\"" : "\"") + key + "\":" + std::to_string(value);
  return out + "}";
}

constexpr int kLengths[] = {0, 8, 3000, 100'000};

// Receives by one of several methods.
void receive(int way, void* data, int bytes, int source, int tag, MPI_Comm comm, Known& known) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  int flag = 0;
  switch (way % 5) {
    case 0:
      CHECK_OK(MPI_Recv(data, bytes, MPI_BYTE, source, tag, comm, MPI_STATUS_IGNORE));
      return known.called("MPI_Recv");
    case 1:
      CHECK_OK(MPI_Irecv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      return known.called("MPI_Irecv"), known.called("MPI_Wait");
    case 2:
      CHECK_OK(MPI_Irecv(data, bytes, MPI_BYTE, source, tag, comm, &request));
      known.called("MPI_Irecv");
      while (flag == 0) CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE)), known.called("MPI_Test");
      return;
    case 3:
      CHECK_OK(MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Mrecv(data, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE));
      return known.called("MPI_Mprobe"), known.called("MPI_Mrecv");
    default:
      CHECK_OK(MPI_Recv_init(data, bytes, MPI_BYTE, source, tag, comm, &request));
      CHECK_OK(MPI_Start(&request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Request_free(&request));
      for (const char* each : {"MPI_Recv_init", "MPI_Start", "MPI_Wait", "MPI_Request_free"}) known.called(each);
  }
}

// Sends by one of several methods.
void send(int way, const void* data, int bytes, int to, int peer, int tag, MPI_Comm comm, Known& known) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const auto length = static_cast<std::size_t>(bytes);
  const char* name = "MPI_Send";
  switch (way % 5) {
    case 0:
      CHECK_OK(MPI_Send_c(data, bytes, MPI_BYTE, to, tag, comm));
      break;
    case 1:
      name = "MPI_Isend";
      CHECK_OK(MPI_Isend(data, bytes, MPI_BYTE, to, tag, comm, requests));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      known.called("MPI_Waitall");
      break;
    case 2:
      name = "MPI_Ssend";
      CHECK_OK(MPI_Ssend(data, bytes, MPI_BYTE, to, tag, comm));
      break;
    case 3:
      name = "MPI_Bsend";
      CHECK_OK(MPI_Bsend(data, bytes, MPI_BYTE, to, tag, comm));
      break;
    default:
      name = "MPI_Start";
      CHECK_OK(MPI_Send_init(data, bytes, MPI_BYTE, to, tag, comm, requests));
      CHECK_OK(MPI_Start(requests));
      CHECK_OK(MPI_Wait(requests, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Request_free(requests));
      for (const char* each : {"MPI_Send_init", "MPI_Wait", "MPI_Request_free"}) known.called(each);
  }
  known.called(name);
  known.sent(name, peer, length);
}

// Accesses the other rank's memory with calls that need no lock of the library.
void access(MPI_Win window, int peer, Known& known) {
  const std::int64_t data[4] = {1, 2, 3, 4};
  std::int64_t found[4];
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window));
  CHECK_OK(MPI_Put(data, 4, MPI_INT64_T, peer, 0, 4, MPI_INT64_T, window));
  CHECK_OK(MPI_Win_flush(peer, window));
  CHECK_OK(MPI_Get(found, 2, MPI_INT64_T, peer, 0, 2, MPI_INT64_T, window));
  CHECK_OK(MPI_Accumulate(data, 1, MPI_INT64_T, peer, 0, 1, MPI_INT64_T, MPI_SUM, window));
  CHECK_OK(MPI_Fetch_and_op(data, found, MPI_INT64_T, peer, 0, MPI_SUM, window));
  CHECK_OK(MPI_Compare_and_swap(data, data, found, MPI_INT64_T, peer, 0, window));
  CHECK_OK(MPI_Win_unlock(peer, window));
  for (const char* each : {"MPI_Win_lock", "MPI_Put", "MPI_Win_flush", "MPI_Get", "MPI_Accumulate", "MPI_Fetch_and_op",
                           "MPI_Compare_and_swap", "MPI_Win_unlock"})
    known.called(each);
  const auto count = [&known](const char* kind, std::uint64_t calls, std::uint64_t bytes) {
    known.accesses[kind] += calls;
    known.accessed[kind] += bytes;
  };
  count("put", 1, 32), count("get", 1, 16), count("accumulate", 1, 8), count("fetch", 2, 16);
}

void talk(int rank, MPI_Comm comm, int rounds, Known& known) {
  const int peer = 1 - rank;
  std::vector<char> out(kLengths[3] + 8, 'x'), in(kLengths[3] + 8);
  for (int i = 0; i < rounds; ++i) {
    const int bytes = kLengths[i % 4];
    const int way = i / 4;
    for (const int sender : {0, 1}) {
      if (rank == sender) send(way, out.data(), bytes, peer, peer, 1, comm, known);
      if (rank != sender) receive(way, in.data(), bytes, peer, 1, comm, known);
    }
    CHECK_OK(MPI_Sendrecv(out.data(), bytes, MPI_BYTE, peer, 2, in.data(), bytes, MPI_BYTE, peer, 2, comm,
                          MPI_STATUS_IGNORE));
    known.called("MPI_Sendrecv");
    known.sent("MPI_Sendrecv", peer, static_cast<std::size_t>(bytes));
    // To itself.
    MPI_Request request;
    CHECK_OK(MPI_Irecv(in.data(), bytes, MPI_BYTE, rank, 3, comm, &request));
    known.called("MPI_Irecv");
    send(way, out.data(), bytes, rank, rank, 3, comm, known);
    int index = -1;
    CHECK_OK(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
    known.called("MPI_Waitany");
    MPI_Request none;
    CHECK_OK(MPI_Isend(out.data(), 8, MPI_BYTE, MPI_PROC_NULL, 3, comm, &none));
    CHECK_OK(MPI_Wait(&none, MPI_STATUS_IGNORE));
    known.called("MPI_Isend"), known.called("MPI_Wait");
  }
}

// Returns a handle for the performance variable.
MPI_T_pvar_handle variable(const char* wanted, MPI_T_pvar_session session) {
  int number = 0;
  CHECK_OK(MPI_T_pvar_get_num(&number));
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  for (int i = 0; i < number; ++i) {
    char name[256];
    int length = sizeof name, kind = 0, detail = 0, bind = 0, readonly = 0, continuous = 0, atomic = 0, count = 0;
    MPI_Datatype type;
    CHECK_OK(MPI_T_pvar_get_info(i, name, &length, &detail, &kind, &type, nullptr, nullptr, nullptr, &bind, &readonly,
                                 &continuous, &atomic));
    if (std::strcmp(name, wanted) == 0) CHECK_OK(MPI_T_pvar_handle_alloc(session, i, nullptr, &handle, &count));
  }
  CHECK(handle != MPI_T_PVAR_HANDLE_NULL);
  return handle;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string directory = argv[1];
  const int threads = std::stoi(argv[2]);
  const int rounds = std::stoi(argv[3]);
  int provided = 0;
  CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  const int rank = check::world_rank();
  std::vector<char> buffer(std::size_t{64} << 20);
  CHECK_OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
  std::vector<MPI_Comm> comms(static_cast<std::size_t>(threads));
  for (MPI_Comm& each : comms) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &each));
  std::vector<MPI_Win> windows(comms.size());
  for (MPI_Win& each : windows) {
    void* base = nullptr;
    CHECK_OK(MPI_Win_allocate(32, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &each));
  }
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  MPI_T_pvar_session session;
  CHECK_OK(MPI_T_pvar_session_create(&session));
  const MPI_T_pvar_handle sent = variable("HEADRACE_SENT_MESSAGES_HOST_MEMORY", session);
  std::uint64_t before = 0, after = 0;
  CHECK_OK(MPI_T_pvar_start(session, sent));
  CHECK_OK(MPI_T_pvar_read(session, sent, &before));
  Known all;
  std::mutex of_all;
  const auto run = [&](std::size_t thread) {
    Known known;
    talk(rank, comms[thread], rounds, known);
    for (int i = 0; i < rounds; ++i) access(windows[thread], 1 - rank, known);
    const std::lock_guard<std::mutex> guard(of_all);
    all.add(known);
  };
  for (int again = 0; again < 2; ++again) {  // new threads reuse the parts of those that have ended
    std::vector<std::thread> running;
    for (std::size_t thread = 0; thread < comms.size(); ++thread) running.emplace_back(run, thread);
    for (std::thread& each : running) each.join();
    if (again == 1) break;
    std::ofstream(directory + "/" + std::to_string(rank) + ".half");
    while (::access((directory + "/on").c_str(), F_OK) != 0) ::usleep(1000);
  }
  std::uint64_t messages = 0;
  for (const auto& [peer, number] : all.messages) messages += number;
  CHECK_OK(MPI_T_pvar_read(session, sent, &after));
  CHECK_EQ(after - before, messages);
  CHECK_OK(MPI_T_pvar_session_free(&session));
  CHECK_OK(MPI_T_finalize());
  std::ofstream(directory + "/" + std::to_string(rank) + ".part")
      << "{\"calls\":" << json(all.calls) << ",\"messages\":" << json(all.messages) << ",\"bytes\":" << json(all.bytes)
      << ",\"sizes\":" << json(all.sizes) << ",\"sent_in\":" << json(all.sent_in)
      << ",\"accesses\":" << json(all.accesses) << ",\"accessed\":" << json(all.accessed) << "}";
  std::rename((directory + "/" + std::to_string(rank) + ".part").c_str(),
              (directory + "/" + std::to_string(rank) + ".json").c_str());
  // Rank 1 waits on a channel; rank 0 makes no MPI calls, as during computation.
  if (rank == 1) CHECK_OK(MPI_Recv(nullptr, 0, MPI_BYTE, 0, 9, comms[0], MPI_STATUS_IGNORE));
  while (::access((directory + "/go").c_str(), F_OK) != 0) ::usleep(1000);
  if (rank == 0) CHECK_OK(MPI_Send(nullptr, 0, MPI_BYTE, 1, 9, comms[0]));
  for (MPI_Win& each : windows) CHECK_OK(MPI_Win_free(&each));
  for (MPI_Comm& each : comms) CHECK_OK(MPI_Comm_free(&each));
  void* detached = nullptr;
  int size = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &size));
  return MPI_Finalize();
}
