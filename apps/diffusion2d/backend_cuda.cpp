// GPU backend: two fields in device memory, one stream, one kernel (kernels.cu). The CUDA driver is opened at run
// time.
#include <mpi.h>

#include <utility>
#include <vector>

#include "backend.hpp"
#include "gpu.hpp"

extern "C" const unsigned char diffusion2d_fatbin[];

namespace diffusion2d {
namespace {

constexpr unsigned kDeep = 8;                  // rows per thread, as in kernels.cu
constexpr unsigned kWidth = 64, kThreads = 4;  // threads of a block along x and y

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const Strip& strip)
      : strip_(strip),
        module_(diffusion2d_fatbin),
        step_(module_.function("diffusion2d_step")),
        stream_(gpu::create_stream(true)),
        current_(static_cast<double*>(gpu::allocate(bytes()))),
        next_(static_cast<double*>(gpu::allocate(bytes()))) {}
  ~CudaBackend() override {
    gpu::synchronize();
    gpu::destroy_stream(stream_);
    gpu::free(current_);
    gpu::free(next_);
    for (double* row : rows_) gpu::free(row);
  }

  double* row(int row) override { return current_ + strip_.at(row); }
  void update(int first, int last) override {
    if (last < first) return;
    const auto rows = static_cast<unsigned>(last - first + 1), nx = static_cast<unsigned>(strip_.nx);
    const gpu::Dim3 grid = {(nx + kWidth - 1) / kWidth, (rows + kDeep * kThreads - 1) / (kDeep * kThreads), 1};
    gpu::launch(step_, grid, {kWidth, kThreads, 1}, stream_, static_cast<const double*>(current_ + strip_.at(first)),
                next_ + strip_.at(first), static_cast<unsigned>(strip_.line()), nx, rows);
  }
  void copy_row(double* to, const double* from) override { gpu::copy_async(to, from, strip_.row_bytes(), stream_); }
  void wait() override { gpu::synchronize(stream_); }
  void swap() override { std::swap(current_, next_); }

  double* allocate_host_row() override {
    rows_.push_back(static_cast<double*>(gpu::allocate(strip_.row_bytes(), gpu::Memory::kHostRegistered)));
    for (int x = 0; x < strip_.nx; ++x) rows_.back()[x] = 0;
    return rows_.back();
  }
  void upload(const double* from) override {
    gpu::copy(current_, from, bytes());
    gpu::copy(next_, from, bytes());
  }
  void download(double* to) override { gpu::copy(to, current_, bytes()); }

 private:
  std::size_t bytes() const { return strip_.points() * sizeof(double); }

  const Strip strip_;
  gpu::Module module_;
  gpu::Function step_;
  gpu::Stream stream_;
  double *current_, *next_;
  std::vector<double*> rows_;
};

// True if the driver loads the embedded kernel; false if the program was built without it, or for other devices.
bool kernel_loads() {
  void* module = nullptr;
  auto& driver = gpu::detail::driver();
  if (driver.cuModuleLoadData(&module, diffusion2d_fatbin) != 0) return false;
  driver.cuModuleUnload(module);
  return true;
}

}  // namespace

bool take_gpu(const Options& options, int local_rank, std::string& reason) {
  gpu::fatal_exit = [] { MPI_Abort(MPI_COMM_WORLD, 3); };
  if (!gpu::available()) {
    reason = "no CUDA driver (libcuda.so.1) with a device is here; --device host does without";
    return false;
  }
  const int count = gpu::device_count();
  if (options.device_number >= count) {
    reason = "there is no device " + std::to_string(options.device_number) + " here; cuda:0" +
             (count > 1 ? " to cuda:" + std::to_string(count - 1) : "") + " or --device host would do";
    return false;
  }
  gpu::select(options.device_number >= 0 ? options.device_number : local_rank);
  if (!kernel_loads()) {
    reason =
        "the GPU's driver does not take diffusion2d's kernel (built without nvcc, or for other devices); "
        "--device host does without";
    return false;
  }
  return true;
}

std::unique_ptr<Backend> make_cuda_backend(const Strip& strip) { return std::make_unique<CudaBackend>(strip); }

std::string gpu_name() { return gpu::device_name(); }

}  // namespace diffusion2d
