#!/bin/bash
# in_root.sh <root> <command...>: runs a command as root in a directory of root.sh, which becomes the root of a mount
# namespace, not only of a process, so that programs in it can create their own namespaces.
set -u
root=$(realpath "${1:?usage: in_root.sh ROOT COMMAND...}")
shift
export root
exec unshare -m --propagation private bash -c '
mount --rbind "$root" "$root"
for each in proc sys dev; do mount --rbind "/$each" "$root/$each"; done
if [ -d /usr/local/cuda ]; then mkdir -p "$root/usr/local/cuda" && mount --bind "$(realpath /usr/local/cuda)" "$root/usr/local/cuda"; fi
old=$(mktemp -d "$root/.old.XXXXXX") || exit 2  # of this process alone: others may enter at the same time
cd "$root" && pivot_root . "$(basename "$old")" && cd / && /bin/umount -l "/$(basename "$old")" && rmdir "/$(basename "$old")" || exit 2
exec env -i TERM=dumb HOME=/root LC_ALL=C.UTF-8 PATH=/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
  in_root "$@"
