/* fail.c - error messages of the command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int cli_exit_code(kiln_status status)
{
    switch (status) {
#define CLI_X(name, value, text, code)                                                                                 \
    case KILN_##name: return code;
        KILN_STATUS_MAP(CLI_X)
#undef CLI_X
    }
    return 70;
}

void cli_complain(const char *text)
{
    progress_clear();
    char *shown = cli_escape(text, strlen(text), "\n\t");
    const char *line = shown ? cli_printf("kiln: %s\n", shown) : "kiln: out of host memory\n";
    fputs(line, stderr); /* a single fputs(), because other threads may write at the same time */
    free(shown);
}

static int fail(const cli *c, kiln_status status, const char *text)
{
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "error", js_error(status, text));
        js_print(object);
    } else {
        cli_complain(text);
    }
    return cli_exit_code(status);
}

int cli_fail(const cli *c, kiln_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = cli_vprintf(format, arguments);
    va_end(arguments);
    return fail(c, status, text);
}

int cli_usage(const cli *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = cli_vprintf(format, arguments);
    va_end(arguments);
    if (c->command && strcmp(c->command->name, "help") != 0)
        text = cli_printf("%s: %s; see 'kiln %s --help'", c->command->name, text, c->command->name);
    else
        text = cli_printf("%s; see 'kiln help'", text);
    fail(c, KILN_ERROR_ARGUMENT, text);
    return CLI_USAGE;
}

int cli_error(const cli *c, kiln_error *error)
{
    kiln_status status = error ? kiln_error_status(error) : KILN_ERROR_INTERNAL;
    const char *text = error ? kiln_error_message(error) : "failed without a message";
    int code = fail(c, status, text);
    kiln_error_free(error);
    return code;
}
