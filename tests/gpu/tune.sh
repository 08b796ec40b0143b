#!/bin/bash
# Runs `headrace tune` on this machine, with buffers on its GPU, and compares before and after: for docs/performance.md
# and docs/tuning.md.
#
#   tests/gpu/tune.sh BUILD_DIR OUT_DIR [SECONDS]
#
# Takes about 8 minutes on an idle machine of 16 cores (SECONDS: time limit; the same command resumes). Leaves in
# OUT_DIR: tuning.json, tuning.messages, tuning.svg, and the table (tune.txt). Exit code 0: it has finished.
set -u
build=$(cd "${1:?usage: tests/gpu/tune.sh BUILD_DIR OUT_DIR [SECONDS]}" && pwd)
out=${2:?usage: tests/gpu/tune.sh BUILD_DIR OUT_DIR [SECONDS]}
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$out"
library=$(find "$build" -name 'libmpi_abi.so*' -not -path '*/CMakeFiles/*' -print -quit)
LD_LIBRARY_PATH=$(dirname "$library"):$(printf %s "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | grep -v fake_cuda | paste -sd:)
export LD_LIBRARY_PATH PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1
cpus=$(nproc)
timeout -s TERM "${3:-560}" python3 -m headrace tune --build "$build" --messages --operations allreduce,bcast,alltoall --ranks "2,$cpus" \
  --largest 256K --rounds 3 --device --output "$out/tuning.json" >"$out/tune.txt" 2>&1
code=$?
cat "$out/tune.txt"
[ $code -eq 0 ] || exit $code
cat "$out/tuning.messages" "$out/tuning.json"
HEADRACE_TUNING_FILE=$out/tuning.json "$build/bin/mpiexec" --config | grep tuned
