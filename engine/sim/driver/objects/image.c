/* image.c - finds the PTX in images that a program passes to the driver.
 *
 * NVIDIA does not document the layout of fat binaries. In the output of nvcc 11 to 13, a fat binary is a header of 16
 * bytes, followed by entries. An entry is a header of 64 bytes or more, followed by data that is padded to a multiple
 * of 8 bytes. */
#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <libelf.h>
#include <gelf.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cu_image.h"

#define FATBIN_MAGIC 0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u
enum { FATBIN_HEADER = 16, ENTRY_LEAST = 64, KIND_PTX = 1, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };
/* The offsets, in bytes, of the fields of an entry's header. */
enum {
    ENTRY_KIND = 0,
    ENTRY_HEADER = 4,
    ENTRY_SIZE = 8,
    ENTRY_COMPRESSED = 16,
    ENTRY_ARCH = 28,
    ENTRY_FLAGS = 40,
    ENTRY_UNPACKED = 56
};
#define TEXT_MOST ((uint64_t)1 << 28) /* largest size of one uncompressed text, in bytes */

bool sim_strict_target(void)
{
    const char *text = getenv("KILN_SIM_TARGET");
    return text && strcmp(text, "strict") == 0;
}

static uint64_t load_little_endian(const unsigned char *p, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned k = bytes; k-- > 0;)
        value = value << 8 | p[k];
    return value;
}

static void store_little_endian(unsigned char *p, uint64_t value, unsigned bytes)
{
    for (unsigned k = 0; k < bytes; k++)
        p[k] = (unsigned char)(value >> (8 * k));
}

/* ---- lists of texts ---- */

bool sim_texts_add(sim_texts *texts, const char *text, size_t length, const char *name, bool lazy)
{
    if (!kiln__grow(texts->mem, &texts->items, &texts->capacity, texts->count + 1, sizeof *texts->items))
        return false;
    char *data = kiln__alloc(texts->mem, length + 1), *copy = kiln__strdup(texts->mem, name);
    if (!data || !copy) {
        kiln__free(texts->mem, data);
        kiln__free(texts->mem, copy);
        return false;
    }
    if (length)
        memcpy(data, text, length);
    data[length] = '\0';
    texts->items[texts->count++] = (sim_text){.data = data, .length = length, .name = copy, .lazy = lazy};
    return true;
}

void sim_texts_cut(sim_texts *texts, size_t count)
{
    while (texts->count > count) {
        sim_text *last = &texts->items[--texts->count];
        kiln__free(texts->mem, last->data);
        kiln__free(texts->mem, last->name);
    }
}

void sim_texts_free(sim_texts *texts)
{
    sim_texts_cut(texts, 0);
    kiln__free(texts->mem, texts->items);
    texts->items = NULL;
    texts->capacity = 0;
}

/* ---- the output of cuLinkComplete() ----
 *
 * The image begins with 8 bytes of magic. Then come a hash of the rest, the length of the whole image, and the number
 * of texts. After this head come the texts. Each text has four parts: the length of its name, its own length, its name,
 * and its bytes. All numbers have 8 bytes and are little-endian. */

static const unsigned char linked_magic[8] = {0x7f, 'k', 'i', 'l', 'n', 'P', 'T', 'X'};
enum { LINKED_HASH = 8, LINKED_LENGTH = 16, LINKED_COUNT = 24, LINKED_HEADER = 32, LINKED_ENTRY = 16 };

/* Writes texts in the form that read_linked() reads. The caller frees the result. */
unsigned char *sim_image_write(const sim_texts *texts, const bool *used, size_t *length)
{
    size_t bytes = LINKED_HEADER, count = 0;
    for (size_t k = 0; k < texts->count; k++)
        if (used[k])
            bytes += LINKED_ENTRY + strlen(texts->items[k].name) + texts->items[k].length, count++;
    unsigned char *image = kiln__alloc(texts->mem, bytes);
    if (!image)
        return NULL;
    unsigned char *at = image + LINKED_HEADER;
    for (size_t k = 0; k < texts->count; k++) {
        const sim_text *t = &texts->items[k];
        if (!used[k])
            continue;
        size_t name = strlen(t->name);
        store_little_endian(at, name, 8);
        store_little_endian(at + 8, t->length, 8);
        memcpy(at + LINKED_ENTRY, t->name, name);
        memcpy(at + LINKED_ENTRY + name, t->data, t->length);
        at += LINKED_ENTRY + name + t->length;
    }
    memcpy(image, linked_magic, sizeof linked_magic);
    store_little_endian(image + LINKED_LENGTH, bytes, 8);
    store_little_endian(image + LINKED_COUNT, count, 8);
    store_little_endian(image + LINKED_HASH, kiln__hash(image + LINKED_LENGTH, bytes - LINKED_LENGTH).low, 8);
    *length = bytes;
    return image;
}

static bool is_linked(const unsigned char *p, size_t length)
{
    return length >= LINKED_HEADER && memcmp(p, linked_magic, sizeof linked_magic) == 0;
}

/* Checks the hash of an output of cuLinkComplete(), and reads the texts. */
static sim_image_result read_linked(sim_texts *texts, const unsigned char *p, size_t length, kiln__text *log)
{
    uint64_t whole = load_little_endian(p + LINKED_LENGTH, 8), count = load_little_endian(p + LINKED_COUNT, 8);
    bool good = whole <= length && whole >= LINKED_HEADER &&
                kiln__hash(p + LINKED_LENGTH, (size_t)whole - LINKED_LENGTH).low ==
                    load_little_endian(p + LINKED_HASH, 8);
    size_t at = LINKED_HEADER;
    texts->linked = true;
    for (uint64_t k = 0; good && k < count; k++) {
        uint64_t left = whole - at, name = 0, text = 0;
        if (left >= LINKED_ENTRY)
            name = load_little_endian(p + at, 8), text = load_little_endian(p + at + 8, 8), left -= LINKED_ENTRY;
        good = whole - at >= LINKED_ENTRY && name <= left && text <= left - name;
        if (!good)
            break;
        at += LINKED_ENTRY;
        char *copy = kiln__alloc(texts->mem, (size_t)name + 1);
        if (copy) {
            memcpy(copy, p + at, (size_t)name);
            copy[name] = '\0';
        }
        bool added = copy && sim_texts_add(texts, (const char *)p + at + name, (size_t)text, copy, false);
        kiln__free(texts->mem, copy);
        if (!added)
            return SIM_IMAGE_MEMORY;
        at += (size_t)(name + text);
    }
    if (good)
        return SIM_IMAGE_OK;
    kiln__text_puts(log, "error   : the linked image is damaged\n");
    return SIM_IMAGE_INVALID;
}

/* ---- PTX ---- */

/* A text ends at a NUL or at the end of the data, because fat binaries are padded with NULs. */
static sim_image_result read_text(sim_texts *texts, const unsigned char *p, size_t length, const char *name, bool lazy)
{
    return sim_texts_add(texts, (const char *)p, strnlen((const char *)p, length), name, lazy) ? SIM_IMAGE_OK
                                                                                               : SIM_IMAGE_MEMORY;
}

/* ---- fat binaries ---- */

static bool is_fatbin(const unsigned char *p, size_t length)
{
    return length >= FATBIN_HEADER && load_little_endian(p, 4) == FATBIN_MAGIC;
}

/* Decompresses the data of an entry and adds it as a text. */
static sim_image_result read_packed(sim_texts *texts, const unsigned char *data, uint64_t packed, uint64_t unpacked,
                                    uint64_t flags, const char *name, bool lazy, kiln__text *log)
{
    if (unpacked > TEXT_MOST || packed > TEXT_MOST) {
        kiln__text_printf(log, "error   : the PTX in '%s' has %" PRIu64 " bytes, above the limit of %" PRIu64 "\n",
                          name, unpacked > packed ? unpacked : packed, (uint64_t)TEXT_MOST);
        return SIM_IMAGE_INVALID;
    }
    if (unpacked > SIM_UNPACKED_MOST - texts->unpacked) {
        kiln__text_printf(
            log, "error   : the PTX up to '%s' has more than %" PRIu64 " bytes uncompressed, which is the limit\n",
            name, SIM_UNPACKED_MOST);
        return SIM_IMAGE_INVALID;
    }
    bool lz4 = (flags & FLAG_LZ4) != 0;
    /* An impossible size is refused before memory is allocated for it: LZ4 expands data by a factor of at most 255. */
    if (lz4 ? unpacked > packed * 255 + 16 : ZSTD_getFrameContentSize(data, (size_t)packed) != unpacked) {
        kiln__text_printf(log, "error   : the PTX in '%s' is damaged: its size does not fit\n", name);
        return SIM_IMAGE_INVALID;
    }
    char *text = kiln__alloc(texts->mem, (size_t)unpacked + 1);
    if (!text)
        return SIM_IMAGE_MEMORY;
    uint64_t made = UINT64_MAX;
    if (lz4) {
        int got = LZ4_decompress_safe((const char *)data, text, (int)packed, (int)unpacked);
        made = got < 0 ? UINT64_MAX : (uint64_t)got;
    } else {
        size_t got = ZSTD_decompress(text, (size_t)unpacked, data, (size_t)packed);
        made = ZSTD_isError(got) ? UINT64_MAX : got;
    }
    sim_image_result result = SIM_IMAGE_INVALID;
    texts->unpacked += unpacked;
    if (made == unpacked)
        result = read_text(texts, (const unsigned char *)text, (size_t)unpacked, name, lazy);
    else
        kiln__text_printf(log, "error   : the PTX in '%s' is damaged and cannot be decompressed\n", name);
    kiln__free(texts->mem, text);
    return result;
}

static sim_image_result read_entry(sim_texts *texts, const unsigned char *entry, const char *name, bool lazy,
                                   kiln__text *log)
{
    uint64_t header = load_little_endian(entry + ENTRY_HEADER, 4), size = load_little_endian(entry + ENTRY_SIZE, 8);
    uint64_t flags = load_little_endian(entry + ENTRY_FLAGS, 8);
    uint64_t packed = load_little_endian(entry + ENTRY_COMPRESSED, 4),
             unpacked = load_little_endian(entry + ENTRY_UNPACKED, 8);
    const unsigned char *data = entry + header;
    if (!(flags & (FLAG_LZ4 | FLAG_ZSTD)) && unpacked == 0)
        return read_text(texts, data, (size_t)size, name, lazy);
    if (!(flags & (FLAG_LZ4 | FLAG_ZSTD))) {
        kiln__text_printf(log, "error   : the PTX in '%s' has an unknown compression\n", name);
        return SIM_IMAGE_NO_BINARY;
    }
    if (packed > size) {
        kiln__text_printf(log, "error   : the PTX in '%s' is damaged: it is longer than its entry\n", name);
        return SIM_IMAGE_INVALID;
    }
    return read_packed(texts, data, packed, unpacked, flags, name, lazy, log);
}

/* Reads the entry that suits the device best. This is PTX for the latest architecture that is not later than the
 * architecture of the device. Sets *end to the end of the fat binary. */
static sim_image_result read_fatbin(sim_texts *texts, const unsigned char *p, size_t length, const char *name, int cc,
                                    bool lazy, kiln__text *log, size_t *end)
{
    uint64_t at = load_little_endian(p + 6, 2), size = load_little_endian(p + 8, 8);
    *end = length;
    if (at < FATBIN_HEADER || at > length || size > length - at) {
        kiln__text_printf(log, "error   : the fat binary in '%s' is damaged: it has %" PRIu64 " bytes of %" PRIu64 "\n",
                          name, (uint64_t)length, at <= UINT64_MAX - size ? at + size : UINT64_MAX);
        return SIM_IMAGE_INVALID;
    }
    uint64_t whole = at + size;
    *end = (size_t)whole;
    const unsigned char *best = NULL;
    uint64_t best_arch = 0, entries = 0, later = 0;
    while (at < whole) {
        const unsigned char *entry = p + at;
        uint64_t left = whole - at, header = left >= ENTRY_LEAST ? load_little_endian(entry + ENTRY_HEADER, 4) : 0;
        if (header < ENTRY_LEAST || header > left || load_little_endian(entry + ENTRY_SIZE, 8) > left - header) {
            kiln__text_printf(log, "error   : the fat binary in '%s' is damaged at byte %" PRIu64 "\n", name, at);
            return SIM_IMAGE_INVALID;
        }
        uint64_t arch = load_little_endian(entry + ENTRY_ARCH, 4);
        bool ptx = load_little_endian(entry + ENTRY_KIND, 2) == KIND_PTX;
        if (ptx && arch <= (uint64_t)cc && arch >= best_arch)
            best = entry, best_arch = arch;
        if (ptx && arch > (uint64_t)cc && (!later || arch < later))
            later = arch;
        entries++;
        at += header + load_little_endian(entry + ENTRY_SIZE, 8);
    }
    if (best)
        return read_entry(texts, best, name, lazy, log);
    if (later && later <= INT_MAX && (!texts->later || (int)later < texts->later))
        texts->later = (int)later;
    if (later)
        kiln__text_printf(log, "the PTX in '%s' is for sm_%" PRIu64 ", later than the device's sm_%d\n", name, later,
                          cc);
    else
        kiln__text_printf(log,
                          "'%s' has %" PRIu64 " images of machine code (cubins) and no PTX; the simulated device "
                          "runs PTX only: compile for compute_NN as well as sm_NN\n",
                          name, entries);
    return SIM_IMAGE_NO_BINARY;
}

/* Reads all fat binaries of a section. Each begins at a multiple of 8 bytes. */
static sim_image_result read_fatbins(sim_texts *texts, const unsigned char *p, size_t length, const char *name, int cc,
                                     bool lazy, kiln__text *log)
{
    sim_image_result worst = SIM_IMAGE_OK;
    for (size_t at = 0; at < length && worst != SIM_IMAGE_INVALID && worst != SIM_IMAGE_MEMORY;) {
        size_t end;
        if (!is_fatbin(p + at, length - at)) {
            at += 8 < length - at ? 8 : length - at;
            continue;
        }
        sim_image_result result = read_fatbin(texts, p + at, length - at, name, cc, lazy, log, &end);
        worst = result == SIM_IMAGE_OK ? worst : result;
        at += (end + 7) & ~(size_t)7;
    }
    return worst;
}

/* ---- host objects and libraries ---- */

static sim_image_result refuse_cubin(const char *name, kiln__text *log)
{
    kiln__text_printf(log,
                      "'%s' is machine code (a cubin); the simulated device runs PTX only: compile for compute_NN "
                      "rather than sm_NN\n",
                      name);
    return SIM_IMAGE_NO_BINARY;
}

/* Reads those sections of one object that have fat binaries. Thousands of section headers could name the same bytes,
 * and reading them would take unbounded memory and time. So the function demands that the sections together are not
 * longer than the object. */
static sim_image_result read_object(sim_texts *texts, Elf *elf, const char *name, int cc, bool lazy, kiln__text *log)
{
    GElf_Ehdr header;
    size_t names = 0, left = 0;
    if (!gelf_getehdr(elf, &header)) {
        kiln__text_printf(log, "error   : '%s' is a damaged object\n", name);
        return SIM_IMAGE_INVALID;
    }
    if (header.e_machine == EM_CUDA)
        return refuse_cubin(name, log);
    sim_image_result worst = SIM_IMAGE_OK;
    bool any = false;
    if (elf_getshdrstrndx(elf, &names) != 0)
        names = 0;
    if (!elf_rawfile(elf, &left))
        left = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr shape;
        const char *title = gelf_getshdr(section, &shape) ? elf_strptr(elf, names, shape.sh_name) : NULL;
        if (!title || (strcmp(title, ".nv_fatbin") != 0 && strcmp(title, "__nv_relfatbin") != 0))
            continue;
        const Elf_Data *data = elf_rawdata(section, NULL);
        if (!data || !data->d_buf)
            continue;
        any = true;
        if (data->d_size > left) {
            kiln__text_printf(log, "error   : '%s' is a damaged object: its sections are longer than the object\n",
                              name);
            return SIM_IMAGE_INVALID;
        }
        left -= data->d_size;
        sim_image_result result = read_fatbins(texts, data->d_buf, data->d_size, name, cc, lazy, log);
        worst = result == SIM_IMAGE_OK ? worst : result;
        if (worst == SIM_IMAGE_MEMORY)
            break;
    }
    if (!any && !lazy) {
        kiln__text_printf(log, "'%s' has no device code\n", name);
        return SIM_IMAGE_NO_BINARY;
    }
    return worst;
}

/* Reads all members of an archive. The function skips members that have no PTX for the device. If a program needs a
 * name from a skipped member, the linker reports that the name is missing. */
static sim_image_result read_archive(sim_texts *texts, Elf *archive, const char *name, int cc, kiln__text *log)
{
    sim_image_result worst = SIM_IMAGE_OK;
    /* this command works with elf_memory() and also with the members of an archive */
    Elf_Cmd command = ELF_C_READ_MMAP;
    Elf *member;
    while (worst == SIM_IMAGE_OK && (member = elf_begin(-1, command, archive)) != NULL) {
        const Elf_Arhdr *header = elf_getarhdr(member);
        char title[512];
        snprintf(title, sizeof title, "%.250s:%.250s", name, header && header->ar_name ? header->ar_name : "?");
        if (elf_kind(member) == ELF_K_ELF)
            worst = read_object(texts, member, title, cc, true, log);
        if (worst == SIM_IMAGE_NO_BINARY)
            worst = SIM_IMAGE_OK;
        command = elf_next(member);
        elf_end(member);
        if (command == ELF_C_NULL)
            break;
    }
    return worst;
}

static sim_image_result read_elf(sim_texts *texts, const unsigned char *p, size_t length, const char *name, int cc,
                                 kiln__text *log)
{
    /* libelf converts some headers in place. So it gets a copy of the image, which is also aligned. */
    char *copy = kiln__alloc(texts->mem, length ? length : 1);
    if (!copy)
        return SIM_IMAGE_MEMORY;
    memcpy(copy, p, length);
    Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_memory(copy, length);
    sim_image_result result = SIM_IMAGE_INVALID;
    if (elf && elf_kind(elf) == ELF_K_AR)
        result = read_archive(texts, elf, name, cc, log);
    else if (elf && elf_kind(elf) == ELF_K_ELF)
        result = read_object(texts, elf, name, cc, false, log);
    else
        kiln__text_printf(log, "error   : '%s' is a damaged object or library\n", name);
    elf_end(elf);
    kiln__free(texts->mem, copy);
    return result;
}

/* ---- any image ---- */

static sim_image_result read_any(sim_texts *texts, const void *bytes, size_t length, const char *name, int cc,
                                 kiln__text *log)
{
    static const char archive[] = "!<arch>\n";
    const unsigned char *p = bytes;
    size_t end;
    if (is_linked(p, length))
        return read_linked(texts, p, length, log);
    if (is_fatbin(p, length))
        return read_fatbin(texts, p, length, name, cc, false, log, &end);
    if (length >= SELFMAG && (memcmp(p, ELFMAG, SELFMAG) == 0 ||
                              (length >= sizeof archive - 1 && memcmp(p, archive, sizeof archive - 1) == 0)))
        return read_elf(texts, p, length, name, cc, log);
    return read_text(texts, p, length, name, false);
}

/* Returns true if the image has no PTX for the device and must be read again for a later architecture. PTX for a later
 * architecture may use only features that the device has. The parser decides this. In this case removes the texts that
 * the first reading has added. */
static bool takes_later(sim_texts *texts, const sim_texts *before, sim_image_result result)
{
    if (result != SIM_IMAGE_NO_BINARY || !texts->later || sim_strict_target())
        return false;
    sim_texts_cut(texts, before->count);
    texts->unpacked = before->unpacked;
    return true;
}

sim_image_result sim_image_read(sim_texts *texts, const void *bytes, size_t length, const char *name, int cc,
                                kiln__text *log)
{
    texts->later = 0;
    const sim_texts before = *texts;
    sim_image_result result = read_any(texts, bytes, length, name, cc, log);
    if (takes_later(texts, &before, result))
        result = read_any(texts, bytes, length, name, texts->later, log);
    return result;
}

size_t sim_image_extent(const void *image)
{
    const unsigned char *p = image;
    const char *text = image;
    static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba};
    /* strncmp stops at a NUL. So a text that is shorter than the magic is not read past its end. */
    if (strncmp(text, (const char *)fatbin, sizeof fatbin) == 0) {
        uint64_t header = load_little_endian(p + 6, 2), size = load_little_endian(p + 8, 8);
        return size > SIZE_MAX - header ? SIZE_MAX : (size_t)(header + size);
    }
    if (strncmp(text, (const char *)linked_magic, sizeof linked_magic) == 0)
        return (size_t)load_little_endian(p + LINKED_LENGTH, 8);
    return strlen(text);
}

/* Reads all parts of a program, or one image. */
static sim_image_result load_any(sim_texts *texts, const void *image, int cc, kiln__text *log)
{
    /* The wrapper that nvcc writes around a fat binary. In version 2, the array `parts` has the parts of a program that
     * are not linked yet. The array ends with NULL. */
    typedef struct wrapper {
        uint32_t magic, version;
        const void *data;
        const void *const *parts;
    } wrapper;
    enum { PARTS_APART = 2 };
    static const unsigned char magic[] = {0xb1, 0x43, 0x62, 0x46};
    if (strncmp(image, ELFMAG, SELFMAG) == 0) /* an ELF file in memory does not tell its length */
        return refuse_cubin("image", log);
    if (strncmp(image, (const char *)magic, sizeof magic) != 0)
        return read_any(texts, image, sim_image_extent(image), "image", cc, log);
    wrapper w;
    memcpy(&w, image, sizeof w);
    if (w.version == PARTS_APART && w.parts && w.parts[0]) {
        sim_image_result result = SIM_IMAGE_OK;
        texts->linked = true;
        /* A part may have no PTX. NVIDIA's libcudadevrt.a has such parts. If a program needs names of such a part, the
         * linker reports that they are missing. */
        for (size_t k = 0; w.parts[k] && (result == SIM_IMAGE_OK || result == SIM_IMAGE_NO_BINARY); k++) {
            char name[32];
            snprintf(name, sizeof name, "part %zu", k + 1);
            result = read_any(texts, w.parts[k], sim_image_extent(w.parts[k]), name, cc, log);
        }
        return result == SIM_IMAGE_NO_BINARY && texts->count > 0 ? SIM_IMAGE_OK : result;
    }
    if (!w.data) {
        kiln__text_puts(log, "error   : the wrapper of the fat binary is empty\n");
        return SIM_IMAGE_INVALID;
    }
    return read_any(texts, w.data, sim_image_extent(w.data), "image", cc, log);
}

sim_image_result sim_image_load(sim_texts *texts, const void *image, int cc, kiln__text *log)
{
    texts->later = 0;
    const sim_texts before = *texts;
    sim_image_result result = load_any(texts, image, cc, log);
    if (takes_later(texts, &before, result))
        result = load_any(texts, image, texts->later, log);
    return result;
}
