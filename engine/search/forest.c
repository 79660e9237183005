/* forest.c - a forest of extremely randomised regression trees (Geurts, Ernst and Wehenkel, Extremely randomized trees,
 * 2006) over rows of whole numbers.
 *
 * This forest differs from the paper in two points. First, a cut lies between the positions of two random rows, so that
 * it always separates some rows. Second, trees are replaced a few at a time, and the oldest first. So a caller that
 * keeps the predictions of each tree has to ask only the new trees. Only one thread at a time may use a forest. */
#include <math.h>
#include <string.h>

#include "forest.h"

enum {
    DEEPEST = 24,
    CUTS = 4,    /* the number of random cuts that one pass over the rows evaluates */
    ROUNDS = 2,  /* the number of passes for each node, of which the best cut is used */
    SMALL = 20,  /* nodes with fewer rows than this get only one pass */
    LEAF = 3,    /* nodes with fewer rows than this are leaves */
    ABREAST = 8, /* the number of points that one walk through a tree predicts together */
    COUNT_BITS = 13
};

/* Goals are stored as integer multiples of this number. So a sum of goals is exact in any order, and the sum of 4,096
 * goals fits into 32 bits. */
static const double goal_unit = 0x1p-17;

/* A node of a tree. A node sends a row to the child `left` if the row's position on the axis is at most `cut`. It sends
 * all other rows to the child `left` + 1. A leaf is its own left child. */
typedef struct node {
    uint32_t axis, cut, left;
    float mean;
} node;

/* The trees, and the rows from which the next trees grow. */
struct kiln__forest {
    const kiln_allocator *mem;
    bool featured;       /* the tree that grows may cut the feature, which is the last column */
    size_t width, count; /* columns and rows */
    size_t room;         /* the number of rows for which the arrays have memory */
    node *nodes;         /* 2 * room nodes for each tree, one tree after the other */
    uint32_t *columns;   /* the positions of all rows: one axis after the other, `room` rows for each axis */
    /* for each row: its goal << COUNT_BITS, plus 1. The low bits of a sum of these numbers count its rows */
    int64_t *goals;
    uint32_t *order;
    uint64_t grown;    /* the number of trees that have grown so far; the last KILN__FOREST_TREES are stored */
    size_t node_count; /* the number of nodes in the tree that grows */
    double base;       /* the number that is added to all predictions of the tree that grows */
};

kiln__forest *kiln__forest_new(const kiln_allocator *mem, size_t width)
{
    kiln__forest *f = kiln__calloc(mem, 1, sizeof *f);
    if (!f)
        return NULL;
    f->mem = mem;
    f->width = width;
    return f;
}

void kiln__forest_free(kiln__forest *f)
{
    if (!f)
        return;
    void *const held[] = {f->nodes, f->columns, f->goals, f->order};
    for (size_t i = 0; i < KILN__COUNT(held); i++)
        kiln__free(f->mem, held[i]);
    kiln__free(f->mem, f);
}

uint64_t kiln__forest_grown(const kiln__forest *f) { return f->grown; }

/* Makes memory for `count` rows. Keeps the trees. If memory runs out, returns false and leaves the forest unchanged. */
static bool grow_rows(kiln__forest *f, size_t count)
{
    size_t room = f->room ? f->room : 64;
    while (room < count)
        room *= 2;
    node *nodes = kiln__calloc(f->mem, 2 * room * KILN__FOREST_TREES, sizeof *nodes);
    uint32_t *columns = kiln__calloc(f->mem, (f->width + 1) * room, sizeof *columns);
    int64_t *goals = kiln__calloc(f->mem, room, sizeof *goals);
    uint32_t *order = kiln__calloc(f->mem, room, sizeof *order);
    bool made = nodes && columns && goals && order;
    for (size_t t = 0; made && f->room && t < KILN__FOREST_TREES; t++)
        memcpy(nodes + 2 * room * t, f->nodes + 2 * f->room * t, 2 * f->room * sizeof *nodes);
    void *const old[] = {f->nodes, f->columns, f->goals, f->order}, *const failed[] = {nodes, columns, goals, order};
    for (size_t i = 0; i < KILN__COUNT(old); i++)
        kiln__free(f->mem, made ? old[i] : failed[i]);
    if (!made)
        return false;
    f->nodes = nodes;
    f->columns = columns;
    f->goals = goals;
    f->order = order;
    f->room = room;
    return true;
}

bool kiln__forest_start(kiln__forest *f, size_t count, double base)
{
    f->count = count;
    f->base = base;
    return count <= f->room || grow_rows(f, count);
}

void kiln__forest_row(kiln__forest *f, size_t row, const uint32_t *point, const uint32_t *feature, double goal)
{
    if (feature)
        f->columns[f->width * f->room + row] = *feature;
    for (size_t axis = 0; axis < f->width; axis++)
        f->columns[axis * f->room + row] = point[axis];
    f->goals[row] = (int64_t)lrint((goal + 2) / goal_unit) << COUNT_BITS | 1;
}

/* ---- growing ---- */

static uint32_t read_position(const kiln__forest *f, uint32_t row, uint32_t axis)
{
    return f->columns[(size_t)axis * f->room + row];
}

/* Scales 32 random bits to a number below `bound`. This method is much cheaper than kiln__random_below(). For a bound
 * of at most 4,096 its bias is below 1 in 2^20. */
static uint32_t scale_random(uint64_t half, uint64_t bound) { return (uint32_t)(half * bound >> 32); }

/* A cut that may divide the rows of a node. */
typedef struct cut {
    uint32_t axis, last;    /* the rows whose position is at most `last` go to the left child */
    const uint32_t *column; /* the positions of all rows on the axis */
} cut;

static int64_t extract_sum(int64_t goals) { return goals >> COUNT_BITS; }

static int64_t extract_count(int64_t goals) { return goals & ((1 << COUNT_BITS) - 1); }

/* Returns the reduction of the sum of squared errors by a cut, apart from a constant. `all` is the sum of all goals,
 * and the goals of the sum `right` go to the right child. The result is negative if one child would be empty. */
static double compute_gain(int64_t all, int64_t right)
{
    double count = (double)extract_count(right), others = (double)(extract_count(all) - extract_count(right));
    double sum = (double)extract_sum(right), rest = (double)(extract_sum(all) - extract_sum(right));
    return count > 0 && others > 0 ? rest * rest / others + sum * sum / count : -1;
}

/* Draws a random axis, and draws a cut between the positions of two random rows in order[from..to). Returns false if
 * the two rows are equal on that axis. */
static bool draw_cut(const kiln__forest *f, kiln__random *random, size_t from, size_t to, cut *out)
{
    uint64_t first = kiln__random_next(random), second = kiln__random_next(random);
    /* Column 0 has the numbers of the parts. The feature is drawn as often as 1 + width / 4 columns together. */
    uint32_t axis = scale_random(first >> 32, f->width + (f->featured ? 1 + f->width / 4 : 0));
    axis = axis < f->width ? axis : (uint32_t)f->width;
    uint32_t one = read_position(f, f->order[from + scale_random(first & UINT32_MAX, to - from)], axis);
    uint32_t other = read_position(f, f->order[from + scale_random(second >> 32, to - from)], axis);
    uint32_t low = one < other ? one : other, high = one < other ? other : one;
    *out = (cut){axis, low + scale_random(second & UINT32_MAX, high - low), f->columns + (size_t)axis * f->room};
    return one != other;
}

/* Chooses the best of at most CUTS * ROUNDS random cuts. Returns false if no cut was found that separates rows. */
static bool choose_cut(const kiln__forest *f, kiln__random *random, size_t from, size_t to, int64_t all, cut *chosen)
{
    double best = -1;
    unsigned rounds = to - from < SMALL ? 1 : ROUNDS, tries = 3 * CUTS * rounds;
    for (unsigned round = 0; round < rounds && tries > 0; round++) {
        cut cuts[CUTS];
        int64_t right[CUTS] = {0};
        size_t got = 0;
        for (; got < CUTS && tries > 0; tries--)
            got += draw_cut(f, random, from, to, &cuts[got]);
        for (size_t k = got; got && k < CUTS; k++)
            cuts[k] = cuts[0];
        /* uses a mask instead of a branch, because the processor could not predict the branch */
        for (size_t i = from; i < to && got; i++) {
            uint32_t row = f->order[i];
            int64_t goals = f->goals[row];
            for (size_t k = 0; k < CUTS; k++)
                right[k] += goals & -(int64_t)(cuts[k].column[row] > cuts[k].last);
        }
        for (size_t k = 0; k < got; k++) {
            double gain = compute_gain(all, right[k]);
            if (gain > best) {
                best = gain;
                *chosen = cuts[k];
            }
        }
    }
    return best >= 0;
}

/* Grows the subtree at nodes[at] from order[from..to), which it partitions in place. DEEPEST limits the depth of the
 * recursion. */
static void grow_node(kiln__forest *f, node *nodes, kiln__random *random, size_t at, size_t from, size_t to,
                      unsigned depth)
{
    int64_t all = 0;
    cut by = {0};
    for (size_t i = from; i < to; i++)
        all += f->goals[f->order[i]];
    double mean = (double)extract_sum(all) / (double)(to - from) * goal_unit - 2;
    nodes[at] = (node){0, UINT32_MAX, (uint32_t)at, (float)(mean + f->base)};
    if (to - from < LEAF || depth == DEEPEST || !choose_cut(f, random, from, to, all, &by))
        return;
    size_t middle = from;
    for (size_t i = from; i < to; i++) {
        uint32_t row = f->order[i];
        f->order[i] = f->order[middle];
        f->order[middle] = row;
        middle += by.column[row] <= by.last;
    }
    size_t left = f->node_count;
    f->node_count += 2;
    nodes[at].axis = by.axis;
    nodes[at].cut = by.last;
    nodes[at].left = (uint32_t)left;
    grow_node(f, nodes, random, left, from, middle, depth + 1);
    grow_node(f, nodes, random, left + 1, middle, to, depth + 1);
}

static node *find_tree(const kiln__forest *f, uint64_t number)
{
    return f->nodes + number % KILN__FOREST_TREES * 2 * f->room;
}

void kiln__forest_grow(kiln__forest *f, kiln__random *random, size_t trees, bool featured)
{
    f->featured = featured;
    for (size_t i = 0; i < f->count; i++)
        f->order[i] = (uint32_t)i;
    for (size_t t = 0; t < trees && f->count; t++) {
        f->node_count = 1;
        grow_node(f, find_tree(f, f->grown++), random, 0, 0, f->count, 0);
    }
}

/* ---- predicting ---- */

/* Predicts at most ABREAST points with one tree. Each step in a tree depends on the step before. So the function
 * interleaves the walks of several points, which lets the processor overlap their memory accesses. */
static inline void predict_group(const node *nodes, size_t width, const uint32_t *const *points,
                                 const uint32_t *features, size_t count, float *const *means, size_t place)
{
    uint32_t at[ABREAST] = {0}, moved = 1;
    while (moved) {
        moved = 0;
        for (size_t i = 0; i < count; i++) {
            const node *n = &nodes[at[i]];
            const uint32_t *position = features && n->axis == width ? &features[i] : &points[i][n->axis];
            uint32_t next = n->left + (*position > n->cut);
            moved |= next ^ at[i];
            at[i] = next;
        }
    }
    for (size_t i = 0; i < count; i++)
        means[i][place] = nodes[at[i]].mean;
}

void kiln__forest_predict(const kiln__forest *f, uint64_t since, const uint32_t *const *points,
                          const uint32_t *features, size_t count, float *const *means)
{
    uint64_t oldest = f->grown > KILN__FOREST_TREES ? f->grown - KILN__FOREST_TREES : 0;
    for (size_t i = 0; i < count; i += ABREAST) {
        size_t n = count - i < ABREAST ? count - i : ABREAST;
        for (uint64_t t = since > oldest ? since : oldest; t < f->grown; t++)
            if (features)
                predict_group(find_tree(f, t), f->width, points + i, features + i, n, means + i,
                              t % KILN__FOREST_TREES);
            else
                predict_group(find_tree(f, t), f->width, points + i, NULL, n, means + i, t % KILN__FOREST_TREES);
    }
}
