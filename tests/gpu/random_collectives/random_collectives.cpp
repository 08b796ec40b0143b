// Hundreds of random collectives (operation, type, count, root, communicator, in place; blocking, non-blocking with
// many pending, persistent), each rank with its own choice of memory and device for its buffers. Compares every byte of
// every buffer with a model of the operation (element.hpp); sums of random numbers are bitwise equal on all ranks.
//
//   mpi_random_collectives [--seed N | --seed random] [--calls N] [--largest ELEMENTS] [--all-devices PERCENT]
//                          [--trace FIRST_CALL]
//
// On failure, the seed and --calls (the number in the message plus one) reproduce it. "all", given by tests/gpu/run.sh,
// means more calls; --trace: every rank prints its calls from that number on.
#include <cmath>
#include <ctime>
#include <numeric>

#include "../../mpi/random/plan.hpp"
#include "call.hpp"

namespace random_collectives {
namespace {

using random_exchange::chance;
using random_exchange::draw;
using random_exchange::Generator;
using random_exchange::generator;

struct Settings {
  std::uint64_t seed = 1;
  int calls = 1000;
  int largest = 30000;   // maximum number of elements in a buffer
  int devices = 1;       // number of devices that every rank can use
  int trace = -1;        // first call that is named on standard error
  int all_devices = 60;  // percentage of calls in which all ranks use memory that other GPUs reach
};

// Communicators: MPI_COMM_WORLD, a duplicate, one in reverse order, one in a random order, halves, and a grid.
class Groups {
 public:
  Groups(const check::Environment& mpi, std::uint64_t seed) {
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    add(comm, "a duplicate of world");
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mpi.rank, &comm));
    add(comm, "world turned round");
    Generator lots = generator(seed, static_cast<std::uint64_t>(mpi.rank), 57);
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, draw(lots, 0, 1000), &comm));
    add(comm, "world in another order");
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mpi.rank % 2, mpi.rank, &comm));
    add(comm, "a half of world");
    std::vector<int> sizes(2), periodic{1, 1};
    CHECK_OK(MPI_Dims_create(mpi.size, 2, sizes.data()));
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 2, sizes.data(), periodic.data(), 0, &comm));
    add(comm, "a grid");
    for (int dimension = 0; dimension < 2; ++dimension) {
      int before = 0, behind = 0;
      CHECK_OK(MPI_Cart_shift(comm, dimension, 1, &before, &behind));
      groups_.back().neighbours.insert(groups_.back().neighbours.end(), {before, behind});
    }
  }
  ~Groups() {
    for (Group& group : groups_) MPI_Comm_free(&group.comm);
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  const Group& any(Generator& random) const {
    return groups_[static_cast<std::size_t>(draw(random, 0, static_cast<int>(groups_.size()) - 1))];
  }
  const Group& grid() const { return groups_.back(); }

 private:
  void add(MPI_Comm comm, const char* name) {
    Group group{comm, name, 0, 0, {}};
    CHECK_OK(MPI_Comm_rank(comm, &group.rank));
    CHECK_OK(MPI_Comm_size(comm, &group.size));
    groups_.push_back(std::move(group));
  }
  std::vector<Group> groups_;
};

bool reduces(What what) { return what >= What::kReduce && what <= What::kExscan; }
bool has_a_block_for_each(What what) {
  return what != What::kBcast && what != What::kReduce && what != What::kAllreduce && what != What::kScan &&
         what != What::kExscan;
}

template <class T, class Fits>
const T* draw_from(const std::vector<T>& all, Generator& random, const Fits& fits) {
  std::vector<const T*> candidates;
  for (const T& one : all) {
    if (fits(one)) candidates.push_back(&one);
  }
  return candidates[static_cast<std::size_t>(draw(random, 0, static_cast<int>(candidates.size()) - 1))];
}

// Draws the same values on every rank of the communicator, whose size influences them.
Call draw_call(const Settings& settings, const Catalogue& catalogue, const Groups& groups, int number) {
  Generator random = generator(settings.seed, static_cast<std::uint64_t>(number), 50);
  Call call;
  call.number = number;
  call.what = static_cast<What>(draw(random, 0, kWhats - 1));
  call.form = static_cast<Form>(draw(random, 0, 2));
  call.group = call.what >= What::kNeighborAllgather ? &groups.grid() : &groups.any(random);
  if (reduces(call.what)) {
    call.operation = draw_from(catalogue.operations(), random, [](const Operation&) { return true; });
    call.type = draw_from(catalogue.types(), random,
                          [&](const Type& type) { return (type.families & call.operation->family) != 0; });
  } else {
    call.type = draw_from(catalogue.types(), random, [](const Type&) { return true; });
  }
  const int group = draw(random, 1, 10);
  int most = group <= 2 ? 3 : group <= 6 ? 200 : group <= 9 ? settings.largest / 10 : settings.largest;
  if (has_a_block_for_each(call.what)) most = std::max(1, most / call.group->size);
  call.count = group == 1 ? 0 : draw(random, 1, most);
  call.root = draw(random, 0, 1 << 20) % call.group->size;
  call.in_place = chance(random, 30);
  return call;
}

// Draws this rank's own choice, except for the kind of memory if all use the same.
Place draw_place(const Settings& settings, Generator& random, bool all_devices) {
  constexpr int kKinds = static_cast<int>(std::size(hr::test::kAllKinds));
  const hr::test::MemoryKind any = hr::test::kAllKinds[draw(random, 0, kKinds - 1)];
  const hr::test::MemoryKind kind = all_devices ? hr::test::MemoryKind::kDevice : any;
  const int device = chance(random, 70) ? gpu::device() : draw(random, 0, settings.devices - 1);
  return {kind, device, chance(random, 30)};
}

class Player {
 public:
  Player(const Settings& settings, const check::Environment& mpi)
      : settings_(settings), mpi_(mpi), groups_(mpi, settings.seed) {}

  void play() {
    for (int number = 0; number < settings_.calls;) {
      Generator random = generator(settings_.seed, static_cast<std::uint64_t>(number), 51);
      const int end = std::min(settings_.calls, number + draw(random, 1, 12));
      std::vector<std::unique_ptr<Pending>> batch;
      for (; number < end; ++number) {
        Generator mine = own_generator(number, 52);
        Generator shared = generator(settings_.seed, static_cast<std::uint64_t>(number), 56);
        const bool all_devices = chance(shared, settings_.all_devices);
        const Place send = draw_place(settings_, mine, all_devices);
        const Place receive = draw_place(settings_, mine, all_devices);
        const Call call = draw_call(settings_, catalogue_, groups_, number);
        if (settings_.trace >= 0 && number >= settings_.trace) {
          std::fprintf(stderr, "rank %d: %s\n", mpi_.rank, describe(call).c_str());
        }
        batch.push_back(std::make_unique<Pending>(call, send, receive));
      }
      complete(batch, number);
      for (const auto& pending : batch) pending->finish();
      same_bits(number);
    }
  }

 private:
  Generator own_generator(int number, std::uint64_t purpose) const {
    return generator(settings_.seed, static_cast<std::uint64_t>(number),
                     purpose + 100 * static_cast<std::uint64_t>(mpi_.rank + 1));
  }

  // Completes the calls, each rank in its own order.
  void complete(const std::vector<std::unique_ptr<Pending>>& batch, int number) const {
    Generator random = own_generator(number, 53);
    std::vector<std::size_t> order(batch.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(draw(random, 0, static_cast<int>(i) - 1))]);
    }
    for (const std::size_t i : order) {
      if (chance(random, 50)) {
        CHECK_OK(MPI_Wait(&batch[i]->request(), MPI_STATUS_IGNORE));
      } else {
        for (int done = 0; done == 0;) CHECK_OK(MPI_Test(&batch[i]->request(), &done, MPI_STATUS_IGNORE));
      }
    }
  }

  // The sum of numbers that no type represents exactly depends on the order, which must be the same on all ranks.
  void same_bits(int number) const {
    Generator shared = generator(settings_.seed, static_cast<std::uint64_t>(number), 54);
    Generator mine = own_generator(number, 55);
    const int count = draw(shared, 1, settings_.largest / 4);
    const auto elements = static_cast<std::size_t>(count);
    const auto number_of = [&](int rank, int i) {
      return static_cast<float>(1.0 / (1 + (number + rank * 31 + i * 7) % 1009));
    };
    std::vector<float> send(elements), found(elements);
    for (int i = 0; i < count; ++i) send[static_cast<std::size_t>(i)] = number_of(mpi_.rank, i);
    const bool all_devices = chance(shared, settings_.all_devices);
    const Place from = draw_place(settings_, mine, all_devices), to = draw_place(settings_, mine, all_devices);
    hr::test::DeviceMemory operand(elements * sizeof(float), from.kind, from.device);
    hr::test::DeviceMemory result(elements * sizeof(float), to.kind, to.device);
    operand.write(std::as_bytes(std::span(send)));
    CHECK_OK(MPI_Allreduce(operand.get(), result.get(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    const std::vector<std::byte> bytes = result.read();
    std::memcpy(found.data(), bytes.data(), bytes.size());
    std::vector<float> of_first = found;
    CHECK_OK(MPI_Bcast(of_first.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD));
    CHECK(std::memcmp(found.data(), of_first.data(), bytes.size()) == 0);
    for (int i = 0; i < count; ++i) {
      double sum = 0;
      for (int rank = 0; rank < mpi_.size; ++rank) sum += number_of(rank, i);
      CHECK(std::abs(found[static_cast<std::size_t>(i)] - sum) <= sum * 1e-6 * mpi_.size);
    }
  }

  const Settings& settings_;
  const check::Environment& mpi_;
  Catalogue catalogue_;
  Groups groups_;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  int first = 1;
  if (argc > 1 && std::string(argv[1]) == "all") {
    settings.calls = 3000;
    settings.largest = 300000;
    first = 2;
  }
  for (int i = first; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--seed") {
      settings.seed = value == "random" ? static_cast<std::uint64_t>(std::time(nullptr))
                                        : std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--calls") {
      settings.calls = std::atoi(value.c_str());
    } else if (name == "--trace") {
      settings.trace = std::atoi(value.c_str());
    } else if (name == "--all-devices") {
      settings.all_devices = std::atoi(value.c_str());
    } else if (name == "--largest") {
      settings.largest = std::atoi(value.c_str());
    } else {
      check::fail(__FILE__, __LINE__, "unknown option " + name);
    }
  }
  CHECK_OK(MPI_Bcast(&settings.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));  // makes a random seed the same everywhere
  settings.devices = gpu::device_count();
  CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &settings.devices, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  return settings;
}

}  // namespace
}  // namespace random_collectives

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  const random_collectives::Settings settings = random_collectives::parse(argc, argv);
  if (mpi.rank == 0) {
    std::printf("random_collectives: seed %llu, %d calls, %d devices, %d ranks\n",
                static_cast<unsigned long long>(settings.seed), settings.calls, settings.devices, mpi.size);
    std::fflush(stdout);
  }
  random_collectives::Player(settings, mpi).play();
  return 0;
}
