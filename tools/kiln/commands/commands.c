/* commands.c - the table of all subcommands of `kiln`. */
#include <string.h>

#include "commands.h"

const cli_command *const cli_commands[] = {
#define CLI_X(name) &cli_##name##_command,
    CLI_COMMANDS(CLI_X)
#undef CLI_X
        NULL,
};

const cli_command *cli_find_command(const char *name)
{
    for (size_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

const char *cli_suggest_command(const char *name)
{
    cli_list names = {0};
    for (size_t i = 0; cli_commands[i]; i++)
        cli_list_add(&names, cli_commands[i]->name);
    const char *near = cli_nearest(name, names.items, names.count);
    return near ? cli_printf(" (did you mean '%s'?)", near) : "";
}
