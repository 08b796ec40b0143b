// Sends random messages of all kinds, and records them: known <directory> <seed> <messages> [device].
//
// Every rank writes <directory>/<rank>.json and stays until <directory>/go exists; check.py compares the files with the
// ranks' pages of counters.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../common/check.hpp"
#include "gpu.hpp"

namespace {

enum Mode { kPlain, kSynchronous, kBuffered, kReadyMade, kPersistent, kStrided, kModes };

struct Message {
  int from, to;
  std::size_t ints;
  Mode mode;
  bool from_device, to_device;
};

// Returns the same messages on all ranks.
std::vector<Message> plan(unsigned seed, int count, int ranks, bool devices) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned limit) { return random() % limit; };
  std::vector<Message> messages;
  for (int i = 0; i < count; ++i) {
    Message message{};
    message.from = static_cast<int>(below(static_cast<unsigned>(ranks)));
    message.to = static_cast<int>(below(static_cast<unsigned>(ranks)));
    message.ints = below(8) == 0 ? 0 : below(1U << below(18));
    message.mode = static_cast<Mode>(below(kModes));
    message.from_device = devices && below(2) == 0;
    message.to_device = devices && below(2) == 0;
    if (message.mode == kBuffered) message.ints = std::min<std::size_t>(message.ints, 4096);
    messages.push_back(message);
  }
  return messages;
}

// Has twice as many ints as the longest message needs, for strides.
class Buffer {
 public:
  Buffer(std::size_t ints, bool device) : bytes_(std::max<std::size_t>(2 * ints, 1) * sizeof(int)), device_(device) {
    data_ = device ? gpu::allocate(bytes_, gpu::Memory::kDevice) : std::malloc(bytes_);
  }
  ~Buffer() { device_ ? gpu::free(data_) : std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void fill(unsigned char value) {
    device_ ? gpu::fill(data_, value, bytes_) : void(std::memset(data_, value, bytes_));
  }
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_;
  std::size_t bytes_;
  bool device_;
};

struct Known {
  std::map<int, std::uint64_t> messages, bytes;
  std::map<std::size_t, std::uint64_t> sizes;
  std::map<std::string, std::uint64_t> calls, of_memory, of_memory_bytes, into_memory;
  std::uint64_t received = 0, received_bytes = 0;

  void sent(const Message& message) {
    const std::size_t length = message.ints * sizeof(int);
    ++messages[message.to];
    bytes[message.to] += length;
    ++sizes[static_cast<std::size_t>(std::bit_width(length | 1)) - 1];
    const char* memory = message.from_device ? "device" : "host";
    ++of_memory[memory];
    of_memory_bytes[memory] += length;
  }
};

template <class Key>
std::string json(const std::map<Key, std::uint64_t>& table) {
  std::string out = "{";
  for (const auto& [key, value] : table) {
    if (value == 0) continue;
    out += out.size() > 1 ? "," : "";
    if constexpr (std::is_same_v<Key, std::string>) {
      out += "\"" + key + "\":" + std::to_string(value);
    } else {
      out += "\"" + std::to_string(key) + "\":" + std::to_string(value);
    }
  }
  return out + "}";
}

struct Started {
  std::vector<MPI_Request> requests;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<MPI_Request> persistent;
};

MPI_Datatype strided(std::size_t ints) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(static_cast<int>(ints), 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

void send(const Message& message, int tag, Started& started, Known& known) {
  auto& buffer = *started.buffers.emplace_back(std::make_unique<Buffer>(message.ints, message.from_device));
  buffer.fill(static_cast<unsigned char>(tag));
  const int count = static_cast<int>(message.ints);
  MPI_Request request = MPI_REQUEST_NULL;
  known.sent(message);
  switch (message.mode) {
    case kSynchronous:
      MPI_Issend(buffer.data(), count, MPI_INT, message.to, tag, MPI_COMM_WORLD, &request);
      ++known.calls["MPI_Issend"];
      break;
    case kBuffered:
      // Buffered data is in host memory.
      if (message.from_device) {
        const std::uint64_t length = message.ints * sizeof(int);
        --known.of_memory["device"], ++known.of_memory["host"];
        known.of_memory_bytes["device"] -= length, known.of_memory_bytes["host"] += length;
      }
      MPI_Ibsend(buffer.data(), count, MPI_INT, message.to, tag, MPI_COMM_WORLD, &request);
      ++known.calls["MPI_Ibsend"];
      break;
    case kPersistent:
      MPI_Send_init(buffer.data(), count, MPI_INT, message.to, tag, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
      ++known.calls["MPI_Send_init"], ++known.calls["MPI_Start"];
      started.persistent.push_back(request);
      break;
    case kStrided: {
      MPI_Datatype type = strided(message.ints);
      MPI_Isend(buffer.data(), 1, type, message.to, tag, MPI_COMM_WORLD, &request);
      MPI_Type_free(&type);
      ++known.calls["MPI_Isend"];
      break;
    }
    default:
      MPI_Isend(buffer.data(), count, MPI_INT, message.to, tag, MPI_COMM_WORLD, &request);
      ++known.calls["MPI_Isend"];
  }
  started.requests.push_back(request);
}

void receive(const Message& message, int tag, Started& started, Known& known) {
  auto& buffer = *started.buffers.emplace_back(std::make_unique<Buffer>(message.ints, message.to_device));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(buffer.data(), static_cast<int>(message.ints), MPI_INT, message.from, tag, MPI_COMM_WORLD, &request);
  ++known.calls["MPI_Irecv"];
  ++known.received;
  known.received_bytes += message.ints * sizeof(int);
  started.requests.push_back(request);
}

void finish(Started& started, Known& known) {
  std::vector<MPI_Request>& all = started.requests;
  MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
  ++known.calls["MPI_Waitall"];
  for (MPI_Request& each : started.persistent) MPI_Request_free(&each);
  started = {};
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  const std::string directory = argv[1];
  const auto seed = static_cast<unsigned>(std::atoi(argv[2]));
  const bool devices = argc > 4 && gpu::available();
  if (devices) gpu::select(mpi.rank);
  std::vector<char> attached(1U << 22);
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));

  Known known;
  Started started;
  const std::vector<Message> messages = plan(seed, std::atoi(argv[3]), mpi.size, devices);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const int tag = static_cast<int>(i);
    // Half of the messages arrive before their receive is posted.
    if (message.to == mpi.rank && i % 2 == 0) receive(message, tag, started, known);
    if (message.from == mpi.rank) send(message, tag, started, known);
    if (message.to == mpi.rank && i % 2 != 0) receive(message, tag, started, known);
    if (i % 16 == 15 || i + 1 == messages.size()) finish(started, known);
  }
  void* detached = nullptr;
  int size = 0;
  MPI_Buffer_detach(&detached, &size);
  for (int i = 1; i <= 3; ++i) MPI_Pcontrol(i);
  MPI_Barrier(MPI_COMM_WORLD);

  const std::string path = directory + "/" + std::to_string(mpi.rank) + ".json";
  std::ofstream(path + ".new") << "{\"messages\":" << json(known.messages) << ",\"bytes\":" << json(known.bytes)
                               << ",\"sizes\":" << json(known.sizes) << ",\"calls\":" << json(known.calls)
                               << ",\"memory\":" << json(known.of_memory)
                               << ",\"memory_bytes\":" << json(known.of_memory_bytes)
                               << ",\"received\":" << known.received << ",\"received_bytes\":" << known.received_bytes
                               << "}";
  std::rename((path + ".new").c_str(), path.c_str());
  while (::access((directory + "/go").c_str(), F_OK) != 0) ::usleep(2000);
  return 0;
}
