/* edit.h - changes single places of a spec and writes the spec as text again.
 *
 * Everything that no edit changes keeps its spelling: names, quotes, expressions, keys. Comments, anchors and the
 * layout of the file are lost. The result of editing a T1 file is a T1 file. Values that the T1 format cannot hold go
 * under the key `Kiln`, which other readers skip. The functions that edit return nothing and cannot fail. If memory
 * runs out during an edit, kiln__edit_write() reports the error. */
#ifndef KILN_SPEC_EDIT_H
#define KILN_SPEC_EDIT_H

#include "spec.h"

typedef struct kiln__edit kiln__edit;
/* Begins to edit a spec, which must outlive the edit. The caller frees *edit with kiln__edit_free(). */
kiln_status kiln__edit_open(const kiln_allocator *mem, const kiln_spec *spec, kiln__edit **edit, kiln_error **error);
void kiln__edit_free(kiln__edit *edit); /* NULL is allowed */

/* Replaces all size sets of the spec by one set with this name. */
void kiln__edit_sizes(kiln__edit *edit, const char *set, kiln__settings sizes);
/* Makes `value` the default of the param. If `only` is true, `value` also becomes the only value of the param. */
void kiln__edit_param(kiln__edit *edit, const char *variant, const char *name, kiln_value value, bool only);
/* In the following functions, a NULL `variant` means the part of the spec that all variants share. */
void kiln__edit_source(kiln__edit *edit, const char *variant, const char *source);
/* Removes the key `include` (folders of headers) from the spec and from all variants. */
void kiln__edit_no_include(kiln__edit *edit);
/* Makes a .npy file the content of a buffer. */
void kiln__edit_buffer_file(kiln__edit *edit, const char *variant, const char *buffer, const char *file);
/* Makes `function` with these arguments the source of an input. Writes text arguments in quotes. */
void kiln__edit_input(kiln__edit *edit, const char *variant, const char *input, const char *function,
                      kiln__settings args);
/* Replaces one argument of an input by this text. */
void kiln__edit_input_text(kiln__edit *edit, const char *variant, const char *input, const char *arg, const char *text);
/* Makes a .npy file the expected content of an output. If `exact` is true, the comparison is exact. Otherwise it uses
 * these tolerances, which are expressions. */
void kiln__edit_verify(kiln__edit *edit, const char *buffer, const char *file, bool exact, const char *rtol,
                       const char *atol);
/* Replaces the tolerances of an output for one variant. The variant must already have a `tolerance` for this output. */
void kiln__edit_tolerance(kiln__edit *edit, const char *variant, const char *buffer, const char *rtol,
                          const char *atol);
void kiln__edit_variant_first(kiln__edit *edit, const char *variant);
void kiln__edit_variant_remove(kiln__edit *edit, const char *variant);
/* Appends the text of the edited spec to `out`. The text begins with `comment`, unless `comment` is NULL. The lines of
 * `comment` have no '#'; the function adds it. */
kiln_status kiln__edit_write(const kiln__edit *edit, const char *comment, kiln__text *out, kiln_error **error);
#endif
