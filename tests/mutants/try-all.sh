#!/bin/bash
# try-all.sh <libraries of build.py> <tree unpacked by run-all.sh> <ctest options>: runs the tests once with each library, at
# once beside one another, each on an equal share of the CPUs, to the first failure. Prints a table, and how many were found.
set -u
libraries=$(realpath "${1:?usage: try-all.sh LIBRARIES TREE [ctest options]}") tree=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
build=$(sed -n 's/^build=//p' "$tree/.carried/facts")
all=("$libraries"/*.so)
share=$(($(nproc) / ${#all[@]}))
[ "$share" -ge 1 ] || share=1
work=$(mktemp -d)
at=0
for library in "${all[@]}"; do
  name=$(basename "$library" .so)
  first=$((at % $(nproc)))
  HR_MUTANT=$library bash "$here/../many_cores/apart.sh" "$tree" "$work/$name" "$first-$((first + share - 1))" bash -c '
    cp "$HR_MUTANT" "'"$build"'/lib/libmpi_abi.so.1"
    cd "'"$build"'" && exec timeout 540 ctest -j "'"$share"'" --stop-on-failure --timeout 100 "$@"' ctest "$@" >"$work/$name.txt" 2>&1 &
  at=$((at + share))
done
wait
found=0
for library in "${all[@]}"; do
  name=$(basename "$library" .so)
  failed=$(sed -n 's/.*Test *#[0-9]*: \([^ ]*\) .*\(Failed\|Timeout\|Exception\).*/\1/p' "$work/$name.txt" | head -n 1)
  ran=$(grep -cE '^ *[0-9]+/[0-9]+ Test' "$work/$name.txt")
  [ -z "$failed" ] || found=$((found + 1))
  echo "$name: ${failed:-not found} ($ran tests)"
done
echo "$found of ${#all[@]} found"
rm -rf "$work"
