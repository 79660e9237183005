/* errors.c - How does Kiln report a mistake and its place?
 *
 * Usage: errors specs/examples/first.yaml
 *
 * Each mistake below gives a status, which a program can act on, and a message for a person. A message names the file,
 * the line and the column, shows the line with a caret, and suggests the nearest known name. */
#include <kiln.h>
#include <stdio.h>
#include <string.h>

/* Prints the mistake, the status, the exit code of the command for this status, and the message. Frees the error. */
static void show(const char *mistake, kiln_error *error)
{
    static const int codes[] = {
#define KILN_X(name, value, text, code) [value] = code,
        KILN_STATUS_MAP(KILN_X)
#undef KILN_X
    };
    kiln_status status = kiln_error_status(error); /* returns KILN_OK if `error` is NULL */
    printf("%s: %s, exit code %d\n%s\n\n", mistake, kiln_status_name(status), codes[status],
           error ? kiln_error_message(error) : "");
    kiln_error_free(error);
}

int main(int count, char **arguments)
{
    static const char broken[] = "kiln: 1\nname: broken\nsource: first.cu\nsize: {default: {N: 5}}\n"
                                 "launch: {kernel: axpy, grid: [M], block: [32], args: []}\n";
    kiln_engine *engine = NULL;
    kiln_spec *spec = NULL, *none = NULL;
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    if (kiln_engine_open(NULL, &engine, &error) ||
        kiln_spec_load(engine, count > 1 ? arguments[1] : "first", &spec, &error))
        return fprintf(stderr, "errors: %s\n", kiln_error_message(error)), 1;

    kiln_spec_parse(engine, broken, strlen(broken), "broken.yaml", &none, &error); /* the message has all errors of the
                                                                                    * spec */
    show("A spec with two errors", error);

    error = NULL; /* `error` must be NULL before each call that may set it */
    kiln_choice unknown = {.variant = "defualt"};
    kiln_plan_open(engine, spec, &unknown, &plan, &error);
    show("A misspelt variant", error);

    error = NULL;
    kiln_setting params[] = {{"BLOCK", {KILN_INT, {100}}}};
    kiln_choice outside = {.params = params, .param_count = 1};
    kiln_plan_open(engine, spec, &outside, &plan, &error);
    show("A value that the param does not have", error);

    error = NULL;
    kiln_plan_open(engine, NULL, NULL, &plan, &error);
    show("A NULL that must not be", error);

    kiln_spec_free(spec);
    kiln_engine_close(engine);
    return plan || none ? 1 : 0; /* the failed functions have left their output parameters unchanged */
}
