"""The runners of the benchmarks in bench/: on the GPUs of this machine (gpu), and in comparison with other libraries (compare)."""
