/* read.h - private to engine/spec: what the readers of a spec's sections share.
 *
 * A reader goes on after an error, so that all errors of a file are reported together: what could not be read is
 * left zero, and no spec is returned if the diag has an entry. */
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
    KILN__NAME_METRIC /* also of a measurement; only while metrics are read */
} kiln__name_kind;

/* One name of the namespace that all expressions share. */
typedef struct kiln__name {
    const char *text;
    kiln__name_kind kind;
    kiln__pos pos;
    size_t inputs; /* INPUT: its number + 1; LET: the highest such number it needs, through other lets too; else 0 */
    const kiln__param *param;
    bool varies; /* LET, INPUT: it depends on a param or on the device; set where features are read */
} kiln__name;

enum { KILN__MOST = 256, KILN__MOST_VARIANTS = 1000, KILN__MOST_VALUES = 1 << 20 };

typedef struct kiln__reader {
    kiln_spec *spec;
    kiln__arena *arena;   /* the spec's */
    kiln__arena *scratch; /* the tree, and what only the reading needs */
    kiln__diag *diag;
    const kiln__host_lookup *hosts;
    kiln__name *names; /* innermost last; cut back behind a variant or a loop */
    size_t name_count, name_capacity;
    size_t input_count; /* declared so far */
    bool for_input;     /* what is read is an input's argument; only for the wording of messages */
    bool metrics_wrong; /* it was said that they depend on themselves, or on what they may not */
    size_t value_count; /* of all params, against KILN__MOST_VALUES */
} kiln__reader;

#define KILN__ALL_INPUTS SIZE_MAX

/* ---- nodes (read.c) ---- */

/* True if `node` is a mapping; says so if not. Reports keys that the table has no row for (keys.h). */
bool kiln__read_map(kiln__reader *r, const kiln__spec_node *node, kiln__mapping mapping);
/* The same for a mapping of another format; `keys` ends with NULL. */
bool kiln__read_map_of(kiln__reader *r, const kiln__spec_node *node, const char *what, const char *const *keys);
/* True if it is there; says that the mapping misses the key if not. */
bool kiln__read_key(kiln__reader *r, const kiln__spec_node *map, kiln__key key);
bool kiln__read_need(kiln__reader *r, const kiln__spec_node *map, const char *what, const char *key);
/* A mapping of names to anything, at most KILN__MOST: lets, buffers. NULL node: 0 entries. */
size_t kiln__read_entries(kiln__reader *r, const kiln__spec_node *node, const char *what);
/* The items of a list; a single value counts as a list of one. *items is NULL and 0 returned for a NULL node. */
size_t kiln__read_items(kiln__reader *r, kiln__spec_node *const *node, const char *what,
                        kiln__spec_node *const **items);
/* A scalar as text, in the spec's arena; NULL (and a message) if it is none or empty. */
const char *kiln__read_text(kiln__reader *r, const kiln__spec_node *node, const char *what);
bool kiln__read_bool(kiln__reader *r, const kiln__spec_node *node, const char *what, bool *value);
void *kiln__read_array(kiln__reader *r, size_t count, size_t size); /* zeroed, in the spec's arena */

/* ---- names and expressions (names.c) ---- */

/* Adds a name to the namespace; says so if it is taken, no name at all, or a word of the language. */
void kiln__declare(kiln__reader *r, const kiln__spec_node *key, kiln__name_kind kind, const kiln__param *param);
void kiln__declare_text(kiln__reader *r, const char *text, kiln__pos pos, kiln__name_kind kind);
const kiln__name *kiln__find_name(const kiln__reader *r, const char *text);
const char *kiln__nearest_name(const kiln__reader *r, const char *text, unsigned kinds); /* kinds: 1 << KILN__NAME_x */

/* Parses and checks that every name in it is known here. NULL after an error. `inputs`: how many of the inputs are made
 * by the time the value is needed. */
kiln__expr *kiln__read_expr(kiln__reader *r, const kiln__spec_node *node, const char *what, size_t inputs);
void kiln__check_expr(kiln__reader *r, const kiln__expr *expr, size_t inputs);
kiln__template *kiln__read_template(kiln__reader *r, const kiln__spec_node *node, const char *what);
/* A number as a launch's argument: as kiln__read_expr, with messages that know of buffers. */
kiln__expr *kiln__read_arg(kiln__reader *r, const kiln__spec_node *node, const char *what);
/* A file's path; *path: NULL, or it has sizes in braces. */
const char *kiln__read_path(kiln__reader *r, const kiln__spec_node *node, const char *what, kiln__template **path);
/* The name of a buffer; NULL and a message if there is none of that name. */
const char *kiln__read_buffer_name(kiln__reader *r, const kiln__spec_node *node, const char *what);
kiln__arg *kiln__read_host_args(kiln__reader *r, const kiln__spec_node *map, const char *skip, size_t inputs,
                                bool buffers, size_t *count);
const char *kiln__read_host(kiln__reader *r, const kiln__spec_node *node, const char *what, unsigned use);

/* ---- sections ---- */

kiln__param *kiln__read_params(kiln__reader *r, const kiln__spec_node *node, size_t *count); /* params.c */
/* One value as params and sizes have them: a number, true or false, a name, a quoted text, a constant expression. */
bool kiln__read_value(kiln__reader *r, const kiln__spec_node *node, const char *what, kiln_value *value);
void kiln__read_sizes(kiln__reader *r, const kiln__spec_node *node);
void kiln__check_sizes(kiln__reader *r, const kiln__spec_node *node, const kiln__buffer *buffers, size_t count);
bool kiln__unify(kiln__reader *r, kiln__pos pos, const char *what, kiln_value *values, size_t count);
bool kiln__check_different(kiln__reader *r, kiln__pos pos, const char *name, const kiln_value *values, size_t count);
kiln__template **kiln__read_options(kiln__reader *r, kiln__spec_node *const *node, size_t *count);

/* device.c */
void kiln__read_for_device(kiln__reader *r, kiln__spec_node *target, kiln__spec_node *needs, kiln__for_device *out);
/* The targets of the variant, if it has any, else those of the spec; and all conditions. */
void kiln__join_for_device(kiln__reader *r, const kiln__for_device *spec, const kiln__for_device *own,
                           kiln__for_device *both);

/* metrics.c. Those of the spec come first, then the variant's; of two of one name the variant's holds. */
kiln__named_expr *kiln__read_metrics(kiln__reader *r, const kiln__spec_node *map, const kiln__named_expr *shared,
                                     size_t shared_count, size_t *count);
void kiln__join_metrics(kiln__reader *r, const kiln__named_expr *shared, size_t shared_count,
                        const kiln__named_expr *own, size_t own_count, kiln__variant *variant);
/* buffers.c */
kiln__buffer *kiln__read_buffers(kiln__reader *r, const kiln__spec_node *node, bool of_spec, size_t *count);
/* arguments.c */
void kiln__read_argument(kiln__reader *r, kiln__spec_node *map, kiln__argument *arg);
/* `x`, `x + 4 * N`, `null`. True if the text is one of them; what is wrong with it has then been said. */
bool kiln__read_pointer(kiln__reader *r, const kiln__spec_node *node, kiln__argument *arg);
/* tensor_map.c: of a mapping that has the key `tensor_map` */
void kiln__read_tensor_map(kiln__reader *r, const kiln__spec_node *map, kiln__argument *arg);
/* texture.c: of a mapping that has the key `texture` */
void kiln__read_texture(kiln__reader *r, const kiln__spec_node *map, kiln__argument *arg);
/* steps.c */
kiln__step *kiln__read_steps(kiln__reader *r, kiln__spec_node *node, const char *what, size_t *count);
kiln__step *kiln__read_launch_only(kiln__reader *r, const kiln__spec_node *node, size_t *count);

/* parse.c */
kiln__named_expr *kiln__read_named(kiln__reader *r, const kiln__spec_node *map, const char *what, size_t inputs,
                                   size_t *count);
/* Whether it may differ from one configuration to another: it uses a param or the device. */
bool kiln__varies(kiln__reader *r, const kiln__expr *expr);

/* verify.c: a variant's `tolerance:`; then, behind the variants, `verify:`, of those of the buffers that are outputs. */
void kiln__read_tolerances(kiln__reader *r, const kiln__spec_node *node, kiln__variant *variant);
void kiln__read_verify(kiln__reader *r, const kiln__spec_node *map, const kiln__buffer *buffers, size_t buffer_count);

/* The whole of a T1 file; `root` has been recognised as one. */
void kiln__read_t1(kiln__reader *r, const kiln__spec_node *root); /* t1.c */
bool kiln__is_t1(const kiln__spec_node *root);
void kiln__read_spec(kiln__reader *r, const kiln__spec_node *root); /* parse.c */

#endif
