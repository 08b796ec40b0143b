# hr_on_hip(<test> <environment variable of the caller> <night variable of the caller>)
#
# The environment in which a test of devices is run once more as hip_<test>, with the maker HIP on the fake runtime
# (tests/fake_hip); empty if it is not. The program calls the driver under CUDA's names, the library under test uses the
# same devices under HIP's. ROCm's versions take turns. This file alone says which tests run there, and in which tier.
include_guard(GLOBAL)

set(HR_NOT_ON_HIP
  "^streams|_enqueue_calls$"        # streams wait for words, which HIP does in signal memory alone (docs/adr/0049)
  "^chunks"                         # memory in chunks is staged, and these tests look at mappings
  "^capture"                        # they look at the driver's own captures
  CACHE INTERNAL "")
set(HR_HIP_IN_CHANGE_TIER
  "^mpi_transfers$|^mpi_collectives_lazy$" "^registered_2$" "^random_pieces_2$" "^random_collectives_3$"
  "^lifetimes_4$" "^resident_copy_2$" "^default_stream_lazy$"
  CACHE INTERNAL "")

function(hr_on_hip name environment night)
  set(${environment} "" PARENT_SCOPE)
  foreach(pattern IN LISTS HR_NOT_ON_HIP)
    if(name MATCHES "${pattern}")
      return()
    endif()
  endforeach()
  get_property(count GLOBAL PROPERTY HR_TESTS_ON_HIP)
  math(EXPR next "0${count} + 1")
  set_property(GLOBAL PROPERTY HR_TESTS_ON_HIP ${next})
  math(EXPR version "5 + 0${count} % 3")
  set(${environment} LD_LIBRARY_PATH=${HR_FAKE_HIP_DIR}/${version}:${HR_FAKE_HIP_DIR}/programs FAKE_HIP_ROCM=${version}
                     FAKE_CUDA_KERNELS=${HR_FAKE_CUDA_DIR} HEADRACE_CUDA=off PARENT_SCOPE)
  set(${night} night PARENT_SCOPE)
  foreach(pattern IN LISTS HR_HIP_IN_CHANGE_TIER)
    if(name MATCHES "${pattern}")
      set(${night} "" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
