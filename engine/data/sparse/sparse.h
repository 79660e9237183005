/* sparse.h - makes sparse matrices and graphs on the host, from entries in any order and from files.
 *
 * The input is a set of entries in any order (kiln__entries). The result is a matrix in CSR form. Its rows are in
 * order, and the columns of a row are ascending and all different. The same entries always give the same bytes, for any
 * number of cores and any order of the entries. */
#ifndef KILN_SPARSE_H
#define KILN_SPARSE_H

#include "data.h"

typedef kiln_csr kiln__csr;
void kiln__csr_free(const kiln_allocator *mem, kiln__csr *matrix);

/* The caller's log and flag for work that may take minutes. The work writes its progress to the log, and ends if the
 * flag is set. The log and the flag may be NULL. */
typedef struct kiln__patience {
    const kiln__log *log;     /* gets lines of KILN_LOG_INFO that begin with "reading " */
    const volatile int *stop; /* if *stop becomes nonzero, the work ends within a second with KILN_ERROR_INTERRUPTED */
} kiln__patience;
static inline bool kiln__is_stopped(kiln__patience patience)
{
    return patience.stop && __atomic_load_n(patience.stop, __ATOMIC_RELAXED);
}

/* A source of entries. It has `chunks` parts. The parts may be walked through in any order, at the same time, and more
 * than once. Each walk of a part must give the same entries. A walk calls sink(to, row, column, value) for each entry.
 * `row` and `column` must be below `rows` and `columns`. */
typedef void (*kiln__entry_sink)(void *to, uint32_t row, uint32_t column, float value);
typedef struct kiln__entries {
    uint64_t rows, columns; /* below 2^32 */
    bool pattern;           /* the entries of the matrix have no values */
    bool symmetric;         /* an entry off the diagonal also stands for its mirror image */
    bool skew;              /* like `symmetric`, but the mirror image has the opposite sign */
    size_t chunks;
    void (*walk)(const void *source, size_t chunk, kiln__entry_sink sink, void *to);
    const void *source;
    kiln__patience patience;
} kiln__entries;

/* Builds the matrix. Adds up the values of entries at the same place. In a matrix without values, one of the entries at
 * the same place stays. Returns KILN_ERROR_UNSUPPORTED if there are 2^32 entries or more. Returns KILN_ERROR_MEMORY if
 * the matrix needs more memory than is free. An entry needs 16 bytes, and 8 of them stay in the result. */
kiln_status kiln__csr_build(const kiln_allocator *mem, const kiln__entries *entries, kiln__csr *matrix,
                            kiln_error **error);

/* ---- files ---- */

/* Reads a matrix from a file, gzipped or not. The first line of the file tells which of these formats it has:
 *
 * - Matrix Market: the formats coordinate and array, the fields real, integer and pattern, and the symmetries
 *   general, symmetric and skew-symmetric.
 * - An edge list: a line `from to [weight]` for each edge, with vertices from 0. Lines with `#` or `%` are comments.
 *
 * With `graph` the result has no values and no loops, and each edge in both directions. The file is untrusted input:
 * it gives a matrix, or an error with its line and column. */
kiln_status kiln__market_read(const kiln_allocator *mem, const char *path, bool graph, kiln__patience patience,
                              kiln__csr *matrix, kiln_error **error);
kiln_status kiln__market_parse(const kiln_allocator *mem, const char *name, const char *text, size_t length, bool graph,
                               kiln__csr *matrix, kiln_error **error);
#endif
