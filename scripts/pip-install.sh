#!/bin/sh
# pip install of this tree into a virtual environment, showing the compiler's progress and, on failure, its last lines:
# pip-install.sh <environment> <build directory> [pip options]
set -u
environment=$1
build=$2
shift 2
mkdir -p "$build" || exit 1
log=$build/pip-install.txt

begun=$(date +%s)
true >"$log" || { echo "pip-install.sh: cannot write $log" >&2; exit 1; }  # must exist before its reader starts
"$environment/bin/pip" install -v --no-build-isolation --no-deps --force-reinstall -C "build-dir=$build" "$@" . >"$log" 2>&1 &
pip=$!
tail -n +1 -f --pid=$pip "$log" | grep --line-buffered -E '^ *\[[0-9]+/[0-9]+\]|(warning|error):|Headrace:' || true
wait $pip
status=$?
if [ $status != 0 ]; then
  echo "pip install failed; the end of $log:" >&2
  tail -n 60 "$log" >&2
  if grep -q 'No space left on device' "$log"; then
    echo "pip-install.sh: the disk of $PWD is full" >&2
  elif grep -qE 'not used because|created by a different GCC|CMakeCache.txt directory .* is different' "$log"; then
    echo "pip-install.sh: $build is of another compiler, other options or another place; remove it" >&2
  fi
fi
echo "Build: $(($(date +%s) - begun)) s"
exit $status
