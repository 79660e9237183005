/* program.h - reads from the file of a program how it uses CUDA (program.c). */
#ifndef KILN_CLI_PROGRAM_H
#define KILN_CLI_PROGRAM_H
#include <stdbool.h>
#include <stddef.h>

typedef enum program_kind {
    PROGRAM_OTHER,   /* not an ELF file, but for example a script */
    PROGRAM_PLAIN,   /* an ELF program without CUDA: it may be an interpreter, or load CUDA later */
    PROGRAM_DRIVER,  /* linked with libcuda */
    PROGRAM_SHARED,  /* linked with a shared libcudart */
    PROGRAM_KILN,    /* contains Kiln's runtime */
    PROGRAM_NVIDIA,  /* has fat binaries and no other runtime, so it contains NVIDIA's runtime */
    PROGRAM_DAMAGED, /* `wrong` has the reason */
    PROGRAM_FOREIGN  /* a program of another machine, or a program that cannot be started directly; see `wrong` */
} program_kind;

typedef struct program {
    program_kind kind;
    const char *wrong;
    char runtime[32];    /* SHARED: "libcudart.so.13" */
    bool is_static;      /* static: it has no dynamic loader, so LD_LIBRARY_PATH has no effect */
    bool has_rpath;      /* an old DT_RPATH, which the loader prefers to LD_LIBRARY_PATH */
    size_t binaries;     /* number of fat binaries */
    size_t ptx, machine; /* number of PTX and machine-code entries in them */
} program;

/* Reads a program. The bytes may be arbitrary. */
void program_read(program *p, const void *bytes, size_t length);
#endif
