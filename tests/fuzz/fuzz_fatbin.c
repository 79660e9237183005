/* Reads any bytes as an image. The extracted parts must be texts, and an image that is made of these texts must give
 * them back. Bytes after an 'M' make an image instead: a fat binary, an object, a library or a linked image. Its
 * headers are right, except for some numbers that the bytes choose. The hash of a linked image is right, so that its
 * lengths are read. */
#include <elf.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cu_image.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

/* ---- images ---- */

/* Choices come from the bytes of the input, and then from numbers that follow from these bytes. `image` is the part
 * that is written so far. */
typedef struct maker {
    const uint8_t *data;
    size_t left;
    uint64_t rng;
    kiln__text image;
} maker;

static unsigned below(maker *m, unsigned n)
{
    if (m->left) {
        m->left--;
        return *m->data++ % n;
    }
    m->rng ^= m->rng >> 12;
    m->rng ^= m->rng << 25;
    m->rng ^= m->rng >> 27;
    return (unsigned)(m->rng * 0x2545f4914f6cdd1dull >> 33) % n;
}

/* Returns a number for a field: mostly the right one. */
static uint64_t number(maker *m, uint64_t right)
{
    static const uint64_t ends[] = {0,         1,          63,        64,         65,         0x7fff,
                                    0xffff,    1 << 28,    INT32_MAX, 1ull << 31, UINT32_MAX, 1ull << 32,
                                    INT64_MAX, 1ull << 63, 0 - 8ull,  UINT64_MAX};
    switch (below(m, 16)) {
    case 0: return ends[below(m, KILN__COUNT(ends))];
    case 1: return right + below(m, 17) - 8;
    case 2: return right << below(m, 64);
    case 3: return 0 - right;
    default: return right;
    }
}

static void put(maker *m, uint64_t value, unsigned bytes)
{
    for (unsigned k = 0; k < bytes; k++)
        kiln__text_add(&m->image, (const char[]){(char)(value >> (8 * k & 63))}, 1);
}

static void set(maker *m, size_t at, uint64_t value, unsigned bytes)
{
    for (unsigned k = 0; k < bytes && at + k < m->image.length; k++)
        m->image.data[at + k] = (char)(value >> (8 * k & 63));
}

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

/* Writes one entry of a fat binary: its header and its data, which may be packed and may be damaged. */
static void put_entry(maker *m)
{
    static const unsigned kinds[] = {1, 1, 1, 2, 8, 0xffff}, archs[] = {52, 80, 90, 100, 120, UINT32_MAX},
                          flags[] = {0, 0x2000, 0x8000, 0xa000, 0x11};
    char packed[512];
    const unsigned flag = flags[below(m, KILN__COUNT(flags))];
    size_t size = sizeof ptx;
    memcpy(packed, ptx, sizeof ptx);
    if (flag & 0x2000)
        size = (size_t)LZ4_compress_default(ptx, packed, sizeof ptx, sizeof packed);
    else if (flag & 0x8000)
        size = ZSTD_compress(packed, sizeof packed, ptx, sizeof ptx, 3);
    if (below(m, 4) == 0)
        packed[below(m, (unsigned)size)] = (char)below(m, 256);
    const size_t padded = (size + 7) & ~(size_t)7, header = 64 + 8 * (below(m, 4) == 0);
    const size_t at = m->image.length;
    put(m, kinds[below(m, KILN__COUNT(kinds))], 2);
    put(m, 0x101, 2);
    put(m, number(m, header), 4);
    put(m, number(m, padded), 8);
    put(m, number(m, flag & 0xa000 ? size : 0), 4);
    put(m, 0, 8);
    put(m, archs[below(m, KILN__COUNT(archs))], 4);
    put(m, 0, 8);
    put(m, flag, 8);
    put(m, 0, 8);
    put(m, number(m, flag & 0xa000 ? sizeof ptx : 0), 8);
    while (m->image.length < at + header)
        put(m, 0, 1);
    kiln__text_add(&m->image, packed, size);
    while (m->image.length < at + header + padded)
        put(m, 0, 1);
}

static void put_fatbin(maker *m)
{
    const size_t at = m->image.length;
    put(m, 0xba55ed50, 4);
    put(m, 1, 2);
    put(m, number(m, 16), 2);
    put(m, 0, 8);
    for (unsigned count = below(m, 5); count; count--)
        put_entry(m);
    set(m, at + 8, number(m, m->image.length - at - 16), 8);
}

/* Writes an ELF file whose section 1 has fat binaries, and whose section 2 has the names. */
static void put_object(maker *m)
{
    enum { HEADER = 64, SHAPE = 64, SECTIONS = 3 };
    static const char names[] = "\0.nv_fatbin\0__nv_relfatbin\0.shstrtab";
    static const unsigned machines[] = {EM_X86_64, EM_X86_64, EM_CUDA, 0xffff};
    const size_t at = m->image.length;
    kiln__text_add(&m->image, "\177ELF", 4);
    put(m, below(m, 8) ? ELFCLASS64 : below(m, 4), 1);
    put(m, below(m, 8) ? ELFDATA2LSB : below(m, 4), 1);
    put(m, 1, 10);
    put(m, ET_REL, 2);
    put(m, machines[below(m, KILN__COUNT(machines))], 2);
    put(m, 1, 4);
    put(m, 0, 16);
    const size_t shapes = m->image.length;
    put(m, 0, 12); /* the place of the section headers */
    put(m, HEADER, 2);
    put(m, 0, 4);
    put(m, number(m, SHAPE), 2);
    put(m, number(m, SECTIONS), 2);
    put(m, number(m, SECTIONS - 1), 2);
    const size_t code = m->image.length - at;
    for (unsigned count = 1 + below(m, 3); count; count--)
        put_fatbin(m);
    const size_t code_end = m->image.length - at;
    kiln__text_add(&m->image, names, sizeof names);
    while (m->image.length % 8)
        put(m, 0, 1);
    set(m, shapes, number(m, m->image.length - at), 8);
    const struct {
        uint64_t name, type, offset, size;
    } sections[SECTIONS] = {
        {0}, {below(m, 2) ? 1 : 12, SHT_PROGBITS, code, code_end - code}, {27, SHT_STRTAB, code_end, sizeof names}};
    for (unsigned k = 0; k < SECTIONS; k++) {
        put(m, number(m, sections[k].name), 4);
        put(m, number(m, sections[k].type), 4);
        put(m, 0, 16);
        put(m, number(m, sections[k].offset), 8);
        put(m, number(m, sections[k].size), 8);
        put(m, 0, 8);
        put(m, number(m, 8), 8);
        put(m, 0, 8);
    }
}

static void put_archive(maker *m)
{
    static const char *const names[] = {"a.o/", "/", "//", "/0", "/99999999999999", "a name that is too long"};
    kiln__text_puts(&m->image, "!<arch>\n");
    for (unsigned count = below(m, 4); count; count--) {
        const size_t at = m->image.length;
        char header[61];
        kiln__text_printf(&m->image, "%60s", "");
        if (below(m, 4) == 0)
            put_fatbin(m);
        else
            put_object(m);
        const uint64_t size = number(m, m->image.length - at - 60);
        snprintf(header, sizeof header, "%-16.16s%-12d%-6d%-6d%-8o%-10.10llu`\n", names[below(m, KILN__COUNT(names))],
                 0, 0, 0, 0644u, (unsigned long long)size);
        memcpy(m->image.data + at, header, 60);
        if (m->image.length % 2)
            put(m, '\n', 1);
    }
}

/* Writes an image as cuLinkComplete() makes it. Its lengths are hostile, and its hash is right. */
static void put_linked(maker *m)
{
    enum { HASH = 8, LENGTH = 16, COUNT = 24 };
    kiln__text_add(&m->image, "\177kilnPTX", 8);
    put(m, 0, 24);
    unsigned count = below(m, 4);
    for (unsigned k = 0; k < count; k++) {
        put(m, number(m, 1), 8);
        put(m, number(m, sizeof ptx - 1), 8);
        put(m, 'n', 1);
        kiln__text_add(&m->image, ptx, sizeof ptx - 1);
    }
    set(m, COUNT, number(m, count), 8);
    const uint64_t length = number(m, m->image.length);
    set(m, LENGTH, length, 8);
    if (length >= LENGTH && length <= m->image.length)
        set(m, HASH, kiln__hash(m->image.data + LENGTH, (size_t)length - LENGTH).low, 8);
}

static void make_image(maker *m)
{
    void (*const kinds[])(maker *) = {put_fatbin, put_object, put_archive, put_linked};
    kinds[below(m, KILN__COUNT(kinds))](m);
    if (m->image.length && below(m, 8) == 0) /* the image is truncated */
        m->image.length -= below(m, 64) % m->image.length;
}

/* ---- reading an image ---- */

/* Reads an image, and checks that the texts that were found are the same after they were written and read again. */
static void read_image(const void *data, size_t size)
{
    enum { DEVICE = 90 };
    sim_texts texts = {0}, again = {0};
    kiln__text log = {0};
    sim_image_result result = sim_image_read(&texts, data, size, "input", DEVICE, &log);
    WANT(result == SIM_IMAGE_OK || result == SIM_IMAGE_MEMORY || log.length > 0);
    bool *used = calloc(texts.count + 1, sizeof *used);
    WANT(used);
    for (size_t k = 0; k < texts.count; k++) {
        WANT(texts.items[k].data[texts.items[k].length] == '\0');
        used[k] = true;
    }
    size_t length = 0;
    unsigned char *image = sim_image_write(&texts, used, &length);
    if (image && result == SIM_IMAGE_OK) {
        WANT(sim_image_extent(image) == length);
        WANT(sim_image_read(&again, image, length, "again", DEVICE, &log) == SIM_IMAGE_OK);
        WANT(again.count == texts.count && again.linked);
        for (size_t k = 0; k < texts.count; k++)
            WANT(again.items[k].length == texts.items[k].length &&
                 memcmp(again.items[k].data, texts.items[k].data, texts.items[k].length) == 0);
    }
    kiln__free(NULL, image);
    sim_texts_free(&again);
    sim_texts_free(&texts);
    kiln__text_free(&log);
    free(used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 20 };
    if (size > MOST)
        return 0;
    if (size == 0 || *data != 'M') {
        read_image(data, size);
        return 0;
    }
    maker m = {.data = data + 1, .left = size - 1, .rng = size + 1};
    for (size_t k = 0; k < size; k++)
        m.rng = (m.rng ^ data[k]) * 0x9e3779b97f4a7c15ull;
    m.rng |= 1;
    make_image(&m);
    /* the block has the size of the image, so a sanitizer sees a read past it */
    void *exact = malloc(m.image.length ? m.image.length : 1);
    WANT(exact && !m.image.failed);
    if (m.image.length)
        memcpy(exact, m.image.data, m.image.length);
    read_image(exact, m.image.length);
    free(exact);
    kiln__text_free(&m.image);
    return 0;
}
