/* emit.c - writes a region as text in LLVM IR. Registers of the kernel become LLVM variables, which LLVM keeps in
 * registers of the host. A region reads the variables from the frame when it begins, and writes them back when it ends.
 * Arithmetic with a guard computes all lanes. It then selects between the new and the old values. Calls are executed for
 * all lanes or for no lane. Accesses with a guard may be executed for some lanes. If all lanes take the same way at a
 * branch, the region follows them. Otherwise the region continues in an arm (jit_arm), or ends. */
#include "emit.h"
#include "vm_block.h"
#include "vm_collective.h"
#include "vm_path.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MOST 1000u /* the largest number of instructions that a region may have */
/* The least number of instructions of a region. Interpreting shorter code takes less time than entering and leaving a
 * region. A warp has a turn of its own for the code between two barriers, so there a shorter region is worth its
 * cost. */
#define LEAST 6u
#define LEAST_AFTER_BARRIER 3u
/* At most one instruction in CALLS may be a call, because around a call all registers must be in memory, as in the
 * interpreter. */
#define CALLS 8u
/* The flags of an instruction. REACHED: the region can execute it. LEADER: a basic block begins at the instruction.
 * LOOP: a branch leads back to the instruction. */
enum { REACHED = 1, LEADER = 2, LOOP = 4 };

static bool is_inside(const jit_emitter *e, uint32_t at)
{
    return at >= e->first && at <= e->last && e->state[at - e->first] & REACHED;
}

void jit_line(jit_emitter *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kiln__text_puts(&e->body, "  ");
    kiln__text_vprintf(&e->body, format, arguments);
    kiln__text_puts(&e->body, "\n");
    va_end(arguments);
}

unsigned jit_value(jit_emitter *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kiln__text_printf(&e->body, "  %%v%u = ", ++e->values);
    kiln__text_vprintf(&e->body, format, arguments);
    kiln__text_puts(&e->body, "\n");
    va_end(arguments);
    return e->values;
}

void jit_label(jit_emitter *e, unsigned label) { kiln__text_printf(&e->body, "l%u:\n", label); }

const char *jit_pointer(jit_emitter *e, const char *type)
{
    if (!e->u->typed)
        return "ptr";
    char *text = e->pointers[e->next_pointer++ % KILN__COUNT(e->pointers)];
    snprintf(text, sizeof e->pointers[0], "%s*", type);
    return text;
}

unsigned jit_load_host(jit_emitter *e, unsigned base, uint64_t offset, const char *type, bool constant)
{
    const char *pointer = jit_pointer(e, type);
    unsigned at = jit_value(e, "add i64 %%v%u, %llu", base, (unsigned long long)offset);
    at = jit_value(e, "inttoptr i64 %%v%u to %s", at, pointer);
    return jit_value(e, "load %s, %s %%v%u, align 4%s", type, pointer, at, constant ? ", !invariant.load !0" : "");
}

unsigned jit_splat32(jit_emitter *e, uint32_t value)
{
    unsigned v = jit_value(e, "insertelement " I32V " poison, i32 %u, i32 0", value);
    return jit_value(e, "shufflevector " I32V " %%v%u, " I32V " poison, " I32V " zeroinitializer", v);
}

unsigned jit_splat64(jit_emitter *e, uint64_t value)
{
    unsigned v = jit_value(e, "insertelement " I64V " poison, i64 %llu, i32 0", (unsigned long long)value);
    return jit_value(e, "shufflevector " I64V " %%v%u, " I64V " poison, " I32V " zeroinitializer", v);
}

unsigned jit_splat_of(jit_emitter *e, unsigned value)
{
    unsigned v = jit_value(e, "insertelement " I64V " poison, i64 %%v%u, i32 0", value);
    return jit_value(e, "shufflevector " I64V " %%v%u, " I64V " poison, " I32V " zeroinitializer", v);
}

unsigned jit_splat32_of(jit_emitter *e, unsigned value)
{
    unsigned v = jit_value(e, "insertelement " I32V " poison, i32 %%v%u, i32 0", value);
    return jit_value(e, "shufflevector " I32V " %%v%u, " I32V " poison, " I32V " zeroinitializer", v);
}

bool jit_in_block(const jit_emitter *e, uint32_t at) { return is_inside(e, at) && !(e->state[at - e->first] & LEADER); }

/* ---- registers ---- */

static const char *get_type(unsigned width) { return width == JIT_MASK ? "i32" : width == JIT_32 ? I32V : I64V; }

/* Returns the number of the variable of a register, and adds the variable if it is new. add_vars() adds all variables
 * before the text is written. After add_vars() has run, a new variable is an error and sets e->failed. */
static uint32_t find_var(jit_emitter *e, uint32_t slot, unsigned width)
{
    const size_t key = (slot ^ slot >> 5 ^ (size_t)width << 3) * 0x9e3779b1u % e->var_slots;
    size_t at = key;
    for (; e->var_of[at]; at = (at + 1) % e->var_slots) {
        const jit_var *v = &e->vars[e->var_of[at] - 1];
        if (v->slot == slot && v->width == width)
            return e->var_of[at] - 1;
    }
    if (e->fixed || !kiln__grow(e->u->mem, &e->vars, &e->var_capacity, e->var_count + 1, sizeof *e->vars)) {
        e->failed = true;
        return 0;
    }
    e->vars[e->var_count] = (jit_var){slot, (uint8_t)width};
    e->var_of[at] = (uint32_t)++e->var_count;
    return (uint32_t)e->var_count - 1;
}

/* Returns the value of a register within a block of a function for paths. The first use of the register in the block
 * reads the value from the frame. */
static unsigned get_known(jit_emitter *e, uint32_t var)
{
    if (!e->known[var])
        e->known[var] = jit_load_host(e, e->regs, e->vars[var].slot, get_type(e->vars[var].width), false);
    return e->known[var];
}

unsigned jit_get(jit_emitter *e, uint32_t slot, unsigned width)
{
    if (slot & 1) {
        const unsigned char *from = e->u->function->constants + (slot & ~1u);
        uint64_t value = 0;
        memcpy(&value, from, width == JIT_64 ? 8 : 4);
        return width == JIT_64 ? jit_splat64(e, value) : jit_splat32(e, (uint32_t)value);
    }
    if (width == JIT_MASK && slot == 0)
        return jit_value(e, "add i32 0, -1");
    const char *type = get_type(width);
    if (e->partial)
        return get_known(e, find_var(e, slot, width));
    return jit_value(e, "load %s, %s %%s%u", type, jit_pointer(e, type), find_var(e, slot, width));
}

void jit_put(jit_emitter *e, uint32_t slot, unsigned width, unsigned value, unsigned mask)
{
    if (slot >= e->u->function->sink)
        return;
    if (mask && width == JIT_MASK) {
        unsigned bits = jit_value(e, "bitcast " B1V " %%v%u to i32", mask), old = jit_get(e, slot, width);
        unsigned changed = jit_value(e, "xor i32 %%v%u, %%v%u", old, value);
        changed = jit_value(e, "and i32 %%v%u, %%v%u", changed, bits);
        value = jit_value(e, "xor i32 %%v%u, %%v%u", old, changed);
    } else if (mask) {
        const char *type = get_type(width);
        value = jit_value(e, "select " B1V " %%v%u, %s %%v%u, %s %%v%u", mask, type, value, type,
                          jit_get(e, slot, width));
    }
    const uint32_t var = find_var(e, slot, width);
    const char *type = get_type(width);
    if (e->partial)
        e->known[var] = value;
    else
        jit_line(e, "store %s %%v%u, %s %%s%u", type, value, jit_pointer(e, type), var);
    e->dirty[var] = 1;
    for (unsigned k = 0; k < e->group_count; k++)
        if (e->groups[k].slot == slot)
            e->groups[k--] = e->groups[--e->group_count];
}

/* Writes the known value of a register to the frame, for the lanes of the path. In the lanes of other paths, the row of
 * the register keeps its values. */
static void store_known(jit_emitter *e, kiln__text *text, uint32_t var)
{
    const jit_var *v = &e->vars[var];
    const char *type = get_type(v->width), *pointer = jit_pointer(e, type);
    const unsigned a = ++e->values, b = ++e->values;
    kiln__text_printf(text, "  %%v%u = add i64 %%regs, %u\n  %%v%u = inttoptr i64 %%v%u to %s\n", a, v->slot, b, a,
                      pointer);
    if (v->width != JIT_MASK) {
        /* A masked store would be slow: the next block could not read the row before the store has left the processor's
         * store buffer. So the function blends the values and stores the whole row. */
        const unsigned was = ++e->values, mixed = ++e->values;
        kiln__text_printf(text,
                          "  %%v%u = load %s, %s %%v%u, align 4\n"
                          "  %%v%u = select " B1V
                          " %%lanemask, %s %%v%u, %s %%v%u\n  store %s %%v%u, %s %%v%u, align 4\n",
                          was, type, pointer, b, mixed, type, e->known[var], type, was, type, mixed, pointer, b);
        return;
    }
    const unsigned old = e->values + 1;
    e->values += 4;
    kiln__text_printf(text,
                      "  %%v%u = load i32, %s %%v%u\n  %%v%u = xor i32 %%v%u, %%v%u\n  %%v%u = and i32 %%v%u, %%v%u\n"
                      "  %%v%u = xor i32 %%v%u, %%v%u\n  store i32 %%v%u, %s %%v%u\n",
                      old, pointer, b, old + 1, old, e->known[var], old + 2, old + 1, e->mask, old + 3, old, old + 2,
                      old + 3, pointer, b);
}

/* Copies a variable to its row in the frame if `store` is true, otherwise from the row to the variable. */
static void move_row(jit_emitter *e, kiln__text *text, uint32_t var, bool store)
{
    if (e->partial) {
        if (store)
            store_known(e, text, var);
        else
            e->known[var] = 0;
        return;
    }
    const jit_var *v = &e->vars[var];
    const char *type = get_type(v->width), *pointer = jit_pointer(e, type);
    const unsigned a = ++e->values, b = ++e->values, c = ++e->values;
    kiln__text_printf(text, "  %%v%u = add i64 %%regs, %u\n  %%v%u = inttoptr i64 %%v%u to %s\n", a, v->slot, b, a,
                      pointer);
    if (store)
        kiln__text_printf(text, "  %%v%u = load %s, %s %%s%u\n  store %s %%v%u, %s %%v%u, align 4\n", c, type, pointer,
                          var, type, c, pointer, b);
    else
        kiln__text_printf(text, "  %%v%u = load %s, %s %%v%u, align 4\n  store %s %%v%u, %s %%s%u\n", c, type, pointer,
                          b, type, c, pointer, var);
}

/* Returns true if the frame must have the value of a changed variable before the instruction `at`. In an arm, other
 * lanes wait at the end of the arm, and may read the variable there. */
static bool is_needed(const jit_emitter *e, uint32_t at, uint32_t var)
{
    const jit_var *v = &e->vars[var];
    return e->dirty[var] && (jit_live_at(e->u->live, at, v->slot, v->width) ||
                             (e->arm && jit_live_at(e->u->live, e->arm->to, v->slot, v->width)));
}

/* Writes changed variables back to the frame if many variables have changed. Without this function, every later exit
 * would contain code that writes them back. A function for paths always writes changed variables back. `at` is the
 * index of the next instruction. */
static void write_back(jit_emitter *e, uint32_t at)
{
    enum { MUCH = 16 };
    unsigned count = 0;
    for (uint32_t k = 0; k < e->var_count; k++)
        count += is_needed(e, at, k);
    if (e->partial)
        count = MUCH + 1;
    for (uint32_t k = 0; k < e->var_count && count > MUCH; k++) {
        if (is_needed(e, at, k))
            move_row(e, &e->body, k, true);
        e->dirty[k] = 0;
    }
}

/* Returns true if the instruction is an access that no warp was seen to execute. */
static bool is_unseen(const jit_emitter *e, uint32_t at)
{
    return jit_is_access(&e->u->insns[at]) && e->u->seen[at] == JIT_UNSEEN;
}

/* ---- arms ----
 *
 * An if-statement without an else-part is a branch over the statement's body. If some lanes of a warp take the branch,
 * they wait at its target, and the other lanes execute the body. The body is then called an arm. The region holds a
 * second form of the body, which executes it for some lanes under a mask. The warp remains one path, so the order of
 * execution and the counts are the same as in the interpreter. Several branches to the same target share an arm.
 *
 * An arm has only arithmetic, accesses that jit_may_be_some() allows, and forward branches. If a branch to another
 * target diverges, or a test of addresses fails, the region ends within the arm. */

static bool is_kernel_end(const jit_emitter *e, uint32_t at)
{
    const vm_code *i = &e->u->function->code[at];
    return (i->masked == vm_op_exit || i->masked == vm_op_ret) && !(i->guard & ~2u) && e->u->function->ptx->entry;
}

static uint32_t find_target(const jit_emitter *e, uint32_t at)
{
    return (uint32_t)(e->u->function->code[at].target - e->u->function->code);
}

/* Returns the reconvergence point at which the lanes that take the branch `at` wait. Returns JIT_END if these lanes have
 * reached the kernel's end. Returns `at` if neither is the case. */
static uint32_t find_meet(const jit_emitter *e, uint32_t at)
{
    const vm_code *i = &e->u->function->code[at];
    const uint32_t to = find_target(e, at);
    if (to <= at + 1 || !(i->guard & ~2u))
        return at;
    if (!i->extra)
        return is_kernel_end(e, to) ? JIT_END : at;
    return i->extra == (const void *)i->target ? to : at;
}

/* ---- the end of a region ---- */

/* Returns the value that the region adds to a counter. e->lanes counts VM_LANES lanes per instruction. In a function
 * for paths and in an arm, scale_count() scales the number of lanes to the lanes of the path. */
static unsigned scale_count(jit_emitter *e, kiln__text *text, bool lanes, unsigned more)
{
    if (!(e->partial || e->arm) || !lanes) {
        kiln__text_printf(text, "  %%v%u = add i64 0, %u\n", ++e->values, more);
        return e->values;
    }
    kiln__text_printf(text, "  %%v%u = mul i64 %%v%u, %u\n", ++e->values, e->active, more / VM_LANES);
    return e->values;
}

static void add_to_counter(jit_emitter *e, kiln__text *text, const char *argument, const char *counter, unsigned more)
{
    const unsigned by = scale_count(e, text, strcmp(argument, "%lanes") == 0, more), v = e->values + 1;
    const char *pointer = jit_pointer(e, "i64");
    e->values += 5;
    kiln__text_printf(text,
                      "  %%v%u = load i64, %s %s\n  %%v%u = add i64 %%v%u, %%v%u\n"
                      "  %%v%u = inttoptr i64 %s to %s\n  %%v%u = load i64, %s %%v%u\n"
                      "  %%v%u = add i64 %%v%u, %%v%u\n  store i64 %%v%u, %s %%v%u\n",
                      v, pointer, counter, v + 1, v, by, v + 2, argument, pointer, v + 3, pointer, v + 2, v + 4, v + 1,
                      v + 3, v + 4, pointer, v + 2);
}

/* Returns true if warps of a series end their turn at the instruction: at the kernel's end, or at a barrier of all
 * threads of the block that has no result. */
static bool ends_turn(const jit_emitter *e, uint32_t at)
{
    const vm_code *i = &e->u->function->code[at];
    uint32_t id = VM_BARRIERS;
    if (i->masked == vm_op_bar && !i->guard && i->a & 1 && !i->b && !i->size && !(i->flags & 2))
        memcpy(&id, e->u->function->constants + (i->a & ~1u), sizeof id);
    return is_kernel_end(e, at) || (id < VM_BARRIERS && e->u->function->ptx->entry);
}

/* In a series, stores the warp `w` and the number of instructions of the warps before it (vm_native.series). */
static void store_series(jit_emitter *e, kiln__text *text, unsigned w)
{
    const char *pointer = jit_pointer(e, "i64");
    const unsigned v = e->values + 1;
    e->values += 2;
    kiln__text_printf(text,
                      "  %%v%u = add i64 %%v%u, %zu\n  %%v%u = inttoptr i64 %%v%u to %s\n"
                      "  store i64 %%v%u, %s %%v%u\n",
                      v, e->runner, offsetof(vm_runner, series_last), v + 1, v, pointer, w, pointer, v + 1);
    static const char *const names[] = {"%ended", "%place"};
    const size_t offsets[] = {offsetof(vm_runner, series_issued), offsetof(vm_runner, series_place)};
    for (unsigned k = 0; k < KILN__COUNT(names); k++) {
        kiln__text_printf(text,
                          "  %%v%u = load i64, %s %s\n  %%v%u = add i64 %%v%u, %zu\n"
                          "  %%v%u = inttoptr i64 %%v%u to %s\n  store i64 %%v%u, %s %%v%u\n",
                          e->values + 1, pointer, names[k], e->values + 2, e->runner, offsets[k], e->values + 3,
                          e->values + 2, pointer, e->values + 1, pointer, e->values + 3);
        e->values += 3;
    }
}

static void store_pc(jit_emitter *e, kiln__text *text, uint32_t at)
{
    const unsigned v = e->values + 1;
    e->values += 2;
    kiln__text_printf(text, "  %%v%u = add i64 %%w, %zu\n  %%v%u = inttoptr i64 %%v%u to %s\n", v,
                      offsetof(vm_warp, pc), v + 1, v, jit_pointer(e, "i64"));
    kiln__text_printf(text, "  store i64 %llu, %s %%v%u\n", (unsigned long long)(uintptr_t)(e->u->function->code + at),
                      jit_pointer(e, "i64"), v + 1);
}

/* Returns true if lanes that take the branch `at` wait at the end of the arm, or have ended there. Only such a branch
 * may diverge in the arm. */
static bool is_of_arm(const jit_emitter *e, const jit_arm *arm, uint32_t at)
{
    return arm && e->u->insns[at].kind == JIT_BRANCH && find_meet(e, at) == arm->meet;
}

/* Writes the exit of an arm. The interpreter's handler of the branch makes the state of a warp that has diverged there.
 * If the lanes wait at a reconvergence point, one call for all of them makes the same state as a call for each branch,
 * because all branches of the arm have the same point. Otherwise each branch makes a path. */
static void leave_arm(jit_emitter *e, kiln__text *text)
{
    void (*const diverge)(vm_warp *, const vm_code *, uint32_t) = vm_op_bra;
    const char *type = e->u->typed ? "void (i64, i64, i32)*" : "ptr", *pointer = e->u->typed ? "i32*" : "ptr";
    const vm_code *code = e->u->function->code;
    uint64_t address = 0;
    memcpy(&address, &diverge, sizeof address);
    for (uint32_t at = e->first; at <= e->last; at++) {
        if (!is_of_arm(e, e->arm, at) || !(e->u->seen[at] & JIT_MIXED))
            continue;
        const unsigned lanes = ++e->values, some = ++e->labels, on = ++e->labels;
        if (e->arm->meet == JIT_END) {
            const unsigned any = ++e->values;
            kiln__text_printf(text, "  %%v%u = load i32, %s %%gone%u\n  %%v%u = icmp ne i32 %%v%u, 0\n", lanes, pointer,
                              at, any, lanes);
            kiln__text_printf(text, "  br i1 %%v%u, label %%l%u, label %%l%u\nl%u:\n", any, some, on, some);
        } else {
            kiln__text_printf(text, "  %%v%u = xor i32 %%v%u, -1\n", lanes, e->mask);
        }
        store_pc(e, text, at + 1);
        kiln__text_printf(text, "  call void inttoptr (i64 %llu to %s)(i64 %%w, i64 %llu, i32 %%v%u)\n",
                          (unsigned long long)address, type, (unsigned long long)(uintptr_t)(code + at), lanes);
        if (e->arm->meet != JIT_END)
            return;
        kiln__text_printf(text, "  br label %%l%u\nl%u:\n", on, on);
    }
}

unsigned jit_exit(jit_emitter *e, uint32_t at, bool missed)
{
    const unsigned label = ++e->labels;
    kiln__text *text = &e->exits;
    kiln__text_printf(text, "l%u:\n", label);
    for (uint32_t k = 0; k < e->var_count; k++)
        if (is_needed(e, at, k))
            move_row(e, text, k, true);
    if (e->arm)
        leave_arm(e, text);
    store_pc(e, text, at);
    if (e->series)
        store_series(e, text, e->w);
    add_to_counter(e, text, "%lanes", "%nlanes", e->lanes);
    add_to_counter(e, text, "%steps", "%nsteps", e->steps);
    const unsigned v = e->values + 1;
    e->values += 3;
    kiln__text_printf(text, "  %%v%u = load i64, %s %%ncount\n  %%v%u = add i64 %%v%u, %u\n", v, jit_pointer(e, "i64"),
                      v + 1, v, e->count);
    kiln__text_printf(text, "  %%v%u = or i64 %%v%u, %llu\n  ret i64 %%v%u\n", v + 2, v + 1,
                      missed && !e->partial && !e->quiet ? (unsigned long long)VM_REGION_MISSED : 0ull, v + 2);
    return label;
}

void jit_test(jit_emitter *e, unsigned good)
{
    const unsigned on = ++e->labels;
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", good, on, jit_exit(e, e->at, true));
    jit_label(e, on);
}

/* Adds the counts of the current basic block to the variables %ncount, %nlanes and %nsteps. */
static void flush_counts(jit_emitter *e)
{
    const char *pointer = jit_pointer(e, "i64");
    const char *const counters[] = {"%ncount", "%nlanes", "%nsteps"};
    const unsigned more[] = {e->count, e->lanes, e->steps};
    for (unsigned k = 0; k < 3; k++) {
        const unsigned by = scale_count(e, &e->body, k == 1, more[k]);
        unsigned v = jit_value(e, "load i64, %s %s", pointer, counters[k]);
        v = jit_value(e, "add i64 %%v%u, %%v%u", v, by);
        jit_line(e, "store i64 %%v%u, %s %s", v, pointer, counters[k]);
    }
    e->count = e->lanes = e->steps = 0;
}

static void count_lanes(jit_emitter *e, unsigned bits)
{
    unsigned v = jit_value(e, "call i32 @llvm.ctpop.i32(i32 %%v%u)", bits);
    v = jit_value(e, "zext i32 %%v%u to i64", v);
    const char *pointer = jit_pointer(e, "i64");
    unsigned sum = jit_value(e, "load i64, %s %%nlanes", pointer);
    sum = jit_value(e, "add i64 %%v%u, %%v%u", sum, v);
    jit_line(e, "store i64 %%v%u, %s %%nlanes", sum, pointer);
}

void jit_spill(jit_emitter *e, uint32_t slot, unsigned width)
{
    if (slot && !(slot & 1) && slot < e->u->function->sink && e->dirty[find_var(e, slot, width)])
        move_row(e, &e->body, find_var(e, slot, width), true);
}

/* ---- instructions ---- */

/* Writes a call of the handler of an instruction. `mask` is the number of an i32 value, the lanes that execute the
 * instruction. If `mask` is 0, all lanes execute it. If `event` is true, the region ends after the call if the handler
 * has raised an event. */
void jit_call(jit_emitter *e, const vm_code *i, const jit_insn *insn, vm_handler handler, unsigned mask, bool event)
{
    char lanes[16] = "-1";
    const unsigned out_of = mask ? ++e->labels : 0, after = mask ? ++e->labels : 0;
    uint64_t address = 0;
    memcpy(&address, &handler, sizeof handler);
    for (unsigned k = 0; k < insn->use_count; k++) {
        const jit_use *use = &insn->uses[k];
        if (use->slot < e->u->function->sink && use->slot && e->dirty[find_var(e, use->slot, use->width)])
            move_row(e, &e->body, find_var(e, use->slot, use->width), true);
    }
    store_pc(e, &e->body, e->at + 1);
    if (mask) { /* the call needs at least one lane, because handlers expect this */
        snprintf(lanes, sizeof lanes, "%%v%u", mask);
        jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", jit_value(e, "icmp eq i32 %%v%u, 0", mask), after, out_of);
        jit_label(e, out_of);
    }
    if (e->u->typed)
        jit_line(e, "call void inttoptr (i64 %llu to void (i64, i64, i32)*)(i64 %%w, i64 %llu, i32 %s)",
                 (unsigned long long)address, (unsigned long long)(uintptr_t)i, lanes);
    else
        jit_line(e, "call void inttoptr (i64 %llu to ptr)(i64 %%w, i64 %llu, i32 %s)", (unsigned long long)address,
                 (unsigned long long)(uintptr_t)i, lanes);
    if (mask) {
        jit_line(e, "br label %%l%u", after);
        jit_label(e, after);
    }
    for (unsigned k = 0; k < insn->use_count; k++)
        if (insn->uses[k].write && insn->uses[k].slot && insn->uses[k].slot < e->u->function->sink) {
            move_row(e, &e->body, find_var(e, insn->uses[k].slot, insn->uses[k].width), false);
            if (e->partial)
                e->dirty[find_var(e, insn->uses[k].slot, insn->uses[k].width)] = 0;
            for (unsigned n = 0; n < e->group_count; n++)
                if (e->groups[n].slot == insn->uses[k].slot)
                    e->groups[n--] = e->groups[--e->group_count];
        }
    if (!event)
        return;
    const bool step = i->guard & 2;
    const unsigned happened = jit_load_host(e, e->w, offsetof(vm_warp, event), "i32", false), on = ++e->labels;
    const unsigned none = jit_value(e, "icmp eq i32 %%v%u, 0", happened);
    const unsigned lanes_run = step || (e->partial && i->guard & ~2u) ? 0
                                                                      /* if there is a guard, emit_path() has counted
                                                                       * the lanes */
                                                                      : VM_LANES;
    e->count++, e->steps += step, e->lanes += lanes_run; /* the handler has executed this instruction */
    const unsigned out = jit_exit(e, e->at + 1, false);
    e->count--, e->steps -= step, e->lanes -= lanes_run;
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", none, on, out);
    jit_label(e, on);
}

/* Returns the number of an i32 value: the lanes for which the guard holds. Returns 0 if the instruction has no
 * guard. */
static unsigned get_guard(jit_emitter *e, const vm_code *i)
{
    if (!(i->guard & ~2u))
        return 0;
    unsigned bits = jit_get(e, i->guard & ~3u, JIT_MASK);
    return i->guard & 1 ? jit_value(e, "xor i32 %%v%u, -1", bits) : bits;
}

/* Adds the lanes that have left an arm at its branches to the counts of a warp that has reached the kernel's end. Each
 * such group of lanes is a path, which executes the end by itself. `issued` and `lanes` are numbers of i64 values, the
 * counts so far. The function replaces them by the new counts. */
static void count_gone(jit_emitter *e, unsigned *issued, unsigned *lanes)
{
    const vm_code *code = e->u->function->code;
    for (uint32_t at = e->first; at <= e->last; at++) {
        if (!is_of_arm(e, e->arm, at) || !(e->u->seen[at] & JIT_MIXED) || code[at].target->guard & 2)
            continue;
        const unsigned gone = jit_value(e, "load i32, %s %%gone%u", jit_pointer(e, "i32"), at);
        const unsigned any = jit_value(e, "icmp ne i32 %%v%u, 0", gone);
        *issued = jit_value(e, "add i64 %%v%u, %%v%u", *issued, jit_value(e, "zext i1 %%v%u to i64", any));
        const unsigned count = jit_value(e, "call i32 @llvm.ctpop.i32(i32 %%v%u)", gone);
        *lanes = jit_value(e, "add i64 %%v%u, %%v%u", *lanes, jit_value(e, "zext i32 %%v%u to i64", count));
    }
}

/* Adds the operations of a warp's turn to w->idle, as the interpreter does at a barrier. */
static void count_idle(jit_emitter *e)
{
    const char *pointer = e->u->typed ? "i64*" : "ptr";
    unsigned ran = jit_value(e, "add i64 %%v%u, %u", jit_value(e, "load i64, %s %%ncount", pointer), e->count + 1);
    unsigned to = jit_value(e, "add i64 %%w, %zu", offsetof(vm_warp, idle));
    to = jit_value(e, "inttoptr i64 %%v%u to %s", to, pointer);
    /* before the first turn of a warp the count is 0 */
    if (e->head > 0)
        ran = jit_value(e, "add i64 %%v%u, %%v%u", ran, jit_value(e, "load i64, %s %%v%u", pointer, to));
    jit_line(e, "store i64 %%v%u, %s %%v%u", ran, pointer, to);
}

/* Returns a label at which a warp of a series has reached the end of its turn, which is the instruction `at`: the
 * kernel's end or a barrier. The code at this label counts the instructions of the warp and its end, and continues with
 * the next warp. The code ends the region after the last warp. The code also ends the region if
 *  - the series has issued `left` instructions,
 *  - the number of warps was 0,
 *  - the earlier warps have ended their turns at another place.
 * In these three cases the region ends before the end of the warp's turn, and does not count this end. */
static unsigned end_warp(jit_emitter *e, uint32_t at)
{
    const char *pointer = e->u->typed ? "i64*" : "ptr";
    const bool counts = !(e->u->function->code[at].guard & 2), last = is_kernel_end(e, at);
    const unsigned long long end = last ? VM_SERIES_END : at;
    const unsigned out = jit_exit(e, at, false), label = ++e->labels, next = ++e->labels, over = ++e->labels;
    kiln__text hold = e->body;
    e->body = e->exits;
    jit_label(e, label);
    unsigned issued = jit_value(e, "load i64, %s %%ncount", pointer);
    issued = jit_value(e, "sub i64 %%v%u, %%v%u", issued, jit_value(e, "load i64, %s %%nsteps", pointer));
    issued = jit_value(e, "add i64 %%v%u, %u", issued, e->count - e->steps + counts);
    issued = jit_value(e, "add i64 %%v%u, %%v%u", issued, jit_value(e, "load i64, %s %%ended", pointer));
    unsigned lanes = scale_count(e, &e->body, true, e->lanes + (counts ? VM_LANES : 0));
    lanes = jit_value(e, "add i64 %%v%u, %%v%u", lanes, jit_value(e, "load i64, %s %%nlanes", pointer));
    if (e->arm)
        count_gone(e, &issued, &lanes);
    unsigned more = jit_value(e, "load i64, %s %%more", pointer),
             on = jit_value(e, "icmp ult i64 %%v%u, %%left", issued);
    on = jit_value(e, "and i1 %%v%u, %%v%u", on, jit_value(e, "icmp ne i64 %%v%u, 0", more));
    const unsigned place = jit_value(e, "load i64, %s %%place", pointer);
    unsigned same = jit_value(e, "icmp eq i64 %%v%u, %llu", place, end);
    same = jit_value(e, "or i1 %%v%u, %%v%u", same, jit_value(e, "icmp eq i64 %%v%u, %llu", place, VM_SERIES_NOWHERE));
    on = jit_value(e, "and i1 %%v%u, %%v%u", on, same);
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", on, next, out);
    jit_label(e, next);
    if (!last) {
        for (uint32_t k = 0; k < e->var_count; k++)
            if (is_needed(e, at, k))
                move_row(e, &e->body, k, true);
        count_idle(e);
    }
    jit_line(e, "store i64 %%v%u, %s %%ended", issued, pointer);
    jit_line(e, "store i64 %llu, %s %%place", end, pointer);
    jit_line(e, "store i64 %%v%u, %s %%nlanes", lanes, pointer);
    more = jit_value(e, "add i64 %%v%u, -1", more);
    jit_line(e, "store i64 %%v%u, %s %%more", more, pointer);
    const unsigned following = jit_value(e, "add i64 %%w, %zu", sizeof(vm_warp));
    jit_line(e, "store i64 %%v%u, %s %%warp", following, pointer);
    jit_line(e, "fence syncscope(\"singlethread\") seq_cst"); /* the same fence as at a backward branch */
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%series", jit_value(e, "icmp eq i64 %%v%u, 0", more), over);
    jit_label(e, over);
    store_series(e, &e->body, following);
    const unsigned sum = jit_value(e, "inttoptr i64 %%lanes to %s", pointer);
    lanes = jit_value(e, "add i64 %%v%u, %%v%u", lanes, jit_value(e, "load i64, %s %%v%u", pointer, sum));
    jit_line(e, "store i64 %%v%u, %s %%v%u", lanes, pointer, sum);
    jit_line(e, "ret i64 0");
    e->exits = e->body;
    e->body = hold;
    return label;
}

/* Writes the changes that vm_op_meet() makes to a warp whose lanes have all arrived at a reconvergence point. */
static void store_joined(jit_emitter *e)
{
    static const struct {
        size_t offset;
        const char *type;
    } zeros[] = {
        {offsetof(vm_warp, idle), "i64"}, {offsetof(vm_warp, yields), "i32"}, {offsetof(vm_warp, vain_yields), "i32"}};
    for (unsigned k = 0; k < KILN__COUNT(zeros); k++) {
        const unsigned to = jit_value(e, "add i64 %%w, %zu", zeros[k].offset);
        const char *pointer = jit_pointer(e, zeros[k].type);
        jit_line(e, "store %s 0, %s %%v%u", zeros[k].type, pointer,
                 jit_value(e, "inttoptr i64 %%v%u to %s", to, pointer));
    }
}

/* Writes the name of a basic block: of the region or, while the emitter writes an arm, of the arm. Blocks of the region
 * behind the arm have no second form. */
enum { LABEL = 32 };
static const char *get_block(const jit_emitter *e, uint32_t at, char name[LABEL])
{
    if (e->arm && at != e->arm->meet)
        snprintf(name, LABEL, "a%u.%u", (unsigned)(e->arm - e->arms), at);
    else
        snprintf(name, LABEL, "b%u", at);
    return name;
}

/* Returns the label of code that adds to the counters and then continues at the instruction `at`. If `at` is outside of
 * the region, the code leaves the region. At a backward branch, the code also leaves the region if fewer than e->need
 * operations are left. */
static unsigned make_way(jit_emitter *e, uint32_t at, unsigned count, unsigned lanes, unsigned steps)
{
    const bool joins = e->arm && at == e->arm->meet;
    unsigned label;
    char name[LABEL];
    e->count = count, e->lanes = lanes, e->steps = steps;
    if (!joins && !is_inside(e, at)) {
        const bool unseen = is_unseen(e, at);
        if (!unseen && e->stops)
            e->stops[e->u->insns[at].kind == JIT_STOP ? at + 1 : at] = true;
        const bool ends = e->series && (e->arm ? e->arm->meet == JIT_END && is_kernel_end(e, at) : ends_turn(e, at));
        label = ends ? end_warp(e, at) : jit_exit(e, at, unseen);
    } else {
        kiln__text hold = e->body; /* the code is a separate block, which is written among the exits */
        e->body = e->exits;
        label = ++e->labels;
        jit_label(e, label);
        flush_counts(e);
        if (joins)
            store_joined(e);
        /* before a loop, the code writes variables back, so that the exits of the loop need not write them */
        if (at > e->at && e->state[at - e->first] & LOOP)
            for (uint32_t k = 0; k < e->var_count; k++)
                if (e->dirty[k] && jit_live_at(e->u->live, at, e->vars[k].slot, e->vars[k].width))
                    move_row(e, &e->body, k, true);
        if (at <= e->at) { /* the loop may wait for a write of another thread, so no read may move before this point */
            jit_line(e, "fence syncscope(\"singlethread\") seq_cst");
            unsigned sum = jit_value(e, "load i64, %s %%ncount", jit_pointer(e, "i64"));
            sum = jit_value(e, "add i64 %%v%u, %u", sum, e->need);
            sum = jit_value(e, "icmp ule i64 %%v%u, %%left", sum);
            jit_line(e, "br i1 %%v%u, label %%%s, label %%l%u", sum, get_block(e, at, name), e->labels + 1);
            e->exits = e->body;
            jit_exit(e, at, false); /* the label that the line before has named */
        } else {
            jit_line(e, "br label %%%s", get_block(e, at, name));
            e->exits = e->body;
        }
        e->body = hold;
    }
    e->count = e->lanes = e->steps = 0;
    return label;
}

/* Returns the lanes for which the guard holds, or 0 if the instruction has no guard. In a function for paths, the
 * result has only lanes of the path. */
static unsigned get_path_guard(jit_emitter *e, const vm_code *i)
{
    const unsigned bits = get_guard(e, i);
    return (e->partial || e->arm) && bits ? jit_value(e, "and i32 %%v%u, %%v%u", bits, e->mask) : bits;
}

/* Returns the arm of a branch at which lanes were seen to diverge, or NULL. */
static const jit_arm *find_arm(const jit_emitter *e, uint32_t at)
{
    const uint32_t meet = find_meet(e, at);
    for (unsigned k = 0; meet != at && e->u->seen[at] & JIT_MIXED && k < e->arm_count; k++)
        if (e->arms[k].meet == meet && at + 1 <= e->last && e->arms[k].state[at + 1 - e->first] & REACHED)
            return &e->arms[k];
    return NULL;
}

/* Returns the label of code that enters an arm, or continues in it, after lanes have diverged at the current branch.
 * `bits` is the number of an i32 value, the lanes that take the branch. These lanes wait at the end of the arm. */
static unsigned split_lanes(jit_emitter *e, const jit_arm *arm, unsigned bits, unsigned step)
{
    const char *pointer = e->u->typed ? "i32*" : "ptr";
    const unsigned label = ++e->labels, number = (unsigned)(arm - e->arms);
    const bool entered = e->arm != NULL;
    kiln__text hold = e->body;
    e->body = e->exits;
    jit_label(e, label);
    e->count = 1, e->steps = step;
    flush_counts(e);
    if (!step)
        count_lanes(e, bits);
    unsigned rest = jit_value(e, "xor i32 %%v%u, -1", bits);
    if (entered)
        rest = jit_value(e, "and i32 %%v%u, %%v%u", rest, e->mask);
    jit_line(e, "store i32 %%v%u, %s %%mask%u", rest, pointer, number);
    for (uint32_t at = e->first; arm->meet == JIT_END && at <= e->last; at++)
        if (at == e->at)
            jit_line(e, "store i32 %%v%u, %s %%gone%u", bits, pointer, at);
        else if (!entered && is_of_arm(e, arm, at) && e->u->seen[at] & JIT_MIXED)
            jit_line(e, "store i32 0, %s %%gone%u", pointer, at);
    jit_line(e, "br label %%a%u.%u", number, e->at + 1);
    e->exits = e->body;
    e->body = hold;
    return label;
}

static void emit_branch(jit_emitter *e, const vm_code *i)
{
    const uint32_t target = (uint32_t)(i->target - e->u->function->code);
    const unsigned bits = get_path_guard(e, i), step = i->guard >> 1 & 1, lanes = step ? 0 : VM_LANES;
    if (e->partial &&
        /* if the warp has several paths, the interpreter must execute a backward branch, because paths take turns
         * there */
        target <= e->at) {
        const unsigned paths = jit_load_host(e, e->w, offsetof(vm_warp, path_count), "i32", false);
        jit_test(e, jit_value(e, "icmp ule i32 %%v%u, 1", paths));
    }
    flush_counts(e);
    if (!bits) {
        jit_line(e, "br label %%l%u", make_way(e, target, 1, lanes, step));
        return;
    }
    const unsigned none = jit_value(e, "icmp eq i32 %%v%u, 0", bits);
    const unsigned all = e->partial || e->arm ? jit_value(e, "icmp eq i32 %%v%u, %%v%u", bits, e->mask)
                                              : jit_value(e, "icmp eq i32 %%v%u, -1", bits);
    const jit_arm *arm = e->partial ? NULL : find_arm(e, e->at);
    /* If the branch may have an arm, but was not seen to diverge, the region is made again with an arm. */
    const bool unseen = e->u->wide && !e->u->access && !(e->u->seen[e->at] & JIT_MIXED) && find_meet(e, e->at) != e->at;
    const unsigned seen = e->partial ? JIT_TAKEN | JIT_PASSED : e->u->seen[e->at], some = ++e->labels;
    const unsigned mixed = /* some lanes take the branch and others do not */
        arm && (!e->arm || e->arm == arm) ? split_lanes(e, arm, bits, step) : jit_exit(e, e->at, unseen);
    const unsigned on = seen & JIT_PASSED ? make_way(e, e->at + 1, 1, 0, step) : jit_exit(e, e->at, true);
    const unsigned go = seen & JIT_TAKEN ? make_way(e, target, 1, lanes, step) : jit_exit(e, e->at, true);
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", all, go, some);
    jit_label(e, some);
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", none, on, mixed);
}

/* Writes an instruction that is executed for all lanes or for no lane. If the guard holds only for some lanes, the
 * region ends before the instruction, unless the instruction is an access that jit_emit_some() can write. */
static void emit_uniform(jit_emitter *e, const vm_code *i, const jit_insn *insn, unsigned bits)
{
    const unsigned act = ++e->labels, some = ++e->labels, on = ++e->labels;
    const bool masked = bits && !e->u->access && jit_may_be_some(e, e->at);
    if (bits) {
        const unsigned mixed = masked ? ++e->labels : jit_exit(e, e->at, true);
        const unsigned none = jit_value(e, "icmp eq i32 %%v%u, 0", bits);
        const unsigned all = jit_value(e, "icmp eq i32 %%v%u, -1", bits);
        jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", all, act, some);
        jit_label(e, some);
        jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", none, on, mixed);
        if (masked) {
            jit_label(e, mixed);
            jit_emit_some(e, bits, jit_value(e, "bitcast i32 %%v%u to " B1V, bits));
            jit_line(e, "br label %%l%u", on);
        }
        jit_label(e, act);
    }
    if (insn->kind == JIT_CALL)
        jit_call(e, i, insn, e->u->access && i->masked == ops_atom ? e->u->atom : i->masked, 0, true);
    else if (insn->kind == JIT_UPDATE)
        jit_emit_update(e, i);
    else if (jit_shapes[insn->id].form == JIT_LOAD || jit_shapes[insn->id].form == JIT_STORE)
        jit_emit_memory(e, i, insn);
    else
        jit_call(e, i, insn, e->u->function->module->table[insn->id].full, 0, false);
    if (bits) {
        jit_line(e, "br label %%l%u", on);
        jit_label(e, on);
        e->group_count = 0; /* the tests of addresses are valid only if the guard holds */
    }
}

/* Writes an access or a call in a function for paths. `bits` is the number of an i32 value, the lanes for which the
 * guard holds, or 0 if the instruction has no guard. Returns true if the function has already counted the lanes of the
 * instruction. The function counts the lanes before a call, because the handler may raise an event that ends the
 * region. */
static bool emit_path(jit_emitter *e, const vm_code *i, const jit_insn *insn, unsigned bits)
{
    if (jit_is_access(insn) && jit_emit_partial_memory(e, i, bits ? bits : e->mask))
        return false;
    if (bits && !(i->guard & 2))
        count_lanes(e, bits);
    jit_call(e, i, insn, i->masked, bits ? bits : e->mask, true);
    return bits != 0;
}

/* Writes an instruction of an arm. The other lanes keep the values of registers that they may read behind the arm. If
 * the function has a shuffle, the other lanes keep all values: some may exit, and a shuffle may read a value that was
 * computed from registers of lanes that have exited. `bits` has the same meaning as in emit_path(). */
static void emit_of_arm(jit_emitter *e, const vm_code *i, const jit_insn *insn, unsigned bits)
{
    bool kept = e->u->shuffles;
    for (unsigned k = 0; k < insn->use_count; k++)
        kept = kept ||
               (insn->uses[k].write && jit_live_at(e->u->live, e->arm->to, insn->uses[k].slot, insn->uses[k].width));
    const unsigned lanes = bits ? bits : e->mask;
    const unsigned put = bits || kept ? jit_value(e, "bitcast i32 %%v%u to " B1V, lanes) : 0;
    if (jit_is_access(insn))
        jit_emit_some(e, lanes, put);
    else if (!jit_emit_plain(e, i, insn, put))
        jit_call(e, i, insn, i->masked, lanes, false);
}

/* Writes the instruction at e->at according to its kind, and counts it with the lanes that run it. */
static void emit_insn(jit_emitter *e)
{
    const vm_code *i = &e->u->function->code[e->at];
    const jit_insn *insn = &e->u->insns[e->at];
    const bool access = jit_is_access(insn);
    bool counted = false;
    if (insn->kind == JIT_BRANCH || (!e->partial && (insn->kind != JIT_PLAIN || access)))
        write_back(e, e->at);
    if (insn->kind == JIT_BRANCH) {
        emit_branch(e, i);
        return;
    }
    const unsigned bits = get_path_guard(e, i);
    if (e->arm && insn->kind != JIT_MEET) {
        emit_of_arm(e, i, insn, bits);
    } else if (!e->partial && is_unseen(e, e->at)) { /* only the arm executes the rest of the basic block */
        jit_line(e, "br label %%l%u", jit_exit(e, e->at, true));
        jit_label(e, ++e->labels);
    } else if (insn->kind == JIT_PLAIN && !access) {
        const unsigned mask = bits ? jit_value(e, "bitcast i32 %%v%u to " B1V, bits) : 0;
        const bool known = jit_emit_plain(e, i, insn, mask);
        if (!known && e->partial)
            jit_call(e, i, insn, i->masked, bits ? bits : e->mask, false);
        else if (!known)
            emit_uniform(e, i, insn, bits);
    } else if (insn->kind != JIT_MEET && e->partial) {
        counted = emit_path(e, i, insn, bits);
    } else if (insn->kind != JIT_MEET) {
        emit_uniform(e, i, insn, bits);
    }
    const bool step = i->guard & 2;
    e->count++;
    e->steps += step;
    if (!step && bits && !counted)
        count_lanes(e, bits);
    else if (!step && !counted)
        e->lanes += VM_LANES;
}

/* ---- the set of instructions of a region ---- */

/* Returns true if the instruction lies between a branch at which lanes were seen to diverge and the end of its arm. */
static bool may_be_of_arm(const jit_emitter *e, uint32_t at)
{
    for (uint32_t k = e->first; k < at; k++)
        if (e->u->insns[k].kind == JIT_BRANCH && e->u->seen[k] & JIT_MIXED && find_meet(e, k) > at)
            return e->u->wide && !e->u->access;
    return false;
}

/* Marks the instructions that the region can reach from its head, and the leaders of basic blocks, by a depth-first
 * search. The search stops at an access that no warp was seen to execute, unless some lanes of a warp may execute it in
 * an arm. At a branch, the search follows only directions that were observed. Sets e->need to the number of
 * instructions that were reached. */
static void find_reached(jit_emitter *e, uint32_t *stack)
{
    uint32_t depth = 0, count = 0;
    const vm_code *code = e->u->function->code;
    stack[depth++] = e->head;
    e->state[e->head - e->first] |= LEADER;
    while (depth) {
        uint32_t at = stack[--depth];
        while (at >= e->first && at <= e->last && !(e->state[at - e->first] & REACHED) &&
               e->u->insns[at].kind != JIT_STOP && count < MOST && (!is_unseen(e, at) || may_be_of_arm(e, at))) {
            const bool branch = e->u->insns[at].kind == JIT_BRANCH;
            e->state[at - e->first] |= REACHED;
            e->calls += e->u->insns[at].kind == JIT_CALL;
            count++;
            if (branch) {
                const uint32_t to = (uint32_t)(code[at].target - code);
                const bool always = !(code[at].guard & ~2u);
                if ((always || e->u->seen[at] & JIT_TAKEN) && to <= at && to >= e->first)
                    e->state[to - e->first] |= LOOP;
                if ((always || e->u->seen[at] & JIT_TAKEN) && to >= e->first && to <= e->last) {
                    e->state[to - e->first] |= LEADER;
                    stack[depth++] = to;
                }
                if (always || !(e->u->seen[at] & JIT_PASSED))
                    break;
                if (at < e->last)
                    e->state[at + 1 - e->first] |= LEADER;
            }
            at++;
        }
    }
    e->need = count;
}

/* Marks in `state` the instructions that lanes may execute from `at` on until they reach the end of an arm. Returns
 * false if one of them cannot be in an arm. `stack` has room for all instructions of the region. */
static bool find_of_arm(const jit_emitter *e, uint32_t meet, uint32_t at, uint8_t *state, uint32_t *stack)
{
    const vm_code *code = e->u->function->code;
    uint32_t depth = 0;
    for (stack[depth++] = at; depth;) {
        at = stack[--depth];
        while (at != meet && !(meet == JIT_END && is_kernel_end(e, at)) &&
               (!is_inside(e, at) || !(state[at - e->first] & REACHED))) {
            const jit_insn *insn = is_inside(e, at) ? &e->u->insns[at] : NULL;
            if (!insn || at > meet || e->state[at - e->first] & LOOP ||
                (insn->kind != JIT_PLAIN && insn->kind != JIT_BRANCH && insn->kind != JIT_MEET) ||
                (jit_is_access(insn) && !jit_may_be_some(e, at)) || code[at].masked == vm_op_shfl ||
                code[at].masked == vm_op_vote || code[at].masked == vm_op_warp_sync)
                return false;
            state[at - e->first] = e->state[at - e->first];
            if (insn->kind == JIT_BRANCH) {
                const bool always = !(code[at].guard & ~2u);
                if (code[at].target <= &code[at])
                    return false;
                if (always || e->u->seen[at] & JIT_TAKEN)
                    stack[depth++] = (uint32_t)(code[at].target - code);
                if (always || !(e->u->seen[at] & JIT_PASSED))
                    break;
            }
            at++;
        }
    }
    return true;
}

/* Plans an arm for each reconvergence point at whose branches lanes were seen to diverge. A launch with an observer has
 * no arms. Returns false if memory runs out. */
static bool plan_arms(jit_emitter *e)
{
    enum { LONGEST = 96 }; /* the largest number of instructions of all arms: longer arms take long to compile */
    const kiln_allocator *mem = e->u->mem;
    const size_t span = e->last - e->first + 1;
    uint32_t *stack = kiln__calloc(mem, span + 2, sizeof *stack), total = 0;
    uint8_t *state = kiln__calloc(mem, span + 1, 1);
    for (uint32_t at = e->first; stack && state && !e->u->access && at <= e->last; at++) {
        const uint32_t meet = is_inside(e, at) && e->u->insns[at].kind == JIT_BRANCH ? find_meet(e, at) : at;
        unsigned k = 0, count = 0;
        if (meet == at || !(e->u->seen[at] & JIT_MIXED) || (meet != JIT_END && !is_inside(e, meet)))
            continue;
        while (k < e->arm_count && e->arms[k].meet != meet)
            k++;
        if (k == JIT_ARMS)
            continue;
        memset(state, 0, span);
        if (k < e->arm_count)
            memcpy(state, e->arms[k].state, span);
        if (!find_of_arm(e, meet, at + 1, state, stack))
            continue;
        for (size_t n = 0; n < span; n++)
            count += state[n] && !(k < e->arm_count && e->arms[k].state[n]);
        if (total + count > LONGEST)
            continue;
        total += count;
        if (k == e->arm_count)
            e->arms[e->arm_count++] =
                (jit_arm){.meet = meet, .to = find_target(e, at), .state = kiln__calloc(mem, span + 1, 1)};
        if (!e->arms[k].state)
            break;
        memcpy(e->arms[k].state, state, span);
        if (meet != JIT_END) /* make_way() tests this flag */
            e->arms[k].state[meet - e->first] = e->state[meet - e->first] & LOOP;
    }
    const bool room = stack && state && (e->arm_count == 0 || e->arms[e->arm_count - 1].state);
    kiln__free(mem, stack);
    kiln__free(mem, state);
    return room;
}

static void add_vars(jit_emitter *e)
{
    for (uint32_t at = e->first; at <= e->last; at++) {
        const jit_insn *insn = &e->u->insns[at];
        const uint32_t guard = e->u->function->code[at].guard & ~3u;
        if (!is_inside(e, at))
            continue;
        if (guard)
            find_var(e, guard, JIT_MASK);
        for (unsigned k = 0; k < insn->use_count; k++)
            if (insn->uses[k].slot < e->u->function->sink && insn->uses[k].slot)
                find_var(e, insn->uses[k].slot, insn->uses[k].width);
    }
}

/* Merges a set of changed variables into the set of another block. Returns true if the set of that block has grown. */
static bool merge_dirty(jit_emitter *e, uint32_t from, uint32_t at, const uint8_t *dirty)
{
    bool grew = false;
    /* before a loop, make_way() writes the variables back */
    if (!is_inside(e, at) || (at > from && e->state[at - e->first] & LOOP))
        return false;
    uint8_t *in = e->block_in + e->block_of[at - e->first] * e->var_count;
    for (size_t k = 0; k < e->var_count; k++) {
        grew = grew || dirty[k] > in[k];
        in[k] |= dirty[k];
    }
    return grew;
}

/* Computes for each block the variables that may have changed when the block begins. The algorithm is a forward
 * data-flow analysis, iterated to a fixed point. */
static void flow_dirty(jit_emitter *e)
{
    const vm_code *code = e->u->function->code;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t at = e->first; at <= e->last; at++) {
            const jit_insn *insn = &e->u->insns[at];
            if (!is_inside(e, at))
                continue;
            if (e->state[at - e->first] & LEADER)
                memcpy(e->dirty, e->block_in + e->block_of[at - e->first] * e->var_count, e->var_count);
            for (unsigned k = 0; k < insn->use_count; k++)
                if (insn->uses[k].write && insn->uses[k].slot && insn->uses[k].slot < e->u->function->sink)
                    e->dirty[find_var(e, insn->uses[k].slot, insn->uses[k].width)] = 1;
            /* the directions that the region does not follow are merged too; merge_dirty() ignores targets outside of
             * the region */
            if (insn->kind == JIT_BRANCH)
                changed = merge_dirty(e, at, (uint32_t)(code[at].target - code), e->dirty) || changed;
            if ((insn->kind != JIT_BRANCH || code[at].guard & ~2u) && is_inside(e, at + 1) &&
                e->state[at + 1 - e->first] & LEADER)
                changed = merge_dirty(e, at, at + 1, e->dirty) || changed;
        }
    }
}

/* Reads the lanes that execute a basic block of an arm. */
static void load_mask(jit_emitter *e)
{
    e->mask = jit_value(e, "load i32, %s %%mask%u", jit_pointer(e, "i32"), (unsigned)(e->arm - e->arms));
    e->active = jit_value(e, "call i32 @llvm.ctpop.i32(i32 %%v%u)", e->mask);
    e->active = jit_value(e, "zext i32 %%v%u to i64", e->active);
}

static void emit_blocks(jit_emitter *e)
{
    bool open = false; /* true while the current basic block has no terminator */
    char name[LABEL];
    for (e->at = e->first; e->at <= e->last; e->at++) {
        if (!is_inside(e, e->at))
            continue;
        if (e->partial && e->state[e->at - e->first] & LEADER) {
            kiln__text_printf(&e->body, "b%u:\n", e->at);
            memset(e->dirty, 0, e->var_count);
            memset(e->known, 0, e->var_count * sizeof *e->known);
            e->group_count = 0;
            open = true;
        } else if (e->state[e->at - e->first] & LEADER) {
            kiln__text_printf(&e->body, "%s:\n", get_block(e, e->at, name));
            memcpy(e->dirty, e->block_in + e->block_of[e->at - e->first] * e->var_count, e->var_count);
            e->group_count = 0;
            open = true;
            if (e->arm)
                load_mask(e);
        }
        if (!open) /* this cannot happen, because a reached instruction is a leader or follows a reached instruction */
            e->failed = true;
        emit_insn(e);
        if (e->u->insns[e->at].kind == JIT_BRANCH) {
            open = false;
        } else if (!is_inside(e, e->at + 1) || e->state[e->at + 1 - e->first] & LEADER) {
            write_back(e, e->at + 1);
            flush_counts(e);
            jit_line(e, "br label %%l%u", make_way(e, e->at + 1, 0, 0, 0));
            open = false;
        }
    }
}

/* Writes the arms, whose blocks have variables and changed registers as the same blocks of the region. */
static void emit_arms(jit_emitter *e)
{
    uint8_t *const state = e->state;
    for (unsigned k = 0; k < e->arm_count; k++) {
        e->arm = &e->arms[k];
        e->state = e->arms[k].state;
        emit_blocks(e);
    }
    e->state = state;
    e->arm = NULL;
}

/* Writes the beginning of the loop over the warps of a series. */
static void emit_series(jit_emitter *e)
{
    const char *pointer = jit_pointer(e, "i64");
    jit_line(e, "%%warp = alloca i64\n  store i64 %%first, %s %%warp", pointer);
    jit_line(e, "%%more = alloca i64\n  store i64 %%count, %s %%more", pointer);
    jit_line(e, "%%ended = alloca i64\n  store i64 0, %s %%ended", pointer);
    jit_line(e, "%%place = alloca i64\n  store i64 %llu, %s %%place", VM_SERIES_NOWHERE, pointer);
    jit_line(e, "br label %%series");
    kiln__text_puts(&e->body, "series:\n");
    jit_line(e, "%%w = load i64, %s %%warp", pointer);
    e->w = jit_value(e, "add i64 %%w, 0");
    jit_line(e, "%%regs = add i64 %%v%u, 0", jit_load_host(e, e->w, offsetof(vm_warp, base), "i64", true));
    jit_line(e, "store i64 0, %s %%ncount", pointer);
    jit_line(e, "store i64 0, %s %%nsteps", pointer);
}

/* Writes the values that stay the same while the region runs. */
static void emit_entry(jit_emitter *e)
{
    const char *counter = jit_pointer(e, "i64");
    e->w = jit_value(e, "add i64 %%%s, 0", e->series ? "first" : "w");
    e->runner = jit_load_host(e, e->w, offsetof(vm_warp, runner), "i64", true);
    e->block = jit_load_host(e, e->w, offsetof(vm_warp, block), "i64", true);
    const unsigned run = jit_load_host(e, e->runner, offsetof(vm_runner, run), "i64", true);
    e->cache = jit_load_host(e, e->runner, offsetof(vm_runner, cache), "i64", true);
    e->params = jit_load_host(e, run, offsetof(vm_run_state, params), "i64", true);
    e->launch = jit_load_host(e, run, offsetof(vm_run_state, launch), "i64", true);
    e->shared = jit_load_host(e, e->block, offsetof(vm_block, shared_at), "i64", true);
    e->shared_low = jit_load_host(e, e->block, offsetof(vm_block, shared_low), "i64", true);
    e->shared_end = jit_load_host(e, e->block, offsetof(vm_block, shared_reach), "i64", true);
    static const char *const counters[] = {"%ncount", "%nlanes", "%nsteps"};
    for (unsigned k = 0; k < 3; k++) {
        jit_line(e, "%s = alloca i64", counters[k]);
        jit_line(e, "store i64 0, %s %s", counter, counters[k]);
    }
    if (e->partial)
        return;
    for (unsigned k = 0; k < JIT_STREAMS; k++)
        jit_line(e, "%%p%u = alloca i64\n  store i64 0, %s %%p%u", k, counter, k);
    jit_line(e, "%%ua = alloca " I32V "\n  %%ub = alloca " I32V "\n  %%ud = alloca " I32V "\n  %%uk = alloca i64");
    for (uint32_t k = 0; k < e->var_count; k++)
        jit_line(e, "%%s%u = alloca %s", k, get_type(e->vars[k].width));
    for (unsigned k = 0; k < e->arm_count; k++)
        jit_line(e, "%%mask%u = alloca i32", k);
    for (uint32_t at = e->first; at <= e->last; at++)
        if (e->u->insns[at].kind == JIT_BRANCH && find_meet(e, at) == JIT_END)
            jit_line(e, "%%gone%u = alloca i32", at);
    if (e->series)
        emit_series(e);
    for (uint32_t k = 0; k < e->var_count; k++) {
        const char *type = get_type(e->vars[k].width);
        if (jit_live_at(e->u->live, e->head, e->vars[k].slot, e->vars[k].width))
            move_row(e, &e->body, k, false);
        else /* the variable needs no value, because no instruction reads it before it is written */
            jit_line(e, "store %s %s, %s %%s%u", type, e->vars[k].width == JIT_MASK ? "0" : "zeroinitializer",
                     jit_pointer(e, type), k);
    }
    jit_line(e, "br label %%b%u", e->head);
}

void jit_emit_begin(const jit_unit *unit, kiln__text *text)
{
    static const char *const elements[] = {"i8", "i16", "i32", "i64"};
    kiln__text_puts(text, "!0 = !{}\ndeclare i32 @llvm.ctpop.i32(i32)\n"
                          "declare i64 @llvm.usub.sat.i64(i64, i64)\n"
                          "declare " I32V " @llvm.ctpop.v32i32(" I32V ")\n"
                          "declare " I32V " @llvm.fshr.v32i32(" I32V ", " I32V ", " I32V ")\n"
                          "declare " I64V " @llvm.fshr.v32i64(" I64V ", " I64V ", " I64V ")\n"
                          "declare " F32V " @llvm.fma.v32f32(" F32V ", " F32V ", " F32V ")\n"
                          "declare " F64V " @llvm.fma.v32f64(" F64V ", " F64V ", " F64V ")\n"
                          "declare " F32V " @llvm.sqrt.v32f32(" F32V ")\n"
                          "declare " F64V " @llvm.sqrt.v32f64(" F64V ")\n");
    for (unsigned k = 0; k < KILN__COUNT(elements); k++) {
        char pointer[16], vector[24];
        snprintf(pointer, sizeof pointer, unit->typed ? "%s*" : "ptr", elements[k]);
        snprintf(vector, sizeof vector, "<32 x %s>", elements[k]);
        kiln__text_printf(text, "declare %s @llvm.masked.gather.v32%s.v32p0%s(<32 x %s>, i32, " B1V ", %s)\n", vector,
                          elements[k], unit->typed ? elements[k] : "", pointer, vector);
        kiln__text_printf(text, "declare void @llvm.masked.scatter.v32%s.v32p0%s(%s, <32 x %s>, i32, " B1V ")\n",
                          elements[k], unit->typed ? elements[k] : "", vector, pointer);
    }
    kiln__text_printf(text, "declare void @llvm.prefetch.p0%s, i32, i32, i32)\n", unit->typed ? "i8(i8*" : "(ptr");
    for (unsigned k = 2; k < KILN__COUNT(elements); k++) {
        char vector[24], pointer[24];
        snprintf(vector, sizeof vector, "v32%s", elements[k]);
        snprintf(pointer, sizeof pointer, unit->typed ? "<32 x %s>*" : "ptr", elements[k]);
        kiln__text_printf(text, "declare void @llvm.masked.store.%s.p0%s(<32 x %s>, %s, i32, " B1V ")\n", vector,
                          unit->typed ? vector : "", elements[k], pointer);
        kiln__text_printf(text, "declare <32 x %s> @llvm.masked.load.%s.p0%s(%s, i32, " B1V ", <32 x %s>)\n",
                          elements[k], vector, unit->typed ? vector : "", pointer, elements[k]);
    }
    kiln__text_printf(text, "attributes #0 = { nounwind %s}\n",
                      unit->wide ? "\"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"512\" " : "");
}

static bool prepare_region(jit_emitter *e)
{
    const kiln_allocator *mem = e->u->mem;
    const size_t span = e->last - e->first + 1;
    uint32_t *stack = kiln__calloc(mem, span + 2, sizeof *stack), blocks = 0;
    e->state = kiln__calloc(mem, span + 1, 1);
    e->block_of = kiln__calloc(mem, span + 1, sizeof *e->block_of);
    if (stack && e->state)
        find_reached(e, stack);
    kiln__free(mem, stack);
    if (!stack || !e->state || !e->block_of)
        return false;
    e->var_slots = (JIT_USES + 2) * ((size_t)e->need + 1); /* an upper bound */
    e->var_of = kiln__calloc(mem, e->var_slots, sizeof *e->var_of);
    if (!e->var_of)
        return false;
    add_vars(e);
    for (size_t k = 0; k < span; k++)
        if (e->state[k] & LEADER)
            e->block_of[k] = blocks++;
    e->dirty = kiln__calloc(mem, e->var_count + 1, 1);
    e->block_in = kiln__calloc(mem, (e->var_count + 1) * (blocks + 1), 1);
    if (!e->dirty || !e->block_in || e->failed)
        return false;
    e->fixed = true;
    flow_dirty(e);
    return plan_arms(e) && !e->failed;
}

static void put_function(jit_emitter *e, kiln__text *text, const char *name)
{
    kiln__text_printf(text, "define i64 @%s(i64 %%%s, i64 %%%s, i64 %%left, i64 %%lanes, i64 %%steps) #0 {\nentry:\n",
                      name, e->series ? "first" : "w", e->series ? "count" : "regs");
    kiln__text_puts(text, kiln__text_get(&e->entry));
    kiln__text_puts(text, kiln__text_get(&e->body));
    kiln__text_puts(text, kiln__text_get(&e->exits));
    kiln__text_puts(text, "}\n");
}

static void free_emitter(jit_emitter *e)
{
    const kiln_allocator *mem = e->u->mem;
    kiln__text_free(&e->entry);
    kiln__text_free(&e->body);
    kiln__text_free(&e->exits);
    kiln__free(mem, e->state);
    kiln__free(mem, e->block_of);
    kiln__free(mem, e->vars);
    kiln__free(mem, e->var_of);
    kiln__free(mem, e->dirty);
    kiln__free(mem, e->known);
    kiln__free(mem, e->block_in);
    for (unsigned k = 0; k < e->arm_count; k++)
        kiln__free(mem, e->arms[k].state);
    kiln__free(mem, e);
}

/* Returns true if the region can be a series. A series begins with the kernel or behind a barrier. It reaches a barrier
 * or the kernel's end. It has neither atomics nor other instructions of the kind JIT_CALL, whose handlers may use or
 * change more of a warp than registers. */
static bool may_be_series(const jit_emitter *e)
{
    bool ends = false;
    for (uint32_t at = e->first; at <= e->last; at++) {
        const jit_insn *insn = &e->u->insns[at];
        if (!is_inside(e, at))
            ends = ends ||
                   (ends_turn(e, at) && at > e->first && (is_inside(e, at - 1) || e->state[at - e->first] & LEADER));
        else if (insn->kind == JIT_CALL || insn->kind == JIT_UPDATE)
            return false;
    }
    const bool begins = e->head == 0 || (ends_turn(e, e->head - 1) && !is_kernel_end(e, e->head - 1));
    return begins && ends && !e->u->access;
}

/* Plans the region. Then writes the entry of the region, its basic blocks and its exits. */
uint32_t jit_emit(const jit_unit *unit, kiln__text *text, const char *name, uint32_t head, uint32_t first,
                  uint32_t last, bool *stops, bool *series)
{
    jit_emitter *e = kiln__calloc(unit->mem, 1, sizeof *e);
    uint32_t need = 0;
    *series = false;
    if (!e)
        return 0;
    *e = (jit_emitter){.u = unit, .first = first, .last = last, .head = head, .stops = stops};
    e->entry.mem = e->body.mem = e->exits.mem = unit->mem;
    const bool barrier = head > 0 && unit->function->code[head - 1].masked == vm_op_bar;
    if (prepare_region(e) && e->need >= (barrier ? LEAST_AFTER_BARRIER : LEAST) &&
        (unit->access || e->calls <= e->need / CALLS)) {
        e->series = *series = may_be_series(e);
        emit_entry(e);
        e->entry = e->body;
        e->body = (kiln__text){.mem = unit->mem};
        emit_blocks(e);
        emit_arms(e);
        put_function(e, text, name);
        need = e->failed || e->entry.failed || e->body.failed || e->exits.failed || text->failed ? 0 : e->need;
    }
    free_emitter(e);
    return need;
}

/* ---- functions for paths ---- */

/* Returns true if a function for paths can hold the instruction. Reconvergence points, barriers and exchanges between
 * lanes are excluded, because there the interpreter decides which path continues. */
static bool is_of_path(const jit_unit *unit, uint32_t at)
{
    const vm_code *i = &unit->function->code[at];
    return unit->insns[at].kind != JIT_STOP && i->masked != vm_op_meet && i->masked != vm_op_shfl &&
           i->masked != vm_op_vote && i->masked != vm_op_warp_sync;
}

/* Marks the instructions that the function for paths holds, and the leaders of its basic blocks. A leader whose block
 * has at least two instructions is a head. The interpreter may enter the function at a head. Returns false if memory
 * runs out. */
static bool prepare_paths(jit_emitter *e, bool *heads)
{
    const kiln_allocator *mem = e->u->mem;
    const vm_code *code = e->u->function->code;
    const size_t span = e->last - e->first + 1;
    e->state = kiln__calloc(mem, span + 2, 1);
    if (!e->state)
        return false;
    for (uint32_t at = e->first; at <= e->last; at++) {
        const uint32_t to = e->u->insns[at].kind == JIT_BRANCH ? (uint32_t)(code[at].target - code) : at;
        const bool held = is_of_path(e->u, at);
        e->state[at - e->first] |= held ? REACHED : 0;
        e->need += held;
        if (at == e->first)
            e->state[0] |= LEADER;
        if (!held || e->u->insns[at].kind == JIT_BRANCH)
            e->state[at + 1 - e->first] |= LEADER;
        if (e->u->insns[at].kind == JIT_BRANCH && to >= e->first && to <= e->last)
            e->state[to - e->first] |= LEADER;
    }
    /* the handler of ops_atom copies its code, so an atomic cannot be a head */
    for (uint32_t at = e->first; at < e->last; at++)
        heads[at] = is_inside(e, at) && e->state[at - e->first] & LEADER && is_inside(e, at + 1) &&
                    e->u->insns[at].kind != JIT_BRANCH && code[at].masked != ops_atom;
    e->var_slots = (JIT_USES + 2) * ((size_t)e->need + 1);
    e->var_of = kiln__calloc(mem, e->var_slots, sizeof *e->var_of);
    if (!e->var_of)
        return false;
    add_vars(e);
    e->fixed = true;
    e->dirty = kiln__calloc(mem, e->var_count + 1, 1);
    e->known = kiln__calloc(mem, e->var_count + 1, sizeof *e->known);
    return e->dirty && e->known && !e->failed;
}

/* Writes the start of a function for paths: the values that do not change, and a switch that jumps to the block for
 * w->pc. If w->pc is not the instruction after a head, the function for paths returns 0. */
static void emit_paths_entry(jit_emitter *e, const bool *heads)
{
    const vm_code *code = e->u->function->code;
    emit_entry(e);
    e->regs = jit_value(e, "add i64 %%regs, 0");
    e->mask = jit_load_host(e, e->w, offsetof(vm_warp, mask), "i32", true);
    jit_line(e, "%%lanemask = bitcast i32 %%v%u to " B1V, e->mask);
    e->active = jit_value(e, "call i32 @llvm.ctpop.i32(i32 %%v%u)", e->mask);
    e->active = jit_value(e, "zext i32 %%v%u to i64", e->active);
    const unsigned pc = jit_load_host(e, e->w, offsetof(vm_warp, pc), "i64", false);
    jit_line(e, "switch i64 %%v%u, label %%nowhere [", pc);
    for (uint32_t at = e->first; at <= e->last; at++)
        if (heads[at])
            jit_line(e, "  i64 %llu, label %%b%u", (unsigned long long)(uintptr_t)(code + at + 1), at);
    kiln__text_puts(&e->body, "  ]\nnowhere:\n  ret i64 0\n");
}

uint32_t jit_emit_partial(const jit_unit *unit, kiln__text *text, const char *name, uint32_t first, uint32_t last,
                          bool *heads)
{
    jit_emitter *e = kiln__calloc(unit->mem, 1, sizeof *e);
    uint32_t need = 0;
    if (!e)
        return 0;
    *e = (jit_emitter){.u = unit, .first = first, .last = last, .head = first, .partial = true};
    e->entry.mem = e->body.mem = e->exits.mem = unit->mem;
    if (prepare_paths(e, heads)) {
        emit_paths_entry(e, heads);
        e->entry = e->body;
        e->body = (kiln__text){.mem = unit->mem};
        emit_blocks(e);
        put_function(e, text, name);
        need = e->failed || e->entry.failed || e->body.failed || e->exits.failed || text->failed ? 0 : e->need;
    }
    free_emitter(e);
    return need;
}
