/* vm_module.c - a parsed module made ready to run: its variables get their places, its functions are decoded. */
#include <stdio.h>
#include <string.h>

#include "sim/vm_internal.h"

#define STACK_FRAMES 64u        /* frames of every function that a recursive kernel's local memory has room for */
#define ALLOCA_BYTES 16384u

const vm_handlers *vm_table(void)
{
#if defined(VM_HAVE_AVX512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return vm_table_avx512;
#endif
#if defined(VM_HAVE_AVX2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return vm_table_avx2;
#endif
    return vm_table_base;
}

/* ---- who reaches what ---- */

typedef struct reach_set {
    bool *functions, *symbols;
    bool indirect, recursive, alloca_used;
    uint32_t *stack, depth;     /* functions that are being visited: a call to one of them is recursion */
} reach_set;

static void visit(const vm_module *module, uint32_t index, reach_set *set);

static void visit_operand(const vm_module *module, const ptx_function *f, const ptx_operand *o, reach_set *set)
{
    if (o->kind == PTX_OPERAND_SYMBOL || (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_SYMBOL))
        set->symbols[o->index] = true;
    if (o->kind == PTX_OPERAND_FUNCTION)
        visit(module, o->index, set);
    if (o->kind == PTX_OPERAND_VECTOR || o->kind == PTX_OPERAND_LIST)
        for (uint32_t k = 0; k < o->count; k++)
            visit_operand(module, f, &f->elements[o->index + k], set);
}

static void visit(const vm_module *module, uint32_t index, reach_set *set)
{
    for (uint32_t k = 0; k < set->depth; k++)
        if (set->stack[k] == index)
            set->recursive = true;
    if (set->functions[index])
        return;
    set->functions[index] = true;
    set->stack[set->depth++] = index;
    const ptx_function *f = &module->ptx->functions[index];
    for (uint32_t k = 0; k < f->insn_count; k++) {
        const ptx_insn *in = &f->insns[k];
        if (in->op == PTX_OP_ALLOCA)
            set->alloca_used = true;
        if (in->op == PTX_OP_CALL && in->operand_count > 1 && in->operands[1].kind == PTX_OPERAND_REG && !set->indirect) {
            set->indirect = true;
            for (uint32_t other = 0; other < module->ptx->function_count; other++)
                if (!module->ptx->functions[other].entry && module->ptx->functions[other].defined)
                    visit(module, other, set);
        }
        for (uint32_t n = 0; n < in->operand_count && n < PTX_MAX_OPERANDS; n++)
            visit_operand(module, f, &in->operands[n], set);
    }
    set->depth--;
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return align > 1 ? (value + align - 1) / align * align : value;
}

/* ---- variables ---- */

/* Shared variables: those that several kernels reach lie first, at the same offset in all; a kernel's own follow. */
static bool place_shared(vm_module *module, kiln__text *log)
{
    const ptx_module *ptx = module->ptx;
    size_t entries = 0;
    for (uint32_t f = 0; f < ptx->function_count; f++)
        entries += ptx->functions[f].entry;
    bool *reached = kiln__arena_alloc(&module->arena, (size_t)ptx->symbol_count * (entries + 1));
    uint32_t *users = kiln__arena_alloc(&module->arena, ((size_t)ptx->symbol_count + 1) * sizeof *users);
    uint32_t *stack = kiln__arena_alloc(&module->arena, ((size_t)ptx->function_count + 1) * sizeof *stack);
    if (!reached || !users || !stack)
        return false;
    size_t e = 0;
    for (uint32_t f = 0; f < ptx->function_count; f++) {
        if (!ptx->functions[f].entry)
            continue;
        bool *functions = kiln__arena_alloc(&module->arena, ptx->function_count);
        if (!functions)
            return false;
        reach_set set = {.functions = functions, .symbols = reached + e++ * ptx->symbol_count, .stack = stack};
        visit(module, f, &set);
        vm_function *kernel = &module->functions[f];
        uint64_t local = 0;
        for (uint32_t k = 0; k < ptx->function_count; k++)
            local += functions[k] ? align_up(module->functions[k].local_bytes, 16) : 0;
        kernel->recursive = set.recursive || set.indirect;
        if (kernel->recursive && local * STACK_FRAMES <= VM_LOCAL_BYTES_MAX)
            local *= STACK_FRAMES;
        else if (kernel->recursive && local < VM_LOCAL_BYTES_MAX)
            local = VM_LOCAL_BYTES_MAX;
        kernel->closure_local = local + (set.alloca_used ? ALLOCA_BYTES : 0);
        for (uint32_t s = 0; s < ptx->symbol_count; s++)
            users[s] += set.symbols[s];
    }
    uint64_t common = 0;
    for (uint32_t s = 0; s < ptx->symbol_count; s++)
        if (ptx->symbols[s].space == PTX_SPACE_SHARED && ptx->symbols[s].bytes && users[s] != 1) {
            module->address[s] = align_up(common, ptx->symbols[s].align);
            common = module->address[s] + ptx->symbols[s].bytes;
        }
    e = 0;
    for (uint32_t f = 0; f < ptx->function_count; f++) {
        if (!ptx->functions[f].entry)
            continue;
        const bool *used = reached + e++ * ptx->symbol_count;
        uint64_t end = 0;
        for (uint32_t s = 0; s < ptx->symbol_count; s++)
            if (used[s] && ptx->symbols[s].space == PTX_SPACE_SHARED && ptx->symbols[s].bytes && users[s] != 1 &&
                module->address[s] + ptx->symbols[s].bytes > end)
                end = module->address[s] + ptx->symbols[s].bytes;
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
        }
        if (end > VM_SHARED_WINDOW) {
            kiln__text_printf(log, "ptxas error   : Entry function '%s' uses too much shared data (%llu bytes)\n",
                              ptx->functions[f].name, (unsigned long long)end);
            return false;
        }
        module->functions[f].static_shared = end;
        if (end > module->dynamic_base && module->functions[f].uses_dynamic)
            module->dynamic_base = end;
    }
    module->dynamic_base = align_up(module->dynamic_base, 128);
    for (uint32_t s = 0; s < ptx->symbol_count; s++)
        if (ptx->symbols[s].space == PTX_SPACE_SHARED && ptx->symbols[s].bytes == 0)
            module->address[s] = module->dynamic_base;
    return true;
}

static bool place_local(vm_module *module)
{
    const ptx_module *ptx = module->ptx;
    for (uint32_t s = 0; s < ptx->symbol_count; s++) {
        const ptx_symbol *symbol = &ptx->symbols[s];
        if (symbol->space != PTX_SPACE_LOCAL || symbol->function >= ptx->function_count)
            continue;
        vm_function *f = &module->functions[symbol->function];
        uint64_t at = align_up(f->local_bytes, symbol->align);
        if (at + symbol->bytes > VM_LOCAL_BYTES_MAX)
            return false;
        module->address[s] = at;
        f->local_bytes = (uint32_t)align_up(at + symbol->bytes, 16); /* frames start at multiples of 16 */
    }
    return true;
}

static bool place_globals(vm_module *module)
{
    const ptx_module *ptx = module->ptx;
    for (uint32_t s = 0; s < ptx->symbol_count; s++) {
        const ptx_symbol *symbol = &ptx->symbols[s];
        if ((symbol->space != PTX_SPACE_GLOBAL && symbol->space != PTX_SPACE_CONST) || symbol->linkage == PTX_EXTERN)
            continue;
        const char *name = kiln__arena_strdup(&module->arena, symbol->name);
        vm_allocation *made = name ? vm_allocate(module->device, symbol->bytes ? symbol->bytes : 1, name) : NULL;
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
    for (uint32_t s = 0; s < ptx->symbol_count; s++) { /* now that all have addresses */
        const ptx_symbol *symbol = &ptx->symbols[s];
        for (size_t k = 0; module->storage[s] && k < symbol->reloc_count; k++) {
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

/* ---- load and unload ---- */

void vm_module_unload(vm_device *device, vm_module *module)
{
    if (!module)
        return;
    if (module->storage)
        for (uint32_t s = 0; s < module->ptx->symbol_count; s++)
            if (module->storage[s])
                vm_free(device, module->storage[s]->base);
    ptx_free(device->mem, module->ptx);
    kiln__arena_free(&module->arena);
    kiln__free(device->mem, module);
}

ptx_result vm_module_load(vm_device *device, ptx_module *ptx, vm_module **out, kiln__text *log)
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
    module->cache_count = 1; /* 0: for what has no instruction of its own */
    size_t symbols = (size_t)ptx->symbol_count + 1, functions = (size_t)ptx->function_count + 1;
    module->functions = kiln__arena_alloc(&module->arena, functions * sizeof *module->functions);
    module->address = kiln__arena_alloc(&module->arena, symbols * sizeof *module->address);
    module->storage = kiln__arena_alloc(&module->arena, symbols * sizeof *module->storage);
    size_t said = log->length;
    bool ok = !module->arena.failed;
    for (uint32_t f = 0; ok && f < ptx->function_count; f++) {
        module->functions[f].ptx = &ptx->functions[f];
        module->functions[f].module = module;
    }
    ok = ok && place_local(module) && place_shared(module, log) && place_globals(module);
    const vm_handlers *table = vm_table();
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

bool vm_module_global(const vm_module *module, const char *name, uint64_t *address, uint64_t *bytes)
{
    for (uint32_t s = 0; s < module->ptx->symbol_count; s++)
        if (module->storage[s] && strcmp(module->ptx->symbols[s].name, name) == 0) {
            *address = module->address[s];
            *bytes = module->ptx->symbols[s].bytes;
            return true;
        }
    return false;
}

const ptx_module *vm_module_ptx(const vm_module *module)
{
    return module->ptx;
}

int vm_module_kernel(const vm_module *module, const char *name)
{
    for (uint32_t f = 0; f < module->ptx->function_count; f++)
        if (module->ptx->functions[f].entry && strcmp(module->ptx->functions[f].name, name) == 0)
            return (int)f;
    return -1;
}

/* Registers that are live at once, taking a register to live from its first mention to its last. */
static uint32_t estimate_registers(const vm_module *module, const ptx_function *f)
{
    enum { BASE = 8, LEAST = 16, MOST = 255 };
    uint32_t *first = kiln__calloc(module->device->mem, (size_t)f->reg_count + 1, sizeof *first);
    uint32_t *last = kiln__calloc(module->device->mem, (size_t)f->reg_count + 1, sizeof *last);
    int32_t *change = kiln__calloc(module->device->mem, (size_t)f->insn_count + 2, sizeof *change);
    uint32_t most = 0, live = 0;
    for (uint32_t k = 0; first && last && change && k < f->insn_count; k++)
        for (uint32_t n = 0; n < f->insns[k].operand_count && n < PTX_MAX_OPERANDS; n++) {
            const ptx_operand *o = &f->insns[k].operands[n];
            bool many = o->kind == PTX_OPERAND_VECTOR || o->kind == PTX_OPERAND_LIST;
            for (uint32_t j = 0; j < (many ? o->count : 1); j++) {
                const ptx_operand *one = many ? &f->elements[o->index + j] : o;
                if (one->kind != PTX_OPERAND_REG && !(one->kind == PTX_OPERAND_ADDRESS && one->base == PTX_BASE_REG))
                    continue;
                first[one->index] = first[one->index] ? first[one->index] : k + 1;
                last[one->index] = k + 1;
            }
        }
    for (uint32_t r = 0; first && last && change && r < f->reg_count; r++) {
        int32_t words = f->regs[r].type == PTX_PRED ? 0 : ptx_type_bytes((ptx_type)f->regs[r].type) > 4 ? 2 : 1;
        if (first[r])
            change[first[r] - 1] += words, change[last[r]] -= words;
    }
    for (uint32_t k = 0; change && k <= f->insn_count; k++) {
        live += (uint32_t)change[k];
        most = live > most ? live : most;
    }
    kiln__free(module->device->mem, first);
    kiln__free(module->device->mem, last);
    kiln__free(module->device->mem, change);
    most += BASE;
    return most < LEAST ? LEAST : most > MOST ? MOST : most;
}

void vm_kernel_resources(const vm_module *module, int kernel, vm_resources *resources)
{
    const vm_function *f = &module->functions[kernel];
    const ptx_function *p = f->ptx;
    *resources = (vm_resources){.static_shared = f->static_shared, .local_bytes = f->closure_local,
                                .const_bytes = module->const_bytes, .param_bytes = p->param_bytes, .max_threads = 1024};
    const uint32_t *limit = p->req_threads[0] ? p->req_threads : p->max_threads;
    if (limit[0]) {
        uint64_t threads = (uint64_t)limit[0] * (limit[1] ? limit[1] : 1) * (limit[2] ? limit[2] : 1);
        resources->max_threads = threads < 1024 ? (uint32_t)threads : 1024;
    }
    resources->register_estimate = estimate_registers(module, p);
    if (p->max_registers && resources->register_estimate > p->max_registers)
        resources->register_estimate = p->max_registers;
}
