/* notation.h - a form as ops.def writes it, to a ptx_form: for main.c, which does it when Kiln is built, and a test. */
#ifndef KILN_SIM_PTX_NOTATION_H
#define KILN_SIM_PTX_NOTATION_H

#include "ptx_internal.h"

/* False: the form is malformed. form->slots is left to the caller, who gives each of `slots` its place in a table. */
bool ptx_since_compile(const char *text, size_t length, ptx_since *since);
bool ptx_form_compile(const char *text, ptx_form *form, ptx_slot slots[PTX_MAX_SLOTS]);

#endif
