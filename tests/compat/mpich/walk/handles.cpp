// Handles: predefined ones and constants, numbers that are reused, null and wrong ones.
#include "walk.hpp"

namespace walk {

namespace {

struct Named {
  MPI_Datatype type;
  const char* name;
  int size;
};

}  // namespace

void datatypes() {
#define HR_TYPE(type, c) \
  Named { type, #type, static_cast<int>(sizeof(c)) }
  const Named all[] = {HR_TYPE(MPI_CHAR, char),
                       HR_TYPE(MPI_SIGNED_CHAR, char),
                       HR_TYPE(MPI_UNSIGNED_CHAR, char),
                       HR_TYPE(MPI_BYTE, char),
                       HR_TYPE(MPI_WCHAR, wchar_t),
                       HR_TYPE(MPI_SHORT, short),
                       HR_TYPE(MPI_UNSIGNED_SHORT, short),
                       HR_TYPE(MPI_INT, int),
                       HR_TYPE(MPI_UNSIGNED, int),
                       HR_TYPE(MPI_LONG, long),
                       HR_TYPE(MPI_UNSIGNED_LONG, long),
                       HR_TYPE(MPI_FLOAT, float),
                       HR_TYPE(MPI_DOUBLE, double),
                       HR_TYPE(MPI_LONG_DOUBLE, long double),
                       HR_TYPE(MPI_UNSIGNED_LONG_LONG, long long),
                       HR_TYPE(MPI_PACKED, char),
                       HR_TYPE(MPI_INT8_T, char),
                       HR_TYPE(MPI_INT16_T, short),
                       HR_TYPE(MPI_INT32_T, int),
                       HR_TYPE(MPI_INT64_T, long),
                       HR_TYPE(MPI_UINT8_T, char),
                       HR_TYPE(MPI_UINT16_T, short),
                       HR_TYPE(MPI_UINT32_T, int),
                       HR_TYPE(MPI_UINT64_T, long),
                       HR_TYPE(MPI_C_BOOL, bool),
                       HR_TYPE(MPI_AINT, MPI_Aint),
                       HR_TYPE(MPI_OFFSET, MPI_Offset),
                       HR_TYPE(MPI_COUNT, MPI_Count),
                       HR_TYPE(MPI_CXX_BOOL, bool),
                       HR_TYPE(MPI_INTEGER, int),
                       HR_TYPE(MPI_REAL, float),
                       HR_TYPE(MPI_DOUBLE_PRECISION, double),
                       HR_TYPE(MPI_CHARACTER, char),
                       HR_TYPE(MPI_LOGICAL, int),
                       Named{MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", 16},
                       Named{MPI_CXX_FLOAT_COMPLEX, "MPI_CXX_FLOAT_COMPLEX", 8},
                       Named{MPI_FLOAT_INT, "MPI_FLOAT_INT", 8},
                       Named{MPI_DOUBLE_INT, "MPI_DOUBLE_INT", 12},
                       Named{MPI_LONG_INT, "MPI_LONG_INT", 12},
                       Named{MPI_SHORT_INT, "MPI_SHORT_INT", 6},
                       Named{MPI_2INT, "MPI_2INT", 8},
                       Named{MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", 20},
                       Named{MPI_REAL8, "MPI_REAL8", 8},
                       Named{MPI_INTEGER2, "MPI_INTEGER2", 2},
                       Named{MPI_COMPLEX16, "MPI_COMPLEX16", 16}};
#undef HR_TYPE
  for (const Named& each : all) {
    int bytes = -1;
    CHECK_OK(MPI_Type_size(each.type, &bytes));
    CHECK_EQ(bytes, each.size);
    if ((each.type & 0xc0000000) == 0x40000000)
      CHECK_EQ(each.type >> 8 & 0xff, each.size);  // MPICH's handle contains the size
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    CHECK_OK(MPI_Type_get_name(each.type, name, &length));
    CHECK_EQ(std::string(name), std::string(each.name));
    int integers, addresses, types, combiner;
    CHECK_OK(MPI_Type_get_envelope(each.type, &integers, &addresses, &types, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_NAMED);
  }
}

void numbers_are_used_again() {
  std::map<MPI_Datatype, int> seen;
  for (int round = 0; round < 3000; ++round) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &type));
    CHECK_EQ(static_cast<unsigned>(type) >> 26, 0x8c000000U >> 26);
    ++seen[type];
    const MPI_Datatype old = type;
    CHECK_OK(MPI_Type_free(&type));
    CHECK_EQ(type, MPI_DATATYPE_NULL);
    int bytes = 0;
    if (round == 0) CHECK_CLASS(MPI_Type_size(old, &bytes), MPI_ERR_TYPE);
  }
  CHECK(seen.size() < 10);
  // More handles at once than the first part of a table holds.
  std::vector<MPI_Datatype> many(10000);
  for (auto& type : many) CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
  for (auto& type : many) {
    int bytes = 0;
    CHECK_OK(MPI_Type_size(type, &bytes));
    CHECK_EQ(bytes, 8);
    CHECK_OK(MPI_Type_free(&type));
  }
}

void null_and_wrong_handles() {
  int n = 0;
  CHECK_CLASS(MPI_Comm_rank(MPI_COMM_NULL, &n), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_rank(0, &n), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_rank(static_cast<MPI_Comm>(0x84ffffff), &n), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_rank(MPI_INT, &n), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Send(&n, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&n, 1, MPI_INT, -4, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&n, 1, MPI_INT, 0, -2, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(&n, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Bcast(&n, 1, MPI_INT, -5, MPI_COMM_WORLD), MPI_ERR_ROOT);
}

void communicators() {
  int result = -1;
  MPI_Comm dup, split, node;
  CHECK_OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
  CHECK_EQ(result, MPI_IDENT);
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  CHECK_OK(MPI_Comm_compare(MPI_COMM_WORLD, dup, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &split));
  CHECK_OK(MPI_Comm_compare(dup, split, &result));
  CHECK_EQ(result, size > 1 ? MPI_SIMILAR : MPI_CONGRUENT);
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &node));
  CHECK_EQ(node == MPI_COMM_NULL, rank == 0);
  if (node != MPI_COMM_NULL) CHECK_OK(MPI_Comm_free(&node));
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  int members = 0;
  CHECK_OK(MPI_Comm_size(node, &members));
  const char* here = std::getenv("MPI_LOCALNRANKS");  // the launcher may declare several hosts
  CHECK_EQ(members, here != nullptr ? std::atoi(here) : size);
  CHECK_OK(MPI_Comm_free(&node));
  CHECK_EQ(node, MPI_COMM_NULL);
  CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, 221, 0, MPI_INFO_NULL, &node), MPI_ERR_ARG);  // the standard's number
  CHECK_EQ(node, MPI_COMM_NULL);

  MPI_Group world, empty, self;
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Comm_group(MPI_COMM_SELF, &self));
  CHECK_OK(MPI_Group_difference(self, world, &empty));
  CHECK_EQ(empty, MPI_GROUP_EMPTY);
  const int from[2] = {0, MPI_PROC_NULL};
  int to[2] = {-77, -77};
  CHECK_OK(MPI_Group_translate_ranks(world, 2, from, self, to));
  CHECK_EQ(to[0], rank == 0 ? 0 : MPI_UNDEFINED);
  CHECK_EQ(to[1], MPI_PROC_NULL);
  CHECK_OK(MPI_Group_free(&world));
  CHECK_OK(MPI_Group_free(&self));
  CHECK_EQ(self, MPI_GROUP_NULL);

  // MPI_ROOT and MPI_PROC_NULL as roots; types of remote peers.
  if (size > 1) {
    MPI_Comm half, inter;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    CHECK_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter));
    int value = rank == 0 ? 4711 : -1;
    const int root = rank % 2 == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    CHECK_OK(MPI_Bcast(&value, 1, MPI_INT, root, inter));
    if (rank % 2 == 1) CHECK_EQ(value, 4711);
    int peers = 0;
    CHECK_OK(MPI_Comm_remote_size(inter, &peers));
    std::vector<int> ones(peers, 1), offsets(peers), data(peers, rank), got(peers, -1);
    for (int i = 0; i < peers; ++i) offsets[i] = i * 4;
    const std::vector<MPI_Datatype> types(peers, MPI_INT);
    CHECK_OK(MPI_Alltoallw(data.data(), ones.data(), offsets.data(), types.data(), got.data(), ones.data(),
                           offsets.data(), types.data(), inter));
    for (int i = 0; i < peers; ++i) CHECK_EQ(got[i], 2 * i + 1 - rank % 2);
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&half));
  }
  CHECK_OK(MPI_Comm_free(&split));
  CHECK_OK(MPI_Comm_free(&dup));
}

void topologies() {
  const int dimension = size, periodic = 0;
  int kind = -1, source = -77, dest = -77;
  MPI_Comm cart;
  CHECK_OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
  CHECK_EQ(kind, MPI_UNDEFINED);
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &dimension, &periodic, 0, &cart));
  CHECK_OK(MPI_Topo_test(cart, &kind));
  CHECK_EQ(kind, MPI_CART);
  CHECK_OK(MPI_Cart_shift(cart, 0, 1, &source, &dest));
  CHECK_EQ(source, rank == 0 ? MPI_PROC_NULL : rank - 1);
  CHECK_EQ(dest, rank == size - 1 ? MPI_PROC_NULL : rank + 1);
  int out[2] = {rank, rank}, in[2] = {-5, -5};
  const int counts[2] = {1, 1};
  const MPI_Aint offsets[2] = {0, 4};
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  CHECK_OK(MPI_Neighbor_alltoallw(out, counts, offsets, types, in, counts, offsets, types, cart));
  CHECK_EQ(in[0], rank == 0 ? -5 : rank - 1);
  CHECK_EQ(in[1], rank == size - 1 ? -5 : rank + 1);
  CHECK_OK(MPI_Comm_free(&cart));

  // A ring, without weights; then no neighbours.
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Comm ring;
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
                                          MPI_INFO_NULL, 0, &ring));
  int indegree, outdegree, weighted;
  CHECK_OK(MPI_Topo_test(ring, &kind));
  CHECK_EQ(kind, MPI_DIST_GRAPH);
  CHECK_OK(MPI_Dist_graph_neighbors_count(ring, &indegree, &outdegree, &weighted));
  CHECK_EQ(weighted, 0);
  CHECK_EQ(indegree, 1);
  int got = -1;
  CHECK_OK(MPI_Neighbor_alltoallw(&rank, counts, offsets, types, &got, counts, offsets, types, ring));
  CHECK_EQ(got, left);
  CHECK_OK(MPI_Comm_free(&ring));
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nullptr, MPI_WEIGHTS_EMPTY, 0, nullptr, MPI_WEIGHTS_EMPTY,
                                          MPI_INFO_NULL, 0, &ring));
  CHECK_OK(MPI_Dist_graph_neighbors_count(ring, &indegree, &outdegree, &weighted));
  CHECK_EQ(weighted, 1);
  CHECK_OK(MPI_Comm_free(&ring));
}

}  // namespace walk
