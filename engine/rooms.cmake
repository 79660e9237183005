# Makes one static library for each room, from the .c files of its folder and of the folders inside it that are not
# rooms themselves. Each room comes after the rooms that it uses. USES lists the rooms whose headers the room may
# include. This is not transitive: an include of any other room's header does not compile (tests/rooms checks the same
# for symbols). ARCHITECTURE.md has the same table with the content of each room. Paths are relative to this folder. The
# global property KILN_ROOMS lists the rooms.
set(KILN_ENGINE ${CMAKE_CURRENT_LIST_DIR})
function(kiln_room path)
  cmake_parse_arguments(arg "" "" "USES;PACKAGES;INSIDE" ${ARGN})
  string(REPLACE / _ name ${path})
  set(folders ${KILN_ENGINE}/${path})
  foreach(inside ${arg_INSIDE})
    list(APPEND folders ${KILN_ENGINE}/${path}/${inside})
  endforeach()
  set(patterns ${folders})
  list(TRANSFORM patterns APPEND /*.c)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(NOT sources) # the room has only headers
    add_library(kiln_${name} INTERFACE)
    target_compile_options(kiln_${name} INTERFACE "SHELL:-iquote ${folders}")
    return()
  endif()
  add_library(kiln_${name} STATIC ${sources})
  target_link_libraries(kiln_${name} PUBLIC kiln_flags PRIVATE ${arg_PACKAGES})
  kiln_count_edges(kiln_${name}) # for fuzz targets
  if(KILN_DEBUG_INFO) # only files that define public functions get debug information, which takes a quarter of a file's
                      # compile time
    foreach(source ${sources})
      file(STRINGS ${source} public REGEX "^[a-z][a-z0-9_ ]*[ *]kiln_[a-z][a-z0-9_]*\\(" LIMIT_COUNT 1)
      if(public)
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -g)
      endif()
    endforeach()
  endif()
  foreach(folder ${folders}) # -iquote: <search.h> stays the system's
    target_compile_options(kiln_${name} PUBLIC "SHELL:-iquote ${folder}")
  endforeach()
  foreach(room ${arg_USES})
    if(room STREQUAL sim/programs AND NOT KILN_SIM_PROGRAMS)
      continue()
    endif()
    string(REPLACE / _ room ${room})
    target_link_libraries(kiln_${name} PRIVATE kiln_${room})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY KILN_ROOMS ${name})
endfunction()


# Makes two libraries for programs that are not rooms: NAME_headers gives them the headers of all rooms, and NAME_rooms
# links all rooms.
function(kiln_all_rooms name)
  get_property(rooms GLOBAL PROPERTY KILN_ROOMS)
  add_library(${name}_headers INTERFACE)
  add_library(${name}_rooms INTERFACE)
  foreach(library ${name}_headers ${name}_rooms)
    target_link_libraries(${library} INTERFACE kiln_sim_include)
  endforeach()
  foreach(room ${rooms})
    target_compile_options(${name}_headers INTERFACE $<TARGET_PROPERTY:kiln_${room},INTERFACE_COMPILE_OPTIONS>)
    target_link_libraries(${name}_rooms INTERFACE kiln_${room})
  endforeach()
endfunction()
