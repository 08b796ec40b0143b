#!/bin/bash
# Measures streams and graphs on two GPUs: the host time of the driver's calls and of an enqueue, which driver
# calls wait during a copy of pageable memory.
#
#   bench/stream_costs.sh BUILD_DIR      in the root of the tree; about three minutes
#   HR_FAKE=cuda bench/stream_costs.sh BUILD_DIR    tries the script on the fake driver
#
# BUILD_DIR must contain bin/mpiexec, bin/halo3d, lib/libmpi_abi.so.1 and gpu_tests/mpi_streams{,_costs,_latency,_random,
# _at_finalize,_pageable} and unit_mem.
set -u
build=$(cd "${1:?usage: bench/stream_costs.sh BUILD_DIR}" && pwd)
library=$(find "$build" -name 'libmpi_abi.so*' -not -path '*/CMakeFiles/*' -print -quit)
mpiexec=$(find "$build" -name mpiexec -type f -perm -u+x -print -quit)
halo3d=$(find "$build" -name halo3d -type f -perm -u+x -print -quit)
LD_LIBRARY_PATH=$(dirname "$library"):$(printf %s "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | grep -v fake_cuda | paste -sd:)
short=()
steps=1000
size=300
if [ -n "${HR_FAKE:-}" ]; then
  LD_LIBRARY_PATH=$build/fake_cuda:$LD_LIBRARY_PATH
  short=(--short)
  steps=10
  size=24
fi
export LD_LIBRARY_PATH
if "$build/gpu_tests/unit_mem" --gtest_filter=Classify.EveryKind | grep -q 'no GPU'; then
  echo "bench/stream_costs.sh: no GPU (is libcuda.so.1 in the search path?)" >&2
  exit 1
fi
failed=0
step() {  # step NAME SECONDS COMMAND...: prints what the command prints
  local name=$1 limit=$2 begun=$SECONDS
  shift 2
  echo "=== $name"
  timeout -k 5 $((limit + 10)) "$@" 2>&1 | tail -n 60
  local code=${PIPESTATUS[0]}
  [ "$code" = 0 ] && echo "pass  $name, $((SECONDS - begun)) s" && return
  echo "FAIL  $name, exit $code, $((SECONDS - begun)) s"
  failed=$((failed + 1))
}
run() {  # run SECONDS RANKS PROGRAM ARGS...
  local limit=$1 ranks=$2 program=$3
  shift 3
  "$mpiexec" --bind-to none --timeout "$limit" -n "$ranks" "$build/gpu_tests/$program" "$@"
}
checked() { HEADRACE_CHECK=full run "$@"; }
stream() { HEADRACE_STREAM_WAITS=stream run "$@"; }
export -f run checked stream
export mpiexec build

# 1. What a driver call costs, beside MPIX_Send_enqueue to MPI_PROC_NULL (one query, one batch of a write and a wait).
# 2. Which calls wait while another thread copies pageable memory behind a stream that waits.
step "costs of driver calls" 40 bash -c "run 40 1 mpi_streams_costs ${short[*]}"
step "the same, three times apart" 40 bash -c "run 40 1 mpi_streams_costs ${short[*]} | grep 'host time'"
# 3. Hops, reductions, host times; kernels that wait, and streams that wait.
step "latency" 60 bash -c "run 60 2 mpi_streams_latency ${short[*]}"
step "latency, matched, streams wait" 40 bash -c "stream 40 2 mpi_streams_latency ${short[*]} --only-matched"
# 4. Steps of halo3d in a graph, beside steps without messages.
for local in 64 128 $size; do
  step "halo3d, $local^3 a rank" 60 "$mpiexec" --bind-to none --timeout 60 -n 2 "$halo3d" --device cuda --local "$local" \
    --steps "$steps" --pattern graph,overlap-fused --baseline --no-identity-check
done
# 5. Tests.
step "random exchanges, every launch checked" 60 bash -c "run 60 2 mpi_streams_random --exchanges 1000 --seed 44"
step "MPI_Finalize" 20 bash -c "run 20 2 mpi_streams_at_finalize"
step "the checker" 60 bash -c "checked 60 2 mpi_streams any blocking collectives derived graph kinds matched persistent two waiting"
step "copies to pageable memory after a wait for the stream" 20 bash -c "run 20 2 mpi_streams_pageable"
echo "=== copies to pageable memory without it: expected to hang (exit 124); if it ends, docs/streams.md is wrong"
run 8 2 mpi_streams_pageable hang 2>&1 | grep -E '^\[headrace|^mpiexec|ok' | head -n 8
echo "$failed steps failed"
exit "$failed"
