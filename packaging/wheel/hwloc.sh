#!/bin/sh
# Builds hwloc as a static library into a sysroot: hwloc.sh <sysroot> <directory to work in>
#
# Its source comes from HEADRACE_HWLOC_SOURCE, an unpacked directory, else from Debian, through the system's package
# sources, with separate apt files. Built without libxml2, libpciaccess and udev, on which the wheel could not rely:
# hwloc has its own XML parser, and finds PCI devices in /sys.
set -eu
sysroot=$(readlink -f -- "$1")
work=$2
[ ! -f "$sysroot/usr/lib/pkgconfig/hwloc.pc" ] || exit 0
mkdir -p "$work/apt/lists/partial"
work=$(readlink -f -- "$work")
source=${HEADRACE_HWLOC_SOURCE:-$work/source}
if [ ! -x "$source/configure" ]; then
  apt-get indextargets --format 'deb-src $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' | sort -u >"$work/apt/sources.list"
  printf 'Dir::Etc::sourcelist "%s/sources.list";\nDir::Etc::sourceparts "-";\nDir::State::lists "%s/lists";\nDir::Cache "%s/cache";\n' \
    "$work/apt" "$work/apt" "$work/apt" >"$work/apt/conf"
  mkdir -p "$work/apt/cache/archives/partial"
  export APT_CONFIG="$work/apt/conf"
  apt-get update -qq
  (cd "$work" && apt-get source -qq --download-only hwloc >/dev/null 2>&1)
  rm -rf "$source"
  dpkg-source --no-check -x "$work"/hwloc_*.dsc "$source" >/dev/null
fi
rm -rf "$work/build"
mkdir "$work/build"
cd "$work/build"
"$source/configure" --prefix="$sysroot/usr" --libdir="$sysroot/usr/lib" --runstatedir=/run --enable-static --disable-shared --with-pic --disable-cairo \
  --disable-libxml2 --disable-pci --disable-opencl --disable-cuda --disable-nvml --disable-rsmi --disable-levelzero --disable-gl \
  --disable-libudev --disable-plugin-dlopen --disable-plugin-ltdl --disable-doxygen \
  CC="gcc --sysroot=$sysroot -B$sysroot/usr/lib" CFLAGS="-O2 -DNDEBUG -fvisibility=hidden -ffile-prefix-map=$source=hwloc" >configure.txt 2>&1 ||
  { tail -n 30 configure.txt >&2; exit 1; }
make -C hwloc -j"${HEADRACE_JOBS:-2}" install >make.txt 2>&1 && make -C include install >>make.txt 2>&1 ||
  { tail -n 30 make.txt >&2; exit 1; }
cp "$source/COPYING" "$sysroot/usr/share/licenses/hwloc.txt"
cp hwloc.pc "$sysroot/usr/lib/pkgconfig/"
