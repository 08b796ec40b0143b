# Manual pages, generated during the build: section 3 from api/, section 1 from the commands' help texts. In the build
# tree `man -M <build>/share/man mpiexec` shows them. Include after mpiexec is a target.
include_guard(GLOBAL)

set(manual ${CMAKE_BINARY_DIR}/share/man)
file(GLOB_RECURSE HR_COMMAND_FILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/headrace/*.py)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/manual.stamp
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/api/generate.py man ${manual}
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/docs/man.py $<TARGET_FILE:mpiexec> ${manual}
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/manual.stamp
  DEPENDS mpiexec ${HR_API_FILES} ${HR_COMMAND_FILES} ${PROJECT_SOURCE_DIR}/scripts/docs/man.py
  COMMENT "Manual pages" VERBATIM)
add_custom_target(manual ALL DEPENDS ${CMAKE_BINARY_DIR}/manual.stamp)
install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR})
