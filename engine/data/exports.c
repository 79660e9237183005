/* exports.c - writes and reads lists of exports as bytes, and hashes an array, for results of host functions that are
 * kept on disk.
 */
#include <string.h>

#include "call.h"
#include "wire.h"

/* ---- hashing an array ---- */

enum { CHUNK = 4 << 20 }; /* the number of bytes that one thread hashes at a time */

typedef struct hashing {
    const char *data;
    uint64_t bytes;
    kiln__hash128 *parts;
} hashing;

static void hash_part(void *user, size_t part, size_t worker)
{
    hashing *h = user;
    (void)worker;
    const uint64_t first = (uint64_t)part * CHUNK, left = h->bytes - first;
    h->parts[part] = kiln__hash(h->data + first, left < CHUNK ? (size_t)left : CHUNK);
}

bool kiln__array_hash(const kiln_allocator *mem, const kiln_array *array, kiln__hash128 *hash)
{
    hashing h = {.data = array->data};
    if (!kiln__array_bytes(array->type, array->dims, array->shape, &h.bytes))
        return false;
    const size_t count = (size_t)((h.bytes + CHUNK - 1) / CHUNK);
    h.parts = kiln__calloc(mem, count + 1, sizeof *h.parts);
    if (!h.parts)
        return false;
    kiln__parallel(0, count, hash_part, &h);
    *hash = kiln__hash(h.parts, count * sizeof *h.parts);
    kiln__free(mem, h.parts);
    return true;
}

/* ---- exports as bytes ---- `list` is a message with the fields of each export: its name and whether it is an array.
 * Kind and value of a number follow, or type and shape of an array. `data` has the elements of all arrays in the same
 * order, each aligned to PIECE bytes. */

enum { PIECE = 64 };

static uint64_t round_up(uint64_t bytes) { return (bytes + PIECE - 1) / PIECE * PIECE; }

/* Writes one export. Its fields go to `list`. The elements of an array, padded to whole pieces, go to `data`. */
static void pack_one(const kiln__export *export, kiln__text *list, kiln__text *data)
{
    static const char zeros[PIECE] = {0};
    uint64_t bytes = 0;
    kiln__wire_string(list, export->name);
    kiln__wire_number(list, export->is_array);
    if (!export->is_array) {
        kiln__wire_number(list, (uint64_t) export->value.kind);
        if (export->value.kind == KILN_TEXT)
            kiln__wire_string(list, export->value.as.text);
        else if (export->value.kind == KILN_FLOAT)
            kiln__wire_real(list, export->value.as.f);
        else
            kiln__wire_number(list, (uint64_t) export->value.as.i);
        return;
    }
    kiln__wire_number(list, (uint64_t) export->array.type);
    kiln__wire_number(list, (uint64_t) export->array.dims);
    for (int d = 0; d < export->array.dims; d++)
        kiln__wire_number(list, export->array.shape[d]);
    if (!kiln__array_bytes(export->array.type, export->array.dims, export->array.shape, &bytes)) {
        list->failed = true;
        return;
    }
    if (bytes)
        kiln__text_add(data, export->array.data, (size_t)bytes);
    kiln__text_add(data, zeros, (size_t)(round_up(bytes) - bytes));
}

bool kiln__exports_pack(const kiln__export *exports, kiln__text *list, kiln__text *data)
{
    uint64_t count = 0;
    for (const kiln__export *one = exports; one; one = one->next)
        count++;
    kiln__wire_number(list, count);
    for (; exports; exports = exports->next)
        pack_one(exports, list, data);
    return !list->failed && !data->failed;
}

uint64_t kiln__exports_bytes(const kiln__export *exports)
{
    uint64_t sum = 0, bytes;
    for (; exports; exports = exports->next)
        if (exports->is_array &&
            kiln__array_bytes(exports->array.type, exports->array.dims, exports->array.shape, &bytes))
            sum += round_up(bytes);
    return sum;
}

/* Reads the type and the shape of an array, and takes its elements from the front of the data. */
static void unpack_array(kiln__wire *list, const char **data, size_t *left, kiln_array *array)
{
    const uint64_t type = kiln__wire_read_number(list), dims = kiln__wire_read_number(list);
    uint64_t bytes = 0;
    if (list->failed || type >= KILN_TYPE_COUNT || dims > KILN_MAX_DIMS) {
        list->failed = true;
        return;
    }
    array->type = (kiln_type)type;
    array->dims = (int)dims;
    for (int d = 0; d < array->dims; d++)
        array->shape[d] = kiln__wire_read_number(list);
    if (list->failed || !kiln__array_bytes(array->type, array->dims, array->shape, &bytes) || bytes > *left ||
        round_up(bytes) > *left) {
        list->failed = true;
        return;
    }
    array->data = (void *)(uintptr_t)*data;
    *data += round_up(bytes);
    *left -= (size_t)round_up(bytes);
}

static void unpack_value(kiln__wire *list, kiln_value *value)
{
    const uint64_t kind = kiln__wire_read_number(list);
    if (kind > KILN_TEXT) {
        list->failed = true;
        return;
    }
    value->kind = (kiln_kind)kind;
    if (value->kind == KILN_TEXT)
        value->as.text = kiln__wire_read_string(list);
    else if (value->kind == KILN_FLOAT)
        value->as.f = kiln__wire_read_real(list);
    else
        value->as.i = (int64_t)kiln__wire_read_number(list);
}

/* Makes the exports from the texts that kiln__exports_pack() wrote. The elements stay in `data`, which must outlive the
 * exports. If the bytes are not a complete list, *whole is false and *exports is NULL. */
kiln_status kiln__exports_unpack(const kiln_allocator *mem, const void *list, size_t list_length, const void *data,
                                 size_t data_length, kiln__export **exports, bool *whole)
{
    kiln__wire in = {.at = list, .left = list_length};
    const char *elements = data;
    kiln__export *made = NULL, **end = &made;
    const size_t count = kiln__wire_read_count(&in);
    *exports = NULL;
    *whole = false;
    for (size_t i = 0; i < count && !in.failed; i++) {
        kiln__export *one = kiln__calloc(mem, 1, sizeof *one);
        if (!one) {
            kiln__exports_free(mem, made);
            return KILN_ERROR_MEMORY;
        }
        *end = one;
        end = &one->next;
        one->lent = true;
        one->name = kiln__wire_read_string(&in);
        one->is_array = kiln__wire_read_number(&in) == 1;
        if (one->is_array)
            unpack_array(&in, &elements, &data_length, &one->array);
        else
            unpack_value(&in, &one->value);
    }
    *whole = !in.failed && in.left == 0 && data_length == 0;
    if (*whole)
        *exports = made;
    else
        kiln__exports_free(mem, made);
    return KILN_OK;
}
