/* formats.h - sparse matrices and graphs of the catalogue: generators, statistics of a matrix, breadth-first search,
 * and the host functions that convert CSR to the formats of the kernels. The code in engine/data/sparse builds the
 * matrices and reads files. */
#ifndef KILN_SPARSE_FORMATS_H
#define KILN_SPARSE_FORMATS_H

#include "catalogue.h"
#include "sparse.h"

/* ---- generators (kernel_src/SPARSE.md describes the matrix of each generator) ---- */

/* X(name) */
#define KILN__MATRIX_KINDS(X)                                                                                          \
    X(stencil27)                                                                                                       \
    X(band)                                                                                                            \
    X(fem)                                                                                                             \
    X(fem6)                                                                                                            \
    X(rmat)                                                                                                            \
    X(power)                                                                                                           \
    X(long_rows)                                                                                                       \
    X(tall)                                                                                                            \
    X(noisy)                                                                                                           \
    X(uniform)                                                                                                         \
    X(road)                                                                                                            \
    X(grid2d)                                                                                                          \
    X(path)                                                                                                            \
    X(star)                                                                                                            \
    X(arrow)                                                                                                           \
    X(none)
typedef enum kiln__matrix_kind {
#define KILN_X(name) KILN__MATRIX_##name,
    KILN__MATRIX_KINDS(KILN_X)
#undef KILN_X
        KILN__MATRIX_KIND_COUNT
} kiln__matrix_kind;

typedef struct kiln__generator {
    kiln__matrix_kind kind;
    /* rows: the requested number of rows; degree: the mean number of entries of a row, if the kind has a choice */
    uint64_t rows, degree, seed;
    uint64_t side;  /* side of a grid, which kiln__generator_make() sets */
    unsigned scale; /* for `rmat`: 2^scale is the first power of two that is not below rows */
    bool graph;     /* the matrix is a graph: no values, edges in both directions, no edge from a vertex to itself */
} kiln__generator;
bool kiln__matrix_kind_find(const char *name, kiln__matrix_kind *kind);
/* Sets `entries` to the entries of the generator's matrix. The generator must live as long as these entries are walked.
 * Grids are squares or cubes, so the function may reduce `rows`. */
void kiln__generator_make(kiln__generator *generator, kiln__entries *entries);
/* Returns the value at a place of a matrix, in [-1, 1). The value depends only on the seed, the row and the column. */
float kiln__matrix_value(uint64_t seed, uint32_t row, uint32_t column);

/* ---- statistics of a matrix ---- */

typedef struct kiln__row_statistics {
    double mean, deviation;  /* mean and standard deviation of the number of entries of a row */
    uint32_t largest, empty; /* length of the longest row; number of rows without an entry */
    uint32_t bandwidth;      /* largest distance between an entry and the diagonal */
    double near;             /* share of entries whose distance from the diagonal is below 2^15 */
    double adjacent;         /* share of entries whose row also has an entry in the column before */
} kiln__row_statistics;
/* Returns false if the caller's stop flag ended the computation. */
bool kiln__csr_statistics(const kiln__csr *matrix, kiln__patience patience, kiln__row_statistics *statistics);
/* Sets `diagonals` to the number of diagonals that have an entry. Returns false if memory is exhausted. */
bool kiln__csr_diagonals(const kiln_allocator *mem, const kiln__csr *matrix, uint64_t *diagonals);

/* ---- breadth-first search ---- */

/* The part of a graph that a search from a vertex reaches. The graph has each edge in both directions.
 *   vertices   the reached vertices, including the source
 *   edges      the edges between these vertices; each edge counts once
 *   levels     the levels of the search, including the level of the source */
typedef struct kiln__graph_reach {
    uint64_t vertices, edges, levels;
} kiln__graph_reach;
/* Returns the vertex where a search begins. This is `source`, or the vertex with the most edges if `source` is
 * negative. If several vertices have the most edges, the function returns the first of them. */
uint64_t kiln__graph_source(const uint32_t *offsets, uint64_t vertices, int64_t source);
/* Returns the vertex with the largest level, or the first of several such vertices. Returns 0 if the search reached no
 * vertex. */
uint64_t kiln__graph_furthest(const int32_t *levels, uint64_t vertices);
/* Sets levels[v] to the number of edges on a shortest path from source to v, or to -1 if there is no path. If `source`
 * is not a vertex, the search reaches nothing. The search uses all threads. Returns false if memory is exhausted. */
bool kiln__graph_search(const kiln_allocator *mem, const uint32_t *offsets, const uint32_t *index, uint64_t vertices,
                        uint64_t source, int32_t *levels, kiln__graph_reach *reach);

/* ---- host functions ---- */

/* Sets `matrix` to the argument `matrix` of the call. The call keeps the ownership of the arrays. */
kiln_status kiln__take_matrix(kiln_call *call, kiln__csr *matrix);
/* Makes an export that is an array of one dimension. `data` is the address of a pointer, which is set to the memory of
 * the array. */
kiln_status kiln__export_line(kiln_call *call, const char *name, kiln_type type, uint64_t length, void *data);
/* Makes the call fail if the format would store more than `padding` times as many entries as CSR. The argument
 * `padding` is 16 by default. */
kiln_status kiln__check_padding(kiln_call *call, const char *format, uint64_t stored, const kiln__csr *matrix);
/* Returns whether the array has one dimension and elements of the type `type`. */
bool kiln__is_line(const kiln_array *array, kiln_type type);
/* Returns whether the arrays are a valid CSR matrix. The offsets must ascend from 0 to the number of entries, and every
 * column must be below `columns`. Buffers may have any contents, so a reference must call this function first. */
bool kiln__is_csr(const kiln_array *offsets, const kiln_array *index, uint64_t columns);

/* The host functions that the families spmv and bfs list. */
kiln_status kiln__host_sparse_matrix(void *user, kiln_call *call);
kiln_status kiln__host_sparse_graph(void *user, kiln_call *call);
kiln_status kiln__host_sparse_coo(void *user, kiln_call *call);
kiln_status kiln__host_sparse_ell(void *user, kiln_call *call);
kiln_status kiln__host_sparse_hybrid(void *user, kiln_call *call);
kiln_status kiln__host_sparse_jds(void *user, kiln_call *call);
kiln_status kiln__host_sparse_sell(void *user, kiln_call *call);
kiln_status kiln__host_sparse_dia(void *user, kiln_call *call);
kiln_status kiln__host_sparse_bcsr(void *user, kiln_call *call);
kiln_status kiln__host_sparse_delta(void *user, kiln_call *call);
kiln_status kiln__host_sparse_popular(void *user, kiln_call *call);
kiln_status kiln__host_sparse_binned(void *user, kiln_call *call);
#endif
