/* graph.c - makes one expression graph from many expressions. */
#include <string.h>

#include "code.h"
#include "graph.h"

/* The opcodes of nodes that are no instructions of the evaluator (code.h). */
enum { NODE_INPUT = 200, NODE_CONSTANT, NODE_SELECT, NODE_UNKNOWN };

/* The graph computes floats that are whole numbers as integers. No operand and no result may exceed this magnitude, so
 * that the result is equal to the result in floats. */
#define WHOLE_MOST ((int64_t)1 << 26)

void kiln__graph_free(kiln__graph *graph)
{
    kiln__free(graph->mem, graph->nodes);
    kiln__free(graph->mem, graph->buckets);
    kiln__free(graph->mem, graph->texts);
}

static size_t bucket_of(const kiln__graph *graph, const kiln__expr_node *n)
{
    uint64_t h = n->op * 0x9e3779b97f4a7c15ull ^ n->a * 0xff51afd7ed558ccdull ^ n->b * 0xc4ceb9fe1a85ec53ull ^
                 n->c * 0x2545f4914f6cdd1dull ^ (uint64_t)n->value * 0xd6e8feb86659fd93ull;
    return (size_t)(h ^ h >> 29) & (graph->bucket_count - 1);
}

static bool rehash(kiln__graph *graph)
{
    size_t count = graph->bucket_count ? 2 * graph->bucket_count : 64;
    uint32_t *buckets = kiln__alloc(graph->mem, count * sizeof *buckets);
    if (!buckets)
        return false;
    kiln__free(graph->mem, graph->buckets);
    memset(buckets, 0xff, count * sizeof *buckets);
    graph->buckets = buckets;
    graph->bucket_count = count;
    for (uint32_t k = 0; k < graph->count; k++) {
        size_t at = bucket_of(graph, &graph->nodes[k]);
        graph->nodes[k].next = buckets[at];
        buckets[at] = k;
    }
    return true;
}

/* Returns the node that is equal to `n`. If there is no such node, creates it (hash-consing). */
static uint32_t intern(kiln__graph *graph, kiln__expr_node n)
{
    if (graph->failed || (graph->count >= graph->bucket_count && !rehash(graph)))
        goto out_of_memory;
    size_t at = bucket_of(graph, &n);
    for (uint32_t k = graph->buckets[at]; k != KILN__NO_NODE; k = graph->nodes[k].next) {
        const kiln__expr_node *o = &graph->nodes[k];
        if (o->op == n.op && o->kind == n.kind && o->a == n.a && o->b == n.b && o->c == n.c && o->value == n.value)
            return k;
    }
    if (graph->count >= KILN__NO_NODE - 1 ||
        !kiln__grow(graph->mem, &graph->nodes, &graph->capacity, graph->count + 1, sizeof *graph->nodes))
        goto out_of_memory;
    n.next = graph->buckets[at];
    graph->nodes[graph->count] = n;
    graph->buckets[at] = (uint32_t)graph->count;
    return (uint32_t)graph->count++;
out_of_memory:
    graph->failed = true;
    return KILN__NO_NODE;
}

static uint32_t add_constant(kiln__graph *graph, kiln__expr_node_kind kind, int64_t value)
{
    return intern(graph, (kiln__expr_node){.op = NODE_CONSTANT, .kind = (uint8_t)kind, .value = value});
}

static uint32_t unknown_node(kiln__graph *graph)
{
    return intern(graph, (kiln__expr_node){.op = NODE_UNKNOWN, .kind = KILN__NODE_INT});
}

uint32_t kiln__graph_input(kiln__graph *graph, uint32_t number, kiln__expr_node_kind kind)
{
    return intern(graph, (kiln__expr_node){.op = NODE_INPUT, .kind = (uint8_t)kind, .value = number});
}

int64_t kiln__graph_text(kiln__graph *graph, const char *text)
{
    for (size_t k = 0; k < graph->text_count; k++)
        if (strcmp(graph->texts[k], text) == 0)
            return (int64_t)k;
    if (!kiln__grow(graph->mem, &graph->texts, &graph->text_capacity, graph->text_count + 1, sizeof *graph->texts)) {
        graph->failed = true;
        return 0;
    }
    graph->texts[graph->text_count] = text;
    return (int64_t)graph->text_count++;
}

uint32_t kiln__graph_constant(kiln__graph *graph, kiln_value value)
{
    double f = value.as.f;
    switch (value.kind) {
    case KILN_INT:
    case KILN_BOOL: return add_constant(graph, KILN__NODE_INT, value.as.i);
    case KILN_TEXT: return add_constant(graph, KILN__NODE_TEXT, kiln__graph_text(graph, value.as.text));
    default: break;
    }
    if (f >= -(double)WHOLE_MOST && f <= (double)WHOLE_MOST && f == (double)(int64_t)f)
        return add_constant(graph, KILN__NODE_FLOAT, (int64_t)f);
    return add_constant(graph, KILN__NODE_OTHER, 0);
}

bool kiln__graph_is_input(const kiln__graph *graph, uint32_t node) { return graph->nodes[node].op == NODE_INPUT; }

bool kiln__graph_is_constant(const kiln__graph *graph, uint32_t node, int64_t *value, bool *known)
{
    const kiln__expr_node *n = &graph->nodes[node];
    *value = n->value;
    *known = n->op == NODE_CONSTANT;
    return n->op == NODE_CONSTANT || n->op == NODE_UNKNOWN;
}

static bool is_unary(unsigned op)
{
    switch (op) {
    case KILN__OP_ABS:
    case KILN__OP_ILOG2:
    case KILN__OP_CEIL_LOG2:
    case KILN__OP_IS_POW2:
    case KILN__OP_FLOAT:
    case KILN__OP_INT:
    case KILN__OP_SQRT:
    case KILN__OP_FLOOR:
    case KILN__OP_CEIL:
    case KILN__OP_NEGATE:
    case KILN__OP_PLUS:
    case KILN__OP_INVERT:
    case KILN__OP_NOT:
    case KILN__OP_TRUTH: return true;
    default: return false;
    }
}

unsigned kiln__graph_operands(const kiln__graph *graph, uint32_t node, uint32_t out[3])
{
    const kiln__expr_node *n = &graph->nodes[node];
    if (n->op == NODE_INPUT || n->op == NODE_CONSTANT || n->op == NODE_UNKNOWN)
        return 0;
    out[0] = n->a;
    out[1] = n->b;
    out[2] = n->c;
    return n->op == NODE_SELECT ? 3 : is_unary(n->op) ? 1 : 2;
}

/* ---- computing the values of nodes ---- */

/* Computes an operation on integers by kiln__expr_apply(), for the operations that compute() does not compute
 * itself. */
static bool evaluate_general(const kiln__expr_node *n, int64_t a, int64_t b, int64_t *out)
{
    kiln_value x = {.kind = KILN_INT, .as.i = a}, y = {.kind = KILN_INT, .as.i = b}, z;
    if (!kiln__expr_apply((kiln__opcode)n->op, x, y, &z, (kiln__pos){0}, NULL))
        return false;
    *out = z.as.i;
    return z.kind == KILN_INT || z.kind == KILN_BOOL;
}

static bool within(int64_t a) { return a >= -WHOLE_MOST && a <= WHOLE_MOST; }

static bool compute(const kiln__expr_node *n, int64_t a, int64_t b, int64_t *out)
{
    bool fine = true;
    switch (n->op) {
    case KILN__OP_ADD: fine = !__builtin_add_overflow(a, b, out); break;
    case KILN__OP_SUB: fine = !__builtin_sub_overflow(a, b, out); break;
    case KILN__OP_MUL: fine = !__builtin_mul_overflow(a, b, out); break;
    case KILN__OP_LT: *out = a < b; return true;
    case KILN__OP_LE: *out = a <= b; return true;
    case KILN__OP_GT: *out = a > b; return true;
    case KILN__OP_GE: *out = a >= b; return true;
    case KILN__OP_EQ: *out = a == b; return true;
    case KILN__OP_NE: *out = a != b; return true;
    case KILN__OP_NOT: *out = a == 0; return true;
    case KILN__OP_TRUTH: *out = a != 0; return true;
    case KILN__OP_MIN: *out = a < b ? a : b; break;
    case KILN__OP_MAX: *out = a > b ? a : b; break;
    case KILN__OP_MOD:
        if (a < 0 || b <= 0)
            return evaluate_general(n, a, b, out) && (n->kind != KILN__NODE_FLOAT || (within(a) && within(b)));
        *out = (a | b) >> 32 ? a % b : (int64_t)((uint32_t)a % (uint32_t)b); /* a division of 32 bits is much faster */
        break;
    case KILN__OP_DIV:
    case KILN__OP_TRUE_DIV: /* the result is unknown if it is a fraction */
        if (b == 0 || b == -1 || a % b != 0)
            return false;
        *out = a / b;
        break;
    case KILN__OP_FLOAT:
    case KILN__OP_INT:
    case KILN__OP_FLOOR:
    case KILN__OP_CEIL:
    case KILN__OP_PLUS: *out = a; break;
    default: fine = evaluate_general(n, a, b, out); break;
    }
    return fine && (n->kind != KILN__NODE_FLOAT || (within(a) && within(b) && within(*out)));
}

void kiln__graph_run(const kiln__graph *graph, const uint32_t *nodes, size_t count, int64_t *values, bool *unknown)
{
    for (size_t k = 0; k < count; k++) {
        uint32_t at = nodes[k];
        const kiln__expr_node *n = &graph->nodes[at];
        if (n->op == NODE_SELECT) { /* a is the node of the condition; b and c are the branches */
            uint32_t from = values[n->a] ? n->b : n->c;
            unknown[at] = unknown[n->a] || unknown[from];
            values[at] = values[from];
        } else {
            unknown[at] = unknown[n->a] | unknown[n->b] || !compute(n, values[n->a], values[n->b], &values[at]);
        }
    }
}

/* ---- building the graph ---- */

/* Returns the node of an operation. If the operands are constants, computes the operation and returns the node of the
 * constant result. */
static uint32_t apply(kiln__graph *graph, kiln__expr_node n)
{
    if (graph->failed)
        return KILN__NO_NODE;
    const kiln__expr_node *a = &graph->nodes[n.a], *b = &graph->nodes[n.b];
    if (n.op == NODE_SELECT) {
        if (a->op == NODE_UNKNOWN)
            return n.a;
        if (a->op == NODE_CONSTANT)
            return a->value ? n.b : n.c;
        return intern(graph, n);
    }
    if (a->op == NODE_UNKNOWN || b->op == NODE_UNKNOWN)
        return unknown_node(graph);
    int64_t value = 0;
    if (a->op != NODE_CONSTANT || b->op != NODE_CONSTANT)
        return intern(graph, n);
    return compute(&n, a->value, b->value, &value) ? add_constant(graph, n.kind, value) : unknown_node(graph);
}

/* Sets *kind to the kind of an operation's result. `a` and `b` are the kinds of the operands. Returns false if the
 * operation is an error for all values of these kinds, or if the graph cannot represent the operation. */
static bool result_kind(unsigned op, unsigned a, unsigned b, uint8_t *kind)
{
    bool texts = a == KILN__NODE_TEXT || b == KILN__NODE_TEXT, floats = a == KILN__NODE_FLOAT || b == KILN__NODE_FLOAT;
    *kind = KILN__NODE_INT;
    if (op == KILN__OP_EQ || op == KILN__OP_NE)
        return !texts || a == b;
    if (texts)
        return false;
    switch (op) {
    case KILN__OP_LT:
    case KILN__OP_LE:
    case KILN__OP_GT:
    case KILN__OP_GE:
    case KILN__OP_NOT:
    case KILN__OP_TRUTH:
    case KILN__OP_INT:
    case KILN__OP_FLOOR:
    case KILN__OP_CEIL: return true;
    case KILN__OP_FLOAT:
    case KILN__OP_TRUE_DIV: *kind = KILN__NODE_FLOAT; return true;
    case KILN__OP_ADD:
    case KILN__OP_SUB:
    case KILN__OP_MUL:
    case KILN__OP_DIV:
    case KILN__OP_FLOOR_DIV:
    case KILN__OP_MOD:
    case KILN__OP_MIN:
    case KILN__OP_MAX:
    case KILN__OP_CEIL_DIV:
    case KILN__OP_ABS:
    case KILN__OP_NEGATE:
    case KILN__OP_PLUS: *kind = floats ? KILN__NODE_FLOAT : KILN__NODE_INT; return true;
    case KILN__OP_SQRT: return false;
    default: return !floats;
    }
}

static uint32_t operate(kiln__graph *graph, unsigned op, uint32_t a, uint32_t b)
{
    uint8_t kind;
    if (graph->failed)
        return KILN__NO_NODE;
    if (!result_kind(op, graph->nodes[a].kind, graph->nodes[b].kind, &kind))
        return unknown_node(graph);
    return apply(graph, (kiln__expr_node){.op = (uint8_t)op, .kind = kind, .a = a, .b = b});
}

static uint32_t select_node(kiln__graph *graph, uint32_t condition, uint32_t yes, uint32_t no)
{
    if (graph->failed)
        return KILN__NO_NODE;
    unsigned y = graph->nodes[yes].kind, n = graph->nodes[no].kind;
    if (graph->nodes[condition].kind == KILN__NODE_TEXT || (y != n && (y == KILN__NODE_TEXT || n == KILN__NODE_TEXT)))
        return unknown_node(graph);
    uint8_t kind = (uint8_t)(y == n ? y : KILN__NODE_FLOAT);
    return apply(graph, (kiln__expr_node){.op = NODE_SELECT, .kind = kind, .a = condition, .b = yes, .c = no});
}

/* A place in the evaluator's code at which two control-flow paths join: one path has jumped there, and the other has
 * not. */
typedef struct meeting {
    enum { MEET_AND, MEET_OR, MEET_TEST, MEET_ELSE } how;
    size_t target;
    /* condition: the node that decides whether the jump happens. other: the node of the value that the jump leaves on
     * the stack. */
    uint32_t condition, other;
} meeting;

typedef struct builder {
    kiln__graph *graph;
    uint32_t stack[KILN__EXPR_STACK + 2];
    size_t depth;
    meeting *meetings;
    size_t meeting_count, meeting_capacity;
} builder;

static bool meet_later(builder *b, meeting m)
{
    if (!kiln__grow(b->graph->mem, &b->meetings, &b->meeting_capacity, b->meeting_count + 1, sizeof *b->meetings)) {
        b->graph->failed = true;
        return false;
    }
    b->meetings[b->meeting_count++] = m;
    return true;
}

static void join_branches(builder *b, size_t at)
{
    while (b->meeting_count && b->meetings[b->meeting_count - 1].target == at &&
           b->meetings[b->meeting_count - 1].how != MEET_TEST) {
        meeting m = b->meetings[--b->meeting_count];
        uint32_t *top = &b->stack[b->depth - 1];
        *top = m.how == MEET_OR     ? select_node(b->graph, m.condition, m.other, *top)
               : m.how == MEET_ELSE ? select_node(b->graph, m.condition, m.other, *top)
                                    : select_node(b->graph, m.condition, *top, m.other);
    }
}

/* Runs one instruction of the evaluator on nodes instead of values (abstract interpretation). For a jump, the function
 * records a meeting: a place at the jump's target where two paths join. join_branches() turns the meeting into a select
 * node. */
static bool step(builder *b, const kiln__expr *expr, size_t at, kiln__resolve_fn resolve, void *user)
{
    kiln__graph *graph = b->graph;
    const kiln__expr_op *op = &expr->code[at];
    size_t target = at + 1 + (size_t)op->operand;
    uint32_t *top = &b->stack[b->depth ? b->depth - 1 : 0];
    switch (op->code) {
    case KILN__OP_CONSTANT: b->stack[b->depth++] = kiln__graph_constant(graph, expr->constants[op->operand]); break;
    case KILN__OP_NAME: b->stack[b->depth++] = resolve(user, expr, (size_t)op->operand); break;
    case KILN__OP_AND:
    case KILN__OP_OR: {
        uint32_t stays = op->detail ? *top : add_constant(graph, KILN__NODE_INT, op->code == KILN__OP_OR);
        b->depth--;
        return meet_later(b, (meeting){op->code == KILN__OP_AND ? MEET_AND : MEET_OR, target, *top, stays});
    }
    case KILN__OP_CHAIN: {
        uint32_t middle = *top, link = operate(graph, op->detail, top[-1], middle);
        top[-1] = middle;
        b->depth--;
        return meet_later(b, (meeting){MEET_AND, target, link, add_constant(graph, KILN__NODE_INT, 0)});
    }
    case KILN__OP_JUMP_FALSE: b->depth--; return meet_later(b, (meeting){MEET_TEST, target, *top, 0});
    case KILN__OP_JUMP: /* this instruction ends the first branch of `A if C else B` */
        /* JUMP_FALSE has recorded the meeting before NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        b->depth--;
        b->meetings[b->meeting_count - 1].how = MEET_ELSE;
        b->meetings[b->meeting_count - 1].target = target;
        b->meetings[b->meeting_count - 1].other = *top;
        break;
    case KILN__OP_IN: {
        unsigned x = graph->failed ? 0 : graph->nodes[top[-2]].kind, y = graph->failed ? 0 : graph->nodes[*top].kind;
        bool never = (x == KILN__NODE_TEXT) != (y == KILN__NODE_TEXT);
        uint32_t same = never ? add_constant(graph, KILN__NODE_INT, 0) : operate(graph, KILN__OP_EQ, top[-2], *top);
        top[-1] = operate(graph, KILN__OP_BIT_OR, top[-1], same);
        b->depth--;
        break;
    }
    case KILN__OP_IN_END:
        top[-1] = op->operand ? operate(graph, KILN__OP_NOT, *top, *top) : *top;
        b->depth--;
        break;
    default:
        if (is_unary(op->code)) {
            *top = operate(graph, op->code, *top, *top);
        } else {
            top[-1] = operate(graph, op->code, top[-1], *top);
            b->depth--;
        }
        break;
    }
    return !graph->failed;
}

uint32_t kiln__graph_add(kiln__graph *graph, const kiln__expr *expr, kiln__resolve_fn resolve, void *user)
{
    builder b = {.graph = graph};
    bool fine = !graph->failed;
    for (size_t at = 0; at < expr->code_count && fine; at++) {
        join_branches(&b, at);
        fine = !graph->failed && step(&b, expr, at, resolve, user);
        /* ends if the stack has a name or a constant that the graph cannot represent */
        for (size_t k = 0; k < b.depth && fine; k++)
            fine = b.stack[k] != KILN__NO_NODE && graph->nodes[b.stack[k]].kind != KILN__NODE_OTHER;
    }
    if (fine)
        join_branches(&b, expr->code_count);
    kiln__free(graph->mem, b.meetings);
    return fine && !graph->failed ? b.stack[0] : KILN__NO_NODE;
}

bool kiln__graph_split(const kiln__graph *graph, uint32_t node, uint32_t *left, uint32_t *right)
{
    const kiln__expr_node *n = &graph->nodes[node];
    if (n->op != NODE_SELECT || graph->nodes[n->c].op != NODE_CONSTANT || graph->nodes[n->c].value != 0)
        return false;
    *left = n->a;
    *right = n->b;
    return true;
}
