# Installs the pages (*.md) so that each link leads somewhere. engine/CMakeLists.txt runs it at install time, with
#   KILN_SOURCE   the root of the source tree
#   KILN_PAGES    the pages, by their paths from there
#   KILN_WORK     a folder of the build tree
#   KILN_DOC, KILN_DATA   the installation folders of documentation and data, relative to the prefix or absolute
#
# The catalogue (specs/, kernel_src/) is installed with the data, and all other pages with the documentation. A link
# between two installed files becomes the relative path from one file to the other. A link to a file that is not
# installed, such as a source of the engine, becomes its text. A text that is not a link to an existing file stays
# unchanged.

cmake_policy(VERSION 3.25)

# Sets `result` to the installed place of the source file or folder `own`, relative to the prefix. Sets it to "" if
# `own` is not installed.
function(kiln_installed result own)
  set(${result} "" PARENT_SCOPE)
  if(own MATCHES "^(specs|kernel_src)(/|$)") # kernel_src/ is installed only in part: the code
                                             # of kernels and the figures of pages
    if(own MATCHES "^specs" OR own MATCHES "\\.(cu|cuh|svg|tsv)$" OR own IN_LIST KILN_PAGES)
      set(${result} ${KILN_DATA}/kiln/${own} PARENT_SCOPE)
    endif()
  elseif(own IN_LIST KILN_PAGES OR own MATCHES "^engine/examples/.*\\.(c|cu|yaml)$" OR own STREQUAL LICENSE)
    set(${result} ${KILN_DOC}/${own} PARENT_SCOPE)
  endif()
endfunction()

# Sets `result` to the text of `page` with the links of the installed tree. Brackets and semicolons have a special
# meaning in CMake's lists, so the function replaces them by control characters while it works.
function(kiln_page_text result page)
  get_filename_component(folder ${page} DIRECTORY)
  file(READ ${KILN_SOURCE}/${page} text)
  string(ASCII 1 open)
  string(ASCII 2 close)
  string(ASCII 3 semicolon)
  string(REPLACE "[" "${open}" text "${text}")
  string(REPLACE "]" "${close}" text "${text}")
  string(REPLACE ";" "${semicolon}" text "${text}")
  kiln_installed(here ${page})
  get_filename_component(here ${here} DIRECTORY)
  string(REGEX MATCHALL "${close}\\([^() \n]+\\)" links "${text}")
  list(REMOVE_DUPLICATES links)
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^.\\((.*)\\)$" "\\1" target "${link}")
    string(REGEX REPLACE "#.*" "" file "${target}")
    string(REGEX MATCH "#.*" anchor "${target}")
    get_filename_component(full "${KILN_SOURCE}/${folder}/${file}" ABSOLUTE)
    if(file STREQUAL "" OR target MATCHES "^[a-z]+:" OR NOT EXISTS "${full}")
      continue()
    endif()
    file(RELATIVE_PATH own ${KILN_SOURCE} "${full}")
    kiln_installed(there "${own}")
    if(there)
      file(RELATIVE_PATH path /${here} /${there})
      string(REPLACE "${close}(${target})" "${close}(${path}${anchor})" text "${text}")
    else()
      string(REGEX REPLACE "([.+])" "\\\\\\1" pattern "${target}")
      string(REGEX REPLACE "${open}([^${open}${close}]*)${close}\\(${pattern}\\)" "\\1" text "${text}")
    endif()
  endforeach()
  string(REPLACE "${open}" "[" text "${text}")
  string(REPLACE "${close}" "]" text "${text}")
  string(REPLACE "${semicolon}" ";" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

foreach(page IN LISTS KILN_PAGES)
  kiln_installed(place ${page})
  get_filename_component(folder ${place} DIRECTORY)
  if(NOT IS_ABSOLUTE ${folder})
    set(folder ${CMAKE_INSTALL_PREFIX}/${folder})
  endif()
  kiln_page_text(text ${page})
  file(WRITE ${KILN_WORK}/${page} "${text}")
  file(INSTALL DESTINATION ${folder} TYPE FILE FILES ${KILN_WORK}/${page})
endforeach()
