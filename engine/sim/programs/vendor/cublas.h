/* cublas.h - the part of cuBLAS's interface that the stand-in needs: names and numbers of NVIDIA's public header
 * cublas_api.h (CUDA 12 and 13). Kiln builds without that header. The functions take all enumerations as int. */
#ifndef KILN_SIM_VENDOR_CUBLAS_H
#define KILN_SIM_VENDOR_CUBLAS_H

#include <stdint.h>

#include "numbers.h" /* cudaDataType */

enum { /* cublasStatus_t */
       DONE = 0,
       NOT_INITIALIZED = 1,
       ALLOC_FAILED = 3,
       INVALID_VALUE = 7,
       EXECUTION_FAILED = 13,
       INTERNAL_ERROR = 14,
       NOT_SUPPORTED = 15
};
enum { NO_OP = -1, OP_N, OP_T, OP_C };       /* cublasOperation_t */
enum { FILL_LOWER, FILL_UPPER };             /* cublasFillMode_t */
enum { DIAG_NON_UNIT, DIAG_UNIT };           /* cublasDiagType_t */
enum { SIDE_LEFT, SIDE_RIGHT };              /* cublasSideMode_t */
enum { POINTER_HOST, POINTER_DEVICE };       /* cublasPointerMode_t */
enum { CBLAS_COLUMNS = 102, CBLAS_N = 111 }; /* values of cblas.h; the values for T and C follow CBLAS_N */
enum { CBLAS_UPPER = 121, CBLAS_LOWER };
enum { CBLAS_NON_UNIT = 131, CBLAS_UNIT };
enum { CBLAS_LEFT = 141, CBLAS_RIGHT };
enum { /* cublasComputeType_t: each kind of computation, followed by its pedantic and fast variants */
       COMPUTE_16F = 64,
       COMPUTE_16F_PEDANTIC,
       COMPUTE_32F = 68,
       COMPUTE_32F_PEDANTIC,
       COMPUTE_64F,
       COMPUTE_64F_PEDANTIC,
       COMPUTE_32I,
       COMPUTE_32I_PEDANTIC,
       COMPUTE_32F_FAST_16F,
       COMPUTE_32F_FAST_16BF = 75,
       COMPUTE_32F_FAST_TF32 = 77
};

typedef struct {
    float x, y;
} complex8;
typedef struct {
    double x, y;
} complex16;

typedef struct cublas_context *cublas_handle; /* NULL if there is no handle */

#endif
