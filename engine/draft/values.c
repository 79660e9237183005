/* values.c - runs the drafted spec with one value of a tuning parameter, and removes values that fail. */
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "engine.h"

const char *kiln__first_line(const kiln__draft *draft, const char *message)
{
    size_t length = strcspn(message, "\n");
    const char *line = kiln__arena_strndup(draft->arena, message, length);
    if (line && length > 0 && message[length - 1] == ':' && message[length]) {
        const char *next = message + length + 1 + strspn(message + length + 1, " ");
        line = kiln__arena_printf(draft->arena, "%s %.*s", line, (int)strcspn(next, "\n"), next);
    }
    return line ? line : "out of memory";
}

bool kiln__can_go_on(kiln_engine *engine, const kiln_error *why)
{
    return !kiln__driver_is_sticky((CUresult)kiln_error_cuda(why)) ||
           (engine->owns_context && kiln__engine_renew(engine, NULL) == KILN_OK);
}

const char *kiln__next_value(const kiln__draft *draft, const char **at)
{
    size_t length = 0, depth = 0; /* a comma between '<' and '>' belongs to the value, as in pair<int, float> */
    for (; (*at)[length] && ((*at)[length] != ',' || depth > 0); length++) {
        depth += (*at)[length] == '<';
        depth -= (*at)[length] == '>' && depth > 0;
    }
    const char *value = **at ? kiln__arena_strndup(draft->arena, *at, length) : NULL;
    *at += length;
    *at += strspn(*at, ", ");
    return value;
}

static bool is_in_list(const kiln__draft *draft, const char *list, const char *value)
{
    const char *one = NULL;
    while (list && (one = kiln__next_value(draft, &list)) != NULL)
        if (strcmp(one, value) == 0)
            return true;
    return false;
}

void kiln__note_proved(kiln__draft *draft, kiln__tunable *tunable, const char *value)
{
    tunable->proved = tunable->proved ? kiln__arena_printf(draft->arena, "%s, %s", tunable->proved, value) : value;
}

/* The value in the source stays, because it is the reference. The values around it are only a guess, and only a trial
 * run shows that they keep the meaning of the source. */
void kiln__drop_unproved(kiln__draft *draft)
{
    for (size_t i = 0; i < draft->tunable_count; i++) {
        kiln__tunable *tunable = &draft->tunables[i];
        const char *list = NULL, *one = NULL;
        for (const char *at = tunable->own ? tunable->values : ""; (one = kiln__next_value(draft, &at)) != NULL;)
            if (strcmp(one, tunable->chosen) == 0 || is_in_list(draft, tunable->proved, one))
                list = list ? kiln__arena_printf(draft->arena, "%s, %s", list, one) : one;
        tunable->values = list ? list : tunable->values;
    }
}

/* Converts the text of a value in the spec to an integer, true or false, or a text. */
static kiln_value read_value(const char *text)
{
    if (!text)
        return (kiln_value){0};
    char *end = NULL;
    const long long number = strtoll(text, &end, 10);
    if (*text && !*end)
        return (kiln_value){.kind = KILN_INT, .as.i = number};
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return (kiln_value){.kind = KILN_BOOL, .as.i = text[0] == 't'};
    return (kiln_value){.kind = KILN_TEXT, .as.text = text};
}

kiln_status kiln__run_value(kiln_engine *engine, const kiln_spec *spec, kiln__shared *shared, const char *name,
                            const char *value, bool verify, double seconds, const char **finding, kiln_error **error)
{
    kiln_plan *plan = NULL;
    const kiln_setting param = {name, read_value(value)};
    const kiln_choice choice = {.size_set = "tiny", .params = &param, .param_count = name != NULL};
    const kiln_result *result = NULL;
    const kiln_run_options options = {.size = sizeof options,
                                      .flags = KILN_RUN_NO_MEASURE | (verify ? 0 : KILN_RUN_NO_VERIFY) |
                                               (finding ? KILN_RUN_CHECK : 0),
                                      .sample_timeout = seconds,
                                      .check = finding ? kiln__keep_finding : NULL,
                                      .check_user = finding};
    if (finding)
        *finding = NULL;
    kiln_status status = kiln_plan_open(engine, spec, &choice, &plan, error);
    if (status == KILN_OK) {
        kiln__plan_share(plan, shared);
        status = kiln_plan_run(plan, &options, &result, error);
    }
    kiln_plan_close(plan);
    return status;
}

bool kiln__is_due_to_value(kiln_status status)
{
    return status != KILN_OK && status != KILN_ERROR_CONSTRAINT && status != KILN_ERROR_TIMEOUT &&
           status != KILN_ERROR_MEMORY && status != KILN_ERROR_INTERRUPTED;
}

/* Returns the part of a message that tells the failure. Leaves out the place in the spec and the configuration before
 * it. */
static const char *shorten(const kiln__draft *draft, const char *message)
{
    static const char *const begins[] = {"CUDA_ERROR_", "gives a wrong answer"};
    const char *line = kiln__first_line(draft, message), *place = strstr(line, ".yaml:");
    if (place) { /* the place is in the drafted text, which is not a file of the user */
        place += strlen(".yaml:");
        place += strspn(place, "0123456789:");
        line = *place == ' ' ? place + 1 : line;
    }
    for (size_t i = 0; i < KILN__COUNT(begins); i++)
        if (strstr(line, begins[i]))
            return strstr(line, begins[i]);
    return line;
}

void kiln__leave_out(kiln__draft *draft, kiln__tunable *tunable, const char *value, const char *message)
{
    const char *list = NULL, *one = NULL;
    for (const char *at = tunable->values; (one = kiln__next_value(draft, &at)) != NULL;)
        if (strcmp(one, value) != 0)
            list = list ? kiln__arena_printf(draft->arena, "%s, %s", list, one) : one;
    const char *text = kiln__arena_printf(draft->arena, "%s: %s", value, shorten(draft, message));
    if (!list || !text)
        return;
    tunable->values = list;
    tunable->left_out = tunable->left_out ? kiln__arena_printf(draft->arena, "%s\n%s", tunable->left_out, text) : text;
}
