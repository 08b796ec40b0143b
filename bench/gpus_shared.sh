#!/bin/bash
# Measures ranks that take turns on one GPU, threads on channels, groups of NCCL's messages, pairs of GPUs and halo3d,
# on one to eight GPUs. A comment precedes each part. Prints a log and writes JSON files into OUT.
#
#   bench/gpus_shared.sh BUILD_DIR OUT [PART...]     PART: check shared shared-kernel channels nccl pairs tune
#                                                  halo3d (all)
#
# BUILD_DIR: of a tree with HEADRACE_TESTS=ON, with its sources two folders above. 200 s on two H200s, 90 on one.
# HR_FAKE=cuda: tries the script on the fake driver. Exit code: the number of parts that failed.
set -u
build=$(cd "${1:?BUILD_DIR}" && pwd) && mkdir -p "${2:?OUT}" && out=$(cd "$2" && pwd) || exit 2
source=$(cd "$build/../.." && pwd)
shift 2
parts=${*:-check shared shared-kernel channels nccl pairs tune halo3d}
export PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1
fake=${HR_FAKE:-}
if [ -n "$fake" ]; then
  export LD_LIBRARY_PATH=$build/fake_cuda FAKE_CUDA_DEVICES=${FAKE_CUDA_DEVICES:-2}
  gpus=$FAKE_CUDA_DEVICES sizes=8,64K,512K short=(--iters 3 --warmup 1 --reps 1) rounds=1 limit=20 pair_sizes=64K thread_sizes=8,4K largest=4K
else
  gpus=$(nvidia-smi -L | wc -l) sizes=8,64K,256K,512K,1M,4M,16M,64M short=(--reps 5 --seconds 1) rounds=5 limit=40 pair_sizes=1M,16M,64M,256M thread_sizes=8,64K,4M largest=16M
  nvidia-smi --query-gpu=name,driver_version,compute_mode --format=csv,noheader
fi
mpiexec=$build/bin/mpiexec bin=$build/bin
library=$(dirname "$(find "$build" -name 'libmpi_abi.so*' -not -path '*/CMakeFiles/*' -print -quit)")
export LD_LIBRARY_PATH=$library:${LD_LIBRARY_PATH:-}
if "$build/gpu_tests/unit_mem" --gtest_filter=Classify.EveryKind | grep -q 'no GPU'; then
  echo "bench/gpus_shared.sh: no GPU (is libcuda.so.1 in the search path?)" >&2
  exit 1
fi
failed=0
step() {  # step NAME SECONDS COMMAND...
  local name=$1 seconds=$2 begun=$SECONDS
  shift 2
  echo "--- $name: $*"
  timeout -k 5 "$seconds" "$@" || { failed=$((failed + 1)); echo "--- $name FAILED"; }
  echo "--- $name: $((SECONDS - begun)) s"
}
one_gpu=(-x CUDA_VISIBLE_DEVICES=0)
[ -n "$fake" ] && one_gpu=(-x FAKE_CUDA_DEVICES=1 -x FAKE_CUDA_MPS=0)
for part in $parts; do
  case $part in
    check)  # right on hardware: workers, MIG identities, turns
      for ranks in 2 4; do
        step "one_worker_$ranks" 60 "$mpiexec" --timeout 50 -n $ranks "${one_gpu[@]}" "$build/gpu_tests/mpi_one_worker" --seed $RANDOM
        step "random_collectives_$ranks" 60 "$mpiexec" --timeout 50 -n $ranks "${one_gpu[@]}" "$build/gpu_tests/mpi_random_collectives" \
          --seed $RANDOM --calls 300 --all-devices 100
      done
      ;;
    shared)  # ranks that take turns on one GPU: with one worker, and through pinned memory as before (up to 16 MiB)
      for ranks in 2 4; do
        for old in "" 128M; do
          step "shared_$ranks${old:+_pinned}" 40 "$mpiexec" --timeout 35 -n $ranks "${one_gpu[@]}" \
            ${old:+-x HEADRACE_DEVICE_TIME_SLICED_COLLECTIVE_BYTES=$old} "$bin/collective" --mem cuda "${short[@]}" \
            --op allreduce,reduce,reduce_scatter_block,scan,bcast --sizes ${sizes%,64M} --json "$out/shared_$ranks${old:+_pinned}.json"
        done
      done
      ;;
    shared-kernel)  # the same, with a kernel of every rank before each call, so that each call needs a switch (kernel_mpi)
      for old in "" 128M; do
        step "kernel_4${old:+_pinned}" 40 "$mpiexec" --timeout 35 -n 4 "${one_gpu[@]}" \
          ${old:+-x HEADRACE_DEVICE_TIME_SLICED_COLLECTIVE_BYTES=$old} "$bin/nccl" --without-nccl --ways mpi,kernel_mpi --rounds $rounds \
          --operations kernel,allreduce,scan --sizes ${sizes%,16M,64M} --json "$out/kernel_4${old:+_pinned}.json"
      done
      ;;
    channels)  # threads and device memory, host memory beside a driver: on channels, and under one lock
      for memory in cuda host; do
        for channels in 5 1; do
          name=threads_${memory}_$channels
          step "$name" 60 "$mpiexec" --timeout 55 -n 2 -x HEADRACE_CHANNELS=$channels "$bin/threads" --mem $memory --cuda-in-use \
            "${short[@]}" --threads 1,2,4 --sizes $thread_sizes --json "$out/$name.json"
        done
      done
      ;;
    nccl)  # v-forms, neighbours, scan, and 16 to 128 KiB of allreduce and bcast
      [ "$gpus" -ge 2 ] || continue
      with=() && [ -n "$fake" ] && with=(--without-nccl)
      step nccl_new 80 python3 "$source/bench/nccl.py" --build "$build" --markdown --rounds $rounds --limit $limit --timeout 75 "${with[@]}" \
        --operations allgatherv,alltoallv,gatherv,scatterv,neighbor_alltoall,scan --json "$out/nccl_new.json" ${fake:+--sizes 8,64K}
      step nccl_middle 40 python3 "$source/bench/nccl.py" --build "$build" --markdown --rounds $rounds --limit $limit --timeout 35 "${with[@]}" \
        --operations kernel,allreduce,bcast --sizes 8,16K,32K,64K,128K --json "$out/nccl_middle.json"
      ;;
    pairs)  # all pairs at once, beside bare copies by sender and receiver (goal: 0.95 of their rate)
      [ "$gpus" -ge 2 ] || continue
      step pairs 40 python3 "$source/bench/nccl.py" --build "$build" --markdown --without-nccl --rounds $rounds --limit $limit --timeout 35 \
        --operations all_pairs_one_way,all_pairs_both_ways --sizes $pair_sizes --json "$out/pairs.json"
      ;;
    tune)  # what users run: rows for each number of GPUs
      [ "$gpus" -ge 2 ] || continue
      step tune 200 python3 -m headrace tune --build "$build" --collectives --device --operations allreduce,bcast --ranks "$(seq -s, 2 "$gpus")" \
        --largest $largest --rounds 3 ${fake:+--quick} --output "$out/tuning.json" --no-plot
      ;;
    halo3d)
      [ "$gpus" -ge 2 ] || continue
      step halo3d 100 "$source/bench/four_gpus.sh" "$build" "$out" --only halo3d --gpus "$gpus" ${fake:+--local 12 --steps 3}
      ;;
    *) echo "no part $part" >&2; exit 2 ;;
  esac
done
exit $failed
