/* cubin.c - reads data about kernels from a cubin. A cubin is an ELF file whose sections NVIDIA does not document. The
 * following facts come from comparing cubins of NVRTC 13.0 for sm_75 to sm_121 with ptxas' own statistics:
 *
 *   .symtab              kernels are FUNC symbols with bit 0x10 of st_other
 *   .nv.info             records, one for each kernel and attribute: registers, stack
 *   .nv.info.KERNEL      records: launch bounds, barriers
 *   .nv.shared.KERNEL    its size is the static shared memory; since sm_90 it begins with 1 KiB for the system
 *   .nv.constant0.KERNEL bank 0: launch data and parameters
 *   .nv.constant2.KERNEL the compiler's constants
 *   .nv.constant3        __constant__ of the module
 *
 * A record of .nv.info has a format (1 byte), an attribute (1 byte), and a number of 16 bits. In a record of format 4
 * this number is the length of the value, which follows. In records of other formats the number is the value. The file
 * is untrusted: this code checks each size, and skips anything unexpected. */
#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "compile.h"

enum {
    RECORD_SIZED = 4,
    ATTRIBUTE_MAX_THREADS = 0x05,
    ATTRIBUTE_REQUIRED_THREADS = 0x10,
    ATTRIBUTE_FRAME_SIZE = 0x11,
    ATTRIBUTE_STACK_SIZE = 0x12,
    ATTRIBUTE_REGISTERS = 0x2f,
    ATTRIBUTE_BARRIERS = 0x4c,
    ENTRY_FLAG = 0x10,
    SYSTEM_SHARED = 1024,
    MOST_KERNELS = 4096,
};

/* The state of reading one cubin. */
typedef struct reader {
    const kiln_allocator *mem;
    Elf *elf;
    size_t names; /* index of the section with section names */
    kiln__cubin_kernel *kernels;
    uint32_t *symbols;                     /* index of the symbol of each entry of `kernels` */
    size_t count, room, symbol_room, left; /* `left` is the number of bytes of the file that no section has used */
    bool has_system_shared;
} reader;

static bool read_number(const char *bytes, size_t length, size_t at, uint32_t *number)
{
    if (length < sizeof *number || at > length - sizeof *number)
        return false;
    memcpy(number, bytes + at, sizeof *number);
    return true;
}

static kiln__cubin_kernel *find_by_symbol(reader *in, uint32_t symbol)
{
    for (size_t i = 0; i < in->count; i++)
        if (in->symbols[i] == symbol)
            return &in->kernels[i];
    return NULL;
}

static kiln__cubin_kernel *find_by_name(reader *in, const char *name)
{
    for (size_t i = 0; i < in->count; i++)
        if (strcmp(in->kernels[i].symbol, name) == 0)
            return &in->kernels[i];
    return NULL;
}

static int to_int(uint64_t value) { return value > INT32_MAX ? INT32_MAX : (int)value; }

/* ---- records ---- */

static uint64_t multiply_threads(const char *value, size_t length)
{
    uint64_t threads = 1;
    for (size_t i = 0; i < 3; i++) {
        uint32_t n = 0;
        if (!read_number(value, length, 4 * i, &n) || n == 0 || n > 1024)
            return 0;
        threads *= n;
    }
    return threads;
}

static void read_record(reader *in, kiln__cubin_kernel *kernel, unsigned attribute, const char *value, size_t length,
                        unsigned small)
{
    uint32_t symbol = 0, number = 0;
    if (!kernel) { /* a record about the module names the kernel in its value */
        if (!read_number(value, length, 0, &symbol) || !read_number(value, length, 4, &number))
            return;
        kernel = find_by_symbol(in, symbol);
        if (!kernel)
            return;
        if (attribute == ATTRIBUTE_REGISTERS)
            kernel->registers = to_int(number);
        else if ((attribute == ATTRIBUTE_STACK_SIZE || attribute == ATTRIBUTE_FRAME_SIZE) &&
                 /* a number with all bits set means that recursion makes the size unknown */
                 number > kernel->local_bytes && number < UINT32_MAX)
            kernel->local_bytes = number;
        return;
    }
    if (attribute == ATTRIBUTE_MAX_THREADS || attribute == ATTRIBUTE_REQUIRED_THREADS)
        kernel->max_threads = to_int(multiply_threads(value, length));
    else if (attribute == ATTRIBUTE_BARRIERS)
        kernel->barriers = (int)(small & 0xff);
}

static void read_records(reader *in, kiln__cubin_kernel *kernel, const char *bytes, size_t length)
{
    size_t at = 0;
    while (length - at >= 4) {
        unsigned format = (unsigned char)bytes[at], attribute = (unsigned char)bytes[at + 1];
        unsigned small = (unsigned char)bytes[at + 2] | (unsigned)(unsigned char)bytes[at + 3] << 8;
        at += 4;
        size_t size = format == RECORD_SIZED ? small : 0;
        if (size > length - at)
            return;
        read_record(in, kernel, attribute, bytes + at, size, small);
        at += size;
    }
}

/* ---- sections ---- */

/* Returns true if a table of names ends with a NUL. If a table does not, libelf searches its whole rest for each name. */
static bool is_table(reader *in, size_t index)
{
    Elf_Scn *section = elf_getscn(in->elf, index);
    GElf_Shdr header;
    if (!section || !gelf_getshdr(section, &header) || header.sh_flags & SHF_COMPRESSED)
        return false;
    const Elf_Data *data = elf_rawdata(section, NULL);
    return data && data->d_buf && data->d_size && ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

static kiln_status read_symbols(reader *in, Elf_Scn *section, const GElf_Shdr *header, kiln_error **error)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && data->d_buf ? data->d_size / sizeof(Elf64_Sym) : 0;
    if (count && !is_table(in, header->sh_link))
        return kiln__fail(in->mem, error, KILN_ERROR_IO, "the names of the cubin's symbols do not end");
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
            !(symbol.st_other & ENTRY_FLAG))
            continue;
        const char *name = elf_strptr(in->elf, header->sh_link, symbol.st_name);
        /* many symbols may share one long name, so the length is measured only up to the limit */
        if (!name || !*name || strnlen(name, sizeof in->kernels->symbol) == sizeof in->kernels->symbol ||
            find_by_name(in, name))
            continue;
        if (in->count >= MOST_KERNELS)
            return kiln__fail(in->mem, error, KILN_ERROR_IO, "the cubin has more than %d kernels", (int)MOST_KERNELS);
        if (!kiln__grow(in->mem, &in->kernels, &in->room, in->count + 1, sizeof *in->kernels) ||
            !kiln__grow(in->mem, &in->symbols, &in->symbol_room, in->count + 1, sizeof *in->symbols))
            return kiln__fail_memory(error);
        in->kernels[in->count] = (kiln__cubin_kernel){0};
        memcpy(in->kernels[in->count].symbol, name, strlen(name) + 1);
        in->symbols[in->count++] = (uint32_t)i;
    }
    return KILN_OK;
}

/* Returns the part of a section's name after `prefix`, or NULL if the name does not begin with `prefix`. */
static const char *strip_prefix(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

static void read_section(reader *in, Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
    const char *kernel_name = strip_prefix(name, ".nv.info");
    kiln__cubin_kernel *kernel = NULL;
    if (kernel_name && (!*kernel_name || (kernel = find_by_name(in, kernel_name + 1)) != NULL)) {
        Elf_Data *data = elf_rawdata(section, NULL);
        if (data && data->d_buf)
            read_records(in, kernel, data->d_buf, data->d_size);
    } else if ((kernel_name = strip_prefix(name, ".nv.shared.")) != NULL &&
               (kernel = find_by_name(in, kernel_name)) != NULL) {
        kernel->static_shared = header->sh_size;
        if (in->has_system_shared && kernel->static_shared >= SYSTEM_SHARED)
            kernel->static_shared -= SYSTEM_SHARED;
    } else if (((kernel_name = strip_prefix(name, ".nv.constant0.")) != NULL ||
                (kernel_name = strip_prefix(name, ".nv.constant2.")) != NULL) &&
               (kernel = find_by_name(in, kernel_name)) != NULL && header->sh_size < UINT32_MAX) {
        kernel->constant_bytes += header->sh_size;
    } else if (strcmp(name, ".nv.constant3") == 0 && header->sh_size < UINT32_MAX) {
        for (size_t i = 0; i < in->count; i++)
            in->kernels[i].user_constant_bytes = header->sh_size;
    }
}

/* Reads all sections in one of two passes. The first pass finds the kernels. The second pass fills
 * in their data. It is an error if two sections whose contents are read share bytes. Otherwise a file could contain one
 * large section thousands of times. */
static kiln_status read_sections(reader *in, bool first, kiln_error **error)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(in->elf, section)) != NULL;) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(in->elf, in->names, header.sh_name);
        if (!name)
            continue;
        const bool reads = first ? header.sh_type == SHT_SYMTAB : strip_prefix(name, ".nv.info") != NULL;
        if (reads && header.sh_size > in->left)
            return kiln__fail(in->mem, error, KILN_ERROR_IO, "the cubin's sections are longer than the file");
        in->left -= reads ? header.sh_size : 0;
        kiln_status status = KILN_OK;
        if (!first)
            read_section(in, section, &header, name);
        else if (header.sh_type == SHT_SYMTAB)
            status = read_symbols(in, section, &header, error);
        else if (strcmp(name, ".nv.shared.reserved.0") == 0)
            in->has_system_shared = true;
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

bool kiln__is_relocatable(const void *cubin, size_t length)
{
    Elf64_Ehdr header;
    if (!cubin || length < sizeof header)
        return false;
    memcpy(&header, cubin, sizeof header);
    return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_REL;
}

/* Reads all kernels of a cubin in two passes. The caller frees *kernels. */
kiln_status kiln__cubin_kernels(const kiln_allocator *mem, const void *cubin, size_t length,
                                kiln__cubin_kernel **kernels, size_t *count, kiln_error **error)
{
    reader in = {.mem = mem, .left = length};
    kiln_status status = KILN_OK;
    GElf_Ehdr header;
    /* libelf changes some sections in place, and needs alignment, so it gets a copy */
    char *copy = kiln__alloc(mem, length);
    if (!copy)
        return kiln__fail_memory(error);
    if (length)
        memcpy(copy, cubin, length);
    if (elf_version(EV_CURRENT) == EV_NONE || !(in.elf = elf_memory(copy, length)) || elf_kind(in.elf) != ELF_K_ELF ||
        !gelf_getehdr(in.elf, &header) || header.e_machine != EM_CUDA || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf_getshdrstrndx(in.elf, &in.names) != 0 || !is_table(&in, in.names)) {
        status = kiln__fail(mem, error, KILN_ERROR_IO, "not a cubin");
        goto done;
    }
    status = read_sections(&in, true, error);
    if (status == KILN_OK)
        status = read_sections(&in, false, error);
    if (status != KILN_OK)
        goto done;
    if (!in.kernels && !(in.kernels = kiln__alloc(mem, sizeof *in.kernels))) {
        status = kiln__fail_memory(error);
        goto done;
    }
    *kernels = in.kernels;
    *count = in.count;
    in.kernels = NULL;
done:
    if (in.elf)
        elf_end(in.elf);
    kiln__free(mem, in.kernels);
    kiln__free(mem, in.symbols);
    kiln__free(mem, copy);
    return status;
}
