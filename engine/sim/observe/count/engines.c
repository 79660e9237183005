/* engines.c - counts the work of tensor cores, asynchronous copies and mbarriers (ENGINES.md). */
#include "vm_count.h"
#include "vm_matrix.h"
#include "vm_tcgen.h"
#include "vm_tensor.h"

enum { SECTOR = 5, WHOLE_MASK = 0xffff };

/* ---- tensor cores ---- */

/* Returns the number of operations of a product: a multiplication and an addition for each pair of elements. If a
 * matrix is sparse, only its stored elements are multiplied. */
static uint64_t count_matrix_operations(const vm_matrix *x, unsigned tiles)
{
    uint64_t products = (uint64_t)x->m * x->n * x->k * tiles * (x->quads ? 4 : 1);
    products *= x->a.type == PTX_B1 ? 32 : 1; /* for the type b1, k is a number of words of 32 bits */
    return 2 * (x->sparse ? products / 2 : products);
}

static void add_operations(kiln_counters *c, unsigned a_type, unsigned d_type, uint64_t operations)
{
    switch (a_type) {
    case PTX_F16: c->tensor_fp16 += operations; break;
    case PTX_BF16: c->tensor_bf16 += operations; break;
    case PTX_TF32: c->tensor_tf32 += operations; break;
    case PTX_F64: c->tensor_fp64 += operations; break;
    case PTX_S8:
    case PTX_U8: c->tensor_int8 += operations; break;
    case PTX_S4:
    case PTX_U4: c->tensor_int4 += operations; break;
    case PTX_B1: c->tensor_int1 += operations; break;
    default: c->tensor_fp8 += operations; break; /* the types of 8, 6 and 4 bits */
    }
    c->tensor_fp16_sums += d_type == PTX_F16 ? operations : 0;
}

static void count_matrix(kiln_counters *c, const vm_matrix *x, unsigned tiles, bool group)
{
    const uint64_t operations = count_matrix_operations(x, tiles);
    add_operations(c, x->a.type, x->d.type, operations);
    c->tensor_sparse += x->sparse ? operations : 0;
    c->tensor_wgmma += group ? operations : 0;
}

/* Counts the products of tcgen05.mma. The kernel computes the shapes of these products at run time, in descriptors. */
static void count_products(kiln_counters *c, vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m) {
        vm_tcgen_product p;
        if (!ops_tcgen_open(w, i, lane, &p)) /* the instruction has a fault, which its handler will raise */
            return;
        add_operations(c, p.a_type, p.d_type, (uint64_t)2 * p.m * p.n * p.k);
    }
}

/* ---- bulk copies ---- */

static uint64_t count_sectors(uint64_t address, uint64_t bytes)
{
    return bytes ? ((address + bytes - 1) >> SECTOR) - (address >> SECTOR) + 1 : 0;
}

/* Returns the number of bytes that the mask selects. Bit k of the mask stands for byte k of each 16 bytes. */
static uint64_t masked_bytes(const vm_warp *w, const vm_code *i, uint32_t lane, uint64_t bytes)
{
    uint32_t mask = i->b ? vm_r32(w, i->b)[lane] & WHOLE_MASK : WHOLE_MASK;
    return bytes / 16 * (unsigned)__builtin_popcount(mask);
}

/* Returns the number of blocks to which the copy writes. */
static unsigned count_blocks(const vm_warp *w, uint32_t slot, uint32_t lane)
{
    return slot ? (unsigned)__builtin_popcount(vm_r32(w, slot)[lane] & WHOLE_MASK) : 1;
}

static void count_bulk(kiln_counters *c, const vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_bulk *b = i->extra;
    VM_EACH(lane, m) {
        uint64_t bytes = vm_r32(w, i->a)[lane];
        if (b->to.space == PTX_SPACE_GLOBAL) {
            c->bulk_stores++;
            c->bulk_store_bytes += masked_bytes(w, i, lane, bytes);
            c->bulk_store_sectors += count_sectors(vm_side_address(w, &b->to, lane), bytes);
        } else if (b->from.space == PTX_SPACE_GLOBAL) {
            c->bulk_loads++;
            c->bulk_multicasts += b->multicast != 0;
            c->bulk_load_bytes += bytes * count_blocks(w, b->multicast, lane);
            c->bulk_load_read += bytes;
            c->bulk_load_sectors += count_sectors(vm_side_address(w, &b->from, lane), bytes);
        } else {
            c->bulk_shared++;
            c->bulk_shared_bytes += bytes;
        }
        c->bulk_reductions += b->op != 0;
    }
}

/* Adds up the bytes and the sectors of a box. Only the parts of its rows that lie inside the tensor count. If two
 * neighbouring rows share a sector, the sector counts once. */
static void add_box(vm_box *box, uint64_t *bytes, uint64_t *sectors)
{
    uint64_t last = UINT64_MAX;
    do {
        uint64_t here = (uint64_t)box->count * box->bytes;
        if (!here)
            continue;
        *bytes += here;
        *sectors += count_sectors(box->address, here) - (box->address >> SECTOR == last);
        last = (box->address + here - 1) >> SECTOR;
    } while (ops_box_next(box));
}

static void count_tensor(kiln_counters *c, vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_tensor *x = i->extra;
    VM_EACH(lane, m) {
        vm_box box;
        uint64_t bytes = 0, sectors = 0;
        if (!ops_box_open(w, i, lane, &box)) /* the instruction has a fault, which its handler will raise */
            return;
        add_box(&box, &bytes, &sectors);
        c->bulk_by_map++;
        if (!x->bar.space) {
            c->bulk_stores++;
            c->bulk_store_bytes += bytes;
            c->bulk_store_sectors += sectors;
            c->bulk_reductions += x->op != 0;
            continue;
        }
        c->bulk_multicasts += x->multicast != 0;
        c->bulk_loads++;
        c->bulk_load_bytes += count_blocks(w, x->multicast, lane) * vm_box_bytes(&box);
        c->bulk_load_read += bytes;
        c->bulk_load_sectors += sectors;
    }
}

/* ---- an instruction ---- */

static bool is_whole(const vm_warp *w, uint32_t m) { return (m | w->dead) == VM_ALL; }

/* The values in the column `engine` of effects.def. */
enum {
    ENGINE_NONE,
    ENGINE_MATRIX,
    ENGINE_GROUP,
    ENGINE_COPY,
    ENGINE_BULK,
    ENGINE_TENSOR,
    ENGINE_MBARRIER,
    ENGINE_TENSOR_PRODUCT
};
static const unsigned char engine_of_effect[] = {
#define EFFECT(name, flow, engine, access, check, act, result) ENGINE_##engine,
#include "effects.def"
};

void count_engines(kiln_counters *c, vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m)
{
    if (m == 0 || i->guard & 2) /* no lane is active, or the decoder added the operation */
        return;
    switch (engine_of_effect[ptx_effect_of(in)]) {
    case ENGINE_MATRIX:
        if (ptx_class_of(in) == PTX_CLASS_TENSOR && is_whole(w, m))
            count_matrix(c, i->extra, 1, false);
        return;
    case ENGINE_GROUP: {
        const vm_wgmma *x = i->extra;
        if (is_whole(w, m))
            count_matrix(c, &x->tile, x->tiles, true);
        return;
    }
    case ENGINE_COPY:
        c->cp_async_requests++;
        c->cp_async_bytes += (uint64_t)i->size * (unsigned)__builtin_popcount(m);
        return;
    case ENGINE_BULK: count_bulk(c, w, i, m); return;
    case ENGINE_TENSOR: count_tensor(c, w, i, m); return;
    case ENGINE_TENSOR_PRODUCT: count_products(c, w, i, m); return;
    case ENGINE_MBARRIER: c->mbarrier_waits += ops_mbarrier_passes(w, i, m); return;
    default: return;
    }
}
