/* The frequent handlers for hosts with AVX2, FMA and F16C. The build passes the compiler options for this file. */
#include "vm_ops.h"
#if defined(VM_HAVE_AVX2)
#define VM_TABLE ops_table_avx2
#include "vm_exec.inc"
#endif
