#!/bin/bash
# run-passes.sh <source> <build> <commit> [ctest options]: runs the tests of a build on a machine with many cores, for
# run-all.sh: on one host, as two hosts over TCP, and, without options, over UCX and libfabric if the build has them.
#
# Prints what is left out and why, the failures' output, the slowest tests, and the totals last.
set -uo pipefail
usage='usage: run-passes.sh SOURCE BUILD COMMIT [ctest options]'
source=${1:?$usage} build=${2:?$usage} commit=${3:?$usage}
shift 3
begun=${begun:-$(date +%s)}
totals=$build/totals-of-passes.txt
true >"$totals" || { echo "run-passes.sh: cannot write $totals" >&2; echo "0 passed, 1 failed, 0 skipped"; exit 1; }

# Omitted tests, with the reason; other tests themselves report if something is missing.
left_out='^$'
leave_out() {  # leave_out REASON REGEX
  local names
  names=$(cd "$build" && ctest -N -R "$2" | sed -n 's/^ *Test *#[0-9]*: //p')
  [ -n "$names" ] || return 0
  echo "left out: $(echo "$names" | wc -l) tests: $1"
  left_out="$left_out|$2"
}
leave_out_label() {
  local names
  names=$(cd "$build" && ctest -N -L "^$2\$" | sed -n 's/^ *Test *#[0-9]*: //p' | paste -sd'|')
  [ -z "$names" ] || leave_out "$1" "^($names)\$"
}
cd "$build" || exit 2
leave_out_label "they install mpi4py from the package index" mpi4py
leave_out_label "they install the package" install
leave_out_label "they need Slurm, sshd and other packages in hosts of namespaces" namespaces
leave_out_label "they run the peers' libraries of the package index" compat
leave_out "they drive a browser, or build the page with npm" '^monitor_(browser|assets)'
leave_out "they need pyarrow" '^monitor_export'
leave_out "they compile with clang" '^(gpu_code_objects|offload_amd)'
setpriv --reuid 54321 --clear-groups test -r "$source/README.md" 2>/dev/null ||
  leave_out_label "other users may not read the tree here" strangers
command -v gfortran >/dev/null || leave_out "no Fortran compiler here" '^(fortran_|laplace2d)'
command -v gdb >/dev/null || leave_out "no gdb here" '^fault_test_crash$'
for part in noop sanitize outside test-wheel test-without-precompiled; do
  echo "left out: make $part: it needs its own build or a package index (parts.py runs some of these)"
done

cores=$(nproc)
echo "$commit on $(uname -n): $cores cores, $(. /etc/os-release && echo "$PRETTY_NAME"), $(ldd --version | head -n 1)"
status=0
pass() {  # pass TITLE ctest options...
  echo "--- $1"
  shift
  "$source/scripts/run-tests.sh" "$build" -j "$cores" -E "$left_out" "$@" || status=1
  tail -n 1 "$build/totals-of-run.txt" >>"$totals"
}
pass "one host" "$@"
not_as_hosts=$(sed -n "s/^not_as_hosts='\(.*\)'/\1/p" "$source/scripts/run-tier.sh")
# The given options may select no tests. grep reads all: `grep -q` would break the pipe, and so the pipeline would fail.
if [ $# = 0 ] || ctest -N -E "$left_out" -LE "$not_as_hosts" "$@" | grep 'Test *#' >/dev/null; then
  HEADRACE_AS_HOSTS=2 pass "as two hosts" -LE "$not_as_hosts" "$@"
else
  echo "left out: as two hosts: none of the chosen tests"
fi
for network in ucx ofi; do
  case $network in ucx) library=libucp.so.0 ;; ofi) library=libfabric.so.1 ;; esac
  if [ $# != 0 ]; then
    echo "left out: as two hosts, over $network: ctest options are given"
  elif ! grep -q "^HEADRACE_${network^^}_INCLUDE_DIR:PATH=/" "$build/CMakeCache.txt"; then
    echo "left out: as two hosts, over $network: the build has not found its headers"
  elif ! ldconfig -p | grep "^[[:space:]]*$library " >/dev/null; then
    echo "left out: as two hosts, over $network: no $library here"
  else
    HEADRACE_AS_HOSTS=2 HEADRACE_NETWORK=$network pass "as two hosts, over $network" -LE "$not_as_hosts"
  fi
done
echo "run-all: $(($(date +%s) - begun)) s in all"
awk -v status=$status '/^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3; skipped += $5; runs++ }
  END { if ((status || !runs) && !failed) failed = 1
        print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"; exit failed > 0 }' "$totals"
