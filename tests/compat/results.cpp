// Prints the results of an MPI library for a fixed list of tasks, one line per task: two libraries with the standard
// ABI must print the same from the same binary. Prints only results that the standard determines; floating-point
// results are exact.
#include <mpi.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace {

int rank, size;

std::uint64_t hash_of(const void* data, std::size_t bytes) {  // FNV-1a
  std::uint64_t hash = 14695981039346656037ull;
  for (std::size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211ull;
  }
  return hash;
}

// Prints a line from rank 0: the task's name and each rank's number.
void report(const std::string& task, std::uint64_t mine) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(size));
  MPI_Gather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  std::printf("%s", task.c_str());
  for (const std::uint64_t value : all) std::printf(" %llx", static_cast<unsigned long long>(value));
  std::printf("\n");
}

void report_number(const std::string& task, long long mine) { report(task, static_cast<std::uint64_t>(mine)); }

template <class T>
void report_data(const std::string& task, const std::vector<T>& data) {
  report(task, hash_of(data.data(), data.size() * sizeof(T)));
}

template <class T>
std::vector<T> numbers(std::size_t count, int salt) {
  std::vector<T> made(count);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = static_cast<T>((static_cast<int>(i) * 7 + salt * 3 + rank * 5) % 11);
  return made;
}

void types() {
  const struct {
    const char* name;
    MPI_Datatype type;
  } predefined[] = {{"char", MPI_CHAR},
                    {"short", MPI_SHORT},
                    {"int", MPI_INT},
                    {"long", MPI_LONG},
                    {"long long", MPI_LONG_LONG},
                    {"float", MPI_FLOAT},
                    {"double", MPI_DOUBLE},
                    {"long double", MPI_LONG_DOUBLE},
                    {"byte", MPI_BYTE},
                    {"aint", MPI_AINT},
                    {"count", MPI_COUNT},
                    {"int8", MPI_INT8_T},
                    {"uint64", MPI_UINT64_T},
                    {"bool", MPI_C_BOOL},
                    {"complex", MPI_C_DOUBLE_COMPLEX},
                    {"float int", MPI_FLOAT_INT},
                    {"double int", MPI_DOUBLE_INT},
                    {"short int", MPI_SHORT_INT},
                    {"2int", MPI_2INT},
                    {"packed", MPI_PACKED}};
  for (const auto& entry : predefined) {
    int bytes = 0;
    MPI_Aint low = 0, extent = 0;
    MPI_Type_size(entry.type, &bytes);
    MPI_Type_get_extent(entry.type, &low, &extent);
    report_number(std::string("size and extent of ") + entry.name, bytes * 1000 + extent);
  }
  const int lengths[] = {2, 1}, sizes[] = {6, 7}, inner[] = {3, 4}, starts[] = {1, 2};
  const MPI_Aint places[] = {4, 24};
  const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype made[5];
  MPI_Type_vector(4, 2, 3, MPI_SHORT, &made[0]);
  MPI_Type_create_struct(2, lengths, places, members, &made[1]);
  MPI_Type_create_subarray(2, sizes, inner, starts, MPI_ORDER_FORTRAN, MPI_INT, &made[2]);
  MPI_Type_create_hvector(3, 1, -40, made[1], &made[3]);
  MPI_Type_create_resized(made[0], -8, 100, &made[4]);
  for (int i = 0; i < 5; ++i) {
    MPI_Type_commit(&made[i]);
    int bytes = 0, integers = 0, addresses = 0, datatypes = 0, combiner = 0;
    MPI_Aint figures[4];
    MPI_Type_size(made[i], &bytes);
    MPI_Type_get_extent(made[i], &figures[0], &figures[1]);
    MPI_Type_get_true_extent(made[i], &figures[2], &figures[3]);
    MPI_Type_get_envelope(made[i], &integers, &addresses, &datatypes, &combiner);
    report("type " + std::to_string(i), hash_of(figures, sizeof figures));
    report_number("type " + std::to_string(i) + " envelope",
                  ((bytes * 100LL + integers) * 100 + addresses) * 1000 + datatypes * 100 + combiner);
  }
  std::vector<int> cube(42), back(42, -1);
  std::iota(cube.begin(), cube.end(), 0);
  char external[400] = {};
  MPI_Aint position = 0;
  MPI_Pack_external("external32", cube.data(), 1, made[2], external, sizeof external, &position);
  report("external32", hash_of(external, static_cast<std::size_t>(position)));
  position = 0;
  MPI_Unpack_external("external32", external, sizeof external, &position, back.data(), 1, made[2]);
  report_data("unpacked", back);
  for (MPI_Datatype& type : made) MPI_Type_free(&type);
}

void messages() {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  for (const int count : {0, 1, 100, 5000, 200000}) {
    const std::vector<double> out = numbers<double>(static_cast<std::size_t>(count) * 3, 1);
    std::vector<double> in(out.size() + 1, -1);
    MPI_Datatype column;
    MPI_Type_vector(count, 1, 3, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Status status;
    MPI_Sendrecv(out.data(), 1, column, right, count % 1000, in.data(), count + 1, MPI_DOUBLE, left, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
    report_data("ring of " + std::to_string(count), in);
    int received = 0;
    MPI_Get_count(&status, MPI_DOUBLE, &received);
    report_number("status", (received * 100LL + status.MPI_SOURCE) * 1000 + status.MPI_TAG);
    MPI_Type_free(&column);
  }
}

template <class T>
void reductions(const char* name, MPI_Datatype type, const std::vector<std::pair<const char*, MPI_Op>>& operations) {
  for (const auto& [operation, op] : operations) {
    const std::vector<T> in = numbers<T>(321, 2);
    std::vector<T> out(in.size());
    const std::string task = std::string(name) + " " + operation;
    MPI_Allreduce(in.data(), out.data(), 321, type, op, MPI_COMM_WORLD);
    report_data("allreduce " + task, out);
    MPI_Scan(in.data(), out.data(), 321, type, op, MPI_COMM_WORLD);
    report_data("scan " + task, out);
    out.assign(out.size(), T{});
    MPI_Reduce(in.data(), out.data(), 321, type, op, size - 1, MPI_COMM_WORLD);
    report_data("reduce " + task, out);
  }
}

// Composition of maps x -> m x + c (mod 1009), as pairs (m, c): associative, but the order matters.
void compose(void* in, void* inout, int* count, MPI_Datatype*) {
  auto* a = static_cast<int*>(in);
  auto* b = static_cast<int*>(inout);
  for (int i = 0; i < 2 * *count; i += 2) {  // a is applied first
    const int m = a[i] * b[i] % 1009, c = (b[i] * a[i + 1] + b[i + 1]) % 1009;
    b[i] = m;
    b[i + 1] = c;
  }
}

void collectives() {
  const std::vector<std::pair<const char*, MPI_Op>> arithmetic = {
      {"sum", MPI_SUM}, {"prod", MPI_PROD}, {"min", MPI_MIN}, {"max", MPI_MAX}};
  std::vector<std::pair<const char*, MPI_Op>> integer = arithmetic;
  for (const auto& more : std::vector<std::pair<const char*, MPI_Op>>{{"land", MPI_LAND},
                                                                      {"lor", MPI_LOR},
                                                                      {"lxor", MPI_LXOR},
                                                                      {"band", MPI_BAND},
                                                                      {"bor", MPI_BOR},
                                                                      {"bxor", MPI_BXOR}}) {
    integer.push_back(more);
  }
  reductions<int>("int", MPI_INT, integer);
  reductions<std::uint8_t>("uint8", MPI_UINT8_T, integer);
  reductions<std::int64_t>("int64", MPI_INT64_T, integer);
  reductions<float>("float", MPI_FLOAT, arithmetic);
  reductions<double>("double", MPI_DOUBLE, arithmetic);
  reductions<std::complex<double>>("complex", MPI_C_DOUBLE_COMPLEX, {{"sum", MPI_SUM}, {"prod", MPI_PROD}});

  struct Pair {
    double value;
    int index;
    int gap;
  };
  std::vector<Pair> in(50), out(50);
  std::memset(static_cast<void*>(out.data()), 0, out.size() * sizeof(Pair));
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = {static_cast<double>((i * 7 + static_cast<std::size_t>(rank)) % 3), rank, 0};
  MPI_Allreduce(in.data(), out.data(), 50, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  std::vector<double> flat;
  for (const Pair& pair : out) flat.insert(flat.end(), {pair.value, static_cast<double>(pair.index)});
  report_data("maxloc", flat);

  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  std::vector<int> maps = numbers<int>(40, 4), composed(40);
  MPI_Datatype map;
  MPI_Type_contiguous(2, MPI_INT, &map);
  MPI_Type_commit(&map);
  MPI_Allreduce(maps.data(), composed.data(), 20, map, op, MPI_COMM_WORLD);
  report_data("user operation", composed);
  MPI_Type_free(&map);
  MPI_Op_free(&op);

  const auto ranks = static_cast<std::size_t>(size);
  std::vector<int> block = numbers<int>(17 * ranks, 5), all(17 * ranks * ranks, -1);
  MPI_Allgather(block.data(), 17, MPI_INT, all.data(), 17, MPI_INT, MPI_COMM_WORLD);
  report_data("allgather", all);
  std::vector<int> exchanged(block.size(), -1);
  MPI_Alltoall(block.data(), 17, MPI_INT, exchanged.data(), 17, MPI_INT, MPI_COMM_WORLD);
  report_data("alltoall", exchanged);
  std::vector<int> counts(ranks), places(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    counts[i] = static_cast<int>(i) + 1;
    places[i] = static_cast<int>(i * (ranks + 2));
  }
  MPI_Allgatherv(block.data(), rank + 1, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
  report_data("allgatherv", all);
  std::vector<int> part(ranks, -1);
  MPI_Reduce_scatter(block.data(), part.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  report_data("reduce_scatter", part);
  MPI_Bcast(block.data(), 17, MPI_INT, size - 1, MPI_COMM_WORLD);
  report_data("bcast", block);
}

void communicators() {
  MPI_Comm half, grid;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  int there = -1, order = -1;
  MPI_Comm_rank(half, &there);
  report_number("rank in a half", there);
  MPI_Comm_compare(MPI_COMM_WORLD, half, &order);
  report_number("compare", order);
  MPI_Comm_free(&half);
  int dims[2] = {0, 0}, coordinates[2], low = 0, high = 0;
  const int periodic[2] = {1, 0};
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &grid);
  MPI_Cart_coords(grid, rank, 2, coordinates);
  report_number("coordinates", coordinates[0] * 100 + coordinates[1]);
  for (int axis = 0; axis < 2; ++axis) {
    MPI_Cart_shift(grid, axis, 1, &low, &high);
    report_number("shift", (low + 10) * 100 + high + 10);
  }
  MPI_Comm_free(&grid);
}

void errors() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int value = 0, found = 0;
  const int codes[] = {
      MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD),
      MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD),
      MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD)};
  for (const int code : codes) {
    MPI_Error_class(code, &found);
    report_number("error class", found);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int version = 0, subversion = 0;
  MPI_Get_version(&version, &subversion);
  report_number("version", version);
  types();
  messages();
  collectives();
  communicators();
  errors();
  if (rank == 0) std::printf("end\n");
  MPI_Finalize();
}
