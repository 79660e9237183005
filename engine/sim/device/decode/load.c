/* load.c - loads a parsed module, so that its kernels can run: allocates its variables and decodes its functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm_decode.h"
#include "vm_jit.h"
#include "vm_limit.h"
#include "vm_memory.h"

/* A recursive kernel gets local memory for this number of frames of each function that it can reach. */
#define STACK_FRAMES 64u
/* The number of bytes of local memory that a kernel gets for alloca. */
#define ALLOCA_BYTES 16384u
/* Largest static shared memory of a kernel in bytes, on every architecture. Larger arrays must be dynamic. */
#define STATIC_SHARED_MOST 0xc000u
/* Limit of the steps of all call-graph searches of a module together. This number of steps takes a few seconds. */
#define REACH_MOST ((uint64_t)1 << 28)
#define SORT_STEPS 16u /* number of steps for which sorting one shared variable counts */

/* KILN_SIM_ISA can select a lower instruction set than the best one of the host, so that one host can test the handlers
 * of all sets. */
const vm_handlers *decode_table(void)
{
    const char *asked = getenv("KILN_SIM_ISA");
    bool avx2 = !asked || strcmp(asked, "base") != 0, avx512 = avx2 && (!asked || strcmp(asked, "avx2") != 0);
    (void)avx2, (void)avx512;
#if defined(VM_HAVE_AVX512)
    if (avx512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return ops_table_avx512;
#endif
#if defined(VM_HAVE_AVX2)
    if (avx2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return ops_table_avx2;
#endif
    return ops_table_base;
}

/* ---- the functions and variables that a kernel can reach ---- */

/* The call graph. For each kernel, a depth-first search finds the functions and the shared variables that the kernel
 * can reach. The search has its own stack and no recursion, because a chain of calls may be as long as the text of the
 * module. Before the first search, the loader reads the code of all functions once and makes the graph. So each search
 * visits only the functions that its kernel reaches. */
typedef enum reach_state { REACH_NEW, REACH_OPEN, REACH_DONE } reach_state;
typedef struct reach_place {
    uint32_t function, edge; /* edge: the index of the next edge to follow */
} reach_place;

/* An edge of the call graph: the code of a function names a shared variable, calls another function, or takes the
 * address of a function. */
typedef struct reach_edge {
    uint32_t index;
    bool function;
} reach_edge;
typedef struct reach_node {
    uint32_t first, end; /* the function's edges are edges[first] to edges[end - 1] */
    bool indirect, alloca_used;
} reach_node;

typedef struct reach_set {
    const ptx_module *ptx;
    reach_node *nodes; /* indexed by function */
    reach_edge *edges;
    size_t edge_count, edge_capacity;
    /* Indexed by symbol, and by function: the number, plus 1, of the last function that has got an edge to this symbol
     * or function. */
    uint32_t *last_symbol, *last_function;
    uint64_t steps; /* number of steps of all searches so far */
    /* The members from here on are the state of one search. */
    /* Indexed by function: a reach_state. REACH_OPEN means that the function is on the stack, so a call of it is a
     * recursion. */
    uint8_t *states;
    bool *named;                   /* indexed by symbol: true if the search has reached it */
    uint32_t *functions, *symbols; /* the functions and the shared variables that the search has reached */
    uint32_t function_count, symbol_count;
    bool indirect, recursive, alloca_used;
    reach_place *stack;
    uint32_t depth, next; /* next: the next function that an indirect call makes the search visit */
} reach_set;

/* If the operand names a shared variable or a function, adds an edge from function `f` to it. Does nothing if this edge
 * exists already. Returns false if memory runs out. */
static bool add_edge(const vm_module *module, reach_set *set, uint32_t f, const ptx_operand *o)
{
    const bool symbol = o->kind == PTX_OPERAND_SYMBOL || (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_SYMBOL);
    if (symbol ? set->ptx->symbols[o->index].space != PTX_SPACE_SHARED
               : o->kind != PTX_OPERAND_FUNCTION ||
                     set->ptx->functions[o->index].entry) /* a kernel can be launched but not called */
        return true;
    uint32_t *last = symbol ? &set->last_symbol[o->index] : &set->last_function[o->index];
    if (*last == f + 1)
        return true;
    *last = f + 1;
    if (!kiln__grow(module->device->mem, &set->edges, &set->edge_capacity, set->edge_count + 1, sizeof *set->edges))
        return false;
    set->edges[set->edge_count++] = (reach_edge){o->index, !symbol};
    return true;
}

/* Collects the edges of a function from its code. Returns false if memory runs out. */
static bool read_node(const vm_module *module, reach_set *set, uint32_t index)
{
    const ptx_function *f = &set->ptx->functions[index];
    reach_node *node = &set->nodes[index];
    bool good = true;
    node->first = (uint32_t)set->edge_count;
    for (uint32_t k = 0; good && k < f->insn_count; k++) {
        const ptx_insn *in = &f->insns[k];
        node->alloca_used |= in->op == PTX_OP_ALLOCA;
        node->indirect |= in->op == PTX_OP_CALL && in->operand_count > 1 && in->operands[1].kind == PTX_OPERAND_REG;
        for (uint32_t n = 0; good && n < in->operand_count && n < PTX_MAX_OPERANDS; n++) {
            const ptx_operand *o = &in->operands[n];
            good = add_edge(module, set, index, o);
            if (o->kind == PTX_OPERAND_VECTOR || o->kind == PTX_OPERAND_LIST)
                for (uint32_t e = 0; good && e < o->count; e++)
                    good = add_edge(module, set, index, &f->elements[o->index + e]);
        }
    }
    node->end = (uint32_t)set->edge_count;
    return good && set->edge_count <= UINT32_MAX;
}

/* Reads the code of all functions into the graph. Returns false if memory runs out. */
static bool begin_reach(vm_module *module, reach_set *set)
{
    const size_t functions = (size_t)module->ptx->function_count + 1, symbols = (size_t)module->ptx->symbol_count + 1;
    kiln__arena *arena = &module->arena;
    *set = (reach_set){.ptx = module->ptx,
                       .nodes = kiln__arena_alloc(arena, functions * sizeof *set->nodes),
                       .last_symbol = kiln__arena_alloc(arena, symbols * sizeof *set->last_symbol),
                       .last_function = kiln__arena_alloc(arena, functions * sizeof *set->last_function),
                       .states = kiln__arena_alloc(arena, functions),
                       .named = kiln__arena_alloc(arena, symbols),
                       .functions = kiln__arena_alloc(arena, functions * sizeof *set->functions),
                       .symbols = kiln__arena_alloc(arena, symbols * sizeof *set->symbols),
                       .stack = kiln__arena_alloc(arena, functions * sizeof *set->stack)};
    bool good = !arena->failed;
    for (uint32_t f = 0; good && f < module->ptx->function_count; f++)
        good = read_node(module, set, f);
    return good;
}

static void reach_open(reach_set *set, uint32_t index)
{
    if (set->states[index] == REACH_OPEN)
        set->recursive = true;
    if (set->states[index] != REACH_NEW)
        return;
    set->states[index] = REACH_OPEN;
    set->functions[set->function_count++] = index;
    set->indirect |= set->nodes[index].indirect;
    set->alloca_used |= set->nodes[index].alloca_used;
    set->stack[set->depth++] = (reach_place){index, set->nodes[index].first};
}

/* Follows the next edge of the function on top of the stack. If the function has no further edge, removes it from the
 * stack. */
static void reach_step(reach_set *set)
{
    reach_place *top = &set->stack[set->depth - 1];
    set->steps++;
    if (top->edge == set->nodes[top->function].end) {
        set->states[top->function] = REACH_DONE;
        set->depth--;
        return;
    }
    const reach_edge edge = set->edges[top->edge++];
    if (edge.function) {
        reach_open(set, edge.index);
    } else if (!set->named[edge.index]) {
        set->named[edge.index] = true;
        set->symbols[set->symbol_count++] = edge.index;
        set->steps += SORT_STEPS;
    }
}

static int by_index(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Finds the functions and the shared variables that a kernel can reach, and sorts the variables in the order of the
 * text. If a reached function makes an indirect call, all functions of the module count as reached. */
static void find_reached(reach_set *set, uint32_t kernel)
{
    for (uint32_t k = 0; k < set->function_count; k++)
        set->states[set->functions[k]] = REACH_NEW;
    for (uint32_t k = 0; k < set->symbol_count; k++)
        set->named[set->symbols[k]] = false;
    set->function_count = set->symbol_count = 0;
    set->indirect = set->recursive = set->alloca_used = false;
    set->depth = set->next = 0;
    reach_open(set, kernel);
    while (set->depth) {
        reach_step(set);
        while (set->indirect && set->depth == 0 && set->next < set->ptx->function_count) {
            uint32_t other = set->next++;
            if (!set->ptx->functions[other].entry && set->ptx->functions[other].defined)
                reach_open(set, other);
        }
    }
    qsort(set->symbols, set->symbol_count, sizeof *set->symbols, by_index);
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return align > 1 ? (value + align - 1) / align * align : value;
}

/* ---- variables ---- */

/* Sets the number of bytes of local memory that each thread of a kernel gets. For recursive kernels and for alloca the
 * number is an estimate, because the needed memory is known only at run time. */
static void place_frames(vm_module *module, uint32_t f, const reach_set *set)
{
    vm_function *kernel = &module->functions[f];
    const uint64_t most = vm_local_most(module->device);
    uint64_t local = 0;
    for (uint32_t k = 0; k < set->function_count; k++)
        local += align_up(module->functions[set->functions[k]].local_bytes, 16);
    kernel->recursive = set->recursive || set->indirect;
    if (kernel->recursive && local * STACK_FRAMES <= most)
        local *= STACK_FRAMES;
    else if (kernel->recursive && local < most)
        local = most;
    kernel->closure_local = local + (set->alloca_used ? ALLOCA_BYTES : 0);
}

/* Gives offsets to the shared variables that only this kernel uses, behind the variables that several kernels use. If
 * the kernel's shared variables are too large, writes a message and returns false. */
static bool place_own(vm_module *module, uint32_t f, const reach_set *set, const uint32_t *users, kiln__text *log)
{
    const ptx_module *ptx = module->ptx;
    const uint64_t low = vm_shared_low(module->device);
    /* `own` is the size of the kernel's shared variables together; variables of other kernels may lie between them */
    uint64_t end = low, own = 0;
    for (uint32_t k = 0; k < set->symbol_count; k++) {
        const uint32_t s = set->symbols[k];
        if (ptx->symbols[s].bytes && users[s] != 1) {
            own = align_up(own, ptx->symbols[s].align) + ptx->symbols[s].bytes;
            if (module->address[s] + ptx->symbols[s].bytes > end)
                end = module->address[s] + ptx->symbols[s].bytes;
        }
    }
    for (uint32_t k = 0; k < set->symbol_count; k++) {
        const uint32_t s = set->symbols[k];
        const ptx_symbol *symbol = &ptx->symbols[s];
        if (symbol->bytes == 0)
            module->functions[f].uses_dynamic = true;
        if (symbol->bytes == 0 || users[s] != 1)
            continue;
        module->address[s] = align_up(end, symbol->align);
        end = module->address[s] + symbol->bytes;
        own = align_up(own, symbol->align) + symbol->bytes;
    }
    if (own > STATIC_SHARED_MOST || end > VM_SHARED_WINDOW) {
        kiln__text_printf(
            log, "ptxas error   : Entry function '%s' uses too much shared data (0x%llx bytes, 0x%x max)\n",
            ptx->functions[f].name, (unsigned long long)(own > STATIC_SHARED_MOST ? own : end), STATIC_SHARED_MOST);
        return false;
    }
    module->functions[f].static_shared = end - low;
    if (end > module->dynamic_base && module->functions[f].uses_dynamic)
        module->dynamic_base = end;
    return true;
}

/* Gives offsets to the shared variables of all kernels, and sizes to their local memory. A variable that several
 * kernels use has the same offset in all of them, so these variables come first. The variables that only one kernel
 * uses follow. Dynamic shared memory comes last, and begins at the same offset in all kernels. */
static bool place_reached(vm_module *module, reach_set *set, kiln__text *log)
{
    const ptx_module *ptx = module->ptx;
    uint32_t *users = kiln__arena_alloc(&module->arena, ((size_t)ptx->symbol_count + 1) * sizeof *users);
    if (!users)
        return false;
    for (uint32_t f = 0; f < ptx->function_count; f++) {
        if (!ptx->functions[f].entry)
            continue;
        find_reached(set, f);
        place_frames(module, f, set);
        for (uint32_t k = 0; k < set->symbol_count; k++)
            users[set->symbols[k]]++;
        if (set->steps > REACH_MOST) {
            kiln__text_puts(log, "ptxas error   : the kernels of the module call too many functions\n");
            return false;
        }
    }
    const uint64_t low = vm_shared_low(module->device);
    uint64_t common = low;
    for (uint32_t s = 0; s < ptx->symbol_count; s++)
        if (ptx->symbols[s].space == PTX_SPACE_SHARED && ptx->symbols[s].bytes && users[s] != 1) {
            module->address[s] = align_up(common, ptx->symbols[s].align);
            common = module->address[s] + ptx->symbols[s].bytes;
        }
    for (uint32_t f = 0; f < ptx->function_count; f++) {
        if (!ptx->functions[f].entry)
            continue;
        find_reached(set, f);
        if (!place_own(module, f, set, users, log))
            return false;
    }
    uint64_t align = 128;
    module->dynamic_base = module->dynamic_base > low ? module->dynamic_base : low;
    for (uint32_t s = 0; s < ptx->symbol_count; s++)
        if (ptx->symbols[s].space == PTX_SPACE_SHARED && ptx->symbols[s].bytes == 0 && ptx->symbols[s].align > align)
            align = ptx->symbols[s].align;
    module->dynamic_base = align_up(module->dynamic_base, align);
    for (uint32_t s = 0; s < ptx->symbol_count; s++)
        if (ptx->symbols[s].space == PTX_SPACE_SHARED && ptx->symbols[s].bytes == 0)
            module->address[s] = module->dynamic_base;
    return true;
}

static bool place_shared(vm_module *module, kiln__text *log)
{
    reach_set set;
    const bool good = begin_reach(module, &set) && place_reached(module, &set, log);
    kiln__free(module->device->mem, set.edges);
    return good;
}

/* Finds the parameters whose address their function takes. The function copies these parameters to local memory, their
 * home (vm_op_home). Returns false if memory runs out. */
static bool find_homes(vm_module *module)
{
    const ptx_module *ptx = module->ptx;
    bool *taken = kiln__calloc(module->device->mem, (size_t)ptx->symbol_count + 1, sizeof *taken);
    if (!taken)
        return false;
    for (uint32_t n = 0; n < ptx->function_count; n++) {
        const ptx_function *f = &ptx->functions[n];
        for (uint32_t k = 0; k < f->insn_count && !f->entry; k++)
            for (uint32_t o = 0; o < f->insns[k].operand_count && o < PTX_MAX_OPERANDS; o++) {
                const ptx_operand *operand = &f->insns[k].operands[o];
                if (operand->kind == PTX_OPERAND_SYMBOL)
                    taken[operand->index] = true;
            }
    }
    for (uint32_t n = 0; n < ptx->function_count; n++) {
        const ptx_function *f = &ptx->functions[n];
        for (uint32_t p = f->return_count; p < f->return_count + f->param_count && !f->entry; p++)
            if (taken[f->params[p]])
                module->home[f->params[p]] = module->functions[n].has_homes = true;
    }
    kiln__free(module->device->mem, taken);
    return true;
}

/* If the operand names a local variable, returns the offset in the frame of the variable's end. Otherwise returns 0. */
static uint64_t local_end(const vm_module *module, const ptx_operand *o)
{
    if (o->kind != PTX_OPERAND_SYMBOL && !(o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_SYMBOL))
        return 0;
    const ptx_symbol *symbol = &module->ptx->symbols[o->index];
    return symbol->space == PTX_SPACE_LOCAL || module->home[o->index] ? module->address[o->index] + symbol->bytes : 0;
}

/* Makes the frame of each function large enough for all local variables and homes of parameters that its code names. A
 * variable has an offset in the frame of the function that declares it. An alias shares the code of a function, but has
 * its own frame. So the alias needs a frame as large as the frame of that function, because vm_op_home() writes to the
 * frame without a check at run time. Returns false if a frame is too large. */
static bool cover_locals(vm_module *module)
{
    for (uint32_t n = 0; n < module->ptx->function_count; n++) {
        const ptx_function *f = &module->ptx->functions[n];
        uint64_t end = 0, one;
        for (uint32_t k = 0; k < f->insn_count; k++)
            for (uint32_t o = 0; o < f->insns[k].operand_count && o < PTX_MAX_OPERANDS; o++)
                end = (one = local_end(module, &f->insns[k].operands[o])) > end ? one : end;
        for (uint32_t k = 0; k < f->element_count; k++)
            end = (one = local_end(module, &f->elements[k])) > end ? one : end;
        if (end > VM_LOCAL_BYTES_MAX)
            return false;
        end = align_up(end, 16);
        if (module->functions[n].local_bytes < end)
            module->functions[n].local_bytes = (uint32_t)end;
    }
    return true;
}

static bool place_local(vm_module *module)
{
    const ptx_module *ptx = module->ptx;
    if (!find_homes(module))
        return false;
    for (uint32_t s = 0; s < ptx->symbol_count; s++) {
        const ptx_symbol *symbol = &ptx->symbols[s];
        if ((symbol->space != PTX_SPACE_LOCAL && !module->home[s]) || symbol->function >= ptx->function_count)
            continue;
        vm_function *f = &module->functions[symbol->function];
        uint64_t at = align_up(f->local_bytes, symbol->align);
        if (at + symbol->bytes > VM_LOCAL_BYTES_MAX)
            return false;
        module->address[s] = at;
        f->local_bytes = (uint32_t)align_up(at + symbol->bytes, 16); /* frames start at multiples of 16 bytes */
    }
    return cover_locals(module);
}

/* Makes the module use the managed variable of the same name and size in `twin`, a load of the same module on another
 * device. Returns false if `twin` has no such variable. Also returns false if the variable is in the memory of the
 * module's own device, because modules on one device have separate variables. The search begins at *from, because two
 * loads of one module mostly have their variables in the same order. */
static bool borrow(vm_module *module, uint32_t s, const vm_module *twin, uint32_t *from)
{
    const ptx_symbol *symbol = &module->ptx->symbols[s];
    for (uint32_t n = 0; twin && symbol->managed && n < twin->managed_count; n++) {
        const uint32_t at = (*from + n) % twin->managed_count, k = twin->managed[at];
        const ptx_symbol *same = &twin->ptx->symbols[k];
        if (!twin->storage[k] || twin->storage[k]->home == module->device || same->bytes != symbol->bytes ||
            strcmp(same->name, symbol->name) != 0)
            continue;
        module->storage[s] = twin->storage[k];
        module->address[s] = twin->address[k];
        *from = at + 1;
        return true;
    }
    return false;
}

/* Allocates the global and constant variables, and writes their initial values. Returns false if memory runs out. */
static bool place_globals(vm_module *module, const vm_module *twin)
{
    const ptx_module *ptx = module->ptx;
    uint32_t managed = 0, from = 0;
    for (uint32_t s = 0; s < ptx->symbol_count; s++)
        managed += ptx->symbols[s].managed;
    if (!(module->managed = kiln__arena_alloc(&module->arena, ((size_t)managed + 1) * sizeof *module->managed)))
        return false;
    for (uint32_t s = 0; s < ptx->symbol_count; s++) {
        const ptx_symbol *symbol = &ptx->symbols[s];
        if ((symbol->space != PTX_SPACE_GLOBAL && symbol->space != PTX_SPACE_CONST) || symbol->linkage == PTX_EXTERN)
            continue;
        if (symbol->managed)
            module->managed[module->managed_count++] = s;
        if (borrow(module, s, twin, &from))
            continue;
        const char *name = kiln__arena_strdup(&module->arena, symbol->name);
        vm_allocation *made = !name ? NULL
                              : symbol->managed
                                  ? vm_allocate_shared(module->device, symbol->bytes + !symbol->bytes, name)
                                  : vm_allocate(module->device, symbol->bytes + !symbol->bytes, name);
        if (!made)
            return false;
        module->storage[s] = made;
        module->address[s] = made->base;
        made->constant = symbol->space == PTX_SPACE_CONST;
        if (made->constant)
            module->const_bytes += symbol->bytes;
        if (symbol->init)
            memcpy(made->host, symbol->init, (size_t)symbol->bytes);
        /* vm_pages_zero() makes the pages of a large variable zero without touching them */
        else if (!made->reserved || !vm_pages_zero(made->host, made->reserved))
            memset(made->host, 0, (size_t)made->bytes);
    }
    /* Writes the addresses that occur in initial values. At this point all variables have addresses. */
    for (uint32_t s = 0; s < ptx->symbol_count; s++) {
        const ptx_symbol *symbol = &ptx->symbols[s];
        const bool own = module->storage[s] && module->storage[s]->home == module->device;
        for (size_t k = 0; own && k < symbol->reloc_count; k++) {
            const ptx_reloc *r = &symbol->relocs[k];
            uint64_t value;
            if (r->function) {
                value = VM_CODE_BASE + 16 * (uint64_t)r->index;
            } else {
                const ptx_symbol *target = &ptx->symbols[r->index];
                value = module->address[r->index];
                if (r->generic && target->space == PTX_SPACE_SHARED)
                    value += VM_SHARED_BASE;
            }
            value += (uint64_t)r->addend;
            if (r->mask)
                value = (value & r->mask) >> r->shift;
            if (r->bytes <= 8 && r->offset <= symbol->bytes && r->bytes <= symbol->bytes - r->offset)
                memcpy(module->storage[s]->host + r->offset, &value, r->bytes);
        }
    }
    return true;
}

/* ---- load ---- */

ptx_result decode_module_load(vm_device *device, ptx_module *ptx, vm_module **out, kiln__text *log)
{
    return decode_module_load_beside(device, ptx, NULL, out, log);
}

ptx_result decode_module_load_beside(vm_device *device, ptx_module *ptx, const vm_module *twin, vm_module **out,
                                     kiln__text *log)
{
    *out = NULL;
    vm_module *module = kiln__calloc(device->mem, 1, sizeof *module);
    if (!module) {
        ptx_free(device->mem, ptx);
        return PTX_MEMORY;
    }
    module->device = device;
    module->ptx = ptx;
    module->arena.mem = device->mem;
    module->cache_count = 1; /* element 0 of vm_runner.cache is for accesses that belong to no instruction */
    size_t symbols = (size_t)ptx->symbol_count + 1, functions = (size_t)ptx->function_count + 1;
    module->functions = kiln__arena_alloc(&module->arena, functions * sizeof *module->functions);
    module->address = kiln__arena_alloc(&module->arena, symbols * sizeof *module->address);
    module->storage = kiln__arena_alloc(&module->arena, symbols * sizeof *module->storage);
    module->home = kiln__arena_alloc(&module->arena, symbols * sizeof *module->home);
    vm_compiled *compiled = kiln__arena_alloc(&module->arena, functions * sizeof *compiled);
    size_t said = log->length, tallies = 0;
    bool ok = !module->arena.failed;
    for (uint32_t f = 0; ok && f < ptx->function_count; f++) {
        module->functions[f].ptx = &ptx->functions[f];
        module->functions[f].module = module;
        module->functions[f].first_tally = tallies;
        module->functions[f].compiled = &compiled[f];
        /* counts the end of the code as one more instruction, because it acts as a ret */
        tallies += ptx->functions[f].insn_count + 1u;
    }
    module->tally_count = tallies;
    ok = ok && vm_module_name_kernels(module) && place_local(module) && place_shared(module, log) &&
         place_globals(module, twin);
    const vm_handlers *table = module->table = decode_table();
    for (uint32_t f = 0; ok && f < ptx->function_count; f++)
        if (ptx->functions[f].defined)
            ok = decode_function(module, f, log, table);
    if (!ok) {
        bool memory = module->arena.failed || log->length == said;
        vm_module_unload(device, module);
        return memory ? PTX_MEMORY : PTX_INVALID;
    }
    *out = module;
    return PTX_OK;
}
