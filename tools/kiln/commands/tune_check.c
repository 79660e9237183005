/* tune_check.c - kiln tune --check: runs the winners of a sweep again under the checks of the simulated device. */
#include <string.h>

#include "tune.h"

#define MOST_WINNERS 16 /* the largest number of winners: finals never measure more configurations */

/* Returns the choice of sizes at which winners are checked. A simulated kernel takes long at the sizes of a GPU, so the
 * checks prefer the size set `tiny`. If the user gave files of inputs, the checks keep the sizes of the sweep, because
 * the files fit only these sizes. */
static kiln_choice small_choice(const cli *c, const tune_view *view)
{
    const tune_args *args = c->args;
    kiln_choice choice = view->chosen.choice;
    for (size_t i = 0; i < kiln_spec_size_set_count(c->spec) && args->run.inputs.count == 0; i++)
        if (strcmp(kiln_spec_size_set(c->spec, i)->name, "tiny") == 0)
            choice = (kiln_choice){.size_set = "tiny"};
    return choice;
}

static int stop_if_interrupted(void *user, const kiln_progress *progress, const kiln_sample *sample)
{
    (void)user, (void)progress, (void)sample;
    return cli_interrupted();
}

/* Runs one configuration under the checks, as a sweep over this single configuration. A simulated kernel runs in a
 * sandbox, which a process cannot leave again. A sweep runs the kernel in another process, so the command itself stays
 * outside the sandbox. The plan is opened before the sweep, because its error names the constraint that does not
 * hold. */
static kiln_status run_checked(const cli *c, const kiln_choice *choice, const kiln_run_options *run, kiln_error **error,
                               const char **why)
{
    kiln_plan *plan = NULL;
    kiln_tuning *tuning = NULL;
    const kiln_tune_options options = {
        .size = sizeof options,
        .variants = &choice->variant,
        .variant_count = 1,
        .params = choice->params,
        .param_count = choice->param_count,
        .size_set = choice->size_set,
        .sizes = choice->sizes,
        .size_count = choice->size_count,
        .run = run,
        .isolation = ((const tune_args *)c->args)->no_isolate ? KILN_ISOLATE_NEVER : KILN_ISOLATE_GPU,
        .sample_timeout = ((const tune_args *)c->args)->run.sample_timeout,
        .callback = stop_if_interrupted,
    };
    kiln_status status = kiln_plan_open(c->engine, c->spec, choice, &plan, error);
    kiln_plan_close(plan);
    if (status == KILN_OK)
        status = kiln_tune(c->engine, c->spec, &options, &tuning, error);
    const kiln_sample *sample = tuning ? kiln_tuning_sample(tuning, 0) : NULL;
    if (sample && sample->status != KILN_OK) {
        status = sample->status;
        *why = cli_printf("%s", sample->message);
    } else if (status != KILN_OK) {
        *why = cli_printf("%s", kiln_error_message(*error));
    }
    kiln_tuning_free(tuning);
    return status;
}

/* Runs one winner under the checks. If the run fails, notes the failure in `checked` with the name of the
 * configuration. */
static void check_winner(const cli *c, const tune_view *view, tune_checked *checked, kiln_choice choice,
                         const kiln_sample *sample, const kiln_run_options *run)
{
    kiln_error *error = NULL;
    const char *why = "";
    choice.variant = sample->variant;
    choice.params = sample->params;
    choice.param_count = sample->param_count;
    const char *name = cli_printf("%s %s", sample->variant, cli_settings_text(sample->params, sample->param_count));
    if (view->progress)
        progress_show("checking ", name, "");
    const kiln_status status = run_checked(c, &choice, run, &error, &why);
    findings_next(&checked->found, name);
    if (status == KILN_OK)
        checked->runs++;
    else if (checked->failed++ == 0) {
        checked->status = status;
        checked->which = name;
        checked->why = why;
    }
    kiln_error_free(error);
}

/* Checks the winners in the order of their rank, on the simulated device of `c`. */
static int check_winners(cli *c, const tune_view *view, const kiln_tuning *tuning, tune_checked *checked)
{
    const tune_args *args = c->args;
    kiln_run_options run;
    cli_make_run(&args->run, &run);
    run.flags = KILN_RUN_CHECK | KILN_RUN_NO_MEASURE | (run.flags & KILN_RUN_NO_VERIFY);
    run.check = findings_add;
    run.check_user = &checked->found;
    if (!cli_make_files(c, &args->run.inputs, "--input", &run.inputs))
        return CLI_USAGE;
    run.input_count = args->run.inputs.count;
    const kiln_choice choice = small_choice(c, view);
    const char *set = NULL;
    kiln_setting *sizes = NULL;
    size_t count = cli_whole_sizes(c->spec, &choice, true, &set, &sizes);
    checked->sizes = cli_printf("%s%s", cli_settings_text(sizes, count), cli_set_text(c->spec, set, sizes, count));
    for (size_t i = 0; i < MOST_WINNERS && !cli_interrupted(); i++) {
        const kiln_sample *sample = kiln_tuning_sample(tuning, i);
        if (!sample || sample->status != KILN_OK || (i > 0 && !sample->tied))
            break;
        check_winner(c, view, checked, choice, sample, &run);
    }
    progress_clear();
    return 0;
}

/* Checks the best configuration, and every configuration that cannot be distinguished from it. A process has only one
 * simulated device. After a sweep on this device, the checks use the engine of the sweep. The checks open another
 * engine after a sweep on a GPU. They also do so after a sweep of several ranks, because the other ranks have ended.
 * Returns 0, or the exit code if no check could begin. */
int tune_check(cli *c, const tune_view *view, const kiln_tuning *tuning, tune_checked *checked)
{
    const kiln_sample *best = kiln_tuning_sample(tuning, 0);
    if (!best || best->status != KILN_OK || cli_interrupted())
        return 0;
    if (view->device->simulated && !c->ranks)
        return check_winners(c, view, tuning, checked);
    cli other = *c; /* the same command with another engine */
    cli_engine_args engine = ((const tune_args *)c->args)->engine;
    if (!view->device->simulated)
        engine.device = "sim";
    other.engine = NULL;
    other.spec = NULL;
    other.ranks = NULL;
    int code = cli_spec(&other, &engine);
    if (!code)
        code = check_winners(&other, view, tuning, checked);
    kiln_spec_free(other.spec);
    kiln_engine_close(other.engine);
    return code;
}

/* Returns the exit code of the checks: a finding has priority over a winner that could not be checked. */
int tune_check_code(const tune_checked *checked)
{
    return findings_severe(&checked->found) ? CLI_FOUND : cli_exit_code(checked->status);
}

/* Prints the findings below the table, and the reason why a winner was not checked. */
void tune_check_text(const tune_checked *checked)
{
    if (checked->found.count > 0) {
        out_printf("\n%sFindings in the winners%s\n", out_bold(), out_plain());
        findings_text(&checked->found, true, true);
    }
    if (checked->failed) {
        out_printf("\n%sNot checked%s\n  %s of the winners, first %s:\n", out_bold(), out_plain(),
                   cli_whole(checked->failed), checked->which);
        out_wrapped(checked->why, 4, out_width());
    }
}

json_t *tune_check_json(const tune_checked *checked)
{
    json_t *object = js_object();
    js_set(object, "sizes", js_text(checked->sizes));
    js_set(object, "configurations", js_whole(checked->runs));
    js_set(object, "failed", js_whole(checked->failed));
    js_set(object, "first_failure", js_text(checked->why));
    js_set(object, "findings", findings_json(&checked->found));
    return object;
}
