#!/bin/bash
# pieces.sh <archive of root.sh> <directory> [MB]: packs that root, this source tree with its history and build/pip into
# pieces <directory>/<NN>/piece.<NN> of at most so many MB (46), for a machine that takes only small copies.
# from_pieces.sh unpacks them there.
set -euo pipefail
archive=$(realpath "${1:?usage: pieces.sh ARCHIVE DIRECTORY [MB]}")
pieces=$(realpath -m "${2:?usage: pieces.sh ARCHIVE DIRECTORY [MB]}")
source=$(cd "$(dirname "$0")/../.." && pwd)
[ -e "$source/build/pip/CTestTestfile.cmake" ] || { echo "pieces.sh: no build with tests in $source/build/pip" >&2; exit 2; }
[ -z "$(ls -A "$pieces" 2>/dev/null)" ] || { echo "pieces.sh: $pieces is not empty" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"
{
  git ls-files --cached --others --exclude-standard
  echo .git
  find build/pip \( -type f -o -type l \) ! -name '*.o' ! -name '*.gch' ! -path '*/mpi4py*/*'
} | tar -c -T - --transform "s,^,${source#/}/,S" | xz -T0 -2 >"$work/tree.tar.xz"
cp "$archive" "$work/root.tar.xz"
mkdir -p "$pieces"
tar -c -C "$work" root.tar.xz tree.tar.xz | split -b "${3:-46}M" -d -a 2 - "$pieces/piece."
for piece in "$pieces"/piece.*; do
  mkdir "$pieces/${piece##*.}" && mv "$piece" "$pieces/${piece##*.}/"
done
echo "$(ls "$pieces" | wc -l) pieces in $pieces, $(git describe --always --dirty)"
