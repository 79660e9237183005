/* Reads cache entries from untrusted input. They are code, or references, whose content is a list of exports. An entry
 * that parses must lie inside the bytes, and writing it must give the same bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache_internal.h"
#include "call.h"

static size_t sum;

static void touch(const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        sum += ((const unsigned char *)bytes)[i];
}

static void check_exports(const void *list, size_t list_length, const void *data, size_t data_length)
{
    kiln__export *exports = NULL;
    bool whole = false;
    kiln__text fields = {0}, elements = {0};
    if (kiln__exports_unpack(NULL, list, list_length, data, data_length, &exports, &whole) != KILN_OK || !whole)
        return;
    for (const kiln__export *one = exports; one; one = one->next) {
        uint64_t bytes = 0;
        touch(one->name, strlen(one->name) + 1);
        if (one->is_array && kiln__array_bytes(one->array.type, one->array.dims, one->array.shape, &bytes))
            touch(one->array.data, (size_t)bytes);
        else if (!one->is_array && one->value.kind == KILN_TEXT)
            touch(one->value.as.text, strlen(one->value.as.text) + 1);
    }
    if (!kiln__exports_pack(exports, &fields, &elements) || elements.length != data_length ||
        kiln__exports_bytes(exports) != data_length) {
        fprintf(stderr, "exports do not survive being written again\n");
        abort();
    }
    kiln__exports_free(NULL, exports);
    kiln__text_free(&fields);
    kiln__text_free(&elements);
}

/* If the bytes are an entry of the cache, reads all its parts. The entry has parts of the same lengths after it was
 * written again. */
static void check(const char *data, size_t size)
{
    kiln__cache_key key;
    kiln__unit unit;
    if (!kiln__cache_entry_parse(data, size, &key, &unit))
        return;
    touch(key.material, key.length);
    touch((const char *)key.material + key.text_at, key.text_length);
    touch(key.source, strlen(key.source) + 1);
    touch(key.arch, strlen(key.arch) + 1);
    touch(key.compiler, strlen(key.compiler) + 1);
    touch(key.options, strlen(key.options) + 1);
    touch(unit.ptx, unit.ptx ? unit.ptx_length + 1 : 0);
    touch(unit.cubin, unit.cubin_length);
    touch(unit.lowered, unit.lowered ? unit.lowered_length + 1 : 0);
    touch(unit.log, unit.log ? unit.log_length + 1 : 0);
    check_exports(unit.log, unit.log_length, unit.cubin, unit.cubin_length);
    size_t length = 0;
    char *again = kiln__cache_entry_make(NULL, &key, &unit, &length);
    kiln__cache_key key2;
    kiln__unit unit2;
    if (!again || !kiln__cache_entry_parse(again, length, &key2, &unit2) || key2.length != key.length ||
        unit2.ptx_length != unit.ptx_length || unit2.cubin_length != unit.cubin_length) {
        fprintf(stderr, "an entry does not survive being written again\n");
        abort();
    }
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tries the bytes unchanged, and once more with a correct magic, length and checksum. Otherwise the fuzzer would
 * never reach the parser that follows these checks. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check((const char *)data, size);
    const size_t half = size ? data[0] : 0; /* the first byte divides the rest into fields and elements */
    if (half < size)
        check_exports(data + 1, half, data + 1 + half, size - 1 - half);
    if (size < sizeof(kiln__cache_header) + sizeof(kiln__hash128))
        return 0;
    char *copy = malloc(size);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    kiln__cache_key key = {.material = "", .length = 0};
    kiln__unit unit = {0};
    size_t length = 0;
    char *pattern = kiln__cache_entry_make(NULL, &key, &unit, &length);
    if (pattern)
        memcpy(copy, pattern, offsetof(kiln__cache_header, total)); /* magic, version, byte order */
    free(pattern);
    uint64_t total = size;
    memcpy(copy + offsetof(kiln__cache_header, total), &total, sizeof total);
    kiln__hash128 hash = kiln__hash(copy, size - sizeof hash);
    memcpy(copy + size - sizeof hash, &hash, sizeof hash);
    check(copy, size);
    free(copy);
    return 0;
}
