/* inputs.c - host functions that make matrices and graphs as inputs of a spec. */
#include <string.h>

#include "formats.h"

/* ---- inputs ---- */

static kiln__patience patience_of(const kiln_call *call) { return (kiln__patience){.stop = kiln_call_stop(call)}; }

static kiln_status stopped(kiln_call *call) { return kiln_call_fail_as(call, KILN_ERROR_INTERRUPTED, "interrupted"); }

/* Makes the matrix or the graph for the arguments `matrix`, `rows`, `degree` and `seed`. If `matrix` is the name of a
 * generator, the generator makes it. Otherwise `matrix` is the path of a file. */
static kiln_status make(kiln_call *call, bool graph, kiln__csr *matrix)
{
    const int64_t usual_degree = 8, usual_seed = 1, no_rows = 0;
    const char *name;
    int64_t rows, degree, seed;
    kiln__generator generator = {.graph = graph};
    kiln__entries entries;
    if (kiln_call_text(call, "matrix", NULL, &name) != KILN_OK ||
        kiln_call_int(call, "rows", &no_rows, &rows) != KILN_OK ||
        kiln_call_int(call, "degree", &usual_degree, &degree) != KILN_OK ||
        kiln_call_int(call, "seed", &usual_seed, &seed) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (rows < 0 || rows > UINT32_MAX - 2 || degree < 0 || degree > 1 << 20)
        return kiln_call_fail(call, "rows must be 0 to 2^32 - 3, and degree 0 to 2^20");
    if (!kiln__matrix_kind_find(name, &generator.kind)) {
        const char *path;
        if (kiln_call_file(call, name, &path) != KILN_OK)
            return KILN_ERROR_HOST_FUNCTION;
        return kiln_call_matrix(call, path, graph, matrix);
    }
    generator.rows = (uint64_t)rows;
    generator.degree = (uint64_t)degree;
    generator.seed = (uint64_t)seed;
    kiln__generator_make(&generator, &entries);
    entries.patience = patience_of(call);
    kiln_error *why = NULL;
    kiln_status status = kiln__csr_build(kiln_call_allocator(call), &entries, matrix, &why);
    return kiln__call_pass(call, status, why);
}

/* Exports the matrix and its statistics. The exports take over the arrays of *owner without a copy. *m is a view of the
 * same arrays. The view is valid as long as the call. */
static kiln_status export_all(kiln_call *call, const kiln__csr *m, kiln__csr *owner)
{
    void *offsets = owner->offsets, *index = owner->index, *values = owner->values;
    kiln__row_statistics s;
    if (!kiln__csr_statistics(m, patience_of(call), &s))
        return stopped(call);
    if (kiln_call_export_int(call, "rows", m->rows) != KILN_OK ||
        kiln_call_export_int(call, "columns", m->columns) != KILN_OK ||
        kiln_call_export_int(call, "nonzeros", m->nonzeros) != KILN_OK ||
        kiln_call_export_float(call, "mean", s.mean) != KILN_OK ||
        kiln_call_export_float(call, "deviation", s.deviation) != KILN_OK ||
        kiln_call_export_int(call, "largest", s.largest) != KILN_OK ||
        kiln_call_export_int(call, "empty", s.empty) != KILN_OK ||
        kiln_call_export_int(call, "bandwidth", s.bandwidth) != KILN_OK ||
        kiln_call_export_float(call, "near", s.near) != KILN_OK ||
        kiln_call_export_float(call, "adjacent", s.adjacent) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    kiln_status status = kiln_call_export_data(call, "csr.offsets", KILN_u32, (uint64_t)m->rows + 1, &offsets);
    if (status == KILN_OK)
        status = kiln_call_export_data(call, "csr.index", KILN_u32, m->nonzeros, &index);
    if (status == KILN_OK && values)
        status = kiln_call_export_data(call, "csr.values", KILN_f32, m->nonzeros, &values);
    owner->offsets = offsets;
    owner->index = index;
    owner->values = values;
    return status;
}

kiln_status kiln__host_sparse_matrix(void *user, kiln_call *call)
{
    (void)user;
    kiln__csr matrix = {0};
    uint64_t diagonals;
    kiln_status status = make(call, false, &matrix);
    const kiln__csr view = matrix;
    if (status == KILN_OK)
        status = export_all(call, &view, &matrix);
    if (status == KILN_OK)
        status = kiln__csr_diagonals(kiln_call_allocator(call), &view, &diagonals)
                     ? kiln_call_export_int(call, "diagonals", (int64_t)diagonals)
                     : kiln_call_fail(call, "out of host memory");
    kiln__csr_free(kiln_call_allocator(call), &matrix);
    return status;
}

/* Searches the graph twice. The first search begins at the source and finds the part of the graph that it reaches. The
 * second search begins at the vertex that is furthest from the source. The number of levels of the second search gives
 * an estimate of the diameter. The estimate is never too large and usually close. */
static kiln_status export_reach(kiln_call *call, const kiln__csr *m)
{
    const int64_t most_edges = -1;
    int64_t source;
    if (kiln_call_int(call, "source", &most_edges, &source) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (source >= UINT32_MAX)
        return kiln_call_fail(call, "source must be a vertex below 2^32 - 1, or negative for the vertex with the "
                                    "most edges");
    uint64_t from = kiln__graph_source(m->offsets, m->rows, source);
    kiln__graph_reach reach, back = {0};
    int32_t *levels = kiln__alloc(kiln_call_allocator(call), ((size_t)m->rows + 1) * sizeof *levels);
    bool searched = levels &&
                    kiln__graph_search(kiln_call_allocator(call), m->offsets, m->index, m->rows, from, levels, &reach);
    if (searched && reach.levels > 1)
        searched = kiln__graph_search(kiln_call_allocator(call), m->offsets, m->index, m->rows,
                                      kiln__graph_furthest(levels, m->rows), levels, &back);
    kiln__free(kiln_call_allocator(call), levels);
    if (!searched)
        return kiln_call_fail(call, "out of host memory");
    if (kiln_call_export_int(call, "source", (int64_t)from) != KILN_OK ||
        kiln_call_export_int(call, "reached", (int64_t)reach.vertices) != KILN_OK ||
        kiln_call_export_int(call, "edges", (int64_t)reach.edges) != KILN_OK ||
        kiln_call_export_int(call, "diameter", back.levels > 1 ? (int64_t)back.levels - 1 : 0) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    return kiln_call_export_int(call, "levels", (int64_t)reach.levels);
}

/* Makes a graph without loops. Its edges go both ways. The function exports the vertex where a search begins
 * (`source`). This is the argument `source`, or the vertex with the most edges if the argument is negative. The
 * function also exports four numbers. `reached` is the number of vertices that the search reaches. `edges` is the
 * number of edges between these vertices, where each edge counts once. `levels` is the number of levels of the search.
 * `diameter` is an estimate of the diameter of the part of the graph that the search reaches. */
kiln_status kiln__host_sparse_graph(void *user, kiln_call *call)
{
    (void)user;
    kiln__csr graph = {0};
    kiln_status status = make(call, true, &graph);
    const kiln__csr view = graph;
    if (status == KILN_OK)
        status = export_all(call, &view, &graph);
    if (status == KILN_OK)
        status = export_reach(call, &view);
    kiln__csr_free(kiln_call_allocator(call), &graph);
    return status;
}

/* ---- buffers that have a matrix ---- */

bool kiln__is_line(const kiln_array *array, kiln_type type) { return array->dims == 1 && array->type == type; }

typedef struct csr_check {
    const uint32_t *offsets, *index;
    uint64_t rows, entries, columns;
    bool wrong; /* the threads access this field atomically */
} csr_check;

enum { CHECK_PART = 1 << 16 };

static void check_part(void *user, size_t part, size_t worker)
{
    (void)worker;
    csr_check *c = user;
    const uint64_t first = (uint64_t)part * CHECK_PART, end = first + CHECK_PART;
    bool wrong = false;
    for (uint64_t r = first; r < end && r < c->rows; r++)
        wrong |= c->offsets[r] > c->offsets[r + 1];
    for (uint64_t i = first; i < end && i < c->entries; i++)
        wrong |= c->index[i] >= c->columns;
    if (wrong)
        __atomic_store_n(&c->wrong, true, __ATOMIC_RELAXED);
}

bool kiln__is_csr(const kiln_array *offsets, const kiln_array *index, uint64_t columns)
{
    const uint32_t *at = offsets->data;
    if (offsets->shape[0] < 1 || at[0] != 0 || at[offsets->shape[0] - 1] != index->shape[0])
        return false;
    csr_check c = {at, index->data, offsets->shape[0] - 1, index->shape[0], columns, false};
    const uint64_t longer = c.rows > c.entries ? c.rows : c.entries;
    kiln__parallel(0, (size_t)((longer + CHECK_PART - 1) / CHECK_PART), check_part, &c);
    return !c.wrong;
}
