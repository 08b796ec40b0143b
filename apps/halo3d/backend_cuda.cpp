// GPU backend: two copies of the fields in device memory, updated from one to the other, and kernels that pack,
// unpack and update boxes (kernels.cu). The CUDA driver is opened at run time.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "backend.hpp"
#include "gpu.hpp"

extern "C" const unsigned char halo3d_fatbin[];

namespace halo3d {
namespace {

// Same layout as in kernels.cu.
struct Region {
  unsigned row, plane, volume, lo[3], extent[3], fields;
};
struct Block {
  unsigned row, plane, volume, points[3];
};
constexpr unsigned kDeep = 8;
constexpr unsigned kTileWidth = 64, kTileRows = 4;  // threads per block along each dimension

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const Shape& shape) : shape_(shape), module_(halo3d_fatbin) {
    const std::string suffix = std::to_string(shape.element_bytes);
    pack_ = module_.function(("halo3d_pack" + suffix).c_str());
    unpack_ = module_.function(("halo3d_unpack" + suffix).c_str());
    shift_ = module_.function(("halo3d_shift" + suffix).c_str());
    pack_faces_ = module_.function(("halo3d_pack_faces" + suffix).c_str());
    take_faces_ = module_.function(("halo3d_take_faces" + suffix).c_str());
    current_ = static_cast<char*>(allocate(field_bytes() * kFields));
    spare_ = static_cast<char*>(allocate(field_bytes() * kFields));
    // The streams are separate, and main_ is urgent, so that packing does not wait for the inner points. On AMD
    // devices, main_ is not urgent: there, urgent streams share hardware queues with the library's streams, which a
    // stream that waits for messages would hold up.
    main_ = gpu::create_stream(true, !gpu::detail::driver().by_hip);
    inner_ = gpu::create_stream(true);
    inner_done_ = gpu::create_event();
    boundary_done_ = gpu::create_event();
    step_done_ = gpu::create_event();
  }
  ~CudaBackend() override {
    gpu::synchronize();
    gpu::destroy_event(step_done_);
    gpu::destroy_event(boundary_done_);
    gpu::destroy_event(inner_done_);
    gpu::destroy_stream(inner_);
    gpu::destroy_stream(main_);
    for (void* memory : device_memory_) gpu::free(memory);
  }

  const char* name() const override { return "cuda"; }
  bool on_device() const override { return true; }
  void* fields() override { return current_; }
  void upload(const void* from) override { gpu::copy(current_, from, field_bytes() * kFields); }
  void download(void* to) override { gpu::copy(to, current_, field_bytes() * kFields); }

  void* allocate(std::size_t bytes) override {
    device_memory_.push_back(gpu::allocate(bytes));
    gpu::fill(device_memory_.back(), 0, bytes);
    return device_memory_.back();
  }
  void* allocate_host(std::size_t bytes) override {
    device_memory_.push_back(gpu::allocate(bytes, gpu::Memory::kHostRegistered));
    return device_memory_.back();
  }

  void pack(const Box& box, int first, int count, void* to) override {
    launch(pack_, main_, region(box, count), field(current_, first), to);
  }
  void unpack(const Box& box, int first, int count, const void* from) override {
    launch(unpack_, main_, region(box, count), field(current_, first), from);
  }
  void copy(void* to, const void* from, std::size_t bytes) override { gpu::copy_async(to, from, bytes, main_); }

  void pack_faces(const Faces& to) override {
    gpu::launch(pack_faces_, faces_grid(kAxes * kFields), {kTileWidth, kTileRows, 1}, main_, current_, to, block());
  }

  void update(int way, Part part) override {
    const gpu::Stream stream = part == Part::kInner ? inner_ : main_;
    for (int f = 0; f < kFields; ++f) {
      const int back = static_cast<int>(shape_.stride(f)) * way_step(way);
      launch(shift_, stream, region(update_box(shape_, f, way, part), 1), field(current_, f),
             static_cast<void*>(field(spare_, f)), back);
    }
  }
  void finish_update() override { gpu::synchronize(inner_); }
  void update_boundary(int way, const Faces& arrived) override {
    gpu::launch(take_faces_, faces_grid(kFields), {kTileWidth, kTileRows, 1}, main_, spare_, arrived,
                static_cast<unsigned>(way), block());
  }
  void wait() override { gpu::synchronize(main_); }
  void finish_step() override { std::swap(current_, spare_); }
  void hand_over_step() override {
    // Each stream waits only for the other's part of the step, so that the inner updates of two steps follow each other
    // without a pause.
    gpu::record(inner_done_, inner_);
    gpu::record(boundary_done_, main_);
    gpu::wait(inner_, boundary_done_);
    gpu::wait(main_, inner_done_);
    gpu::record(step_done_, main_);
    std::swap(current_, spare_);
  }
  void wait_for_step() override { gpu::synchronize_event(step_done_); }

  void* stream() override { return main_; }
  std::unique_ptr<StepGraph> capture(const std::function<void()>& steps) override {
    auto made = std::make_unique<CapturedSteps>(*this);
    gpu::Graph::begin(main_);
    gpu::record(step_done_, main_);  // so that the inner updates are included
    gpu::wait(inner_, step_done_);
    steps();
    gpu::record(inner_done_, inner_);
    gpu::wait(main_, inner_done_);
    made->graph.end(main_);
    return made;
  }

 private:
  struct CapturedSteps final : StepGraph {
    explicit CapturedSteps(CudaBackend& of) : backend(of) {}
    void launch() override {
      graph.launch(backend.main_);
      gpu::record(backend.step_done_, backend.main_);
      gpu::wait(backend.inner_, backend.step_done_);
    }
    CudaBackend& backend;
    gpu::Graph graph;
  };

  std::size_t field_bytes() const { return shape_.volume() * static_cast<std::size_t>(shape_.element_bytes); }
  char* field(char* base, int index) const { return base + static_cast<std::size_t>(index) * field_bytes(); }

  Region region(const Box& box, int fields) const {
    Region region{};
    region.row = static_cast<unsigned>(shape_.row());
    region.plane = static_cast<unsigned>(shape_.plane());
    region.volume = static_cast<unsigned>(shape_.volume());
    for (int axis = 0; axis < kAxes; ++axis) {
      region.lo[axis] = static_cast<unsigned>(box.lo[axis]);
      region.extent[axis] = static_cast<unsigned>(box.extent(axis));
    }
    region.fields = static_cast<unsigned>(fields);
    return region;
  }

  Block block() const {
    Block block{};
    block.row = static_cast<unsigned>(shape_.row());
    block.plane = static_cast<unsigned>(shape_.plane());
    block.volume = static_cast<unsigned>(shape_.volume());
    for (int axis = 0; axis < kAxes; ++axis) block.points[axis] = static_cast<unsigned>(shape_.points[axis]);
    return block;
  }
  // Returns a grid of tiles that covers the largest plane, `planes` times.
  gpu::Dim3 faces_grid(unsigned planes) const {
    const auto& points = shape_.points;
    const auto width = static_cast<unsigned>(std::max(points[0], points[1]));
    const auto rows = static_cast<unsigned>(std::max(points[1], points[2]));
    constexpr unsigned kTileHeight = kTileRows * kDeep;
    return {(width + kTileWidth - 1) / kTileWidth, (rows + kTileHeight - 1) / kTileHeight, planes};
  }

  // Grid of 256-thread blocks in the shape of the box: a plane normal to x is one element wide.
  struct Launch {
    gpu::Dim3 grid, block;
  };
  static Launch launch_of(const Region& region) {
    const auto fit = [](unsigned extent, unsigned most) {
      unsigned threads = 1;
      while (threads < extent && threads < most) threads *= 2;
      return threads;
    };
    const unsigned planes = region.extent[2] * region.fields;
    Launch launch;
    launch.block.x = fit(region.extent[0], 64);
    launch.block.y = fit(region.extent[1], 256 / launch.block.x);
    launch.block.z =
        fit(planes, 256 / (launch.block.x * launch.block.y) > 64 ? 64 : 256 / (launch.block.x * launch.block.y));
    launch.grid = {(region.extent[0] + launch.block.x - 1) / launch.block.x,
                   (region.extent[1] + launch.block.y - 1) / launch.block.y,
                   (planes + launch.block.z - 1) / launch.block.z};
    return launch;
  }
  void launch(gpu::Function function, gpu::Stream stream, const Region& region, const void* a, const void* b) {
    const Launch shape = launch_of(region);
    gpu::launch(function, shape.grid, shape.block, stream, a, b, region);
  }
  void launch(gpu::Function function, gpu::Stream stream, const Region& region, const void* a, void* b, int back) {
    const Launch shape = launch_of(region);
    gpu::launch(function, shape.grid, shape.block, stream, a, b, back, region);
  }

  Shape shape_;
  gpu::Module module_;
  gpu::Function pack_, unpack_, shift_, pack_faces_, take_faces_;
  gpu::Stream main_, inner_;
  gpu::Event inner_done_, boundary_done_, step_done_;
  std::vector<void*> device_memory_;
  char *current_, *spare_;
};

// True if the driver loads the embedded kernels; false if the program was built without them, or for other devices.
bool kernels_load() {
  void* module = nullptr;
  auto& driver = gpu::detail::driver();
  if (driver.cuModuleLoadData(&module, halo3d_fatbin) != 0) return false;
  driver.cuModuleUnload(module);
  return true;
}

}  // namespace

bool graphs_hold_messages() { return !gpu::detail::driver().by_hip; }

std::unique_ptr<Backend> make_cuda_backend(const Shape& shape, int local_rank, std::string& reason) {
  gpu::fatal_exit = [] { MPI_Abort(MPI_COMM_WORLD, 3); };
  if (!gpu::available()) {
    reason = "no CUDA driver (libcuda.so.1) and no HIP runtime (libamdhip64.so) with a device here";
    return nullptr;
  }
  if (gpu::device() < 0) gpu::select(local_rank);
  if (!kernels_load()) {
    reason = "the GPU's driver does not take halo3d's kernels (built without nvcc, or for other devices)";
    return nullptr;
  }
  if (shape.volume() * kFields > 0xffffffffu) {
    reason = "a block has more than 2^32 elements";
    return nullptr;
  }
  return std::make_unique<CudaBackend>(shape);
}

}  // namespace halo3d
