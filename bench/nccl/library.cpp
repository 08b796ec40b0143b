#include "nccl/library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

// Values of NCCL's enumerations, part of its ABI since version 2.0.
constexpr int kFloat = 7;  // ncclFloat32
constexpr int kSum = 0;    // ncclSum

struct UniqueId {
  char bytes[128];
};
using Comm = void*;

#define NCCL_FUNCTIONS(X)                                                                      \
  X(int, ncclGetVersion, (int*))                                                               \
  X(int, ncclGetUniqueId, (UniqueId*))                                                         \
  X(int, ncclCommInitRank, (Comm*, int, UniqueId, int))                                        \
  X(int, ncclCommDestroy, (Comm))                                                              \
  X(const char*, ncclGetErrorString, (int))                                                    \
  X(const char*, ncclGetLastError, (Comm))                                                     \
  X(int, ncclAllReduce, (const void*, void*, std::size_t, int, int, Comm, gpu::Stream))        \
  X(int, ncclBroadcast, (const void*, void*, std::size_t, int, int root, Comm, gpu::Stream))   \
  X(int, ncclReduce, (const void*, void*, std::size_t, int, int, int root, Comm, gpu::Stream)) \
  X(int, ncclAllGather, (const void*, void*, std::size_t, int, Comm, gpu::Stream))             \
  X(int, ncclReduceScatter, (const void*, void*, std::size_t, int, int, Comm, gpu::Stream))    \
  X(int, ncclSend, (const void*, std::size_t, int, int peer, Comm, gpu::Stream))               \
  X(int, ncclRecv, (void*, std::size_t, int, int peer, Comm, gpu::Stream))                     \
  X(int, ncclGroupStart, ())                                                                   \
  X(int, ncclGroupEnd, ())
// Functions that exist since version 2.28.
#define NCCL_NEW_FUNCTIONS(X)                                                             \
  X(int, ncclAlltoAll, (const void*, void*, std::size_t, int, Comm, gpu::Stream))         \
  X(int, ncclGather, (const void*, void*, std::size_t, int, int root, Comm, gpu::Stream)) \
  X(int, ncclScatter, (const void*, void*, std::size_t, int, int root, Comm, gpu::Stream))

}  // namespace

struct Nccl::Functions {
#define NCCL_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  NCCL_FUNCTIONS(NCCL_MEMBER)
  NCCL_NEW_FUNCTIONS(NCCL_MEMBER)
#undef NCCL_MEMBER
};

Nccl::~Nccl() {
  if (comm_ != nullptr) functions_->ncclCommDestroy(comm_);
  delete functions_;
}

bool Nccl::open(const std::string& path, std::string& why) {
  // NVLink multicast stays off, as it is unreliable on some machines. NCCL reads the variable at its first call.
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays open for the lifetime of the process
  if (library == nullptr) {
    const char* const said = ::dlerror();
    why = said != nullptr ? said : path + " cannot be opened";
    return false;
  }
  auto* const functions = new Functions;
  const char* missing = nullptr;
#define NCCL_LOAD(result, name, parameters)                                               \
  functions->name = reinterpret_cast<decltype(functions->name)>(::dlsym(library, #name)); \
  if (functions->name == nullptr) missing = #name;
  NCCL_NEW_FUNCTIONS(NCCL_LOAD)
  missing = nullptr;  // these functions may be missing
  NCCL_FUNCTIONS(NCCL_LOAD)
#undef NCCL_LOAD
  if (missing != nullptr) {
    why = path + " has no " + missing + ": it is no NCCL of version 2.13 or newer";
    delete functions;
    return false;
  }
  functions_ = functions;
  return true;
}

void Nccl::join(const World& world) {
  UniqueId id{};
  if (world.rank == 0) check(functions_->ncclGetUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, world.comm);
  check(functions_->ncclCommInitRank(&comm_, world.size, id, world.rank), "ncclCommInitRank");
}

std::string Nccl::version() const {
  int number = 0;
  check(functions_->ncclGetVersion(&number), "ncclGetVersion");
  return std::to_string(number / 10000) + '.' + std::to_string(number / 100 % 100) + '.' + std::to_string(number % 100);
}

void Nccl::check(int result, const char* call) const {
  if (result == 0) return;
  std::fprintf(stderr, "nccl: %s failed: %s; NCCL says: %s (NCCL_DEBUG=WARN shows more)\n", call,
               functions_->ncclGetErrorString(result), functions_->ncclGetLastError(comm_));
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::abort();
}

#define NCCL_CALL(name, ...) check(functions_->name(__VA_ARGS__), #name)

void Nccl::allreduce(const float* from, float* to, std::size_t count, gpu::Stream stream) const {
  NCCL_CALL(ncclAllReduce, from, to, count, kFloat, kSum, comm_, stream);
}
void Nccl::bcast(const float* from, float* to, std::size_t count, int root, gpu::Stream stream) const {
  NCCL_CALL(ncclBroadcast, from, to, count, kFloat, root, comm_, stream);
}
void Nccl::reduce(const float* from, float* to, std::size_t count, int root, gpu::Stream stream) const {
  NCCL_CALL(ncclReduce, from, to, count, kFloat, kSum, root, comm_, stream);
}
void Nccl::allgather(const float* from, float* to, std::size_t count, gpu::Stream stream) const {
  NCCL_CALL(ncclAllGather, from, to, count, kFloat, comm_, stream);
}
void Nccl::reduce_scatter(const float* from, float* to, std::size_t count, gpu::Stream stream) const {
  NCCL_CALL(ncclReduceScatter, from, to, count, kFloat, kSum, comm_, stream);
}
bool Nccl::has_new_functions() const {
  return functions_->ncclAlltoAll != nullptr && functions_->ncclGather != nullptr && functions_->ncclScatter != nullptr;
}
void Nccl::alltoall(const float* from, float* to, std::size_t count, gpu::Stream stream) const {
  NCCL_CALL(ncclAlltoAll, from, to, count, kFloat, comm_, stream);
}
void Nccl::gather(const float* from, float* to, std::size_t count, int root, gpu::Stream stream) const {
  NCCL_CALL(ncclGather, from, to, count, kFloat, root, comm_, stream);
}
void Nccl::scatter(const float* from, float* to, std::size_t count, int root, gpu::Stream stream) const {
  NCCL_CALL(ncclScatter, from, to, count, kFloat, root, comm_, stream);
}
void Nccl::send(const float* from, std::size_t count, int peer, gpu::Stream stream) const {
  NCCL_CALL(ncclSend, from, count, kFloat, peer, comm_, stream);
}
void Nccl::receive(float* to, std::size_t count, int peer, gpu::Stream stream) const {
  NCCL_CALL(ncclRecv, to, count, kFloat, peer, comm_, stream);
}
void Nccl::begin_group() const { NCCL_CALL(ncclGroupStart); }
void Nccl::end_group() const { NCCL_CALL(ncclGroupEnd); }

}  // namespace bench
