/* commands.h - the list of subcommands, and functions that subcommands share. */
#ifndef KILN_CLI_COMMANDS_H
#define KILN_CLI_COMMANDS_H

#include "cli.h"

#define CLI_COMMANDS(X)                                                                                                \
    X(init)                                                                                                            \
    X(list)                                                                                                            \
    X(show)                                                                                                            \
    X(run)                                                                                                             \
    X(check)                                                                                                           \
    X(judge)                                                                                                           \
    X(tune)                                                                                                            \
    X(best)                                                                                                            \
    X(compare)                                                                                                         \
    X(compare_strategies)                                                                                              \
    X(profile)                                                                                                         \
    X(study)                                                                                                           \
    X(inspect)                                                                                                         \
    X(results)                                                                                                         \
    X(report)                                                                                                          \
    X(devices)                                                                                                         \
    X(spec)                                                                                                            \
    X(sim)                                                                                                             \
    X(cache)                                                                                                           \
    X(doctor)                                                                                                          \
    X(completion)                                                                                                      \
    X(man)                                                                                                             \
    X(help)                                                                                                            \
    X(version)
#define CLI_X(name) extern const cli_command cli_##name##_command;
CLI_COMMANDS(CLI_X)
#undef CLI_X
extern const cli_command *const cli_commands[]; /* ends with NULL */
/* returns the subcommand of that name, or NULL if there is none */
const cli_command *cli_find_command(const char *name);
/* Returns a suggestion for a misspelt subcommand, such as " (did you mean 'tune'?)", or "". */
const char *cli_suggest_command(const char *name);
/* Prints the help of a command, or the overview if `command` is NULL. If the command has a short help, `all` makes the
 * function print the long help instead. */
void help_print(const cli_command *command, bool all);

/* Prints the tables of `kiln profile` about memory, shared memory, tensor cores and the other units. */
void profile_show_counters(const kiln_counters *counters);

/* The metrics of a plan's configuration; the names belong to the spec. */
typedef struct metric_list {
    size_t count;
    const char **names;
    double *values;
} metric_list;
kiln_status metrics_read(kiln_plan *plan, metric_list *metrics, kiln_error **error);
/* returns the metrics as a text, "A 1, B 0.25"; without `all`, the text omits the metrics flops and bytes */
const char *metrics_text(const metric_list *metrics, bool all);
json_t *metrics_json(const metric_list *metrics);

#endif
