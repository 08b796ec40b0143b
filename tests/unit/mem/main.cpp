#include "main.hpp"

int main(int argc, char** argv) { return hr::test::run_gpu_tests(argc, argv); }
