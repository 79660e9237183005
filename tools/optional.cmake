# Tests of optional parts. A part is tested before it is used. So if something on a machine is broken, the build leaves
# out this part, and one line says why. tests/optional checks this.

# Says that a part is left out. tools/build.sh shows these lines. left_out.txt lists the parts for tests/optional.
file(WRITE ${CMAKE_BINARY_DIR}/left_out.txt "")
function(kiln_leave_out part reason)
  string(REGEX REPLACE "[ \t\r\n]+" " " reason "${reason}")
  message(STATUS "left out: ${part}: ${reason}")
  file(APPEND ${CMAKE_BINARY_DIR}/left_out.txt "${part}\n")
endfunction()

# Validators for find_path and find_program: they reject a candidate that does not work.
function(kiln_check_cuda_headers result folder)
  try_compile(works SOURCE_FROM_CONTENT cuda.c "#include <cuda.h>\nint main(void) { CUdevice d = CUDA_VERSION; return (int)d; }\n"
              CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${folder} NO_CACHE)
  if(NOT works)
    message(STATUS "${folder}/cuda.h is passed over: it does not compile")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
function(kiln_check_python result program)
  execute_process(COMMAND ${program} -c "print(6 * 7)" OUTPUT_VARIABLE out RESULT_VARIABLE code TIMEOUT 60 ERROR_QUIET)
  if(NOT code STREQUAL 0 OR NOT out STREQUAL "42\n")
    message(STATUS "${program} is passed over: it does not run")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Configures and builds the project in `source` in a separate process. Sets `result` to whether this succeeds, and
# `reason` to the first error line. Each run of CMake repeats the test, because the machine may have changed. The build
# folder of the test is kept, which makes the repetition quick. Old files in this folder may cause a failure, so after a
# failure the test is repeated in an empty folder.
function(kiln_probe_project result reason source)
  get_filename_component(name ${source} DIRECTORY)
  get_filename_component(name ${name} NAME)
  set(folder ${CMAKE_BINARY_DIR}/probe/${name})
  string(REPLACE ";" "\\;" prefix "${CMAKE_PREFIX_PATH}")
  set(${result} FALSE PARENT_SCOPE)
  foreach(try kept empty)
    if(try STREQUAL empty)
      file(REMOVE_RECURSE ${folder})
    elseif(NOT EXISTS ${folder})
      continue()
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -G ${CMAKE_GENERATOR} -S ${source} -B ${folder}
                            -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM} -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}
                            -DCMAKE_C_FLAGS=${CMAKE_C_FLAGS} -DCMAKE_PREFIX_PATH=${prefix}
                            -DCMAKE_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE} -DCMAKE_POSITION_INDEPENDENT_CODE=ON
                            -DCMAKE_C_STANDARD=11 -DANSWERS=${folder}/answers.cmake --no-warn-unused-cli
                    RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out TIMEOUT 120)
    if(code STREQUAL 0)
      execute_process(COMMAND ${CMAKE_COMMAND} --build ${folder} RESULT_VARIABLE code OUTPUT_VARIABLE out
                      ERROR_VARIABLE out TIMEOUT 120)
    endif()
    if(code STREQUAL 0)
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
  endforeach()
  file(WRITE ${folder}/log "${out}")
  set(error "")
  if(out MATCHES "CMake Error[^\n]*:\n[ \n]*([^\n]+)")
    set(error "${CMAKE_MATCH_1}")
  elseif(out MATCHES "(error: [^\n]+)")
    set(error "${CMAKE_MATCH_1}")
  elseif(out MATCHES "(cannot find [^\n]+)")
    set(error "${CMAKE_MATCH_1}")
  else()
    set(error "ended with ${code}") # the exit code, or a text about the signal or the time limit
  endif()
  set(${reason} "${error} (${folder}/log)" PARENT_SCOPE)
endfunction()
