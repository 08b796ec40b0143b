#!/bin/sh
# in_sessions.sh MPIEXEC SETSID PROGRAM ARGS...: runs a program on two ranks, and then again with a session for each rank,
# which must not take much longer. The first run shows how long everything takes on this machine at the moment.
mpiexec=$1 setsid=$2
shift 2
begin=$(date +%s)
"$mpiexec" --timeout 60 --bind-to none -n 2 "$@" || exit 1
took=$(($(date +%s) - begin))
exec "$mpiexec" --timeout $((10 + 5 * took)) --bind-to none -n 2 "$setsid" -w "$@"
