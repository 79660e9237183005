/* load.c - prepares a parsed module for running: allocates its variables and decodes its functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm_decode.h"
#include "vm_jit.h"
#include "vm_limit.h"
#include "vm_memory.h"

#define STACK_FRAMES 64u /* frames of every function for which a recursive kernel has local memory */
#define ALLOCA_BYTES 16384u
/* most static shared memory of a kernel on every architecture; more must be dynamic */
#define STATIC_SHARED_MOST 0xc000u

/* The best instruction set that the host supports; KILN_SIM_ISA can select a lower one, so that one host can test
 * all. */
const vm_handlers *vm_table(void)
{
    const char *asked = getenv("KILN_SIM_ISA");
    bool avx2 = !asked || strcmp(asked, "base") != 0, avx512 = avx2 && (!asked || strcmp(asked, "avx2") != 0);
    (void)avx2, (void)avx512;
#if defined(VM_HAVE_AVX512)
    if (avx512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return vm_table_avx512;
#endif
#if defined(VM_HAVE_AVX2)
    if (avx2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return vm_table_avx2;
#endif
    return vm_table_base;
}

/* ---- reachable functions and variables ---- */

/* The functions and symbols that a kernel can reach, found by depth-first search. The search uses a stack in memory and
 * not recursion, because a chain of calls may be as long as the text. */
typedef enum reach_state { REACH_NEW, REACH_OPEN, REACH_DONE } reach_state;
typedef struct reach_place {
    uint32_t function, insn;
} reach_place;

typedef struct reach_set {
    uint8_t *functions; /* reach_state; REACH_OPEN: on the stack, so that a call to it is recursion */
    bool *symbols;
    bool indirect, recursive, alloca_used;
    reach_place *stack;
    uint32_t depth, next; /* next: the next function that indirect calls can reach */
} reach_set;

static void reach_open(reach_set *set, uint32_t index)
{
    if (set->functions[index] == REACH_OPEN)
        set->recursive = true;
    if (set->functions[index] != REACH_NEW)
        return;
    set->functions[index] = REACH_OPEN;
    memset(&set->stack[set->depth], 0, sizeof *set->stack);
    set->stack[set->depth++].function = index;
}

static void reach_operand(const vm_module *module, reach_set *set, const ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_SYMBOL || (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_SYMBOL))
        set->symbols[o->index] = true;
    /* a kernel is launched, not called */
    if (o->kind == PTX_OPERAND_FUNCTION && !module->ptx->functions[o->index].entry)
        reach_open(set, o->index);
}

/* One step from the function on top of the stack, which is popped when all of it was visited. */
static void reach_step(const vm_module *module, reach_set *set)
{
    uint32_t top = set->depth - 1;
    const ptx_function *f = &module->ptx->functions[set->stack[top].function];
    if (set->stack[top].insn == f->insn_count) {
        set->functions[set->stack[top].function] = REACH_DONE;
        set->depth--;
        return;
    }
    const ptx_insn *in = &f->insns[set->stack[top].insn++];
    set->alloca_used |= in->op == PTX_OP_ALLOCA;
    set->indirect |= in->op == PTX_OP_CALL && in->operand_count > 1 && in->operands[1].kind == PTX_OPERAND_REG;
    for (uint32_t n = 0; n < in->operand_count && n < PTX_MAX_OPERANDS; n++) {
        const ptx_operand *o = &in->operands[n];
        reach_operand(module, set, o);
        if (o->kind == PTX_OPERAND_VECTOR || o->kind == PTX_OPERAND_LIST)
            for (uint32_t k = 0; k < o->count; k++)
                reach_operand(module, set, &f->elements[o->index + k]);
    }
}

static void find_reached(const vm_module *module, uint32_t kernel, reach_set *set)
{
    const ptx_module *ptx = module->ptx;
    memset(set->functions, 0, ptx->function_count);
    memset(set->symbols, 0, ptx->symbol_count);
    set->indirect = set->recursive = set->alloca_used = false;
    set->depth = set->next = 0;
    reach_open(set, kernel);
    while (set->depth) {
        reach_step(module, set);
        while (set->indirect && set->depth == 0 && set->next < ptx->function_count) {
            uint32_t other = set->next++;
            if (!ptx->functions[other].entry && ptx->functions[other].defined)
                reach_open(set, other);
        }
    }
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return align > 1 ? (value + align - 1) / align * align : value;
}

/* ---- variables ---- */

/* Local memory of a thread of that kernel, as far as its calls are known before it runs. */
static void place_frames(vm_module *module, uint32_t f, const reach_set *set)
{
    vm_function *kernel = &module->functions[f];
    const uint64_t most = vm_local_most(module->device);
    uint64_t local = 0;
    for (uint32_t k = 0; k < module->ptx->function_count; k++)
        local += set->functions[k] ? align_up(module->functions[k].local_bytes, 16) : 0;
    kernel->recursive = set->recursive || set->indirect;
    if (kernel->recursive && local * STACK_FRAMES <= most)
        local *= STACK_FRAMES;
    else if (kernel->recursive && local < most)
        local = most;
    kernel->closure_local = local + (set->alloca_used ? ALLOCA_BYTES : 0);
}

/* Shared variables: those that several kernels use come first, at the same offset in all; a kernel's own follow. */
static bool place_shared(vm_module *module, kiln__text *log)
{
    const ptx_module *ptx = module->ptx;
    uint32_t *users = kiln__arena_alloc(&module->arena, ((size_t)ptx->symbol_count + 1) * sizeof *users);
    reach_set set = {.functions = kiln__arena_alloc(&module->arena, (size_t)ptx->function_count + 1),
                     .symbols = kiln__arena_alloc(&module->arena, (size_t)ptx->symbol_count + 1),
                     .stack = kiln__arena_alloc(&module->arena, ((size_t)ptx->function_count + 1) * sizeof *set.stack)};
    if (module->arena.failed)
        return false;
    for (uint32_t f = 0; f < ptx->function_count; f++) {
        if (!ptx->functions[f].entry)
            continue;
        find_reached(module, f, &set);
        place_frames(module, f, &set);
        for (uint32_t s = 0; s < ptx->symbol_count; s++)
            users[s] += set.symbols[s];
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
        find_reached(module, f, &set);
        const bool *used = set.symbols;
        uint64_t end = low, own = 0; /* own: without the variables of other kernels between */
        for (uint32_t s = 0; s < ptx->symbol_count; s++)
            if (used[s] && ptx->symbols[s].space == PTX_SPACE_SHARED && ptx->symbols[s].bytes && users[s] != 1) {
                own = align_up(own, ptx->symbols[s].align) + ptx->symbols[s].bytes;
                if (module->address[s] + ptx->symbols[s].bytes > end)
                    end = module->address[s] + ptx->symbols[s].bytes;
            }
        for (uint32_t s = 0; s < ptx->symbol_count; s++) {
            const ptx_symbol *symbol = &ptx->symbols[s];
            if (!used[s] || symbol->space != PTX_SPACE_SHARED)
                continue;
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

/* A function that takes the address of a parameter has it in local memory (vm_op_home). */
static void find_homes(vm_module *module)
{
    const ptx_module *ptx = module->ptx;
    for (uint32_t n = 0; n < ptx->function_count; n++) {
        const ptx_function *f = &ptx->functions[n];
        for (uint32_t k = 0; k < f->insn_count && !f->entry; k++)
            for (uint32_t o = 0; o < f->insns[k].operand_count && o < PTX_MAX_OPERANDS; o++) {
                const ptx_operand *operand = &f->insns[k].operands[o];
                if (operand->kind != PTX_OPERAND_SYMBOL || ptx->symbols[operand->index].space != PTX_SPACE_PARAM)
                    continue;
                for (uint32_t p = f->return_count; p < f->return_count + f->param_count; p++)
                    if (f->params[p] == operand->index)
                        module->home[operand->index] = module->functions[n].has_homes = true;
            }
    }
}

/* The bytes of its local memory that the operand names, from the beginning of its frame. */
static uint64_t local_end(const vm_module *module, const ptx_operand *o)
{
    if (o->kind != PTX_OPERAND_SYMBOL && !(o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_SYMBOL))
        return 0;
    const ptx_symbol *symbol = &module->ptx->symbols[o->index];
    return symbol->space == PTX_SPACE_LOCAL || module->home[o->index] ? module->address[o->index] + symbol->bytes : 0;
}

/* Gives each function a frame with all local variables and homes of parameters that its code names. Variables are
 * placed in the frame of the function that declares them. An alias shares the code of that function, but it is another
 * function and has another frame. Its frame must be as large, because vm_op_home() writes there without a check at run
 * time. Returns false if a frame is too large. */
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
    find_homes(module);
    for (uint32_t s = 0; s < ptx->symbol_count; s++) {
        const ptx_symbol *symbol = &ptx->symbols[s];
        if ((symbol->space != PTX_SPACE_LOCAL && !module->home[s]) || symbol->function >= ptx->function_count)
            continue;
        vm_function *f = &module->functions[symbol->function];
        uint64_t at = align_up(f->local_bytes, symbol->align);
        if (at + symbol->bytes > VM_LOCAL_BYTES_MAX)
            return false;
        module->address[s] = at;
        f->local_bytes = (uint32_t)align_up(at + symbol->bytes, 16); /* frames start at multiples of 16 */
    }
    return cover_locals(module);
}

/* Uses the managed variable of that name in `twin`, unless it is in the memory of the module's own device: two modules
 * of one device have each their own. `*from` is where the search begins: mostly both modules have the same variables in
 * the same order. */
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
        else
            memset(made->host, 0, (size_t)made->bytes);
    }
    for (uint32_t s = 0; s < ptx->symbol_count; s++) { /* after all variables have addresses */
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

ptx_result vm_module_load(vm_device *device, ptx_module *ptx, vm_module **out, kiln__text *log)
{
    return vm_module_load_beside(device, ptx, NULL, out, log);
}

ptx_result vm_module_load_beside(vm_device *device, ptx_module *ptx, const vm_module *twin, vm_module **out,
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
    module->cache_count = 1; /* 0: for accesses without an instruction of their own */
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
        tallies += ptx->functions[f].insn_count + 1u; /* the end is an instruction too: a ret */
    }
    module->tally_count = tallies;
    ok = ok && place_local(module) && place_shared(module, log) && place_globals(module, twin);
    const vm_handlers *table = module->table = vm_table();
    for (uint32_t f = 0; ok && f < ptx->function_count; f++)
        if (ptx->functions[f].defined)
            ok = vm_decode_function(module, f, log, table);
    if (!ok) {
        bool memory = module->arena.failed || log->length == said;
        vm_module_unload(device, module);
        return memory ? PTX_MEMORY : PTX_INVALID;
    }
    *out = module;
    return PTX_OK;
}
