/* check.c - How do I find races and other errors of a kernel from C?
 *
 * Usage: check engine/examples/race.yaml
 *
 * The simulated device can check each access: bounds, alignment, unwritten memory, races, barriers. kiln_sim.h is
 * experimental: it may change in any version. */
#include <kiln_sim.h>
#include <stdio.h>

/* Kiln calls this function once for each finding, when the run is over. */
static int show_finding(void *user, const kiln_check_finding *finding)
{
    unsigned *findings = user;
    ++*findings;
    printf("%s in kernel %s\n  %s:%u: %s\n", kiln_check_text(finding->kind), finding->kernel, finding->at.file,
           finding->at.line, finding->at.what);
    if (finding->other.what) /* the other side of a race */
        printf("  %s:%u: %s\n", finding->other.file, finding->other.line, finding->other.what);
    return 0;
}

int main(int count, char **arguments)
{
    unsigned findings = 0;
    kiln_options options = {.size = sizeof options, .device = "sim"}; /* only the simulated device has these checks */
    kiln_run_options run = {.size = sizeof run,
                            .flags = KILN_RUN_CHECK | KILN_RUN_NO_MEASURE,
                            .check = show_finding,
                            .check_user = &findings};
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL;
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    if (kiln_engine_open(&options, &engine, &error) ||
        kiln_spec_load(engine, count > 1 ? arguments[1] : "race.yaml", &spec, &error) ||
        kiln_plan_open(engine, spec, NULL, &plan, &error) || kiln_plan_run(plan, &run, NULL, &error)) {
        fprintf(stderr, "check: %s\n", kiln_error_message(error));
        kiln_error_free(error);
        return 1;
    }
    printf("%u found\n", findings);
    kiln_plan_close(plan);
    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return 0;
}
