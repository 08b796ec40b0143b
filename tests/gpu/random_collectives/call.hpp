// One collective call: the part common to all ranks (Call), and one rank's part in it (Pending).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "area.hpp"
#include "element.hpp"

namespace random_collectives {

enum class What {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatterBlock,
  kReduceScatter,
  kScan,
  kExscan,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
};
inline constexpr int kWhats = static_cast<int>(What::kNeighborAlltoallw) + 1;
const char* name_of(What what);

enum class Form { kBlocking, kNonblocking, kPersistent };

// A communicator as one of its ranks sees it; neighbours in the order of their blocks (Cartesian ones only).
struct Group {
  MPI_Comm comm = MPI_COMM_NULL;
  std::string name;
  int rank = 0, size = 1;
  std::vector<int> neighbours;
};

struct Call {
  int number = 0;
  What what = What::kBarrier;
  Form form = Form::kBlocking;
  const Type* type = nullptr;
  const Operation* operation = nullptr;  // of reductions
  const Group* group = nullptr;
  int root = 0;
  int count = 0;  // approximate number of elements of a block
  bool in_place = false;
};

// Describes the call, for messages.
std::string describe(const Call& call);

// A rank's part in a call: its buffers and counts, alive until the call is complete.
class Pending {
 public:
  // Starts the call; blocking ones are complete on return.
  Pending(const Call& call, const Place& send, const Place& receive);
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  [[nodiscard]] MPI_Request& request() { return request_; }
  // Checks every byte; called after completion. Restarts a persistent call that is not in place, and checks again;
  // frees the request of every persistent call.
  void finish();

 private:
  struct Blocks {
    std::vector<int> counts, displacements;  // elements
    std::vector<MPI_Aint> bytes;             // displacements of the w forms
    std::vector<MPI_Datatype> types;
    int elements = 0;
    void add(int count, int gap);
    void measure(const Area& area);
  };

  void barrier();
  void bcast();
  void gather();
  void gatherv();
  void scatter();
  void scatterv();
  void allgather();
  void allgatherv();
  void alltoall();
  void alltoallv();
  void alltoallw();
  void reduce();
  void allreduce();
  void reduce_scatter_block();
  void reduce_scatter();
  void scan();
  void exscan();
  void neighbor_allgather();
  void neighbor_allgatherv();
  void neighbor_alltoall();
  void neighbor_alltoallv();
  void neighbor_alltoallw();

  template <class Blocking, class Nonblocking, class Persistent, class... Arguments>
  void begin(Blocking blocking, Nonblocking nonblocking, Persistent persistent, Arguments... arguments);

  void make_send(int elements) { send_ = std::make_unique<Area>(*call_.type, elements, send_place_); }
  void make_receive(int elements) { receive_ = std::make_unique<Area>(*call_.type, elements, receive_place_); }
  [[nodiscard]] const void* send_address() const { return call_.in_place ? MPI_IN_PLACE : send_->address(); }
  [[nodiscard]] Element value(int rank, int index) const;
  [[nodiscard]] Element reduced(int ranks, int index) const;
  [[nodiscard]] int length(int a, int b) const;  // length of the block between two ranks, the same in both directions
  [[nodiscard]] int block(int sender, int receiver, int index) const;  // number of an element in a rank's data
  // Puts this rank's operand in elements [first, first + count), at the start of the area from which the call reads it.
  void put_operand(int count);
  // The blocks that this rank sends to and receives from each rank in a v or w form.
  void put_all_to_all(bool vector);
  void put_all_gather(const Blocks& blocks);
  void put_neighbours(bool vector, bool all_to_all);
  void expect_neighbours(bool all_to_all);

  Call call_;
  const Group& group_;
  bool restarts_;  // true on all ranks if the operands are unchanged after the first start
  Place send_place_, receive_place_;
  std::unique_ptr<Area> send_, receive_;
  Blocks send_blocks_, receive_blocks_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace random_collectives
