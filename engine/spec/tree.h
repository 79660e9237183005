/* tree.h - private to engine/spec: a YAML text as nodes with places. libyaml's events, not its documents, because only
 * events can be cut off before untrusted text has used up memory. */
#ifndef KILN_SPEC_TREE_H
#define KILN_SPEC_TREE_H

#include "base.h"

typedef enum kiln__spec_node_kind { KILN__SCALAR, KILN__LIST, KILN__MAP } kiln__spec_node_kind;

typedef struct kiln__spec_node {
    kiln__spec_node_kind kind;
    bool quoted;      /* SCALAR: 'so', "so" or a block: never a number, a boolean or a name */
    bool anchored;    /* SCALAR: may stand in several places, by aliases */
    kiln__pos pos;    /* of the first character; of a quoted text behind the quote */
    const char *text; /* SCALAR: NUL-terminated, without NUL bytes in it */
    size_t length;
    size_t count; /* LIST, MAP: how many */
    struct kiln__spec_node **items;
    struct kiln__spec_node **keys; /* MAP: scalars, all different */
    size_t weight, height; /* nodes below and including it, and levels; aliases counted as what they stand for */
} kiln__spec_node;

enum { KILN__TREE_DEPTH = 64, KILN__TREE_NODES = 200000, KILN__TREE_KEYS = 4096 };

/* The tree of source->text in `arena`, or NULL where even the YAML is broken (said in diag), or out of memory
 * (arena->failed). Duplicate keys and the like are said in diag, and the tree is there all the same. */
kiln__spec_node *kiln__tree_parse(kiln__arena *arena, const kiln__source *source, kiln__diag *diag);

/* NULL: not there, or `map` is none */
kiln__spec_node *kiln__spec_node_get(const kiln__spec_node *map, const char *key);
const kiln__spec_node *kiln__spec_node_key(const kiln__spec_node *map, const char *key);
const char *kiln__spec_node_describe(const kiln__spec_node *node); /* "a list", for messages */

#endif
