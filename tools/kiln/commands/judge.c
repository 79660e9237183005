/* judge.c - kiln judge: a verdict on a kernel that somebody else, or a program, wrote. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <kiln_tune.h>

#include "judge.h"

enum { SOURCE_MOST = 1 << 20, COMPILE_SECONDS = 60 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int judge_exit_code(int kind)
{
    static const int codes[] = {
#define CLI_X(name, word, code, text) code,
        KILN_JUDGED_MAP(CLI_X)
#undef CLI_X
    };
    return codes[kind];
}

/* What --against names. The best configuration belongs to `best`, which `options` of the judgement point into. */
typedef struct opponent {
    kiln_spec *spec; /* NULL: the variant is one of the judged spec */
    kiln_best *best;
} opponent;

/* Finds the best-known configuration of the other spec at the sizes of the judged spec. A missing store counts as
 * empty, unless the user named it; the configuration then is the default, and the verdict says so. */
static int find_best(cli *c, opponent *of, kiln_judge_options *options)
{
    const judge_args *args = c->args;
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    const kiln_size_set *sizes = kiln_spec_size_set(c->spec, 0);
    const kiln_choice choice = {.sizes = sizes ? sizes->settings : NULL, .size_count = sizes ? sizes->count : 0};
    kiln_status status = kiln_store_open(c->engine, args->store, KILN_STORE_READ, &store, &error);
    if (status == KILN_ERROR_NOT_FOUND && !args->store) {
        kiln_error_free(error);
        error = NULL;
        status = KILN_OK;
    }
    const kiln_best_options wanted = {.size = sizeof wanted, .store = store};
    if (status == KILN_OK)
        status = kiln_best_find(c->engine, of->spec, &choice, &wanted, &of->best, &error);
    kiln_store_close(store);
    if (status != KILN_OK)
        return cli_error(c, error);
    options->against = of->best->variant;
    options->against_params = of->best->params;
    options->against_param_count = of->best->param_count;
    options->against_origin = cli_printf("best known: %s", kiln_best_text(of->best->from));
    return 0;
}

/* Finds the variant of --against: a variant of the judged spec. Otherwise the best variant of another spec. */
static int find_opponent(cli *c, opponent *of, kiln_judge_options *options)
{
    const judge_args *args = c->args;
    kiln_error *error = NULL;
    if (!args->against)
        return 0;
    if (kiln_spec_variant_find(c->spec, args->against) >= 0) {
        options->against = args->against;
        return 0;
    }
    kiln_status status = kiln_spec_load(c->engine, args->against, &of->spec, &error);
    if (status == KILN_ERROR_NOT_FOUND) {
        kiln_error_free(error);
        return cli_fail(c, status, "--against %s: %s has no such variant, and there is no such spec", args->against,
                        kiln_spec_name(c->spec));
    }
    if (status != KILN_OK)
        return cli_error(c, error);
    options->against_spec = of->spec;
    return find_best(c, of, options);
}

/* Judges in the sandboxed process: reads the candidate before the rights are given up. */
static int judge_here(cli *c, void *user)
{
    const judge_args *args = c->args;
    const cli_choice_args wanted = {.variant = args->variant, .params = args->params};
    kiln_error *error = NULL;
    cli_choice chosen;
    (void)user;
    int code = cli_spec(c, &args->engine);
    if (code)
        return code;
    if (!cli_make_choice(c, &wanted, wanted.variant, &chosen))
        return CLI_USAGE;
    size_t length;
    const char *text = cli_read_file(args->candidate, SOURCE_MOST, &length);
    if (!text)
        return cli_fail(c, KILN_ERROR_IO, "%s: the candidate cannot be read: %s", args->candidate, strerror(errno));
    kiln_judgement *verdict = NULL;
    opponent other = {0};
    kiln_judge_options options = {.size = sizeof options,
                                  .variant = chosen.choice.variant,
                                  .params = chosen.choice.params,
                                  .param_count = chosen.choice.param_count,
                                  .seed = args->seed,
                                  .budget = args->budget,
                                  .launch_limit = args->run.sample_timeout};
    code = find_opponent(c, &other, &options);
    kiln_status status = KILN_OK;
    if (!code)
        status = kiln_judge(c->engine, c->spec, text, length, base_name(args->candidate), &options, &verdict, &error);
    kiln_best_free(other.best);
    kiln_spec_free(other.spec);
    if (code || status != KILN_OK)
        return code ? code : cli_error(c, error);
    const char *json = kiln_judgement_json(verdict);
    if (args->collected) {
        json_t *object = js_object();
        js_set(object, "kind", js_whole((uint64_t)kiln_judgement_kind(verdict)));
        js_set(object, "json", js_text(json));
        js_set(object, "page", js_text(kiln_judgement_page(verdict)));
        js_print(object);
    } else if (c->output.json)
        out_json(cli_strndup(json, strlen(json) - 1)); /* out_json() ends the line */
    else
        out_puts(kiln_judgement_page(verdict));
    code = judge_exit_code(kiln_judgement_kind(verdict));
    kiln_judgement_free(verdict);
    return code;
}

int judge_alone(cli *c)
{
    const judge_args *args = c->args;
    return cli_apart(c, &args->engine, &args->run, judge_here, NULL);
}

static int judge_run(cli *c)
{
    judge_args *args = c->args;
    struct stat info;
    if (args->candidates.count == 0)
        return cli_usage(c, "kiln judge needs --candidate FILE.cu, the kernel to judge");
    if (args->engine.compile_timeout == 0)
        args->engine.compile_timeout = COMPILE_SECONDS;
    args->run.budget = args->budget;
    args->candidate = args->candidates.items[0];
    const bool folder = stat(args->candidate, &info) == 0 && S_ISDIR(info.st_mode);
    const bool devices = args->engine.device && strchr(args->engine.device, ',');
    return args->candidates.count > 1 || folder || devices ? judge_many(c) : judge_alone(c);
}

#define FIELD(field) offsetof(judge_args, field)

static const cli_option options[] = {
    {"candidate", 'c', CLI_LIST, FIELD(candidates), "FILE", CLI_FILES, NULL,
     "The CUDA source to judge. It replaces the source of the variant, and it is launched in the same way. Repeatable. A "
     "folder means all files in it that end in .cu."},
    {"variant", 'v', CLI_TEXT, FIELD(variant), "NAME", CLI_VARIANTS, NULL,
     "The variant whose launch the candidate gets. The verdict states the time of the candidate and of this variant. "
     "Default: the first contender."},
    {"param", 'p', CLI_LIST, FIELD(params), "NAME=VALUE", CLI_PARAMS, NULL,
     "Set a param of the variant. Repeatable. Default: the default of the spec."},
    {"against", 0, CLI_TEXT, FIELD(against), "VARIANT|SPEC", CLI_SPECS, NULL,
     "Compare a candidate that passes with a variant of the spec, or with the best-known variant of another spec, which "
     "must have all sizes of the spec. A GPU measures both. The simulated device estimates times and counts work."},
    CLI_STORE_OPTION(FIELD(store)),
    {"seed", 0, CLI_SEED, FIELD(seed), "NUMBER", CLI_NOTHING, NULL,
     "The seed of sizes, contents and orders. The same seed gives the same verdict. Default: 0."},
    {"budget", 'b', CLI_NUMBER, FIELD(budget), "SECONDS", CLI_NOTHING, NULL,
     "After this time no further trial begins, and the verdict is `undecided`. Default: 60."},
    {"launch-limit", 0, CLI_NUMBER, FIELD(run.sample_timeout), "SECONDS", CLI_NOTHING, NULL,
     "The time limit of the kernels of one trial. Default: 20."},
};
static const cli_group group = {"Judging", options, CLI_COUNT(options)};

const cli_command cli_judge_command = {
    .name = "judge",
    .summary = "give a verdict on a kernel that somebody else, or a program, wrote",
    .arguments = "SPEC",
    .about =
        "Compiles a CUDA source in place of the source of a variant, runs trials, and gives a verdict: pass, or the "
        "first "
        "fault with the smallest case in which it shows.\n\n"
        "The spec is the contract. Its `verify` has the reference. Its `judge` has what a kernel may assume: ranges of "
        "sizes, values and alignment of inputs. The trials are:\n\n"
        "  small sizes under all checks of the simulated device\n"
        "  many sizes and contents, with guard zones around the buffers; outputs hold two different patterns before "
        "two launches, and inputs must not change\n"
        "  blocks in other orders\n"
        "  buffers at every allowed alignment\n"
        "  several calls in the same memory\n"
        "  a time on a GPU, or an estimate\n\n"
        "With --against the verdict also has the times of a candidate that passes and of another variant, and their "
        "ratio. It says which one is faster, or that the difference is within noise. Without a GPU the times are "
        "estimates, and a simulated device without estimates compares counters only.\n\n"
        "If --device is a list, as in cuda:0,sim, the candidate is judged on each device, on simulated devices first, "
        "and the worst verdict counts. After a fault the other devices are not tried.\n\n"
        "Several candidates are a batch: a table, or with --json one line for each candidate. A candidate that crashes "
        "does not end the batch. --jobs says how many candidates are judged at once. The exit code is the code of the "
        "worst verdict.\n\n"
        "The exit code is 0 for `pass`, 9 for `compile`, 6 for `forbidden`, 11 for `launch`, 10 for `timeout`, 12 for "
        "`unsafe` and `outside`, 18 for `undecided`, and 14 for all other faults.",
    .min_words = 1,
    .max_words = 1,
    .completes = CLI_SPECS,
    .args_size = sizeof(judge_args),
    .groups =
        (const cli_use[]){{&group, 0}, {&cli_sandbox_group, FIELD(engine)}, {&cli_engine_group, FIELD(engine)}, {0}},
    .examples = (const cli_example[]){{"kiln judge matmul.yaml --candidate theirs.cu", "A page for people."},
                                      {"kiln judge matmul.yaml -c theirs.cu --seed 7 --json", "For programs."},
                                      {"kiln judge matmul.yaml -c theirs.cu --device cuda:0,sim",
                                       "Checks on the simulated device, times on the GPU."},
                                      {"kiln judge matmul.yaml -c candidates --json --jobs 8",
                                       "All files in a folder, one line for each."},
                                      {"kiln judge matmul.yaml -c theirs.cu --against tiled --device sim:h200",
                                       "Also compare the speed with the variant 'tiled'."},
                                      {0}},
    .run = judge_run,
};
