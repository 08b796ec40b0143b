#include "main.hpp"

#include "base/driver_epoch.hpp"

int main(int argc, char** argv) {
  hr::DriverEpoch::set_multithreaded();  // the tests call a layer's functions repeatedly, not the library's entry
                                         // points
  return hr::test::run_gpu_tests(argc, argv);
}
