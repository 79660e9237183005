/* draft.h - a CUDA source read as words, and what a first spec says about it. For this room and its tests. */
#ifndef KILN_DRAFT_H
#define KILN_DRAFT_H

#include "base.h"
#include "compile.h"
#include "spec.h"
#include "words.h"

/* ---- the source as words (scan.c) ---- */

typedef struct kiln__macro { /* that the source defines */
    const char *name;
    size_t from, to; /* the words of its value */
    bool guarded;    /* #ifndef NAME stands before it: a definition from outside comes first */
    bool function;
} kiln__macro;

typedef struct kiln__template_param {
    const char *name;
    bool type;      /* typename T */
    bool flag;      /* bool F */
    size_t initial; /* the word of its default, 0: none */
} kiln__template_param;

typedef struct kiln__kernel {
    const char *name, *plain;      /* with its namespaces; without */
    size_t params_from, params_to; /* words between the parentheses */
    size_t body_from, body_to;     /* words between the braces */
    size_t bounds;                 /* the word of its __launch_bounds__, 0: none */
    unsigned line;
    kiln__template_param *templates;
    size_t template_count;
} kiln__kernel;

typedef struct kiln__scan {
    kiln__arena *arena;
    kiln__word *words; /* number 0 is empty */
    size_t count;
    kiln__macro *macros;
    size_t macro_count;
    kiln__kernel *kernels; /* those with a body */
    size_t kernel_count;
} kiln__scan;

/* Reads any text. Everything is in the arena, and points into the text. */
kiln_status kiln__scan_source(kiln__arena *arena, const char *text, size_t length, kiln__scan *scan,
                              kiln_error **error);
bool kiln__word_is(const kiln__scan *scan, size_t word, const char *text); /* false past the last word */
char *kiln__word_copy(const kiln__scan *scan, size_t word);
size_t kiln__word_close(const kiln__scan *scan, size_t open); /* the bracket that closes it; the count: none */
/* Whether the words from..to have that word, outside of directives. */
bool kiln__words_have(const kiln__scan *scan, size_t from, size_t to, const char *text);
const kiln__macro *kiln__macro_find(const kiln__scan *scan, const char *name); /* NULL: none */
bool kiln__word_whole(const kiln__scan *scan, size_t word, int64_t *value);    /* a whole number */

/* ---- what the spec says ---- */

typedef enum kiln__tunable_kind {
    KILN__TUNABLE_MACRO,    /* a macro of the source */
    KILN__TUNABLE_TEMPLATE, /* an argument of the kernel's template */
    KILN__TUNABLE_THREADS   /* of the launch alone */
} kiln__tunable_kind;

typedef struct kiln__tunable {
    kiln__tunable_kind kind;
    const char *name;            /* in the spec */
    const char *source;          /* in the source; NULL: not there */
    const char *values, *chosen; /* as the spec has them: "64, 128, 256", "128" */
    int64_t number;              /* the chosen one; 0: it is a type */
    const char *why;             /* a comment */
    bool size;                   /* it is a size that becomes a macro (bake) */
} kiln__tunable;

typedef enum kiln__role {
    KILN__ROLE_BUFFER,
    KILN__ROLE_SIZE,
    KILN__ROLE_SCALAR,
    KILN__ROLE_STRUCT, /* by value; its fields are arguments too, behind those of the kernel */
    KILN__ROLE_BYTES   /* a structure whose fields are not known */
} kiln__role;

typedef struct kiln__draft_argument { /* a parameter of the kernel */
    const char *name;
    const char *declared; /* as the source has it, for comments */
    kiln__role role;
    const char *type; /* of a buffer's elements: "f32"; of a tunable that is a type: its name */
    int lanes;        /* 4 for a float4 */
    bool constant, floating;
    bool odd;        /* no type of a spec: its bytes are taken */
    bool indirect;   /* a pointer to pointers */
    size_t from, to; /* its words */
    size_t parent;   /* of a field: the number of the structure, from 1 */
    uint64_t count;  /* of a field: how many elements it has, an array more than one */
    uint64_t bytes;  /* of a structure */
    /* what a run showed */
    bool seen, read, written, atomic;
    uint64_t extent; /* elements up to the last that was touched */
    bool beyond;     /* the whole grid touches more than its first and last block */
    bool unwritten;  /* the run did not write it */
    const char *shape;
} kiln__draft_argument;

#define KILN__SHARED_EACH 8 /* the first guess */
enum { KILN__MOST_TUNABLES = 64, KILN__MOST_ARGUMENTS = 64, KILN__MOST_SIZES = 8 };

typedef struct kiln__size {
    const char *name;
    int64_t tiny, whole;
    bool bake;
} kiln__size;

typedef struct kiln__axis { /* of the launch */
    bool used;
    const char *grid, *block; /* expressions */
    int64_t blocks, threads;  /* with the tiny sizes and the chosen values */
    const char *doubt;        /* why the grid is not certain; NULL: the source shows it */
    const char *rows;         /* the size that it runs over, where blocks are rows of another; NULL: not known */
} kiln__axis;

typedef struct kiln__draft {
    const kiln_allocator *mem;
    kiln__arena *arena;
    const char *path, *shown, *name; /* the file; for messages; the spec's name */
    const char *folder, *source;     /* where the spec stands; the source as it has it */
    kiln__scan *scan;
    const kiln__kernel *kernel;
    kiln__tunable tunables[KILN__MOST_TUNABLES];
    size_t tunable_count;
    kiln__draft_argument arguments[KILN__MOST_ARGUMENTS];
    size_t argument_count;
    kiln__size sizes[KILN__MOST_SIZES];
    size_t size_count;
    kiln__axis axes[3];
    const char *trouble; /* of the trial, or NULL */
    bool tried;
    unsigned shared_each; /* bytes a thread of the extern __shared__ array; 0: the first guess */
} kiln__draft;

/* ---- guesses (guess.c) ---- */

/* The macros that the source leaves open, as far as its words show them; the others are found by compiling. */
void kiln__guess_tunables(kiln__draft *draft);
void kiln__take_values(kiln__draft *draft, const kiln_setting *values, size_t count); /* those of kiln_draft_options */
void kiln__guess_tunable(kiln__draft *draft, const char *name);                       /* one that the compiler misses */
/* The arguments' names and roles by their words; probe.c corrects the types. */
kiln_status kiln__guess_arguments(kiln__draft *draft, kiln_error **error);
/* One field of the structure number parent - 1: the words of its type, its name, and how many '*' stand between. */
bool kiln__guess_field(kiln__draft *draft, size_t from, size_t to, size_t name, size_t stars, uint64_t count,
                       size_t parent);
void kiln__guess_structs(kiln__draft *draft); /* the fields of structures by value (structs.c) */
void kiln__guess_sizes(kiln__draft *draft);
/* Adds a size that is no parameter of the kernel, and returns its name; NULL: there is no room. */
const char *kiln__guess_another_size(kiln__draft *draft, const char *name);
void kiln__guess_launch(kiln__draft *draft); /* grid and block, from the use of blockIdx and its like */
void kiln__guess_shapes(kiln__draft *draft);
const kiln__tunable *kiln__tunable_find(const kiln__draft *draft, const char *source); /* by its name in the source */
bool kiln__name_is_block(const char *name); /* it looks like the number of threads of a block, or a tile */

/* ---- what the compiler says (probe.c) ---- */

/* Compiles the source until no name is missing, and reads the types of the kernel's parameters. */
kiln_status kiln__probe(kiln_engine *engine, kiln__draft *draft, const char *text, kiln_error **error);
/* The type of one parameter from its mangled name, "PKf". False: not one that a spec can pass. */
bool kiln__probe_type(const char *mangled, size_t length, kiln__draft_argument *argument);

/* ---- the spec (write.c) ---- */

void kiln__draft_write(const kiln__draft *draft, kiln__text *out);

#endif
