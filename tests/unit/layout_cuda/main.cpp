#include "main.hpp"

#include "base/turn.hpp"

int main(int argc, char** argv) {
  hr::Turn::share();  // the tests are in a layer's functions all the time, not in calls of the library
  return hr::test::run_gpu_tests(argc, argv);
}
