/* formats.h - sparse matrices and graphs of the catalogue: generators, what describes a matrix, searches, and the host
 * functions that make the formats that kernels want. engine/data/sparse builds the matrices and reads files. */
#ifndef KILN_SPARSE_FORMATS_H
#define KILN_SPARSE_FORMATS_H

#include "catalogue.h"
#include "sparse.h"

/* ---- generators: what they make is described in kernel_src/SPARSE.md ---- */

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
    uint64_t rows, degree,
        seed;       /* rows as requested; degree: entries of a row in the mean, where the kind can choose */
    uint64_t side;  /* of grids, set by kiln__generator_make() */
    unsigned scale; /* of rmat: 2^scale is the first power of two not below rows */
    bool graph;     /* no values; edges in both directions, none from a vertex to itself */
} kiln__generator;
bool kiln__matrix_kind_find(const char *name, kiln__matrix_kind *kind);
/* What the generator makes; it must live as long as the entries are walked. rows may come out smaller than requested:
 * grids are squares and cubes. */
void kiln__generator_make(kiln__generator *generator, kiln__entries *entries);
/* The value at a place, in [-1, 1): it depends on seed, row and column alone. */
float kiln__matrix_value(uint64_t seed, uint32_t row, uint32_t column);

/* ---- what describes a matrix ---- */

typedef struct kiln__row_statistics {
    double mean, deviation;  /* of the entries of a row */
    uint32_t largest, empty; /* the longest row; rows without an entry */
    uint32_t bandwidth;      /* largest distance of an entry from the diagonal */
    double near;             /* share of entries whose distance from the diagonal is below 2^15 */
    double adjacent;         /* share of entries whose row has the column before too */
} kiln__row_statistics;
/* False: stopped. */
bool kiln__csr_statistics(const kiln__csr *matrix, kiln__patience patience, kiln__row_statistics *statistics);
/* How many diagonals have an entry. False: no memory. */
bool kiln__csr_diagonals(const kiln_allocator *mem, const kiln__csr *matrix, uint64_t *diagonals);

/* ---- breadth-first search ---- */

/* What a search from a vertex meets: vertices with an edge on a way to it, itself included; edges between them, each
 * counted once; levels, the source's own included. The graph has each edge in both directions. */
typedef struct kiln__graph_reach {
    uint64_t vertices, edges, levels;
} kiln__graph_reach;
/* The vertex to begin with: `source`, or where that is negative the one with the most edges, of equals the first. */
uint64_t kiln__graph_source(const uint32_t *offsets, uint64_t vertices, int64_t source);
/* Of the levels that a search gave: the vertex that is the furthest away, of equals the first; 0 if none was reached. */
uint64_t kiln__graph_furthest(const int32_t *levels, uint64_t vertices);
/* levels[v]: edges of a shortest way from source to v, -1 where there is none. A source that is no vertex reaches
 * nothing. In all threads; false: no memory. */
bool kiln__graph_search(const kiln_allocator *mem, const uint32_t *offsets, const uint32_t *index, uint64_t vertices,
                        uint64_t source, int32_t *levels, kiln__graph_reach *reach);

/* ---- host functions ---- */

/* The argument `matrix`, which stays the call's. */
kiln_status kiln__take_matrix(kiln_call *call, kiln__csr *matrix);
/* An export of one dimension; *data is what to write to. */
kiln_status kiln__export_line(kiln_call *call, const char *name, kiln_type type, uint64_t length, void *data);
/* How many times what CSR stores a format may store: `padding`, 16 if it is not given. */
kiln_status kiln__check_padding(kiln_call *call, const char *format, uint64_t stored, const kiln__csr *matrix);
/* The array has one dimension and elements of that type. */
bool kiln__is_line(const kiln_array *array, kiln_type type);
/* Offsets of rows ascend from 0 to the number of entries, and columns lie below `columns`: buffers may hold anything. */
bool kiln__is_csr(const kiln_array *offsets, const kiln_array *index, uint64_t columns);

/* The host functions that spmv and bfs list. */
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
