#!/bin/bash
# pack.sh <build directory> <archive.tar.xz>: packs a finished build with its tests for a machine with many cores
# (run-all.sh).
#
# The archive contains the source tree, the programs, and shared libraries that the other system may lack or have in
# older versions. Programs and tests contain their paths, so run-all.sh unpacks to the same paths.
set -euo pipefail
build=$(cd "${1:?usage: pack.sh BUILD_DIR ARCHIVE}" && pwd)
archive=$(realpath -m "${2:?usage: pack.sh BUILD_DIR ARCHIVE}")
source=$(cd "$(dirname "$0")/../.." && pwd)
case $build in
"$source"/*) ;;
*) echo "pack.sh: $build is not below $source; configure with a build directory inside the source tree" >&2; exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/libraries" "$work/python"

# Shared libraries of the programs, except those of the C library, of which every system has its own.
programs=("$build"/bin/mpiexec "$build"/lib/lib*.so* "$build"/bin/laplace2d-openmp)
# libfabric is opened, not linked to; UCX is a part of .venv.
libfabric=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p | awk '$1 == "libfabric.so.1" { found = $NF } END { print found }')
if [ -n "$libfabric" ]; then cp -L "$libfabric" "$work/libraries/libfabric.so.1"; fi
for program in "${programs[@]}" $libfabric; do ldd "$program" 2>/dev/null || true; done |
  awk '$3 ~ "^/" { print $3 }' | sort -u | grep -vE "^$build/|/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so" |
  while read -r library; do cp -L "$library" "$work/libraries/"; done

# Pure Python modules imported by the tests' programs.
python=$(sed -n 's/^Python3_EXECUTABLE:[^=]*=//p;s/^_Python3_EXECUTABLE:[^=]*=//p' "$build/CMakeCache.txt" | head -n 1)
"$python" - "$work/python" <<'END'
import importlib.util, pathlib, shutil, sys
for name in ("yaml", "starlette", "uvicorn", "anyio", "h11", "click", "sniffio", "idna", "typing_extensions"):
    spec = importlib.util.find_spec(name)
    if spec is None:
        continue
    file = pathlib.Path(spec.origin)
    if file.name == "__init__.py":
        shutil.copytree(file.parent, f"{sys.argv[1]}/{name}", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    else:
        shutil.copy(file, sys.argv[1])
END

cat >"$work/facts" <<END
source=$source
build=$build
python=$python
commit=$(git -C "$source" describe --always --dirty)
END

cd "$source"
{
  git ls-files --cached --others --exclude-standard
  find "${build#"$source"/}" \( -type f -o -type l \) ! -path '*/CMakeFiles/*' ! -name '*.o' ! -name '*.a' ! -name '*.gch' \
    ! -name '.ninja*' ! -name 'build.ninja' ! -name '*.fatbin' ! -path '*/Testing/*' ! -path '*/mpi4py*/*' ! -path '*/build/*/mpich/*' ! -path '*/pip/mpich/*'
  find .venv/lib/python3*/site-packages/libucx/lib \( -name 'libuc[pstm]*.so*' -o -name 'libuct_cma.so*' \) 2>/dev/null || true
} | tar -c -T - --transform 's,^,tree/,S' -f "$work/pack.tar"
tar -r -C "$work" -f "$work/pack.tar" libraries python facts
xz -T0 -4 -c "$work/pack.tar" >"$archive"
echo "$archive: $(($(stat -c %s "$archive") / 1048576)) MiB, $(sed -n 's/^commit=//p' "$work/facts")"
