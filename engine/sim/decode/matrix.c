/* matrix.c - mma, wmma, ldmatrix, stmatrix, movmatrix. */
#include "vm_decode.h"
#include "vm_matrix.h"

#define OPERAND(n) (&d->in->operands[n])
#define TYPE(n) (d->in->types[n])
#define HAS(mod) ptx_has(d->in, PTX_MOD_##mod)

/* X(mod, m, n, k) */
#define SHAPE_MAP(X)                                                                                                   \
    X(M8N8K4, 8, 8, 4)                                                                                                 \
    X(M8N8K16, 8, 8, 16)                                                                                               \
    X(M8N8K32, 8, 8, 32)                                                                                               \
    X(M8N8K128, 8, 8, 128)                                                                                             \
    X(M16N8K4, 16, 8, 4)                                                                                               \
    X(M16N8K8, 16, 8, 8)                                                                                               \
    X(M16N8K16, 16, 8, 16)                                                                                             \
    X(M16N8K32, 16, 8, 32)                                                                                             \
    X(M16N8K64, 16, 8, 64)                                                                                             \
    X(M16N8K128, 16, 8, 128)                                                                                           \
    X(M16N8K256, 16, 8, 256)                                                                                           \
    X(M16N16K16, 16, 16, 16)                                                                                           \
    X(M8N32K16, 8, 32, 16)                                                                                             \
    X(M32N8K16, 32, 8, 16)                                                                                             \
    X(M16N16K8, 16, 16, 8)

static vm_matrix *new_matrix(vm_decoder *d)
{
    static const struct {
        ptx_mod mod;
        uint16_t m, n, k;
    } shapes[] = {
#define X(name, rows, columns, depth) {PTX_MOD_##name, rows, columns, depth},
        SHAPE_MAP(X)
#undef X
    };
    vm_matrix *x = vm_keep(d, sizeof *x);
    if (!x)
        return NULL;
    *x = (vm_matrix){.rounding = (uint8_t)vm_rounding(d->in)};
    for (unsigned k = 0; k < KILN__COUNT(shapes); k++)
        if (ptx_has(d->in, shapes[k].mod))
            x->m = shapes[k].m, x->n = shapes[k].n, x->k = shapes[k].k;
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
        vm_decode_fail(d, "fragment with too many registers");
        return;
    }
    for (unsigned k = 0; k < f->count; k++)
        f->slots[k] = write ? vm_dest(d, element(d, o, k), bytes) : vm_source(d, element(d, o, k), bytes);
    f->used = (uint8_t)(used && used < f->count ? used : f->count);
}

/* How many products a device's tensor cores sum in one step, and with which precision: see engine/sim/ops/README.md,
 * "Matrices". */
static void tensor_core(const vm_decoder *d, vm_matrix *x)
{
    int cc = d->module->device->limits.cc ? d->module->device->limits.cc : 90;
    unsigned at_once = cc >= 90 ? 32 : cc >= 75 ? 16 : 8, bytes = vm_element_bits(x->a.type) / 8;
    x->fraction = cc >= 90 ? 25 : cc >= 75 ? 24 : 23;
    x->chain = x->quads && x->d.type == PTX_F32 && cc >= 75;
    x->terms = (uint8_t)(at_once / (bytes ? bytes : 1));
}

void vm_decode_mma(vm_decoder *d)
{
    bool wmma = d->in->op == PTX_OP_WMMA_MMA, wide = d->in->types[2] != PTX_NONE; /* else only d, c have types */
    vm_matrix *x = new_matrix(d);
    if (!x)
        return;
    unsigned d_type = TYPE(0), a_type = wide ? TYPE(1) : PTX_F16, b_type = wide ? TYPE(2) : PTX_F16;
    unsigned c_type = wide ? TYPE(3) : TYPE(1);
    x->sparse = d->in->op == PTX_OP_MMA_SP || d->in->op == PTX_OP_MMA_SP_ORDERED;
    x->quads = !wmma && x->m == 8 && a_type == PTX_F16;
    x->satfinite = HAS(SATFINITE);
    x->and_popc = HAS(AND);
    x->a_column = HAS(COL);
    x->b_column = HAS(COL_2);
    fragment(d, &x->a, OPERAND(1), a_type, x->m * x->k / (x->sparse ? 2u : 1u), false);
    fragment(d, &x->b, OPERAND(2), b_type, (unsigned)x->k * x->n, false);
    fragment(d, &x->c, OPERAND(3), c_type, (unsigned)x->m * x->n, false);
    fragment(d, &x->d, OPERAND(0), d_type, (unsigned)x->m * x->n, true);
    if (x->quads) { /* four products: every register counts */
        x->a.used = x->a.count, x->b.used = x->b.count;
        x->c.used = x->c.count, x->d.used = x->d.count;
    }
    if (a_type == PTX_B1)
        x->k /= 32; /* of words */
    if (x->sparse) {
        bool half = x->k * vm_element_bits(a_type) <= 256; /* half of the depth of this type's largest shape */
        uint64_t most = vm_element_bits(a_type) >= 16 ? (half ? 3 : 1) : half ? 1 : 0;
        x->metadata = vm_source(d, OPERAND(4), 4);
        x->selector = (uint8_t)OPERAND(5)->imm;
        if (OPERAND(5)->imm > most)
            vm_decode_fail(d, "sparsity selector does not select lanes with metadata");
    }
    tensor_core(d, x);
    vm_emit(d, VM_H_mma)->extra = x;
}

static vm_code *addressed(vm_decoder *d, vm_handler handler, const ptx_operand *address, const void *extra)
{
    vm_place place = vm_address(d, address, 0);
    vm_code *i = vm_emit_op(d, handler);
    i->a = place.slot;
    i->imm = (uint64_t)place.offset;
    i->e = vm_cache_slot(d);
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
    uint32_t stride = d->in->operand_count > 2 ? vm_source(d, OPERAND(2), 4) : 0;
    vm_code *i = addressed(d, store ? vm_op_wmma_store : vm_op_wmma_load, OPERAND(store ? 0 : 1), x);
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
    uint32_t *slots = vm_keep(d, count * sizeof *slots);
    if (!slots)
        return;
    for (unsigned k = 0; k < count; k++)
        slots[k] = store ? vm_source(d, element(d, registers, k), 4) : vm_dest(d, element(d, registers, k), 4);
    vm_code *i = addressed(d, store ? vm_op_stmatrix : vm_op_ldmatrix, OPERAND(store ? 0 : 1), slots);
    i->count = (uint8_t)(tall ? count / 2 : count);
    i->c = (HAS(TRANS) ? 1u : 0) | (bytes ? 2u : 0) | (HAS(B6X16_P32) ? 4u : 0) | (HAS(B4X16_P64) ? 8u : 0);
    if (store)
        i->flags |= VM_WRITES;
}

void vm_decode_wmma_load(vm_decoder *d) { wmma_move(d); }
void vm_decode_wmma_store(vm_decoder *d) { wmma_move(d); }
void vm_decode_ldmatrix(vm_decoder *d) { rows(d); }
void vm_decode_stmatrix(vm_decoder *d) { rows(d); }

void vm_decode_movmatrix(vm_decoder *d)
{
    uint32_t a = vm_source(d, OPERAND(1), 4), to = vm_dest(d, OPERAND(0), 4);
    vm_code *i = vm_emit_op(d, vm_op_movmatrix);
    i->d = to, i->a = a;
}
