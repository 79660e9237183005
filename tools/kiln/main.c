/* main.c - kiln COMMAND ...: finds the subcommand, parses by its table, runs it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

/* A descriptor 0, 1 or 2 that is closed would be given to the next file opened, and what is printed would land in it.
 * Standard output becomes one that cannot be written, so that writing fails as it should. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 1 ? O_RDONLY : O_RDWR); /* takes the lowest free number: fd */
}

static int dispatch(cli *c, int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        c->args.json |= strcmp(argv[i], "--json") == 0; /* errors found before it are in JSON too */
    if (c->args.json)
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
    if (!c->command)
        return cli_usage(c, "unknown command '%s'%s", first, cli_suggest_command(first));
    if (!cli_parse(c, argc - 2, argv + 2))
        return CLI_USAGE;
    if (c->args.help) {
        help_print(c->command);
        return 0;
    }
    return c->command->run(c);
}

/* A kernel that does not end has a GPU: giving back what the library has of it would wait for that kernel. */
static void leave_device(const cli *c, int code)
{
    const kiln_device_info *info = NULL;
    bool early = code == cli_exit_code(KILN_ERROR_TIMEOUT) || code == cli_exit_code(KILN_ERROR_INTERRUPTED);
    if (early && c->engine && kiln_engine_device(c->engine, &info, NULL) == KILN_OK && !info->simulated)
        _exit(code);
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a compile worker that died is an error to report, not an end; see out_finish() */
    signal(SIGXFSZ, SIG_IGN); /* nor is a file that may not grow: it is written whole or left as it was */
    out_start();
    cli c = {0};
    int code = out_finish(dispatch(&c, argc, argv));
    leave_device(&c, code);
    kiln_spec_free(c.spec);
    kiln_engine_close(c.engine);
    cli_free_all();
    return code;
}
