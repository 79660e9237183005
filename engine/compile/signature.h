/* signature.h - the parameters of a kernel, read from the `.param` list of its PTX. Knows nothing of plans. */
#ifndef KILN_PLAN_SIGNATURE_H
#define KILN_PLAN_SIGNATURE_H

#include "base.h"

typedef struct kiln__param_type {
    char kind;      /* 'u', 's', 'f' or 'b' as in .u64, .s32, .f32, .b8 */
    uint32_t bytes; /* of the whole argument */
    bool array;     /* a structure by value: .b8 NAME[bytes] */
    bool pointer;   /* certainly a pointer: marked .ptr, or converted with cvta in the body. False: not known */
    uint32_t align; /* in bytes, as declared; 0: not */
} kiln__param_type;

typedef struct kiln__signature {
    size_t count;
    kiln__param_type *params;
} kiln__signature;

/* Reads the signature of the entry `symbol`. The text is untrusted: it gives a signature (in `arena`) or an error. */
kiln_status kiln__signature_read(kiln__arena *arena, const char *ptx, size_t length, const char *symbol,
                                 kiln__signature *signature, kiln_error **error);
/* "pointer or 64-bit integer", "32-bit integer", "float", ... */
const char *kiln__param_type_text(const kiln__param_type *type);

/* Writes `value` into the first bytes of *slot in the parameter's type. Returns NULL, or why it does not fit (a static
 * text). Signedness is not known from PTX, so integers may use the range of both. */
const char *kiln__param_store(const kiln__param_type *type, kiln_value value, uint64_t *slot);
#endif
