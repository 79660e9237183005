/* cusparse_absent.c - the names of cuSPARSE without a function here. */
#include "cusparse.h"
#include "vendor.h"

#define X(name) VENDOR_ABSENT("libcusparse", name, NOT_SUPPORTED)
#include "cusparse_absent.def"
