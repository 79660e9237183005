/* run.h - compiles CUDA code in this process and runs it on the simulator. */
#ifndef KILN_TESTS_CORPUS_RUN_H
#define KILN_TESTS_CORPUS_RUN_H

#include <math.h>

#include "check.h"
#include "compile.h"
#include "corpus.h"
#include "sim/vm_check.h"

/* Compiles the source to PTX for compute_80. The caller frees the result with kiln__free(NULL, ...). Ends the test if
 * the source does not compile. */
static inline char *run_compile(const char *name, const char *source)
{
    static kiln__arena arena; /* lives as long as the program */
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *error = NULL;
    kiln__unit unit = {0};
    uint64_t ns;
    size_t count = 0;
    CHECK_OK(kiln__nvrtc_open(NULL, &nvrtc, &error), error);
    const char **options = corpus_options(&arena, kiln__nvrtc_include(nvrtc), KILN_TEST_DATA, NULL, &count);
    kiln__compile_request request = {
        .name = name, .source = source, .options = options, .option_count = count, .arch = 80};
    kiln_status status = kiln__compile_here(NULL, nvrtc, &request, NULL, 0, &unit, &ns, &error);
    CHECK_OK(status, error);
    CU_ASSERT_FATAL(status == KILN_OK);
    char *ptx = kiln__strdup(NULL, unit.ptx);
    kiln__unit_free(&unit);
    kiln__nvrtc_close(nvrtc);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ptx);
    return ptx;
}
/* Compiles the source and loads it as the module of a device. */
static inline vm_bench run_source(const char *name, const char *source)
{
    char *ptx = run_compile(name, source);
    vm_bench b = vm_bench_text(ptx, strlen(ptx), (vm_limits){.step_budget = (uint64_t)1 << 32});
    kiln__free(NULL, ptx);
    return b;
}
static inline vm_bench run_file(const char *name)
{
    char path[1024], *text;
    size_t length;
    kiln_error *error = NULL;
    snprintf(path, sizeof path, "%s/run/%s", KILN_TEST_DATA, name);
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    vm_bench b = run_source(name, text);
    kiln__free(NULL, text);
    return b;
}
/* Returns whether the suite can run. If it cannot, main() exits with 77. */
static inline bool run_possible(void)
{
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *error = NULL;
    if (kiln__nvrtc_open(NULL, &nvrtc, &error) == KILN_OK) {
        bool headers = *kiln__nvrtc_include(nvrtc);
        kiln__nvrtc_close(nvrtc);
        if (headers)
            return true;
    }
    fprintf(stderr, "SKIP nvrtc: no NVRTC with headers: %s\n", error ? kiln_error_message(error) : "no headers");
    kiln_error_free(error);
    return false;
}
/* Returns whether the folder of CUDA's headers has this header. Wheels that replace a toolkit have only some
 * headers. If the header is missing, the function prints what is left out. */
static inline bool run_has(const char *header, const char *without)
{
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *error = NULL;
    char path[1024];
    CHECK_OK(kiln__nvrtc_open(NULL, &nvrtc, &error), error);
    snprintf(path, sizeof path, "%s/%s", kiln__nvrtc_include(nvrtc), header);
    kiln__nvrtc_close(nvrtc);
    bool has = kiln__file_exists(path);
    if (!has)
        printf("SKIP headers: there is no %s: %s\n", header, without);
    return has;
}
static inline uint64_t run_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* S. Vigna's splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
#define RUN_SUITE(name, cases)                                                                                         \
    int main(int count, char **arguments)                                                                              \
    {                                                                                                                  \
        return run_possible() ? check_main(count, arguments, name, cases, sizeof(cases) / sizeof *(cases)) : 77;       \
    }
#endif
