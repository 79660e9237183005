/* files.c - files that the command reads and writes itself, in addition to the files of the library. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

FILE *cli_stream_open(cli_stream *stream)
{
    *stream = (cli_stream){0};
    stream->file = open_memstream(&stream->text, &stream->size);
    return stream->file;
}

const char *cli_read_file(const char *path, size_t most)
{
    struct stat about;
    if (stat(path, &about) != 0) /* before the file is opened: a FIFO would block, and a device may have side effects */
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
    return text;
}
