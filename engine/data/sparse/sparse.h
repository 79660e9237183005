/* sparse.h - sparse matrices and graphs on the host: generators, files, and the formats that kernels want.
 *
 * A matrix is made of its entries in any order (kiln__entries) and comes out as CSR: rows in order, the columns of a row
 * ascending and all different. The same entries give the same bytes, whatever the number of cores and the order. */
#ifndef KILN_SPARSE_H
#define KILN_SPARSE_H

#include "data.h"

/* Compressed sparse rows: the entries of row r are offsets[r] .. offsets[r + 1] - 1. */
typedef struct kiln__csr {
    uint32_t rows, columns;
    uint32_t nonzeros;
    uint32_t *offsets; /* rows + 1 */
    uint32_t *index;   /* the column of each entry */
    float *values;     /* NULL: a pattern */
} kiln__csr;
void kiln__csr_free(const kiln_allocator *mem, kiln__csr *matrix);

/* Work that may take minutes: who hears of its progress, and what ends it. All zero: nobody, nothing. */
typedef struct kiln__patience {
    const kiln__log *log;     /* lines of KILN_LOG_INFO that begin with "reading " */
    const volatile int *stop; /* nonzero: end within a second, with KILN_ERROR_INTERRUPTED */
} kiln__patience;
static inline bool kiln__is_stopped(kiln__patience patience)
{
    return patience.stop && __atomic_load_n(patience.stop, __ATOMIC_RELAXED);
}

/* Where the entries come from: `chunks` parts that are walked in any order, at once, and more than once, with the same
 * entries each time. A walk gives each entry to sink(to, row, column, value), row and column below those stated. */
typedef void (*kiln__entry_sink)(void *to, uint32_t row, uint32_t column, float value);
typedef struct kiln__entries {
    uint64_t rows, columns; /* below 2^32 */
    bool pattern;           /* values are left out */
    bool symmetric;         /* each entry off the diagonal stands for its mirror image too */
    bool skew;              /* as symmetric; the mirror image has the other sign */
    size_t chunks;
    void (*walk)(const void *source, size_t chunk, kiln__entry_sink sink, void *to);
    const void *source;
    kiln__patience patience;
} kiln__entries;

/* Entries at the same place are added up (of a pattern: one stays). KILN_ERROR_UNSUPPORTED: 2^32 entries or more;
 * KILN_ERROR_MEMORY: more than fits in the memory that is free (16 bytes an entry, 8 of them for the result). */
kiln_status kiln__csr_build(const kiln_allocator *mem, const kiln__entries *entries, kiln__csr *matrix,
                            kiln_error **error);

/* ---- generators: what they make is described in README.md ---- */

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

/* ---- files ---- */

/* A matrix from a Matrix Market file (coordinate or array; real, integer or pattern; general, symmetric or
 * skew-symmetric), or an edge list (a line `from to [weight]` each, vertices from 0, `#` and `%` lines are comments);
 * gzipped or not. Which of the two it is says its first line. `graph`: as of generators; values are left out.
 * Untrusted input: any file gives a matrix or an error with its line and column. */
kiln_status kiln__market_read(const kiln_allocator *mem, const char *path, bool graph, kiln__patience patience,
                              kiln__csr *matrix, kiln_error **error);
kiln_status kiln__market_parse(const kiln_allocator *mem, const char *name, const char *text, size_t length, bool graph,
                               kiln__csr *matrix, kiln_error **error);

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

/* X(name, uses, function, what it takes, what it writes or exports): for `kiln help hosts`. What is in brackets has a
 * default. */
#define KILN__SPARSE_HOSTS(X)                                                                                             \
    X(sparse_matrix, KILN_HOST_INPUT, kiln__host_sparse_matrix, "matrix (a file, or a kind), [rows, degree, seed]",       \
      "csr.offsets, csr.index, csr.values, rows, columns, nonzeros, diagonals, and facts")                                \
    X(sparse_graph, KILN_HOST_INPUT, kiln__host_sparse_graph,                                                             \
      "matrix (a file, or a kind), [rows, degree, seed, source]",                                                         \
      "csr.offsets, csr.index, rows, columns, nonzeros, source, reached, edges, levels, diameter, and facts")             \
    X(sparse_coo, KILN_HOST_INPUT, kiln__host_sparse_coo, "matrix (an input)", "rows")                                    \
    X(sparse_ell, KILN_HOST_INPUT, kiln__host_sparse_ell, "matrix (an input), [padding]",                                 \
      "width, ell.index, ell.values")                                                                                     \
    X(sparse_hybrid, KILN_HOST_INPUT, kiln__host_sparse_hybrid, "matrix (an input), [width, band, padding]",              \
      "width, ell.index, ell.values, rest, rest.rows, rest.index, rest.values")                                           \
    X(sparse_jds, KILN_HOST_INPUT, kiln__host_sparse_jds, "matrix (an input)",                                            \
      "largest, order, csr.offsets, csr.index, csr.values, starts, index, values")                                        \
    X(sparse_sell, KILN_HOST_INPUT, kiln__host_sparse_sell, "matrix (an input), height, [sigma, padding]",                \
      "slices, order, starts, index, values")                                                                             \
    X(sparse_dia, KILN_HOST_INPUT, kiln__host_sparse_dia, "matrix (an input), [padding]",                                 \
      "diagonals, offsets, values")                                                                                       \
    X(sparse_bcsr, KILN_HOST_INPUT, kiln__host_sparse_bcsr, "matrix (an input), height, width, [padding]",                \
      "rows, offsets, blocks, index, values")                                                                             \
    X(sparse_delta, KILN_HOST_INPUT, kiln__host_sparse_delta, "matrix (an input)",                                        \
      "offsets, distance, values, rest, rest.rows, rest.index, rest.values")                                              \
    X(sparse_popular, KILN_HOST_INPUT, kiln__host_sparse_popular, "matrix (an input)", "order, index")                    \
    X(sparse_binned, KILN_HOST_INPUT, kiln__host_sparse_binned, "matrix (an input), width, lines",                        \
      "panels, width, groups, chunks, pieces, cut, group.lines, panel.starts, group.starts, to, columns, values, slots, " \
      "cut.rows, cut.starts")                                                                                             \
    X(sparse_add_rest, KILN_HOST_STEP, kiln__host_add_rest, "rows, index, values, x", "y")                                \
    X(spmv_f64, KILN_HOST_REFERENCE, kiln__host_spmv, "offsets, index, values, x", "y")                                   \
    X(bfs_exact, KILN_HOST_REFERENCE, kiln__host_bfs, "offsets, index, SOURCE", "levels")

#define KILN_X(name, uses, function, ...) kiln_status function(void *user, kiln_call *call);
KILN__SPARSE_HOSTS(KILN_X)
#undef KILN_X
#endif
