#!/bin/bash
# run-all.sh <archive of pack.sh> [ctest options]: runs all tests of `make test-all` that need no installed package, at
# once on a machine with many cores, which may have another distribution. Run it as root on a disposable machine: it
# unpacks to the paths of the build machine, and registers missing libraries with the system.
#
# HR_UNPACK=only stops once everything is in place, for other uses of the tree (tests/mutants/try-all.sh, apart.sh).
# Prints the omitted tests and why, the failures' output, the slowest tests, and the totals last. GPU tests use the
# fake driver: a real one is hidden from them.
set -uo pipefail
if [ -z "${HR_APART:-}" ]; then
  HR_APART=1 exec unshare -m bash "$0" "$@"
fi
for driver in $(ldconfig -p | sed -n 's,.*libcuda\.so.* => ,,p') /usr/local/nvidia/lib64/libcuda.so*; do
  [ ! -e "$driver" ] || mount --bind /dev/null "$(realpath "$driver")" 2>/dev/null
done
archive=$(realpath "${1:?usage: run-all.sh ARCHIVE [ctest options]}")
shift
begun=$SECONDS
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
  ldconfig -p | grep -q "^[[:space:]]*$(basename "$library") " || cp "$library" "$carried/missing/"
done
# Always uses the archive's UCX: the tests are for it, and some systems' UCX crashes when a peer dies.
cp -a "$source"/.venv/lib/python3*/site-packages/libucx/lib/. "$carried/missing/" 2>/dev/null
echo "$carried/missing" >/etc/ld.so.conf.d/headrace-carried.conf && ldconfig
echo "carried libraries in use: $(ls "$carried/missing" | tr '\n' ' ')"
mkdir -p "$(dirname "$python")"
[ -e "$python" ] || ln -s "$(command -v python3)" "$python"
export PYTHONPATH=$carried/python:${PYTHONPATH:-}

[ "${HR_UNPACK:-}" != only ] || exit 0

# Omitted tests, with the reason; other tests themselves report if something is missing.
left_out='^$'
leave_out() {  # leave_out REASON REGEX
  local names
  names=$(cd "$build" && ctest -N -R "$2" | sed -n 's/^ *Test *#[0-9]*: //p')
  [ -n "$names" ] || return 0
  echo "left out: $(echo "$names" | wc -l) tests: $1"
  left_out="$left_out|$2"
}
leave_out_label() {
  local names
  names=$(cd "$build" && ctest -N -L "^$2\$" | sed -n 's/^ *Test *#[0-9]*: //p' | paste -sd'|')
  [ -z "$names" ] || leave_out "$1" "^($names)\$"
}
cd "$build" || exit 2
leave_out_label "they install mpi4py from the package index" mpi4py
leave_out_label "they install the package" install
leave_out_label "they need Slurm, sshd and other packages in hosts of namespaces" namespaces
leave_out_label "they run the peers' libraries of the package index" compat
leave_out "they drive a browser, or build the page with npm" '^monitor_(browser|assets)'
leave_out "they need pyarrow" '^monitor_export'
leave_out "they compile with clang" '^(gpu_code_objects|offload_amd)'
setpriv --reuid 54321 --clear-groups test -r "$source/README.md" 2>/dev/null ||
  leave_out_label "other users may not read the tree here" strangers
command -v gfortran >/dev/null || leave_out "no Fortran compiler here" '^(fortran_|laplace2d)'
command -v gdb >/dev/null || leave_out "no gdb here" '^fault_test_crash$'

cores=$(nproc)
echo "$commit on $(uname -n): $cores cores, $(. /etc/os-release && echo "$PRETTY_NAME"), $(ldd --version | head -n 1)"
status=0
pass() {  # pass TITLE ctest options...
  echo "--- $1"
  shift
  "$source/scripts/run-tests.sh" "$build" -j "$cores" -E "$left_out" "$@" || status=1
}
pass "one host" "$@" | tee "$build/one-host.txt"
HEADRACE_AS_HOSTS=2 pass "as two hosts" -LE "$(sed -n "s/^not_as_hosts='\(.*\)'/\1/p" "$source/scripts/run-tier.sh")" "$@" | tee "$build/two-hosts.txt"
echo "run-all: $((SECONDS - begun)) s in all"
awk '/^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3; skipped += $5; runs++ }
  END { if (runs < 2) failed++; print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"; exit failed > 0 }' \
  "$build/one-host.txt" "$build/two-hosts.txt"
