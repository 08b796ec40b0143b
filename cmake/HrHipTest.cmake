# Device tests run once more with HIP, on the fake runtime (tests/fake_hip): hr_mpi_test() and
# hr_gpu_test_run() do this for each test that runs on the fake CUDA driver, under the name hip_... The program calls
# the driver through CUDA names; the library under test uses the same devices through HIP names. ROCm versions take
# turns; at night, each test runs with the other versions, too, as hip_..._rocm6.
#
# This file determines the tests that run there, and those of the change tier.
include_guard(GLOBAL)

set(HR_NOT_ON_HIP
  "streams|enqueue|torch"    # they use graphs and matched operations; tests/gpu declares versions without these
  "time_sliced"              # AMD devices run the work of several processes concurrently
  "^mpich"                   # programs built with MPICH, which test its ABI and not its devices
  "unit_mem_(no|knob|before|one)"  # tests of a missing driver; hip_program_* are the HIP counterparts
  "unit_cuda_ipc|nccl"       # tests of the CUDA driver itself, and of another library's use of it
  CACHE INTERNAL "")
set(HR_HIP_IN_CHANGE_TIER
  "^gpu_mpi_collectives_lazy$|^gpu_registered_2$|^gpu_random_pieces_2$|^gpu_random_collectives_3$"
  "^gpu_lifetimes_4$|^gpu_resident_copy_2$|^gpu_default_stream_lazy$|^gpu_partitioned_kernel_2$|^unit_mem$"
  CACHE INTERNAL "")

# Tests that count memory in use, which grows with each export in ROCm 7's default mode of export. Of the others, those
# for which 7 is one of the other versions run in that mode.
set(HR_HIP_COUNTS_MEMORY "lifetimes|sessions" CACHE INTERNAL "")

# hr_hip_environment(<ROCm> <variable>): the environment in which a program that calls the driver through CUDA names runs
# with this version of HIP.
function(hr_hip_environment version variable)
  string(REGEX REPLACE "[.].*" "" major ${version})
  set(environment LD_LIBRARY_PATH=${HR_FAKE_HIP_DIR}/${major}:${HR_FAKE_HIP_DIR}/programs FAKE_HIP_ROCM=${version}
      FAKE_CUDA_KERNELS=${HR_FAKE_CUDA_DIR} HEADRACE_CUDA=off)
  if(major EQUAL 7)
    list(APPEND environment HSA_ENABLE_IPC_MODE_LEGACY=1)  # exported memory stays in use otherwise (docs/amd.md)
  endif()
  set(${variable} ${environment} PARENT_SCOPE)
endfunction()

# hr_on_hip(<test> <its environment> <prefix>): sets <prefix>_names (empty: not run with HIP), <prefix>_arguments (to be
# added), and for each name <prefix>_environment_<name> and <prefix>_labels_<name> in the caller's scope.
function(hr_on_hip test environment prefix)
  set(${prefix}_names "" PARENT_SCOPE)
  if(NOT environment MATCHES "LD_LIBRARY_PATH=[^;]*/fake_cuda(;|$)")
    return()
  endif()
  foreach(pattern IN LISTS HR_NOT_ON_HIP)
    if(test MATCHES "${pattern}")
      return()
    endif()
  endforeach()
  get_property(count GLOBAL PROPERTY HR_TESTS_ON_HIP)
  math(EXPR next "0${count} + 1")
  set_property(GLOBAL PROPERTY HR_TESTS_ON_HIP ${next})
  set(versions 5 6 7)
  if(test MATCHES "chunks")
    set(versions 6 7 7.12)  # ROCm 5 does not export memory in chunks
  endif()
  math(EXPR turn "0${count} % 3")
  list(GET versions ${turn} version)
  if(test MATCHES "default_stream")
    set(version 5)  # this version has no handle for that stream
  endif()
  list(FILTER environment EXCLUDE REGEX "^LD_LIBRARY_PATH=")
  if(test MATCHES "partitioned_kernel")
    list(APPEND environment FAKE_HIP_FINE_GRAINED=1)  # its kernels mark partitions while they run
  endif()
  set(labels gpu hip one_host night)  # the other versions run the tests as if on several hosts
  foreach(pattern IN LISTS HR_HIP_IN_CHANGE_TIER)
    if(test MATCHES "${pattern}")
      list(REMOVE_ITEM labels night)
    endif()
  endforeach()
  set(arguments "")
  if(test MATCHES "random_pieces")  # with HIP, kernels do not access other devices' memory in a process
    set(arguments --expect either)
  endif()
  if(test MATCHES "resident_copy")  # a kernel that stays on the device cannot publish what it stores
    set(arguments --expect none)
  endif()
  if(test MATCHES "^unit_mem")  # tests of CUDA's contexts, function names and chunks, of pools without a context, and of the resident copy kernel
    string(JOIN ":" without Classify.EveryKind Classify.PoolAndVmmHaveNoContext Copy.FailureNamesCallPointerDeviceAndError
           Contexts.ExhaustedMemorySaysSo Contexts.NothingIsLeftAfterShutdown Contexts.MemoryOfAContextThatIsNotThePrimary
           Contexts.SurvivesAResetOfTheDevice ResidentCopiers.*)
    set(arguments --gtest_filter=-${without})
  endif()
  string(REPLACE hip_gpu_ hip_ name hip_${test})
  hr_hip_environment(${version} on_hip)
  set(names ${name})
  set(${prefix}_environment_${name} ${environment} ${on_hip} PARENT_SCOPE)
  set(${prefix}_labels_${name} ${labels} PARENT_SCOPE)
  list(REMOVE_ITEM versions ${version})
  foreach(version IN LISTS versions)
    hr_hip_environment(${version} on_hip)
    if(version EQUAL 7 AND NOT test MATCHES "${HR_HIP_COUNTS_MEMORY}")
      list(REMOVE_ITEM on_hip HSA_ENABLE_IPC_MODE_LEGACY=1)
    endif()
    list(APPEND names ${name}_rocm${version})
    set(${prefix}_environment_${name}_rocm${version} ${environment} ${on_hip} PARENT_SCOPE)
    set(${prefix}_labels_${name}_rocm${version} gpu hip one_host night PARENT_SCOPE)
  endforeach()
  set(${prefix}_names ${names} PARENT_SCOPE)
  set(${prefix}_arguments ${arguments} PARENT_SCOPE)
endfunction()
