/* The hot handlers for hosts with AVX2, FMA and F16C; the build passes the options for this file. */
#include "sim/vm_internal.h"
#if defined(VM_HAVE_AVX2)
#define VM_TABLE vm_table_avx2
#include "sim/vm_exec.inc"
#endif
