/* devices.c - kiln devices and kiln doctor: list the devices, and the parts that Kiln needs */
#include <string.h>

#include "commands.h"

typedef struct devices_args { /* the arguments of `kiln devices` and of `kiln doctor`, which does not use `names` */
    cli_engine_args engine;
    bool names;
} devices_args;

/* ---- devices ---- */

static void peak_cell(cli_table *table, double flops)
{
    table_cell(table, "%s", flops > 0 ? cli_significant(flops / 1e12, 3) : "-");
}

/* `kiln devices`: lists the devices with their units, memory and peak rates. */
static int devices_run(cli *c)
{
    const devices_args *args = c->args;
    kiln_error *error = NULL;
    int code = cli_engine(c, &args->engine);
    if (code)
        return code;
    cli_devices list;
    if (cli_list_devices(c, &list, &error) != KILN_OK)
        return cli_error(c, error);
    const kiln_device_info *infos = list.items;
    size_t count = list.count;
    if (c->output.json) {
        json_t *object = js_object(), *devices = js_array();
        for (size_t i = 0; i < count; i++)
            js_add(devices, js_device(&infos[i]));
        js_set(object, "devices", devices);
        js_print(object);
        return 0;
    }
    if (args->names) {
        out_word("sim");
        for (size_t i = 0; i < count; i++)
            out_word(infos[i].id);
        return 0;
    }
    cli_table table;
    table_start(&table, "lllrrrrrrrr");
    static const char *const heads[] = {"id", "name", "arch",    "SMs",    "GHz", "memory",
                                        "L2", "GB/s", "TFLOP/s", "tensor", "fp8"};
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        table_cell(&table, "%s", heads[i]);
    for (size_t i = 0; i < count; i++) {
        const kiln_device_info *info = &infos[i];
        table_cell(&table, "%s", info->id);
        table_cell(&table, "%s", cli_device_name(info));
        table_cell(&table, "sm_%d%d", info->cc_major, info->cc_minor);
        table_cell(&table, "%d", info->sm_count);
        table_cell(&table, "%s", cli_significant(info->clock_hz / 1e9, 3));
        table_cell(&table, "%s", cli_bytes(info->memory_bytes));
        table_cell(&table, "%s", cli_bytes(info->l2_bytes));
        table_cell(&table, "%s", cli_significant(info->peak_bandwidth / 1e9, 4));
        table_cell(&table, "%s", cli_significant(info->peak_flops / 1e12, 3));
        peak_cell(&table, info->unit_flops[KILN_UNIT_TENSOR_FP16]);
        peak_cell(&table, info->unit_flops[KILN_UNIT_TENSOR_FP8]);
    }
    table_print(&table, true);
    out_puts("GB/s and TFLOP/s (fp32; tensor cores: fp16 and fp8 with fp32 sums, dense) are the upper limits by units, "
             "clock and\n"
             "bus width. --json has the peaks of all types.\n");
    return 0;
}

#define FIELD(field) offsetof(devices_args, field)

static const cli_option options[] = {
    {"names", 0, CLI_FLAG, FIELD(names), NULL, CLI_NOTHING, NULL, "Only the names for --device, one per line."},
};
static const cli_group group = {"Listing", options, CLI_COUNT(options)};

const cli_command cli_devices_command = {
    .name = "devices",
    .summary = "list the GPUs and the simulated devices",
    .arguments = "",
    .about = "Lists every device for --device, the simulated ones last. kiln finds files NAME.profile with device "
             "profiles in the current folder, in the folders of --path, and in a folder `devices` inside these. "
             "sim:FILE.profile names any other file.",
    .args_size = sizeof(devices_args),
    .groups = (const cli_use[]){{&group, 0}, {&cli_engine_group, FIELD(engine)}, {0}},
    .examples =
        (const cli_example[]){{"kiln devices --json", "The devices with all properties that constraints can use."},
                              {0}},
    .run = devices_run,
};

/* ---- doctor ---- */

typedef struct findings {
    cli_table table;
    json_t *list;
    bool broken;
    cli_list remedies;
} findings;

static int add_finding(void *user, const kiln_finding *finding)
{
    findings *f = user;
    json_t *object = js_object();
    js_set(object, "topic", js_text(finding->topic));
    js_set(object, "ok", json_boolean(finding->ok));
    js_set(object, "needed", json_boolean(finding->needed));
    js_set(object, "found", js_text(finding->found));
    js_set(object, "remedy", js_text(finding->remedy));
    js_add(f->list, object);
    f->broken |= !finding->ok && finding->needed;
    table_cell(&f->table, "%s", finding->ok ? "ok" : finding->needed ? "MISSING" : "absent");
    table_cell(&f->table, "%s", finding->topic);
    table_cell(&f->table, "%s", finding->found);
    if (!finding->ok && finding->remedy && *finding->remedy)
        cli_list_add(&f->remedies, cli_printf("%s: %s", finding->topic, finding->remedy));
    return 0;
}

/* `kiln doctor`: lists the parts that Kiln needs or can use, and tells how to install missing parts. Returns 1 if a
 * required part is missing. */
static int doctor_run(cli *c)
{
    const devices_args *args = c->args;
    kiln_error *error = NULL;
    int code = cli_engine(c, &args->engine);
    if (code)
        return code;
    findings f = {.list = js_array()};
    table_start(&f.table, "lll");
    if (kiln_doctor(c->engine, add_finding, &f, &error) != KILN_OK) {
        json_decref(f.list);
        return cli_error(c, error);
    }
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "ok", json_boolean(!f.broken));
        js_set(object, "findings", f.list);
        js_print(object);
        return f.broken;
    }
    json_decref(f.list);
    table_print(&f.table, false);
    for (size_t i = 0; i < f.remedies.count; i++) {
        out_puts(i == 0 ? "\n" : "");
        out_wrapped(f.remedies.items[i], 0, out_width());
    }
    out_puts(f.broken               ? "\nSomething required is missing.\n"
             : f.remedies.count > 0 ? "\nEverything required is there.\n"
                                    : "\nEverything is there.\n");
    return f.broken;
}

const cli_command cli_doctor_command = {
    .name = "doctor",
    .summary = "show what was found on this machine, and how to install what is missing",
    .arguments = "",
    .about =
        "Searches everything that kiln can use: the CUDA driver, devices, NVRTC, the CUDA headers, the compile worker, "
        "the disk cache. For each missing part it prints what to do.\n\n"
        "The exit code is 1 if something required is missing.",
    .args_size = sizeof(devices_args),
    .groups = (const cli_use[]){{&cli_engine_group, FIELD(engine)}, {0}},
    .run = doctor_run,
};
