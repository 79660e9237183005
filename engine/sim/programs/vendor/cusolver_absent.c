/* cusolver_absent.c - the names of cuSOLVER that the stand-in does not implement. */
#include "cusolver.h"
#include "vendor.h"

#define X(name) VENDOR_ABSENT("libcusolver", name, NOT_SUPPORTED)
#include "cusolver_absent.def"
