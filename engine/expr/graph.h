/* graph.h - makes one expression graph from many expressions: a directed acyclic graph whose nodes are integer
 * operations. A subexpression that is common to several expressions is one node (hash-consing).
 *
 * The graph is for callers that evaluate the same expressions millions of times while they give one name after the
 * other a value. The value of a node is an int64_t, or it is *unknown*. Unknown stands for an error, and for a value
 * that is not an integer (a fraction, an overflow). If an operand is unknown, the result of the operation is unknown.
 * In `A if C else B`, only C and the chosen branch count. If the node of an expression is unknown, the caller must
 * evaluate the expression by kiln__expr_eval(). */
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
    uint8_t op; /* an opcode of expr/code.h, or one of the opcodes of graph.c */
    /* The kiln__expr_node_kind of the value. FLOAT: a float that is a whole number. TEXT: the number that stands for a
     * text. OTHER: a value that the graph cannot represent. */
    uint8_t kind;
    uint32_t a, b, c; /* the operands, which are earlier nodes */
    int64_t value;    /* for a constant: its value; for an input: its number */
    uint32_t next;    /* the next node in the same bucket of the hash table */
} kiln__expr_node;

typedef struct kiln__graph {
    const kiln_allocator *mem;
    kiln__expr_node *nodes;
    size_t count, capacity;
    uint32_t *buckets;
    size_t bucket_count;
    const char **texts; /* the texts that have numbers, not copied; a number is an index into this array */
    size_t text_count, text_capacity;
    bool failed; /* true after memory has run out */
} kiln__graph;

#define KILN__NO_NODE UINT32_MAX

void kiln__graph_free(kiln__graph *graph);
/* Returns the node of input `number`. An input is a name whose value the caller sets. */
uint32_t kiln__graph_input(kiln__graph *graph, uint32_t number, kiln__expr_node_kind kind);
/* Returns the node of a constant. A fraction gets the kind OTHER. */
uint32_t kiln__graph_constant(kiln__graph *graph, kiln_value value);
/* Returns the number that stands for a text. Equal texts always have the same number. */
int64_t kiln__graph_text(kiln__graph *graph, const char *text);

/* Adds an expression to the graph and returns its node. The callback resolve(user, expr, i) returns the node of the
 * expression's name number i (kiln__expr_name). The function returns KILN__NO_NODE if memory runs out, or if the
 * expression has values that the graph cannot represent, such as fractions. The caller must then evaluate the
 * expression by kiln__expr_eval(). */
typedef uint32_t (*kiln__resolve_fn)(void *user, const kiln__expr *expr, size_t name);
uint32_t kiln__graph_add(kiln__graph *graph, const kiln__expr *expr, kiln__resolve_fn resolve, void *user);

/* If the node is a conjunction `left and right`, sets *left and *right to its operands and returns true. The function
 * is for nodes that are used as conditions. */
bool kiln__graph_split(const kiln__graph *graph, uint32_t node, uint32_t *left, uint32_t *right);
/* Returns true if the node is a constant, or if it is always unknown. In the second case *known is false. */
bool kiln__graph_is_constant(const kiln__graph *graph, uint32_t node, int64_t *value, bool *known);
bool kiln__graph_is_input(const kiln__graph *graph, uint32_t node);
/* Writes the operands of a node to `out`, and returns their number. An input or a constant has no operands. */
unsigned kiln__graph_operands(const kiln__graph *graph, uint32_t node, uint32_t out[3]);

/* Computes the values of `nodes` in the given order. The operands of a node must have values before the node. */
void kiln__graph_run(const kiln__graph *graph, const uint32_t *nodes, size_t count, int64_t *values, bool *unknown);
#endif
