#include <string.h>

#include "compile/internal.h"

enum { MOST_ITEMS = 65536 }; /* of a list in a message */

/* ---- writing ---- */

static void add_number(kiln__text *out, uint64_t number)
{
    kiln__text_add(out, (const char *)&number, sizeof number);
}

static void add_bytes(kiln__text *out, const void *bytes, size_t length)
{
    add_number(out, length);
    kiln__text_add(out, bytes ? bytes : "", length);
}

/* Texts carry their NUL, so that the reader may point into the message. */
static void add_string(kiln__text *out, const char *text)
{
    add_bytes(out, text, strlen(text) + 1);
}

static void begin(kiln__text *out, uint32_t kind)
{
    kiln__message_header header = {.magic = KILN__MESSAGE_MAGIC, .kind = kind};
    kiln__text_add(out, (const char *)&header, sizeof header);
}

static void end(kiln__text *out)
{
    if (out->failed)
        return;
    uint64_t length = out->length - sizeof(kiln__message_header);
    memcpy(out->data + offsetof(kiln__message_header, length), &length, sizeof length);
}

void kiln__message_request(kiln__text *message, const kiln__compile_request *request)
{
    begin(message, KILN__MESSAGE_REQUEST);
    add_string(message, request->name);
    add_string(message, request->source);
    add_number(message, (uint64_t)request->arch);
    add_number(message, request->cubin);
    add_number(message, request->include_count);
    for (size_t i = 0; i < request->include_count; i++) {
        add_string(message, request->includes[i].name);
        add_string(message, request->includes[i].text);
    }
    add_number(message, request->option_count);
    for (size_t i = 0; i < request->option_count; i++)
        add_string(message, request->options[i]);
    add_number(message, request->name_count);
    for (size_t i = 0; i < request->name_count; i++)
        add_string(message, request->names[i]);
    end(message);
}

void kiln__message_result(kiln__text *message, kiln_status status, uint64_t ns, const kiln__unit *unit,
                          const char *why)
{
    static const kiln__unit nothing;
    if (!unit)
        unit = &nothing;
    begin(message, KILN__MESSAGE_RESULT);
    add_number(message, (uint64_t)status);
    add_number(message, ns);
    add_string(message, why);
    add_bytes(message, unit->ptx, unit->ptx_length);
    add_bytes(message, unit->cubin, unit->cubin_length);
    add_bytes(message, unit->lowered, unit->lowered_length);
    add_bytes(message, unit->log, unit->log_length);
    end(message);
}

void kiln__message_hello(kiln__text *message, kiln_status status, const char *identity)
{
    begin(message, KILN__MESSAGE_HELLO);
    add_number(message, (uint64_t)status);
    add_string(message, identity);
    end(message);
}

/* ---- reading: a position that fails for good at the first field that does not fit ---- */

typedef struct reader {
    const char *at;
    size_t left;
    bool failed;
} reader;

static uint64_t read_number(reader *in)
{
    uint64_t number = 0;
    if (in->failed || in->left < sizeof number) {
        in->failed = true;
        return 0;
    }
    memcpy(&number, in->at, sizeof number);
    in->at += sizeof number;
    in->left -= sizeof number;
    return number;
}

static const char *read_bytes(reader *in, size_t *length)
{
    uint64_t size = read_number(in);
    if (in->failed || size > in->left) {
        in->failed = true;
        *length = 0;
        return "";
    }
    const char *bytes = in->at;
    in->at += size;
    in->left -= (size_t)size;
    *length = (size_t)size;
    return bytes;
}

static const char *read_string(reader *in)
{
    size_t length;
    const char *text = read_bytes(in, &length);
    if (!in->failed && length > 0 && memchr(text, '\0', length) == text + length - 1)
        return text;
    in->failed = true;
    return "";
}

static size_t read_count(reader *in)
{
    uint64_t count = read_number(in);
    if (count > MOST_ITEMS || count > in->left / sizeof(uint64_t)) /* each item takes at least its length */
        in->failed = true;
    return in->failed ? 0 : (size_t)count;
}

static kiln_status read_status(reader *in)
{
    uint64_t status = read_number(in);
    if (status > KILN_ERROR_INTERNAL)
        in->failed = true;
    return in->failed ? KILN_ERROR_INTERNAL : (kiln_status)status;
}

static const char *const *read_strings(reader *in, kiln__arena *arena, size_t *count)
{
    *count = read_count(in);
    const char **list = kiln__arena_alloc(arena, (*count + 1) * sizeof *list);
    for (size_t i = 0; list && i < *count; i++)
        list[i] = read_string(in);
    return list;
}

bool kiln__message_read_request(const char *body, size_t length, kiln__arena *arena, kiln__compile_request *request)
{
    reader in = {.at = body, .left = length};
    *request = (kiln__compile_request){0};
    request->name = read_string(&in);
    request->source = read_string(&in);
    uint64_t arch = read_number(&in), cubin = read_number(&in);
    if (arch > 100000 || cubin > 1)
        in.failed = true;
    request->arch = in.failed ? 0 : (int)arch;
    request->cubin = cubin == 1;
    request->include_count = read_count(&in);
    kiln__include *includes = kiln__arena_alloc(arena, (request->include_count + 1) * sizeof *includes);
    for (size_t i = 0; includes && i < request->include_count; i++) {
        includes[i].name = read_string(&in);
        includes[i].text = read_string(&in);
    }
    request->includes = includes;
    request->options = read_strings(&in, arena, &request->option_count);
    request->names = read_strings(&in, arena, &request->name_count);
    return !in.failed && in.left == 0 && !arena->failed;
}

bool kiln__message_read_result(const char *body, size_t length, kiln_status *status, uint64_t *ns, kiln__unit *unit,
                               const char **why)
{
    reader in = {.at = body, .left = length};
    *unit = (kiln__unit){0};
    *status = read_status(&in);
    *ns = read_number(&in);
    *why = read_string(&in);
    unit->ptx = read_bytes(&in, &unit->ptx_length);
    unit->cubin = read_bytes(&in, &unit->cubin_length);
    unit->lowered = read_bytes(&in, &unit->lowered_length);
    unit->log = read_bytes(&in, &unit->log_length);
    return !in.failed && in.left == 0;
}

bool kiln__message_read_hello(const char *body, size_t length, kiln_status *status, const char **identity)
{
    reader in = {.at = body, .left = length};
    *status = read_status(&in);
    *identity = read_string(&in);
    return !in.failed && in.left == 0;
}
