/* program.h - reads from the file of a program how it uses CUDA (program.c). */
#ifndef KILN_CLI_PROGRAM_H
#define KILN_CLI_PROGRAM_H
#include <stdbool.h>
#include <stddef.h>

typedef enum program_kind {
    PROGRAM_OTHER,   /* a file that is not in the ELF format, for example a script */
    PROGRAM_PLAIN,   /* an ELF program without CUDA, which may still be an interpreter, or load CUDA later */
    PROGRAM_DRIVER,  /* linked with libcuda */
    PROGRAM_SHARED,  /* linked with a shared libcudart */
    PROGRAM_KILN,    /* contains Kiln's runtime */
    PROGRAM_NVIDIA,  /* the program has fat binaries and no other runtime, so it contains NVIDIA's runtime */
    PROGRAM_DAMAGED, /* the file is damaged, and `wrong` gives the reason */
    /* a program for another machine, or a program that cannot be started directly; `wrong` gives the reason */
    PROGRAM_FOREIGN
} program_kind;

typedef struct program {
    program_kind kind;
    const char *wrong;
    char runtime[32];    /* SHARED: "libcudart.so.13" */
    bool is_static;      /* true: the program has no dynamic loader, so LD_LIBRARY_PATH has no effect */
    bool has_rpath;      /* true: the program has an old DT_RPATH, which the loader prefers to LD_LIBRARY_PATH */
    size_t binaries;     /* number of fat binaries */
    size_t ptx, machine; /* number of PTX entries and of machine-code entries in the fat binaries */
} program;

/* Reads the file of a program, whose bytes may be arbitrary, into `p`. */
void program_read(program *p, const void *bytes, size_t length);
#endif
