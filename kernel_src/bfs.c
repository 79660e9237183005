/* bfs.c - the reference bfs_exact of breadth-first searches. The code of sparse/ makes the graphs and performs the
 * search. */
#include "formats.h"

/* Sets levels[v] to the number of edges on a shortest path from the vertex SOURCE to v, or to -1 if there is no path.
 * If SOURCE is negative, the search begins at the vertex with the most edges. */
static kiln_status bfs_exact(void *user, kiln_call *call)
{
    (void)user;
    const kiln_array *offsets, *index;
    kiln_array *levels;
    int64_t source;
    kiln__graph_reach reach;
    if (kiln_call_array(call, "offsets", &offsets) != KILN_OK || kiln_call_array(call, "index", &index) != KILN_OK ||
        kiln_call_int(call, "SOURCE", NULL, &source) != KILN_OK || kiln_call_output(call, "levels", &levels) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (!kiln__is_line(offsets, KILN_u32) || !kiln__is_line(index, KILN_u32) || !kiln__is_line(levels, KILN_i32) ||
        offsets->shape[0] != levels->shape[0] + 1 || !kiln__is_csr(offsets, index, levels->shape[0]))
        return kiln_call_fail(call, "offsets and index (u32) must be a graph in CSR that fits levels (i32)");
    uint64_t vertices = levels->shape[0], from = kiln__graph_source(offsets->data, vertices, source);
    if (!kiln__graph_search(kiln_call_allocator(call), offsets->data, index->data, vertices, from, levels->data,
                            &reach))
        return kiln_call_fail(call, "out of host memory");
    return KILN_OK;
}

KILN__FAMILY(
    bfs,
    KILN__HOST("sparse_graph", KILN_HOST_INPUT, kiln__host_sparse_graph,
               "matrix (a file, or a kind), [rows, degree, seed, source]",
               "csr.offsets, csr.index, rows, columns, nonzeros, source, reached, edges, levels, diameter, and facts"),
    KILN__HOST("bfs_exact", KILN_HOST_REFERENCE, bfs_exact, "offsets, index, SOURCE", "levels"))
