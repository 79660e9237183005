/* graph.h - expressions as one graph of integer operations, in which a common subexpression of several expressions is
 * one node (hash-consing).
 *
 * The graph is for callers that evaluate the same expressions millions of times while they bind one name after the
 * other. The value of a node is an int64_t, or *unknown*: an error, or a value that is not an integer (a fraction, an
 * overflow). Unknown propagates as an error does, but not from a branch that is not taken. Unknown only means that the
 * caller must evaluate the expression itself. */
#ifndef KILN_EXPR_GRAPH_H
#define KILN_EXPR_GRAPH_H

#include "expr.h"

typedef enum kiln__expr_node_kind {
    KILN__NODE_INT,
    KILN__NODE_FLOAT,
    KILN__NODE_TEXT,
    KILN__NODE_OTHER
} kiln__expr_node_kind;

typedef struct kiln__expr_node {
    uint8_t op; /* an opcode of expr/code.h, or an opcode of graph.c */
    /* FLOAT: a float that is a whole number. TEXT: the number of a text. OTHER: any other value */
    uint8_t kind;
    uint32_t a, b, c; /* operands: earlier nodes */
    int64_t value;    /* value of a constant; number of an input */
    uint32_t next;    /* link in the hash table of known nodes */
} kiln__expr_node;

typedef struct kiln__graph {
    const kiln_allocator *mem;
    kiln__expr_node *nodes;
    size_t count, capacity;
    uint32_t *buckets;
    size_t bucket_count;
    const char **texts; /* the texts of constants and inputs are referenced and not copied */
    size_t text_count, text_capacity;
    bool failed; /* memory ran out */
} kiln__graph;

#define KILN__NO_NODE UINT32_MAX

void kiln__graph_free(kiln__graph *graph);
/* Returns the node of input number `number`: a name whose value the caller sets. */
uint32_t kiln__graph_input(kiln__graph *graph, uint32_t number, kiln__expr_node_kind kind);
/* Returns the node of a constant. A fraction has the kind OTHER. */
uint32_t kiln__graph_constant(kiln__graph *graph, kiln_value value);
/* Returns the number that represents a text. Equal texts have the same number. */
int64_t kiln__graph_text(kiln__graph *graph, const char *text);

/* Returns the node of `expr`. Name number i of the expression is the node resolve(user, expr, i). Returns
 * KILN__NO_NODE if memory runs out, or if the expression contains values that are not integers. The caller must then
 * evaluate the expression itself. */
typedef uint32_t (*kiln__resolve_fn)(void *user, const kiln__expr *expr, size_t name);
uint32_t kiln__graph_add(kiln__graph *graph, const kiln__expr *expr, kiln__resolve_fn resolve, void *user);

/* Returns true if the node is the conjunction `left and right`, in a condition. */
bool kiln__graph_split(const kiln__graph *graph, uint32_t node, uint32_t *left, uint32_t *right);
/* Returns true if the node has the same value always, or is always unknown (*known is then false). */
bool kiln__graph_is_constant(const kiln__graph *graph, uint32_t node, int64_t *value, bool *known);
bool kiln__graph_is_input(const kiln__graph *graph, uint32_t node);
/* Writes the operands of a node, and returns their number, which is 0 for an input or a constant. */
unsigned kiln__graph_operands(const kiln__graph *graph, uint32_t node, uint32_t out[3]);

/* Computes nodes in the order given; their operands must have values. */
void kiln__graph_run(const kiln__graph *graph, const uint32_t *nodes, size_t count, int64_t *values, bool *unknown);
#endif
