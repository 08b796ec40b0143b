# Compiles through ccache where there is one. What it keeps is found again by other checkouts and build directories:
# - CCACHE_BASEDIR: paths below the source tree count relative to the build directory.
# - CCACHE_SLOPPINESS: ccache's manual asks for these with precompiled headers, which compilers find by name and take
#   whatever the time on them is.
# Both are kept from the environment where they are set there.
include_guard(GLOBAL)

find_program(CCACHE ccache)
find_program(HR_ENV env)
if(CCACHE AND HR_ENV)
  set(launcher ${HR_ENV})
  foreach(setting IN ITEMS CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                           CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
    string(REGEX REPLACE "=.*" "" name ${setting})
    if(NOT DEFINED ENV{${name}})
      list(APPEND launcher ${setting})
    endif()
  endforeach()
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher} ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher} ${CCACHE})
endif()
