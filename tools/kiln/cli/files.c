/* files.c - files that the command itself reads and writes; the library handles other files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

int cli_write_file(const cli *c, const char *path, const void *data, size_t size)
{
    kiln_error *error = NULL;
    return kiln_file_write(path, data, size, &error) == KILN_OK ? 0 : cli_error(c, error);
}

int cli_write_stream(const cli *c, const char *path, cli_stream *stream)
{
    bool whole = stream->file && !ferror(stream->file);
    if (stream->file)
        whole = fclose(stream->file) == 0 && whole;
    int code = whole ? cli_write_file(c, path, stream->text, stream->size)
                     : cli_fail(c, KILN_ERROR_MEMORY, "out of host memory");
    free(stream->text);
    *stream = (cli_stream){0};
    return code;
}

/* Returns the name of a file without its ending. */
static const char *stem(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? cli_strndup(name, (size_t)(dot - name)) : name;
}

static bool ends_in_one_of(const char *name, const char *ends)
{
    const char *dot = strrchr(name, '.');
    for (const char *at = ends; dot && *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (strlen(dot) == length && strncmp(dot, at, length) == 0)
            return true;
        at += length;
    }
    return false;
}

const char *cli_similar_file(const char *path, const char *ends)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *folder = slash ? cli_strndup(path, (size_t)(slash - path) + 1) : "";
    DIR *open = opendir(*folder ? folder : ".");
    cli_list names = {0}, stems = {0};
    for (const struct dirent *item; open && (item = readdir(open));)
        if (item->d_name[0] != '.' && ends_in_one_of(item->d_name, ends) && strcmp(item->d_name, name) != 0) {
            cli_list_add(&names, cli_strndup(item->d_name, strlen(item->d_name)));
            cli_list_add(&stems, stem(names.items[names.count - 1]));
        }
    if (open)
        closedir(open);
    const char *near = strlen(name) > 1 ? cli_nearest(stem(name), stems.items, stems.count) : NULL;
    for (size_t i = 0; near && i < stems.count; i++)
        if (stems.items[i] == near)
            return cli_printf("%s%s", folder, names.items[i]);
    return NULL;
}

FILE *cli_stream_open(cli_stream *stream)
{
    *stream = (cli_stream){0};
    stream->file = open_memstream(&stream->text, &stream->size);
    return stream->file;
}

const char *cli_read_file(const char *path, size_t most, size_t *length)
{
    struct stat about;
    /* stat() comes before open(), because opening a FIFO would block, and opening a device may have side effects */
    if (stat(path, &about) != 0)
        return NULL;
    int fd = -1;
    if (S_ISREG(about.st_mode))
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > (off_t)most) {
        int why = S_ISDIR(about.st_mode) ? EISDIR : !S_ISREG(about.st_mode) ? EINVAL : fd < 0 ? errno : EFBIG;
        if (fd >= 0)
            close(fd);
        errno = why;
        return NULL;
    }
    size_t size = (size_t)about.st_size, used = 0;
    char *text = cli_alloc(size + 1);
    for (ssize_t got = 1; used < size && got > 0; used += got > 0 ? (size_t)got : 0)
        do
            got = read(fd, text + used, size - used);
        while (got < 0 && errno == EINTR);
    close(fd);
    text[used] = 0;
    if (length)
        *length = used;
    return text;
}
