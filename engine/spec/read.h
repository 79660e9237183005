/* read.h - private to engine/spec: the functions that the readers of a spec's sections share.
 *
 * A reader continues after an error, so that Kiln reports all errors of a file together. A value that a reader could
 * not read stays zero. If the diag has any error at the end, the load returns no spec. */
#ifndef KILN_SPEC_READ_H
#define KILN_SPEC_READ_H

#include "keys.h"
#include "spec.h"
#include "tree.h"

typedef enum kiln__name_kind {
    KILN__NAME_SIZE,
    KILN__NAME_PARAM,
    KILN__NAME_LET,
    KILN__NAME_INPUT,
    KILN__NAME_BUFFER,
    KILN__NAME_LOOP,
    KILN__NAME_METRIC /* a metric or a measurement; these names are known only while metrics are read */
} kiln__name_kind;

/* A name in the namespace that all expressions share. */
typedef struct kiln__name {
    const char *text;
    kiln__name_kind kind;
    kiln__pos pos;
    /* For an INPUT: the number of the input + 1. For a LET: the highest number of an input that the let needs, also
     * through other lets. For all other names: 0. */
    size_t inputs;
    const kiln__param *param;
    /* For a LET or an INPUT: true if the value depends on a param or on the device. This member is set when features
     * are read. */
    bool varies;
} kiln__name;

enum { KILN__MOST = 256, KILN__MOST_VARIANTS = 1000, KILN__MOST_VALUES = 1 << 20 };

typedef struct kiln__reader {
    kiln_spec *spec;
    kiln__arena *arena;   /* the arena of the spec */
    kiln__arena *scratch; /* holds the tree, and data that is needed only during the reading */
    kiln__diag *diag;
    const kiln__host_lookup *hosts;
    /* The known names, the innermost scope last. At the end of a variant or a loop, its names are removed. */
    kiln__name *names;
    size_t name_count, name_capacity;
    size_t input_count; /* number of inputs that are declared so far */
    bool for_input;     /* true while the argument of an input is read; it only changes the text of messages */
    /* true if an error of the metrics was reported: a metric depends on itself, or uses a name that it may not use. */
    bool metrics_wrong;
    size_t value_count; /* number of values of all params together, limited by KILN__MOST_VALUES */
} kiln__reader;

#define KILN__ALL_INPUTS SIZE_MAX

/* ---- nodes (read.c) ---- */

/* Returns true if `node` is a mapping; otherwise reports an error. Also reports keys of the mapping that have no row in
 * keys.h. */
bool kiln__read_map(kiln__reader *r, const kiln__spec_node *node, kiln__mapping mapping);
/* Returns true if `node` is a mapping; otherwise reports an error. Also reports keys that are not in `keys`, which ends
 * with NULL. The readers of formats other than the spec's use this function; `what` names the mapping in messages. */
bool kiln__read_map_of(kiln__reader *r, const kiln__spec_node *node, const char *what, const char *const *keys);
/* Returns true if the mapping has the key; otherwise reports that the key is missing. */
bool kiln__read_key(kiln__reader *r, const kiln__spec_node *map, kiln__key key);
bool kiln__read_need(kiln__reader *r, const kiln__spec_node *map, const char *what, const char *key);
/* Returns the number of entries of a mapping from names to values (lets, buffers). If `node` is NULL, returns 0.
 * Reports an error and returns 0 if the node is not a mapping, or has more than KILN__MOST entries. */
size_t kiln__read_entries(kiln__reader *r, const kiln__spec_node *node, const char *what);
/* Returns the number of items of a list and sets *items. A single value counts as a list with one item. If the node is
 * NULL, the function returns 0 and sets *items to NULL. If the node is a mapping, the function reports an error,
 * returns 0 and sets *items to NULL. */
size_t kiln__read_items(kiln__reader *r, kiln__spec_node *const *node, const char *what,
                        kiln__spec_node *const **items);
/* Returns the text of a scalar, which lives in the spec's arena. Reports an error and returns NULL if the node is not a
 * scalar or is empty. */
const char *kiln__read_text(kiln__reader *r, const kiln__spec_node *node, const char *what);
bool kiln__read_bool(kiln__reader *r, const kiln__spec_node *node, const char *what, bool *value);
void *kiln__read_array(kiln__reader *r, size_t count, size_t size); /* returns a zeroed array in the spec's arena */

/* ---- names and expressions (names.c) ---- */

/* Adds a name to the namespace of the spec. Reports an error if the name is in use, is not valid, or is a word of the
 * expression language. */
void kiln__declare(kiln__reader *r, const kiln__spec_node *key, kiln__name_kind kind, const kiln__param *param);
void kiln__declare_text(kiln__reader *r, const char *text, kiln__pos pos, kiln__name_kind kind);
kiln__name *kiln__find_name(const kiln__reader *r, const char *text);
/* Returns true if the value may differ between configurations or devices, because it uses a param or the device. */
bool kiln__varies(kiln__reader *r, const kiln__expr *expr);
/* Reads a mapping from names to expressions. */
kiln__named_expr *kiln__read_named(kiln__reader *r, const kiln__spec_node *map, const char *what, size_t inputs,
                                   size_t *count);
/* `kinds` has the bits 1 << KILN__NAME_x of the kinds of names that the function compares */
const char *kiln__nearest_name(const kiln__reader *r, const char *text, unsigned kinds);

/* Parses an expression and checks that all its names are known at this place. Returns NULL after it has reported an
 * error. `inputs` is the number of inputs that exist when the value is needed. */
kiln__expr *kiln__read_expr(kiln__reader *r, const kiln__spec_node *node, const char *what, size_t inputs);
void kiln__check_expr(kiln__reader *r, const kiln__expr *expr, size_t inputs);
kiln__template *kiln__read_template(kiln__reader *r, const kiln__spec_node *node, const char *what);
/* Reads a number that is an argument of a launch. The function works like kiln__read_expr(), but its messages also
 * suggest buffers. */
kiln__expr *kiln__read_arg(kiln__reader *r, const kiln__spec_node *node, const char *what);
/* Reads the path of a file. *path is set to a template if the path has sizes in braces, otherwise to NULL. */
const char *kiln__read_path(kiln__reader *r, const kiln__spec_node *node, const char *what, kiln__template **path);
/* Returns the name of a buffer that the spec has. Reports an error and returns NULL if the spec has no such buffer. */
const char *kiln__read_buffer_name(kiln__reader *r, const kiln__spec_node *node, const char *what);
/* Reads the arguments of a host function: all keys of `map` except `skip`. If `skip` is NULL, all keys are arguments.
 * `inputs` is the number of inputs that exist when the function is called. If `buffers` is true, an argument may be a
 * buffer. */
kiln__arg *kiln__read_host_args(kiln__reader *r, const kiln__spec_node *map, const char *skip, size_t inputs,
                                bool buffers, size_t *count);
/* Returns the name of a host function, or NULL if the node is not a text. If no function of this name is registered for
 * `use` (KILN_HOST_...), reports an error, but still returns the name. */
const char *kiln__read_host(kiln__reader *r, const kiln__spec_node *node, const char *what, unsigned use);

/* ---- sections ---- */

kiln__param *kiln__read_params(kiln__reader *r, const kiln__spec_node *node, size_t *count); /* params.c */
/* Reads one value of a param or a size: a number, true or false, a name, a quoted text, or a constant expression. */
bool kiln__read_value(kiln__reader *r, const kiln__spec_node *node, const char *what, kiln_value *value);
void kiln__read_sizes(kiln__reader *r, const kiln__spec_node *node);
void kiln__check_sizes(kiln__reader *r, const kiln__spec_node *node, const kiln__buffer *buffers, size_t count);
bool kiln__unify(kiln__reader *r, kiln__pos pos, const char *what, kiln_value *values, size_t count);
bool kiln__check_different(kiln__reader *r, kiln__pos pos, const char *name, const kiln_value *values, size_t count);
kiln__template **kiln__read_options(kiln__reader *r, kiln__spec_node *const *node, size_t *count);

/* device.c */
void kiln__read_for_device(kiln__reader *r, kiln__spec_node *target, kiln__spec_node *needs, kiln__for_device *out);
/* Joins the targets and needs of a spec and of a variant. If the variant has targets, they replace the spec's targets.
 * The `needs` of the spec and of the variant all apply. */
void kiln__join_for_device(kiln__reader *r, const kiln__for_device *spec, const kiln__for_device *own,
                           kiln__for_device *both);

/* metrics.c. Reads the metrics of the spec or of a variant. The metrics of a variant may use the spec's metrics, which
 * are in `shared`. */
kiln__named_expr *kiln__read_metrics(kiln__reader *r, const kiln__spec_node *map, const kiln__named_expr *shared,
                                     size_t shared_count, size_t *count);
/* Sets the metrics of a variant: the spec's metrics, then the variant's own metrics. If the spec and the variant have a
 * metric of the same name, the variant's metric applies. Reports an error if a metric depends on itself. */
void kiln__join_metrics(kiln__reader *r, const kiln__named_expr *shared, size_t shared_count,
                        const kiln__named_expr *own, size_t own_count, kiln__variant *variant);
/* buffers.c */
kiln__buffer *kiln__read_buffers(kiln__reader *r, const kiln__spec_node *node, bool of_spec, size_t *count);
/* arguments.c */
void kiln__read_argument(kiln__reader *r, kiln__spec_node *map, kiln__argument *arg);
/* pointer.c: reads a pointer argument `x`, `x + 4 * N` or `null`. Returns true if the text has one of these forms. In
 * this case the function has reported any error in the text. */
bool kiln__read_pointer(kiln__reader *r, const kiln__spec_node *node, kiln__argument *arg);
/* tensor_map.c: `map` has the key `tensor_map` and describes the argument */
void kiln__read_tensor_map(kiln__reader *r, const kiln__spec_node *map, kiln__argument *arg);
/* texture.c: `map` has the key `texture` and describes the argument */
void kiln__read_texture(kiln__reader *r, const kiln__spec_node *map, kiln__argument *arg);
/* steps.c */
kiln__step *kiln__read_steps(kiln__reader *r, kiln__spec_node *node, const char *what, size_t *count);
kiln__step *kiln__read_launch_only(kiln__reader *r, const kiln__spec_node *node, size_t *count);

/* verify.c: kiln__read_tolerances() reads `tolerance:` of a variant. kiln__read_verify() reads `verify:`, which covers
 * the buffers that are outputs. It is called after all variants are read. */
void kiln__read_tolerances(kiln__reader *r, const kiln__spec_node *node, kiln__variant *variant);
void kiln__read_verify(kiln__reader *r, const kiln__spec_node *map, const kiln__buffer *buffers, size_t buffer_count);

/* judge.c: reads `judge:`, the assumptions of a judged kernel about sizes and the spec's buffers. */
void kiln__read_judge(kiln__reader *r, const kiln__spec_node *map, const kiln__buffer *buffers, size_t buffer_count);

/* Reads a whole T1 file from its tree. The caller has recognised the tree of `root` as a T1 file. */
void kiln__read_t1(kiln__reader *r, const kiln__spec_node *root); /* t1.c */
bool kiln__is_t1(const kiln__spec_node *root);
void kiln__read_spec(kiln__reader *r, const kiln__spec_node *root); /* parse.c */

#endif
