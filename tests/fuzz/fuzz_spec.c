/* Reads any bytes as a spec. It is loaded and checked. If it loads, the target walks the space for a while, counts it
 * and draws from it, and compares the results with each other. */
#include <stdlib.h>

#include "index.h"

enum { STEPS = 200000, EACH = 20 };

static bool device(void *user, const char *name, kiln_value *value)
{
    (void)user;
    (void)name;
    *value = (kiln_value){.kind = KILN_INT, .as.i = 1024};
    return true;
}

static uint64_t below(void *user, uint64_t bound)
{
    uint64_t *state = user;
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % bound;
}

static void demand(bool holds)
{
    if (!holds)
        abort();
}

/* Returns the number of configurations if the walk reached all of them. Returns UINT64_MAX if the walk stopped
 * earlier, or if a constraint cannot be computed. */
static uint64_t walk_some(const kiln__space *space)
{
    kiln__walk *walk = NULL;
    const kiln_setting *settings = NULL;
    kiln__effort effort = {.most = STEPS};
    uint64_t count = 0;
    if (kiln__walk_open(space, &walk, NULL) != KILN_OK)
        return UINT64_MAX;
    kiln__walk_limit(walk, &effort);
    kiln_status status;
    while ((status = kiln__walk_next(walk, &settings, NULL)) == KILN_OK && settings)
        if (count++ < EACH)
            demand(kiln__space_check(space, settings, NULL) == KILN_OK);
    kiln__walk_free(walk);
    return status == KILN_OK && !effort.over ? count : UINT64_MAX;
}

static void count_some(const kiln__space *space, const kiln__variant *variant, uint64_t walked)
{
    kiln__index *index = NULL;
    kiln__effort effort = {.most = STEPS};
    uint64_t found = 0;
    if (kiln__index_open_within(space, &effort, &index, &found, NULL) != KILN_OK)
        return;
    uint64_t count = index ? kiln__index_count(index) : found;
    if (walked != UINT64_MAX)
        demand(index ? count == walked : count <= walked);
    kiln_setting *settings = calloc(variant->param_count + 1, sizeof *settings);
    bool quick = false;
    if (index && kiln__index_quick(index, STEPS / EACH, &quick, NULL) == KILN_OK && quick && settings)
        for (uint64_t i = 0; i < EACH && i < count; i++)
            if (kiln__index_at(index, count / EACH * i + (count < EACH ? i : 0), settings, NULL) == KILN_OK)
                demand(kiln__space_check(space, settings, NULL) == KILN_OK);
    free(settings);
    kiln__index_free(index);
}

static void draw_some(const kiln__space *space, const kiln__variant *variant, uint64_t walked)
{
    kiln__sampler *sampler = NULL;
    kiln__effort effort = {.most = STEPS};
    uint64_t state = 1;
    bool found = true, holds = false;
    uint32_t *positions = calloc(variant->param_count + 1, sizeof *positions);
    if (!positions || kiln__sampler_open(space, &sampler, NULL) != KILN_OK) {
        free(positions);
        return;
    }
    for (int i = 0; i < EACH && found; i++) {
        if (kiln__sampler_draw(sampler, below, &state, &effort, positions, &found, NULL) != KILN_OK)
            break;
        if (found)
            demand(kiln__space_holds_at(space, positions, &holds, NULL) == KILN_OK && holds && walked > 0);
        else
            demand(!kiln__sampler_none(sampler) || walked == 0 || walked == UINT64_MAX);
    }
    kiln__sampler_free(sampler);
    free(positions);
}

static void explore(const kiln_spec *spec, const kiln__variant *variant)
{
    kiln__scope scope = {.settings = spec->size_sets[0].settings, .find = device};
    kiln__space *space = NULL;
    if (kiln__space_open(NULL, variant, &scope, (kiln__settings){0}, &space, NULL) != KILN_OK)
        return;
    uint64_t walked = walk_some(space);
    count_some(space, variant, walked);
    draw_some(space, variant, walked);
    kiln__space_free(space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    if (kiln__spec_parse(NULL, (const char *)data, size, "fuzz.yaml", NULL, &spec, &error) == KILN_OK)
        for (size_t i = 0; i < spec->variant_count && i < 8; i++)
            explore(spec, &spec->variants[i]);
    kiln_spec_free(spec);
    kiln_error_free(error);
    return 0;
}
