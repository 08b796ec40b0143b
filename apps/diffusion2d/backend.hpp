// Storage of a strip's two fields and the device that updates them, host or GPU. The variants use only this interface.
//
// A step reads one field and writes the other. Work is queued in order; wait() waits for it. One thread.
#pragma once

#include <memory>
#include <string>

#include "options.hpp"
#include "strip.hpp"

namespace diffusion2d {

class Backend {
 public:
  virtual ~Backend() = default;

  // Returns the address of the first own point of a line of the current field; device memory on a GPU.
  virtual double* row(int row) = 0;
  // Queues the step of rows `first` to `last`, inclusive; neither may be a halo line.
  virtual void update(int first, int last) = 0;
  // Queues a copy of one row between the field and host memory.
  virtual void copy_row(double* to, const double* from) = 0;
  virtual void wait() = 0;
  // Makes the rows that update() wrote the current field. Nothing may be queued.
  virtual void swap() = 0;

  // Allocates room for one row, zeroed, that the host and MPI access directly. The backend owns it.
  virtual double* allocate_host_row() = 0;
  // Copy all lines of the strip, including walls and halo, to both fields, and from the current field.
  virtual void upload(const double* from) = 0;
  virtual void download(double* to) = 0;
};

std::unique_ptr<Backend> make_host_backend(const Strip& strip);
// Chooses a GPU for this process. False, with a reason and a remedy, if there is none.
[[nodiscard]] bool take_gpu(const Options& options, int local_rank, std::string& reason);
// Makes a backend on the GPU that take_gpu() has chosen.
std::unique_ptr<Backend> make_cuda_backend(const Strip& strip);
std::string gpu_name();

}  // namespace diffusion2d
