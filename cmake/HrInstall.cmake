# Installation directories, and the build tree as a separate prefix. Include after GNUInstallDirs.
#
# By `cmake --install`: the directories of GNUInstallDirs. By pip (scikit-build-core) these same variables point into
# the wheel, so that .venv/bin/mpiexec, .venv/lib/libmpi_abi.so.1 and .venv/include/mpi.h correspond to a system-wide
# installation, and no install rule need know the difference.
include_guard(GLOBAL)

if(DEFINED SKBUILD_DATA_DIR)
  set(CMAKE_INSTALL_BINDIR ${SKBUILD_SCRIPTS_DIR})
  set(CMAKE_INSTALL_MANDIR ${SKBUILD_DATA_DIR}/share/man)
  set(CMAKE_INSTALL_LIBDIR ${SKBUILD_DATA_DIR}/lib)
  set(CMAKE_INSTALL_INCLUDEDIR ${SKBUILD_DATA_DIR}/include)
  set(CMAKE_INSTALL_DATADIR ${SKBUILD_DATA_DIR}/share)
  # Paths within the environment that the wheel is installed into.
  set(HR_PREFIX_FROM_BIN ..)
  set(HR_BINDIR_NAME bin)
  set(HR_LIBDIR_NAME lib)
  set(HR_INCLUDEDIR_NAME include)
  set(HR_DATADIR_NAME share)
else()
  file(RELATIVE_PATH HR_PREFIX_FROM_BIN ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_PREFIX})
  set(HR_BINDIR_NAME ${CMAKE_INSTALL_BINDIR})
  set(HR_LIBDIR_NAME ${CMAKE_INSTALL_LIBDIR})
  set(HR_INCLUDEDIR_NAME ${CMAKE_INSTALL_INCLUDEDIR})
  set(HR_DATADIR_NAME ${CMAKE_INSTALL_DATADIR})
endif()

# hr_install_bench(<programs...>)
# Installs programs where `headrace bench` and `headrace tune` find them. A program finds the MPI library that its launcher names, else the
# one two directories up. HEADRACE_CXX_LIBRARY: a shared libstdc++ for these programs alone, where they cannot count on the system's
# (packaging/wheel) and each with its own would be too large together.
function(hr_install_bench)
  set(to ${CMAKE_INSTALL_LIBDIR}/headrace/bench)
  set_target_properties(${ARGN} PROPERTIES INSTALL_RPATH "$ORIGIN/../..;$ORIGIN")
  install(TARGETS ${ARGN} RUNTIME DESTINATION ${to})
  if(HEADRACE_CXX_LIBRARY)
    foreach(program IN LISTS ARGN)
      target_link_libraries(${program} PRIVATE ${HEADRACE_CXX_LIBRARY})
      target_link_options(${program} PRIVATE -s)
    endforeach()
    install(FILES ${HEADRACE_CXX_LIBRARY} DESTINATION ${to})
  endif()
endfunction()

# bin/, lib/ and include/ of the build tree: its mpicc and mpiexec work without an installation.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include SYMBOLIC)
