/* cublas_absent.c - the names of cuBLAS without a function here. */
#include "cublas.h"
#include "vendor.h"

#define X(name) VENDOR_ABSENT("libcublas", name, NOT_SUPPORTED)
#include "cublas_absent.def"
