# Compiler and linker options that make a memory error of Kiln harder to exploit. This file is the only place that has
# them: presets, packages, wheels and projects that add Kiln with add_subdirectory() all get them from here.
#
# kiln_harden() gives them to the targets of the folder that calls it and of the folders below. An embedding project's own
# targets keep their flags. A Debug build has none of them, because _FORTIFY_SOURCE needs an optimiser and because
# zeroed variables hide reads of uninitialised memory from valgrind. A sanitizer's build has none, because the sanitizers
# check the same functions more strictly.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

# An option is added under a name that CMake caches, if the compiler takes it without a warning.
function(kiln_harden_compile name option)
  set(CMAKE_REQUIRED_FLAGS -Werror)
  check_c_compiler_flag(${option} KILN_HARDEN_${name})
  if(KILN_HARDEN_${name})
    set(KILN_HARDEN_COMPILE ${KILN_HARDEN_COMPILE} ${option} PARENT_SCOPE)
  endif()
endfunction()

# Tries all options at once. A compiler and a linker that take them all need no other try: each one starts both.
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
    # Level 3 needs gcc 12 or clang, and glibc 2.35, whose headers warn where they make a 2 of it. Debian's and Ubuntu's
    # compilers define a level of their own, so it is undefined first.
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
    check_pie_supported(LANGUAGES C) # CMAKE_POSITION_INDEPENDENT_CODE alone compiles for it, and does not link for it
  endif()
endmacro()

# Leaves the zeros of variables out of files whose functions have arrays of a warp's lanes, which they fill themselves, and
# run for a few nanoseconds each: kiln_harden_hot(FILE...), from the folder of their target.
function(kiln_harden_hot)
  if(KILN_HARDEN_ZERO_VARIABLES AND NOT KILN_SANITIZE)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -ftrivial-auto-var-init=uninitialized)
  endif()
endfunction()
