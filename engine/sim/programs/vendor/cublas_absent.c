/* cublas_absent.c - the names of cuBLAS without a function here. A program that calls one gets CUBLAS_STATUS_NOT_SUPPORTED, and a
 * line on standard error, once per name. Without these names the program would not start. */
#include "cublas.h"
#include "vendor.h"

#define X(name)                                                                                                        \
    CUBLAS_API int name(void);                                                                                         \
    CUBLAS_API int name(void)                                                                                          \
    {                                                                                                                  \
        vendor_tell_missing("libcublas", #name);                                                                       \
        return NOT_SUPPORTED;                                                                                          \
    }
#include "cublas_absent.def"
