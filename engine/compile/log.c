/* log.c - formats messages of NVRTC and ptxas for a person, and reads the numbers in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chars.h"
#include "compile_internal.h"

/* The largest number of lines and columns of a shown log. */
enum { MOST_LINES = 200, MOST_COLUMNS = 400 };

static bool has_prefix(const char *line, size_t length, const char *prefix)
{
    size_t size = strlen(prefix);
    return length >= size && memcmp(line, prefix, size) == 0;
}

/* Returns whether a line is a statistic of --ptxas-options=-v, such as "ptxas info    : Used 126 registers" or "ptxas
 * .     0 bytes stack frame". */
static bool is_statistics(const char *line, size_t length)
{
    if (!has_prefix(line, length, "ptxas"))
        return false;
    const char *rest = line + strlen("ptxas");
    size_t left = length - strlen("ptxas");
    while (left && *rest == ' ') {
        rest++;
        left--;
    }
    return has_prefix(rest, left, "info") || has_prefix(rest, left, ".");
}

static void add_clean(kiln__text *text, const char *line, size_t length)
{
    size_t shown = length < MOST_COLUMNS ? length : MOST_COLUMNS;
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)line[i];
        /* tabs become blanks too, because the caret of a message counts columns */
        kiln__text_add(text, c < 0x20 || c == 0x7f ? " " : line + i, 1);
    }
    kiln__text_puts(text, shown < length ? "...\n" : "\n");
}

/* Adds the line of PTX that a message refers to, as in "ptxas application ptx input, line 26; error : ...". */
static void add_ptx_line(kiln__text *text, const char *message, size_t length, const char *ptx)
{
    static const char mark[] = "ptx input, line ";
    const char *at = memmem(message, length, mark, sizeof mark - 1);
    if (!at || !ptx)
        return;
    unsigned long wanted = 0;
    for (at += sizeof mark - 1; at < message + length && kiln__is_digit(*at) && wanted < 100000000; at++)
        wanted = wanted * 10 + (unsigned long)(*at - '0');
    const char *line = ptx;
    for (unsigned long n = 1; n < wanted && line; n++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!wanted || !line)
        return;
    kiln__text_puts(text, "    ");
    add_clean(text, line, strcspn(line, "\n"));
}

/* Shortens errors in the name of a kernel. NVRTC reports such an error for a generated file, "__nv_name_map(2): error:
 * identifier ...". The line number belongs to no source. Returns the text that replaces such a line, in `room`. Returns
 * "" for the line "Error in parsing name expression", because this line only repeats the error. Returns NULL for any
 * other line. */
static const char *shorten_name_error(const char *line, size_t length, char *room, size_t size)
{
    static const char file[] = "__nv_name_map(", mark[] = "): error: ", echo[] = "Error in parsing name expression";
    const char *at = has_prefix(line, length, file) ? memmem(line, length, mark, sizeof mark - 1) : NULL;
    if (!at)
        return NULL;
    at += sizeof mark - 1;
    size_t left = length - (size_t)(at - line);
    if (has_prefix(at, left, echo))
        return "";
    snprintf(room, size, "error in the name of a kernel: %.*s", (int)(left < size ? left : size), at);
    return room;
}

/* Returns whether a line begins a warning or a remark of NVRTC, such as "x.cu(3): warning #177-D: ...". A warning that
 * has no file and line begins with "Warning". */
static bool is_warning(const char *line, size_t length)
{
    static const char mark[] = "): warning #";
    return has_prefix(line, length, "Warning #") || has_prefix(line, length, "Remark: ") ||
           memmem(line, length, mark, sizeof mark - 1) != NULL;
}

/* Returns the text after the next blank line. */
static const char *skip_paragraph(const char *at)
{
    while (*at && *at != '\n') {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return at + (*at == '\n');
}

/* Copies the log line by line. Omits statistics and repeated blank lines, shortens errors about names, and counts the
 * lines beyond MOST_LINES. If there are errors, omits warnings, because a thousand warnings of a library would hide the
 * errors. */
void kiln__compile_log_format(kiln__text *text, const char *log, const char *ptx)
{
    size_t lines = 0, left = 0;
    bool blank = true; /* the last line was blank; so the text begins with no blank line and never has two in a row */
    const bool errors = strstr(log, " error: ") != NULL;
    while (*log) {
        size_t length = strcspn(log, "\n");
        const char *next = log[length] ? log + length + 1 : log + length;
        char room[MOST_COLUMNS + 64];
        if (errors && is_warning(log, length)) {
            log = skip_paragraph(log);
            continue;
        }
        const char *name = shorten_name_error(log, length, room, sizeof room);
        if (name) {
            if (*name && lines++ < MOST_LINES)
                add_clean(text, name, strlen(name));
            while (length && *next) { /* skip the source line and the caret of the error, up to a blank line */
                log = next;
                length = strcspn(log, "\n");
                next = log[length] ? log + length + 1 : log + length;
            }
            if (*name && length == 0)
                kiln__text_puts(text, "\n");
            blank = true;
        } else if (!is_statistics(log, length) && !(length == 0 && blank)) {
            blank = length == 0;
            if (lines++ < MOST_LINES) {
                add_clean(text, log, length);
                add_ptx_line(text, log, length, ptx);
            } else {
                left++;
            }
        }
        log = next;
    }
    if (left)
        kiln__text_printf(text, "(%zu more lines)\n", left);
}

bool kiln__compile_log_spills(const char *log, const char *symbol, int64_t *stores, int64_t *loads)
{
    static const char head[] = "Function properties for ";
    size_t length = strlen(symbol);
    for (const char *at = log; (at = strstr(at, head)) != NULL;) {
        at += sizeof head - 1;
        if (strncmp(at, symbol, length) != 0 || (at[length] != '\n' && at[length] != '\r' && at[length] != ' '))
            continue;
        const char *line = strchr(at, '\n');
        const char *figure = line ? strstr(line, " bytes stack frame, ") : NULL;
        const char *end = line ? strchr(line + 1, '\n') : NULL;
        if (!figure || (end && figure > end))
            return false;
        long long store = 0, load = 0;
        if (sscanf(figure, " bytes stack frame, %lld bytes spill stores, %lld bytes spill loads", &store, &load) != 2 ||
            store < 0 || load < 0)
            return false;
        *stores = store;
        *loads = load;
        return true;
    }
    return false;
}

/* Finds messages like "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
 * due to ...". */
const char *kiln__compile_log_finding(kiln__arena *arena, const char **at)
{
    enum { FIRST = 7509, LAST = 7520, DIGITS = 4 };
    for (const char *open; (open = strstr(*at, "(C")) != NULL;) {
        const char *digits = open + 2;
        int number = 0, count = 0;
        while (count < DIGITS && kiln__is_digit(digits[count]))
            number = 10 * number + (digits[count++] - '0');
        *at = digits + count;
        if (count < DIGITS || **at != ')' || number < FIRST || number > LAST)
            continue;
        const char *text = *at + 1 + strspn(*at + 1, " ");
        size_t length = strcspn(text, "\r\n");
        *at = text + length;
        return kiln__arena_printf(arena, "C%d: %.*s", number, (int)(length < 1000 ? length : 1000), text);
    }
    return NULL;
}
