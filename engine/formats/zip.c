/* zip.c - packs and unpacks gzip data. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "document.h"

static void *zip_alloc(void *user, unsigned count, unsigned size) { return kiln__calloc(user, count, size); }
static void zip_free(void *user, void *pointer) { kiln__free(user, pointer); }

/* Unpacks gzip data into *text, which grows. A gzip file may consist of several members, which are unpacked one after
 * another. Returns Z_STREAM_END, Z_BUF_ERROR if the input ends too early, Z_NEED_DICT if the text is longer than
 * `limit`, or an error of zlib. */
static int inflate_all(z_stream *stream, const kiln_allocator *mem, size_t limit, char **text, size_t *length)
{
    size_t capacity = 0;
    for (;;) {
        if (*length > limit)
            return Z_NEED_DICT; /* zlib never returns this code for gzip data, so here it means "too large" */
        if (!kiln__grow(mem, text, &capacity, *length + 65538, 1))
            return Z_MEM_ERROR;
        size_t room = capacity - *length - 2;
        stream->next_out = (unsigned char *)*text + *length;
        /* allows one byte more than the limit, so that the function notices a text that is too long */
        room = room < limit - *length + 1 ? room : limit - *length + 1;
        stream->avail_out = room < 1u << 30 ? (unsigned)room : 1u << 30;
        unsigned before = stream->avail_out;
        int result = inflate(stream, Z_NO_FLUSH);
        *length += before - stream->avail_out;
        if (*length > limit)
            continue;
        if (result == Z_STREAM_END && stream->avail_in > 0) {
            if (inflateReset(stream) != Z_OK) /* the next member of the file begins */
                return Z_DATA_ERROR;
        } else if (result != Z_OK) {
            return result;
        } else if (stream->avail_in == 0 && stream->avail_out > 0) {
            return Z_BUF_ERROR;
        }
    }
}

kiln_status kiln__gunzip(const kiln_allocator *mem, const char *name, const void *data, size_t length, size_t limit,
                         char **text, size_t *text_length, bool *cut_off, kiln_error **error)
{
    z_stream stream = {.zalloc = zip_alloc, .zfree = zip_free, .opaque = (void *)(uintptr_t)mem};
    char *made = NULL;
    size_t made_length = 0;
    if (length > UINT32_MAX)
        return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED, "%s: larger than 4 GiB", name);
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return kiln__fail_memory(error);
    stream.next_in = (unsigned char *)(uintptr_t)data;
    stream.avail_in = (unsigned)length;
    int result = inflate_all(&stream, mem, limit, &made, &made_length);
    inflateEnd(&stream);
    if (result == Z_STREAM_END || result == Z_BUF_ERROR) {
        *text = made;
        *text_length = made_length;
        *cut_off = result == Z_BUF_ERROR;
        return KILN_OK;
    }
    kiln__free(mem, made);
    if (result == Z_MEM_ERROR)
        return kiln__fail_memory(error);
    if (result == Z_NEED_DICT)
        return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                          "%s: larger than %zu MiB when decompressed, which is the limit "
                          "for a gzipped file of its size; if that size is right, decompress it with gunzip first",
                          name, limit >> 20);
    return kiln__fail(mem, error, KILN_ERROR_SPEC, "%s: the gzip data is damaged", name);
}

/* ---- unpacking from file to file ---- */

enum { PIECE = 1 << 20 };

typedef struct unzip {
    z_stream stream;
    const char *name;
    int from, to;
    uint64_t read, written, limit;
    unsigned char in[PIECE], out[PIECE];
} unzip;

static kiln_status damaged(const unzip *z, const kiln_allocator *mem, kiln_error **error)
{
    return kiln__fail(mem, error, KILN_ERROR_SPEC, "%s: the gzip data is damaged", z->name);
}

/* Unpacks the piece of the file that was read, and writes its text to the temporary file. *between is true if a member
 * of the gzip file has ended and the next member has not begun. */
static kiln_status inflate_piece(unzip *z, const kiln_allocator *mem, bool *between, kiln_error **error)
{
    do {
        if (*between && inflateReset(&z->stream) != Z_OK) /* a gzip file may have several members */
            return damaged(z, mem, error);
        z->stream.next_out = z->out;
        z->stream.avail_out = PIECE;
        int result = inflate(&z->stream, Z_NO_FLUSH);
        *between = result == Z_STREAM_END;
        if (result == Z_MEM_ERROR)
            return kiln__fail_memory(error);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return damaged(z, mem, error);
        size_t made = PIECE - z->stream.avail_out;
        z->written += made;
        if (z->written > z->limit)
            return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                              "%s: larger than %" PRIu64 " MiB when decompressed, which is the limit "
                              "for a gzipped file of its size; if that size is right, decompress it with gunzip first",
                              z->name, z->limit >> 20);
        if (kiln__write_all(z->to, z->out, made) != 0)
            return kiln__fail(mem, error, KILN_ERROR_IO,
                              "%s: its text, %" PRIu64
                              " MiB so far, cannot be written to a temporary file (%s); TMPDIR "
                              "names the folder",
                              z->name, z->written >> 20, kiln__error_text(errno));
    } while (z->stream.avail_in > 0 || (!*between && z->stream.avail_out == 0));
    return KILN_OK;
}

static kiln_status inflate_file(unzip *z, const kiln_allocator *mem, bool (*more)(void *user, uint64_t bytes),
                                void *user, kiln_error **error)
{
    bool between = false;
    for (;;) {
        ssize_t got = pread(z->from, z->in, PIECE, (off_t)z->read);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return kiln__fail(mem, error, KILN_ERROR_IO, "%s: cannot be read: %s", z->name, kiln__error_text(errno));
        if (got == 0)
            return between ? KILN_OK
                           : kiln__fail(mem, error, KILN_ERROR_SPEC, "%s: the gzipped data end too early", z->name);
        z->read += (uint64_t)got;
        z->stream.next_in = z->in;
        z->stream.avail_in = (unsigned)got;
        kiln_status status = inflate_piece(z, mem, &between, error);
        if (status != KILN_OK)
            return status;
        if (!more(user, (uint64_t)got))
            return kiln__fail(mem, error, KILN_ERROR_INTERRUPTED, "%s: interrupted while it was read", z->name);
    }
}

/* Opens a temporary file that has no name. The system deletes this file when it is closed. */
static kiln_status open_scratch(const kiln_allocator *mem, int *fd, kiln_error **error)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    folder = folder && *folder ? folder : "/tmp";
    *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0)
        return KILN_OK;
    snprintf(path, sizeof path, "%s/kiln-XXXXXX", folder); /* a file system may not support files without a name */
    *fd = mkostemp(path, O_CLOEXEC);
    if (*fd < 0)
        return kiln__fail(mem, error, KILN_ERROR_IO, "no temporary file in %s: %s; TMPDIR names the folder", folder,
                          kiln__error_text(errno));
    unlink(path);
    return KILN_OK;
}

kiln_status kiln__gunzip_file(const kiln_allocator *mem, const char *name, int from, uint64_t limit,
                              bool (*more)(void *user, uint64_t bytes), void *user, int *to, uint64_t *written,
                              kiln_error **error)
{
    unzip *z = kiln__calloc(mem, 1, sizeof *z);
    if (!z)
        return kiln__fail_memory(error);
    z->stream = (z_stream){.zalloc = zip_alloc, .zfree = zip_free, .opaque = (void *)(uintptr_t)mem};
    z->name = name;
    z->from = from;
    z->limit = limit;
    kiln_status status = open_scratch(mem, &z->to, error);
    *to = z->to;
    if (status != KILN_OK) {
        kiln__free(mem, z);
        return status;
    }
    if (inflateInit2(&z->stream, 16 + MAX_WBITS) != Z_OK) {
        status = kiln__fail_memory(error);
    } else {
        status = inflate_file(z, mem, more, user, error);
        inflateEnd(&z->stream);
    }
    *written = z->written;
    kiln__free(mem, z);
    if (status != KILN_OK)
        close(*to);
    return status;
}

/* Packs a text in pieces, because zlib counts the bytes of a piece in an `unsigned`. */
static int deflate_all(z_stream *stream, const char *text, size_t length, kiln__text *out)
{
    unsigned char room[1 << 14];
    int result = Z_OK;
    while (result != Z_STREAM_END) {
        if (stream->avail_in == 0 && length > 0) {
            size_t piece = length < 1u << 30 ? length : 1u << 30;
            stream->next_in = (unsigned char *)(uintptr_t)text;
            stream->avail_in = (unsigned)piece;
            text += piece;
            length -= piece;
        }
        stream->next_out = room;
        stream->avail_out = sizeof room;
        result = deflate(stream, length > 0 ? Z_NO_FLUSH : Z_FINISH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return result;
        kiln__text_add(out, (char *)room, sizeof room - stream->avail_out);
        if (out->failed)
            return Z_MEM_ERROR;
    }
    return Z_OK;
}

kiln_status kiln__gzip(const kiln_allocator *mem, const char *text, size_t length, kiln__text *out, kiln_error **error)
{
    z_stream stream = {.zalloc = zip_alloc, .zfree = zip_free, .opaque = (void *)(uintptr_t)mem};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return kiln__fail_memory(error);
    int result = deflate_all(&stream, text, length, out);
    deflateEnd(&stream);
    return result == Z_OK ? KILN_OK : kiln__fail_memory(error);
}
