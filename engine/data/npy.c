/* npy.c - reads and writes .npy files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html),
 * versions 1.0 to 3.0. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chars.h"
#include "data.h"

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
enum { PREFIX = 12, HEADER_MOST = 1 << 16 };

/* The content of the header of a file. `why` is set if Kiln cannot use the header. */
typedef struct header {
    kiln_type type;
    bool fortran;
    int dims;
    uint64_t shape[KILN_MAX_DIMS];
    char why[200];
} header;

/* ---- the header of a file: a Python dict literal with three known keys ---- */

typedef struct scanner {
    const char *at, *end;
} scanner;

static void skip_space(scanner *s)
{
    while (s->at < s->end && kiln__is_space(*s->at))
        s->at++;
}

static bool take_char(scanner *s, char c)
{
    skip_space(s);
    if (s->at >= s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

/* Reads a quoted text that has no escapes. Returns false if there is no such text, or if the text does not fit into
 * `out`. */
static bool take_text(scanner *s, char *out, size_t room)
{
    skip_space(s);
    if (s->at >= s->end || (*s->at != '\'' && *s->at != '"'))
        return false;
    char quote = *s->at++;
    size_t n = 0;
    while (s->at < s->end && *s->at != quote) {
        if (n + 1 >= room || *s->at == '\\' || (unsigned char)*s->at < ' ')
            return false;
        out[n++] = *s->at++;
    }
    out[n] = '\0';
    return take_char(s, quote);
}

static bool take_word(scanner *s, const char *word)
{
    size_t n = strlen(word);
    skip_space(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

static bool take_number(scanner *s, uint64_t *value)
{
    skip_space(s);
    if (s->at >= s->end || *s->at < '0' || *s->at > '9')
        return false;
    uint64_t number = 0;
    for (; s->at < s->end && kiln__is_digit(*s->at); s->at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (unsigned)(*s->at - '0'), &number))
            return false;
    take_char(s, 'L'); /* Python 2 wrote an L behind a long integer */
    *value = number;
    return true;
}

static bool fail_header(header *h, const char *why)
{
    snprintf(h->why, sizeof h->why, "%s", why);
    return false;
}

static bool parse_descr(header *h, scanner *s)
{
    char text[32];
    skip_space(s);
    if (s->at < s->end && *s->at == '[')
        return fail_header(h, "holds records; kiln reads arrays of plain numbers");
    if (!take_text(s, text, sizeof text) || !text[0])
        return fail_header(h, "has no readable 'descr' in its header");
    const char *code = strchr("<>|=", text[0]) ? text + 1 : text;
    if (strcmp(code, "f1") == 0) /* ml_dtypes' float8_e5m2 */
        code = kiln__types[KILN_f8e5m2].code;
    for (unsigned i = 0; i < KILN_TYPE_COUNT; i++)
        if (strcmp(code, kiln__types[i].code) == 0) {
            h->type = (kiln_type)i;
            if (text[0] == '>' && kiln__type_bytes(h->type) > 1)
                return fail_header(h,
                                   "is big-endian; save it as little-endian (array.astype(dtype.newbyteorder('<')))");
            return true;
        }
    snprintf(h->why, sizeof h->why, "holds elements of type '%s'; kiln reads%s", text, kiln__type_list);
    return false;
}

static bool parse_shape(header *h, scanner *s)
{
    h->dims = 0;
    if (!take_char(s, '('))
        return fail_header(h, "has no readable 'shape' in its header");
    while (!take_char(s, ')')) {
        uint64_t extent;
        if (!take_number(s, &extent))
            return fail_header(h, "has a malformed 'shape' in its header");
        if (h->dims == KILN_MAX_DIMS)
            return fail_header(h, "has more than 8 dimensions");
        h->shape[h->dims++] = extent;
        if (!take_char(s, ',')) {
            if (!take_char(s, ')'))
                return fail_header(h, "has a malformed 'shape' in its header");
            break;
        }
    }
    return true;
}

/* Parses the header, which is a Python dict with the keys 'descr', 'fortran_order' and 'shape'. Each key occurs once,
 * in any order. The text of the header is untrusted. If the text deviates from this form, returns false and sets
 * h->why. */
static bool parse_header(header *h, const char *text, size_t length)
{
    scanner s = {text, text + length};
    bool descr = false, order = false, shape = false;
    if (!take_char(&s, '{'))
        return fail_header(h, "has a header that is not a Python dict");
    while (!take_char(&s, '}')) {
        char key[32];
        if (!take_text(&s, key, sizeof key) || !take_char(&s, ':'))
            return fail_header(h, "has a header that is not a Python dict");
        if (strcmp(key, "descr") == 0 && !descr) {
            if (!parse_descr(h, &s))
                return false;
            descr = true;
        } else if (strcmp(key, "fortran_order") == 0 && !order) {
            h->fortran = take_word(&s, "True");
            if (!h->fortran && !take_word(&s, "False"))
                return fail_header(h, "has no readable 'fortran_order' in its header");
            order = true;
        } else if (strcmp(key, "shape") == 0 && !shape) {
            if (!parse_shape(h, &s))
                return false;
            shape = true;
        } else {
            return fail_header(h, "has an unknown key in its header");
        }
        if (!take_char(&s, ',')) {
            if (!take_char(&s, '}'))
                return fail_header(h, "has a header that is not a Python dict");
            break;
        }
    }
    skip_space(&s);
    if (s.at != s.end || !descr || !order || !shape)
        return fail_header(h, "has an incomplete header");
    return true;
}

/* Finds the text of the header in the first `length` bytes of a file. Returns false and sets h->why if the first bytes
 * are not the start of a .npy file. */
static bool find_header(header *h, const unsigned char *data, size_t length, size_t *from, size_t *count)
{
    if (length < 10 || memcmp(data, magic, sizeof magic) != 0)
        return fail_header(h, "is not a .npy file: it does not start with \\x93NUMPY");
    if (data[6] < 1 || data[6] > 3)
        return fail_header(h, "has an unknown .npy version (1.0 to 3.0 are supported)");
    *from = data[6] == 1 ? 10 : PREFIX;
    if (length < *from)
        return fail_header(h, "ends within its header");
    uint32_t size = data[8] | (uint32_t)data[9] << 8;
    if (data[6] > 1)
        size |= (uint32_t)data[10] << 16 | (uint32_t)data[11] << 24;
    if (size > HEADER_MOST)
        return fail_header(h, "has a header of more than 65536 bytes");
    *count = size;
    return true;
}

static kiln_status refuse(const kiln_allocator *mem, const char *name, const header *h, kiln_error **error)
{
    return kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", name, h->why);
}

/* Creates the array that the header describes. Fails if `have` bytes of data are not enough for the array, or if
 * `limit` does not allow it. */
static kiln_status make_promised(const kiln_allocator *mem, const char *name, const header *h, uint64_t have,
                                 uint64_t limit, kiln_array *array, uint64_t *bytes, kiln_error **error)
{
    if (!kiln__array_bytes(h->type, h->dims, h->shape, bytes))
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: its header describes more elements than can be addressed",
                          name);
    if (*bytes > have)
        return kiln__fail(mem, error, KILN_ERROR_IO,
                          "%s: is incomplete: its header describes %" PRIu64 " bytes of data, but it has %" PRIu64,
                          name, *bytes, have);
    if (*bytes > limit)
        return kiln__fail(mem, error, KILN_ERROR_REFUSED,
                          "%s: holds %" PRIu64 " bytes of data, at most %" PRIu64 " are allowed here", name, *bytes,
                          limit);
    return kiln__array_make(mem, h->type, h->dims, h->shape, array, error);
}

/* ---- elements in Fortran order ---- */

/* Copies elements of `size` bytes from `from` in column-major order to `to` in row-major order. */
static void to_rows(const kiln_array *array, const char *from, char *to, size_t size, uint64_t count)
{
    uint64_t index[KILN_MAX_DIMS] = {0}, stride[KILN_MAX_DIMS] = {0}, source = 0;
    uint64_t step = 1;
    for (int d = 0; d < array->dims; d++) {
        stride[d] = step;
        step *= array->shape[d];
    }
    for (uint64_t i = 0; i < count; i++) {
        memcpy(to + i * size, from + source * size, size);
        for (int d = array->dims - 1; d >= 0; d--) { /* moves on to the next element in row-major order */
            source += stride[d];
            if (++index[d] < array->shape[d])
                break;
            source -= stride[d] * array->shape[d];
            index[d] = 0;
        }
    }
}

static kiln_status settle_order(const kiln_allocator *mem, const header *h, uint64_t bytes, kiln_array *array,
                                kiln_error **error)
{
    if (!h->fortran || h->dims < 2 || bytes == 0)
        return KILN_OK;
    size_t size = kiln__type_bytes(h->type);
    void *rows = kiln__alloc(mem, (size_t)bytes);
    if (!rows) {
        kiln__array_free(mem, array);
        return kiln__fail(mem, error, KILN_ERROR_MEMORY, "out of host memory for an array of %" PRIu64 " bytes", bytes);
    }
    to_rows(array, array->data, rows, size, bytes / size);
    kiln__free(mem, array->data);
    array->data = rows;
    return KILN_OK;
}

/* ---- the type of the elements in a file ---- */

bool kiln__type_reads(kiln_type wanted, kiln_type read)
{
    /* the elements of the file are the bits of the wanted type */
    if (kiln__types[wanted].code[0] == 'V' && kiln__type_is_integer(read))
        return kiln__type_bytes(wanted) == kiln__type_bytes(read);
    return strcmp(kiln__types[wanted].code, kiln__types[read].code) == 0 || (wanted == KILN_u8 && read == KILN_bool);
}

bool kiln__type_told(kiln_type read)
{
    unsigned same = 0;
    for (unsigned i = 0; i < KILN_TYPE_COUNT; i++)
        same += strcmp(kiln__types[i].code, kiln__types[read].code) == 0;
    return same == 1;
}

/* ---- reading ---- */

kiln_status kiln__npy_parse(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                            uint64_t limit, kiln_array *array, kiln_error **error)
{
    header h = {0};
    size_t from, count;
    uint64_t bytes;
    if (!find_header(&h, data, length, &from, &count))
        return refuse(mem, name, &h, error);
    if (length - from < count)
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: ends within its header", name);
    if (!parse_header(&h, (const char *)data + from, count))
        return refuse(mem, name, &h, error);
    kiln_array made;
    kiln_status status = make_promised(mem, name, &h, length - from - count, limit, &made, &bytes, error);
    if (status != KILN_OK)
        return status;
    memcpy(made.data, (const char *)data + from + count, (size_t)bytes);
    status = settle_order(mem, &h, bytes, &made, error);
    if (status == KILN_OK)
        *array = made;
    return status;
}

/* Reads the header of a file. *start gets the offset at which the data begin. */
static kiln_status read_header(const kiln_allocator *mem, const char *path, FILE *file, char *text, header *h,
                               size_t *start, kiln_error **error)
{
    size_t from, count, got = fread(text, 1, PREFIX, file);
    if (ferror(file))
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: cannot be read: %s", path, kiln__error_text(errno));
    if (!find_header(h, (unsigned char *)text, got, &from, &count))
        return refuse(mem, path, h, error);
    size_t rest = from + count > got ? from + count - got : 0;
    if (fread(text + got, 1, rest, file) != rest)
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: ends within its header", path);
    *start = from + count;
    return parse_header(h, text + from, count) ? KILN_OK : refuse(mem, path, h, error);
}

/* Reads the data directly into the array, so that a large file is in memory only once. */
static kiln_status read_data(const kiln_allocator *mem, const char *path, FILE *file, const header *h, size_t start,
                             uint64_t limit, kiln_array *array, kiln_error **error)
{
    uint64_t bytes;
    if (fseeko(file, 0, SEEK_END) != 0)
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: is not a regular file", path);
    off_t end = ftello(file);
    if (end < 0 || (uint64_t)end < start || fseeko(file, (off_t)start, SEEK_SET) != 0)
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: is not a regular file", path);
    kiln_array made;
    kiln_status status = make_promised(mem, path, h, (uint64_t)end - start, limit, &made, &bytes, error);
    if (status != KILN_OK)
        return status;
    if (fread(made.data, 1, (size_t)bytes, file) != bytes) {
        kiln__array_free(mem, &made);
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: changed while kiln read it", path);
    }
    status = settle_order(mem, h, bytes, &made, error);
    if (status == KILN_OK)
        *array = made;
    return status;
}

/* Reads a file. If `look` is true, the function reads only the header, and *array gets no data. */
static kiln_status read_path(const kiln_allocator *mem, const char *path, bool resolved, bool look, uint64_t limit,
                             kiln_array *array, kiln_error **error)
{
    header h = {0};
    size_t start = 0;
    int fd;
    kiln_status status = kiln__file_open(mem, path, resolved, &fd, error);
    if (status != KILN_OK)
        return status;
    FILE *file = fdopen(fd, "rb");
    if (!file) {
        close(fd);
        return kiln__fail_memory(error);
    }
    char *text = kiln__alloc(mem, PREFIX + HEADER_MOST);
    status = text ? read_header(mem, path, file, text, &h, &start, error) : kiln__fail_memory(error);
    if (status == KILN_OK && look) {
        *array = (kiln_array){.type = h.type, .dims = h.dims};
        memcpy(array->shape, h.shape, sizeof array->shape);
    } else if (status == KILN_OK) {
        status = read_data(mem, path, file, &h, start, limit, array, error);
    }
    kiln__free(mem, text);
    fclose(file);
    return status;
}

kiln_status kiln__npy_read(const kiln_allocator *mem, const char *path, uint64_t limit, kiln_array *array,
                           kiln_error **error)
{
    return read_path(mem, path, false, false, limit, array, error);
}

kiln_status kiln__npy_read_resolved(const kiln_allocator *mem, const char *path, uint64_t limit, kiln_array *array,
                                    kiln_error **error)
{
    return read_path(mem, path, true, false, limit, array, error);
}

kiln_status kiln__npy_look(const kiln_allocator *mem, const char *path, kiln_array *array, kiln_error **error)
{
    return read_path(mem, path, true, true, 0, array, error);
}

/* ---- writing ---- */

kiln_status kiln__npy_make(const kiln_allocator *mem, const char *path, const kiln_array *array, char **made,
                           size_t *length, kiln_error **error)
{
    uint64_t bytes;
    if (!kiln__array_bytes(array->type, array->dims, array->shape, &bytes))
        return kiln__fail(mem, error, KILN_ERROR_ARGUMENT, "%s: an array of more than 2^63 bytes", path);
    kiln__text text = {.mem = mem};
    kiln__text_printf(&text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                      kiln__type_bytes(array->type) == 1 ? '|' : '<', kiln__types[array->type].code);
    for (int i = 0; i < array->dims; i++)
        kiln__text_printf(&text, "%s%" PRIu64, i ? ", " : "", array->shape[i]);
    kiln__text_puts(&text, array->dims == 1 ? ",), }" : "), }");
    /* The data must start at a multiple of 64 bytes, and the header ends in a newline. */
    while ((text.length + 1 + 10) % 64 != 0 && !text.failed)
        kiln__text_puts(&text, " ");
    kiln__text_puts(&text, "\n");
    char *file = text.failed ? NULL : kiln__alloc(mem, 10 + text.length + (size_t)bytes);
    if (!file) {
        kiln__text_free(&text);
        return kiln__fail_memory(error);
    }
    memcpy(file, magic, sizeof magic);
    file[6] = 1;
    file[7] = 0;
    file[8] = (char)(text.length & 255);
    file[9] = (char)(text.length >> 8);
    memcpy(file + 10, text.data, text.length);
    if (bytes)
        memcpy(file + 10 + text.length, array->data, (size_t)bytes);
    *made = file;
    *length = 10 + text.length + (size_t)bytes;
    kiln__text_free(&text);
    return KILN_OK;
}

kiln_status kiln__npy_write(const kiln_allocator *mem, const char *path, const kiln_array *array, kiln_error **error)
{
    char *file = NULL;
    size_t length = 0;
    kiln_status status = kiln__npy_make(mem, path, array, &file, &length, error);
    if (status == KILN_OK)
        status = kiln__file_write(mem, path, file, length, error);
    kiln__free(mem, file);
    return status;
}
