/* tcgen.c - tcgen05: allocation of tensor memory, loads and stores of tensor memory, commit, and the operands of
 * products. vm_tcgen.inc computes the products. TENSOR_MEMORY.md describes the layouts. */
#include <math.h>
#include <string.h>

#include "vm_access.h"
#include "vm_fault.h"
#include "vm_hooks.h"
#include "vm_math.h"
#include "vm_matrix.h"
#include "vm_path.h"
#include "vm_poll.h"
#include "vm_tcgen.h"

static bool raise_fault(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, const char *what)
{
    vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, address, 4, "%s", what);
    return false;
}

/* Returns true if all lanes of `m` have the same value in a register. Otherwise records a fault and returns false. */
static bool is_uniform(vm_warp *w, const vm_code *i, uint32_t m, uint32_t slot, const char *what)
{
    const vm_u32 *row = vm_r32(w, slot);
    const uint32_t value = row[__builtin_ctz(m)];
    VM_EACH(lane, m)
        if (row[lane] != value) {
            vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                           "the lanes of a warp have different %s: 0x%x and 0x%x", what, value, row[lane]);
            return false;
        }
    return true;
}

/* ---- allocation ---- */

/* Makes the path execute the instruction again later, when another warp may have freed columns. */
static void try_again(vm_warp *w, const vm_code *i, uint32_t m, uint32_t columns)
{
    const struct vm_hooks *hooks = w->runner->run->hooks;
    w->pc = i;
    w->issued--; /* the instruction is counted when it executes */
    w->lanes -= vm_lanes_of(m);
    if (hooks)
        hooks->unseen(w, i, m, true);
    vm_charge(w, 1); /* each try counts as a step, so an endless wait uses up the budget */
    vm_poll(w, i, m, columns, false);
    w->event |= VM_EVENT_YIELD;
}

/* tcgen05.alloc. `a`, `imm` and `space` give the address to which the function stores its result, an address in tensor
 * memory. The slot b has the number of columns. The function looks for free columns before the lanes of the warp meet,
 * because lanes that have met cannot execute the instruction again. No other warp of the block runs between these two
 * steps. */
static void allocate(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t lane = (uint32_t)__builtin_ctz(m), columns = vm_r32(w, i->b)[lane];
    uint32_t address;
    if (vm_tensor_is_full(w->block, columns)) {
        try_again(w, i, m, columns);
        return;
    }
    m = vm_gather(w, i, m);
    if (!m || !is_uniform(w, i, m, i->b, "numbers of columns"))
        return;
    unsigned char *to = vm_reach(w, i, lane, i->space, vm_lane_address(w, i, i->a, lane), sizeof address, true);
    if (!to || !vm_tensor_allocate(w, i, lane, columns, &address))
        return;
    memcpy(to, &address, sizeof address);
    vm_poll_changed(w, i);
}

/* Executes tcgen05.alloc, dealloc and relinquish_alloc_permit. `size` is the operation (VM_TCGEN_...). For dealloc, the
 * slot a has the address, and the slot b has the number of columns. */
void ops_tcgen_alloc(vm_warp *w, const vm_code *i, uint32_t m)
{
    if (i->size == VM_TCGEN_ALLOC) {
        allocate(w, i, m);
        return;
    }
    const uint32_t lane = (uint32_t)__builtin_ctz(m);
    m = vm_gather(w, i, m);
    if (!m)
        return;
    if (i->size == VM_TCGEN_GIVE_UP) {
        vm_tensor_give_up(w, i, lane);
        return;
    }
    if (is_uniform(w, i, m, i->a, "addresses of tensor memory") && is_uniform(w, i, m, i->b, "numbers of columns") &&
        vm_tensor_release(w, i, lane, vm_r32(w, i->a)[lane], vm_r32(w, i->b)[lane]))
        vm_poll_changed(w, i);
}

/* ---- tcgen05.ld and tcgen05.st ---- */

vm_tcgen_place ops_tcgen_place_of(const vm_tcgen_move *x, uint32_t r, uint32_t lane)
{
    const uint32_t each = x->pack ? 2 : 1;
    vm_tcgen_place at = {0};
    switch ((vm_tcgen_shape)x->shape) {
    case VM_TCGEN_32X32B: at = (vm_tcgen_place){lane, r}; break;
    case VM_TCGEN_16X64B: at = (vm_tcgen_place){lane / 4 + lane % 2 * 8, r * 2 + lane / 2 % 2}; break;
    case VM_TCGEN_16X128B: at = (vm_tcgen_place){lane / 4 + r % 2 * 8, r / 2 * 4 + lane % 4}; break;
    case VM_TCGEN_16X256B: at = (vm_tcgen_place){lane / 4 + r / 2 % 2 * 8, r / 4 * 8 + lane % 4 * 2 + r % 2}; break;
    case VM_TCGEN_16X32BX2: return (vm_tcgen_place){lane % 16, r * each + lane / 16 * x->split};
    }
    at.column *= each;
    return at;
}

uint32_t ops_tcgen_extent(const vm_tcgen_move *x, uint32_t *columns)
{
    const uint32_t each = x->pack ? 2 : 1;
    const bool whole = x->shape == VM_TCGEN_32X32B, single = whole || x->shape == VM_TCGEN_16X32BX2;
    *columns = (single ? 1u : 2u) * each * x->count;
    return whole ? 32 : 16;
}

/* The hardware does not need the number of the warp's quarter in the address, and some kernels (DeepGEMM) leave it out.
 * So an address in the first quarter of the lanes stands for the same lane of the warp's own quarter. */
uint32_t ops_tcgen_own_lanes(const vm_warp *w, uint32_t address)
{
    return address >> 16 < VM_LANES ? address + vm_tensor_address(w->index % 4 * VM_LANES, 0) : address;
}

/* A warp can access only one quarter of the lanes of tensor memory. The number of the warp in its warpgroup is the
 * number of this quarter. An address in another warp's quarter is a fault. */
bool ops_tcgen_move_address(vm_warp *w, const vm_code *i, uint32_t m, uint32_t *address)
{
    const vm_tcgen_move *x = i->extra;
    const uint32_t lane = (uint32_t)__builtin_ctz(m), quarter = w->index % 4 * VM_LANES;
    uint32_t columns;
    if (!is_uniform(w, i, m, x->at.slot, "addresses of tensor memory"))
        return false;
    *address = ops_tcgen_own_lanes(w, (uint32_t)vm_side_address(w, &x->at, lane));
    const uint32_t row = *address >> 16, rows = ops_tcgen_extent(x, &columns);
    if (row >= quarter && row + rows <= quarter + VM_LANES && row % rows == 0)
        return true;
    vm_fault_raise(
        w, i, lane, VM_FAULT_ADDRESS, *address, 4,
        "warp %u accesses the %u lanes from %u on of tensor memory (address 0x%x): it reaches lanes %u to %u, "
        "and the first lane is a multiple of %u",
        w->index, rows, row, *address, quarter, quarter + VM_LANES - 1, rows);
    vm_fault_breaks(w, row % rows ? VM_RULE_ALIGNMENT : VM_RULE_OWNER);
    return false;
}

/* Moves one register of all lanes. cells[0] is a host pointer to the addressed cell. cells[1] points to the cell of the
 * second access of .16x32bx2. */
static void move_register(vm_warp *w, const vm_tcgen_move *x, uint32_t m, uint32_t r, uint32_t *const cells[2])
{
    vm_u32 *reg = vm_r32(w, x->slots[r]);
    VM_EACH(lane, m) {
        vm_tcgen_place at = ops_tcgen_place_of(x, r, lane);
        const bool second = x->shape == VM_TCGEN_16X32BX2 && lane >= 16;
        at.column -= second ? x->split : 0;
        uint32_t *cell = cells[second] + (size_t)at.lane * VM_TENSOR_COLUMNS + at.column;
        if (x->store) {
            cell[0] = x->pack ? reg[lane] & 0xffff : reg[lane];
            if (x->pack)
                cell[1] = reg[lane] >> 16;
        } else {
            reg[lane] = x->pack ? (cell[0] & 0xffff) | cell[1] << 16 : cell[0];
        }
    }
}

/* Returns true if `a` comes before `b` in the order of the reduction. */
static bool is_better(const vm_tcgen_move *x, uint32_t a, uint32_t b)
{
    if (x->type == PTX_F32) {
        const float one = vm_float(a), other = vm_float(b);
        if (isnan(one) || isnan(other)) /* with .NaN, a NaN comes first; without .NaN, a number comes first */
            return isnan(other) && !isnan(one) ? !x->keeps_nan : isnan(one) && !isnan(other) && x->keeps_nan;
        if (one == other) /* -0 is less than +0 */
            return x->max ? signbit(other) && !signbit(one) : signbit(one) && !signbit(other);
        return x->max ? one > other : one < other;
    }
    const bool less = x->type == PTX_S32 ? (int32_t)a < (int32_t)b : a < b;
    return x->max ? !less && a != b : less;
}

/* Sets the result of tcgen05.ld.red: the least or the greatest of the registers that a lane has loaded. */
static void reduce_registers(vm_warp *w, const vm_tcgen_move *x, uint32_t m)
{
    VM_EACH(lane, m) {
        uint32_t best = 0;
        for (uint32_t r = 0; r < x->count; r++) {
            const uint32_t value = vm_r32(w, x->slots[r])[lane] & (x->absolute ? 0x7fffffffu : 0xffffffffu);
            if (r == 0 || is_better(x, value, best))
                best = value;
        }
        vm_r32(w, x->result)[lane] = x->type == PTX_F32 && isnan(vm_float(best)) ? 0x7fffffffu : best;
    }
}

/* tcgen05.ld and tcgen05.st. Loads and stores of tensor memory are complete when they are issued. */
void ops_tcgen_move(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_tcgen_move *x = i->extra;
    const char *what = x->store ? "tcgen05.st" : "tcgen05.ld";
    uint32_t address, columns, *cells[2] = {NULL, NULL};
    m = vm_gather(w, i, m);
    if (!m || !ops_tcgen_move_address(w, i, m, &address))
        return;
    const uint32_t rows = ops_tcgen_extent(x, &columns), lane = (uint32_t)__builtin_ctz(m);
    cells[0] = vm_tensor_reach(w, i, lane, w->block, address, rows, columns, what);
    if (!cells[0])
        return;
    if (x->shape == VM_TCGEN_16X32BX2) {
        /* the column is in the lower half of the address, so the sum must not overflow into the upper half */
        const uint32_t second = (address & 0xffff) + x->split;
        if (second > 0xffff) {
            raise_fault(w, i, lane, address, "the second half of .16x32bx2 is outside of tensor memory");
            vm_fault_breaks(w, VM_RULE_BOUNDS);
            return;
        }
        cells[1] = vm_tensor_reach(w, i, lane, w->block, (address & 0xffff0000u) | second, rows, columns, what);
        if (!cells[1])
            return;
    }
    for (uint32_t r = 0; r < x->count; r++)
        move_register(w, x, m, r, cells);
    if (x->type != PTX_NONE)
        reduce_registers(w, x, m);
    vm_charge(w, x->count / 8);
}

/* ---- commit ---- */

/* tcgen05.commit. `extra` has the mbarrier, which gets one arrival from the commit. All earlier products are complete
 * already. */
void ops_tcgen_commit(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    VM_EACH(lane, m) {
        const uint64_t bar = vm_side_address(w, &b->bar, lane);
        uint64_t before;
        uint32_t ranks;
        if (!ops_multicast(w, i, lane, b->multicast, &ranks))
            return;
        do {
            if (!ops_mbarrier_count(w, i, lane, b->bar.space, vm_target(bar, ranks), 1, 0, 0, &before))
                return;
            ranks &= ranks - 1;
        } while (ranks);
    }
}

/* ---- the operands of a product ---- */

/* Sets the types that the instruction descriptor names. Returns false if the kind of the product does not have these
 * types. */
static bool read_types(const vm_tcgen_mma *x, uint32_t description, vm_tcgen_product *p)
{
    static const uint8_t small[8] = {PTX_E4M3, PTX_E5M2, PTX_NONE, PTX_E2M3, PTX_E3M2, PTX_E2M1};
    static const uint8_t half[8] = {PTX_F16, PTX_BF16}, tf32[8] = {PTX_NONE, PTX_NONE, PTX_TF32};
    static const uint8_t bytes[8] = {PTX_U8, PTX_S8}, sums[4] = {PTX_F16, PTX_F32, PTX_S32};
    static const uint8_t fours[8] = {PTX_NONE, PTX_E2M1};
    const uint8_t *types = x->kind == VM_TCGEN_F16    ? half
                           : x->kind == VM_TCGEN_TF32 ? tf32
                           : x->kind == VM_TCGEN_I8   ? bytes
                           : vm_tcgen_is_packed(x)    ? fours
                                                      : small;
    p->a_type = types[description >> 7 & 7];
    p->b_type = types[description >> 10 & 7];
    p->d_type = vm_tcgen_is_scaled(x) ? PTX_F32 : sums[description >> 4 & 3];
    const bool good = x->kind == VM_TCGEN_I8     ? p->d_type == PTX_S32
                      : x->kind == VM_TCGEN_TF32 ? p->d_type == PTX_F32
                                                 : p->d_type == PTX_F16 || p->d_type == PTX_F32;
    /* both matrices have the same type, and a product of bf16 has no sums of f16 */
    const bool mixed = x->kind == VM_TCGEN_F16 &&
                       (p->a_type != p->b_type || (p->a_type == PTX_BF16 && p->d_type == PTX_F16));
    return good && !mixed && p->a_type != PTX_NONE && p->b_type != PTX_NONE;
}

/* Returns true if tcgen05.mma of this kind has the shape M x N. */
static bool has_shape(const vm_tcgen_mma *x, const vm_tcgen_product *p)
{
    const bool ints = x->kind == VM_TCGEN_I8, pair = x->group == 2;
    /* a piece of transposed bytes has sixteen columns of B */
    const bool wide = p->b_across && ptx_type_bytes((ptx_type)p->b_type) == 1;
    const uint32_t m = p->m / x->group, step = pair ? (ints || wide ? 32 : 16) : wide ? 16 : 8;
    const uint32_t least = vm_tcgen_is_scaled(x) && (!pair || x->sparse) ? 128 : 64;
    if (x->stationary)
        return (m == 32 || m == 64 || m == 128) && (p->n == 64 || p->n == 128 || (p->n == 256 && !x->sparse));
    if ((m != 128 && m != least) || p->n < step || p->n > VM_TCGEN_MOST || p->n % step)
        return false;
    return !ints || p->n <= 24 || p->n % 16 == 0; /* integers: 8, 16, 24, 32, 48, ... */
}

static bool is_narrow(unsigned type) { return type == PTX_E2M3 || type == PTX_E3M2 || type == PTX_E2M1; }

/* Reads the fields of the instruction descriptor that describe scale factors. Returns false if the kind of the product
 * does not have such scale factors. */
static bool read_scales(const vm_tcgen_mma *x, uint32_t d, vm_tcgen_product *p)
{
    const bool longer = d >> 31; /* true if K is 96 */
    p->scale_byte[0] = d >> 29 & 3;
    p->scale_byte[1] = d >> 4 & 3;
    p->ue8m0 = d >> 23 & 1;
    p->factors = longer ? 96u / x->block : x->kind == VM_TCGEN_MXF8F6F4 ? 1 : x->block == 32 ? 2 : 4;
    /* the first of 2 or 6 scale factors is byte 0 or 2, and the first of 4 scale factors is byte 0 */
    const uint32_t bytes = p->scale_byte[0] | p->scale_byte[1];
    const bool aligned = p->factors % 2 || (p->factors == 4 ? bytes == 0 : bytes % 2 == 0);
    const bool type = p->ue8m0 || (x->kind == VM_TCGEN_MXF4NVF4 && x->block == 16);
    return aligned && type && !(longer && (x->kind == VM_TCGEN_MXF8F6F4 || x->by_count || x->sparse));
}

/* Sets the sizes of the product along K, and how D lies in tensor memory. */
static void set_sizes(const vm_tcgen_mma *x, uint32_t d, vm_tcgen_product *p)
{
    const uint32_t bits = vm_tcgen_is_packed(x) ? 4 : 8 * ptx_type_bytes((ptx_type)p->a_type);
    p->stored = vm_tcgen_is_packed(x) && d >> 31 ? 96 : 256 / bits;
    p->k = x->sparse ? 2 * p->stored : p->stored;
    p->a_bytes = p->stored * bits / 8;
    p->b_bytes = p->k * bits / 8;
    p->rows = p->m / x->group;
    p->banks = x->stationary ? VM_TENSOR_LANES / p->rows : p->rows == 64 && x->group == 2 && !x->sparse ? 2 : 1;
    p->half = p->rows == 64 && p->banks == 1;
}

/* Returns true if all flags of the instruction descriptor fit the kind of the product. */
static bool fits_flags(const vm_tcgen_mma *x, uint32_t d, vm_tcgen_product *p)
{
    enum { RESERVED = 1u << 6 | 1u << 23 | 1u << 29 };
    enum { SCALED_RESERVED = 3u | 8u | 1u << 6 | 7u << 24 };
    p->selector = d & 3;
    if (vm_tcgen_is_scaled(x))
        return !(d & SCALED_RESERVED) && !(vm_tcgen_is_packed(x) && (p->a_across || p->b_across)) &&
               read_scales(x, d, p);
    /* sparse elements of 16 bits and more have their metadata in one of two columns */
    const bool choice = x->sparse && (x->kind == VM_TCGEN_F16 || x->kind == VM_TCGEN_TF32);
    return !(d & RESERVED) && p->selector <= choice && (x->stationary || !(d >> 30)) &&
           !(p->saturate && x->kind != VM_TCGEN_I8) && !((p->a_negative || p->b_negative) && x->kind == VM_TCGEN_I8);
}

/* Reads the instruction descriptor. If the descriptor describes no product of this kind, records a fault and returns
 * false. */
static bool read_description(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t d, vm_tcgen_product *p)
{
    const vm_tcgen_mma *x = i->extra;
    const bool types = read_types(x, d, p);
    p->saturate = d >> 3 & 1;
    p->a_negative = d >> 13 & 1;
    p->b_negative = d >> 14 & 1;
    p->a_across = d >> 15 & 1;
    p->b_across = d >> 16 & 1;
    p->n = (d >> 17 & 63) * 8;
    p->m = (d >> 24 & 31) * 16;
    if ((d >> 2 & 1) != x->sparse) {
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                       "instruction descriptor 0x%x: its sparsity flag is %u, and the instruction is tcgen05.mma%s", d,
                       d >> 2 & 1, x->sparse ? ".sp" : " without .sp");
        vm_fault_breaks(w, VM_RULE_SPARSE_FLAG);
        return false;
    }
    const vm_tensor_rule rule = x->sparse ? VM_RULE_SPARSE_USE : VM_RULE_NONE;
    if (!types || !fits_flags(x, d, p) || (p->a_across && x->a_tensor)) {
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                       "instruction descriptor 0x%x: its types or flags do not fit this tcgen05.mma", d);
        vm_fault_breaks(w, rule);
        return false;
    }
    if (!has_shape(x, p)) {
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0,
                       "instruction descriptor 0x%x: this tcgen05.mma has no product with M %u and N %u", d, p->m,
                       p->n);
        vm_fault_breaks(w, rule);
        return false;
    }
    if ((is_narrow(p->a_type) && p->a_across) || (is_narrow(p->b_type) && p->b_across))
        return raise_fault(w, i, lane, 0, "a matrix of 4 or 6 bits is transposed, which is not supported");
    set_sizes(x, d, p);
    const int cc = w->runner->run->device->limits.cc;
    if (p->k == 96 && cc && cc != 103)
        return raise_fault(w, i, lane, 0, "a product with K 96 needs a device of sm_103");
    return true;
}

bool ops_tcgen_check_descriptor(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t d, bool across, uint32_t bytes)
{
    enum { BASE32 = 1, LINES128 = 2 };
    const unsigned swizzle = (unsigned)(d >> 61);
    const char *why = NULL;
    if ((d >> 46 & 7) != 1 || (d >> 53 & 0xff) != 0)
        why = "bits 46 to 48 are not 1, or bits 53 to 60 are not 0";
    else if (d >> 52 & 1 && (bytes != 48 || swizzle != LINES128))
        why = "an absolute leading dimension needs 48 bytes along K and a swizzle of 128 bytes";
    else if (swizzle == 3 || swizzle == 5 || swizzle == 7)
        why = "there is no such swizzle";
    else if (swizzle == BASE32 && !across)
        why = "only a transposed matrix may have the swizzle of 32-byte pieces";
    if (why)
        vm_fault_raise(w, i, lane, VM_FAULT_INSTRUCTION, 0, 0, "descriptor 0x%llx of a matrix in shared memory: %s",
                       (unsigned long long)d, why);
    return !why;
}

/* Checks the lane of tensor memory at which D or A begins. A matrix that takes only 16 of each 32 lanes (`half`) may
 * also begin at lane 16. */
static bool check_lanes(vm_warp *w, const vm_code *i, uint32_t lane, const vm_tcgen_product *p, uint32_t address)
{
    const uint32_t row = address >> 16;
    if (row == 0 || (row == 16 && p->half))
        return true;
    vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, address, 4,
                   "tcgen05.mma at tensor memory address 0x%x: a matrix of %u rows cannot begin at lane %u", address,
                   p->rows, row);
    vm_fault_breaks(w, VM_RULE_ALIGNMENT);
    return false;
}

/* Finds the blocks that compute the product together. If a block is missing, records a fault and returns false. */
static bool find_blocks(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t count, vm_tcgen_product *p)
{
    const vm_cluster *cluster = w->block->cluster;
    const uint32_t first = count == 2 ? w->block->rank & ~1u : w->block->rank;
    p->blocks = count;
    if (first + count > cluster->size)
        return raise_fault(w, i, lane, 0, "cta_group::2 in a cluster without a second block");
    for (uint32_t k = 0; k < count; k++) {
        p->block[k] = cluster->blocks[first + k];
        if (p->block[k]->ended)
            return raise_fault(w, i, lane, 0, "cta_group::2, but the other block of the pair has exited");
    }
    return true;
}

/* Reads and checks the addresses of the scale factors. CUTLASS puts the number of the byte within a cell into the upper
 * two bits of the address. The instruction descriptor has the same number, so the hardware ignores these bits. */
static bool read_scale_addresses(vm_warp *w, const vm_code *i, uint32_t lane, vm_tcgen_product *p)
{
    const vm_tcgen_mma *x = i->extra;
    for (unsigned side = 0; side < 2 && vm_tcgen_is_scaled(x); side++) {
        p->scales[side] = (uint32_t)vm_side_address(w, &x->scales[side], lane) & 0x3fffffff;
        if (p->scales[side] >> 16)
            return raise_fault(w, i, lane, p->scales[side], "scale factors of tcgen05.mma that do not begin at lane 0");
    }
    return true;
}

/* Reads and checks the address of the metadata of a sparse A. The metadata must begin at an even column and at the lane
 * of D. */
static bool read_metadata_address(vm_warp *w, const vm_code *i, uint32_t lane, vm_tcgen_product *p)
{
    const vm_tcgen_mma *x = i->extra;
    if (!x->sparse)
        return true;
    p->metadata = (uint32_t)vm_side_address(w, &x->metadata, lane);
    if (p->metadata >> 16 == p->d >> 16 && p->metadata % 2 == 0)
        return true;
    vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, p->metadata, 4,
                   "sparse metadata at tensor memory address 0x%x: it must begin at lane %u, like D, and at an even "
                   "column",
                   p->metadata, p->d >> 16);
    vm_fault_breaks(w, VM_RULE_ALIGNMENT);
    return false;
}

/* Checks .ashift, which is allowed only if a block has 128 rows. If .ashift is not allowed, records a fault and returns
 * false. */
static bool check_shift(vm_warp *w, const vm_code *i, uint32_t lane, const vm_tcgen_product *p)
{
    const vm_tcgen_mma *x = i->extra;
    return !x->shift || p->rows == VM_TENSOR_LANES ||
           raise_fault(w, i, lane, 0, ".ashift of tcgen05.mma needs 128 rows in each block");
}

bool ops_tcgen_open(vm_warp *w, const vm_code *i, uint32_t lane, vm_tcgen_product *p)
{
    const vm_tcgen_mma *x = i->extra;
    *p = (vm_tcgen_product){.d = (uint32_t)vm_side_address(w, &x->d, lane),
                            .b_descriptor = vm_r64(w, x->b_descriptor)[lane],
                            .add = *vm_pred(w, x->enable) >> lane & 1};
    if (!read_description(w, i, lane, vm_r32(w, x->description)[lane], p) || !find_blocks(w, i, lane, x->group, p))
        return false;
    for (unsigned k = 0; k < x->mask_count; k++)
        p->masks[k] = vm_r32(w, x->masks[k])[lane];
    if (x->a_tensor)
        p->a = (uint32_t)vm_side_address(w, &x->a, lane);
    else
        p->a_descriptor = vm_r64(w, x->a_descriptor)[lane];
    if (x->masks_columns)
        p->zero_mask = vm_r64(w, x->zero_mask)[lane];
    return read_scale_addresses(w, i, lane, p) && check_lanes(w, i, lane, p, p->d) &&
           read_metadata_address(w, i, lane, p) && check_shift(w, i, lane, p) &&
           ops_tcgen_check_mask(w, i, lane, p, vm_r32(w, x->description)[lane]) &&
           ops_tcgen_check_descriptor(w, i, lane, p->b_descriptor, p->b_across, p->b_bytes) &&
           (x->a_tensor ? check_lanes(w, i, lane, p, p->a)
                        : ops_tcgen_check_descriptor(w, i, lane, p->a_descriptor, p->a_across, p->a_bytes));
}

uint32_t ops_tcgen_row(const vm_tcgen_product *p, uint32_t row, uint32_t j, uint32_t *column)
{
    const uint32_t each = p->n / p->banks;
    *column = j % each;
    return p->half ? row / 16 * 32 + row % 16 : row + j / each * (VM_TENSOR_LANES / p->banks);
}

uint32_t ops_tcgen_d_extent(const vm_tcgen_product *p, uint32_t *columns)
{
    *columns = p->n / p->banks;
    return p->half ? 112 : VM_TENSOR_LANES;
}

uint32_t ops_tcgen_a_extent(const vm_tcgen_product *p, uint32_t *columns)
{
    *columns = p->a_bytes / 4;
    return p->half ? 112 : VM_TENSOR_LANES;
}

static uint32_t field(uint64_t descriptor, unsigned bit) { return (uint32_t)(descriptor >> bit & 0x3fff) << 4; }

uint32_t ops_tcgen_piece(uint64_t descriptor, bool across, uint32_t at, uint32_t part, uint32_t bytes)
{
    enum { SHARED_MASK = 0x3ffff, BASE32 = 1 };
    /* the number of 16-byte pieces in a swizzled line, indexed by the swizzle field of the descriptor */
    static const uint8_t pieces[8] = {1, 8, 8, 1, 4, 1, 2, 1};
    const unsigned swizzle = (unsigned)(descriptor >> 61);
    const uint32_t wide = pieces[swizzle], leading = field(descriptor, 16), stride = field(descriptor, 32);
    const uint32_t tall = swizzle == BASE32 ? 4 : 8; /* the number of lines in a swizzled block */
    uint32_t offset, start = field(descriptor, 0);
    if (!across && descriptor >> 52 & 1 && start % 128 + part * VM_TCGEN_PIECE >= 128) {
        /* the row continues in another line, whose absolute address is in the descriptor */
        start = field(descriptor, 16);
        offset = at % 8 * 128 + at / 8 * stride + (field(descriptor, 0) + part * VM_TCGEN_PIECE) % 128;
    } else if (!across) {
        offset = at % 8 * VM_TCGEN_PIECE * wide + at / 8 * stride + part % wide * VM_TCGEN_PIECE +
                 part / wide * leading;
    } else {
        const uint32_t piece = at / (VM_TCGEN_PIECE / bytes);
        offset = wide == 1 ? piece * stride + part % 8 * VM_TCGEN_PIECE + part / 8 * leading
                           : piece % wide * VM_TCGEN_PIECE + piece / wide * leading +
                                 part % tall * VM_TCGEN_PIECE * wide + part / tall * stride;
    }
    const uint32_t address = start + offset, line = (address >> 7) - (uint32_t)(descriptor >> 49 & 7);
    return (swizzle == BASE32 ? address ^ (line & 3) << 5 : address ^ (line & (wide - 1)) << 4) & SHARED_MASK;
}

/* Unpacks a piece in place: the 16 elements of `bits` bits at its start become 16 bytes. */
static void unpack_piece(unsigned char *piece, unsigned bits)
{
    unsigned char packed[VM_TCGEN_PIECE + 1] = {0};
    memcpy(packed, piece, VM_TCGEN_PIECE);
    for (unsigned k = 0; k < VM_TCGEN_PIECE; k++) {
        const unsigned at = k * bits, pair = (unsigned)packed[at / 8] | (unsigned)packed[at / 8 + 1] << 8;
        piece[k] = (unsigned char)(pair >> at % 8 & ((1u << bits) - 1));
    }
}

bool ops_tcgen_fetch(vm_warp *w, const vm_code *i, uint32_t lane, const vm_block *block, uint64_t descriptor,
                     bool across, unsigned type, bool packed, uint32_t bytes, uint32_t first, uint32_t count,
                     unsigned char (*out)[VM_TCGEN_LINE])
{
    const uint32_t size = ptx_type_bytes((ptx_type)type), each = across ? VM_TCGEN_PIECE / size : 1;
    const uint32_t parts = bytes / (across ? size : VM_TCGEN_PIECE);
    for (uint32_t at = 0; at < count; at += each)
        for (uint32_t part = 0; part < parts; part++) {
            const uint64_t address = vm_rank_address(ops_tcgen_piece(descriptor, across, first + at, part, size),
                                                     block->rank);
            const unsigned char *from = vm_reach(w, i, lane, PTX_SPACE_SHARED, address, VM_TCGEN_PIECE, false);
            if (!from)
                return false;
            if (!across)
                memcpy(out[at] + part * VM_TCGEN_PIECE, from, VM_TCGEN_PIECE);
            for (uint32_t k = 0; across && k < each; k++)
                memcpy(out[at + k] + part * size, from + k * size, size);
            if (is_narrow(type) && !packed)
                unpack_piece(out[at] + part * VM_TCGEN_PIECE, type == PTX_E2M1 ? 4 : 6);
        }
    return true;
}
