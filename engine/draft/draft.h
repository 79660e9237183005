/* draft.h - declarations that the files of draft/ share: the words of a CUDA source, and the data for a first spec. A
 * word is named by its number, and a range of words by its first word and the word after its last word. */
#ifndef KILN_DRAFT_H
#define KILN_DRAFT_H

#include "base.h"
#include "compile.h"
#include "plan.h"
#include "spec.h"
#include "words.h"

/* ---- the source as words (scan.c) ---- */

typedef struct kiln__range { /* a range of words; if `from` is 0, there is no range */
    size_t from, to;
} kiln__range;

typedef struct kiln__macro { /* defined in the source */
    const char *name;
    size_t from, to; /* the words of its value */
    bool guarded;    /* true if #ifndef NAME precedes the macro, so that a definition from outside has priority */
    bool function;
} kiln__macro;

typedef struct kiln__template_param {
    const char *name;
    bool type;      /* true if the parameter is a type: typename T */
    bool flag;      /* true if the parameter is a boolean: bool F */
    size_t initial; /* the word of its default; 0 means no default */
} kiln__template_param;

typedef struct kiln__kernel {
    const char *name, *plain;      /* name with namespaces; name without namespaces */
    size_t params_from, params_to; /* words between the parentheses */
    size_t body_from, body_to;     /* the words between the braces of the kernel */
    size_t bounds;                 /* the word in the kernel's __launch_bounds__; 0 means no word, or more than one */
    const char *header;            /* the header that has the kernel; NULL means that the source has it */
    unsigned line;                 /* the line of the kernel in its own file */
    kiln__template_param *templates;
    size_t template_count;
} kiln__kernel;

/* A branch of an #if: the words of its condition, and the branches around and before it. #elif has the kind
 * KILN__BRANCH_IF. */
typedef enum kiln__branch_kind {
    KILN__BRANCH_IF,
    KILN__BRANCH_IFDEF,
    KILN__BRANCH_IFNDEF,
    KILN__BRANCH_ELSE
} kiln__branch_kind;
typedef struct kiln__branch {
    kiln__branch_kind kind;
    size_t from, to; /* the words of the condition */
    size_t up;       /* the branch that contains this #if; 0 means no branch */
    size_t before;   /* the previous branch of the same #if; 0 means that this branch is the first */
    size_t first;    /* the first branch of the same #if */
} kiln__branch;

/* The number of words that the searches for names may compare in one draft. The source is untrusted text. */
enum { KILN__MOST_COMPARED = 1 << 27 };

typedef struct kiln__scan {
    kiln__arena *arena;
    kiln__word *words; /* the words of the text; word number 0 is empty */
    size_t *closes;    /* for each opening bracket the word that closes it; the word count if no word closes it */
    size_t count;
    /* Number of words of the source itself. The words of its headers and of the file with the launch follow. */
    size_t own;
    size_t launch;          /* the first word of the file with the launch; 0 means that the source has the launch */
    unsigned launch_lines;  /* the number of lines before that file */
    uint16_t *inside;       /* for each word: the branch of #if in which the word stands; 0 means no branch */
    kiln__branch *branches; /* branches of #if, numbered from 1 */
    size_t branch_count;
    kiln__macro *macros;
    size_t macro_count;
    kiln__kernel *kernels; /* kernels that have a body: first kernels of the source, then kernels of later text */
    size_t kernel_count, own_kernel_count;
} kiln__scan;

/* Splits a text into words, and finds its macros and kernels. The text may be any bytes. The results live in the arena,
 * and point into the text. The first `own` bytes are the source. */
kiln_status kiln__scan_source(kiln__arena *arena, const char *text, size_t length, size_t own, kiln__scan *scan,
                              kiln_error **error);
bool kiln__word_is(const kiln__scan *scan, size_t word, const char *text); /* false past the last word */
/* Returns true if the word contains the text, which has small letters, in small or capital letters. */
bool kiln__word_has(const kiln__scan *scan, size_t word, const char *text);
char *kiln__word_copy(const kiln__scan *scan, size_t word);
/* Returns the bracket that closes the bracket `open`, or the word count if no bracket closes it. */
size_t kiln__word_close(const kiln__scan *scan, size_t open);
/* Returns true if the words from..to contain the word `text` outside of directives. */
bool kiln__words_have(const kiln__scan *scan, size_t from, size_t to, const char *text);
const kiln__macro *kiln__macro_find(const kiln__scan *scan, const char *name); /* NULL means not found */
/* Reads a decimal whole number, perhaps with a suffix such as `u`. Returns false if the word is something else. */
bool kiln__word_whole(const kiln__scan *scan, size_t word, int64_t *value);

/* ---- the content of the spec ---- */

typedef enum kiln__tunable_kind {
    KILN__TUNABLE_MACRO,    /* a macro of the source */
    KILN__TUNABLE_TEMPLATE, /* an argument of the kernel's template */
    KILN__TUNABLE_THREADS,  /* threads of a block, used only in the launch */
    KILN__TUNABLE_BLOCKS    /* blocks of the grid, used only in the launch */
} kiln__tunable_kind;

typedef struct kiln__tunable {
    kiln__tunable_kind kind;
    const char *name;            /* name in the spec */
    const char *source;          /* name in the source; NULL means not in the source */
    const char *values, *chosen; /* texts for the spec: a list such as "64, 128, 256", and the default, such as "128" */
    int64_t number;              /* the default value as a number; 0 means a type, or a switch that is off */
    const char *why;             /* a comment for the spec */
    const char *left_out;        /* values with which a trial failed, one per line: "2: misaligned"; NULL means that no
                                  * value failed */
    const char *proved;          /* the values of an own param with which a trial gave the answer of the default */
    bool own;                    /* the source itself gives the name a value, which the param replaces */
    bool launched;               /* the source launches the kernel with each of the values */
    bool unknown;                /* the source does not show a value, so the user must give one */
    bool any_type;               /* the param is a type, and the source does not show which type */
    bool defined;                /* the param is a size, and the source has a value for it */
    bool size;                   /* the param is a size that becomes a macro (`bake`) */
} kiln__tunable;

typedef enum kiln__role {
    KILN__ROLE_BUFFER,
    KILN__ROLE_SIZE,
    KILN__ROLE_SCALAR,
    KILN__ROLE_STRUCT, /* a structure that the kernel takes by value; its fields follow the kernel's arguments in the
                        * list */
    KILN__ROLE_BYTES   /* a structure whose fields are not known */
} kiln__role;

typedef struct kiln__draft_argument { /* a parameter of the kernel */
    const char *name;
    const char *declared; /* the declaration in the source, for comments */
    kiln__role role;
    const char *type; /* the type of a buffer's elements, such as "f32", or the name of a tunable that is a type */
    int lanes;        /* 4 for a float4 */
    bool constant, floating;
    bool odd;         /* the type has no name in a spec, so the buffer holds its bytes */
    bool indirect;    /* a pointer to pointers */
    bool untyped;     /* a pointer to void, without a cast in the kernel that shows the type */
    const char *cast; /* the type to which the kernel casts a pointer to void; NULL means none */
    size_t from, to;  /* the words of the declaration */
    size_t parent;    /* for a field: the number of its structure, from 1 */
    uint64_t count;   /* for a field: the number of its elements; an array has more than one */
    uint64_t bytes;   /* size of a structure */
    /* The accesses that a trial run made. */
    bool seen, read, written, atomic;
    uint64_t extent; /* number of elements up to the last accessed one */
    uint64_t begin;  /* the extent that the first block accessed */
    bool beyond;     /* the whole grid accesses elements beyond those that the first and the last block access */
    bool unwritten;  /* the run did not write the array */
    bool partly;     /* the run wrote only some elements of the array */
    bool same;       /* the run wrote the same value into all elements of the array */
    const char *shape;
    const char *symbol; /* the variable of the source to which the buffer is copied; NULL means that it is an
                         * argument */
    const char *given;  /* the value that the launch passes, as an expression of the spec; NULL if it is not known */
} kiln__draft_argument;

#define KILN__SHARED_EACH 8 /* the first guess of kiln__draft.shared_each */
/* `parent` of a variable of the source, which is no argument and no field */
#define KILN__NO_PARENT SIZE_MAX
enum { KILN__MOST_TUNABLES = 64, KILN__MOST_ARGUMENTS = 64, KILN__MOST_SIZES = 16 };

typedef struct kiln__size {
    const char *name;
    const char *host; /* the name of the value in the host code that launches the kernel; NULL if it is not known */
    int64_t tiny, whole;
    int64_t given; /* the value of a constant in the host code, which becomes `whole`; 0 if it is not known */
    int64_t fixed; /* the literal number of the launch, for both sets; 0 if it is not known */
    bool bake;
    bool any;        /* a trial run has shown that the size may have any value */
    bool odd;        /* `tiny` is one more than a multiple of a tile */
    const char *why; /* the reason why the size must be a multiple; NULL means that no trial has shown a reason */
} kiln__size;

/* ---- the launch by host code (host.c, launched.c) ---- */

/* An expression of the host. `op` tells its kind:
 *
 * - '0' is a whole number, '.' is another number, and 'w' is a name.
 * - '?' is a condition, with the two results in b, which has the kind ':'. '!' is a negation, and 'n' is a minus.
 * - 'C' is ceil_div(). 'm' and 'M' are min() and max().
 * - '+', '-', '*', '/', '%', '<' and '>' are operators. 'l', 'g', 'e' and 'd' are <=, >=, == and !=.
 * - 'a', 'o', 'L' and 'R' are &&, ||, << and >>. */
typedef struct kiln__tree {
    char op;
    bool free; /* a name without a definition */
    int64_t value;
    const char *text; /* a name; for a whole number: the name of its constant, or NULL */
    struct kiln__tree *a, *b;
} kiln__tree;

enum { KILN__MOST_LIST = 64 };

typedef struct kiln__frame kiln__frame; /* host_internal.h */

typedef struct kiln__host_launch {
    bool found;
    bool in_macro;     /* the launch is in the body of a macro */
    bool in_case;      /* the launch is in a case of a switch */
    bool otherwise;    /* the launch is under the `default:` of a switch */
    bool in_kernel;    /* the scope is the kernel itself */
    size_t at;         /* the word of the source at which the launch begins */
    unsigned line;     /* line of the launch */
    kiln__range scope; /* the function or the macro around it */
    kiln__range grid, block, shared;
    kiln__range templates[KILN__MOST_LIST], arguments[KILN__MOST_LIST];
    kiln__tree *trees[KILN__MOST_LIST]; /* the template's arguments that are numbers; NULL means not read */
    size_t template_count, argument_count;
    /* the macro use, the template call or the switch case that contains this launch; NULL means that no such thing
     * contains it
     */
    const kiln__frame *frame;
    /* All values that launches give to a parameter of the template; NULL means that the launches give only one
     * value. */
    const char *values[KILN__MOST_LIST];
} kiln__host_launch;

typedef struct kiln__axis { /* one axis of the launch */
    bool used;
    const char *grid, *block; /* expressions */
    int64_t blocks, threads;  /* the values of both expressions at the tiny sizes and the chosen values of params */
    const char *doubt;        /* the reason why the grid is not certain; NULL means that the source shows the grid */
    /* the size over which the grid runs, if a block is a row of another size; NULL if it is not known */
    const char *rows;
} kiln__axis;

typedef struct kiln__draft {
    const kiln_allocator *mem;
    kiln__arena *arena;
    const char *path, *shown, *name; /* path of the file, its name for messages, name of the spec */
    const char *folder, *source;     /* folder of the spec; path of the source in the spec */
    const kiln_draft_options *options;
    kiln__scan *scan;
    const kiln__kernel *kernel;
    kiln__tunable tunables[KILN__MOST_TUNABLES];
    size_t tunable_count;
    kiln__draft_argument arguments[KILN__MOST_ARGUMENTS];
    size_t argument_count;
    kiln__size sizes[KILN__MOST_SIZES];
    size_t size_count;
    kiln__axis axes[3];
    const char *trouble; /* the error of the trial, or NULL */
    /* the reason why the sizes of `tiny` are multiples although `any` allows other sizes; NULL means that there is no
     * reason */
    const char *even;
    bool tried;
    bool untried;   /* a limit ended the trial of some values of params */
    uint64_t steps; /* steps of the simulated device that are left for the trials of values */
    kiln__host_launch host;
    /* All launches of the kernel. kiln__host_choose() keeps only the launches in different branches of one #if. */
    kiln__host_launch *launches;
    size_t launch_count;
    /* A file near the source that has the launch; NULL means that the source has the launch, or that the user named a
     * file. */
    const char *nearby;
    bool one_place;    /* all launches that count stand at the same place, so the tests around it hold */
    size_t conditions; /* how many conditions are being read inside each other; this number is limited */
    /* counters that are limited: names that were looked up, dim3 inside dim3, nodes of trees that were made, words that
     * were compared */
    size_t looked, nested, nodes, compared;
    /* the reason why the launch in the source could not be used; NULL means that it was used, or the source has no
     * launch */
    const char *unread;
    const char *shared;         /* the launch's bytes of shared memory; NULL if it is not known */
    const char *wheres[16];     /* constraints of static_assert, and of the launches */
    const char *where_from[16]; /* the reasons of these constraints */
    size_t where_count;
    unsigned widened;     /* number of times that all arrays became larger, because the first run went past an end */
    unsigned shared_each; /* bytes of the extern __shared__ array for each thread; 0 means the first guess */
} kiln__draft;

/* Returns the file and the line of the kernel for a message: "sum.cu:12". */
const char *kiln__kernel_place(const kiln__draft *draft);

/* ---- guesses (guess.c) ---- */

/* Finds the macros that the source leaves open, as far as its words show them. probe.c finds the others by compiling.
 */
void kiln__guess_macros(kiln__draft *draft);
void kiln__guess_templates(kiln__draft *draft); /* the parameters of the kernel's template, by the chosen launch */
/* Makes params of the values of kiln_draft_options. A name may occur with several values; the middle value is the
 * default. */
void kiln__take_values(kiln__draft *draft, const kiln_setting *values, size_t count);
/* Adds a param for a name that the compiler does not know. Ignores a name that the source itself declares, because the
 * compiler misses such a name only after another error. */
void kiln__guess_tunable(kiln__draft *draft, const char *name);
/* Guesses the names and the roles of the arguments from their words. probe.c corrects the types. */
kiln_status kiln__guess_arguments(kiln__draft *draft, kiln_error **error);
/* Adds one field of the structure number parent - 1, from the words of its type, its name, and the number of '*'
 * between them. Returns false if a spec cannot have the field, or if there is no room. */
bool kiln__guess_field(kiln__draft *draft, size_t from, size_t to, size_t name, size_t stars, uint64_t count,
                       size_t parent);
void kiln__guess_structs(kiln__draft *draft); /* the fields of structures that the kernel takes by value (structs.c) */
void kiln__guess_symbols(kiln__draft *draft); /* the variables that the host fills (symbols.c) */
void kiln__guess_sizes(kiln__draft *draft);
/* Adds a size that is not a parameter of the kernel, and returns its name. Returns NULL if there is no room. */
const char *kiln__guess_another_size(kiln__draft *draft, const char *name);
/* Guesses grid and block from the use of blockIdx, blockDim and threadIdx. */
void kiln__guess_launch(kiln__draft *draft);
void kiln__guess_shapes(kiln__draft *draft);
/* Finds a param by its name in the source. Returns NULL if no param has the name. */
const kiln__tunable *kiln__tunable_find(const kiln__draft *draft, const char *source);
/* Returns a name for the param of a template's parameter. This name differs from the parameter's name, because the
 * param becomes a macro, which would replace the parameter in the source. */
const char *kiln__template_name(const kiln__draft *draft, const char *name);
bool kiln__name_is_block(const char *name); /* the name looks like a number of threads of a block, or a tile */

/* Gives a buffer of type `void *` the type to which the kernel casts the pointer. If there is no such cast, or if the
 * casts give several types, marks the argument as untyped. */
void kiln__guess_cast(kiln__draft *draft, kiln__draft_argument *argument);

/* Returns true for an array of whole numbers that must not fall, such as the offsets of rows. */
bool kiln__is_offsets(const kiln__draft_argument *argument);
/* Returns true if the kernel reads an array of whole numbers, which may be indices. Then any block may access the end
 * of an array, not only the first or the last block. */
bool kiln__reads_indices(const kiln__draft *draft);
const char *kiln__guess_scalar(const char *name);                     /* a value for a number with a fraction */
bool kiln__is_enumerator(const kiln__draft *draft, const char *name); /* an `enum` of the source has this name */
/* Makes a size of the parameter number `argument`, which is a whole number. Returns its name, or NULL. */
const char *kiln__guess_size_of(kiln__draft *draft, size_t argument);
/* Returns true if the name occurs in a function that does not look like host code. A function looks like host code if
 * it has a launch or a call such as cudaMalloc(). */
bool kiln__is_used_by_device(const kiln__draft *draft, const char *name);
/* Lowers the default numbers of threads until the block fits __launch_bounds__ and the device. */
void kiln__fit_block(kiln__draft *draft);
/* Makes the sizes of the set `tiny` half as large where this is possible, and computes grid and block again. Returns
 * false if no size can become smaller (smaller.c). */
bool kiln__shrink_sizes(kiln__draft *draft);
bool kiln__mentions(const char *text, const char *name); /* the expression, which may be NULL, has the name */
/* Leaves only the default of each own param on which the extent of an array depends (smaller.c). */
void kiln__fix_extents(kiln__draft *draft);
void kiln__drop_unused_sizes(kiln__draft *draft); /* leaves out sizes that no other part of the spec uses (smaller.c) */
/* Sets the values of the sizes. All values differ, so that a run can distinguish the sizes. */
void kiln__set_sizes(kiln__draft *draft);
/* Adds a param for the number of threads of an axis. Its default is `chosen`, or the usual number if `chosen` is 0.
 * Returns its name, or NULL if there is no room. */
const char *kiln__add_threads(kiln__draft *draft, int axis, bool flat, int64_t chosen);
/* Adds a param for the number of blocks, which is `chosen` in the source. Returns its name, or NULL if there is no
 * room. */
const char *kiln__add_blocks(kiln__draft *draft, int64_t chosen);
/* Finds an element type by its name in sources: "__nv_bfloat162" is two of "bf16". Returns false for an unknown name.
 */
bool kiln__element_named(const char *name, size_t length, const char **type, int *lanes);
bool kiln__is_floating(const char *type);          /* a type of a spec */
uint64_t kiln__type_bytes_named(const char *name); /* size of a type of C or CUDA; 0 means unknown type */

/* Reads an argument of a template that is a type: an alias, or a parameter of the template around the launch, is
 * replaced. Returns the name of the type in sources, such as "float", or NULL if no spec has the type. */
const char *kiln__type_of_range(kiln__draft *draft, kiln__range range);

/* ---- the launch by host code ---- */

/* Searches the folder of the source and the two folders above it for a file that launches the kernel. Returns the path
 * of this file as the user sees it, or NULL (nearby.c). */
const char *kiln__nearby_launch(const kiln__draft *draft);
void kiln__host_find(kiln__draft *draft); /* finds the launches of the kernel in the source */
/* Chooses the launch at `line`. If `line` is 0, chooses the only launch. Launches that differ only in arguments of the
 * template count as one launch. Launches in different branches of one #if count as one launch too. If several launches
 * remain, returns KILN_ERROR_NOT_FOUND with their list. */
kiln_status kiln__host_choose(kiln__draft *draft, unsigned line, kiln_error **error);
/* Reads an expression of the host. Returns NULL if it cannot read the expression. */
kiln__tree *kiln__host_read(kiln__draft *draft, kiln__range range);
/* Reads a dim3 or a number into a tree for each axis. An axis that the text does not give stays NULL. Returns false if
 * the text cannot be read. */
bool kiln__host_axes(kiln__draft *draft, kiln__range range, kiln__tree **axes);
void kiln__host_templates(kiln__draft *draft);                           /* reads the template's arguments */
bool kiln__host_is_argument(const kiln__draft *draft, const char *name); /* the launch passes this variable */
bool kiln__host_apply(kiln__draft *draft);                               /* sets sizes, arguments, axes */
/* Returns the number that the launch gives to parameter number `param` of the template, or NULL if it was not read. */
const kiln__tree *kiln__template_tree(const kiln__draft *draft, size_t param);
const char *kiln__tree_text(const kiln__draft *draft, const kiln__tree *tree); /* as a spec writes it */
/* Computes a tree with the sizes of the set `tiny`, or with the default sizes if `whole` is true. Names that are not
 * known have the value `otherwise`. If `otherwise` is 0, the function returns false for such names. */
bool kiln__tree_value(const kiln__draft *draft, const kiln__tree *tree, bool whole, int64_t otherwise, int64_t *value);
/* Computes a tree that has no names. Returns false if it has names, or is NULL. */
bool kiln__tree_constant(const kiln__draft *draft, const kiln__tree *tree, int64_t *value);
bool kiln__tree_has_names(const kiln__tree *tree);              /* tree may be NULL */
bool kiln__tree_uses(const kiln__tree *tree, const char *name); /* tree may be NULL */
const char *kiln__tree_free(const kiln__tree *tree);            /* the first name without a definition, or NULL */
void kiln__tree_bind(kiln__tree *tree, const char *from, const char *to); /* replaces the free name `from` by `to` */

/* ---- answers of the compiler (probe.c) ---- */

/* Finds the folders of the headers of the source. */
kiln_status kiln__draft_include_paths(kiln_engine *engine, const kiln__draft *draft, kiln__include_paths *where,
                                      kiln_error **error);
/* Compiles the source until no name is missing, and reads the types of the kernel's parameters. */
kiln_status kiln__probe(kiln_engine *engine, kiln__draft *draft, const char *text, kiln_error **error);
/* Reads the type of a parameter from its mangled name, "PKf". Returns false if a spec cannot pass this type. */
bool kiln__probe_type(const char *mangled, size_t length, kiln__draft_argument *argument);

/* ---- the values of params (values.c) ---- */

/* Returns the part of a message that fits into a comment: its first line, or the second line if the first line only
 * announces the second. */
const char *kiln__first_line(const kiln__draft *draft, const char *message);
/* Returns true if the engine can still run kernels after a failure. If the failure destroyed the context, the function
 * makes a new context. */
bool kiln__can_go_on(kiln_engine *engine, const kiln_error *why);
/* Returns the next value of a list such as "64, 128", or NULL at its end. Moves *at behind the value. */
const char *kiln__next_value(const kiln__draft *draft, const char **at);
/* Runs the draft with one other value of a param for at most `seconds`. `shared` keeps the answer of the defaults for
 * the next runs of the same spec. If `verify` is true, compares the answer with
 * the answer of the default configuration. If `name` is NULL, all params have their defaults. If `finding` is not NULL,
 * runs under all checks, and *finding gets the kind of the first finding, or NULL. */
kiln_status kiln__run_value(kiln_engine *engine, const kiln_spec *spec, kiln__shared *shared, const char *name,
                            const char *value, bool verify, double seconds, const char **finding, kiln_error **error);
/* Returns true if the failure is due to the value. Three failures say nothing about the value: a constraint that
 * excludes it together with the other defaults, a time limit, and a lack of memory. */
bool kiln__is_due_to_value(kiln_status status);
/* Notes that a trial of a value gave the answer of the default. */
void kiln__note_proved(kiln__draft *draft, kiln__tunable *tunable, const char *value);
/* Removes from the list of each own param the values that no trial has proved. */
void kiln__drop_unproved(kiln__draft *draft);
/* Removes a value from the list of its param, and keeps the reason for a comment. */
void kiln__leave_out(kiln__draft *draft, kiln__tunable *tunable, const char *value, const char *message);

/* ---- the contract (contract.c) ---- */

/* Returns true if the size may vary between runs. A size does not vary if the launch passes a literal number for it, or
 * if it is a small number such as the width of a border. */
bool kiln__size_varies(const kiln__size *size);
/* Runs the draft under all checks with one more than the tiny value of a size, and ends the run after a number of
 * seconds. If the checks find something, *finding gets the kind of the first finding, and otherwise NULL. The caller
 * closes *plan, also after a failure. */
kiln_status kiln__run_size(kiln_engine *engine, const kiln_spec *spec, const kiln__size *size, double seconds,
                           kiln_plan **plan, const char **finding, kiln_error **error);
/* Keeps the kind of the first finding as a text in the const char ** that `user` points to. A callback of the
 * checks. */
int kiln__keep_finding(void *user, const kiln_check_finding *finding);
/* Writes the section `judge`. */
void kiln__draft_write_contract(const kiln__draft *draft, kiln__text *out);

/* ---- the spec (write.c) ---- */

void kiln__draft_write(const kiln__draft *draft, kiln__text *out);
bool kiln__draft_compares(const kiln__draft *draft); /* the spec compares an output of each configuration */

#endif
