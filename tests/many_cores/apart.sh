#!/bin/bash
# apart.sh <tree> <place> <CPUs> <command...>: runs a command as root in a source tree with its own changes to the tree,
# /dev/shm, /tmp, /run, processes, network and CPUs: many test runs can run side by side. Prints the command's
# output. The changes are lost when it ends or, if the kernel refuses an overlay, stay in <place> as a copy of the tree.
set -u
tree=${1:?usage: apart.sh TREE PLACE CPUS COMMAND...} place=$2 cpus=$3
shift 3
mkdir -p "$place" || exit 2
export tree place
exec taskset -c "$cpus" unshare -m -n -p -f --kill-child --mount-proc bash -c '
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t tmpfs changes "$place" && mkdir "$place/upper" "$place/work"
if ! mount -t overlay overlay -o "lowerdir=$tree,upperdir=$place/upper,workdir=$place/work" "$tree" 2>/dev/null; then
  umount "$place"
  [ -e "$place/Makefile" ] || cp -a "$tree/." "$place/" || exit 2
  mount --bind "$place" "$tree"
fi
python3 - <<END
import fcntl, socket, struct
s = socket.socket()
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING
END
cd "$tree" && exec "$@"' apart "$@"
