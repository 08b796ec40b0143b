// The calls of the fake CUDA driver on which the fake HIP runtime is built.
#pragma once

#include "runtime.hpp"

namespace fake_hip {

struct IpcHandle {
  unsigned char bytes[64];
};

// CUDA_MEMCPY2D
struct RowCopy {
  std::size_t source_x = 0, source_y = 0;
  unsigned source_type = 4;  // derived from the address
  const void* source_host = nullptr;
  fake_cuda::Address source = 0;
  void* source_array = nullptr;
  std::size_t source_pitch = 0;
  std::size_t target_x = 0, target_y = 0;
  unsigned target_type = 4;
  void* target_host = nullptr;
  fake_cuda::Address target = 0;
  void* target_array = nullptr;
  std::size_t target_pitch = 0;
  std::size_t width = 0, height = 0;
};

}  // namespace fake_hip

extern "C" {
fake_cuda::Result cuInit(unsigned);
fake_cuda::Result cuGetErrorString(fake_cuda::Result, const char**);
fake_cuda::Result cuDeviceGetCount(int*);
fake_cuda::Result cuDeviceGetPCIBusId(char*, int, int);
fake_cuda::Result cuDeviceTotalMem_v2(std::size_t*, int);
fake_cuda::Result cuDeviceCanAccessPeer(int*, int, int);
fake_cuda::Result cuDevicePrimaryCtxRetain(fake_cuda::Context**, int);
fake_cuda::Result cuDevicePrimaryCtxGetState(int, unsigned*, int*);
fake_cuda::Result cuCtxSetCurrent(fake_cuda::Context*);
fake_cuda::Result cuCtxSynchronize();
fake_cuda::Result cuCtxEnablePeerAccess(fake_cuda::Context*, unsigned);
fake_cuda::Result cuMemGetInfo_v2(std::size_t*, std::size_t*);
fake_cuda::Result cuMemAlloc_v2(fake_cuda::Address*, std::size_t);
fake_cuda::Result cuMemFree_v2(fake_cuda::Address);
fake_cuda::Result cuMemAllocManaged(fake_cuda::Address*, std::size_t, unsigned);
fake_cuda::Result cuMemAllocAsync(fake_cuda::Address*, std::size_t, void*);
fake_cuda::Result cuMemFreeAsync(fake_cuda::Address, void*);
fake_cuda::Result cuMemGetAddressRange_v2(fake_cuda::Address*, std::size_t*, fake_cuda::Address);
fake_cuda::Result cuMemHostAlloc(void**, std::size_t, unsigned);
fake_cuda::Result cuMemFreeHost(void*);
fake_cuda::Result cuMemHostRegister_v2(void*, std::size_t, unsigned);
fake_cuda::Result cuMemHostUnregister(void*);
fake_cuda::Result cuMemHostGetDevicePointer_v2(fake_cuda::Address*, void*, unsigned);
fake_cuda::Result cuPointerGetAttributes(unsigned, int*, void**, fake_cuda::Address);
fake_cuda::Result cuIpcGetMemHandle(fake_hip::IpcHandle*, fake_cuda::Address);
fake_cuda::Result cuIpcOpenMemHandle_v2(fake_cuda::Address*, fake_hip::IpcHandle, unsigned);
fake_cuda::Result cuIpcCloseMemHandle(fake_cuda::Address);
fake_cuda::Result cuMemcpy2DAsync_v2(const fake_hip::RowCopy*, void*);
fake_cuda::Result cuMemGetAllocationGranularity(std::size_t*, const void*, int);
fake_cuda::Result cuMemCreate(fake_cuda::Address*, std::size_t, const void*, unsigned long long);
fake_cuda::Result cuMemAddressReserve(fake_cuda::Address*, std::size_t, std::size_t, fake_cuda::Address,
                                      unsigned long long);
fake_cuda::Result cuMemAddressFree(fake_cuda::Address, std::size_t);
fake_cuda::Result cuMemMap(fake_cuda::Address, std::size_t, std::size_t, fake_cuda::Address, unsigned long long);
fake_cuda::Result cuMemUnmap(fake_cuda::Address, std::size_t);
fake_cuda::Result cuMemSetAccess(fake_cuda::Address, std::size_t, const void*, std::size_t);
fake_cuda::Result cuStreamBeginCapture_v2(void*, int);
fake_cuda::Result cuStreamEndCapture(void*, void**);
fake_cuda::Result cuGraphInstantiateWithFlags(void**, void*, unsigned long long);
fake_cuda::Result cuGraphDestroy(void*);
fake_cuda::Result cuGraphExecDestroy(void*);
fake_cuda::Result cuGraphLaunch(void*, void*);
fake_cuda::Result cuMemExportToShareableHandle(void*, fake_cuda::Address, int, unsigned long long);
fake_cuda::Result cuMemImportFromShareableHandle(fake_cuda::Address*, void*, int);
fake_cuda::Result cuMemGetAllocationPropertiesFromHandle(void*, fake_cuda::Address);
fake_cuda::Result cuMemRetainAllocationHandle(fake_cuda::Address*, void*);
fake_cuda::Result cuMemRelease(fake_cuda::Address);
fake_cuda::Result cuMemcpy(fake_cuda::Address, fake_cuda::Address, std::size_t);
fake_cuda::Result cuMemcpyAsync(fake_cuda::Address, fake_cuda::Address, std::size_t, void*);
fake_cuda::Result cuMemcpyPeerAsync(fake_cuda::Address, fake_cuda::Context*, fake_cuda::Address, fake_cuda::Context*,
                                    std::size_t, void*);
fake_cuda::Result cuMemsetD8Async(fake_cuda::Address, unsigned char, std::size_t, void*);
fake_cuda::Result cuStreamCreateWithPriority(void**, unsigned, int);
fake_cuda::Result cuStreamDestroy_v2(void*);
fake_cuda::Result cuStreamSynchronize(void*);
fake_cuda::Result cuStreamQuery(void*);
fake_cuda::Result cuStreamWaitEvent(void*, void*, unsigned);
fake_cuda::Result cuStreamIsCapturing(void*, int*);
fake_cuda::Result cuStreamGetCtx(void*, fake_cuda::Context**);
fake_cuda::Result cuThreadExchangeStreamCaptureMode(int*);
fake_cuda::Result cuEventCreate(void**, unsigned);
fake_cuda::Result cuEventDestroy_v2(void*);
fake_cuda::Result cuEventRecord(void*, void*);
fake_cuda::Result cuEventQuery(void*);
fake_cuda::Result cuEventSynchronize(void*);
fake_cuda::Result cuModuleLoadData(void**, const void*);
fake_cuda::Result cuModuleUnload(void*);
fake_cuda::Result cuModuleGetFunction(void**, void*, const char*);
fake_cuda::Result cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                                 void**, void**);
}
