# Precompiled headers. They change only the build time: each source includes the headers that it needs, as a build with
# -DHEADRACE_PRECOMPILED_HEADERS=OFF verifies (`make test-all` includes one).
#
# hr_precompile(<target> [<project header> ...])
# The target's sources see the standard headers below, and those project headers, compiled once. Name headers that most sources of the
# target include anyway: a change of one of them rebuilds the whole target.
#
# hr_precompile_like(<program> <kind>)
# A program shares the precompiled header of its kind, which is built once for all of them: `unit` (GoogleTest) or `mpi` (mpi.h and the
# standard headers that test programs use). It must not have compile definitions of its own.
#
# Sources with their own options (an instruction set, a definition) are compiled without precompiled headers: hr_compile_apart(<source>
# ...).
include_guard(GLOBAL)

option(HEADRACE_PRECOMPILED_HEADERS "Compile common headers once a target" ON)

set(HR_PRECOMPILED_STANDARD
    <algorithm> <array> <atomic> <bit> <cerrno> <charconv> <climits> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring>
    <deque> <functional> <limits> <list> <map> <memory> <new> <optional> <set> <span> <string> <string_view> <tuple>
    <type_traits> <unordered_map> <utility> <vector>)

function(hr_precompile target)
  if(HEADRACE_PRECOMPILED_HEADERS)
    # In angle brackets, so that the list, and thus ccache's contents, is the same in every checkout.
    list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE own)
    target_precompile_headers(${target} PRIVATE ${HR_PRECOMPILED_STANDARD} ${own})
  endif()
endfunction()

function(hr_compile_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Programs whose precompiled headers others share; they are built only for this purpose.
function(hr_precompile_like program kind)
  if(NOT HEADRACE_PRECOMPILED_HEADERS)
    return()
  endif()
  set(donor hr_precompiled_${kind})
  if(NOT TARGET ${donor})
    set(source ${CMAKE_BINARY_DIR}/precompiled/${kind}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    add_executable(${donor} ${source})
    target_link_libraries(${donor} PRIVATE hr_options)
    if(kind STREQUAL unit)
      target_link_libraries(${donor} PRIVATE GTest::gtest)
      hr_precompile(${donor} gtest/gtest.h)
    else()
      target_include_directories(${donor} PRIVATE ${PROJECT_SOURCE_DIR}/include)
      hr_precompile(${donor} iostream random thread mpi.h)
    endif()
  endif()
  target_precompile_headers(${program} REUSE_FROM ${donor})
endfunction()
