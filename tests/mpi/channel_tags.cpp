// Several channels for one communicator, chosen by tag: random mixes of threads that exchange messages with all ranks
// on one communicator, whose members assert that they do not use MPI_ANY_TAG. Every value is checked, and the order of
// messages with the same source and tag. Arguments: mixes, most threads, seed (default: the time; printed).
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/check.hpp"

namespace {

constexpr int kTags = 3;          // of each thread
constexpr int kBatch = 8;         // most receives at a time
constexpr int kUnusedTag = 9999;  // plus the thread's number
constexpr int kSharedTag = 20000;
constexpr int kExchangeTag = 30000;
constexpr int kPendingTag = 40000;
constexpr int kSizes[] = {0, 1, 2, 25, 500, 5000, 20000, 70000};  // integers; the last three are long messages

int rank = 0;
int size = 0;

struct Message {
  int tag;
  int count;
  int place;  // index among the messages with this source, destination and tag
};

// A plan that all ranks draw alike.
struct Plan {
  unsigned seed;
  int threads;
  int stride;   // between the tags of a thread
  int sizes;    // number of elements of kSizes in use
  bool shared;  // the threads also share a tag
  std::mt19937 random_of(int what, int who) const {
    std::seed_seq mixed{seed, static_cast<unsigned>(what), static_cast<unsigned>(who)};
    return std::mt19937(mixed);
  }
  int tag_of(int thread, int which) const { return (thread * kTags + which) * stride; }
};

int draw(std::mt19937& random, int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }

// First value of a message; the others follow from it.
int first_of(int source, int dest, const Message& message) {
  return (((source * 8 + dest) * 4099 + message.tag) * 131 + message.place) & 0x3fffffff;
}
std::vector<int> data_of(int source, int dest, const Message& message) {
  std::vector<int> data(static_cast<std::size_t>(message.count));
  for (int i = 0; i < message.count; ++i) data[static_cast<std::size_t>(i)] = first_of(source, dest, message) + 7 * i;
  return data;
}
void check_data(int source, const Message& message, const int* data) {
  for (int i = 0; i < message.count; ++i) CHECK_EQ(data[i], first_of(source, rank, message) + 7 * i);
}

// Returns the messages of a thread from `source` to `dest`, in the order in which they are sent.
std::vector<Message> messages_of(const Plan& plan, int thread, int source, int dest) {
  std::mt19937 random = plan.random_of(thread, source * size + dest);
  std::vector<Message> messages(static_cast<std::size_t>(draw(random, size > 4 ? 4 : 8)));
  int places[kTags] = {};
  for (Message& each : messages) {
    const int which = draw(random, kTags);
    each = {plan.tag_of(thread, which), kSizes[draw(random, plan.sizes)], places[which]++};
  }
  return messages;
}

MPI_Request start(std::mt19937& random, const std::vector<int>& data, const Message& message, int dest, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (draw(random, 5)) {
    case 0:
      CHECK_OK(MPI_Issend(data.data(), message.count, MPI_INT, dest, message.tag, comm, &request));
      break;
    case 1:
      CHECK_OK(MPI_Bsend(data.data(), message.count, MPI_INT, dest, message.tag, comm));
      break;
    case 2:
      CHECK_OK(MPI_Send_init(data.data(), message.count, MPI_INT, dest, message.tag, comm, &request));
      CHECK_OK(MPI_Start(&request));
      break;
    default:
      CHECK_OK(MPI_Isend(data.data(), message.count, MPI_INT, dest, message.tag, comm, &request));
  }
  return request;
}

// Completes all requests with a randomly chosen function. Stores the statuses in the order of the requests.
void complete(std::mt19937& random, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses) {
  const int count = static_cast<int>(requests.size());
  statuses.resize(requests.size());
  std::vector<MPI_Status> some(requests.size());
  std::vector<int> indices(requests.size());
  const auto active = static_cast<int>(
      std::count_if(requests.begin(), requests.end(), [](auto each) { return each != MPI_REQUEST_NULL; }));
  int flag = 0;
  switch (draw(random, 6)) {
    case 0:
      CHECK_OK(MPI_Waitall(count, requests.data(), statuses.data()));
      return;
    case 1:
      for (std::size_t i = requests.size(); i-- > 0;) CHECK_OK(MPI_Wait(&requests[i], &statuses[i]));
      return;
    case 2:
      for (int left = active; left > 0; --left) {
        int index = -1;
        MPI_Status status;
        CHECK_OK(MPI_Waitany(count, requests.data(), &index, &status));
        CHECK(index != MPI_UNDEFINED);
        statuses[static_cast<std::size_t>(index)] = status;
      }
      return;
    case 3:
      for (int left = active; left > 0;) {
        int done = 0;
        CHECK_OK(MPI_Waitsome(count, requests.data(), &done, indices.data(), some.data()));
        for (int i = 0; i < done; ++i)
          statuses[static_cast<std::size_t>(indices[i])] = some[static_cast<std::size_t>(i)];
        left -= done;
      }
      return;
    case 4:
      while (flag == 0) CHECK_OK(MPI_Testall(count, requests.data(), &flag, statuses.data()));
      return;
    default:
      for (std::size_t i = 0; i < requests.size(); ++i) {
        for (flag = 0; flag == 0;) CHECK_OK(MPI_Test(&requests[i], &flag, &statuses[i]));
      }
  }
}

// The messages that a thread still expects.
class Expected {
 public:
  Expected(const Plan& plan, int thread) {
    for (int source = 0; source < size; ++source) {
      for (const Message& each : messages_of(plan, thread, source, rank)) {
        left_[{source, each.tag}].push_back(each);
        ++tags_[each.tag];
      }
    }
    for (auto& [key, messages] : left_) std::reverse(messages.begin(), messages.end());
  }
  [[nodiscard]] bool empty() const { return tags_.empty(); }
  // Draws a receive that matches some message, and counts it as posted.
  void post(std::mt19937& random, bool any_source, int* source, int* tag) {
    auto chosen = tags_.begin();
    std::advance(chosen, draw(random, static_cast<int>(tags_.size())));
    *tag = chosen->first;
    if (--chosen->second == 0) tags_.erase(chosen);
    *source = MPI_ANY_SOURCE;
    if (any_source) return;
    // Finds the next source that has messages with this tag for which no receive is posted.
    for (*source = draw(random, size);; *source = (*source + 1) % size) {
      auto& posted = posted_[{*source, *tag}];
      const auto found = left_.find({*source, *tag});
      if (found == left_.end() || posted == found->second.size()) continue;
      ++posted;
      return;
    }
  }
  // Checks a message that was received; receives with one tag must be passed in the order in which they were posted.
  void check(const MPI_Status& status, int source, int tag, const int* data) {
    CHECK_EQ(status.MPI_TAG, tag);
    if (source != MPI_ANY_SOURCE) CHECK_EQ(status.MPI_SOURCE, source);
    auto found = left_.find({status.MPI_SOURCE, tag});
    if (found == left_.end() || found->second.empty())
      check::fail(__FILE__, __LINE__,
                  "unexpected: source " + std::to_string(status.MPI_SOURCE) + ", tag " + std::to_string(tag) +
                      ", first value " + std::to_string(data[0]));
    const Message message = found->second.back();
    found->second.pop_back();
    if (source != MPI_ANY_SOURCE) --posted_[{source, tag}];
    int count = -1;
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, message.count);
    check_data(status.MPI_SOURCE, message, data);
  }

 private:
  std::map<std::pair<int, int>, std::vector<Message>> left_;  // by source and tag, last one first
  std::map<std::pair<int, int>, std::size_t> posted_;         // by source and tag: posted receives that name the source
  std::map<int, int> tags_;                                   // by tag: messages without a posted receive
};

// Receives one message by a blocking call, after a probe, or with a matched probe.
void receive_one(std::mt19937& random, Expected& expected, bool any_source, std::vector<int>& data, MPI_Comm comm) {
  int source = 0, tag = 0, flag = 0;
  expected.post(random, any_source, &source, &tag);
  const int room = static_cast<int>(data.size());
  MPI_Status status;
  MPI_Message matched = MPI_MESSAGE_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  switch (draw(random, 5)) {
    case 0:
      CHECK_OK(MPI_Recv(data.data(), room, MPI_INT, source, tag, comm, &status));
      break;
    case 1: {
      CHECK_OK(MPI_Probe(source, tag, comm, &status));
      const int from = status.MPI_SOURCE;
      CHECK_OK(MPI_Recv(data.data(), room, MPI_INT, from, tag, comm, &status));
      CHECK_EQ(status.MPI_SOURCE, from);
      break;
    }
    case 2:
      while (flag == 0) CHECK_OK(MPI_Iprobe(source, tag, comm, &flag, &status));
      CHECK_OK(MPI_Irecv(data.data(), room, MPI_INT, status.MPI_SOURCE, tag, comm, &request));
      CHECK_OK(MPI_Wait(&request, &status));
      break;
    case 3:
      CHECK_OK(MPI_Mprobe(source, tag, comm, &matched, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Mrecv(data.data(), room, MPI_INT, &matched, &status));
      break;
    default:
      while (flag == 0) CHECK_OK(MPI_Improbe(source, tag, comm, &flag, &matched, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Imrecv(data.data(), room, MPI_INT, &matched, &request));
      CHECK_OK(MPI_Wait(&request, &status));
  }
  expected.check(status, source, tag, data.data());
}

// Posts several receives, in general on several channels, and completes them together.
void receive_batch(std::mt19937& random, Expected& expected, bool any_source, std::vector<int>& data, MPI_Comm comm) {
  const int most = 1 + draw(random, kBatch);
  const std::size_t room = data.size() / kBatch;
  const bool persistent = draw(random, 4) == 0;
  std::vector<MPI_Request> requests;
  std::vector<std::pair<int, int>> wanted;
  for (int i = 0; i < most && !expected.empty(); ++i) {
    auto& [source, tag] = wanted.emplace_back();
    expected.post(random, any_source, &source, &tag);
    int* const to = data.data() + static_cast<std::size_t>(i) * room;
    MPI_Request& request = requests.emplace_back();
    const auto post = persistent ? MPI_Recv_init : MPI_Irecv;
    CHECK_OK(post(to, static_cast<int>(room), MPI_INT, source, tag, comm, &request));
    if (persistent) CHECK_OK(MPI_Start(&request));
  }
  std::vector<MPI_Status> statuses;
  complete(random, requests, statuses);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    expected.check(statuses[i], wanted[i].first, wanted[i].second, data.data() + i * room);
    if (persistent) CHECK_OK(MPI_Request_free(&requests[i]));
  }
}

// A ring in which the two halves of a call have different tags. All ranks draw the same flavour.
void exchange(std::mt19937& plan, int thread, MPI_Comm comm) {
  const int shift = 1 + draw(plan, size), flavour = draw(plan, 4), count = kSizes[draw(plan, std::size(kSizes))];
  const int dest = (rank + shift) % size, source = (rank + size - shift % size) % size;
  const auto tag_from = [&](int from) { return kExchangeTag + thread * 8 + from % 8; };
  const Message sent{tag_from(rank), count, 0}, wanted{tag_from(source), count, 0};
  const std::vector<int> out = data_of(rank, dest, sent);
  std::vector<int> in(out.size() + 1, -1);
  if (flavour >= 2) std::copy(out.begin(), out.end(), in.begin());
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  switch (flavour) {
    case 0:
      CHECK_OK(MPI_Sendrecv(out.data(), count, MPI_INT, dest, sent.tag, in.data(), count, MPI_INT, MPI_ANY_SOURCE,
                            wanted.tag, comm, &status));
      break;
    case 1:
      CHECK_OK(MPI_Isendrecv(out.data(), count, MPI_INT, dest, sent.tag, in.data(), count, MPI_INT, source, wanted.tag,
                             comm, &request));
      CHECK_OK(MPI_Wait(&request, &status));
      break;
    case 2:
      CHECK_OK(MPI_Sendrecv_replace(in.data(), count, MPI_INT, dest, sent.tag, source, wanted.tag, comm, &status));
      break;
    default:
      CHECK_OK(
          MPI_Isendrecv_replace(in.data(), count, MPI_INT, dest, sent.tag, MPI_ANY_SOURCE, wanted.tag, comm, &request));
      CHECK_OK(MPI_Wait(&request, &status));
  }
  CHECK_EQ(status.MPI_SOURCE, source);
  CHECK_EQ(status.MPI_TAG, wanted.tag);
  check_data(source, wanted, in.data());
}

// A receive without a message, and a send without a receive, are cancelled.
void cancel(int thread, MPI_Comm comm) {
  int value = 3, cancelled = 0;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kUnusedTag + thread, comm, &requests[0]));
  CHECK_OK(MPI_Issend(&value, 1, MPI_INT, (rank + 1) % size, kUnusedTag - 1 - thread, comm, &requests[1]));
  for (MPI_Request& each : requests) CHECK_OK(MPI_Cancel(&each));
  CHECK_OK(MPI_Waitall(2, requests, statuses));
  for (const MPI_Status& each : statuses) {
    CHECK_OK(MPI_Test_cancelled(&each, &cancelled));
    CHECK_EQ(cancelled, 1);
  }
}

void run_thread(const Plan& plan, int thread, MPI_Comm comm) {
  std::mt19937 random = plan.random_of(1000 + thread, rank), alike = plan.random_of(2000, thread);
  std::vector<std::vector<int>> sent;
  std::vector<MPI_Request> sends;
  for (int i = 0; i < size; ++i) {
    const int dest = (rank + thread + i) % size;
    for (const Message& each : messages_of(plan, thread, rank, dest)) {
      sent.push_back(data_of(rank, dest, each));
      sends.push_back(start(random, sent.back(), each, dest, comm));
    }
  }
  if (draw(alike, 2) == 0) exchange(alike, thread, comm);
  if (draw(random, 4) == 0) cancel(thread, comm);
  Expected expected(plan, thread);
  std::vector<int> data(static_cast<std::size_t>(kSizes[plan.sizes - 1] + 1) * kBatch, -1);
  // Receives from any source are not mixed with others: with the same tag, each could take the message of the other.
  const bool any_source = draw(random, 2) == 0;
  while (!expected.empty()) {
    if (draw(random, 2) == 0) {
      receive_one(random, expected, any_source, data, comm);
    } else {
      receive_batch(random, expected, any_source, data, comm);
    }
  }
  std::vector<MPI_Status> statuses;
  complete(random, sends, statuses);
  for (MPI_Request& each : sends) {
    if (each != MPI_REQUEST_NULL) CHECK_OK(MPI_Request_free(&each));
  }
  if (draw(alike, 2) == 0) exchange(alike, thread, comm);
}

// The threads of each rank send messages with one tag to the next rank, and take those of the previous one with matched
// probes: each arrives once.
void run_shared(const Plan& plan, int thread, MPI_Comm comm, std::vector<std::atomic<int>>& seen) {
  std::mt19937 random = plan.random_of(3000 + thread, rank);
  constexpr int kEach = 4;
  std::vector<int> out(kEach);
  std::vector<MPI_Request> sends(kEach);
  for (int i = 0; i < kEach; ++i) {
    out[static_cast<std::size_t>(i)] = rank * 1000 + thread * kEach + i;
    CHECK_OK(MPI_Isend(&out[static_cast<std::size_t>(i)], 1, MPI_INT, (rank + 1) % size, kSharedTag, comm,
                       &sends[static_cast<std::size_t>(i)]));
  }
  for (int i = 0; i < kEach; ++i) {
    int value = -1, flag = 0;
    MPI_Message matched = MPI_MESSAGE_NULL;
    if (draw(random, 2) == 0) {
      CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, kSharedTag, comm, &matched, MPI_STATUS_IGNORE));
    } else {
      while (flag == 0) CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, kSharedTag, comm, &flag, &matched, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &matched, MPI_STATUS_IGNORE));
    CHECK_EQ(value / 1000, (rank + size - 1) % size);
    ++seen[static_cast<std::size_t>(value % 1000)];
  }
  std::vector<MPI_Status> statuses;
  complete(random, sends, statuses);
}

// Creates a communicator with a hint by one of the functions that take hints.
MPI_Comm make(int how, bool asserts) {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_no_any_tag", asserts ? "true" : "false"));
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request;
  MPI_Group group;
  switch (how) {
    case 0:
      CHECK_OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &made, &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      break;
    case 1:
      if (check::one_host()) {
        CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, info, &made));
        break;
      }
      [[fallthrough]];
    case 2:
      CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
      CHECK_OK(MPI_Comm_create_from_group(group, "tags", info, MPI_ERRORS_ARE_FATAL, &made));
      CHECK_OK(MPI_Group_free(&group));
      break;
    case 3:
      CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nullptr, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                                              info, 0, &made));
      break;
    default:
      CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made));
  }
  CHECK_OK(MPI_Info_free(&info));
  return made;
}

void mix(unsigned seed, int most_threads) {
  std::mt19937 random(seed);
  Plan plan{seed, 2 + draw(random, most_threads - 1), 0, 0, draw(random, 3) == 0};
  constexpr int kStrides[] = {1, 1, 7, 32, 100};
  plan.stride = kStrides[draw(random, std::size(kStrides))];
  plan.sizes = draw(random, 4) == 0 ? static_cast<int>(std::size(kSizes)) : 5;
  // All members use one channel, as the last rank has not made the assertion.
  const bool all_assert = draw(random, 5) != 0;
  MPI_Comm comm = make(draw(random, 6), all_assert || rank != size - 1);
  std::vector<std::atomic<int>> seen(1000);
  std::vector<std::thread> running;
  for (int t = 0; t < plan.threads; ++t) {
    running.emplace_back([&, t] {
      run_thread(plan, t, comm);
      if (plan.shared) run_shared(plan, t, comm, seen);
    });
  }
  for (std::thread& each : running) each.join();
  for (int i = 0; i < plan.threads * 4 && plan.shared; ++i) CHECK_EQ(seen[static_cast<std::size_t>(i)].load(), 1);
  if (!all_assert && rank == size - 1) {
    int out = 5, in = -1;
    CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, rank, 3, &in, 1, MPI_INT, rank, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(in, 5);
  }
  // Messages on several channels are pending when the communicator is freed.
  constexpr int kPending = 4;
  int out[kPending], in[kPending];
  MPI_Request requests[2 * kPending];
  for (int i = 0; i < kPending; ++i) {
    out[i] = rank * 10 + i, in[i] = -1;
    CHECK_OK(MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, kPendingTag + i, comm, &requests[i]));
    CHECK_OK(MPI_Issend(&out[i], 1, MPI_INT, (rank + 1) % size, kPendingTag + i, comm, &requests[kPending + i]));
  }
  CHECK_OK(draw(random, 4) == 0 ? MPI_Comm_disconnect(&comm) : MPI_Comm_free(&comm));
  CHECK_OK(MPI_Waitall(2 * kPending, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kPending; ++i) CHECK_EQ(in[i], (rank + size - 1) % size * 10 + i);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  rank = check::world_rank();
  size = check::world_size();
  const int mixes = argc > 1 ? std::atoi(argv[1]) : 20;
  const int most_threads = argc > 2 ? std::atoi(argv[2]) : 8;
  unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : static_cast<unsigned>(std::time(nullptr));
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
  std::vector<char> buffer(std::size_t{64} << 20);
  CHECK_OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
  for (int i = 0; i < mixes; ++i, ++seed) {
    // A failed mix is repeated alone with this seed.
    if (rank == 0) std::printf("mix %d: seed %u\n", i, seed), std::fflush(stdout);
    mix(seed, most_threads);
  }
  void* attached = nullptr;
  int bytes = 0;
  CHECK_OK(MPI_Buffer_detach(&attached, &bytes));
  return MPI_Finalize();
}
