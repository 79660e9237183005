/* formats.h - what the host functions that make formats share. */
#ifndef KILN_SPARSE_FORMATS_H
#define KILN_SPARSE_FORMATS_H

#include "sparse.h"

/* The argument `matrix`, which stays the call's. */
kiln_status kiln__take_matrix(kiln_call *call, kiln__csr *matrix);
/* An export of one dimension; *data is what to write to. */
kiln_status kiln__export_line(kiln_call *call, const char *name, kiln_type type, uint64_t length, void *data);
/* How many times what CSR stores a format may store: `padding`, 16 if it is not given. */
kiln_status kiln__check_padding(kiln_call *call, const char *format, uint64_t stored, const kiln__csr *matrix);
#endif
