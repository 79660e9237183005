/* error.c - makes errors, diagnostics with a place in a file, and lines of the log. */
#include <stdio.h>
#include <string.h>

#include "base.h"

const char *kiln_status_name(kiln_status status)
{
    switch (status) {
#define KILN_X(name, value, text, code)                                                                                \
    case KILN_##name: return "KILN_" #name;
        KILN_STATUS_MAP(KILN_X)
#undef KILN_X
    }
    return "KILN_?";
}

const char *kiln_status_text(kiln_status status)
{
    switch (status) {
#define KILN_X(name, value, text, code)                                                                                \
    case KILN_##name: return text;
        KILN_STATUS_MAP(KILN_X)
#undef KILN_X
    }
    return "an unknown status";
}

/* The error for the case that no memory is left for an error. Its message is a constant, and it is never freed. */
static const kiln_error out_of_memory = {.status = KILN_ERROR_MEMORY};

static bool is_static(const kiln_error *error) { return error == &out_of_memory; }

kiln_status kiln_error_status(const kiln_error *error) { return error ? error->status : KILN_OK; }

const char *kiln_error_message(const kiln_error *error)
{
    if (!error)
        return "";
    return is_static(error) ? "out of host memory" : error->message;
}

int kiln_error_cuda(const kiln_error *error) { return error ? error->cuda : 0; }

void kiln_error_free(kiln_error *error)
{
    if (!error || is_static(error))
        return;
    kiln_allocator mem = error->mem_copy; /* a copy, because the error contains the allocator that frees the error */
    kiln__free(error->mem ? &mem : NULL, error);
}

kiln_status(kiln__fail_memory)(kiln_error **error)
{
    if (error && !*error)
        *error = (kiln_error *)(uintptr_t)&out_of_memory; /* Kiln never writes through this pointer, see is_static() */
    return KILN_ERROR_MEMORY;
}

static kiln_status fail(const kiln_allocator *mem, kiln_error **error, kiln_status status, int cuda, const char *format,
                        va_list arguments)
{
    if (!error || *error)
        return status;
    va_list again;
    va_copy(again, arguments);
    int length = kiln__vformat(NULL, 0, format, arguments);
    kiln_error *made = length < 0 ? NULL : kiln__alloc(mem, sizeof *made + (size_t)length + 1);
    if (made) {
        made->mem = mem;
        if (mem)
            made->mem_copy = *mem;
        made->status = status;
        made->cuda = cuda;
        made->passing = false;
        kiln__vformat(made->message, (size_t)length + 1, format, again);
        while (length > 0 && made->message[length - 1] == '\n')
            made->message[--length] = '\0';
        *error = made;
    } else {
        kiln__fail_memory(error);
    }
    va_end(again);
    return status;
}

kiln_status(kiln__fail)(const kiln_allocator *mem, kiln_error **error, kiln_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status = fail(mem, error, status, 0, format, arguments);
    va_end(arguments);
    return status;
}

kiln_status kiln__fail_cuda(const kiln_allocator *mem, kiln_error **error, kiln_status status, int cuda,
                            const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status = fail(mem, error, status, cuda, format, arguments);
    va_end(arguments);
    return status;
}

void kiln__error_mark_passing(kiln_error *error)
{
    if (error && !is_static(error))
        error->passing = true;
}

bool kiln__error_is_passing(const kiln_error *error) { return error && (is_static(error) || error->passing); }

/* ---- diagnostics ---- */

static void add_caret(kiln__text *out, kiln__pos pos)
{
    const char *line = pos.source->text, *end = line + pos.source->length;
    for (unsigned n = 1; n < pos.line && line < end; line++)
        n += *line == '\n';
    size_t length = 0;
    while (line + length < end && line[length] != '\n' && line[length] != '\r' && length < 200)
        length++;
    if (length == 0)
        return;
    kiln__text_puts(out, "  ");
    /* the text is untrusted, and its control characters would reach the terminal */
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        kiln__text_add(out, c < 0x20 || c == 0x7f ? " " : line + i, 1);
    }
    kiln__text_puts(out, "\n  ");
    for (unsigned column = 1; column < pos.column && column <= length; column++)
        if (((unsigned char)line[column - 1] & 0xc0) != 0x80) /* continuation bytes of UTF-8 have no width */
            kiln__text_puts(out, " ");
    kiln__text_puts(out, "^\n");
}

void kiln__diag_add(kiln__diag *diag, kiln__pos pos, const char *format, ...)
{
    diag->text.mem = diag->mem;
    if (diag->count++ >= (diag->limit ? diag->limit : 100))
        return;
    if (pos.source)
        kiln__text_printf(&diag->text, "%s:%u:%u: ", pos.source->name, pos.line, pos.column);
    va_list arguments;
    va_start(arguments, format);
    kiln__text_vprintf(&diag->text, format, arguments);
    va_end(arguments);
    kiln__text_puts(&diag->text, "\n");
    if (pos.source)
        add_caret(&diag->text, pos);
}

kiln_status kiln__diag_fail(const kiln_allocator *mem, kiln_error **error, kiln_status status, kiln__pos pos,
                            const char *format, va_list arguments)
{
    kiln__diag diag = {.mem = mem};
    kiln__text text = {.mem = mem};
    kiln__text_vprintf(&text, format, arguments);
    kiln__diag_add(&diag, pos, "%s", kiln__text_get(&text));
    kiln__text_free(&text);
    return kiln__diag_finish(&diag, status, error);
}

kiln_status kiln__diag_finish(kiln__diag *diag, kiln_status status, kiln_error **error)
{
    unsigned limit = diag->limit ? diag->limit : 100;
    if (diag->count == 0) {
        kiln__text_free(&diag->text);
        return KILN_OK;
    }
    if (diag->count > limit)
        kiln__text_printf(&diag->text, "and %u more errors\n", diag->count - limit);
    if (diag->text.failed)
        status = kiln__fail_memory(error);
    else
        kiln__fail(diag->mem, error, status, "%s", kiln__text_get(&diag->text));
    kiln__text_free(&diag->text);
    diag->count = 0;
    return status;
}

void kiln__logf(const kiln__log *log, kiln_log_level level, const char *format, ...)
{
    if (!log || !log->fn)
        return;
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    kiln__vformat(message, sizeof message, format, arguments);
    va_end(arguments);
    log->fn(log->user, level, message);
}
