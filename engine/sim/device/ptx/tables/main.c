/* main.c - writes the tables of ptx_internal.h as C text: the suffixes, sorted by name, and the compiled forms of
 * ops.def. CMake runs this program when Kiln is built, so that loading a module needs no time for this. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notation.h"

static const char *const op_names[] = {
#define OP(name, text, decode, class, cost, effect, since, ...) text,
#include "ops.def"
#undef OP
};

static const char *const op_since[] = {
#define OP(name, text, decode, class, cost, effect, since, ...) #since,
#include "ops.def"
#undef OP
};

static const char *const *const op_forms[] = {
#define OP(name, text, decode, class, cost, effect, since, ...) (const char *const[]){__VA_ARGS__, NULL},
#include "ops.def"
#undef OP
};

static ptx_named suffixes[] = {
#define PTX_X(name, text, bytes) {text, sizeof text - 1, {PTX_SUFFIX_TYPE, PTX_##name}},
    PTX_TYPE_MAP(PTX_X)
#undef PTX_X
#define PTX_X(name, text) {text, sizeof text - 1, {PTX_SUFFIX_SPACE, PTX_SPACE_##name}},
        PTX_SPACE_MAP(PTX_X)
#undef PTX_X
#define PTX_X(name, text) {text, sizeof text - 1, {PTX_SUFFIX_MOD, PTX_MOD_##name}},
            PTX_MOD_MAP(PTX_X)
#undef PTX_X
};

ptx_suffix ptx_suffix_find(const char *text, size_t length)
{
    for (size_t k = 0; k < KILN__COUNT(suffixes); k++)
        if (length && suffixes[k].length == length && memcmp(suffixes[k].text, text, length) == 0)
            return suffixes[k].suffix;
    return (ptx_suffix){PTX_SUFFIX_UNKNOWN, 0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const ptx_named *)a)->text, ((const ptx_named *)b)->text);
}

static bool write_suffixes(void)
{
    qsort(suffixes, KILN__COUNT(suffixes), sizeof *suffixes, by_text);
    printf("const ptx_named ptx_suffixes[] = {\n");
    size_t count = 0;
    for (size_t k = 0; k < KILN__COUNT(suffixes); k++) {
        if (k && strcmp(suffixes[k - 1].text, suffixes[k].text) == 0) {
            fprintf(stderr, "ptx.h: two suffixes are named '%s'\n", suffixes[k].text);
            return false;
        }
        if (suffixes[k].length == 0) /* the type PTX_NONE has no name */
            continue;
        count++;
        printf("    {\"%s\", %u, {%d, %u}},\n", suffixes[k].text, suffixes[k].length, (int)suffixes[k].suffix.kind,
               suffixes[k].suffix.value);
    }
    printf("};\nconst size_t ptx_suffix_count = %zu;\n\n", count);
    return true;
}

enum { SLOTS_MOST = 4096 };
static ptx_slot slots[SLOTS_MOST];
static unsigned slot_count;

static bool same_need(const ptx_need *a, const ptx_need *b)
{
    return a->suffix.kind == b->suffix.kind && a->suffix.value == b->suffix.value &&
           a->since.target == b->since.target && a->since.kind == b->since.kind;
}

static bool same_slot(const ptx_slot *a, const ptx_slot *b)
{
    bool same = memcmp(a->mods, b->mods, sizeof a->mods) == 0 && a->types == b->types && a->spaces == b->spaces &&
                a->optional == b->optional;
    for (unsigned k = 0; same && k < PTX_MAX_NEEDS; k++)
        same = same_need(&a->needs[k], &b->needs[k]);
    return same;
}

/* Returns the index of a suffix slot in the table of slots. Adds the slot if it is new. Returns SLOTS_MOST if the table
 * is full. */
static unsigned slot_place(const ptx_slot *slot)
{
    unsigned k = 0;
    while (k < slot_count && !same_slot(slot, &slots[k]))
        k++;
    if (k == slot_count && k < SLOTS_MOST)
        slots[slot_count++] = *slot;
    return k;
}

static bool write_form(const char *name, const char *text)
{
    ptx_form form;
    ptx_slot own[PTX_MAX_SLOTS];
    if (!ptx_form_compile(text, &form, own)) {
        fprintf(stderr, "ops.def: %s: this form is malformed: \"%s\"\n", name, text);
        return false;
    }
    printf("    {%u, %u, %u, {%u, %d}, {", form.slot_count, form.operand_count, form.operands_needed, form.since.target,
           form.since.kind);
    for (unsigned k = 0; k < form.slot_count; k++) {
        unsigned place = slot_place(&own[k]);
        if (place == SLOTS_MOST) {
            fprintf(stderr, "ops.def: more than %d different slots\n", SLOTS_MOST);
            return false;
        }
        printf("%s%u", k ? ", " : "", place);
    }
    printf("%s}, {", form.slot_count ? "" : "0");
    for (unsigned k = 0; k < form.operand_count; k++) {
        const ptx_pattern *p = &form.operands[k];
        printf("%s{'%c', %u, %u, %u, %u, %d, %d, %d}", k ? ", " : "", p->kind, p->width, p->type, p->pred, p->count,
               p->relaxed, p->optional, p->per_tile);
    }
    printf("%s}},\n", form.operand_count ? "" : "{0}");
    return true;
}

static bool write_list(unsigned op, unsigned first, unsigned count)
{
    ptx_since since = {0};
    const char *text = op_since[op];
    if (strcmp(text, "ANY") != 0 && !ptx_since_compile(text, strlen(text), &since)) {
        fprintf(stderr, "ops.def: %s: '%s' is no target\n", op_names[op], text);
        return false;
    }
    printf("    {&forms[%u], %u, {%u, %d}}, /* %s */\n", first, count, since.target, since.kind, op_names[op]);
    return true;
}

/* Writes the forms of all opcodes as one array, then the part of that array that belongs to each opcode (ptx_forms),
 * then the slots (ptx_slots). The slots come last because write_form() collects the distinct slots while it writes the
 * forms. On failure writes a message and returns false. */
static bool write_forms(void)
{
    unsigned count[PTX_OP_COUNT] = {0}, all = 0;
    printf("static const ptx_form forms[] = {\n");
    for (unsigned op = 0; op < PTX_OP_COUNT; op++)
        for (; op_forms[op][count[op]]; count[op]++)
            if (!write_form(op_names[op], op_forms[op][count[op]]))
                return false;
    printf("};\n\nconst ptx_form_list ptx_forms[PTX_OP_COUNT] = {\n");
    for (unsigned op = 0; op < PTX_OP_COUNT; all += count[op++])
        if (!write_list(op, all, count[op]))
            return false;
    printf("};\n\nconst ptx_slot ptx_slots[] = {\n");
    for (unsigned k = 0; k < slot_count; k++) {
        printf("    {{");
        for (unsigned n = 0; n < PTX_MOD_WORDS; n++)
            printf("%s0x%llx", n ? ", " : "", (unsigned long long)slots[k].mods[n]);
        printf("}, 0x%llx, 0x%x, %d, {", (unsigned long long)slots[k].types, slots[k].spaces, slots[k].optional);
        for (unsigned n = 0; n < PTX_MAX_NEEDS; n++) {
            const ptx_need *need = &slots[k].needs[n];
            printf("{{%d, %u}, {%u, %d}}, ", (int)need->suffix.kind, need->suffix.value, need->since.target,
                   need->since.kind);
        }
        printf("}},\n");
    }
    printf("};\n");
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 2 || !freopen(argv[1], "w", stdout)) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    printf("/* Written by sim/device/ptx/tables/main.c from ptx.h and ops.def. */\n#include \"ptx_internal.h\"\n\n");
    return write_suffixes() && write_forms() && fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
