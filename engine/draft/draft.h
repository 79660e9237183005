/* draft.h - declarations that the files of draft/ share: the tokens of a CUDA source, and the data for a first spec. A
 * token is named by its index in kiln__scan.words. A range of tokens is named by the index of its first token and the
 * index of the token after its last one.
 *
 * The words of this folder: A tuning parameter is an entry of the spec's key `params`. Host code is the part of a
 * source that runs on the CPU and launches the kernel. An undefined name is a name in host code whose definition kiln
 * cannot read. The size set `tiny` has small sizes for runs on the simulated device, and the size set `default` has the
 * sizes for a GPU. */
#ifndef KILN_DRAFT_H
#define KILN_DRAFT_H

#include "base.h"
#include "compile.h"
#include "plan.h"
#include "spec.h"
#include "words.h"

/* ---- the source as tokens (scan.c) ---- */

typedef struct kiln__range { /* a range of tokens; if `from` is 0, there is no range */
    size_t from, to;
} kiln__range;

typedef struct kiln__macro { /* a macro that the source defines */
    const char *name;
    size_t from, to; /* the range of tokens of the macro's value */
    bool guarded;    /* true if #ifndef NAME precedes the macro, so that a definition from outside has priority */
    bool function;
} kiln__macro;

typedef struct kiln__template_param {
    const char *name;
    bool type;      /* true if the template parameter is a type: typename T */
    bool flag;      /* true if the template parameter is a boolean: bool F */
    size_t initial; /* the first token of the template parameter's default; 0 means no default */
} kiln__template_param;

typedef struct kiln__kernel {
    const char *name, *plain;      /* the name with namespaces, and the name without namespaces */
    size_t params_from, params_to; /* the tokens between the parentheses of the parameter list */
    size_t body_from, body_to;     /* the tokens between the braces of the kernel's body */
    /* the token in the kernel's __launch_bounds__; 0 means that there is no token, or more than one */
    size_t bounds;
    const char *header; /* the header that defines the kernel; NULL means that the source defines it */
    unsigned line;      /* the line of the kernel in the file that defines it */
    kiln__template_param *templates;
    size_t template_count;
} kiln__kernel;

/* A branch of an #if: the tokens of its condition, the #if around it, and the branches before it. A branch that begins
 * with #elif has the kind KILN__BRANCH_IF. */
typedef enum kiln__branch_kind {
    KILN__BRANCH_IF,
    KILN__BRANCH_IFDEF,
    KILN__BRANCH_IFNDEF,
    KILN__BRANCH_ELSE
} kiln__branch_kind;
typedef struct kiln__branch {
    kiln__branch_kind kind;
    size_t from, to; /* the tokens of the branch's condition */
    size_t up;       /* the branch that contains this #if; 0 means that no branch contains it */
    size_t before;   /* the previous branch of the same #if; 0 means that this branch is the first */
    size_t first;    /* the first branch of the same #if */
} kiln__branch;

/* The number of tokens that all searches for names together may compare for one draft. The limit is needed because the
 * source is untrusted text. */
enum { KILN__MOST_COMPARED = 1 << 27 };

typedef struct kiln__scan {
    kiln__arena *arena;
    kiln__word *words; /* the tokens of the text; token 0 is empty */
    size_t *closes;    /* for each opening bracket, the token that closes it; `count` if no token closes it */
    size_t count;
    /* The number of tokens of the source without its headers. The tokens of its headers follow. The tokens of the file
     * with the launch come last. */
    size_t own;
    /* the first token of a separate file that has the launch; 0 means that there is no such file */
    size_t launch;
    unsigned launch_lines;  /* the number of lines of text before the file with the launch */
    uint16_t *inside;       /* for each token, the branch of #if that contains it; 0 means no branch */
    kiln__branch *branches; /* the branches of #if; their numbers begin with 1 */
    size_t branch_count;
    kiln__macro *macros;
    size_t macro_count;
    /* the kernels that have a body: first the kernels of the source, then the kernels of headers and of the file with
     * the launch */
    kiln__kernel *kernels;
    size_t kernel_count, own_kernel_count;
} kiln__scan;

/* Splits a text into tokens, and finds its macros and kernels. The text may contain any bytes. The first `own` bytes
 * are the source. The results live in the arena, and point into the text. */
kiln_status kiln__scan_source(kiln__arena *arena, const char *text, size_t length, size_t own, kiln__scan *scan,
                              kiln_error **error);
bool kiln__word_is(const kiln__scan *scan, size_t word, const char *text); /* returns false past the last token */
/* Returns true if the token contains the text. The text must have small letters. The token may have small or capital
 * letters. */
bool kiln__word_has(const kiln__scan *scan, size_t word, const char *text);
char *kiln__word_copy(const kiln__scan *scan, size_t word);
/* Returns the bracket that closes the bracket `open`. Returns the number of tokens if no bracket closes it. */
size_t kiln__word_close(const kiln__scan *scan, size_t open);
/* Returns true if a token in the range from..to equals `text`. Tokens of directives do not count. */
bool kiln__words_have(const kiln__scan *scan, size_t from, size_t to, const char *text);
/* returns NULL if there is no such macro */
const kiln__macro *kiln__macro_find(const kiln__scan *scan, const char *name);
/* Reads a decimal integer, perhaps with a suffix such as `u`. Returns false if the token is something else. */
bool kiln__word_whole(const kiln__scan *scan, size_t word, int64_t *value);

/* ---- the parts of the drafted spec ---- */

typedef enum kiln__tunable_kind {
    KILN__TUNABLE_MACRO,    /* a macro of the source */
    KILN__TUNABLE_TEMPLATE, /* an argument of the kernel's template */
    KILN__TUNABLE_THREADS,  /* a number of threads that only the launch uses */
    KILN__TUNABLE_BLOCKS    /* a number of blocks that only the launch uses */
} kiln__tunable_kind;

typedef struct kiln__tunable {
    kiln__tunable_kind kind;
    const char *name;   /* the name of the tuning parameter in the spec */
    const char *source; /* its name in the source; NULL means that the source does not have it */
    /* texts for the spec: the list of values, such as "64, 128, 256", and the default value, such as "128" */
    const char *values, *chosen;
    /* the default value as a number; 0 means that the value is a type, or a switch that is off */
    int64_t number;
    const char *why; /* a comment for the spec */
    /* The values with which a trial run failed, one per line with the reason: "2: misaligned". NULL means that no value
     * failed. */
    const char *left_out;
    /* If `own` is set, the values with which a trial run gave the answer of the default. NULL means that there are
     * none. */
    const char *proved;
    /* true if the source itself gives the name a value, which the tuning parameter replaces */
    bool own;
    bool launched; /* true if the source launches the kernel with each of the values */
    bool unknown;  /* true if the source does not show a value, so that the user must give one */
    bool any_type; /* true if the tuning parameter is a type, and the source does not show which type */
    bool defined;  /* true if this is a size for which the source has a value */
    bool size;     /* true if this is a size that becomes a macro (key `bake` of the spec) */
} kiln__tunable;

typedef enum kiln__role {
    KILN__ROLE_BUFFER,
    KILN__ROLE_SIZE,
    KILN__ROLE_SCALAR,
    /* a structure that the kernel takes by value; its fields follow after all arguments of the kernel */
    KILN__ROLE_STRUCT,
    KILN__ROLE_BYTES /* a structure whose fields are not known */
} kiln__role;

typedef struct kiln__draft_argument { /* a parameter of the kernel, or a field of a structure parameter */
    const char *name;
    const char *declared; /* the text of the declaration in the source, for comments in the spec */
    kiln__role role;
    /* the type of a buffer's elements, such as "f32", or the name of a tuning parameter that is a type */
    const char *type;
    int lanes; /* the number of components of a CUDA vector type: 4 for a float4, otherwise 1 */
    bool constant, floating;
    bool odd;         /* true if a spec has no name for the type, so that the buffer has bytes as elements */
    bool indirect;    /* true for a pointer to pointers */
    bool untyped;     /* true for a pointer to void, if no cast in the kernel shows the type of the elements */
    const char *cast; /* the type to which the kernel casts a pointer to void; NULL means that there is no cast */
    size_t from, to;  /* the tokens of the declaration */
    size_t parent;    /* for a field, 1 + the index of its structure in the list of arguments; otherwise 0 */
    uint64_t count;   /* for a field, the number of its elements: 1, or the length of an array */
    uint64_t bytes;   /* the size of a structure in bytes */
    /* The members below describe the accesses that a trial run made to the array. */
    bool seen, read, written, atomic;
    uint64_t extent; /* the index of the last accessed element, plus 1 */
    uint64_t begin;  /* the value of `extent` after the first block had run */
    bool beyond;     /* true if some block accesses elements beyond those that the first and the last block access */
    bool unwritten;  /* true if the run did not write the array */
    bool partly;     /* true if the run wrote only some elements of the array */
    bool same;       /* true if the run wrote the same value into all elements of the array */
    const char *shape;
    /* the variable of the source to which the buffer is copied; NULL means that the buffer is an argument */
    const char *symbol;
    /* the value that the launch passes, as an expression of the spec; NULL if the value is not known */
    const char *given;
} kiln__draft_argument;

#define KILN__SHARED_EACH 8 /* the first guess of kiln__draft.shared_each */
/* The value of `parent` for a variable of the source, which is neither an argument nor a field. */
#define KILN__NO_PARENT SIZE_MAX
enum { KILN__MOST_TUNABLES = 64, KILN__MOST_ARGUMENTS = 64, KILN__MOST_SIZES = 16 };

typedef struct kiln__size {
    const char *name;
    const char *host; /* the name of the value in the host code that launches the kernel; NULL if it is not known */
    int64_t tiny, whole;
    int64_t given; /* the value of a constant in the host code, which becomes `whole`; 0 if there is no such constant */
    /* a literal number that the launch passes, which becomes `tiny` and `whole`; 0 if there is no such number */
    int64_t fixed;
    bool bake;
    bool any; /* true if a trial run has shown that the size need not be a multiple of a tile */
    bool odd; /* true if `tiny` is one more than a multiple of a tile */
    /* the reason why the size must be a multiple of a tile; NULL means that no trial run has shown a reason */
    const char *why;
} kiln__size;

/* ---- the launch in host code (host.c, launched.c) ---- */

/* An expression of host code, as a tree of operators. `op` tells the kind of a node:
 *
 * - '0' is an integer, '.' is another number, and 'w' is a name.
 * - '?' is a conditional expression: `a` is the condition, and `b` is a node of the kind ':' with the two results.
 * - '!' is a negation, and 'n' is a minus sign.
 * - 'C' is ceil_div(). 'm' and 'M' are min() and max().
 * - '+', '-', '*', '/', '%', '<' and '>' are the operators with these characters. 'l', 'g', 'e' and 'd' are the
 *   operators <=, >=, == and !=.
 * - 'a', 'o', 'L' and 'R' are the operators &&, ||, << and >>. */
typedef struct kiln__tree {
    char op;
    bool free; /* true for a name whose definition could not be read (an undefined name) */
    int64_t value;
    const char *text; /* for a name, its text; for an integer, the name of the constant whose value it is, or NULL */
    struct kiln__tree *a, *b;
} kiln__tree;

enum { KILN__MOST_LIST = 64 };

typedef struct kiln__frame kiln__frame; /* host_internal.h */

typedef struct kiln__host_launch {
    bool found;
    bool in_macro;     /* the launch is in the body of a macro */
    bool in_case;      /* the launch is in a case of a switch */
    bool otherwise;    /* the launch is under the `default:` of a switch */
    bool in_kernel;    /* `scope` is the body of the kernel, and not host code */
    size_t at;         /* the token at which the launch begins */
    unsigned line;     /* the line of the launch */
    kiln__range scope; /* the body of the function or macro that contains the launch */
    kiln__range grid, block, shared;
    kiln__range templates[KILN__MOST_LIST], arguments[KILN__MOST_LIST];
    /* the expression trees of the template arguments that are numbers; NULL means that an argument was not read */
    kiln__tree *trees[KILN__MOST_LIST];
    size_t template_count, argument_count;
    /* The macro use, the template call or the switch case around the launch. It gives names in the launch their values.
     * NULL means that there is no such thing. */
    const kiln__frame *frame;
    /* For each template parameter, all values that the launches give to it, as a text. NULL means that the launches
     * give it only one value. */
    const char *values[KILN__MOST_LIST];
} kiln__host_launch;

typedef struct kiln__axis { /* one axis of the grid and of the block */
    bool used;
    const char *grid, *block; /* expressions of the spec */
    /* the values of both expressions for the size set `tiny` and the default values of tuning parameters */
    int64_t blocks, threads;
    /* the reason why the extent of the grid is not certain; NULL means that the source shows it */
    const char *doubt;
    /* If each block computes one row, the size that counts the rows. NULL if no such size is known. */
    const char *rows;
} kiln__axis;

typedef struct kiln__draft {
    const kiln_allocator *mem;
    kiln__arena *arena;
    const char *path, *shown, *name; /* the path of the source, its name for messages, and the name of the spec */
    const char *folder, *source;     /* the folder of the spec, and the path of the source in the spec */
    const kiln_draft_options *options;
    kiln__scan *scan;
    kiln__includes texts; /* the source and its headers; `source` is NULL if they cannot be read */
    const kiln__kernel *kernel;
    kiln__tunable tunables[KILN__MOST_TUNABLES];
    size_t tunable_count;
    kiln__draft_argument arguments[KILN__MOST_ARGUMENTS];
    size_t argument_count;
    kiln__size sizes[KILN__MOST_SIZES];
    size_t size_count;
    kiln__axis axes[3];
    const char *trouble; /* the error of the trial run, or NULL */
    /* The reason why the sizes of the set `tiny` are multiples of tiles, although the kernel handles other sizes
     * (kiln__size.any). NULL means that there is no reason. */
    const char *even;
    bool tried;
    bool untried; /* true if a limit ended the trial runs of some values of tuning parameters */
    /* the steps of the simulated device that remain for trial runs of values; a step is one instruction of a warp */
    uint64_t steps;
    kiln__host_launch host;
    /* All launches of the kernel. kiln__host_choose() keeps more than one launch only if they are in different branches
     * of one #if. */
    kiln__host_launch *launches;
    size_t launch_count;
    /* A file near the source that has the launch. NULL means that the source has the launch, or that the user named a
     * file. */
    const char *nearby;
    /* true if all chosen launches begin at the same token, so that the conditions around it hold for all of them */
    bool one_place;
    size_t conditions; /* the nesting depth of the #if conditions that are being read; it is limited */
    /* Counters that have limits: names that were looked up, dim3 variables inside dim3 variables, nodes of expression
     * trees, and tokens that were compared. */
    size_t looked, nested, nodes, compared;
    /* The reason why the launch in the source could not be used. NULL means that it was used, or that the source has no
     * launch. */
    const char *unread;
    /* the bytes of dynamic shared memory in the launch, as an expression; NULL if they are not known */
    const char *shared;
    const char *wheres[16];     /* the constraints from static_assert and from the launches */
    const char *where_from[16]; /* the origin of each constraint, for a comment */
    size_t where_count;
    unsigned widened;     /* how often all arrays became larger, because the first run accessed memory past an end */
    unsigned shared_each; /* the bytes of the extern __shared__ array for each thread; 0 means the first guess */
} kiln__draft;

/* Returns the file and the line of the kernel for a message, such as "sum.cu:12". */
const char *kiln__kernel_place(const kiln__draft *draft);

/* ---- guesses (guess.c) ---- */

/* Makes tuning parameters of the macros that the source leaves open, if the tokens alone show them. probe.c finds the
 * other such macros by compiling. */
void kiln__guess_macros(kiln__draft *draft);
/* makes tuning parameters of the kernel's template parameters, with values from the chosen launch */
void kiln__guess_templates(kiln__draft *draft);
/* Makes tuning parameters of the values that the caller gave in kiln_draft_options. A name may occur with several
 * values. The middle value is then the default. */
void kiln__take_values(kiln__draft *draft, const kiln_setting *values, size_t count);
/* Adds a tuning parameter for a name that the compiler does not know. Ignores a name that the source itself declares.
 * The compiler reports such a name only because of another error before. */
void kiln__guess_tunable(kiln__draft *draft, const char *name);
/* Guesses the names and the roles of the kernel's arguments from their tokens. probe.c corrects the types. */
kiln_status kiln__guess_arguments(kiln__draft *draft, kiln_error **error);
/* Adds one field to the structure with the index parent - 1. The field is given by the tokens of its type, the token of
 * its name, and the number of '*' between them. Returns false if a spec cannot have the field, or if the table of
 * arguments is full. */
bool kiln__guess_field(kiln__draft *draft, size_t from, size_t to, size_t name, size_t stars, uint64_t count,
                       size_t parent);
/* adds the fields of structures that the kernel takes by value (structs.c) */
void kiln__guess_structs(kiln__draft *draft);
void kiln__guess_symbols(kiln__draft *draft); /* adds the variables of the source that host code fills (symbols.c) */
void kiln__guess_sizes(kiln__draft *draft);
/* Adds a size that is not a parameter of the kernel, and returns its name. Returns NULL if the table of sizes is
 * full. */
const char *kiln__guess_another_size(kiln__draft *draft, const char *name);
/* Guesses grid and block from the use of blockIdx, blockDim and threadIdx in the kernel. */
void kiln__guess_launch(kiln__draft *draft);
void kiln__guess_shapes(kiln__draft *draft); /* shapes.c */
/* Returns true if the kernel compares something with a name, as loops and guards do with extents. A member such as
 * `p.name` also counts. */
bool kiln__is_limit(const kiln__draft *draft, const char *name);
/* Finds a tuning parameter by its name in the source. Returns NULL if no tuning parameter has this name. */
const kiln__tunable *kiln__tunable_find(const kiln__draft *draft, const char *source);
/* Returns a name for the tuning parameter that stands for a template parameter. The name differs from the template
 * parameter's name. A tuning parameter becomes a macro, and this macro would replace the template parameter in the
 * source. */
const char *kiln__template_name(const kiln__draft *draft, const char *name);
/* returns true if the name looks like a number of threads in a block, or like a tile */
bool kiln__name_is_block(const char *name);

/* Gives a buffer of type `void *` the element type to which the kernel casts the pointer. If there is no such cast, or
 * if the casts have several types, marks the argument as untyped. */
void kiln__guess_cast(kiln__draft *draft, kiln__draft_argument *argument);

/* Returns true for an array of integers that must not decrease, such as the offsets of rows. */
bool kiln__is_offsets(const kiln__draft_argument *argument);
/* Returns true if the kernel reads an array of integers, which may be indices. Then any block may access the end of
 * another array, not only the first or the last block. */
bool kiln__reads_indices(const kiln__draft *draft);
/* returns a value for a floating-point argument, guessed from its name */
const char *kiln__guess_scalar(const char *name);
/* returns true if an `enum` of the source has this name */
bool kiln__is_enumerator(const kiln__draft *draft, const char *name);
/* Makes a size of the kernel parameter with the index `argument`, which is an integer. Returns the name of the size, or
 * NULL. */
const char *kiln__guess_size_of(kiln__draft *draft, size_t argument);
/* Returns true if a function that does not look like host code contains the name. A function looks like host code if it
 * has a launch or a call such as cudaMalloc(). */
bool kiln__is_used_by_device(const kiln__draft *draft, const char *name);
/* Lowers the default numbers of threads until the block satisfies __launch_bounds__ and the limit of the device. */
void kiln__fit_block(kiln__draft *draft);
/* Makes the sizes of the set `tiny` half as large where this is possible, and computes grid and block again. Returns
 * false if no size can become smaller (smaller.c). */
bool kiln__shrink_sizes(kiln__draft *draft);
bool kiln__mentions(const char *text, const char *name); /* the expression, which may be NULL, has the name */
/* Leaves only the default of each own param on which the extent of an array depends (smaller.c). */
void kiln__fix_extents(kiln__draft *draft);
void kiln__drop_unused_sizes(
    kiln__draft *draft); /* removes the sizes that no other part of the spec uses (smaller.c) */
/* Sets the values of the sizes. All values differ, so that a trial run shows which size an extent depends on. */
void kiln__set_sizes(kiln__draft *draft);
/* Adds a tuning parameter for the number of threads along an axis. Its default is `chosen`, or the usual number if
 * `chosen` is 0. Returns its name, or NULL if the table of tuning parameters is full. */
const char *kiln__add_threads(kiln__draft *draft, int axis, bool flat, int64_t chosen);
/* Adds a tuning parameter for the number of blocks, which is `chosen` in the source. Returns its name, or NULL if the
 * table of tuning parameters is full. */
const char *kiln__add_blocks(kiln__draft *draft, int64_t chosen);
/* Finds an element type by its name in CUDA sources: "__nv_bfloat162" gives "bf16" with two lanes. Returns false for an
 * unknown name. */
bool kiln__element_named(const char *name, size_t length, const char **type, int *lanes);
bool kiln__is_floating(const char *type); /* `type` is a type of a spec */
/* returns the size of a C or CUDA type; 0 means that the type is unknown */
uint64_t kiln__type_bytes_named(const char *name);

/* Reads a template argument that is a type. Replaces aliases, and parameters of the function template around the
 * launch. Returns the name of the type in CUDA sources, such as "float". Returns NULL if specs have no such type. */
const char *kiln__type_of_range(kiln__draft *draft, kiln__range range);

/* ---- reading the launch in host code ---- */

/* Searches the folder of the source and the two folders above it for a file that launches the kernel (nearby.c).
 * Returns the path of this file as the user sees it, like the path of the source for messages, or NULL. */
const char *kiln__nearby_launch(const kiln__draft *draft);
/* finds the launches of the kernel in the tokens of the source and of the file with the launch */
void kiln__host_find(kiln__draft *draft);
/* Chooses the launch at `line`. If `line` is 0, chooses the only launch. Launches that differ only in template
 * arguments count as one launch, and so do launches in different branches of one #if. If several launches remain,
 * returns KILN_ERROR_NOT_FOUND with a list of them. */
kiln_status kiln__host_choose(kiln__draft *draft, unsigned line, kiln_error **error);
/* Reads an expression of host code into a tree. Returns NULL if it cannot read the expression. */
kiln__tree *kiln__host_read(kiln__draft *draft, kiln__range range);
/* Reads a dim3 or a number into one tree per axis. axes[i] stays NULL if the text does not give this axis. Returns
 * false if the text cannot be read. */
bool kiln__host_axes(kiln__draft *draft, kiln__range range, kiln__tree **axes);
/* reads the template arguments of the launch */
void kiln__host_templates(kiln__draft *draft);
/* returns true if the launch passes this variable to the kernel */
bool kiln__host_is_argument(const kiln__draft *draft, const char *name);
/* takes sizes, arguments and axes of the chosen launch into the draft */
bool kiln__host_apply(kiln__draft *draft);
/* Returns the tree of the number that the launch gives to the template parameter with the index `param`. Returns NULL
 * if this number was not read. */
const kiln__tree *kiln__template_tree(const kiln__draft *draft, size_t param);
/* returns the tree as an expression of a spec */
const char *kiln__tree_text(const kiln__draft *draft, const kiln__tree *tree);
/* Computes a tree with the size set `tiny`, or with the size set `default` if `whole` is true. Undefined names have the
 * value `otherwise`. If `otherwise` is 0, the function returns false for undefined names. */
bool kiln__tree_value(const kiln__draft *draft, const kiln__tree *tree, bool whole, int64_t otherwise, int64_t *value);
/* Computes a tree without names. Returns false if the tree has names, or is NULL. */
bool kiln__tree_constant(const kiln__draft *draft, const kiln__tree *tree, int64_t *value);
bool kiln__tree_has_names(const kiln__tree *tree);              /* `tree` may be NULL */
bool kiln__tree_uses(const kiln__tree *tree, const char *name); /* `tree` may be NULL */
const char *kiln__tree_free(const kiln__tree *tree);            /* returns the first undefined name, or NULL */
/* replaces the undefined name `from` by the defined name `to` */
void kiln__tree_bind(kiln__tree *tree, const char *from, const char *to);

/* ---- answers of the compiler (probe.c) ---- */

/* Finds the folders in which the headers of the source are searched. */
kiln_status kiln__draft_include_paths(kiln_engine *engine, const kiln__draft *draft, kiln__include_paths *where,
                                      kiln_error **error);
/* Compiles the source until no name is missing, and reads the types of the kernel's parameters. */
kiln_status kiln__probe(kiln_engine *engine, kiln__draft *draft, const char *text, kiln_error **error);
/* Reads the type of a parameter from its mangled name, such as "PKf". Returns false if a spec cannot pass this type. */
bool kiln__probe_type(const char *mangled, size_t length, kiln__draft_argument *argument);

/* ---- trial runs with values of tuning parameters (values.c) ---- */

/* Returns the part of a message that fits into a comment. This is its first line, or the second line if the first line
 * only announces the second. */
const char *kiln__first_line(const kiln__draft *draft, const char *message);
/* Returns true if the engine can still run kernels after a failure. If the failure destroyed the driver's context, the
 * function makes a new context. */
bool kiln__can_go_on(kiln_engine *engine, const kiln_error *why);
/* Returns the next value of a list such as "64, 128", or NULL at its end. Moves *at behind this value. */
const char *kiln__next_value(const kiln__draft *draft, const char **at);
/* Runs the draft with one other value of a param for at most `seconds`. `shared` keeps the answer of the defaults for
 * the next runs of the same spec. If `verify` is true, compares the answer with
 * the answer of the default configuration. If `name` is NULL, all params have their defaults. If `finding` is not NULL,
 * runs under all checks, and *finding gets the kind of the first finding, or NULL. */
kiln_status kiln__run_value(kiln_engine *engine, const kiln_spec *spec, kiln__shared *shared, const char *name,
                            const char *value, bool verify, double seconds, const char **finding, kiln_error **error);
/* Returns true if the failure is due to the value of the tuning parameter. Three failures say nothing about the value:
 * a constraint that excludes it together with the other defaults, a time limit, and a lack of memory. */
bool kiln__is_due_to_value(kiln_status status);
/* Notes that a trial run with a value of a tuning parameter gave the answer of the default. */
void kiln__note_proved(kiln__draft *draft, kiln__tunable *tunable, const char *value);
/* If the source itself defines a tuning parameter (`own`), removes the values with which no trial run gave the answer
 * of the default. */
void kiln__drop_unproved(kiln__draft *draft);
/* Removes a value from the list of its tuning parameter, and keeps the reason for a comment. */
void kiln__leave_out(kiln__draft *draft, kiln__tunable *tunable, const char *value, const char *message);

/* ---- the key `judge` of the spec (contract.c) ---- */

/* Returns true if the size may vary between runs. A size does not vary if the launch passes a literal number for it, or
 * if it is a small number such as the width of a border. */
bool kiln__size_varies(const kiln__size *size);
/* Runs the drafted spec under all checks with one more than the tiny value of a size, for at most `seconds`. *finding
 * gets the kind of the first finding, or NULL. The caller closes *plan, also after a failure. */
kiln_status kiln__run_size(kiln_engine *engine, const kiln_spec *spec, const kiln__size *size, double seconds,
                           kiln_plan **plan, const char **finding, kiln_error **error);
/* A callback for findings of the checks. Keeps the kind of the first finding as a text in the const char * that `user`
 * points to. */
int kiln__keep_finding(void *user, const kiln_check_finding *finding);
/* Writes the section `judge` of the spec. */
void kiln__draft_write_contract(const kiln__draft *draft, kiln__text *out);

/* ---- the spec (write.c) ---- */

void kiln__draft_write(const kiln__draft *draft, kiln__text *out);
bool kiln__draft_compares(const kiln__draft *draft); /* the spec compares an output of each configuration */

#endif
