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
seconds=${3:-3600} times=${4:-20}
[ -e "$root$here/parts.py" ] || { echo "night.sh: no source tree at $root$here" >&2; exit 2; }
[ -e "$root${here%/tests/*}/build/pip/CTestTestfile.cmake" ] || { echo "night.sh: no build with tests in $root${here%/tests/*}/build/pip" >&2; exit 2; }
mountpoint -q "$root/logs" || { mkdir -p "$root/logs" && mount --bind "$logs" "$root/logs"; } || exit 2
parts() { "$here/in_root.sh" "$root" "$@"; }

parts "$here/parts.py" /logs/repeated test change change2 --times "$times" --limit "$seconds" >"$logs/repeated.txt" 2>&1 &
repeated=$!
status=0
(
  parts timeout "$seconds" nice -n 2 "$here/parts.py" /logs/builds build tsan asan || exit 1
  parts nice -n 5 "$here/parts.py" /logs/all test tsan asan asan2 release release2 ofi2 --limit $((seconds - SECONDS))
) >"$logs/all.txt" 2>&1 || status=1
wait $repeated || status=1
cat "$logs/all.txt" "$logs/repeated.txt"
exit $status
