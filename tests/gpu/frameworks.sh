#!/bin/bash
# Sends arrays of Python's GPU frameworks through mpi4py on Headrace (frameworks.py): every framework and allocator of
# this machine's Python.
#
#   tests/gpu/frameworks.sh BUILD_DIR MPI4PY [RANKS]
#
# MPI4PY: its source distribution (mpi4py-4.1.2.tar.gz), which is built with BUILD_DIR/bin/mpicc into
# BUILD_DIR/frameworks, without a network: Python must have cython and setuptools. PYTHON names another python3. Exit
# code: the number of failed pairs of framework and allocator.
set -u
usage="usage: tests/gpu/frameworks.sh BUILD_DIR MPI4PY_SDIST [RANKS]"
build=$(cd "${1:?$usage}" && pwd)
source=$(realpath "${2:?$usage}")
ranks=${3:-2}
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
target=$build/frameworks

if [ ! -e "$target/ready" ]; then
  echo "building $(basename "$source") with $build/bin/mpicc"
  if ! MPICC=$build/bin/mpicc CFLAGS="-O1 -g0" MPI4PY_BUILD_MPIABI=0 "$python" -m pip install -q --no-index --no-deps \
    --no-build-isolation --disable-pip-version-check --upgrade --target "$target" "$source" >"$build/frameworks.log" 2>&1; then
    tail -n 20 "$build/frameworks.log"
    echo "mpi4py was not built; see $build/frameworks.log" >&2
    exit 1
  fi
  touch "$target/ready"
fi
export PYTHONPATH=$target${PYTHONPATH:+:$PYTHONPATH}
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

failed=0
while read -r framework allocator; do
  timeout -k 5 300 "$build/bin/mpiexec" --timeout 280 -n "$ranks" "$python" "$here/frameworks.py" "$framework" "$allocator" \
    2>"$build/frameworks.err" </dev/null
  status=$?
  if [ $status -ne 0 ]; then
    failed=$((failed + 1))
    echo "FAIL $framework/$allocator: exit code $status"
    tail -n 20 "$build/frameworks.err"
  fi
done < <("$python" "$here/frameworks.py" --list)
echo "$failed pairs of framework and allocator failed"
exit $failed
