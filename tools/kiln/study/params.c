/* params.c - the studies that vary one param: `occupancy` and `tiles`. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "study.h"

/* ---- the param that is varied ---- */

typedef struct sweep {
    const kiln_param_info *param;
    cli_choice chosen;
    kiln_setting *setting; /* the setting of the varied param in the choice */
    size_t variant;
} sweep;

/* Chooses the param that the study varies: the param of --over, if the user names one. Otherwise it is the first param
 * whose name begins with `usual`, or the first param at all. Returns 0 or the exit code. */
static int sweep_start(cli *c, const char *usual, sweep *s)
{
    const study_args *args = c->args;
    if (!cli_make_choice(c, &args->choice, args->choice.variant, &s->chosen))
        return CLI_USAGE;
    int variant = kiln_spec_variant_find(c->spec, s->chosen.variant);
    if (variant < 0)
        return cli_fail(c, KILN_ERROR_NOT_FOUND, "%s has no variant '%s'", kiln_spec_name(c->spec), s->chosen.variant);
    s->variant = (size_t)variant;
    size_t count = kiln_spec_param_count(c->spec, s->variant), found = count;
    cli_list names = {0};
    for (size_t i = 0; i < count; i++) {
        s->param = kiln_spec_param(c->spec, s->variant, i);
        cli_list_add(&names, s->param->name);
        bool fits = args->over ? strcmp(s->param->name, args->over) == 0
                               : strncmp(s->param->name, usual, strlen(usual)) == 0;
        found = fits && found == count ? i : found;
    }
    if (count == 0)
        return cli_usage(c, "%s %s has no params to vary", kiln_spec_name(c->spec), s->chosen.variant);
    if (args->over && found == count) {
        const char *near = cli_nearest(args->over, names.items, names.count);
        return cli_usage(c, "%s has no param '%s'%s", s->chosen.variant, args->over,
                         near ? cli_printf(" (did you mean '%s'?)", near) : "");
    }
    s->param = kiln_spec_param(c->spec, s->variant, found == count ? 0 : found);
    size_t given = s->chosen.choice.param_count;
    kiln_setting *params = cli_alloc((given + 1) * sizeof *params);
    for (size_t i = 0; i < given; i++) {
        params[i] = s->chosen.choice.params[i];
        if (strcmp(params[i].name, s->param->name) == 0)
            return cli_usage(c, "%s is the param that --over varies, so --param cannot set it", s->param->name);
    }
    s->setting = &params[given];
    s->setting->name = s->param->name;
    s->chosen.choice.params = params;
    s->chosen.choice.param_count = given + 1;
    return 0;
}

static json_t *sweep_json(cli *c, const sweep *s)
{
    json_t *object = js_object();
    js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
    js_set(object, "variant", js_text(s->chosen.variant));
    js_set(object, "params", js_settings(s->chosen.choice.params, s->chosen.choice.param_count - 1));
    js_set(object, "over", js_text(s->param->name));
    return object;
}

/* ---- occupancy ---- */

typedef struct cliff {
    int registers;
    uint64_t shared;
} cliff; /* the smallest growth after which an SM holds one block less; 0 means that no growth has this effect */

/* Finds the smallest growth of registers, and of shared memory, after which an SM holds one block less. */
static bool find_cliff(cli *c, const char *arch, const kiln_inspected_kernel *k, cliff *out, kiln_error **error)
{
    enum { MOST_REGISTERS = 255, MOST_SHARED = 1 << 18 };
    unsigned threads = k->block[0] * k->block[1] * k->block[2];
    uint64_t shared = k->static_shared + k->dynamic_shared, low = 0, high = MOST_SHARED;
    kiln_occupancy_info info = {.size = sizeof info};
    *out = (cliff){0};
    for (int r = k->registers + 1; r <= MOST_REGISTERS && !out->registers; r++) {
        if (kiln_occupancy(c->engine, arch, threads, r, shared, &info, error) != KILN_OK)
            return false;
        out->registers = info.blocks_per_sm < k->blocks_per_sm ? r - k->registers : 0;
    }
    /* bisection works because an SM never holds more blocks if a block needs more shared memory */
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (kiln_occupancy(c->engine, arch, threads, k->registers, shared + middle, &info, error) != KILN_OK)
            return false;
        if (info.blocks_per_sm < k->blocks_per_sm)
            high = middle;
        else
            low = middle;
    }
    out->shared = high;
    return true;
}

static json_t *occupancy_json(const kiln_inspected_kernel *k, kiln_value value, const cliff *at)
{
    json_t *row = js_object();
    js_set(row, "value", js_value(value));
    js_set(row, "kernel", js_text(k->name));
    js_set(row, "threads", js_whole((uint64_t)k->block[0] * k->block[1] * k->block[2]));
    js_set(row, "registers", json_integer(k->registers));
    js_set(row, "shared", js_whole(k->static_shared + k->dynamic_shared));
    js_set(row, "blocks_per_sm", json_integer(k->blocks_per_sm));
    js_set(row, "occupancy", js_real(k->occupancy));
    js_set(row, "limited_by", js_text(k->limited_by));
    js_set(row, "registers_to_cliff", at->registers ? json_integer(at->registers) : json_null());
    js_set(row, "shared_to_cliff", js_whole(at->shared));
    return row;
}

static void occupancy_cells(cli_table *table, const kiln_inspected_kernel *k, const char *value, const cliff *at,
                            int before)
{
    unsigned threads = k->block[0] * k->block[1] * k->block[2];
    table_cell(table, "%s", value);
    table_cell(table, "%s", k->name);
    table_cell(table, "%u", threads);
    table_cell(table, "%d", k->registers);
    table_cell(table, "%s", cli_bytes(k->static_shared + k->dynamic_shared));
    table_cell(table, "%d", k->blocks_per_sm);
    table_cell(table, "%d", (int)((threads + 31) / 32) * k->blocks_per_sm);
    table_cell(table, "%s %%", cli_significant(100 * k->occupancy, 3));
    table_cell(table, "%s", k->limited_by);
    table_cell(table, "%s", at->registers ? cli_printf("+%d", at->registers) : "never");
    table_cell(table, "+%s", cli_bytes(at->shared));
    table_cell(table, "%s",
               before > k->blocks_per_sm ? cli_printf("cliff: %d blocks less", before - k->blocks_per_sm)
               : before >= 0 && before < k->blocks_per_sm ? "more blocks"
                                                          : "");
}

static const char *const occupancy_heads[] = {"",         "kernel",    "threads",    "registers", "shared", "blocks/SM",
                                              "warps/SM", "occupancy", "limited by", "registers", "shared", ""};

int study_occupancy(cli *c)
{
    const study_args *args = c->args;
    sweep s;
    cli_table table;
    kiln_error *error = NULL;
    int code = sweep_start(c, "BLOCK", &s), before = -1;
    if (code)
        return code;
    json_t *object = sweep_json(c, &s), *rows = js_array();
    cli_list refused = {0};
    const char *arch = NULL;
    table_start(&table, "llrrrrrrlrrl");
    for (size_t i = 0; i < CLI_COUNT(occupancy_heads); i++)
        table_cell(&table, "%s", i == 0 ? s.param->name : occupancy_heads[i]);
    for (size_t i = 0; i < s.param->count && !code && !cli_interrupted(); i++) {
        kiln_inspection *inspection = NULL;
        s.setting->value = s.param->values[i];
        const char *value = cli_value_text(s.param->values[i]);
        kiln_status status = kiln_inspect(c->engine, c->spec, &s.chosen.choice, args->arch, &inspection, &error);
        if (status == KILN_ERROR_CONSTRAINT) {
            cli_list_add(&refused, value);
            kiln_error_free(error);
            error = NULL;
            continue;
        }
        if (status != KILN_OK) {
            code = cli_error(c, error);
            break;
        }
        arch = cli_printf("%s", kiln_inspection_arch(inspection));
        for (size_t k = 0; k < kiln_inspection_kernel_count(inspection) && !code; k++) {
            const kiln_inspected_kernel *kernel = kiln_inspection_kernel(inspection, k);
            cliff at;
            if (kernel->blocks_per_sm == 0)
                /* the block size depends on the data of an input, or the block does not fit on an SM at all */
                continue;
            if (!find_cliff(c, arch, kernel, &at, &error)) {
                code = cli_error(c, error);
                break;
            }
            occupancy_cells(&table, kernel, value, &at, k == 0 ? before : -1);
            js_add(rows, occupancy_json(kernel, s.param->values[i], &at));
            before = k == 0 ? kernel->blocks_per_sm : before;
        }
        kiln_inspection_free(inspection);
    }
    if (!code && !arch && cli_interrupted())
        code = cli_fail(c, KILN_ERROR_INTERRUPTED, "interrupted before anything was done");
    else if (!code && !arch)
        code = cli_fail(c, KILN_ERROR_CONSTRAINT, "no value of %s satisfies the constraints of %s", s.param->name,
                        s.chosen.variant);
    if (code) {
        json_decref(object);
        json_decref(rows);
        return code;
    }
    js_set(object, "arch", js_text(arch));
    js_set(object, "rows", rows);
    if (c->output.json) {
        js_print(object);
        return 0;
    }
    json_decref(object);
    out_printf("%s%s %s%s  %s, over %s\n\n", out_bold(), kiln_spec_name(c->spec), s.chosen.variant, out_plain(), arch,
               s.param->name);
    table_print(&table, true);
    out_puts(
        "\nA + marks the additional registers per thread, or the additional shared memory per block, with which an SM\n"
        "has room for one block less.\n");
    for (size_t i = 0; i < refused.count; i++)
        out_printf("%s%s%s", i ? ", " : cli_printf("Outside the space: %s=", s.param->name), refused.items[i],
                   i + 1 == refused.count ? "\n" : "");
    return 0;
}

/* ---- tiles ---- */

typedef struct tile_row {
    /* loads and operations of a block in one phase, which is the time between two barriers; `each` is the number of
     * operations per load */
    double loads, operations, each;
    uint64_t shared, phases;
    int blocks_per_sm;
    double pending; /* the number of loads of all blocks of an SM in one phase */
    const char *kernel;
    /* the width of the square tiles of two operands, from which the figures can be computed by hand; 0 if it is not
     * known */
    int64_t width;
} tile_row;

/* Fills the row of one value. A phase has two barriers: one after the tile is loaded, and one after the tile is
 * used. */
static tile_row tile_of(const kiln_profiled_kernel *k, kiln_value value)
{
    const kiln_counters *n = k->counters;
    uint64_t barriers = k->warps ? n->barriers / k->warps : 0, blocks = k->blocks ? k->blocks : 1;
    tile_row row = {
        .kernel = k->name, .shared = k->static_shared + k->dynamic_shared, .blocks_per_sm = k->blocks_per_sm};
    row.phases = barriers >= 2 ? barriers / 2 : 1;
    row.loads = (double)n->global_load_lanes / (double)blocks / (double)row.phases;
    row.operations = k->flops / (double)blocks / (double)row.phases;
    row.each = row.loads > 0 ? row.operations / row.loads : 0;
    row.pending = row.loads * row.blocks_per_sm;
    uint64_t threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];
    if (value.kind == KILN_INT && value.as.i > 0 && value.as.i <= 64 &&
        (uint64_t)(value.as.i * value.as.i) == threads && row.shared == 8 * threads)
        row.width = value.as.i;
    return row;
}

static json_t *tile_json(const tile_row *row, kiln_value value)
{
    json_t *object = js_object(), *hand = json_null();
    double t = (double)row->width;
    if (row->width) {
        hand = js_object();
        js_set(hand, "loads", js_real(2 * t * t));
        js_set(hand, "operations", js_real(2 * t * t * t));
        js_set(hand, "operations_a_load", js_real(t));
        js_set(hand, "shared", js_real(8 * t * t));
        js_set(hand, "pending_loads_per_sm", js_real(2 * t * t * row->blocks_per_sm));
    }
    js_set(object, "value", js_value(value));
    js_set(object, "kernel", js_text(row->kernel));
    js_set(object, "phases", js_whole(row->phases));
    js_set(object, "loads", js_real(row->loads));
    js_set(object, "operations", js_real(row->operations));
    js_set(object, "operations_a_load", js_real(row->each));
    js_set(object, "shared", js_whole(row->shared));
    js_set(object, "blocks_per_sm", json_integer(row->blocks_per_sm));
    js_set(object, "pending_loads_per_sm", js_real(row->pending));
    js_set(object, "by_hand", hand);
    return object;
}

static const char *both_counts(double hand, bool known, const char *counted)
{
    return known ? cli_printf("%s | %s", cli_significant(hand, 4), counted) : counted;
}

static void tile_cells(cli_table *table, const tile_row *row, const char *value)
{
    double t = (double)row->width;
    bool known = row->width > 0;
    table_cell(table, "%s", value);
    table_cell(table, "%s", cli_whole(row->phases));
    table_cell(table, "%s", both_counts(2 * t * t, known, cli_significant(row->loads, 4)));
    table_cell(table, "%s", both_counts(2 * t * t * t, known, cli_significant(row->operations, 5)));
    table_cell(table, "%s", both_counts(t, known, cli_significant(row->each, 4)));
    table_cell(table, "%s", cli_bytes(row->shared));
    table_cell(table, "%d", row->blocks_per_sm);
    table_cell(table, "%s", both_counts(2 * t * t * row->blocks_per_sm, known, cli_significant(row->pending, 5)));
}

/* Returns the kernel with the most loads, because the kernel that uses tiles has the most loads. */
static const kiln_profiled_kernel *main_kernel(const kiln_profiling *p)
{
    const kiln_profiled_kernel *best = kiln_profiling_kernel(p, 0);
    for (size_t i = 1; i < kiln_profiling_kernel_count(p); i++)
        if (kiln_profiling_kernel(p, i)->counters->global_load_lanes > best->counters->global_load_lanes)
            best = kiln_profiling_kernel(p, i);
    return best;
}

static const char *const tile_heads[] = {
    "", "phases", "loads", "operations", "operations per load", "shared", "blocks/SM", "pending loads per SM"};

/* The answer of the process that runs one value. The answer is in memory that both processes share. A kernel may have
 * written the answer, so the command only shows it and never trusts it. */
typedef struct tile_answer {
    tile_row row; /* the row of the kernel whose name is `kernel` */
    char kernel[256];
    bool made; /* false: the constraints of the spec exclude this value */
} tile_answer;

typedef struct tile_work {
    sweep *s;
    const kiln_run_options *options;
    kiln_value value;
    tile_answer *answer;
} tile_work;

static int make_tile(cli *c, void *user)
{
    const tile_work *work = user;
    kiln_profiling *profiling = NULL;
    kiln_error *error = NULL;
    kiln_status status = kiln_profile(c->engine, c->spec, &work->s->chosen.choice, work->options, &profiling, &error);
    if (status == KILN_ERROR_CONSTRAINT) {
        kiln_error_free(error);
        return 0;
    }
    if (status == KILN_ERROR_INTERRUPTED) { /* after an interruption, the command shows the rows that are ready */
        kiln_error_free(error);
        return cli_exit_code(status);
    }
    if (status != KILN_OK)
        return cli_error(c, error);
    if (kiln_profiling_kernel_count(profiling)) {
        work->answer->row = tile_of(main_kernel(profiling), work->value);
        snprintf(work->answer->kernel, sizeof work->answer->kernel, "%s", work->answer->row.kernel);
        work->answer->made = true;
    }
    kiln_profiling_free(profiling);
    return 0;
}

/* `kiln study tiles`: runs the configuration once for each value of a tile param, each time in a separate sandboxed
 * process. Shows the loads and operations of a phase, both computed by hand and counted. A value that the constraints
 * exclude gets no row. */
int study_tiles(cli *c)
{
    const study_args *args = c->args;
    sweep s;
    cli_table table;
    int code = sweep_start(c, "TILE", &s);
    if (code)
        return code;
    json_t *object = sweep_json(c, &s), *rows = js_array();
    kiln_run_options options;
    cli_make_run(&args->run, &options);
    bool any = false;
    tile_answer *answer = mmap(NULL, sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (answer == MAP_FAILED)
        return cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
    table_start(&table, "lrrrrrrr");
    for (size_t i = 0; i < CLI_COUNT(tile_heads); i++)
        table_cell(&table, "%s", i == 0 ? s.param->name : tile_heads[i]);
    for (size_t i = 0; i < s.param->count && !cli_interrupted(); i++) {
        s.setting->value = s.param->values[i];
        tile_work work = {&s, &options, s.param->values[i], answer};
        *answer = (tile_answer){.made = false};
        code = cli_apart(c, &args->engine, &args->run, make_tile, &work);
        c->stopped = code == cli_exit_code(KILN_ERROR_INTERRUPTED);
        if (c->apart || (code && !c->stopped)) {
            json_decref(object);
            json_decref(rows);
            return code;
        }
        if (c->stopped)
            break;
        tile_row row = answer->row;
        answer->kernel[sizeof answer->kernel - 1] = '\0';
        row.kernel = cli_printf("%s", answer->kernel);
        if (answer->made) {
            tile_cells(&table, &row, cli_value_text(s.param->values[i]));
            js_add(rows, tile_json(&row, s.param->values[i]));
            any = true;
        }
    }
    munmap(answer, sizeof *answer);
    js_set(object, "rows", rows);
    if (!any) {
        json_decref(object);
        if (cli_interrupted() || c->stopped)
            return cli_fail(c, KILN_ERROR_INTERRUPTED, "interrupted before anything was done");
        return cli_fail(c, KILN_ERROR_CONSTRAINT, "no value of %s satisfies the constraints of %s", s.param->name,
                        s.chosen.variant);
    }
    if (c->output.json) {
        js_print(object);
        return 0;
    }
    json_decref(object);
    out_printf("%s%s %s%s  over %s\n\n", out_bold(), kiln_spec_name(c->spec), s.chosen.variant, out_plain(),
               s.param->name);
    table_print(&table, true);
    out_puts("\n"
             "The figures are for one block in one phase. A phase lasts from the load of a tile until its last use.\n"
             "The figures 'by hand' are for square tiles of two operands in shared memory: 2 T T loads, 2 T T T "
             "operations.\n"
             "The counted figures include edges and all other loads.\n");
    return 0;
}
