#!/bin/sh
# both_ways.sh MPIEXEC BANDWIDTH: sends messages in device memory between two "hosts", and checks every byte; some go in
# pieces through pinned memory, others through UCX.
export HEADRACE_VERBOSE=3
said=$("$1" --timeout 100 -n 2 "$2" --mem cuda --sizes 256K --reps 8 --iters 2 --window 32 --validate 2>&1)
status=$?
pieces=$(echo "$said" | grep -c ': network staged$')
direct=$(echo "$said" | grep -c ': network direct$')
echo "$said" | grep -v 'bytes from rank'
echo "$pieces messages in pieces, $direct by UCX"
[ $status = 0 ] && [ "$pieces" != 0 ] && [ "$direct" != 0 ]
