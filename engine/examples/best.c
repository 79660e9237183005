/* best.c - How does my program launch the best known configuration?
 *
 * Usage: best specs/examples/first.yaml engine/examples/known.yaml
 *
 * `kiln tune first.yaml` finds configurations, and `kiln best --export known.yaml first.yaml` writes the best
 * configuration for each device and each set of sizes to a text file. A program can be shipped with this file. At run
 * time Kiln takes the first of these configurations that exists: one for the same sizes on this kind of device, one for
 * the nearest sizes, one for another device, the defaults. The struct kiln_best tells which of them Kiln took. */
#include <kiln_tune.h>
#include <stdio.h>

static int fail(kiln_error *error)
{
    fprintf(stderr, "best: %s\n", kiln_error_message(error));
    kiln_error_free(error);
    return 1;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return fprintf(stderr, "usage: best SPEC KNOWN\n"), 2;
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_knowledge *known = NULL;
    kiln_plan *plan = NULL;
    kiln_best *best = NULL;
    kiln_error *error = NULL;
    if (kiln_engine_open(NULL, &engine, &error) || kiln_spec_load(engine, arguments[1], &spec, &error) ||
        kiln_knowledge_load(engine, arguments[2], &known, &error))
        return fail(error);

    /* The member `store` would add the samples that the user has tuned. If the member `tune_seconds` is above 0, Kiln
     * first tunes sizes that are not known, for at most this time. */
    kiln_best_options options = {.size = sizeof options, .knowledge = known};
    kiln_setting sizes[] = {{"N", {KILN_INT, {5000}}}};
    kiln_choice choice = {.sizes = sizes, .size_count = 1};
    if (kiln_plan_open_best(engine, spec, &choice, &options, &plan, &best, &error) ||
        /* a buffer that the program has not written has the content that the spec describes */
        kiln_plan_launch(plan, NULL, &error))
        return fail(error);

    printf("%s", best->variant);
    for (size_t i = 0; i < best->param_count; i++)
        printf(" %s=%lld", best->params[i].name, (long long)best->params[i].value.as.i);
    printf(", known from %s\n", kiln_best_text(best->from));
    kiln_best_free(best);
    kiln_plan_close(plan);
    kiln_knowledge_free(known);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return 0;
}
