/* data.h - host arrays: fills, .npy files, comparison. call.h has the calls of host functions.
 * Knows nothing of launching. */
#ifndef KILN_DATA_H
#define KILN_DATA_H

#include "base.h"
#include "spec.h"

/* ---- arrays ---- */
size_t kiln__type_bytes(kiln_type type);
const char *kiln__type_name(kiln_type type);
bool kiln__type_find(const char *name, kiln_type *type);
/* The number of bytes of an array; false on overflow of 64 bits (or of size_t). */
bool kiln__array_bytes(kiln_type type, int dims, const uint64_t *shape, uint64_t *bytes);
/* Zeroed data from mem. The message of KILN_ERROR_MEMORY names the requested size. */
kiln_status kiln__array_make(const kiln_allocator *mem, kiln_type type, int dims, const uint64_t *shape,
                             kiln_array *array, kiln_error **error);
void kiln__array_free(const kiln_allocator *mem, kiln_array *array);

/* Elements first .. first+count of an array of `type` as doubles, and back (rounded to nearest even; integers also
 * saturate, and NaN becomes 0). Of complex elements they are the real parts; the others are set to 0. */
void kiln__to_doubles(kiln_type type, const void *data, uint64_t first, size_t count, double *out);
void kiln__from_doubles(kiln_type type, void *data, uint64_t first, size_t count, const double *in);
/* The same for one element of a float type of at most 16 bits. A value beyond the type's range becomes infinite, or
 * NaN where the type has no infinities. */
double kiln__narrow_to_double(kiln_type type, uint16_t bits);
uint16_t kiln__double_to_narrow(kiln_type type, double value);

/* Calls work(user, 0 .. count-1, worker), in any order, in at most `threads` threads (0: one per core), numbered by
 * `worker` from 0. The calling thread is one of them, and all are joined before it returns. Never fails: if no thread
 * can be created the caller does all the work. */
void kiln__parallel(size_t threads, size_t count, void (*work)(void *user, size_t index, size_t worker), void *user);

/* ---- fills: the same bytes on every machine, for a seed ----
 * A counter-based generator (Philox 4x32-10, Salmon and others, SC 2011): element i depends on (seed, i) alone, so
 * fills of any part, in any order, in any number of threads agree. normal: Box-Muller with polynomials of our own,
 * because the last bit of libm's results differs between machines. */
/* UNIFORM, VALUE and IOTA take ia, ib where `integers` is set and a, b otherwise; NORMAL and ZIPF always a, b. */
typedef struct kiln__fill_values {
    kiln__fill_kind kind;
    double a, b;
    uint64_t seed;
    bool integers;
    int64_t ia, ib;
} kiln__fill_values;
kiln_status kiln__array_fill(kiln_array *array, const kiln__fill_values *fill, const kiln_allocator *mem,
                             kiln_error **error);
/* Fills an array with a pattern by which unwritten outputs are recognised: NaN (floats) or 0xA5A5... (integers). */
void kiln__array_poison(kiln_array *array);
/* The same for device memory: the pattern and how many bytes of it repeat (1, 2 or 4). */
uint32_t kiln__poison_pattern(kiln_type type, size_t *width);
/* One block of Philox 4x32-10, for tests. */
void kiln__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* ---- .npy, versions 1.0 to 3.0, C order (Fortran order is transposed on reading), little-endian ----
 * A file does not name all types: what ml_dtypes writes is bytes without a type. What is read is then the first type of
 * that code, and kiln__type_reads() says whether it may be another. */
/* Data that were read as `read` may be elements of `wanted`: it is the same type, one of the same code, u8 for the bytes
 * of booleans, or integers that hold the bits of a type without a code. */
bool kiln__type_reads(kiln_type wanted, kiln_type read);
/* No other type has its code, so that a file alone tells it. */
bool kiln__type_told(kiln_type read);
/* The file is untrusted input: any bytes give an array or a clear error. `limit`: most bytes of data. */
kiln_status kiln__npy_read(const kiln_allocator *mem, const char *path, uint64_t limit, kiln_array *array,
                           kiln_error **error);
/* The same for a path that was resolved when it was checked (kiln__file_open). */
kiln_status kiln__npy_read_resolved(const kiln_allocator *mem, const char *path, uint64_t limit, kiln_array *array,
                                    kiln_error **error);
/* Type and shape alone, of a resolved path; *array has no data. */
kiln_status kiln__npy_look(const kiln_allocator *mem, const char *path, kiln_array *array, kiln_error **error);
kiln_status kiln__npy_parse(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                            uint64_t limit, kiln_array *array, kiln_error **error);
/* The bytes of the file, which the caller frees. */
kiln_status kiln__npy_make(const kiln_allocator *mem, const char *path, const kiln_array *array, char **file,
                           size_t *length, kiln_error **error);
kiln_status kiln__npy_write(const kiln_allocator *mem, const char *path, const kiln_array *array, kiln_error **error);

/* ---- comparison ---- */
/* Whether `want` can be the reference of `got`: of the same type or one that has its values too, such as f64 for f32; of
 * the same shape or, if one of them is flat, as many elements. *type: that of the reference's elements. */
bool kiln__array_comparable(const kiln_array *got, const kiln_array *want, kiln_type *type);
typedef struct kiln__difference {
    uint64_t wrong; /* elements outside the tolerance */
    uint64_t worst_index;
    double worst_error; /* |got - want| / (atol + rtol |want|); infinite for NaN against a number */
    /* The errors that half, and 99.9 %, of the compared elements do not exceed, to within 2 %; 0 below 2^-48. */
    double median_error, p999_error;
    uint64_t unwritten; /* elements that still hold the poison */
    char text[256];     /* "P[3, 17]: got 1.25, want 1.5 (error 12.5 times the tolerance); 12 of 640 wrong" */
} kiln__difference;
/* Same type and shape. Equal infinities match, and NaN matches NaN. `exact` compares bits, but any NaN matches any
 * NaN. */
void kiln__array_compare(const char *name, const kiln_array *got, const kiln_array *want, bool exact, double rtol,
                         double atol, kiln__difference *difference);
/* The same, but an element of `want` that holds the poison is not compared: that of `got` must have been written. */
void kiln__array_compare_sample(const char *name, const kiln_array *got, const kiln_array *want, bool exact,
                                double rtol, double atol, kiln__difference *difference);
/* A product of matrices whose elements are compared at some places, and completely by sums with random weights: `want` is
 * poison but for these places; sums[i][b] is the exact sum of row i over the columns b * KILN__PROJECTED ..., each times its
 * weight. compare.c derives the bound. */
enum { KILN__PROJECTED = 64 };
typedef struct kiln__projection {
    const kiln_array *weights, *sums; /* f64; [columns], [rows, columns / KILN__PROJECTED rounded up] */
    double slack;                     /* how far from exact the sums may be */
} kiln__projection;
void kiln__array_compare_projected(const char *name, const kiln_array *got, const kiln_array *want,
                                   const kiln__projection *projection, double rtol, double atol,
                                   kiln__difference *difference);
/* What changed: how many elements, and the first: "x[3] was 1.25 and is 0". */
typedef struct kiln__change {
    uint64_t count;
    char text[448];
} kiln__change;
/* Adds what differs, by bytes, between the elements [first, first + count) of `before` and `now`, which holds those alone.
 */
void kiln__array_changed(const char *name, const kiln_array *before, const void *now, uint64_t first, uint64_t count,
                         kiln__change *change);

/* ---- statistics ---- */
/* Sorts the samples; median and its 95 % interval. */
void kiln__median(double *samples, unsigned count, double *median, double *low, double *high);
/* The probability of at least `wins` heads in n (at most 1000) throws of a fair coin. */
double kiln__sign_test(unsigned n, unsigned wins);
/* The 1-based ranks of the order statistics of n samples that enclose the median with at least 95 %. */
void kiln__median_ranks(unsigned n, unsigned *low, unsigned *high);
#endif
