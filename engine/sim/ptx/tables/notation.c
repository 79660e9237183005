/* notation.c - a form as ops.def writes it, to a ptx_form. */
#include <string.h>

#include "notation.h"

static bool compile_slot(const char *text, size_t length, ptx_slot *slot)
{
    *slot = (ptx_slot){0};
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
    if (!strchr("dDsripmvVXxaltcogyYI", pattern->kind))
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
        if (text < end && *text == 'n') {
            pattern->per_tile = true;
            text++;
        }
        if (count == 0 || !strchr("vVI", pattern->kind) || text == end || *text++ != ':')
            return false;
        pattern->count = (uint8_t)count;
    }
    const char *bar = memchr(text, '|', (size_t)(end - text));
    if (bar) {
        pattern->pred = end - bar == 2 && bar[1] == 'p' ? 2 : 1;
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
    ptx_suffix type = ptx_suffix_find(text, (size_t)(end - text));
    pattern->type = (uint8_t)type.value;
    return type.kind == PTX_SUFFIX_TYPE;
}

bool ptx_form_compile(const char *text, ptx_form *form, ptx_slot slots[PTX_MAX_SLOTS])
{
    *form = (ptx_form){0};
    bool operands = false;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (length == 1 && *text == ':') {
            operands = true;
        } else if (length && !operands) {
            if (form->slot_count == PTX_MAX_SLOTS || !compile_slot(text, length, &slots[form->slot_count++]))
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
