/* help.c - `kiln help`, `kiln COMMAND --help`. */
#include <stdio.h>
#include <string.h>

#include "commands.h"

static void print_options(const cli_command *command)
{
    const cli_group *groups[CLI_MAX_GROUPS];
    size_t count = cli_groups(command, groups);
    for (size_t g = 0; g < count; g++) {
        out_printf("\n%s%s%s\n", out_bold(), groups[g]->title, out_plain());
        for (size_t i = 0; i < groups[g]->count; i++) {
            out_printf("  %s\n", cli_option_text(&groups[g]->options[i]));
            out_wrapped(groups[g]->options[i].help, 10, out_width());
        }
    }
}

static void print_command(const cli_command *command)
{
    out_printf("%sUsage:%s kiln %s%s%s [options]\n\n", out_bold(), out_plain(), command->name,
               *command->arguments ? " " : "", command->arguments);
    out_wrapped(command->about, 0, out_width());
    print_options(command);
    if (command->examples && command->examples->line)
        out_printf("\n%sExamples%s\n", out_bold(), out_plain());
    for (const cli_example *example = command->examples; example && example->line; example++) {
        out_printf("  %s\n", example->line);
        out_wrapped(example->says, 10, out_width());
    }
}

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

void help_print(const cli_command *command)
{
    if (command)
        print_command(command);
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

/* Those of one use, each with what it asks for. */
static void print_hosts_of(unsigned use, const char *title, const char *gives)
{
    out_printf("\n%s%s%s\n", out_bold(), title, out_plain());
    for (size_t i = 0; kiln_host(i); i++) {
        const kiln_host_info *host = kiln_host(i);
        if (!(host->uses & use))
            continue;
        out_printf("  %s\n", host->name);
        out_wrapped(cli_printf("takes %s; %s %s", host->takes, gives, host->gives), 10, out_width());
    }
}

static void print_hosts(void)
{
    out_wrapped(
        "Functions on the host that a spec may name. They ask for buffers, sizes and inputs by name; an argument "
        "in brackets has a default. A reference of a spec whose names differ says which is which: "
        "{host: matmul_f64, A: left, B: right, P: out}.",
        0, out_width());
    print_hosts_of(KILN_HOST_REFERENCE, "References (verify: OUTPUT: {against: {host: NAME}})", "writes");
    print_hosts_of(KILN_HOST_INPUT, "Inputs (inputs: {A: {host: NAME, ARGUMENT: VALUE}})", "exports");
    print_hosts_of(KILN_HOST_STEP, "Steps (host: {call: NAME, args: {ARGUMENT: VALUE}})", "writes");
}

static int help_run(cli *c)
{
    if (c->args.words.count == 0) {
        help_print(NULL);
        return 0;
    }
    const char *name = c->args.words.items[0];
    if (strcmp(name, "exit-codes") == 0) {
        print_codes();
        return 0;
    }
    if (strcmp(name, "hosts") == 0) {
        print_hosts();
        return 0;
    }
    const cli_command *command = cli_find_command(name);
    if (!command)
        return cli_usage(c, "unknown command '%s'%s", name, cli_suggest_command(name));
    help_print(command);
    return 0;
}

const cli_command cli_help_command = {
    .name = "help",
    .summary = "explain a command",
    .arguments = "[COMMAND|hosts|exit-codes]",
    .about =
        "Explains kiln, one of its commands with its options and examples, the functions on the host that specs may "
        "name, or the exit codes.",
    .max_words = 1,
    .completes = CLI_WORDS,
    .words =
        "list show run check tune profile study inspect devices sim cache doctor completion man version hosts exit-codes",
    .run = help_run,
};

static int version_run(cli *c)
{
    if (c->args.json) {
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
