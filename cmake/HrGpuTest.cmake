# hr_gpu_test(<name> SOURCES ... LAYERS ... [LIBS ...] [NO_DEFAULT_RUN])
#
# A GoogleTest program for GPU paths, run with the fake driver three times: with streams that run ahead (plain), with
# streams that do nothing until the host waits for them (lazy: a missing wait fails), and without kernels (copy engine).
# The program itself is independent of the fake driver; tests/gpu/run.sh runs it on a real driver.
include_guard(GLOBAL)
include(HrTest)

function(hr_gpu_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LAYERS;LIBS" ${ARGN})
  list(TRANSFORM ARG_LAYERS PREPEND hr_ OUTPUT_VARIABLE layers)
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/gpu)
  target_link_libraries(${name} PRIVATE ${layers} ${ARG_LIBS} GTest::gtest hr_options)
  hr_precompile_like(${name} unit)
  add_dependencies(${name} fake_hip_all)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/gpu_tests)
  set(fake LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/fake_cuda)
  hr_gpu_test_run(${name} ${name} ENVIRONMENT ${fake})
  hr_gpu_test_run(${name}_lazy ${name} ENVIRONMENT ${fake} FAKE_CUDA_LAZY=1)
  hr_gpu_test_run(${name}_copy_engine ${name} ENVIRONMENT ${fake} HEADRACE_DEVICE_KERNELS=off)
endfunction()

# hr_gpu_test_run(<test> <target> [ARGS ...] [ENVIRONMENT ...]): another run of such a program.
function(hr_gpu_test_run test target)
  cmake_parse_arguments(ARG "" "" "ARGS;ENVIRONMENT" ${ARGN})
  add_test(NAME ${test} COMMAND ${target} ${ARG_ARGS})
  set_tests_properties(${test} PROPERTIES TIMEOUT 300 LABELS "unit;gpu" ENVIRONMENT "${ARG_ENVIRONMENT}")
  hr_on_hip(${test} "${ARG_ENVIRONMENT}" hip)
  foreach(hip_name IN LISTS hip_names)
    add_test(NAME ${hip_name} COMMAND ${target} ${ARG_ARGS} ${hip_arguments})
    set_tests_properties(${hip_name} PROPERTIES TIMEOUT 300 LABELS "unit;${hip_labels_${hip_name}}"
                         ENVIRONMENT "${hip_environment_${hip_name}}")
  endforeach()
endfunction()
