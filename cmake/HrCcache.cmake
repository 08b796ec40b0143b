# Compiles through ccache if there is one, in a way that other checkouts and build directories find again
# (scripts/ccache.sh).
include_guard(GLOBAL)

find_program(CCACHE ccache)
if(CCACHE)
  set(launcher ${PROJECT_SOURCE_DIR}/scripts/ccache.sh ${PROJECT_SOURCE_DIR} ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
