/* code_internal.h - the analysis of a module (code.c). */
#ifndef KILN_SIM_CHECK_CODE_INTERNAL_H
#define KILN_SIM_CHECK_CODE_INTERNAL_H

#include "vm_checks_internal.h"

/* Analyses a module once and keeps the result in module->check. Returns false if memory runs out. */
bool check_analyse_module(vm_module *module, const kiln_allocator *mem);

#endif
