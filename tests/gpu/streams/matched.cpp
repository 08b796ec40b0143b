// Messages that are matched before they are started.
#include <mpix-device.h>

#include <memory>
#include <string>
#include <vector>

#include "../memory_in_use.hpp"
#include "parts.hpp"

namespace streams {
namespace {

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
  // Sends in the stream of any lane; receive() uses this object's lane.
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

}  // namespace

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

// The first stream waits for many messages while other streams exchange theirs. On the fake driver, kernels cannot wait
// in so many streams at a time. On devices there are only two streams, as more could share a hardware queue.
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

}  // namespace streams
