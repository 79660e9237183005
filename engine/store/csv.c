/* csv.c - writes and reads samples as comma-separated values with a heading, and with quotes where they are needed (RFC
 * 4180).
 *
 * A spreadsheet treats a cell as a formula if it begins with = + - @ or white space, even if the cell is quoted. A
 * formula may run programs. Names and messages come from specs, which are untrusted. So the export puts an apostrophe
 * before such a text. To a spreadsheet a leading apostrophe means "text". A text that begins with apostrophes and then
 * one of these characters gets one more apostrophe. The import removes one apostrophe from both kinds of text. A text
 * that is a number, such as -5, stays without an apostrophe. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "store_internal.h"

#define NAME(kind, name, unit, text) #name,
static const char *const columns[] = {KILN__STORE_COLUMNS(NAME) "times"};
/* For each version, the number of columns before `times` in a file. Element [0] is not used. */
#define LENGTH(...) (sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
static const size_t columns_of[] = {
    0,
    LENGTH(KILN__STORE_COLUMNS_1(NAME)),
    LENGTH(KILN__STORE_COLUMNS_1(NAME) KILN__STORE_COLUMNS_2(NAME)),
    LENGTH(KILN__STORE_COLUMNS_1(NAME) KILN__STORE_COLUMNS_2(NAME) KILN__STORE_COLUMNS_3(NAME)),
    LENGTH(KILN__STORE_COLUMNS_1(NAME) KILN__STORE_COLUMNS_2(NAME) KILN__STORE_COLUMNS_3(NAME)
               KILN__STORE_COLUMNS_4(NAME)),
    LENGTH(KILN__STORE_COLUMNS_1(NAME) KILN__STORE_COLUMNS_2(NAME) KILN__STORE_COLUMNS_3(NAME)
               KILN__STORE_COLUMNS_4(NAME) KILN__STORE_COLUMNS_5(NAME)),
    LENGTH(KILN__STORE_COLUMNS_1(NAME) KILN__STORE_COLUMNS_2(NAME) KILN__STORE_COLUMNS_3(NAME)
               KILN__STORE_COLUMNS_4(NAME) KILN__STORE_COLUMNS_5(NAME) KILN__STORE_COLUMNS_6(NAME)),
    LENGTH(KILN__STORE_COLUMNS_1(NAME) KILN__STORE_COLUMNS_2(NAME) KILN__STORE_COLUMNS_3(NAME) KILN__STORE_COLUMNS_4(
        NAME) KILN__STORE_COLUMNS_5(NAME) KILN__STORE_COLUMNS_6(NAME) KILN__STORE_COLUMNS_7(NAME)),
    LENGTH(KILN__STORE_COLUMNS_1(NAME) KILN__STORE_COLUMNS_2(NAME) KILN__STORE_COLUMNS_3(NAME)
               KILN__STORE_COLUMNS_4(NAME) KILN__STORE_COLUMNS_5(NAME) KILN__STORE_COLUMNS_6(NAME)
                   KILN__STORE_COLUMNS_7(NAME) KILN__STORE_COLUMNS_8(NAME)),
    KILN__COUNT(columns) - 1};
_Static_assert(KILN__COUNT(columns_of) == KILN__STORE_VERSION + 1, "each version of the schema has its columns");
#undef LENGTH
#undef NAME

/* ---- writing ---- */

static bool begins_formula(const char *text) { return *text && strchr("=+-@\t\r\n", *text); }

static bool is_number(const char *text)
{
    char *end;
    kiln__parse_double(text, &end);
    return end != text && *end == '\0' && text[strspn(text, "+-.0123456789eE")] == '\0';
}

static void put_text(kiln__text *out, const char *text)
{
    const size_t apostrophes = strspn(text, "'");
    const bool formula = begins_formula(text + apostrophes) && (apostrophes || !is_number(text));
    if (!formula && !strpbrk(text, ",;\t\"\r\n")) {
        kiln__text_puts(out, text);
        return;
    }
    kiln__text_puts(out, formula ? "\"'" : "\"");
    for (const char *at = text; *at; at++)
        kiln__text_add(out, *at == '"' ? "\"\"" : at, *at == '"' ? 2 : 1);
    kiln__text_puts(out, "\"");
}

static void put_real(kiln__text *out, double value)
{
    char room[40];
    kiln__print_double(room, sizeof room, value);
    kiln__text_puts(out, room);
}

static void put_row(kiln__text *out, const kiln__store_row *row)
{
#define TEXT(name) put_text(out, row->name), kiln__text_puts(out, ",");
#define WHOLE(name) kiln__text_printf(out, "%lld,", (long long)row->name);
#define REAL(name) put_real(out, row->name), kiln__text_puts(out, ",");
    KILN__STORE_COLUMNS(KILN__COLUMN)
#undef TEXT
#undef WHOLE
#undef REAL
    for (size_t i = 0; i < row->time_count; i++) {
        kiln__text_puts(out, i ? " " : "");
        put_real(out, row->times[i]);
    }
    kiln__text_puts(out, "\n");
}

/* Writes the heading, and then one line for each row of a statement. Writes in pieces, because a large store need not
 * fit in memory. */
static kiln_status write_rows(kiln_store *store, sqlite3_stmt *statement, kiln__output *out, uint64_t *written,
                              kiln_error **error)
{
    static const size_t piece = (size_t)1 << 18;
    kiln__text lines = {.mem = store->mem};
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < KILN__COUNT(columns); i++)
        kiln__text_printf(&lines, "%s%s", i ? "," : "", columns[i]);
    kiln__text_puts(&lines, "\n");
    int code;
    while ((code = kiln__scan_step(store, statement)) == SQLITE_ROW && status == KILN_OK) {
        kiln__store_row row;
        const char *wrong = kiln__store_read_row(statement, &row);
        if (wrong) {
            kiln__store_leave_out(store, &row, wrong);
            continue;
        }
        put_row(&lines, &row);
        if (lines.length >= piece && !lines.failed) {
            status = kiln__output_add(out, lines.data, lines.length, error);
            lines.length = 0;
        }
        if (lines.failed)
            status = kiln__fail_memory(error);
        ++*written;
    }
    if (status == KILN_OK && code != SQLITE_DONE)
        status = kiln__store_fail(store, code, "reading it", error);
    if (status == KILN_OK && lines.failed)
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        status = kiln__output_add(out, lines.data, lines.length, error);
    kiln__text_free(&lines);
    return status;
}

kiln_status kiln__csv_export(kiln_store *store, const kiln_store_filter *filter, const char *path, uint64_t *written,
                             kiln_error **error)
{
    kiln__output out;
    kiln_status status = kiln__output_begin(store->mem, path, &out, error);
    if (status != KILN_OK)
        return status;
    sqlite3_stmt *statement = NULL;
    pthread_mutex_lock(&store->lock);
    status = kiln__store_query(store, "SELECT " KILN__STORE_LIST " FROM sample", filter, "ORDER BY id", &statement,
                               error);
    if (status == KILN_OK)
        status = write_rows(store, statement, &out, written, error);
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&store->lock);
    if (status == KILN_OK)
        return kiln__output_finish(&out, error);
    kiln__output_drop(&out);
    return status;
}

/* ---- reading ---- */

/* The state of an import from CSV. */
typedef struct reader {
    kiln_store *store;
    const char *path;
    char *at;          /* the position in the text; fields are split in place */
    unsigned line;     /* the number of the line that has `at` */
    int version;       /* the version of the columns */
    kiln__arena arena; /* the memory of one row */
} reader;

static kiln_status fail_line(reader *r, unsigned line, kiln_error **error, const char *what, const char *value)
{
    return kiln__fail(r->store->mem, error, KILN_ERROR_IO, "%s:%u: %s%s%s%s; nothing was imported", r->path, line, what,
                      value ? " '" : "", value ? value : "", value ? "'" : "");
}

/* Splits the next field off the text. *last becomes true if the field is the last one of its line. Returns NULL if a
 * quote is not closed, or if more text follows the closing quote. */
static char *next_field(reader *r, bool *last)
{
    char *from = r->at, *to = from, *at = from;
    bool quoted = *at == '"';
    at += quoted;
    while (*at && (quoted || (*at != ',' && *at != '\n'))) {
        if (quoted && *at == '"') {
            if (at[1] != '"')
                break;
            at++;
        }
        r->line += *at == '\n';
        *to++ = *at++;
    }
    if (quoted && *at++ != '"')
        return NULL;
    if (quoted && *at == '\r')
        at++;
    else if (!quoted && to > from && to[-1] == '\r' && *at != ',')
        to--;
    if (*at && *at != ',' && *at != '\n')
        return NULL;
    *last = *at != ',';
    r->line += *at == '\n';
    r->at = *at ? at + 1 : at;
    *to = '\0';
    return from;
}

/* Returns the text of a field without the apostrophe that put_text() added. */
static const char *read_text(const char *field)
{
    const size_t apostrophes = strspn(field, "'");
    return field + (apostrophes && begins_formula(field + apostrophes));
}

static bool read_whole(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *text && strchr("-0123456789", *text) && *end == '\0' && errno == 0;
}

static bool read_real(const char *text, double *value)
{
    char *end;
    *value = kiln__parse_double(text, &end);
    return end != text && *end == '\0';
}

static bool read_times(reader *r, char *text, kiln__store_row *row)
{
    size_t room = 1;
    for (const char *at = text; *at; at++)
        room += *at == ' ';
    double *times = kiln__arena_alloc(&r->arena, room * sizeof *times);
    row->times = times;
    row->time_count = 0;
    for (char *word = text; times && *word;) {
        size_t length = strcspn(word, " ");
        bool more = word[length] == ' ';
        word[length] = '\0';
        if (!read_real(word, &times[row->time_count++]))
            return false;
        word += length + more;
    }
    return times != NULL;
}

/* Reads one row with the columns of the file's version. The columns of later versions get 0 or "". */
static kiln_status read_row(reader *r, kiln__store_row *row, kiln_error **error)
{
    unsigned line = r->line;
    bool last = false;
    char *field;
/* Reads the next field and converts it. If this fails, returns from the function that uses the macro. */
#define FIELD(name, convert, what)                                                                                     \
    field = last ? NULL : next_field(r, &last);                                                                        \
    if (!field)                                                                                                        \
        return fail_line(r, line, error, last ? "the line ends before " #name : "a quote is not closed in " #name,     \
                         NULL);                                                                                        \
    if (!(convert))                                                                                                    \
        return r->arena.failed ? kiln__fail_memory(error) : fail_line(r, line, error, #name " is not " what ":", field);
#define TEXT(name) FIELD(name, (row->name = read_text(field)) != NULL, "a text")
#define WHOLE(name) FIELD(name, read_whole(field, &row->name), "a whole number")
#define REAL(name) FIELD(name, read_real(field, &row->name), "a number")
    *row = (kiln__store_row){0};
    KILN__STORE_COLUMNS_1(KILN__COLUMN)
    if (r->version >= 2) {
        KILN__STORE_COLUMNS_2(KILN__COLUMN)
    }
    row->input_functions = row->features = row->metrics = row->host = row->command = row->path = "";
    if (r->version >= 3) {
        KILN__STORE_COLUMNS_3(KILN__COLUMN)
    }
    if (r->version >= 4) {
        KILN__STORE_COLUMNS_4(KILN__COLUMN)
    }
    if (r->version >= 5) {
        KILN__STORE_COLUMNS_5(KILN__COLUMN)
    }
    if (r->version >= 6) {
        KILN__STORE_COLUMNS_6(KILN__COLUMN)
    }
    if (r->version >= 7) {
        KILN__STORE_COLUMNS_7(KILN__COLUMN)
    }
    if (r->version >= 8) {
        KILN__STORE_COLUMNS_8(KILN__COLUMN)
    }
    if (r->version >= 9) {
        KILN__STORE_COLUMNS_9(KILN__COLUMN)
    }
    FIELD(times, read_times(r, field, row), "numbers separated by spaces")
#undef TEXT
#undef WHOLE
#undef REAL
#undef FIELD
    if (!last)
        return fail_line(r, line, error, "the line has more fields than the heading", NULL);
    const char *why = kiln__store_row_unfit(&r->arena, row);
    if (r->arena.failed)
        return kiln__fail_memory(error);
    return why ? fail_line(r, line, error, why, row->key) : KILN_OK;
}

static kiln_status read_heading(reader *r, kiln_error **error)
{
    bool last = false;
    for (size_t i = 0; i < KILN__COUNT(columns); i++) {
        const char *field = last ? NULL : next_field(r, &last);
        for (int v = 1; v <= KILN__STORE_VERSION && field; v++)
            if (i == columns_of[v] && strcmp(field, "times") == 0)
                r->version = v;
        if (r->version)
            break;
        if (!field || strcmp(field, columns[i]) != 0)
            return fail_line(r, 1, error, "the heading is not the heading of an export: it lacks the column",
                             columns[i]);
    }
    return last ? KILN_OK : fail_line(r, 1, error, "the heading has too many columns", NULL);
}

static kiln_status read_rows(reader *r, uint64_t *read, uint64_t *taken, kiln_error **error)
{
    kiln_status status = read_heading(r, error);
    while (status == KILN_OK && *r->at) {
        kiln__store_row row;
        bool mine = false;
        status = kiln__store_import_on(r->store, r->path, error);
        if (status == KILN_OK)
            status = read_row(r, &row, error);
        int code = status == KILN_OK ? kiln__store_insert(r->store, &row, &mine) : SQLITE_DONE;
        if (code != SQLITE_DONE)
            status = kiln__store_fail(r->store, code, "importing", error);
        ++*read;
        *taken += mine;
        kiln__arena_free(&r->arena);
        r->arena = (kiln__arena){.mem = r->store->mem};
    }
    kiln__arena_free(&r->arena);
    return status;
}

kiln_status kiln__csv_import(kiln_store *store, const char *path, char *text, size_t length, uint64_t *read,
                             uint64_t *taken, kiln_error **error)
{
    reader r = {.store = store, .path = path, .at = text, .line = 1, .arena = {.mem = store->mem}};
    return memchr(text, '\0', length) ? fail_line(&r, 1, error, "not a text file: it contains a zero byte", NULL)
                                      : read_rows(&r, read, taken, error);
}
