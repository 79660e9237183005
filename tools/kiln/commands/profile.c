/* profile.c - kiln profile: counts the work of the kernels of one configuration */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

typedef struct profile_args {
    cli_choice_args choice;
    cli_run_args run;
    cli_engine_args engine;
    bool lines, no_machine_code;
} profile_args;

typedef struct profile_view {
    const kiln_device_info *device;
    const char *variant, *size_set;
    kiln_setting *params, *sizes;
    size_t param_count, size_count;
} profile_view;

/* ---- parts of both forms of output ---- */

static json_t *counters_json(const kiln_counters *c)
{
    json_t *object = js_object();
#define CLI_X(name, adds, text) js_set(object, #name, js_whole(c->name));
    KILN_COUNTER_MAP(CLI_X)
#undef CLI_X
    return object;
}

static json_t *dims_json(const unsigned dims[3])
{
    json_t *array = js_array();
    for (size_t i = 0; i < 3; i++)
        js_add(array, js_whole(dims[i]));
    return array;
}

static const char *dims_text(const unsigned dims[3])
{
    return dims[2] > 1   ? cli_printf("%u x %u x %u", dims[0], dims[1], dims[2])
           : dims[1] > 1 ? cli_printf("%u x %u", dims[0], dims[1])
                         : cli_printf("%u", dims[0]);
}

/* ---- JSON ---- */

/* Returns the figures of a profiled kernel as a JSON object, with its instructions by class. */
static json_t *kernel_json(const kiln_profiled_kernel *kernel)
{
    json_t *object = js_object(), *classes = js_object();
    js_set(object, "name", js_text(kernel->name));
    js_set(object, "symbol", js_text(kernel->symbol));
    js_set(object, "launches", js_whole(kernel->launches));
    js_set(object, "grid", dims_json(kernel->grid));
    js_set(object, "block", dims_json(kernel->block));
    js_set(object, "blocks", js_whole(kernel->blocks));
    js_set(object, "warps", js_whole(kernel->warps));
    js_set(object, "registers", json_integer(kernel->registers));
    js_set(object, "registers_exact", json_boolean(kernel->registers_exact));
    js_set(object, "static_shared", js_whole(kernel->static_shared));
    js_set(object, "dynamic_shared", js_whole(kernel->dynamic_shared));
    js_set(object, "local_bytes", js_whole(kernel->local_bytes));
    js_set(object, "blocks_per_sm", json_integer(kernel->blocks_per_sm));
    js_set(object, "occupancy", js_real(kernel->occupancy));
    js_set(object, "limited_by", js_text(kernel->limited_by));
    js_set(object, "flops", js_real(kernel->flops));
    js_set(object, "counters", counters_json(kernel->counters));
    for (size_t k = 0; k < kernel->class_count; k++) {
        json_t *one = js_object();
        js_set(one, "executed", js_whole(kernel->class_executed[k]));
        js_set(one, "lanes", js_whole(kernel->class_lanes[k]));
        js_set(classes, kiln_class_name((kiln_class)k), one);
    }
    js_set(object, "classes", classes);
    return object;
}

static json_t *head_json(cli *c, const profile_view *view)
{
    json_t *object = js_object();
    js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
    js_set(object, "variant", js_text(view->variant));
    js_set(object, "params", js_settings(view->params, view->param_count));
    js_set(object, "size_set", js_text(view->size_set));
    js_set(object, "sizes", js_settings(view->sizes, view->size_count));
    js_set(object, "device", js_device(view->device));
    return object;
}

static void show_json(cli *c, const profile_view *view, const kiln_profiling *p)
{
    const profile_args *args = c->args;
    json_t *object = head_json(c, view), *kernels = js_array(), *lines = js_array();
    js_set(object, "verified", json_boolean(kiln_profiling_verified(p)));
    for (size_t i = 0; i < kiln_profiling_kernel_count(p); i++)
        js_add(kernels, kernel_json(kiln_profiling_kernel(p, i)));
    js_set(object, "kernels", kernels);
    for (size_t i = 0; args->lines && i < kiln_profiling_line_count(p); i++) {
        const kiln_profiled_line *line = kiln_profiling_line(p, i);
        json_t *one = js_object();
        js_set(one, "kernel", js_text(kiln_profiling_kernel(p, line->kernel)->name));
        js_set(one, "file", js_text(line->file));
        js_set(one, "line", js_whole(line->line));
        js_set(one, "text", js_text(line->text));
        js_set(one, "counters", counters_json(line->counters));
        js_add(lines, one);
    }
    if (args->lines)
        js_set(object, "lines", lines);
    else
        json_decref(lines);
    js_print(object);
}

/* ---- text ---- */

static void show_head(cli *c, const profile_view *view)
{
    out_printf("%s%s %s%s  %s\n", out_bold(), kiln_spec_name(c->spec), view->variant, out_plain(),
               cli_settings_text(view->params, view->param_count));
    out_printf("  sizes %s%s, counted on %s for sm_%d%d\n", cli_settings_text(view->sizes, view->size_count),
               cli_set_text(c->spec, view->size_set, view->sizes, view->size_count), view->device->id,
               view->device->cc_major, view->device->cc_minor);
}

static void show_classes(const kiln_profiled_kernel *kernel)
{
    cli_table table;
    table_start(&table, "lrrr");
    table.indent = 2;
    table_cell(&table, "instructions");
    table_cell(&table, "of warps");
    table_cell(&table, "share");
    table_cell(&table, "lanes");
    for (size_t k = 0; k < kernel->class_count; k++) {
        if (!kernel->class_executed[k])
            continue;
        table_cell(&table, "  %s", kiln_class_text((kiln_class)k));
        table_cell(&table, "%s", cli_whole(kernel->class_executed[k]));
        table_cell(&table, "%s", cli_share(kernel->class_executed[k], kernel->counters->executed));
        table_cell(&table, "%s", cli_per(kernel->class_lanes[k], kernel->class_executed[k]));
    }
    table_cell(&table, "  all");
    table_cell(&table, "%s", cli_whole(kernel->counters->executed));
    table_cell(&table, "100 %%");
    table_cell(&table, "%s", cli_per(kernel->counters->lanes, kernel->counters->executed));
    table_print(&table, true);
}

static void traffic_row(cli_table *table, const char *name, uint64_t requests, uint64_t bytes, uint64_t used,
                        uint64_t sectors, uint64_t lines)
{
    if (!requests)
        return;
    table_cell(table, "  %s", name);
    table_cell(table, "%s", cli_whole(requests));
    table_cell(table, "%s", cli_bytes(bytes));
    table_cell(table, "%s", cli_whole(sectors));
    table_cell(table, "%s", cli_per(sectors, requests));
    table_cell(table, "%s", cli_whole(lines));
    table_cell(table, "%s", cli_per(lines, requests));
    table_cell(table, "%s", cli_share(used, 32 * sectors));
}
#define TRAFFIC(name, text)                                                                                            \
    traffic_row(&table, text, c->name##_requests, c->name##_bytes, c->name##_used, c->name##_sectors, c->name##_lines)

static void show_traffic(const kiln_counters *c)
{
    static const char *const heads[] = {"memory",      "requests", "requested",   "sectors",
                                        "per request", "lines",    "per request", "used"};
    cli_table table;
    if (!c->global_load_requests && !c->global_store_requests && !c->global_atomic_requests &&
        !c->local_load_requests && !c->local_store_requests)
        return;
    table_start(&table, "lrrrrrrr");
    table.indent = 2;
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        table_cell(&table, "%s", heads[i]);
    TRAFFIC(global_load, "global load");
    TRAFFIC(global_store, "global store");
    TRAFFIC(global_atomic, "global atomic");
    TRAFFIC(local_load, "local load");
    TRAFFIC(local_store, "local store");
    out_puts("\n");
    table_print(&table, true);
}

static void banks_row(cli_table *table, const char *name, uint64_t requests, uint64_t bytes, uint64_t wavefronts,
                      uint64_t ideal, uint64_t worst)
{
    if (!requests)
        return;
    table_cell(table, "  %s", name);
    table_cell(table, "%s", cli_whole(requests));
    table_cell(table, "%s", cli_bytes(bytes));
    table_cell(table, "%s", cli_whole(wavefronts));
    table_cell(table, "%s", cli_per(wavefronts, requests));
    table_cell(table, "%s", cli_whole(wavefronts - ideal));
    table_cell(table, "%s", cli_whole(worst));
}
#define BANKS(name, text)                                                                                              \
    banks_row(&table, text, c->name##_requests, c->name##_bytes, c->name##_wavefronts, c->name##_ideal, c->name##_worst)

static void show_banks(const kiln_counters *c)
{
    static const char *const heads[] = {"shared memory", "requests",  "requested", "wavefronts",
                                        "per request",   "conflicts", "worst"};
    cli_table table;
    if (!c->shared_load_requests && !c->shared_store_requests && !c->shared_atomic_requests)
        return;
    table_start(&table, "lrrrrrr");
    table.indent = 2;
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        table_cell(&table, "%s", heads[i]);
    BANKS(shared_load, "load");
    BANKS(shared_store, "store");
    BANKS(shared_atomic, "atomic");
    out_puts("\n");
    table_print(&table, true);
}

static void show_tensor(const kiln_counters *c)
{
    const struct {
        const char *name;
        uint64_t operations;
    } rows[] = {{"fp16", c->tensor_fp16},
                {"bf16", c->tensor_bf16},
                {"tf32", c->tensor_tf32},
                {"fp8", c->tensor_fp8},
                {"fp64", c->tensor_fp64},
                {"int8", c->tensor_int8},
                {"int4", c->tensor_int4},
                {"int1", c->tensor_int1},
                {"with fp16 sums", c->tensor_fp16_sums},
                {"of sparse matrices", c->tensor_sparse},
                {"by wgmma", c->tensor_wgmma}};
    cli_table table;
    table_start(&table, "lr");
    table.indent = 2;
    table_cell(&table, "tensor cores");
    table_cell(&table, "operations");
    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        if (!rows[i].operations)
            continue;
        table_cell(&table, "  %s", rows[i].name);
        table_cell(&table, "%s", cli_whole(rows[i].operations));
    }
    if (table.cells.count == table.columns)
        return; /* the table has only its heading, so it is not printed */
    out_puts("\n");
    table_print(&table, true);
}

static void copy_row(cli_table *table, const char *name, uint64_t count, uint64_t bytes, const char *read,
                     uint64_t sectors)
{
    if (!count)
        return;
    table_cell(table, "  %s", name);
    table_cell(table, "%s", cli_whole(count));
    table_cell(table, "%s", cli_bytes(bytes));
    table_cell(table, "%s", read);
    table_cell(table, "%s", sectors ? cli_whole(sectors) : "");
}

static void show_copies(const kiln_counters *c)
{
    cli_table table;
    if (!c->cp_async_requests && !c->bulk_loads && !c->bulk_stores && !c->bulk_shared)
        return;
    table_start(&table, "lrrrr");
    table.indent = 2;
    table_cell(&table, "asynchronous copies");
    table_cell(&table, "number");
    table_cell(&table, "written");
    table_cell(&table, "read");
    table_cell(&table, "sectors");
    copy_row(&table, "cp.async", c->cp_async_requests, c->cp_async_bytes, "", 0);
    copy_row(&table, "bulk, to shared", c->bulk_loads, c->bulk_load_bytes, cli_bytes(c->bulk_load_read),
             c->bulk_load_sectors);
    copy_row(&table, "bulk, to global", c->bulk_stores, c->bulk_store_bytes, "", c->bulk_store_sectors);
    copy_row(&table, "bulk, between blocks", c->bulk_shared, c->bulk_shared_bytes, "", 0);
    out_puts("\n");
    table_print(&table, true);
}

/* Prints the counters that the other tables do not show: branches, barriers, bulk copies, atomics and constants. Rows
 * without events are left out. */
static void show_rest(const kiln_counters *c)
{
    cli_table table;
    table_start(&table, "ll");
    table.indent = 2;
    if (c->branches) {
        table_cell(&table, "branches");
        table_cell(&table, "%s with a condition, %s divergent (%s)", cli_whole(c->branches), cli_whole(c->divergent),
                   cli_share(c->divergent, c->branches));
    }
    if (c->barriers) {
        table_cell(&table, "barriers");
        table_cell(&table, "%s arrivals of warps", cli_whole(c->barriers));
    }
    if (c->bulk_loads || c->bulk_stores) {
        table_cell(&table, "bulk copies");
        table_cell(&table, "%s by a tensor map, %s with multicast, %s reductions", cli_whole(c->bulk_by_map),
                   cli_whole(c->bulk_multicasts), cli_whole(c->bulk_reductions));
    }
    if (c->mbarrier_waits) {
        table_cell(&table, "mbarriers");
        table_cell(&table, "%s waits of warps", cli_whole(c->mbarrier_waits));
    }
    if (c->warp_syncs) {
        table_cell(&table, "warp operations");
        table_cell(&table, "%s", cli_whole(c->warp_syncs));
    }
    if (c->const_requests) {
        table_cell(&table, "constant memory");
        table_cell(&table, "%s requests, %s addresses each", cli_whole(c->const_requests),
                   cli_per(c->const_addresses, c->const_requests));
    }
    if (c->global_atomic_requests) {
        table_cell(&table, "global atomics");
        table_cell(&table, "%s addresses per request; lanes on the most frequent address: %s on average, at most %s",
                   cli_per(c->global_atomic_addresses, c->global_atomic_requests),
                   cli_per(c->global_atomic_serial, c->global_atomic_requests), cli_whole(c->global_atomic_most));
    }
    if (c->shared_atomic_requests) {
        table_cell(&table, "shared atomics");
        table_cell(&table, "%s addresses per request; lanes on the most frequent address: %s on average, at most %s",
                   cli_per(c->shared_atomic_addresses, c->shared_atomic_requests),
                   cli_per(c->shared_atomic_serial, c->shared_atomic_requests), cli_whole(c->shared_atomic_most));
    }
    if (table.cells.count == 0)
        return;
    out_puts("\n");
    table_print(&table, false);
}

void profile_show_counters(const kiln_counters *counters)
{
    show_traffic(counters);
    show_banks(counters);
    show_tensor(counters);
    show_copies(counters);
    show_rest(counters);
}

static void show_kernel(const kiln_profiled_kernel *k)
{
    uint64_t threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];
    out_printf("\n%s%s%s  %s launch%s, %s blocks of %s threads%s, %s warps\n", out_bold(), k->name, out_plain(),
               cli_whole(k->launches), k->launches == 1 ? "" : "es", cli_whole(k->blocks), dims_text(k->block),
               threads % 32 ? cli_printf(" (the last warp %u lanes)", (unsigned)(threads % 32)) : "",
               cli_whole(k->warps));
    out_printf("  %d registers%s, %s of shared memory per block, %s of local memory per thread\n", k->registers,
               k->registers_exact ? "" : " (estimated)", cli_bytes(k->static_shared + k->dynamic_shared),
               cli_bytes(k->local_bytes));
    if (k->occupancy > 0)
        out_printf("  occupancy %s %%: %d blocks per SM, limited by %s\n", cli_significant(100 * k->occupancy, 3),
                   k->blocks_per_sm, k->limited_by);
    if (k->flops > 0)
        out_printf("  %s floating-point operations\n", cli_whole((uint64_t)k->flops));
    out_puts("\n");
    show_classes(k);
    profile_show_counters(k->counters);
}

/* Prints the lines of the source with their counts. Columns without any count are left out. */
static void show_lines(const kiln_profiling *p, size_t kernel)
{
    cli_table table;
    kiln_counters sum = {0};
    const char *file = NULL;
    for (size_t i = 0; i < kiln_profiling_line_count(p); i++)
        if (kiln_profiling_line(p, i)->kernel == kernel)
            sum.global_load_requests += kiln_profiling_line(p, i)->counters->shared_load_requests +
                                        kiln_profiling_line(p, i)->counters->shared_store_requests +
                                        kiln_profiling_line(p, i)->counters->shared_atomic_requests,
                sum.branches += kiln_profiling_line(p, i)->counters->branches;
    bool shared = sum.global_load_requests > 0, branches = sum.branches > 0;
    table_start(&table, shared && branches ? "rrrrrrrl" : shared || branches ? "rrrrrrl" : "rrrrrl");
    table.indent = 2;
    table_cell(&table, "line");
    table_cell(&table, "of warps");
    table_cell(&table, "lanes");
    table_cell(&table, "sectors");
    table_cell(&table, "per request");
    if (shared)
        table_cell(&table, "wavefronts");
    if (branches)
        table_cell(&table, "divergent");
    table_cell(&table, "source");
    for (size_t i = 0; i < kiln_profiling_line_count(p); i++) {
        const kiln_profiled_line *line = kiln_profiling_line(p, i);
        const kiln_counters *c = line->counters;
        if (line->kernel != kernel)
            continue;
        uint64_t requests = c->global_load_requests + c->global_store_requests + c->global_atomic_requests;
        uint64_t sectors = c->global_load_sectors + c->global_store_sectors + c->global_atomic_sectors;
        uint64_t banks = c->shared_load_requests + c->shared_store_requests + c->shared_atomic_requests;
        uint64_t waves = c->shared_load_wavefronts + c->shared_store_wavefronts + c->shared_atomic_wavefronts;
        bool other = file && *line->file && strcmp(file, line->file) != 0;
        if (!file && *line->file)
            file = line->file;
        table_cell(&table, "%s", line->line ? cli_printf("%u", line->line) : "-");
        table_cell(&table, "%s", cli_whole(c->executed));
        table_cell(&table, "%s", cli_per(c->lanes, c->executed));
        table_cell(&table, "%s", requests ? cli_whole(sectors) : "");
        table_cell(&table, "%s", cli_per(sectors, requests));
        if (shared)
            table_cell(&table, "%s", banks ? cli_printf("%s of %s", cli_whole(waves), cli_whole(banks)) : "");
        if (branches)
            table_cell(&table, "%s",
                       c->branches ? cli_printf("%s of %s", cli_whole(c->divergent), cli_whole(c->branches)) : "");
        table_cell(&table, "%s%s%s", other ? line->file : "", other ? ": " : "", line->text);
    }
    out_puts("\n");
    table_print(&table, true);
}

/* Opens the configuration that the options choose, and counts one run of it. It uses the simulated device unless the
 * user names a device. Returns 0 or the exit code. */
static int run_counted(cli *c, const char *variant, profile_view *view, kiln_profiling **profiling)
{
    profile_args *args = c->args;
    kiln_run_options options;
    kiln_error *error = NULL;
    const char *device = cli_usual_device();
    if (!args->engine.device && (!device || strncmp(device, "sim", 3) != 0))
        args->engine.device = "sim"; /* only a simulated device can count work */
    cli_make_run(&args->run, &options);
    options.flags |= args->no_machine_code ? KILN_RUN_NO_MACHINE_CODE : 0;
    if (!cli_make_files(c, &args->run.inputs, "--input", &options.inputs))
        return CLI_USAGE;
    options.input_count = args->run.inputs.count;
    int code = cli_spec(c, &args->engine);
    if (code)
        return code;
    cli_choice chosen;
    if (!cli_make_choice(c, &args->choice, variant, &chosen))
        return CLI_USAGE;
    cli_catch_signals("");
    kiln_status status = kiln_engine_device(c->engine, &view->device, &error);
    if (status == KILN_OK)
        status = kiln_profile(c->engine, c->spec, &chosen.choice, &options, profiling, &error);
    if (status != KILN_OK)
        return cli_error(c, error);
    int index = kiln_spec_variant_find(c->spec, chosen.variant);
    view->variant = chosen.variant;
    view->param_count = cli_whole_params(c->spec, index < 0 ? 0 : (size_t)index, &chosen.choice, &view->params);
    view->size_count = cli_whole_sizes(c->spec, &chosen.choice, view->device->simulated, &view->size_set, &view->sizes);
    return 0;
}

static int profile_here(cli *c, void *user)
{
    const profile_args *args = c->args;
    (void)user;
    profile_view view = {0};
    kiln_profiling *profiling = NULL;
    int code = run_counted(c, args->choice.variant, &view, &profiling);
    if (code)
        return code;
    if (c->output.json) {
        show_json(c, &view, profiling);
    } else {
        show_head(c, &view);
        for (size_t i = 0; i < kiln_profiling_kernel_count(profiling); i++) {
            show_kernel(kiln_profiling_kernel(profiling, i));
            if (args->lines)
                show_lines(profiling, i);
        }
    }
    kiln_profiling_free(profiling);
    return 0;
}

static int profile_run(cli *c)
{
    const profile_args *args = c->args;
    return cli_apart(c, &args->engine, &args->run, profile_here, NULL);
}

#define FIELD(field) offsetof(profile_args, field)

static const cli_option options[] = {
    {"lines", 'l', CLI_FLAG, FIELD(lines), NULL, CLI_NOTHING, NULL,
     "Show the counts of each source line too, beside the source."},
    CLI_INPUT_OPTION(FIELD(run.inputs)),
    {"no-verify", 0, CLI_FLAG, FIELD(run.no_verify), NULL, CLI_NOTHING, NULL, "Do not check the answer."},
    {"no-machine-code", 0, CLI_FLAG, FIELD(no_machine_code), NULL, CLI_NOTHING, NULL,
     "Compile to PTX only. This takes less time, and the number of registers is then an estimate."},
    CLI_TIMEOUT_OPTION(FIELD(run), "."),
};
static const cli_group group = {"Profiling", options, CLI_COUNT(options)};

const cli_command cli_profile_command = {
    .name = "profile",
    .summary = "count instructions and memory accesses of a configuration, on the simulated device",
    .arguments = "SPEC",
    .about =
        "Runs one configuration once on the simulated device, and prints the occupancy and exact counts of these "
        "events:\n\n"
        "  instructions by kind, and active lanes\n"
        "  32-byte sectors and 128-byte lines of each access to memory, and the used share of them\n"
        "  passes through the banks of shared memory\n"
        "  atomics on one address\n"
        "  divergent branches\n"
        "  barriers\n\n"
        "The counts are the same in every run. The instructions are PTX instructions. The registers are those that "
        "ptxas assigns.\n\n"
        "No GPU is needed. `kiln study` has tables that are based on these counts.",
    .min_words = 1,
    .max_words = 1,
    .completes = CLI_SPECS,
    .args_size = sizeof(profile_args),
    .groups = (const cli_use[]){{&cli_choice_group, FIELD(choice)},
                                {&group, 0},
                                {&cli_sandbox_group, FIELD(engine)},
                                {&cli_engine_group, FIELD(engine)},
                                {0}},
    .examples =
        (const cli_example[]){
            {"kiln profile matmul -v tiled", "By kernel."},
            {"kiln profile matmul -v tiled -p TILE_WIDTH=16 --lines", "Counts for each line of the source too."},
            {"kiln profile matmul -v coarsened -s M=256 -s N=256 -s K=256 --json", "For programs."},
            {0}},
    .run = profile_run,
};
