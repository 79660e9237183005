/* main.c - the program `kiln`: finds the subcommand, parses the command line by the subcommand's option tables, and
 * runs the subcommand. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../stack.h"
#include "commands.h"

/* If descriptor 0, 1 or 2 is closed, the next opened file would get its number, and output would be written to that
 * file. Therefore the function opens /dev/null for each closed descriptor. If standard output is closed, /dev/null is
 * opened read-only, so that writing to it fails. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            /* open() returns the lowest free number, which is fd */
            (void)!open("/dev/null", fd == 1 ? O_RDONLY : O_RDWR);
}

static int dispatch(cli *c, int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        /* errors that are found before the option --json is parsed are printed as JSON too */
        c->output.json |= strcmp(argv[i], "--json") == 0;
    if (c->output.json)
        out_start_json();
    if (!first) {
        cli_complain("no command; see 'kiln help'");
        return CLI_USAGE;
    }
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
        first = "help";
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
        first = "version";
    if (first[0] == '-')
        return cli_usage(c, "options go after the command: kiln COMMAND %s", first);
    c->command = cli_find_command(first);
    if (!c->command && strrchr(first, '.') && access(first, F_OK) == 0)
        return cli_usage(c, "unknown command '%s': a file follows a command: 'kiln %s %s'", first,
                         strstr(first, ".cu") ? "init" : "run", cli_shell_word(first));
    if (!c->command)
        return cli_usage(c, "unknown command '%s'%s", first, cli_suggest_command(first));
    c->args = c->command->args_size ? cli_alloc(c->command->args_size) : NULL;
    const bool maybe = c->output.json && c->command->passes_on; /* `--json` may be an argument of the program that the
                                                                 * command starts */
    if (maybe)
        c->output.json = false;
    if (!cli_parse(c, argc - 2, argv + 2))
        return CLI_USAGE;
    if (maybe && !c->output.json)
        out_release();
    if (c->output.help || c->output.help_all) {
        help_print(c->command, c->output.help_all);
        return 0;
    }
    if (!c->output.quiet)
        cli_check_environment();
    return c->command->run(c);
}

/* Ends the process without freeing the library's objects if a kernel on a GPU does not end, because freeing would wait
 * for the kernel. */
static void leave_device(const cli *c, int code)
{
    const kiln_device_info *info = NULL;
    bool early = code == cli_exit_code(KILN_ERROR_TIMEOUT) || code == cli_exit_code(KILN_ERROR_INTERRUPTED);
    if (early && c->engine && kiln_engine_device(c->engine, &info, NULL) == KILN_OK && !info->simulated)
        _exit(code);
}

static int run(int argc, char **argv)
{
    /* this locale stays, even if a loaded library sets the locale of the process */
    uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    hold_standard_streams();
    /* SIGPIPE is ignored so that the command can report a compile worker that has died; out_finish() ends the command
     * if standard output is closed */
    signal(SIGPIPE, SIG_IGN);
    /* SIGXFSZ is ignored so that a write beyond the limit on file sizes fails, and the old file stays */
    signal(SIGXFSZ, SIG_IGN);
    out_start();
    cli c = {.line = "kiln"};
    for (int i = 1; i < argc; i++)
        c.line = cli_printf("%s %s", c.line, cli_shell_word(argv[i]));
    int code = out_finish(dispatch(&c, argc, argv));
    leave_device(&c, code);
    kiln_spec_free(c.spec);
    kiln_engine_close(c.engine);
    kiln_ranks_close(c.ranks);
    cli_free_all();
    return code;
}

int main(int argc, char **argv) { return stack_run((size_t)8 << 20, run, argc, argv); }
