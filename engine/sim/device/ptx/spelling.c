/* spelling.c - parses mnemonics such as "add.f32": finds the opcode, the suffixes, and the forms of the opcode that
 * match the suffixes. The parser parses each distinct mnemonic of a text once. */
#include <stdio.h>
#include <string.h>

#include "ptx_internal.h"

/* Returns the target that a suffix needs in this slot of a form. {0} means that every target has the suffix. */
static ptx_since suffix_since(const ptx_slot *slot, ptx_suffix suffix)
{
    for (unsigned n = 0; n < PTX_MAX_NEEDS; n++)
        if (slot->needs[n].suffix.kind == suffix.kind && slot->needs[n].suffix.value == suffix.value)
            return slot->needs[n].since;
    return (ptx_since){0};
}

/* Returns true if the suffixes of a mnemonic fill the slots of the form: types in order, other suffixes in any order.
 * If the form or a suffix needs a target that ptx_is_there() rejects, sets *missing to the first such target. The
 * caller has set *missing to 0. */
static bool ptx_fill_slots(const ptx_parser *p, const ptx_form *form, const ptx_suffix *suffixes, unsigned count,
                           ptx_since *missing)
{
    uint32_t filled = 0;
    if (!ptx_is_there(p, form->since))
        *missing = form->since;
    for (unsigned i = 0; i < count; i++) {
        ptx_suffix suffix = suffixes[i];
        bool found = false;
        for (unsigned s = 0; s < form->slot_count && !found; s++) {
            const ptx_slot *slot = &ptx_slots[form->slots[s]];
            if (filled >> s & 1)
                continue;
            if (suffix.kind == PTX_SUFFIX_TYPE)
                found = slot->types >> suffix.value & 1;
            else if (suffix.kind == PTX_SUFFIX_SPACE)
                found = slot->spaces >> suffix.value & 1;
            else
                found = slot->mods[suffix.value / 64] >> suffix.value % 64 & 1;
            if (found) {
                const ptx_since since = suffix_since(slot, suffix);
                if (!missing->target && !ptx_is_there(p, since))
                    *missing = since;
                filled |= 1u << s;
            } else if (suffix.kind == PTX_SUFFIX_TYPE && slot->types)
                break;
        }
        if (!found)
            return false;
    }
    for (unsigned s = 0; s < form->slot_count; s++)
        if (!(filled >> s & 1) && !ptx_slots[form->slots[s]].optional)
            return false;
    return true;
}

static void ptx_spelling_suffix(ptx_spelling *spelling, ptx_suffix suffix, unsigned *types)
{
    ptx_space space = PTX_SPACE_GENERIC;
    if (suffix.kind == PTX_SUFFIX_TYPE) {
        if (*types < KILN__COUNT(spelling->types))
            spelling->types[(*types)++] = (uint8_t)suffix.value;
        return;
    }
    if (suffix.kind == PTX_SUFFIX_SPACE) {
        space = (ptx_space)suffix.value;
    } else {
        spelling->mods[suffix.value / 64] |= UINT64_C(1) << suffix.value % 64;
        space = ptx_mod_space((ptx_mod)suffix.value);
        if (suffix.value == PTX_MOD_V2 || suffix.value == PTX_MOD_V4 || suffix.value == PTX_MOD_V8)
            spelling->vector = suffix.value == PTX_MOD_V2 ? 2 : suffix.value == PTX_MOD_V4 ? 4 : 8;
    }
    /* cp.async names two state spaces; the first one, the space of the destination, counts */
    if (spelling->space == PTX_SPACE_GENERIC)
        spelling->space = (uint8_t)space;
}

static bool ptx_unknown_opcode(ptx_parser *p, uint32_t line, const char *text, size_t length)
{
    const char *later = ptx_op_later(text, length);
    if (later)
        return ptx_unsupported(p, line, "instruction '%s' is not supported by the simulated device", later);
    const char *names[PTX_OP_COUNT];
    for (unsigned i = 0; i < PTX_OP_COUNT; i++)
        names[i] = ptx_op_name((ptx_op)i);
    const char *dot = memchr(text, '.', length);
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(dot ? (size_t)(dot - text) : length), text);
    const char *near = kiln__nearest(word, names, PTX_OP_COUNT);
    return ptx_error(p, line, "Unknown instruction '%s'%s%s%s", word, near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
}

/* Finds a suffix in the table of suffixes. The shape suffix of a wgmma has a variable number of columns, but the table
 * has it only with 8 columns. The function sets *tiles to the number of groups of 8 columns: it finds "m64n96k16" as
 * "m64n8k16" with 12 tiles. For other suffixes *tiles stays unchanged. */
static ptx_suffix find_suffix(const char *text, size_t length, uint8_t *tiles)
{
    enum { MOST = 256, EACH = 8 };
    char shape[16];
    unsigned columns = 0;
    size_t at = 4;
    if (length < at || length >= sizeof shape || memcmp(text, "m64n", at) != 0)
        return ptx_suffix_find(text, length);
    while (at < length && text[at] >= '0' && text[at] <= '9' && columns <= MOST)
        columns = columns * 10 + (unsigned)(text[at++] - '0');
    int wrote = snprintf(shape, sizeof shape, "m64n8%.*s", (int)(length - at), text + at);
    if (text[4] == '0' || columns == 0 || columns > MOST || columns % EACH || wrote <= 0 ||
        (size_t)wrote >= sizeof shape)
        return (ptx_suffix){PTX_SUFFIX_UNKNOWN, 0};
    *tiles = (uint8_t)(columns / EACH);
    return ptx_suffix_find(shape, (size_t)wrote);
}

bool ptx_is_there(const ptx_parser *p, ptx_since since)
{
    return ptx_device_has(p->device, since) &&
           (!p->device || ptx_target_has(p->module->target, p->module->target_kind, since));
}

/* Writes a text that names the targets which meet `since`. Families of targets exist only since compute capability
 * 10.0. So for 9.0 the text names sm_90a. */
static void name_targets(ptx_since since, char *text, size_t size)
{
    switch (since.kind) {
    case 'T': snprintf(text, size, "sm_%uf or sm_110f", since.target); return;
    case 'A': snprintf(text, size, "sm_%ua or sm_110a", since.target); return;
    case 'L': snprintf(text, size, "sm_%ua, sm_103a or sm_110a", since.target); return;
    case 'F': snprintf(text, size, "sm_%u%c or a later family's", since.target, since.target < 100 ? 'a' : 'f'); return;
    case 0: snprintf(text, size, "sm_%u or higher", since.target); return;
    default: snprintf(text, size, "sm_%u%c", since.target, since.kind); return;
    }
}

bool ptx_needs(ptx_parser *p, uint32_t line, ptx_since since, const char *what, int length)
{
    char targets[64];
    if (ptx_is_there(p, since))
        return true;
    name_targets(since, targets, sizeof targets);
    if (!ptx_device_has(p->device, since))
        return ptx_error(p, line, "'%.*s' needs .target %s; the device has sm_%d", length, what, targets, p->device);
    return ptx_error(p, line, "'%.*s' needs .target %s; the module has sm_%d%.1s", length, what, targets,
                     p->module->target, &p->module->target_kind);
}

static bool has_mod(const ptx_spelling *spelling, ptx_mod mod) { return spelling->mods[mod / 64] >> mod % 64 & 1; }

/* Reports that no form of the instruction matches. If ptx_suffix_later() knows a modifier of the mnemonic, the text may
 * be valid PTX, so the error says "not supported". */
static bool report_no_form(ptx_parser *p, const ptx_spelling *spelling, uint32_t line)
{
    const char *text = spelling->text, *end = text + spelling->length;
    const char *name = ptx_op_name(spelling->op);
    for (const char *at = text + strlen(name); at < end;) {
        at++; /* the dot */
        const char *dot = memchr(at, '.', (size_t)(end - at));
        const size_t size = (size_t)((dot ? dot : end) - at);
        if (ptx_suffix_later(at, size))
            return ptx_unsupported(p, line, "modifier '.%.*s' of '%s' is not supported by the simulated device",
                                   (int)size, at, name);
        at += size;
    }
    return ptx_error(p, line, "Illegal modifiers or types for instruction '%s': '%.*s'", name,
                     (int)(spelling->length > 120 ? 120 : spelling->length), text);
}

/* If `op` is mma and `part` is the suffix .sp or .sp::ordered_metadata, returns the opcode of the sparse instruction.
 * Otherwise returns `op`. ptxas accepts these suffixes at any place after "mma", and CUTLASS writes them after the
 * kind. */
static ptx_op find_sparse(ptx_op op, const char *part, size_t size)
{
    const struct {
        ptx_op op;
        const char *part;
    } all[] = {{PTX_OP_MMA_SP, "sp"}, {PTX_OP_MMA_SP_ORDERED, "sp::ordered_metadata"}};
    for (size_t k = 0; op == PTX_OP_MMA && k < KILN__COUNT(all); k++)
        if (strlen(all[k].part) == size && memcmp(all[k].part, part, size) == 0)
            return all[k].op;
    return op;
}

/* Splits a mnemonic, such as "add.cc.u32", at its dots, and finds the matching forms of the opcode. Returns false after
 * an error. */
static bool ptx_read_spelling(ptx_parser *p, ptx_spelling *spelling, uint32_t line)
{
    const char *text = spelling->text, *end = text + spelling->length;
    size_t length = ptx_op_find(text, spelling->length, &spelling->op);
    const char *later = ptx_op_later(text, spelling->length);
    if (!length || (later && strlen(later) > length))
        return ptx_unknown_opcode(p, line, text, spelling->length);
    ptx_suffix suffixes[24];
    unsigned count = 0, types = 0;
    spelling->vector = 1;
    for (const char *at = text + length; at < end;) {
        at++; /* the dot */
        const char *dot = memchr(at, '.', (size_t)(end - at));
        size_t size = (size_t)((dot ? dot : end) - at);
        const ptx_op sparse = find_sparse(spelling->op, at, size);
        if (sparse != spelling->op) {
            spelling->op = sparse;
            at += size;
            continue;
        }
        ptx_suffix suffix = find_suffix(at, size, &spelling->tiles);
        if (suffix.kind == PTX_SUFFIX_UNKNOWN && ptx_suffix_later(at, size))
            return ptx_unsupported(p, line, "modifier '.%.*s' of '%s' is not supported by the simulated device",
                                   (int)size, at, ptx_op_name(spelling->op));
        if (suffix.kind == PTX_SUFFIX_UNKNOWN || count == KILN__COUNT(suffixes))
            return ptx_error(p, line, "Unknown modifier '.%.*s' of instruction '%s'", (int)(size > 60 ? 60 : size), at,
                             ptx_op_name(spelling->op));
        if (suffix.kind == PTX_SUFFIX_MOD && (suffix.value == PTX_MOD_ROW || suffix.value == PTX_MOD_COL) &&
            (has_mod(spelling, PTX_MOD_ROW) || has_mod(spelling, PTX_MOD_COL)))
            /* the second .row or .col is another modifier than the first, because .row.col differs from .col.row */
            suffix.value += PTX_MOD_ROW_2 - PTX_MOD_ROW;
        suffixes[count++] = suffix;
        ptx_spelling_suffix(spelling, suffix, &types);
        at += size;
    }
    const ptx_form_list *list = &ptx_forms[spelling->op];
    for (unsigned i = 0; i < list->count; i++) {
        ptx_since missing = {0};
        if (!ptx_fill_slots(p, &list->forms[i], suffixes, count, &missing))
            continue;
        if (!missing.target && !ptx_is_there(p, list->since))
            missing = list->since;
        if (missing.target && !spelling->newer)
            spelling->since = missing;
        *(missing.target ? &spelling->newer : &spelling->forms) |= UINT64_C(1) << i;
    }
    return spelling->forms || spelling->newer || report_no_form(p, spelling, line);
}

static bool ptx_spellings_widen(ptx_parser *p)
{
    size_t capacity = p->spelling_capacity ? p->spelling_capacity * 2 : 256;
    ptx_spelling **wider = kiln__calloc(p->mem, capacity, sizeof(ptx_spelling *));
    if (!wider)
        return ptx_out_of_memory(p);
    for (size_t i = 0; i < p->spelling_capacity; i++) {
        if (!p->spellings[i])
            continue;
        size_t at = p->spellings[i]->hash & (capacity - 1);
        while (wider[at])
            at = (at + 1) & (capacity - 1);
        wider[at] = p->spellings[i];
    }
    kiln__free(p->mem, p->spellings);
    p->spellings = wider;
    p->spelling_capacity = capacity;
    return true;
}

const ptx_spelling *ptx_spelling_of(ptx_parser *p, const char *text, size_t length, uint32_t line)
{
    if (p->spelling_count * 2 >= p->spelling_capacity && !ptx_spellings_widen(p))
        return NULL;
    uint32_t hash = ptx_hash(p, text, length);
    size_t at = hash & (p->spelling_capacity - 1);
    for (; p->spellings[at]; at = (at + 1) & (p->spelling_capacity - 1)) {
        ptx_spelling *spelling = p->spellings[at];
        if (spelling->hash == hash && spelling->length == length && memcmp(spelling->text, text, length) == 0)
            return spelling;
    }
    ptx_spelling *spelling = kiln__arena_alloc(&p->scratch, sizeof *spelling);
    if (!spelling) {
        ptx_out_of_memory(p);
        return NULL;
    }
    *spelling = (ptx_spelling){.text = text, .length = (uint32_t)length, .hash = hash};
    if (!ptx_read_spelling(p, spelling, line))
        return NULL; /* the spelling is not stored, so that each use of it is an error */
    p->spellings[at] = spelling;
    p->spelling_count++;
    return spelling;
}

static bool is_suffix_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

/* Reads a mnemonic that begins with the current token, the opcode. Spaces may separate the suffixes ("add .u32"). *text
 * points into the source. If the mnemonic has spaces, *text points to a copy without spaces in the scratch arena. *text
 * is not NUL-terminated. Returns false if memory runs out. */
bool ptx_mnemonic(ptx_parser *p, const char **text, size_t *length)
{
    /* start and end of the mnemonic up to the first space */
    const char *start = p->token.text, *stop = start + p->token.length;
    bool apart = false;
    kiln__text joined = {.mem = p->mem};
    while (ptx_peek(p) == '.') {
        const char *dot = p->cursor, *at = dot + 1;
        while (at < p->end && is_suffix_char(*at))
            at++;
        if (dot != stop && !apart) {
            apart = true;
            kiln__text_add(&joined, start, (size_t)(stop - start));
        }
        if (apart)
            kiln__text_add(&joined, dot, (size_t)(at - dot));
        p->cursor = stop = at;
    }
    *text = start;
    *length = (size_t)(stop - start);
    if (apart) {
        const char *copy = joined.failed ? NULL : kiln__arena_strndup(&p->scratch, joined.data, joined.length);
        *length = joined.length;
        kiln__text_free(&joined);
        if (!copy)
            return ptx_out_of_memory(p);
        *text = copy;
    }
    ptx_next(p);
    return true;
}
