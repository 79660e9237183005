/* The facts that `kiln sim run` reads from a program's file (tools/kiln/cli/program.c). The suite makes the programs
 * itself: complete programs, programs that end at every byte, and programs with single changed bytes. */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

static int wrong;
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s\n", __LINE__, #condition);                                                             \
            wrong++;                                                                                                   \
        }                                                                                                              \
    } while (0)

typedef struct file {
    unsigned char p[2048];
    size_t length;
} file;

static size_t add(file *f, const void *p, size_t size)
{
    size_t at = f->length;
    memcpy(f->p + at, p, size);
    f->length = (at + size + 7) & ~(size_t)7;
    return at;
}

static size_t add_entry(file *f, uint16_t kind, uint32_t arch)
{
    unsigned char entry[72] = {0}; /* a header of 64 bytes and 8 of data */
    uint32_t header = 64;
    uint64_t size = 8;
    memcpy(entry, &kind, 2);
    memcpy(entry + 4, &header, 4);
    memcpy(entry + 8, &size, 8);
    memcpy(entry + 28, &arch, 4);
    add(f, entry, sizeof entry);
    return sizeof entry;
}

typedef struct shape {
    const char *library; /* a library that the program needs, or NULL */
    bool loader, rpath;
    /* the numbers of PTX and machine code entries of the fat binary, or 0 and 0 without a fat binary */
    unsigned ptx, machine;
    const char *note; /* a text in the file */
} shape;

/* Makes an ELF file of the given shape in memory: headers, sections, dynamic entries, and the strings that they name. */
static void make(file *f, shape what)
{
    memset(f, 0, sizeof *f);
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
                       .e_type = ET_DYN,
#ifdef __aarch64__
                       .e_machine = EM_AARCH64,
#else
                       .e_machine = EM_X86_64,
#endif
                       .e_phoff = sizeof head,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = 3,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = 3,
                       .e_shstrndx = 1};
    Elf64_Phdr segments[3] = {
        {.p_type = PT_LOAD}, {.p_type = PT_DYNAMIC}, {.p_type = what.loader ? PT_INTERP : PT_NOTE}};
    f->length = sizeof head + sizeof segments;
    char names[64] = "";
    size_t names_length = 1 + (size_t)snprintf(names + 1, sizeof names - 1, "%s", what.library ? what.library : "") + 1;
    size_t texts = add(f, names, names_length);
    Elf64_Dyn dynamic[5] = {{.d_tag = DT_STRTAB, .d_un.d_val = texts}, {.d_tag = DT_STRSZ, .d_un.d_val = names_length}};
    size_t count = 2;
    if (what.library)
        dynamic[count++] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 1};
    if (what.rpath)
        dynamic[count++] = (Elf64_Dyn){.d_tag = DT_RPATH, .d_un.d_val = 0};
    size_t at = add(f, dynamic, sizeof dynamic);
    segments[1].p_offset = segments[1].p_vaddr = at;
    segments[1].p_filesz = sizeof dynamic;
    if (what.note)
        add(f, what.note, strlen(what.note));
    static const char sections[] = "\0.shstrtab\0.nv_fatbin";
    Elf64_Shdr table[3] = {{0}, {.sh_name = 1, .sh_size = sizeof sections}, {.sh_name = 11}};
    table[1].sh_offset = add(f, sections, sizeof sections);
    if (what.ptx + what.machine > 0) {
        struct {
            uint32_t magic;
            uint16_t version, header;
            uint64_t size;
        } binary = {0xba55ed50u, 1, 16, 72 * (uint64_t)(what.ptx + what.machine)};
        table[2].sh_offset = add(f, &binary, sizeof binary);
        for (unsigned i = 0; i < what.ptx + what.machine; i++)
            add_entry(f, i < what.ptx ? 1 : 2, 80);
        table[2].sh_size = f->length - table[2].sh_offset;
    }
    head.e_shoff = add(f, table, sizeof table);
    segments[0].p_filesz = f->length;
    memcpy(f->p, &head, sizeof head);
    memcpy(f->p + sizeof head, segments, sizeof segments);
}

/* Reads a copy in a block of exactly that size, so that sanitizers see a read beyond its end. */
static program read_bytes(const unsigned char *p, size_t length)
{
    program got;
    unsigned char *copy = malloc(length ? length : 1);
    memcpy(copy, p, length);
    program_read(&got, copy, length);
    free(copy);
    return got;
}

static program of(shape what)
{
    file f;
    make(&f, what);
    return read_bytes(f.p, f.length);
}

static void kinds(void)
{
    program p = of((shape){.library = "libcudart.so.13", .loader = true, .ptx = 1, .machine = 2});
    CHECK(p.kind == PROGRAM_SHARED && strcmp(p.runtime, "libcudart.so.13") == 0);
    CHECK(p.binaries == 1 && p.ptx == 1 && p.machine == 2 && !p.is_static && !p.has_rpath);
    p = of((shape){.library = "libcuda.so.1", .loader = true, .rpath = true});
    CHECK(p.kind == PROGRAM_DRIVER && p.has_rpath && p.binaries == 0);
    CHECK(of((shape){.library = "libm.so.6", .loader = true}).kind == PROGRAM_PLAIN);
    CHECK(of((shape){.library = "libm.so.6", .loader = true, .ptx = 1}).kind == PROGRAM_NVIDIA);
    CHECK(of((shape){.library = "libm.so.6", .loader = true, .ptx = 1, .note = "kiln: cudart: "}).kind == PROGRAM_KILN);
    CHECK(of((shape){.ptx = 1}).is_static);
    CHECK(read_bytes((const unsigned char *)"#!/bin/sh", 9).kind == PROGRAM_OTHER);
    CHECK(read_bytes((const unsigned char *)"", 0).kind == PROGRAM_OTHER);
    CHECK(read_bytes((const unsigned char *)"\177ELF\1\1", 6).kind == PROGRAM_FOREIGN);
    CHECK(read_bytes((const unsigned char *)"\177ELF\2\1", 6).kind == PROGRAM_DAMAGED);
}

static void damage(void)
{
    file f;
    make(&f, (shape){.library = "libcudart.so.12", .loader = true, .ptx = 1, .machine = 1});
    for (size_t length = 4; length < f.length; length++) {
        program p = read_bytes(f.p, length);
        CHECK(p.kind == PROGRAM_DAMAGED && p.wrong);
    }
    for (size_t at = 0; at < f.length; at++) /* each byte with all bits set, with no bit set, and increased by one */
        for (int how = 0; how < 3; how++) {
            unsigned char before = f.p[at];
            f.p[at] = (unsigned char)(how == 0 ? 0xff : how == 1 ? 0 : before + 1);
            program p = read_bytes(f.p, f.length);
            CHECK((p.kind == PROGRAM_DAMAGED || p.kind == PROGRAM_FOREIGN) == (p.wrong != NULL));
            f.p[at] = before;
        }
}

int main(void)
{
    kinds();
    damage();
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
