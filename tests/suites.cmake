# Functions for the lists of tests: tests/CMakeLists.txt, and tests/sim/CMakeLists.txt, which the simulated device
# includes when it is built alone. If there is no CUnit, KILN_TESTS is OFF afterwards.
#
# tests/PART/test_*.c are the CUnit suites of engine/PART. Each suite is a program that is linked with this part and the
# parts that it uses. tests/check.h has the functions that all suites share.
pkg_check_modules(CUNIT QUIET IMPORTED_TARGET cunit)
if(CUNIT_FOUND)
  try_compile(works SOURCE_FROM_CONTENT cunit.c "#include <CUnit/Basic.h>\nint main(void) { return (int)CU_get_error(); }\n"
              COMPILE_DEFINITIONS ${CUNIT_CFLAGS} LINK_LIBRARIES ${CUNIT_LDFLAGS} NO_CACHE)
endif()
if(NOT CUNIT_FOUND OR NOT works)
  kiln_leave_out("the tests" "there is no CUnit that compiles and links a program (tools/setup.sh installs it)")
  set(KILN_TESTS OFF)
  return()
endif()

# There are some hundred programs, and each contains the whole library. lld links them in half the time. The system's
# linker links the shipped files.
include(CheckLinkerFlag)
set(lld -fuse-ld=lld -Wl,-O0,--threads=1) # one thread each, because several programs are linked at once
check_linker_flag(C "${lld}" KILN_HAVE_LLD)
if(KILN_HAVE_LLD)
  list(JOIN lld " " lld)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " ${lld}")
endif()

# kiln_costs(TEST SECONDS ...): tells CTest how long tests take, for a build folder that has not run them yet. CTest
# then begins with the longest tests, so that no long test runs alone at the end. A list has the tests of its own
# folder. The seconds are those of the build in which a test takes longest. Time in which a test only waits counts too.
function(kiln_costs)
  while(ARGN)
    list(POP_FRONT ARGN test cost)
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES COST ${cost})
    endif()
  endwhile()
endfunction()

# kiln_remember_compiles(REGEX [EXCEPT]): the tests of this folder whose names match REGEX, but not EXCEPT, ask a stand-in for
# NVRTC, which remembers NVRTC's answers during one run of tools/test.sh (nvrtc/library.c). These tests use their own
# caches, and they do not test NVRTC itself. The tests of the room compile, of confinement, of signals, of the judge and
# of the catalogue load NVIDIA's library. Call this function after all changes of the tests' ENVIRONMENT.
function(kiln_remember_compiles regex)
  if(NOT TARGET nvrtc_library)
    return()
  endif()
  get_property(tests DIRECTORY PROPERTY TESTS)
  list(FILTER tests INCLUDE REGEX ${regex})
  if(ARGN)
    list(FILTER tests EXCLUDE REGEX ${ARGN})
  endif()
  list(FILTER tests EXCLUDE REGEX "cuda:0$")
  foreach(test ${tests})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "KILN_NVRTC=$<TARGET_FILE:nvrtc_library>")
  endforeach()
endfunction()

# Two lists name tests that run only every night: covered.txt for the builds with sanitizers, where other tests run the
# same lines (bench/cover.py), and nightly.txt for the release build.
# kiln_leave_covered(): disables the tests of this folder that are in the list, and gives them the label `covered`. It is called
# after all other changes of the tests' LABELS. Under a sanitizer, a suite of the list is only built if its target is named.
option(KILN_EVERY_TEST "Also the tests of tests/covered.txt and tests/nightly.txt" ON)
set(KILN_COVERED "") # names
set(KILN_NIGHTLY "") # regular expressions of names
if(NOT KILN_EVERY_TEST)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${KILN_ROOT}/tests/covered.txt ${KILN_ROOT}/tests/nightly.txt)
  if(KILN_SANITIZE)
    set(sanitizer asan)
    if(KILN_SANITIZE MATCHES thread)
      set(sanitizer tsan)
    endif()
    file(STRINGS ${KILN_ROOT}/tests/covered.txt KILN_COVERED REGEX "^${sanitizer} ")
    list(TRANSFORM KILN_COVERED REPLACE "^[a-z]+ " "")
  else()
    file(STRINGS ${KILN_ROOT}/tests/nightly.txt KILN_NIGHTLY REGEX "^[^#]")
  endif()
endif()
function(kiln_leave_covered)
  get_property(tests DIRECTORY PROPERTY TESTS)
  set(left ${KILN_COVERED})
  foreach(pattern IN LISTS KILN_NIGHTLY)
    set(matching ${tests})
    list(FILTER matching INCLUDE REGEX "^${pattern}$")
    list(APPEND left ${matching})
  endforeach()
  foreach(test ${tests})
    if(test IN_LIST left)
      set_property(TEST ${test} APPEND PROPERTY LABELS covered)
      set_tests_properties(${test} PROPERTIES DISABLED TRUE)
    endif()
  endforeach()
endfunction()

# kiln_unpack(TARGET FOLDER FILE.gz ...): the target TARGET unpacks each FILE.gz to FOLDER/FILE.
function(kiln_unpack target folder)
  set(unpacked "")
  foreach(packed ${ARGN})
    get_filename_component(name ${packed} NAME_WLE)
    add_custom_command(OUTPUT ${folder}/${name} COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
                       COMMAND gzip -dc ${packed} > ${folder}/${name} DEPENDS ${packed} VERBATIM)
    list(APPEND unpacked ${folder}/${name})
  endforeach()
  add_custom_target(${target} DEPENDS ${unpacked})
endfunction()

# kiln_plain_source(...): compiles sources without sanitizers. These sources make the inputs of a test and are no part
# of the engine. With sanitizers they took half of the test's time.
function(kiln_plain_source)
  if(KILN_SANITIZE)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all -O2)
  endif()
endfunction()

# The suites run only for a moment, so they are not optimised: it took as long as optimising the engine. The programs of
# the folders below (add_subdirectory) compute more, and are optimised.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  add_compile_options(-O0)
endif()

# The target `threads` has the programs of the tests with this label. The build with the thread sanitizer makes no other
# programs (tools/test.sh).
add_custom_target(threads)

# kiln_suite(PART LIBRARY): adds the suites of one part, linked with LIBRARY.
function(kiln_suite part rooms)
  file(GLOB suites CONFIGURE_DEPENDS ${KILN_ROOT}/tests/${part}/test_*.c)
  foreach(suite ${suites})
    get_filename_component(name ${suite} NAME_WE)
    # these suites test kernels, which a sanitizer does not see
    if(KILN_SANITIZE AND "${part}.${name}" MATCHES "^plan.test_(grids|histogram|moves|sums)$")
      continue()
    endif()
    if(NOT KILN_SIM_PROGRAMS) # leaves out the suites of the functions of programs/
      file(STRINGS ${suite} programs REGEX "^#include \"(cu_check|cu_graph|timeline).h\"" LIMIT_COUNT 1)
      if(programs)
        continue()
      endif()
    endif()
    string(REPLACE test_ "${part}." label ${name})
    add_executable(${part}_${name} ${suite})
    target_include_directories(${part}_${name} PRIVATE ${KILN_ROOT}/tests)
    target_compile_definitions(${part}_${name} PRIVATE KILN_TEST_DATA="${KILN_ROOT}/tests/${part}"
                               KILN_SOURCE_DIR="${KILN_ROOT}" KILN_BINARY_DIR="${CMAKE_BINARY_DIR}")
    target_link_libraries(${part}_${name} PRIVATE ${rooms} PkgConfig::CUNIT)
    if(label IN_LIST KILN_COVERED)
      set_target_properties(${part}_${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    endif()
    if(part STREQUAL sim)
      target_compile_definitions(${part}_${name} PRIVATE KILN_TEST_PTX="${CMAKE_BINARY_DIR}/ptx")
      add_dependencies(${part}_${name} sim_ptx)
    endif()
    add_test(NAME ${label} COMMAND ${part}_${name})
    set_tests_properties(${label} PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77)
    # The thread sanitizer repeats the suites that run threads. Launches of the simulated device run threads. Launches
    # under the checks use only one thread (sim.check_quick, sim.mutants), so their suites are not repeated. Compiles
    # without workers use one thread too (compile.compile); compile.workers has the compiles with workers.
    if(part MATCHES "^(cache|store|compile|sim|core|plan|ranks|tune)$" AND
       NOT label MATCHES "^(compile.compile|compile.cubin|compile.sources|plan.signature|sim.check_quick|sim.fatbin|sim.mutants|sim.ptx.*|store.exchange)$")
      set_tests_properties(${label} PROPERTIES LABELS threads)
      if(NOT label IN_LIST KILN_COVERED)
        add_dependencies(threads ${part}_${name})
      endif()
    endif()
    # Suites that read or write numbers or names also run under a locale that has a decimal comma and special rules for
    # capital letters.
    if(KILN_LOCALE_SUITES AND label MATCHES "${KILN_LOCALE_SUITES}" AND NOT KILN_SANITIZE)
      add_test(NAME ${label}.tr_TR COMMAND ${part}_${name})
      set_tests_properties(${label}.tr_TR PROPERTIES LABELS locale TIMEOUT 900 SKIP_RETURN_CODE 77
        FIXTURES_REQUIRED locales ENVIRONMENT
        "LC_ALL=tr_TR.UTF-8;LOCPATH=${CMAKE_BINARY_DIR}/locales;KILN_TEST_LOCALE=,")
    endif()
    # Tests that the results are the same with the handlers of every instruction set.
    if(name MATCHES "^test_vm" AND NOT KILN_SANITIZE)
      # The handlers for AVX2 are the source of base with other options of the compiler. conformance.sim.avx2 runs them.
      add_test(NAME ${label}.base COMMAND ${part}_${name})
      set_tests_properties(${label}.base PROPERTIES TIMEOUT 900 ENVIRONMENT KILN_SIM_ISA=base)
      # these suites have hundreds of kernels, and the compiler does not compile their instructions
      if(NOT name MATCHES "(wgmma|mma_scaled)$")
        add_test(NAME ${label}.jit COMMAND ${part}_${name}) # the same suite with all code compiled, if there is LLVM
        set_tests_properties(${label}.jit PROPERTIES TIMEOUT 900 ENVIRONMENT KILN_SIM_JIT=1)
      endif()
    endif()
    if(label STREQUAL "sim.jit" AND NOT KILN_SANITIZE) # also as on a processor without AVX and FMA
      add_test(NAME sim.jit.base COMMAND sim_test_jit)
      set_tests_properties(sim.jit.base PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77 ENVIRONMENT KILN_SIM_ISA=base)
    endif()
    if(label STREQUAL "sim.jit_host")
      target_compile_definitions(${part}_${name} PRIVATE FAKE_LLVM="$<TARGET_FILE:fake_llvm>")
      target_link_libraries(${part}_${name} PRIVATE ${CMAKE_DL_LIBS})
      target_link_options(${part}_${name} PRIVATE -Wl,--wrap=atexit,--wrap=pthread_join)
      add_dependencies(${part}_${name} fake_llvm)
    endif()
    if(part MATCHES "^(driver|core)$")
      target_compile_definitions(${part}_${name} PRIVATE FAKE_CUDA="$<TARGET_FILE:fake_cuda>"
                                 FAKE_CUDA_OLD="$<TARGET_FILE:fake_cuda_old>")
      add_dependencies(${part}_${name} fake_cuda fake_cuda_old)
    endif()
    if(part MATCHES "^(driver|plan)$")
      target_compile_definitions(${part}_${name} PRIVATE FAKE_NVML="$<TARGET_FILE:fake_nvml>"
                                 FAKE_NVML_OLD="$<TARGET_FILE:fake_nvml_old>")
      add_dependencies(${part}_${name} fake_nvml fake_nvml_old)
    endif()
    if(part MATCHES "^(compile|tune)$" AND TARGET kiln-worker)
      target_compile_definitions(${part}_${name} PRIVATE KILN_TEST_WORKER="$<TARGET_FILE:kiln-worker>")
      add_dependencies(${part}_${name} kiln-worker)
    endif()
  endforeach()
endfunction()
