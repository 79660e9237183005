/* progress.c - the progress line at the bottom of a terminal, which is drawn again and again. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

static atomic_bool shown; /* true: other threads remove the progress line before they print a warning */

bool progress_wanted(const cli *c)
{
    const char *term = getenv("TERM");
    return !c->output.quiet && isatty(STDERR_FILENO) == 1 && term && strcmp(term, "dumb") != 0;
}

static size_t terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Returns the first `columns` columns of a text. */
static const char *cut(const char *text, size_t columns)
{
    if (out_columns(text) <= columns)
        return text;
    if (columns < 3)
        return "";
    size_t length = 0;
    for (size_t seen = 0, wide, size; text[length]; length += size) {
        size = cli_character(text + length, &wide);
        seen += wide;
        if (seen > columns - 3)
            break;
    }
    return cli_printf("%.*s...", (int)length, text);
}

void progress_show(const char *left, const char *middle, const char *right)
{
    size_t width = terminal_width() - 1; /* a character in the last column would wrap on some terminals */
    left = cli_visible(left);
    right = cli_visible(right);
    size_t fixed = out_columns(left) + out_columns(right);
    const char *line = cli_printf("%s%s%s", left, fixed < width ? cut(cli_visible(middle), width - fixed) : "", right);
    char *text = cli_printf("\r%s\033[K", cut(line, width));
    shown = true;
    fputs(text, stderr);
    fflush(stderr);
}

void progress_line(const char *text)
{
    size_t length = strlen(text), width = terminal_width() - 1;
    for (length = length < width ? length : width; length && ((unsigned char)text[length] & 0xc0) == 0x80; length--)
        ;
    shown = true;
    /* a single call, so that the line of another thread is not cut in two */
    fprintf(stderr, "\r%.*s\033[K", (int)length, text);
    fflush(stderr);
}

void progress_clear(void)
{
    if (atomic_exchange(&shown, false))
        fputs("\r\033[K", stderr);
}
