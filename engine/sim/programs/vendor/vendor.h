/* vendor.h - declarations that the stand-ins of the vendor's libraries share: work that the host does in the order of a
 * stream, and the host's numeric libraries. */
#ifndef KILN_SIM_VENDOR_VENDOR_H
#define KILN_SIM_VENDOR_VENDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VENDOR_API __attribute__((visibility("default")))

/* Defines a function of the vendor's library that the stand-in does not implement. The function returns `status`. Its
 * first call prints a line on standard error. Without these names, programs that are linked with them would not
 * start. */
#define VENDOR_ABSENT(library, name, status)                                                                           \
    VENDOR_API int name(void);                                                                                         \
    VENDOR_API int name(void)                                                                                          \
    {                                                                                                                  \
        vendor_tell_missing(library, #name);                                                                           \
        return status;                                                                                                 \
    }

/* Sets *value to a part of a version: 0: major, 1: minor, 2: patch, as in CUDA's libraryPropertyType. Returns false if
 * there is no such part, or `value` is NULL. */
static inline bool vendor_version_part(const int parts[3], int part, int *value)
{
    const bool valid = value && part >= 0 && part < 3;
    if (valid)
        *value = parts[part];
    return valid;
}

/* ---- device.c ---- */

/* Loads the simulated libcuda.so.1. Returns false, and prints the reason once, if the process has another libcuda. Any
 * thread may call the function. */
bool vendor_open_device(const char *library);

/* If the calling thread has no current context, makes `preferred` current, or the primary context of the first device
 * if `preferred` is NULL. The CUDA runtime below NVIDIA's libraries does the same. Returns the thread's context, or
 * NULL on failure. */
void *vendor_enter(void *preferred);

/* Runs function(work) on the host in the order of the stream. `work` has `bytes` bytes and is copied. While the stream
 * is captured, the call becomes a host node of the graph, and the graph owns the copy. Returns false if the driver
 * refuses the work. If the stream is not captured, the function has run when the call returns, and *result is its
 * return value. */
bool vendor_enqueue(void *stream, const char *what, bool (*function)(const void *work), const void *work, size_t bytes,
                    bool *result);
bool vendor_is_capturing(void *stream);

/* Returns the host pointer to device memory, or NULL (reach.h). `what` is the name of the library's function. */
void *vendor_reach(const void *address, size_t bytes, bool write, const char *what);

typedef struct vendor_box {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height; /* in bytes, except height, which is a number of rows */
    bool to_device;                             /* true for a copy from host to device, false for the other direction */
} vendor_box;
/* Copies rows. If `waits` is true, returns when the copy is complete. If `waits` is false, the copy runs in the order
 * of the stream. */
bool vendor_copy(const vendor_box *box, bool waits, void *stream);

/* ---- host.c: libraries of the host ---- */

/* Finds a function of the host's BLAS, such as cblas_sgemm. The library is the one that $KILN_BLAS names. If the
 * variable is not set, it is OpenBLAS, BLIS or the reference BLAS. Returns NULL if there is no such library, or if it
 * lacks the function. */
typedef void vendor_function(void);
vendor_function *vendor_find_blas(const char *name);

/* Finds a function of the host's LAPACK by its Fortran name, such as dpotrf_, of the library that $KILN_LAPACK names.
 * If the variable is not set, it is OpenBLAS or the reference LAPACK. Returns NULL if there is no such library, or if
 * it lacks the function. */
vendor_function *vendor_find_lapack(const char *name);

/* Finds a function of the host's FFTW: of libfftw3f if `single` is set, otherwise of libfftw3. Returns NULL if the
 * function is missing. */
vendor_function *vendor_find_fftw(bool single, const char *name);

/* Prints that the function `name` is missing. The function prints each name only once. */
void vendor_tell_missing(const char *library, const char *name);

#endif
