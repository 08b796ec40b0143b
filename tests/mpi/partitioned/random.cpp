// Random partitioned messages between all ranks: layouts, numbers of partitions, memory kinds, order and form of the
// calls that mark them as ready; every byte of every buffer is checked, and each partition as soon as it is reported as
// arrived.
//
//   mpi_partitioned_random [seed] [rounds] [host]
//
// Without "host": all kinds of memory if there is a CUDA driver.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../../gpu/device_memory.hpp"
#include "../common/check.hpp"

namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;

constexpr int kGap = -77;
constexpr int kStarts = 3;

using Generator = std::mt19937_64;
int draw(Generator& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

struct Side {
  int partitions, elements, ints;  // ints per element, elements per partition
  bool strided;
  MemoryKind memory;
};

struct Message {
  int source, target, tag, number;
  Side send, receive;
};

std::vector<MemoryKind> kinds{MemoryKind::kHost};

Message draw_message(Generator& random, int size, int number) {
  Message made{};
  made.source = draw(random, 0, size - 1);
  made.target = draw(random, 0, size - 1);
  made.tag = draw(random, 0, 1);
  made.number = number;
  for (Side* side : {&made.send, &made.receive}) {
    side->partitions = draw(random, 1, 9);
    side->ints = draw(random, 0, 2) == 0 ? draw(random, 2, 7) : 1;
    side->strided = draw(random, 0, 1) == 0;
    side->memory = kinds[static_cast<std::size_t>(draw(random, 0, static_cast<int>(kinds.size()) - 1))];
  }
  const int send = made.send.partitions * made.send.ints, receive = made.receive.partitions * made.receive.ints;
  const int most[] = {0, 3, 40, 400};
  const int total = std::lcm(send, receive) * draw(random, 0, most[draw(random, 0, 3)]);
  made.send.elements = total / send;
  made.receive.elements = total / receive;
  return made;
}

int value_of(const Message& message, int start, int index) {
  const auto mixed = static_cast<unsigned>(message.number) * 1000003U + static_cast<unsigned>(start) * 7919U +
                     static_cast<unsigned>(index) * 31U;
  return static_cast<int>(mixed);
}

// This rank's side of a message.
class End {
 public:
  End(const Message& message, bool is_receive, MPI_Comm comm)
      : message_(message), side_(is_receive ? message.receive : message.send), is_receive_(is_receive) {
    if (side_.strided) {
      CHECK_OK(MPI_Type_vector(side_.ints, 1, 2, MPI_INT, &type_));
    } else {
      CHECK_OK(MPI_Type_contiguous(side_.ints, MPI_INT, &type_));
    }
    CHECK_OK(MPI_Type_commit(&type_));
    extent_ = side_.strided ? 2 * side_.ints - 1 : side_.ints;
    content_.assign(static_cast<std::size_t>(side_.partitions * side_.elements * extent_ + 2), kGap);
    memory_ = std::make_unique<DeviceMemory>(content_.size() * sizeof(int), side_.memory, std::max(gpu::device(), 0));
    write();
    int* const buffer = static_cast<int*>(memory_->get()) + 1;
    const int peer = is_receive ? message.source : message.target;
    const auto init = is_receive ? MPI_Precv_init(buffer, side_.partitions, side_.elements, type_, peer, message.tag,
                                                  comm, MPI_INFO_NULL, &request_)
                                 : MPI_Psend_init(buffer, side_.partitions, side_.elements, type_, peer, message.tag,
                                                  comm, MPI_INFO_NULL, &request_);
    CHECK_OK(init);
    CHECK_OK(MPI_Type_free(&type_));
  }
  ~End() { MPI_Request_free(&request_); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void start(int number, Generator& random) {
    number_ = number;
    std::fill(content_.begin(), content_.end(), kGap);
    if (!is_receive_) place(0, side_.partitions);
    write();
    CHECK_OK(MPI_Start(&request_));
    open_.resize(static_cast<std::size_t>(side_.partitions));
    std::iota(open_.begin(), open_.end(), 0);
    std::shuffle(open_.begin(), open_.end(), random);
  }

  // Performs one possible step; returns false if the operation is complete.
  bool step(Generator& random) {
    if (over_) return false;
    is_receive_ ? ask(random) : mark(random);
    return true;
  }
  void begin_again() { over_ = false; }

 private:
  void mark(Generator& random) {
    if (open_.empty()) return finish(random);
    switch (draw(random, 0, 3)) {
      case 0: {
        const int some = draw(random, 0, static_cast<int>(open_.size()));
        const auto first = open_.end() - some;
        CHECK_OK(MPI_Pready_list(some, open_.data() + (first - open_.begin()), request_));
        open_.erase(first, open_.end());
        break;
      }
      case 1: {
        std::sort(open_.begin(), open_.end());
        int last = open_.back(), low = last;
        open_.pop_back();
        while (!open_.empty() && open_.back() == low - 1) {
          low = open_.back();
          open_.pop_back();
        }
        CHECK_OK(MPI_Pready_range(low, last, request_));
        break;
      }
      default:
        CHECK_OK(MPI_Pready(open_.back(), request_));
        open_.pop_back();
    }
  }

  void ask(Generator& random) {
    if (open_.empty() || draw(random, 0, 20) == 0) return finish(random);
    const auto at = static_cast<std::size_t>(draw(random, 0, static_cast<int>(open_.size()) - 1));
    const int partition = open_[at];
    int flag = -1;
    CHECK_OK(MPI_Parrived(request_, partition, &flag));
    if (flag == 0) return;
    place(partition, partition + 1);
    check_partition(partition);
    open_[at] = open_.back();
    open_.pop_back();
  }

  void finish(Generator& random) {
    MPI_Status status;
    int done = 0;
    CHECK_OK(MPI_Test(&request_, &done, &status));
    if (done == 0) return;
    over_ = true;
    CHECK(request_ != MPI_REQUEST_NULL);
    if (is_receive_) {
      CHECK_EQ(status.MPI_SOURCE, message_.source);
      CHECK_EQ(status.MPI_TAG, message_.tag);
      int count = -1;
      CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
      CHECK_EQ(count, side_.partitions * side_.elements * side_.ints);
      int flag = 0;
      CHECK_OK(MPI_Parrived(request_, draw(random, 0, side_.partitions - 1), &flag));
      CHECK_EQ(flag, 1);
    }
    place(0, side_.partitions);
    const std::vector<std::byte> found = memory_->read();
    std::vector<int> ints(content_.size());
    std::memcpy(ints.data(), found.data(), found.size());
    for (std::size_t i = 0; i < ints.size(); ++i) {
      if (ints[i] != content_[i]) wrong("at int " + std::to_string(i), ints[i], content_[i]);
    }
  }

  // Copies the message data of these partitions into the expected content.
  void place(int from, int to) {
    const int each = side_.elements * side_.ints;
    for (int i = from * each; i < to * each; ++i) {
      const int element = i / side_.ints, within = i % side_.ints;
      content_[static_cast<std::size_t>(1 + element * extent_ + within * (side_.strided ? 2 : 1))] =
          value_of(message_, number_, i);
    }
  }

  void check_partition(int partition) {
    const std::vector<std::byte> found = memory_->read();
    const std::size_t each = static_cast<std::size_t>(side_.elements * extent_);
    const std::size_t from = 1 + static_cast<std::size_t>(partition) * each;
    std::vector<int> ints(content_.size());
    std::memcpy(ints.data(), found.data(), found.size());
    for (std::size_t i = from; i < from + each; ++i) {
      if (content_[i] != kGap && ints[i] != content_[i]) {
        wrong("partition " + std::to_string(partition) + " has arrived, at int " + std::to_string(i), ints[i],
              content_[i]);
      }
    }
  }

  [[noreturn]] void wrong(const std::string& where, int found, int wanted) {
    check::fail(__FILE__, __LINE__,
                "message " + std::to_string(message_.number) + " from " + std::to_string(message_.source) + " to " +
                    std::to_string(message_.target) + ", start " + std::to_string(number_) + ", " +
                    (is_receive_ ? "receive" : "send") + " buffer of " + hr::test::name_of(side_.memory) + " memory, " +
                    where + ": " + std::to_string(found) + ", not " + std::to_string(wanted));
  }

  void write() { memory_->write(std::as_bytes(std::span(content_))); }

  const Message& message_;
  Side side_;
  bool is_receive_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int extent_ = 0, number_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<int> content_;  // expected content of the buffer
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<int> open_;
  bool over_ = false;
};

void play(const std::vector<Message>& messages, int rank, MPI_Comm comm, Generator& random) {
  std::vector<std::unique_ptr<End>> ends;
  for (const Message& message : messages) {
    if (message.source == rank) ends.push_back(std::make_unique<End>(message, false, comm));
    if (message.target == rank) ends.push_back(std::make_unique<End>(message, true, comm));
  }
  // Ordinary messages with the same tags do not match parts of partitioned messages.
  const int size = check::world_size();
  int token = -1;
  MPI_Request ordinary;
  CHECK_OK(MPI_Irecv(&token, 1, MPI_INT, (rank + 1) % size, 0, comm, &ordinary));
  for (int start = 0; start < kStarts; ++start) {
    for (const auto& end : ends) {
      end->begin_again();
      end->start(start, random);
    }
    bool any = true;
    while (any) {
      any = false;
      std::shuffle(ends.begin(), ends.end(), random);
      for (const auto& end : ends) any |= end->step(random);
    }
  }
  CHECK_OK(MPI_Send(&rank, 1, MPI_INT, (rank + size - 1) % size, 0, comm));
  CHECK_OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));
  CHECK_EQ(token, (rank + 1) % size);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  const unsigned long seed = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 40;
  if (gpu::available() && !(argc > 3 && std::string(argv[3]) == "host")) {
    gpu::select(mpi.rank % gpu::device_count());
    kinds.assign(std::begin(hr::test::kAllKinds), std::end(hr::test::kAllKinds));
  }
  if (mpi.rank == 0) std::printf("seed %lu, %d rounds, %zu memory kinds\n", seed, rounds, kinds.size());
  Generator plan(seed), own(seed * 1000 + static_cast<unsigned>(mpi.rank));
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int round = 0; round < rounds; ++round) {
    std::vector<Message> messages;
    for (int i = draw(plan, 1, 2 * mpi.size); i > 0; --i) {
      messages.push_back(draw_message(plan, mpi.size, round * 100 + i));
    }
    play(messages, mpi.rank, comm, own);
  }
  CHECK_OK(MPI_Comm_free(&comm));
}
