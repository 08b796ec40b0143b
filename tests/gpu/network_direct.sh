#!/bin/bash
# Sends messages in GPU memory between processes that share nothing, with UCX (HEADRACE_DEVICE_NETWORK_DIRECT=on) and
# through pinned memory (off): correctness for every kind of memory, and speed. Over TCP on the loopback, where UCX
# copies.
#
#   tests/gpu/network_direct.sh BUILD_DIR [LOG_DIR]
#
# UCX with its CUDA part is that of HEADRACE_UCX_DIR, or found as usual. Exit code: the number of failed checks.
set -u
build=$(cd "${1:?usage: tests/gpu/network_direct.sh BUILD_DIR [LOG_DIR]}" && pwd)
logs=${2:-$build/gpu_logs}
mkdir -p "$logs"
library=$(find "$build" -name 'libmpi_abi.so*' -not -path '*/CMakeFiles/*' -print -quit)
export LD_LIBRARY_PATH=$(dirname "$library"):${LD_LIBRARY_PATH:-} HEADRACE_AS_HOSTS=2
mpiexec=$build/bin/mpiexec
failed=0

check() {  # check NAME RANKS PROGRAM ARGS...
  local name=$1 ranks=$2 way
  shift 2
  HEADRACE_VERBOSE=3 timeout -k 5 150 "$mpiexec" --timeout 140 -n "$ranks" "$@" >"$logs/$name.log" 2>&1
  local status=$?
  way=$(grep -c ': network direct' "$logs/$name.log")
  [ $status = 0 ] && echo "pass  $name ($way messages direct)" && return
  failed=$((failed + 1))
  echo "FAIL  $name: exit $status"
  grep -v 'bytes from rank' "$logs/$name.log" | tail -n 20
}

export HEADRACE_NETWORK=ucx HEADRACE_DEVICE_NETWORK_DIRECT=on
check direct_transfers 2 "$build/gpu_tests/mpi_transfers"
for ranks in 2 4; do
  check direct_random_exchange_$ranks $ranks "$build/gpu_tests/mpi_random_exchange" --seed random --exchanges 500 --largest 2097152
done
[ -x "$build/gpu_tests/mpi_random_collectives" ] &&
  check direct_collectives 4 "$build/gpu_tests/mpi_random_collectives" --seed random
[ -x "$build/gpu_tests/mpi_default_stream" ] && check direct_default_stream 2 "$build/gpu_tests/mpi_default_stream" all
for kinds in pool vmm managed cuda,host host,cuda cuda,pinned; do
  check direct_bandwidth_${kinds/,/_} 2 "$build/bin/bandwidth" --mem $kinds --sizes 256K,4M --reps 5 --validate
done

for kinds in pinned cuda cuda,host host,cuda; do
  for direct in off on; do
    [ "$kinds" = pinned ] && [ $direct = on ] && continue
    echo "--- $kinds, direct $direct"
    for program in "bandwidth --window 4 --sizes 256K,1M,64M --reps 7" "latency --sizes 128K,1M --reps 7"; do
      HEADRACE_DEVICE_NETWORK_DIRECT=$direct timeout 60 "$mpiexec" --timeout 55 -n 2 "$build/bin/"$program --mem $kinds 2>&1 |
        grep -E '^ +[0-9]|rror'
    done
  done
done
echo "$failed failed"
exit $failed
