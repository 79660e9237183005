/* cusparse_absent.c - the names of cuSPARSE that the stand-in does not implement. */
#include "cusparse.h"
#include "vendor.h"

#define X(name) VENDOR_ABSENT("libcusparse", name, NOT_SUPPORTED)
#include "cusparse_absent.def"
