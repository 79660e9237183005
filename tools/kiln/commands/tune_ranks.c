/* tune_ranks.c - kiln tune as one process of a job that mpirun or srun started. Rank 0 leads the sweep, and the other
 * ranks measure for rank 0. */
#include <signal.h>
#include <string.h>

#include "tune.h"

/* Chooses the GPU of this process: process k of a machine, counted from 0, gets GPU k. If the launcher shows only one
 * GPU to each process, the process takes this GPU. */
static int choose_device(cli *c)
{
    tune_args *args = c->args;
    if (args->engine.device || cli_usual_device())
        return 0;
    kiln_error *error = NULL;
    kiln_engine *engine = c->engine;
    cli_devices list;
    size_t gpus = 0;
    c->engine = NULL;
    int code = cli_engine(c, &args->engine);
    if (!code && cli_list_devices(c, &list, &error) != KILN_OK)
        code = cli_error(c, error);
    for (size_t i = 0; !code && i < list.count; i++)
        gpus += !list.items[i].simulated;
    kiln_engine_close(c->engine);
    c->engine = engine;
    if (gpus)
        args->engine.device = cli_printf("cuda:%zu", (size_t)kiln_ranks_local(c->ranks) % gpus);
    return code;
}

/* Measures for the leader until the sweep ends, or until this rank becomes the leader of another sweep. Returns the
 * exit code. */
static int serve(cli *c)
{
    tune_args *args = c->args;
    kiln_error *error = NULL;
    signal(SIGINT, SIG_IGN); /* a terminal sends SIGINT to all ranks, but only rank 0 ends the job */
    int code = cli_engine(c, &args->engine);
    /* --lead-only applies to rank 0: a rank that leads the ranks of another GPU model also measures */
    args->lead_only = false;
    if (!code && kiln_ranks_serve(c->ranks, c->engine, &error) != KILN_OK)
        code = cli_error(c, error);
    signal(SIGINT, SIG_DFL);
    kiln_engine_close(c->engine); /* a rank that becomes a leader opens a new engine */
    c->engine = NULL;
    return code;
}

/* Continues without other ranks if this process is the only one of its job. */
static bool continue_alone(cli *c, int *code)
{
    const tune_args *args = c->args;
    if (args->lead_only)
        *code = cli_usage(c, "--lead-only leaves the measuring to other processes: start several with mpirun or srun");
    return *code;
}

bool tune_join(cli *c, int *code)
{
    const tune_args *args = c->args;
    kiln_error *error = NULL;
    const kiln_ranks_options options = {
        .size = sizeof options, .required = args->mpi, .lease = args->lease, .log = cli_log, .log_user = cli_log_to(c)};
    *code = 0;
    if (args->mpi && args->no_mpi) {
        *code = cli_usage(c, "--mpi and --no-mpi exclude each other");
        return true;
    }
    if (args->no_mpi)
        return continue_alone(c, code);
    if (kiln_ranks_open(&options, &c->ranks, &error) != KILN_OK) {
        *code = cli_exit_code(kiln_error_status(error));
        cli_fail(c, kiln_error_status(error), "%s; --no-mpi sweeps in each process alone", kiln_error_message(error));
        kiln_error_free(error);
        return true;
    }
    if (!c->ranks)
        return continue_alone(c, code);
    const char *device = args->engine.device;
    const bool json = c->output.json, first = kiln_ranks_rank(c->ranks) == 0;
    /* only rank 0 prints errors as JSON, because the output of rank 0 is the answer of the job */
    c->output.json = json && first;
    if (device && (strcmp(device, "all") == 0 || strchr(device, ',')))
        *code = cli_usage(c, "each of several processes measures on one device: leave out --device, or name one");
    else if (args->no_isolate)
        *code = cli_usage(c, "each of several processes measures in a separate process: --no-isolate is not possible");
    else
        *code = choose_device(c);
    if (!*code && !first)
        *code = serve(c);
    const bool over = *code || kiln_ranks_rank(c->ranks) > 0;
    c->output.json = json && (first || !over);
    if (c->output.json)
        out_keep_json();
    return over;
}

/* ---- the answers of several sweeps as one answer ---- */

static void add_answer(void *user, int rank, const char *device, const char *answer)
{
    json_t *groups = user, *group = answer ? json_loads(answer, 0, NULL) : NULL;
    if (!group) {
        group = js_object();
        js_set(group, "error",
               js_error(KILN_ERROR_DEVICE, cli_printf("rank %d, which led the sweep on %s, has not sent its results",
                                                      rank, device ? device : "its device")));
    }
    js_set(group, "rank", js_whole((uint64_t)rank));
    js_add(groups, group);
}

void tune_collect(cli *c)
{
    const char *own = out_kept_json();
    if (!own)
        return;
    json_t *groups = js_array();
    kiln_error *error = NULL;
    bool shown = kiln_ranks_collect(c->ranks, own, cli_interrupt_flag(), add_answer, groups, &error) == KILN_OK;
    if (!shown)
        cli_complain(kiln_error_message(error));
    kiln_error_free(error);
    if (shown && json_array_size(groups) > 1) {
        json_t *object = js_object();
        js_set(object, "groups", groups);
        js_print(object);
        return;
    }
    if (!shown || json_array_size(groups) == 1) /* otherwise rank 0 shows the results of all sweeps */
        out_json(own);
    json_decref(groups);
}
