#!/bin/sh
# Builds laplace2d with an MPI library's mpifort, once for OpenACC and once for OpenMP: GCC offloads only one of them
# per program.
#
#   apps/laplace2d/build.sh [MPIFORT [DIRECTORY]]       laplace2d-openacc and laplace2d-openmp; default: mpifort, here
#
# ACC_FLAGS and OMP_FLAGS are the flags for compilers other than GCC:
#   nvfortran -acc            -mp=gpu
#   Cray      -hacc           -homp
#   ifx                       -fiopenmp -fopenmp-targets=spir64
#   flang                     -fopenmp --offload-arch=...
# The directives are comments without such flags, and the program runs on the host. FCFLAGS: all other flags (-O3).
#
# GCC's compiler for NVIDIA GPUs is used if it is installed (Debian: gcc-12-offload-nvptx). OFFLOAD: its flags; empty:
# none.
set -eu
here=$(cd -- "$(dirname -- "$0")" && pwd)
mpifort=${1:-mpifort}
case $mpifort in */*) mpifort=$(cd -- "$(dirname -- "$mpifort")" && pwd)/${mpifort##*/} ;; esac
output=$(cd -- "${2:-.}" && pwd)
acc=${ACC_FLAGS--fopenacc}
omp=${OMP_FLAGS--fopenmp}
flags=${FCFLAGS--O3}

offload_compiler() {  # true if GCC has a compiler for NVIDIA GPUs
  compiler=$("$mpifort" -showme:command 2>/dev/null || echo gfortran)
  [ -x "$($compiler -print-prog-name=accel/nvptx-none/mkoffload 2>/dev/null)" ]
}
if [ -z "${OFFLOAD+set}" ]; then
  OFFLOAD=
  if offload_compiler; then
    OFFLOAD="-foffload=nvptx-none -foffload-options=nvptx-none=-misa=sm_80 -foffload-options=nvptx-none=-lgfortran"
    OFFLOAD="$OFFLOAD -foffload-options=nvptx-none=-lm"
  elif [ "$acc" = -fopenacc ]; then
    OFFLOAD=-foffload=disable
  fi
fi

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd -- "$work"
# Flags are deliberately split into words. The order matters because each part uses modules of earlier ones.
compile() { part=$1; shift; "$mpifort" $flags "$@" -c "$here/$part.F90" -o "$part.o"; }
for part in strips progress options variant_mpi; do compile $part; done
compile variant_openacc $acc $OFFLOAD
compile variant_openmp
compile main
"$mpifort" $flags -o "$output/laplace2d-openacc" ./*.o $acc $OFFLOAD
compile variant_openacc
compile variant_openmp $omp $OFFLOAD
compile main
"$mpifort" $flags -o "$output/laplace2d-openmp" ./*.o $omp $OFFLOAD
