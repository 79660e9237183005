/* entry.c - encodes an entry as bytes and decodes it:
 *
 *   header       magic, format version, byte order, the length of each part
 *   labels       source, arch, compiler, options: each NUL-terminated
 *   padding      zeros up to a multiple of 16
 *   cubin        as the compiler made it
 *   ptx          NUL-terminated
 *   lowered, log each NUL-terminated
 *   material     the whole key
 *   checksum     XXH3-128 of all bytes before it
 *
 * A missing part has length 0 and takes no bytes, not even a byte for the NUL. The parser treats the bytes as
 * untrusted. */
#include <string.h>

#include "chars.h"
#include "cache_internal.h"

/* The first bytes of every entry. They show whether a conversion of line ends, or a transfer in text mode, has damaged
 * the file. */
static const char magic[8] = {'K', 'I', 'L', 'N', '\r', '\n', 0x1a, '\0'};
enum { VERSION = 1, ALIGN = 16 };
static const uint32_t byte_order = 0x01020304;

/* Returns whether a part is a label. Labels are always present with their NUL, even if they are empty. */
static bool is_label(int part) { return part < KILN__PART_cubin; }

static bool is_text(int part) { return part != KILN__PART_cubin && part != KILN__PART_material; }

static uint64_t measure_part(int part, uint64_t length)
{
    return length + (is_text(part) && (length || is_label(part)));
}

/* Computes the offset of each part in offsets[], and returns the offset of the checksum. The caller must have checked
 * the lengths. */
static uint64_t lay_out(const uint64_t *lengths, uint64_t *offsets)
{
    uint64_t at = sizeof(kiln__cache_header);
    for (int part = 0; part < KILN__CACHE_PART_COUNT; part++) {
        if (part == KILN__PART_cubin)
            at = (at + ALIGN - 1) / ALIGN * ALIGN;
        offsets[part] = at;
        at += measure_part(part, lengths[part]);
    }
    return at;
}

static bool lengths_fit(const kiln__cache_header *header)
{
    for (int part = 0; part < KILN__CACHE_PART_COUNT; part++)
        if (header->length[part] > (is_label(part) ? KILN__CACHE_LABEL_MAX : KILN__CACHE_ENTRY_MAX))
            return false;
    return true; /* the sum of so few parts fits into 64 bits */
}

bool kiln__cache_header_check(const void *data, size_t length, uint64_t total, kiln__cache_header *header,
                              uint64_t *offsets)
{
    if (length < sizeof *header || total > KILN__CACHE_ENTRY_MAX)
        return false;
    memcpy(header, data, sizeof *header);
    if (memcmp(header->magic, magic, sizeof magic) != 0 || header->version != VERSION || header->order != byte_order ||
        header->total != total || !lengths_fit(header))
        return false;
    uint64_t material = header->length[KILN__PART_material];
    if (header->text_at > material || header->text_length > material - header->text_at)
        return false;
    return lay_out(header->length, offsets) + sizeof(kiln__hash128) == total;
}

/* Returns whether the text consists of complete "name\0symbol\0" pairs. */
static bool are_pairs(const char *text, uint64_t length)
{
    uint64_t texts = 0;
    for (uint64_t i = 0; i < length; i++)
        texts += text[i] == '\0';
    return length == 0 || (text[length - 1] == '\0' && texts % 2 == 0);
}

/* Checks the header, the checksum, the NUL of each text and the pairs of symbols, before it returns any pointer. */
bool kiln__cache_entry_parse(const void *data, size_t length, kiln__cache_key *key, kiln__unit *unit)
{
    kiln__cache_header header;
    uint64_t offsets[KILN__CACHE_PART_COUNT];
    const char *bytes = data;
    if (!kiln__cache_header_check(data, length, length, &header, offsets))
        return false;
    kiln__hash128 stored, real = kiln__hash(bytes, length - sizeof stored);
    memcpy(&stored, bytes + length - sizeof stored, sizeof stored);
    if (stored.low != real.low || stored.high != real.high)
        return false;
    for (int part = 0; part < KILN__CACHE_PART_COUNT; part++) {
        uint64_t room = measure_part(part, header.length[part]);
        const char *start = bytes + offsets[part];
        if (is_text(part) && room && start[room - 1] != '\0')
            return false;
        if (is_label(part) && memchr(start, '\0', room - 1))
            return false;
    }
    if (!are_pairs(bytes + offsets[KILN__PART_lowered], header.length[KILN__PART_lowered]))
        return false;
#define PART(name) (header.length[KILN__PART_##name] ? bytes + offsets[KILN__PART_##name] : NULL)
#define SIZE(name) ((size_t)header.length[KILN__PART_##name])
#define LABEL(name) (bytes + offsets[KILN__PART_##name])
    *key = (kiln__cache_key){.material = bytes + offsets[KILN__PART_material],
                             .length = SIZE(material),
                             .source = LABEL(source),
                             .arch = LABEL(arch),
                             .compiler = LABEL(compiler),
                             .options = LABEL(options),
                             .text_at = (size_t)header.text_at,
                             .text_length = (size_t)header.text_length};
    *unit = (kiln__unit){.ptx = PART(ptx),
                         .ptx_length = SIZE(ptx),
                         .cubin = PART(cubin),
                         .cubin_length = SIZE(cubin),
                         .lowered = PART(lowered),
                         .lowered_length = SIZE(lowered),
                         .log = PART(log),
                         .log_length = SIZE(log)};
#undef PART
#undef SIZE
#undef LABEL
    return true;
}

/* Checks the lengths, computes the positions of the parts, and writes header, parts and checksum into one block. */
char *kiln__cache_entry_make(const kiln_allocator *mem, const kiln__cache_key *key, const kiln__unit *unit,
                             size_t *length)
{
    const void *parts[KILN__CACHE_PART_COUNT] = {
        [KILN__PART_source] = key->source ? key->source : "",
        [KILN__PART_arch] = key->arch ? key->arch : "",
        [KILN__PART_compiler] = key->compiler ? key->compiler : "",
        [KILN__PART_options] = key->options ? key->options : "",
        [KILN__PART_cubin] = unit->cubin,
        [KILN__PART_ptx] = unit->ptx,
        [KILN__PART_lowered] = unit->lowered,
        [KILN__PART_log] = unit->log,
        [KILN__PART_material] = key->material,
    };
    kiln__cache_header header = {.version = VERSION, .order = byte_order};
    memcpy(header.magic, magic, sizeof magic);
    for (int part = 0; part < KILN__PART_cubin; part++)
        header.length[part] = strlen(parts[part]);
    header.length[KILN__PART_cubin] = unit->cubin ? unit->cubin_length : 0;
    header.length[KILN__PART_ptx] = unit->ptx ? unit->ptx_length : 0;
    header.length[KILN__PART_lowered] = unit->lowered ? unit->lowered_length : 0;
    header.length[KILN__PART_log] = unit->log ? unit->log_length : 0;
    header.length[KILN__PART_material] = key->length;
    if (!lengths_fit(&header))
        return NULL;
    if (key->text_at <= key->length && key->text_length <= key->length - key->text_at) {
        header.text_at = key->text_at;
        header.text_length = key->text_length;
    }
    uint64_t offsets[KILN__CACHE_PART_COUNT];
    uint64_t end = lay_out(header.length, offsets);
    header.total = end + sizeof(kiln__hash128);
    if (header.total > KILN__CACHE_ENTRY_MAX)
        return NULL;
    char *bytes = kiln__calloc(mem, 1, (size_t)header.total);
    if (!bytes)
        return NULL;
    memcpy(bytes, &header, sizeof header);
    for (int part = 0; part < KILN__CACHE_PART_COUNT; part++)
        if (header.length[part])
            memcpy(bytes + offsets[part], parts[part], (size_t)header.length[part]);
    kiln__hash128 hash = kiln__hash(bytes, (size_t)end);
    memcpy(bytes + end, &hash, sizeof hash);
    *length = (size_t)header.total;
    return bytes;
}

void kiln__cache_id(const kiln__cache_key *key, char id[KILN__CACHE_ID + 1])
{
    static const char digits[] = "0123456789abcdef";
    kiln__hash128 hash = kiln__hash(key->material, key->length);
    for (int i = 0; i < 16; i++) {
        id[i] = digits[hash.high >> (60 - 4 * i) & 15];
        id[16 + i] = digits[hash.low >> (60 - 4 * i) & 15];
    }
    id[KILN__CACHE_ID] = '\0';
}

bool kiln__cache_is_id(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!(kiln__is_digit(name[i]) || (name[i] >= 'a' && name[i] <= 'f')))
            return false;
    return length == KILN__CACHE_ID;
}
