/* module.c - queries about a loaded module: its variables, its kernels and the resources that the kernels need. */
#include <stdlib.h>
#include <string.h>

#include "vm_child.h"
#include "vm_jit.h"
#include "vm_memory.h"

void vm_module_unload(vm_device *device, vm_module *module)
{
    if (!module)
        return;
    if (module->device->jit)
        module->device->jit->drop(module->device->jit, module);
    if (module->storage)
        /* Frees the last variable first. The list of allocations is sorted and the variables have rising addresses, so
         * removing the last variable does not move the entries of the others. */
        for (uint32_t s = module->ptx->symbol_count; s-- > 0;)
            /* variables of another device are neither freed nor read, because they may not exist any more */
            if (module->storage[s])
                vm_free(device, module->address[s]);
    if (module->error_texts)
        vm_free(device, module->error_texts->base);
    ptx_free(device->mem, module->ptx);
    kiln__arena_free(&module->arena);
    kiln__free(device->mem, module);
}

/* Gives to `heir` each managed variable that `module` and `heir` both use. The two modules mostly have the same
 * variables in the same order, so each search begins behind the variable that was found last. */
void vm_module_give(vm_module *module, vm_module *heir)
{
    uint32_t from = 0;
    for (uint32_t k = 0; k < module->managed_count; k++) {
        const uint32_t s = module->managed[k];
        vm_allocation *given = module->storage[s];
        for (uint32_t n = 0; given && n < heir->managed_count; n++) {
            const uint32_t at = (from + n) % heir->managed_count;
            if (heir->storage[heir->managed[at]] != given)
                continue;
            from = at + 1;
            if (given->home != module->device)
                break;
            if (heir->device == module->device || vm_hand_over(given, heir->device)) {
                module->storage[s] = NULL;
                /* the old name is in the memory of `module`, which ends */
                given->name = heir->ptx->symbols[heir->managed[at]].name;
            } else {
                /* out of memory: `module` keeps the variable, and frees it when it is unloaded */
                heir->storage[heir->managed[at]] = NULL;
            }
            break;
        }
    }
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

const ptx_module *vm_module_ptx(const vm_module *module) { return module->ptx; }

/* ---- kernels by name ---- */

typedef struct vm_named_kernel {
    const char *name;
    uint32_t function;
} vm_named_kernel;

/* Sorts by name. If two kernels have the same name, the kernel that comes first in the module is sorted first. */
static int compare_kernels(const void *one, const void *other)
{
    const vm_named_kernel *a = one, *b = other;
    const int order = strcmp(a->name, b->name);
    return order ? order : (a->function > b->function) - (a->function < b->function);
}

bool vm_module_name_kernels(vm_module *module)
{
    const ptx_module *ptx = module->ptx;
    uint32_t count = 0;
    for (uint32_t f = 0; f < ptx->function_count; f++)
        count += ptx->functions[f].entry;
    module->kernels = kiln__arena_alloc(&module->arena, ((size_t)count + 1) * sizeof *module->kernels);
    for (uint32_t f = 0; module->kernels && f < ptx->function_count; f++)
        if (ptx->functions[f].entry)
            module->kernels[module->kernel_count++] = (vm_named_kernel){ptx->functions[f].name, f};
    if (module->kernel_count)
        qsort(module->kernels, module->kernel_count, sizeof *module->kernels, compare_kernels);
    return module->kernels;
}

/* Finds the first kernel of this name by binary search. A program may ask for every kernel of a module, and linear
 * searches would then take quadratic time. */
int vm_module_kernel(const vm_module *module, const char *name)
{
    uint32_t low = 0, high = module->kernel_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (strcmp(module->kernels[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < module->kernel_count && strcmp(module->kernels[low].name, name) == 0;
    return found ? (int)module->kernels[low].function : -1;
}

/* Estimates the registers of a thread. The estimate is the largest number of 32-bit registers that are live at the same
 * time, plus a constant. A register counts as live from its first to its last occurrence. */
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

/* Returns `registers`, or less if .minnctapersm sets a lower limit: ptxas spills registers so that this number of
 * blocks fits on an SM. All SMs since compute capability 5.0 have the same number of registers. */
static uint32_t registers_for_blocks(const ptx_function *f, uint32_t registers)
{
    enum { OF_SM = 65536, UNIT = 8, LEAST = 16 };
    const uint32_t *given = f->req_threads[0] ? f->req_threads : f->max_threads;
    if (!f->min_blocks || !given[0])
        return registers;
    uint64_t most = OF_SM / ((uint64_t)vm_max_threads(f) * f->min_blocks) / UNIT * UNIT;
    most = most < LEAST ? LEAST : most;
    return registers < most ? registers : (uint32_t)most;
}

uint32_t vm_max_threads(const ptx_function *f)
{
    enum { MOST = 1024 };
    const uint32_t *limit = f->req_threads[0] ? f->req_threads : f->max_threads;
    uint64_t threads = limit[0] ? 1 : MOST;
    for (unsigned axis = 0; axis < 3 && threads < MOST; axis++) /* the loop ends before the product can overflow */
        threads *= limit[axis] ? limit[axis] : 1;
    return threads < MOST ? (uint32_t)threads : MOST;
}

void vm_kernel_resources(const vm_module *module, int kernel, vm_resources *resources)
{
    const vm_function *f = &module->functions[kernel];
    const ptx_function *p = f->ptx;
    *resources = (vm_resources){.static_shared = f->static_shared,
                                .local_bytes = f->closure_local,
                                .const_bytes = module->const_bytes,
                                .param_bytes = p->param_bytes,
                                .max_threads = vm_max_threads(p),
                                .tensor_columns = ptx_tensor_columns(module->ptx, (uint32_t)kernel)};
    resources->register_estimate = registers_for_blocks(p, estimate_registers(module, p));
    if (p->max_registers && resources->register_estimate > p->max_registers)
        resources->register_estimate = p->max_registers;
}
