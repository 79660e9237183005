/* vendor.h - what the stand-ins of the vendor's libraries share: work that the host does in the order of a stream. */
#ifndef KILN_SIM_VENDOR_VENDOR_H
#define KILN_SIM_VENDOR_VENDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VENDOR_API __attribute__((visibility("default")))

/* Defines a name of the vendor's library without a function here. A program that calls it gets `status`, and a line on standard
 * error, once per name. Without these names the program would not start. */
#define VENDOR_ABSENT(library, name, status)                                                                           \
    VENDOR_API int name(void);                                                                                         \
    VENDOR_API int name(void)                                                                                          \
    {                                                                                                                  \
        vendor_tell_missing(library, #name);                                                                           \
        return status;                                                                                                 \
    }

/* Sets *value to a part of a version: 0: major, 1: minor, 2: patch, as libraryPropertyType of CUDA. Returns false if there is no
 * such part, or `value` is NULL. */
static inline bool vendor_version_part(const int parts[3], int part, int *value)
{
    const bool valid = value && part >= 0 && part < 3;
    if (valid)
        *value = parts[part];
    return valid;
}

/* ---- device.c ---- */

/* Loads the simulated libcuda.so.1. Returns false, and prints the reason once, if the process has another libcuda. Any thread may
 * call it. */
bool vendor_open_device(const char *library);

/* Gives the calling thread a context if it has none, as the CUDA runtime below NVIDIA's libraries does: `preferred`, or the primary
 * context of the first device if that is NULL. Returns the thread's context, or NULL. */
void *vendor_enter(void *preferred);

/* Runs function(work) on the host in the order of the stream. `work` has `bytes` bytes and is copied. While the stream is
 * captured, the call becomes a host node of the graph, and the graph owns the copy. Returns false if the driver refuses. Without
 * a capture the function has run when the call returns, and *result is what it returned. */
bool vendor_enqueue(void *stream, const char *what, bool (*function)(const void *work), const void *work, size_t bytes,
                    bool *result);
bool vendor_is_capturing(void *stream);

/* The host's pointer to device memory (reach.h). `what`: the name of the library's function. */
void *vendor_reach(const void *address, size_t bytes, bool write, const char *what);

typedef struct vendor_box {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height; /* in bytes; height: rows */
    bool to_device;                             /* from the host to the device, or the other way */
} vendor_box;
/* Copies rows. `waits`: returns when the copy is complete; otherwise the copy is in the order of the stream. */
bool vendor_copy(const vendor_box *box, bool waits, void *stream);

/* ---- host.c: libraries of the host ---- */

/* Finds a function of the host's BLAS, such as cblas_sgemm. The library is the one that $KILN_BLAS names. If the variable is not
 * set, it is OpenBLAS, BLIS or the reference BLAS. Returns NULL if there is no such library, or if it lacks the function. */
typedef void vendor_function(void);
vendor_function *vendor_find_blas(const char *name);

/* Finds a function of the host's LAPACK by its Fortran name, such as dpotrf_, of the library that $KILN_LAPACK names. If the variable
 * is not set, it is OpenBLAS or the reference LAPACK. Returns NULL if there is no such library, or if it lacks the function. */
vendor_function *vendor_find_lapack(const char *name);

/* Finds a function of the host's FFTW: of libfftw3f if `single` is set, otherwise of libfftw3. NULL: it is not there. */
vendor_function *vendor_find_fftw(bool single, const char *name);

/* Prints once per name that the function is missing. */
void vendor_tell_missing(const char *library, const char *name);

#endif
