#!/bin/bash
# Builds small CUDA programs that have revealed faults, runs each many times and prints a table. A program prints one
# line "PASS name ...", "FAIL name ..." or "SKIP name ...", and its job must exit with 0.
#
#   tests/gpu/cases.sh PREFIX CASES [OUTPUT]
#
# PREFIX: an installation, or a build directory of this tree. CASES: the folder with *.cu and common.h. OUTPUT: for
# programs and logs (CASES_OUT by default). Settings: RUNS=10 of each, RANKS="2 4", DEVICES="all one" (all of the
# machine, the first one alone), LIMIT=60 seconds a run, CASES_ONLY="g02 g10": beginnings of names; NVCC, ARCH=sm_90.
# Without nvcc, programs already in OUTPUT are run. Exit code: 1 if a run was not right.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$(cd "${1:?usage: tests/gpu/cases.sh PREFIX CASES [OUTPUT]}" && pwd)
cases=$(cd "${2:?usage: tests/gpu/cases.sh PREFIX CASES [OUTPUT]}" && pwd)
output=${3:-CASES_OUT}
mkdir -p "$output"
output=$(cd "$output" && pwd)
runs=${RUNS:-10} ranks=${RANKS:-2 4} devices=${DEVICES:-all one} limit=${LIMIT:-60} only=${CASES_ONLY:-}
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
include=$prefix/include
[ -f "$include/mpi.h" ] || include=$here/include
export LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

chosen() {  # chosen NAME
  local begin
  [ -z "$only" ] && return 0
  for begin in $only; do
    case $1 in "$begin"*) return 0 ;; esac
  done
  return 1
}

names=()
wrong=0
for source in "$cases"/*.cu; do
  [ -f "$source" ] || continue
  name=$(basename "$source" .cu)
  chosen "$name" || continue
  if [ -n "$nvcc" ]; then
    if ! "$nvcc" -arch="${ARCH:-sm_90}" -std=c++17 -O2 -I "$include" -I "$cases" "$source" -o "$output/$name" -lcuda \
      -L "$prefix/lib" -lmpi_abi -Xlinker -rpath -Xlinker "$prefix/lib" >"$output/$name.build" 2>&1; then
      echo "$name does not build:"
      tail -n 20 "$output/$name.build"
      wrong=1
      continue
    fi
  elif [ ! -x "$output/$name" ]; then
    echo "$name: no nvcc (NVCC says where it is), and no program $output/$name"
    wrong=1
    continue
  fi
  names+=("$name")
done

nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"
table=()
for name in "${names[@]}"; do
  for which in $devices; do
    for count in $ranks; do
      pass=0 bad=0 late=0 first= begun=$SECONDS
      for run in $(seq "$runs"); do
        log=$output/$name.$which.$count.$run
        settings=()
        [ "$which" = one ] && settings=(CUDA_VISIBLE_DEVICES=0)
        env "${settings[@]}" timeout -k 5 $((limit + 25)) "$prefix/bin/mpiexec" --timeout "$limit" -n "$count" \
          "$output/$name" >"$log.out" 2>"$log.err" </dev/null
        code=$?
        line=$(grep -m1 -E '^(PASS|FAIL|SKIP) ' "$log.out")
        if [ $code -eq 0 ] && [ "${line%% *}" != FAIL ] && [ -n "$line" ]; then
          pass=$((pass + 1))
          continue
        fi
        bad=$((bad + 1))
        [ $code -eq 124 ] && late=$((late + 1))
        if [ -z "$first" ]; then
          first="run $run, exit $code: ${line:-no line}"
          echo "--- $name, $count ranks, $which device(s), $first"
          tail -n "${LINES_SHOWN:-60}" "$log.err"
        fi
      done
      [ $bad -eq 0 ] || wrong=1
      table+=("$(printf '%-20s %-7s %5s %5s %5s %6s %5s s  %s' "$name" "$which" "$count" $pass $bad $late \
        $((SECONDS - begun)) "${first:-$line}")")
    done
  done
done
echo
printf '%-20s %-7s %5s %5s %5s %6s %5s    %s\n' program devices ranks right wrong 'no end' time 'first that was wrong, or the last line'
printf '%s\n' "${table[@]}"
exit $wrong
