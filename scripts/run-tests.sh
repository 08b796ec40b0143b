#!/bin/sh
# Runs the tests of a build directory and ends with their cost and their totals:
# run-tests.sh <build directory> [ctest options]
#
# The totals are in <build>/totals-of-run.txt, too. ctest keeps each test's time in <build>/Testing/Temporary/CTestCostData.txt and begins with the longest next time.
set -u
build=$1
shift
end() {  # end <totals> <status>
  echo "$1" | tee "$build/totals-of-run.txt"
  exit "$2"
}
if [ ! -f "$build/CTestTestfile.cmake" ]; then
  echo "run-tests.sh: $build holds no tests; configure with -DHEADRACE_TESTS=ON (make test does)" >&2
  end "0 passed, 1 failed, 0 skipped" 1
fi
log=$build/test-output.txt
if ! true >"$log"; then  # must exist before its reader starts; `:` would end this shell
  echo "run-tests.sh: cannot write $log" >&2
  end "0 passed, 1 failed, 0 skipped" 1
fi
begun=$(date +%s)
ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "$@" >"$log" 2>&1 &
ctest=$!
tail -n +1 -f -s 0.1 --pid=$ctest "$log"
wait $ctest
status=$?
seconds=$(($(date +%s) - begun))

# "97% tests passed, 3 tests failed out of 100"; newer versions without a failure: "100% tests passed out of 100"
summary=$(grep '% tests passed' "$log" | tail -n 1)
total=${summary##*out of }
failed=$(echo "$summary" | sed -n 's/.*passed, \([0-9]*\) tests* failed.*/\1/p')
failed=${failed:-0}
skipped=$(grep -c '\*\*\*Skipped' "$log")
if [ -z "$total" ]; then
  echo "run-tests.sh: no test ran; the end of $log:" >&2
  tail -n 5 "$log" >&2
  end "0 passed, 1 failed, 0 skipped" 1
fi
echo "The 30 slowest tests, seconds:"
sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec.*/\2 \1/p' "$log" | sort -rn | head -n 30 |
  awk '{ printf "%8.1f  %s\n", $1, $2 }'
echo "Tests: $seconds s"
end "$((total - failed - skipped)) passed, $failed failed, $skipped skipped" $status
