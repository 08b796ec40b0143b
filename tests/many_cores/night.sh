#!/bin/bash
# night.sh <root> <logs> [seconds [times [--carry-over]]]: runs the change tier 20 times beside the builds of the
# sanitizers, then the rest of parts.py's default parts; prints the totals of both.
#
# Runs as root on a machine with many cores. <root> is a directory of root.sh with the source tree and a finished
# build/pip at their paths. Nothing runs after the given seconds (an hour). times: 0 omits the repetitions, and
# runs the change tier once, among the other parts. Resumable like parts.py, which keeps its results in <logs>, refuses
# those of another commit there, or counts them with --carry-over, and prints what is left out.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "${1:?usage: night.sh ROOT LOGS [SECONDS [TIMES [--carry-over]]]}")
mkdir -p "${2:?usage: night.sh ROOT LOGS [SECONDS [TIMES [--carry-over]]]}" && logs=$(realpath "$2") || exit 2
inside=${here#"$root"}  # this script may lie in the root, or at the same path outside
tree=${inside%/tests/*}
seconds=${3:-3600} times=${4:-20} carry_over=${5:+--carry-over}
for needed in "$inside/parts.py" "$tree/build/pip/CTestTestfile.cmake"; do
  [ -e "$root$needed" ] || { echo "night.sh: $root$needed is missing" >&2; exit 2; }
done
mountpoint -q "$root/logs" || { mkdir -p "$root/logs" && mount --bind "$logs" "$root/logs"; } || exit 2
parts() { "$here/in_root.sh" "$root" "$@"; }

parts timeout "$seconds" nice -n 2 "$inside/parts.py" /logs/builds build tsan asan >"$logs/builds.txt" 2>&1 &
building=$!
status=0 one_host=release two_hosts=release2
if [ "$times" -gt 0 ]; then
  # Two batches share each pair of CPUs, as a load.
  parts "$inside/parts.py" /logs/repeated test change change2 --times "$times" --share 2 --limit "$seconds" $carry_over \
    >"$logs/repeated.txt" 2>&1 || status=1
  one_host=night two_hosts=night2
fi
# The tests of the release build run beside the builds, so that no core is idle while the last files are linked; those of
# the sanitizers run after both.
parts "$inside/parts.py" /logs/all test "$one_host" "$two_hosts" ofi2 --limit $((seconds - SECONDS)) $carry_over \
  >"$logs/all.txt" 2>&1
all=$?
[ "$all" = 0 ] || status=1
wait $building || status=1
if [ "$all" = 2 ]; then  # refused
  echo "night.sh: the tests of the sanitizers are left out, as $logs/all was refused" >"$logs/sanitizers.txt"
else  # the results there are of this tree, even if git does not know it
  parts "$inside/parts.py" /logs/all test tsan asan asan2 --limit $((seconds - SECONDS)) --carry-over \
    >"$logs/sanitizers.txt" 2>&1 || status=1
fi
cat "$logs/builds.txt" "$logs/all.txt" "$logs/sanitizers.txt"
[ "$times" = 0 ] || cat "$logs/repeated.txt"
exit $status
