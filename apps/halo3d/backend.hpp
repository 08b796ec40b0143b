// Where the fields live and what moves them inside one rank: the host's loops or a GPU's kernels.
//
// A backend owns its fields' memory. Work is started in the order of the calls; fields and buffers may be handed to MPI
// only after wait(). Used by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "shape.hpp"

namespace halo3d {

// Contiguous buffers for one plane of every field each, by direction and the way that a message goes.
using Faces = std::array<std::array<void*, kWays>, kAxes>;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;
  virtual bool on_device() const = 0;

  // The first of kFields fields of shape.volume() elements each, one behind the other. Changes with finish_step().
  virtual void* fields() = 0;
  // All fields, halos and all, from and to host memory. Complete on return.
  virtual void upload(const void* from) = 0;
  virtual void download(void* to) = 0;

  // Memory that lives as long as the backend: of the fields' kind, for messages, and of the host for staging.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void* allocate_host(std::size_t bytes) = 0;

  // `count` fields from `first`: their box to a contiguous buffer and back.
  virtual void pack(const Box& box, int first, int count, void* to) = 0;
  virtual void unpack(const Box& box, int first, int count, const void* from) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;

  // All that a step sends, in one go: the send_box of each direction and way.
  virtual void pack_faces(const Faces& to) = 0;

  // Every field f takes its neighbour's value along axis f, in a part of the points. kInner may run beside what is
  // started after it, until finish_update(); kBoundary and kAll read halos that have arrived.
  virtual void update(int way, Part part) = 0;
  virtual void finish_update() = 0;  // of kInner
  // As update() of kBoundary, the values taken from where they have arrived and not from the halo. The faces must stay
  // as they are until the step has ended.
  virtual void update_boundary(int way, const Faces& arrived) = 0;
  // All work so far is done, but for a kInner that has not been asked for.
  virtual void wait() = 0;
  // The step's updates are complete and become the fields.
  virtual void finish_step() = 0;
  // The step's updates become the fields once they are complete: what is started after this waits for them, the caller
  // does not. wait_for_step() and wait() do.
  virtual void hand_over_step() = 0;
  virtual void wait_for_step() = 0;
};

std::unique_ptr<Backend> make_host_backend(const Shape& shape);

// Takes GPU `local_rank` modulo the number of GPUs. Null, with the reason, where there is no usable one.
std::unique_ptr<Backend> make_cuda_backend(const Shape& shape, int local_rank, std::string& reason);

}  // namespace halo3d
