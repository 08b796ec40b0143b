#!/bin/sh
# Creates a directory for gcc --sysroot with the headers and the link-time libraries of an old C library:
# sysroot.sh <python that has ziglang> <version of glibc> <directory>
#
# Zig's package describes each version of glibc: its headers, and for each function the version that introduced it. From
# these, Zig's linker creates stub libraries, which define symbols but contain no code. A program that needs a newer C
# library does not link with them.
set -eu
python=$1
version=$2
to=$3
here=$(dirname -- "$(readlink -f -- "$0")")
rm -rf "$to"
mkdir -p "$to/work" "$to/usr/include" "$to/usr/lib/pkgconfig" "$to/usr/share/cmake"
ln -s usr/lib "$to/lib"
ln -s usr/lib "$to/lib64"
ln -s lib "$to/usr/lib64"

# The libraries, from the files of a link performed by Zig.
work=$(readlink -f -- "$to/work")
export ZIG_GLOBAL_CACHE_DIR="$work/zig" ZIG_LOCAL_CACHE_DIR="$work/zig-local"
printf 'int main(void) { return 0; }\n' >"$work/main.c"
(cd "$work" && "$python" -m ziglang cc -target "x86_64-linux-gnu.$version" -O2 -pie main.c -o main)
for name in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 libresolv.so.2 ld.so.2 libld.so.2 libc_nonshared.a Scrt1.o; do
  file=$(find "$work/zig" -name "$name" | head -n 1)
  [ -z "$file" ] || cp "$file" "$to/usr/lib/"
done
# Its members are named by their paths in Zig's cache, below the work directory, where strip would write.
nonshared=$(readlink -f -- "$to/usr/lib/libc_nonshared.a")
# shellcheck disable=SC2086  # names without blanks
(cd "$work" && members=$(ar t "$nonshared") && strip --strip-debug $members && rm "$nonshared" && ar rcs "$nonshared" $members)
strip --strip-debug "$to/usr/lib/Scrt1.o"
for name in m pthread dl rt util resolv; do ln -s "$(basename -- "$to"/usr/lib/lib$name.so.*)" "$to/usr/lib/lib$name.so"; done
mv "$to/usr/lib"/*ld.so.2 "$to/usr/lib/ld-linux-x86-64.so.2"
echo "GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( ld-linux-x86-64.so.2 ) )" >"$to/usr/lib/libc.so"
# Frames of the sections .init and .fini, the same in all versions.
for name in crti.o crtn.o; do cp "$(gcc -print-file-name=$name)" "$to/usr/lib/"; done

# The headers, those of x86 over those of all.
zig=$("$python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')
for kind in any-linux-any x86-linux-any generic-glibc x86-linux-gnu; do
  cp -R "$zig/lib/libc/include/$kind/." "$to/usr/include/"
done
minor=${version#*.}
# Zig keeps headers of later versions, with an #error; a compiler that tests for them must find none.
grep -rlE '#error ".* did not exist before glibc 2\.[0-9]+"' "$to/usr/include" | while read -r header; do
  since=$(sed -nE 's/.*#error ".* did not exist before glibc 2\.([0-9]+)".*/\1/p' "$header")
  [ "$since" -le "$minor" ] || rm "$header"
done
sed -i "s/^#define[ \t]*__GLIBC_MINOR__[ \t].*//" "$to/usr/include/features.h"
printf '#ifndef __GLIBC_MINOR__\n#define __GLIBC_MINOR__ %s\n#endif\n' "$minor" | cat - "$to/usr/include/features.h" >"$work/features.h"
mv "$work/features.h" "$to/usr/include/features.h"

# The headers of libstdc++, without the features that it found in the machine's newer C library; toolchain.cmake names
# their location.
major=$(gcc -dumpversion)
triple=$(gcc -print-multiarch)
cp -R "/usr/include/c++/$major" "$to/usr/include/c++"
cp -R "/usr/include/$triple/c++/$major/." "$to/usr/include/c++/"
sed -i -E 's/^#define (_GLIBCXX_(HAVE_ARC4RANDOM|USE_PTHREAD_(COND_CLOCKWAIT|MUTEX_CLOCKLOCK|RWLOCK_CLOCKLOCK))) .*/#undef \1/' \
  "$to/usr/include/c++/bits/c++config.h"
# A header-only library, and the headers of one that is opened at run time.
cp -R /usr/include/nlohmann /usr/include/rdma "$to/usr/include/"
cp -R /usr/share/cmake/nlohmann_json "$to/usr/share/cmake/"

# Licences of the code in the wheel; hwloc.sh adds hwloc's.
mkdir -p "$to/usr/share/licenses"
for package in "libstdc++-$major-dev" nlohmann-json3-dev libfabric-dev libc6-dev; do
  cp "/usr/share/doc/$package/copyright" "$to/usr/share/licenses/$package.txt"
done

# The names of later versions.
gcc --sysroot="$to" -D_GNU_SOURCE -O2 -fPIC -Wall -Werror -c "$here/later_glibc.c" -o "$work/later_glibc.o"
ar r "$to/usr/lib/libc_nonshared.a" "$work/later_glibc.o" 2>/dev/null

# A shared libstdc++ for the benchmarks.
gcc --sysroot="$to" "-B$to/usr/lib" -shared -s -o "$to/usr/lib/libheadrace_cxx.so.1" -Wl,-soname,libheadrace_cxx.so.1 \
  -Wl,--whole-archive "$(g++ -print-file-name=libstdc++.a)" -Wl,--no-whole-archive -lm -lpthread -lgcc_s
rm -rf "$work"
