/* edit.h - a spec's text, changed in places and written anew. All that no edit touches stays as it was written,
 * whatever it is: names, quotes, expressions, keys. Comments, anchors and the layout go. T1 files stay T1 files; what
 * their format has no place for stands under the key `Kiln`, which other readers pass over.
 *
 * Edits cannot fail on their own: what is out of memory is said by kiln__edit_write(). */
#ifndef KILN_SPEC_EDIT_H
#define KILN_SPEC_EDIT_H

#include "spec.h"

typedef struct kiln__edit kiln__edit;
kiln_status kiln__edit_open(const kiln_allocator *mem, const kiln_spec *spec, kiln__edit **edit, kiln_error **error);
void kiln__edit_free(kiln__edit *edit); /* NULL is fine */

/* One set of sizes, of that name, in the place of all. */
void kiln__edit_sizes(kiln__edit *edit, const char *set, kiln__settings sizes);
/* The param's default becomes `value`; `only`: and its one value. */
void kiln__edit_param(kiln__edit *edit, const char *variant, const char *name, kiln_value value, bool only);
/* In the following `variant` NULL means the spec's own part. */
void kiln__edit_source(kiln__edit *edit, const char *variant, const char *source);
/* No folders of headers, in the spec and in all variants. */
void kiln__edit_no_include(kiln__edit *edit);
/* The content of a buffer is a .npy file. */
void kiln__edit_buffer_file(kiln__edit *edit, const char *variant, const char *buffer, const char *file);
/* An input is what `function` makes of these arguments; texts stand in quotes. */
void kiln__edit_input(kiln__edit *edit, const char *variant, const char *input, const char *function,
                      kiln__settings args);
/* One argument of an input becomes this text. */
void kiln__edit_input_text(kiln__edit *edit, const char *variant, const char *input, const char *arg, const char *text);
/* An output is compared with a .npy file: exactly, or with these tolerances, which are expressions. */
void kiln__edit_verify(kiln__edit *edit, const char *buffer, const char *file, bool exact, const char *rtol,
                       const char *atol);
/* What a variant has in place of them; its `tolerance` is there. */
void kiln__edit_tolerance(kiln__edit *edit, const char *variant, const char *buffer, const char *rtol,
                          const char *atol);
void kiln__edit_variant_first(kiln__edit *edit, const char *variant);
void kiln__edit_variant_remove(kiln__edit *edit, const char *variant);
/* The text, behind `comment` (lines, without their '#'; NULL: none). */
kiln_status kiln__edit_write(const kiln__edit *edit, const char *comment, kiln__text *out, kiln_error **error);
#endif
