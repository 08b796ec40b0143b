#!/bin/bash
# Measures a machine with several GPUs, within four minutes on four H200: MPI compared with NCCL (bench/nccl.py), and the steps of halo3d
# (bench/halo3d.py).
#
#   bench/four_gpus.sh BUILD_DIR OUT [--only nccl|halo3d] [--gpus N] [--rounds N] [--operations LIST] [--sizes LIST]
#                      [--ways LIST] [--nccl FILE | --without-nccl] [--local LIST] [--steps LIST] [--warm]
#
# BUILD_DIR may come from another x86-64 machine: the binaries are portable. OUT receives nccl.json and halo3d.json, for
# `bench/page.py keep`, and the tables as nccl.md and halo3d.md. --local, --steps and --warm apply only to halo3d, all
# others but the first three only to nccl. Exit code: the number of parts that failed. Tests set
# HR_FAKE; otherwise the fake driver is never used.
set -u
usage() {
  sed -n '5,6s/^# *//p' "$0" >&2
  exit 2
}
[ $# -ge 2 ] || usage
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || usage
mkdir -p "$2" && out=$(cd "$2" && pwd) || usage
shift 2
parts="nccl halo3d" both=() nccl=() halo3d=()
while [ $# -gt 0 ]; do
  case $1 in
    --without-nccl) nccl+=("$1") ;;
    --warm) halo3d+=("$1") ;;
    *) false ;;
  esac && shift && continue
  [ $# -ge 2 ] || usage
  case $1 in
    --only) parts=$2 ;;
    --gpus) both+=(--ranks "$2") ;;
    --rounds) both+=("$1" "$2") ;;
    --operations | --sizes | --ways | --nccl) nccl+=("$1" "$2") ;;
    --local | --steps) halo3d+=("$1" "$2") ;;
    *) usage ;;
  esac
  shift 2
done
if [ -z "${HR_FAKE:-}" ]; then
  LD_LIBRARY_PATH=$(printf %s "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | grep -v fake_cuda | paste -sd:)
  export LD_LIBRARY_PATH
fi

failed=0
part() {  # part NAME SECONDS ARGS...
  local name=$1 limit=$2 begun=$SECONDS
  shift 2
  timeout -k 5 "$limit" python3 "$here/$name.py" --build "$build" --markdown --json "$out/$name.json" "$@" | tee "$out/$name.md"
  [ "${PIPESTATUS[0]}" -eq 0 ] || failed=$((failed + 1))
  echo "--- $name: $((SECONDS - begun)) s"
}
for name in $parts; do
  case $name in
    nccl) part nccl 150 --limit 105 --timeout 140 "${both[@]}" "${nccl[@]}" ;;
    halo3d) part halo3d 130 --limit 90 "${both[@]}" "${halo3d[@]}" ;;
    *) usage ;;
  esac
done
exit $failed
