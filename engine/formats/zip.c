/* zip.c - gzipped bytes. */
#include <zlib.h>

#include "document.h"

static void *zip_alloc(void *user, unsigned count, unsigned size) { return kiln__calloc(user, count, size); }
static void zip_free(void *user, void *pointer) { kiln__free(user, pointer); }

/* Inflates into *text, which grows. Z_STREAM_END, Z_BUF_ERROR where input ends early, or an error. */
static int inflate_all(z_stream *stream, const kiln_allocator *mem, size_t limit, char **text, size_t *length)
{
    size_t capacity = 0;
    for (;;) {
        if (*length > limit)
            return Z_NEED_DICT; /* cannot occur in gzip: used for "too large" */
        if (!kiln__grow(mem, text, &capacity, *length + 65538, 1))
            return Z_MEM_ERROR;
        size_t room = capacity - *length - 2;
        stream->next_out = (unsigned char *)*text + *length;
        room = room < limit - *length + 1 ? room : limit - *length + 1; /* one more shows that it is too large */
        stream->avail_out = room < 1u << 30 ? (unsigned)room : 1u << 30;
        unsigned before = stream->avail_out;
        int result = inflate(stream, Z_NO_FLUSH);
        *length += before - stream->avail_out;
        if (*length > limit)
            continue;
        if (result == Z_STREAM_END && stream->avail_in > 0) {
            if (inflateReset(stream) != Z_OK) /* a file may have several members */
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

/* In parts whose size fits zlib's counters. */
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
