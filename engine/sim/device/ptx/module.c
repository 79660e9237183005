/* module.c - ptx_parse(), and the directives outside of functions. */
#include <inttypes.h>
#include <string.h>

#include "ptx_internal.h"
#include "random.h"

/* Skips a statement: up to and including the next ';', or the whole block if a '{' comes first. Stops before a '}' that
 * has no '{' in the statement. The parser calls this function after an error, and for directives that have no effect in
 * the simulator. */
void ptx_skip_statement(ptx_parser *p)
{
    unsigned open = 0;
    while (p->token.kind != PTX_TOKEN_END) {
        if (ptx_is(p, '{')) {
            open++;
        } else if (ptx_is(p, '}')) {
            if (open == 0)
                return;
            if (--open == 0) {
                ptx_next(p);
                return;
            }
        } else if (ptx_is(p, ';') && open == 0) {
            ptx_next(p);
            return;
        }
        ptx_next(p);
    }
}

static bool ptx_version(ptx_parser *p)
{
    ptx_next(p);
    double version;
    if (p->token.kind != PTX_TOKEN_NUMBER || p->token.value.kind != PTX_FLOAT64)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected a version such as 9.0", ptx_shown(p));
    memcpy(&version, &p->token.value.bits, sizeof version);
    if (!(version >= 1.0 && version < 100.0))
        return ptx_error(p, p->token.line, "PTX version %s is not supported", ptx_shown(p));
    p->module->version_major = (int)version;
    p->module->version_minor = (int)((version - (int)version) * 10 + 0.5);
    ptx_next(p);
    return true;
}

static bool ptx_target(ptx_parser *p)
{
    do {
        ptx_next(p);
        if (p->token.kind != PTX_TOKEN_NAME)
            return ptx_error(p, p->token.line, "Parsing error near %s: expected a target such as sm_80", ptx_shown(p));
        if (p->token.length > 3 && memcmp(p->token.text, "sm_", 3) == 0) {
            int target = 0;
            for (size_t i = 3; i < p->token.length && p->token.text[i] >= '0' && p->token.text[i] <= '9'; i++)
                target = target > 9999 ? target : target * 10 + (p->token.text[i] - '0');
            if (target < 10)
                return ptx_error(p, p->token.line, "%s is not a target", ptx_shown(p));
            p->module->target = target;
            p->module->target_kind = 0;
            if (p->token.text[p->token.length - 1] == 'a' || p->token.text[p->token.length - 1] == 'f')
                p->module->target_kind = p->token.text[p->token.length - 1];
        }
        ptx_next(p);
    } while (ptx_is(p, ','));
    return true;
}

static bool ptx_address_size(ptx_parser *p)
{
    uint64_t size;
    uint32_t line = p->token.line;
    ptx_next(p);
    if (!ptx_expect_integer(p, 64, "an address size", &size))
        return false;
    return size == 64 ||
           ptx_unsupported(p, line, "address size %" PRIu64 " is not supported by the simulated device", size);
}

static bool ptx_linkage_word(ptx_parser *p, ptx_linkage *linkage)
{
    static const struct {
        const char *name;
        ptx_linkage linkage;
    } words[] = {{"visible", PTX_VISIBLE}, {"extern", PTX_EXTERN}, {"weak", PTX_WEAK}, {"common", PTX_COMMON}};
    for (size_t i = 0; i < KILN__COUNT(words); i++) {
        if (ptx_is_directive(p, words[i].name)) {
            *linkage = words[i].linkage;
            ptx_next(p);
            return true;
        }
    }
    return false;
}

/* Reads one directive at module scope, or a stray ';'. A declaration begins with linkage directives such as .visible,
 * then .entry, .func or a state space. Returns false after an error. The caller then skips to the end of the
 * statement. */
static bool ptx_directive(ptx_parser *p)
{
    ptx_linkage linkage = PTX_LOCAL;
    if (p->token.kind == PTX_TOKEN_PUNCTUATION && p->token.character == ';') {
        ptx_next(p);
        return true;
    }
    if (p->token.kind != PTX_TOKEN_DIRECTIVE)
        return ptx_error(p, p->token.line, "Parsing error near %s: expected a directive", ptx_shown(p));
    if (ptx_is_directive(p, "version"))
        return ptx_version(p);
    if (ptx_is_directive(p, "target"))
        return ptx_target(p);
    if (ptx_is_directive(p, "address_size"))
        return ptx_address_size(p);
    if (ptx_is_directive(p, "file"))
        return ptx_file_directive(p);
    if (ptx_is_directive(p, "section"))
        return ptx_section(p);
    if (ptx_is_directive(p, "loc"))
        return ptx_loc_directive(p);
    if (ptx_is_directive(p, "alias"))
        return ptx_alias(p);
    if (ptx_is_directive(p, "pragma")) {
        ptx_skip_statement(p);
        return true;
    }
    while (ptx_linkage_word(p, &linkage))
        continue;
    bool entry = ptx_is_directive(p, "entry");
    if (entry || ptx_is_directive(p, "func")) {
        ptx_next(p);
        return ptx_function_directive(p, entry, linkage);
    }
    ptx_suffix suffix = {PTX_SUFFIX_UNKNOWN, 0};
    if (p->token.kind == PTX_TOKEN_DIRECTIVE)
        suffix = ptx_suffix_find(p->token.text, p->token.length);
    if (suffix.kind != PTX_SUFFIX_SPACE || suffix.value == PTX_SPACE_PARAM)
        return ptx_error(p, p->token.line, "Parsing error near %s: unknown directive", ptx_shown(p));
    ptx_next(p);
    return ptx_variable(p, (ptx_space)suffix.value, linkage);
}

static bool ptx_module_finish(ptx_parser *p)
{
    ptx_module *module = p->module;
    for (size_t i = 0; i < p->loc_note_count; i++)
        p->locs[p->loc_notes[i].loc].inlined_from = p->loc_notes[i].label->string;
    module->functions = ptx_keep(p, p->functions, p->function_count, sizeof *p->functions);
    module->symbols = ptx_keep(p, p->symbols, p->symbol_count, sizeof *p->symbols);
    module->locs = ptx_keep(p, p->locs, p->loc_count, sizeof *p->locs);
    module->files = ptx_keep(p, p->files, p->file_count, sizeof *p->files);
    module->function_count = (uint32_t)p->function_count;
    module->symbol_count = (uint32_t)p->symbol_count;
    module->loc_count = (uint32_t)p->loc_count;
    module->file_count = (uint32_t)p->file_count;
    return !p->memory && !module->arena.failed;
}

static void ptx_module_read(ptx_parser *p)
{
    if (!ptx_names_init(p))
        return;
    p->depth = PTX_DEPTH_MODULE;
    if (!ptx_loc_add(p, (ptx_loc){0}) && p->memory)
        return;
    ptx_next(p);
    while (p->token.kind != PTX_TOKEN_END) {
        const char *before = p->token.text;
        if (!ptx_directive(p)) {
            ptx_skip_statement(p);
            if (p->token.kind != PTX_TOKEN_END && (ptx_is(p, '}') || p->token.text == before))
                ptx_next(p);
        }
    }
    if (!p->memory && !p->errors && !p->module->target)
        ptx_error(p, 1, "Missing .version or .target directive at start of file");
}

static void ptx_parser_free(ptx_parser *p)
{
    void *const arrays[] = {p->names,     p->spellings,     p->symbols, p->functions, p->locs, p->loc_notes,
                            p->loc_index, (void *)p->files, p->insns,   p->elements,  p->regs, p->prototypes};
    for (size_t i = 0; i < KILN__COUNT(arrays); i++)
        kiln__free(p->mem, arrays[i]);
    kiln__arena_free(&p->scratch);
    kiln__free(p->mem, p);
}

ptx_result ptx_parse(const kiln_allocator *mem, const char *text, size_t length, ptx_module **module, kiln__text *log)
{
    return ptx_parse_for(0, mem, text, length, module, log);
}

ptx_result ptx_parse_for(int device, const kiln_allocator *mem, const char *text, size_t length, ptx_module **module,
                         kiln__text *log)
{
    *module = NULL;
    ptx_parser *p = kiln__calloc(mem, 1, sizeof *p);
    ptx_module *made = kiln__calloc(mem, 1, sizeof *made);
    if (!p || !made) {
        kiln__free(mem, p);
        kiln__free(mem, made);
        return PTX_MEMORY;
    }
    made->arena.mem = mem;
    /* assigns single members, because an assignment of the whole struct would clear its 10 KB once more */
    p->mem = p->scratch.mem = mem;
    p->seed = (uint32_t)kiln__random_mix(kiln__now_ns() ^ (uintptr_t)p);
    p->module = made;
    p->log = log;
    p->device = device;
    p->start = p->cursor = text;
    p->end = text + length;
    p->line = 1;
    p->function = UINT32_MAX;
    ptx_result result = PTX_OK;
    if (length >= UINT32_MAX / 2)
        ptx_error(p, 1, "the text is larger than 2 GiB");
    else
        ptx_module_read(p);
    if (p->memory || p->scratch.failed || made->arena.failed)
        result = PTX_MEMORY;
    else if (p->errors)
        result = p->invalid ? PTX_INVALID : PTX_UNSUPPORTED;
    else if (!ptx_module_finish(p))
        result = PTX_MEMORY;
    if (p->errors && result != PTX_MEMORY)
        kiln__text_puts(log, "ptxas fatal   : Ptx assembly aborted due to errors\n");
    if (result == PTX_OK)
        *module = made;
    else
        ptx_free(mem, made);
    ptx_parser_free(p);
    return result;
}

void ptx_free(const kiln_allocator *mem, ptx_module *module)
{
    if (!module)
        return;
    kiln__arena_free(&module->arena);
    kiln__free(mem, module);
}
