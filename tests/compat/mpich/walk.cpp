// Everything that libmpi.so.12 translates, seen by a program that MPICH's mpicc compiled: handles, constants,
// sentinels, statuses, callbacks, attributes, error codes. The values are those of MPICH's own mpi.h. Any number of
// ranks.
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/check.hpp"

static_assert(sizeof(MPI_Comm) == 4 && sizeof(MPI_Status) == 20, "this test is for MPICH's mpi.h");

namespace {

int rank, size;

// --- Handles ---

struct Named {
  MPI_Datatype type;
  const char* name;
  int size;
};

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
    if ((each.type & 0xc0000000) == 0x40000000) CHECK_EQ(each.type >> 8 & 0xff, each.size);  // MPICH's handle tells it
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
  // More at once than a table's first part has.
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
  const char* here = std::getenv("MPI_LOCALNRANKS");  // the launcher may say that they are on several hosts
  CHECK_EQ(members, here != nullptr ? std::atoi(here) : size);
  CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, 221, 0, MPI_INFO_NULL, &node), MPI_ERR_ARG);  // the standard's number
  CHECK_OK(MPI_Comm_free(&node));
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

  // A ring, without weights; then nobody.
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

// --- Messages, statuses, requests ---

void statuses() {
  MPI_Status status;
  std::memset(&status, 0x55, sizeof status);
  int value = 42, count = -1, flag = -1;
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  CHECK_EQ(status.MPI_ERROR, 0x55555555);  // a single completion leaves it alone
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 0);

  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);

  const int right = (rank + 1) % size;
  short out[3] = {1, 2, 3}, in[8];
  CHECK_OK(MPI_Sendrecv(out, 3, MPI_SHORT, right, 17, in, 8, MPI_SHORT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
  CHECK_EQ(status.MPI_SOURCE, (rank + size - 1) % size);
  CHECK_EQ(status.MPI_TAG, 17);
  CHECK_EQ(status.count_lo, 6);
  CHECK_OK(MPI_Get_count(&status, MPI_SHORT, &count));
  CHECK_EQ(count, 3);
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, MPI_UNDEFINED);
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(flag, 0);

  // 63 bits of count, and the bit beside them.
  MPI_Status unwritten;
  std::memset(&unwritten, 0x80, sizeof unwritten);
  CHECK_OK(MPI_Status_set_elements(&unwritten, MPI_INT, 3));
  CHECK_EQ(unwritten.count_lo, 12);
  CHECK_EQ(unwritten.MPI_SOURCE, static_cast<int>(0x80808080));
  const MPI_Count large = (MPI_Count{1} << 40) + 5;
  MPI_Count found = 0;
  CHECK_OK(MPI_Status_set_elements_x(&status, MPI_BYTE, large));
  CHECK_OK(MPI_Status_set_cancelled(&status, 1));
  CHECK_OK(MPI_Get_elements_x(&status, MPI_BYTE, &found));
  CHECK_EQ(found, large);
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(flag, 1);
  CHECK_EQ(status.count_lo, 5);
  CHECK_EQ(status.count_hi_and_cancelled, (1 << 8) << 1 | 1);

  // What stands in a status that the program filled in means itself.
#if MPI_VERSION > 4 || MPI_SUBVERSION > 0
  int source = 0, tag = 0, error = 0;
  status.MPI_SOURCE = -4;
  status.MPI_ERROR = 333;
  CHECK_OK(MPI_Status_set_tag(&status, -7));
  CHECK_EQ(status.MPI_SOURCE, -4);
  CHECK_EQ(status.MPI_ERROR, 333);
  CHECK_OK(MPI_Status_get_source(&status, &source));
  CHECK_OK(MPI_Status_get_tag(&status, &tag));
  CHECK_OK(MPI_Status_get_error(&status, &error));
  CHECK_EQ(source, -4);
  CHECK_EQ(tag, -7);
  CHECK_EQ(error, 333);
#endif

  MPI_Fint fortran[5];
  MPI_Status back;
  CHECK_OK(MPI_Status_c2f(&status, fortran));
  CHECK_EQ(fortran[3], status.MPI_TAG);
  CHECK_OK(MPI_Status_f2c(fortran, &back));
  CHECK_EQ(std::memcmp(&back, &status, sizeof back), 0);
}

void requests() {
  // More than fit a frame, of all sorts; none may stay.
  constexpr int kMany = 200;
  std::vector<int> out(kMany), in(kMany, -1);
  std::vector<MPI_Request> all(2 * kMany, MPI_REQUEST_NULL);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < kMany; ++i) {
    out[i] = 1000 * rank + i;
    if (i % 7 == 3) continue;  // stays null
    CHECK_OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &all[i]));
    CHECK_OK(MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &all[kMany + i]));
    CHECK(all[i] != all[kMany + i]);
  }
  std::vector<MPI_Status> states(all.size());
  CHECK_OK(MPI_Waitall(2 * kMany, all.data(), states.data()));
  for (const MPI_Request request : all) CHECK_EQ(request, MPI_REQUEST_NULL);
  for (int i = 0; i < kMany; ++i) {
    CHECK_EQ(in[i], i % 7 == 3 ? -1 : 1000 * left + i);
    if (i % 7 != 3) CHECK_EQ(states[i].MPI_TAG, i);
  }

  // Persistent ones keep their number.
  MPI_Request persistent[2];
  CHECK_OK(MPI_Send_init(&out[0], 1, MPI_INT, right, 3, MPI_COMM_WORLD, &persistent[0]));
  CHECK_OK(MPI_Recv_init(&in[0], 1, MPI_INT, left, 3, MPI_COMM_WORLD, &persistent[1]));
  const MPI_Request before[2] = {persistent[0], persistent[1]};
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(MPI_Startall(2, persistent));
    CHECK_OK(MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE));
    CHECK_EQ(persistent[0], before[0]);
    CHECK_EQ(persistent[1], before[1]);
  }
  CHECK_OK(MPI_Request_free(&persistent[0]));
  CHECK_OK(MPI_Request_free(&persistent[1]));
  CHECK_EQ(persistent[1], MPI_REQUEST_NULL);

  // Some, any, testall; statuses only where something completed.
  MPI_Request two[2];
  CHECK_OK(MPI_Irecv(&in[0], 1, MPI_INT, rank, 50, MPI_COMM_WORLD, &two[0]));
  CHECK_OK(MPI_Irecv(&in[1], 1, MPI_INT, rank, 51, MPI_COMM_WORLD, &two[1]));
  int flag = -1, index = -1, number = -1, indices[2];
  MPI_Status state[2];
  std::memset(state, 0x55, sizeof state);
  CHECK_OK(MPI_Testsome(2, two, &number, indices, state));
  CHECK_EQ(number, 0);
  CHECK_EQ(state[0].MPI_SOURCE, 0x55555555);
  CHECK_OK(MPI_Testall(2, two, &flag, state));
  CHECK_EQ(flag, 0);
  CHECK_OK(MPI_Send(&rank, 1, MPI_INT, rank, 51, MPI_COMM_WORLD));
  CHECK_OK(MPI_Waitany(2, two, &index, &state[0]));
  CHECK_EQ(index, 1);
  CHECK_EQ(two[1], MPI_REQUEST_NULL);
  CHECK(two[0] != MPI_REQUEST_NULL);
  CHECK_OK(MPI_Cancel(&two[0]));
  CHECK_OK(MPI_Wait(&two[0], &state[0]));
  CHECK_OK(MPI_Test_cancelled(&state[0], &flag));
  CHECK_EQ(flag, 1);

  // Errors of several: MPI_ERROR by MPICH's numbers.
  char small = 0;
  CHECK_OK(MPI_Irecv(&small, 1, MPI_CHAR, rank, 60, MPI_COMM_SELF == MPI_COMM_WORLD ? 0 : MPI_COMM_WORLD, &two[0]));
  CHECK_OK(MPI_Irecv(&in[1], 1, MPI_INT, rank, 61, MPI_COMM_WORLD, &two[1]));
  CHECK_OK(MPI_Send(&out[0], 1, MPI_INT, rank, 60, MPI_COMM_WORLD));
  CHECK_OK(MPI_Send(&out[0], 1, MPI_INT, rank, 61, MPI_COMM_WORLD));
  CHECK_CLASS(MPI_Waitall(2, two, state), MPI_ERR_IN_STATUS);
  CHECK_EQ(check::error_class(state[0].MPI_ERROR), MPI_ERR_TRUNCATE);
  CHECK_EQ(state[1].MPI_ERROR, MPI_SUCCESS);
}

void probes() {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int flag = -1, value = -1;
  CHECK_OK(MPI_Improbe(rank, 70, MPI_COMM_WORLD, &flag, &message, &status));
  CHECK_EQ(flag, 0);
  CHECK_OK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status));
  CHECK_EQ(message, MPI_MESSAGE_NO_PROC);
  CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
  CHECK_EQ(message, MPI_MESSAGE_NULL);
  MPI_Request request;
  CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, rank, 70, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, 70, MPI_COMM_WORLD, &message, &status));
  CHECK_EQ(status.MPI_SOURCE, rank);
  CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  CHECK_EQ(message, MPI_MESSAGE_NULL);
  CHECK_EQ(value, rank);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

void sentinels() {
  int sum = rank + 1;
  CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, size * (size + 1) / 2);

  int absolute = 77;
  MPI_Aint address = 0, in_place = 0;
  MPI_Datatype type;
  const int one = 1;
  CHECK_OK(MPI_Get_address(&absolute, &address));
  CHECK_OK(MPI_Get_address(MPI_IN_PLACE, &in_place));
  CHECK_EQ(in_place, -1);
  CHECK_OK(MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &type));
  CHECK_OK(MPI_Type_commit(&type));
  int got = 0;
  CHECK_OK(MPI_Sendrecv(MPI_BOTTOM, 1, type, rank, 1, &got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(got, 77);
  CHECK_OK(MPI_Type_free(&type));

  // Exactly what MPICH's constant says is enough.
  std::vector<char> buffer(3 * (4 + MPI_BSEND_OVERHEAD));
  CHECK_OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
  for (int i = 0; i < 3; ++i) CHECK_OK(MPI_Bsend(&i, 1, MPI_INT, rank, 5, MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) CHECK_OK(MPI_Recv(&got, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  void* detached = nullptr;
  int bytes = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &bytes));
  CHECK(detached == buffer.data());
#ifdef MPI_BUFFER_AUTOMATIC
  CHECK_OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  CHECK_OK(MPI_Buffer_detach(&detached, &bytes));
  CHECK(detached == MPI_BUFFER_AUTOMATIC);
#endif
}

// --- Callbacks ---

MPI_Datatype expected_type;
int calls;

void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  CHECK_EQ(*type, expected_type);
  ++calls;
  for (int i = 0; i < *length * (expected_type == MPI_INT ? 1 : 2); ++i) {
    static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
  }
}

template <int factor>
void scaled(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += factor * static_cast<int*>(in)[i];
}

template <int... factor>
void many_operations(std::integer_sequence<int, factor...>) {
  MPI_User_function* const functions[] = {&scaled<factor>...};
  std::vector<MPI_Op> ops(sizeof...(factor));
  for (std::size_t i = 0; i < ops.size(); ++i) CHECK_OK(MPI_Op_create(functions[i], 1, &ops[i]));
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const int in = 10;
    int inout = 1;
    CHECK_OK(MPI_Reduce_local(&in, &inout, 1, MPI_INT, ops[i]));
    CHECK_EQ(inout, 1 + 10 * static_cast<int>(i));
    CHECK_OK(MPI_Op_free(&ops[i]));
    CHECK_EQ(ops[i], MPI_OP_NULL);
  }
}

void operations() {
  struct {
    MPI_Op op;
    int result;
  } const known[] = {{MPI_MAX, 6},  {MPI_MIN, 3}, {MPI_SUM, 9}, {MPI_PROD, 18}, {MPI_LAND, 1},
                     {MPI_BAND, 2}, {MPI_LOR, 1}, {MPI_BOR, 7}, {MPI_LXOR, 0},  {MPI_BXOR, 5}};
  for (const auto& each : known) {
    const int in = 3;
    int inout = 6;
    CHECK_OK(MPI_Reduce_local(&in, &inout, 1, MPI_INT, each.op));
    CHECK_EQ(inout, each.result);
  }
  int place[2] = {1, 2};
  CHECK_CLASS(MPI_Reduce_local(place, place + 1, 1, MPI_INT, MPI_REPLACE),
              MPI_ERR_OP);  // known, and not for reductions
  CHECK_CLASS(MPI_Reduce_local(place, place + 1, 1, MPI_INT, MPI_NO_OP), MPI_ERR_OP);
  struct {
    int value, index;
  } pair = {rank, rank}, least;
  CHECK_OK(MPI_Allreduce(&pair, &least, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD));
  CHECK_EQ(least.index, size - 1);

  MPI_Op op;
  MPI_Datatype two;
  CHECK_OK(MPI_Op_create(add, 1, &op));
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &two));
  CHECK_OK(MPI_Type_commit(&two));
  for (const MPI_Datatype type : {MPI_INT, two}) {
    expected_type = type;
    const int in[2] = {rank, 1};
    int out[2] = {-1, -1};
    calls = 0;
    const int local_in[2] = {1, 1};
    int local[2] = {1, 1};
    CHECK_OK(MPI_Reduce_local(local_in, local, 1, type, op));
    CHECK_EQ(calls, 1);
    CHECK_OK(MPI_Allreduce(in, out, 1, type, op, MPI_COMM_WORLD));
    CHECK_EQ(out[0], size * (size - 1) / 2);
    if (type == two) CHECK_EQ(out[1], size);
  }
  CHECK_OK(MPI_Type_free(&two));
  CHECK_OK(MPI_Op_free(&op));
  many_operations(std::make_integer_sequence<int, 100>());
}

// More functions than libmpi.so.12 can tell apart: refused, and those that it knows still work.
template <int... factor>
void too_many_operations(std::integer_sequence<int, factor...>) {
  MPI_User_function* const functions[] = {&scaled<factor>...};
  int refused = 0;
  for (MPI_User_function* const function : functions) {
    MPI_Op op = MPI_OP_NULL;
    const int code = MPI_Op_create(function, 1, &op);
    if (code == MPI_SUCCESS) {
      CHECK_OK(MPI_Op_free(&op));
    } else {
      CHECK_EQ(check::error_class(code), MPI_ERR_NO_MEM);
      CHECK_EQ(op, MPI_OP_NULL);
      ++refused;
    }
  }
  CHECK(refused > 0 && refused < 100);
  many_operations(std::make_integer_sequence<int, 100>());
}

MPI_Comm expected_comm;
int expected_keyval, copies, deletes;

int copy_attribute(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
  CHECK_EQ(comm, expected_comm);
  CHECK_EQ(keyval, expected_keyval);
  CHECK(state == &copies);
  ++copies;
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Comm, int keyval, void*, void* state) {
  CHECK_EQ(keyval, expected_keyval);
  CHECK(state == &copies);
  ++deletes;
  return MPI_SUCCESS;
}

int refuse(MPI_Comm, int, void*, void*) { return MPI_ERR_OTHER; }

void attributes() {
  struct {
    int keyval, least;
  } const known[] = {{MPI_TAG_UB, 32767}, {MPI_WTIME_IS_GLOBAL, 0}, {MPI_LASTUSEDCODE, MPI_ERR_LASTCODE}};
  for (const auto& each : known) {
    int* value = nullptr;
    int flag = 0;
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, each.keyval, &value, &flag));
    CHECK_EQ(flag, 1);
    CHECK(*value >= each.least);
  }
  int* io = nullptr;
  int flag = 0;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &io, &flag));
  if (flag != 0) CHECK(*io == MPI_ANY_SOURCE || *io == MPI_PROC_NULL || *io >= 0);
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &io, &flag));
  if (flag != 0) CHECK(*io == MPI_PROC_NULL || *io >= 0);

  int keyval = MPI_KEYVAL_INVALID;
  char place[4];
  char* value = nullptr;
  MPI_Comm dup;
  CHECK_OK(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, &copies));
  expected_keyval = keyval;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &expected_comm));
  CHECK_OK(MPI_Comm_set_attr(expected_comm, keyval, place));
  CHECK_OK(MPI_Comm_dup(expected_comm, &dup));
  CHECK_EQ(copies, 1);
  CHECK_OK(MPI_Comm_get_attr(dup, keyval, &value, &flag));
  CHECK(flag == 1 && value == place + 1);
  CHECK_OK(MPI_Comm_free(&dup));
  CHECK_OK(MPI_Comm_free_keyval(&keyval));
  CHECK_EQ(keyval, MPI_KEYVAL_INVALID);
  CHECK_OK(MPI_Comm_free(&expected_comm));
  CHECK_EQ(deletes, 2);

  // The predefined functions, with and without one of the program's beside them.
  for (MPI_Comm_delete_attr_function* const remove : {MPI_COMM_NULL_DELETE_FN, &refuse}) {
    for (MPI_Comm_copy_attr_function* const copy : {MPI_COMM_NULL_COPY_FN, MPI_COMM_DUP_FN}) {
      MPI_Comm base;
      CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &base));
      CHECK_OK(MPI_Comm_set_errhandler(base, MPI_ERRORS_RETURN));
      CHECK_OK(MPI_Comm_create_keyval(copy, remove, &keyval, nullptr));
      CHECK_OK(MPI_Comm_set_attr(base, keyval, place));
      CHECK_OK(MPI_Comm_dup(base, &dup));
      CHECK_OK(MPI_Comm_get_attr(dup, keyval, &value, &flag));
      CHECK_EQ(flag, copy == MPI_COMM_DUP_FN ? 1 : 0);
      if (remove == &refuse) {
        CHECK_CLASS(MPI_Comm_delete_attr(base, keyval), MPI_ERR_OTHER);
      } else {
        CHECK_OK(MPI_Comm_delete_attr(base, keyval));
        CHECK_OK(MPI_Comm_free(&base));
        CHECK_OK(MPI_Comm_free(&dup));
      }
      CHECK_OK(MPI_Comm_free_keyval(&keyval));
    }
  }
  CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, nullptr));
  MPI_Datatype type, same;
  CHECK_OK(MPI_Type_contiguous(1, MPI_INT, &type));
  CHECK_OK(MPI_Type_set_attr(type, keyval, place));
  CHECK_OK(MPI_Type_dup(type, &same));
  CHECK_OK(MPI_Type_get_attr(same, keyval, &value, &flag));
  CHECK(flag == 1 && value == place);
  CHECK_OK(MPI_Type_free(&type));
  CHECK_OK(MPI_Type_free(&same));
  CHECK_OK(MPI_Type_free_keyval(&keyval));
}

MPI_Comm failed_comm;
int failed_code, failures;

void note(MPI_Comm* comm, int* code, ...) {
  failed_comm = *comm;
  failed_code = *code;
  ++failures;
}

void error_handlers() {
  MPI_Errhandler handler, found;
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_get_errhandler(comm, &found));
  CHECK_EQ(found, MPI_ERRORS_RETURN);
  CHECK_OK(MPI_Comm_create_errhandler(note, &handler));
  CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
  CHECK_OK(MPI_Comm_get_errhandler(comm, &found));
  CHECK_EQ(found, handler);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_EQ(handler, MPI_ERRHANDLER_NULL);
  const int code = MPI_Send(nullptr, 0, MPI_INT, size, 0, comm);
  CHECK_EQ(failures, 1);
  CHECK_EQ(failed_comm, comm);
  CHECK_EQ(failed_code, code);
  CHECK_EQ(check::error_class(failed_code), MPI_ERR_RANK);
  CHECK_OK(MPI_Comm_call_errhandler(comm, MPI_ERR_TOPOLOGY));
  CHECK_EQ(failed_code, MPI_ERR_TOPOLOGY);
  for (const MPI_Errhandler each : {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN, MPI_ERRORS_ABORT}) {
    CHECK_OK(MPI_Comm_set_errhandler(comm, each));
    CHECK_OK(MPI_Comm_get_errhandler(comm, &found));
    CHECK_EQ(found, each);
  }
  CHECK_OK(MPI_Comm_free(&comm));
}

void error_codes() {
  const int classes[] = {MPI_ERR_BUFFER,
                         MPI_ERR_COUNT,
                         MPI_ERR_TYPE,
                         MPI_ERR_TAG,
                         MPI_ERR_COMM,
                         MPI_ERR_RANK,
                         MPI_ERR_ROOT,
                         MPI_ERR_GROUP,
                         MPI_ERR_OP,
                         MPI_ERR_TOPOLOGY,
                         MPI_ERR_DIMS,
                         MPI_ERR_ARG,
                         MPI_ERR_UNKNOWN,
                         MPI_ERR_TRUNCATE,
                         MPI_ERR_OTHER,
                         MPI_ERR_INTERN,
                         MPI_ERR_IN_STATUS,
                         MPI_ERR_PENDING,
                         MPI_ERR_REQUEST,
                         MPI_ERR_ACCESS,
                         MPI_ERR_FILE,
                         MPI_ERR_INFO,
                         MPI_ERR_KEYVAL,
                         MPI_ERR_NO_MEM,
                         MPI_ERR_SPAWN,
                         MPI_ERR_WIN,
                         MPI_ERR_RMA_SYNC,
                         MPI_ERR_RMA_FLAVOR,
                         MPI_ERR_UNSUPPORTED_OPERATION};
  char empty[MPI_MAX_ERROR_STRING], text[MPI_MAX_ERROR_STRING];
  int length = 0;
  CHECK_OK(MPI_Error_string(MPI_ERR_UNKNOWN, empty, &length));
  for (const int each : classes) {
    CHECK_EQ(check::error_class(each), each);
    CHECK_OK(MPI_Error_string(each, text, &length));
    CHECK(length > 10);
  }
  CHECK_OK(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length));
  CHECK(std::string(text).find("longer") != std::string::npos);
  int added_class = 0, added_code = 0;
  CHECK_OK(MPI_Add_error_class(&added_class));
  CHECK(added_class > MPI_ERR_LASTCODE);
  CHECK_OK(MPI_Add_error_code(added_class, &added_code));
  CHECK(added_code > MPI_ERR_LASTCODE);
  CHECK_OK(MPI_Add_error_string(added_code, "a text of the program's"));
  CHECK_EQ(check::error_class(added_code), added_class);
  CHECK_EQ(check::error_text(added_code), std::string("a text of the program's"));
  int* last = nullptr;
  int flag = 0;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK_EQ(*last, added_code);
}

int queried, freed;

int query(void* state, MPI_Status* status) {
  CHECK(state == &queried);
  ++queried;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = 12;
  CHECK_OK(MPI_Status_set_elements(status, MPI_INT, 9));
  CHECK_OK(MPI_Status_set_cancelled(status, 0));
  return MPI_SUCCESS;
}
int free_state(void* state) {
  CHECK(state == &queried);
  ++freed;
  return MPI_SUCCESS;
}
int cancel(void*, int) { return MPI_SUCCESS; }

void generalized_requests() {
  MPI_Request request;
  MPI_Status status;
  int count = 0;
  CHECK_OK(MPI_Grequest_start(query, free_state, cancel, &queried, &request));
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(request, MPI_REQUEST_NULL);
  CHECK_EQ(queried, 1);
  CHECK_EQ(freed, 1);
  CHECK_EQ(status.MPI_TAG, 12);
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 9);
}

// --- The rest ---

void contents() {
  const int sizes[2] = {4, 6}, part[2] = {2, 3}, start[2] = {1, 1};
  MPI_Datatype type, vector;
  int integers, addresses, types, combiner;
  CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
  CHECK_OK(MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_FORTRAN, vector, &type));
  CHECK_OK(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  CHECK_EQ(combiner, MPI_COMBINER_SUBARRAY);
  CHECK_EQ(integers, 8);
  std::vector<int> numbers(20, -1);
  MPI_Datatype inner[3] = {-1, -1, -1};
  CHECK_OK(MPI_Type_get_contents(type, 20, 0, 3, numbers.data(), nullptr, inner));
  CHECK_EQ(numbers[7], MPI_ORDER_FORTRAN);
  CHECK_EQ(inner[1], -1);
  CHECK_OK(MPI_Type_get_envelope(inner[0], &integers, &addresses, &types, &combiner));
  CHECK_EQ(combiner, MPI_COMBINER_VECTOR);
  CHECK_OK(MPI_Type_free(&inner[0]));
  CHECK_OK(MPI_Type_free(&vector));
  CHECK_OK(MPI_Type_free(&type));

  const int global[2] = {MPI_ORDER_C, 12}, distribution[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
            argument[2] = {MPI_DISTRIBUTE_DFLT_DARG, 3}, grid[2] = {1, 1};
  CHECK_OK(MPI_Type_create_darray(1, 0, 2, global, distribution, argument, grid, MPI_ORDER_C, MPI_DOUBLE, &type));
  CHECK_OK(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
  CHECK_EQ(combiner, MPI_COMBINER_DARRAY);
  CHECK_OK(MPI_Type_get_contents(type, 20, 0, 1, numbers.data(), nullptr, inner));
  const int wanted[] = {1, 0, 2, MPI_ORDER_C, 12, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG,
                        3, 1, 1, MPI_ORDER_C};
  for (int i = 0; i < 12; ++i) CHECK_EQ(numbers[i], wanted[i]);
  CHECK_EQ(inner[0], MPI_DOUBLE);
  CHECK_OK(MPI_Type_free(&type));
  CHECK_OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
  CHECK_OK(MPI_Type_size(type, &integers));
  CHECK_EQ(integers, 8);
}

void environment() {
  char name[MPI_MAX_PROCESSOR_NAME + 8];
  int length = 0, level = -1;
  std::memset(name, '#', sizeof name);
  CHECK_OK(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);
  CHECK_EQ(std::strlen(name), static_cast<std::size_t>(length));
  CHECK_EQ(name[MPI_MAX_PROCESSOR_NAME], '#');
  CHECK_OK(MPI_Query_thread(&level));
  CHECK_EQ(level, MPI_THREAD_SERIALIZED);

  CHECK_EQ(MPI_Comm_c2f(MPI_COMM_WORLD), MPI_COMM_WORLD);
  CHECK_EQ(MPI_Type_f2c(MPI_DOUBLE), MPI_DOUBLE);
  CHECK_EQ(MPI_File_c2f(MPI_FILE_NULL), 0);

  MPI_Info info;
  int nkeys = -1, flag = 0;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "key", "value"));
  CHECK_OK(MPI_Info_get_nkeys(info, &nkeys));
  CHECK_EQ(nkeys, 1);
  char key[MPI_MAX_INFO_KEY + 1], value[16];
  CHECK_OK(MPI_Info_get_nthkey(info, 0, key));
  CHECK_EQ(std::string(key), std::string("key"));
  CHECK_OK(MPI_Info_get(info, "key", 15, value, &flag));
  CHECK_EQ(std::string(value), std::string("value"));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_EQ(info, MPI_INFO_NULL);
  CHECK_OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &nkeys));

  MPI_Session session;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK_EQ(session, MPI_SESSION_NULL);
}

void tools() {
  int level = -1, number = 0;
  CHECK_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &level), MPI_SUCCESS);
  CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
  CHECK_EQ(MPI_T_cvar_get_num(&number), MPI_SUCCESS);
  for (int i = 0; i < number; ++i) {
    char name[128], text[4];
    int length = sizeof name, text_length = sizeof text, verbosity, bind, scope;
    MPI_Datatype type;
    MPI_T_enum values;
    CHECK_EQ(MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &values, text, &text_length, &bind, &scope),
             MPI_SUCCESS);
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
    CHECK(bind >= MPI_T_BIND_NO_OBJECT && bind <= MPI_T_BIND_MPI_SESSION);
    CHECK(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
    CHECK((type & 0xff000000) == 0x4c000000);
    int index = -1;
    CHECK_EQ(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
    CHECK_EQ(index, i);
  }
  CHECK_EQ(MPI_T_cvar_get_index("no_such_variable", &number), MPI_T_ERR_INVALID_NAME);
  CHECK_EQ(MPI_T_finalize(), MPI_SUCCESS);
}

// Chapters that are missing raise what they raise for everybody.
void missing() {
  MPI_File file = nullptr;
  CHECK_CLASS(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
              MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Win win = MPI_WIN_NULL;
  int place = 0;
  CHECK_CLASS(MPI_Win_create(&place, 4, 4, MPI_INFO_NULL, MPI_COMM_SELF, &win), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_EQ(win, MPI_WIN_NULL);
}

void profiling_names() {
  int again = -1;
  CHECK_OK(PMPI_Comm_rank(MPI_COMM_WORLD, &again));
  CHECK_EQ(again, rank);
#if MPI_VERSION >= 4
  MPI_Count count = 0;
  MPI_Status status;
  CHECK_OK(MPI_Sendrecv_c(&rank, 1, MPI_INT, rank, 2, &again, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &status));
  CHECK_OK(MPI_Get_count_c(&status, MPI_INT, &count));
  CHECK_EQ(count, 1);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  int level = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  datatypes();
  numbers_are_used_again();
  null_and_wrong_handles();
  communicators();
  topologies();
  statuses();
  requests();
  probes();
  sentinels();
  operations();
  attributes();
  error_handlers();
  error_codes();
  generalized_requests();
  contents();
  environment();
  tools();
  missing();
  profiling_names();
  if (check::headrace()) too_many_operations(std::make_integer_sequence<int, 550>());
  if (rank == 0) std::puts("walked");
  return MPI_Finalize();
}
