/* cublas_absent.c - the names of cuBLAS that the stand-in does not implement. */
#include "cublas.h"
#include "vendor.h"

#define X(name) VENDOR_ABSENT("libcublas", name, NOT_SUPPORTED)
#include "cublas_absent.def"
