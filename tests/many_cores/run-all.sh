#!/bin/bash
# run-all.sh <archive of pack.sh> [ctest options]: runs all tests of `make test-tiers` that need no installed package, at
# once on a machine with many cores, which may have another distribution. Run it as root on a disposable machine: it
# unpacks to the paths of the build machine, and registers missing libraries with the system.
#
# HR_UNPACK=only stops once everything is in place, for other uses of the tree (tests/mutants/try-all.sh, apart.sh).
# run-passes.sh then runs the tests. GPU tests use the fake driver: a real one is hidden from them.
set -uo pipefail
if [ -z "${HR_APART:-}" ]; then
  HR_APART=1 exec unshare -m bash "$0" "$@"
fi
for driver in $(ldconfig -p | sed -n 's,.*libcuda\.so.* => ,,p') /usr/local/nvidia/lib64/libcuda.so*; do
  [ ! -e "$driver" ] || mount --bind /dev/null "$(realpath "$driver")" 2>/dev/null
done
archive=$(realpath "${1:?usage: run-all.sh ARCHIVE [ctest options]}")
shift
begun=$(date +%s)
facts=$(tar -xJf "$archive" -O facts) || exit 2
eval "$facts"
if [ -n "$(ls -A "$source" 2>/dev/null)" ] && [ ! -e "$source/.unpacked-by-run-all" ]; then
  echo "run-all.sh: $source exists here and is not of an earlier run; move it away" >&2
  exit 2
fi
mkdir -p "$source" && touch "$source/.unpacked-by-run-all" || exit 2
tar -xJf "$archive" -C "$source" --strip-components 1 tree || exit 2
carried=$source/.carried
mkdir -p "$carried" && tar -xJf "$archive" -C "$carried" libraries python facts || exit 2

# Uses this system's libraries if it has them, otherwise those in the archive.
mkdir -p "$carried/missing"
for library in "$carried"/libraries/*; do
  ldconfig -p | grep "^[[:space:]]*$(basename "$library") " >/dev/null || cp "$library" "$carried/missing/"
done
# Always uses the archive's UCX: the tests are for it, and some systems' UCX crashes when a peer dies.
cp -a "$source"/.venv/lib/python3*/site-packages/libucx/lib/. "$carried/missing/" 2>/dev/null
echo "$carried/missing" >/etc/ld.so.conf.d/headrace-carried.conf && ldconfig
echo "carried libraries in use: $(ls "$carried/missing" | tr '\n' ' ')"
mkdir -p "$(dirname "$python")"
[ -e "$python" ] || ln -s "$(command -v python3)" "$python"
export PYTHONPATH=$carried/python:${PYTHONPATH:-}

[ "${HR_UNPACK:-}" != only ] || exit 0
begun=$begun exec "$source/tests/many_cores/run-passes.sh" "$source" "$build" "$commit" "$@"
