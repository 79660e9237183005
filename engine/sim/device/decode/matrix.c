/* matrix.c - decodes mma, wmma, ldmatrix, stmatrix and movmatrix. */
#include "vm_decode.h"
#include "vm_matrix.h"

#define OPERAND(n) (&d->in->operands[n])
#define TYPE(n) (d->in->types[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

static vm_matrix *new_matrix(vm_decoder *d)
{
    const ptx_shape shape = ptx_shape_of(d->in);
    vm_matrix *x = decode_allocate(d, sizeof *x);
    if (!x)
        return NULL;
    *x = (vm_matrix){.rounding = (uint8_t)vm_rounding(d->in), .m = shape.m, .n = shape.n, .k = shape.k};
    return x;
}

static const ptx_operand *element(const vm_decoder *d, const ptx_operand *o, unsigned k)
{
    return o->kind == PTX_OPERAND_VECTOR ? &d->f->elements[o->index + k] : o;
}

static void fragment(vm_decoder *d, vm_fragment *f, const ptx_operand *o, unsigned type, unsigned elements, bool write)
{
    unsigned bytes = type == PTX_F64 ? 8 : 4, per = vm_per_register(type), used = elements / (per * VM_LANES);
    *f = (vm_fragment){.count = (uint8_t)(o->kind == PTX_OPERAND_VECTOR ? o->count : 1), .type = (uint8_t)type};
    if (f->count > VM_FRAGMENT) {
        decode_set_error(d, "fragment with too many registers");
        return;
    }
    for (unsigned k = 0; k < f->count; k++)
        f->slots[k] = write ? decode_dest(d, element(d, o, k), bytes) : decode_source(d, element(d, o, k), bytes);
    f->used = (uint8_t)(used && used < f->count ? used : f->count);
}

/* Sets the number of products that the device's tensor cores add to an accumulator in one step, and the precision of
 * this addition. The section "Matrices" of engine/sim/device/ops/README.md explains these numbers. If a GPU has other
 * numbers, change them here. If a GPU follows another rule of addition, also change matrix_row() of vm_matrix.inc. */
static void tensor_core(const vm_decoder *d, vm_matrix *x)
{
    bool group = ptx_effect_of(d->in) == PTX_EFFECT_WARPGROUP;
    int cc = d->module->device->limits.cc ? d->module->device->limits.cc : 90;
    unsigned at_once = cc >= 90 ? 32 : cc >= 75 ? 16 : 8, bytes = vm_element_bits(x->a.type) / 8;
    x->fraction = cc >= 90 ? 25 : cc >= 75 ? 24 : 23;
    x->kept = 23;
    if (group && (x->a.type == PTX_E4M3 || x->a.type == PTX_E5M2))
        x->fraction = x->kept = 13;
    x->chain = x->quads && x->d.type == PTX_F32 && cc >= 75;
    x->terms = (uint8_t)(at_once / (bytes ? bytes : 1));
}

/* Reads the scale factors of an mma with block scaling. They are the last operand, a list of six elements. Byte and
 * thread selectors that are constants must be in range, as ptxas demands. */
static void scales(vm_decoder *d, vm_matrix *x)
{
    const ptx_operand *list = OPERAND(d->in->operand_count - 1u);
    x->blocks = HAS(SCALE_VEC_4X) ? 4 : HAS(SCALE_VEC_2X) || HAS(KIND_MXF4) ? 2 : 1;
    x->ue4m3 = HAS(UE4M3);
    for (unsigned side = 0; side < 2; side++) {
        const ptx_operand *own = &d->f->elements[list->index + 3 * side];
        vm_scales *to = side ? &x->scale_b : &x->scale_a;
        *to = (vm_scales){.data = decode_source(d, &own[0], 4),
                          .byte = decode_source(d, &own[1], 4),
                          .thread = decode_source(d, &own[2], 4)};
        if (own[1].kind == PTX_OPERAND_IMM && (own[1].imm > 3 || own[1].imm % x->blocks))
            decode_set_error(
                d,
                side ? "the byte selector of the scales of B must be at most 3, and a multiple of N of scale_vec::NX"
                     : "the byte selector of the scales of A must be at most 3, and a multiple of N of scale_vec::NX");
        if (own[2].kind == PTX_OPERAND_IMM && own[2].imm > (side ? 3 : 1))
            decode_set_error(d, side ? "the thread selector of the scales of B must be from 0 to 3"
                                     : "the thread selector of the scales of A must be 0 or 1");
    }
}

void decode_mma(vm_decoder *d)
{
    bool wmma = d->in->op == PTX_OP_WMMA_MMA,
         /* with fewer than three types, the instruction names only the types of d and c */
        wide = d->in->types[2] != PTX_NONE;
    vm_matrix *x = new_matrix(d);
    if (!x)
        return;
    unsigned d_type = TYPE(0), a_type = wide ? TYPE(1) : PTX_F16, b_type = wide ? TYPE(2) : PTX_F16;
    unsigned c_type = wide ? TYPE(3) : TYPE(1);
    x->sparse = d->in->op == PTX_OP_MMA_SP || d->in->op == PTX_OP_MMA_SP_ORDERED;
    x->quads = !wmma && x->m == 8 && a_type == PTX_F16;
    x->satfinite = HAS(SATFINITE);
    x->and_popc = HAS(AND);
    if (HAS(KIND_MXF4) || HAS(KIND_MXF4NVF4))
        a_type = b_type = PTX_E2M1X2;
    if (HAS(BLOCK_SCALE))
        scales(d, x);
    x->a_column = HAS(COL);
    x->b_column = HAS(COL_2);
    fragment(d, &x->a, OPERAND(1), a_type, x->m * x->k / (x->sparse ? 2u : 1u), false);
    fragment(d, &x->b, OPERAND(2), b_type, (unsigned)x->k * x->n, false);
    fragment(d, &x->c, OPERAND(3), c_type, (unsigned)x->m * x->n, false);
    fragment(d, &x->d, OPERAND(0), d_type, (unsigned)x->m * x->n, true);
    if (x->quads) { /* m8n8k4 multiplies four pairs of matrices, so no register of a thread repeats another register */
        x->a.used = x->a.count, x->b.used = x->b.count;
        x->c.used = x->c.count, x->d.used = x->d.count;
    }
    if (a_type == PTX_B1)
        x->k /= 32; /* from here on, k counts words of 32 one-bit elements */
    if (x->sparse) {
        /* half: true if k is at most half of the largest k of this type */
        bool half = x->k * vm_element_bits(a_type) <= 256;
        uint64_t most = vm_element_bits(a_type) >= 16 ? (half ? 3 : 1) : half ? 1 : 0;
        x->metadata = decode_source(d, OPERAND(4), 4);
        x->selector = (uint8_t)OPERAND(5)->imm;
        if (OPERAND(5)->imm > most)
            decode_set_error(d, "sparsity selector does not select lanes with metadata");
    }
    tensor_core(d, x);
    decode_emit(d, VM_H_mma)->extra = x;
}

static vm_code *addressed(vm_decoder *d, vm_handler handler, const ptx_operand *address, const void *extra)
{
    vm_place place = decode_address(d, address, 0);
    vm_code *i = decode_emit_op(d, handler);
    i->a = place.slot;
    i->imm = (uint64_t)place.offset;
    i->e = decode_cache_slot(d);
    i->space = d->in->space;
    i->flags = place.addr32 ? VM_ADDR32 : 0;
    i->extra = extra;
    return i;
}

static void wmma_move(vm_decoder *d)
{
    bool store = d->in->op == PTX_OP_WMMA_STORE_D;
    char which = d->in->op == PTX_OP_WMMA_LOAD_A ? 'a' : d->in->op == PTX_OP_WMMA_LOAD_B ? 'b' : 'c';
    unsigned type = TYPE(0);
    vm_matrix *x = new_matrix(d);
    if (!x)
        return;
    fragment(d, &x->d, OPERAND(store ? 1 : 0), type,
             which == 'a'   ? x->m * x->k
             : which == 'b' ? x->k * x->n
                            : (unsigned)x->m * x->n,
             !store);
    uint32_t stride = d->in->operand_count > 2 ? decode_source(d, OPERAND(2), 4) : 0;
    vm_code *i = addressed(d, store ? ops_wmma_store : ops_wmma_load, OPERAND(store ? 0 : 1), x);
    i->b = stride;
    i->count = (uint8_t)which;
    i->c = HAS(COL);
    if (store)
        i->flags |= VM_WRITES;
}

static void rows(vm_decoder *d)
{
    bool store = d->in->op == PTX_OP_STMATRIX, tall = HAS(M16N16), bytes = tall || HAS(M8N16) || HAS(M16N8);
    const ptx_operand *registers = OPERAND(store ? 1 : 0);
    unsigned count = registers->kind == PTX_OPERAND_VECTOR ? registers->count : 1;
    uint32_t *slots = decode_allocate(d, count * sizeof *slots);
    if (!slots)
        return;
    for (unsigned k = 0; k < count; k++)
        slots[k] = store ? decode_source(d, element(d, registers, k), 4) : decode_dest(d, element(d, registers, k), 4);
    vm_code *i = addressed(d, store ? ops_stmatrix : ops_ldmatrix, OPERAND(store ? 0 : 1), slots);
    i->count = (uint8_t)(tall ? count / 2 : count);
    i->c = (HAS(TRANS) ? 1u : 0) | (bytes ? 2u : 0) | (HAS(B6X16_P32) ? 4u : 0) | (HAS(B4X16_P64) ? 8u : 0);
    if (store)
        i->flags |= VM_WRITES;
}

void decode_wmma_load(vm_decoder *d) { wmma_move(d); }
void decode_wmma_store(vm_decoder *d) { wmma_move(d); }
void decode_ldmatrix(vm_decoder *d) { rows(d); }
void decode_stmatrix(vm_decoder *d) { rows(d); }

void decode_movmatrix(vm_decoder *d)
{
    uint32_t a = decode_source(d, OPERAND(1), 4), to = decode_dest(d, OPERAND(0), 4);
    vm_code *i = decode_emit_op(d, ops_movmatrix);
    i->d = to, i->a = a;
}

/* ---- wgmma ---- */

/* Reads the constants at the end of a wgmma: the scales of A and B, which are 1 or -1, and the flags for transposed
 * matrices. A flag for a transposed A exists only if A is in shared memory. */
static void constants(vm_decoder *d, vm_wgmma *x, const ptx_operand *list)
{
    uint64_t value[4] = {1, 1, 0, 0};
    for (uint32_t k = 0; k < list->count && k < KILN__COUNT(value); k++)
        value[k] = d->f->elements[list->index + k].imm;
    for (unsigned k = 0; k < 2; k++)
        if (value[k] != 1 && value[k] != UINT32_MAX)
            decode_set_error(d, "a scale that is neither 1 nor -1");
    if (value[2] > 1 || value[3] > 1)
        decode_set_error(d, "a transposition that is neither 0 nor 1");
    x->a_negative = value[0] != 1;
    x->b_negative = value[1] != 1;
    x->a_across = x->a_shared && value[2];
    x->b_across = x->a_shared ? value[3] : value[2];
}

/* Returns true if a matrix of this type may have this number of columns. For integers, the number of columns must be a
 * multiple of 8 up to 32 columns, and a multiple of 16 above. */
static bool has_shape(const vm_decoder *d) { return TYPE(0) != PTX_S32 || d->in->tiles <= 4 || d->in->tiles % 2 == 0; }

void decode_wgmma(vm_decoder *d)
{
    const bool sparse = d->in->op == PTX_OP_WGMMA_SP;
    const unsigned after = sparse ? 5 : 3; /* index of the operand that is the predicate */
    const ptx_operand *a = OPERAND(1), *sums = OPERAND(0);
    const vm_matrix *shape = new_matrix(d);
    uint32_t *slots = decode_allocate(d, (sums->count ? sums->count : 1) * sizeof *slots);
    vm_wgmma *x = decode_allocate(d, sizeof *x);
    if (!shape || !slots || !x)
        return;
    *x = (vm_wgmma){.tile = *shape, .d = slots, .tiles = d->in->tiles, .each = TYPE(0) == PTX_F16 ? 2 : 4};
    for (uint32_t k = 0; k < sums->count; k++) {
        const ptx_operand *sum = element(d, sums, k);
        if (sum->kind == PTX_OPERAND_SINK)
            decode_set_error(d, "a sum that is not in a register");
        slots[k] = decode_dest(d, sum, 4);
    }
    if (!has_shape(d))
        decode_set_error(d, "a number of columns that products of integers do not have");
    x->a_shared = a->kind != PTX_OPERAND_VECTOR;
    x->tile.sparse = sparse;
    x->tile.satfinite = HAS(SATFINITE);
    x->tile.and_popc = HAS(AND);
    x->tile.a.type = TYPE(1);
    x->tile.b.type = TYPE(2);
    if (x->a_shared)
        x->a = decode_source(d, a, 8);
    else
        fragment(d, &x->tile.a, a, TYPE(1), x->tile.m * x->tile.k / (sparse ? 2u : 1u), false);
    x->b = decode_source(d, OPERAND(2), 8);
    x->tile.d = x->tile.c = (vm_fragment){.type = TYPE(0), .count = x->each, .used = x->each};
    if (TYPE(1) == PTX_B1)
        x->tile.k /= 32; /* from here on, k counts words of 32 one-bit elements */
    if (sparse) {
        uint64_t most = vm_element_bits(TYPE(1)) >= 16 ? 1 : 0;
        x->tile.metadata = decode_source(d, OPERAND(3), 4);
        x->tile.selector = (uint8_t)OPERAND(4)->imm;
        if (OPERAND(4)->imm > most)
            decode_set_error(d, "sparsity selector does not select lanes with metadata");
    }
    x->scale = decode_pred_source(d, OPERAND(after));
    if (d->in->operand_count > after + 1)
        constants(d, x, OPERAND(after + 1));
    tensor_core(d, &x->tile);
    decode_emit(d, VM_H_wgmma)->extra = x;
}
