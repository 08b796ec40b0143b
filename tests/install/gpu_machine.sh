#!/bin/bash
# gpu_machine.sh <directory with the wheels of headrace and mpi4py> [build directory with gpu_tests]: installs the wheel on a
# machine with GPUs, without a network, and uses it as a newcomer would. Run it from the root of the source tree.
#
# Steps: install; first GPU message from Python (PyTorch or CuPy, whichever is installed); doctor; the example of
# docs/gpus.md compiled by nvcc; frameworks (tests/gpu/frameworks.py); and, with a build directory, its GPU tests of
# several ranks on the installed library. Prints one line per step, with seconds. Exit code: the number of failed steps.
set -u
wheels=$(realpath "${1:?usage: gpu_machine.sh WHEELS [BUILD_DIR]}")
build=${2:+$(realpath "$2")}
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

step() {  # step NAME SECONDS COMMAND...
  local name=$1 limit=$2 begun status
  shift 2
  begun=$(date +%s%N)
  timeout -k 5 "$limit" "$@" >"$work/log" 2>&1
  status=$?
  printf '%s  %s  %d.%03d s\n' "$([ $status = 0 ] && echo pass || echo "FAIL ($status)")" "$name" \
    $((($(date +%s%N) - begun) / 1000000000)) $((($(date +%s%N) - begun) / 1000000 % 1000))
  [ $status = 0 ] || { failed=$((failed + 1)); tail -n 40 "$work/log"; }
}

. /etc/os-release
echo "$PRETTY_NAME, $(ldd --version | head -n 1), $("$python" --version), $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sort | uniq -c)"
begun=$SECONDS
# The frameworks may be in a separate environment: the new one sees its packages after its own.
frameworks=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
# The name has no space, as nvcc does not quote what it gives to the linker.
env=$work/env
step "make an environment" 60 "$python" -m venv "$env"
echo "$frameworks" >"$(echo "$env"/lib/python3*/site-packages)/frameworks.pth"
step "pip install headrace mpi4py" 120 "$env/bin/pip" install --no-index --find-links "$wheels" --disable-pip-version-check --no-deps headrace mpi4py
export PATH="$env/bin:$PATH"
cat >"$work/first.py" <<'P'
from mpi4py import MPI

comm = MPI.COMM_WORLD
try:
    import torch

    torch.cuda.set_device(comm.rank % torch.cuda.device_count())
    mine, other = torch.full((1000,), float(comm.rank), device="cuda"), torch.full((1000,), -1.0, device="cuda")
    torch.cuda.synchronize()
except ImportError:
    import cupy

    cupy.cuda.Device(comm.rank % cupy.cuda.runtime.getDeviceCount()).use()
    mine, other = cupy.full(1000, float(comm.rank)), cupy.full(1000, -1.0)
peer = (comm.rank + 1) % comm.size
comm.Sendrecv(mine, peer, recvbuf=other, source=(comm.rank - 1) % comm.size)
assert (other == (comm.rank - 1) % comm.size).all()
assert "Headrace" in MPI.Get_library_version()
P
step "first GPU message, from Python" 60 mpiexec --timeout 50 -n 2 python3 "$work/first.py"
echo "      $((SECONDS - begun)) s from nothing to the first GPU message"
step "headrace doctor" 60 headrace doctor
cat "$work/log" | head -n 30
awk '/^```cuda/ { on = 1; next } on && /^```/ { exit } on' docs/gpus.md >"$work/exchange.cu"
cd "$work" || exit 1
step "mpicxx exchange.cu by nvcc" 60 env HEADRACE_CXX=nvcc mpicxx exchange.cu -o exchange
step "exchange, 2 ranks" 30 mpiexec --timeout 25 -n 2 ./exchange
grep -q '^done$' "$work/log" || { echo "FAIL  exchange did not print done"; failed=$((failed + 1)); }
cd - >/dev/null || exit 1
while read -r framework allocator; do
  step "frameworks: $framework, $allocator" 60 mpiexec --timeout 50 -n 2 python3 tests/gpu/frameworks.py "$framework" "$allocator"
done < <(python3 tests/gpu/frameworks.py --list)
if [ -n "$build" ]; then
  # The installed library and mpiexec in place of the build's.
  mkdir -p "$work/build/gpu_tests" "$work/build/lib" "$work/build/bin"
  ln -s "$env"/lib/libmpi*.so* "$work/build/lib/"
  export LD_LIBRARY_PATH=$env/lib:${LD_LIBRARY_PATH:-}
  for program in "$build"/gpu_tests/mpi_{begin,collectives,random_exchange,random_collectives,random_pieces,transfers,lifetimes,registered,capture,streams_random}; do
    [ -x "$program" ] && step "$(basename "$program"), 2 ranks" 60 env HEADRACE_DEVICE_TIME_SLICING=off mpiexec --timeout 50 -n 2 "$program" all
  done
fi
echo "$failed failed"
exit $failed
