/* table.c - look-ups in the instruction table: from names to indices and back. */
#include <string.h>

#include "ptx_internal.h"

typedef struct ptx_row {
    const char *name;
    size_t length;
    const char *const *forms;
    const char *since;
} ptx_row;

static const ptx_row ptx_rows[] = {
#define OP(name, text, decode, class, cost, effect, since, ...)                                                        \
    {text, sizeof text - 1, (const char *const[]){__VA_ARGS__, NULL}, #since},
#include "ops.def"
#undef OP
};

const ptx_traits ptx_op_traits[PTX_OP_COUNT] = {
#define OP(name, text, decode, class, cost, effect, since, ...)                                                        \
    {PTX_CLASS_##class, PTX_COST_##cost, PTX_EFFECT_##effect},
#include "ops.def"
#undef OP
};

static const struct {
    const char *name;
    uint8_t bytes;
} ptx_types[] = {
#define PTX_X(name, text, bytes) {text, bytes},
    PTX_TYPE_MAP(PTX_X)
#undef PTX_X
};

/* PTX instructions that Kiln does not support. For these, the error message says "not supported" and does not suggest
 * another spelling. */
static const char *const ptx_later_ops[] = {
    "multimem.cp",
};

static const char *const ptx_later_suffixes[] = {
    "2dms", "a2dms",  "acquire::cluster",  "ignore_oob",        "multimem", "oob",     "pzo",
    "s2",   "s2f6x2", "scaled::n1::ue8m0", "scaled::n2::ue8m0", "u2",       "ue5m3x2",
};

unsigned ptx_type_bytes(ptx_type type) { return type < PTX_TYPE_COUNT ? ptx_types[type].bytes : 0; }

const char *ptx_type_name(ptx_type type) { return type < PTX_TYPE_COUNT ? ptx_types[type].name : "?"; }

const char *ptx_op_name(ptx_op op) { return op < PTX_OP_COUNT ? ptx_rows[op].name : "?"; }

const char *const *ptx_op_forms(ptx_op op) { return ptx_rows[op].forms; }

const char *ptx_op_since(ptx_op op) { return strcmp(ptx_rows[op].since, "ANY") == 0 ? NULL : ptx_rows[op].since; }

ptx_suffix ptx_suffix_find(const char *text, size_t length)
{
    size_t low = 0, high = ptx_suffix_count;
    while (low < high) {
        const ptx_named *one = &ptx_suffixes[(low + high) / 2];
        int order = memcmp(one->text, text, length < one->length ? length : one->length);
        if (order == 0 && one->length == length)
            return one->suffix;
        if (order < 0 || (order == 0 && one->length < length))
            low = (size_t)(one - ptx_suffixes) + 1;
        else
            high = (size_t)(one - ptx_suffixes);
    }
    return (ptx_suffix){PTX_SUFFIX_UNKNOWN, 0};
}

bool ptx_type_find(const char *text, size_t length, ptx_type *type)
{
    ptx_suffix suffix = ptx_suffix_find(text, length);
    if (suffix.kind == PTX_SUFFIX_TYPE)
        *type = (ptx_type)suffix.value;
    return suffix.kind == PTX_SUFFIX_TYPE;
}

ptx_space ptx_mod_space(ptx_mod mod)
{
    switch (mod) {
    case PTX_MOD_SHARED_CTA:
    case PTX_MOD_SHARED_CLUSTER: return PTX_SPACE_SHARED;
    case PTX_MOD_PARAM_ENTRY:
    case PTX_MOD_PARAM_FUNC: return PTX_SPACE_PARAM;
    default: return PTX_SPACE_GENERIC;
    }
}

/* Returns true if the name of `size` characters equals the text, or the part of the text before one of its dots. Most
 * names differ from the text in their first letter. Comparing this letter first saves most calls of memcmp(), which
 * would take most of the time for a mnemonic. */
static bool is_prefix(const char *name, size_t size, const char *text, size_t length)
{
    return size <= length && *name == *text && (size == length || text[size] == '.') && memcmp(name, text, size) == 0;
}

size_t ptx_op_find(const char *text, size_t length, ptx_op *op)
{
    size_t best = 0;
    for (unsigned i = 0; i < PTX_OP_COUNT; i++) {
        const ptx_row *row = &ptx_rows[i];
        if (is_prefix(row->name, row->length, text, length) && row->length > best) {
            best = row->length;
            *op = (ptx_op)i;
        }
    }
    return best;
}

const char *ptx_op_later(const char *text, size_t length)
{
    const char *found = NULL;
    size_t best = 0;
    for (unsigned i = 0; i < KILN__COUNT(ptx_later_ops); i++) {
        const char *name = ptx_later_ops[i];
        const size_t size = strlen(name);
        const bool scoped = size < length && text[size] == ':' && memcmp(name, text, size) == 0; /* tcgen05.wait::ld */
        if (length && *name == *text && size > best && (scoped || is_prefix(name, size, text, length))) {
            best = size;
            found = name;
        }
    }
    return found;
}

const char *ptx_op_later_name(unsigned index)
{
    return index < KILN__COUNT(ptx_later_ops) ? ptx_later_ops[index] : NULL;
}

bool ptx_suffix_later(const char *text, size_t length)
{
    for (unsigned i = 0; i < KILN__COUNT(ptx_later_suffixes); i++)
        if (strlen(ptx_later_suffixes[i]) == length && memcmp(ptx_later_suffixes[i], text, length) == 0)
            return true;
    return false;
}
