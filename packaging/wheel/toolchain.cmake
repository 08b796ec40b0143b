# The compiler of every other build, GCC, with the headers and the link-time names of an old C library (sysroot.sh). libstdc++ is
# linked statically: systems with that C library have an older one. libgcc_s stays shared, so that exceptions from a
# program's functions find a single unwinder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER gcc)
set(CMAKE_CXX_COMPILER g++)
set(CMAKE_SYSROOT $ENV{HEADRACE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
# Headers come from the sysroot, and UCX's from Python packages.
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
# GCC's own header and library directories do not follow the sysroot.
set(CMAKE_CXX_FLAGS_INIT "-nostdinc++ -isystem ${CMAKE_SYSROOT}/usr/include/c++ -isystem ${CMAKE_SYSROOT}/usr/include/c++/backward")
foreach(kind IN ITEMS EXE SHARED MODULE)
  # The machine's libgcc_s, which programs are linked with by name, needs the machine's C library. libstdc++'s headers
  # test through weak symbols whether there are threads: if these are in a separate library, it is loaded in any case.
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-B${CMAKE_SYSROOT}/usr/lib -static-libstdc++ -Wl,--allow-shlib-undefined -Wl,--no-as-needed -lpthread -Wl,--as-needed")
endforeach()
# librt and libdl were separate libraries. libgcc.a comes before libgcc_s, whose newest names old systems lack.
set(CMAKE_C_STANDARD_LIBRARIES_INIT "-lrt -ldl -lgcc")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lrt -ldl -lgcc")
