#!/bin/bash
# Measures the links of this machine's GPUs with `headrace doctor --run`: between the host and each GPU, in both
# directions, one at a time and all at once; between each pair of GPUs; and NVML's clocks meanwhile. For
# docs/gpu-validation.md.
#
#   tests/gpu/doctor_links.sh BUILD_DIR
#
# BUILD_DIR was configured here or on another x86-64 machine; needs Python 3.10 or newer. Exit code: 0 if every link was
# measured, even if doctor names odd ones (its exit code 1).
set -u
build=$(cd "${1:?usage: tests/gpu/doctor_links.sh BUILD_DIR}" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
library=$(find "$build" -name 'libmpi_abi.so*' -not -path '*/CMakeFiles/*' -print -quit)
LD_LIBRARY_PATH=$(dirname "$library"):$(printf %s "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | grep -v fake_cuda | paste -sd:)
export LD_LIBRARY_PATH PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$gpus" -eq 0 ]; then
  echo "tests/gpu/doctor_links.sh: no GPU here (nvidia-smi -L)" >&2
  exit 1
fi
nvidia-smi -L
echo "--- the bare figures (us for 16 MiB)"
"$build/bin/mpiexec" -n "$gpus" "$build/bin/host_gpu" || exit 1
echo "--- headrace doctor --run --all"
python3 -m headrace doctor --build "$build" --run --all
code=$?
[ $code -le 1 ] || exit 1
said=$(python3 -m headrace doctor --build "$build" --run --json)
echo "--- headrace doctor --only gpu --only distance --all"
python3 -m headrace doctor --build "$build" --only gpu --only distance --all
printf %s "$said" | python3 -c '
import json, sys
found = [finding["evidence"] for finding in json.load(sys.stdin)["findings"]]
wanted = ["between host and GPUs"] + (["between GPUs"] if int(sys.argv[1]) > 1 else [])
missing = [text for text in wanted if not any(text in evidence for evidence in found)]
sys.exit(f"not measured: {missing}" if missing else 0)' "$gpus"
