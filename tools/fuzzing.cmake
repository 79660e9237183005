# The fuzz targets of tests/fuzz are linked with libFuzzer, which comes with clang. They use the objects of the build
# with the address sanitizer, which gcc or clang may have made. A separate build would take as long as that build.
#
# libFuzzer must know which code an input reaches. kiln_count_edges() gives a target the compiler options for that.
# clang itself adds the counters. gcc adds a call of a function to each basic block, and tests/fuzz/edges.c has the
# function and the counters. In loops that compute, these calls take longer than the work, also in the test suites.
# KILN_NO_EDGES has the options for files with such loops.
option(KILN_FUZZ "Link the fuzz targets with libFuzzer" OFF)
option(KILN_COVER "Record which blocks each process runs, for tests/bench/cover.py (gcc)" OFF)
set(KILN_EDGES "")
set(KILN_NO_EDGES "")
if(KILN_COVER)
  set(KILN_FUZZ OFF)
  set(KILN_EDGES -fsanitize-coverage=trace-pc)
endif()
if(KILN_FUZZ)
  if(CMAKE_C_COMPILER_ID MATCHES Clang)
    set(KILN_CLANG ${CMAKE_C_COMPILER})
    set(KILN_EDGES -fsanitize=fuzzer-no-link)
  else()
    find_program(KILN_CLANG clang)
    # libFuzzer learns the values with which the code compares its input. It sees only calls of these functions, so gcc
    # must not replace the calls by inline code.
    set(KILN_EDGES -fsanitize-coverage=trace-pc,trace-cmp -fno-builtin-memcmp -fno-builtin-strcmp -fno-builtin-strncmp
        -fno-builtin-strcasecmp -fno-builtin-strncasecmp -fno-builtin-strstr -fno-builtin-strcasestr -fno-builtin-memmem)
    set(KILN_NO_EDGES -fno-sanitize-coverage=trace-pc,trace-cmp)
  endif()
  if(KILN_CLANG)
    execute_process(COMMAND ${KILN_CLANG} -print-runtime-dir OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_file(KILN_LIBFUZZER NAMES libclang_rt.fuzzer_no_main-${CMAKE_SYSTEM_PROCESSOR}.a libclang_rt.fuzzer_no_main.a
              PATHS ${folder} NO_DEFAULT_PATH)
    # libFuzzer is written in C++. Its libstdc++ may belong to another version of gcc than the compiler.
    execute_process(COMMAND ${KILN_CLANG} -print-file-name=libstdc++.so OUTPUT_VARIABLE KILN_LIBSTDCXX
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_package(Threads REQUIRED)
  set(works FALSE)
  if(KILN_LIBFUZZER)
    try_compile(works SOURCE_FROM_CONTENT fuzzer.c
                "int LLVMFuzzerRunDriver(int *, char ***, int (*)(const unsigned char *, unsigned long));
                 static int one(const unsigned char *data, unsigned long size) { return data == 0 && size != 0; }
                 int main(int count, char **words) { return LLVMFuzzerRunDriver(&count, &words, one); }\n"
                LINK_LIBRARIES ${KILN_LIBFUZZER} ${KILN_LIBSTDCXX} Threads::Threads m NO_CACHE)
  endif()
  if(NOT works)
    kiln_leave_out("fuzzing" "there is no libFuzzer that links (tools/setup.sh --test installs it)")
    set(KILN_FUZZ OFF)
    set(KILN_EDGES "")
    set(KILN_NO_EDGES "")
  endif()
endif()

function(kiln_count_edges target)
  target_compile_options(${target} PRIVATE ${KILN_EDGES})
endfunction()
