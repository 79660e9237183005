/* catalogue.h - helpers of the suites that run shipped specs on the simulated device: an engine, the specs, and a skip
 * with a message if there is no NVRTC. */
#ifndef KILN_TEST_CATALOGUE_H
#define KILN_TEST_CATALOGUE_H

#include "check.h"
#include "kiln_catalogue.h"
#include "plan_internal.h"

typedef struct catalogue_spec {
    const char *name;
    kiln_spec **spec;
} catalogue_spec;

/* Returns the exit code of main(). The cases use *engine and each *spec. */
static int catalogue_main(int count, char **arguments, const char *suite, const check_case *cases, size_t case_count,
                          kiln_engine **engine, const catalogue_spec *specs, size_t spec_count)
{
    const char *shared = getenv("KILN_TEST_CACHE"); /* the cache of a whole test run (tools/test.sh) */
    kiln_options options = {.size = sizeof options,
                            .device = "sim",
                            .cache_dir = shared,
                            .flags = (shared ? 0 : KILN_NO_CACHE) | KILN_NO_WORKERS};
    kiln_error *error = NULL;
    kiln_status status = kiln_engine_open(&options, engine, &error);
    if (status == KILN_OK)
        status = kiln_catalogue_register(*engine, &error);
    if (status == KILN_OK && kiln__engine_nvrtc(*engine, &error) != KILN_OK) {
        fprintf(stderr, "SKIP nvrtc: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        kiln_engine_close(*engine);
        return 77;
    }
    for (size_t i = 0; i < spec_count && status == KILN_OK; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/specs/%s.yaml", KILN_SOURCE_DIR, specs[i].name);
        status = kiln_spec_load(*engine, path, specs[i].spec, &error);
    }
    if (status != KILN_OK) {
        fprintf(stderr, "%s\n", kiln_error_message(error));
        return 1;
    }
    int result = check_main(count, arguments, suite, cases, case_count);
    for (size_t i = 0; i < spec_count; i++)
        kiln_spec_free(*specs[i].spec);
    kiln_engine_close(*engine);
    return result;
}
#endif
