#!/bin/sh
# Runs programs compiled with MPICH's mpicxx on Headrace's libmpi.so.12 and this machine's GPUs; every byte is checked.
#
#   on_gpu.sh PREFIX PROGRAMS [RANKS]
#
# PREFIX: an installation (bin/mpiexec, lib/libmpi.so.12, lib/libmpi_abi.so.1). PROGRAMS: halo3d, latency, collective and
# walk as build.py compiled them (<build>/mpich/programs). Neither MPICH nor a compiler is needed here.
set -eu
prefix=$(cd "$1" && pwd)
programs=$(cd "$2" && pwd)
ranks=${3:-2}
LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

run() {
  echo "== $*"
  "$prefix/bin/mpiexec" --timeout 300 -n "$ranks" "$@"
}

run "$programs/walk"
run "$programs/halo3d" --device cuda --local 96 --steps 50 --check-every 10
run "$programs/latency" --mem cuda --max 4M --validate
run "$programs/latency" --mem host,cuda --max 4M --validate
run "$programs/collective" --mem cuda --op allreduce,allgather,alltoall,bcast --max 1M --validate
echo "all of MPICH's programs ran"
