// Random MPI_Alltoallw and MPI_Neighbor_alltoallw: every piece has a random signature, and its own random layout at
// either end (vectors, subarrays, block lists, padded structs, backwards); blocking, non-blocking and persistent; most
// with all buffers in memory that other GPUs reach. Every byte of every buffer is compared.
//
//   mpi_random_pieces [--seed N] [--calls N] [--expect device|messages|either] [--form blocking|nonblocking|persistent]
//
// --expect concerns calls whose buffers all GPUs reach, once a communicator has had some calls. device: GPUs execute
// them, in few launches; messages: GPUs never do; either: no expectation.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "../../mpi/random/layout.hpp"
#include "../mpi_memory.hpp"
#include "../variable.hpp"
#include "network.hpp"

namespace random_pieces {
namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;
using hr::test::Variable;
using random_exchange::chance;
using random_exchange::draw;
using random_exchange::Exchange;
using random_exchange::Generator;
using random_exchange::generator;
using random_exchange::Layout;

using Bytes = std::vector<unsigned char>;

struct Settings {
  std::uint64_t seed = 1;
  int calls = 300;
  std::string expect = "device";
  int form = -1;  // form of all calls; -1: any
};

enum class Form { kBlocking, kNonblocking, kPersistent };

struct Call {
  int number;
  Form form;
  bool all_devices;
  bool scattered;  // each piece in a separate allocation, named by absolute addresses
};

// Draws the message of a link.
Exchange message_of(std::uint64_t seed, int number, std::uint64_t key) {
  const random_exchange::Basic kBasics[] = {
      {MPI_CHAR, 1}, {MPI_SHORT, 2}, {MPI_INT, 4}, {MPI_DOUBLE, 8}, {MPI_C_DOUBLE_COMPLEX, 16}};
  Generator random = generator(seed, static_cast<std::uint64_t>(number) * 100003 + key, 63);
  Exchange made{};
  for (int i = draw(random, 1, 3); i > 0; --i) made.unit.push_back(kBasics[draw(random, 0, 4)]);
  const int size = draw(random, 1, 20);
  if (size <= 3) return made;  // empty
  made.a = draw(random, 1, size == 20 ? 100 : 5);
  made.b = draw(random, 1, 6);
  made.c = draw(random, 1, size >= 19 ? 200 : 8);
  return made;
}

// Returns the content of a message, in the order of its signature.
Bytes content_of(const Exchange& message, int number, std::uint64_t key) {
  Bytes made(message.bytes());
  Generator random = generator(key, static_cast<std::uint64_t>(number), 64);
  for (unsigned char& byte : made) byte = static_cast<unsigned char>(random() >> 24);
  return made;
}

// All pieces that a rank sends, or receives, in one call.
class Side {
 public:
  Side(const std::vector<Link>& links, const Settings& settings, const Call& call, bool sends, Generator& random) {
    const int device = chance(random, 80) ? gpu::device() : draw(random, 0, gpu::device_count() - 1);
    constexpr int kKinds = static_cast<int>(std::size(hr::test::kAllKinds));
    const MemoryKind any = hr::test::kAllKinds[draw(random, 0, kKinds - 1)];
    const MemoryKind kind = call.all_devices ? MemoryKind::kDevice : any;
    std::size_t room = 0;
    std::vector<std::size_t> starts;
    for (const Link& link : links) {
      const Exchange message =
          link.peer == MPI_PROC_NULL ? Exchange{} : message_of(settings.seed, call.number, link.key);
      contents_.push_back(content_of(message, call.number, link.key));
      Exchange described = message;
      if (described.unit.empty()) described.unit.push_back({MPI_CHAR, 1});
      layouts_.push_back(std::make_unique<Layout>(described, random, false));
      filled_ += message.bytes() != 0 ? 1 : 0;
      starts.push_back(room);
      // Every alignment that the types allow occurs.
      room = (room + layouts_.back()->span() + 63) / 64 * 64 + (call.scattered ? 0 : 16 * draw(random, 0, 3));
      if (!call.scattered) continue;
      add_memory(layouts_.back()->span(), kind, device);
      starts.back() = 0;
      room = 0;
    }
    if (!call.scattered) add_memory(room + 1, kind, device);
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::size_t in = call.scattered ? i : 0;
      const Layout& layout = *layouts_[i];
      const MPI_Aint origin = static_cast<MPI_Aint>(starts[i] + layout.origin());
      displacements_.push_back(call.scattered ? reinterpret_cast<MPI_Aint>(memory_[in]->bytes()) + origin : origin);
      counts_.push_back(contents_[i].empty() ? 0 : layout.count());
      narrow_counts_.push_back(static_cast<int>(counts_.back()));
      types_.push_back(layout.type());
      if (sends) place(i, starts[i], in);
      starts_.push_back(starts[i]);
    }
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i]->write(std::as_bytes(std::span(images_[i])));
    address_ = call.scattered ? MPI_BOTTOM : memory_[0]->get();
  }

  // Puts the expected content into the images of a receiver's memory.
  void expect() {
    for (std::size_t i = 0; i < layouts_.size(); ++i) place(i, starts_[i], memory_.size() > 1 ? i : 0);
  }
  void verify(const std::string& what) const {
    for (std::size_t m = 0; m < memory_.size(); ++m) {
      const std::vector<std::byte> found = memory_[m]->read();
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (std::to_integer<unsigned char>(found[i]) == images_[m][i]) continue;
        check::fail(__FILE__, __LINE__,
                    what + ", memory " + std::to_string(m) + " (" + name_of(memory_[m]->kind()) + "), byte " +
                        std::to_string(i) + " is " + std::to_string(std::to_integer<int>(found[i])) + ", not " +
                        std::to_string(images_[m][i]));
      }
    }
  }

  void* address() const { return address_; }
  const MPI_Count* counts() const { return counts_.data(); }
  const int* narrow_counts() const { return narrow_counts_.data(); }
  const MPI_Aint* displacements() const { return displacements_.data(); }
  const MPI_Datatype* types() const { return types_.data(); }
  std::size_t filled() const { return filled_; }

 private:
  void add_memory(std::size_t bytes, MemoryKind kind, int device) {
    memory_.push_back(std::make_unique<DeviceMemory>(bytes, kind, device));
    images_.emplace_back(bytes, static_cast<unsigned char>(0xa7));
  }
  void place(std::size_t piece, std::size_t start, std::size_t in) {
    if (contents_[piece].empty()) return;
    const Layout& layout = *layouts_[piece];
    Bytes part(images_[in].begin() + static_cast<std::ptrdiff_t>(start),
               images_[in].begin() + static_cast<std::ptrdiff_t>(start + layout.span()));
    layout.place(contents_[piece], part);
    std::copy(part.begin(), part.end(), images_[in].begin() + static_cast<std::ptrdiff_t>(start));
  }

  std::vector<Bytes> contents_;
  std::vector<std::unique_ptr<Layout>> layouts_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::vector<Bytes> images_;  // expected content of each memory
  std::vector<std::size_t> starts_;
  std::vector<MPI_Count> counts_;
  std::vector<int> narrow_counts_;
  std::vector<MPI_Aint> displacements_;
  std::vector<MPI_Datatype> types_;
  std::size_t filled_ = 0;
  void* address_ = nullptr;
};

struct Pending {
  std::string what;
  std::unique_ptr<Side> send, receive;
  MPI_Request request = MPI_REQUEST_NULL;
};

class Player {
 public:
  explicit Player(const Settings& settings) : settings_(settings), networks_(settings.seed) {}

  void play() {
    for (int number = 0; number < settings_.calls; ++number) {
      Generator shared = generator(settings_.seed, static_cast<std::uint64_t>(number), 65);
      const auto networks = static_cast<int>(networks_.all().size());
      Network& network = networks_.all()[static_cast<std::size_t>(draw(shared, 0, networks - 1))];
      const int form = draw(shared, 0, 2);
      const Call call{number, static_cast<Form>(settings_.form < 0 ? form : settings_.form), chance(shared, 80),
                      chance(shared, 15)};
      const bool drain = chance(shared, 40);
      begin(network, call);
      if (drain) finish_all();
    }
    finish_all();
    by_devices_ += on_devices_.take();
    CHECK(by_devices_ >= due_);
    CHECK(settings_.expect != "device" || check::world_size() == 1 || due_ > 0);
  }

 private:
  void begin(Network& network, const Call& call) {
    constexpr const char* kForms[] = {"blocking", "non-blocking", "persistent"};
    Generator mine = generator(settings_.seed, static_cast<std::uint64_t>(call.number),
                               100 + static_cast<std::uint64_t>(check::world_rank()));
    auto pending = std::make_unique<Pending>();
    pending->what = "call " + std::to_string(call.number) + ", " + kForms[static_cast<int>(call.form)] + " on " +
                    network.name + (call.all_devices ? ", all on devices" : "");
    pending->send = std::make_unique<Side>(network.out, settings_, call, true, mine);
    pending->receive = std::make_unique<Side>(network.in, settings_, call, false, mine);
    (void)launches_.take();
    by_devices_ += on_devices_.take();
    exchange(network, call, *pending);
    check_way(network, call, *pending);
    if (call.form != Form::kPersistent) ++calls_[&network];
    if (call.form != Form::kNonblocking) return finish(*pending);
    pending_.push_back(std::move(pending));
  }

  void exchange(const Network& network, const Call& call, Pending& pending) {
    const Side& send = *pending.send;
    const Side& receive = *pending.receive;
    const auto with = [&](auto blocking, auto nonblocking, auto persistent, const auto* sent, const auto* received) {
      if (call.form == Form::kBlocking) {
        CHECK_OK(blocking(send.address(), sent, send.displacements(), send.types(), receive.address(), received,
                          receive.displacements(), receive.types(), network.comm));
      } else if (call.form == Form::kNonblocking) {
        CHECK_OK(nonblocking(send.address(), sent, send.displacements(), send.types(), receive.address(), received,
                             receive.displacements(), receive.types(), network.comm, &pending.request));
      } else {
        CHECK_OK(persistent(send.address(), sent, send.displacements(), send.types(), receive.address(), received,
                            receive.displacements(), receive.types(), network.comm, MPI_INFO_NULL, &pending.request));
        CHECK_OK(MPI_Start(&pending.request));
        CHECK_OK(MPI_Wait(&pending.request, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Request_free(&pending.request));
      }
    };
    if (network.neighborhood) {
      with(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init, send.narrow_counts(),
           receive.narrow_counts());
    } else {
      with(MPI_Alltoallw_c, MPI_Ialltoallw_c, MPI_Alltoallw_init_c, send.counts(), receive.counts());
    }
  }

  // Checks whether GPUs executed a call: after each call that completes immediately, and at the end for all others.
  void check_way(const Network& network, const Call& call, const Pending& pending) {
    const unsigned long long on_devices = on_devices_.take();
    by_devices_ += on_devices;
    if (settings_.expect == "messages") CHECK_EQ(on_devices, 0U);
    constexpr int kWarmUp = 20;  // calls of a communicator before; a persistent one needs none
    const bool warm = call.form == Form::kPersistent || calls_[&network] >= kWarmUp;
    // Scattered pieces may be in more allocations than an address exchange can hold.
    if (settings_.expect != "device" || !call.all_devices || call.scattered || !warm || check::world_size() == 1)
      return;
    ++due_;
    if (call.form == Form::kNonblocking || !pending_.empty()) return;
    if (on_devices != 1) {
      check::fail(__FILE__, __LINE__, pending.what + ": " + std::to_string(on_devices) + " operations by GPUs");
    }
    constexpr std::size_t kOfALaunch = 10;
    CHECK(launches_.take() <= (pending.receive->filled() + kOfALaunch - 1) / kOfALaunch);
  }

  void finish(Pending& pending) {
    pending.receive->expect();
    pending.send->verify(pending.what + ", send buffer");
    pending.receive->verify(pending.what + ", receive buffer");
  }
  void finish_all() {
    while (!pending_.empty()) {
      CHECK_OK(MPI_Wait(&pending_.back()->request, MPI_STATUS_IGNORE));
      finish(*pending_.back());
      pending_.pop_back();
    }
  }

  const Settings& settings_;
  hr::test::Variable on_devices_{"HEADRACE_COLL_DEVICE"};
  hr::test::Variable launches_{"HEADRACE_DEVICE_COPY_LAUNCHES"};
  Networks networks_;
  std::map<const Network*, int> calls_;
  std::vector<std::unique_ptr<Pending>> pending_;
  unsigned long long by_devices_ = 0,
                     due_ = 0;  // number of operations that GPUs executed, and of those that they must execute
};

Settings parse(int argc, char** argv) {
  Settings settings;
  int first = 1;
  if (argc > 1 && std::string(argv[1]) == "all") {
    settings.calls = 1000;
    settings.expect = "either";  // machines differ in which memory their GPUs reach
    first = 2;
  }
  for (int i = first; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seed") {
      settings.seed = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (name == "--calls") {
      settings.calls = std::atoi(argv[i + 1]);
    } else if (name == "--form") {
      const std::string form = argv[i + 1];
      settings.form = form == "blocking" ? 0 : form == "nonblocking" ? 1 : 2;
    } else if (name == "--expect") {
      settings.expect = argv[i + 1];
    } else {
      check::fail(__FILE__, __LINE__, "unknown option " + name);
    }
  }
  return settings;
}

}  // namespace
}  // namespace random_pieces

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  random_pieces::Settings settings = random_pieces::parse(argc, argv);
  if (settings.expect == "device" && !check::one_host()) settings.expect = "either";  // GPUs map nothing across hosts
  if (mpi.rank == 0) {
    std::printf("random_pieces: seed %llu, %d calls, %d ranks\n", static_cast<unsigned long long>(settings.seed),
                settings.calls, mpi.size);
    std::fflush(stdout);
  }
  random_pieces::Player(settings).play();
  return 0;
}
