// Thousands of random messages between all ranks (types, sizes, memory kinds, modes, order, wildcards), every byte of
// every buffer checked against a reference that all ranks compute from one seed.
//
//   random_exchange [--seed N | --seed random] [--exchanges N] [--largest BYTES] [--kinds host,device,...]
//                   [--until FILE]
//
// With --until, the run is repeated until rank 0 finds that file. Without --kinds: all kinds if there is a CUDA driver
// (real or the tests' own), otherwise host; half of the buffers are on the device of the rank, the others on any. To
// repeat a failure, use the seed and --exchanges (the index in the message plus one).
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "../common/check.hpp"
#include "endpoint.hpp"
#include "plan.hpp"

namespace random_exchange {
namespace {

// Batches may overlap in time between ranks, so adjacent ones have different communicators: a wildcard must not match
// the next batch's message.
constexpr int kCommunicators = 8;

class Player {
 public:
  Player(const Settings& settings, int rank) : settings_(settings), rank_(rank) {
    for (MPI_Comm& comm : comms_) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  }
  ~Player() {
    for (MPI_Comm& comm : comms_) CHECK_OK(MPI_Comm_free(&comm));
  }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  void play(const Batch& batch) {
    const int lane = batch.number % kCommunicators;
    if (lane == 0) CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    const MPI_Comm comm = comms_[lane];
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::vector<Endpoint*> expected;  // to be received through probes with wildcards
    for (const Exchange& exchange : batch.exchanges) {
      // The receive comes first because a message to this rank itself may be sent synchronously.
      if (exchange.target == rank_) {
        endpoints.push_back(std::make_unique<Endpoint>(settings_, exchange, Endpoint::Side::kReceive));
        if (batch.wild) expected.push_back(endpoints.back().get());
        if (exchange.source != rank_ || posts(exchange)) endpoints.back()->start(comm);
      }
      if (exchange.source == rank_) {
        Endpoint* receive = exchange.target == rank_ ? endpoints.back().get() : nullptr;
        endpoints.push_back(std::make_unique<Endpoint>(settings_, exchange, Endpoint::Side::kSend));
        endpoints.back()->start(comm);
        if (receive != nullptr && !posts(exchange)) receive->start(comm);
      }
    }
    if (batch.wild) take_anything(comm, expected);
    complete(batch, endpoints);
    for (const auto& endpoint : endpoints) endpoint->finish();
  }

 private:
  static bool posts(const Exchange& exchange) {
    return exchange.receive == ReceiveHow::kIrecv || exchange.receive == ReceiveHow::kPersistent;
  }

  static void take_anything(MPI_Comm comm, const std::vector<Endpoint*>& expected) {
    for (std::size_t n = 0; n < expected.size(); ++n) {
      MPI_Message message;
      MPI_Status status;
      CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status));
      Endpoint* found = nullptr;
      for (Endpoint* endpoint : expected) {
        if (endpoint->exchange().tag == status.MPI_TAG) found = endpoint;
      }
      if (found == nullptr) check::fail(__FILE__, __LINE__, "a message with tag " + std::to_string(status.MPI_TAG));
      found->receive_matched(&message, &status);
    }
  }

  // Completes all started requests with one of MPI's functions.
  void complete(const Batch& batch, const std::vector<std::unique_ptr<Endpoint>>& endpoints) const {
    std::vector<Endpoint*> open;
    for (const auto& endpoint : endpoints) {
      if (endpoint->request() != MPI_REQUEST_NULL) open.push_back(endpoint.get());
    }
    Generator random =
        generator(settings_.seed, static_cast<std::uint64_t>(batch.number), 100 + static_cast<std::uint64_t>(rank_));
    for (std::size_t i = open.size(); i > 1; --i) {
      std::swap(open[i - 1], open[static_cast<std::size_t>(draw(random, 0, static_cast<int>(i) - 1))]);
    }
    const int count = static_cast<int>(open.size());
    std::vector<MPI_Request> requests;
    for (Endpoint* endpoint : open) requests.push_back(endpoint->request());
    std::vector<MPI_Status> statuses(open.size());
    switch (draw(random, 0, 3)) {
      case 0:
        CHECK_OK(MPI_Waitall(count, requests.data(), statuses.data()));
        break;
      case 1:
        for (int n = 0; n < count; ++n) {
          int index = -1;
          MPI_Status status;
          CHECK_OK(MPI_Waitany(count, requests.data(), &index, &status));
          statuses[static_cast<std::size_t>(index)] = status;
        }
        break;
      case 2:
        for (int done = 0; done < count;) {
          int some = 0;
          std::vector<int> indices(open.size());
          std::vector<MPI_Status> theirs(open.size());
          CHECK_OK(MPI_Testsome(count, requests.data(), &some, indices.data(), theirs.data()));
          for (int s = 0; s < some; ++s) {
            const auto at = static_cast<std::size_t>(s);
            statuses[static_cast<std::size_t>(indices[at])] = theirs[at];
          }
          done += some;
        }
        break;
      default:
        for (std::size_t i = 0; i < open.size(); ++i) CHECK_OK(MPI_Wait(&requests[i], &statuses[i]));
        break;
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      open[i]->request() = requests[i];
      open[i]->status() = statuses[i];
    }
  }

  const Settings& settings_;
  int rank_;
  MPI_Comm comms_[kCommunicators];
};

std::vector<hr::test::MemoryKind> kinds_of(const std::string& text) {
  std::vector<hr::test::MemoryKind> kinds;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    for (const hr::test::MemoryKind kind : hr::test::kAllKinds) {
      if (text.substr(from, comma - from) == hr::test::name_of(kind)) kinds.push_back(kind);
    }
    from = comma + 1;
  }
  return kinds;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  if (gpu::available()) settings.kinds.assign(std::begin(hr::test::kAllKinds), std::end(hr::test::kAllKinds));
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--seed")
      settings.seed = value == "random" ? static_cast<std::uint64_t>(std::time(nullptr))
                                        : std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--exchanges")
      settings.exchanges = std::atoi(value.c_str());
    else if (name == "--largest")
      settings.largest = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--kinds")
      settings.kinds = kinds_of(value);
    else if (name == "--until")
      settings.until = value;
    else
      check::fail(__FILE__, __LINE__, "unknown option " + name);
  }
  CHECK(!settings.kinds.empty());
  // Ranks may see different numbers of devices.
  settings.devices = gpu::device_count();
  CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &settings.devices, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  CHECK_OK(MPI_Bcast(&settings.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));  // a random seed differs between ranks
  return settings;
}

void select_gpu() {
  MPI_Comm node;
  int rank = 0;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  CHECK_OK(MPI_Comm_rank(node, &rank));
  CHECK_OK(MPI_Comm_free(&node));
  gpu::select(rank);
}

bool once_more(const Settings& settings) {
  int more = !settings.until.empty() && ::access(settings.until.c_str(), F_OK) != 0 ? 1 : 0;
  CHECK_OK(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
  return more != 0;
}

void run(int argc, char** argv, const check::Environment& mpi) {
  const Settings settings = parse(argc, argv);
  if (gpu::available()) select_gpu();
  const std::vector<Batch> plan = make_plan(settings, mpi.size);
  if (mpi.rank == 0) {
    std::size_t bytes = 0;
    for (const Batch& batch : plan) {
      for (const Exchange& exchange : batch.exchanges) bytes += exchange.bytes();
    }
    std::printf(
        "random_exchange: seed %llu, %d exchanges in %zu batches, %zu bytes, %zu memory kinds, %d devices, %d ranks\n",
        static_cast<unsigned long long>(settings.seed), settings.exchanges, plan.size(), bytes, settings.kinds.size(),
        settings.devices, mpi.size);
    std::fflush(stdout);
  }
  std::vector<char> attached(20 * (70000 + MPI_BSEND_OVERHEAD));
  CHECK_OK(MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())));
  {
    Player player(settings, mpi.rank);
    do {
      for (const Batch& batch : plan) player.play(batch);
    } while (once_more(settings));
  }
  void* detached = nullptr;
  int size = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &size));
}

}  // namespace
}  // namespace random_exchange

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  random_exchange::run(argc, argv, mpi);
}
