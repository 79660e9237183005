/* access.c - memory accesses lane by lane, for all address windows and all sizes of accesses. An invalid access raises
 * a fault. The fast paths of device/ops/vm_exec_memory.inc call these functions when lanes access several allocations
 * or an access may be invalid. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vm_access.h"
#include "vm_block.h"
#include "vm_fault.h"
#include "vm_machine.h"
#include "vm_memory.h"
#include "vm_poll.h"

uint64_t vm_lane_address(const vm_warp *w, const vm_code *i, uint32_t slot, uint32_t lane)
{
    if (i->flags & VM_ADDR32)
        return (uint32_t)(vm_r32(w, slot)[lane] + (uint32_t)i->imm);
    return vm_r64(w, slot)[lane] + i->imm;
}

/* Raises the fault of an invalid access. Returns NULL. */
static unsigned char *raise_access_fault(vm_warp *w, const vm_code *i, uint32_t lane, vm_fault_kind kind,
                                         const char *window, uint64_t address, uint64_t bytes, bool write,
                                         const char *where)
{
    vm_fault_raise(w, i, lane, kind, address, bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes,
                   "%s%s of %" PRIu64 " bytes at %s address 0x%" PRIx64 "%s%s",
                   kind == VM_FAULT_MISALIGNED ? "misaligned " : "invalid ", write ? "write" : "read", bytes, window,
                   address, *where ? ", " : "", where);
    return NULL;
}

void vm_describe_shared(const vm_run_state *run, uint64_t address, char *text, size_t size)
{
    if (address < run->shared_low)
        snprintf(text, size, "the first %" PRIu64 " bytes are the system's", run->shared_low);
    else
        snprintf(text, size, "the block has %" PRIu64 " bytes of shared memory", vm_shared_bytes(run));
}

/* Returns true if [address, address + bytes) lies in [low, end). Returns false if `bytes` is 0. No input makes the
 * computation overflow. */
static bool is_within(uint64_t address, uint64_t bytes, uint64_t low, uint64_t end)
{
    return bytes > 0 && address >= low && address < end && bytes <= end - address;
}

/* vm_reach_span() is the only function that turns an address of a kernel into a host pointer for a range of any length.
 * This function first finds the window to which a generic address belongs. Then it compares the whole range with the
 * only object that may contain it: the shared memory of a block, the local memory of a thread, the parameters of the
 * kernel, or an allocation. The function never tests the two ends separately. If the access is a write, the object must
 * be memory that kernels may write. The message of a fault shows the address that the kernel has used, `asked`. */
unsigned char *vm_reach_span(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address,
                             uint64_t bytes, uint32_t align, vm_reach_kind kind)
{
    vm_run_state *run = w->runner->run;
    const bool write = kind & VM_REACH_WRITE;
    const char *window = "global";
    char where[200] = "";
    unsigned char *host = NULL;
    uint64_t asked = address;
    if (space == PTX_SPACE_GENERIC) {
        if (address >= VM_GLOBAL_BASE)
            space = PTX_SPACE_GLOBAL;
        else if (address - VM_SHARED_BASE < VM_CLUSTER_WINDOW)
            space = PTX_SPACE_SHARED, address -= VM_SHARED_BASE;
        else if (address >= VM_LOCAL_BASE && address < VM_CONST_BASE)
            space = PTX_SPACE_LOCAL, address -= VM_LOCAL_BASE;
        else if (address - VM_PARAM_BASE < UINT32_MAX)
            space = PTX_SPACE_PARAM, address -= VM_PARAM_BASE;
    }
    bool inside = false;
    switch (space) {
    case PTX_SPACE_SHARED: {
        window = "shared";
        const vm_block *block = vm_block_at(w, &address, where, sizeof where);
        inside = block && is_within(address, bytes, run->shared_low, run->shared_reach);
        host = inside ? block->shared + address : NULL;
        if (block && !inside)
            vm_describe_shared(run, address, where, sizeof where);
        break;
    }
    case PTX_SPACE_LOCAL:
        window = "local";
        inside = is_within(address, bytes, 0, run->local_bytes);
        host = inside ? w->block->local + (size_t)(w->index * VM_LANES + lane) * run->local_bytes + address : NULL;
        if (!inside)
            snprintf(where, sizeof where, "a thread has %u bytes of local memory", run->local_bytes);
        break;
    case PTX_SPACE_PARAM:
        window = "param";
        inside = !write && is_within(address, bytes, 0, run->kernel->ptx->param_bytes);
        if (write)
            snprintf(where, sizeof where, "kernels cannot write their parameters");
        host = inside ? run->params + address : NULL;
        break;
    default: {
        vm_runner *runner = w->runner;
        const vm_span *c = &runner->cache[i->e];
        bool constant = false, read_only = false;
        inside = bytes > 0 && ((is_within(address, bytes, c->base, c->end) && !(write && c->read_only)) ||
                               vm_refill(w, i, address, address + bytes, write));
        host = inside ? c->host + (address - c->base) : NULL;
        if (!inside && address < 4096)
            snprintf(where, sizeof where, "a null pointer");
        else if (!inside && write && vm_find(run->device, address, &(vm_span){0}, &constant, &read_only) && read_only)
            snprintf(where, sizeof where, "in %s memory, which kernels cannot write",
                     constant ? "constant" : "read-only");
        else if (!inside)
            vm_describe(run->device, address, where, sizeof where);
        break;
    }
    }
    if (inside && address % align != 0)
        return raise_access_fault(w, i, lane, VM_FAULT_MISALIGNED, window, asked, bytes, write, "");
    if (!inside)
        return raise_access_fault(w, i, lane, VM_FAULT_ADDRESS, window, asked, bytes, write, where);
    return host;
}

unsigned char *vm_reach(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t space, uint64_t address, uint32_t bytes,
                        bool write)
{
    return vm_reach_span(w, i, lane, space, address, bytes, bytes, write ? VM_REACH_WRITE : VM_REACH_READ);
}

/* Reads one element of `size` bytes, at most 8. If `strong` is true, reads the element with one atomic load of the
 * host. Callers read an element of 16 bytes (b128) as two halves. */
VM_RACY static uint64_t load_element(const unsigned char *p, unsigned size, bool strong)
{
    if (strong) {
        switch (size) {
        case 1: return __atomic_load_n((const vm_u8 *)p, __ATOMIC_ACQUIRE);
        case 2: return __atomic_load_n((const vm_u16 *)(const void *)p, __ATOMIC_ACQUIRE);
        case 4: return __atomic_load_n((const vm_u32 *)(const void *)p, __ATOMIC_ACQUIRE);
        default: return __atomic_load_n((const vm_u64 *)(const void *)p, __ATOMIC_ACQUIRE);
        }
    }
    switch (size) {
    case 1: return *(const vm_u8 *)p;
    case 2: return *(const vm_u16 *)(const void *)p;
    case 4: return *(const vm_u32 *)(const void *)p;
    default: return *(const vm_u64 *)(const void *)p;
    }
}

VM_RACY static void store_element(unsigned char *p, unsigned size, uint64_t value, bool strong)
{
    if (strong) {
        switch (size) {
        case 1: __atomic_store_n((vm_u8 *)p, (uint8_t)value, __ATOMIC_RELEASE); return;
        case 2: __atomic_store_n((vm_u16 *)(void *)p, (uint16_t)value, __ATOMIC_RELEASE); return;
        case 4: __atomic_store_n((vm_u32 *)(void *)p, (uint32_t)value, __ATOMIC_RELEASE); return;
        default: __atomic_store_n((vm_u64 *)(void *)p, value, __ATOMIC_RELEASE); return;
        }
    }
    switch (size) {
    case 1: *(vm_u8 *)p = (uint8_t)value; return;
    case 2: *(vm_u16 *)(void *)p = (uint16_t)value; return;
    case 4: *(vm_u32 *)(void *)p = (uint32_t)value; return;
    default: *(vm_u64 *)(void *)p = value; return;
    }
}

/* Extends a loaded value to the width of its register. A signed load extends the value by its sign, other loads by
 * zeros. */
static uint64_t extend_value(uint64_t value, unsigned size, uint8_t flags)
{
    if (flags & VM_SIGNED && size < 8) {
        unsigned shift = 64 - 8 * size;
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return flags & VM_REG16 ? (uint16_t)value : value;
}

/* Counts the ordered loads that the warp executes. The warp yields after every 64 ordered loads, because it may spin on
 * a value that another path or block writes. */
static void count_spin(vm_warp *w, const vm_code *i)
{
    if (i->flags & VM_STRONG && (++w->spins & 63) == 0)
        w->event |= VM_EVENT_YIELD;
}

void vm_load_slow(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    unsigned half = i->size == 16 ? 2 : 1, size = i->size / half;
    uint64_t seen = 0;
    count_spin(w, i);
    VM_EACH(lane, m) {
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        const unsigned char *p = vm_reach(w, i, lane, i->space, address, (uint32_t)i->size * i->count, false);
        if (!p)
            return;
        for (uint32_t k = 0; k < i->count * half; k++) {
            uint32_t slot = (i->count == 1 ? i->d : slots[k / half]) + (k % half) * 8 * VM_LANES;
            uint64_t value = extend_value(load_element(p + k * size, size, i->flags & VM_STRONG), size, i->flags);
            if (i->flags & VM_STRONG)
                seen = vm_poll_mix(vm_poll_mix(seen, address), value);
            if (i->flags & VM_REG64)
                vm_r64(w, slot)[lane] = value;
            else
                vm_r32(w, slot)[lane] = (uint32_t)value;
        }
    }
    if (i->flags & VM_STRONG)
        vm_poll(w, i, m, seen, false);
}

void vm_store_slow(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    unsigned half = i->size == 16 ? 2 : 1, size = i->size / half;
    VM_EACH(lane, m) {
        uint64_t address = vm_lane_address(w, i, i->a, lane);
        unsigned char *p = vm_reach(w, i, lane, i->space, address, (uint32_t)i->size * i->count, true);
        if (!p)
            return;
        for (uint32_t k = 0; k < i->count * half; k++) {
            uint32_t slot = (i->count == 1 ? i->d : slots[k / half]) + (k % half) * 8 * VM_LANES;
            uint64_t value = i->flags & VM_REG64 ? vm_r64(w, slot)[lane] : vm_r32(w, slot)[lane];
            store_element(p + k * size, size, value, i->flags & VM_STRONG);
        }
    }
}

/* Executes a load from or a store to the .param space of a function. If b is 0, the access is to the function's own
 * parameters. If b is 1, the access is to the .param variables of its calls. The address is a constant that the decoder
 * has checked. This handler also executes loads of kernel parameters of sizes that have no handler of their own. */
void vm_op_load_param(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    const vm_function *function = w->frame->function;
    bool entry = function->ptx->entry && i->b == 0, write = i->flags & VM_WRITES;
    unsigned char *block = i->b ? w->frame->vars : w->frame->params;
    size_t stride = i->b ? (size_t)function->ptx->frame_bytes : (size_t)function->ptx->param_bytes;
    if (entry)
        block = w->runner->run->params, stride = 0;
    unsigned half = i->size == 16 ? 2 : 1, size = i->size / half;
    VM_EACH(lane, m) {
        unsigned char *p = block + lane * stride + i->imm;
        for (uint32_t k = 0; k < i->count * half; k++, p += size) {
            uint32_t slot = (i->count == 1 ? i->d : slots[k / half]) + (k % half) * 8 * VM_LANES;
            uint64_t value = 0;
            if (write) {
                value = i->flags & VM_REG64 ? vm_r64(w, slot)[lane] : vm_r32(w, slot)[lane];
                memcpy(p, &value, size);
                continue;
            }
            memcpy(&value, p, size);
            value = extend_value(value, size, i->flags);
            if (i->flags & VM_REG64)
                vm_r64(w, slot)[lane] = value;
            else
                vm_r32(w, slot)[lane] = (uint32_t)value;
        }
    }
}

/* Returns true if the shared address is in the own window of the block. If `other` is set, the address may be in the
 * window of any block of the cluster. */
static bool is_shared(const vm_warp *w, uint64_t address, bool other)
{
    const uint64_t rank = address / VM_SHARED_WINDOW;
    return other ? rank < w->block->cluster->size : rank == w->block->rank;
}

void vm_op_isspacep(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint32_t result = 0;
    VM_EACH(lane, m) {
        uint64_t a = i->flags & VM_ADDR32 ? vm_r32(w, i->a)[lane] : vm_r64(w, i->a)[lane];
        bool in = false;
        vm_span span;
        switch (i->space) {
        case PTX_SPACE_SHARED: in = is_shared(w, a - VM_SHARED_BASE, i->count); break;
        case PTX_SPACE_LOCAL: in = a >= VM_LOCAL_BASE && a < VM_CONST_BASE; break;
        case PTX_SPACE_PARAM: in = a - VM_PARAM_BASE < UINT32_MAX; break;
        case PTX_SPACE_CONST:
        case PTX_SPACE_GLOBAL: {
            bool constant = false, read_only = false;
            bool found = vm_find(w->runner->run->device, a, &span, &constant, &read_only);
            in = i->space == PTX_SPACE_CONST ? found && constant : found ? !constant : a >= VM_GLOBAL_BASE;
            break;
        }
        default: break;
        }
        result |= (uint32_t)in << lane;
    }
    vm_set_pred(w, i->d, result, m);
}

/* Executes cp.async. The copy completes at once, so waiting for it never blocks. A correct program cannot see that the
 * copy is not asynchronous. The slot d has the shared address, with an offset in `extra`. The slot a has the global
 * address, with an offset in imm. The slot b has the number of bytes to copy. The remaining bytes of the destination
 * become zero. If b is 0, all bytes are copied. If `count` is not 0, lanes for which the predicate c is true copy no
 * byte, so all their bytes become zero. If `count` is 2, the predicate c is negated. */
void vm_op_cp_async(vm_warp *w, const vm_code *i, uint32_t m)
{
    static const unsigned char zero[16];
    const int64_t *offset = i->extra;
    uint32_t ignore = i->count ? *vm_pred(w, i->c) ^ (i->count == 2 ? VM_ALL : 0) : 0;
    VM_EACH(lane, m) {
        uint64_t to = i->flags & VM_REG64 ? vm_r64(w, i->d)[lane] : vm_r32(w, i->d)[lane];
        uint64_t from = vm_lane_address(w, i, i->a, lane);
        uint32_t bytes = i->b ? vm_r32(w, i->b)[lane] : i->size;
        if (bytes > i->size)
            bytes = i->size;
        if (ignore >> lane & 1)
            bytes = 0;
        to = (uint32_t)(to + (uint64_t)*offset);
        if (!is_shared(w, to, false)) {
            raise_access_fault(w, i, lane, VM_FAULT_ADDRESS, "shared", to, i->size, true,
                               "which is not the block's own");
            return;
        }
        unsigned char *d = vm_reach(w, i, lane, PTX_SPACE_SHARED, to, i->size, true);
        const unsigned char *s = zero;
        if (!d)
            return;
        if (bytes && from % i->size != 0) {
            raise_access_fault(w, i, lane, VM_FAULT_MISALIGNED, "global", from, i->size, false, "");
            return;
        }
        if (bytes && !(s = vm_reach_span(w, i, lane, PTX_SPACE_GLOBAL, from, bytes, 1, VM_REACH_READ)))
            return;
        memcpy(d, s, bytes);
        memset(d + bytes, 0, i->size - bytes);
    }
}

/* Copies a string from the kernel's memory to `text`, up to `size` - 1 bytes. Returns false after a fault. */
bool vm_read_string(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, char *text, size_t size)
{
    for (size_t n = 0; n + 1 < size; n++) {
        const unsigned char *p = vm_reach(w, i, lane, PTX_SPACE_GENERIC, address + n, 1, false);
        if (!p)
            return false;
        text[n] = (char)*p;
        if (!text[n])
            return true;
    }
    text[size - 1] = '\0';
    return true;
}
