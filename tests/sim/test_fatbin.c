/* Tests images: fat binaries of nvcc, fat binaries that the test builds, objects, libraries, and images with a damaged
 * byte at every place. */
#include <gelf.h>
#include <libelf.h>
#include <lz4.h>
#include <unistd.h>
#include <zstd.h>

#include "check.h"
#include "cu_image.h"

enum { ROOM = 1 << 16 };
typedef struct bytes {
    unsigned char data[ROOM];
    size_t length;
} bytes;
typedef enum packing { PLAIN, LZ4, ZSTD } packing;

static void put(bytes *b, uint64_t value, unsigned size)
{
    for (unsigned k = 0; k < size; k++)
        b->data[b->length++] = (unsigned char)(value >> (8 * k));
}
static void set(bytes *b, size_t at, uint64_t value, unsigned size)
{
    for (unsigned k = 0; k < size; k++)
        b->data[at + k] = (unsigned char)(value >> (8 * k));
}

static size_t fatbin_begin(bytes *b)
{
    size_t at = b->length;
    put(b, 0xba55ed50, 4), put(b, 1, 2), put(b, 16, 2), put(b, 0, 8);
    return at;
}
/* Writes an entry of a fat binary. `kind` is 1 for PTX, and 2 for a cubin. */
static void entry(bytes *b, size_t fatbin, unsigned kind, unsigned arch, packing how, const char *text)
{
    char packed[ROOM / 4];
    size_t plain = strlen(text), size = plain;
    memcpy(packed, text, plain);
    if (how == LZ4)
        size = (size_t)LZ4_compress_default(text, packed, (int)plain, sizeof packed);
    if (how == ZSTD)
        size = ZSTD_compress(packed, sizeof packed, text, plain, 3);
    size_t padded = (size + 7) & ~(size_t)7;
    put(b, kind, 2), put(b, 0x101, 2), put(b, 64, 4), put(b, padded, 8);
    put(b, how == PLAIN ? 0 : size, 4), put(b, 0, 4);
    put(b, 0, 2), put(b, 9, 2), put(b, arch, 4), put(b, 0, 8);
    put(b, 0x11 | (how == LZ4 ? 0x2000u : how == ZSTD ? 0x8000u : 0), 8), put(b, 0, 8);
    put(b, how == PLAIN ? 0 : plain, 8);
    memset(b->data + b->length, 0, padded);
    memcpy(b->data + b->length, packed, size);
    b->length += padded;
    set(b, fatbin + 8, b->length - fatbin - 16, 8);
}

static sim_image_result take(const void *data, size_t length, int cc, sim_texts *texts, kiln__text *log)
{
    *texts = (sim_texts){0};
    kiln__text_free(log);
    /* The block is exactly as long as the image, so that a sanitizer finds a read beyond its end. */
    void *copy = malloc(length ? length : 1);
    memcpy(copy, data, length);
    sim_image_result result = sim_image_read(texts, copy, length, "it", cc, log);
    free(copy);
    return result;
}
/* Compares the PTX that was found, which must be one text. */
static void expect(const bytes *b, int cc, const char *want)
{
    sim_texts texts;
    kiln__text log = {0};
    CU_ASSERT_EQUAL(take(b->data, b->length, cc, &texts, &log), SIM_IMAGE_OK);
    CU_ASSERT_EQUAL_FATAL(texts.count, 1);
    CHECK_TEXT(texts.items[0].data, want);
    sim_texts_free(&texts);
    kiln__text_free(&log);
}
static void refused(const bytes *b, int cc, sim_image_result want, const char *why)
{
    sim_texts texts;
    kiln__text log = {0};
    CU_ASSERT_EQUAL(take(b->data, b->length, cc, &texts, &log), want);
    CU_ASSERT_EQUAL(texts.count, 0);
    if (!strstr(kiln__text_get(&log), why))
        CHECK_TEXT(kiln__text_get(&log), why);
    sim_texts_free(&texts);
    kiln__text_free(&log);
}

/* Reads fat binaries of nvcc, plain and compressed. For each device, the PTX of the right architecture must be
 * chosen. */
static void of_nvcc(void)
{
    static const char *const files[] = {"plain", "lz4", "zstd"};
    for (size_t k = 0; k < KILN__COUNT(files); k++) {
        char path[1024], *data;
        kiln_error *error = NULL;
        static bytes b;
        snprintf(path, sizeof path, "%s/fatbin/%s.fatbin", KILN_TEST_DATA, files[k]);
        CHECK_OK(kiln__file_read(NULL, path, 0, &data, &b.length, &error), error);
        memcpy(b.data, data, b.length);
        static const int devices[][2] = {{75, 75}, {79, 75}, {80, 80}, {90, 80}, {120, 80}, {121, 121}};
        for (size_t d = 0; d < KILN__COUNT(devices); d++) {
            sim_texts texts;
            kiln__text log = {0};
            char target[32];
            snprintf(target, sizeof target, ".target sm_%d\n", devices[d][1]);
            CU_ASSERT_EQUAL(take(b.data, b.length, devices[d][0], &texts, &log), SIM_IMAGE_OK);
            CU_ASSERT_EQUAL_FATAL(texts.count, 1);
            CU_ASSERT_PTR_NOT_NULL(strstr(texts.items[0].data, target));
            CU_ASSERT_PTR_NOT_NULL(strstr(texts.items[0].data, "bias = 100"));
            CU_ASSERT_EQUAL(texts.items[0].length, strlen(texts.items[0].data));
            sim_texts_free(&texts);
            kiln__text_free(&log);
        }
        setenv("KILN_SIM_TARGET", "strict", 1);
        refused(&b, 70, SIM_IMAGE_NO_BINARY, "is for sm_75, later than the device's sm_70");
        unsetenv("KILN_SIM_TARGET");
        CU_ASSERT_EQUAL(sim_image_extent(b.data), b.length);
        kiln__free(NULL, data);
    }
}

static void choice(void)
{
    static bytes b;
    for (packing how = PLAIN; how <= ZSTD; how++) {
        b.length = 0;
        size_t f = fatbin_begin(&b);
        entry(&b, f, 1, 80, how, "eighty, and a text that is long enough to be packed: eighty eighty eighty");
        entry(&b, f, 2, 90, how, "machine code");
        entry(&b, f, 1, 90, how, "ninety");
        entry(&b, f, 1, 75, how, "seventy-five");
        entry(&b, f, 1, 100, how, "hundred");
        expect(&b, 90, "ninety");
        expect(&b, 99, "ninety");
        expect(&b, 89, "eighty, and a text that is long enough to be packed: eighty eighty eighty");
        expect(&b, 75, "seventy-five");
        expect(&b, 120, "hundred");
        expect(&b, 70, "seventy-five"); /* no image runs on 7.0, so the image with the least architecture is chosen */
        b.length += 100;                /* bytes that follow the image belong to something else */
        expect(&b, 90, "ninety");
        b.length = 0;
        f = fatbin_begin(&b);
        entry(&b, f, 2, 80, how, "machine code");
        refused(&b, 90, SIM_IMAGE_NO_BINARY, "'it' has 1 images of machine code (cubins) and no PTX");
    }
    b.length = 0;
    fatbin_begin(&b);
    refused(&b, 90, SIM_IMAGE_NO_BINARY, "'it' has 0 images");
}

static void damage(void)
{
    static bytes whole, b;
    whole.length = 0;
    size_t f = fatbin_begin(&whole);
    entry(&whole, f, 1, 80, ZSTD, "text text text text text text text text");
    entry(&whole, f, 1, 90, LZ4, "another another another another another");
    sim_texts texts;
    kiln__text log = {0};
    for (size_t length = 0; length < whole.length; length++) { /* cut short */
        sim_image_result result = take(whole.data, length, 90, &texts, &log);
        /* an image shorter than a header counts as text */
        CU_ASSERT_EQUAL(result, length < 16 ? SIM_IMAGE_OK : SIM_IMAGE_INVALID);
        sim_texts_free(&texts);
    }
    /* inverts each bit of the image; the result must be an error or a text, without a read outside */
    for (size_t at = 0; at < whole.length; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            b = whole;
            b.data[at] ^= (unsigned char)(1u << bit);
            sim_image_result result = take(b.data, b.length, 90, &texts, &log);
            CU_ASSERT(result == SIM_IMAGE_OK ? texts.count == 1 : log.length > 0);
            sim_texts_free(&texts);
        }
    kiln__text_free(&log);
    b = whole;
    set(&b, 8, UINT64_MAX, 8);
    refused(&b, 90, SIM_IMAGE_INVALID, "the fat binary in 'it' is damaged: it has");
    b = whole;
    set(&b, 16 + 4, 8, 4); /* if the header of an entry could have 8 bytes, the list would never end */
    refused(&b, 90, SIM_IMAGE_INVALID, "damaged at byte 16");
    b = whole;
    set(&b, 16 + 8, UINT64_MAX - 3, 8);
    refused(&b, 90, SIM_IMAGE_INVALID, "damaged at byte 16");
    b = whole;
    set(&b, 16 + 56, (uint64_t)1 << 40, 8);
    refused(&b, 80, SIM_IMAGE_INVALID, "above the limit");
    b = whole;
    set(&b, 16 + 56, 1 << 20, 8);
    refused(&b, 80, SIM_IMAGE_INVALID, "its size does not fit");
    b = whole;
    set(&b, 16 + 16, 100000, 4);
    refused(&b, 80, SIM_IMAGE_INVALID, "longer than its entry");
}

/* ---- objects and libraries ---- */

typedef struct part {
    const char *section;
    const bytes *data;
} part;

/* Writes an ELF file with these sections. */
static void object(bytes *out, unsigned machine, const part *parts, size_t count)
{
    char names[256] = "\0.shstrtab";
    size_t used = sizeof "\0.shstrtab";
    FILE *scratch = tmpfile();
    CU_ASSERT_FATAL(scratch != NULL && elf_version(EV_CURRENT) != EV_NONE);
    int file = fileno(scratch);
    Elf *elf = elf_begin(file, ELF_C_WRITE, NULL);
    Elf64_Ehdr *header = elf64_newehdr(elf);
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_machine = (Elf64_Half)machine;
    header->e_type = ET_REL;
    header->e_version = EV_CURRENT;
    for (size_t k = 0; k <= count; k++) {
        Elf_Scn *section = elf_newscn(elf);
        Elf_Data *data = elf_newdata(section);
        Elf64_Shdr *shape = elf64_getshdr(section);
        data->d_align = 8;
        data->d_version = EV_CURRENT;
        if (k < count) {
            data->d_buf = (void *)(uintptr_t)parts[k].data->data;
            data->d_size = parts[k].data->length;
            shape->sh_name = (Elf64_Word)used;
            shape->sh_type = SHT_PROGBITS;
            used += (size_t)snprintf(names + used, sizeof names - used, "%s", parts[k].section) + 1;
        } else {
            data->d_buf = names;
            data->d_size = used;
            shape->sh_name = 1;
            shape->sh_type = SHT_STRTAB;
            header->e_shstrndx = (Elf64_Half)elf_ndxscn(section);
        }
    }
    CU_ASSERT_FATAL(elf_update(elf, ELF_C_WRITE) > 0);
    elf_end(elf);
    out->length = (size_t)lseek(file, 0, SEEK_END);
    CU_ASSERT_FATAL(out->length <= ROOM && pread(file, out->data, out->length, 0) == (ssize_t)out->length);
    fclose(scratch);
}

static void member(bytes *archive, const char *name, const bytes *data)
{
    if (archive->length == 0)
        archive->length = (size_t)snprintf((char *)archive->data, ROOM, "!<arch>\n");
    archive->length += (size_t)snprintf((char *)archive->data + archive->length, ROOM - archive->length,
                                        "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644u, data->length);
    memcpy(archive->data + archive->length, data->data, data->length);
    archive->length += data->length;
    if (archive->length % 2)
        archive->data[archive->length++] = '\n';
}

/* Lets all sections have the place and the size of the first section. */
static void overlap(bytes *b)
{
    Elf64_Ehdr header;
    Elf64_Shdr first, other;
    memcpy(&header, b->data, sizeof header);
    memcpy(&first, b->data + header.e_shoff + sizeof first, sizeof first);
    for (size_t k = 2; k < header.e_shstrndx; k++) {
        const size_t at = header.e_shoff + k * sizeof other;
        memcpy(&other, b->data + at, sizeof other);
        other.sh_offset = first.sh_offset;
        other.sh_size = first.sh_size;
        memcpy(b->data + at, &other, sizeof other);
    }
}

/* Several sections may share their bytes, but the work must not grow with the square of the sections. */
static void shared_sections(void)
{
    enum { SECTIONS = 16 };
    static bytes text, empty, host, archive;
    part parts[SECTIONS] = {{".nv_fatbin", &text}};
    size_t f = fatbin_begin(&text);
    entry(&text, f, 1, 80, PLAIN,
          "a text that is read once; the bytes of all sections together are many more than the file has");
    for (size_t k = 0; k < 16; k++)
        entry(&text, f, 2, 80, PLAIN,
              "some more bytes of machine code, so that the section is a large part of the file");
    put(&empty, 0, 8);
    for (size_t k = 1; k < SECTIONS; k++)
        parts[k] = (part){".nv_fatbin", &empty};
    object(&host, EM_X86_64, parts, SECTIONS);
    expect(&host, 90, (const char *)text.data + 16 + 64);
    overlap(&host);
    sim_texts texts;
    kiln__text log = {0};
    CU_ASSERT_EQUAL(take(host.data, host.length, 90, &texts, &log), SIM_IMAGE_INVALID);
    CHECK(texts.count < SECTIONS - 1);
    CHECK_TEXT(kiln__text_get(&log), "error   : 'it' is a damaged object: its sections are longer than the object\n");
    sim_texts_free(&texts);
    member(&archive, "host.o/", &host);
    CU_ASSERT_EQUAL(take(archive.data, archive.length, 90, &texts, &log), SIM_IMAGE_INVALID);
    sim_texts_free(&texts);
    kiln__text_free(&log);
}

/* The limit applies to the sum of all compressed texts in an image. */
static void together(void)
{
    static bytes two;
    size_t f = fatbin_begin(&two);
    entry(&two, f, 1, 80, ZSTD, "first first first first first");
    for (int most = 0; most < 2; most++) {
        sim_texts texts = {.unpacked = SIM_UNPACKED_MOST - (most ? 29 : 28)};
        kiln__text log = {0};
        CU_ASSERT_EQUAL(sim_image_read(&texts, two.data, two.length, "it", 90, &log),
                        most ? SIM_IMAGE_OK : SIM_IMAGE_INVALID);
        CU_ASSERT_EQUAL(texts.count, (size_t)most);
        if (!most)
            CHECK_TEXT(kiln__text_get(&log),
                       "error   : the PTX up to 'it' has more than 1073741824 bytes uncompressed, "
                       "which is the limit\n");
        sim_texts_free(&texts);
        kiln__text_free(&log);
    }
}

static void objects(void)
{
    static bytes two, one, none, host, cubin, archive, text;
    size_t f = fatbin_begin(&two);
    entry(&two, f, 1, 80, ZSTD, "first");
    f = fatbin_begin(&two);
    entry(&two, f, 1, 75, PLAIN, "second");
    f = fatbin_begin(&one);
    entry(&one, f, 1, 90, LZ4, "third third third third third third");
    f = fatbin_begin(&none);
    entry(&none, f, 1, 121, PLAIN, "later");
    text.length = (size_t)snprintf((char *)text.data, ROOM, "no object");
    object(&host, EM_X86_64, (part[]){{".text", &text}, {".nv_fatbin", &two}, {"__nv_relfatbin", &one}}, 3);
    sim_texts texts;
    kiln__text log = {0};
    CU_ASSERT_EQUAL(take(host.data, host.length, 90, &texts, &log), SIM_IMAGE_OK);
    CU_ASSERT_EQUAL_FATAL(texts.count, 3);
    CHECK_TEXT(texts.items[0].data, "first");
    CHECK_TEXT(texts.items[1].data, "second");
    CHECK_TEXT(texts.items[2].data, "third third third third third third");
    CU_ASSERT(!texts.items[0].lazy && strcmp(texts.items[0].name, "it") == 0);
    sim_texts_free(&texts);
    for (size_t length = 0; length < host.length; length += 7) {
        take(host.data, length, 90, &texts, &log);
        sim_texts_free(&texts);
    }
    object(&cubin, EM_CUDA, (part[]){{".nv_fatbin", &two}}, 1);
    refused(&cubin, 90, SIM_IMAGE_NO_BINARY, "'it' is machine code (a cubin)");
    static bytes plain;
    object(&plain, EM_X86_64, (part[]){{".text", &text}}, 1);
    refused(&plain, 90, SIM_IMAGE_NO_BINARY, "'it' has no device code");
    static bytes later;
    object(&later, EM_X86_64, (part[]){{".nv_fatbin", &none}}, 1);
    expect(&later, 90, "later");
    /* One fat binary has PTX for the device, and another one has PTX only for later devices. For a later device, both
     * texts are read once. */
    static bytes both;
    object(&both, EM_X86_64, (part[]){{".nv_fatbin", &none}, {"__nv_relfatbin", &one}}, 2);
    CU_ASSERT_EQUAL(take(both.data, both.length, 90, &texts, &log), SIM_IMAGE_OK);
    CU_ASSERT_EQUAL(texts.count, 2);
    sim_texts_free(&texts);
    setenv("KILN_SIM_TARGET", "strict", 1);
    refused(&later, 90, SIM_IMAGE_NO_BINARY, "later than the device's sm_90");
    unsetenv("KILN_SIM_TARGET");
    member(&archive, "cubin.o/", &cubin);
    member(&archive, "text/", &text);
    member(&archive, "later.o/", &later);
    member(&archive, "host.o/", &host);
    CU_ASSERT_EQUAL(take(archive.data, archive.length, 90, &texts, &log), SIM_IMAGE_OK);
    CU_ASSERT_EQUAL_FATAL(texts.count, 3);
    CHECK_TEXT(texts.items[2].name, "it:host.o");
    CU_ASSERT(texts.items[2].lazy);
    CU_ASSERT_PTR_NOT_NULL(strstr(kiln__text_get(&log), "'it:later.o'"));
    sim_texts_free(&texts);
    for (size_t length = 8; length < archive.length; length += 11) {
        take(archive.data, length, 90, &texts, &log);
        sim_texts_free(&texts);
    }
    kiln__text_free(&log);
}

/* ---- images in memory, and linked images ---- */

static void wrappers(void)
{
    static bytes a, b;
    struct {
        uint32_t magic, version;
        const void *data;
        const void *const *parts;
    } w = {0x466243b1, 1, a.data, NULL};
    const void *parts[] = {a.data, b.data, NULL};
    size_t f = fatbin_begin(&a);
    entry(&a, f, 1, 80, PLAIN, "one");
    f = fatbin_begin(&b);
    entry(&b, f, 1, 80, PLAIN, "two");
    sim_texts texts = {0};
    kiln__text log = {0};
    CU_ASSERT_EQUAL(sim_image_load(&texts, &w, 90, &log), SIM_IMAGE_OK);
    CU_ASSERT(texts.count == 1 && !texts.linked);
    sim_texts_free(&texts);
    w.version = 2;
    w.parts = parts;
    CU_ASSERT_EQUAL(sim_image_load(&texts, &w, 90, &log), SIM_IMAGE_OK);
    CU_ASSERT_EQUAL_FATAL(texts.count, 2);
    CU_ASSERT(texts.linked && strcmp(texts.items[1].data, "two") == 0);
    sim_texts_free(&texts);
    /* A part that has only machine code is left out, unless no part has PTX. */
    a.length = 0;
    f = fatbin_begin(&a);
    entry(&a, f, 2, 80, PLAIN, "machine code");
    parts[0] = a.data;
    CU_ASSERT_EQUAL(sim_image_load(&texts, &w, 90, &log), SIM_IMAGE_OK);
    CU_ASSERT(texts.count == 1 && strcmp(texts.items[0].data, "two") == 0);
    sim_texts_free(&texts);
    /* A part whose PTX has a later architecture than the device is left out in the same way. libcudadevrt.a has such a
     * part. */
    a.length = b.length = 0;
    f = fatbin_begin(&a);
    entry(&a, f, 1, 120, PLAIN, "far");
    f = fatbin_begin(&b);
    entry(&b, f, 1, 100, PLAIN, "near");
    CU_ASSERT_EQUAL(sim_image_load(&texts, &w, 90, &log), SIM_IMAGE_OK);
    CU_ASSERT(texts.count == 1 && strcmp(texts.items[0].data, "near") == 0);
    sim_texts_free(&texts);
    a.length = 0;
    f = fatbin_begin(&a);
    entry(&a, f, 2, 80, PLAIN, "machine code");
    parts[1] = NULL;
    CU_ASSERT_EQUAL(sim_image_load(&texts, &w, 90, &log), SIM_IMAGE_NO_BINARY);
    sim_texts_free(&texts);
    w.version = 1;
    w.data = NULL;
    CU_ASSERT_EQUAL(sim_image_load(&texts, &w, 90, &log), SIM_IMAGE_INVALID);
    sim_texts_free(&texts);
    kiln__text_free(&log);
}

/* Tests the image of cuLinkComplete. It must have the texts that were linked, and nothing else. */
static void linked(void)
{
    sim_texts texts = {0}, again;
    kiln__text log = {0};
    bool used[] = {true, false, true};
    CU_ASSERT(sim_texts_add(&texts, "alpha", 5, "a", false) && sim_texts_add(&texts, "beta", 4, "b", false) &&
              sim_texts_add(&texts, "", 0, "", false));
    size_t length = 0;
    unsigned char *image = sim_image_write(&texts, used, &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    CU_ASSERT_EQUAL(length, 32 + 2 * 16 + 1 + 5);
    CU_ASSERT_EQUAL(sim_image_extent(image), length);
    CU_ASSERT_EQUAL(take(image, length, 90, &again, &log), SIM_IMAGE_OK);
    CU_ASSERT_EQUAL_FATAL(again.count, 2);
    CU_ASSERT(again.linked);
    CHECK_TEXT(again.items[0].data, "alpha");
    CHECK_TEXT(again.items[0].name, "a");
    CHECK_TEXT(again.items[1].data, "");
    sim_texts_free(&again);
    for (size_t at = 8; at < length; at++) {
        image[at] ^= 4;
        sim_image_result result = take(image, length, 90, &again, &log);
        CU_ASSERT_EQUAL(result, SIM_IMAGE_INVALID);
        sim_texts_free(&again);
        image[at] ^= 4;
    }
    for (size_t cut = 32; cut < length; cut++) {
        CU_ASSERT_EQUAL(take(image, cut, 90, &again, &log), SIM_IMAGE_INVALID);
        sim_texts_free(&again);
    }
    kiln__free(NULL, image);
    sim_texts_free(&texts);
    kiln__text_free(&log);
}

static void out_of_memory(void)
{
    static bytes two, host, archive;
    two.length = archive.length = 0;
    size_t f = fatbin_begin(&two);
    entry(&two, f, 1, 80, ZSTD, "first first first first first");
    f = fatbin_begin(&two);
    entry(&two, f, 1, 75, LZ4, "second second second second second");
    object(&host, EM_X86_64, (part[]){{".nv_fatbin", &two}}, 1);
    member(&archive, "host.o/", &host);
    bool done = false;
    for (long n = 0; !done && n < 100; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        sim_texts texts = {.mem = &mem};
        kiln__text log = {0};
        sim_image_result result = sim_image_read(&texts, archive.data, archive.length, "it", 90, &log);
        CU_ASSERT_EQUAL(result, oom.failed ? SIM_IMAGE_MEMORY : SIM_IMAGE_OK);
        done = !oom.failed;
        sim_texts_free(&texts);
        kiln__text_free(&log);
        CU_ASSERT_EQUAL(oom.live, 0);
    }
    CU_ASSERT(done);
}

static const check_case cases[] = {{"made by nvcc", of_nvcc},
                                   {"choice", choice},
                                   {"damage", damage},
                                   {"objects and libraries", objects},
                                   {"many packed texts", together},
                                   {"sections that share bytes", shared_sections},
                                   {"wrappers", wrappers},
                                   {"linked images", linked},
                                   {"out of memory", out_of_memory}};
KILN_SUITE("sim fatbin", cases)
