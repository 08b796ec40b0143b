#!/bin/sh
# two_jobs.sh MPIEXEC PROGRAM FILE RANKS RANKS [VARIABLE=VALUE [CASE]]: two separately started jobs connect; the second one
# has the variable. 0 ranks: without mpiexec. CASE: prefix of the program's cases serve and call. Both must succeed, and
# leave nothing in their shared-memory directory, which no other test uses.
mpiexec=$1 program=$2 file=$3 servers=$4 callers=$5 variable=${6:-HEADRACE_VERBOSE=0} case=${7:-}
rm -f "$file" "$file.new"
HEADRACE_SHM_DIR=$(mktemp -d /dev/shm/two_jobs.XXXXXX) || exit 1
export HEADRACE_SHM_DIR
trap 'rm -rf "$HEADRACE_SHM_DIR"' EXIT
start() {
  if [ "$1" = 0 ]; then shift; exec "$program" "$@" "$file"; fi
  ranks=$1; shift
  exec "$mpiexec" --timeout 50 -n "$ranks" "$program" "$@" "$file"
}
(start "$servers" "${case}serve") &
server=$!
(export "$variable" && start "$callers" "${case}call")
call=$?
wait $server
serve=$?
echo "serve: $serve, call: $call"
[ $serve = 0 ] && [ $call = 0 ] && ! ls "$HEADRACE_SHM_DIR" | grep .
