#!/bin/bash
# apart.sh <tree> <place> <CPUs> <command...>: runs a command as root in a copy of an unpacked tree, visible under the tree's own path, with
# its own files, /dev/shm, /tmp, /run, processes, network and CPUs: many runs of the tests can run at the same time. Prints the command's
# output; the copy stays in <place>.
set -u
tree=${1:?usage: apart.sh TREE PLACE CPUS COMMAND...} place=$2 cpus=$3
shift 3
mkdir -p "$place" && cp -a "$tree/." "$place/" || exit 2
export tree place
exec taskset -c "$cpus" unshare -m -n -p -f --mount-proc bash -c '
mount --bind "$place" "$tree"
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
python3 - <<END
import fcntl, socket, struct
s = socket.socket()
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING
END
cd "$tree" && exec "$@"' apart "$@"
