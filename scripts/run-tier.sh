#!/bin/sh
# Runs the change tier or all tests of a build directory, on one host and then as two, and ends with their cost and the
# sum of both totals: run-tier.sh <build directory> <change|all> [ctest options]
#
# The tier of a test is declared next to it (cmake/HrTest.cmake). The second pass runs, with HEADRACE_AS_HOSTS=2, the
# tests with several ranks, except those about one process, one host or layers above the transports. All tests have
# further passes, over UCX and libfabric.
set -u
here=$(dirname "$0")
build=$1
tier=$2
shift 2
not_as_hosts='hosts|monitor|namespaces|one_host|unit|codegen|install|course|tuning|mpich|bench|fortran|docs|compat'
case $tier in
  change) one_host='-LE ^night$' as_hosts="-L ^as_hosts\$ -LE ^night\$" ;;
  all) one_host='' as_hosts="-LE $not_as_hosts" ;;
  as_hosts) one_host=none as_hosts="-LE $not_as_hosts" ;;
  *) echo "run-tier.sh: no tier '$tier'; there are change, all and as_hosts" >&2; exit 2 ;;
esac
totals=$build/totals.txt
true >"$totals" || { echo "run-tier.sh: cannot write $totals" >&2; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
status=0
# shellcheck disable=SC2086  # lists of words
if [ "$one_host" != none ]; then
  "$here/run-tests.sh" "$build" $one_host "$@" || status=1
  tail -n 1 "$build/totals-of-run.txt" >>"$totals"
fi
echo "As two hosts:"
# The given options may select no tests. shellcheck disable=SC2086
if [ $# = 0 ] || ctest --test-dir "$build" -N $as_hosts "$@" | grep -q 'Test *#'; then
  HEADRACE_AS_HOSTS=2 "$here/run-tests.sh" "$build" $as_hosts "$@" || status=1
  tail -n 1 "$build/totals-of-run.txt" >>"$totals"
else
  echo "none of the chosen tests"
fi
# The night tier runs the tests again over each network library that the build has found, instead of TCP.
for network in ucx ofi; do
  variable=HEADRACE_$(echo "$network" | tr '[:lower:]' '[:upper:]')_INCLUDE_DIR
  if [ "$tier" = all ] && [ $# = 0 ] && grep -q "^$variable:PATH=/" "$build/CMakeCache.txt"; then
    echo "As two hosts, over $network:"
    # shellcheck disable=SC2086
    HEADRACE_AS_HOSTS=2 HEADRACE_NETWORK=$network "$here/run-tests.sh" "$build" $as_hosts || status=1
    tail -n 1 "$build/totals-of-run.txt" >>"$totals"
  fi
done
awk '{ passed += $1; failed += $3; skipped += $5 }
  END { if (NR == 0) failed++; print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped" }' "$totals"
exit $status
