#!/bin/sh
# ccache.sh <source tree> <ccache> <compiler> [arguments]: compiles through ccache, so that all checkouts share its results.
# - CCACHE_BASEDIR: paths below the source tree count relative to the build directory.
# - CCACHE_SLOPPINESS: ccache's manual requires these if headers are precompiled.
# - Removes an old precompiled header first: ccache would treat it as an input of the new one, and a fresh clone has
#   none.
# - Looks up a precompiled header by the contents of its headers alone (CCACHE_DEPEND). By its preprocessed text, ccache
#   would also accept one whose headers had other comments, and GCC would then include each of them a second time.
# - Identifies nvcc by its contents: each checkout installs its own.
export CCACHE_BASEDIR="${CCACHE_BASEDIR-$1}"
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS-pch_defines,time_macros,include_file_mtime,include_file_ctime}"
shift
case "$*" in
*"-x c++-header"*)
  output="$*"
  output="${output##* -o }"
  rm -f "${output%% *}"
  export CCACHE_DEPEND=1
  # The rules above have changed before, so entries that were made under older ones must not match.
  export CCACHE_EXTRAFILES="$0" ;;
*/nvcc\ *)
  export CCACHE_COMPILERCHECK=content ;;
esac
exec "$@"
