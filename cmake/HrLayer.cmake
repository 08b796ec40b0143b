# hr_layer(<name> SOURCES ... DEPS <lower layers> [LIBS <external targets>] [PRECOMPILE <headers that most sources include>])
#
# One static library per layer. A layer's headers are reachable as "<name>/x.hpp" only through build/layers/<name>,
# which only its dependants see: an include of a layer above does not compile (design section 1).
function(hr_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS;PRECOMPILE" ${ARGN})
  set(view ${CMAKE_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name} ${view}/${name} SYMBOLIC)
  add_library(hr_${name} STATIC ${ARG_SOURCES})
  target_include_directories(hr_${name} PUBLIC ${view})
  target_link_libraries(hr_${name} PUBLIC hr_options)
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(hr_${name} PUBLIC hr_${dep})
  endforeach()
  hr_precompile(hr_${name} ${ARG_PRECOMPILE})
  if(ARG_LIBS)
    target_link_libraries(hr_${name} PUBLIC ${ARG_LIBS})
  endif()
endfunction()

# hr_room(<layer> <room> [SEES <rooms>] [FACES <headers>] SOURCES ...)
#
# A room of a layer: a folder with its sources. Rooms are declared from the lowest to the highest; SEES lists the rooms
# whose headers this one includes. FACES are headers in the layer's folder, for layers above, that this room implements.
# scripts/rooms.py counts the includes that violate this, and a test limits their number.
function(hr_room layer room)
  cmake_parse_arguments(ARG "" "" "SEES;FACES;SOURCES" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/${room}/)
  target_sources(hr_${layer} PRIVATE ${ARG_SOURCES})
endfunction()
