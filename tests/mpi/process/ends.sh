#!/bin/sh
# ends.sh MPIEXEC PROGRAM FILE CALL: two jobs that were started separately connect, and one of them dies. The other one
# must succeed, and nothing may be left in their directory for shared memory, which no other test uses.
mpiexec=$1 program=$2 file=$3 call=$4
rm -f "$file" "$file.new"
HEADRACE_SHM_DIR=$(mktemp -d /dev/shm/ends.XXXXXX) || exit 1
export HEADRACE_SHM_DIR
trap 'rm -rf "$HEADRACE_SHM_DIR"' EXIT
"$mpiexec" --timeout 50 -n 2 "$program" serve "$file" "$call" &
server=$!
"$mpiexec" --timeout 50 -n 2 "$program" call "$file" "$call"
dead=$?
wait $server
alive=$?
echo "the job that lives on: $alive, the other one: $dead"
[ $alive = 0 ] && [ $dead = 137 ] && ! ls "$HEADRACE_SHM_DIR" | grep .
