// Stand-in for the CUDA runtime, for the programs of the documentation on a machine without a GPU. It contains the
// functions that they call, implemented with the driver's interface, which tests/fake_cuda implements. test_examples.py
// turns kernels into HR_KERNEL, and launches into host_cuda::launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "portability.hpp"

extern "C" {
int cuInit(unsigned flags);
int cuDeviceGetCount(int* count);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes);
int cuMemFree_v2(std::uint64_t address);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
int cuStreamDestroy_v2(void* stream);
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream);
int cuModuleLoadData(void** module, const void* image);
int cuModuleGetFunction(void** function, void* module, const char* name);
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared,
                   void* stream, void** arguments, void** extra);
}

using cudaError_t = int;
using cudaStream_t = void*;
inline constexpr int cudaSuccess = 0;
inline constexpr unsigned cudaStreamNonBlocking = 1;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

inline int cudaGetDeviceCount(int* count) { return cuInit(0) != 0 ? 1 : cuDeviceGetCount(count); }
inline int cudaSetDevice(int device) {
  void* context = nullptr;
  const int error = cuDevicePrimaryCtxRetain(&context, device);
  return error != 0 ? error : cuCtxSetCurrent(context);
}
inline int cudaMalloc(void** pointer, std::size_t bytes) {
  return cuMemAlloc_v2(reinterpret_cast<std::uint64_t*>(pointer), bytes);
}
inline int cudaFree(void* pointer) { return cuMemFree_v2(reinterpret_cast<std::uint64_t>(pointer)); }
inline int cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) { return cuStreamCreate(stream, flags); }
inline int cudaStreamSynchronize(cudaStream_t stream) { return cuStreamSynchronize(stream); }
inline int cudaStreamDestroy(cudaStream_t stream) { return cuStreamDestroy_v2(stream); }
inline int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return cuMemcpyDtoHAsync_v2(to, reinterpret_cast<std::uint64_t>(from), bytes, stream);
}

namespace host_cuda {

// An empty image whose trailer names libexample_host_kernels.so (tests/fake_cuda/module.cpp).
struct Image {
  std::uint32_t magic = 0xba55ed50;
  std::uint16_t version = 1, header = 16;
  std::uint64_t body = 0;
  char trailer[16] = "HRKERNELexample";
};

// Converts the arguments to the types of the kernel's parameters, as the language does.
template <class... P, class... A>
void launch(const char* name, void (*)(P...), unsigned blocks, unsigned threads, unsigned shared, cudaStream_t stream,
            A... values) {
  static const Image image;
  void *module = nullptr, *function = nullptr;
  if (cuModuleLoadData(&module, &image) != 0 || cuModuleGetFunction(&function, module, name) != 0) return;
  [&](P... parameters) {
    void* arguments[] = {&parameters...};
    cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, arguments, nullptr);
  }(static_cast<P>(values)...);
}

}  // namespace host_cuda
