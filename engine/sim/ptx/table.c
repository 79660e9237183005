/* table.c - the instruction table in use: names to indices, and the notation of ops.def compiled. */
#include <string.h>

#include "ptx_internal.h"

typedef struct ptx_row {
    const char *name;
    const char *const *forms;
} ptx_row;

static const ptx_row ptx_rows[] = {
#define OP(name, text, decode, class, cost, effect, ...) {text, (const char *const[]){__VA_ARGS__, NULL}},
#include "ops.def"
#undef OP
};

const ptx_traits ptx_op_traits[PTX_OP_COUNT] = {
#define OP(name, text, decode, class, cost, effect, ...) {PTX_CLASS_##class, PTX_COST_##cost, PTX_EFFECT_##effect},
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

static const char *const ptx_mods[] = {
#define PTX_X(name, text) text,
    PTX_MOD_MAP(PTX_X)
#undef PTX_X
};

static const struct {
    const char *name;
    ptx_space space;
} ptx_spaces[] = {
    {"global", PTX_SPACE_GLOBAL}, {"shared", PTX_SPACE_SHARED}, {"local", PTX_SPACE_LOCAL},
    {"const", PTX_SPACE_CONST},   {"param", PTX_SPACE_PARAM},
};

/* What is PTX and not in ops.def, so that it is refused by name instead of taken for a misspelling. */
static const char *const ptx_later_ops[] = {
    "clusterlaunchcontrol",
    "cp.async.bulk.prefetch.tensor",
    "cp.async.bulk.tensor",
    "cp.reduce.async.bulk.tensor",
    "multimem.cp",
    "multimem.ld_reduce",
    "multimem.red",
    "multimem.st",
    "prefetch.tensormap",
    "tcgen05.alloc",
    "tcgen05.commit",
    "tcgen05.cp",
    "tcgen05.dealloc",
    "tcgen05.fence",
    "tcgen05.ld",
    "tcgen05.mma",
    "tcgen05.relinquish_alloc_permit",
    "tcgen05.shift",
    "tcgen05.st",
    "tcgen05.wait",
    "tensormap.cp_fenceproxy",
    "tensormap.replace",
    "wgmma.commit_group",
    "wgmma.fence",
    "wgmma.mma_async",
    "wgmma.wait_group",
};

static const char *const ptx_later_suffixes[] = {
    "2dms",
    "a2dms",
    "acquire::cluster",
    "block_scale",
    "e2m1",
    "e2m3",
    "e3m2",
    "ignore_oob",
    "kind::f8f6f4",
    "kind::mxf4",
    "kind::mxf4nvf4",
    "kind::mxf8f6f4",
    "multicast::cluster",
    "multimem",
    "oob",
    "pzo",
    "s2",
    "s2f6x2",
    "scale_vec::1X",
    "scale_vec::2X",
    "scale_vec::4X",
    "scaled::n1::ue8m0",
    "scaled::n2::ue8m0",
    "tensormap",
    "u2",
    "ue4m3",
    "ue5m3x2",
    "ue8m0",
};

unsigned ptx_type_bytes(ptx_type type) { return type < PTX_TYPE_COUNT ? ptx_types[type].bytes : 0; }

const char *ptx_type_name(ptx_type type) { return type < PTX_TYPE_COUNT ? ptx_types[type].name : "?"; }

const char *ptx_op_name(ptx_op op) { return op < PTX_OP_COUNT ? ptx_rows[op].name : "?"; }

const char *const *ptx_op_forms(ptx_op op) { return ptx_rows[op].forms; }

static bool same(const char *name, const char *text, size_t length)
{
    if (length && *name != *text) /* most differ there, and a call for each is half of what loading a module costs */
        return false;
    return strncmp(name, text, length) == 0 && name[length] == '\0';
}

bool ptx_type_find(const char *text, size_t length, ptx_type *type)
{
    for (unsigned i = PTX_NONE + 1; i < PTX_TYPE_COUNT; i++) {
        if (same(ptx_types[i].name, text, length)) {
            *type = (ptx_type)i;
            return true;
        }
    }
    return false;
}

ptx_suffix ptx_suffix_find(const char *text, size_t length)
{
    ptx_type type;
    if (ptx_type_find(text, length, &type))
        return (ptx_suffix){PTX_SUFFIX_TYPE, type};
    for (unsigned i = 0; i < KILN__COUNT(ptx_spaces); i++)
        if (same(ptx_spaces[i].name, text, length))
            return (ptx_suffix){PTX_SUFFIX_SPACE, ptx_spaces[i].space};
    for (unsigned i = 0; i < PTX_MOD_COUNT; i++)
        if (same(ptx_mods[i], text, length))
            return (ptx_suffix){PTX_SUFFIX_MOD, i};
    return (ptx_suffix){PTX_SUFFIX_UNKNOWN, 0};
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

/* If `name` is `text`, or `text` up to one of its dots, the length of `name`. */
static size_t prefix(const char *name, const char *text, size_t length)
{
    size_t size = strlen(name);
    return size <= length && memcmp(name, text, size) == 0 && (size == length || text[size] == '.') ? size : 0;
}

size_t ptx_op_find(const char *text, size_t length, ptx_op *op)
{
    size_t best = 0;
    for (unsigned i = 0; i < PTX_OP_COUNT; i++) {
        size_t size = prefix(ptx_rows[i].name, text, length);
        if (size > best) {
            best = size;
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
        size_t size = prefix(ptx_later_ops[i], text, length);
        if (size > best) {
            best = size;
            found = ptx_later_ops[i];
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
        if (same(ptx_later_suffixes[i], text, length))
            return true;
    return false;
}

/* ---- the notation ---- */

static bool compile_slot(const char *text, size_t length, ptx_slot *slot)
{
    if (length && text[length - 1] == '?') {
        slot->optional = true;
        length--;
    }
    while (length) {
        const char *bar = memchr(text, '|', length);
        size_t size = bar ? (size_t)(bar - text) : length;
        ptx_suffix suffix = ptx_suffix_find(text, size);
        switch (suffix.kind) {
        case PTX_SUFFIX_TYPE: slot->types |= UINT64_C(1) << suffix.value; break;
        case PTX_SUFFIX_SPACE: slot->spaces |= (uint8_t)(1u << suffix.value); break;
        case PTX_SUFFIX_MOD: slot->mods[suffix.value / 64] |= UINT64_C(1) << suffix.value % 64; break;
        default: return false;
        }
        size += bar != NULL;
        text += size;
        length -= size;
    }
    return true;
}

static bool compile_operand(const char *text, size_t length, ptx_pattern *pattern)
{
    const char *end = text + length;
    pattern->kind = *text++;
    if (!strchr("dDsripmvVXxaltcogyY", pattern->kind))
        return false;
    if (end > text && end[-1] == '?' && !memchr(text, '|', (size_t)(end - text))) {
        pattern->optional = true;
        end--;
    }
    if (text < end && *text == '~') {
        pattern->relaxed = true;
        text++;
    }
    if (text < end && *text == '*') {
        unsigned count = 0;
        for (text++; text < end && *text >= '0' && *text <= '9' && count < 100; text++)
            count = count * 10 + (unsigned)(*text - '0');
        if (count == 0 || !strchr("vV", pattern->kind) || text == end || *text++ != ':')
            return false;
        pattern->count = (uint8_t)count;
    }
    const char *bar = memchr(text, '|', (size_t)(end - text));
    if (bar) {
        pattern->pred = same("|p", bar, (size_t)(end - bar)) ? 2 : 1;
        end = bar;
    }
    if (text == end) {
        pattern->type = PTX_PRED; /* p, and the kinds that have none */
        return strchr("pltco", pattern->kind) != NULL;
    }
    if (*text == 'w') {
        pattern->width = PTX_WIDENED;
        text++;
    } else if (*text >= '0' && *text <= '3') {
        pattern->width = PTX_WRITTEN;
    }
    if (pattern->width != PTX_FIXED) {
        pattern->type = (uint8_t)(*text - '0');
        return text + 1 == end && pattern->type < 4;
    }
    ptx_type type;
    if (!ptx_type_find(text, (size_t)(end - text), &type))
        return false;
    pattern->type = (uint8_t)type;
    return true;
}

bool ptx_form_compile(const char *text, ptx_form *form)
{
    *form = (ptx_form){0};
    bool operands = false;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (length == 1 && *text == ':') {
            operands = true;
        } else if (length && !operands) {
            if (form->slot_count == KILN__COUNT(form->slots) ||
                !compile_slot(text, length, &form->slots[form->slot_count++]))
                return false;
        } else if (length) {
            if (form->operand_count == PTX_MAX_OPERANDS)
                return false;
            ptx_pattern *pattern = &form->operands[form->operand_count++];
            if (!compile_operand(text, length, pattern))
                return false;
            if (!pattern->optional)
                form->operands_needed = form->operand_count;
        }
        text += length;
        text += *text == ' ';
    }
    return operands;
}
