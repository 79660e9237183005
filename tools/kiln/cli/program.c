/* program.c - reads from an ELF program how it uses CUDA: its shared libraries and its fat binaries. The file may be
 * damaged, so the code checks every offset. */
#include "program.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

typedef struct view {
    const unsigned char *p;
    size_t length;
} view;

static bool copy_part(view v, uint64_t at, void *to, size_t size)
{
    if (at > v.length || size > v.length - at)
        return false;
    memcpy(to, v.p + at, size);
    return true;
}

static view find_part(view v, uint64_t at, uint64_t size)
{
    if (at > v.length || size > v.length - at)
        return (view){NULL, 0};
    return (view){v.p + at, (size_t)size};
}

/* Returns the zero-terminated text at an offset of `v`. Returns "" if the text does not end inside `v`. */
static const char *text(view v, uint64_t at)
{
    return at < v.length && memchr(v.p + at, 0, v.length - (size_t)at) ? (const char *)v.p + at : "";
}

static void damaged(program *p, const char *why)
{
    p->kind = PROGRAM_DAMAGED;
    p->wrong = why;
}

/* ---- fat binaries ---- */

enum { FATBIN_HEADER = 16, ENTRY_LEAST = 32, KIND_PTX = 1 };

static void read_binary(program *p, view binary)
{
    for (uint64_t at = 0; at < binary.length;) {
        uint16_t kind;
        uint32_t header;
        uint64_t size;
        if (!copy_part(binary, at, &kind, sizeof kind) || !copy_part(binary, at + 4, &header, sizeof header) ||
            !copy_part(binary, at + 8, &size, sizeof size) || header < ENTRY_LEAST || header > binary.length - at ||
            size > binary.length - at - header) {
            damaged(p, "a fat binary's entry is longer than the fat binary");
            return;
        }
        *(kind == KIND_PTX ? &p->ptx : &p->machine) += 1;
        at += header + size;
    }
}

static void read_binaries(program *p, view section)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
    for (uint64_t at = 0; at + FATBIN_HEADER <= section.length && p->kind != PROGRAM_DAMAGED;) {
        uint16_t header;
        uint64_t size;
        if (memcmp(section.p + at, magic, sizeof magic) != 0) {
            at += 8; /* the next entry comes later; the bytes between two entries are a gap */
            continue;
        }
        memcpy(&header, section.p + at + 6, sizeof header);
        memcpy(&size, section.p + at + 8, sizeof size);
        if (header < FATBIN_HEADER || header > section.length - at || size > section.length - at - header) {
            damaged(p, "a fat binary is longer than its section");
            return;
        }
        p->binaries += size > 0; /* an empty binary stands for parts that are linked later, so it does not count */
        read_binary(p, find_part(section, at + header, size));
        at += header + size;
        at = (at + 7) & ~(uint64_t)7;
    }
}

/* ---- ELF ---- */

static void read_sections(program *p, view file, const Elf64_Ehdr *head)
{
    Elf64_Shdr names;
    if (head->e_shoff == 0 || head->e_shnum == 0) /* the section headers were stripped from the file */
        return;
    if (head->e_shentsize != sizeof names ||
        !copy_part(file, head->e_shoff + (uint64_t)head->e_shstrndx * sizeof names, &names, sizeof names)) {
        damaged(p, "the table of sections is not in the file");
        return;
    }
    view texts = find_part(file, names.sh_offset, names.sh_size);
    for (unsigned i = 0; i < head->e_shnum && p->kind != PROGRAM_DAMAGED; i++) {
        Elf64_Shdr s;
        if (!copy_part(file, head->e_shoff + (uint64_t)i * sizeof s, &s, sizeof s)) {
            damaged(p, "a section is not in the file");
            return;
        }
        const char *name = text(texts, s.sh_name);
        if (strcmp(name, ".nv_fatbin") != 0 && strcmp(name, "__nv_relfatbin") != 0)
            continue;
        view section = find_part(file, s.sh_offset, s.sh_size);
        if (!section.p)
            damaged(p, "a section with fat binaries is not in the file");
        else
            read_binaries(p, section);
    }
}

/* Finds the part of the file that is loaded at an address of the program. */
static bool find_place(view file, const Elf64_Ehdr *head, uint64_t address, uint64_t *at)
{
    for (unsigned i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr h;
        if (!copy_part(file, head->e_phoff + (uint64_t)i * sizeof h, &h, sizeof h))
            return false;
        if (h.p_type == PT_LOAD && address >= h.p_vaddr && address - h.p_vaddr < h.p_filesz) {
            *at = h.p_offset + (address - h.p_vaddr);
            return true;
        }
    }
    return false;
}

/* Reads the dynamic section: the shared libraries that the program needs, and its search path. If libcudart is among
 * them, the program uses a shared runtime; libcuda alone means the driver API. A runtime needs the driver too, so a
 * runtime has priority over the driver. */
static void read_needed(program *p, view file, const Elf64_Ehdr *head, view entries)
{
    uint64_t texts = 0, size = 0, at = 0;
    bool runpath = false, rpath = false;
    Elf64_Dyn d;
    for (uint64_t k = 0; copy_part(entries, k, &d, sizeof d) && d.d_tag != DT_NULL; k += sizeof d) {
        if (d.d_tag == DT_STRTAB)
            texts = d.d_un.d_val;
        else if (d.d_tag == DT_STRSZ)
            size = d.d_un.d_val;
        runpath = runpath || d.d_tag == DT_RUNPATH;
        rpath = rpath || d.d_tag == DT_RPATH;
    }
    p->has_rpath = rpath && !runpath;
    if (!find_place(file, head, texts, &at)) {
        damaged(p, "the names of its libraries are not in the file");
        return;
    }
    view names = find_part(file, at, size);
    for (uint64_t k = 0; copy_part(entries, k, &d, sizeof d) && d.d_tag != DT_NULL; k += sizeof d) {
        const char *name = d.d_tag == DT_NEEDED ? text(names, d.d_un.d_val) : "";
        if (strncmp(name, "libcudart.so", 12) == 0) {
            p->kind = PROGRAM_SHARED;
            p->runtime[0] = '\0';
            strncat(p->runtime, name, sizeof p->runtime - 1);
        } else if (strncmp(name, "libcuda.so", 10) == 0 && p->kind == PROGRAM_PLAIN) {
            p->kind = PROGRAM_DRIVER;
        }
    }
}

static void read_segments(program *p, view file, const Elf64_Ehdr *head)
{
    p->is_static = true;
    if (head->e_phnum == 0 || head->e_phentsize != sizeof(Elf64_Phdr)) {
        damaged(p, "it has no table of segments");
        return;
    }
    for (unsigned i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr h;
        if (!copy_part(file, head->e_phoff + (uint64_t)i * sizeof h, &h, sizeof h)) {
            damaged(p, "the table of segments is not in the file");
            return;
        }
        if (h.p_type == PT_INTERP)
            p->is_static = false;
        if (h.p_type == PT_DYNAMIC && p->kind != PROGRAM_DAMAGED)
            read_needed(p, file, head, find_part(file, h.p_offset, h.p_filesz));
    }
}

static bool contains(view v, const char *word)
{
    size_t length = strlen(word);
    for (const unsigned char *at = v.p, *end = v.p + v.length; at && (size_t)(end - at) >= length; at++) {
        at = memchr(at, word[0], (size_t)(end - at) - length + 1);
        if (!at)
            break;
        if (memcmp(at, word, length) == 0)
            return true;
    }
    return false;
}

void program_read(program *p, const void *bytes, size_t length)
{
#ifdef __aarch64__
    enum { MACHINE = EM_AARCH64 };
#else
    enum { MACHINE = EM_X86_64 };
#endif
    view file = {bytes, length};
    Elf64_Ehdr head;
    *p = (program){.kind = PROGRAM_OTHER};
    if (length < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return;
    if (length > EI_DATA && (file.p[EI_CLASS] != ELFCLASS64 || file.p[EI_DATA] != ELFDATA2LSB)) {
        p->kind = PROGRAM_FOREIGN;
        p->wrong = "it is not a 64-bit program of this machine";
        return;
    }
    if (!copy_part(file, 0, &head, sizeof head)) {
        damaged(p, "its ELF header is incomplete");
        return;
    }
    if (head.e_machine != MACHINE || (head.e_type != ET_EXEC && head.e_type != ET_DYN)) {
        p->kind = PROGRAM_FOREIGN;
        p->wrong = head.e_machine != MACHINE ? "it is for another machine" : "it is not linked";
        return;
    }
    p->kind = PROGRAM_PLAIN;
    read_segments(p, file, &head);
    if (p->kind != PROGRAM_DAMAGED)
        read_sections(p, file, &head);
    /* a statically linked runtime of Kiln has this text in one of its messages (runtime/register.c) */
    if ((p->kind == PROGRAM_PLAIN || p->kind == PROGRAM_DRIVER) && p->binaries > 0)
        p->kind = contains(file, "kiln: cudart: ") ? PROGRAM_KILN : PROGRAM_NVIDIA;
}
