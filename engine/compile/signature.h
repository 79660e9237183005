/* signature.h - the parameters of a kernel, read from the `.param` list of its PTX. The code knows nothing about
 * plans. */
#ifndef KILN_PLAN_SIGNATURE_H
#define KILN_PLAN_SIGNATURE_H

#include "base.h"

/* The type of a parameter. */
typedef struct kiln__param_type {
    char kind;      /* 'u', 's', 'f' or 'b' as in .u64, .s32, .f32, .b8 */
    uint32_t bytes; /* size of the whole argument */
    bool array;     /* the parameter is a structure by value: .b8 NAME[bytes] */
    /* the parameter is certainly a pointer, because it is marked .ptr or converted by cvta. False means unknown */
    bool pointer;
    uint32_t align; /* declared alignment in bytes, or 0 if no alignment is declared */
} kiln__param_type;

/* The parameters of a kernel, in order. */
typedef struct kiln__signature {
    size_t count;
    kiln__param_type *params;
} kiln__signature;

/* Reads the signature of the entry `symbol` into the arena. The text of the PTX is untrusted. Returns
 * KILN_ERROR_NOT_FOUND if the PTX has no such entry. */
kiln_status kiln__signature_read(kiln__arena *arena, const char *ptx, size_t length, const char *symbol,
                                 kiln__signature *signature, kiln_error **error);
/* Returns the end of the quoted text in PTX that begins at `at`. As in an assembler, a quoted text may have several
 * lines, and a backslash does not hide a quotation mark. A text that is never closed ends at `end`. */
const char *kiln__ptx_skip_quoted(const char *at, const char *end);
/* Describes a type for messages: "a pointer", "a 32-bit integer", ... */
const char *kiln__param_type_text(const kiln__param_type *type);

/* Converts `value` to the parameter's type and writes it into the first bytes of *slot. Returns NULL, or a static text
 * with the reason why the value does not fit. PTX does not tell whether an integer is signed, so a value may be in the
 * range of the signed or of the unsigned type. */
const char *kiln__param_store(const kiln__param_type *type, kiln_value value, uint64_t *slot);
#endif
