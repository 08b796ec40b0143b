// Operations in streams through libmpi.so.12, as called by a program built with MPICH's header: handles are ints. In a
// ring, a stream sends the data that it has copied, and copies the data that it has received.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../../../apps/common/gpu.hpp"

// MPICH's values, repeated here so that the test does not need MPICH.
constexpr int kWorld = 0x44000000, kInfoNull = 0x1c000000, kRequestNull = 0x2c000000, kStreamNull = 0x3c000000;
constexpr int kInt = 0x4c000405, kSum = 0x58000003;
static int* const kStatusIgnore = reinterpret_cast<int*>(1);
extern "C" {
int MPI_Init(int*, char***);
int MPI_Finalize(void);
int MPI_Comm_rank(int comm, int* rank);
int MPI_Comm_size(int comm, int* size);
int MPI_Comm_free(int* comm);
int MPI_Info_create(int* info);
int MPI_Info_set(int info, const char* key, const char* value);
int MPI_Info_free(int* info);
int MPI_Abort(int comm, int code);
int MPIX_Info_set_hex(int info, const char* key, const void* value, int value_size);
int MPIX_Stream_create(int info, int* stream);
int MPIX_Stream_free(int* stream);
int MPIX_Stream_comm_create(int comm, int stream, int* newcomm);
int MPIX_Comm_get_stream(int comm, int idx, int* stream);
int MPIX_Stream_progress(int stream);
int MPIX_Start_progress_thread(int stream);
int MPIX_Stop_progress_thread(int stream);
int MPIX_Isend_enqueue(const void*, int count, int type, int to, int tag, int comm, int* request);
int MPIX_Irecv_enqueue(void*, int count, int type, int from, int tag, int comm, int* request);
int MPIX_Send_enqueue(const void*, int count, int type, int to, int tag, int comm);
int MPIX_Recv_enqueue(void*, int count, int type, int from, int tag, int comm, int* status);
int MPIX_Allreduce_enqueue(const void*, void*, int count, int type, int op, int comm);
int MPIX_Wait_enqueue(int* request, int* status);
int MPIX_Waitall_enqueue(int count, int* requests, int* statuses);
}

namespace {

void check(bool good, int line) {
  if (good) return;
  std::fprintf(stderr, "streams.cpp:%d: wrong\n", line);
  MPI_Abort(kWorld, 1);
}
#define CHECK(condition) check(condition, __LINE__)

// MPICH's MPI_Status.
struct Status {
  int count_lo, count_hi_and_cancelled, source, tag, error;
};
constexpr int kPoison = 0x5A5A5A5A;
constexpr Status kPoisoned = {kPoison, kPoison, kPoison, kPoison, kPoison};
int* words(Status* status) { return &status->count_lo; }

// MPI_ERROR keeps its value: the calls complete without an error.
void expect(const Status& found, int bytes, int source, int tag, int line) {
  check(found.count_lo == bytes && found.count_hi_and_cancelled == 0, line);
  check(found.source == source && found.tag == tag && found.error == kPoison, line);
}
void expect_poison(const Status& found, int line) { check(std::memcmp(&found, &kPoisoned, sizeof found) == 0, line); }

// Statuses of enqueued operations have MPICH's form, and nothing around them changes.
void run_statuses(int comm, gpu::Stream stream, void* from, void* to, int rank, int size) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  Status all[5], one = kPoisoned, nobody = kPoisoned, empty = kPoisoned, received = kPoisoned;
  for (Status& each : all) each = kPoisoned;
  int requests[4];
  CHECK(MPIX_Irecv_enqueue(to, 100, kInt, -2, -1, comm, &requests[0]) == 0);  // any source, any tag
  CHECK(MPIX_Isend_enqueue(from, 70, kInt, next, 6, comm, &requests[1]) == 0);
  requests[2] = kRequestNull;
  CHECK(MPIX_Irecv_enqueue(to, 100, kInt, -1, 9, comm, &requests[3]) == 0);  // MPI_PROC_NULL
  CHECK(MPIX_Waitall_enqueue(4, requests, words(&all[0])) == 0);
  CHECK(MPIX_Isend_enqueue(from, 80, kInt, next, 7, comm, &requests[0]) == 0);
  CHECK(MPIX_Irecv_enqueue(to, 100, kInt, previous, 7, comm, &requests[1]) == 0);
  CHECK(MPIX_Wait_enqueue(&requests[1], words(&one)) == 0);
  CHECK(MPIX_Wait_enqueue(&requests[0], kStatusIgnore) == 0);
  CHECK(MPIX_Isend_enqueue(from, 90, kInt, next, 8, comm, &requests[0]) == 0);
  CHECK(MPIX_Recv_enqueue(to, 100, kInt, previous, 8, comm, words(&received)) == 0);
  CHECK(MPIX_Recv_enqueue(to, 100, kInt, -1, 8, comm, words(&nobody)) == 0);
  CHECK(MPIX_Wait_enqueue(&requests[0], kStatusIgnore) == 0);
  CHECK(MPIX_Wait_enqueue(&requests[0], words(&empty)) == 0);
  gpu::synchronize(stream);
  expect(all[0], 70 * sizeof(int), previous, 6, __LINE__);
  expect(all[2], 0, -2, -1, __LINE__);
  expect(all[3], 0, -1, -1, __LINE__);
  expect_poison(all[4], __LINE__);
  expect(one, 80 * sizeof(int), previous, 7, __LINE__);
  expect(received, 90 * sizeof(int), previous, 8, __LINE__);
  expect(nobody, 0, -1, -1, __LINE__);
  expect(empty, 0, -2, -1, __LINE__);
}

int run(int rank, int size) {
  constexpr std::size_t kCount = 1000, kBytes = kCount * sizeof(int);
  gpu::select(rank);
  gpu::Stream stream = gpu::create_stream(true);
  std::vector<int> mine(kCount, rank + 1), got(kCount), sum(kCount);
  void* source = gpu::allocate(kBytes);
  void* from = gpu::allocate(kBytes);
  void* to = gpu::allocate(kBytes);
  void* total = gpu::allocate(kBytes);
  gpu::copy(source, mine.data(), kBytes);
  int info = kInfoNull, named = kStreamNull, comm = 0, found = kStreamNull;
  CHECK(MPI_Info_create(&info) == 0 && MPI_Info_set(info, "type", "cudaStream_t") == 0);
  CHECK(MPIX_Info_set_hex(info, "value", &stream, sizeof stream) == 0);
  CHECK(MPIX_Stream_create(info, &named) == 0 && named != kStreamNull);
  CHECK(MPI_Info_free(&info) == 0);
  CHECK(MPIX_Stream_comm_create(kWorld, named, &comm) == 0);
  CHECK(MPIX_Comm_get_stream(comm, 0, &found) == 0 && found == named);
  CHECK(MPIX_Comm_get_stream(kWorld, 0, &found) == 0 && found == kStreamNull);
  CHECK(MPIX_Stream_progress(kStreamNull) == 0);
  CHECK(MPIX_Start_progress_thread(named) == 0);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  int requests[2] = {kRequestNull, kRequestNull};
  gpu::copy_async(from, source, kBytes, stream);
  CHECK(MPIX_Irecv_enqueue(to, kCount, kInt, previous, 3, comm, &requests[0]) == 0);
  CHECK(MPIX_Isend_enqueue(from, kCount, kInt, next, 3, comm, &requests[1]) == 0);
  CHECK(MPIX_Waitall_enqueue(2, requests, kStatusIgnore) == 0);
  CHECK(requests[0] == kRequestNull && requests[1] == kRequestNull);
  CHECK(MPIX_Isend_enqueue(to, kCount, kInt, next, 4, comm, &requests[0]) == 0);
  CHECK(MPIX_Recv_enqueue(from, kCount, kInt, previous, 4, comm, kStatusIgnore) == 0);
  CHECK(MPIX_Wait_enqueue(&requests[0], kStatusIgnore) == 0 && requests[0] == kRequestNull);
  CHECK(MPIX_Allreduce_enqueue(from, total, kCount, kInt, kSum, comm) == 0);
  CHECK(MPIX_Send_enqueue(from, kCount, kInt, -1, 4, comm) == 0);  // MPI_PROC_NULL
  gpu::synchronize(stream);
  gpu::copy(got.data(), from, kBytes);
  gpu::copy(sum.data(), total, kBytes);
  for (std::size_t i = 0; i < kCount; ++i) {
    CHECK(got[i] == (rank + 2 * size - 2) % size + 1);
    CHECK(sum[i] == size * (size + 1) / 2);
  }
  run_statuses(comm, stream, from, to, rank, size);
  CHECK(MPIX_Stop_progress_thread(named) == 0);
  CHECK(MPI_Comm_free(&comm) == 0);
  CHECK(MPIX_Stream_free(&named) == 0 && named == kStreamNull);
  CHECK(MPIX_Stream_create(kInfoNull, &named) == 0 && MPIX_Stream_free(&named) == 0);
  for (void* each : {source, from, to, total}) gpu::free(each);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int rank = 0, size = 0;
  CHECK(MPI_Init(&argc, &argv) == 0 && MPI_Comm_rank(kWorld, &rank) == 0 && MPI_Comm_size(kWorld, &size) == 0);
  if (gpu::available()) run(rank, size);
  return MPI_Finalize();
}
