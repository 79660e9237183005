/* notation.c - compiles the text of a form in ops.def to a ptx_form. */
#include <string.h>

#include "notation.h"

bool ptx_since_compile(const char *text, size_t length, ptx_since *since)
{
    *since = (ptx_since){0};
    while (length && *text >= '0' && *text <= '9' && since->target < 1000) {
        since->target = (uint16_t)(since->target * 10 + (*text++ - '0'));
        length--;
    }
    if (length == 1 && strchr("afFTAL", *text))
        since->kind = *text;
    return since->target >= 10 && length == (since->kind != 0);
}

/* Sets the bit of a suffix in *slot. The suffix has `size` characters. It may end in the lowest target that has it,
 * such as "@90". Returns false if the text is malformed. */
static bool compile_suffix(const char *text, size_t size, ptx_slot *slot)
{
    const char *at = memchr(text, '@', size);
    const ptx_suffix suffix = ptx_suffix_find(text, at ? (size_t)(at - text) : size);
    switch (suffix.kind) {
    case PTX_SUFFIX_TYPE: slot->types |= UINT64_C(1) << suffix.value; break;
    case PTX_SUFFIX_SPACE: slot->spaces |= (uint8_t)(1u << suffix.value); break;
    case PTX_SUFFIX_MOD: slot->mods[suffix.value / 64] |= UINT64_C(1) << suffix.value % 64; break;
    default: return false;
    }
    if (!at)
        return true;
    unsigned n = 0;
    while (n < PTX_MAX_NEEDS && slot->needs[n].suffix.kind != PTX_SUFFIX_UNKNOWN)
        n++;
    if (n == PTX_MAX_NEEDS)
        return false;
    slot->needs[n].suffix = suffix;
    return ptx_since_compile(at + 1, size - (size_t)(at + 1 - text), &slot->needs[n].since);
}

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
        if (!compile_suffix(text, size, slot))
            return false;
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
    if (!strchr("dDsripmvVXxaltcogyYIQTf", pattern->kind))
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
        if (count == 0 || !strchr("vVIQ", pattern->kind) || text == end || *text++ != ':')
            return false;
        pattern->count = (uint8_t)count;
    }
    const char *bar = memchr(text, '|', (size_t)(end - text));
    if (bar) {
        pattern->pred = end - bar == 2 && bar[1] == 'p' ? 2 : 1;
        end = bar;
    }
    if (text == end) {
        pattern->type = PTX_PRED; /* the kind p has this type; other kinds without a type ignore it */
        return strchr("pltcoT", pattern->kind) != NULL;
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

/* Compiles the text of a form to `form` and `slots`. `slots` gets one entry for each suffix slot of the text. The
 * caller then sets form->slots, the indices of these slots in the table. form->operands_needed counts the operands up
 * to the last operand that is not optional. Returns false if the form is malformed. */
bool ptx_form_compile(const char *text, ptx_form *form, ptx_slot slots[PTX_MAX_SLOTS])
{
    *form = (ptx_form){0};
    bool operands = false;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (length == 1 && *text == ':') {
            operands = true;
        } else if (length && !operands && *text == '@') {
            if (form->since.target || !ptx_since_compile(text + 1, length - 1, &form->since))
                return false;
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
