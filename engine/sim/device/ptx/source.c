/* source.c - source positions of instructions: reads .loc and .file, and the names of inlined functions in debug
 * sections. */
#include <string.h>

#include "ptx_internal.h"

static uint32_t ptx_loc_hash(const ptx_parser *p, const ptx_loc *loc)
{
    uint32_t hash = (p->seed ^ loc->file) * 0x9E3779B1u;
    hash = (hash ^ hash >> 15 ^ loc->line) * 0x85EBCA77u;
    hash = (hash ^ hash >> 13 ^ loc->column) * 0xC2B2AE3Du;
    return hash ^ hash >> 16;
}

static bool ptx_same_place(const ptx_loc *a, const ptx_loc *b)
{
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

static uint32_t *ptx_loc_find(ptx_parser *p, const ptx_loc *loc)
{
    if (p->loc_index_count * 2 >= p->loc_index_capacity) {
        size_t capacity = p->loc_index_capacity ? p->loc_index_capacity * 2 : 256;
        uint32_t *wider = kiln__calloc(p->mem, capacity, sizeof *wider);
        if (!wider) {
            ptx_out_of_memory(p);
            return NULL;
        }
        for (size_t i = 0; i < p->loc_index_capacity; i++) {
            if (!p->loc_index[i])
                continue;
            size_t at = ptx_loc_hash(p, &p->locs[p->loc_index[i]]) & (capacity - 1);
            while (wider[at])
                at = (at + 1) & (capacity - 1);
            wider[at] = p->loc_index[i];
        }
        kiln__free(p->mem, p->loc_index);
        p->loc_index = wider;
        p->loc_index_capacity = capacity;
    }
    size_t at = ptx_loc_hash(p, loc) & (p->loc_index_capacity - 1);
    while (p->loc_index[at] && !ptx_same_place(&p->locs[p->loc_index[at]], loc))
        at = (at + 1) & (p->loc_index_capacity - 1);
    return &p->loc_index[at];
}

/* Adds a source position and returns its index, or 0 if memory runs out. A later "inlined_at" with the same place
 * refers to the latest entry for this place. */
uint32_t ptx_loc_add(ptx_parser *p, ptx_loc loc)
{
    if (!ptx_grow(p, &p->locs, &p->loc_capacity, p->loc_count + 1, sizeof loc))
        return 0;
    uint32_t index = (uint32_t)p->loc_count;
    p->locs[p->loc_count++] = loc;
    uint32_t *slot = ptx_loc_find(p, &loc);
    if (!slot)
        return 0;
    p->loc_index_count += *slot == 0;
    *slot = index;
    return index;
}

static bool ptx_place(ptx_parser *p, ptx_loc *loc)
{
    uint64_t file = 0, line = 0, column = 0;
    if (!ptx_expect_integer(p, UINT32_MAX, "a file's number", &file) ||
        !ptx_expect_integer(p, UINT32_MAX, "a line", &line))
        return false;
    if (p->token.kind == PTX_TOKEN_NUMBER && !ptx_expect_integer(p, UINT32_MAX, "a column", &column))
        return false;
    *loc = (ptx_loc){.file = (uint32_t)file, .line = (uint32_t)line, .column = (uint32_t)column};
    return true;
}

static bool ptx_word(ptx_parser *p, const char *word)
{
    if (p->token.kind != PTX_TOKEN_NAME || p->token.length != strlen(word) ||
        memcmp(p->token.text, word, p->token.length) != 0)
        return false;
    ptx_next(p);
    return true;
}

/* Reads ".loc file line [column]", with "function_name label" and "inlined_at file line [column]" after a comma. The
 * new entry becomes the position of the instructions that follow (p->loc).
 *
 * An inlined position refers to the latest entry for the place at which it was inlined. If there is no such entry, the
 * function adds one. The name of the inlined function is a string of .debug_str, which may come later in the text. So
 * ptx_loc_directive() only stores the label, and ptx_module_finish() reads the string later. Returns false after an
 * error. */
bool ptx_loc_directive(ptx_parser *p)
{
    ptx_loc loc, outer;
    ptx_name *label = NULL;
    uint32_t line = p->token.line;
    ptx_next(p);
    if (!ptx_place(p, &loc))
        return false;
    while (ptx_accept(p, ',')) {
        if (ptx_word(p, "function_name")) {
            int64_t offset;
            if (!ptx_name_wanted(p, "a label", &label) || (ptx_is(p, '+') && !ptx_integer(p, &offset)))
                return false;
        } else if (ptx_word(p, "inlined_at")) {
            if (!ptx_place(p, &outer))
                return false;
            uint32_t *slot = ptx_loc_find(p, &outer);
            if (!slot)
                return false;
            loc.inlined_at = *slot ? *slot : ptx_loc_add(p, outer);
        } else {
            return ptx_error(p, line, "Parsing error near %s: expected 'function_name' or 'inlined_at'", ptx_shown(p));
        }
    }
    p->loc = ptx_loc_add(p, loc);
    if (label && p->loc) {
        if (!ptx_grow(p, &p->loc_notes, &p->loc_note_capacity, p->loc_note_count + 1, sizeof *p->loc_notes))
            return false;
        p->loc_notes[p->loc_note_count++] = (ptx_loc_note){p->loc, label};
    }
    return !p->memory;
}

bool ptx_file_directive(ptx_parser *p)
{
    uint64_t number, unused;
    ptx_next(p);
    if (!ptx_expect_integer(p, 1 << 20, "a file's number", &number))
        return false;
    if (p->token.kind != PTX_TOKEN_STRING)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected a file's name", ptx_shown(p));
    const char *name = kiln__arena_strndup(&p->module->arena, p->token.text, p->token.length);
    if (!name)
        return ptx_out_of_memory(p);
    ptx_next(p);
    while (ptx_accept(p, ','))
        if (!ptx_expect_integer(p, UINT64_MAX, "a number", &unused))
            return false;
    /* Compilers write consecutive numbers; a very large one would waste memory. */
    if (number > p->file_count + 65536)
        return true;
    if (!ptx_grow(p, &p->files, &p->file_capacity, (size_t)number + 1, sizeof *p->files))
        return false;
    while (p->file_count <= number)
        p->files[p->file_count++] = "";
    p->files[number] = name;
    return true;
}

/* Skips a debug section. In .debug_str, stores each string with its label, because function_name of a .loc refers to
 * the label. */
bool ptx_section(ptx_parser *p)
{
    ptx_next(p);
    bool strings = ptx_is_directive(p, "debug_str");
    while (!ptx_is(p, '{')) {
        if (p->token.kind == PTX_TOKEN_END || ptx_is(p, ';'))
            return ptx_error(p, p->token.line, "Parsing error near %s: expected '{'", ptx_shown(p));
        ptx_next(p);
    }
    kiln__text text = {.mem = p->mem};
    ptx_name *label = NULL;
    while (!ptx_is(p, '}') && p->token.kind != PTX_TOKEN_END) {
        if (strings && p->token.kind == PTX_TOKEN_NAME && ptx_peek(p) == ':') {
            label = p->token.name;
            text.length = 0;
        } else if (label && p->token.kind == PTX_TOKEN_NUMBER) {
            char byte = (char)p->token.value.bits;
            kiln__text_add(&text, &byte, 1);
            if (text.failed || (!byte && !(label->string = kiln__arena_strdup(&p->module->arena, text.data)))) {
                ptx_out_of_memory(p);
                break;
            }
            if (!byte)
                label = NULL;
        }
        ptx_next(p);
    }
    kiln__text_free(&text);
    return ptx_expect(p, '}');
}
