// Storage for a strip's two fields, and the device that updates them, host or GPU. The variants use only this
// interface.
//
// A step reads one field and writes the other. Work is queued in order; wait() waits for it. For use by one thread.
#pragma once

#include <memory>
#include <string>

#include "options.hpp"
#include "strip.hpp"

namespace diffusion2d {

class Backend {
 public:
  virtual ~Backend() = default;

  // Returns the address of the first interior point of a line of the current field; in device memory on a GPU.
  virtual double* row(int row) = 0;
  // Queues the time step of rows `first` to `last`, inclusive; neither may be a halo line.
  virtual void update(int first, int last) = 0;
  // Queues a copy of one row between the field and host memory.
  virtual void copy_row(double* to, const double* from) = 0;
  virtual void wait() = 0;
  // Swaps the fields: the one that update() has written becomes the current field. The queue must be empty.
  virtual void swap() = 0;

  // Allocates zeroed memory for one row, which the host and MPI access directly. The backend owns it.
  virtual double* allocate_host_row() = 0;
  // Copy all lines of the strip, including walls and halo: to both fields (upload), from the current field (download).
  virtual void upload(const double* from) = 0;
  virtual void download(double* to) = 0;
};

std::unique_ptr<Backend> make_host_backend(const Strip& strip);
// Chooses a GPU for this process. Returns false, with a reason and a remedy, if there is none.
[[nodiscard]] bool take_gpu(const Options& options, int local_rank, std::string& reason);
// Creates a backend on the GPU chosen with take_gpu().
std::unique_ptr<Backend> make_cuda_backend(const Strip& strip);
std::string gpu_name();

}  // namespace diffusion2d
