# Functions that declare the tests in every directory. Each adds one ctest entry.
#
# A test belongs to the change tier, which `make test` runs on every change, unless hr_night() moves it to the night tier,
# which `make test-all` adds. CONTRIBUTING.md describes both tiers and how to choose.
include_guard(GLOBAL)
include(HrHipTest)

# hr_night(<regular expressions...> WHY "reason")
# Tests in this directory, declared above, that only `make test-all` runs.
function(hr_night)
  cmake_parse_arguments(ARG "" "WHY" "" ${ARGN})
  if(NOT ARG_WHY)
    message(FATAL_ERROR "hr_night(${ARGN}): WHY is missing")
  endif()
  _hr_label(night ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# hr_as_hosts_in_change_tier(<regular expressions...>)
# Tests in this directory that the change tier runs a second time as if their ranks were on two hosts. The night tier
# does so with all tests that hr_on_one_host() does not exclude.
function(hr_as_hosts_in_change_tier)
  _hr_label(as_hosts ${ARGN})
endfunction()

function(_hr_label label)
  get_property(all DIRECTORY PROPERTY TESTS)
  foreach(pattern IN LISTS ARGN)
    set(tests ${all})
    list(FILTER tests INCLUDE REGEX "${pattern}")
    if(NOT tests)
      message(FATAL_ERROR "${label}: no test of ${CMAKE_CURRENT_SOURCE_DIR} is called ${pattern}")
    endif()
    set_property(TEST ${tests} APPEND PROPERTY LABELS ${label})
  endforeach()
endfunction()

# hr_unit_test(<name> SOURCES ... LAYERS <layers> [LIBS ...] [LABELS ...] [TIMEOUT s]) One GoogleTest program in one process. Pass
# GTest::gtest in LIBS if the program has its own main().
function(hr_unit_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LAYERS;LIBS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_LIBS MATCHES "GTest::gtest(;|$)")
    list(APPEND ARG_LIBS GTest::gtest_main)
  endif()
  list(TRANSFORM ARG_LAYERS PREPEND hr_)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LAYERS} ${ARG_LIBS} hr_options)
  hr_precompile_like(${name} unit)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "unit;${ARG_LABELS}")
endfunction()

# hr_on_one_host(<tests...> WHY "reason")
# Tests of memory or files shared by the processes on one host: they run on one host even if the others run as if on
# several (HEADRACE_AS_HOSTS, `make test-hosts`), which excludes them by the label one_host.
function(hr_on_one_host)
  cmake_parse_arguments(ARG "" "WHY" "" ${ARGN})
  if(NOT ARG_WHY)
    message(FATAL_ERROR "hr_on_one_host(${ARGN}): WHY is missing")
  endif()
  set_property(TEST ${ARG_UNPARSED_ARGUMENTS} APPEND PROPERTY ENVIRONMENT HEADRACE_AS_HOSTS=1)
  set_property(TEST ${ARG_UNPARSED_ARGUMENTS} APPEND PROPERTY LABELS one_host)
endfunction()

# hr_mpi_test(<name> <program> RANKS n [ARGS ...] [TIMEOUT s] [ENVIRONMENT K=V ...] [LABELS ...])
# A program under Headrace's mpiexec from the build tree. On a hang mpiexec itself ends the job after TIMEOUT seconds (default
# 150) and prints where each rank hangs. <program> is a target or a path.
function(hr_mpi_test name program)
  cmake_parse_arguments(ARG "" "RANKS;TIMEOUT" "ARGS;ENVIRONMENT;LABELS" ${ARGN})
  if(NOT ARG_RANKS)
    message(FATAL_ERROR "hr_mpi_test(${name}): RANKS is missing")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 150)
  endif()
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  math(EXPR ctest_timeout "${ARG_TIMEOUT} + 60")  # mpiexec's limit expires first, which leaves it time to examine the stacks
  add_test(NAME ${name} COMMAND $<TARGET_FILE:mpiexec> --timeout ${ARG_TIMEOUT} -n ${ARG_RANKS} ${program} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ctest_timeout} LABELS "mpi;${ARG_LABELS}"
                       ENVIRONMENT "${ARG_ENVIRONMENT}")
  # Ranks that share a core slow each other down, so ctest -j counts them.
  set_tests_properties(${name} PROPERTIES PROCESSORS ${ARG_RANKS})
  hr_on_hip(${name} "${ARG_ENVIRONMENT}" hip)
  foreach(hip_name IN LISTS hip_names)
    hr_mpi_test(${hip_name} ${program} RANKS ${ARG_RANKS} TIMEOUT ${ARG_TIMEOUT} ARGS ${ARG_ARGS} ${hip_arguments}
                ENVIRONMENT ${hip_environment_${hip_name}} LABELS ${ARG_LABELS} ${hip_labels_${hip_name}})
  endforeach()
endfunction()

# hr_namespace_test(<name> HOSTS n COMMAND <program> [args ...] [IN <host>] [SLURM] [RAILS r] [SHARE what ...]
#                   [NEEDS <program> ...] [NEEDS_FILE <path> ...] [EXPECT status] [TIMEOUT s] [ENVIRONMENT K=V ...]
#                   [LABELS ...] [CONFIGURATIONS hosts] [PROCESSORS n])
# A command on hosts made of namespaces (tests/hosts/namespace_test.py, which sets its environment): inside one of them
# (IN h1), or outside, from where `$HR_HOSTS exec h1 ...` enters one. Skipped, with the reason, if the machine cannot
# create such hosts; with HR_NAMESPACES=required this is a failure (`make test-hosts`). CONFIGURATIONS hosts: too long
# for `make test`, run by `ctest -C hosts` alone. PROCESSORS 1: the test mostly waits, so another may run at the same
# time.
function(hr_namespace_test name)
  cmake_parse_arguments(ARG "SLURM" "HOSTS;IN;RAILS;EXPECT;TIMEOUT;PROCESSORS"
                        "COMMAND;SHARE;NEEDS;NEEDS_FILE;ENVIRONMENT;LABELS;CONFIGURATIONS" ${ARGN})
  if(NOT ARG_HOSTS OR NOT ARG_COMMAND)
    message(FATAL_ERROR "hr_namespace_test(${name}): HOSTS or COMMAND is missing")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 2)
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(words --name ${name} --hosts ${ARG_HOSTS} --limit ${ARG_TIMEOUT})
  if(ARG_SLURM)
    list(APPEND words --slurm)
  endif()
  if(ARG_IN)
    list(APPEND words --in ${ARG_IN})
  endif()
  if(ARG_RAILS)
    list(APPEND words --rails ${ARG_RAILS})
  endif()
  if(DEFINED ARG_EXPECT)
    list(APPEND words --expect ${ARG_EXPECT})
  endif()
  foreach(what IN LISTS ARG_SHARE)
    list(APPEND words --share ${what})
  endforeach()
  foreach(program IN LISTS ARG_NEEDS)
    list(APPEND words --needs ${program})
  endforeach()
  foreach(path IN LISTS ARG_NEEDS_FILE)
    list(APPEND words --needs-file ${path})
  endforeach()
  math(EXPR ctest_timeout "${ARG_TIMEOUT} + 120")  # includes the time to start and stop the cluster, including Slurm
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/hosts/namespace_test.py ${words} --
                                ${ARG_COMMAND}
           CONFIGURATIONS ${ARG_CONFIGURATIONS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ctest_timeout} LABELS "namespaces;${ARG_LABELS}"
    SKIP_RETURN_CODE 77 PROCESSORS ${ARG_PROCESSORS}
    ENVIRONMENT "HR_BUILD=${CMAKE_BINARY_DIR};HR_MPIEXEC=$<TARGET_FILE:mpiexec>;HR_SOURCE=${PROJECT_SOURCE_DIR};${ARG_ENVIRONMENT}")
endfunction()
