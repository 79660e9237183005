/* barneshut.c - the input barneshut_bodies, which makes the bodies, and the reference barneshut_f64, in double.
 *
 * For a small work, the reference adds all pairs of bodies in every step. For a large work of one step, it adds all
 * pairs for a sample of the bodies. For a large work of several steps, each step needs all bodies. Then the reference
 * uses a tree of its own, whose nodes have two children, with a smaller theta than the kernels use. */
#include <math.h>
#include <string.h>

#include "catalogue.h"
#include "random.h"
#include "rows.h"
#include "vector.h"

static const int64_t BODIES_MOST = (1 << 30) - 1;

/* ---- The input ---- */

/* X(name) */
#define BODY_KINDS(X)                                                                                                  \
    X(uniform)                                                                                                         \
    X(disk)                                                                                                            \
    X(clustered)                                                                                                       \
    X(same)                                                                                                            \
    X(line)                                                                                                            \
    X(apart)
typedef enum body_kind {
#define KILN_X(name) BODIES_##name,
    BODY_KINDS(KILN_X)
#undef KILN_X
        BODY_KIND_COUNT
} body_kind;

typedef struct place {
    double x, y;
} place;

static place anywhere(kiln__random *random)
{
    const double x = kiln__random_unit(random);
    return (place){x, kiln__random_unit(random)};
}

/* Makes a place in one of 64 clusters. Each of the ten sizes of clusters, 2^-4 to 2^-13, has the same number of bodies
 * on average. */
static place clustered(kiln__random *random)
{
    kiln__random centre = {kiln__random_mix(kiln__random_below(random, 64))};
    const double scale = ldexp(1, -4 - (int)kiln__random_below(random, 10));
    const place middle = anywhere(&centre), p = anywhere(random);
    return (place){middle.x + (p.x - 0.5) * scale, middle.y + (p.y - 0.5) * scale};
}

/* Makes a place in a disk whose density decreases with the radius, as it does in a galaxy. */
static place in_disk(kiln__random *random)
{
    for (;;) {
        const place p = anywhere(random);
        const double x = p.x - 0.5, y = p.y - 0.5, radius = sqrt(x * x + y * y);
        if (radius < 0.5)
            return (place){0.5 + 2 * radius * x, 0.5 + 2 * radius * y};
    }
}

/* Returns the place of body i. In the kind `apart`, every second body is at one place far from the other bodies. */
static place make_place(body_kind kind, kiln__random *random, uint64_t i)
{
    place p;
    switch (kind) {
    case BODIES_disk: return in_disk(random);
    case BODIES_clustered: return clustered(random);
    case BODIES_same: return (place){0.3, 0.7};
    case BODIES_line: p.x = kiln__random_unit(random); return (place){p.x, 1 - p.x};
    case BODIES_apart: p = anywhere(random); return i % 2 ? (place){1000, -500} : p;
    case BODIES_uniform:
    case BODY_KIND_COUNT: break;
    }
    return anywhere(random);
}

enum { PULL_SAMPLES = 64 };

/* The state of greatest_sum(). Each sum adds the magnitudes of the pulls of all bodies on one body of the sample. */
typedef struct sampling {
    const float *bodies;
    uint64_t count;
    double soft, sums[PULL_SAMPLES];
} sampling;

static void sum_pulls(void *user, size_t sample, size_t worker)
{
    (void)worker;
    sampling *s = user;
    const float *mine = s->bodies + 4 * (s->count * sample / PULL_SAMPLES);
    double sum = 0;
    for (const float *b = s->bodies; b < s->bodies + 4 * s->count; b += 4) {
        const double dx = (double)b[0] - (double)mine[0], dy = (double)b[1] - (double)mine[1];
        const double way = dx * dx + dy * dy, square = way + s->soft;
        sum += (double)b[2] * sqrt(way / square) / square;
    }
    s->sums[sample] = sum;
}

/* Returns the largest of these sums, for a sample of the bodies. The error of a tree grows with this sum. Pulls from
 * opposite sides cancel each other, but the errors of these pulls add up. */
static double greatest_sum(const float *bodies, uint64_t count, double soft)
{
    sampling s = {.bodies = bodies, .count = count, .soft = soft};
    double most = 0;
    kiln__parallel(0, count == 0 ? 0 : PULL_SAMPLES, sum_pulls, &s);
    for (size_t i = 0; i < PULL_SAMPLES; i++)
        most = s.sums[i] > most ? s.sums[i] : most;
    return most;
}

/* The arguments are `kind` (a name of BODY_KINDS), `count`, `seed` and `soft`. Exports
 *   bodies     f32, N x 4: x, y, mass, 0. The masses are 0.5 / N to 1.5 / N
 *   velocity f32, N x 2: a rotation about the middle
 *   pull       greatest_sum() of the bodies */
static kiln_status barneshut_bodies(void *user, kiln_call *call)
{
    (void)user;
    static const char *const names[] = {
#define KILN_X(name) #name,
        BODY_KINDS(KILN_X)
#undef KILN_X
    };
    int64_t count, seed;
    double soft;
    const char *name;
    kiln_array *bodies, *velocity;
    if (kiln_call_int(call, "count", NULL, &count) != KILN_OK || kiln_call_int(call, "seed", NULL, &seed) != KILN_OK ||
        kiln_call_text(call, "kind", NULL, &name) != KILN_OK || kiln_call_float(call, "soft", NULL, &soft) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    size_t kind = 0;
    while (kind < KILN__COUNT(names) && strcmp(names[kind], name) != 0)
        kind++;
    if (kind == KILN__COUNT(names))
        return kiln_call_fail(call, "bodies are uniform, disk, clustered, same, line or apart, not '%s'", name);
    if (count < 0 || count > BODIES_MOST)
        return kiln_call_fail(call, "count is 0 to 2^30 - 1");
    const uint64_t shape[] = {(uint64_t)count, 4}, two[] = {(uint64_t)count, 2};
    if (kiln_call_export_array(call, "bodies", KILN_f32, 2, shape, &bodies) != KILN_OK ||
        kiln_call_export_array(call, "velocity", KILN_f32, 2, two, &velocity) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    kiln__random random = {kiln__random_mix((uint64_t)seed)};
    for (uint64_t i = 0; i < shape[0]; i++) {
        const place p = make_place((body_kind)kind, &random, i);
        const double mass = (0.5 + kiln__random_unit(&random)) / (double)count;
        memcpy((float *)bodies->data + 4 * i, (float[4]){(float)p.x, (float)p.y, (float)mass, 0}, 4 * sizeof(float));
        memcpy((float *)velocity->data + 2 * i, (float[2]){(float)(0.5 - p.y), (float)(p.x - 0.5)}, 2 * sizeof(float));
    }
    return kiln_call_export_float(call, "pull", greatest_sum(bodies->data, shape[0], soft));
}

/* ---- The reference ---- */

typedef struct body {
    double x, y, mass;
    uint32_t number;
} body;

/* A node of the reference's tree. Its bodies are neighbours in the array, and it has two children or none. */
typedef struct node {
    double x, y, mass, extent; /* the centre of mass, and the longer side of the box */
    double left, low, right, top;
    /* the first body and the number of bodies; the index of the first child, or 0 for a leaf */
    uint32_t first, count, child;
} node;

enum { LEAF = 16, LIST_MOST = 256, SUBTREES = 256, TOP = 2 * SUBTREES + 2, AT_ONCE = 64, WAY_MOST = 4096 };

typedef struct problem {
    size_t count, steps;
    double theta, soft, dt;
    body *bodies;
    place *velocity, *pull; /* indexed by the number of the body */
    node *nodes;            /* space for TOP nodes, and for two nodes per body; empty if the reference adds all pairs */
    size_t top;             /* the number of nodes above the subtrees */
    /* for each top node, the end of the nodes of its subtree, or 0 if it has no subtree */
    size_t ends[TOP];
    uint64_t every; /* the reference computes AT_ONCE bodies of every AT_ONCE * every bodies */
} problem;

/* A list of points whose pulls are added. Each coordinate has its own array, so that one vector instruction adds four
 * points. */
typedef struct points {
    double x[LIST_MOST], y[LIST_MOST], mass[LIST_MOST];
    size_t count;
} points;

static void put(points *list, double x, double y, double mass)
{
    list->x[list->count] = x;
    list->y[list->count] = y;
    list->mass[list->count++] = mass;
}

/* Fills the list with points without mass, up to a whole number of vectors. LIST_MOST is a multiple of the length of a
 * vector. */
static void fill_up(points *list)
{
    while (list->count % KILN__LANES != 0)
        put(list, 0, 0, 0);
}

/* Adds the pulls of all points of a list on the place (x, y). */
static inline __attribute__((always_inline)) void sum_points(const points *list, double x, double y, double soft,
                                                             place *pull)
{
    kiln__vector sum_x = {0}, sum_y = {0};
    for (size_t j = 0; j < list->count; j += KILN__LANES) {
        kiln__vector dx, dy, mass;
        memcpy(&dx, list->x + j, sizeof dx);
        memcpy(&dy, list->y + j, sizeof dy);
        memcpy(&mass, list->mass + j, sizeof mass);
        dx -= x;
        dy -= y;
        kiln__vector root = dx * dx + dy * dy + soft;
        kiln__inverse_root(&root);
        mass *= root * root * root;
        sum_x += mass * dx;
        sum_y += mass * dy;
    }
    for (size_t lane = 0; lane < KILN__LANES; lane++) {
        pull->x += sum_x[lane];
        pull->y += sum_y[lane];
    }
}

static void sum_points_base(const points *list, double x, double y, double soft, place *pull)
{
    sum_points(list, x, y, soft, pull);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void sum_points_avx2(const points *list, double x, double y, double soft,
                                                            place *pull)
{
    sum_points(list, x, y, soft, pull);
}
#endif

static void add_points(const points *list, double x, double y, double soft, place *pull)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        sum_points_avx2(list, x, y, soft, pull);
        return;
    }
#endif
    sum_points_base(list, x, y, soft, pull);
}

/* Adds the pulls of all bodies on AT_ONCE of them, if these bodies are in the sample. */
static void add_all_pairs(void *user, size_t part, size_t worker)
{
    (void)worker;
    const problem *p = user;
    points list;
    const size_t first = part * AT_ONCE, end = first + AT_ONCE < p->count ? first + AT_ONCE : p->count;
    if (!kiln__row_chosen(part, p->every))
        return;
    for (size_t begin = 0; begin < p->count; begin += LIST_MOST) {
        list.count = 0;
        for (size_t j = begin; j < p->count && j < begin + LIST_MOST; j++)
            put(&list, p->bodies[j].x, p->bodies[j].y, p->bodies[j].mass);
        fill_up(&list);
        for (size_t i = first; i < end; i++)
            add_points(&list, p->bodies[i].x, p->bodies[i].y, p->soft, &p->pull[i]);
    }
}

/* ---- The tree ---- */

/* Makes a node from its bodies. The centre is computed relative to the first body, so that it is exact if all bodies
 * are at one place. */
static node make_node(const problem *p, uint32_t first, uint32_t count)
{
    node n = {.left = INFINITY, .low = INFINITY, .right = -INFINITY, .top = -INFINITY, .first = first, .count = count};
    for (uint32_t i = first; i < first + count; i++) {
        const body *b = &p->bodies[i];
        n.left = b->x < n.left ? b->x : n.left;
        n.right = b->x > n.right ? b->x : n.right;
        n.low = b->y < n.low ? b->y : n.low;
        n.top = b->y > n.top ? b->y : n.top;
        n.mass += b->mass;
        n.x += b->mass * (b->x - p->bodies[first].x);
        n.y += b->mass * (b->y - p->bodies[first].y);
    }
    n.x = p->bodies[first].x + n.x / n.mass;
    n.y = p->bodies[first].y + n.y / n.mass;
    n.extent = n.right - n.left > n.top - n.low ? n.right - n.left : n.top - n.low;
    return n;
}

/* Divides the bodies of a node at the middle of the longer side of its box, and makes its two children. Returns false
 * if the node is a leaf. */
static bool divide(const problem *p, const node *n, node *children)
{
    if (n->count <= LEAF)
        return false;
    const bool wide = n->right - n->left >= n->top - n->low;
    const double begin = wide ? n->left : n->low, middle = begin + n->extent / 2;
    uint32_t low = n->first, high = n->first + n->count;
    while (low < high) {
        body *b = &p->bodies[low];
        if ((wide ? b->x : b->y) <= middle) {
            low++;
        } else {
            const body other = p->bodies[--high];
            p->bodies[high] = *b;
            *b = other;
        }
    }
    if (low == n->first + n->count) /* all bodies are at one place, or the middle was rounded up */
        return false;
    children[0] = make_node(p, n->first, low - n->first);
    children[1] = make_node(p, low, n->count - (low - n->first));
    return true;
}

/* Divides node `i` and stores its children at index `end`. Returns the new end of the nodes. */
static size_t divide_node(const problem *p, size_t i, size_t end)
{
    if (!divide(p, &p->nodes[i], &p->nodes[end]))
        return end;
    p->nodes[i].child = (uint32_t)end;
    return end + 2;
}

/* Makes all nodes below top node `index`, if this node has no children yet. A tree over n bodies has fewer than 2 n
 * nodes, so no other subtree uses the elements from TOP + 2 * first on. */
static void divide_subtree(void *user, size_t index, size_t worker)
{
    (void)worker;
    problem *p = user;
    if (p->nodes[index].child != 0) {
        p->ends[index] = 0;
        return;
    }
    const size_t begin = TOP + 2 * (size_t)p->nodes[index].first;
    size_t end = divide_node(p, index, begin);
    for (size_t i = begin; i < end; i++)
        end = divide_node(p, i, end);
    p->ends[index] = end;
}

/* The state of walking the tree for the bodies of one leaf: the points that were found for these bodies, and the pull
 * of these points. */
typedef struct walk {
    const problem *p;
    const node *leaf;
    points list;
} walk;

static void add_list(walk *w)
{
    fill_up(&w->list);
    for (uint32_t i = w->leaf->first; i < w->leaf->first + w->leaf->count; i++) {
        const body *b = &w->p->bodies[i];
        add_points(&w->list, b->x, b->y, w->p->soft, &w->p->pull[b->number]);
    }
    w->list.count = 0;
}

static void find(walk *w, double x, double y, double mass)
{
    put(&w->list, x, y, mass);
    if (w->list.count == LIST_MOST)
        add_list(w);
}

static double outside(double low, double high, double x) { return x < low ? low - x : x > high ? x - high : 0; }

/* Returns true if a node may replace its bodies, seen from every point of the leaf's box. */
static bool is_point(const walk *w, const node *n)
{
    const double dx = outside(w->leaf->left, w->leaf->right, n->x), dy = outside(w->leaf->low, w->leaf->top, n->y);
    return n->extent * n->extent <= w->p->theta * w->p->theta * (dx * dx + dy * dy);
}

/* Walks down the nodes for all bodies of a leaf. If the stack has no space for two children, the function adds the
 * node's bodies one by one, which is correct for every tree. This is slow, but it happens only in trees that are deeper
 * than any real data make. */
static void walk_leaf(const problem *p, const node *leaf)
{
    walk w = {.p = p, .leaf = leaf};
    uint32_t stack[WAY_MOST], size = 1;
    stack[0] = 0;
    while (size > 0) {
        const node *n = &p->nodes[stack[--size]];
        if (is_point(&w, n)) {
            find(&w, n->x, n->y, n->mass);
        } else if (n->child != 0 && size + 2 <= WAY_MOST) {
            stack[size++] = n->child + 1;
            stack[size++] = n->child;
        } else {
            for (uint32_t i = n->first; i < n->first + n->count; i++)
                find(&w, p->bodies[i].x, p->bodies[i].y, p->bodies[i].mass);
        }
    }
    add_list(&w);
}

static void walk_subtree(void *user, size_t index, size_t worker)
{
    (void)worker;
    const problem *p = user;
    const size_t begin = TOP + 2 * (size_t)p->nodes[index].first, end = p->ends[index];
    if (end == begin)
        walk_leaf(p, &p->nodes[index]);
    for (size_t i = begin; i < end; i++)
        if (p->nodes[i].child == 0)
            walk_leaf(p, &p->nodes[i]);
}

/* ---- The steps ---- */

static void find_pulls(problem *p)
{
    memset(p->pull, 0, p->count * sizeof *p->pull);
    if (!p->nodes) {
        kiln__parallel(0, (p->count + AT_ONCE - 1) / AT_ONCE, add_all_pairs, p);
        return;
    }
    p->nodes[0] = make_node(p, 0, (uint32_t)p->count);
    size_t end = 1;
    for (size_t i = 0; i < end && end + 2 <= TOP; i++)
        end = divide_node(p, i, end);
    kiln__parallel(0, end, divide_subtree, p);
    kiln__parallel(0, end, walk_subtree, p);
}

/* Reads the arguments. Returns false if the call has failed. */
static bool take(kiln_call *call, problem *p, const kiln_array **bodies, const kiln_array **velocity, kiln_array **at,
                 kiln_array **acc)
{
    int64_t steps;
    if (kiln_call_array(call, "bodies", bodies) != KILN_OK || kiln_call_array(call, "velocity", velocity) != KILN_OK ||
        kiln_call_output(call, "at", at) != KILN_OK || kiln_call_output(call, "acc", acc) != KILN_OK ||
        kiln_call_int(call, "STEPS", NULL, &steps) != KILN_OK ||
        kiln_call_float(call, "THETA", NULL, &p->theta) != KILN_OK ||
        kiln_call_float(call, "DT", NULL, &p->dt) != KILN_OK ||
        kiln_call_float(call, "soft", NULL, &p->soft) != KILN_OK)
        return false;
    const kiln_array *const two[] = {*velocity, *at, *acc};
    bool right = (*bodies)->dims == 2 && (*bodies)->type == KILN_f32 && (*bodies)->shape[1] == 4;
    for (size_t i = 0; i < KILN__COUNT(two); i++)
        right = right && two[i]->dims == 2 && two[i]->type == KILN_f32 && two[i]->shape[1] == 2 &&
                two[i]->shape[0] == (*bodies)->shape[0];
    if (!right || (*bodies)->shape[0] > (uint64_t)BODIES_MOST) {
        kiln_call_fail(call, "bodies is N x 4, velocity, at and acc are N x 2 of f32, N below 2^30");
        return false;
    }
    if (steps < 1 || !(p->soft > 0) || !(p->theta > 0)) {
        kiln_call_fail(call, "STEPS is 1 or more, THETA and soft are above 0");
        return false;
    }
    p->steps = (size_t)steps;
    p->count = (size_t)(*bodies)->shape[0];
    return true;
}

/* Computes all steps, and writes the bodies of the sample. The numbers that one step passes to the next are in
 * double. */
static void make_steps(problem *p, const float *given, const float *given_velocity, float *at, float *acc)
{
    for (size_t i = 0; i < p->count; i++) {
        const float *b = given + 4 * i;
        p->bodies[i] = (body){(double)b[0], (double)b[1], (double)b[2], (uint32_t)i};
        p->velocity[i] = (place){(double)given_velocity[2 * i], (double)given_velocity[2 * i + 1]};
    }
    for (size_t step = 0; step < p->steps; step++) {
        find_pulls(p);
        for (size_t i = 0; i < p->count; i++) {
            body *b = &p->bodies[i];
            place *v = &p->velocity[b->number], *pull = &p->pull[b->number];
            v->x += p->dt * pull->x, v->y += p->dt * pull->y;
            b->x += p->dt * v->x, b->y += p->dt * v->y;
        }
    }
    for (size_t i = 0; i < p->count; i++) {
        const body *b = &p->bodies[i];
        const size_t number = b->number;
        if (!kiln__row_chosen(number / AT_ONCE, p->every))
            continue;
        at[2 * number] = (float)b->x, at[2 * number + 1] = (float)b->y;
        acc[2 * number] = (float)p->pull[number].x, acc[2 * number + 1] = (float)p->pull[number].y;
    }
}

/* 2^31 pairs take one core some seconds. */
static const double MOST_PAIRS = 0x1p31;

/* The reference barneshut_f64 computes the places after all steps and the accelerations of the last step. Its arguments
 * are `bodies`, `velocity`, STEPS, THETA, DT and `soft`. The tree of the reference uses 0.7 THETA, so that its error is
 * about half of the kernels' error. */
static kiln_status barneshut_f64(void *user, kiln_call *call)
{
    (void)user;
    problem p = {.every = 1};
    const kiln_array *bodies, *velocity;
    kiln_array *at, *acc;
    if (!take(call, &p, &bodies, &velocity, &at, &acc))
        return KILN_ERROR_HOST_FUNCTION;
    if (p.count == 0)
        return KILN_OK;
    const kiln_allocator *mem = kiln_call_allocator(call);
    const double pairs = (double)p.count * (double)p.count;
    const bool tree = p.steps > 1 && pairs * (double)p.steps > MOST_PAIRS;
    if (p.steps == 1 && !kiln__rows_every(call, pairs, MOST_PAIRS, &p.every))
        return KILN_ERROR_HOST_FUNCTION;
    p.theta *= 0.7;
    p.bodies = kiln__alloc(mem, p.count * sizeof *p.bodies);
    p.velocity = kiln__alloc(mem, p.count * sizeof *p.velocity);
    p.pull = kiln__alloc(mem, p.count * sizeof *p.pull);
    p.nodes = tree ? kiln__alloc(mem, (TOP + 2 * p.count) * sizeof *p.nodes) : NULL;
    const bool room = p.bodies && p.velocity && p.pull && (p.nodes || !tree);
    if (room)
        make_steps(&p, bodies->data, velocity->data, at->data, acc->data);
    kiln__free(mem, p.bodies);
    kiln__free(mem, p.velocity);
    kiln__free(mem, p.pull);
    kiln__free(mem, p.nodes);
    return room ? KILN_OK : kiln__call_no_memory(call);
}

KILN__FAMILY(barneshut,
             KILN__HOST("barneshut_bodies", KILN_HOST_INPUT, barneshut_bodies, "kind (of bodies), count, seed, soft",
                        "bodies, velocity, pull"),
             KILN__HOST("barneshut_f64", KILN_HOST_REFERENCE, barneshut_f64, "bodies, velocity, STEPS, THETA, DT, soft",
                        "at, acc"))
