/* link.c - links several parsed modules into one. A hash table has all names that are not local to a module, with the
 * definition of each name. The linker then gives new indices to the functions and symbols that it keeps. It changes all
 * references in place. */
#include <stdlib.h>
#include <string.h>

#include "ptx.h"
#include "random.h"

#define ERRORS_MOST 50u
#define GONE UINT32_MAX

/* An entry of the table: a global name, with its definition or, as long as there is no definition, with a
 * declaration. */
typedef struct meaning {
    const char *name; /* the name; NULL in a free slot of the table */
    /* the module and the index there of the definition, or of the first declaration if the name has no definition */
    uint32_t module, index;
    uint32_t align; /* for a .common variable: the largest alignment of all modules */
    bool function, defined, missed;
} meaning;

/* A definition of a global name in a module of a library. */
typedef struct provider {
    const char *name;
    uint32_t module;
} provider;

typedef struct linker {
    const kiln_allocator *mem;
    kiln__text *log;
    ptx_input *inputs;
    uint32_t count;
    bool (*builtin)(const char *name);
    meaning *table;
    size_t mask;
    uint64_t seed;       /* random odd number for the hash table */
    provider *providers; /* the definitions of all libraries, sorted by name */
    size_t provider_count;
    /* indexed by module: the number of names that the module defines and that have only a declaration in the table */
    uint32_t *missing;
    /* indexed by module: true if missing[m] is not 0 and the module m is not used yet */
    bool *wanted;
    uint32_t **functions, **symbols; /* indexed by module and old index: the new index, or GONE */
    /* indexed by module and function: the new index of the function that owns the body of this function, or GONE */
    uint32_t **owners;
    unsigned errors;
    bool memory;
} linker;

static void complain(linker *l, const char *format, ...) KILN__PRINTF(2, 3);
static void complain(linker *l, const char *format, ...)
{
    if (l->errors++ >= ERRORS_MOST)
        return;
    va_list arguments;
    va_start(arguments, format);
    kiln__text_puts(l->log, "nvlink error   : ");
    kiln__text_vprintf(l->log, format, arguments);
    kiln__text_puts(l->log, "\n");
    va_end(arguments);
}

/* ---- the table of names ---- */

/* Finds a name in the hash table by linear probing. Each link has another seed, so that nobody can write a text whose
 * names all begin at the same slot. */
static meaning *slot_of(const linker *l, const char *name)
{
    size_t at = (size_t)(kiln__hash(name, strlen(name)).low * l->seed >> 32) & l->mask;
    while (l->table[at].name && strcmp(l->table[at].name, name) != 0)
        at = (at + 1) & l->mask;
    return &l->table[at];
}

/* Allocates the table once for the names of all modules. */
static bool make_table(linker *l)
{
    size_t names = 0, size = 64;
    for (uint32_t m = 0; m < l->count; m++)
        names += (size_t)l->inputs[m].module->function_count + l->inputs[m].module->symbol_count;
    while (size < names * 2)
        size *= 2;
    l->table = kiln__calloc(l->mem, size, sizeof *l->table);
    l->mask = size - 1;
    return l->table != NULL;
}

static const ptx_function *function_at(const linker *l, const meaning *m)
{
    return &l->inputs[m->module].module->functions[m->index];
}

static const ptx_symbol *symbol_at(const linker *l, const meaning *m)
{
    return &l->inputs[m->module].module->symbols[m->index];
}

static unsigned linkage_of(const linker *l, const meaning *m)
{
    return m->function ? function_at(l, m)->linkage : symbol_at(l, m)->linkage;
}

static bool same_parameters(const linker *l, const meaning *a, const meaning *b)
{
    const ptx_function *f = function_at(l, a), *g = function_at(l, b);
    if (f->entry != g->entry || f->param_count != g->param_count || f->return_count != g->return_count)
        return false;
    for (uint32_t k = 0; k < f->param_count + f->return_count; k++)
        if (l->inputs[a->module].module->symbols[f->params[k]].bytes !=
            l->inputs[b->module].module->symbols[g->params[k]].bytes)
            return false;
    return true;
}

/* Returns true if two declarations of a name are compatible. */
static bool are_compatible(linker *l, const meaning *old, const meaning *new)
{
    const char *here = l->inputs[new->module].name, *there = l->inputs[old->module].name;
    const char *first = old->defined ? "defined" : "specified";
    if (old->function != new->function) {
        complain(l, "'%s' is a %s in '%s' and a %s in '%s'", new->name, old->function ? "function" : "variable", there,
                 new->function ? "function" : "variable", here);
        return false;
    }
    if (old->function) {
        if (same_parameters(l, old, new))
            return true;
        complain(l, "Prototype doesn't match for '%s' in '%s', first %s in '%s'", new->name, here, first, there);
        return false;
    }
    const ptx_symbol *a = symbol_at(l, old), *b = symbol_at(l, new);
    bool sized = a->bytes && b->bytes && a->linkage != PTX_COMMON && b->linkage != PTX_COMMON;
    if (a->space != b->space)
        complain(l, "Memory space doesn't match for '%s' in '%s', first %s in '%s'", new->name, here, first, there);
    else if (sized && a->bytes != b->bytes)
        complain(l, "Size doesn't match for '%s' in '%s', first %s in '%s'", new->name, here, first, there);
    else
        return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const provider *)a)->name, ((const provider *)b)->name);
}

/* Updates missing[] and wanted[] of all library modules that define the name. `missing` is true if the name has just
 * been declared without a definition. It is false if the name has just got a definition. */
static void count_missing(linker *l, const char *name, bool missing)
{
    size_t low = 0, high = l->provider_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(l->providers[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < l->provider_count && strcmp(l->providers[low].name, name) == 0; low++) {
        const uint32_t m = l->providers[low].module;
        l->missing[m] = missing ? l->missing[m] + 1 : l->missing[m] - 1;
        l->wanted[m] = l->missing[m] && !l->inputs[m].used;
    }
}

/* Adds a declaration or definition of a name to the table. */
static void add_meaning(linker *l, const meaning *new)
{
    meaning *old = slot_of(l, new->name);
    if (!old->name) {
        *old = *new;
        if (!new->defined)
            count_missing(l, new->name, true);
        return;
    }
    if (!are_compatible(l, old, new) || !new->defined)
        return;
    unsigned was = linkage_of(l, old), is = linkage_of(l, new);
    uint32_t align = old->align > new->align ? old->align : new->align;
    if (!old->defined)
        count_missing(l, new->name, false);
    if (!old->defined || (was == PTX_WEAK && is != PTX_WEAK) || (was == PTX_COMMON && is == PTX_VISIBLE)) {
        *old = *new;
    } else if (was == PTX_COMMON && is == PTX_COMMON) {
        if (symbol_at(l, new)->bytes > symbol_at(l, old)->bytes)
            *old = *new;
        old->align = align;
    } else if (is == PTX_VISIBLE && was == PTX_VISIBLE) {
        complain(l, "Multiple definition of '%s' in '%s', first defined in '%s'", new->name,
                 l->inputs[new->module].name, l->inputs[old->module].name);
    }
}

/* Returns true if other modules see the function. A function that is declared but not defined is always global. */
static bool function_is_global(const ptx_function *f) { return f->linkage != PTX_LOCAL || !f->defined; }

static bool symbol_is_global(const ptx_symbol *s)
{
    return s->function == UINT32_MAX && s->linkage != PTX_LOCAL &&
           (s->space == PTX_SPACE_GLOBAL || s->space == PTX_SPACE_CONST || s->space == PTX_SPACE_SHARED);
}

static void mention_all(linker *l, uint32_t m)
{
    const ptx_module *module = l->inputs[m].module;
    l->inputs[m].used = true;
    l->wanted[m] = false;
    for (uint32_t f = 0; f < module->function_count; f++)
        if (function_is_global(&module->functions[f]))
            add_meaning(l, &(meaning){.name = module->functions[f].name,
                                      .module = m,
                                      .index = f,
                                      .function = true,
                                      .defined = module->functions[f].defined});
    for (uint32_t s = 0; s < module->symbol_count; s++)
        if (symbol_is_global(&module->symbols[s]))
            add_meaning(l, &(meaning){.name = module->symbols[s].name,
                                      .module = m,
                                      .index = s,
                                      .align = module->symbols[s].align,
                                      .defined = module->symbols[s].linkage != PTX_EXTERN});
}

/* Appends the definitions of a library's module to the providers. If `write` is false, the function only counts the
 * definitions. */
static void list_providers(linker *l, uint32_t m, bool write)
{
    const ptx_module *module = l->inputs[m].module;
    for (uint32_t f = 0; f < module->function_count; f++)
        if (module->functions[f].defined && function_is_global(&module->functions[f])) {
            if (write)
                l->providers[l->provider_count] = (provider){module->functions[f].name, m};
            l->provider_count++;
        }
    for (uint32_t s = 0; s < module->symbol_count; s++)
        if (symbol_is_global(&module->symbols[s]) && module->symbols[s].linkage != PTX_EXTERN) {
            if (write)
                l->providers[l->provider_count] = (provider){module->symbols[s].name, m};
            l->provider_count++;
        }
}

/* Makes the sorted list of providers. Without this list, each missing name would need a search of all modules of the
 * libraries. The time would be quadratic if each module of a library needed the previous module. Returns false if
 * memory runs out. */
static bool make_providers(linker *l)
{
    l->missing = kiln__calloc(l->mem, (size_t)l->count + 1, sizeof *l->missing);
    l->wanted = kiln__calloc(l->mem, (size_t)l->count + 1, sizeof *l->wanted);
    for (uint32_t m = 0; m < l->count; m++)
        if (l->inputs[m].lazy)
            list_providers(l, m, false);
    l->providers = kiln__alloc(l->mem, (l->provider_count + 1) * sizeof *l->providers);
    if (!l->missing || !l->wanted || !l->providers)
        return false;
    l->provider_count = 0;
    for (uint32_t m = 0; m < l->count; m++)
        if (l->inputs[m].lazy)
            list_providers(l, m, true);
    qsort(l->providers, l->provider_count, sizeof *l->providers, by_name);
    return true;
}

/* Uses all modules that are not lazy, and then each library module that defines a missing name. The function goes
 * through the library modules in the order of the inputs. It does so repeatedly, because an earlier module may define a
 * name that a later module needs. */
static void resolve(linker *l)
{
    for (uint32_t m = 0; m < l->count; m++)
        if (!l->inputs[m].lazy)
            mention_all(l, m);
    for (uint32_t m = 0;;) {
        const bool *next = memchr(l->wanted + m, true, l->count - m);
        if (!next && m == 0)
            return;
        m = next ? (uint32_t)(next - l->wanted) : 0;
        if (next)
            mention_all(l, m);
    }
}

/* ---- new indices ---- */

/* Returns the table's entry for the function, or NULL if the function is local. */
static meaning *function_meaning(const linker *l, uint32_t m, uint32_t f)
{
    const ptx_function *function = &l->inputs[m].module->functions[f];
    return function_is_global(function) ? slot_of(l, function->name) : NULL;
}

static meaning *symbol_meaning(const linker *l, uint32_t m, uint32_t s)
{
    const ptx_symbol *symbol = &l->inputs[m].module->symbols[s];
    return symbol_is_global(symbol) ? slot_of(l, symbol->name) : NULL;
}

static bool is_chosen(const meaning *known, uint32_t m, uint32_t index)
{
    return !known || (known->module == m && known->index == index);
}

/* Gives new indices to the functions that the linker keeps. If the definition of another module replaces a function,
 * the first alias of this function becomes the owner of its body. */
static void number_functions(linker *l, uint32_t m, ptx_module *out)
{
    const ptx_module *module = l->inputs[m].module;
    for (uint32_t f = 0; f < module->function_count; f++) {
        l->functions[m][f] = is_chosen(function_meaning(l, m, f), m, f) ? out->function_count++ : GONE;
        l->owners[m][f] = l->functions[m][f];
    }
    for (uint32_t f = 0; f < module->function_count; f++) {
        uint32_t body = module->functions[f].alias_of;
        if (body && l->owners[m][body - 1] == GONE)
            l->owners[m][body - 1] = l->functions[m][f];
    }
}

/* Gives new indices to the functions and symbols that are kept, module by module. A function or symbol that is not kept
 * gets the index of the definition that replaces it. Returns false if memory runs out. */
static bool number(linker *l, ptx_module *out)
{
    for (uint32_t m = 0; m < l->count; m++) {
        const ptx_module *module = l->inputs[m].module;
        l->functions[m] = kiln__alloc(l->mem, ((size_t)module->function_count + 1) * sizeof **l->functions);
        l->symbols[m] = kiln__alloc(l->mem, ((size_t)module->symbol_count + 1) * sizeof **l->symbols);
        l->owners[m] = kiln__alloc(l->mem, ((size_t)module->function_count + 1) * sizeof **l->owners);
        if (!l->functions[m] || !l->symbols[m] || !l->owners[m])
            return false;
        if (l->inputs[m].used)
            number_functions(l, m, out);
        for (uint32_t s = 0; l->inputs[m].used && s < module->symbol_count; s++) {
            uint32_t owner = module->symbols[s].function;
            bool kept = owner == UINT32_MAX ? is_chosen(symbol_meaning(l, m, s), m, s)
                                            : owner < module->function_count && l->owners[m][owner] != GONE;
            l->symbols[m][s] = kept ? out->symbol_count++ : GONE;
        }
    }
    for (uint32_t m = 0; m < l->count; m++) {
        const ptx_module *module = l->inputs[m].module;
        for (uint32_t f = 0; l->inputs[m].used && f < module->function_count; f++)
            if (l->functions[m][f] == GONE) {
                const meaning *known = function_meaning(l, m, f);
                l->functions[m][f] = known->function ? l->functions[known->module][known->index] : GONE;
            }
        for (uint32_t s = 0; l->inputs[m].used && s < module->symbol_count; s++) {
            const meaning *known = symbol_meaning(l, m, s);
            if (l->symbols[m][s] == GONE && known)
                l->symbols[m][s] = known->function ? GONE : l->symbols[known->module][known->index];
        }
    }
    return true;
}

/* ---- references ---- */

static void miss(linker *l, uint32_t m, meaning *known, const char *name)
{
    if (known && known->missed)
        return;
    if (known)
        known->missed = true;
    complain(l, "Undefined reference to '%s' in '%s'", name, l->inputs[m].name);
}

static uint32_t move_function(linker *l, uint32_t m, uint32_t f)
{
    meaning *known = function_meaning(l, m, f);
    if (known && !known->defined && !l->builtin(known->name))
        miss(l, m, known, known->name);
    return l->functions[m][f];
}

static uint32_t move_symbol(linker *l, uint32_t m, uint32_t s)
{
    const ptx_symbol *symbol = &l->inputs[m].module->symbols[s];
    meaning *known = symbol_meaning(l, m, s);
    /* dynamic shared memory, whose size is given at the launch */
    bool dynamic = symbol->space == PTX_SPACE_SHARED && symbol->bytes == 0;
    if (l->symbols[m][s] == GONE || (known && !known->defined && !dynamic))
        miss(l, m, known, symbol->name);
    return l->symbols[m][s];
}

static void move_operand(linker *l, uint32_t m, ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_SYMBOL || (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_SYMBOL))
        o->index = move_symbol(l, m, o->index);
    else if (o->kind == PTX_OPERAND_FUNCTION)
        o->index = move_function(l, m, o->index);
}

/* Casts away `const`: the linker owns the modules, although their types mark them as read-only. */
static void *own(const void *pointer) { return (void *)(uintptr_t)pointer; }

static void move_code(linker *l, uint32_t m, const ptx_function *f, uint32_t first_loc)
{
    ptx_insn *insns = own(f->insns);
    ptx_operand *elements = own(f->elements);
    for (uint32_t k = 0; k < f->insn_count; k++) {
        insns[k].loc += insns[k].loc ? first_loc : 0;
        for (uint32_t o = 0; o < insns[k].operand_count && o < PTX_MAX_OPERANDS; o++)
            move_operand(l, m, &insns[k].operands[o]);
    }
    for (uint32_t k = 0; k < f->element_count; k++)
        move_operand(l, m, &elements[k]);
}

static int by_code(const void *a, const void *b)
{
    const ptx_function *const *f = a, *const *g = b;
    uintptr_t x = (uintptr_t)(*f)->insns, y = (uintptr_t)(*g)->insns;
    return x < y ? -1 : x > y;
}

/* Changes the references in all function bodies that the linker keeps. Aliases share a body, so the function sorts the
 * functions by body and changes each body once. Returns false if memory runs out. */
static bool move_bodies(linker *l, uint32_t m, uint32_t first_loc)
{
    const ptx_module *module = l->inputs[m].module;
    const ptx_function **kept = kiln__alloc(l->mem, ((size_t)module->function_count + 1) * sizeof *kept);
    uint32_t count = 0;
    if (!kept)
        return false;
    for (uint32_t f = 0; f < module->function_count; f++)
        if (module->functions[f].defined && is_chosen(function_meaning(l, m, f), m, f))
            kept[count++] = &module->functions[f];
    qsort(kept, count, sizeof *kept, by_code);
    for (uint32_t k = 0; k < count; k++)
        if (k == 0 || kept[k]->insns != kept[k - 1]->insns)
            move_code(l, m, kept[k], first_loc);
    kiln__free(l->mem, kept);
    return true;
}

/* ---- the new module ---- */

typedef struct lists {
    ptx_function *functions;
    ptx_symbol *symbols;
    ptx_loc *locs;
    const char **files;
} lists;

static bool move_module(linker *l, uint32_t m, ptx_module *out, const lists *to)
{
    ptx_module *module = l->inputs[m].module;
    uint32_t first_loc = out->loc_count - 1, first_file = out->file_count; /* all modules share entry 0 of `locs` */
    if (!move_bodies(l, m, first_loc))
        return false;
    for (uint32_t f = 0; f < module->function_count; f++) {
        if (!is_chosen(function_meaning(l, m, f), m, f))
            continue;
        ptx_function *function = &to->functions[l->functions[m][f]];
        *function = module->functions[f];
        uint32_t count = function->param_count + function->return_count;
        uint32_t *params = kiln__arena_alloc(&out->arena, ((size_t)count + 1) * sizeof *params);
        if (!params)
            return false;
        for (uint32_t k = 0; k < count; k++)
            params[k] = move_symbol(l, m, function->params[k]);
        function->params = params;
        if (function->alias_of) {
            uint32_t body = l->owners[m][function->alias_of - 1];
            function->alias_of = body == l->functions[m][f] ? 0 : body + 1;
        }
    }
    for (uint32_t s = 0; s < module->symbol_count; s++) {
        const ptx_symbol *from = &module->symbols[s];
        const meaning *known = symbol_meaning(l, m, s);
        if (l->symbols[m][s] == GONE || !is_chosen(known, m, s))
            continue;
        ptx_symbol *symbol = &to->symbols[l->symbols[m][s]];
        *symbol = *from;
        if (from->linkage == PTX_COMMON && known)
            symbol->align = known->align;
        if (from->function != UINT32_MAX)
            symbol->function = l->owners[m][from->function];
        ptx_reloc *relocs = own(from->relocs);
        for (size_t k = 0; k < from->reloc_count; k++)
            relocs[k].index = relocs[k].function ? move_function(l, m, relocs[k].index)
                                                 : move_symbol(l, m, relocs[k].index);
    }
    for (uint32_t k = 1; k < module->loc_count; k++) {
        ptx_loc loc = module->locs[k];
        loc.file += first_file;
        loc.inlined_at += loc.inlined_at ? first_loc : 0;
        to->locs[out->loc_count++] = loc;
    }
    for (uint32_t k = 0; k < module->file_count; k++)
        to->files[out->file_count++] = module->files[k];
    return true;
}

/* Fills the linked module from the inputs that are used. The linked module has the highest PTX version and the highest
 * target of the inputs. The functions and symbols get their new indices before any reference changes, because a
 * reference may point to a later input. Entry 0 of `locs` stands for "no source position". Instructions of all inputs
 * use it. Undefined references are logged and counted in l->errors. The function still returns true for them. Returns
 * false if memory runs out, or if there are more source positions or files than 32 bits can count. */
static bool build(linker *l, ptx_module *out)
{
    size_t locs = 1, files = 0;
    for (uint32_t m = 0; m < l->count; m++) {
        const ptx_module *module = l->inputs[m].module;
        if (!l->inputs[m].used)
            continue;
        locs += module->loc_count;
        files += module->file_count;
        if (module->version_major * 100 + module->version_minor > out->version_major * 100 + out->version_minor)
            out->version_major = module->version_major, out->version_minor = module->version_minor;
        if (module->target > out->target)
            out->target = module->target;
    }
    if (locs > UINT32_MAX || files > UINT32_MAX || !number(l, out))
        return false;
    kiln__arena *arena = &out->arena;
    lists to = {.functions = kiln__arena_alloc(arena, ((size_t)out->function_count + 1) * sizeof *to.functions),
                .symbols = kiln__arena_alloc(arena, ((size_t)out->symbol_count + 1) * sizeof *to.symbols),
                .locs = kiln__arena_alloc(arena, locs * sizeof *to.locs),
                .files = kiln__arena_alloc(arena, (files + 1) * sizeof *to.files)};
    if (arena->failed)
        return false;
    out->functions = to.functions;
    out->symbols = to.symbols;
    out->locs = to.locs;
    out->files = to.files;
    out->loc_count = 1;
    for (uint32_t m = 0; m < l->count; m++)
        if (l->inputs[m].used && !move_module(l, m, out, &to))
            return false;
    return true;
}

ptx_result ptx_link(const kiln_allocator *mem, ptx_input *inputs, uint32_t count, bool (*builtin)(const char *name),
                    ptx_module **module, kiln__text *log)
{
    linker l = {.mem = mem,
                .log = log,
                .inputs = inputs,
                .count = count,
                .builtin = builtin,
                .seed = kiln__random_mix(kiln__now_ns() ^ (uintptr_t)inputs) | 1};
    ptx_module *out = kiln__calloc(mem, 1, sizeof *out);
    l.functions = kiln__calloc(mem, (size_t)count + 1, sizeof *l.functions);
    l.symbols = kiln__calloc(mem, (size_t)count + 1, sizeof *l.symbols);
    l.owners = kiln__calloc(mem, (size_t)count + 1, sizeof *l.owners);
    *module = NULL;
    bool whole = out && l.functions && l.symbols && l.owners && make_table(&l) && make_providers(&l);
    if (whole) {
        out->arena.mem = mem;
        resolve(&l);
    }
    if (whole && l.errors == 0)
        whole = build(&l, out);
    for (uint32_t m = 0; m < count; m++) {
        if (out && inputs[m].used)
            kiln__arena_join(&out->arena, &inputs[m].module->arena); /* names, code, initialisers */
        ptx_free(mem, inputs[m].module);
        inputs[m].module = NULL;
        kiln__free(mem, l.functions ? l.functions[m] : NULL);
        kiln__free(mem, l.symbols ? l.symbols[m] : NULL);
        kiln__free(mem, l.owners ? l.owners[m] : NULL);
    }
    kiln__free(mem, l.functions);
    kiln__free(mem, l.symbols);
    kiln__free(mem, l.owners);
    kiln__free(mem, l.table);
    kiln__free(mem, l.providers);
    kiln__free(mem, l.missing);
    kiln__free(mem, l.wanted);
    if (whole && l.errors == 0) {
        *module = out;
        return PTX_OK;
    }
    ptx_free(mem, out);
    return whole ? PTX_INVALID : PTX_MEMORY;
}
