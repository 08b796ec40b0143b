#!/bin/bash
# parts.sh <logs> <build|test> [part...]: builds and runs the parts of `make test-all` at once on a machine with many cores, in the source
# tree (in_root.sh). Each part has a copy of the tree, CPUs, processes, a network and /dev/shm of its own (apart.sh), because tests count
# and kill processes of the host.
# parts.sh <logs> soak <copies>: runs the change tier of the release build so often, all at once.
#
# Parts: release (all tests, one host, two hosts, over libfabric), asan, asan2 (as two hosts), ubsan, tsan, plain (no
# precompiled headers; only built). Ends with a table of totals. HR_LIMIT: seconds for each part.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
cd "$source" || exit 2
export PATH=$source/.venv/bin:$PATH
logs=$(realpath -m "${1:?usage: parts.sh LOGS build|test [PART...]}")
what=${2:?usage: parts.sh LOGS build|test [PART...]}
shift 2
mkdir -p "$logs"
cores=$(nproc)
not_as_hosts=$(sed -n "s/^not_as_hosts='\(.*\)'/\1/p" scripts/run-tier.sh)
# Takes these from the Makefile.
without=$(sed -n 's/^SANITIZE_WITHOUT := //p' Makefile)
threads=$(sed -n 's/^SANITIZE_TSAN := //p' Makefile)
# Left out, as they need an index of packages, a browser, clang or real hosts.
left_out='^(monitor_(browser|assets|export)|gpu_code_objects)'
labels_left_out='^(mpi4py|install|namespaces)$'

configure() {  # configure PART
  case $1 in
    release) cmake -G Ninja -S . -B build/pip -DCMAKE_BUILD_TYPE=Release -DHEADRACE_TESTS=ON -DHEADRACE_WERROR=ON ;;
    plain) cmake -G Ninja -S . -B build/plain -DCMAKE_BUILD_TYPE=Release -DHEADRACE_TESTS=ON -DHEADRACE_WERROR=ON \
      -DHEADRACE_PRECOMPILED_HEADERS=OFF ;;
    asan2) return 0 ;;
    *) cmake --preset "$1" ;;
  esac
}

build() {  # build PART
  local begun=$SECONDS directory=build/$1
  [ "$1" != release ] || directory=build/pip
  [ "$1" != asan2 ] || return 0
  configure "$1" >"$logs/build-$1.txt" 2>&1 && ninja -C "$directory" -j "$cores" >>"$logs/build-$1.txt" 2>&1
  echo "built $1: exit code $?, $((SECONDS - begun)) s"
}

# Runs in the copy of the tree.
run() {  # run PART JOBS
  local jobs=$2
  case $1 in
    release)
      export HEADRACE_PEERS=$source/.cache/peers
      scripts/run-tests.sh build/pip -j "$jobs" -LE "$labels_left_out" -E "$left_out"
      HEADRACE_AS_HOSTS=2 scripts/run-tests.sh build/pip -j "$jobs" -LE "$not_as_hosts|$labels_left_out"
      HEADRACE_AS_HOSTS=2 HEADRACE_NETWORK=ofi scripts/run-tests.sh build/pip -j "$jobs" -LE "$not_as_hosts|$labels_left_out" ;;
    change)
      scripts/run-tests.sh build/pip -j "$jobs" -LE "$labels_left_out|^night\$" -E "$left_out"
      HEADRACE_AS_HOSTS=2 scripts/run-tests.sh build/pip -j "$jobs" -L '^as_hosts$' -LE '^night$' ;;
    asan2) HEADRACE_AS_HOSTS=2 scripts/sanitize.sh asan -LE "$not_as_hosts|$without" -j "$jobs" ;;
    tsan) scripts/sanitize.sh tsan -LE "$without" -R "$threads" -j "$jobs" ;;
    *) scripts/sanitize.sh "$1" -LE "$without" -j "$jobs" ;;
  esac
}

share() {  # share PART: of 32 parts of the CPUs
  case $1 in release) echo 11 ;; asan) echo 8 ;; asan2) echo 5 ;; ubsan) echo 5 ;; *) echo 3 ;; esac
}

# Runs tests in a copy of the tree with its own CPUs, and half as many more jobs than these: apart NAME FIRST LAST PART
apart() {
  timeout -k 5 "${HR_LIMIT:-3600}" "$here/apart.sh" "$source" "/parts/$1" "$2-$3" \
    "$here/parts.sh" "$logs" run "$4" $((($3 - $2 + 1) * 3 / 2 + 1)) >"$logs/$1.txt" 2>&1 || echo "$1: exit code $?" >>"$logs/$1.txt"
}

report() {  # report NAME
  echo "== $1: $(grep -E '^[0-9]+ passed, [0-9]+ failed|^Tests: ' "$logs/$1.txt" | paste -sd';')"
  grep -E '\*\*\*(Failed|Timeout|Exception|Not Run)' "$logs/$1.txt"
}

case $what in
  build)
    [ $# -gt 0 ] || set -- release asan ubsan tsan plain
    for part in "$@"; do build "$part" & done
    wait ;;
  test)
    [ $# -gt 0 ] || set -- release asan asan2 ubsan tsan
    total=0
    for part in "$@"; do total=$((total + $(share "$part"))); done
    first=0
    for part in "$@"; do
      count=$(($(share "$part") * cores / total))
      [ "$count" -gt 0 ] || count=1
      apart "$part" "$first" $((first + count - 1)) "$part" &
      first=$((first + count))
    done
    wait
    for part in "$@"; do report "$part"; done ;;
  soak)
    for ((copy = 0; copy < $1; ++copy)); do
      first=$((copy * cores / $1)) last=$(((copy + 1) * cores / $1 - 1))
      apart "soak$copy" "$first" "$last" change &
    done
    wait
    for ((copy = 0; copy < $1; ++copy)); do report "soak$copy"; done ;;
  run) run "$@" ;;
  *) echo "parts.sh: build, test or soak?" >&2; exit 2 ;;
esac
