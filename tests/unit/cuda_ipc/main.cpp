#include "main.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "remote.hpp"

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--remote") == 0) return cuda_ipc::serve(std::atoi(argv[2]));
  // The fake driver counts memory over the processes of a job: this one and its children.
  ::setenv("FAKE_CUDA_SHARED", ("unit_cuda_ipc " + std::to_string(::getpid())).c_str(), 0);
  return hr::test::run_gpu_tests(argc, argv);
}
