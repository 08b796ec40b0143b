#!/bin/sh
# Builds the wheel for all Linux systems with glibc 2.28 or newer: build.sh <environment> <work directory> <directory for the wheel>
#
# The environment contains the build requirements of pyproject.toml, and requirements-wheel.txt. The work directory
# keeps the sysroot and the objects, so that a second build is quick.
set -eu
environment=$(readlink -f -- "$1")
mkdir -p "$2" "$3"
work=$(readlink -f -- "$2")
to=$(readlink -f -- "$3")
here=$(dirname -- "$(readlink -f -- "$0")")
source=$(dirname -- "$(dirname -- "$here")")
glibc=2.28
platform=manylinux_2_28_x86_64
python=$environment/bin/python

[ "$(uname -m)" = x86_64 ] || { echo "build.sh: the wheel is for x86_64, and this machine is $(uname -m)" >&2; exit 1; }
# The sysroot is rebuilt when its recipe, Zig or GCC has changed.
recipe=$(cat "$here/sysroot.sh" "$here/hwloc.sh" "$here"/*.c "$here"/*.cmake | cksum; "$python" -m ziglang version; gcc -dumpfullversion)
if [ "$(cat "$work/sysroot.recipe" 2>/dev/null)" != "$recipe" ]; then
  echo "sysroot of glibc $glibc"
  rm -rf "$work/cmake"
  "$here/sysroot.sh" "$python" "$glibc" "$work/sysroot"
  echo "hwloc"
  "$here/hwloc.sh" "$work/sysroot" "$work/hwloc"
  printf '%s\n' "$recipe" >"$work/sysroot.recipe"
fi

# None of the machine's libraries is used: pkg-config sees only the sysroot.
HEADRACE_SYSROOT=$work/sysroot
PKG_CONFIG_LIBDIR=$work/sysroot/usr/lib/pkgconfig
export HEADRACE_SYSROOT PKG_CONFIG_LIBDIR
rm -rf "$work/wheel"
echo "wheel (the log: $work/pip-wheel.txt)"
"$environment/bin/pip" wheel -v --no-build-isolation --no-deps -w "$work/wheel" -C "build-dir=$work/cmake" \
  -C "cmake.define.CMAKE_TOOLCHAIN_FILE=$here/toolchain.cmake" -C cmake.define.HEADRACE_WERROR=ON \
  -C 'cmake.define.HEADRACE_CUDA_ARCHITECTURES=80;90;100;120' -C cmake.define.HEADRACE_NVCC_FLAGS=--compress-mode=size \
  -C "cmake.define.HEADRACE_LICENSES=$work/sysroot/usr/share/licenses" \
  -C "cmake.define.HEADRACE_CXX_LIBRARY=$work/sysroot/usr/lib/libheadrace_cxx.so.1" "$source" >"$work/pip-wheel.txt" 2>&1 || { tail -n 60 "$work/pip-wheel.txt" >&2; exit 1; }
grep -q 'kernels compiled by' "$work/pip-wheel.txt" || { echo "build.sh: the GPU kernels were not compiled" >&2; exit 1; }
grep -q 'kernels for AMD GPUs compiled by' "$work/pip-wheel.txt" || { echo "build.sh: the kernels for AMD GPUs were not compiled (clang-19, lld-19)" >&2; exit 1; }
for transport in 'network transport compiled' 'network transport ofi compiled'; do
  grep -q "$transport" "$work/pip-wheel.txt" || { echo "build.sh: not in the log: $transport" >&2; exit 1; }
done
"$python" "$here/finish.py" "$work"/wheel/*.whl "$platform" "$to"
