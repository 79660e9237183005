/* man.c - kiln man: writes the manual page as roff, from the same tables as --help. */
#include <string.h>

#include "commands.h"

/* Writes text for roff: escapes backslashes and hyphens, and prevents that a line starts a roff request. */
static void roff(const char *text)
{
    bool start = true;
    while (*text) {
        if (start && (*text == '.' || *text == '\''))
            out_puts("\\&");
        size_t plain = strcspn(text, "\\-\n");
        out_puts(cli_strndup(text, plain));
        text += plain;
        start = *text == '\n';
        if (*text)
            out_puts(*text == '\\' ? "\\e" : *text == '-' ? "\\-" : "\n");
        text += *text != '\0';
    }
}

/* Writes the description of a command for roff; indented lines stay unchanged. */
static void roff_about(const char *text)
{
    bool verbatim = false;
    while (*text) {
        size_t length = strcspn(text, "\n");
        bool indented = *text == ' ';
        if (indented != verbatim)
            out_puts(indented ? ".PP\n.nf\n" : ".fi\n");
        verbatim = indented;
        if (length == 0) {
            out_puts(".PP\n");
        } else {
            roff(cli_strndup(text, length));
            out_puts("\n");
        }
        text += length + (text[length] == '\n');
    }
    if (verbatim)
        out_puts(".fi\n");
}

static void roff_option(const cli_option *option)
{
    out_puts(".TP\n");
    if (option->letter)
        out_printf("\\fB\\-%c\\fR, ", option->letter);
    out_puts("\\fB\\-\\-");
    roff(option->name);
    out_puts("\\fR");
    if (option->value)
        out_printf("%s\\fI%s\\fR%s", option->kind == CLI_OPTIONAL ? "[=" : " ", option->value,
                   option->kind == CLI_OPTIONAL ? "]" : "");
    out_puts("\n");
    roff(option->help);
    out_puts("\n");
}

static bool is_common(const cli_group *group) { return group == &cli_engine_group || group == &cli_output_group; }

static void roff_group(const cli_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        roff_option(&group->options[i]);
}

static void roff_command(const cli_command *command)
{
    out_printf(".SS kiln %s%s%s\n", command->name, *command->arguments ? " " : "", command->arguments);
    roff_about(command->about);
    for (const cli_use *use = command->groups; use && use->group; use++)
        if (!is_common(use->group))
            roff_group(use->group);
    for (const cli_example *example = command->examples; example && example->line; example++) {
        out_puts(".PP\n.RS\n.nf\n\\fB");
        roff(example->line);
        out_puts("\\fR\n.fi\n");
        roff(example->says);
        out_puts("\n.RE\n");
    }
}

/* Prints the manual page as roff: the commands with their options, the exit codes and the environment. The page comes
 * entirely from the tables that also make --help. */
static int man_run(cli *c)
{
    if (out_is_terminal())
        return cli_usage(c, "this prints the source of a page for man: 'kiln man | man -l -' shows it");
    out_printf(".\\\" Made by `kiln man` from the option tables of the command.\n"
               ".TH KILN 1 \"\" \"kiln %s\" \"User Commands\"\n",
               kiln_version());
    out_puts(".SH NAME\nkiln \\- run, check and tune CUDA kernels that YAML specs describe\n"
             ".SH SYNOPSIS\n\\fBkiln\\fR \\fICOMMAND\\fR [\\fIarguments\\fR] [\\fIoptions\\fR]\n"
             ".SH DESCRIPTION\n");
    roff_about(
        "A spec names a problem, a CUDA source file and its tuning parameters. Kiln sets the parameters, "
        "compiles with NVRTC, stores the compiler's output in a disk cache, launches through the CUDA Driver "
        "API, checks the answer, measures the time, and finds the best configuration. Without a GPU it does the same on a "
        "simulated device, whose times are never called measurements.\n\n"
        "Specs are found by name in the folders of --path, $KILN_PATH and the installed folder, or given as "
        "a path.");
    out_puts(".SH COMMANDS\n");
    for (size_t i = 0; cli_commands[i]; i++)
        roff_command(cli_commands[i]);
    out_puts(
        ".SH OPTIONS\nEvery command that uses a device, a compiler or the cache has these options. Every command has the "
        "options from \\fB\\-\\-json\\fR on.\n");
    roff_group(&cli_engine_group);
    roff_group(&cli_output_group);
    out_puts(".SH EXIT STATUS\n");
#define CLI_X(name, value, text, code) out_printf(".TP\n\\fB%d\\fR\n%s (%s)\n", code, text, "KILN_" #name);
    KILN_STATUS_MAP(CLI_X)
#undef CLI_X
    out_puts(".SH ENVIRONMENT\n");
#define CLI_X(name, says) out_puts(".TP\n\\fB" name "\\fR\n"), roff(says), out_puts("\n");
    CLI_ENVIRONMENT(CLI_X)
#undef CLI_X
    return 0;
}

const cli_command cli_man_command = {
    .name = "man",
    .summary = "print the manual page",
    .arguments = "",
    .about = "Prints the manual page in roff, made from the same text as --help.",
    .examples = (const cli_example[]){{"kiln man | man -l -", "Shows it."}, {0}},
    .run = man_run,
};
