#include "main.hpp"

#include "base/driver_epoch.hpp"

int main(int argc, char** argv) {
  hr::DriverEpoch::set_multithreaded();  // the tests are in a layer's functions all the time, not in calls of the
                                         // library
  return hr::test::run_gpu_tests(argc, argv);
}
