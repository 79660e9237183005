/* The frequent handlers for hosts with AVX-512 F, BW, DQ and VL. The build passes the compiler options for this
 * file. */
#include "vm_ops.h"
#if defined(VM_HAVE_AVX512)
#define VM_TABLE ops_table_avx512
#include "vm_exec.inc"
#endif
