/* inspect.c - kiln inspect: compiles a configuration and shows its source, code and resources */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

typedef struct inspect_args {
    cli_choice_args choice;
    cli_engine_args engine;
    const char *arch;
    /* files to which these parts are written; NULL means no file, and "-" means standard output */
    const char *source, *ptx, *cubin;
} inspect_args;

/* Returns all figures of a compiled kernel as a JSON object. */
static json_t *kernel_json(const kiln_inspected_kernel *kernel)
{
    json_t *object = js_object(), *block = js_array(), *cluster = js_array();
    js_set(object, "name", js_text(kernel->name));
    js_set(object, "symbol", js_text(kernel->symbol));
    js_set(object, "registers", json_integer(kernel->registers));
    js_set(object, "static_shared", js_whole(kernel->static_shared));
    js_set(object, "dynamic_shared", js_whole(kernel->dynamic_shared));
    js_set(object, "local_bytes", js_whole(kernel->local_bytes));
    js_set(object, "constant_bytes", js_whole(kernel->constant_bytes));
    js_set(object, "spill_store_bytes",
           kernel->spill_store_bytes < 0 ? json_null() : json_integer(kernel->spill_store_bytes));
    js_set(object, "spill_load_bytes",
           kernel->spill_load_bytes < 0 ? json_null() : json_integer(kernel->spill_load_bytes));
    for (size_t i = 0; i < 3; i++)
        js_add(block, js_whole(kernel->block[i]));
    js_set(object, "block", block);
    for (size_t i = 0; i < 3; i++)
        js_add(cluster, js_whole(kernel->cluster[i] ? kernel->cluster[i] : 1));
    js_set(object, "cluster", cluster);
    js_set(object, "cluster_scheduling", js_text(kernel->cluster_scheduling));
    js_set(object, "cooperative", json_boolean(kernel->cooperative));
    js_set(object, "overlap", json_boolean(kernel->overlap));
    js_set(object, "priority", json_integer(kernel->priority));
    js_set(object, "carveout", kernel->carveout < 0 ? json_null() : json_integer(kernel->carveout));
    js_set(object, "blocks_per_sm", json_integer(kernel->blocks_per_sm));
    js_set(object, "occupancy", js_real(kernel->occupancy));
    js_set(object, "limited_by", js_text(kernel->limited_by));
    js_set(object, "tensor_columns", kernel->tensor_columns < 0 ? json_null() : json_integer(kernel->tensor_columns));
    return object;
}

static void show_json(cli *c, const char *variant, const kiln_setting *params, size_t count,
                      const kiln_inspection *inspection)
{
    const inspect_args *args = c->args;
    size_t cubin = 0;
    json_t *object = js_object(), *kernels = js_array(), *findings = js_array();
    kiln_inspection_cubin(inspection, &cubin);
    js_set(object, "spec", js_text(kiln_spec_name(c->spec)));
    js_set(object, "variant", js_text(variant));
    js_set(object, "params", js_settings(params, count));
    js_set(object, "arch", js_text(kiln_inspection_arch(inspection)));
    for (size_t i = 0; i < kiln_inspection_kernel_count(inspection); i++)
        js_add(kernels, kernel_json(kiln_inspection_kernel(inspection, i)));
    js_set(object, "kernels", kernels);
    js_set(object, "cubin_bytes", js_whole(cubin));
    const char *finding;
    for (size_t i = 0; (finding = kiln_inspection_finding(inspection, i)) != NULL; i++)
        js_add(findings, js_text(finding));
    js_set(object, "findings", findings);
    js_set(object, "log", js_text(kiln_inspection_log(inspection)));
    if (args->source && strcmp(args->source, "-") == 0)
        js_set(object, "source", js_text(kiln_inspection_source(inspection)));
    if (args->ptx && strcmp(args->ptx, "-") == 0)
        js_set(object, "ptx", js_text(kiln_inspection_ptx(inspection)));
    js_print(object);
}

/* Prints the compiler's messages, without the statistics of ptxas, because the table shows them. */
static void show_log(const char *log)
{
    bool any = false;
    while (log && *log) {
        size_t length = strcspn(log, "\n");
        char *line = cli_strndup(log, length);
        if (*line && strncmp(line, "ptxas info", 10) != 0 && !strstr(line, "bytes stack frame")) {
            out_puts(any ? "" : "\n");
            out_puts(line);
            out_puts("\n");
            any = true;
        }
        log += length + (log[length] == '\n');
    }
}

/* ---- tensor memory ---- */

/* Prints how much tensor memory each kernel allocates, if it allocates any. */
static void show_tensor_memory(const kiln_inspection *inspection)
{
    enum { COLUMNS = 512 }; /* the number of columns of the tensor memory of an SM */
    for (size_t i = 0; i < kiln_inspection_kernel_count(inspection); i++) {
        const kiln_inspected_kernel *kernel = kiln_inspection_kernel(inspection, i);
        const int columns = kernel->tensor_columns;
        if (columns < 0)
            out_printf("\n%s allocates tensor memory; the PTX does not tell how many columns\n", kernel->name);
        else if (columns)
            out_printf("\n%s allocates %d of the %d columns of tensor memory of an SM: blocks/SM at most %d\n",
                       kernel->name, columns, COLUMNS, COLUMNS / columns);
    }
}

/* Prints a table of the kernels, the size of the machine code, findings about wgmma, and the compiler's log. */
static void show_text(cli *c, const char *variant, const kiln_setting *params, size_t count,
                      const kiln_inspection *inspection)
{
    out_printf("%s%s %s%s  %s\n\n", out_bold(), kiln_spec_name(c->spec), variant, out_plain(),
               cli_settings_text(params, count));
    cli_table table;
    table_start(&table, "lrrrrrrrrl");
    static const char *const heads[] = {"kernel", "threads", "registers", "shared",    "+ dynamic",
                                        "local",  "spills",  "blocks/SM", "occupancy", "limited by"};
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t i = 0; i < kiln_inspection_kernel_count(inspection); i++) {
        const kiln_inspected_kernel *kernel = kiln_inspection_kernel(inspection, i);
        table_cell(&table, "%s", kernel->name);
        table_cell(&table, "%s", cli_whole((uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2]));
        table_cell(&table, "%d", kernel->registers);
        table_cell(&table, "%s", cli_bytes(kernel->static_shared));
        table_cell(&table, "%s", cli_bytes(kernel->dynamic_shared));
        table_cell(&table, "%s", cli_bytes(kernel->local_bytes));
        if (kernel->spill_store_bytes < 0 || kernel->spill_load_bytes < 0)
            table_cell(&table, "unknown");
        else
            table_cell(&table, "%s", cli_bytes((uint64_t)(kernel->spill_store_bytes + kernel->spill_load_bytes)));
        table_cell(&table, "%d", kernel->blocks_per_sm);
        table_cell(&table, "%.1f %%", 100 * kernel->occupancy);
        table_cell(&table, "%s", kernel->limited_by ? kernel->limited_by : "");
    }
    table_print(&table, true);
    size_t cubin = 0;
    kiln_inspection_cubin(inspection, &cubin);
    out_printf("\n%s, %s of machine code; shared memory per block, registers, local memory and spills per thread\n",
               kiln_inspection_arch(inspection), cli_bytes(cubin));
    show_tensor_memory(inspection);
    const char *finding;
    for (size_t i = 0; (finding = kiln_inspection_finding(inspection, i)) != NULL; i++)
        out_printf("\n%sfound%s  %s\n", out_red(), out_plain(), finding);
    show_log(kiln_inspection_log(inspection));
}

/* Writes one part of the compiled code to its file or to standard output. Returns 0 or the exit code. */
static int write_part(const cli *c, const char *path, const void *data, size_t length)
{
    if (strcmp(path, "-") == 0) {
        out_write(data, length);
        return 0;
    }
    return cli_write_file(c, path, data, length);
}

/* Writes the parts that the user requested. *shown becomes true if a part went to standard output. */
static int put_parts(const cli *c, const kiln_inspection *inspection, bool *shown)
{
    const inspect_args *args = c->args;
    size_t cubin_length = 0;
    const void *cubin = kiln_inspection_cubin(inspection, &cubin_length);
    const char *source = kiln_inspection_source(inspection), *ptx = kiln_inspection_ptx(inspection);
    const struct {
        const char *path;
        const void *data;
        size_t length;
        bool text;
    } parts[] = {
        {args->source, source, source ? strlen(source) : 0, true},
        {args->ptx, ptx, ptx ? strlen(ptx) : 0, true},
        {args->cubin, cubin, cubin_length, false},
    };
    *shown = false;
    for (size_t i = 0; i < CLI_COUNT(parts); i++) {
        bool to_stdout = parts[i].path && strcmp(parts[i].path, "-") == 0;
        if (!parts[i].path || (to_stdout && c->output.json && parts[i].text))
            continue;
        if (to_stdout && !parts[i].text && (c->output.json || out_is_terminal()))
            return cli_usage(c, "machine code cannot be shown on a terminal; name a file: --cubin=FILE");
        int code = write_part(c, parts[i].path, parts[i].data, parts[i].length);
        if (code)
            return code;
        *shown |= to_stdout;
    }
    return 0;
}

static int inspect_run(cli *c)
{
    const inspect_args *args = c->args;
    cli_choice chosen;
    kiln_inspection *inspection = NULL;
    kiln_error *error = NULL;
    int code = cli_spec(c, &args->engine);
    if (code)
        return code;
    if (!cli_make_choice(c, &args->choice, args->choice.variant, &chosen))
        return CLI_USAGE;
    if (kiln_inspect(c->engine, c->spec, &chosen.choice, args->arch, &inspection, &error) != KILN_OK)
        return cli_error(c, error);
    kiln_setting *params;
    int variant = kiln_spec_variant_find(c->spec, chosen.variant);
    size_t count = cli_whole_params(c->spec, variant < 0 ? 0 : (size_t)variant, &chosen.choice, &params);
    bool shown;
    code = put_parts(c, inspection, &shown);
    if (!code && c->output.json)
        show_json(c, chosen.variant, params, count, inspection);
    else if (!code && !shown)
        show_text(c, chosen.variant, params, count, inspection);
    kiln_inspection_free(inspection);
    return code;
}

#define FIELD(field) offsetof(inspect_args, field)

static const cli_option options[] = {
    {"arch", 'a', CLI_TEXT, FIELD(arch), "ARCH", CLI_WORDS,
     "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_100a sm_103a sm_120 sm_120a",
     "The architecture to compile for, for example sm_90 or sm_100a. Default: the device's."},
    {"source", 0, CLI_OPTIONAL, FIELD(source), "FILE", CLI_FILES, NULL,
     "Write the source with all params set, to the file or to standard output."},
    {"ptx", 0, CLI_OPTIONAL, FIELD(ptx), "FILE", CLI_FILES, NULL, "Write the PTX, to the file or to standard output."},
    {"cubin", 0, CLI_OPTIONAL, FIELD(cubin), "FILE", CLI_FILES, NULL,
     "Write the machine code, to the file or to standard output."},
};
static const cli_group group = {"Inspecting", options, CLI_COUNT(options)};

const cli_command cli_inspect_command = {
    .name = "inspect",
    .summary = "show the compiler's output for a configuration, without a GPU",
    .arguments = "SPEC",
    .about =
        "Compiles one configuration. For each of its kernels it shows registers, shared and local memory, "
        "spills, and the occupancy with the resource that limits it. With --source, --ptx or --cubin it writes these "
        "texts instead. It needs no GPU, and works for any architecture of NVRTC.",
    .min_words = 1,
    .max_words = 1,
    .completes = CLI_SPECS,
    .args_size = sizeof(inspect_args),
    .groups =
        (const cli_use[]){{&cli_choice_group, FIELD(choice)}, {&group, 0}, {&cli_engine_group, FIELD(engine)}, {0}},
    .examples = (const cli_example[]){{"kiln inspect matmul -v coarsened -p UNROLL=8 --arch sm_90", "The table."},
                                      {"kiln inspect matmul -v tiled --ptx | less", "The PTX."},
                                      {"kiln inspect matmul --source=k.cu --cubin=k.cubin", "Files for other tools."},
                                      {0}},
    .run = inspect_run,
};
