#!/bin/bash
# Tests of operations in streams and graphs, and a table of their latencies, on this machine's devices.
#
#   tests/gpu/streams.sh BUILD_DIR [RANKS...]
#
# Takes about two minutes for a number of ranks. RANKS: numbers of ranks; by default 2, and 4 with four GPUs.
# BUILD_DIR was configured with -DHEADRACE_TESTS=ON, here or on another x86-64 machine. HR_FAKE=cuda uses the fake driver,
# to try the script itself. HR_BRIEF=1 leaves out streams that wait without kernels and peers that die meanwhile. Each
# step has a time limit; a job that hangs shows where each rank waits. Exit code: the number of failed steps.
set -u
build=$(cd "${1:?usage: tests/gpu/streams.sh BUILD_DIR [RANKS...]}" && pwd)
shift
source=$(cd "$(dirname "$0")/../.." && pwd)
library=$(find "$build" -name 'libmpi_abi.so*' -not -path '*/CMakeFiles/*' -print -quit)
mpiexec=$(find "$build" -name mpiexec -type f -perm -u+x -print -quit)
LD_LIBRARY_PATH=$(printf %s "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | grep -v fake_cuda | paste -sd:)
LD_LIBRARY_PATH=$(dirname "$library"):$LD_LIBRARY_PATH
latency=()
if [ -n "${HR_FAKE:-}" ]; then
  LD_LIBRARY_PATH=$build/fake_cuda:$LD_LIBRARY_PATH
  latency=(--short)
  gpus=${FAKE_CUDA_DEVICES:-2}
else
  gpus=$(nvidia-smi -L 2>/dev/null | wc -l)
fi
export LD_LIBRARY_PATH
if "$build/gpu_tests/unit_mem" --gtest_filter=Classify.EveryKind | grep -q 'no GPU'; then
  echo "tests/gpu/streams.sh: no GPU (is libcuda.so.1 in the search path?)" >&2
  exit 1
fi
ranks=("$@")
if [ ${#ranks[@]} -eq 0 ]; then
  ranks=(2)
  [ "$gpus" -ge 4 ] && ranks=(2 4)
fi
begun=$SECONDS
failed=0

step() {  # step NAME SECONDS RANKS PROGRAM ARGS...
  local name=$1 limit=$2 count=$3 start=$SECONDS
  shift 3
  if timeout -k 5 $((limit + 10)) "$mpiexec" --bind-to none --timeout "$limit" -n "$count" "$@" >"/tmp/streams.$$.log" 2>&1; then
    echo "pass  $name, $count ranks, $((SECONDS - start)) s"
  else
    echo "FAIL  $name, $count ranks, exit $?: $*"
    # Shows what streams wait for, and the calls in which each rank's first thread is, before the rest.
    grep -E '^\[headrace|^mpiexec|^rank [0-9]+ on| in .*(cu[A-Z]|MPI)' "/tmp/streams.$$.log" | head -n 60
    tail -n 40 "/tmp/streams.$$.log"
    failed=$((failed + 1))
    return 1
  fi
}

dead_peer() {  # dead_peer WHAT RANKS: the last rank dies, the streams of the others continue
  local said
  said=$(timeout -k 5 50 "$mpiexec" --bind-to none --enable-recovery --timeout 30 -n "$2" "$build/gpu_tests/mpi_streams_dead_peer" "$1" 2>"/tmp/streams.$$.log")
  if [ "$(grep -c 'went on' <<<"$said")" = $(($2 - 1)) ]; then
    echo "pass  a peer that dies, $1, $2 ranks: $(grep -o 'after .*' <<<"$said" | sort | tail -n 1)"
  else
    echo "FAIL  a peer that dies, $1, $2 ranks"
    tail -n 40 "/tmp/streams.$$.log"
    failed=$((failed + 1))
  fi
}

alone() {  # alone TABLE: the host must not have taken part in the matched operations
  awk '/ matched/ && !/host time/ {rows++; if ($(NF - 1) != 0 || $NF == 0) {wrong++; print "FAIL  by the host, not by the streams alone: " $0}}
    END {if (rows && !wrong) print "pass  " rows " rows of matched operations: the streams carried them out alone"; exit wrong != 0 || !rows}' "$1" ||
    failed=$((failed + 1))
}

beside_nccl() {  # beside_nccl RANKS: the same with NCCL from C++, if it is installed
  local operations
  [ -z "${HR_FAKE:-}" ] && [ -n "$(find "$build" -name nccl -type f -perm -u+x -print -quit)" ] || return 0
  for operations in "kernel,allreduce,ring 8,8K,64K,1M,16M,64M" "bcast 8,64K,1M,16M,64M" \
    "allgather,reduce_scatter_block 8,64K,1M,16M,64M"; do
    timeout -k 5 25 python3 "$source/bench/nccl.py" --build "$build" --ranks "$1" --rounds 5 --limit 10 --timeout 20 \
      --operations "${operations% *}" --sizes "${operations#* }" \
      --ways nccl_enqueued,nccl_graph,kernel_nccl_enqueued,kernel_nccl_graph || echo "NCCL: not measured"
  done
}

# halo3d RANKS: steps whose messages streams start, and those that the host starts, beside steps without messages
halo3d() {
  local local_size=300 steps=1000 run
  [ -n "${HR_FAKE:-}" ] && local_size=12 steps=10
  for run in 1 2; do
    step "halo3d, $local_size^3 points a rank" 40 "$1" "$build/bin/halo3d" --device cuda --local $local_size \
      --steps $steps --pattern graph,overlap-fused --baseline --no-identity-check &&
      grep -E 'graph|overlap-fused|alone' "/tmp/streams.$$.log"
  done
}

# torch RANKS: the backend of torch.distributed, if this machine's Python has PyTorch for its GPUs
torch() {
  python3 -c 'import torch; raise SystemExit(not torch.cuda.is_available())' 2>/dev/null || return 0
  export PYTHONPATH=$build/python${PYTHONPATH:+:$PYTHONPATH}
  step "torch.distributed" 60 "$1" python3 -B "$source/tests/gpu/torch_backend/backend.py" cuda && grep passed "/tmp/streams.$$.log"
}

# between_hosts RANKS: the ranks as those of two hosts, with messages over the network's library, if it is installed
between_hosts() {
  export HEADRACE_AS_HOSTS=2
  step "two hosts, random exchanges" 30 "$1" "$build/gpu_tests/mpi_streams_random" --seed random --exchanges 200
  # Ranks that share a GPU take turns, so each operation takes several of its time slices.
  step "two hosts, latency" $(($1 > gpus ? 120 : 40)) "$1" "$build/gpu_tests/mpi_streams_latency" "${latency[@]}" --only-general &&
    cat "/tmp/streams.$$.log"
  unset HEADRACE_AS_HOSTS
}

# again_by_streams RANKS LATENCY...: matched operations, with streams that wait without kernels
again_by_streams() {
  local count=$1
  shift
  export HEADRACE_STREAM_WAITS=stream
  step "HEADRACE_STREAM_WAITS=stream, matched" 20 "$count" "$build/gpu_tests/mpi_streams" matched waiting
  step "HEADRACE_STREAM_WAITS=stream, reductions" 20 "$count" "$build/gpu_tests/mpi_streams_allreduce"
  step "HEADRACE_STREAM_WAITS=stream, long reductions" 20 "$count" "$build/gpu_tests/mpi_streams_long_allreduce"
  step "HEADRACE_STREAM_WAITS=stream, a full queue" 20 "$count" "$build/gpu_tests/mpi_streams_ahead" matched
  step "HEADRACE_STREAM_WAITS=stream, latency" 30 "$count" "$build/gpu_tests/mpi_streams_latency" "$@" --only-matched
  cat "/tmp/streams.$$.log"
  unset HEADRACE_STREAM_WAITS
}

parts=(abandoned any blocking collectives derived errors graph kinds many matched memory persistent refused two waiting)
for count in "${ranks[@]}"; do
  step "streams cold" 20 "$count" "$build/gpu_tests/mpi_streams" cold
  # If they fail when run together, they are run one at a time, so that one that hangs does not hide the others.
  if ! step "streams ${parts[*]}" 30 "$count" "$build/gpu_tests/mpi_streams" "${parts[@]}"; then
    for part in "${parts[@]}"; do step "streams $part" 10 "$count" "$build/gpu_tests/mpi_streams" "$part"; done
  fi
  step "reductions" 20 "$count" "$build/gpu_tests/mpi_streams_allreduce"
  step "long reductions" 20 "$count" "$build/gpu_tests/mpi_streams_long_allreduce"
  step "collectives" 40 "$count" "$build/gpu_tests/mpi_streams_collectives" --seed random
  step "a full queue" 20 "$count" "$build/gpu_tests/mpi_streams_ahead" matched
  step "requests of other communicators" 20 "$count" "$build/gpu_tests/mpi_streams_on_channel" started
  HEADRACE_CHANNELS=4 step "requests on a channel" 20 "$count" "$build/gpu_tests/mpi_streams_on_channel" refused
  step "latency" 40 "$count" "$build/gpu_tests/mpi_streams_latency" "${latency[@]}"
  cat "/tmp/streams.$$.log"
  # Kernels of ranks that share a GPU cannot wait for one another, so the host takes part in long reductions.
  [ "$count" -gt "$gpus" ] || alone "/tmp/streams.$$.log"
  beside_nccl "$count"
  halo3d "$count"
  step "random exchanges" 60 "$count" "$build/gpu_tests/mpi_streams_random" --seed random --exchanges 2000
  torch "$count"
  between_hosts "$count"
  [ "${HR_BRIEF:-0}" = 1 ] || again_by_streams "$count" "${latency[@]}"
done
if [ "${HR_BRIEF:-0}" != 1 ]; then
  for what in receive any allreduce graph matched reduction; do dead_peer $what 3; done
fi
# With one device per rank, so kernels wait.
for what in matched matched_long reduction reduction_long; do dead_peer $what 2; done
rm -f "/tmp/streams.$$.log"
echo "$failed failed in $((SECONDS - begun)) s"
exit $failed
