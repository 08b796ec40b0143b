# hr_find_ucx(<variable>)
#
# The directory of UCX's headers, with which the network transport is compiled; empty if there are none. They are found through the variable
# HEADRACE_UCX_INCLUDE_DIR, else in the system, else in the Python package libucx-cu13 or libucx-cu12 of the build, or
# of the environment that `make` keeps in the source tree (.venv), active or not. UCX itself is not linked to: it is
# found at run time (src/transport/ucx/library.hpp).
function(hr_find_ucx result)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
      "import glob, sys; print(';'.join(f for p in sys.path for f in glob.glob(p + '/libucx/include')))"
    OUTPUT_VARIABLE package_dirs OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(GLOB own_dirs ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/libucx/include)
  find_path(HEADRACE_UCX_INCLUDE_DIR ucp/api/ucp.h PATHS ${package_dirs} ${own_dirs}
            DOC "UCX's headers for the network transport")
  if(NOT HEADRACE_UCX_INCLUDE_DIR)
    # A build with tests is expected to have UCX, as its tests would otherwise be omitted silently.
    set(kind STATUS)
    if(HEADRACE_TESTS)
      set(kind WARNING)
    endif()
    message(${kind} "Headrace: no UCX headers found; jobs span hosts without UCX "
                    "(pip install libucx-cu13, or set HEADRACE_UCX_INCLUDE_DIR)")
    set(${result} "" PARENT_SCOPE)
    return()
  endif()
  file(STRINGS ${HEADRACE_UCX_INCLUDE_DIR}/ucp/api/ucp_version.h lines REGEX "define UCP_API_M[AI][JN]OR")
  string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
  list(JOIN numbers "." version)
  if(version VERSION_LESS 1.14)
    message(WARNING "Headrace: UCX in ${HEADRACE_UCX_INCLUDE_DIR} is ${version}, and 1.14 is needed; it is left out "
                    "(pip install libucx-cu13, and set HEADRACE_UCX_INCLUDE_DIR)")
    set(${result} "" PARENT_SCOPE)
    return()
  endif()
  message(STATUS "Headrace: network transport compiled with UCX ${version} (${HEADRACE_UCX_INCLUDE_DIR})")
  set(${result} ${HEADRACE_UCX_INCLUDE_DIR} PARENT_SCOPE)
endfunction()
