/* journal.c - a JSON array on disk that is complete after each write (journal.h). Each write opens the file again. The
 * reason is that a program may close all descriptors that it does not know, and use their numbers for its own files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "journal.h"

static const char tail[] = "\n]\n";

static bool write_at(const sim_journal *journal, const char *data, size_t length, off_t at);

/* Closes the journal after a failed write. A write fails, for example, if the disk is full. So that earlier elements
 * stay readable, the function removes the incomplete element and writes the end of the array again. */
static void close_failed(sim_journal *journal)
{
    const int reason = errno;
    if (journal->end > 0 && truncate(journal->path, journal->end) == 0)
        write_at(journal, tail, strlen(tail), journal->end);
    errno = reason;
    fprintf(stderr, "kiln: %s: %s; nothing more is recorded there\n", journal->path, kiln__error_text(errno));
    sim_journal_close(journal);
}

void sim_journal_close(sim_journal *journal)
{
    kiln__free(NULL, journal->path);
    *journal = (sim_journal){0};
}

static bool write_at(const sim_journal *journal, const char *data, size_t length, off_t at)
{
    int fd = open(journal->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    while (fd >= 0 && length > 0) {
        ssize_t done = pwrite(fd, data, length, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            break;
        data += done;
        length -= (size_t)done;
        at += done;
    }
    int reason = errno;
    if (fd >= 0)
        close(fd);
    errno = reason;
    return fd >= 0 && length == 0;
}

/* Makes an absolute path, because the program may change its working directory later. In the path, replaces %p by the
 * number of the process. If a child process gets a path without %p, its number becomes a suffix. If `number` is above
 * 1, adds it as a further suffix. */
static void make_path(kiln__text *out, const char *path, bool child, unsigned number)
{
    char here[PATH_MAX];
    bool own = false;
    if (path[0] != '/' && getcwd(here, sizeof here))
        kiln__text_printf(out, "%s/", here);
    for (; *path; path++) {
        if (path[0] == '%' && path[1] == 'p') {
            kiln__text_printf(out, "%ld", (long)getpid());
            own = true;
            path++;
        } else {
            kiln__text_add(out, path, 1);
        }
    }
    if (child && !own)
        kiln__text_printf(out, ".%ld", (long)getpid());
    if (number > 1)
        kiln__text_printf(out, ".%u", number);
}

bool sim_journal_open(sim_journal *journal, const char *path, bool child)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (child || strstr(path, "%p") ? O_EXCL : O_TRUNC);
    enum { MOST = 1000 };
    int fd = -1;
    *journal = (sim_journal){0};
    for (unsigned number = 1; fd < 0 && number < MOST; number++) {
        kiln__text text = {0};
        make_path(&text, path, child, number);
        fd = text.failed ? -1 : open(kiln__text_get(&text), flags, 0666);
        if (fd < 0 && errno == EEXIST) {
            kiln__text_free(&text);
            continue;
        }
        journal->path = text.data;
        if (fd < 0)
            break;
    }
    if (fd < 0) {
        fprintf(stderr, "kiln: %s: %s; nothing is recorded\n", journal->path ? journal->path : path,
                kiln__error_text(errno));
        sim_journal_close(journal);
        return false;
    }
    close(fd);
    return true;
}

off_t sim_journal_add(sim_journal *journal, const kiln__text *element)
{
    const char *before = journal->end ? ",\n" : "[\n";
    kiln__text all = {0};
    kiln__text_puts(&all, before);
    kiln__text_add(&all, kiln__text_get(element), element->length);
    kiln__text_puts(&all, tail);
    if (!journal->path || element->failed || all.failed) {
        kiln__text_free(&all);
        return 0;
    }
    const off_t at = journal->end + (off_t)strlen(before);
    const bool done = write_at(journal, kiln__text_get(&all), all.length, journal->end);
    kiln__text_free(&all);
    if (!done) {
        close_failed(journal);
        return 0;
    }
    journal->end = at + (off_t)element->length;
    return at;
}

void sim_journal_put(sim_journal *journal, off_t at, const kiln__text *element)
{
    if (journal->path && at > 0 && !element->failed && !write_at(journal, kiln__text_get(element), element->length, at))
        close_failed(journal);
}

void sim_json_string(kiln__text *out, const char *text)
{
    kiln__text_puts(out, "\"");
    while (*text) {
        const char *from = text;
        const uint32_t code = kiln__utf8_next(&text);
        if (code == '"' || code == '\\')
            kiln__text_printf(out, "\\%c", (char)code);
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) /* control characters of terminals too */
            kiln__text_printf(out, "\\u%04x", (unsigned)code);
        else if (code == 0xfffd)
            kiln__text_puts(out, "\\ufffd");
        else
            kiln__text_add(out, from, (size_t)(text - from));
    }
    kiln__text_puts(out, "\"");
}
