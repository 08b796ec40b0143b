# Compiles through ccache if there is one, so that other checkouts and build directories find the results
# (scripts/ccache.sh).
include_guard(GLOBAL)

find_program(CCACHE ccache)
if(CCACHE)
  set(launcher ${PROJECT_SOURCE_DIR}/scripts/ccache.sh ${PROJECT_SOURCE_DIR} ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
