/* operands.c - finds the registers that an instruction reads and writes. A region ends before an instruction that this
 * file does not know. */
#include "region.h"
#include "vm_collective.h"
#include "vm_path.h"

#include <string.h>

const jit_shape jit_shapes[VM_H_COUNT] = {
#define VM_UN(name, D, A, ...) {#name, JIT_UN, JIT_##D, JIT_##A, 0, 0, false},
#define VM_BIN(name, D, A, B, ...) {#name, JIT_BIN, JIT_##D, JIT_##A, JIT_##B, 0, false},
#define VM_TER(name, D, A, B, C, ...) {#name, JIT_TER, JIT_##D, JIT_##A, JIT_##B, JIT_##C, false},
#define VM_BIN64(name, ...) {#name, JIT_BIN, JIT_f64, JIT_f64, JIT_f64, 0, false},
#define VM_TER64(name, ...) {#name, JIT_TER, JIT_f64, JIT_f64, JIT_f64, JIT_f64, false},
#define VM_CMP(name, A, ...) {#name, JIT_CMP, 0, JIT_##A, JIT_##A, 0, false},
#define VM_LOAD(name, S, T, R) {#name, JIT_LOAD, JIT_##R, JIT_##T, 0, 0, IS_##S},
#define VM_STORE(name, S, T, R) {#name, JIT_STORE, JIT_##R, JIT_##T, 0, 0, IS_##S},
#define VM_OWN(name) {#name, JIT_OWN, 0, 0, 0, 0, false},
#define IS_global false
#define IS_shared true
#include "vm_ops.def"
};

static jit_width get_width(unsigned type)
{
    return type == JIT_u64 || type == JIT_s64 || type == JIT_f64 ? JIT_64 : JIT_32;
}

static void add_use(jit_insn *out, uint32_t slot, unsigned width, bool write)
{
    if (out->use_count == JIT_USES)
        out->kind = JIT_STOP;
    else if (!(slot & 1))
        out->uses[out->use_count++] = (jit_use){slot, (uint8_t)width, write};
}

/* Finds the registers that a load or store uses. An access that exceeds the limits of region.h keeps the kind
 * JIT_STOP. */
static void find_memory_uses(const vm_code *i, const jit_shape *shape, jit_insn *out)
{
    const uint32_t *slots = i->extra;
    const int64_t offset = (int64_t)i->imm;
    if (i->count > JIT_ELEMENTS || (!shape->shared && (offset > JIT_OFFSET_MOST || offset < -JIT_OFFSET_MOST))) {
        out->kind = JIT_STOP;
        return;
    }
    add_use(out, i->a, shape->shared ? JIT_32 : JIT_64, false);
    for (uint32_t k = 0; k < i->count; k++)
        add_use(out, i->count == 1 ? i->d : slots[k], get_width(shape->d), shape->form == JIT_LOAD);
}

/* Finds the registers of an instruction that is in the table of handlers (vm_ops.def). */
static void find_table_uses(const vm_code *i, const jit_shape *shape, jit_insn *out)
{
    out->kind = JIT_PLAIN;
    if (shape->form == JIT_LOAD || shape->form == JIT_STORE) {
        find_memory_uses(i, shape, out);
        return;
    }
    if (shape->form == JIT_OWN) {
        const unsigned width = out->id == VM_H_selp_b64 || out->id == VM_H_param_b64 || out->id == VM_H_bfi_b64
                                   ? JIT_64
                                   : JIT_32;
        switch (out->id) {
        case VM_H_bfi_b32:
        case VM_H_bfi_b64:
            add_use(out, i->c, JIT_32, false);
            add_use(out, i->e, JIT_32, false);
            add_use(out, i->a, width, false);
            add_use(out, i->b, width, false);
            break;
        case VM_H_selp_b32:
        case VM_H_selp_b64:
            add_use(out, i->a, width, false);
            add_use(out, i->b, width, false);
            add_use(out, i->c, JIT_MASK, false);
            break;
        case VM_H_rsqrt_f32: add_use(out, i->a, JIT_32, false); break;
        case VM_H_param_b32:
        case VM_H_param_b64: break;
        default: out->kind = JIT_STOP; return;
        }
        add_use(out, i->d, width, true);
        return;
    }
    add_use(out, i->a, get_width(shape->a), false);
    if (shape->form != JIT_UN)
        add_use(out, i->b, get_width(shape->b), false);
    if (shape->form == JIT_TER)
        add_use(out, i->c, get_width(shape->c), false);
    if (shape->form != JIT_CMP) {
        add_use(out, i->d, get_width(shape->d), true);
        return;
    }
    if (i->flags & (VM_BOOL_AND | VM_BOOL_OR | VM_BOOL_XOR))
        add_use(out, i->c, JIT_MASK, false);
    add_use(out, i->d, JIT_MASK, true);
    if (i->e)
        add_use(out, i->e, JIT_MASK, true);
}

const char *jit_update(const vm_code *i)
{
    const uint32_t *how = i->extra;
    const bool sign = how[0] == PTX_S32, word = sign || how[0] == PTX_U32 || how[0] == PTX_B32;
    if (!word)
        return NULL;
    if (how[1] == PTX_MOD_ADD)
        return "add";
    if (i->d) /* vm_poll() needs to know whether and, or and xor change memory. This is known only after the update. */
        return NULL;
    switch (how[1]) {
    case PTX_MOD_AND: return "and";
    case PTX_MOD_OR: return "or";
    case PTX_MOD_XOR: return "xor";
    default: return NULL;
    }
}

static void find_atomic_uses(const vm_code *i, jit_insn *out)
{
    const uint32_t *how = i->extra;
    const unsigned width = i->flags & VM_REG64 ? JIT_64 : JIT_32;
    if (i->count != 1 || i->size > 8)
        return;
    out->kind = i->space == PTX_SPACE_SHARED && i->size == 4 && jit_update(i) ? JIT_UPDATE : JIT_CALL;
    add_use(out, i->a, i->flags & VM_ADDR32 ? JIT_32 : JIT_64, false);
    add_use(out, i->b, width, false);
    if (how[1] == PTX_MOD_CAS)
        add_use(out, i->c, width, false);
    if (i->d)
        add_use(out, i->d, width, true);
}

/* Finds the registers of a move between one 64-bit register and two 32-bit registers. A slot of 0 means that the move
 * does not use this half. */
static void find_pair_uses(const vm_code *i, jit_insn *out, bool split)
{
    const uint32_t *slots = i->extra;
    if (i->size != 32 || i->count != 2)
        return;
    out->kind = JIT_PLAIN;
    if (split)
        add_use(out, i->a, JIT_64, false);
    for (unsigned k = 0; k < 2; k++)
        if (slots[k])
            add_use(out, slots[k], JIT_32, split);
    if (!split)
        add_use(out, i->d, JIT_64, true);
}

struct jit_moves {
    uint32_t rows;
    struct {
        uint32_t slot, value;
        /* some: the function moves a constant to the row; more: the function moves constants with different values to
         * the row, or moves constants to several slots of the row */
        bool some, more;
    } row[];
};

jit_moves *jit_moves_new(const kiln_allocator *mem, const vm_function *function)
{
    const vm_handler move = function->module->table[VM_H_mov_b32].masked;
    const uint32_t rows = function->sink / 128 + 1;
    jit_moves *moves = kiln__calloc(mem, 1, sizeof *moves + rows * sizeof moves->row[0]);
    if (!moves)
        return NULL;
    moves->rows = rows;
    for (uint32_t k = 0; k < function->code_count; k++) {
        const vm_code *i = &function->code[k];
        const uint32_t at = i->d / 128;
        uint32_t value;
        if (i->masked != move || !(i->a & 1) || at >= rows)
            continue;
        memcpy(&value, function->constants + (i->a & ~1u), sizeof value);
        if (moves->row[at].some)
            moves->row[at].more = moves->row[at].more || moves->row[at].slot != i->d || moves->row[at].value != value;
        moves->row[at].slot = i->d;
        moves->row[at].value = value;
        moves->row[at].some = true;
    }
    return moves;
}

bool jit_known(const jit_moves *moves, const vm_function *function, uint32_t slot, uint32_t *value)
{
    if (slot & 1) {
        memcpy(value, function->constants + (slot & ~1u), sizeof *value);
        return true;
    }
    const uint32_t at = slot / 128;
    if (at >= moves->rows || !moves->row[at].some || moves->row[at].more || moves->row[at].slot != slot)
        return false;
    *value = moves->row[at].value;
    return true;
}

/* Returns true if a member mask may name all lanes. The mask is then a constant that names all lanes, or a register
 * whose value the region will test. */
static bool may_be_all(const vm_function *function, uint32_t slot)
{
    uint32_t value;
    memcpy(&value, function->constants + (slot & 1 ? slot & ~1u : 0), sizeof value);
    return !(slot & 1) || value == VM_ALL;
}

/* Finds the registers of operations between lanes. If all lanes run and the mask names all of them, the lanes need not
 * wait for each other. The region tests the mask. In all other cases the kind of the instruction stays JIT_STOP. */
static void find_warp_uses(const jit_moves *moves, const vm_function *function, const vm_code *i, jit_insn *out)
{
    const bool shuffle = i->masked == vm_op_shfl;
    const uint32_t members = jit_members(i);
    uint32_t value;
    if (i->guard & ~2u || !may_be_all(function, members))
        return;
    add_use(out, members, JIT_32, false);
    if (i->masked == vm_op_warp_sync) {
        out->kind = members & 1 ? JIT_MEET : JIT_PLAIN;
    } else if (!shuffle) {
        out->kind = JIT_PLAIN;
        add_use(out, i->a, JIT_MASK, false);
        add_use(out, i->d, i->size == 3 ? JIT_32 : JIT_MASK, true);
    } else if (jit_known(moves, function, i->b, &value) && jit_known(moves, function, i->c, &value)) {
        out->kind = JIT_PLAIN;
        add_use(out, i->a, JIT_32, false);
        add_use(out, i->b, JIT_32, false);
        add_use(out, i->c, JIT_32, false);
        add_use(out, i->d, JIT_32, true);
        if (i->e)
            add_use(out, i->e, JIT_MASK, true);
    }
}

/* Returns true for a special register whose value is constant for a thread of a launch. special_value() of arith.c
 * reads such a register. */
static bool is_steady(unsigned which)
{
    switch (which) {
    case PTX_SREG_TID_X:
    case PTX_SREG_TID_Y:
    case PTX_SREG_TID_Z:
    case PTX_SREG_NTID_X:
    case PTX_SREG_NTID_Y:
    case PTX_SREG_NTID_Z:
    case PTX_SREG_CTAID_X:
    case PTX_SREG_CTAID_Y:
    case PTX_SREG_CTAID_Z:
    case PTX_SREG_NCTAID_X:
    case PTX_SREG_NCTAID_Y:
    case PTX_SREG_NCTAID_Z:
    case PTX_SREG_LANEID: return true;
    default: return false;
    }
}

static size_t get_hash_slot(vm_handler handler)
{
    uint64_t address = 0;
    memcpy(&address, &handler, sizeof handler);
    return (size_t)(address * 0x9e3779b97f4a7c15ull >> 54);
}

void jit_table_fill(jit_table *table, const vm_handlers *of)
{
    if (table->of == of)
        return;
    *table = (jit_table){.of = of};
    /* if several numbers have the same handler, find_id() returns the lowest number */
    for (unsigned k = 0; k < VM_H_COUNT; k++) {
        size_t at = get_hash_slot(of[k].masked);
        while (table->slots[at])
            at = (at + 1) % KILN__COUNT(table->slots);
        table->slots[at] = (uint16_t)(k + 1);
    }
}

static uint16_t find_id(const jit_table *table, vm_handler masked)
{
    for (size_t at = get_hash_slot(masked); table->slots[at]; at = (at + 1) % KILN__COUNT(table->slots))
        if (table->of[table->slots[at] - 1].masked == masked)
            return (uint16_t)(table->slots[at] - 1);
    return VM_H_COUNT;
}

void jit_look(const jit_table *table, const jit_moves *moves, const vm_function *function, uint32_t at, jit_insn *out)
{
    const vm_code *i = &function->code[at];
    memset(out, 0, sizeof *out);
    out->id = find_id(table, i->masked);
    if (out->id < VM_H_COUNT) {
        find_table_uses(i, &jit_shapes[out->id], out);
    } else if (i->masked == vm_op_bra) {
        out->kind = JIT_BRANCH;
    } else if (i->masked == vm_op_meet || i->masked == ops_nop) {
        out->kind = JIT_MEET;
    } else if (i->masked == ops_pred_logic) {
        out->kind = JIT_PLAIN;
        add_use(out, i->a, JIT_MASK, false);
        add_use(out, i->b, JIT_MASK, false);
        add_use(out, i->d, JIT_MASK, true);
    } else if (i->masked == ops_atom) {
        find_atomic_uses(i, out);
    } else if (i->masked == ops_split || i->masked == ops_join) {
        find_pair_uses(i, out, i->masked == ops_split);
    } else if (i->masked == vm_op_shfl || i->masked == vm_op_vote || i->masked == vm_op_warp_sync) {
        find_warp_uses(moves, function, i, out);
    } else if (i->masked == ops_special && is_steady(i->b)) {
        out->kind = i->flags & (VM_REG64 | VM_REG16) ? JIT_CALL : JIT_PLAIN;
        add_use(out, i->d, i->flags & VM_REG64 ? JIT_64 : JIT_32, true);
    }
}
