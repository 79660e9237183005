/* graph.c - breadth-first search on the host. It is the reference of the search kernels, and computes the statistics of
 * a search.
 *
 * If a level has few edges, one thread walks the level from a queue. In a large level all threads work bottom-up: for
 * every vertex without a level, they look for a neighbour in the current level. The level of a vertex does not depend
 * on the thread that finds it, so the result is the same for any number of threads. */
#include "formats.h"

enum { LARGE_LEVEL = 1 << 20 /* number of edges from which on a level is large */, VERTICES_A_PART = 1 << 14 };

typedef struct search {
    const uint32_t *offsets, *index;
    uint64_t vertices;
    int32_t *levels;
    uint32_t *queue;
    uint64_t begin, end;   /* the current level is queue[begin] to queue[end - 1] */
    uint64_t found, edges; /* number of vertices of the current level; number of the edges that leave them */
    int32_t level;
} search;

uint64_t kiln__graph_source(const uint32_t *offsets, uint64_t vertices, int64_t source)
{
    if (source >= 0)
        return (uint64_t)source;
    uint64_t best = 0;
    for (uint64_t v = 1; v < vertices; v++)
        if (offsets[v + 1] - offsets[v] > offsets[best + 1] - offsets[best])
            best = v;
    return best;
}

uint64_t kiln__graph_furthest(const int32_t *levels, uint64_t vertices)
{
    uint64_t furthest = 0;
    for (uint64_t v = 1; v < vertices; v++)
        if (levels[v] > levels[furthest])
            furthest = v;
    return furthest;
}

static uint32_t degree(const search *s, uint64_t v) { return s->offsets[v + 1] - s->offsets[v]; }

static void from_queue(search *s)
{
    uint64_t last = s->end;
    s->edges = 0;
    for (uint64_t at = s->begin; at < last; at++) {
        uint32_t v = s->queue[at];
        for (uint32_t i = s->offsets[v]; i < s->offsets[v + 1]; i++) {
            uint32_t to = s->index[i];
            if (s->levels[to] < 0) {
                s->levels[to] = s->level + 1;
                s->edges += degree(s, to);
                s->queue[s->end++] = to;
            }
        }
    }
    s->begin = last;
    s->found = s->end - last;
}

static void look_for_level(void *user, size_t part, size_t worker)
{
    (void)worker;
    search *s = user;
    uint64_t first = (uint64_t)part * VERTICES_A_PART, end = first + VERTICES_A_PART, found = 0, edges = 0;
    for (uint64_t v = first; v < end && v < s->vertices; v++) {
        if (__atomic_load_n(&s->levels[v], __ATOMIC_RELAXED) >= 0)
            continue;
        for (uint32_t i = s->offsets[v]; i < s->offsets[v + 1]; i++) {
            if (__atomic_load_n(&s->levels[s->index[i]], __ATOMIC_RELAXED) == s->level) {
                __atomic_store_n(&s->levels[v], s->level + 1, __ATOMIC_RELAXED);
                found++;
                edges += degree(s, v);
                break;
            }
        }
    }
    __atomic_fetch_add(&s->found, found, __ATOMIC_RELAXED);
    __atomic_fetch_add(&s->edges, edges, __ATOMIC_RELAXED);
}

static void by_vertices(search *s)
{
    s->found = s->edges = 0;
    kiln__parallel(0, (size_t)((s->vertices + VERTICES_A_PART - 1) / VERTICES_A_PART), look_for_level, s);
}

static void queue_of_level(search *s)
{
    s->begin = s->end = 0;
    for (uint64_t v = 0; v < s->vertices; v++)
        if (s->levels[v] == s->level)
            s->queue[s->end++] = (uint32_t)v;
}

/* Does the search that formats.h describes. If a level has fewer than LARGE_LEVEL edges, the search takes its vertices
 * from the queue. If a small level follows a large one, the queue is filled again. The search counts each edge at both
 * of its ends, so it halves the sum at the end. */
bool kiln__graph_search(const kiln_allocator *mem, const uint32_t *offsets, const uint32_t *index, uint64_t vertices,
                        uint64_t source, int32_t *levels, kiln__graph_reach *reach)
{
    *reach = (kiln__graph_reach){0};
    for (uint64_t v = 0; v < vertices; v++)
        levels[v] = -1;
    if (source >= vertices)
        return true;
    search s = {.offsets = offsets, .index = index, .vertices = vertices, .levels = levels, .end = 1, .found = 1};
    s.queue = kiln__alloc(mem, (size_t)vertices * sizeof *s.queue);
    if (!s.queue)
        return false;
    s.queue[0] = (uint32_t)source;
    levels[source] = 0;
    s.edges = degree(&s, source);
    for (bool queued = true; s.found > 0; s.level++) {
        reach->vertices += s.found;
        reach->edges += s.edges;
        reach->levels++;
        bool large = s.edges >= LARGE_LEVEL;
        if (!large && !queued)
            queue_of_level(&s);
        queued = !large;
        if (large)
            by_vertices(&s);
        else
            from_queue(&s);
    }
    reach->edges /= 2;
    kiln__free(mem, s.queue);
    return true;
}
