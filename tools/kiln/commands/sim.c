/* sim.c - kiln sim: lists the abilities and settings of the simulated device. sim_run.c runs programs on this
 * device. */
#include <string.h>

#include "commands.h"
#include "sim.h"

typedef struct found {
    cli_table table;
    json_t *runs, *refused, *registers;
    cli_list refused_names, register_names;
    size_t instructions, forms;
} found;

static int add_instruction(void *user, const kiln_sim_instruction *i)
{
    found *f = user;
    if (i->kind != KILN_SIM_RUNS) {
        bool refused = i->kind == KILN_SIM_REFUSED;
        js_add(refused ? f->refused : f->registers, js_text(i->name));
        cli_list_add(refused ? &f->refused_names : &f->register_names, i->name);
        return 0;
    }
    json_t *one = js_object(), *forms = js_array();
    for (size_t k = 0; k < i->form_count; k++)
        js_add(forms, js_text(i->forms[k]));
    js_set(one, "name", js_text(i->name));
    if (i->since)
        js_set(one, "since", js_text(i->since));
    js_set(one, "forms", forms);
    js_add(f->runs, one);
    table_cell(&f->table, "%s", i->name);
    table_cell(&f->table, "%zu", i->form_count);
    f->instructions++;
    f->forms += i->form_count;
    return 0;
}

/* ---- the page engine/sim/device/ptx/COVERAGE.md ---- */

/* Returns true if an earlier form of the instruction has the same suffixes as form k. Two forms with the same suffixes
 * differ only in their operands. */
static bool is_repeated(const kiln_sim_instruction *i, size_t k)
{
    const size_t length = (size_t)(strstr(i->forms[k], " :") - i->forms[k]) + 2;
    for (size_t n = 0; n < k; n++)
        if (strncmp(i->forms[n], i->forms[k], length) == 0)
            return true;
    return false;
}

static int page_row(void *user, const kiln_sim_instruction *i)
{
    (void)user;
    if (i->kind != KILN_SIM_RUNS)
        return 0;
    out_printf("| `%s` | %s | ", i->name, i->since ? i->since : "");
    for (size_t k = 0; k < i->form_count; k++) {
        const char *colon = strstr(i->forms[k], " :");
        if (is_repeated(i, k))
            continue;
        out_puts(k ? "<br>" : "");
        if (colon == i->forms[k]) {
            out_puts("(no suffix)");
            continue;
        }
        out_puts("`");
        for (const char *at = i->forms[k]; at < colon; at++)
            out_printf(*at == '|' ? "\\|" : "%c", *at);
        out_puts("`");
    }
    out_puts(" |\n");
    return 0;
}

static void page_names(const cli_list *names)
{
    for (size_t k = 0; k < names->count; k++)
        out_printf("%s`%s`", k ? ", " : "", names->items[k]);
    out_puts(".\n");
}

static void page(const found *f)
{
    out_puts("# Instructions of the simulated device\n\n"
             "Made by `kiln sim coverage --page` from `ops.def`; a test fails if it is not up to date.\n\n");
    out_printf(
        "%zu instructions in %zu forms run. A form lists the suffixes of an instruction. A | separates alternatives, "
        "and a `?` marks optional suffixes. `ops.def` shows the operands too.\n\n"
        "The simulated device loads PTX for any target, even if the target is later than the device's compute "
        "capability. If such PTX contains an instruction that the device does not have, loading fails, and the error "
        "names the line and the target that the instruction needs. (With `KILN_SIM_TARGET=strict` the device refuses "
        "all PTX for a later target, as a GPU does.) The column *needs* states the target that every form of the "
        "instruction needs. A mark such as `@90` after a suffix, or among the suffixes of a form, states the target "
        "that this suffix or form needs. `90` means sm_90 and all later targets. `90a` means targets from sm_90 on, "
        "of the same family, with the features of their architecture (such as sm_90a). `100f` means targets from "
        "sm_100 on, of the same family, with the features of their family or architecture (such as sm_100f or "
        "sm_100a). `90F` means all targets from sm_90 on, of any family, with the features of their family or "
        "architecture. `100T` means targets from sm_100 on with tensor memory, of the families 10 and 11 (such as sm_100f "
        "or sm_110a). `100A` means sm_100a and sm_110a, and `100L` means these two and sm_103a.\n\n",
        f->instructions, f->forms);
    out_puts("| instruction | needs | forms |\n| --- | --- | --- |\n");
    kiln_sim_instructions(page_row, NULL);
    out_puts("\n## Refused when a module is loaded, by name, line and kernel\n\n");
    page_names(&f->refused_names);
    out_puts("\n## Special registers\n\n");
    page_names(&f->register_names);
}

/* `kiln sim coverage`: lists the PTX instructions that the simulated device runs, the instructions that it refuses, and
 * the special registers. */
static int coverage(const cli *c)
{
    const sim_args *args = c->args;
    found f = {.runs = js_array(), .refused = js_array(), .registers = js_array()};
    table_start(&f.table, "lr");
    table_cell(&f.table, "instruction");
    table_cell(&f.table, "forms");
    kiln_sim_instructions(add_instruction, &f);
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "instructions", f.runs);
        js_set(object, "refused", f.refused);
        js_set(object, "special_registers", f.registers);
        js_print(object);
        return 0;
    }
    json_decref(f.runs);
    json_decref(f.refused);
    json_decref(f.registers);
    if (args->page) {
        page(&f);
        return 0;
    }
    table_print(&f.table, true);
    out_printf("\n%zu instructions, %zu forms; %zu special registers\n", f.instructions, f.forms,
               f.register_names.count);
    out_puts("Refused by name: ");
    for (size_t k = 0; k < f.refused_names.count; k++)
        out_printf("%s%s", k ? ", " : "", f.refused_names.items[k]);
    out_puts("\n");
    return 0;
}

static int sim_profile_files(const cli *c)
{
    cli_list files = {0};
    for (size_t i = 1; i < c->words.count; i++)
        cli_list_add(&files, c->words.items[i]);
    if (files.count == 0)
        return cli_usage(c, "an argument is missing: profile FILE...");
    return sim_profile_show(c, &files, NULL) ? 0 : cli_exit_code(KILN_ERROR_IO);
}

static int sim_run(cli *c)
{
    const sim_args *args = c->args;
    const cli_list *words = &c->words;
    const char *action = words->items[0];
    enum { DEVICES_MOST = 16 };
    if (args->devices > DEVICES_MOST)
        return cli_usage(c, "--devices takes 1 to %d", DEVICES_MOST);
    if (strcmp(action, "run") == 0)
        return words->count > 1 ? sim_run_program(c) : cli_usage(c, "an argument is missing: run PROGRAM [arguments]");
    if (strcmp(action, "profile") == 0)
        return sim_profile_files(c);
    if (words->count > 1)
        return cli_usage(c, "one argument too many: '%s'", words->items[1]);
    if (strcmp(action, "env") == 0)
        return sim_env(c);
    if (strcmp(action, "coverage") == 0)
        return coverage(c);
    return cli_usage(c, "unknown action '%s'; use: run, env, profile, coverage", action);
}

#define FIELD(field) offsetof(sim_args, field)

static const cli_option options[] = {
    {"device", 'd', CLI_TEXT, FIELD(device), "PROFILE", CLI_DEVICES, NULL,
     "The device that the program sees: the name of a profile, such as `h200` or `sim:h200`, or the file of a profile. Default: "
     "`generic`. With --profile or --trace the default is `h200`, because `generic` has no figures for estimates."},
    {"devices", 0, CLI_WHOLE, FIELD(devices), "N", CLI_NOTHING, NULL,
     "The number of simulated devices, 1 to 16. CUDA_VISIBLE_DEVICES picks some of them. Default: 1."},
    {"check", 0, CLI_FLAG, FIELD(check), NULL, CLI_NOTHING, NULL,
     "Check every launch for wrong accesses, races and barriers. When the program has ended, kiln prints the findings of all "
     "its processes on standard error, each line of the source or pair of lines once."},
    {"details", 0, CLI_TEXT, FIELD(details_to), "FILE", CLI_FILES, NULL,
     "With --check: write every finding and note in full to this file. With --json it is JSON."},
    {"sarif", 0, CLI_TEXT, FIELD(sarif_to), "FILE", CLI_FILES, NULL,
     "With --check: write the findings to this file as SARIF 2.1.0, which code hosts show beside the source."},
    {"suppress", 0, CLI_TEXT, FIELD(suppress), "FILE", CLI_FILES, NULL,
     "With --check: leave out the findings that a rule of this file matches. A rule is a line: `race`, or `race scan* "
     "scan.cu:12`."},
    {"profile", 0, CLI_FLAG, FIELD(profile), NULL, CLI_NOTHING, NULL,
     "When the program has ended, list its kernels on standard error, with the times that they would take on the "
     "device. With --json the list is JSON."},
    {"counters", 0, CLI_FLAG, FIELD(counters), NULL, CLI_NOTHING, NULL,
     "With --profile: show the counts of `kiln profile` too, for the launches that are estimated."},
    {"every-launch", 0, CLI_FLAG, FIELD(every_launch), NULL, CLI_NOTHING, NULL,
     "Estimate every launch. Without this option kiln estimates the first four launches of each kernel and launch "
     "shape, and then the launches whose number is a power of two. Every other launch takes the time of the last "
     "estimate before it."},
    {"trace", 0, CLI_TEXT, FIELD(trace_to), "FILE", CLI_FILES, NULL,
     "Write an estimated timeline of the streams, for chrome://tracing or Perfetto."},
    {"output", 'o', CLI_TEXT, FIELD(output_to), "FILE", CLI_FILES, NULL,
     "Write the profile to this file in place of standard error."},
    {"page", 0, CLI_FLAG, FIELD(page), NULL, CLI_NOTHING, NULL, "Print a page in Markdown, with all forms."},
};
static const cli_group group = {"Simulated device", options, CLI_COUNT(options)};

const cli_command cli_sim_command = {
    .name = "sim",
    .summary = "run a CUDA program on the simulated device",
    .arguments = "run PROGRAM [arguments] | env | profile FILE... | coverage",
    .about =
        "`run` starts a program with the CUDA libraries of the simulated device: libcuda, the CUDA runtime of CUDA 12 "
        "and 13, nvJitLink and nvcc. It reads the program's file first. If the program cannot run, it prints the "
        "reason and the remedy. Write the options of kiln before the program, and the arguments of the program after "
        "it. The exit code is the program's. With --check it is 1 if there are findings other than notes. It is 125 "
        "or 127 if the program did not start.\n\n"
        "With --check, --profile or --trace kiln waits for the program. Then it ends with the same exit code, or by the same "
        "signal. It shows the findings and the profile of every process of the program, also of processes that a signal "
        "ended. The times are estimates.\n\n"
        "`env` prints the shell commands that prepare a shell for such programs. With --profile, each process that "
        "uses the device writes a file kiln-profile.PID.json, and `kiln sim profile` shows such files. -o chooses "
        "another name, in which %p stands for the number of the process. With --trace FILE each process writes a "
        "trace. Write %p in its name, so that each process has its own file.\n\n"
        "coverage lists the PTX instructions that the simulated device runs, with the number of their forms. It also "
        "lists the instructions that the device refuses by name when a program loads a module. With --json it shows "
        "the suffixes and operands of every form. A | separates alternatives, and a ? marks optional suffixes.",
    .min_words = 1,
    .max_words = SIZE_MAX,
    .passes_on = "run",
    .completes = CLI_WORDS,
    .words = "run env profile coverage",
    .args_size = sizeof(sim_args),
    .groups = (const cli_use[]){{&group, 0}, {0}},
    .examples =
        (const cli_example[]){
            {"kiln sim run ./program --size 100", "A program that nvcc built with -cudart shared."},
            {"kiln sim run --device a100 --check python3 test.py", "On another device, with checks."},
            {"kiln sim run --check --sarif kiln.sarif ./tests", "Findings for a code host."},
            {"kiln sim run --profile ./program", "Shows which kernels would take the time on an H200."},
            {"kiln sim run --profile --counters --json -o profile.json --device t4 ./program",
             "The same for a T4, with counters, for other programs to read."},
            {"kiln sim run --trace trace.json ./program", "Writes a timeline of the streams, which Perfetto can show."},
            {"kiln sim run --devices 4 ./program", "On four devices."},
            {"eval \"$(kiln sim env)\"", "For all programs that this shell starts."},
            {"kiln sim coverage", "The supported instructions."},
            {"kiln sim coverage --json", "The same list with every form, for other programs to read."},
            {0}},
    .run = sim_run,
};
