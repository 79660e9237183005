/* sparse.h - sparse matrices and graphs on the host: from entries in any order, and from files.
 *
 * A matrix is made of its entries in any order (kiln__entries) and comes out as CSR: rows in order, the columns of a row
 * ascending and all different. The same entries give the same bytes, whatever the number of cores and the order. */
#ifndef KILN_SPARSE_H
#define KILN_SPARSE_H

#include "data.h"

typedef kiln_csr kiln__csr;
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

/* ---- files ---- */

/* A matrix from a Matrix Market file (coordinate or array; real, integer or pattern; general, symmetric or
 * skew-symmetric), or an edge list (a line `from to [weight]` each, vertices from 0, `#` and `%` lines are comments);
 * gzipped or not. Which of the two it is says its first line. `graph`: as of generators; values are left out.
 * Untrusted input: any file gives a matrix or an error with its line and column. */
kiln_status kiln__market_read(const kiln_allocator *mem, const char *path, bool graph, kiln__patience patience,
                              kiln__csr *matrix, kiln_error **error);
kiln_status kiln__market_parse(const kiln_allocator *mem, const char *name, const char *text, size_t length, bool graph,
                               kiln__csr *matrix, kiln_error **error);
#endif
