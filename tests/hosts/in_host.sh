#!/bin/sh
# Runs a program in a host made of namespaces, as a rank of a job whose launcher is outside all hosts: ranks in blocks
# over the hosts, as if each rank of a job ran in a container: in_host.sh <program> [args]
set -eu
# shellcheck disable=SC2086  # a list of words
set -- $HR_HOST_NAMES -- "$@"
hosts=0
for word; do [ "$word" != -- ] || break; hosts=$((hosts + 1)); done
mine=$((PMI_RANK * hosts / PMI_SIZE))
while [ "$mine" -gt 0 ]; do shift; mine=$((mine - 1)); done
host=$1
while [ "$1" != -- ]; do shift; done
shift
exec "$HR_HOSTS" exec "$host" "$@"
