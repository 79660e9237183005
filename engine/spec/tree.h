/* tree.h - private to engine/spec: a YAML text as a tree of nodes with places.
 *
 * The tree is built from libyaml's events and not from its documents. Only events allow the reader to stop before
 * untrusted text has used up the memory. */
#ifndef KILN_SPEC_TREE_H
#define KILN_SPEC_TREE_H

#include "base.h"

typedef enum kiln__spec_node_kind { KILN__SCALAR, KILN__LIST, KILN__MAP } kiln__spec_node_kind;

typedef struct kiln__spec_node {
    kiln__spec_node_kind kind;
    /* SCALAR: written in single quotes, in double quotes or as a block. Such a text is never a number, a boolean or a
     * name. */
    bool quoted;
    bool anchored;    /* SCALAR: may be in several places of the tree, because of aliases */
    kiln__pos pos;    /* place of the first character; in a quoted text, after the quote */
    const char *text; /* SCALAR: NUL-terminated, without NUL bytes in it */
    size_t length;
    size_t count; /* LIST, MAP: number of items */
    struct kiln__spec_node **items;
    struct kiln__spec_node **keys; /* MAP: scalars, all different */
    /* Number of nodes in this subtree, and its number of levels. An alias counts as the nodes to which it refers. */
    size_t weight, height;
} kiln__spec_node;

enum { KILN__TREE_DEPTH = 64, KILN__TREE_NODES = 200000, KILN__TREE_KEYS = 4096 };

/* Builds the tree of source->text in `arena`. Returns NULL if the text is empty, is not YAML or exceeds a limit, which
 * `diag` reports, or if memory runs out (arena->failed). Errors such as duplicate keys are reported in `diag`, and the
 * tree is returned nevertheless. */
kiln__spec_node *kiln__tree_parse(kiln__arena *arena, const kiln__source *source, kiln__diag *diag);

/* Returns the text of the file at the place of a node, up to the end of the file, or NULL if the node has no
 * place. */
const char *kiln__spec_node_text(const kiln__spec_node *node);
/* Return NULL if the key is missing or if `map` is not a mapping. */
kiln__spec_node *kiln__spec_node_get(const kiln__spec_node *map, const char *key);
const kiln__spec_node *kiln__spec_node_key(const kiln__spec_node *map, const char *key);
const char *kiln__spec_node_describe(const kiln__spec_node *node); /* "a list", for messages */

#endif
