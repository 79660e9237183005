/* judge.c - kiln judge: gives a verdict on a kernel that somebody else, or a program, wrote. */
#include <string.h>
#include <sys/stat.h>

#include "judge.h"

enum { COMPILE_SECONDS = 60 };

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
        "does not end the batch. An equal candidate is not judged again, also in later runs, unless its verdict was "
        "`undecided` or `timeout`; --no-cache judges it anew. --jobs says how many candidates are judged at once. The exit code is the code of the "
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
                                       "Also compares the speed with the variant 'tiled'."},
                                      {0}},
    .run = judge_run,
};
