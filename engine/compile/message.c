/* message.c - encodes messages between the library and a worker as bytes (base/wire.h). The writer of a message
 * determines the order of its fields. A reader checks every field, because the library and the worker treat messages as
 * untrusted. */
#include <string.h>

#include "compile_internal.h"

/* ---- writing ---- */

size_t kiln__message_request(kiln__text *message, const kiln__compile_request *request)
{
    kiln__wire_begin(message, KILN__MESSAGE_REQUEST);
    kiln__wire_string(message, request->name);
    kiln__wire_string(message, request->source);
    kiln__wire_number(message, request->prelude);
    kiln__wire_string(message, request->headers ? request->headers : "");
    kiln__wire_number(message, request->header_name_count);
    for (size_t i = 0; i < request->header_name_count; i++)
        kiln__wire_string(message, request->header_names[i]);
    kiln__wire_number(message, (uint64_t)request->arch);
    kiln__wire_number(message, (uint64_t)request->kind);
    kiln__wire_number(message, request->types ? 2 : request->cubin);
    kiln__wire_number(message, request->include_count);
    for (size_t i = 0; i < request->include_count; i++) {
        kiln__wire_string(message, request->includes[i].name);
        kiln__wire_string(message, request->includes[i].text);
    }
    kiln__wire_number(message, request->option_count);
    for (size_t i = 0; i < request->option_count; i++)
        kiln__wire_string(message, request->options[i]);
    const size_t names = message->length;
    kiln__wire_number(message, request->name_count);
    for (size_t i = 0; i < request->name_count; i++)
        kiln__wire_string(message, request->names[i]);
    kiln__wire_end(message);
    return names;
}

void kiln__message_result(kiln__text *message, kiln_status status, uint64_t ns, const kiln__unit *unit, const char *why,
                          bool passing, bool pch)
{
    static const kiln__unit nothing;
    if (!unit)
        unit = &nothing;
    kiln__wire_begin(message, KILN__MESSAGE_RESULT);
    kiln__wire_number(message, (uint64_t)status);
    kiln__wire_number(message, ns);
    kiln__wire_string(message, why);
    kiln__wire_number(message, passing);
    kiln__wire_number(message, pch);
    kiln__wire_bytes(message, unit->ptx, unit->ptx_length);
    kiln__wire_bytes(message, unit->cubin, unit->cubin_length);
    kiln__wire_bytes(message, unit->lowered, unit->lowered_length);
    kiln__wire_bytes(message, unit->log, unit->log_length);
    kiln__wire_end(message);
}

void kiln__message_hello(kiln__text *message, kiln_status status, const kiln__hello *hello)
{
    kiln__wire_begin(message, KILN__MESSAGE_HELLO);
    kiln__wire_number(message, (uint64_t)status);
    kiln__wire_string(message, hello->identity);
    kiln__wire_number(message, hello->confined);
    kiln__wire_string(message, hello->how);
    kiln__wire_end(message);
}

void kiln__message_pch(kiln__text *message, const char *path, bool make)
{
    kiln__wire_begin(message, KILN__MESSAGE_PCH);
    kiln__wire_string(message, path);
    kiln__wire_number(message, make);
    kiln__wire_end(message);
}

/* ---- reading ---- */

static const char *const *read_strings(kiln__wire *in, kiln__arena *arena, size_t *count)
{
    *count = kiln__wire_read_count(in);
    const char **list = kiln__arena_alloc(arena, (*count + 1) * sizeof *list);
    for (size_t i = 0; list && i < *count; i++)
        list[i] = kiln__wire_read_string(in);
    return list;
}

/* Reads the fields in the order in which kiln__message_request() writes them, and checks the limits of numbers. If a
 * field is invalid, all later fields become empty. */
bool kiln__message_read_request(const char *body, size_t length, kiln__arena *arena, kiln__compile_request *request)
{
    kiln__wire in = {.at = body, .left = length};
    *request = (kiln__compile_request){0};
    request->name = kiln__wire_read_string(&in);
    request->source = kiln__wire_read_string(&in);
    uint64_t prelude = kiln__wire_read_number(&in);
    if (!request->source || prelude > strlen(request->source))
        in.failed = true;
    request->prelude = in.failed ? 0 : (size_t)prelude;
    request->headers = kiln__wire_read_string(&in);
    request->header_names = read_strings(&in, arena, &request->header_name_count);
    uint64_t arch = kiln__wire_read_number(&in), kind = kiln__wire_read_number(&in);
    uint64_t cubin = kiln__wire_read_number(&in);
    if (arch > 100000 || (kind != 0 && kind != 'a' && kind != 'f') || cubin > 2)
        in.failed = true;
    request->arch = in.failed ? 0 : (int)arch;
    request->kind = in.failed ? '\0' : (char)kind;
    request->cubin = cubin == 1;
    request->types = cubin == 2;
    request->include_count = kiln__wire_read_count(&in);
    kiln__include *includes = kiln__arena_alloc(arena, (request->include_count + 1) * sizeof *includes);
    for (size_t i = 0; includes && i < request->include_count; i++) {
        includes[i].name = kiln__wire_read_string(&in);
        includes[i].text = kiln__wire_read_string(&in);
    }
    request->includes = includes;
    request->options = read_strings(&in, arena, &request->option_count);
    request->names = read_strings(&in, arena, &request->name_count);
    return !in.failed && in.left == 0 && !arena->failed;
}

bool kiln__message_read_result(const char *body, size_t length, kiln_status *status, uint64_t *ns, kiln__unit *unit,
                               const char **why, bool *passing, bool *pch)
{
    kiln__wire in = {.at = body, .left = length};
    *unit = (kiln__unit){0};
    *status = kiln__wire_read_status(&in);
    *ns = kiln__wire_read_number(&in);
    *why = kiln__wire_read_string(&in);
    uint64_t flag = kiln__wire_read_number(&in);
    if (flag > 1)
        in.failed = true;
    *passing = flag == 1;
    flag = kiln__wire_read_number(&in);
    if (flag > 1)
        in.failed = true;
    *pch = flag == 1;
    unit->ptx = kiln__wire_read_bytes(&in, &unit->ptx_length);
    unit->cubin = kiln__wire_read_bytes(&in, &unit->cubin_length);
    unit->lowered = kiln__wire_read_bytes(&in, &unit->lowered_length);
    unit->log = kiln__wire_read_bytes(&in, &unit->log_length);
    return !in.failed && in.left == 0;
}

bool kiln__message_read_hello(const char *body, size_t length, kiln_status *status, kiln__hello *hello)
{
    kiln__wire in = {.at = body, .left = length};
    *status = kiln__wire_read_status(&in);
    hello->identity = kiln__wire_read_string(&in);
    uint64_t confined = kiln__wire_read_number(&in);
    hello->how = kiln__wire_read_string(&in);
    hello->confined = confined == 1;
    if (confined > 1)
        in.failed = true;
    return !in.failed && in.left == 0;
}

bool kiln__message_read_pch(const char *body, size_t length, const char **path, bool *make)
{
    kiln__wire in = {.at = body, .left = length};
    *path = kiln__wire_read_string(&in);
    uint64_t flag = kiln__wire_read_number(&in);
    if (flag > 1)
        in.failed = true;
    *make = flag == 1;
    return !in.failed && in.left == 0;
}
