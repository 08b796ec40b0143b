#!/bin/sh
# Runs the tests under sanitizers and ends with the totals: sanitize.sh <asan|tsan> [ctest options]
#
# asan is the address and undefined-behaviour sanitizers in one build, tsan the thread sanitizer.
#
# The build is that of the preset of that name, in build/<preset>. `make sanitize` selects the tests; HEADRACE_AS_HOSTS
# is passed on to them. With HR_BUILT=1 nothing is built, and ctest alone runs, with its own output.
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift

# The library reports crashes itself, and some tests crash deliberately.
left_to_us=handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0
case $preset in
  asan)
    # The leak sanitizer crashes while it reads thread-local memory of opened libraries (UCX's); ASAN_OPTIONS=detect_leaks=1 turns it on, on
    # one host. Excluded are tests that count memory, since the sanitizer itself uses memory and keeps freed memory, and
    # tests that load the library into another program (Python), which would have to load the sanitizer first. A test
    # that counts driver calls or polls per unit of time is excluded because times are longer and malloc is not glibc's,
    # and 48 ranks on few cores because they take ten minutes. The undefined-behaviour sanitizer examines virtual tables
    # through a pipe, which a process without descriptors cannot open. hip_page_* load the library into Python, and run
    # each program of tests/gpu, which has tests of its own.
    without='unit_comm_scale unit_p2p_mock_memory mpi_given_back mpi_memory_192 mpi_stopped_rank_[24]
      mpi_coll_(movement|reductions)_[a-z_]*_(48|64|96) doctor_gpus doctor_links doctor_choice_adapters doctor_amd monitor_pmpi
      monitor_programs gpu_enqueue_calls [a-z]*_channel_calls hip_page_rocm[567]
      mpi_process_two_jobs_second_[0-9_]* mpi_yielding_[a-z]*_many mpi_yielding_[a-z]*_many_later
      gpu_torch_[a-z0-9_]* hip_torch_[a-z0-9_]* [a-z0-9_-]*no-descriptor mpi_channel_first_use_unopened'
    export ASAN_OPTIONS="$left_to_us:detect_leaks=0:${ASAN_OPTIONS:-}"
    export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}" ;;
  tsan)
    # UCX and similar libraries are opened at run time and not instrumented: neither their locks nor their accesses are
    # seen.
    export TSAN_OPTIONS="$left_to_us:suppressions=$PWD/tests/sanitize/tsan.txt:history_size=4:second_deadlock_stack=1:ignore_noninstrumented_modules=1:${TSAN_OPTIONS:-}"
    # Excluded are tests that count pages, of which the sanitizer uses some, tests that replace a function of the system
    # that the sanitizer calls before it is ready, tests that limit the descriptors, a test that measures how soon
    # dozens of threads wake up on one core, and longer runs of other tests here.
    without='unit_comm_scale unit_p2p_mock_memory mpi_yielding_[a-z0-9_]* mpi_channel_first_use_unopened
      mpi_channel_wakes_self mpi_channels_long[_0-9]* mpi_channels_hosts_long[_0-9]* mpi_channels_driver_1000
      mpi_channels_driver_hosts mpi_channel_tags_long[_0-9]* mpi_channel_cases_[a-z]*_48' ;;
  *)
    echo "sanitize.sh: asan or tsan?" >&2
    exit 2 ;;
esac

# At most nine groups: a ctest that cannot compile a pattern excludes nothing. Each name here is a word, so the list adds
# only one.
# shellcheck disable=SC2086  # a list of words
set -- "$@" -E "^($(set -f; echo $without | tr ' ' '|'))\$"

# Read by tests that load the library into another program, or another library before it.
export HR_SANITIZER="$preset"
[ -z "${HR_BUILT:-}" ] || exec ctest --test-dir "build/$preset" "$@"
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
exec scripts/run-tests.sh "build/$preset" "$@"
