// Modules and kernels: an image made by hr_fatbin() names itself in a trailer; its kernels are functions of
// lib<name>_host_kernels.so, the same sources compiled for the CPU, searched for in the directories of
// FAKE_CUDA_KERNELS (separated by ':') and next to this library.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <future>
#include <latch>
#include <string>

#include "late_stores.hpp"
#include "non_coherent.hpp"
#include "state.hpp"
#include "stream.hpp"

namespace fake_cuda {
namespace {

using Run = void (*)(const unsigned* shape, void** arguments, std::uint64_t (*translate)(std::uint64_t));
using Sizes = unsigned (*)(std::size_t* sizes);

// One block of a kernel whose blocks run concurrently (kernels/coresident.hpp).
using RunBlock = void (*)(const unsigned* shape, unsigned index, void** arguments,
                          std::uint64_t (*translate)(std::uint64_t));

struct Function {
  Context* context;
  Run run;
  RunBlock run_block;  // instead of `run`
  Sizes sizes;
};

struct Module {
  Context* context;
  void* library;
  std::map<std::string, Function*> functions;
};

std::set<Function*>& functions() {
  static auto* all = new std::set<Function*>;
  return *all;
}

std::string own_directory() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&own_directory), &info) == 0) return ".";
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

void* open_kernels(const std::string& name) {
  const char* extra = std::getenv("FAKE_CUDA_KERNELS");
  std::string directories = (extra == nullptr ? "" : std::string(extra) + ":") + own_directory();
  std::size_t begin = 0;
  while (begin <= directories.size()) {
    std::size_t end = directories.find(':', begin);
    if (end == std::string::npos) end = directories.size();
    const std::string path = directories.substr(begin, end - begin) + "/lib" + name + "_host_kernels.so";
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
    begin = end + 1;
  }
  return nullptr;
}

// Returns the name in the trailer of a fat binary; nullptr if there is none.
const char* image_name(const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  std::uint32_t magic = 0;
  std::uint16_t header = 0;
  std::uint64_t body = 0;
  std::memcpy(&magic, bytes, 4);
  std::memcpy(&header, bytes + 6, 2);
  std::memcpy(&body, bytes + 8, 8);
  if (magic != 0xba55ed50) return nullptr;
  const auto* trailer = reinterpret_cast<const char*>(bytes + header + body);
  return std::memcmp(trailer, "HRKERNEL", 8) == 0 ? trailer + 8 : nullptr;
}

// Thrown if a kernel gets an address that its context may not access; hardware reports this once the address is
// dereferenced.
struct Illegal {};
thread_local Context* running = nullptr;
thread_local LateStores* stores = nullptr;  // of the kernel; null: they are visible at once

std::uint64_t translate(std::uint64_t address) {
  if (!in_device_range(address)) return reinterpret_cast<std::uintptr_t>(non_coherent::device_view(address));
  std::lock_guard lock(state().mutex);
  const Allocation* found = find_allocation(address);
  if (found == nullptr) found = find_allocation(address - 1);  // one past the end may be passed
  if (found == nullptr ||
      check_access(running, found->kind == Kind::kVmm ? address : found->address, 1, true) != kSuccess) {
    throw Illegal{};
  }
  if (stores != nullptr && !found->fine_grained) return reinterpret_cast<std::uintptr_t>(stores->at(*found, address));
  return reinterpret_cast<std::uintptr_t>(alias(address));
}

// Runs part of a kernel in this thread.
template <class Part>
Result run_in(Context* context, LateStores* late, const Part& part) {
  running = context;
  stores = late;
  try {
    part();
  } catch (const Illegal&) {
    return kIllegalAddress;
  }
  return kSuccess;
}

// Runs all blocks, each in its own thread. The blocks on a device start together: the first one after all others.
Result run_together(Context* context, LateStores* late, RunBlock run_block, const unsigned* shape, void** arguments) {
  std::latch begun(shape[0] - 1);
  const auto run_one = [&](unsigned block) {
    block == 0 ? begun.wait() : begun.count_down();
    return run_in(context, late, [&] { run_block(shape, block, arguments, translate); });
  };
  std::vector<std::future<Result>> others;
  for (unsigned block = 1; block < shape[0]; ++block) {
    others.push_back(std::async(std::launch::async, run_one, block));
  }
  Result result = run_one(0);
  for (auto& other : others) {
    if (const Result found = other.get(); found != kSuccess) result = found;
  }
  return result;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API Result cuModuleLoadData(void** module, const void* image) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  const char* no_kernels = std::getenv("FAKE_CUDA_NO_BINARY");
  if (no_kernels != nullptr && *no_kernels == '1') return kNoBinaryForGpu;
  const char* name = image_name(image);
  if (name == nullptr) return kInvalidImage;
  void* library = open_kernels(name);
  if (library == nullptr) return kFileNotFound;
  std::lock_guard lock(state().mutex);
  auto* made = new Module{context, library, {}};
  state().modules.insert(made);
  *module = made;
  return kSuccess;
}
FAKE_API Result cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  return cuModuleLoadData(module, image);
}

FAKE_API Result cuModuleUnload(void* handle) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  if (state().modules.erase(handle) == 0) return kInvalidHandle;
  auto* module = static_cast<Module*>(handle);
  for (const auto& [name, function] : module->functions) functions().erase(function);
  delete module;  // the shared object stays: operations may still run
  return kSuccess;
}

FAKE_API Result cuModuleGetFunction(void** function, void* handle, const char* name) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  if (state().modules.count(handle) == 0) return kInvalidHandle;
  auto* module = static_cast<Module*>(handle);
  Function*& known = module->functions[name];
  if (known == nullptr) {
    const auto run = reinterpret_cast<Run>(::dlsym(module->library, ("hr_kernel_run_" + std::string(name)).c_str()));
    const auto run_block =
        reinterpret_cast<RunBlock>(::dlsym(module->library, ("hr_kernel_run_block_" + std::string(name)).c_str()));
    const auto sizes =
        reinterpret_cast<Sizes>(::dlsym(module->library, ("hr_kernel_sizes_" + std::string(name)).c_str()));
    if ((run == nullptr && run_block == nullptr) || sizes == nullptr) {
      module->functions.erase(name);
      return kNotFound;
    }
    known = new Function{module->context, run, run_block, sizes};
    functions().insert(known);
  }
  *function = known;
  return kSuccess;
}

FAKE_API Result cuLaunchKernel(void* handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned, void* stream_handle, void** arguments,
                               void**) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Stream* stream = nullptr;
  if (const Result result = use_stream(context, stream_handle, &stream); result != kSuccess) return result;
  auto* function = static_cast<Function*>(handle);
  {
    std::lock_guard lock(state().mutex);
    if (functions().count(function) == 0) return kInvalidHandle;
  }
  if (function->context != context) return kInvalidContext;
  const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
  if (grid_x == 0 || grid_y == 0 || grid_z == 0 || threads == 0 ||
      threads > (function->run_block != nullptr ? 512 : 256)) {
    return kInvalidValue;
  }

  std::size_t sizes[64];
  const unsigned count = function->sizes(sizes);
  std::vector<std::vector<unsigned char>> copies;
  for (unsigned i = 0; i < count; ++i) {
    const auto* bytes = static_cast<const unsigned char*>(arguments[i]);
    copies.emplace_back(bytes, bytes + sizes[i]);
  }
  const std::vector<unsigned> shape{grid_x, grid_y, grid_z, block_x, block_y, block_z};
  enqueue(stream,
          [context, shape, run = function->run, run_block = function->run_block,
           copies = std::move(copies)]() mutable -> Result {
            std::vector<void*> pointers;
            for (auto& bytes : copies) pointers.push_back(bytes.data());
            LateStores late;
            LateStores* const used = late_stores() ? &late : nullptr;
            const Result result = run_block != nullptr
                                      ? run_together(context, used, run_block, shape.data(), pointers.data())
                                      : run_in(context, used, [&] { run(shape.data(), pointers.data(), translate); });
            late.finish();
            all_pages_go_to_device();
            return result;
          });
  return kSuccess;
}

FAKE_API Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) {
  *blocks = 4;
  return kSuccess;
}
