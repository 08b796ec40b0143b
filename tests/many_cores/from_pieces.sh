#!/bin/bash
# from_pieces.sh <directory> <number> <root>: joins that number of pieces of pieces.sh, which lie in the directory, and
# unpacks them into <root>, for night.sh and in_root.sh.
set -euo pipefail
cd "${1:?usage: from_pieces.sh DIRECTORY NUMBER ROOT}"
number=${2:?usage: from_pieces.sh DIRECTORY NUMBER ROOT} root=${3:?usage: from_pieces.sh DIRECTORY NUMBER ROOT}
found=$(find . -maxdepth 1 -name 'piece.??' | wc -l)
[ "$found" = "$number" ] || { echo "from_pieces.sh: $found pieces here, not $number" >&2; exit 2; }
mkdir -p "$root"
cat piece.?? | tar -x
for archive in root.tar.xz tree.tar.xz; do
  xz -dc -T0 "$archive" | tar -x -C "$root" &
  unpacking="${unpacking:-} $!"
done
for each in $unpacking; do wait "$each"; done
rm -f root.tar.xz tree.tar.xz
