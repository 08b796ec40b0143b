# hr_find_ofi(<variable>)
#
# The directory of libfabric's headers, with which the second network transport is compiled; empty if there are none.
# They are found through the variable HEADRACE_OFI_INCLUDE_DIR, else in the system. libfabric itself is not linked to:
# it is found at run time (src/transport/ofi/library.hpp).
function(hr_find_ofi result)
  set(${result} "" PARENT_SCOPE)
  find_path(HEADRACE_OFI_INCLUDE_DIR rdma/fi_domain.h DOC "libfabric's headers for the network transport ofi")
  if(NOT HEADRACE_OFI_INCLUDE_DIR)
    # A build with tests is expected to have libfabric, as its tests would otherwise be omitted silently.
    set(kind STATUS)
    if(HEADRACE_TESTS)
      set(kind WARNING)
    endif()
    message(${kind} "Headrace: no libfabric headers found; jobs span hosts without libfabric "
                    "(Debian: libfabric-dev, or set HEADRACE_OFI_INCLUDE_DIR)")
    return()
  endif()
  file(STRINGS ${HEADRACE_OFI_INCLUDE_DIR}/rdma/fabric.h lines REGEX "define FI_M[AI][JN]OR_VERSION [0-9]")
  string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
  list(JOIN numbers "." version)
  if(version VERSION_LESS 1.9)
    message(WARNING "Headrace: libfabric in ${HEADRACE_OFI_INCLUDE_DIR} is ${version}, 1.9 is needed; "
                    "jobs span hosts without libfabric")
    return()
  endif()
  message(STATUS "Headrace: network transport ofi compiled with libfabric ${version} (${HEADRACE_OFI_INCLUDE_DIR})")
  set(${result} ${HEADRACE_OFI_INCLUDE_DIR} PARENT_SCOPE)
endfunction()
