/* tree.h - private to engine/spec: a YAML text as a tree of nodes with places.
 *
 * tree.c builds the tree from libyaml's events and not from its documents. Only with events can the reader stop before
 * untrusted text has used up the memory. */
#ifndef KILN_SPEC_TREE_H
#define KILN_SPEC_TREE_H

#include "base.h"

typedef enum kiln__spec_node_kind { KILN__SCALAR, KILN__LIST, KILN__MAP } kiln__spec_node_kind;

typedef struct kiln__spec_node {
    kiln__spec_node_kind kind;
    /* for a SCALAR: true if the text is in single quotes, in double quotes or a block. Such a text is never a number, a
     * boolean or a name. */
    bool quoted;
    bool anchored;    /* for a SCALAR: true if aliases may have put the node into several places of the tree */
    kiln__pos pos;    /* place of the first character; for a quoted text, the place after the quote */
    const char *text; /* SCALAR: a text that ends with a NUL byte and contains no other */
    size_t length;
    size_t count; /* for a LIST or a MAP: number of items */
    struct kiln__spec_node **items;
    struct kiln__spec_node **keys; /* for a MAP: the keys, which are scalars and all different */
    /* The number of nodes in this subtree, and the number of its levels. An alias counts as all nodes to which it
     * refers. */
    size_t weight, height;
} kiln__spec_node;

enum { KILN__TREE_DEPTH = 64, KILN__TREE_NODES = 200000, KILN__TREE_KEYS = 4096 };

/* Builds the tree of source->text in `arena`. Returns NULL if the text is empty, is not YAML or exceeds a limit, which
 * `diag` reports, or if memory runs out (arena->failed). After an error such as a duplicate key, reports it in `diag`
 * and still returns the tree. */
kiln__spec_node *kiln__tree_parse(kiln__arena *arena, const kiln__source *source, kiln__diag *diag);

/* Returns the text of the file from the place of a node to the end of the file. Returns NULL if the node has no
 * place. */
const char *kiln__spec_node_text(const kiln__spec_node *node);
/* These functions return NULL if the key is missing or if `map` is not a mapping. */
kiln__spec_node *kiln__spec_node_get(const kiln__spec_node *map, const char *key);
const kiln__spec_node *kiln__spec_node_key(const kiln__spec_node *map, const char *key);
const char *kiln__spec_node_describe(const kiln__spec_node *node); /* returns "a list" and so on, for messages */

#endif
