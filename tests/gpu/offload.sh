#!/bin/bash
# Runs the Fortran programs with directives, offloaded, and compares their results on this machine's GPU with the
# host's.
#
#   tests/gpu/offload.sh PREFIX PROGRAMS [DEVICE]
#
# PREFIX: a build or an installation (bin/mpiexec, bin/halo3d, lib/). PROGRAMS: halo3d-openacc, laplace2d-openacc and
# laplace2d-openmp as their build.sh built them where GCC's compiler for NVIDIA GPUs is installed
# (gcc-12-offload-nvptx), and, where this machine lacks them, libgomp.so.1, libgomp-plugin-nvptx.so.1, libgfortran.so.5
# and libquadmath.so.0. DEVICE: gpu:0; host tries the script without a GPU. Exit code: the number of runs that failed.
set -u
prefix=$(cd "${1:?usage: tests/gpu/offload.sh PREFIX PROGRAMS [DEVICE]}" && pwd)
programs=$(cd "${2:?usage: tests/gpu/offload.sh PREFIX PROGRAMS [DEVICE]}" && pwd)
device=${3:-gpu:0}
export LD_LIBRARY_PATH=$prefix/lib:$programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OMP_NUM_THREADS=1
failed=0

ranks() { "$prefix/bin/mpiexec" --timeout 60 -n 2 "$@"; }

bad() {
  failed=$((failed + 1))
  echo "FAIL $1"
  tail -n 8 <<<"$2"
}

# Every step's profiles are those of the C++ program on the host.
for way in "" --reverse; do
  wanted=$(ranks "$prefix/bin/halo3d" --device host --pattern isend-irecv --local 64 --steps 20 $way |
           grep -oE '[0-9a-f]{32}' | sort -u)
  for step in 3 4 5 6 7 8 9; do
    said=$(ranks "$programs/halo3d-openacc" --device "$device" --step $step --local 64 --steps 20 $way 2>&1)
    if [ $? -eq 0 ] && [ "$(grep -oE '[0-9a-f]{32}' <<<"$said")" = "$wanted" ]; then
      echo "ok   halo3d-openacc step $step $way"
    else
      bad "halo3d-openacc step $step $way, wanted $wanted" "$said"
    fi
  done
done

# All variants end with bitwise equal results, or the program fails.
for program in laplace2d-openacc laplace2d-openmp; do
  if said=$(ranks "$programs/$program" --device "$device" --grid 512,512 --iterations 50 2>&1); then
    echo "ok   $program"
  else
    bad "$program" "$said"
  fi
done

if [ "$device" != host ]; then
  ranks "$programs/halo3d-openacc" --device "$device" --local 200 --steps 100
  for program in laplace2d-openacc laplace2d-openmp; do
    ranks "$programs/$program" --device "$device" --grid 8192,8192 --iterations 100
  done
fi
echo "$failed failed"
exit "$failed"
