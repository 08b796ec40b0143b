#!/bin/sh
# Runs the tests of a build directory and ends with their totals: run-tests.sh <build directory> [ctest options]
set -u
build=$1
shift
log=$build/test-output.txt

: >"$log"  # there before its reader
ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "$@" >"$log" 2>&1 &
ctest=$!
tail -n +1 -f --pid=$ctest "$log"
wait $ctest
status=$?

# "97% tests passed, 3 tests failed out of 100"; newer ones that have seen no failure: "100% tests passed out of 100"
summary=$(grep '% tests passed' "$log" | tail -n 1)
total=${summary##*out of }
failed=$(echo "$summary" | sed -n 's/.*passed, \([0-9]*\) tests* failed.*/\1/p')
failed=${failed:-0}
skipped=$(grep -c '\*\*\*Skipped' "$log")
if [ -z "$total" ]; then
  echo "0 passed, 1 failed"
  exit 1
fi
echo "$((total - failed - skipped)) passed, $failed failed, $skipped skipped"
exit $status
