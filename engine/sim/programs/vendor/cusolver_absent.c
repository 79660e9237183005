/* cusolver_absent.c - the names of cuSOLVER without a function here. */
#include "cusolver.h"
#include "vendor.h"

#define X(name) VENDOR_ABSENT("libcusolver", name, NOT_SUPPORTED)
#include "cusolver_absent.def"
