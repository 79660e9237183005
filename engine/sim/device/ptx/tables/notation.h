/* notation.h - compiles the text of a form in ops.def to a ptx_form. main.c uses it when Kiln is built, and a test uses
 * it. */
#ifndef KILN_SIM_PTX_NOTATION_H
#define KILN_SIM_PTX_NOTATION_H

#include "ptx_internal.h"

/* Compiles a target, such as "90" or "100F". Returns false if the text is malformed. */
bool ptx_since_compile(const char *text, size_t length, ptx_since *since);
/* Compiles a form. The caller then sets form->slots, the indices of these slots in the table. Returns false if the form
 * is malformed. */
bool ptx_form_compile(const char *text, ptx_form *form, ptx_slot slots[PTX_MAX_SLOTS]);

#endif
