/* output.c - standard output: remembers write errors, and formats colours, tables, and numbers for people. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>
#include <wchar.h>

#include "cli.h"

static struct {
    bool terminal, colour, utf8;
    locale_t user;           /* the user's locale, for the width of characters; 0 means that this locale is not valid */
    unsigned width, columns; /* `columns` is the number of columns of the terminal */
    int fd;
    int error; /* errno of the first write that failed */
    size_t length;
    char data[1 << 16];
    bool json, answered; /* `json`: other output is kept, and becomes the member "text" of the JSON object */
    bool keeps;          /* true after out_keep_json(): the JSON object is kept instead of printed */
    char *kept;
    char *held;
    size_t held_length, held_room;
    char styles[5][24]; /* see style() */
} out = {.fd = STDOUT_FILENO};

/* The code of a colour stands within a text that may also contain untrusted text of a spec. The code of a colour is an
 * escape character and a random word of this run, so that a spec cannot write a colour. out_puts() turns the code into
 * an escape sequence of the terminal. */
enum { MARK = 17 };

static void make_styles(void)
{
    static const char *const codes[] = {"0m", "1m", "2m", "31m", "32m"};
    unsigned char drawn[(MARK - 1) / 2];
    if (getrandom(drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        out.colour = false;
        return;
    }
    for (size_t i = 0; i < CLI_COUNT(codes); i++) {
        char *to = out.styles[i];
        *to++ = '\033';
        for (size_t k = 0; k < sizeof drawn; k++)
            to += sprintf(to, "%02x", drawn[k]);
        memcpy(to, codes[i], strlen(codes[i]) + 1);
    }
}

static bool is_style(const char *text)
{
    return out.colour && *text == '\033' && strncmp(text, out.styles[0], MARK) == 0;
}

static const char *style(size_t i) { return out.colour ? out.styles[i] : ""; }

void out_start(void)
{
    /* the descriptor is still open from an earlier run in this process, which happens in tests */
    if (out.fd != STDOUT_FILENO)
        close(out.fd);
    out.fd = STDOUT_FILENO;
    out.error = 0;
    out.length = out.held_length = out.held_room = 0;
    out.json = out.answered = out.keeps = false;
    out.held = out.kept = NULL;
    if (!out.user) /* this locale is used only for the width of characters; the process itself stays in the C locale */
        out.user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    out.utf8 = out.user && strcmp(nl_langinfo_l(CODESET, out.user), "UTF-8") == 0;
    out.terminal = isatty(STDOUT_FILENO) == 1;
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    out.colour = out.terminal && term && strcmp(term, "dumb") != 0 && !(no_color && *no_color);
    struct winsize size;
    out.width = out.columns = 80;
    if (out.terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        out.width = (out.columns = size.ws_col) < 100 ? size.ws_col : 100;
    if (out.colour)
        make_styles();
}

bool out_is_terminal(void) { return out.terminal; }
bool out_utf8(void) { return out.utf8; }
int out_character_columns(uint32_t code)
{
    const locale_t before = uselocale(out.user); /* wcwidth() uses the locale of the calling thread */
    const int columns = wcwidth((wchar_t)code);
    uselocale(before);
    return columns;
}
unsigned out_width(void) { return out.width; }
const char *out_plain(void) { return style(0); }
const char *out_bold(void) { return style(1); }
const char *out_dim(void) { return style(2); }
const char *out_red(void) { return style(3); }
const char *out_green(void) { return style(4); }

/* ---- writing ---- */

static void write_all(const char *data, size_t length)
{
    if (out.terminal && length)
        progress_clear();
    while (length && !out.error) {
        ssize_t wrote = write(out.fd, data, length);
        if (wrote < 0 && errno != EINTR)
            out.error = errno;
        if (wrote > 0) {
            data += wrote;
            length -= (size_t)wrote;
        }
    }
}

int out_error(void) { return out.error; }

void out_flush(void)
{
    write_all(out.data, out.length);
    out.length = 0;
}

static void hold_text(const char *data, size_t length)
{
    if (out.held_room - out.held_length <= length) {
        out.held_room = 2 * (out.held_room + length + 1);
        char *grown = cli_alloc(out.held_room);
        if (out.held_length)
            memcpy(grown, out.held, out.held_length);
        out.held = grown;
    }
    memcpy(out.held + out.held_length, data, length);
    out.held_length += length;
    out.held[out.held_length] = '\0';
}

static void write_buffered(const void *data, size_t length)
{
    if (length > sizeof out.data - out.length)
        out_flush();
    if (length > sizeof out.data) {
        write_all(data, length);
        return;
    }
    memcpy(out.data + out.length, data, length);
    out.length += length;
}

static void put_visible(const char *text, size_t length)
{
    char *shown = cli_escape(text, length, "\n\t");
    if (shown)
        write_buffered(shown, strlen(shown));
    else if (!out.error)
        out.error = ENOMEM;
    free(shown);
}

void out_write(const void *data, size_t length)
{
    if (out.json)
        hold_text(data, length);
    else
        out.terminal ? put_visible(data, length) : write_buffered(data, length);
}

void out_start_json(void)
{
    if (out.json)
        return;
    out.json = true;
    out.colour = false;
    int own = dup(STDOUT_FILENO); /* standard output of kernels goes to standard error, because it is not JSON */
    if (own >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        out.fd = own;
}

void out_collect(int fd)
{
    out.json = true;
    out.answered = out.colour = false;
    out.length = out.held_length = 0;
    out.fd = fd;
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

void out_release(void)
{
    out_flush();
    out.json = false;
    if (out.fd == STDOUT_FILENO)
        return;
    dup2(out.fd, STDOUT_FILENO);
    close(out.fd);
    out.fd = STDOUT_FILENO;
}

void out_keep_json(void) { out.keeps = true; }

const char *out_kept_json(void)
{
    const char *kept = out.kept ? cli_strndup(out.kept, strlen(out.kept)) : NULL;
    free(out.kept);
    out.keeps = false;
    out.kept = NULL;
    return kept;
}

void out_json(const char *text)
{
    out.answered = true;
    if (out.keeps) {
        free(out.kept);
        out.kept = strdup(text); /* a copy of the text, because it must outlive the memory of js_print() */
        out.error = out.kept ? out.error : ENOMEM;
        return;
    }
    write_buffered(text, strlen(text));
    write_buffered("\n", 1);
}

void out_puts(const char *text)
{
    if (out.json) {
        hold_text(text, strlen(text));
        return;
    }
    const char *from = text, *at = text;
    while (*at) {
        if (!is_style(at)) {
            at++;
            continue;
        }
        put_visible(from, (size_t)(at - from));
        /* the mark of a colour is complete here, because is_style() has checked it */
        const char *style = at + strnlen(at, MARK);
        size_t length = strcspn(style, "m") + 1;
        write_buffered("\033[", 2);
        write_buffered(style, length);
        from = at = style + length;
    }
    put_visible(from, (size_t)(at - from));
}

void out_word(const char *word)
{
    if (*word && cli_is_plain(word))
        out_printf("%s\n", word);
}

void out_printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *made = cli_vprintf(format, arguments);
    va_end(arguments);
    out_puts(made);
}

int out_finish(int code)
{
    if (out.json && !out.answered && out.held) {
        json_t *object = js_object();
        js_set(object, "text", js_text(out.held));
        js_print(object);
    }
    out_flush();
    if (!out.error)
        return code;
    if (out.error == EPIPE) { /* the reader has closed the pipe, so the process ends as SIGPIPE would end it */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    cli_complain(cli_printf("cannot write to standard output: %s", strerror(out.error)));
    return code ? code : cli_exit_code(KILN_ERROR_IO);
}

size_t out_columns(const char *text)
{
    size_t columns = 0, wide;
    while (*text) {
        if (is_style(text)) {
            text += MARK + strcspn(text + MARK, "m") + 1;
            continue;
        }
        text += cli_character(text, &wide);
        columns += wide;
    }
    return columns;
}

static void spaces(size_t count)
{
    while (count-- > 0)
        out_puts(" ");
}

void out_wrapped(const char *text, unsigned indent, unsigned width)
{
    size_t column = 0;
    while (*text) {
        if (*text == '\n') {
            size_t breaks = strspn(text, "\n");
            text += breaks;
            const bool verbatim = *text == ' ';
            /* an empty line separates paragraphs; indented lines are not wrapped */
            if ((breaks > 1 || verbatim) && *text) {
                out_puts(breaks > 1 ? "\n\n" : "\n");
                column = 0;
            }
            if (verbatim) {
                size_t length = strcspn(text, "\n");
                spaces(indent);
                out_puts(cli_strndup(text, length));
                text += length;
                column = width;
            }
            continue;
        }
        size_t blank = strspn(text, " ");
        text += blank;
        size_t length = strcspn(text, " \n");
        if (length == 0)
            continue;
        const char *word = cli_visible(cli_strndup(text, length));
        size_t columns = out_columns(word);
        if (column && column + 1 + columns > width) {
            out_puts("\n");
            column = 0;
        }
        if (column == 0) {
            spaces(indent);
            column = indent;
        } else {
            out_puts(" ");
            column++;
        }
        out_puts(word);
        column += columns;
        text += length;
    }
    out_puts("\n");
}

/* ---- tables ---- */

void table_start(cli_table *table, const char *align)
{
    memset(table, 0, sizeof *table);
    table->align = align;
    table->columns = strlen(align);
}

void table_cell(cli_table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *cell = cli_vprintf(format, arguments);
    va_end(arguments);
    for (char *c = cell; *c; c++)
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    /* the cell is escaped here, so that its columns are counted as they are shown */
    cli_list_add(&table->cells, cli_visible(cell));
}

/* Writes the last cell of a row. If the row is wider than the terminal, the last cell continues on further lines below
 * its first line, so that the terminal breaks no value in the middle. `from` is the column at which the last cell
 * begins. */
static void put_last(const char *cell, size_t from, size_t width)
{
    size_t column = from;
    while (*cell) {
        size_t blank = strspn(cell, " "), length = strcspn(cell + blank, " ");
        /* a command must stay on one line, so that a user can copy it into a shell */
        if (strncmp(cell + blank, "kiln ", 5) == 0)
            length = strlen(cell + blank);
        const char *word = cli_strndup(cell + blank, length);
        size_t columns = out_columns(word);
        if (column > from && column + blank + columns > width) {
            out_puts("\n");
            spaces(from);
            column = from;
            blank = 0;
        }
        spaces(blank);
        out_puts(word);
        column += blank + columns;
        cell += strspn(cell, " ") + length;
    }
}

/* Returns the columns of the terminal if a table is wider than the terminal and ends with a column of texts. Returns 0
 * for all other tables, because programs that read a table expect one line for a row. Sets *from to the column at which
 * the last cells begin. Sets *below if the last cells need a line of their own. */
static size_t narrow_width(const cli_table *table, const size_t *widths, size_t *from, bool *below)
{
    enum { LEAST = 24, INDENT = 4 };
    const size_t last = table->columns - 1;
    *from = table->indent;
    for (size_t i = 0; i < last; i++)
        *from += widths[i] + (widths[i] ? 2 : 0);
    const bool narrow = out.terminal && table->align[last] == 'l' && *from + widths[last] > out.columns;
    *below = *from + LEAST > out.columns;
    if (*below)
        *from = table->indent + INDENT;
    return narrow ? out.columns : 0;
}

void table_print(const cli_table *table, bool heading)
{
    size_t *widths = cli_alloc(table->columns * sizeof *widths), rows = table->cells.count / table->columns;
    for (size_t i = 0; i < rows * table->columns; i++) {
        size_t columns = out_columns(table->cells.items[i]), *width = &widths[i % table->columns];
        *width = columns > *width ? columns : *width;
    }
    size_t from;
    bool below;
    const size_t narrow = narrow_width(table, widths, &from, &below);
    for (size_t row = 0; row < rows; row++) {
        size_t owed = table->indent; /* the spaces that are still to be written, so that no line ends with spaces */
        for (size_t column = 0; column < table->columns; column++) {
            const char *cell = table->cells.items[row * table->columns + column];
            size_t pad = widths[column] - out_columns(cell);
            if (table->align[column] == 'r')
                owed += pad;
            if (*cell && narrow && below && column + 1 == table->columns) {
                out_puts("\n");
                owed = from;
            }
            if (*cell) {
                spaces(owed);
                owed = 0;
                out_puts(heading && row == 0 ? out_bold() : "");
                if (narrow && column + 1 == table->columns)
                    put_last(cell, from, narrow);
                else
                    out_puts(cell);
                out_puts(heading && row == 0 ? out_plain() : "");
            }
            owed += (table->align[column] == 'l' ? pad : 0) + (widths[column] ? 2 : 0);
        }
        out_puts("\n");
    }
}

/* ---- numbers ---- */

const char *cli_significant(double number, int digits)
{
    if (!isfinite(number))
        return cli_printf("%g", number);
    int whole = number == 0 ? 1 : (int)floor(log10(fabs(number))) + 1;
    int after = digits - whole;
    return cli_printf("%.*f", after < 0 ? 0 : after > 12 ? 12 : after, number);
}

const char *cli_time_unit(double seconds, double *length)
{
    static const struct {
        double length;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, NULL}, {1e-9, "ns"}};
    size_t i = 0;
    while (i + 1 < CLI_COUNT(units) && seconds < units[i].length)
        i++;
    *length = units[i].length;
    return units[i].name ? units[i].name : out.utf8 ? "\xc2\xb5s" : "us";
}

const char *cli_seconds(double seconds)
{
    double length;
    if (seconds == 0)
        return "0 s";
    const char *unit = cli_time_unit(seconds, &length);
    return cli_printf("%s %s", cli_significant(seconds / length, 4), unit);
}

const char *cli_duration(double seconds)
{
    if (!(seconds >= 0))
        return "?";
    if (seconds < 60)
        return cli_seconds(seconds);
    uint64_t whole = seconds < 1e15 ? (uint64_t)(seconds + 0.5) : (uint64_t)1e15;
    if (whole < 3600)
        return cli_printf("%u min %u s", (unsigned)(whole / 60), (unsigned)(whole % 60));
    return cli_printf("%s h %u min", cli_whole(whole / 3600), (unsigned)(whole / 60 % 60));
}

const char *cli_bytes(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t i = 0;
    double value = (double)bytes;
    for (; value >= 1024 && i + 1 < CLI_COUNT(units); i++)
        value /= 1024;
    if (value == floor(value))
        return cli_printf("%.0f %s", value, units[i]);
    return cli_printf("%s %s", cli_significant(value, 3), units[i]);
}

const char *cli_whole(uint64_t number)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    char *made = cli_alloc((size_t)length * 2), *to = made;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    return made;
}

double cli_ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

const char *cli_share(uint64_t part, uint64_t whole)
{
    return !whole ? "" : !part ? "0 %" : cli_printf("%s %%", cli_significant(100 * cli_ratio(part, whole), 3));
}

const char *cli_per(uint64_t a, uint64_t b) { return b ? cli_significant(cli_ratio(a, b), 4) : ""; }

/* ---- numbers with names ---- */

const char *cli_named_number(const char **text, double *number)
{
    const char *from = *text + strspn(*text, " ");
    size_t name = strcspn(from, "= ");
    if (name == 0)
        return NULL;
    *number = from[name] == '=' ? strtod(from + name + 1, NULL) : 0;
    *text = from + strcspn(from, " ");
    return cli_strndup(from, name);
}

bool cli_find_number(const char *text, const char *name, double *number)
{
    for (const char *found; (found = cli_named_number(&text, number));)
        if (strcmp(found, name) == 0)
            return true;
    return false;
}
