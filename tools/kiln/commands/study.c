/* study.c - kiln study: computes tables about a kernel that engineers otherwise compute by hand, for any spec. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "study.h"

static const struct study {
    const char *name;
    int (*run)(cli *c);
} studies[] = {
#define CLI_X(name) {#name, study_##name},
    STUDIES(CLI_X)
#undef CLI_X
};

static int study_here(cli *c, void *user)
{
    const struct study *study = user;
    const study_args *args = c->args;
    int code = cli_spec(c, &args->engine);
    if (code)
        return code;
    cli_catch_signals("");
    code = study->run(c);
    if (code || !(cli_interrupted() || c->stopped))
        return code;
    if (!c->output.json)
        cli_complain("interrupted; showing the results so far");
    return cli_exit_code(KILN_ERROR_INTERRUPTED);
}

static int study_run(cli *c)
{
    study_args *args = c->args;
    cli_list names = {0};
    const char *wanted = c->words.items[0];
    for (size_t i = 0; i < CLI_COUNT(studies); i++) {
        cli_list_add(&names, studies[i].name);
        if (strcmp(studies[i].name, wanted) != 0)
            continue;
        c->words.items[0] = c->words.items[1]; /* the spec */
        const char *usual = cli_usual_device();
        if (!args->engine.device && (!usual || strncmp(usual, "sim", 3) != 0))
            args->engine.device = "sim"; /* only the simulated device counts accesses */
        void *study = (void *)(uintptr_t)&studies[i];
        if (studies[i].run != study_tiles &&
            /* `tiles` makes a separate sandboxed process for each value, and `occupancy` runs no kernels */
            studies[i].run != study_occupancy)
            return cli_apart(c, &args->engine, &args->run, study_here, study);
        cli_sandbox(c, &args->engine);
        return study_here(c, study);
    }
    const char *near = cli_nearest(wanted, names.items, names.count);
    return cli_usage(c, "unknown study '%s'%s", wanted, near ? cli_printf(" (did you mean '%s'?)", near) : "");
}

#define FIELD(field) offsetof(study_args, field)

static const cli_option options[] = {
    {"over", 0, CLI_TEXT, FIELD(over), "PARAM", CLI_NOTHING, NULL,
     "For occupancy and tiles: the param to vary. Default: the first param named BLOCK* or TILE*, or the first param."},
    {"arch", 'a', CLI_TEXT, FIELD(arch), "ARCH", CLI_WORDS, "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120",
     "For occupancy: the architecture to compile for, for example sm_90. Default: the device's."},
    {"block", 0, CLI_TEXT, FIELD(at_block), "NUMBER", CLI_NOTHING, NULL,
     "For access and carveout: the number of the block in the grid. Default: 0."},
    {"all", 0, CLI_FLAG, FIELD(all), NULL, CLI_NOTHING, NULL,
     "For access: also show shared, local and constant memory."},
    {"top", 0, CLI_WHOLE, FIELD(top), "COUNT", CLI_NOTHING, NULL,
     "For access: the number of threads and steps of a kernel in the table. Default: 64."},
    {"no-verify", 0, CLI_FLAG, FIELD(run.no_verify), NULL, CLI_NOTHING, NULL, "Do not check the answer."},
    CLI_TIMEOUT_OPTION(FIELD(run), "."),
};
static const cli_group group = {"Studying", options, CLI_COUNT(options)};

const cli_command cli_study_command = {
    .name = "study",
    .summary = "explain a configuration: occupancy, tiles, memory accesses",
    .arguments = "occupancy|tiles|access|transactions|carveout SPEC",
    .about =
        "Prints tables that explain why a configuration is fast or slow. It works for any spec and needs no GPU.\n\n"
        "`occupancy` varies a param. It shows registers, shared memory, and blocks and warps per SM on any "
        "architecture. It also shows how much more of a resource a kernel can use before an SM has room for one "
        "block less.\n\n"
        "`tiles` varies the width of tiles. It shows loads, operations, operations per load, shared memory and the "
        "loads that an SM has in flight. It computes these figures and also counts them.\n\n"
        "`access` shows the element and the buffer that each thread of a block accesses in each step. Choose a small "
        "size for it.\n\n"
        "`transactions` shows, for each access to global memory, the sectors and lines that a request moves, and the "
        "used share of them.\n\n"
        "`carveout` shows how many blocks fit, and a first-order estimate of the bytes that they read from L2. It does "
        "so with and without L1 caching, and for splits that favour L1 or shared memory.",
    .min_words = 2,
    .max_words = 2,
    .completes = CLI_SPECS,
    .words = "occupancy tiles access transactions carveout",
    .args_size = sizeof(study_args),
    .groups = (const cli_use[]){{&cli_choice_group, FIELD(choice)},
                                {&group, 0},
                                {&cli_sandbox_group, FIELD(engine)},
                                {&cli_engine_group, FIELD(engine)},
                                {0}},
    .examples =
        (const cli_example[]){{"kiln study occupancy matmul -v tiled --over TILE_WIDTH --arch sm_80",
                               "The tile widths at which an SM has room for fewer blocks."},
                              {"kiln study tiles matmul -v tiled", "The effect of wider tiles."},
                              {"kiln study access matmul -v tiled -p TILE_WIDTH=8 -s M=16 -s N=16 -s K=16 --block 1",
                               "The element that each thread reads, step by step."},
                              {"kiln study transactions matmul -v naive",
                               "The sectors and lines that each access moves, and the share that the kernel uses."},
                              {"kiln study carveout matmul -v row_block", "L1 or shared memory."},
                              {0}},
    .run = study_run,
};
