/* quadtree_points: points of a kind; quadtree_host: the host build, from sorted codes; quadtree_exact: the reference,
 * which knows no codes but compares coordinates with the middles of cells.
 *
 * The box is [0, 1) x [0, 1); a point beside it belongs to the cell next to it, one with NaN to the last one. A node has
 * four words: first point, count, first of four children (0: a leaf), depth. Nodes lie level by level. */
#include <string.h>

#include "catalogue.h"
#include "random.h"

enum { DEPTH_MOST = 16, BINS = 256 };

static const uint64_t POINTS_MOST = (1U << 30) - 1;

/* ---- points ---- */

/* X(name) */
#define POINT_KINDS(X)                                                                                                 \
    X(uniform)                                                                                                         \
    X(clustered)                                                                                                       \
    X(same)                                                                                                            \
    X(line)                                                                                                            \
    X(borders)                                                                                                         \
    X(special)
typedef enum point_kind {
#define KILN_X(name) POINTS_##name,
    POINT_KINDS(KILN_X)
#undef KILN_X
        POINT_KIND_COUNT
} point_kind;

typedef struct point {
    float x, y;
} point;

static float unit(kiln__random *random) { return (float)(kiln__random_next(random) >> 40) * 0x1p-24F; }

/* 256 clusters, within which each of ten scales, 2^-4 to 2^-13, has as many points. */
static point clustered(kiln__random *random, uint64_t seed)
{
    kiln__random centre = {kiln__random_mix(seed * 256 + kiln__random_below(random, 256))};
    float scale = 0x1p-4F;
    for (uint64_t octave = kiln__random_below(random, 10); octave > 0; octave--)
        scale *= 0.5F;
    float x = unit(&centre) + (unit(random) - 0.5F) * scale, y = unit(&centre) + (unit(random) - 0.5F) * scale;
    return (point){x, y};
}

static float special(kiln__random *random)
{
    static const uint32_t bits[] = {0,          0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000,
                                    0x3F800000, 0x3F7FFFFF, 1,          0x80000001, 0x7F7FFFFF, 0xFF7FFFFF,
                                    0x3F000000, 0x3EFFFFFF, 0xBF800000, 0x40000000};
    float value;
    uint64_t word = kiln__random_next(random);
    if (word % 2)
        return (float)(word >> 40) * 0x1p-24F;
    memcpy(&value, &bits[word / 2 % KILN__COUNT(bits)], sizeof value);
    return value;
}

static point make_point(point_kind kind, kiln__random *random, uint64_t seed)
{
    float x, y;
    switch (kind) {
    case POINTS_clustered: return clustered(random, seed);
    case POINTS_same: return (point){0.3F, 0.7F};
    case POINTS_line: x = unit(random); return (point){x, 1 - x};
    case POINTS_borders: /* multiples of 1/64, 0 and 1 included */
        x = (float)kiln__random_below(random, 65) * 0x1p-6F;
        y = (float)kiln__random_below(random, 65) * 0x1p-6F;
        return (point){x, y};
    case POINTS_special: x = special(random); return (point){x, special(random)};
    case POINTS_uniform:
    case POINT_KIND_COUNT: break;
    }
    x = unit(random);
    y = unit(random);
    return (point){x, y};
}

/* ---- a tree from sorted codes ---- */

typedef struct tree {
    unsigned depth;
    uint32_t cap, count;
    uint64_t *items, *scratch; /* code << 32 | index */
} tree;

static uint32_t coordinate(const tree *t, float x)
{
    if (!(x < 1)) /* NaN too */
        return (1U << t->depth) - 1;
    return x > 0 ? (uint32_t)(x * (float)(1U << t->depth)) : 0;
}

static uint32_t code_of(const tree *t, point p)
{
    uint32_t x = coordinate(t, p.x), y = coordinate(t, p.y), code = 0;
    for (unsigned bit = 0; bit < t->depth; bit++)
        code |= (x >> bit & 1) << 2 * bit | (y >> bit & 1) << (2 * bit + 1);
    return code;
}

/* A stable sort of the items by code, a byte a pass. */
static void sort_items(tree *t)
{
    for (unsigned shift = 0; shift < 2 * t->depth; shift += 8) {
        uint32_t at[BINS] = {0}, sum = 0;
        for (uint32_t i = 0; i < t->count; i++)
            at[t->items[i] >> (32 + shift) & 0xFF]++;
        for (size_t bin = 0; bin < BINS; bin++) {
            uint32_t count = at[bin];
            at[bin] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < t->count; i++)
            t->scratch[at[t->items[i] >> (32 + shift) & 0xFF]++] = t->items[i];
        uint64_t *sorted = t->scratch;
        t->scratch = t->items;
        t->items = sorted;
    }
}

static bool sort_points(tree *t, const point *points, const kiln_allocator *mem)
{
    t->items = kiln__alloc(mem, (size_t)t->count * sizeof *t->items);
    t->scratch = kiln__alloc(mem, (size_t)t->count * sizeof *t->scratch);
    if (!t->items || !t->scratch)
        return false;
    for (uint32_t i = 0; i < t->count; i++)
        t->items[i] = (uint64_t)code_of(t, points[i]) << 32 | i;
    sort_items(t);
    return true;
}

static void free_tree(tree *t, const kiln_allocator *mem)
{
    kiln__free(mem, t->items);
    kiln__free(mem, t->scratch);
}

static uint64_t cell_of(const tree *t, uint32_t i, unsigned depth)
{
    return t->items[i] >> 32 >> 2 * (t->depth - depth);
}

/* The nodes with children: each begins where its cell does, and the cell has more than `cap` points. */
static uint64_t count_splits(const tree *t)
{
    uint64_t splits = 0;
    for (uint32_t i = 0; i + (uint64_t)t->cap < t->count; i++)
        for (unsigned depth = t->depth; depth-- > 0;) {
            if (i > 0 && cell_of(t, i, depth) == cell_of(t, i - 1, depth))
                break;
            splits += cell_of(t, i, depth) == cell_of(t, i + t->cap, depth);
        }
    return splits;
}

/* The first item from `first` to `end` whose cell is not before `cell`. */
static uint32_t find_cell(const tree *t, uint32_t first, uint32_t end, unsigned depth, uint64_t cell)
{
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (cell_of(t, middle, depth) < cell)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* All nodes, level by level; false where there is no room. */
static bool make_nodes(const tree *t, uint32_t *nodes, uint64_t room, uint32_t *levels)
{
    uint64_t made = 1, begin = 0;
    if (room == 0)
        return false;
    memcpy(nodes, (uint32_t[4]){0, t->count, 0, 0}, 4 * sizeof *nodes);
    levels[0] = 0;
    levels[1] = 1;
    for (unsigned depth = 0; depth < t->depth; depth++) {
        uint64_t end = made;
        for (uint64_t i = begin; i < end; i++) {
            uint32_t *node = nodes + 4 * i, first = node[0], last = node[0] + node[1];
            if (node[1] <= t->cap)
                continue;
            if (room - made < 4)
                return false;
            node[2] = (uint32_t)made;
            uint64_t cell = cell_of(t, first, depth) * 4;
            for (unsigned quadrant = 0; quadrant < 4; quadrant++, made++) {
                uint32_t next = quadrant < 3 ? find_cell(t, first, last, depth + 1, cell + quadrant + 1) : last;
                memcpy(nodes + 4 * made, (uint32_t[4]){first, next - first, 0, depth + 1}, 4 * sizeof *nodes);
                first = next;
            }
        }
        begin = end;
        levels[depth + 2] = (uint32_t)made;
    }
    return made == room;
}

/* ---- what callers give ---- */

static bool is_table(const kiln_array *array, kiln_type type, uint64_t columns)
{
    return array->dims == 2 && array->type == type && array->shape[1] == columns;
}

static kiln_status limits(kiln_call *call, tree *t)
{
    int64_t cap, depth;
    if (kiln_call_int(call, "CAP", NULL, &cap) != KILN_OK || kiln_call_int(call, "DEPTH", NULL, &depth) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (cap < 1 || (uint64_t)cap > POINTS_MOST || depth < 1 || depth > DEPTH_MOST)
        return kiln_call_fail(call, "CAP is 1 to 2^30 - 1, DEPTH 1 to %d", (int)DEPTH_MOST);
    t->cap = (uint32_t)cap;
    t->depth = (unsigned)depth;
    return KILN_OK;
}

/* Arguments `points` (a name of POINT_KINDS), `count`, `seed`, `CAP`, `DEPTH`; exports `points`, and how many `nodes`
 * their tree has. */
static kiln_status quadtree_points(void *user, kiln_call *call)
{
    (void)user;
    static const char *const names[] = {
#define KILN_X(name) #name,
        POINT_KINDS(KILN_X)
#undef KILN_X
    };
    int64_t count, seed;
    const char *name;
    kiln_array *array;
    tree t = {0};
    if (kiln_call_int(call, "count", NULL, &count) != KILN_OK || kiln_call_int(call, "seed", NULL, &seed) != KILN_OK ||
        kiln_call_text(call, "points", NULL, &name) != KILN_OK || limits(call, &t) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    size_t kind = 0;
    while (kind < KILN__COUNT(names) && strcmp(names[kind], name) != 0)
        kind++;
    if (kind == KILN__COUNT(names))
        return kiln_call_fail(call, "points are uniform, clustered, same, line, borders or special, not '%s'", name);
    if (count < 0 || (uint64_t)count > POINTS_MOST)
        return kiln_call_fail(call, "count is 0 to 2^30 - 1");
    const uint64_t shape[] = {(uint64_t)count, 2};
    if (kiln_call_export_array(call, "points", KILN_f32, 2, shape, &array) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    t.count = (uint32_t)count;
    point *points = array->data;
    kiln__random random = {kiln__random_mix((uint64_t)seed)};
    for (uint32_t i = 0; i < t.count; i++)
        points[i] = make_point((point_kind)kind, &random, (uint64_t)seed);
    kiln_status status = KILN_OK;
    if (sort_points(&t, points, kiln_call_allocator(call)))
        status = kiln_call_export_int(call, "nodes", (int64_t)(1 + 4 * count_splits(&t)));
    else
        status = kiln_call_fail(call, "out of host memory");
    free_tree(&t, kiln_call_allocator(call));
    return status;
}

typedef struct outputs {
    const kiln_array *points;
    kiln_array *order, *nodes, *levels;
} outputs;

static kiln_status take_outputs(kiln_call *call, outputs *o, tree *t)
{
    if (kiln_call_array(call, "points", &o->points) != KILN_OK || limits(call, t) != KILN_OK ||
        kiln_call_output(call, "order", &o->order) != KILN_OK ||
        kiln_call_output(call, "nodes", &o->nodes) != KILN_OK ||
        kiln_call_output(call, "levels", &o->levels) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (!is_table(o->points, KILN_f32, 2) || o->points->shape[0] > POINTS_MOST || o->order->dims != 1 ||
        o->order->type != KILN_u32 || o->order->shape[0] != o->points->shape[0] || !is_table(o->nodes, KILN_u32, 4) ||
        o->nodes->shape[0] > UINT32_MAX || o->levels->dims != 1 || o->levels->type != KILN_u32 ||
        o->levels->shape[0] != t->depth + 2U)
        return kiln_call_fail(call, "points is N x 2 of f32; order N, nodes M x 4 and levels DEPTH + 2 of u32");
    t->count = (uint32_t)o->points->shape[0];
    return KILN_OK;
}

static kiln_status no_room(kiln_call *call) { return kiln_call_fail(call, "nodes has not as many rows as the tree"); }

static kiln_status quadtree_host(void *user, kiln_call *call)
{
    (void)user;
    tree t = {0};
    outputs o;
    kiln_status status = take_outputs(call, &o, &t);
    if (status != KILN_OK)
        return status;
    if (!sort_points(&t, o.points->data, kiln_call_allocator(call))) {
        status = kiln_call_fail(call, "out of host memory");
    } else {
        uint32_t *order = o.order->data;
        for (uint32_t i = 0; i < t.count; i++)
            order[i] = (uint32_t)t.items[i];
        if (!make_nodes(&t, o.nodes->data, o.nodes->shape[0], o.levels->data))
            status = no_room(call);
    }
    free_tree(&t, kiln_call_allocator(call));
    return status;
}

/* ---- the reference ---- */

typedef struct entry {
    point p;
    uint32_t index;
} entry;

typedef struct cell {
    double x, y; /* the lower corner */
    uint32_t first, count, node;
} cell;

static const uint32_t NO_NODE = UINT32_MAX;

typedef struct work {
    const tree *limits;
    entry *entries, *scratch;
    cell *now, *next;
    uint32_t *nodes;
    uint64_t room, made;
} work;

static unsigned quadrant_of(point p, double x, double y) { return 2U * !((double)p.y < y) + !((double)p.x < x); }

/* The four parts of a cell, in order; those worth dividing further to `next`, which has `more` cells. */
static bool divide(work *w, const cell *c, unsigned depth, double half, size_t *more)
{
    uint32_t counts[4] = {0}, at[4] = {0};
    double x = c->x + half, y = c->y + half;
    entry *e = w->entries + c->first;
    for (uint32_t i = 0; i < c->count; i++)
        counts[quadrant_of(e[i].p, x, y)]++;
    for (int q = 1; q < 4; q++)
        at[q] = at[q - 1] + counts[q - 1];
    bool split = c->node != NO_NODE && c->count > w->limits->cap;
    uint64_t child = w->made;
    if (split) {
        if (w->room - w->made < 4)
            return false;
        w->nodes[4 * (size_t)c->node + 2] = (uint32_t)child;
        w->made += 4;
    }
    for (unsigned q = 0; q < 4; q++) {
        cell part = {q & 1 ? x : c->x, q & 2 ? y : c->y, c->first + at[q], counts[q], NO_NODE};
        if (split) {
            part.node = (uint32_t)(child + q);
            memcpy(w->nodes + 4 * (child + q), (uint32_t[4]){part.first, part.count, 0, depth + 1}, 16);
        }
        if (part.count > 1)
            w->next[(*more)++] = part;
    }
    for (uint32_t i = 0; i < c->count; i++)
        w->scratch[at[quadrant_of(e[i].p, x, y)]++] = e[i];
    memcpy(e, w->scratch, c->count * sizeof *e);
    return true;
}

static bool divide_all(work *w, uint32_t *levels)
{
    const tree *t = w->limits;
    size_t cells = t->count > 1;
    double half = 0.5;
    if (w->room == 0)
        return false;
    w->now[0] = (cell){0, 0, 0, t->count, 0};
    memcpy(w->nodes, (uint32_t[4]){0, t->count, 0, 0}, 16);
    w->made = 1;
    levels[0] = 0;
    levels[1] = 1;
    for (unsigned depth = 0; depth < t->depth; depth++) {
        size_t more = 0;
        for (size_t i = 0; i < cells; i++)
            if (!divide(w, &w->now[i], depth, half, &more))
                return false;
        half /= 2;
        levels[depth + 2] = (uint32_t)w->made;
        cell *next = w->next;
        w->next = w->now;
        w->now = next;
        cells = more;
    }
    return w->made == w->room;
}

/* The reference: divides cells level by level and compares coordinates with the middles of cells. The kernels sort
 * codes of cells instead, so the two ways can agree only if both are right. */
static kiln_status quadtree_exact(void *user, kiln_call *call)
{
    (void)user;
    tree t = {0};
    outputs o;
    kiln_status status = take_outputs(call, &o, &t);
    if (status != KILN_OK)
        return status;
    size_t n = t.count;
    const kiln_allocator *mem = kiln_call_allocator(call);
    work w = {.limits = &t, .nodes = o.nodes->data, .room = o.nodes->shape[0]};
    w.entries = kiln__alloc(mem, n * sizeof *w.entries);
    w.scratch = kiln__alloc(mem, n * sizeof *w.scratch);
    w.now = kiln__alloc(mem, (n / 2 + 1) * sizeof *w.now);
    w.next = kiln__alloc(mem, (n / 2 + 1) * sizeof *w.next);
    if (w.entries && w.scratch && w.now && w.next) {
        const point *points = o.points->data;
        for (uint32_t i = 0; i < t.count; i++)
            w.entries[i] = (entry){points[i], i};
        if (!divide_all(&w, o.levels->data))
            status = no_room(call);
        for (uint32_t i = 0; i < t.count; i++)
            ((uint32_t *)o.order->data)[i] = w.entries[i].index;
    } else {
        status = kiln_call_fail(call, "out of host memory");
    }
    kiln__free(mem, w.next);
    kiln__free(mem, w.now);
    kiln__free(mem, w.scratch);
    kiln__free(mem, w.entries);
    return status;
}

KILN__FAMILY(quadtree,
             KILN__HOST("quadtree_exact", KILN_HOST_REFERENCE, quadtree_exact, "points, CAP, DEPTH",
                        "order, nodes, levels"),
             KILN__HOST("quadtree_host", KILN_HOST_STEP, quadtree_host, "points, CAP, DEPTH", "order, nodes, levels"),
             KILN__HOST("quadtree_points", KILN_HOST_INPUT, quadtree_points, "points (a kind), count, seed, CAP, DEPTH",
                        "points, nodes"))
