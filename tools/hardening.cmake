# Compiler and linker options that make a memory error of Kiln harder to exploit. This file is the only place that has
# them: presets, packages, wheels and projects that add Kiln with add_subdirectory() all get them from here.
#
# kiln_harden() gives them to the targets of the folder that calls it and of the folders below. The other targets of a
# project that embeds Kiln keep their flags. A Debug build does not have these options, because _FORTIFY_SOURCE needs an
# optimiser and because zeroed variables would hide reads of uninitialised memory from valgrind. A build with sanitizers
# does not have them either, because the sanitizers check the same functions more strictly.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

# Adds an option if the compiler accepts it without a warning. CMake caches the result under the name KILN_HARDEN_NAME.
function(kiln_harden_compile name option)
  set(CMAKE_REQUIRED_FLAGS -Werror)
  check_c_compiler_flag(${option} KILN_HARDEN_${name})
  if(KILN_HARDEN_${name})
    set(KILN_HARDEN_COMPILE ${KILN_HARDEN_COMPILE} ${option} PARENT_SCOPE)
  endif()
endfunction()

# Tries all options at once, because each test starts the compiler and the linker. If both accept all options, no
# further test is needed.
function(kiln_harden_all)
  set(CMAKE_REQUIRED_FLAGS "-Werror -O2 -fstack-protector-strong -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,relro,-z,now,-z,noexecstack)
  check_c_source_compiles("#include <stdio.h>
                           int main(void) { return puts(\"\") < 0; }" KILN_HARDEN_ALL)
  if(KILN_HARDEN_ALL)
    foreach(name STACK_PROTECTOR STACK_CLASH CONTROL_FLOW ZERO_VARIABLES FORTIFY_3 LINKER)
      set(KILN_HARDEN_${name} TRUE CACHE INTERNAL "")
    endforeach()
  endif()
endfunction()

macro(kiln_harden)
  if(NOT KILN_SANITIZE)
    set(KILN_HARDEN_COMPILE -Wformat -Werror=format-security)
    kiln_harden_all()
    kiln_harden_compile(STACK_PROTECTOR -fstack-protector-strong)
    kiln_harden_compile(STACK_CLASH -fstack-clash-protection)
    kiln_harden_compile(CONTROL_FLOW -fcf-protection)
    kiln_harden_compile(ZERO_VARIABLES -ftrivial-auto-var-init=zero)
    # Level 3 needs gcc 12 or clang, and glibc 2.35. The headers of glibc warn if they reduce level 3 to level 2. The
    # compilers of Debian and Ubuntu define the macro themselves, so it is undefined first.
    set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
    check_c_source_compiles("#include <stdio.h>
                             int main(void) { return puts(\"\") < 0; }" KILN_HARDEN_FORTIFY_3)
    unset(CMAKE_REQUIRED_FLAGS)
    list(APPEND KILN_HARDEN_COMPILE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<BOOL:${KILN_HARDEN_FORTIFY_3}>,3,2>)
    add_compile_options("$<$<NOT:$<CONFIG:Debug>>:${KILN_HARDEN_COMPILE}>")
    check_linker_flag(C -Wl,-z,relro,-z,now,-z,noexecstack KILN_HARDEN_LINKER)
    if(KILN_HARDEN_LINKER)
      add_link_options($<$<NOT:$<CONFIG:Debug>>:-Wl,-z,relro,-z,now,-z,noexecstack>)
    endif()
    check_pie_supported(LANGUAGES C) # CMAKE_POSITION_INDEPENDENT_CODE alone sets the compiler option, but not the
                                     # linker option
  endif()
endmacro()

# Compiles files without -ftrivial-auto-var-init=zero: kiln_harden_hot(FILE...), called in the folder of their target.
# It is for files whose functions run only for some nanoseconds, and have arrays with an element for each lane of a
# warp, which the functions fill completely.
function(kiln_harden_hot)
  if(KILN_HARDEN_ZERO_VARIABLES AND NOT KILN_SANITIZE)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -ftrivial-auto-var-init=uninitialized)
  endif()
endfunction()
