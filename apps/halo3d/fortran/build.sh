#!/bin/sh
# Builds halo3d-openacc, the halo3d steps with directives, with an MPI library's mpifort.
#
#   build.sh [MPIFORT [DIRECTORY]]       default: mpifort, and the current directory
#
# ACC_FLAGS: the OpenACC flags of compilers other than GCC (nvfortran: -acc, Cray: -hacc); without any, the directives
# are comments, and the program runs on the host. FCFLAGS: all other flags (-O3). OFFLOAD: GCC's flags for NVIDIA GPUs;
# set by default where GCC's offload compiler is installed (Debian: gcc-12-offload-nvptx); empty: none.
set -eu
here=$(cd -- "$(dirname -- "$0")" && pwd)
mpifort=${1:-mpifort}
case $mpifort in */*) mpifort=$(cd -- "$(dirname -- "$mpifort")" && pwd)/${mpifort##*/} ;; esac
output=$(cd -- "${2:-.}" && pwd)
acc=${ACC_FLAGS--fopenacc}
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
# The order matters because each part uses modules of earlier ones. Flags are deliberately split into words.
for part in boxes stopwatches device planes updates step_3 step_4 step_5 step_6 step_7 step_8 step_9 options references \
            profiles hashes runs reports main; do
  "$mpifort" $flags $acc $OFFLOAD -c "$here/$part.F90" -o "$part.o"
done
"$mpifort" $flags $acc $OFFLOAD -o "$output/halo3d-openacc" ./*.o
