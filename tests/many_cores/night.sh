#!/bin/bash
# night.sh <root> <logs> [seconds [times]]: runs the change tier 20 times beside the builds of the sanitizers and, after
# these, beside the other parts of `make test-all`; prints the totals of both.
#
# Runs as root on a machine with many cores. <root> is a directory of root.sh with the source tree and a finished
# build/pip at their paths. Nothing runs after the given seconds (an hour). Resumable like parts.py, which keeps its
# results in <logs>.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "${1:?usage: night.sh ROOT LOGS [SECONDS [TIMES]]}")
mkdir -p "${2:?usage: night.sh ROOT LOGS [SECONDS [TIMES]]}" && logs=$(realpath "$2") || exit 2
inside=${here#"$root"}  # this script may lie in the root, or at the same path outside
tree=${inside%/tests/*}
seconds=${3:-3600} times=${4:-20}
for needed in "$inside/parts.py" "$tree/build/pip/CTestTestfile.cmake"; do
  [ -e "$root$needed" ] || { echo "night.sh: $root$needed is missing" >&2; exit 2; }
done
mountpoint -q "$root/logs" || { mkdir -p "$root/logs" && mount --bind "$logs" "$root/logs"; } || exit 2
parts() { "$here/in_root.sh" "$root" "$@"; }

parts "$inside/parts.py" /logs/repeated test change change2 --times "$times" --limit "$seconds" >"$logs/repeated.txt" 2>&1 &
repeated=$!
status=0
(
  parts timeout "$seconds" nice -n 2 "$inside/parts.py" /logs/builds build tsan asan || exit 1
  parts nice -n 5 "$inside/parts.py" /logs/all test tsan asan night night2 asan2 ofi2 --limit $((seconds - SECONDS))
) >"$logs/all.txt" 2>&1 || status=1
wait $repeated || status=1
cat "$logs/all.txt" "$logs/repeated.txt"
exit $status
