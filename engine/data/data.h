/* data.h - host arrays: fills, .npy files, comparison. The header call.h has the calls of host functions. This code
 * knows nothing about launches. */
#ifndef KILN_DATA_H
#define KILN_DATA_H

#include "base.h"
#include "spec.h"

/* ---- arrays ---- */
size_t kiln__type_bytes(kiln_type type);
const char *kiln__type_name(kiln_type type);
bool kiln__type_find(const char *name, kiln_type *type);
/* Computes the number of bytes of an array. Returns false if the number overflows 64 bits or size_t. */
bool kiln__array_bytes(kiln_type type, int dims, const uint64_t *shape, uint64_t *bytes);
/* Makes an array of zeros, which kiln__array_free() frees. If memory runs out, the message of KILN_ERROR_MEMORY has the
 * requested size.
 */
kiln_status kiln__array_make(const kiln_allocator *mem, kiln_type type, int dims, const uint64_t *shape,
                             kiln_array *array, kiln_error **error);
void kiln__array_free(const kiln_allocator *mem, kiln_array *array);
/* Asks the system for huge pages for a large block from `mem`, before its first use. Page faults then cost about 1/500
 * as much for each byte. Does nothing for a small block, or for a block from a caller's allocator. */
void kiln__huge_pages(const kiln_allocator *mem, void *block, uint64_t bytes);

/* These functions convert the elements first .. first + count - 1 of an array to doubles, and back. The conversion back
 * rounds to nearest even. For integers it also saturates, and NaN becomes 0. For complex elements the doubles are the
 * real parts. The conversion back sets the imaginary parts to 0. */
void kiln__to_doubles(kiln_type type, const void *data, uint64_t first, size_t count, double *out);
void kiln__from_doubles(kiln_type type, void *data, uint64_t first, size_t count, const double *in);
/* These functions convert one element of a float type of at most 16 bits. A value beyond the range of the type becomes
 * infinite. If the type has no infinities, it becomes NaN. If the type has no NaN either, it becomes the greatest
 * number. The type ue8m0 takes the magnitude of a value. It has neither 0 nor infinity. These values become its least
 * and its greatest number. */
double kiln__narrow_to_double(kiln_type type, uint16_t bits);
uint16_t kiln__double_to_narrow(kiln_type type, double value);
/* Returns the greatest finite number of a float type of at most 16 bits. */
double kiln__narrow_greatest(kiln_type type);

/* Calls work(user, index, worker) for each index from 0 to count - 1, in any order. At most `threads` threads work. If
 * `threads` is 0, one thread for each core works. `worker` is the number of the thread, counted from 0. The calling
 * thread is one of the threads. The function joins all other threads before it returns. The function cannot fail. If no
 * thread can be created, the calling thread does all the work. */
void kiln__parallel(size_t threads, size_t count, void (*work)(void *user, size_t index, size_t worker), void *user);

/* ---- fills: a seed gives the same bytes on every machine ----
 *
 * The random bits come from a counter-based generator (Philox 4x32-10, Salmon and others, SC 2011). Element i depends
 * only on the seed and on i. So any part can be filled in any order and by any number of threads, and the result is the
 * same. `normal` is the Box-Muller method with Kiln's own polynomials, because the last bit of libm's results differs
 * between machines. */
/* The parameters of a fill of an array. UNIFORM, VALUE and IOTA use ia and ib if `integers` is set. If it is not set,
 * they use a and b. NORMAL and ZIPF always use a and b. */
typedef struct kiln__fill_values {
    kiln__fill_kind kind;
    double a, b;
    uint64_t seed;
    bool integers;
    int64_t ia, ib;
} kiln__fill_values;
/* Fills an array, with all cores of the machine. `mem` gives temporary memory. Returns KILN_ERROR_ARGUMENT if the type
 * of the elements cannot hold the values, or if the parameters of the fill are invalid. */
kiln_status kiln__array_fill(kiln_array *array, const kiln__fill_values *fill, const kiln_allocator *mem,
                             kiln_error **error);
/* Fills an array with a pattern by which Kiln recognises outputs that were not written: NaN for floats, 0xA5A5... for
 * integers. */
void kiln__array_poison(kiln_array *array);
/* Returns the same pattern for device memory. *width gets the number of its bytes that repeat (1, 2 or 4). */
uint32_t kiln__poison_pattern(kiln_type type, size_t *width);
/* Computes one block of Philox 4x32-10. Tests call this function. */
void kiln__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* ---- .npy files: versions 1.0 to 3.0, C order (Fortran order is transposed on reading), little-endian ----
 *
 * A file does not name all types: ml_dtypes writes some types as bytes without a type. The array that is read then has
 * the first type with this code, and kiln__type_reads() tells which other types are possible. */
/* Returns true if data that were read with the type `read` may be elements of the type `wanted`. The data may be such
 * elements in three cases: the types are equal or have the same code in files, `wanted` is u8 and the data are
 * booleans, or the data are integers with the bits of a type without a code. */
bool kiln__type_reads(kiln_type wanted, kiln_type read);
/* Returns true if no other type has the same code in files as `read`, so that a file alone determines the type. */
bool kiln__type_told(kiln_type read);
/* Reads a file, which is untrusted input. Any bytes give an array or an error message. The data may have at most
 * `limit` bytes. The caller frees the array. */
kiln_status kiln__npy_read(const kiln_allocator *mem, const char *path, uint64_t limit, kiln_array *array,
                           kiln_error **error);
/* Reads a file. Its path was resolved when it was checked (kiln__file_open). */
kiln_status kiln__npy_read_resolved(const kiln_allocator *mem, const char *path, uint64_t limit, kiln_array *array,
                                    kiln_error **error);
/* Reads only the type and the shape from a file with a resolved path. *array has no data. */
kiln_status kiln__npy_look(const kiln_allocator *mem, const char *path, kiln_array *array, kiln_error **error);
/* Reads an array from the bytes of a file. `name` is the name of the file in messages. */
kiln_status kiln__npy_parse(const kiln_allocator *mem, const char *name, const void *data, size_t length,
                            uint64_t limit, kiln_array *array, kiln_error **error);
/* Makes the bytes of a file with the array. The caller frees the bytes. `path` is the path of the file in messages. */
kiln_status kiln__npy_make(const kiln_allocator *mem, const char *path, const kiln_array *array, char **file,
                           size_t *length, kiln_error **error);
kiln_status kiln__npy_write(const kiln_allocator *mem, const char *path, const kiln_array *array, kiln_error **error);

/* ---- comparison ---- */
/* Returns true if the array `want` can be the reference for the array `got`. The type of `want` must be the type of
 * `got`, or a type that has all its values, such as f64 for f32. Both shapes must be equal. If one of the arrays has
 * one dimension, only the numbers of elements must be equal. *type gets the type of the reference's elements. */
bool kiln__array_comparable(const kiln_array *got, const kiln_array *want, kiln_type *type);
typedef struct kiln__difference {
    uint64_t wrong; /* the number of elements whose error exceeds the tolerance */
    uint64_t worst_index;
    double worst_error; /* the largest |got - want| / (atol + rtol |want|); infinite for a NaN against a number */
    /* The errors that 50 % and 99.9 % of the compared elements do not exceed, to within 2 %. An error below 2^-48
     * counts as 0. */
    double median_error, p999_error;
    uint64_t unwritten; /* the number of elements that still have the poison */
    /* a text such as "P[3, 17]: got 1.25, want 1.5 (error 12.5 times the tolerance); 12 of 640 wrong" */
    char text[256];
} kiln__difference;
/* The counts of a comparison, which may come from another device. The errors of 2^KILN__ERROR_LEAST and more are
 * counted in classes. There are 2^KILN__ERROR_BITS classes for each power of two, and the last class has all larger
 * errors. */
enum { KILN__ERROR_BITS = 5, KILN__ERROR_LEAST = -48, KILN__ERROR_CLASSES = 64 << KILN__ERROR_BITS };
typedef struct kiln__counted {
    uint64_t wrong, left; /* left: the number of elements that a sampled reference did not compute */
    double worst_error;
    uint64_t classes[KILN__ERROR_CLASSES];
} kiln__counted;
/* Describes a comparison of `elements` elements, if none of them is wrong. */
void kiln__array_counted(const char *name, uint64_t elements, const kiln__counted *counted,
                         kiln__difference *difference);
/* Compares arrays of the same type and shape. Equal infinities match, and NaN matches NaN. If `exact` is set, compares
 * the bits, but any NaN matches any other NaN. */
void kiln__array_compare(const char *name, const kiln_array *got, const kiln_array *want, bool exact, double rtol,
                         double atol, kiln__difference *difference);
/* Compares in the same way, but skips the elements that have the poison in `want`. For these elements, checks only that
 * the kernel has written the element of `got`. */
void kiln__array_compare_sample(const char *name, const kiln_array *got, const kiln_array *want, bool exact,
                                double rtol, double atol, kiln__difference *difference);
/* The reference for a product of two matrices. Some elements of the product are compared directly. All elements are
 * compared by sums with random weights (Freivalds' method). `want` has the elements that are compared directly, and the
 * poison at all other places. The sum sums[i][b] is the exact weighted sum of KILN__PROJECTED elements of row i, from
 * column b * KILN__PROJECTED on. The file compare.c derives the error bound. */
enum { KILN__PROJECTED = 64 };
typedef struct kiln__projection {
    /* arrays of f64 with the shapes [columns] and [rows, columns / KILN__PROJECTED rounded up] */
    const kiln_array *weights, *sums;
    double slack; /* the largest error that the sums of the reference may have */
} kiln__projection;
void kiln__array_compare_projected(const char *name, const kiln_array *got, const kiln_array *want,
                                   const kiln__projection *projection, double rtol, double atol,
                                   kiln__difference *difference);
/* A change of an array: the number of changed elements, and a text about the first of them, such as "x[3] was 1.25 and
 * is 0". */
typedef struct kiln__change {
    uint64_t count;
    char text[448];
} kiln__change;
/* Adds the elements first .. first + count - 1 of `before` whose bytes have changed. `now` has only the elements of
 * this range. */
void kiln__array_changed(const char *name, const kiln_array *before, const void *now, uint64_t first, uint64_t count,
                         kiln__change *change);

/* ---- statistics ---- */
/* Sorts the samples, and computes the median and its 95 % confidence interval. If there are no samples, all three
 * results are 0. */
void kiln__median(double *samples, unsigned count, double *median, double *low, double *high);
/* Returns the probability of at least `wins` heads in `n` throws of a fair coin. `n` is at most 1000. */
double kiln__sign_test(unsigned n, unsigned wins);
/* Computes the ranks of two order statistics of n samples, counted from 1. The two order statistics enclose the median
 * with a probability of at least 95 %. */
void kiln__median_ranks(unsigned n, unsigned *low, unsigned *high);
#endif
