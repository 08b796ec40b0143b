#!/bin/bash
# Runs every GPU test on the hardware of this machine and prints a summary; docs/gpu-validation.md quotes its log.
#
#   tests/gpu/run.sh BUILD_DIR [LOG_DIR] [long]
#
# Takes less than four minutes on two GPUs; `long` adds 10,000 cycles in which 64 MB tensors are allocated, exchanged
# and freed. streams.sh, frameworks.sh and sanitize.sh, beside this script, are separate.
#
# BUILD_DIR was configured with -DHEADRACE_TESTS=ON, here or on another x86-64 machine: the binaries are portable.
# Missing parts (an MPI program, mpiexec) are named as skipped. Exit code: the number of failed tests, at most 99. The
# fake drivers are not used (LD_LIBRARY_PATH loses their directories), except to try the script itself: HR_FAKE=cuda or
# HR_FAKE=hip. Runs nothing without a device.
#
# On AMD GPUs (/dev/kfd, and no NVIDIA GPU), the programs use HIP. Those that call functions of CUDA's driver are named
# as skipped, and so is what AMD GPUs do not have (docs/amd.md).
set -u
build=$(cd "${1:?usage: tests/gpu/run.sh BUILD_DIR [LOG_DIR]}" && pwd -P) || exit 1
logs=${2:-$build/gpu_logs}
mkdir -p "$logs"
long=${3:-}
begun=$SECONDS
passed=0 failed=0 skipped=0
summary=()

# Shared library of a moved build (its run path is that of the build machine).
library=$(find "$build" -name 'libmpi_abi.so*' -not -path '*/CMakeFiles/*' -print -quit 2>/dev/null)
LD_LIBRARY_PATH=$(printf %s "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | grep -v 'fake_cuda\|fake_hip' | paste -sd:)
maker=cuda
if [ "${HR_FAKE:-}" = hip ] || { [ -z "${HR_FAKE:-}" ] && [ -e /dev/kfd ] && ! nvidia-smi -L >/dev/null 2>&1; }; then
  maker=hip
fi
case ${HR_FAKE:-} in
  hip) LD_LIBRARY_PATH=$build/fake_hip/${FAKE_HIP_ROCM:-7}:$LD_LIBRARY_PATH FAKE_CUDA_KERNELS=$build/fake_cuda ;;
  ?*) LD_LIBRARY_PATH=$build/fake_cuda:$LD_LIBRARY_PATH ;;
esac
[ -n "$library" ] && LD_LIBRARY_PATH=$(dirname "$library"):$LD_LIBRARY_PATH
export LD_LIBRARY_PATH FAKE_CUDA_KERNELS
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

# The fake drivers are slow.
lifetimes=(all) default_stream=(all) halo3d=(--size 256 --steps 100) diffusion2d=(--grid 130,4096 --steps 500)
[ -n "${HR_FAKE:-}" ] && lifetimes=(--cycles 20) default_stream=() halo3d=(--size 48 --steps 6) diffusion2d=(--grid 130,256 --steps 50)

on_hip() { [ $maker = hip ]; }

# For programs that count memory in use: in ROCm 7, exported memory stays in use without this variable (docs/amd.md).
counting() { HSA_ENABLE_IPC_MODE_LEGACY=1 "$@"; }

# lacks NAME WHY: on AMD GPUs, names a step as skipped, and returns true.
lacks() {
  on_hip || return 1
  skipped=$((skipped + 1))
  summary+=("skip  $1: $2")
}

if "$build/gpu_tests/unit_mem" --gtest_filter=Classify.EveryKind | grep -q 'no GPU'; then
  echo "tests/gpu/run.sh: no GPU (is libcuda.so.1 or libamdhip64.so in the search path?)" >&2
  exit 1
fi
echo "host $(hostname), $(nproc) cores, $(ldd --version | head -1)"
rocm=
if on_hip; then
  rocm=$("$mpiexec" -n 1 "$build/gpu_tests/mpi_hip" version)
  echo "ROCm ${rocm:-of unknown version}"
  rocm-smi --showproductname --showdriverversion --showtopo 2>/dev/null || echo "no rocm-smi"
else
  nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"
  nvidia-smi topo -m 2>/dev/null | head -8
fi

# In one process: memory kinds, copies, the device engine; with kernels and without.
for program in "$build"/gpu_tests/unit_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  filter=()
  if [ "$name" = unit_cuda_ipc ]; then  # only tests the driver
    lacks "$name" "tests CUDA's driver" || run "$name" 300 "$program"
    continue
  fi
  # Contexts, names of functions and pools of CUDA's driver; the kernel that stays on the device
  on_hip && [ "$name" = unit_mem ] && filter=("--gtest_filter=-Classify.PoolAndVmmHaveNoContext:Copy.FailureNames*:Contexts.ExhaustedMemorySaysSo:Contexts.NothingIsLeftAfterShutdown:Contexts.MemoryOfAContextThatIsNotThePrimary:Contexts.SurvivesAResetOfTheDevice:ResidentCopiers.*")
  [ "$name" = unit_mem ] && [ "${rocm%%.*}" = 5 ] && filter[0]+=":Classify.EveryKind"  # expects memory in chunks
  run "$name" 300 "$program" "${filter[@]}"
  HEADRACE_DEVICE_KERNELS=off run "${name}_copy_engine" 300 "$program" "${filter[@]}"
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
    lacks mpi_staged_own "calls CUDA's driver" || ranks mpi_staged_own 2 120 "$program" own
    continue
  fi
  # Tested below, by streams.sh, or with another driver or its faults.
  case $name in mpi_time_sliced | mpi_worker_fails | mpi_rma_* | mpi_io_* | mpi_partitioned_* | mpi_streams* | mpi_two_makers) continue ;; esac
  [ "$name" = mpi_hip ] && ! on_hip && continue
  case $name in mpi_capture | mpi_default_stream | mpi_registered) lacks "$name" "calls CUDA's driver" && continue ;; esac
  expected=(all)
  on_hip && case $name in
    mpi_random_pieces) expected=(--expect either) ;;  # kernels do not access another device's memory in a process
    mpi_resident_copy) expected=(--expect none) ;;    # no kernel stays on the device
  esac
  [ "$name" = mpi_chunks ] && [ "${rocm%%.*}" = 5 ] && lacks mpi_chunks "ROCm 5 does not export memory in chunks" && continue
  how=()
  case $name in mpi_lifetimes | mpi_sessions) how=(counting) ;; esac
  [ "$name" = mpi_channel_memory ] && expected=(3 60)
  [ "$name" = mpi_lifetimes ] && expected=("${lifetimes[@]}")
  [ "$name" = mpi_default_stream ] && expected=("${default_stream[@]}")
  if [ "$name" = mpi_chunks ]; then
    ranks mpi_chunks_refused 2 120 "$program" refused
  fi
  for count in 2 4; do
    "${how[@]}" ranks "${name}_$count" $count 120 "$program" "${expected[@]}"
    [ "$name" = mpi_channel_memory ] &&
      HEADRACE_CHANNELS=4 ranks "${name}_channels_$count" $count 120 "$program" "${expected[@]}"
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
  lacks time_sliced_$count "processes share AMD GPUs without taking turns" && continue
  expect=any
  if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" = 1 ]; then
    expect=pinned
    [ -n "${CUDA_MPS_PIPE_DIRECTORY:-}" ] && expect=direct
  fi
  ranks time_sliced_$count $count 120 "$build/gpu_tests/mpi_time_sliced" --expect $expect
  ranks time_sliced_one_worker_$count $count 120 "$build/gpu_tests/mpi_one_worker"
  ranks time_sliced_exchange_$count $count 120 "$build/gpu_tests/mpi_random_exchange" --seed random --exchanges 500
  ranks time_sliced_collectives_$count $count 120 "$build/gpu_tests/mpi_random_collectives" --seed random
  ranks time_sliced_pieces_$count $count 120 "$build/gpu_tests/mpi_random_pieces" --expect either
  ranks time_sliced_transfers_$count $count 120 "$build/gpu_tests/mpi_transfers"
done
for kind in pool managed; do
  expect=()
  on_hip && expect=(--expect none)
  ranks resident_copy_$kind 2 120 "$build/gpu_tests/mpi_resident_copy" --kind $kind --messages 300 "${expect[@]}"
done
ranks mpi_random_exchange_large 2 120 "$build/gpu_tests/mpi_random_exchange" --seed random --exchanges 500 --largest 8388608
ranks mpi_io_views 4 120 "$build/gpu_tests/mpi_io_views" --seed 71 --kinds all
ranks mpi_io_views_large 2 120 "$build/gpu_tests/mpi_io_views" --seed 91 --kinds all --rounds 30 --largest 60000
ranks mpi_random_collectives_seed 3 120 "$build/gpu_tests/mpi_random_collectives" --seed random
if [ "$long" = long ]; then
  counting ranks mpi_lifetimes_long 2 1800 "$build/gpu_tests/mpi_lifetimes" --cycles 10000 --bytes 67108864 \
    --kinds device,pool,vmm,vmm-private
  counting ranks mpi_lifetimes_managed 2 1800 "$build/gpu_tests/mpi_lifetimes" --cycles 2000 --bytes 67108864
fi

# Windows and partitions in all kinds of device memory.
for kind in device managed pool vmm host-pinned; do
  ranks "rma_create_$kind" 2 120 "$build/gpu_tests/mpi_rma_random_mix" create --memory "$kind" --epochs 40
done
ranks rma_allocate 3 120 "$build/gpu_tests/mpi_rma_random_mix" allocate --memory device --epochs 40
ranks partitioned 3 120 "$build/gpu_tests/mpi_partitioned_random" 9 20
for count in 1 2 4; do
  lacks "partitioned_kernel_$count" "its kernels mark partitions in memory from hipMalloc" && continue
  ranks "partitioned_kernel_$count" $count 120 "$build/gpu_tests/mpi_partitioned_kernel"
done

# Operations in streams; for NVIDIA GPUs, streams.sh has them.
if on_hip; then
  for count in 2 4; do
    ranks "streams_$count" $count 120 "$build/gpu_tests/mpi_streams" any blocking cold collectives derived errors kinds \
      many memory two
    ranks "streams_random_$count" $count 300 "$build/gpu_tests/mpi_streams_random" --seed random --graphs off
    ranks "streams_default_stream_$count" $count 120 "$build/gpu_tests/mpi_streams_default_stream"
  done
fi

# The main job.
for pattern in datatype staged packed isend-irecv overlap overlap-async overlap-fused streams graph; do
  [ $pattern = graph ] && lacks halo3d_graph "HIP captures no stream operations of the library" && continue
  ranks "halo3d_$pattern" 4 300 "$build/bin/halo3d" --device cuda --pattern $pattern "${halo3d[@]}"
done
for count in 1 2 4; do
  ranks "diffusion2d_$count" $count 120 "$build/bin/diffusion2d" --device cuda "${diffusion2d[@]}"
done

echo
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed, $skipped skipped in $((SECONDS - begun)) s"
exit $((failed < 99 ? failed : 99))
