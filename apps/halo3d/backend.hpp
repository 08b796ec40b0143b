// Storage of one rank's fields, and the device that moves them: host loops or GPU kernels.
//
// A backend owns its fields' memory. Work is started in the order of the calls; fields and buffers may be passed to MPI
// only after wait(). For use by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "shape.hpp"

namespace halo3d {

// Contiguous buffers, each for one plane of every field, indexed by axis and direction (`way`) of the message.
using Faces = std::array<std::array<void*, kWays>, kAxes>;

// Steps that the device executes without the host. The same copy of the fields is current before and after them.
class StepGraph {
 public:
  virtual ~StepGraph() = default;
  virtual void launch() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  virtual bool on_device() const = 0;

  // Returns the address of the first of kFields consecutive fields of shape.volume() elements each. finish_step() and
  // hand_over_step() may change it.
  virtual void* fields() = 0;
  // Copy all fields with their halos from or to host memory. Complete on return.
  virtual void upload(const void* from) = 0;
  virtual void download(void* to) = 0;

  // Allocate memory that lives as long as the backend: memory of the fields' kind for messages, and host memory for
  // staging.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void* allocate_host(std::size_t bytes) = 0;

  // Copy a box of `count` fields, starting with field `first`, to or from a contiguous buffer.
  virtual void pack(const Box& box, int first, int count, void* to) = 0;
  virtual void unpack(const Box& box, int first, int count, const void* from) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

  // Packs everything that a step sends: the send_box of each axis and way.
  virtual void pack_faces(const Faces& to) = 0;

  // Sets every point of a part to its neighbour's value: field f moves along axis f. kInner may run concurrently with
  // later work, until finish_update(); kBoundary and kAll read halos that have arrived.
  virtual void update(int way, Part part) = 0;
  virtual void finish_update() = 0;  // waits for the kInner update
  // Like update() with kBoundary, but reads the received buffers instead of the halo. The faces must stay
  // unchanged until the step has ended.
  virtual void update_boundary(int way, const Faces& arrived) = 0;
  // Waits for all work so far, except a kInner update whose finish_update() has not been called.
  virtual void wait() = 0;
  // Ends a step whose updates are complete: their results become the current fields.
  virtual void finish_step() = 0;
  // Ends a step whose updates may still run: later work waits for them, but the caller does not. wait_for_step() and
  // wait() wait for the updates.
  virtual void hand_over_step() = 0;
  virtual void wait_for_step() = 0;

  // --- Only for patterns in which the device waits for messages, which the host backend does not support ---
  // Returns the device's stream for all work except kInner; null on the host.
  virtual void* stream() { return nullptr; }
  // Captures the work of `steps`, an even number of steps, to be launched repeatedly.
  virtual std::unique_ptr<StepGraph> capture(const std::function<void()>& /*steps*/) { return nullptr; }
};

std::unique_ptr<Backend> make_host_backend(const Shape& shape);

// True if graphs can contain messages: CUDA's can, HIP's cannot.
bool graphs_hold_messages();
// Creates a backend on GPU `local_rank` modulo the number of GPUs. Null, with the reason, if that GPU is not usable.
std::unique_ptr<Backend> make_cuda_backend(const Shape& shape, int local_rank, std::string& reason);

}  // namespace halo3d
