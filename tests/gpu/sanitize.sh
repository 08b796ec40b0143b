#!/bin/bash
# Runs compute-sanitizer on the kernels: the tests of the device engine in one process, and exchanges of two ranks.
#
#   tests/gpu/sanitize.sh BUILD_DIR [LOG_DIR]
#
# memcheck: accesses out of bounds and misaligned; does not search for leaks in the library (the driver ends with the
# program). racecheck: hazards in shared memory. initcheck: reads of device memory that was never written; only for the
# one-process tests, where every byte that a kernel reads is data: messages with gaps also move the bytes in them where
# that is cheaper. COMPUTE_SANITIZER names another one. Exit code: the number of failed runs; 0 and a message if there
# is no sanitizer.
set -u
build=$(cd "${1:?usage: tests/gpu/sanitize.sh BUILD_DIR [LOG_DIR]}" && pwd)
logs=${2:-$build/gpu_logs}
mkdir -p "$logs"
sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -1)}
if [ -z "$sanitizer" ]; then
  echo "skip  sanitize.sh: no compute-sanitizer"
  exit 0
fi
LD_LIBRARY_PATH=$(printf %s "${LD_LIBRARY_PATH:-}" | tr ':' '\n' | grep -v fake_cuda | paste -sd:)
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
failed=0

check() {  # check NAME COMMAND...
  local name=$1 log=$logs/sanitize_$1.log
  shift
  timeout -k 5 300 "$@" >"$log" 2>&1
  local status=$?
  if [ $status -eq 0 ]; then
    echo "pass  $name  $(grep -h 'ERROR SUMMARY\|RACECHECK SUMMARY' "$log" | sort | uniq -c | tr -s ' ' | paste -sd';')"
  else
    failed=$((failed + 1))
    echo "FAIL  $name  exit code $status"
    grep -A 12 '^=========' "$log" | head -n 40
  fi
}

# Excludes tests that make errors deliberately.
on_purpose='-*CpuAccess*:*Failure*:*Exhausted*:*Destroyed*:*NotThePrimary*:*Reset*:*ReusedAddress*:*Freed*'
for tool in memcheck racecheck initcheck; do
  check "unit_layout_cuda_$tool" "$sanitizer" --tool $tool --error-exitcode 9 "$build/gpu_tests/unit_layout_cuda" \
    "--gtest_filter=$on_purpose"
done
# The driver refuses a query about freed memory, by which the library detects that it was freed.
check unit_mem_memcheck "$sanitizer" --tool memcheck --report-api-errors no --error-exitcode 9 "$build/gpu_tests/unit_mem" \
  "--gtest_filter=$on_purpose"
for tool in memcheck racecheck; do
  options=(--tool "$tool" --error-exitcode 9)
  [ $tool = memcheck ] && options+=(--report-api-errors no)
  check "exchange_$tool" "$build/bin/mpiexec" --timeout 280 -n 2 "$sanitizer" "${options[@]}" \
    "$build/gpu_tests/mpi_random_exchange" --exchanges 150 --largest 200000
  check "collectives_$tool" "$build/bin/mpiexec" --timeout 280 -n 2 "$sanitizer" "${options[@]}" \
    "$build/gpu_tests/mpi_random_collectives" --calls 150 --largest 20000
  check "pieces_$tool" "$build/bin/mpiexec" --timeout 280 -n 2 "$sanitizer" "${options[@]}" \
    "$build/gpu_tests/mpi_random_pieces"
done
# Memory operations of streams, and kernels that wait, which racecheck would let wait for each other.
for program in "random --exchanges 100" "collectives --rounds 20" allreduce long_allreduce; do
  check "streams_${program%% *}_memcheck" "$build/bin/mpiexec" --timeout 120 -n 2 "$sanitizer" --tool memcheck --report-api-errors no \
    --error-exitcode 9 "$build/gpu_tests/mpi_streams_${program%% *}" $(sed 's/^[a-z_]*//' <<<"$program")
done
exit $failed
