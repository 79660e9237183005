# The settings of every build: options, packages, the CUDA headers, and the flags of all targets (kiln_flags). The build
# of Kiln includes this file, and so does the build of the simulated device alone (engine/sim).
get_filename_component(KILN_ROOT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
include(GNUInstallDirs)
include(${CMAKE_CURRENT_LIST_DIR}/optional.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/hardening.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/fuzzing.cmake)

option(KILN_WERROR "Treat warnings as errors (CI does)" OFF)
option(KILN_DEBUG_INFO "Give the public functions debug information in every build: the test abi needs it" OFF)
option(KILN_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(KILN_STATIC_DEPS "Link libyaml, xxHash, libelf, LZ4, Zstandard, zlib, SQLite and jansson from their .a files, so that programs run where they are not installed" OFF)
set(KILN_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
set(KILN_CUDA_INCLUDE "" CACHE PATH "Folder of cuda.h; empty: looked for")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
# The Python for tests and the Python module. The Python of the system has the packages that tools/setup.sh installs, so
# it is preferred to another Python in PATH.
find_program(KILN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH VALIDATOR kiln_check_python)
find_program(KILN_PYTHON python3 VALIDATOR kiln_check_python)

# kiln_package(PREFIX MODULE NAME) finds a package and makes the target PkgConfig::PREFIX. With KILN_STATIC_DEPS the
# target uses libNAME.a.
macro(kiln_package prefix module name)
  pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET ${module})
  if(KILN_STATIC_DEPS)
    find_library(KILN_${prefix}_ARCHIVE lib${name}.a REQUIRED)
    set_property(TARGET PkgConfig::${prefix} PROPERTY INTERFACE_LINK_LIBRARIES ${KILN_${prefix}_ARCHIVE})
  endif()
endmacro()
kiln_package(XXHASH libxxhash xxhash)
kiln_package(LZ4 liblz4 lz4)
kiln_package(ZSTD libzstd zstd)
kiln_package(ZLIB zlib z)
kiln_package(ELF libelf elf)
if(KILN_STATIC_DEPS)
  set_property(TARGET PkgConfig::ELF APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${KILN_ZLIB_ARCHIVE}) # libelf needs zlib
endif()

# The CUDA headers: an installed toolkit, or the folder that tools/setup.sh filled from the Python wheels.
if(KILN_CUDA_INCLUDE)
  find_path(KILN_CUDA_H cuda.h PATHS ${KILN_CUDA_INCLUDE} NO_DEFAULT_PATH VALIDATOR kiln_check_cuda_headers)
else()
  find_path(KILN_CUDA_H cuda.h
            HINTS ${KILN_ROOT}/build/cuda/include
            PATHS $ENV{CUDA_HOME}/include /usr/local/cuda/include /usr/lib/cuda/include
            VALIDATOR kiln_check_cuda_headers)
endif()
if(NOT KILN_CUDA_H)
  message(FATAL_ERROR "No cuda.h was found that compiles. Run tools/setup.sh, or set KILN_CUDA_INCLUDE to its folder.")
endif()

# The folder into which tools/setup.sh puts NVRTC and the headers on a machine without a toolkit. The library searches
# it at run time too.
set(KILN_CUDA_ROOT ${KILN_ROOT}/build/cuda CACHE PATH "Folder with lib/ and include/ of NVRTC")

# The flags of all parts.
add_library(kiln_flags INTERFACE)
target_compile_definitions(kiln_flags INTERFACE _GNU_SOURCE KILN_BUILD)
target_compile_options(kiln_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -ffp-contract=off
                       $<$<BOOL:${KILN_WERROR}>:-Werror>)
target_include_directories(kiln_flags INTERFACE ${KILN_ROOT}/engine/include)
target_include_directories(kiln_flags SYSTEM INTERFACE ${KILN_CUDA_H})
target_link_libraries(kiln_flags INTERFACE Threads::Threads m ${CMAKE_DL_LIBS})
if(KILN_SANITIZE)
  target_compile_options(kiln_flags INTERFACE -fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  set(KILN_SANITIZE_LIBRARIES ${KILN_SANITIZE})
  # Undefined behaviour causes a trap, and the address sanitizer prints the place (handle_sigill, tools/test.sh).
  # Messages instead of traps would need a description of each place that can fail. gcc's address sanitizer guards these
  # 100,000 descriptions like variables, and registers them at the start of each process. This took 9 of the 23 ms of a
  # short process, and the search for leaks in the descriptions took another 5 ms.
  if(KILN_SANITIZE MATCHES "address.*undefined" AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_compile_options(kiln_flags INTERFACE -fsanitize-undefined-trap-on-error)
    # For clang this check is a part of `undefined`, for gcc it is not. gcc also warns about the conversions that it
    # adds for the check, so this warning is off here. The release build has the warning.
    target_compile_options(kiln_flags INTERFACE -fsanitize=float-cast-overflow -Wno-conversion)
    # Traps do not need libubsan, so it is not linked. Each process loaded it together with libstdc++, and the search
    # for leaks read its 6 MB of variables. This took an eighth of the time of a short process.
    string(REGEX REPLACE ",?undefined" "" KILN_SANITIZE_LIBRARIES ${KILN_SANITIZE})
  endif()
  target_link_options(kiln_flags INTERFACE -fsanitize=${KILN_SANITIZE_LIBRARIES})
  # The descriptions of the sanitizers contain addresses. With PIE, relocating them took a third of the time of a short
  # process.
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -no-pie")
endif()
