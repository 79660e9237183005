/* cusparse.h - the part of cuSPARSE's interface that the stand-in needs: names and numbers of NVIDIA's public header
 * cusparse.h (CUDA 12 and 13). Kiln builds without that header. The functions take all enumerations as int. */
#ifndef KILN_SIM_VENDOR_CUSPARSE_H
#define KILN_SIM_VENDOR_CUSPARSE_H

#include "numbers.h" /* cudaDataType */

enum { /* cusparseStatus_t */
       DONE = 0,
       NOT_INITIALIZED = 1,
       ALLOC_FAILED = 2,
       INVALID_VALUE = 3,
       EXECUTION_FAILED = 6,
       INTERNAL_ERROR = 7,
       ZERO_PIVOT = 9,
       NOT_SUPPORTED = 10
};
enum { /* cusparseFormat_t; VECTOR is an additional value of the stand-in */
       VECTOR = 0,
       CSR = 1,
       CSC = 2,
       COO = 3,
       BLOCKED_ELL = 5,
       BSR = 6,
       SLICED_ELL = 7
};
enum { ORDER_COLUMNS = 1, ORDER_ROWS = 2 }; /* cusparseOrder_t */
enum { INDEX_32 = 2, INDEX_64 = 3 };        /* cusparseIndexType_t, except the type of 16 bits */
enum { OP_N, OP_T, OP_C };                  /* cusparseOperation_t */
enum { POINTER_HOST, POINTER_DEVICE };      /* cusparsePointerMode_t */
enum { FILL_LOWER, FILL_UPPER };            /* cusparseFillMode_t */
enum { DIAG_NON_UNIT, DIAG_UNIT };          /* cusparseDiagType_t */
enum { ATTRIBUTE_FILL, ATTRIBUTE_DIAG };    /* cusparseSpMatAttribute_t */
enum { ACTION_SYMBOLIC, ACTION_NUMERIC };   /* cusparseAction_t */
enum { UPDATE_GENERAL, UPDATE_DIAGONAL };   /* cusparseSpSVUpdate_t, cusparseSpSMUpdate_t */

#endif
