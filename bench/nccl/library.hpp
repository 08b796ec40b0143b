// NCCL, opened at run time: neither its headers nor its library are needed to build, as with the CUDA driver
// (apps/common/gpu.hpp).
//
// Owner: main; one communicator of all ranks, for the lifetime of the object. All calls are enqueued in a stream and
// return at once. If one fails, its name and NCCL's error text are printed, and the job ends (code 3).
#pragma once

#include <cstddef>
#include <string>

#include "common/world.hpp"
#include "gpu.hpp"

namespace bench {

class Nccl {
 public:
  Nccl() = default;
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  // Opens the library at `path`; the loader searches for a bare name. Returns false, with the reason, if that fails.
  [[nodiscard]] bool open(const std::string& path, std::string& why);
  // Creates the communicator for the current device. Collective; the library must be open.
  void join(const World& world);
  bool joined() const { return comm_ != nullptr; }
  // Returns the library's version, such as "2.28.9".
  std::string version() const;

  // `count`: floats; the sum is the only reduction.
  void allreduce(const float* from, float* to, std::size_t count, gpu::Stream stream) const;
  void bcast(const float* from, float* to, std::size_t count, int root, gpu::Stream stream) const;
  void reduce(const float* from, float* to, std::size_t count, int root, gpu::Stream stream) const;
  void allgather(const float* from, float* to, std::size_t count, gpu::Stream stream) const;
  void reduce_scatter(const float* from, float* to, std::size_t count, gpu::Stream stream) const;
  // True if the library has the next three functions, which exist since version 2.28.
  bool has_new_functions() const;
  void alltoall(const float* from, float* to, std::size_t count, gpu::Stream stream) const;
  void gather(const float* from, float* to, std::size_t count, int root, gpu::Stream stream) const;
  void scatter(const float* from, float* to, std::size_t count, int root, gpu::Stream stream) const;
  // Called between begin_group() and end_group(), so that all messages of the group proceed together.
  void send(const float* from, std::size_t count, int peer, gpu::Stream stream) const;
  void receive(float* to, std::size_t count, int peer, gpu::Stream stream) const;
  void begin_group() const;
  void end_group() const;

 private:
  struct Functions;
  void check(int result, const char* call) const;

  Functions* functions_ = nullptr;
  void* comm_ = nullptr;
};

}  // namespace bench
