// MPI operations in streams: their order among kernels, copies and events, every kind of memory, graphs, and errors.
// Runs the named parts; without arguments, or with "all", every part but "declined", which needs a driver that cannot
// capture the operations.
#include <mpix-device.h>

#include <cstdlib>
#include <functional>
#include <map>

#include "../memory_in_use.hpp"
#include "../variable.hpp"
#include "lane.hpp"

namespace streams {
namespace {

constexpr unsigned kSlow = 200000;
constexpr Word kPoison = 0xA5A5A5A5u;

Word value_of(int rank, int round) { return static_cast<Word>(rank * 1000003 + round * 7919); }

void poison(Buffer& buffer) { buffer.put(std::vector<Word>(buffer.size() / sizeof(Word), kPoison)); }

// A ring in which kernels make and consume the data of every round, ordered only by the stream. Pageable host memory,
// which kernels cannot read and copies read when called, instead has a place for each round, which the host reads at
// the end. The memory is allocated beforehand, as the driver may wait for all streams when it allocates.
class Ring {
 public:
  Ring(const Lane& lane, MemoryKind kind, std::size_t count)
      : lane_(lane),
        kernels_(kind != MemoryKind::kHost),
        count_(count),
        from_(count * sizeof(Word), kind),
        to_((kernels_ ? 1 : kRounds) * count * sizeof(Word), kind),
        seen_(kRounds * count * sizeof(Word), MemoryKind::kDevice) {}

  void run(const std::string& what) {
    poison(from_);
    poison(to_);
    poison(seen_);
    if (!kernels_) from_.put(counting(count_, value_of(lane_.rank, 0)));
    gpu::synchronize(gpu::kDefaultStream);
    const gpu::Event event = gpu::create_event();
    for (int round = 0; round < kRounds; ++round) exchange(round);
    gpu::record(event, lane_.stream());
    gpu::synchronize_event(event);
    gpu::destroy_event(event);
    const auto all = (kernels_ ? seen_ : to_).take<Word>();
    for (int round = 0; round < kRounds; ++round) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(round) * count_);
      expect(std::vector<Word>(first, first + static_cast<std::ptrdiff_t>(count_)),
             counting(count_, value_of(lane_.previous, kernels_ ? round : 0) + (kernels_ ? 1 : 0)),
             what + ", round " + std::to_string(round));
    }
  }

 private:
  static constexpr int kRounds = 4;

  void exchange(int round) {
    const int elements = static_cast<int>(count_);
    const std::size_t place = static_cast<std::size_t>(round) * count_;
    if (kernels_) lane_.fill(from_, value_of(lane_.rank, round), kSlow);
    MPI_Request requests[2];
    CHECK_OK(MPIX_Irecv_enqueue(static_cast<Word*>(to_.get()) + (kernels_ ? 0 : place), elements, MPI_UINT32_T,
                                lane_.previous, round, lane_.comm(), &requests[0]));
    CHECK_OK(MPIX_Isend_enqueue(from_.get(), elements, MPI_UINT32_T, lane_.next, round, lane_.comm(), &requests[1]));
    CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    if (!kernels_) return;
    lane_.copy(seen_, place, to_, 1, kSlow);
    lane_.fill(to_, kPoison);
  }

  const Lane& lane_;
  bool kernels_;
  std::size_t count_;
  Buffer from_, to_, seen_;
};

void ring(const Lane& lane, MemoryKind kind, std::size_t count, const std::string& what) {
  Ring(lane, kind, count).run(what);
}

void memory(const Kernels& kernels) {
  const Lane lane(kernels);
  for (const MemoryKind kind : hr::test::kAllKinds) {
    for (const std::size_t count : {std::size_t{2}, std::size_t{3000}, std::size_t{200000}}) {
      ring(lane, kind, count, std::string(hr::test::name_of(kind)) + " memory, " + std::to_string(count) + " words");
    }
  }
}

void kinds_of_streams(const Kernels& kernels) {
  for (const Lane::Kind kind : {Lane::Kind::kBlocking, Lane::Kind::kDefault}) {
    const Lane lane(kernels, kind);
    for (const std::size_t count : {std::size_t{2}, std::size_t{200000}}) {
      ring(lane, MemoryKind::kDevice, count,
           kind == Lane::Kind::kBlocking ? "a blocking stream" : "the default stream");
    }
  }
}

void derived(const Kernels& kernels) {
  const Lane lane(kernels);
  constexpr int kRows = 500;
  MPI_Datatype column = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_vector(kRows, 1, 3, MPI_UINT32_T, &column));
  CHECK_OK(MPI_Type_commit(&column));
  Buffer from(3 * kRows * sizeof(Word), MemoryKind::kDevice), to(3 * kRows * sizeof(Word), MemoryKind::kDevice);
  poison(to);
  gpu::synchronize();
  lane.fill(from, value_of(lane.rank, 0), kSlow);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPIX_Isend_enqueue(from.get(), 1, column, lane.next, 0, lane.comm(), &request));
  CHECK_OK(
      MPIX_Recv_enqueue(static_cast<Word*>(to.get()) + 1, 1, column, lane.previous, 0, lane.comm(), MPI_STATUS_IGNORE));
  CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Type_free(&column));  // the operation keeps it
  lane.wait();
  const auto found = to.take<Word>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Word wanted = i % 3 == 1 ? value_of(lane.previous, 0) + static_cast<Word>(i - 1) : kPoison;
    check::equal(__FILE__, __LINE__, "an element of a column", found[i], wanted);
  }
}

void any_source(const Kernels& kernels) {
  const Lane lane(kernels);
  Buffer from(64, MemoryKind::kDevice), to(64, MemoryKind::kDevice);
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(lane.size));
  Buffer seen(64 * static_cast<std::size_t>(lane.size), MemoryKind::kDevice);
  poison(to);
  gpu::synchronize();
  lane.fill(from, value_of(lane.rank, 1), kSlow);
  std::vector<MPI_Request> requests;
  for (int to_rank = 0; to_rank < lane.size; ++to_rank) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPIX_Isend_enqueue(from.get(), 16, MPI_UINT32_T, to_rank, 5 + lane.rank, lane.comm(), &request));
    requests.push_back(request);
  }
  for (int i = 0; i < lane.size; ++i) {
    CHECK_OK(MPIX_Recv_enqueue(to.get(), 16, MPI_UINT32_T, MPI_ANY_SOURCE, MPI_ANY_TAG, lane.comm(),
                               &statuses[static_cast<std::size_t>(i)]));
    lane.copy(seen, static_cast<std::size_t>(i) * 16, to);
  }
  CHECK_OK(MPIX_Waitall_enqueue(lane.size, requests.data(), MPI_STATUSES_IGNORE));
  lane.wait();
  const auto found = seen.take<Word>();
  std::vector<bool> came(static_cast<std::size_t>(lane.size), false);
  for (int i = 0; i < lane.size; ++i) {
    const MPI_Status& status = statuses[static_cast<std::size_t>(i)];
    int count = 0;
    CHECK_OK(MPI_Get_count(&status, MPI_UINT32_T, &count));
    CHECK(count == 16 && status.MPI_TAG == 5 + status.MPI_SOURCE);
    CHECK(!came[static_cast<std::size_t>(status.MPI_SOURCE)]);
    came[static_cast<std::size_t>(status.MPI_SOURCE)] = true;
    check::equal(__FILE__, __LINE__, "a word from any source", found[static_cast<std::size_t>(i) * 16],
                 value_of(status.MPI_SOURCE, 1));
  }
  MPI_Request nobody = MPI_REQUEST_NULL;
  CHECK_OK(MPIX_Irecv_enqueue(to.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm(), &nobody));
  CHECK_OK(MPIX_Send_enqueue(from.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm()));
  CHECK_OK(MPIX_Wait_enqueue(&nobody, &statuses[0]));
  lane.wait();
  CHECK(statuses[0].MPI_SOURCE == MPI_PROC_NULL);
}

// The stream of one communicator waits for a message that is sent only after many exchanges in the other stream.
void two_communicators(const Kernels& kernels) {
  const Lane waiting(kernels), working(kernels);
  const bool receives = waiting.rank % 2 == 0 && waiting.rank + 1 < waiting.size;
  const bool sends = waiting.rank % 2 == 1;
  Buffer data(4096, MemoryKind::kDevice), late(4096, MemoryKind::kDevice);
  Buffer sum(4096, MemoryKind::kDevice);
  Ring exchange(working, MemoryKind::kDevice, 5000);
  poison(late);
  data.put(counting(1024, 3));
  gpu::synchronize();
  if (receives) {
    CHECK_OK(MPIX_Recv_enqueue(late.get(), 1024, MPI_UINT32_T, waiting.rank + 1, 0, waiting.comm(), MPI_STATUS_IGNORE));
  }
  for (int i = 0; i < 5; ++i) exchange.run("beside a stream that waits");
  // Calls on the host also continue to work.
  CHECK_OK(MPI_Allreduce(data.get(), sum.get(), 1024, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD));
  expect(sum.take<Word>(), counting(1024, 3), "a reduction beside a stream that waits");
  if (sends) {
    CHECK_OK(MPIX_Send_enqueue(data.get(), 1024, MPI_UINT32_T, waiting.rank - 1, 0, waiting.comm()));
  }
  waiting.wait();
  if (receives) expect(late.take<Word>(), counting(1024, 3), "a late message");
}

void collectives(const Kernels& kernels) {
  const Lane lane(kernels);
  for (const MemoryKind kind :
       {MemoryKind::kDevice, MemoryKind::kManaged, MemoryKind::kHostPinned, MemoryKind::kPool}) {
    for (const std::size_t count : {std::size_t{2}, std::size_t{100000}}) {
      Buffer from(count * sizeof(Word), kind), sum(count * sizeof(Word), kind), seen(count * sizeof(Word), kind);
      poison(sum);
      gpu::synchronize();
      lane.fill(from, static_cast<Word>(lane.rank), kSlow);
      CHECK_OK(
          MPIX_Allreduce_enqueue(from.get(), sum.get(), static_cast<int>(count), MPI_UINT32_T, MPI_SUM, lane.comm()));
      lane.copy(seen, 0, sum);
      CHECK_OK(
          MPIX_Allreduce_enqueue(MPI_IN_PLACE, sum.get(), static_cast<int>(count), MPI_UINT32_T, MPI_MAX, lane.comm()));
      lane.wait();
      std::vector<Word> wanted(count);
      for (std::size_t i = 0; i < count; ++i) {
        wanted[i] =
            static_cast<Word>(lane.size * (lane.size - 1) / 2) + static_cast<Word>(lane.size) * static_cast<Word>(i);
      }
      expect(seen.take<Word>(), wanted, std::string("a reduction of ") + hr::test::name_of(kind) + " memory");
      expect(sum.take<Word>(), wanted, std::string("a reduction in place of ") + hr::test::name_of(kind) + " memory");
    }
  }
}

// Persistent requests of all kinds: messages, collectives and partitioned ones.
void persistent(const Kernels& kernels) {
  const Lane lane(kernels);
  constexpr std::size_t kCount = 3000;
  constexpr std::size_t kBytes = kCount * sizeof(Word);
  Buffer from(kBytes, MemoryKind::kDevice), to(kBytes, MemoryKind::kDevice), sum(kBytes, MemoryKind::kDevice);
  Buffer pieces(kBytes, MemoryKind::kDevice), seen(3 * kBytes, MemoryKind::kDevice);
  constexpr int kElements = static_cast<int>(kCount);
  MPI_Request requests[5];
  CHECK_OK(MPI_Send_init(from.get(), kElements, MPI_UINT32_T, lane.next, 1, lane.comm(), &requests[0]));
  CHECK_OK(MPI_Recv_init(to.get(), kElements, MPI_UINT32_T, lane.previous, 1, lane.comm(), &requests[1]));
  CHECK_OK(MPI_Allreduce_init(from.get(), sum.get(), kElements, MPI_UINT32_T, MPI_SUM, lane.comm(), MPI_INFO_NULL,
                              &requests[2]));
  CHECK_OK(MPI_Psend_init(from.get(), 3, kElements / 3, MPI_UINT32_T, lane.next, 2, lane.comm(), MPI_INFO_NULL,
                          &requests[3]));
  CHECK_OK(MPI_Precv_init(pieces.get(), 2, kElements / 2, MPI_UINT32_T, lane.previous, 2, lane.comm(), MPI_INFO_NULL,
                          &requests[4]));
  MPIX_Prequest marks;
  CHECK_OK(MPIX_Prequest_create(requests[3], &marks));
  CHECK_OK(MPIX_Matchall(5, requests));
  for (int round = 0; round < 3; ++round) {
    poison(to);
    poison(sum);
    poison(pieces);
    gpu::synchronize();
    lane.fill(from, value_of(lane.rank, round), kSlow);
    CHECK_OK(MPIX_Startall_enqueue(5, requests, lane.comm()));
    // The stream marks the partitions, as a kernel would.
    for (unsigned i = 0; i < 3; ++i) {
      gpu::check(driver<int(gpu::Stream, unsigned long long, std::uint32_t, unsigned)>("cuStreamWriteValue32_v2")(
                     lane.stream(), reinterpret_cast<std::uintptr_t>(marks.device_marks + i), 1, 0),
                 "cuStreamWriteValue32");
    }
    CHECK_OK(MPIX_Wait_enqueue(&requests[1], MPI_STATUS_IGNORE));
    lane.copy(seen, 0, to);
    CHECK_OK(MPIX_Wait_enqueue(&requests[2], MPI_STATUS_IGNORE));
    lane.copy(seen, kCount, sum);
    CHECK_OK(MPIX_Waitall_enqueue(5, requests, MPI_STATUSES_IGNORE));
    lane.copy(seen, 2 * kCount, pieces);
    lane.wait();
    const auto found = seen.take<Word>();
    std::vector<Word> wanted = counting(kCount, value_of(lane.previous, round));
    std::vector<Word> total(kCount, 0);
    for (int rank = 0; rank < lane.size; ++rank) {
      const auto each = counting(kCount, value_of(rank, round));
      for (std::size_t i = 0; i < kCount; ++i) total[i] += each[i];
    }
    expect({found.begin(), found.begin() + kCount}, wanted, "a persistent receive");
    expect({found.begin() + kCount, found.begin() + 2 * kCount}, total, "a persistent reduction");
    expect({found.begin() + 2 * kCount, found.end()}, wanted, "a partitioned receive");
  }
  CHECK_OK(MPIX_Prequest_free(&marks));
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
}

// Every launch of the graph sends the result of the previous one.
void graph(const Kernels& kernels) {
  constexpr int kLaunches = 100;
  constexpr std::size_t kCount = 600;
  constexpr std::size_t kBytes = kCount * sizeof(Word);
  constexpr int kElements = static_cast<int>(kCount);
  for (int mode = 0; mode < 3; ++mode) {
    const Lane lane(kernels);
    Buffer from(kBytes, MemoryKind::kDevice), to(kBytes, MemoryKind::kDevice), sum(kBytes, MemoryKind::kDevice);
    Buffer total(kBytes, MemoryKind::kDevice), sums(kBytes, MemoryKind::kDevice), unused(kBytes, MemoryKind::kDevice);
    MPI_Request persistent[2];
    Buffer again(kBytes, MemoryKind::kDevice), agains(kBytes, MemoryKind::kDevice);
    CHECK_OK(MPI_Send_init(from.get(), kElements, MPI_UINT32_T, lane.previous, 9, lane.comm(), &persistent[0]));
    CHECK_OK(MPI_Recv_init(again.get(), kElements, MPI_UINT32_T, lane.next, 9, lane.comm(), &persistent[1]));
    CHECK_OK(MPIX_Matchall(2, persistent));
    from.put(counting(kCount, value_of(lane.rank, 0)));
    for (Buffer* each : {&total, &sums, &unused, &agains}) each->put(std::vector<Word>(kCount, 0));
    gpu::synchronize();
    const Graph exchange(lane, mode, [&] {
      MPI_Request requests[2];
      CHECK_OK(MPIX_Irecv_enqueue(to.get(), kElements, MPI_UINT32_T, lane.previous, 0, lane.comm(), &requests[0]));
      CHECK_OK(MPIX_Isend_enqueue(from.get(), kElements, MPI_UINT32_T, lane.next, 0, lane.comm(), &requests[1]));
      CHECK_OK(MPIX_Startall_enqueue(2, persistent, lane.comm()));
      CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
      CHECK_OK(MPIX_Allreduce_enqueue(to.get(), sum.get(), kElements, MPI_UINT32_T, MPI_SUM, lane.comm()));
      lane.step(sums, sum, unused);
      CHECK_OK(MPIX_Waitall_enqueue(2, persistent, MPI_STATUSES_IGNORE));
      lane.step(agains, again, unused);
      lane.step(total, to, from);  // the next launch sends values that are one greater
    });
    for (int launch = 0; launch < kLaunches; ++launch) exchange.launch();
    lane.wait();
    std::vector<Word> wanted(kCount), wanted_sums(kCount), wanted_agains(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      for (int launch = 0; launch < kLaunches; ++launch) {
        const Word more = static_cast<Word>(i) + static_cast<Word>(launch);
        wanted[i] += value_of(lane.previous, 0) + more;
        wanted_agains[i] += value_of(lane.next, 0) + more;
        for (int rank = 0; rank < lane.size; ++rank) wanted_sums[i] += value_of(rank, 0) + more;
      }
    }
    const std::string what = std::string("a graph of a ") + kModes[mode] + " capture: ";
    expect(total.take<Word>(), wanted, what + "messages");
    expect(agains.take<Word>(), wanted_agains, what + "persistent requests");
    expect(sums.take<Word>(), wanted_sums, what + "reductions");
    for (MPI_Request& each : persistent) CHECK_OK(MPI_Request_free(&each));
  }
}

// A message that may be matched before it is started. The values of each message are one more than the last message's.
struct Matched {
  Matched(const Lane& lane, int index, std::size_t words, MemoryKind kind)
      : count(words),
        from(words * sizeof(Word), kind),
        to(words * sizeof(Word), kind),
        total(words * sizeof(Word), MemoryKind::kDevice),
        first(value_of(lane.previous, index)) {
    const int elements = static_cast<int>(words);
    CHECK_OK(MPI_Send_init(from.get(), elements, MPI_UINT32_T, lane.next, index, lane.comm(), &send));
    CHECK_OK(MPI_Recv_init(to.get(), elements, MPI_UINT32_T, lane.previous, index, lane.comm(), &receive));
    from.put(counting(count, value_of(lane.rank, index)));
    total.put(std::vector<Word>(count, 0));
  }
  ~Matched() {
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&receive));
  }
  Matched(const Matched&) = delete;
  Matched& operator=(const Matched&) = delete;

  void expect_total(int rounds) const {
    std::vector<Word> wanted(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      for (int round = 0; round < rounds; ++round) wanted[i] += first + static_cast<Word>(i) + static_cast<Word>(round);
    }
    expect(total.take<Word>(), wanted, "matched messages of " + std::to_string(count) + " words");
  }

  std::size_t count;
  Buffer from, to, total;
  Word first;
  MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
};

// Messages that were matched beforehand: in a stream, in graphs, and in both alternately, with other messages in
// between. The sends are started before the receives, and each is waited for separately.
void matched(const Kernels& kernels) {
  constexpr int kRounds = 40;
  const char* const more_ahead = std::getenv("HR_LAUNCHES_AHEAD");  // to look for hangs
  const int launches_ahead = more_ahead == nullptr ? 8 : std::atoi(more_ahead);
  const Lane lane(kernels);
  std::vector<std::unique_ptr<Matched>> all;
  std::vector<MPI_Request> requests;
  for (const std::size_t count : {2, 3, 1000, 8001, 50000, 300000, 1100000}) {
    const MemoryKind kind = count == 3 ? MemoryKind::kHostPinned : MemoryKind::kDevice;
    all.push_back(std::make_unique<Matched>(lane, static_cast<int>(all.size()), count, kind));
    requests.push_back(all.back()->send);
    requests.push_back(all.back()->receive);
  }
  CHECK_OK(MPIX_Matchall(static_cast<int>(requests.size()), requests.data()));
  CHECK_OK(MPIX_Matchall(static_cast<int>(requests.size()), requests.data()));  // nothing is left to match
  Buffer ones(64, MemoryKind::kDevice), sum(64, MemoryKind::kDevice);
  ones.put(std::vector<Word>(16, 1));
  gpu::synchronize();
  const auto step = [&] {
    for (const auto& each : all) CHECK_OK(MPIX_Startall_enqueue(1, &each->send, lane.comm()));
    for (const auto& each : all) CHECK_OK(MPIX_Startall_enqueue(1, &each->receive, lane.comm()));
    for (const auto& each : all) CHECK_OK(MPIX_Wait_enqueue(&each->receive, MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Allreduce_enqueue(ones.get(), sum.get(), 16, MPI_UINT32_T, MPI_SUM, lane.comm()));
    for (const auto& each : all) {
      CHECK_OK(MPIX_Wait_enqueue(&each->send, MPI_STATUS_IGNORE));
      lane.step(each->total, each->to, each->from);
    }
  };
  const Graph graph(lane, 0, step);
  for (int round = 0; round < kRounds; ++round) {
    if (round % 5 == 4) {
      step();
    } else {
      graph.launch();
    }
    // Some operations need the host, and a launch that waits inside the driver may hold it up.
    if (round % launches_ahead == launches_ahead - 1) lane.wait();
  }
  lane.wait();
  for (const auto& each : all) each->expect_total(kRounds);

  // The host can neither start nor wait for requests that streams execute on their own.
  const bool moved_by_streams = hr::test::on_fake_driver() && on_one_host();
  if (!moved_by_streams) return;
  Matched& first = *all.front();
  MPI_Request pair[2] = {first.receive, first.send};
  MPI_Status statuses[2];
  CHECK_CLASS(MPI_Start(&first.send), MPI_ERR_REQUEST);
  CHECK_OK(MPIX_Startall_enqueue(2, pair, lane.comm()));
  CHECK_CLASS(MPIX_Startall_enqueue(2, pair, lane.comm()), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Wait(&first.receive, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  CHECK_OK(MPIX_Waitall_enqueue(2, pair, statuses));
  int count = 0;
  CHECK_OK(MPI_Get_count(&statuses[0], MPI_UINT32_T, &count));
  CHECK(statuses[0].MPI_SOURCE == lane.previous && statuses[0].MPI_TAG == 0 && count == 2);
  lane.step(first.total, first.to, first.from);
  CHECK_OK(MPIX_Waitall_enqueue(2, pair, statuses));  // both requests are complete
  lane.wait();
  first.expect_total(kRounds + 1);
  MPI_Request any = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Recv_init(first.to.get(), 2, MPI_UINT32_T, MPI_ANY_SOURCE, 0, lane.comm(), &any));
  CHECK_CLASS(MPIX_Matchall(1, &any), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Request_free(&any));
}

// Messages of any length and alignment on one communicator, started and waited for together.
class OddMessages {
 public:
  explicit OddMessages(const Lane& lane) : lane_(lane) {
    for (const int bytes : {1, 2, 3, 4, 8, 61, 62, 1000, 4097, 8191, 8192, 8193, 20000, 65536, 65537}) {
      const auto size = static_cast<std::size_t>(bytes);
      const std::size_t offset = all_.size() % 3 == 0 ? 0 : all_.size() % 5;
      all_.push_back({size, offset, std::make_unique<Buffer>(size + offset, MemoryKind::kDevice),
                      std::make_unique<Buffer>(size + offset, MemoryKind::kDevice)});
      const int tag = static_cast<int>(all_.size());
      const auto at = [&](const Buffer& buffer) { return static_cast<unsigned char*>(buffer.get()) + offset; };
      sends_.emplace_back();
      receives_.emplace_back();
      CHECK_OK(MPI_Send_init(at(*all_.back().from), bytes, MPI_BYTE, lane.next, tag, lane.comm(), &sends_.back()));
      CHECK_OK(MPI_Recv_init(at(*all_.back().to), bytes, MPI_BYTE, lane.previous, tag, lane.comm(), &receives_.back()));
    }
    std::vector<MPI_Request> both = sends_;
    both.insert(both.end(), receives_.begin(), receives_.end());
    CHECK_OK(MPIX_Matchall(static_cast<int>(both.size()), both.data()));
  }
  ~OddMessages() {
    for (MPI_Request& each : sends_) CHECK_OK(MPI_Request_free(&each));
    for (MPI_Request& each : receives_) CHECK_OK(MPI_Request_free(&each));
  }
  OddMessages(const OddMessages&) = delete;
  OddMessages& operator=(const OddMessages&) = delete;

  void put(unsigned round) {
    for (const Message& each : all_) {
      each.from->put(values(each, lane_.rank, round));
      each.to->put(std::vector<unsigned char>(each.offset + each.bytes, 0xa5));
    }
  }
  // In the stream of a lane, this one's or another.
  void send(const Lane& where) { start(sends_, where), wait(sends_); }
  void receive() { start(receives_, lane_), wait(receives_); }
  void check(unsigned round, const std::string& what) const {
    for (const Message& each : all_) {
      const auto found = each.to->take<unsigned char>(), wanted = values(each, lane_.previous, round);
      if (std::equal(found.begin() + static_cast<std::ptrdiff_t>(each.offset), found.end(),
                     wanted.begin() + static_cast<std::ptrdiff_t>(each.offset)))
        continue;
      check::fail(__FILE__, __LINE__, what + ", " + std::to_string(each.bytes) + " bytes: wrong");
    }
  }

 private:
  struct Message {
    std::size_t bytes, offset;
    std::unique_ptr<Buffer> from, to;
  };
  static std::vector<unsigned char> values(const Message& message, int rank, unsigned round) {
    std::vector<unsigned char> made(message.offset + message.bytes);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = static_cast<unsigned char>((i + 1) * 2654435761U * (round + 1) >> 9) ^ static_cast<unsigned char>(rank);
    }
    return made;
  }
  static void start(std::vector<MPI_Request>& requests, const Lane& where) {
    CHECK_OK(MPIX_Startall_enqueue(static_cast<int>(requests.size()), requests.data(), where.comm()));
  }
  static void wait(std::vector<MPI_Request>& requests) {
    CHECK_OK(MPIX_Waitall_enqueue(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  }

  const Lane& lane_;
  std::vector<Message> all_;
  std::vector<MPI_Request> sends_, receives_;
};

// The first stream waits for many messages while others exchange theirs, in more streams than those in which kernels
// may wait at a time, on the fake driver. On devices, they could share a hardware queue.
void waiting(const Kernels& kernels) {
  if (!on_one_host()) return;  // each rank sends before it receives, which needs the slots of matched messages
  const int count = hr::test::on_fake_driver() ? 10 : 2;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<std::unique_ptr<OddMessages>> messages;
  for (int i = 0; i < count; ++i) {
    lanes.push_back(std::make_unique<Lane>(kernels));
    messages.push_back(std::make_unique<OddMessages>(*lanes.back()));
  }
  for (unsigned round = 0; round < 2; ++round) {
    for (const auto& each : messages) each->put(round);
    gpu::synchronize();
    messages.front()->receive();
    for (std::size_t i = 1; i < lanes.size(); ++i) {
      messages[i]->send(*lanes[i]);
      messages[i]->receive();
    }
    for (std::size_t i = 1; i < lanes.size(); ++i) {
      lanes[i]->wait();
      messages[i]->check(round, "a stream beside one that waits");
    }
    messages.front()->send(*lanes[1]);
    lanes[1]->wait();  // the buffers of this lane are written next
    lanes.front()->wait();
    messages.front()->check(round, "a stream that waited");
  }
  const Graph graph(*lanes.front(), 1, [&] {
    messages.front()->send(*lanes.front());
    messages.front()->receive();
  });
  messages.front()->put(7);
  gpu::synchronize();
  for (int launch = 0; launch < 100; ++launch) graph.launch();
  lanes.front()->wait();
  messages.front()->check(7, "100 launches of a graph");
}

// Calls that cannot be captured fail, and the capture continues.
void refused_in_capture(const Kernels& kernels) {
  for (int mode = 0; mode < 3; ++mode) {
    const Lane lane(kernels);
    Buffer from(64, MemoryKind::kDevice), to(64, MemoryKind::kDevice);
    from.put(counting(16, 7));
    poison(to);
    gpu::synchronize();
    MPI_Request before[2];
    CHECK_OK(MPIX_Irecv_enqueue(to.get(), 16, MPI_UINT32_T, lane.previous, 0, lane.comm(), &before[0]));
    CHECK_OK(MPIX_Isend_enqueue(from.get(), 16, MPI_UINT32_T, lane.next, 0, lane.comm(), &before[1]));
    MPI_Request inside = MPI_REQUEST_NULL;
    {
      const Graph graph(lane, mode, [&] {
        CHECK_CLASS(MPIX_Wait_enqueue(&before[0], MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Send(from.get(), 16, MPI_UINT32_T, lane.next, 0, lane.comm()), MPI_ERR_OTHER);
        CHECK_CLASS(MPI_Barrier(lane.comm()), MPI_ERR_OTHER);
        CHECK_OK(MPIX_Isend_enqueue(from.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm(), &inside));
        lane.fill(from, 8);
      });
      CHECK_CLASS(MPIX_Wait_enqueue(&inside, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
      CHECK_OK(MPIX_Waitall_enqueue(2, before, MPI_STATUSES_IGNORE));
      lane.wait();
      expect(to.take<Word>(), counting(16, 7), "a message enqueued before a capture");
      graph.launch();
      lane.wait();
      expect(from.take<Word>(), counting(16, 8), "a graph with refused calls");
    }
    CHECK_OK(MPI_Request_free(&inside));
  }
}

// For drivers whose streams wait only for their own words: every enqueued operation is refused in a capture, which goes
// on and holds the rest, and matched requests are executed as if they were not matched.
void declined(const Kernels& kernels) {
  constexpr std::size_t kCount = 3000;
  constexpr int kElements = static_cast<int>(kCount);
  const Lane lane(kernels);
  Buffer from(kCount * sizeof(Word), MemoryKind::kDevice), to(kCount * sizeof(Word), MemoryKind::kDevice);
  MPI_Request requests[2];
  CHECK_OK(MPI_Send_init(from.get(), kElements, MPI_UINT32_T, lane.next, 1, lane.comm(), &requests[0]));
  CHECK_OK(MPI_Recv_init(to.get(), kElements, MPI_UINT32_T, lane.previous, 1, lane.comm(), &requests[1]));
  CHECK_OK(MPIX_Matchall(2, requests));
  hr::test::Variable by_streams("HEADRACE_ENQUEUED_BY_STREAMS");
  for (int mode = 0; mode < 3; ++mode) {
    poison(to);
    gpu::synchronize();
    const Graph graph(lane, mode, [&] {
      MPI_Request request = MPI_REQUEST_NULL;
      const auto refused = [&](int code) {
        CHECK_CLASS(code, MPI_ERR_UNSUPPORTED_OPERATION);
        CHECK(check::error_text(code).find("the capture is still valid") != std::string::npos);
      };
      refused(MPIX_Send_enqueue(from.get(), kElements, MPI_UINT32_T, lane.next, 0, lane.comm()));
      refused(MPIX_Irecv_enqueue(to.get(), kElements, MPI_UINT32_T, lane.previous, 0, lane.comm(), &request));
      refused(MPIX_Allreduce_enqueue(from.get(), to.get(), kElements, MPI_UINT32_T, MPI_SUM, lane.comm()));
      refused(MPIX_Startall_enqueue(2, requests, lane.comm()));
      refused(MPIX_Runall_enqueue(2, requests, lane.comm()));
      CHECK_CLASS(MPI_Barrier(lane.comm()), MPI_ERR_OTHER);
      lane.fill(from, value_of(lane.rank, mode));
    });
    graph.launch();
    CHECK_OK(MPIX_Startall_enqueue(2, requests, lane.comm()));
    CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
    lane.wait();
    expect(from.take<Word>(), counting(kCount, value_of(lane.rank, mode)), "a graph with refused calls");
    expect(to.take<Word>(), counting(kCount, value_of(lane.previous, mode)), "requests that could not be matched");
  }
  CHECK(by_streams.take() == 0);
  for (MPI_Request& each : requests) CHECK_OK(MPI_Request_free(&each));
}

// Blocking calls on the communicator are ordered after the work of its stream, though it is independent of the default
// stream.
void blocking(const Kernels& kernels) {
  const Lane lane(kernels), stuck(kernels);
  Buffer from(40000, MemoryKind::kDevice), to(40000, MemoryKind::kDevice), late(64, MemoryKind::kDevice);
  poison(to);
  gpu::synchronize();
  if (lane.rank == 0) {  // calls on the other communicator do not wait for this stream
    CHECK_OK(MPIX_Recv_enqueue(late.get(), 16, MPI_UINT32_T, 0, 1, stuck.comm(), MPI_STATUS_IGNORE));
  }
  for (int round = 0; round < 3; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    lane.fill(from, value_of(lane.rank, round), 10 * kSlow);
    CHECK_OK(MPI_Irecv(to.get(), 10000, MPI_UINT32_T, lane.previous, 0, lane.comm(), &request));
    CHECK_OK(MPI_Send(from.get(), 10000, MPI_UINT32_T, lane.next, 0, lane.comm()));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect(to.take<Word>(), counting(10000, value_of(lane.previous, round)), "a blocking message after a stream");
    lane.fill(from, static_cast<Word>(round), 10 * kSlow);
    CHECK_OK(MPI_Allreduce(from.get(), to.get(), 10000, MPI_UINT32_T, MPI_MAX, lane.comm()));
    expect(to.take<Word>(), counting(10000, static_cast<Word>(round)), "a blocking reduction after a stream");
  }
  if (lane.rank == 0) {
    // A second communicator with the same stream would wait for it; a request on the host ends the wait.
    std::vector<Word> host = counting(16, 5);
    MPI_Comm plain = stuck.comm();
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Send_init(host.data(), 16, MPI_UINT32_T, 0, 1, plain, &request));
    CHECK_OK(MPI_Start(&request));
    stuck.wait();
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Request_free(&request));
    expect(late.take<Word>(), counting(16, 5), "a message that the host sent");
  }
}

void errors(const Kernels& kernels) {
  MPI_Comm plain = MPI_COMM_NULL, nameless = MPI_COMM_NULL;
  MPIX_Stream name = MPIX_STREAM_NULL, found = MPIX_STREAM_NULL;
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &plain));
  CHECK_OK(MPIX_Stream_create(MPI_INFO_NULL, &name));
  CHECK_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, name, &nameless));
  Word word = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_CLASS(MPIX_Send_enqueue(&word, 1, MPI_UINT32_T, 0, 0, MPI_COMM_WORLD), MPI_ERR_COMM);
  CHECK_CLASS(MPIX_Send_enqueue(&word, 1, MPI_UINT32_T, 0, 0, plain), MPI_ERR_COMM);
  CHECK_CLASS(MPIX_Send_enqueue(&word, 1, MPI_UINT32_T, 0, 0, nameless), MPI_ERR_COMM);
  CHECK_OK(MPIX_Comm_get_stream(nameless, 0, &found));
  CHECK(found == name);
  CHECK_OK(MPIX_Comm_get_stream(plain, 0, &found));
  CHECK(found == MPIX_STREAM_NULL);
  CHECK_CLASS(MPIX_Comm_get_stream(plain, 1, &found), MPI_ERR_ARG);
  CHECK_OK(MPIX_Stream_progress(name));
  CHECK_OK(MPI_Comm_free(&plain));
  CHECK_OK(MPI_Comm_free(&nameless));
  CHECK_OK(MPIX_Stream_free(&name));
  CHECK(name == MPIX_STREAM_NULL);
  CHECK_CLASS(MPIX_Stream_free(&name), MPI_ERR_ARG);

  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "type", MPIX_Query_hip_support() != 0 ? "ze_command_list_handle_t" : "hipStream_t"));
  CHECK_CLASS(MPIX_Stream_create(info, &name), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_Info_set(info, "type", "cudaStream_t"));
  CHECK_CLASS(MPIX_Stream_create(info, &name), MPI_ERR_INFO_NOKEY);
  CHECK_OK(MPI_Info_set(info, "value", "12"));
  CHECK_CLASS(MPIX_Stream_create(info, &name), MPI_ERR_INFO_VALUE);
  const auto per_thread = std::uintptr_t{2};
  CHECK_OK(MPIX_Info_set_hex(info, "value", &per_thread, sizeof per_thread));
  CHECK_CLASS(MPIX_Stream_create(info, &name), MPI_ERR_ARG);
  CHECK_OK(MPI_Info_free(&info));

  {
    const Lane lane(kernels);
    Buffer data(64, MemoryKind::kDevice);
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, lane.size, 0, lane.comm()), MPI_ERR_RANK);
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, 0, -7, lane.comm()), MPI_ERR_TAG);
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), -1, MPI_UINT32_T, 0, 0, lane.comm()), MPI_ERR_COUNT);
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), 17, MPI_UINT32_T, 0, 0, lane.comm()), MPI_ERR_BUFFER);
    CHECK_CLASS(MPIX_Send_enqueue(nullptr, 1, MPI_UINT32_T, 0, 0, lane.comm()), MPI_ERR_BUFFER);
    CHECK_OK(MPI_Irecv(&word, 1, MPI_UINT32_T, lane.rank, 3, MPI_COMM_WORLD, &request));
    CHECK_CLASS(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK_CLASS(MPIX_Startall_enqueue(1, &request, lane.comm()), MPI_ERR_REQUEST);
    const Word sent = 1;
    CHECK_OK(MPI_Send(&sent, 1, MPI_UINT32_T, lane.rank, 3, MPI_COMM_WORLD));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));  // MPI_REQUEST_NULL

    // If a message is too long, the stream continues, and the next call reports the error.
    Buffer small(16, MemoryKind::kDevice);
    CHECK_OK(MPIX_Isend_enqueue(data.get(), 16, MPI_UINT32_T, lane.rank, 4, lane.comm(), &request));
    CHECK_OK(MPIX_Recv_enqueue(small.get(), 4, MPI_UINT32_T, lane.rank, 4, lane.comm(), MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    lane.wait();
    CHECK_CLASS(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm()), MPI_ERR_TRUNCATE);
    CHECK_OK(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm()));

    // The buffer is freed before the stream reaches the operation. Devices may keep the buffer mapped in its pool.
    const Lane other(kernels);
    auto freed = std::make_unique<Buffer>(64, MemoryKind::kPool);
    const gpu::Event gate = gpu::create_event();
    CHECK_OK(MPIX_Recv_enqueue(data.get(), 16, MPI_UINT32_T, lane.rank, 1, other.comm(), MPI_STATUS_IGNORE));
    gpu::record(gate, other.stream());
    gpu::wait(lane.stream(), gate);
    CHECK_OK(MPIX_Send_enqueue(freed->get(), 16, MPI_UINT32_T, lane.rank, 2, lane.comm()));
    freed.reset();
    MPI_Request opens[2];
    Word unused[16];
    CHECK_OK(MPI_Recv_init(unused, 16, MPI_UINT32_T, lane.rank, 2, lane.comm(), &opens[0]));
    CHECK_OK(MPI_Send_init(&word, 1, MPI_UINT32_T, lane.rank, 1, other.comm(), &opens[1]));
    CHECK_OK(MPI_Startall(2, opens));
    lane.wait();
    gpu::destroy_event(gate);
    const int code = MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm());
    if (code != MPI_SUCCESS || hr::test::on_fake_driver()) {
      check::equal(__FILE__, __LINE__, "the class for a freed buffer", check::error_class(code), MPI_ERR_BUFFER);
      CHECK_OK(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, lane.rank, 2, lane.comm()));
      lane.wait();
    }
    CHECK_OK(MPI_Waitall(2, opens, MPI_STATUSES_IGNORE));
    for (MPI_Request& each : opens) CHECK_OK(MPI_Request_free(&each));
  }
}

// More operations than a stream can hold; the host runs far ahead.
void many(const Kernels& kernels) {
  constexpr int kMessages = 1500;
  // Freed after the communicator, which waits for the stream: the driver also waits for it, but with its lock held.
  Buffer from(kMessages * sizeof(Word), MemoryKind::kDevice), to(kMessages * sizeof(Word), MemoryKind::kDevice);
  const Lane lane(kernels);
  poison(to);
  gpu::synchronize();
  lane.fill(from, value_of(lane.rank, 0), kSlow);
  for (int i = 0; i < kMessages; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPIX_Isend_enqueue(static_cast<Word*>(from.get()) + i, 1, MPI_UINT32_T, lane.next, i % 7, lane.comm(),
                                &request));
    CHECK_OK(MPIX_Recv_enqueue(static_cast<Word*>(to.get()) + i, 1, MPI_UINT32_T, lane.previous, i % 7, lane.comm(),
                               MPI_STATUS_IGNORE));
    CHECK_OK(i % 2 == 0 ? MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE) : MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  lane.wait();
  expect(to.take<Word>(), counting(kMessages, value_of(lane.previous, 0)), "many messages");
  // MPI_Comm_free waits for operations for which the program has not waited.
  CHECK_OK(MPIX_Recv_enqueue(to.get(), 1, MPI_UINT32_T, lane.previous, 8, lane.comm(), MPI_STATUS_IGNORE));
  CHECK_OK(MPIX_Send_enqueue(from.get(), 1, MPI_UINT32_T, lane.next, 9, lane.comm()));
  // The two do not match: the messages are on host communicators.
  MPI_Request rest[2];
  Word out = 1, in = 0;
  CHECK_OK(MPI_Send_init(&out, 1, MPI_UINT32_T, lane.next, 8, lane.comm(), &rest[0]));
  CHECK_OK(MPI_Recv_init(&in, 1, MPI_UINT32_T, lane.previous, 9, lane.comm(), &rest[1]));
  CHECK_OK(MPI_Startall(2, rest));
  CHECK_OK(MPI_Waitall(2, rest, MPI_STATUSES_IGNORE));
  for (MPI_Request& each : rest) CHECK_OK(MPI_Request_free(&each));
}

// The very first messages, with every kind of memory, while a stream is already waiting: nothing that the library
// creates for them may wait for that stream.
void cold(const Kernels& kernels) {
  const Lane lane(kernels), waiting(kernels);
  Buffer late(64, MemoryKind::kDevice), data(64, MemoryKind::kDevice);
  std::vector<std::unique_ptr<Ring>> rings;
  for (const MemoryKind kind : hr::test::kAllKinds) rings.push_back(std::make_unique<Ring>(lane, kind, 200000));
  gpu::synchronize();
  const bool receives = waiting.rank % 2 == 0 && waiting.rank + 1 < waiting.size;
  if (receives) {
    CHECK_OK(MPIX_Recv_enqueue(late.get(), 16, MPI_UINT32_T, waiting.rank + 1, 0, waiting.comm(), MPI_STATUS_IGNORE));
  }
  for (const auto& each : rings) each->run("the first messages");
  if (waiting.rank % 2 == 1) {
    CHECK_OK(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, waiting.rank - 1, 0, waiting.comm()));
  }
  waiting.wait();
}

// The same messages with ordinary calls.
void warm_up() {
  int rank = 0, size = 0;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (const MemoryKind kind : hr::test::kAllKinds) {
    Buffer from(800000, kind), to(800000, kind);
    gpu::synchronize();
    for (const int bytes : {8, 800000}) {
      CHECK_OK(MPI_Sendrecv(from.get(), bytes, MPI_BYTE, (rank + 1) % size, 0, to.get(), bytes, MPI_BYTE,
                            (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
  }
}

const std::map<std::string, std::function<void(const Kernels&)>>& parts() {
  static const std::map<std::string, std::function<void(const Kernels&)>> all = {{"memory", memory},
                                                                                 {"kinds", kinds_of_streams},
                                                                                 {"derived", derived},
                                                                                 {"any", any_source},
                                                                                 {"two", two_communicators},
                                                                                 {"collectives", collectives},
                                                                                 {"persistent", persistent},
                                                                                 {"graph", graph},
                                                                                 {"refused", refused_in_capture},
                                                                                 {"declined", declined},
                                                                                 {"matched", matched},
                                                                                 {"waiting", waiting},
                                                                                 {"blocking", blocking},
                                                                                 {"cold", cold},
                                                                                 {"errors", errors},
                                                                                 {"many", many}};
  return all;
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_SINGLE);
  if (!hr::test::select_device()) return 0;
  const streams::Kernels kernels;
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty() || names[0] == "all") {
    names.clear();
    for (const auto& [name, part] : streams::parts()) {
      if (name != "declined") names.push_back(name);
    }
  }
  if (names.front() != "cold") streams::warm_up();
  for (const std::string& name : names) {
    const auto found = streams::parts().find(name);
    if (found == streams::parts().end()) check::fail(__FILE__, __LINE__, "there is no part " + name);
    if (mpi.rank == 0) std::printf("%s\n", name.c_str()), std::fflush(stdout);
    found->second(kernels);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return 0;
}
