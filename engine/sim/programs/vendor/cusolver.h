/* cusolver.h - the part of cuSOLVER's interface that the stand-in needs: names and numbers of NVIDIA's public headers
 * cusolver_common.h and cusolverDn.h (CUDA 12 and 13). Kiln builds without these headers. The functions take all
 * enumerations as int. */
#ifndef KILN_SIM_VENDOR_CUSOLVER_H
#define KILN_SIM_VENDOR_CUSOLVER_H

#include "numbers.h" /* cudaDataType */

enum { /* cusolverStatus_t */
       DONE = 0,
       NOT_INITIALIZED = 1,
       ALLOC_FAILED = 2,
       INVALID_VALUE = 3,
       EXECUTION_FAILED = 6,
       NOT_SUPPORTED = 9
};
enum { OP_N, OP_T, OP_C };         /* cublasOperation_t */
enum { FILL_LOWER, FILL_UPPER };   /* cublasFillMode_t */
enum { DIAG_NON_UNIT, DIAG_UNIT }; /* cublasDiagType_t */
enum { SIDE_LEFT, SIDE_RIGHT };    /* cublasSideMode_t */
enum { NO_VECTORS, VECTORS };      /* cusolverEigMode_t */

enum { RANGE_ALL = 1001, RANGE_PLACES, RANGE_VALUES }; /* cusolverEigRange_t */

#endif
