#!/bin/bash
# try-all.sh <libraries of build.py> <tree unpacked by run-all.sh> <ctest options>: runs the tests once with each library, all in parallel,
# until the first failure. Each has an equal share of the CPUs, or all of them if a share would be a single CPU.
# HR_LIMIT: seconds for each (540). Prints a table and the number of faults that were found. A correct library, added as
# 00.so, shows that the tests pass without a fault.
set -u
libraries=$(realpath "${1:?usage: try-all.sh LIBRARIES TREE [ctest options]}") tree=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
build=$(sed -n 's/^build=//p' "$tree/.carried/facts")
all=("$libraries"/*.so)
share=$(($(nproc) / ${#all[@]}))
cpus() { echo "$1-$(($1 + share - 1))"; }
if [ "$share" -lt 2 ]; then
  share=2
  cpus() { echo "0-$(($(nproc) - 1))"; }
fi
work=$(mktemp -d)
at=0
for library in "${all[@]}"; do
  name=$(basename "$library" .so)
  first=$((at % $(nproc)))
  mkdir -p "$work/$name" && cp "$library" "$work/$name/mutant.so"
  bash "$here/../many_cores/apart.sh" "$tree" "$work/$name" "$(cpus "$first")" bash -c '
    mv "'"$tree"'/mutant.so" "'"$build"'/lib/libmpi_abi.so.1"
    cd "'"$build"'" && exec timeout "${HR_LIMIT:-540}" ctest -j "'"$share"'" --stop-on-failure --timeout 100 "$@"' ctest "$@" >"$work/$name.txt" 2>&1 &
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
