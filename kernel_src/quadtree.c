/* quadtree.c has three host functions. quadtree_points makes the input, points of a kind. quadtree_host builds the tree
 * on the host, from sorted codes. quadtree_exact is the reference, which does not use codes. The reference compares the
 * coordinates of points with the middles of cells.
 *
 * The box of the tree is [0, 1) x [0, 1). A point outside the box belongs to the nearest cell, and a point with NaN
 * belongs to the last cell. A node has four words: its first point, its number of points, the first of its four
 * children (0 for a leaf), and its depth. Nodes are stored level by level. */
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

/* Returns a point of one of 256 clusters. A cluster has points at ten scales, 2^-4 to 2^-13. On average, each scale has
 * the same number of points. */
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
    case POINTS_borders: /* coordinates are multiples of 1/64, including 0 and 1 */
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

/* The number of random numbers that a point of each kind takes. With a probability below 2^-57, kiln__random_below()
 * draws another number. make_all() detects this case. */
static const uint64_t DRAWS[] = {[POINTS_uniform] = 2, [POINTS_clustered] = 4, [POINTS_same] = 0,
                                 [POINTS_line] = 1,    [POINTS_borders] = 2,   [POINTS_special] = 2};

enum { POINTS_A_PART = 1 << 16 };

typedef struct making {
    point_kind kind;
    uint64_t seed, count, first_state;
    point *points;
    bool differs; /* true if a part drew more random numbers than DRAWS says; the threads access it atomically */
} making;

/* Returns the state of the generator of random numbers before point i. The state of SplitMix64 is a counter. So each
 * part of the points can begin at its own state. */
static uint64_t state_of(const making *m, uint64_t i)
{
    return m->first_state + i * DRAWS[m->kind] * UINT64_C(0x9e3779b97f4a7c15);
}

static void make_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    making *m = user;
    const uint64_t first = (uint64_t)part * POINTS_A_PART;
    uint64_t end = first + POINTS_A_PART;
    end = end < m->count ? end : m->count;
    kiln__random random = {state_of(m, first)};
    for (uint64_t i = first; i < end; i++)
        m->points[i] = make_point(m->kind, &random, m->seed);
    if (random.state != state_of(m, end))
        __atomic_store_n(&m->differs, true, __ATOMIC_RELAXED);
}

/* Makes the points from one stream of random numbers, so that the number of threads does not change them. */
static void make_all(point_kind kind, uint64_t seed, point *points, uint64_t count)
{
    making m = {kind, seed, count, kiln__random_mix(seed), points, false};
    kiln__parallel(0, (size_t)((count + POINTS_A_PART - 1) / POINTS_A_PART), make_part, &m);
    kiln__random random = {m.first_state};
    for (uint64_t i = 0; i < count && m.differs; i++)
        points[i] = make_point(kind, &random, seed);
}

/* ---- a tree from sorted codes ---- */

typedef struct tree {
    unsigned depth;
    uint32_t cap, count;
    uint64_t *items, *scratch; /* arrays of items; an item is code << 32 | index */
    size_t threads;            /* 0 for all cores; 1 for the build on the host, because a variant measures its time */
} tree;

static uint32_t coordinate(const tree *t, float x)
{
    if (!(x < 1)) /* this is also true for NaN */
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

enum { SORT_PARTS = 64, SORT_LEAST = 1 << 16 };

/* One pass of a stable sort of the items by their codes. Each part of the items counts the values of one byte, and then
 * moves its items. */
typedef struct pass {
    const tree *t;
    const point *points;
    unsigned shift;
    uint32_t stretch;
    uint32_t at[SORT_PARTS][BINS]; /* for each part and byte value: the place of the part's next item with this value */
} pass;

static uint32_t end_of(const pass *p, size_t part)
{
    uint64_t end = ((uint64_t)part + 1) * p->stretch;
    return end < p->t->count ? (uint32_t)end : p->t->count;
}

static void encode_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const pass *p = user;
    for (uint32_t i = (uint32_t)part * p->stretch; i < end_of(p, part); i++)
        p->t->items[i] = (uint64_t)code_of(p->t, p->points[i]) << 32 | i;
}

static void count_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    pass *p = user;
    memset(p->at[part], 0, sizeof p->at[part]);
    for (uint32_t i = (uint32_t)part * p->stretch; i < end_of(p, part); i++)
        p->at[part][p->t->items[i] >> p->shift & 0xFF]++;
}

static void move_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    pass *p = user;
    for (uint32_t i = (uint32_t)part * p->stretch; i < end_of(p, part); i++) {
        const uint64_t item = p->t->items[i];
        p->t->scratch[p->at[part][item >> p->shift & 0xFF]++] = item;
    }
}

/* Sorts the items by their codes. Each pass sorts by one byte of the codes. The sort is stable. */
static void sort_items(tree *t, pass *p, size_t parts)
{
    for (p->shift = 32; p->shift < 32 + 2 * t->depth; p->shift += 8) {
        uint32_t sum = 0;
        kiln__parallel(t->threads, parts, count_part, p);
        for (size_t bin = 0; bin < BINS; bin++)
            for (size_t part = 0; part < parts; part++) {
                uint32_t count = p->at[part][bin];
                p->at[part][bin] = sum;
                sum += count;
            }
        kiln__parallel(t->threads, parts, move_part, p);
        uint64_t *sorted = t->scratch;
        t->scratch = t->items;
        t->items = sorted;
    }
}

static bool sort_points(tree *t, const point *points, const kiln_allocator *mem)
{
    pass p = {.t = t, .points = points, .stretch = (t->count + SORT_PARTS - 1) / SORT_PARTS};
    p.stretch = p.stretch < SORT_LEAST ? SORT_LEAST : p.stretch;
    const size_t parts = (t->count + p.stretch - 1) / p.stretch;
    t->items = kiln__alloc(mem, (size_t)t->count * sizeof *t->items);
    t->scratch = kiln__alloc(mem, (size_t)t->count * sizeof *t->scratch);
    if (!t->items || !t->scratch)
        return false;
    kiln__huge_pages(mem, t->items, t->count * sizeof *t->items);
    kiln__huge_pages(mem, t->scratch, t->count * sizeof *t->scratch);
    kiln__parallel(t->threads, parts, encode_part, &p);
    sort_items(t, &p, parts);
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

typedef struct splitting {
    const tree *t;
    uint64_t splits; /* the threads access it atomically */
} splitting;

/* Counts the nodes that have children. A node with children begins where its cell begins, and its cell has more than
 * `cap` points. */
static void count_splits(void *user, size_t part, size_t worker)
{
    (void)worker;
    splitting *s = user;
    const tree *t = s->t;
    const uint64_t first = (uint64_t)part * SORT_LEAST;
    uint64_t splits = 0;
    for (uint64_t at = first; at < first + SORT_LEAST && at + t->cap < t->count; at++) {
        const uint32_t i = (uint32_t)at;
        for (unsigned depth = t->depth; depth-- > 0;) {
            if (i > 0 && cell_of(t, i, depth) == cell_of(t, i - 1, depth))
                break;
            splits += cell_of(t, i, depth) == cell_of(t, i + t->cap, depth);
        }
    }
    __atomic_fetch_add(&s->splits, splits, __ATOMIC_RELAXED);
}

static uint64_t splits_of(const tree *t)
{
    splitting s = {t, 0};
    kiln__parallel(t->threads, (t->count + (size_t)SORT_LEAST - 1) / SORT_LEAST, count_splits, &s);
    return s.splits;
}

/* Returns the first item from `first` to `end` whose cell at this depth is not before `cell`. */
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

/* Makes all nodes, level by level. Returns false if `nodes` has no room for all nodes. The function does not change
 * rows of `nodes` after the last node. */
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
    return true;
}

/* ---- arguments of the host functions ---- */

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
        return kiln_call_fail(call, "CAP must be 1 to 2^30 - 1, and DEPTH 1 to %d", (int)DEPTH_MOST);
    t->cap = (uint32_t)cap;
    t->depth = (unsigned)depth;
    return KILN_OK;
}

/* The arguments are `points` (a name of POINT_KINDS), `count`, `seed`, `CAP` and `DEPTH`. The function exports
 * `points`, and the number of nodes of the points' tree as `nodes`. */
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
        return kiln_call_fail(call, "points must be uniform, clustered, same, line, borders or special, not '%s'",
                              name);
    if (count < 0 || (uint64_t)count > POINTS_MOST)
        return kiln_call_fail(call, "count must be 0 to 2^30 - 1");
    const uint64_t shape[] = {(uint64_t)count, 2};
    if (kiln_call_export_array(call, "points", KILN_f32, 2, shape, &array) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    t.count = (uint32_t)count;
    point *points = array->data;
    make_all((point_kind)kind, (uint64_t)seed, points, t.count);
    kiln_status status = KILN_OK;
    if (sort_points(&t, points, kiln_call_allocator(call)))
        status = kiln_call_export_int(call, "nodes", (int64_t)(1 + 4 * splits_of(&t)));
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
        return kiln_call_fail(call, "points must be N x 2 of f32; order must be N, nodes M x 4 and levels DEPTH + 2 "
                                    "of u32");
    t->count = (uint32_t)o->points->shape[0];
    return KILN_OK;
}

static kiln_status no_room(kiln_call *call)
{
    return kiln_call_fail(call, "nodes must have a row for each node of "
                                "the tree");
}

static kiln_status quadtree_host(void *user, kiln_call *call)
{
    (void)user;
    tree t = {.threads = 1};
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
    double x, y; /* the lower corner of the cell */
    uint32_t first, count, node;
} cell;

static const uint32_t NO_NODE = UINT32_MAX;

enum { CELLS_A_PART = 64 };

/* The number of points in each of the four quarters of a cell. */
typedef struct quarter {
    uint32_t counts[4];
} quarter;

/* The counts of one part of the cells of a level: the number of cells that are split, and the number of quarters that
 * are divided further. divide_level() replaces the counts by their sums over all earlier parts. */
typedef struct tally {
    uint64_t splits, more;
} tally;

typedef struct work {
    const tree *limits;
    const point *points;
    entry *entries, *scratch;
    cell *now, *next;
    quarter *quarters; /* one entry for each cell of the level */
    tally *tallies;    /* one entry for each part of the level's cells */
    uint32_t *nodes;
    uint64_t room, made;
    size_t cells;
    unsigned depth;
    double half; /* half of the side of the cells of this level */
} work;

static unsigned quadrant_of(point p, double x, double y) { return 2U * !((double)p.y < y) + !((double)p.x < x); }

static bool is_split(const work *w, const cell *c) { return c->node != NO_NODE && c->count > w->limits->cap; }

static size_t end_of_part(const work *w, size_t part)
{
    return w->cells - part * CELLS_A_PART < CELLS_A_PART ? w->cells : (part + 1) * CELLS_A_PART;
}

/* Orders the entries of each cell by the four quarters of the cell, and counts the entries of each quarter. */
static void divide_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const work *w = user;
    tally sum = {0};
    for (size_t k = part * CELLS_A_PART; k < end_of_part(w, part); k++) {
        const cell *c = &w->now[k];
        const double x = c->x + w->half, y = c->y + w->half;
        entry *e = w->entries + c->first, *scratch = w->scratch + c->first;
        quarter q = {{0}};
        for (uint32_t i = 0; i < c->count; i++)
            q.counts[quadrant_of(e[i].p, x, y)]++;
        uint32_t at[4] = {0, q.counts[0], q.counts[0] + q.counts[1], c->count - q.counts[3]};
        for (uint32_t i = 0; i < c->count; i++)
            scratch[at[quadrant_of(e[i].p, x, y)]++] = e[i];
        memcpy(e, scratch, c->count * sizeof *e);
        w->quarters[k] = q;
        sum.splits += is_split(w, c);
        for (int i = 0; i < 4; i++)
            sum.more += q.counts[i] > 1;
    }
    w->tallies[part] = sum;
}

/* Writes the nodes of the cells that are split, and the quarters that are divided further. The tallies give the places
 * for both. */
static void write_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    const work *w = user;
    uint64_t child = w->made + 4 * w->tallies[part].splits, more = w->tallies[part].more;
    for (size_t k = part * CELLS_A_PART; k < end_of_part(w, part); k++) {
        const cell *c = &w->now[k];
        const double x = c->x + w->half, y = c->y + w->half;
        const bool split = is_split(w, c);
        uint32_t first = c->first;
        if (split)
            w->nodes[4 * (size_t)c->node + 2] = (uint32_t)child;
        for (unsigned q = 0; q < 4; q++) {
            cell quadrant = {q & 1 ? x : c->x, q & 2 ? y : c->y, first, w->quarters[k].counts[q], NO_NODE};
            if (split) {
                quadrant.node = (uint32_t)(child + q);
                memcpy(w->nodes + 4 * (child + q), (uint32_t[4]){first, quadrant.count, 0, w->depth + 1}, 16);
            }
            if (quadrant.count > 1)
                w->next[more++] = quadrant;
            first += quadrant.count;
        }
        child += split ? 4 : 0;
    }
}

/* Divides one level of cells. First the cells are divided in parallel. Then a sum over the parts numbers the nodes.
 * Then the nodes are written in parallel. Returns false if there is no room for the nodes. */
static bool divide_level(work *w)
{
    const size_t parts = (w->cells + CELLS_A_PART - 1) / CELLS_A_PART;
    tally before = {0};
    kiln__parallel(0, parts, divide_part, w);
    for (size_t part = 0; part < parts; part++) {
        const tally here = w->tallies[part];
        w->tallies[part] = before;
        before.splits += here.splits;
        before.more += here.more;
    }
    if ((w->room - w->made) / 4 < before.splits)
        return false;
    kiln__parallel(0, parts, write_part, w);
    w->made += 4 * before.splits;
    w->cells = (size_t)before.more;
    cell *next = w->next;
    w->next = w->now;
    w->now = next;
    return true;
}

static bool divide_all(work *w, uint32_t *levels)
{
    const tree *t = w->limits;
    if (w->room == 0)
        return false;
    w->now[0] = (cell){0, 0, 0, t->count, 0};
    w->cells = t->count > 1;
    memcpy(w->nodes, (uint32_t[4]){0, t->count, 0, 0}, 16);
    w->made = 1;
    levels[0] = 0;
    levels[1] = 1;
    w->half = 0.5;
    for (w->depth = 0; w->depth < t->depth; w->depth++) {
        if (!divide_level(w))
            return false;
        w->half /= 2;
        levels[w->depth + 2] = (uint32_t)w->made;
    }
    return w->made == w->room;
}

static void take_entries(void *user, size_t part, size_t worker)
{
    (void)worker;
    const work *w = user;
    const uint64_t first = (uint64_t)part * POINTS_A_PART;
    for (uint64_t i = first; i < first + POINTS_A_PART && i < w->limits->count; i++)
        w->entries[i] = (entry){w->points[i], (uint32_t)i};
}

/* The reference divides cells level by level, and compares coordinates with the middles of cells. The kernels sort
 * codes of cells instead. So the reference and a kernel can agree only if both are right. */
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
    work w = {.limits = &t, .points = o.points->data, .nodes = o.nodes->data, .room = o.nodes->shape[0]};
    w.entries = kiln__alloc(mem, n * sizeof *w.entries);
    w.scratch = kiln__alloc(mem, n * sizeof *w.scratch);
    w.now = kiln__alloc(mem, (n / 2 + 1) * sizeof *w.now);
    w.next = kiln__alloc(mem, (n / 2 + 1) * sizeof *w.next);
    w.quarters = kiln__alloc(mem, (n / 2 + 1) * sizeof *w.quarters);
    w.tallies = kiln__alloc(mem, (n / 2 / CELLS_A_PART + 1) * sizeof *w.tallies);
    if (w.entries && w.scratch && w.now && w.next && w.quarters && w.tallies) {
        kiln__huge_pages(mem, w.entries, n * sizeof *w.entries);
        kiln__huge_pages(mem, w.scratch, n * sizeof *w.scratch);
        kiln__huge_pages(mem, w.now, n / 2 * sizeof *w.now);
        kiln__huge_pages(mem, w.next, n / 2 * sizeof *w.next);
        kiln__parallel(0, (n + POINTS_A_PART - 1) / POINTS_A_PART, take_entries, &w);
        if (!divide_all(&w, o.levels->data))
            status = no_room(call);
        for (uint32_t i = 0; i < t.count; i++)
            ((uint32_t *)o.order->data)[i] = w.entries[i].index;
    } else {
        status = kiln_call_fail(call, "out of host memory");
    }
    kiln__free(mem, w.tallies);
    kiln__free(mem, w.quarters);
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
