#!/bin/bash
# Runs every GPU test on the hardware of this machine and prints a summary; docs/gpu-validation.md quotes its log.
#
#   tests/gpu/run.sh BUILD_DIR [LOG_DIR] [long]
#
# Takes less than four minutes on two GPUs; `long` adds 10,000 cycles in which 64 MB tensors are allocated, exchanged
# and freed. streams.sh, frameworks.sh and sanitize.sh, beside this script, are separate.
#
# BUILD_DIR was configured with -DHEADRACE_TESTS=ON, here or on another x86-64 machine: the binaries are portable.
# Missing parts (an MPI program, mpiexec) are named as skipped. Exit code: the number of failed tests. The fake driver
# is never used (LD_LIBRARY_PATH loses its directory); without a device nothing is run.
set -u
build=$(cd "${1:?usage: tests/gpu/run.sh BUILD_DIR [LOG_DIR]}" && pwd)
logs=${2:-$build/gpu_logs}
mkdir -p "$logs"
long=${3:-}
begun=$SECONDS
passed=0 failed=0 skipped=0
summary=()

# Shared library of a moved build (its run path is that of the build machine).
library=$(find "$build" -name 'libmpi_abi.so*' -not -path '*/CMakeFiles/*' -print -quit 2>/dev/null)
LD_LIBRARY_PATH=$(printf %s "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | grep -v fake_cuda | paste -sd:)
[ -n "$library" ] && LD_LIBRARY_PATH=$(dirname "$library"):$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
mpiexec=$(find "$build" -name mpiexec -type f -perm -u+x -print -quit 2>/dev/null)

run() {  # run NAME SECONDS COMMAND...
  local name=$1 limit=$2 status start
  shift 2
  start=$SECONDS
  timeout -k 5 "$limit" "$@" >"$logs/$name.log" 2>&1
  status=$?
  if [ $status -eq 0 ]; then
    passed=$((passed + 1))
    summary+=("pass  $name  $((SECONDS - start)) s  $(grep -E 'PASSED|SKIPPED|seed' "$logs/$name.log" | tr '\n' ' ' | cut -c1-120)")
  else
    failed=$((failed + 1))
    summary+=("FAIL  $name  exit $status")
    echo "--- $name failed (exit $status): $*"
    tail -n 40 "$logs/$name.log"
  fi
}

ranks() {  # ranks NAME N SECONDS PROGRAM ARGS...
  local name=$1 count=$2 limit=$3 program=$4
  shift 4
  if [ -z "$mpiexec" ] || [ ! -x "$program" ]; then
    skipped=$((skipped + 1))
    summary+=("skip  $name: no $( [ -z "$mpiexec" ] && echo mpiexec || basename "$program") in $build")
    return
  fi
  run "$name" "$limit" "$mpiexec" -n "$count" "$program" "$@"
}

if "$build/gpu_tests/unit_mem" --gtest_filter=Classify.EveryKind | grep -q 'no CUDA device'; then
  echo "tests/gpu/run.sh: no CUDA device (is libcuda.so.1 in the search path?)" >&2
  exit 1
fi
echo "host $(hostname), $(nproc) cores, $(ldd --version | head -1)"
nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"
nvidia-smi topo -m 2>/dev/null | head -8

# In one process: memory kinds, copies, the device engine; with kernels and without.
for program in "$build"/gpu_tests/unit_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  run "$name" 300 "$program"
  [ "$name" = unit_cuda_ipc ] && continue  # only tests the driver
  HEADRACE_DEVICE_KERNELS=off run "${name}_copy_engine" 300 "$program"
done

# Several ranks share the devices of the machine round robin, as if kernels of several processes ran concurrently, which
# the tests expect. Behaviour without MPS is tested afterwards.
export HEADRACE_DEVICE_TIME_SLICING=off
for program in "$build"/gpu_tests/mpi_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  if [ "$name" = mpi_staged ]; then  # its parts are run one at a time, as those with faults need the fake driver
    ranks mpi_staged_random_exchange 4 120 "$program" random_exchange
    ranks mpi_staged_stalled 3 120 "$program" stalled
    ranks mpi_staged_own 2 120 "$program" own
    continue
  fi
  # Tested below, by streams.sh, or with another driver.
  case $name in mpi_time_sliced | mpi_rma_* | mpi_io_* | mpi_partitioned_* | mpi_streams* | mpi_hip) continue ;; esac
  if [ "$name" = mpi_chunks ]; then
    ranks mpi_chunks_refused 2 120 "$program" refused
  fi
  for count in 2 4; do
    ranks "${name}_$count" $count 120 "$program" all
  done
  case $name in  # programs that also work without kernels
    mpi_transfers | mpi_collectives | mpi_random_*)
      expect=()
      [ "$name" = mpi_random_pieces ] && expect=(--expect either)  # GPUs then do not execute all calls
      HEADRACE_DEVICE_KERNELS=off ranks "${name}_copy_engine" 2 120 "$program" "${expect[@]}"
      ;;
  esac
done
unset HEADRACE_DEVICE_TIME_SLICING

# Ranks that share a device are time-sliced, unless MPS is active.
for count in 2 4; do
  expect=any
  if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" = 1 ]; then
    expect=pinned
    [ -n "${CUDA_MPS_PIPE_DIRECTORY:-}" ] && expect=direct
  fi
  ranks time_sliced_$count $count 120 "$build/gpu_tests/mpi_time_sliced" --expect $expect
  ranks time_sliced_exchange_$count $count 120 "$build/gpu_tests/mpi_random_exchange" --seed random --exchanges 500
  ranks time_sliced_collectives_$count $count 120 "$build/gpu_tests/mpi_random_collectives" --seed random
  ranks time_sliced_pieces_$count $count 120 "$build/gpu_tests/mpi_random_pieces" --expect either
  ranks time_sliced_transfers_$count $count 120 "$build/gpu_tests/mpi_transfers"
done
for kind in pool managed; do
  ranks resident_copy_$kind 2 120 "$build/gpu_tests/mpi_resident_copy" --kind $kind --messages 300
done
ranks mpi_random_exchange_large 2 120 "$build/gpu_tests/mpi_random_exchange" --seed random --exchanges 500 --largest 8388608
ranks mpi_io_views 4 120 "$build/gpu_tests/mpi_io_views" --seed 71 --kinds all
ranks mpi_io_views_large 2 120 "$build/gpu_tests/mpi_io_views" --seed 91 --kinds all --rounds 30 --largest 60000
ranks mpi_random_collectives_seed 3 120 "$build/gpu_tests/mpi_random_collectives" --seed random
if [ "$long" = long ]; then
  ranks mpi_lifetimes_long 2 1800 "$build/gpu_tests/mpi_lifetimes" --cycles 10000 --bytes 67108864 \
    --kinds device,pool,vmm,vmm-private
  ranks mpi_lifetimes_managed 2 1800 "$build/gpu_tests/mpi_lifetimes" --cycles 2000 --bytes 67108864
fi

# Windows and partitions in all kinds of device memory.
for kind in device managed pool vmm host-pinned; do
  ranks "rma_create_$kind" 2 120 "$build/gpu_tests/mpi_rma_random_mix" create --memory "$kind" --epochs 40
done
ranks rma_allocate 3 120 "$build/gpu_tests/mpi_rma_random_mix" allocate --memory device --epochs 40
ranks partitioned 3 120 "$build/gpu_tests/mpi_partitioned_random" 9 20
for count in 1 2 4; do
  ranks "partitioned_kernel_$count" $count 120 "$build/gpu_tests/mpi_partitioned_kernel"
done

# The main job.
for pattern in datatype staged packed isend-irecv overlap overlap-async overlap-fused streams graph; do
  ranks "halo3d_$pattern" 4 300 "$build/bin/halo3d" --device cuda --pattern $pattern --size 256 --steps 100
done
for count in 1 2 4; do
  ranks "diffusion2d_$count" $count 120 "$build/bin/diffusion2d" --device cuda --grid 130,4096 --steps 500
done

echo
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed, $skipped skipped in $((SECONDS - begun)) s"
exit $failed
