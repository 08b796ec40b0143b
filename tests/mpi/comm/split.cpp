// MPI_Comm_split and MPI_Comm_split_type.
#include "ring.hpp"

namespace {

void colors_and_keys(const check::Environment& mpi) {
  MPI_Comm half;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mpi.rank % 2, -mpi.rank, &half));  // reversed order
  const int size = mpi.rank % 2 == 0 ? (mpi.size + 1) / 2 : mpi.size / 2;
  CHECK_EQ(check::size_of(half), size);
  CHECK_EQ(check::rank_in(half), size - 1 - mpi.rank / 2);
  check::ring(half, mpi.rank % 2);
  CHECK_OK(MPI_Comm_free(&half));
  CHECK(half == MPI_COMM_NULL);

  MPI_Comm same_key;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 5, 5, &same_key));  // equal keys keep the old order
  CHECK_EQ(check::compare(same_key, MPI_COMM_WORLD), MPI_CONGRUENT);
  CHECK_OK(MPI_Comm_free(&same_key));
}

void undefined(const check::Environment& mpi) {
  for (int root = 0; root < mpi.size; ++root) {
    MPI_Comm only;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mpi.rank == root ? 0 : MPI_UNDEFINED, 0, &only));
    if (mpi.rank != root) {
      CHECK(only == MPI_COMM_NULL);
      continue;
    }
    CHECK_EQ(check::size_of(only), 1);
    CHECK_OK(MPI_Comm_free(&only));
  }
}

// Splits parts again; all communicators exist at once, each with its own messages.
void nested(const check::Environment& mpi) {
  MPI_Comm chain[6];
  chain[0] = MPI_COMM_WORLD;
  for (int i = 1; i < 6; ++i) {
    CHECK_OK(MPI_Comm_split(chain[i - 1], check::rank_in(chain[i - 1]) % 2, mpi.rank, &chain[i]));
    check::ring(chain[i], i);
  }
  for (int i = 5; i > 0; --i) {
    check::ring(chain[i], i + 10);
    CHECK_OK(MPI_Comm_free(&chain[i]));
  }
}

void by_type(const check::Environment& mpi) {
  MPI_Comm node;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mpi.rank, MPI_INFO_NULL, &node));
  CHECK(node != MPI_COMM_NULL);
  check::ring(node, 3);
  CHECK_OK(MPI_Comm_free(&node));
  MPI_Comm none;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none));
  CHECK(none == MPI_COMM_NULL);
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &node));
  CHECK(node != MPI_COMM_NULL);
  CHECK_OK(MPI_Comm_free(&node));
  CHECK_OK(MPI_Info_free(&info));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  colors_and_keys(mpi);
  undefined(mpi);
  nested(mpi);
  by_type(mpi);
}
