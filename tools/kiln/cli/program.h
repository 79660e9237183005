/* program.h - what a program needs of CUDA, from its file (program.c). */
#ifndef KILN_CLI_PROGRAM_H
#define KILN_CLI_PROGRAM_H
#include <stdbool.h>
#include <stddef.h>

typedef enum program_kind {
    PROGRAM_OTHER,   /* no ELF file: a script */
    PROGRAM_PLAIN,   /* an ELF program that names nothing of CUDA: an interpreter, or it loads CUDA later */
    PROGRAM_DRIVER,  /* linked with libcuda */
    PROGRAM_SHARED,  /* linked with a shared libcudart */
    PROGRAM_KILN,    /* has Kiln's runtime inside */
    PROGRAM_NVIDIA,  /* has fat binaries and no other runtime: NVIDIA's is inside */
    PROGRAM_DAMAGED, /* `wrong` says why */
    PROGRAM_FOREIGN  /* of another machine, or not to be started by itself: `wrong` */
} program_kind;

typedef struct program {
    program_kind kind;
    const char *wrong;
    char runtime[32];    /* SHARED: "libcudart.so.13" */
    bool is_static;      /* no dynamic loader: LD_LIBRARY_PATH has no effect */
    bool has_rpath;      /* an old DT_RPATH, which the loader prefers to LD_LIBRARY_PATH */
    size_t binaries;     /* fat binaries */
    size_t ptx, machine; /* entries of them */
} program;

/* Any bytes. */
void program_read(program *p, const void *bytes, size_t length);
#endif
