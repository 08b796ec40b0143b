// Every blocking collective with buffers of every memory kind: the result must equal, bit by bit, that of the same call
// with host buffers.
#include <cstdio>
#include <functional>
#include <string>

#include "mpi_memory.hpp"

namespace {

using hr::test::Buffer;
using hr::test::content;
using hr::test::MemoryKind;

constexpr int kCount = 1000;  // elements for each rank

// Small integers: their sums and products are exact in every type.
std::vector<double> numbers(std::size_t count, int rank) {
  std::vector<double> made(count);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = static_cast<double>((i * 7 + static_cast<std::size_t>(rank) * 13) % 10 + 1);
  return made;
}

using Call = std::function<void(void* send, void* receive)>;

struct Case {
  std::string name;
  Call call;
};

class Runner {
 public:
  explicit Runner(const check::Environment& mpi) : mpi_(mpi), elements_(static_cast<std::size_t>(kCount * mpi.size)) {}

  void run(const Case& test) {
    const std::vector<double> expected = result(test, MemoryKind::kHost, MemoryKind::kHost);
    for (const MemoryKind send : hr::test::kAllKinds) {
      for (const MemoryKind receive : hr::test::kAllKinds) {
        if (result(test, send, receive) != expected) {
          check::fail(__FILE__, __LINE__,
                      test.name + " from " + name_of(send) + " to " + name_of(receive) +
                          " differs from the result with host buffers");
        }
      }
    }
  }

 private:
  std::vector<double> result(const Case& test, MemoryKind send_kind, MemoryKind receive_kind) {
    Buffer send(elements_ * sizeof(double), send_kind);
    Buffer receive(elements_ * sizeof(double), receive_kind);
    send.put(numbers(elements_, mpi_.rank));
    receive.put(numbers(elements_, mpi_.rank + 100));
    test.call(send.get(), receive.get());
    return receive.take<double>();
  }

  const check::Environment& mpi_;
  std::size_t elements_;
};

void add_up(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<double*>(inout)[i] += 2 * static_cast<double*>(in)[i];
}

// Reductions, with predefined and user operations, in place and not.
std::vector<Case> reductions(const check::Environment& mpi, MPI_Op user) {
  std::vector<Case> all;
  const int root = mpi.size - 1;
  for (const auto& [op, name] :
       {std::pair(MPI_SUM, "sum"), std::pair(MPI_MAX, "max"), std::pair(MPI_MIN, "min"), std::pair(user, "user")}) {
    const MPI_Op operation = op;
    const std::string suffix = std::string(" ") + name;
    all.push_back({"MPI_Reduce" + suffix, [=](void* send, void* receive) {
                     CHECK_OK(MPI_Reduce(send, receive, kCount, MPI_DOUBLE, operation, root, MPI_COMM_WORLD));
                   }});
    all.push_back({"MPI_Allreduce" + suffix, [=](void* send, void* receive) {
                     CHECK_OK(MPI_Allreduce(send, receive, kCount, MPI_DOUBLE, operation, MPI_COMM_WORLD));
                   }});
    all.push_back({"MPI_Allreduce in place" + suffix, [=](void*, void* receive) {
                     CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, receive, kCount, MPI_DOUBLE, operation, MPI_COMM_WORLD));
                   }});
    all.push_back({"MPI_Scan" + suffix, [=](void* send, void* receive) {
                     CHECK_OK(MPI_Scan(send, receive, kCount, MPI_DOUBLE, operation, MPI_COMM_WORLD));
                   }});
    all.push_back({"MPI_Exscan" + suffix, [=](void* send, void* receive) {
                     CHECK_OK(MPI_Exscan(send, receive, kCount, MPI_DOUBLE, operation, MPI_COMM_WORLD));
                   }});
    all.push_back({"MPI_Reduce_scatter_block" + suffix, [=](void* send, void* receive) {
                     CHECK_OK(MPI_Reduce_scatter_block(send, receive, kCount, MPI_DOUBLE, operation, MPI_COMM_WORLD));
                   }});
    const std::vector<int> counts(static_cast<std::size_t>(mpi.size), kCount / 2);
    all.push_back({"MPI_Reduce_scatter" + suffix, [=](void* send, void* receive) {
                     CHECK_OK(MPI_Reduce_scatter(send, receive, counts.data(), MPI_DOUBLE, operation, MPI_COMM_WORLD));
                   }});
    all.push_back({"MPI_Reduce_local" + suffix, [=](void* send, void* receive) {
                     CHECK_OK(MPI_Reduce_local(send, receive, kCount, MPI_DOUBLE, operation));
                   }});
  }
  return all;
}

// Data movement; `column` consists of every other double, kCount / 2 in all.
std::vector<Case> movements(const check::Environment& mpi, MPI_Datatype column) {
  const int root = mpi.size - 1;
  std::vector<int> counts;
  std::vector<int> displacements;
  std::vector<int> byte_displacements;
  for (int i = 0; i < mpi.size; ++i) {
    counts.push_back(kCount - i);
    displacements.push_back(i * kCount);
    byte_displacements.push_back(i * kCount * static_cast<int>(sizeof(double)));
  }
  const std::vector<int> ones(static_cast<std::size_t>(mpi.size), 1);
  const std::vector<MPI_Datatype> columns(static_cast<std::size_t>(mpi.size), column);
  const int mine = counts[static_cast<std::size_t>(mpi.rank)];
  const MPI_Comm world = MPI_COMM_WORLD;
  return {
      {"MPI_Bcast", [=](void*, void* receive) { CHECK_OK(MPI_Bcast(receive, kCount, MPI_DOUBLE, root, world)); }},
      {"MPI_Bcast of columns", [=](void*, void* receive) { CHECK_OK(MPI_Bcast(receive, 1, column, 0, world)); }},
      {"MPI_Gather",
       [=](void* send, void* receive) {
         CHECK_OK(MPI_Gather(send, kCount, MPI_DOUBLE, receive, kCount, MPI_DOUBLE, root, world));
       }},
      {"MPI_Gather of columns",
       [=](void* send, void* receive) { CHECK_OK(MPI_Gather(send, 1, column, receive, 1, column, root, world)); }},
      {"MPI_Gatherv",
       [=](void* send, void* receive) {
         CHECK_OK(MPI_Gatherv(send, mine, MPI_DOUBLE, receive, counts.data(), displacements.data(), MPI_DOUBLE, root,
                              world));
       }},
      {"MPI_Scatter",
       [=](void* send, void* receive) {
         CHECK_OK(MPI_Scatter(send, kCount, MPI_DOUBLE, receive, kCount, MPI_DOUBLE, root, world));
       }},
      {"MPI_Scatterv",
       [=](void* send, void* receive) {
         CHECK_OK(MPI_Scatterv(send, counts.data(), displacements.data(), MPI_DOUBLE, receive, mine, MPI_DOUBLE, root,
                               world));
       }},
      {"MPI_Allgather",
       [=](void* send, void* receive) {
         CHECK_OK(MPI_Allgather(send, kCount, MPI_DOUBLE, receive, kCount, MPI_DOUBLE, world));
       }},
      {"MPI_Allgather in place",
       [=](void*, void* receive) {
         CHECK_OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, kCount, MPI_DOUBLE, world));
       }},
      {"MPI_Allgatherv",
       [=](void* send, void* receive) {
         CHECK_OK(
             MPI_Allgatherv(send, mine, MPI_DOUBLE, receive, counts.data(), displacements.data(), MPI_DOUBLE, world));
       }},
      {"MPI_Alltoall",
       [=](void* send, void* receive) {
         CHECK_OK(MPI_Alltoall(send, kCount, MPI_DOUBLE, receive, kCount, MPI_DOUBLE, world));
       }},
      {"MPI_Alltoall of columns",
       [=](void* send, void* receive) { CHECK_OK(MPI_Alltoall(send, 1, column, receive, 1, column, world)); }},
      {"MPI_Alltoall in place",
       [=](void*, void* receive) {
         CHECK_OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, kCount, MPI_DOUBLE, world));
       }},
      {"MPI_Alltoallv",
       [=](void* send, void* receive) {
         const std::vector<int> equal(counts.size(), kCount - 3);
         CHECK_OK(MPI_Alltoallv(send, equal.data(), displacements.data(), MPI_DOUBLE, receive, equal.data(),
                                displacements.data(), MPI_DOUBLE, world));
       }},
      {"MPI_Alltoallw",
       [=](void* send, void* receive) {
         CHECK_OK(MPI_Alltoallw(send, ones.data(), byte_displacements.data(), columns.data(), receive, ones.data(),
                                byte_displacements.data(), columns.data(), world));
       }},
  };
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv, 2);
  if (!hr::test::select_device()) return 0;
  MPI_Op user = MPI_OP_NULL;
  CHECK_OK(MPI_Op_create(add_up, 0, &user));
  MPI_Datatype vector = MPI_DATATYPE_NULL;
  MPI_Datatype column = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_vector(kCount / 2, 1, 2, MPI_DOUBLE, &vector));
  CHECK_OK(MPI_Type_create_resized(vector, 0, kCount * static_cast<int>(sizeof(double)), &column));
  CHECK_OK(MPI_Type_commit(&column));
  {
    Runner runner(mpi);
    for (const Case& test : movements(mpi, column)) runner.run(test);
    for (const Case& test : reductions(mpi, user)) runner.run(test);
  }
  CHECK_OK(MPI_Type_free(&column));
  CHECK_OK(MPI_Type_free(&vector));
  CHECK_OK(MPI_Op_free(&user));
  return 0;
}
