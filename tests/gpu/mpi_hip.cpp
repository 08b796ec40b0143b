// A program that uses AMD GPUs through HIP alone: exchanges between all kinds of memory that HIP has, buffers inside
// allocations, operations in streams, queries of support, and the last error, which must stay the program's own.
//
//   mpiexec -n 2 mpi_hip [host|cuda|exports|no_signals|managed|used|unused|version]
//
// host: HIP must not be used; cuda: CUDA's devices are used instead, as both makers have devices; exports: only memory
// that another process must map is exported, as exported memory may stay in use after it has been freed; managed:
// only managed memory is exchanged; used, unused: device 0 is used before MPI_Init or not at all, and nothing else is
// done; version: prints the version of ROCm.
// It opens the runtime itself, so that it needs neither HIP's headers nor its library to be built. Without a device it
// says so and exits with 0.
#include <dlfcn.h>
#include <mpi-ext.h>
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "common/check.hpp"
#include "variable.hpp"

namespace {

void* library() {
  static void* const opened = [] {
    for (const char* const name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
      if (void* found = ::dlopen(name, RTLD_NOW); found != nullptr) return found;
    }
    return static_cast<void*>(nullptr);
  }();
  return opened;
}

// Calls a function of HIP; the program ends if it fails.
template <class... Arguments>
void hip(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library(), name));
  const int result = function == nullptr ? -1 : function(arguments...);
  if (result == 0) return;
  std::fprintf(stderr, "%s failed: %d\n", name, result);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int last_error() { return reinterpret_cast<int (*)()>(::dlsym(library(), "hipGetLastError"))(); }

// Returns 100 times the major version of ROCm, and the minor one.
int full_version() {
  int version = 0;
  hip("hipRuntimeGetVersion", &version);
  return version / 100000;
}
int runtime_version() { return full_version() / 100; }

// kNonCoherent: pinned memory in which the host sees a device's stores only after a release to system scope.
enum class Kind { kHost, kDevice, kManaged, kPinned, kNonCoherent, kRegistered, kPool, kChunks };

// Returns the kinds of memory that this version of ROCm has.
std::vector<Kind> kinds() {
  std::vector<Kind> all = {Kind::kHost,        Kind::kDevice,     Kind::kManaged, Kind::kPinned,
                           Kind::kNonCoherent, Kind::kRegistered, Kind::kPool};
  if (runtime_version() >= 6) all.push_back(Kind::kChunks);
  return all;
}

constexpr int kByAddresses = 4;
constexpr std::size_t kPage = 4096;

// hipMemAllocationProp and hipMemAccessDesc
struct Place {
  int type = 1;  // a device
  int device = 0;
};
struct ChunkProperties {
  int type = 1;         // pinned
  int handle_type = 1;  // a file descriptor
  Place place;
  void* unused = nullptr;
  unsigned char flags[8] = {};
};
struct Access {
  Place place;
  int flags = 3;  // reading and writing
};

// A range of addresses that is filled with three chunks of memory (VMM). Owner: RAII.
class Chunks {
 public:
  explicit Chunks(std::size_t bytes) {
    hip("hipGetDevice", &properties_.place.device);
    std::size_t granularity = 0;
    hip("hipMemGetAllocationGranularity", &granularity, &properties_, 0);
    chunk_ = (bytes / kCount + granularity) / granularity * granularity;
    hip("hipMemAddressReserve", &start_, kCount * chunk_, std::size_t{0}, static_cast<void*>(nullptr), 0ULL);
    for (std::size_t i = 0; i < kCount; ++i) {
      void* handle = nullptr;
      hip("hipMemCreate", &handle, chunk_, &properties_, 0ULL);
      hip("hipMemMap", at(i), chunk_, std::size_t{0}, handle, 0ULL);
      hip("hipMemRelease", handle);
    }
    const Access access{properties_.place, 3};
    hip("hipMemSetAccess", start_, kCount * chunk_, &access, std::size_t{1});
  }
  ~Chunks() {
    hip("hipDeviceSynchronize");
    for (std::size_t i = 0; i < kCount; ++i) hip("hipMemUnmap", at(i), chunk_);
    hip("hipMemAddressFree", start_, kCount * chunk_);
  }
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;
  [[nodiscard]] void* start() const { return start_; }

 private:
  static constexpr std::size_t kCount = 3;
  [[nodiscard]] void* at(std::size_t i) const { return static_cast<std::byte*>(start_) + i * chunk_; }

  ChunkProperties properties_;
  std::size_t chunk_ = 0;
  void* start_ = nullptr;
};

// Owner: RAII. The data begins `inside` bytes after the start of the allocation.
class Memory {
 public:
  Memory(Kind kind, std::size_t bytes, std::size_t inside) : kind_(kind), inside_(inside) {
    const std::size_t all = (inside + bytes + kPage - 1) / kPage * kPage;
    switch (kind) {
      case Kind::kHost:
        start_ = std::aligned_alloc(kPage, all);
        break;
      case Kind::kDevice:
        hip("hipMalloc", &start_, all);
        break;
      case Kind::kManaged:
        hip("hipMallocManaged", &start_, all, 1U);
        break;
      case Kind::kPinned:
        hip("hipHostMalloc", &start_, all, 0U);
        break;
      case Kind::kNonCoherent:
        hip("hipHostMalloc", &start_, all, 0x80000000U);
        break;
      case Kind::kRegistered:
        start_ = std::aligned_alloc(kPage, all);
        hip("hipHostRegister", start_, all, 0U);
        break;
      case Kind::kPool:
        hip("hipMallocAsync", &start_, all, static_cast<void*>(nullptr));
        break;
      case Kind::kChunks:
        start_ = chunks_.emplace(all).start();
        break;
    }
  }
  ~Memory() {
    switch (kind_) {
      case Kind::kDevice:
      case Kind::kManaged:
        hip("hipFree", start_);
        break;
      case Kind::kPinned:
      case Kind::kNonCoherent:
        hip("hipHostFree", start_);
        break;
      case Kind::kPool:
        hip("hipFreeAsync", start_, static_cast<void*>(nullptr));
        hip("hipDeviceSynchronize");
        break;
      case Kind::kChunks:
        break;
      case Kind::kRegistered:
        hip("hipHostUnregister", start_);
        [[fallthrough]];
      case Kind::kHost:
        std::free(start_);
        break;
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] void* data() const { return static_cast<std::byte*>(start_) + inside_; }
  void write(const std::vector<int>& values) { copy(data(), values.data(), values.size() * sizeof(int)); }
  [[nodiscard]] std::vector<int> read(std::size_t count) const {
    std::vector<int> values(count, -1);
    copy(values.data(), data(), count * sizeof(int));
    return values;
  }

 private:
  // Pinned memory is accessed directly, as a copy or a wait would make a device's stores visible.
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (kind_ == Kind::kPinned || kind_ == Kind::kNonCoherent) {
      std::memcpy(to, from, bytes);
      return;
    }
    hip("hipMemcpy", to, from, bytes, kByAddresses);
    hip("hipDeviceSynchronize");
  }

  Kind kind_;
  std::size_t inside_;
  void* start_ = nullptr;
  std::optional<Chunks> chunks_;
};

std::vector<int> values_of(int rank, std::size_t count) {
  std::vector<int> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i * 7 + 1) * (rank + 1);
  return values;
}

// Every rank sends to the next one; each element of the result is checked. There are lengths for each protocol. The
// data is inside the allocation, at an offset that a handle does not contain.
void exchange(int rank, int size, Kind from, Kind to) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{500}, std::size_t{40000}, std::size_t{700000}}) {
    Memory source(from, count * sizeof(int), 12 * kPage + 64);
    Memory target(to, count * sizeof(int), 4 * kPage + 16);
    source.write(values_of(rank, count));
    target.write(std::vector<int>(count, -2));
    const int before = (rank + size - 1) % size;
    CHECK_OK(MPI_Sendrecv(source.data(), static_cast<int>(count), MPI_INT, (rank + 1) % size, 3, target.data(),
                          static_cast<int>(count), MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(target.read(count) == values_of(before, count));
    CHECK(last_error() == 0);
  }
}

// A column of a matrix, and a sum.
void derived_and_reduced(int rank, int size) {
  constexpr int kRows = 300, kColumns = 40;
  Memory matrix(Kind::kDevice, sizeof(int) * kRows * kColumns, 0);
  matrix.write(values_of(rank, kRows * kColumns));
  MPI_Datatype column = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_vector(kRows, 1, kColumns, MPI_INT, &column));
  CHECK_OK(MPI_Type_commit(&column));
  std::vector<int> got(kRows, -1);
  const int before = (rank + size - 1) % size;
  CHECK_OK(MPI_Sendrecv(matrix.data(), 1, column, (rank + 1) % size, 4, got.data(), kRows, MPI_INT, before, 4,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const std::vector<int> whole = values_of(before, kRows * kColumns);
  for (int row = 0; row < kRows; ++row) CHECK(got[static_cast<std::size_t>(row)] == whole[row * kColumns]);
  CHECK_OK(MPI_Type_free(&column));

  constexpr int kCount = 20000;
  Memory sum(Kind::kDevice, sizeof(int) * kCount, 0);
  CHECK_OK(MPI_Allreduce(matrix.data(), sum.data(), kRows * kColumns, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  std::vector<int> expected = values_of(0, kRows * kColumns);
  for (int& each : expected) each *= size * (size + 1) / 2;
  CHECK(sum.read(kRows * kColumns) == expected);
  CHECK(last_error() == 0);
}

// An error of the program's own call stays until it is read (since ROCm 7; before, any call replaces it), although the
// library's calls fail meanwhile: the device is queried about copies that have not started (hip_program_lazy).
void own_error_stays(int rank, int size) {
  constexpr int kCount = 300000;
  Memory source(Kind::kDevice, kCount * sizeof(int), 0);
  Memory target(Kind::kDevice, kCount * sizeof(int), 0);
  source.write(values_of(rank, kCount));
  CHECK(last_error() == 0);
  int there = 0;
  CHECK(reinterpret_cast<int (*)(void*)>(::dlsym(library(), "hipHostFree"))(&there) != 0);
  const int before = (rank + size - 1) % size;
  CHECK_OK(MPI_Sendrecv(source.data(), kCount, MPI_INT, (rank + 1) % size, 5, target.data(), kCount, MPI_INT, before, 5,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (runtime_version() >= 7) CHECK(last_error() != 0);
  CHECK(last_error() == 0);
  CHECK(target.read(kCount) == values_of(before, kCount));
}

// Sends several times from each of some buffers. Only these buffers must have been exported, once each, and not those
// into which messages were received: after all are freed, the bytes in use have grown by those of the send buffers.
void exports(int rank, int size) {
  constexpr int kCount = 1 << 18, kBuffers = 6, kTimes = 5;
  constexpr std::size_t kBytes = kCount * sizeof(int);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  const auto send_from = [&](int buffers) {
    for (int buffer = 0; buffer < buffers; ++buffer) {
      Memory source(Kind::kDevice, kBytes, 0), target(Kind::kDevice, kBytes, 0);
      source.write(values_of(rank, kCount));
      for (int time = 0; time < kTimes; ++time) {
        target.write(std::vector<int>(kCount, -2));
        CHECK_OK(MPI_Sendrecv(source.data(), kCount, MPI_INT, next, 6, target.data(), kCount, MPI_INT, before, 6,
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(target.read(kCount) == values_of(before, kCount));
      }
    }
  };
  const auto used = [] {
    std::size_t free = 0, total = 0;
    hip("hipMemGetInfo", &free, &total);
    return total - free;
  };
  // Others unmap freed memory in a later call.
  const auto settles_at = [&](std::size_t wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int done = 0; done == 0;) {
      CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
      done = used() == wanted || std::chrono::steady_clock::now() > end ? 1 : 0;
      CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    }
    return used() == wanted;
  };
  const std::size_t at_first = used();
  send_from(1);  // the library allocates its own memory, too
  for (int i = 0; i < 200; ++i) CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  const std::size_t warm = used();
  CHECK(warm >= at_first + kBytes);
  send_from(kBuffers);
  CHECK(settles_at(warm + kBuffers * kBytes));
}

void queries(bool expected, bool cuda = false) {
  int supported = -1;
  CHECK(MPIX_Query_hip_support() == (expected ? 1 : 0));
  CHECK(MPIX_Query_rocm_support() == (expected ? 1 : 0));
  CHECK(MPIX_Query_cuda_support() == (cuda ? 1 : 0));
  CHECK_OK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &supported));
  CHECK(supported == (expected ? 1 : 0));
  CHECK_OK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported));
  CHECK(supported == (cuda ? 1 : 0));
}

int create_stream(const char* type, void* stream, MPIX_Stream* made) {
  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "type", type));
  CHECK_OK(MPIX_Info_set_hex(info, "value", &stream, sizeof stream));
  const int error = MPIX_Stream_create(info, made);
  CHECK_OK(MPI_Info_free(&info));
  return error;
}

// Messages and a sum in a stream, ordered among copies, which the stream makes before and after them.
void in_streams(int rank, int size) {
  constexpr int kCount = 30000, kRounds = 50;
  constexpr std::size_t kBytes = kCount * sizeof(int);
  void* stream = nullptr;
  hip("hipStreamCreateWithFlags", &stream, 1U);
  Memory first(Kind::kPinned, kRounds * kBytes, 0), source(Kind::kDevice, kBytes, 64), target(Kind::kDevice, kBytes, 0);
  Memory sum(Kind::kDevice, kBytes, 0), got(Kind::kPinned, kRounds * kBytes, 0),
      sums(Kind::kPinned, kRounds * kBytes, 0);
  const auto place = [](const Memory& memory, int round) {
    return static_cast<void*>(static_cast<int*>(memory.data()) + round * kCount);
  };
  const auto value = [](int of, int round, int i) { return of * 1000003 + round * 7919 + i; };
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (const char* const type : {"hipStream_t", "cudaStream_t"}) {
    MPIX_Stream named = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_OK(create_stream(type, stream, &named));
    CHECK_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, named, &comm));
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kCount; ++i) {
        static_cast<int*>(place(first, round))[i] = value(rank, round, i);
        static_cast<int*>(place(got, round))[i] = static_cast<int*>(place(sums, round))[i] = -1;
      }
    }
    for (int round = 0; round < kRounds; ++round) {
      MPI_Request request = MPI_REQUEST_NULL;
      hip("hipMemcpyAsync", source.data(), place(first, round), kBytes, kByAddresses, stream);
      CHECK_OK(MPIX_Isend_enqueue(source.data(), kCount, MPI_INT, next, 7, comm, &request));
      CHECK_OK(MPIX_Recv_enqueue(target.data(), kCount, MPI_INT, before, 7, comm, MPI_STATUS_IGNORE));
      CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
      CHECK_OK(MPIX_Allreduce_enqueue(source.data(), sum.data(), kCount, MPI_INT, MPI_SUM, comm));
      hip("hipMemcpyAsync", place(got, round), target.data(), kBytes, kByAddresses, stream);
      hip("hipMemcpyAsync", place(sums, round), sum.data(), kBytes, kByAddresses, stream);
    }
    hip("hipStreamSynchronize", stream);
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kCount; ++i) {
        CHECK(static_cast<int*>(place(got, round))[i] == value(before, round, i));
        int total = 0;
        for (int each = 0; each < size; ++each) total += value(each, round, i);
        CHECK(static_cast<int*>(place(sums, round))[i] == total);
      }
    }
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPIX_Stream_free(&named));
  }
  CHECK(last_error() == 0);
  hip("hipStreamDestroy", stream);
}

// Checks that streams are refused if the device has no memory on whose words they can wait.
void streams_are_refused() {
  void* stream = nullptr;
  hip("hipStreamCreateWithFlags", &stream, 1U);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPIX_Stream made = MPIX_STREAM_NULL;
  const int error = create_stream("hipStream_t", stream, &made);
  CHECK_CLASS(error, MPI_ERR_OTHER);
  CHECK(check::error_text(error).find("hipExtMallocWithFlags: hipErrorInvalidValue") != std::string::npos);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  CHECK(last_error() == 0);
  hip("hipStreamDestroy", stream);
}

int device_count() {
  const auto count =
      reinterpret_cast<int (*)(int*)>(library() == nullptr ? nullptr : ::dlsym(library(), "hipGetDeviceCount"));
  int devices = 0;
  return count != nullptr && count(&devices) == 0 ? devices : 0;
}

// Checks that host memory works without a HIP device, and where HIP must not be used.
void host_only(int rank, int size, bool cuda) {
  int mine = rank, got = -1;
  CHECK_OK(MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, (rank + size - 1) % size, 1,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(got == (rank + size - 1) % size);
  queries(false, cuda);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "used") {
    void* memory = nullptr;
    hip("hipMalloc", &memory, kPage);
    hip("hipFree", memory);
  }
  CHECK_OK(MPI_Init(&argc, &argv));
  if (mode == "used" || mode == "unused") {
    CHECK_OK(MPI_Finalize());
    return 0;
  }
  int rank = 0, size = 0;
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int devices = device_count();
  if (devices > 0 && mode == "version") {
    if (rank == 0) std::printf("%d.%d\n", full_version() / 100, full_version() % 100);
  } else if (devices == 0 || mode == "host" || mode == "cuda") {
    host_only(rank, size, mode == "cuda");
    if (rank == 0) std::printf("host memory alone\n");
  } else {
    hip("hipSetDevice", rank % devices);
    queries(true);
    if (mode == "exports" || mode == "managed") {
      mode == "exports" ? exports(rank, size) : exchange(rank, size, Kind::kManaged, Kind::kManaged);
      CHECK_OK(MPI_Finalize());
      return 0;
    }
    hr::test::Variable mappings("HEADRACE_DEVICE_IPC_MISSES"), chunks("HEADRACE_DEVICE_IPC_CHUNKS");
    for (const Kind from : kinds()) {
      for (const Kind to : kinds()) exchange(rank, size, from, to);
    }
    CHECK(size == 1 || mappings.value() > 0);  // processes have mapped each other's memory
    if (runtime_version() >= 6) {              // memory that could not be mapped would not be exported any more
      (void)chunks.take();
      exchange(rank, size, Kind::kChunks, Kind::kDevice);
      CHECK(size == 1 || chunks.value() > 0);
    }
    derived_and_reduced(rank, size);
    own_error_stays(rank, size);
    mode == "no_signals" ? streams_are_refused() : in_streams(rank, size);
    if (rank == 0) std::printf("HIP memory of every kind\n");
  }
  CHECK_OK(MPI_Finalize());
  return 0;
}
