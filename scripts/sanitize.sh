#!/bin/sh
# The test tree under one sanitizer, ending with the totals: sanitize.sh <asan|ubsan|tsan> [ctest options]
#
# Built by the preset of that name in build/<preset>. `make sanitize` says which tests; HEADRACE_AS_HOSTS goes to them.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift

# Crashes are the library's to report, and some tests crash on purpose.
left_to_us=handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0
case $preset in
  asan)
    # The leak sanitizer reads thread-local memory of opened libraries (UCX's) and crashes there; ASAN_OPTIONS=detect_leaks=1
    # asks for it, on one host. Left out: what counts pages, of which the sanitizer takes its own, and what is opened into
    # programs of others (Python), where it would have to be opened first.
    set -- "$@" -E '^(unit_(comm_scale|p2p_mock_memory)|doctor_(gpus|links)|monitor_(pmpi|programs))$'
    export ASAN_OPTIONS="$left_to_us:detect_leaks=0:${ASAN_OPTIONS:-}" ;;
  ubsan)
    # It looks at virtual tables through a pipe, which a process without descriptors cannot open.
    set -- "$@" -E 'no-descriptor$'
    export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}" ;;
  tsan)
    # UCX and its like are opened at run time and not instrumented: their locks are not seen, nor are their accesses.
    export TSAN_OPTIONS="$left_to_us:suppressions=$PWD/tests/sanitize/tsan.txt:history_size=4:second_deadlock_stack=1:ignore_noninstrumented_modules=1:${TSAN_OPTIONS:-}"
    set -- "$@" -E '^unit_(comm_scale|p2p_mock_memory)$' ;;  # they count pages, and it has its own
  *)
    echo "sanitize.sh: which of asan, ubsan and tsan?" >&2
    exit 2 ;;
esac

cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
exec scripts/run-tests.sh "build/$preset" "$@"
