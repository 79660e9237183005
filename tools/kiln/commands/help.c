/* help.c - `kiln help` and `kiln COMMAND --help`: print the help texts. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "kiln_catalogue.h"

static void print_option(const cli_option *option)
{
    out_printf("  %s\n", cli_option_text(option));
    out_wrapped(option->help, 10, out_width());
}

static void print_options(const cli_command *command)
{
    const cli_group *groups[CLI_MAX_GROUPS];
    size_t count = cli_groups(command, groups);
    for (size_t g = 0; g < count; g++) {
        out_printf("\n%s%s%s\n", out_bold(), groups[g]->title, out_plain());
        for (size_t i = 0; i < groups[g]->count; i++)
            print_option(&groups[g]->options[i]);
    }
}

/* Prints the options that `common` names. Then it prints the titles of all option groups, and the command that shows
 * these groups. */
static void print_common(const cli_command *command)
{
    const cli_group *groups[CLI_MAX_GROUPS];
    size_t count = cli_groups(command, groups);
    out_printf("\n%sOptions%s\n", out_bold(), out_plain());
    for (const char *name = command->common; *name; name += strspn(name, " ")) {
        const size_t length = strcspn(name, " ");
        for (size_t g = 0; g < count; g++)
            for (size_t i = 0; i < groups[g]->count; i++)
                if (strncmp(groups[g]->options[i].name, name, length) == 0 && !groups[g]->options[i].name[length])
                    print_option(&groups[g]->options[i]);
        name += length;
    }
    out_printf("\n%sMore options%s\n", out_bold(), out_plain());
    cli_list titles = {0};
    for (size_t g = 0; g < count; g++)
        cli_list_add(&titles, groups[g]->title);
    const char *text = titles.items[0];
    for (size_t i = 1; i < titles.count; i++)
        text = cli_printf("%s; %s", text, titles.items[i]);
    out_wrapped(cli_printf("`kiln %s --help-all` shows every option in these groups: %s.", command->name, text), 2,
                out_width());
}

static void print_command(const cli_command *command, bool all)
{
    const bool brief = command->brief && !all;
    out_printf("%sUsage:%s kiln %s%s%s [options]\n\n", out_bold(), out_plain(), command->name,
               *command->arguments ? " " : "", command->arguments);
    out_wrapped(brief ? command->brief : command->about, 0, out_width());
    if (brief)
        print_common(command);
    else
        print_options(command);
    if (command->examples && command->examples->line)
        out_printf("\n%sExamples%s\n", out_bold(), out_plain());
    for (const cli_example *example = command->examples; example && example->line; example++) {
        out_printf("  %s\n", example->line);
        out_wrapped(example->says, 10, out_width());
    }
}

/* Prints the overview: the commands, the environment and the first steps. */
static void print_whole(void)
{
    out_printf("%sUsage:%s kiln COMMAND [arguments] [options]\n\n", out_bold(), out_plain());
    out_wrapped("Runs, checks and tunes CUDA kernels that YAML specs describe: on a GPU, or without one on the "
                "built-in simulated device.",
                0, out_width());
    out_printf("\n%sCommands%s\n", out_bold(), out_plain());
    cli_table table;
    table_start(&table, "ll");
    table.indent = 2;
    for (size_t i = 0; cli_commands[i]; i++) {
        table_cell(&table, "%s", cli_commands[i]->name);
        table_cell(&table, "%s", cli_commands[i]->summary);
    }
    table_print(&table, false);
    out_printf("\n%sEnvironment%s\n", out_bold(), out_plain());
#define CLI_X(name, says)                                                                                              \
    out_printf("  %s\n", name);                                                                                        \
    out_wrapped(says, 10, out_width());
    CLI_ENVIRONMENT(CLI_X)
#undef CLI_X
    out_printf("\n%sFirst steps%s\n", out_bold(), out_plain());
    out_puts("  kiln doctor                 what is installed on this machine, and what is missing\n"
             "  kiln list                   the specs\n"
             "  kiln run matmul             one configuration: compile, run, check, time\n"
             "  kiln tune matmul            all configurations, the fastest first\n"
             "  kiln help tune              the help of one command\n");
}

void help_print(const cli_command *command, bool all)
{
    if (command)
        print_command(command, all);
    else
        print_whole();
}

static void print_codes(void)
{
    cli_table table;
    table_start(&table, "rll");
    table_cell(&table, "exit");
    table_cell(&table, "status");
    table_cell(&table, "meaning");
#define CLI_X(name, value, text, code)                                                                                 \
    table_cell(&table, "%d", code);                                                                                    \
    table_cell(&table, "KILN_%s", #name);                                                                              \
    table_cell(&table, "%s", text);
    KILN_STATUS_MAP(CLI_X)
#undef CLI_X
    table_print(&table, true);
}

static const char spec_text[] =
    "A spec is a YAML file: a problem, a CUDA source, its tuning parameters, and how to run and check it. `kiln init "
    "SOURCE.cu` writes a first one. The smallest:\n";
static const char spec_example[] =
    "\n"
    "  kiln: 1\n"
    "  name: axpy\n"
    "  source: axpy.cu\n"
    "  sizes: {default: {N: 1000000}, tiny: {N: 1000}}\n"
    "  params: {BLOCK: [128, 256]}        # becomes a macro of the source\n"
    "  buffers:\n"
    "    x: {type: f32, shape: [N], fill: 1}\n"
    "    y: {type: f32, shape: [N], fill: 2, out: true}\n"
    "  launch: {kernel: axpy, grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [x, y, 2.0, N]}\n"
    "\n";

static int print_spec(cli *c)
{
    out_wrapped(spec_text, 0, out_width());
    out_puts(spec_example);
    cli spec = *c;
    spec.args = cli_alloc(cli_spec_command.args_size);
    return cli_spec_command.run(&spec);
}

static void print_host(const kiln_host_info *host, unsigned use, const char *gives)
{
    if (!(host->uses & use))
        return;
    out_printf("  %s\n", host->name);
    out_wrapped(cli_printf("takes %s; %s %s", host->takes, gives, host->gives), 10, out_width());
}

/* Lists the host functions that have one use, each with its arguments: first the functions of the engine, then the
 * functions of the catalogue. */
static void print_hosts_of(unsigned use, const char *title, const char *gives)
{
    out_printf("\n%s%s%s\n", out_bold(), title, out_plain());
    for (size_t i = 0; kiln_host(i); i++)
        print_host(kiln_host(i), use, gives);
    for (size_t i = 0; kiln_catalogue_host(i); i++)
        print_host(kiln_catalogue_host(i), use, gives);
}

static int print_hosts(cli *c)
{
    (void)c;
    out_wrapped(
        "A spec may name these functions, which run on the host. They take buffers, sizes and inputs by name. An "
        "argument in brackets has a default. If the names in your spec differ, write both: {host: matmul_f64, A: "
        "left, B: right, P: out}.",
        0, out_width());
    print_hosts_of(KILN_HOST_REFERENCE, "References (verify: OUTPUT: {against: {host: NAME}})", "writes");
    print_hosts_of(KILN_HOST_INPUT, "Inputs (inputs: {A: {host: NAME, ARGUMENT: VALUE}})", "exports");
    print_hosts_of(KILN_HOST_STEP, "Steps (host: {call: NAME, args: {ARGUMENT: VALUE}})", "writes");
    return 0;
}

static const char expressions_text[] =
    "In place of any number, a spec may have an expression over sizes, params, lets, device.NAME and the exports of "
    "inputs.\n";

static int print_expressions(cli *c)
{
    static const char *const rows[][2] = {
        {"64  0x40  0.5  1e-5  true", "numbers; integers have 64 bits, and an overflow is an error"},
        {"'ca'", "a text, which can be compared"},
        {"A if CONDITION else B", "only the chosen one is evaluated"},
        {"and  or  not  &&  ||  !", ""},
        {"<  <=  >  >=  ==  !=", "they chain: 1 <= x <= 4"},
        {"in (1, 2)  not in (1, 2)", ""},
        {"+  -  *  **", ""},
        {"/", "a division of integers must be exact, or it is an error"},
        {"//  %", "rounded down; the remainder has the sign of its right side"},
        {"&  |  ^  ~  <<  >>", "bits"},
        {"min(a, ...)  max(a, ...)  abs(a)", ""},
        {"ceil_div(a, b)  round_up(a, b)", "a / b rounded up; the next multiple of b"},
        {"ilog2(a)  ceil_log2(a)  is_pow2(a)", ""},
        {"int(a)  float(a)  floor(a)  ceil(a)  sqrt(a)", ""},
        {"kernel: \"tile<{TILE}, {T}>\"", "in texts, expressions stand in braces"},
    };
    (void)c;
    out_wrapped(expressions_text, 0, out_width());
    out_puts("\n");
    cli_table table;
    table_start(&table, "ll");
    table.indent = 2;
    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        table_cell(&table, "%s", rows[i][0]);
        table_cell(&table, "%s", rows[i][1]);
    }
    table_print(&table, false);
    return 0;
}

static int print_exit_codes(cli *c)
{
    (void)c;
    print_codes();
    return 0;
}

static const struct {
    const char *name;
    int (*print)(cli *c);
} topics[] = {
    {"spec", print_spec},
    {"hosts", print_hosts},
    {"expressions", print_expressions},
    {"exit-codes", print_exit_codes},
};

static int help_run(cli *c)
{
    if (c->words.count == 0) {
        help_print(NULL, false);
        return 0;
    }
    const char *name = c->words.items[0];
    for (size_t i = 0; i < CLI_COUNT(topics); i++)
        if (strcmp(name, topics[i].name) == 0)
            return topics[i].print(c);
    const cli_command *command = cli_find_command(name);
    if (!command) {
        const char *names[CLI_COUNT(topics)];
        for (size_t i = 0; i < CLI_COUNT(topics); i++)
            names[i] = topics[i].name;
        const char *near = cli_nearest(name, names, CLI_COUNT(topics));
        return cli_usage(c, "unknown command or topic '%s'%s", name,
                         near ? cli_printf(" (did you mean '%s'?)", near) : cli_suggest_command(name));
    }
    help_print(command, false);
    return 0;
}

const cli_command cli_help_command = {
    .name = "help",
    .summary = "explain a command",
    .arguments = "[COMMAND|spec|hosts|expressions|exit-codes]",
    .about =
        "Explains kiln, one of its commands with its options and examples, or one of these: how a spec is written, "
        "host functions, expressions, the exit codes.",
    .max_words = 1,
    .completes = CLI_WORDS,
    .words =
        "init list show run check tune best compare-strategies profile study inspect results report devices spec sim cache "
        "doctor completion man version hosts expressions exit-codes",
    .run = help_run,
};

static int version_run(cli *c)
{
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "version", js_text(kiln_version()));
        js_print(object);
    } else {
        out_printf("kiln %s\n", kiln_version());
    }
    return 0;
}

const cli_command cli_version_command = {
    .name = "version",
    .summary = "print the version",
    .arguments = "",
    .about = "Prints the version of kiln. `kiln --version` does the same.",
    .run = version_run,
};
