/* Any bytes as a spec: loaded and checked, and what loads is walked for a while. */
#include "space.h"

static bool device(void *user, const char *name, kiln_value *value)
{
    (void)user;
    (void)name;
    *value = (kiln_value){.kind = KILN_INT, .as.i = 1024};
    return true;
}

static void walk_some(const kiln_spec *spec, const kiln__variant *variant)
{
    kiln__scope scope = {.count = spec->size_sets[0].count, .settings = spec->size_sets[0].settings, .find = device};
    kiln__space *space = NULL;
    kiln__walk *walk = NULL;
    const kiln_setting *settings = NULL;
    if (kiln__space_open(NULL, variant, &scope, NULL, 0, &space, NULL) != KILN_OK)
        return;
    /* A walk over a small space; a large one may hold no valid configuration within any time. */
    if (kiln__space_raw(space) <= 10000 && kiln__walk_open(space, &walk, NULL) == KILN_OK)
        for (int i = 0; i < 100 && kiln__walk_next(walk, &settings, NULL) == KILN_OK && settings; i++)
            kiln__space_check(space, settings, NULL);
    kiln__walk_free(walk);
    kiln__space_free(space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    if (kiln__spec_parse(NULL, (const char *)data, size, "fuzz.yaml", NULL, &spec, &error) == KILN_OK)
        for (size_t i = 0; i < spec->variant_count && i < 8; i++)
            walk_some(spec, &spec->variants[i]);
    kiln_spec_free(spec);
    kiln_error_free(error);
    return 0;
}
