# hr_fatbin(<name> [AMD] SOURCES a.cu ...)
#
# Compiles CUDA kernels for the architectures in HEADRACE_CUDA_ARCHITECTURES (and PTX for newer devices) and makes the library
# target <name>_fatbin, which holds the image as `extern "C" const unsigned char <name>_fatbin[]`; give it to cuModuleLoadData.
# Programs link it with target_link_libraries(program PRIVATE <name>_fatbin). No CUDA header or library is needed at run time.
#
# nvcc is found through the variable HEADRACE_NVCC, else in the Python packages of the build (nvidia-cuda-nvcc and
# friends), else in the system. Without nvcc the image is empty: loading it fails with a clear CUDA error, and the
# library falls back to its copy-engine path.
#
# AMD: also compiles the kernels for AMD's gfx90a (MI200) and gfx942 (MI300), as <name>_code_objects[], a bundle for
# hipModuleLoadData. The compiler is clang 17 or newer with lld (HEADRACE_AMD_CLANG; Debian's clang-19 and lld-19); neither
# HIP's headers nor device libraries are needed. Without this compiler the bundle is empty.
#
# Each image is followed by a trailer, "HRKERNEL" and the name, by which the tests' fake driver (tests/fake_cuda) finds
# lib<name>_host_kernels.so: the same sources compiled for the CPU, built into <build>/fake_cuda when HEADRACE_TESTS is on. Kernel sources
# therefore include kernels/portability.hpp and declare kernels with HR_KERNEL.
include_guard(GLOBAL)

set(HR_FAKE_CUDA_DIR ${CMAKE_BINARY_DIR}/fake_cuda CACHE INTERNAL "where the fake driver and host kernels are built")
set(HR_FAKE_HIP_DIR ${CMAKE_BINARY_DIR}/fake_hip CACHE INTERNAL "where the fake HIP runtime is built")
get_filename_component(HR_KERNELS_INCLUDE ${CMAKE_CURRENT_LIST_DIR}/../kernels ABSOLUTE CACHE)  # portability.hpp
set(HR_KERNELS_INCLUDE ${HR_KERNELS_INCLUDE} CACHE INTERNAL "")
set(HR_FATBIN_TEMPLATE ${CMAKE_CURRENT_LIST_DIR}/fatbin.S.in CACHE INTERNAL "assembly that embeds an image")

set(HEADRACE_CUDA_ARCHITECTURES 80 90 CACHE STRING "Compute capabilities of the kernels, from 80 on; devices of others from 90 on use PTX")
set(HEADRACE_NVCC_FLAGS "" CACHE STRING "Further options of nvcc for the kernels")

function(_hr_find_nvcc result)
  if(NOT HEADRACE_NVCC)
    find_package(Python3 QUIET COMPONENTS Interpreter)
    if(Python3_EXECUTABLE)
      execute_process(
        COMMAND ${Python3_EXECUTABLE} -c
          "import glob, sys; print(';'.join(f for p in sys.path for f in sorted(glob.glob(p + '/nvidia/cu*/bin'), reverse=True)))"
        OUTPUT_VARIABLE package_dirs OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    find_program(HEADRACE_NVCC nvcc HINTS ${package_dirs} PATHS /usr/local/cuda/bin DOC "CUDA compiler for the kernels")
  endif()
  if(HEADRACE_NVCC)
    execute_process(COMMAND ${HEADRACE_NVCC} --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status)
    if(NOT status EQUAL 0 OR NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
      message(WARNING "Headrace: ${HEADRACE_NVCC} does not run; kernels are left out")
    elseif(CMAKE_MATCH_1 VERSION_LESS 11.8)
      message(WARNING "Headrace: ${HEADRACE_NVCC} is CUDA ${CMAKE_MATCH_1}, 11.8 is needed; kernels are left out")
    else()
      set(${result} ${HEADRACE_NVCC} PARENT_SCOPE)
      message(STATUS "Headrace: kernels compiled by ${HEADRACE_NVCC} (CUDA ${CMAKE_MATCH_1})")
      return()
    endif()
  else()
    message(STATUS "Headrace: no nvcc found; device data moves by copy engine only "
                   "(pip install nvidia-cuda-nvcc, or set HEADRACE_NVCC)")
  endif()
  set(${result} "" PARENT_SCOPE)
endfunction()

set(HR_AMD_ARCHITECTURES gfx90a gfx942)
# Floating-point results must equal the host's, so nothing is contracted. Version 4 of code objects loads from ROCm 5
# on.
set(HR_AMD_OPTIONS -x hip --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -O3 -std=c++17
    -ffp-contract=off -mcode-object-version=4 -Wno-bitwise-conditional-parentheses)

function(_hr_find_amd_clang result)
  find_program(HEADRACE_AMD_CLANG NAMES clang++-19 clang++-20 clang++-18 amdclang++ clang++ PATHS /opt/rocm/llvm/bin
               DOC "Compiler of the kernels for AMD GPUs: clang 17 or newer, with lld")
  set(${result} "" PARENT_SCOPE)
  if(NOT HEADRACE_AMD_CLANG)
    message(STATUS "Headrace: no clang found; data on AMD GPUs moves by copy engine only (apt install clang-19 lld-19)")
    return()
  endif()
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/amd_probe)
  file(WRITE ${probe}.hip "extern \"C\" __attribute__((global)) void probe(int* out) { *out = 1; }\n")
  execute_process(COMMAND ${HEADRACE_AMD_CLANG} ${HR_AMD_OPTIONS} --offload-arch=gfx942 -o ${probe}.co ${probe}.hip
                  RESULT_VARIABLE status ERROR_VARIABLE text OUTPUT_QUIET)
  if(NOT status EQUAL 0)
    string(REGEX REPLACE "\n.*" "" text "${text}")
    message(STATUS "Headrace: ${HEADRACE_AMD_CLANG} does not compile for AMD GPUs, whose data moves by copy engine only "
                   "(${text}); clang 17 or newer with lld does (apt install clang-19 lld-19)")
    return()
  endif()
  set(${result} ${HEADRACE_AMD_CLANG} PARENT_SCOPE)
  message(STATUS "Headrace: kernels for AMD GPUs compiled by ${HEADRACE_AMD_CLANG}")
endfunction()

# Compiles `unit` for each architecture with the options `include`, and sets HR_BUNDLE_ENTRIES, HR_BUNDLE_BODIES and <objects>
# in the caller's scope.
function(_hr_code_objects name unit include sources objects)
  set(${objects} "" PARENT_SCOPE)
  set(HR_BUNDLE_COUNT 0 PARENT_SCOPE)
  set(HR_BUNDLE_ENTRIES "" PARENT_SCOPE)
  set(HR_BUNDLE_BODIES "" PARENT_SCOPE)
  get_property(searched GLOBAL PROPERTY HR_AMD_CLANG_SEARCHED)
  if(NOT searched)
    _hr_find_amd_clang(clang)
    set_property(GLOBAL PROPERTY HR_AMD_CLANG_SEARCHED ON)
    set_property(GLOBAL PROPERTY HR_AMD_CLANG "${clang}")
  endif()
  get_property(clang GLOBAL PROPERTY HR_AMD_CLANG)
  if(NOT clang)
    return()
  endif()
  # The bundle lists the host first, without code.
  set(id "host-${CMAKE_SYSTEM_PROCESSOR}-unknown-linux--")
  string(LENGTH ${id} length)
  set(entries "  .quad 0, 0, ${length}\n  .ascii \"${id}\"\n")
  set(bodies "")
  set(made "")
  set(count 1)
  foreach(architecture IN LISTS HR_AMD_ARCHITECTURES)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.${architecture}.co)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${clang} -c ${HR_AMD_OPTIONS} --offload-arch=${architecture} ${include} -MD
        -MF ${object}.d -MT ${object} -o ${object} ${unit}
      DEPENDS ${unit} ${sources}
      DEPFILE ${object}.d
      COMMENT "clang ${name}.${architecture}.co" VERBATIM)
    list(APPEND made ${object})
    set(id "hipv4-amdgcn-amd-amdhsa--${architecture}")
    string(LENGTH ${id} length)
    string(APPEND entries "  .quad ${name}_${architecture} - ${name}_code_objects, ${name}_${architecture}_end - "
                          "${name}_${architecture}, ${length}\n  .ascii \"${id}\"\n")
    string(APPEND bodies "  .balign 4096\n${name}_${architecture}:\n  .incbin \"${object}\"\n${name}_${architecture}_end:\n")
    math(EXPR count "${count} + 1")
  endforeach()
  set(${objects} ${made} PARENT_SCOPE)
  set(HR_BUNDLE_COUNT ${count} PARENT_SCOPE)
  set(HR_BUNDLE_ENTRIES "${entries}" PARENT_SCOPE)
  set(HR_BUNDLE_BODIES "${bodies}" PARENT_SCOPE)
endfunction()

function(hr_fatbin name)
  cmake_parse_arguments(ARG "AMD" "" "SOURCES" ${ARGN})
  get_property(searched GLOBAL PROPERTY HR_NVCC_SEARCHED)
  if(NOT searched)
    _hr_find_nvcc(nvcc)
    set_property(GLOBAL PROPERTY HR_NVCC_SEARCHED ON)
    set_property(GLOBAL PROPERTY HR_NVCC "${nvcc}")
  endif()
  get_property(nvcc GLOBAL PROPERTY HR_NVCC)

  # All sources form one translation unit, which avoids device linking. It names no directories, so that ccache finds it
  # from every checkout; ccache needs -c, which changes nothing here.
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/${name}_kernels.cu)
  set(text "")
  set(include -I${HR_KERNELS_INCLUDE})
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(directory ${path} DIRECTORY)
    get_filename_component(file ${path} NAME)
    string(APPEND text "#include \"${file}\"\n")
    list(APPEND include -I${directory})
  endforeach()
  list(REMOVE_DUPLICATES include)
  file(GENERATE OUTPUT ${unit} CONTENT "${text}")

  set(HR_NAME ${name})
  set(HR_IMAGE "")
  set(HR_HAVE_IMAGE 0)
  set(images "")
  set(HR_BUNDLE_COUNT 0)
  set(HR_BUNDLE_ENTRIES "")
  set(HR_BUNDLE_BODIES "")
  set(assembly ${CMAKE_CURRENT_BINARY_DIR}/${name}_fatbin.S)
  if(nvcc)
    set(HR_IMAGE ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
    set(HR_HAVE_IMAGE 1)
    set(architectures "")
    foreach(number IN LISTS HEADRACE_CUDA_ARCHITECTURES)
      list(APPEND architectures -gencode arch=compute_${number},code=sm_${number})
    endforeach()
    add_custom_command(
      OUTPUT ${HR_IMAGE}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${nvcc} -c --fatbin -O3 -Xfatbin -compress-all ${HEADRACE_NVCC_FLAGS} -std=c++17 ${include}
        ${architectures} -gencode arch=compute_90,code=compute_90
        -MD -MF ${HR_IMAGE}.d -o ${HR_IMAGE} ${unit}
      DEPENDS ${unit} ${ARG_SOURCES}
      DEPFILE ${HR_IMAGE}.d
      COMMENT "nvcc ${name}.fatbin" VERBATIM)
    list(APPEND images ${HR_IMAGE})
  endif()
  if(ARG_AMD)
    _hr_code_objects(${name} ${unit} "${include}" "${ARG_SOURCES}" objects)
    list(APPEND images ${objects})
  endif()
  set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS "${images}")
  configure_file(${HR_FATBIN_TEMPLATE} ${assembly} @ONLY)
  set_source_files_properties(${assembly} PROPERTIES LANGUAGE C COMPILE_OPTIONS "-x;assembler-with-cpp")
  add_library(${name}_fatbin STATIC ${assembly})
  set_target_properties(${name}_fatbin PROPERTIES C_COMPILER_LAUNCHER "")  # no cache, as it does not track .incbin's files

  if(HEADRACE_TESTS)
    set_source_files_properties(${unit} PROPERTIES LANGUAGE CXX)
    add_library(${name}_host_kernels SHARED ${unit})
    target_compile_options(${name}_host_kernels PRIVATE ${include})
    # A misaligned access ends the program, as on the device.
    target_compile_options(${name}_host_kernels PRIVATE -fsanitize=alignment -fsanitize-undefined-trap-on-error
                           -ftls-model=initial-exec)  # LeakSanitizer cannot read opened libraries' thread-locals
    set_target_properties(${name}_host_kernels PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${HR_FAKE_CUDA_DIR})
    set_property(GLOBAL APPEND PROPERTY HR_HOST_KERNELS ${name}_host_kernels)
  endif()
endfunction()

# Gives a program that launches no kernels an image without code: it comes before the image in the layers that the program
# is linked to, which would add megabytes to the program.
function(hr_without_kernels target name)
  set(HR_NAME ${name})
  set(HR_IMAGE "")
  set(HR_HAVE_IMAGE 0)
  set(HR_BUNDLE_COUNT 0)
  set(HR_BUNDLE_ENTRIES "")
  set(HR_BUNDLE_BODIES "")
  set(assembly ${CMAKE_CURRENT_BINARY_DIR}/no_${name}_kernels.S)
  configure_file(${HR_FATBIN_TEMPLATE} ${assembly} @ONLY)
  set_source_files_properties(${assembly} PROPERTIES LANGUAGE C COMPILE_OPTIONS "-x;assembler-with-cpp"
                              SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE ${assembly})
endfunction()
