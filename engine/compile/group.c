/* group.c - combines several requests into one compile, and divides its result. NVRTC reads a source and its headers
 * again for each compile. Reading takes most of the time if the source includes much and each kernel is small. Requests
 * that differ only in the names of their kernels, such as sum<128> and sum<256>, can share that work: they become one
 * program with all names. The result contains all kernels. Each request gets a copy of the result whose symbols and log
 * contain only its own kernels.
 *
 * The names are the last field of an encoded request (message.c). So in the encoded requests of a group, all bytes
 * between the header and the names are equal. */
#include <string.h>

#include "chars.h"
#include "pool.h"

bool kiln__group_fits(const kiln__text *one, size_t one_names, const kiln__text *other, size_t other_names)
{
    const size_t skip = sizeof(kiln__message_header);
    return one_names == other_names && memcmp(one->data + skip, other->data + skip, one_names - skip) == 0;
}

/* Returns a reader at the first name of an encoded request. The field of names begins `names` bytes from the start of
 * the request. *count receives the number of names. */
static kiln__wire read_names(const kiln__text *message, size_t names, size_t *count)
{
    kiln__wire in = {.at = message->data + names, .left = message->length - names};
    *count = kiln__wire_read_count(&in);
    return in;
}

static bool has_name(const kiln__text *message, size_t names, const char *name)
{
    size_t count;
    kiln__wire in = read_names(message, names, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kiln__wire_read_string(&in), name) == 0)
            return true;
    }
    return false;
}

/* Adds those names of `member` that `message` lacks, and updates the count before the names. */
void kiln__group_add(kiln__text *message, const kiln__text *member, size_t names)
{
    if (message->length == 0) {
        kiln__text_add(message, member->data, member->length);
        return;
    }
    size_t count, all;
    kiln__wire in = read_names(member, names, &count);
    for (size_t i = 0; i < count && !message->failed; i++) {
        const char *name = kiln__wire_read_string(&in);
        if (has_name(message, names, name))
            continue;
        read_names(message, names, &all);
        kiln__wire_string(message, name);
        const uint64_t more = all + 1;
        if (!message->failed)
            memcpy(message->data + names, &more, sizeof more);
    }
    kiln__wire_end(message);
}

/* Returns whether a line of the log contains the name of a symbol as a whole word. Returns false for an empty symbol,
 * which only a hostile worker sends. */
static bool names_symbol(const char *line, size_t length, const char *symbol)
{
    const size_t size = strlen(symbol);
    for (const char *at = line; size > 0 && (at = memmem(at, length - (size_t)(at - line), symbol, size)) != NULL;
         at++) {
        const char *end = at + size;
        if ((at == line || !kiln__is_word_part(at[-1])) && (end == line + length || !kiln__is_word_part(*end)))
            return true;
    }
    return false;
}

/* Returns the symbol of the pair (name, symbol) at *at in `lowered`, and moves *at to the next pair. Returns NULL after
 * the last pair. */
static const char *next_pair(const kiln__unit *unit, const char **at)
{
    const char *end = unit->lowered + unit->lowered_length;
    if (!unit->lowered || *at >= end)
        return NULL;
    const char *symbol = *at + strlen(*at) + 1;
    if (symbol >= end)
        return NULL;
    *at = symbol + strlen(symbol) + 1;
    return symbol;
}

/* Appends the log of the whole group to `log`, except lines that name a symbol of a kernel that `member` lacks. */
static void add_own_lines(kiln__text *log, const kiln__unit *whole, const kiln__text *member, size_t names)
{
    const char *end = whole->log + whole->log_length;
    for (const char *line = whole->log, *next; line && line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        next = stop ? stop + 1 : end;
        bool own = true;
        const char *at = whole->lowered, *name = at;
        for (const char *symbol; own && (symbol = next_pair(whole, &at)) != NULL; name = at)
            own = has_name(member, names, name) || !names_symbol(line, (size_t)(next - line), symbol);
        if (own)
            kiln__text_add(log, line, (size_t)(next - line));
    }
}

kiln_status kiln__group_part(const kiln_allocator *mem, const kiln__unit *whole, const kiln__text *member, size_t names,
                             kiln__unit *part, kiln_error **error)
{
    kiln__text lowered = {.mem = mem}, log = {.mem = mem};
    const char *at = whole->lowered, *name = at;
    while (next_pair(whole, &at)) {
        if (has_name(member, names, name))
            kiln__text_add(&lowered, name, (size_t)(at - name));
        name = at;
    }
    add_own_lines(&log, whole, member, names);
    kiln__unit parts = *whole;
    parts.lowered = lowered.data;
    parts.lowered_length = lowered.length;
    parts.log = log.data;
    parts.log_length = log.length;
    kiln_status status = lowered.failed || log.failed ? kiln__fail_memory(error)
                                                      : kiln__unit_make(mem, &parts, part, error);
    kiln__text_free(&lowered);
    kiln__text_free(&log);
    return status;
}
