/* index.c - counts the valid configurations of a space, and finds the n-th one, without walking through all of them.
 *
 * The constraints become one expression graph of integer operations (expr/graph.h). The tuning parameters of the
 * variant become a tree. When a tuning parameter and all those above it in the tree have values, the remaining ones
 * fall into groups that no constraint connects. Each group is one subtree, and the number of configurations is the
 * product of the counts of the subtrees.
 *
 * An operation of the graph is computed when its last operand gets a value. The count of a subtree depends only on the
 * values from above that the subtree uses (its keys). These values are mostly products and sums that are equal in many
 * configurations. So a hash table remembers the count of a subtree for the values of its keys (memoization). */
#include <string.h>

#include "graph.h"
#include "index.h"
#include "space_internal.h"

#define NONE UINT32_MAX
/* log2 of the number of entries in the hash table; an entry has 32 bytes */
enum { MEMO_LEAST = 12, MEMO_MOST = 20 };

/* A constraint of the spec, or one operand of an `and` in a constraint. */
typedef struct piece {
    size_t constraint; /* the index of the constraint in the variant's `where` */
    /* the constraint's node of the expression graph; NONE means that the graph cannot represent the constraint */
    uint32_t node;
    /* The tuning parameter of the tree at which the piece can be tested. NONE means that the piece depends on no tuning
     * parameter. */
    uint32_t param;
    bool whole; /* true if the piece is the whole constraint */
} piece;

typedef struct branch { /* a tuning parameter in the tree of tuning parameters */
    uint32_t parent, first_child, sibling;
    uint32_t depth;
    /* `ops` has the graph nodes that get their last operand from this tuning parameter. `keys` has the graph nodes
     * above the subtree whose values the subtree uses. `pieces` has the constraints that are tested here. */
    uint32_t *ops, *keys, *pieces;
    size_t op_count, key_count, piece_count;
    /* True if the hash table keeps the counts of this subtree. That pays only if the subtree has fewer keys that are
     * tuning parameters than there are tuning parameters above it. */
    bool memo;
    /* Cumulative counts for a tuning parameter at the top of the tree. before[v] is the number of configurations with
     * one of its first v values. */
    uint64_t *before;
} branch;

typedef struct memo_entry {
    kiln__hash128 key;
    uint64_t count;
    uint64_t used;
} memo_entry;

struct kiln__index {
    const kiln__space *space;
    const kiln_allocator *mem;
    kiln__arena arena;
    kiln__graph graph;
    /* `params` is the number of tuning parameters; `words` is the number of 64-bit words in a bit set of tuning
     * parameters */
    size_t params, words;
    uint32_t *input; /* the input node of each tuning parameter in the graph */
    /* the graph node of each named expression (key `let` of the spec); NONE if the node does not exist */
    uint32_t *let_node;
    /* for each named expression, true if its node was requested; the node may then exist, be in progress or be
     * impossible */
    bool *let_open;
    uint64_t *uses; /* for each node, the bit set of the tuning parameters on which it depends */
    piece *pieces;
    size_t piece_count, piece_capacity;
    branch *branches;
    uint32_t root; /* the first tuning parameter at the top of the tree; the others at the top are its siblings */
    /* values[i][v] is the integer that stands in the graph for the value v of the tuning parameter i */
    int64_t **values;
    int64_t *value; /* the current value of each node of the graph */
    bool *unknown;  /* for each node, true if it has no value at present (expr/graph.h) */
    size_t *choice; /* the index of the current value of each tuning parameter */
    kiln_setting *settings;
    memo_entry *memo;
    size_t memo_bits, memo_used;
    bool impossible; /* true if a constraint without tuning parameters does not hold */
    /* true if a constraint cannot be computed for some values, so that the index must walk through the space */
    bool lost;
    bool failed; /* true if memory ran out */
    /* the limit of the work in kiln__index_open_within() and kiln__index_quick(); NULL means no limit */
    kiln__effort *effort;
    bool halted; /* true if the limit was reached, so that the count is only a lower bound */
    uint64_t count;
};

/* ---- making the expression graph ---- */

static uint32_t resolve(void *user, const kiln__expr *expr, size_t name)
{
    kiln__index *x = user;
    const kiln__variant *variant = x->space->variant;
    const char *text = kiln__expr_name(expr, name);
    const kiln__param *param = kiln__variant_param(variant, text);
    if (param) {
        const kiln__axis *axis = &x->space->axes[param - variant->params];
        return axis->count == 1 ? kiln__graph_constant(&x->graph, axis->values[0]) : x->input[param - variant->params];
    }
    for (size_t i = 0; i < variant->let_count; i++)
        if (strcmp(variant->lets[i].name, text) == 0) {
            if (x->let_node[i] == NONE && !x->let_open[i]) {
                x->let_open[i] = true; /* the recursion ends, because a named expression uses only earlier ones */
                x->let_node[i] = kiln__graph_add(&x->graph, variant->lets[i].expr, resolve, x);
            }
            return x->let_node[i];
        }
    kiln_value value;
    return kiln__scope_find(x->space->outer, text, &value) ? kiln__graph_constant(&x->graph, value) : KILN__NO_NODE;
}

static bool make_inputs(kiln__index *x)
{
    for (size_t i = 0; i < x->params; i++) {
        const kiln__axis *axis = &x->space->axes[i];
        kiln__expr_node_kind kind = axis->count && axis->values[0].kind == KILN_TEXT ? KILN__NODE_TEXT : KILN__NODE_INT;
        x->values[i] = kiln__arena_alloc(&x->arena, (axis->count + 1) * sizeof **x->values);
        if (!x->values[i])
            return false;
        for (size_t v = 0; v < axis->count; v++) {
            kiln_value value = axis->values[v];
            bool text = value.kind == KILN_TEXT;
            if (value.kind == KILN_FLOAT || text != (kind == KILN__NODE_TEXT))
                kind = KILN__NODE_OTHER;
            x->values[i][v] = text ? kiln__graph_text(&x->graph, value.as.text) : value.as.i;
        }
        for (size_t v = 0; v < axis->count && kind == KILN__NODE_OTHER; v++)
            x->values[i][v] = (int64_t)v;
        x->input[i] = kiln__graph_input(&x->graph, (uint32_t)i, kind);
    }
    return !x->graph.failed;
}

static bool add_piece(kiln__index *x, size_t constraint, uint32_t node, bool whole)
{
    uint32_t left, right;
    if (node != NONE && kiln__graph_split(&x->graph, node, &left, &right))
        return add_piece(x, constraint, left, false) && add_piece(x, constraint, right, false);
    int64_t value;
    bool known;
    if (node != NONE && kiln__graph_is_constant(&x->graph, node, &value, &known) && known) {
        x->impossible |= value == 0;
        return true;
    }
    if (!kiln__grow(x->mem, &x->pieces, &x->piece_capacity, x->piece_count + 1, sizeof *x->pieces))
        return false;
    x->pieces[x->piece_count++] = (piece){.constraint = constraint, .node = node, .param = NONE, .whole = whole};
    return true;
}

static uint64_t *uses_of(const kiln__index *x, uint32_t node) { return x->uses + (size_t)node * x->words; }
static bool has(const uint64_t *set, size_t param) { return set[param / 64] >> (param % 64) & 1; }

/* Adds to `set` the tuning parameters on which an expression depends, directly or through named expressions. */
static void add_names(kiln__index *x, const kiln__expr *expr, uint64_t *set)
{
    const kiln__variant *variant = x->space->variant;
    for (size_t n = 0; n < kiln__expr_name_count(expr); n++) {
        const char *text = kiln__expr_name(expr, n);
        for (size_t i = 0; i < variant->param_count; i++)
            if (x->space->axes[i].count > 1 && strcmp(variant->params[i].name, text) == 0)
                set[i / 64] |= (uint64_t)1 << (i % 64);
        for (size_t i = 0; i < variant->let_count; i++)
            if (strcmp(variant->lets[i].name, text) == 0)
                add_names(x, variant->lets[i].expr, set);
    }
}

static bool find_uses(kiln__index *x)
{
    size_t count = x->graph.count;
    x->uses = kiln__arena_alloc(&x->arena, (count + x->piece_count + 1) * x->words * sizeof *x->uses);
    if (!x->uses)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t operands[3];
        if (kiln__graph_is_input(&x->graph, k)) {
            size_t param = (size_t)x->graph.nodes[k].value;
            uses_of(x, k)[param / 64] |= (uint64_t)1 << (param % 64);
        }
        for (unsigned n = kiln__graph_operands(&x->graph, k, operands); n-- > 0;)
            for (size_t w = 0; w < x->words; w++)
                uses_of(x, k)[w] |= uses_of(x, operands[n])[w];
    }
    /* A piece without a graph node also has a bit set. These sets come after the sets of the nodes. */
    for (size_t p = 0; p < x->piece_count; p++) {
        uint64_t *set = uses_of(x, (uint32_t)(count + p));
        if (x->pieces[p].node == NONE)
            add_names(x, x->space->variant->where[x->pieces[p].constraint], set);
        else
            memcpy(set, uses_of(x, x->pieces[p].node), x->words * sizeof *set);
    }
    return true;
}
static const uint64_t *piece_uses(const kiln__index *x, size_t number)
{
    return uses_of(x, (uint32_t)(x->graph.count + number));
}

/* ---- making the tree of tuning parameters ---- */

/* Counts `units` units of work. Returns false if the limit of the work is reached. */
static bool step(kiln__index *x, uint64_t units)
{
    if (!x->halted && !kiln__effort_step(x->effort, units))
        x->halted = true;
    return !x->halted;
}

/* Returns the tuning parameter of the group `id` that occurs in the most constraints. If several occur equally often,
 * returns the first of them. Returns NONE if the group is empty. */
static size_t choose(const kiln__index *x, const uint32_t *group, uint32_t id)
{
    size_t best = NONE, most = 0;
    for (size_t i = 0; i < x->params; i++) {
        if (group[i] != id)
            continue;
        size_t wants = 1;
        for (size_t p = 0; p < x->piece_count; p++)
            wants += has(piece_uses(x, p), i);
        if (wants > most)
            best = i, most = wants;
    }
    return best;
}

static uint32_t find_leader(uint32_t *of, uint32_t i)
{
    while (of[i] != i)
        i = of[i] = of[of[i]];
    return i;
}

/* Splits the tuning parameters of the group `id` into groups that no constraint connects. `of` becomes a union-find
 * forest, in which all members of one new group have the same leader. */
static void split_group(kiln__index *x, uint32_t *group, uint32_t id, uint32_t *of)
{
    for (uint32_t i = 0; i < x->params; i++)
        of[i] = i;
    for (size_t p = 0; p < x->piece_count; p++) {
        uint32_t first = NONE;
        for (uint32_t i = 0; i < x->params; i++)
            if (group[i] == id && has(piece_uses(x, p), i)) {
                if (first == NONE)
                    first = i;
                else
                    of[find_leader(of, i)] = find_leader(of, first);
            }
    }
}

/* Makes the tree by adding one tuning parameter after the other. `group` has the group of each tuning parameter that is
 * not in the tree yet. */
static bool plant(kiln__index *x)
{
    size_t n = x->params;
    uint32_t *group = kiln__arena_alloc(&x->arena, (n + 1) * sizeof *group);
    uint32_t *of = kiln__arena_alloc(&x->arena, (n + 1) * sizeof *of);
    /* above[g] is the last tuning parameter of the tree that is above the group g */
    uint32_t *above = kiln__arena_alloc(&x->arena, (2 * n + 2) * sizeof *above);
    x->branches = kiln__arena_alloc(&x->arena, (n + 1) * sizeof *x->branches);
    if (x->arena.failed)
        return false;
    /* at first, group 0 has all tuning parameters; NONE marks those that are already in the tree */
    uint32_t groups = 1, open = 0;
    above[0] = NONE;
    x->root = NONE;
    for (size_t i = 0; i < n; i++)
        group[i] = x->space->axes[i].count == 1 ? NONE : 0;
    bool whole = false; /* false in the first iteration, which only splits the group of all tuning parameters */
    while (open < groups && step(x, n * (x->piece_count + 1))) {
        uint32_t id = open++, parent = above[id];
        if (whole) {
            size_t param = choose(x, group, id);
            if (param == NONE)
                continue;
            branch *b = &x->branches[param];
            uint32_t *head = parent == NONE ? &x->root : &x->branches[parent].first_child;
            *b = (branch){.parent = parent,
                          .first_child = NONE,
                          .sibling = *head,
                          .depth = parent == NONE ? 0 : x->branches[parent].depth + 1};
            *head = (uint32_t)param;
            group[param] = NONE;
            parent = (uint32_t)param;
        }
        whole = true;
        split_group(x, group, id, of);
        for (uint32_t i = 0; i < n; i++) {
            if (group[i] != id || find_leader(of, i) != i)
                continue;
            for (uint32_t k = 0; k < n; k++)
                if (k != i && group[k] == id && find_leader(of, k) == i)
                    group[k] = groups;
            group[i] = groups;
            above[groups++] = parent;
            /* begins the loop again, because one group was replaced; all other groups are unchanged */
            i = (uint32_t)-1;
        }
    }
    return true;
}

/* Returns the tuning parameter of the set that is deepest in the tree. Returns NONE if the set is empty. */
static uint32_t find_deepest(const kiln__index *x, const uint64_t *set)
{
    uint32_t best = NONE;
    for (uint32_t i = 0; i < x->params; i++)
        if (has(set, i) && (best == NONE || x->branches[i].depth > x->branches[best].depth))
            best = i;
    return best;
}

static bool push(kiln__index *x, uint32_t **list, size_t *count, uint32_t item)
{
    if ((*count & (*count - 1)) == 0) { /* the array is full if its count is a power of two */
        uint32_t *more = kiln__arena_alloc(&x->arena, (*count ? 2 * *count : 1) * sizeof *more);
        if (!more)
            return false;
        if (*count)
            memcpy(more, *list, *count * sizeof *more);
        *list = more;
    }
    (*list)[(*count)++] = item;
    return true;
}

/* Decides which graph nodes are needed, and at which tuning parameter of the tree each node and each piece is
 * computed. */
static bool schedule(kiln__index *x)
{
    bool *wanted = kiln__arena_alloc(&x->arena, x->graph.count + 1);
    if (!wanted)
        return false;
    for (size_t p = 0; p < x->piece_count; p++) {
        piece *each = &x->pieces[p];
        each->param = find_deepest(x, piece_uses(x, p));
        if (each->node != NONE)
            wanted[each->node] = true;
        if (each->param == NONE)
            continue; /* such a piece has constants that could not be folded; build() tests it once */
        branch *b = &x->branches[each->param];
        if (!push(x, &b->pieces, &b->piece_count, (uint32_t)p))
            return false;
    }
    for (size_t k = x->graph.count; k-- > 0;) {
        uint32_t operands[3];
        for (unsigned n = wanted[k] ? kiln__graph_operands(&x->graph, (uint32_t)k, operands) : 0; n-- > 0;)
            wanted[operands[n]] = true;
    }
    for (uint32_t k = 0; k < x->graph.count; k++) {
        uint32_t operands[3];
        int64_t value;
        bool known;
        if (kiln__graph_is_constant(&x->graph, k, &value, &known)) {
            x->value[k] = value;
            x->unknown[k] = !known;
        } else if (wanted[k] && kiln__graph_operands(&x->graph, k, operands)) {
            uint32_t at = find_deepest(x, uses_of(x, k));
            branch *b = at == NONE ? NULL : &x->branches[at];
            if (!b)
                kiln__graph_run(&x->graph, &k, 1, x->value, x->unknown);
            else if (!push(x, &b->ops, &b->op_count, k))
                return false;
        }
    }
    return true;
}

/* Sets the keys of each tuning parameter in a subtree. Handles children before their parents. The keys are the graph
 * nodes above the subtree whose values the subtree uses. `set` has one byte for each node. All its bytes are zero
 * before the call, and after a call that succeeds. */
static bool find_keys(kiln__index *x, uint32_t param, unsigned char *set)
{
    branch *b = &x->branches[param];
    if (!step(x, x->graph.count + x->params * b->piece_count))
        return true;
    for (uint32_t child = b->first_child; child != NONE; child = x->branches[child].sibling)
        if (!find_keys(x, child, set))
            return false;
    for (uint32_t child = b->first_child; child != NONE; child = x->branches[child].sibling)
        for (size_t k = 0; k < x->branches[child].key_count; k++)
            set[x->branches[child].keys[k]] = 1;
    for (size_t k = 0; k < b->op_count; k++) {
        uint32_t operands[3];
        for (unsigned n = kiln__graph_operands(&x->graph, b->ops[k], operands); n-- > 0;)
            set[operands[n]] = 1;
    }
    for (size_t k = 0; k < b->piece_count; k++)
        /* a piece without a graph node is evaluated as an expression, and uses its tuning parameters directly */
        for (uint32_t i = 0; i < x->params; i++)
            if (has(piece_uses(x, b->pieces[k]), i) && x->pieces[b->pieces[k]].node == NONE)
                set[x->input[i]] = 1;
    size_t inputs = 0;
    for (uint32_t k = 0; k < x->graph.count; k++) {
        uint32_t at = set[k] ? find_deepest(x, uses_of(x, k)) : NONE;
        set[k] = 0;
        if (at == NONE || at == param || x->branches[at].depth >= b->depth)
            continue;
        inputs += kiln__graph_is_input(&x->graph, k);
        if (!push(x, &b->keys, &b->key_count, k))
            return false;
    }
    b->memo = b->depth > 0 && inputs < b->depth;
    return true;
}

/* ---- counting ---- */

static bool remember(kiln__index *x, kiln__hash128 key, uint64_t count)
{
    if (2 * x->memo_used >= (size_t)1 << x->memo_bits && x->memo_bits < MEMO_MOST) {
        size_t bits = x->memo_bits + 2 > MEMO_MOST ? MEMO_MOST : x->memo_bits + 2;
        memo_entry *larger = kiln__calloc(x->mem, (size_t)1 << bits, sizeof *larger);
        if (!larger)
            return false;
        x->memo_used = 0;
        for (size_t k = 0; k < (size_t)1 << x->memo_bits; k++)
            if (x->memo[k].used) {
                larger[x->memo[k].key.low & (((size_t)1 << bits) - 1)] = x->memo[k];
                x->memo_used++;
            }
        kiln__free(x->mem, x->memo);
        x->memo = larger;
        x->memo_bits = bits;
    }
    memo_entry *entry = &x->memo[key.low & (((size_t)1 << x->memo_bits) - 1)];
    x->memo_used += !entry->used; /* replaces an older entry, whose count can be computed again */
    *entry = (memo_entry){key, count, 1};
    return true;
}

/* Returns true if the hash table may keep the count of a subtree for the current values. Then sets *key to the key of
 * this count. */
static bool key_of(const kiln__index *x, uint32_t param, kiln__hash128 *key)
{
    enum { KEYS = 32 };
    const branch *b = &x->branches[param];
    int64_t taken[KEYS + 1];
    if (!b->memo || b->key_count > KEYS)
        return false;
    taken[0] = param;
    for (size_t k = 0; k < b->key_count; k++) {
        if (x->unknown[b->keys[k]])
            return false;
        taken[k + 1] = x->value[b->keys[k]];
    }
    *key = kiln__hash(taken, (b->key_count + 1) * sizeof *taken);
    return true;
}

/* Evaluates a constraint that the graph cannot represent, because it has values that are not integers. All tuning
 * parameters of the constraint must have values. If the constraint cannot be evaluated, sets `lost` and returns
 * false. */
static bool evaluate_plainly(kiln__index *x, size_t constraint)
{
    bool holds = false;
    kiln__scope scope = {.outer = x->space->outer, .settings = {x->params, x->settings}};
    for (size_t i = 0; i < x->params; i++)
        x->settings[i].value = x->space->axes[i].values[x->choice[i]];
    if (!kiln__space_holds(x->mem, x->space->variant, &scope, constraint, &holds))
        x->lost = true;
    return holds;
}

/* Gives a tuning parameter its value with the index `v`, and computes the graph nodes that belong to it. Returns false
 * if a constraint excludes this value, or if `lost` is set. */
static bool set_value(kiln__index *x, uint32_t param, size_t v)
{
    const branch *b = &x->branches[param];
    x->choice[param] = v;
    x->value[x->input[param]] = x->values[param][v];
    kiln__graph_run(&x->graph, b->ops, b->op_count, x->value, x->unknown);
    for (size_t k = 0; k < b->piece_count; k++) {
        const piece *p = &x->pieces[b->pieces[k]];
        if (p->node != NONE && !x->unknown[p->node]) {
            if (!x->value[p->node])
                return false;
        } else if (p->node != NONE && !p->whole) {
            /* another piece of the constraint may decide the result, but perhaps it cannot be computed yet */
            x->lost = true;
            return false;
        } else if (!evaluate_plainly(x, p->constraint)) {
            return false;
        }
    }
    return true;
}

/* Counts saturate: UINT64_MAX stands for every number from 2^64 - 1 on. A product with 0 is 0. A sum or product of
 * UINT64_MAX with a positive number is UINT64_MAX. So if the count of the whole space is below UINT64_MAX, the counts
 * that pick() uses are exact. */
static uint64_t multiply_saturated(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Returns the units of work that set_value() takes for a tuning parameter. */
static uint64_t cost_of(const kiln__index *x, uint32_t param)
{
    const branch *b = &x->branches[param];
    uint64_t cost = 4 + b->op_count + b->key_count;
    for (size_t k = 0; k < b->piece_count; k++)
        cost += x->pieces[b->pieces[k]].node == NONE ? 8 * KILN__CHECK_UNITS : 1;
    return cost;
}

static uint64_t count_all(kiln__index *x, uint32_t first);

/* Counts the configurations of a subtree for the current values above it. The depth of the recursion is at most the
 * number of tuning parameters. */
static uint64_t count_branch(kiln__index *x, uint32_t param)
{
    const branch *b = &x->branches[param];
    kiln__hash128 key;
    bool kept = key_of(x, param, &key);
    if (x->halted)
        return 0;
    if (kept) {
        const memo_entry *entry = &x->memo[key.low & (((size_t)1 << x->memo_bits) - 1)];
        if (entry->used && entry->key.low == key.low && entry->key.high == key.high)
            return entry->count;
    }
    uint64_t sum = 0, cost = cost_of(x, param);
    for (size_t v = 0; v < x->space->axes[param].count && !x->lost && !x->failed && step(x, cost); v++)
        if (set_value(x, param, v) && __builtin_add_overflow(sum, count_all(x, b->first_child), &sum))
            sum = UINT64_MAX;
    if (kept && !x->halted && !remember(x, key, sum))
        x->failed = true;
    return sum;
}

/* Counts the configurations of a tuning parameter and its siblings, with everything below them, for the current values
 * above them. */
static uint64_t count_all(kiln__index *x, uint32_t first)
{
    uint64_t product = 1;
    for (uint32_t at = first; at != NONE && product; at = x->branches[at].sibling)
        product = multiply_saturated(product, count_branch(x, at));
    return product;
}

/* Counts the whole space, and sets x->count. The tuning parameters at the top of the tree keep cumulative sums, so that
 * a binary search finds the configuration with a given number. */
static bool count_top(kiln__index *x)
{
    x->count = 1;
    for (uint32_t at = x->root; at != NONE && x->count; at = x->branches[at].sibling) {
        branch *b = &x->branches[at];
        size_t values = x->space->axes[at].count;
        b->before = kiln__arena_alloc(&x->arena, (values + 1) * sizeof *b->before);
        if (!b->before)
            return false;
        uint64_t cost = cost_of(x, at);
        for (size_t v = 0; v < values && !x->lost && !x->failed; v++) {
            /* the count so far is a lower bound, if each other group has at least one configuration */
            if (!step(x, cost)) {
                b->before[v + 1] = b->before[v];
                continue;
            }
            uint64_t below = set_value(x, at, v) ? count_all(x, b->first_child) : 0;
            if (__builtin_add_overflow(b->before[v], below, &b->before[v + 1]))
                b->before[v + 1] = UINT64_MAX;
        }
        x->count = multiply_saturated(x->count, b->before[values]);
    }
    return true;
}

/* Returns the last value of a top tuning parameter before which there are at most `number` configurations. The function
 * uses a binary search. */
static size_t find_top(const kiln__index *x, uint32_t param, uint64_t number)
{
    const uint64_t *before = x->branches[param].before;
    size_t low = 0, high = x->space->axes[param].count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (before[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void pick(kiln__index *x, uint32_t first, uint64_t n);

static void pick_top(kiln__index *x, uint64_t n)
{
    for (uint32_t at = x->root; at != NONE; at = x->branches[at].sibling) {
        const branch *b = &x->branches[at];
        uint64_t count = b->before[x->space->axes[at].count];
        size_t v = find_top(x, at, n % count);
        set_value(x, at, v);
        pick(x, b->first_child, n % count - b->before[v]);
        n /= count;
    }
}

/* Sets a tuning parameter, its siblings and everything below them to their configuration with the number `n`. */
static void pick(kiln__index *x, uint32_t first, uint64_t n)
{
    for (uint32_t at = first; at != NONE; at = x->branches[at].sibling) {
        bool last = x->branches[at].sibling == NONE; /* for the last sibling, `n` is less than the count */
        uint64_t count = last ? UINT64_MAX : count_branch(x, at);
        if (!count) /* the limit of the work or the memory has ended, and the caller tests both */
            return;
        uint64_t here = n % count;
        n /= count;
        for (size_t v = 0, cost = cost_of(x, at); v < x->space->axes[at].count && step(x, cost); v++) {
            uint64_t below = set_value(x, at, v) ? count_all(x, x->branches[at].first_child) : 0;
            if (here < below) {
                set_value(x, at, v);
                pick(x, x->branches[at].first_child, here);
                break;
            }
            here -= below;
        }
    }
}

/* ---- functions that other files call ---- */

/* Builds the graph and the tree, decides where each node is computed, and counts the space. Returns false if memory
 * runs out. If the limit of the work is reached, sets `halted` and leaves out the rest of the work. */
static bool build(kiln__index *x)
{
    const kiln__space *space = x->space;
    const kiln__variant *variant = space->variant;
    x->params = variant->param_count;
    x->words = x->params / 64 + 1;
    x->input = kiln__arena_alloc(&x->arena, (x->params + 1) * sizeof *x->input);
    x->values = kiln__arena_alloc(&x->arena, (x->params + 1) * sizeof *x->values);
    x->choice = kiln__arena_alloc(&x->arena, (x->params + 1) * sizeof *x->choice);
    x->settings = kiln__arena_alloc(&x->arena, (x->params + 1) * sizeof *x->settings);
    x->let_node = kiln__arena_alloc(&x->arena, (variant->let_count + 1) * sizeof *x->let_node);
    x->let_open = kiln__arena_alloc(&x->arena, (variant->let_count + 1) * sizeof *x->let_open);
    if (x->arena.failed || !make_inputs(x))
        return false;
    for (size_t i = 0; i < x->params; i++)
        x->settings[i].name = variant->params[i].name;
    memset(x->let_node, 0xff, (variant->let_count + 1) * sizeof *x->let_node);
    for (size_t i = 0; i < variant->where_count; i++)
        if (!add_piece(x, i, kiln__graph_add(&x->graph, variant->where[i], resolve, x), true) || x->graph.failed)
            return false;
    x->value = kiln__arena_alloc(&x->arena, (x->graph.count + 1) * sizeof *x->value);
    x->unknown = kiln__arena_alloc(&x->arena, (x->graph.count + 1) * sizeof *x->unknown);
    unsigned char *set = kiln__arena_alloc(&x->arena, x->graph.count + 1);
    x->memo_bits = MEMO_LEAST;
    x->memo = kiln__calloc(x->mem, (size_t)1 << MEMO_LEAST, sizeof *x->memo);
    if (!x->memo || x->arena.failed || !find_uses(x) || !plant(x))
        return false;
    if (x->halted) /* the tree is not complete */
        return true;
    if (!schedule(x))
        return false;
    for (uint32_t at = x->root; at != NONE; at = x->branches[at].sibling)
        if (!x->halted && !find_keys(x, at, set))
            return false;
    if (x->halted)
        return true;
    for (size_t p = 0; p < x->piece_count && !x->impossible; p++)
        if (x->pieces[p].param == NONE)
            x->impossible = !evaluate_plainly(x, x->pieces[p].constraint);
    if (!x->impossible && !x->lost && !count_top(x))
        return false;
    return !x->failed;
}

kiln_status kiln__index_open_within(const kiln__space *space, kiln__effort *effort, kiln__index **out, uint64_t *found,
                                    kiln_error **error)
{
    kiln__index *x = kiln__calloc(space->mem, 1, sizeof *x);
    if (!x)
        return kiln__fail_memory(error);
    x->space = space;
    x->mem = space->mem;
    x->arena.mem = space->mem;
    x->graph.mem = space->mem;
    x->effort = effort;
    kiln_status status = build(x) ? KILN_OK : kiln__fail_memory(error);
    bool walked = x->lost && !x->halted;
    if (x->lost)
        x->count = 0;
    /* If a constraint cannot be computed for some values, an earlier constraint may exclude these values. A walk tests
     * the constraints in the order of the spec. */
    if (status == KILN_OK && walked)
        status = kiln__space_walk_count(space, effort, &x->count, error);
    x->halted |= walked && effort && effort->over;
    x->effort = NULL;
    *found = x->count;
    /* numbers of 64 bits cannot number all configurations */
    if (status != KILN_OK || x->halted || x->count == UINT64_MAX) {
        kiln__index_free(x);
        return status;
    }
    *out = x;
    return KILN_OK;
}

kiln_status kiln__index_open(const kiln__space *space, kiln__index **out, kiln_error **error)
{
    uint64_t found;
    return kiln__index_open_within(space, NULL, out, &found, error);
}

void kiln__index_free(kiln__index *x)
{
    if (!x)
        return;
    kiln__arena_free(&x->arena);
    kiln__graph_free(&x->graph);
    kiln__free(x->mem, x->pieces);
    kiln__free(x->mem, x->memo);
    kiln__free(x->mem, x);
}

uint64_t kiln__index_count(const kiln__index *x) { return x->count; }

/* Finds the configuration with a number by a walk, for a space whose constraints the graph cannot compute (`lost`). */
static kiln_status walk_to(const kiln__index *x, uint64_t number, kiln_setting *settings, kiln_error **error)
{
    kiln__walk *walk = NULL;
    const kiln_setting *at = NULL;
    kiln_status status = kiln__walk_open(x->space, &walk, error);
    if (status == KILN_OK)
        kiln__walk_limit(walk, x->effort);
    for (uint64_t n = 0; status == KILN_OK && n <= number && (n == 0 || at); n++)
        status = kiln__walk_next(walk, &at, error);
    if (status == KILN_OK && at)
        memcpy(settings, at, x->params * sizeof *settings);
    kiln__walk_free(walk);
    return status;
}

kiln_status kiln__index_at(kiln__index *x, uint64_t number, kiln_setting *settings, kiln_error **error)
{
    if (number >= x->count)
        return kiln__fail(x->mem, error, KILN_ERROR_ARGUMENT, "the space has no configuration number %llu",
                          (unsigned long long)number);
    if (x->lost)
        return walk_to(x, number, settings, error);
    for (size_t i = 0; i < x->params; i++)
        x->choice[i] = 0;
    pick_top(x, number);
    if (x->failed)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < x->params; i++)
        settings[i] = (kiln_setting){x->space->variant->params[i].name, x->space->axes[i].values[x->choice[i]]};
    return KILN_OK;
}

kiln_status kiln__index_quick(kiln__index *x, uint64_t units, bool *quick, kiln_error **error)
{
    enum { PROBES = 8 };
    kiln__effort effort = {.most = PROBES * units};
    kiln_setting *settings = kiln__calloc(x->mem, x->params + 1, sizeof *settings);
    kiln_status status = settings ? KILN_OK : kiln__fail_memory(error);
    x->effort = &effort;
    for (uint64_t i = 0; i < PROBES && i < x->count && status == KILN_OK && !effort.over; i++)
        status = kiln__index_at(x, x->count / PROBES * i + i * (x->count % PROBES) / PROBES, settings, error);
    x->effort = NULL;
    x->halted = false;
    kiln__free(x->mem, settings);
    *quick = !effort.over;
    return status;
}

/* ---- configurations as lists of value indices ---- */

size_t kiln__index_values(const kiln__index *x, size_t param, const kiln_value **values)
{
    *values = x->space->axes[param].values;
    return x->space->axes[param].count;
}

kiln_status kiln__index_positions(kiln__index *x, uint64_t number, uint32_t *positions, kiln_error **error)
{
    kiln_status status = kiln__index_at(x, number, x->settings, error);
    if (status != KILN_OK)
        return status;
    for (size_t i = 0; i < x->params && !x->lost; i++)
        positions[i] = (uint32_t)x->choice[i];
    for (size_t i = 0; i < x->params && x->lost; i++) {
        const kiln__axis *axis = &x->space->axes[i];
        size_t v = 0;
        while (v + 1 < axis->count && !kiln__value_equal(axis->values[v], x->settings[i].value))
            v++;
        positions[i] = (uint32_t)v;
    }
    return KILN_OK;
}

/* Gives all tuning parameters the values at `positions`, in the order of the tree, which is the order of counting. So
 * it computes only values that counting also computed. Returns false if a constraint excludes these values. */
static bool descend(kiln__index *x, uint32_t first, const uint32_t *positions)
{
    for (uint32_t at = first; at != NONE; at = x->branches[at].sibling)
        if (!set_value(x, at, positions[at]) || !descend(x, x->branches[at].first_child, positions))
            return false;
    return true;
}

kiln_status kiln__index_holds(kiln__index *x, const uint32_t *positions, bool *holds, kiln_error **error)
{
    if (!x->lost) {
        *holds = !x->impossible && descend(x, x->root, positions);
        if (!x->lost)
            return KILN_OK;
    }
    kiln_error *why = NULL;
    for (size_t i = 0; i < x->params; i++)
        x->settings[i] = (kiln_setting){x->space->variant->params[i].name, x->space->axes[i].values[positions[i]]};
    kiln_status status = kiln__space_check(x->space, x->settings, &why);
    *holds = status == KILN_OK;
    /* a constraint that cannot be computed counts as not satisfied */
    if (status == KILN_OK || status == KILN_ERROR_CONSTRAINT || status == KILN_ERROR_SPEC) {
        kiln_error_free(why);
        return KILN_OK;
    }
    return kiln__fail_memory(error);
}
