/* cost.c - finds the cost of each PTX instruction: the number of its machine instructions, their functional unit and
 * latency. The units and numbers come from the arithmetic throughput table of the CUDA C++ Programming Guide, and from
 * the machine code that ptxas makes. ESTIMATE.md has the reasons. */
#include <string.h>

#include "vm_cost.h"
#include "vm_schedule.h"

/* a switch over an enum of ptx_trait.h has no default, so that the compiler demands a case for each enumerator */
#pragma GCC diagnostic error "-Wswitch"

#define MODULE_MOST (1u << 20) /* the model estimates no times for a module with more instructions */
#define ANY_REGISTER UINT32_MAX

/* ---- registers ---- */

typedef struct builder {
    vm_cost *cost;
    const ptx_function *f;
    const sim_model *model;
    bool *wide;     /* indexed by register: true if an instruction needs all 64 bits of it */
    uint32_t *uses; /* indexed by register: number of operands that read it */
    /* Indexed by register: the instruction that writes it. ANY_REGISTER if several instructions write it, ANY_REGISTER
     * - 1 if none does. */
    uint32_t *writer;
    uint8_t *fused; /* indexed by instruction: bits of the enum `fusion` */
    bool failed;
} builder;

typedef void (*visitor)(builder *b, uint32_t insn, uint32_t reg, bool result);

static void visit_vector(builder *b, uint32_t k, const ptx_operand *o, bool result, visitor visit)
{
    for (uint32_t e = 0; e < o->count; e++)
        if (b->f->elements[o->index + e].kind == PTX_OPERAND_REG)
            visit(b, k, b->f->elements[o->index + e].index, result);
}

/* Two columns of effects.def: whether an instruction has a result, and its vm_act. */
enum { RESULT_NO, RESULT_YES, RESULT_RED };
static const unsigned char result_of_effect[] = {
#define EFFECT(name, flow, engine, access, check, act, result) RESULT_##result,
#include "effects.def"
};
enum { VM_ACT_GROUP = 255 }; /* stands in effects.def for an act that act_of_group() chooses by the opcode */
static const unsigned char act_of_effect[] = {
#define EFFECT(name, flow, engine, access, check, act, result) VM_ACT_##act,
#include "effects.def"
};

/* Returns true if the first operand is a register that the instruction writes. An [address] is not written. */
static bool has_result(const ptx_insn *in)
{
    const unsigned char result = result_of_effect[ptx_effect_of(in)];
    return result == RESULT_YES || (result == RESULT_RED && ptx_has(in, PTX_MOD_RED));
}

static void visit_registers(builder *b, uint32_t k, visitor visit)
{
    const ptx_insn *in = &b->f->insns[k];
    bool first_is_result = has_result(in);
    if (in->guard != PTX_NO_PRED)
        visit(b, k, in->guard, false);
    for (uint32_t n = 0; n < in->operand_count; n++) {
        const ptx_operand *o = &in->operands[n];
        bool result = n == 0 && first_is_result;
        if (o->kind == PTX_OPERAND_REG)
            visit(b, k, o->index, result);
        else if (o->kind == PTX_OPERAND_ADDRESS && o->base == PTX_BASE_REG)
            visit(b, k, o->index, false);
        else if (o->kind == PTX_OPERAND_VECTOR || (o->kind == PTX_OPERAND_LIST && in->op == PTX_OP_CALL))
            visit_vector(b, k, o, result, visit);
        if (o->pred)
            visit(b, k, o->pred - 1, true);
    }
}

static bool is_wide_integer(unsigned type) { return type == PTX_B64 || type == PTX_U64 || type == PTX_S64; }
static bool is_half(unsigned type)
{
    return type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2;
}

/* Marks `reg` as wide if instruction k reads it and needs more than the lower 32 bits. Addresses of shared memory have
 * 32 bits. So ptxas replaces 64-bit arithmetic that only computes such addresses by 32-bit arithmetic. An opcode that
 * this function does not list needs all bits. */
static void mark_wide(builder *b, uint32_t k, uint32_t reg, bool result)
{
    const ptx_insn *in = &b->f->insns[k];
    if (result || b->wide[reg])
        return;
    const ptx_operand *first = &in->operands[0];
    ptx_effect effect = ptx_effect_of(in);
    bool loads = effect == PTX_EFFECT_LOAD || effect == PTX_EFFECT_ATOMIC;
    bool memory = loads || effect == PTX_EFFECT_STORE || effect == PTX_EFFECT_REDUCTION;
    bool keeps = in->op == PTX_OP_ADD || in->op == PTX_OP_SUB || in->op == PTX_OP_MOV || in->op == PTX_OP_SHL ||
                 in->op == PTX_OP_AND || in->op == PTX_OP_OR || (in->op == PTX_OP_MUL && ptx_has(in, PTX_MOD_LO));
    if (memory && in->space == PTX_SPACE_SHARED) {
        const ptx_operand *address = &in->operands[loads ? 1 : 0];
        b->wide[reg] = !(address->kind == PTX_OPERAND_ADDRESS && address->index == reg);
    } else {
        b->wide[reg] = !(keeps && is_wide_integer(in->types[0]) && first->kind == PTX_OPERAND_REG &&
                         !b->wide[first->index]);
    }
}

static void count_use(builder *b, uint32_t k, uint32_t reg, bool result)
{
    if (!result)
        b->uses[reg]++;
    else
        b->writer[reg] = b->writer[reg] == ANY_REGISTER - 1 ? k : ANY_REGISTER;
}

static bool find_uses(builder *b, const kiln_allocator *mem)
{
    size_t count = (size_t)b->f->reg_count + 1;
    b->wide = kiln__calloc(mem, count, sizeof *b->wide);
    b->uses = kiln__calloc(mem, count, sizeof *b->uses);
    b->writer = kiln__calloc(mem, count, sizeof *b->writer);
    if (!b->wide || !b->uses || !b->writer)
        return false;
    for (size_t r = 0; r < count; r++)
        b->writer[r] = ANY_REGISTER - 1; /* no instruction has written the register yet */
    for (uint32_t k = 0; k < b->f->insn_count; k++)
        visit_registers(b, k, count_use);
    /* The number of passes is limited. If a pass is missing, the estimate is only wrong by single machine
     * instructions. */
    for (unsigned pass = 0; pass < 8; pass++)
        for (uint32_t k = b->f->insn_count; k-- > 0;)
            visit_registers(b, k, mark_wide);
    return true;
}

/* ---- costs ---- */

typedef struct price {
    vm_unit unit;
    unsigned issue;
    unsigned latency;
} price;

static double lanes_of(const sim_model *m, vm_unit unit)
{
    switch (unit) {
    case VM_UNIT_ALU: return m->integer;
    case VM_UNIT_FMA: return m->fp32;
    case VM_UNIT_MULTIPLY: return m->multiply;
    case VM_UNIT_FP64: return m->fp64;
    case VM_UNIT_FP16: return m->fp16 / 2;
    case VM_UNIT_SFU: return m->special;
    case VM_UNIT_SHUFFLE: return m->shuffle;
    case VM_UNIT_MEMORY: return m->load_store;
    case VM_UNIT_TENSOR:
    case VM_UNIT_NONE:
    case VM_UNITS: break;
    }
    return 0;
}

static price price_arithmetic(const builder *b, const ptx_insn *in, unsigned wide_count)
{
    unsigned type = in->types[0];
    bool narrow = in->operands[0].kind == PTX_OPERAND_REG && !b->wide[in->operands[0].index];
    if (type == PTX_F32 || type == PTX_TF32)
        return (price){VM_UNIT_FMA, 1, 0};
    if (type == PTX_F64)
        return (price){VM_UNIT_FP64, 1, 0};
    if (is_half(type))
        return (price){VM_UNIT_FP16, 1, 0};
    return (price){VM_UNIT_ALU, is_wide_integer(type) && !narrow ? wide_count : 1, 0};
}

static price price_product(const builder *b, const ptx_insn *in)
{
    price p = price_arithmetic(b, in, 1);
    if (p.unit != VM_UNIT_ALU)
        return p;
    p.unit = VM_UNIT_MULTIPLY;
    bool hi = ptx_has(in, PTX_MOD_HI);
    if (is_wide_integer(in->types[0]))
        p.issue = hi ? 10 : 4;
    else
        p.issue = hi ? 2 : 1;
    return p;
}

static price price_division(const ptx_insn *in)
{
    bool quick = ptx_has(in, PTX_MOD_APPROX) || ptx_has(in, PTX_MOD_FULL);
    if (in->types[0] == PTX_F32)
        return quick ? (price){VM_UNIT_SFU, 2, 30} : (price){VM_UNIT_FMA, 10, 80};
    if (in->types[0] == PTX_F64)
        return (price){VM_UNIT_FP64, 12, 150};
    return is_wide_integer(in->types[0]) ? (price){VM_UNIT_ALU, 70, 300} : (price){VM_UNIT_ALU, 18, 120};
}

static price price_conversion(const ptx_insn *in)
{
    unsigned to = in->types[0], from = in->types[1];
    bool to_float = to == PTX_F32 || to == PTX_F64 || is_half(to);
    bool from_float = from == PTX_F32 || from == PTX_F64 || is_half(from);
    if (to_float || from_float)
        return to == PTX_F64 || from == PTX_F64 || to_float != from_float ? (price){VM_UNIT_SFU, 1, 0}
                                                                          : (price){VM_UNIT_ALU, 1, 0};
    if (is_wide_integer(to)) /* the upper 32 bits are zero or copies of the sign bit */
        return (price){from == PTX_S32 || from == PTX_S16 ? VM_UNIT_ALU : VM_UNIT_NONE,
                       from == PTX_S32 || from == PTX_S16, 0};
    return ptx_type_bytes((ptx_type)to) >= 4 || ptx_type_bytes((ptx_type)from) == 4 ? (price){VM_UNIT_NONE, 0, 0}
                                                                                    : (price){VM_UNIT_ALU, 1, 0};
}

/* Returns the cost of a move. ptxas removes moves of registers and constants. Only a move from a special register needs
 * a machine instruction. */
static price price_move(const ptx_insn *in)
{
    const ptx_operand *from = &in->operands[1];
    if (from->kind != PTX_OPERAND_SREG || (from->index >= PTX_SREG_NTID_X && from->index <= PTX_SREG_NTID_Z) ||
        (from->index >= PTX_SREG_NCTAID_X && from->index <= PTX_SREG_NCTAID_Z))
        return (price){VM_UNIT_NONE, 0, 0};
    return (price){VM_UNIT_ALU, 1, 20};
}

static price price_special(const ptx_insn *in, unsigned times)
{
    return in->types[0] == PTX_F64 ? (price){VM_UNIT_FP64, 12, 150} : (price){VM_UNIT_SFU, times, 0};
}

static price price_root(const ptx_insn *in)
{
    bool quick = in->types[0] == PTX_F64 || ptx_has(in, PTX_MOD_APPROX);
    return quick ? price_special(in, 1) : (price){VM_UNIT_FMA, 8, 60};
}

static price price_selection(const builder *b, const ptx_insn *in)
{
    price p = price_arithmetic(b, in, 2);
    return p.unit == VM_UNIT_ALU ? p : (price){VM_UNIT_ALU, 1, 0};
}

/* ---- pairs of PTX instructions that become one machine instruction ---- */

enum fusion {
    FUSED_INTO_NEXT = 1, /* another instruction, which reads the result, also does this instruction's work */
    FUSES_ANOTHER = 2    /* this instruction also does the work of an instruction that computes one of its operands */
};

static bool is_narrow(const builder *b, const ptx_insn *in)
{
    return !is_wide_integer(in->types[0]) ||
           (in->operands[0].kind == PTX_OPERAND_REG && !b->wide[in->operands[0].index]);
}

static bool is_logic(const builder *b, const ptx_insn *in)
{
    return (in->op == PTX_OP_AND || in->op == PTX_OP_OR || in->op == PTX_OP_XOR || in->op == PTX_OP_NOT) &&
           in->types[0] != PTX_PRED && is_narrow(b, in);
}

static bool is_integer_sum(const ptx_insn *in)
{
    unsigned type = in->types[0];
    return in->op == PTX_OP_ADD && (is_wide_integer(type) || type == PTX_U32 || type == PTX_S32 || type == PTX_B32);
}

/* Returns true if the operand is an address that the linker knows, such as the address of a shared array, or a register
 * with such an address. */
static bool is_fixed_address(const builder *b, const ptx_operand *o)
{
    if (o->kind == PTX_OPERAND_SYMBOL)
        return true;
    if (o->kind != PTX_OPERAND_REG || b->writer[o->index] >= b->f->insn_count)
        return false;
    const ptx_insn *writer = &b->f->insns[b->writer[o->index]];
    return writer->op == PTX_OP_MOV && writer->operands[1].kind == PTX_OPERAND_SYMBOL;
}

/* Returns true if one machine instruction can do the work of `in` and of `user`, which reads the result of `in`. Such
 * machine instructions are LOP3 (any logical function of three operands), IMAD.WIDE, LEA (see the CUDA Binary
 * Utilities), and a memory access with an offset in its address. */
static bool can_fuse(const builder *b, const ptx_insn *in, const ptx_insn *user)
{
    const uint32_t result = in->operands[0].index;
    if (is_logic(b, in))
        return is_logic(b, user);
    if (is_integer_sum(in)) {
        const ptx_cost cost = ptx_cost_of(user);
        bool fixed = is_fixed_address(b, &in->operands[1]) || is_fixed_address(b, &in->operands[2]);
        for (uint32_t n = 0; fixed && cost == PTX_COST_MEMORY && n < user->operand_count; n++)
            if (user->operands[n].kind == PTX_OPERAND_ADDRESS && user->operands[n].base == PTX_BASE_REG &&
                user->operands[n].index == result)
                return true;
        return false;
    }
    return user->op == PTX_OP_ADD &&
           ((user->operands[1].kind == PTX_OPERAND_REG && user->operands[1].index == result) ||
            (user->operands[2].kind == PTX_OPERAND_REG && user->operands[2].index == result));
}

static bool reads(const ptx_insn *in, uint32_t reg)
{
    for (uint32_t n = 0; n < in->operand_count; n++)
        if ((in->operands[n].kind == PTX_OPERAND_REG && n > 0 && in->operands[n].index == reg) ||
            (in->operands[n].kind == PTX_OPERAND_ADDRESS && in->operands[n].base == PTX_BASE_REG &&
             in->operands[n].index == reg))
            return true;
    return false;
}

/* Finds pairs of instructions that become one machine instruction, in the order of the code. Only the second
 * instruction of a pair may read the result of the first. An instruction belongs to at most one pair, because no
 * machine instruction does the work of three PTX instructions. */
static bool find_fusions(builder *b, const kiln_allocator *mem)
{
    /* the largest distance between the instructions of a pair, because instructions further apart are seldom in the
     * same basic block */
    enum { REACH = 8 };
    b->fused = kiln__calloc(mem, (size_t)b->f->insn_count + 1, sizeof *b->fused);
    if (!b->fused)
        return false;
    for (uint32_t k = 0; k < b->f->insn_count; k++) {
        const ptx_insn *in = &b->f->insns[k];
        bool candidate = (in->op == PTX_OP_MUL && ptx_has(in, PTX_MOD_WIDE)) ||
                         (in->op == PTX_OP_SHL && in->operands[2].kind == PTX_OPERAND_IMM) || is_logic(b, in) ||
                         is_integer_sum(in);
        if (!candidate || b->fused[k] || in->operands[0].kind != PTX_OPERAND_REG ||
            b->uses[in->operands[0].index] != 1 || in->guard != PTX_NO_PRED)
            continue;
        uint32_t user = k + 1, end = k + REACH < b->f->insn_count ? k + REACH : b->f->insn_count - 1;
        while (user <= end && !reads(&b->f->insns[user], in->operands[0].index))
            user++;
        if (user <= end && !(b->fused[user] & FUSES_ANOTHER) && can_fuse(b, in, &b->f->insns[user])) {
            b->fused[k] |= FUSED_INTO_NEXT;
            b->fused[user] |= FUSES_ANOTHER;
        }
    }
    return true;
}

/* ---- tensor cores ---- */

typedef struct tensor {
    double fma;        /* number of multiply-adds that the instruction does for one warp */
    unsigned operands; /* bytes of operands that the tensor core reads from shared memory for one warp */
} tensor;

static unsigned bits_of(unsigned type)
{
    return type == PTX_B1 ? 1 : type == PTX_S4 || type == PTX_U4 ? 4 : 8 * ptx_type_bytes((ptx_type)type);
}

/* Returns the type of the factors (A and B) of a matrix instruction. `wmma.mma` on halves names only the types of the
 * accumulators, so its factors are fp16. */
static unsigned factor_type(const ptx_insn *in) { return in->types[2] != PTX_NONE ? in->types[1] : PTX_F16; }

static tensor tensor_of(const ptx_insn *in)
{
    const ptx_shape shape = ptx_shape_of(in);
    bool group = ptx_effect_of(in) == PTX_EFFECT_WARPGROUP;
    bool sparse = in->op == PTX_OP_MMA_SP || in->op == PTX_OP_MMA_SP_ORDERED || in->op == PTX_OP_WGMMA_SP;
    /* m8n8k4 on halves: each group of eight lanes multiplies its own matrices */
    bool quads = !group && shape.m == 8 && factor_type(in) == PTX_F16 && shape.n == 8;
    double columns = group ? 8.0 * in->tiles : shape.n, depth = sparse ? shape.k / 2.0 : shape.k;
    tensor t = {.fma = shape.m * columns * depth * (quads ? 4 : 1)};
    if (group) { /* each of the four warps reads 16 rows of A and a quarter of B; all warps use all of B */
        bool a_shared = in->operands[1].kind != PTX_OPERAND_VECTOR;
        double row = depth * bits_of(factor_type(in)) / 8, column = shape.k * bits_of(in->types[2]) / 8.0;
        t.operands = (unsigned)((a_shared ? shape.m * row : 0) + columns * column / 4);
    }
    return t;
}

/* Returns the number of multiply-adds that the tensor cores of an SM do per clock. Products of 4-bit integers run at
 * twice the rate of 8-bit integers, and products of 1-bit integers at 8 times the rate of 8-bit integers (whitepapers
 * of Turing and Ampere). Later devices differ. */
static double tensor_rate(const sim_model *m, const ptx_insn *in)
{
    bool halves = in->types[0] == PTX_F16;
    switch (factor_type(in)) {
    case PTX_F16: return halves ? m->tensor_fp16_fp16 : m->tensor_fp16;
    case PTX_BF16: return m->tensor_fp16;
    case PTX_TF32: return m->tensor_tf32;
    case PTX_F64: return m->tensor_fp64;
    case PTX_S8:
    case PTX_U8: return m->tensor_int8;
    case PTX_S4:
    case PTX_U4: return 2 * m->tensor_int8;
    case PTX_B1: return 8 * m->tensor_int8;
    case PTX_E2M1: /* 4-bit elements run at twice the rate of 8-bit elements */
        if (ptx_has(in, PTX_MOD_KIND_MXF4) || ptx_has(in, PTX_MOD_KIND_MXF4NVF4))
            return 2 * m->tensor_fp8;
        return halves ? m->tensor_fp8_fp16 : m->tensor_fp8;
    default: return halves ? m->tensor_fp8_fp16 : m->tensor_fp8;
    }
}

/* Returns the number of clocks for which a tensor core works on the instruction of one warp. Each scheduler has one
 * tensor core. */
static double tensor_clocks(const sim_model *m, const ptx_insn *in)
{
    double rate = tensor_rate(m, in);
    if (rate <= 0) /* no tensor core of the device supports this type */
        rate = m->fp32;
    const double share = ptx_effect_of(in) == PTX_EFFECT_WARPGROUP ? m->wgmma_share : m->mma_share;
    return tensor_of(in).fma / (rate / m->schedulers) / share;
}

/* A wgmma gets no functional unit here, because time.c queues it at the tensor core (issue_product). */
static price product_of_matrices(const builder *b, const ptx_insn *in)
{
    bool group = ptx_effect_of(in) == PTX_EFFECT_WARPGROUP;
    return (price){group ? VM_UNIT_NONE : VM_UNIT_TENSOR, 1, (unsigned)b->model->tensor_latency};
}

static price price_of(const builder *b, uint32_t k)
{
    const price none = {VM_UNIT_NONE, 0, 0};
    const ptx_insn *in = &b->f->insns[k];
    unsigned type = in->types[0], wide = is_wide_integer(type);
    if (b->fused[k] & FUSED_INTO_NEXT)
        return none;
    switch (ptx_cost_of(in)) {
    case PTX_COST_FREE: return none;
    case PTX_COST_ALU:
    case PTX_COST_COARSE: return (price){VM_UNIT_ALU, 1, 0};
    case PTX_COST_MULTIPLY: return (price){VM_UNIT_MULTIPLY, 1, 0};
    case PTX_COST_SFU: return (price){VM_UNIT_SFU, 1, 0};
    case PTX_COST_SHUFFLE: return (price){VM_UNIT_SHUFFLE, 1, 0};
    case PTX_COST_MEMORY: return in->space == PTX_SPACE_PARAM ? none : (price){VM_UNIT_MEMORY, 1, 0};
    case PTX_COST_TENSOR: return product_of_matrices(b, in);
    case PTX_COST_SUM: return price_arithmetic(b, in, 2);
    case PTX_COST_LOGIC: return type == PTX_PRED ? none : price_arithmetic(b, in, 2);
    case PTX_COST_SHIFT_LEFT: return price_arithmetic(b, in, 2);
    case PTX_COST_SELECT: return price_selection(b, in);
    case PTX_COST_FMA: return price_arithmetic(b, in, 1);
    case PTX_COST_PRODUCT: return price_product(b, in);
    case PTX_COST_DIVISION: return price_division(in);
    case PTX_COST_SIGN: return type == PTX_F32 || type == PTX_F64 ? none : (price){VM_UNIT_ALU, 1 + wide, 0};
    case PTX_COST_MIN_MAX: return type == PTX_F64 ? (price){VM_UNIT_FP64, 2, 0} : (price){VM_UNIT_ALU, wide ? 4 : 1, 0};
    case PTX_COST_BIT_COUNT: return (price){VM_UNIT_SFU, 1 + wide, 0};
    case PTX_COST_PAIR: return (price){VM_UNIT_ALU, 2 + 2 * wide, 0};
    case PTX_COST_COMPARE: /* for `set`, types[0] is the type of the result, so the type of the operands is types[1] */
        return in->types[in->op == PTX_OP_SET] == PTX_F64 ? (price){VM_UNIT_FP64, 1, 0}
                                                          : (price){VM_UNIT_ALU, 1 + wide, 0};
    case PTX_COST_MOVE: return price_move(in);
    case PTX_COST_CONVERT: return price_conversion(in);
    case PTX_COST_FUNCTION: return price_special(in, 1);
    case PTX_COST_FUNCTION_TWICE: return price_special(in, 2);
    case PTX_COST_ROOT: return price_root(in);
    }
    return none;
}

static unsigned latency_of(const sim_model *m, vm_unit unit)
{
    switch (unit) {
    case VM_UNIT_NONE: return 0;
    case VM_UNIT_FP64: return (unsigned)m->fp64_latency;
    case VM_UNIT_SFU: return (unsigned)m->special_latency;
    case VM_UNIT_SHUFFLE: return (unsigned)m->shuffle_latency;
    case VM_UNIT_ALU:
    case VM_UNIT_FMA:
    case VM_UNIT_MULTIPLY:
    case VM_UNIT_FP16:
    case VM_UNIT_TENSOR:
    case VM_UNIT_MEMORY:
    case VM_UNITS: break;
    }
    return (unsigned)m->alu_latency;
}

/* Returns the queue to which a commit or wait instruction belongs. */
static vm_queue queue_of(const ptx_insn *in)
{
    switch (in->op) {
    case PTX_OP_CP_BULK_COMMIT:
    case PTX_OP_CP_BULK_WAIT: return VM_QUEUE_BULK;
    case PTX_OP_WGMMA_COMMIT:
    case PTX_OP_WGMMA_WAIT: return VM_QUEUE_PRODUCTS;
    default: return VM_QUEUE_COPIES;
    }
}

static vm_act act_of_group(const ptx_insn *in)
{
    bool waits = in->op == PTX_OP_CP_BULK_WAIT || in->op == PTX_OP_WGMMA_WAIT;
    bool commits = in->op == PTX_OP_CP_BULK_COMMIT || in->op == PTX_OP_WGMMA_COMMIT;
    return waits ? VM_ACT_WAIT : commits ? VM_ACT_COMMIT : VM_ACT_FENCE;
}

/* Returns how the replay handles an instruction. As an approximation, the replay treats textures, remote stores,
 * cluster barriers and proxy fences as arithmetic: they cause no memory traffic and never wait. */
static vm_act act_of(const ptx_insn *in)
{
    const unsigned act = act_of_effect[ptx_effect_of(in)];
    if (act == VM_ACT_GROUP)
        return act_of_group(in);
    const bool param = in->space == PTX_SPACE_PARAM && (act == VM_ACT_LOAD || act == VM_ACT_STORE);
    const bool arrive = act == VM_ACT_BARRIER && ptx_has(in, PTX_MOD_ARRIVE);
    return param || arrive ? VM_ACT_PLAIN : (vm_act)act;
}

static void add_register(builder *b, uint32_t reg)
{
    vm_cost *cost = b->cost;
    if (!kiln__grow(cost->mem, &cost->registers, &cost->operand_capacity, cost->operand_count + 1,
                    sizeof *cost->registers))
        b->failed = true;
    else
        cost->registers[cost->operand_count++] = reg;
}
static void add_source(builder *b, uint32_t k, uint32_t reg, bool result)
{
    (void)k;
    if (!result)
        add_register(b, reg);
}
static void add_result(builder *b, uint32_t k, uint32_t reg, bool result)
{
    (void)k;
    if (result)
        add_register(b, reg);
}

static void price_queue(const ptx_insn *in, vm_cost_insn *c)
{
    if (c->act == VM_ACT_PRODUCT)
        c->operands = (uint16_t)tensor_of(in).operands;
    c->open = in->op == PTX_OP_CP_ASYNC_WAIT_ALL || ptx_effect_of(in) == PTX_EFFECT_COPY_ARRIVE;
    if (c->act != VM_ACT_COMMIT && c->act != VM_ACT_WAIT)
        return;
    c->queue = (uint8_t)queue_of(in);
    c->reading = in->op == PTX_OP_CP_BULK_WAIT && ptx_has(in, PTX_MOD_READ);
    if (c->act == VM_ACT_WAIT && !c->open)
        c->pending = (uint8_t)(in->operands[0].imm < UINT8_MAX ? in->operands[0].imm : UINT8_MAX);
}

/* Sets `sends` and `polls` of the module's costs if the instruction can exchange data between blocks during the
 * launch. */
static void note_exchange(vm_cost *cost, const ptx_insn *in)
{
    const bool global = in->space == PTX_SPACE_GLOBAL || in->space == PTX_SPACE_GENERIC;
    cost->sends |= ptx_effect_of(in) == PTX_EFFECT_REMOTE;
    cost->polls |= ptx_effect_of(in) == PTX_EFFECT_LOAD && global &&
                   (ptx_has(in, PTX_MOD_VOLATILE) || ptx_has(in, PTX_MOD_RELAXED) || ptx_has(in, PTX_MOD_ACQUIRE));
}

/* Sets the cost, the registers and the queue of each instruction of a function. Returns false if memory runs out. */
static bool price_function(builder *b, const sim_model *model, vm_cost_insn *out)
{
    for (uint32_t k = 0; k < b->f->insn_count; k++) {
        vm_cost_insn *c = &out[k];
        price p = price_of(b, k);
        c->unit = (uint8_t)p.unit;
        c->act = (uint8_t)act_of(&b->f->insns[k]);
        c->issue = (uint8_t)p.issue;
        c->latency = (uint16_t)(p.latency ? p.latency : latency_of(model, p.unit));
        c->traced.engine = c->act == VM_ACT_ENGINE;
        c->traced.memory = c->act == VM_ACT_LOAD || c->act == VM_ACT_STORE || c->act == VM_ACT_ATOMIC ||
                           c->act == VM_ACT_COPY || c->traced.engine;
        c->traced.atomic = c->act == VM_ACT_ATOMIC;
        c->traced.merge_count = 1;
        c->traced.merge_lead = true;
        double lanes = lanes_of(model, p.unit) / model->schedulers;
        c->busy = lanes > 0 ? (float)(VM_LANES / lanes * p.issue) : 0;
        if (ptx_cost_of(&b->f->insns[k]) == PTX_COST_TENSOR)
            c->busy = (float)tensor_clocks(model, &b->f->insns[k]);
        price_queue(&b->f->insns[k], c);
        note_exchange(b->cost, &b->f->insns[k]);
        c->first = (uint32_t)b->cost->operand_count;
        visit_registers(b, k, add_source);
        c->source_count = (uint32_t)b->cost->operand_count - c->first;
        visit_registers(b, k, add_result);
        c->result_count = (uint32_t)b->cost->operand_count - c->first - c->source_count;
    }
    return !b->failed;
}

static bool add_function(vm_cost *cost, const vm_function *function, const sim_model *model)
{
    builder b = {.cost = cost, .f = function->ptx, .model = model};
    vm_cost_insn *out = cost->insns + function->first_tally;
    bool ok = find_uses(&b, cost->mem) && find_fusions(&b, cost->mem) && price_function(&b, model, out);
    if (ok)
        ok = model_schedule_function(cost, function->ptx, (uint32_t)function->first_tally, model);
    if (ok && b.f->reg_count > cost->register_count)
        cost->register_count = b.f->reg_count;
    kiln__free(cost->mem, b.wide);
    kiln__free(cost->mem, b.uses);
    kiln__free(cost->mem, b.writer);
    kiln__free(cost->mem, b.fused);
    return ok;
}

static void lay_out(vm_cost *cost)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < cost->region_count; k++) {
        const vm_region *region = &cost->regions[k];
        for (uint32_t n = 0; n < region->count; n++) {
            uint32_t insn = region->first + cost->order[region->order + n];
            cost->place[insn] = at;
            at += cost->insns[insn].traced.merge_lead ? cost->insns[insn].issue : 0;
        }
    }
}

vm_cost *model_cost_new(const kiln_allocator *mem, const vm_module *module, const sim_model *model)
{
    if (module->tally_count == 0 || module->tally_count > MODULE_MOST)
        return NULL;
    vm_cost *cost = kiln__calloc(mem, 1, sizeof *cost);
    if (!cost)
        return NULL;
    cost->mem = mem;
    cost->insn_count = (uint32_t)module->tally_count;
    cost->insns = kiln__calloc(mem, cost->insn_count, sizeof *cost->insns);
    cost->order = kiln__calloc(mem, cost->insn_count, sizeof *cost->order);
    cost->place = kiln__calloc(mem, cost->insn_count, sizeof *cost->place);
    bool ok = cost->insns && cost->order && cost->place;
    /* the element for the end of a function keeps these values; region UINT32_MAX marks it */
    for (uint32_t k = 0; ok && k < cost->insn_count; k++)
        cost->insns[k] =
            (vm_cost_insn){.act = VM_ACT_BRANCH, .issue = 1, .traced.merge_count = 1, .region = UINT32_MAX};
    for (uint32_t f = 0; ok && f < module->ptx->function_count; f++)
        if (module->functions[f].code)
            ok = add_function(cost, &module->functions[f], model);
    if (ok) {
        lay_out(cost);
        return cost;
    }
    model_cost_free(cost);
    return NULL;
}

void model_cost_free(vm_cost *cost)
{
    if (!cost)
        return;
    kiln__free(cost->mem, cost->insns);
    kiln__free(cost->mem, cost->order);
    kiln__free(cost->mem, cost->place);
    kiln__free(cost->mem, cost->regions);
    kiln__free(cost->mem, cost->registers);
    kiln__free(cost->mem, cost);
}

void model_cost_trace(const vm_cost *cost, struct vm_trace *trace)
{
    trace->insns = &cost->insns->traced;
    trace->stride = sizeof *cost->insns;
}
