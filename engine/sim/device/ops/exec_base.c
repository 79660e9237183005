/* The frequent handlers for any host. */
#define VM_TABLE ops_table_base
#include "vm_exec.inc"
