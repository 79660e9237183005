# finish.cmake: adds the files that Debian requires to the installed files. cpack runs it after each component was
# installed into a separate folder, and before the packages are made. It does not change the build folder or an ordinary
# installation.
if(NOT CPACK_GENERATOR STREQUAL "DEB") # an archive (cpack -G TGZ) has the same files as `cmake --install`
  return()
endif()
set(packages "library|${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME}" "development|${CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME}"
    "command|${CPACK_DEBIAN_COMMAND_PACKAGE_NAME}" "simulator|${CPACK_DEBIAN_SIMULATOR_PACKAGE_NAME}")
set(here ${CMAKE_CURRENT_LIST_DIR})

function(finish_run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# The date of the entry in Debian's changelog. With SOURCE_DATE_EPOCH the date and the packages are the same in each
# run.
set(ENV{LC_ALL} C)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

foreach(entry IN LISTS packages)
  string(REPLACE "|" ";" entry ${entry})
  list(GET entry 0 component)
  list(GET entry 1 package)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  if(NOT IS_DIRECTORY ${root})
    message(FATAL_ERROR "${root} is not there: the component '${component}' has no files")
  endif()
  set(doc ${root}/share/doc/${package})
  file(MAKE_DIRECTORY ${doc})
  configure_file(${here}/copyright ${doc}/copyright COPYONLY)
  file(WRITE ${doc}/changelog.Debian
       "kiln (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
       "  * Made by cpack from the sources of version ${CPACK_PACKAGE_VERSION}.\n\n"
       " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  finish_run(gzip -9n ${doc}/changelog.Debian)
  set(copied ${doc}/copyright)
  if(EXISTS ${here}/${package}.lintian-overrides)
    configure_file(${here}/${package}.lintian-overrides ${root}/share/lintian/overrides/${package} COPYONLY)
    list(APPEND copied ${root}/share/lintian/overrides/${package})
  endif()
  # A copy has the permissions of its original, which are 0664 in an archive of git.
  file(CHMOD ${copied} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()

set(root ${CPACK_TEMPORARY_DIRECTORY}/command/usr)
set(doc ${root}/share/doc/kiln)
file(REMOVE ${doc}/LICENSE) # its text is in `copyright`
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
finish_run(gzip -9n ${doc}/changelog ${root}/share/man/man1/kiln.1)
file(GLOB_RECURSE pages ${doc}/*.md)
foreach(page IN LISTS pages) # links get the new names of the files
  file(READ ${page} text)
  if(text MATCHES "CHANGELOG\\.md\\)")
    string(REPLACE "CHANGELOG.md)" "changelog.gz)" text "${text}")
    file(WRITE ${page} "${text}")
  endif()
endforeach()
file(MAKE_DIRECTORY ${root}/share/zsh)
file(RENAME ${root}/share/zsh/site-functions ${root}/share/zsh/vendor-completions) # the folder that Debian's zsh
                                                                                   # searches

file(GLOB_RECURSE archives ${CPACK_TEMPORARY_DIRECTORY}/development/usr/*.a)
# CPack strips programs and shared libraries only.
finish_run(strip --strip-debug --remove-section=.comment --enable-deterministic-archives ${archives})
