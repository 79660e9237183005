/* memory.c - writes the loads and stores of a region. The layout of the lanes' addresses was observed before the region
 * was made (jit_pattern). The running region tests that the addresses have this layout. The region also tests that the
 * addresses lie in the allocation that the instruction accessed last, or in the block's shared memory. If a test fails,
 * the region ends before the access. Several accesses through the same register share one test. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "vm_poll.h"

static const unsigned bytes_of[] = {[JIT_u8] = 1,  [JIT_s8] = 1,  [JIT_u16] = 2, [JIT_s16] = 2, [JIT_u32] = 4,
                                    [JIT_s32] = 4, [JIT_u64] = 8, [JIT_s64] = 8, [JIT_f32] = 4, [JIT_f64] = 8};

/* One memory access of an instruction. */
typedef struct access {
    const vm_code *i;
    const jit_shape *shape;
    uint32_t slot;          /* the register of the address, as jit_address() returns it */
    unsigned element, span; /* element: the bytes of an element; span: the bytes that a lane accesses */
    unsigned pattern;
    int64_t offset;
    const char *type; /* type of an element in memory */
} access;

static access get_access(const jit_emitter *e, uint32_t at)
{
    const vm_code *i = &e->u->function->code[at];
    access a = {.i = i, .shape = &jit_shapes[e->u->insns[at].id]};
    a.slot = jit_address(e->u->function, e->u->insns, at);
    a.element = bytes_of[a.shape->a];
    a.span = a.element * i->count;
    a.pattern = e->partial || e->arm ? JIT_ANY : e->u->seen[at];
    a.offset = a.shape->shared ? (int32_t)(uint32_t)i->imm : (int64_t)i->imm;
    a.type = a.element == 1 ? "i8" : a.element == 2 ? "i16" : a.element == 4 ? "i32" : "i64";
    return a;
}

/* Returns the kind of an access. Accesses of different kinds share no test, because memory that a load may read is not
 * always writable. */
static uint8_t get_kind(const access *a) { return a->shape->shared ? 2 : a->shape->form == JIT_STORE; }

/* Finds the range [*low, *high) of the offsets of this access, and of similar accesses after it in the basic block. */
static void find_extent(const jit_emitter *e, const access *a, int64_t *low, int64_t *high)
{
    *low = a->offset, *high = a->offset + a->span;
    if (a->i->guard & ~2u)
        return;
    for (uint32_t at = e->at; at <= e->last && e->u->insns[at].kind != JIT_STOP; at++) {
        const jit_insn *insn = &e->u->insns[at];
        if (at != e->at && (!jit_in_block(e, at) || insn->kind == JIT_BRANCH))
            return;
        if (jit_is_access(&e->u->insns[at])) {
            const access b = get_access(e, at);
            if (b.slot == a->slot && get_kind(&b) == get_kind(a) && b.span == a->span && b.pattern == a->pattern &&
                !(b.i->guard & ~2u) && b.offset % b.span == a->offset % a->span) {
                *low = b.offset < *low ? b.offset : *low;
                *high = b.offset + b.span > *high ? b.offset + b.span : *high;
            }
        }
        for (unsigned k = 0; k < insn->use_count; k++)
            if (insn->uses[k].write && insn->uses[k].slot == a->slot)
                return;
    }
}

static unsigned emit_and(jit_emitter *e, unsigned a, unsigned b) { return jit_value(e, "and i1 %%v%u, %%v%u", a, b); }

/* Writes a test that the lanes' addresses grow by `stride` bytes from lane to lane, and that the sequence begins again
 * after each `width` lanes. If `bits` is not 0, it is the number of an i32 value, the lanes that are tested. The
 * sequence begins at the address of the first lane, even if this lane is not tested. Returns the number of an i1 value,
 * the result of the test. */
static unsigned emit_row_test(jit_emitter *e, unsigned row, const char *vector, const char *scalar, unsigned stride,
                              unsigned width, unsigned bits)
{
    char places[32 * 12], begins[32 * 8];
    size_t length = 0, used = 0;
    for (unsigned l = 0; l < VM_LANES; l++) {
        length += (size_t)snprintf(places + length, sizeof places - length, "%s%s %u", l ? ", " : "", scalar,
                                   l % width * stride);
        used += (size_t)snprintf(begins + used, sizeof begins - used, "%si32 %u", l ? ", " : "", l / width * width);
    }
    const unsigned first = jit_value(e, "shufflevector %s %%v%u, %s poison, " I32V " <%s>", vector, row, vector,
                                     begins);
    const unsigned away = jit_value(e, "sub %s %%v%u, %%v%u", vector, row, first);
    const unsigned odd = stride ? jit_value(e, "icmp ne %s %%v%u, <%s>", vector, away, places)
                                : jit_value(e, "icmp ne %s %%v%u, zeroinitializer", vector, away);
    unsigned lanes = jit_value(e, "bitcast " B1V " %%v%u to i32", odd);
    if (bits)
        lanes = jit_value(e, "and i32 %%v%u, %%v%u", lanes, bits);
    return jit_value(e, "icmp eq i32 %%v%u, 0", lanes);
}

/* The memory [base, end) that may be accessed, and the difference between a host address and its device address. All
 * members are numbers of i64 values. */
typedef struct window {
    unsigned base, end, host;
} window;

static window get_window(jit_emitter *e, const access *a)
{
    window w;
    if (a->shape->shared)
        return (window){e->shared_low, e->shared_end, e->shared};
    const uint64_t span = (uint64_t)a->i->e * sizeof(vm_span);
    w.base = jit_load_host(e, e->cache, span + offsetof(vm_span, base), "i64", true);
    w.end = jit_load_host(e, e->cache, span + offsetof(vm_span, end), "i64", true);
    w.host = jit_load_host(e, e->cache, span + offsetof(vm_span, host), "i64", true);
    w.host = jit_value(e, "sub i64 %%v%u, %%v%u", w.host, w.base);
    return w;
}

static jit_group *find_group(jit_emitter *e, const access *a)
{
    const int64_t end = a->offset + a->span;
    for (unsigned k = 0; k < e->group_count; k++) {
        jit_group *g = &e->groups[k];
        if (g->slot == a->slot && g->kind == get_kind(a) && g->pattern == a->pattern && g->span == a->span &&
            a->offset >= g->low && end <= g->high && (a->offset - g->low) % a->span == 0)
            return g;
    }
    return NULL;
}

static unsigned emit_lane(jit_emitter *e, const access *a, unsigned row, unsigned lane)
{
    if (!a->shape->shared)
        return jit_value(e, "extractelement " I64V " %%v%u, i32 %u", row, lane);
    const unsigned narrow = jit_value(e, "extractelement " I32V " %%v%u, i32 %u", row, lane);
    return jit_value(e, "zext i32 %%v%u to i64", narrow);
}

/* Writes a test that [first + from, first + to) lies in the window and is aligned. Returns the number of an i1 value,
 * the result of the test. */
static unsigned emit_bounds_test(jit_emitter *e, const access *a, const window *w, unsigned first, int64_t from,
                                 int64_t to)
{
    const unsigned low = jit_value(e, "add i64 %%v%u, %lld", first, (long long)from);
    const unsigned high = jit_value(e, "add i64 %%v%u, %lld", first, (long long)to);
    unsigned good = jit_value(e, "icmp uge i64 %%v%u, %%v%u", low, w->base);
    good = emit_and(e, good, jit_value(e, "icmp ule i64 %%v%u, %%v%u", high, w->end));
    good = emit_and(e, good, jit_value(e, "icmp ult i64 %%v%u, %%v%u", low, high));
    if (a->span > 1) {
        const unsigned odd = jit_value(e, "and i64 %%v%u, %u", low, a->span - 1);
        good = emit_and(e, good, jit_value(e, "icmp eq i64 %%v%u, 0", odd));
    }
    return good;
}

/* Returns true if a branch within the region leads back over the instruction. */
static bool is_in_loop(const jit_emitter *e, uint32_t at)
{
    const vm_code *code = e->u->function->code;
    for (uint32_t k = at; k <= e->last; k++)
        if (e->u->insns[k].kind == JIT_BRANCH && code[k].target <= code + at && code[k].target >= code + e->first)
            return true;
    return false;
}

/* If the address of a load in a loop changes by equal steps, prefetches the row that the load will read AHEAD
 * iterations later. A warp runs many iterations of a loop in one turn. In a grid-stride loop the rows of a warp lie far
 * apart, so the host's own prefetcher does not predict them. If the later row is outside of the window, the region
 * prefetches the current row again, so that the processor never gets an address that the kernel must not read. */
static void emit_prefetch(jit_emitter *e, const window *w, unsigned first)
{
    enum { AHEAD = 8, LINE = 64, ROW = 128 };
    const char *counter = jit_pointer(e, "i64"), *byte = e->u->typed ? "i8*" : "ptr";
    const unsigned stream = e->streams++, before = jit_value(e, "load i64, %s %%p%u", counter, stream);
    jit_line(e, "store i64 %%v%u, %s %%p%u", first, counter, stream);
    unsigned ahead = jit_value(e, "sub i64 %%v%u, %%v%u", first, before);
    ahead = jit_value(e, "mul i64 %%v%u, %d", ahead, AHEAD);
    ahead = jit_value(e, "add i64 %%v%u, %%v%u", ahead, first);
    const unsigned far = jit_value(e, "sub i64 %%v%u, %%v%u", ahead, w->base);
    unsigned room = jit_value(e, "sub i64 %%v%u, %%v%u", w->end, w->base);
    room = jit_value(e, "call i64 @llvm.usub.sat.i64(i64 %%v%u, i64 %d)", room, ROW);
    const unsigned good = jit_value(e, "icmp ult i64 %%v%u, %%v%u", far, room);
    ahead = jit_value(e, "select i1 %%v%u, i64 %%v%u, i64 %%v%u", good, ahead, first);
    ahead = jit_value(e, "add i64 %%v%u, %%v%u", ahead, w->host);
    for (unsigned k = 0; k < ROW; k += LINE) {
        unsigned at = jit_value(e, "add i64 %%v%u, %u", ahead, k);
        at = jit_value(e, "inttoptr i64 %%v%u to %s", at, byte);
        jit_line(e, "call void @llvm.prefetch.p0%s(%s %%v%u, i32 0, i32 3, i32 1)", e->u->typed ? "i8" : "", byte, at);
    }
}

/* Returns the number of bytes by which the innermost loop around the access advances the address register. Returns 0 if
 * there is no such loop, or if the step is not a small constant. */
static unsigned find_step(const jit_emitter *e, const access *a)
{
    enum { STEP_MOST = 64 };
    const vm_code *code = e->u->function->code;
    uint32_t back = e->at;
    while (back <= e->last && !(e->u->insns[back].kind == JIT_BRANCH && code[back].target <= code + e->at))
        back++;
    for (uint32_t k = back <= e->last ? (uint32_t)(code[back].target - code) : back; k < back; k++) {
        uint64_t step;
        if (e->u->insns[k].id != VM_H_add_u64 || code[k].d != a->slot || code[k].a != a->slot || !(code[k].b & 1))
            continue;
        memcpy(&step, e->u->function->constants + (code[k].b & ~1u), sizeof step);
        return step <= STEP_MOST ? (unsigned)step : 0;
    }
    return 0;
}

/* Prefetches memory for the next warp, if each lane of a loop reads its own part of an array, and these parts follow
 * each other. The rows of a sparse matrix are such parts. The parts of the next warp's lanes are then behind the part
 * of the last lane. A gather touches 32 cache lines at once, which are too many for the host's own prefetcher. A loop
 * has about as many iterations as a part has steps. So each iteration prefetches its share of the lines, and
 * runner->ahead counts the lines. */
static void emit_prefetch_parts(jit_emitter *e, const access *a, const window *w, unsigned row)
{
    enum { LINE = 64, LINES = 32, NEAR = 2 * LINE * LINES };
    const char *counter = jit_pointer(e, "i32"), *byte = e->u->typed ? "i8*" : "ptr";
    const unsigned step = find_step(e, a), lines = step < 4 ? 1 : step / 4;
    if (step == 0)
        return;
    const uint64_t offset = offsetof(vm_runner, ahead) + sizeof(uint32_t) * (e->parts++ % VM_STREAMS);
    unsigned place = jit_value(e, "add i64 %%v%u, %llu", e->runner, (unsigned long long)offset);
    place = jit_value(e, "inttoptr i64 %%v%u to %s", place, counter);
    const unsigned count = jit_value(e, "load i32, %s %%v%u", counter, place);
    jit_line(e, "store i32 %%v%u, %s %%v%u", jit_value(e, "add i32 %%v%u, %u", count, lines), counter, place);
    unsigned ahead = jit_value(e, "zext i32 %%v%u to i64", jit_value(e, "and i32 %%v%u, %d", count, LINES - 1));
    ahead = jit_value(e, "add i64 %%v%u, %d", jit_value(e, "mul i64 %%v%u, %d", ahead, LINE), LINE);
    const unsigned first = emit_lane(e, a, row, 0), last = emit_lane(e, a, row, VM_LANES - 1);
    const unsigned near = jit_value(e, "icmp ult i64 %%v%u, %d", jit_value(e, "sub i64 %%v%u, %%v%u", last, first),
                                    NEAR);
    const unsigned far = jit_value(e, "sub i64 %%v%u, %%v%u", jit_value(e, "add i64 %%v%u, %%v%u", ahead, last),
                                   w->base);
    unsigned room = jit_value(e, "sub i64 %%v%u, %%v%u", w->end, w->base);
    room = jit_value(e, "call i64 @llvm.usub.sat.i64(i64 %%v%u, i64 %u)", room, lines * LINE);
    const unsigned good = emit_and(e, near, jit_value(e, "icmp ult i64 %%v%u, %%v%u", far, room));
    ahead = jit_value(e, "select i1 %%v%u, i64 %%v%u, i64 0", good, far);
    ahead = jit_value(e, "add i64 %%v%u, %%v%u", ahead, jit_value(e, "add i64 %%v%u, %%v%u", w->base, w->host));
    for (unsigned k = 0; k < lines; k++) {
        unsigned at = jit_value(e, "add i64 %%v%u, %u", ahead, k * LINE);
        at = jit_value(e, "inttoptr i64 %%v%u to %s", at, byte);
        jit_line(e, "call void @llvm.prefetch.p0%s(%s %%v%u, i32 0, i32 3, i32 1)", e->u->typed ? "i8" : "", byte, at);
    }
}

/* Opens a group for a fixed pattern: writes a test of the addresses of this access and of all similar accesses that
 * follow. If the test fails, the region ends. */
static void open_group(jit_emitter *e, const access *a, unsigned row, jit_group *g)
{
    const window w = get_window(e, a);
    const bool halves = a->pattern == JIT_ONES || a->pattern == JIT_ROWS;
    const unsigned stride = a->pattern == JIT_ROW || a->pattern == JIT_ROWS ? a->span : 0;
    const unsigned width = halves ? VM_LANES / 2 : VM_LANES;
    *g = (jit_group){.slot = a->slot, .span = a->span, .kind = get_kind(a), .pattern = (uint8_t)a->pattern};
    find_extent(e, a, &g->low, &g->high);
    g->host = w.host;
    g->first = emit_lane(e, a, row, 0);
    const int64_t end = g->high + (int64_t)(width - 1) * stride;
    unsigned good = emit_row_test(e, row, a->shape->shared ? I32V : I64V, a->shape->shared ? "i32" : "i64", stride,
                                  width, 0);
    good = emit_and(e, good, emit_bounds_test(e, a, &w, g->first, g->low, end));
    if (halves) {
        g->second = emit_lane(e, a, row, VM_LANES / 2);
        good = emit_and(e, good, emit_bounds_test(e, a, &w, g->second, g->low, end));
    }
    jit_test(e, good);
    if (a->pattern == JIT_ROW && g->kind == 0 && e->streams < JIT_STREAMS && is_in_loop(e, e->at))
        emit_prefetch(e, &w, g->first);
}

/* ---- elements ---- */

/* Converts an element from its type in memory to the type of its register. narrow_value() converts back. */
static unsigned widen_value(jit_emitter *e, const access *a, unsigned value)
{
    const bool sign = a->shape->a == JIT_s8 || a->shape->a == JIT_s16;
    return a->element >= 4 ? value
                           : jit_value(e, "%s <32 x %s> %%v%u to " I32V, sign ? "sext" : "zext", a->type, value);
}

static unsigned narrow_value(jit_emitter *e, const access *a, unsigned value)
{
    return a->element >= 4 ? value : jit_value(e, "trunc " I32V " %%v%u to <32 x %s>", value, a->type);
}

/* Writes the indices of a shufflevector: start, start + step, ... */
static const char *write_places(char *text, size_t size, unsigned count, unsigned start, unsigned step)
{
    size_t length = 0;
    for (unsigned l = 0; l < count; l++)
        length += (size_t)snprintf(text + length, size - length, "%si32 %u", l ? ", " : "", start + l * step);
    return text;
}

static uint32_t get_slot(const access *a, unsigned k)
{
    const uint32_t *slots = a->i->extra;
    return a->i->count == 1 ? a->i->d : slots[k];
}

static unsigned get_width(const access *a) { return a->shape->d == JIT_u64 ? JIT_64 : JIT_32; }

static unsigned emit_pointer(jit_emitter *e, unsigned address, unsigned offset, const char *type)
{
    if (offset)
        address = jit_value(e, "add i64 %%v%u, %u", address, offset);
    return jit_value(e, "inttoptr i64 %%v%u to %s", address, jit_pointer(e, type));
}

static void load_at(jit_emitter *e, const access *a, unsigned address)
{
    char type[32], order[32 * 10];
    const unsigned count = a->i->count;
    unsigned row = 0;
    if (a->pattern == JIT_ROW) {
        snprintf(type, sizeof type, "<%u x %s>", VM_LANES * count, a->type);
        row = emit_pointer(e, address, 0, type);
        row = jit_value(e, "load %s, %s %%v%u, align %u", type, jit_pointer(e, type), row, a->element);
    }
    for (unsigned k = 0; k < count; k++) {
        unsigned value = row;
        if (a->pattern == JIT_ONE) {
            value = emit_pointer(e, address, k * a->element, a->type);
            value = jit_value(e, "load %s, %s %%v%u, align %u", a->type, jit_pointer(e, a->type), value, a->element);
            value = jit_value(e, "insertelement <32 x %s> poison, %s %%v%u, i32 0", a->type, a->type, value);
            value = jit_value(e, "shufflevector <32 x %s> %%v%u, <32 x %s> poison, " I32V " zeroinitializer", a->type,
                              value, a->type);
        } else if (count > 1) {
            value = jit_value(e, "shufflevector %s %%v%u, %s poison, " I32V " <%s>", type, row, type,
                              write_places(order, sizeof order, VM_LANES, k, count));
        }
        jit_put(e, get_slot(a, k), get_width(a), widen_value(e, a, value), 0);
    }
}

static void store_at(jit_emitter *e, const access *a, unsigned address)
{
    char type[32], order[128 * 10];
    const unsigned count = a->i->count;
    unsigned value[JIT_ELEMENTS] = {0};
    for (unsigned k = 0; k < count; k++)
        value[k] = narrow_value(e, a, jit_get(e, get_slot(a, k), get_width(a)));
    if (a->pattern == JIT_ONE) { /* if all lanes store to one address, memory keeps the value of the last lane */
        for (unsigned k = 0; k < count; k++) {
            const unsigned x = jit_value(e, "extractelement <32 x %s> %%v%u, i32 31", a->type, value[k]);
            const unsigned to = emit_pointer(e, address, k * a->element, a->type);
            jit_line(e, "store %s %%v%u, %s %%v%u, align %u", a->type, x, jit_pointer(e, a->type), to, a->element);
        }
        return;
    }
    unsigned row = value[0];
    for (unsigned k = 0; count > 1 && k < count; k += 2)
        value[k / 2] = jit_value(e, "shufflevector <32 x %s> %%v%u, <32 x %s> %%v%u, <64 x i32> <%s>", a->type,
                                 value[k], a->type, value[k + 1], write_places(order, sizeof order, 64, 0, 1));
    if (count == 2 || count == 4) {
        size_t length = 0;
        for (unsigned n = 0; n < VM_LANES * count; n++)
            length += (size_t)snprintf(order + length, sizeof order - length, "%si32 %u", n ? ", " : "",
                                       n % count * VM_LANES + n / count);
        snprintf(type, sizeof type, "<64 x %s>", a->type);
        row = count == 2
                  ? jit_value(e, "shufflevector %s %%v%u, %s poison, <64 x i32> <%s>", type, value[0], type, order)
                  : jit_value(e, "shufflevector %s %%v%u, %s %%v%u, <128 x i32> <%s>", type, value[0], type, value[1],
                              order);
    }
    snprintf(type, sizeof type, "<%u x %s>", VM_LANES * count, a->type);
    const unsigned to = emit_pointer(e, address, 0, type);
    jit_line(e, "store %s %%v%u, %s %%v%u, align %u", type, row, jit_pointer(e, type), to, a->element);
}

/* Loads one element for each lane of a warp, if each half of the warp has the pattern ROW or ONE. */
static void load_halves(jit_emitter *e, const access *a, unsigned address, unsigned upper)
{
    char type[32], order[32 * 10];
    unsigned value;
    if (a->pattern == JIT_ROWS) {
        snprintf(type, sizeof type, "<16 x %s>", a->type);
        unsigned low = emit_pointer(e, address, 0, type), high = emit_pointer(e, upper, 0, type);
        low = jit_value(e, "load %s, %s %%v%u, align %u", type, jit_pointer(e, type), low, a->element);
        high = jit_value(e, "load %s, %s %%v%u, align %u", type, jit_pointer(e, type), high, a->element);
        value = jit_value(e, "shufflevector %s %%v%u, %s %%v%u, " I32V " <%s>", type, low, type, high,
                          write_places(order, sizeof order, VM_LANES, 0, 1));
    } else {
        unsigned low = emit_pointer(e, address, 0, a->type), high = emit_pointer(e, upper, 0, a->type);
        low = jit_value(e, "load %s, %s %%v%u, align %u", a->type, jit_pointer(e, a->type), low, a->element);
        high = jit_value(e, "load %s, %s %%v%u, align %u", a->type, jit_pointer(e, a->type), high, a->element);
        size_t length = 0;
        for (unsigned l = 0; l < VM_LANES; l++)
            length += (size_t)snprintf(order + length, sizeof order - length, "%si32 %u", l ? ", " : "", l / 16);
        value = jit_value(e, "insertelement <32 x %s> poison, %s %%v%u, i32 0", a->type, a->type, low);
        value = jit_value(e, "insertelement <32 x %s> %%v%u, %s %%v%u, i32 1", a->type, value, a->type, high);
        value = jit_value(e, "shufflevector <32 x %s> %%v%u, <32 x %s> poison, " I32V " <%s>", a->type, value, a->type,
                          order);
    }
    jit_put(e, get_slot(a, 0), get_width(a), widen_value(e, a, value), 0);
}

/* Stores the lower half of the warp first. If both halves store to the same place, memory then keeps the values of the
 * later lanes. */
static void store_halves(jit_emitter *e, const access *a, unsigned address, unsigned upper)
{
    char type[32], order[16 * 10];
    const unsigned value = narrow_value(e, a, jit_get(e, get_slot(a, 0), get_width(a)));
    for (unsigned half = 0; half < 2; half++) {
        unsigned x;
        if (a->pattern == JIT_ROWS) {
            snprintf(type, sizeof type, "<16 x %s>", a->type);
            x = jit_value(e, "shufflevector <32 x %s> %%v%u, <32 x %s> poison, <16 x i32> <%s>", a->type, value,
                          a->type, write_places(order, sizeof order, 16, 16 * half, 1));
        } else {
            snprintf(type, sizeof type, "%s", a->type);
            x = jit_value(e, "extractelement <32 x %s> %%v%u, i32 %u", a->type, value, 16 * half + 15);
        }
        const unsigned to = emit_pointer(e, half ? upper : address, 0, type);
        jit_line(e, "store %s %%v%u, %s %%v%u, align %u", type, x, jit_pointer(e, type), to, a->element);
    }
}

/* ---- accesses to any addresses ---- */

/* Returns the addresses `host` + `offset` of all lanes as pointers to `type`. */
static unsigned emit_pointers(jit_emitter *e, unsigned host, int64_t offset, const char *type)
{
    if (offset)
        host = jit_value(e, "add " I64V " %%v%u, %%v%u", host, jit_splat64(e, (uint64_t)offset));
    return jit_value(e, "inttoptr " I64V " %%v%u to <32 x %s>", host, jit_pointer(e, type));
}

/* Gathers an element of `type` for each lane of `mask`. `mask` is a vector of i1. */
static unsigned emit_gather(jit_emitter *e, const char *type, unsigned pointers, unsigned align, unsigned mask)
{
    return jit_value(e,
                     "call <32 x %s> @llvm.masked.gather.v32%s.v32p0%s(<32 x %s> %%v%u, i32 %u, " B1V
                     " %%v%u, <32 x %s> zeroinitializer)",
                     type, type, e->u->typed ? type : "", jit_pointer(e, type), pointers, align, mask, type);
}

static void emit_scatter(jit_emitter *e, const char *type, unsigned value, unsigned pointers, unsigned align,
                         unsigned mask)
{
    jit_line(e, "call void @llvm.masked.scatter.v32%s.v32p0%s(<32 x %s> %%v%u, <32 x %s> %%v%u, i32 %u, " B1V " %%v%u)",
             type, e->u->typed ? type : "", type, value, jit_pointer(e, type), pointers, align, mask);
}

/* Writes a shufflevector of two vectors of 16 words. In each group of four words, order[] selects the words of the
 * result. The numbers 0 to 3 are words of that group of `a`. The numbers 4 to 7 are words of that group of `b`. x86-64
 * has an instruction for such an order. */
static unsigned emit_interleave(jit_emitter *e, unsigned a, unsigned b, const uint8_t *order)
{
    char places[16 * 10];
    size_t length = 0;
    for (unsigned k = 0; k < 16; k++)
        length += (size_t)snprintf(places + length, sizeof places - length, "%si32 %u", k ? ", " : "",
                                   k / 4 * 4 + order[k % 4] % 4 + order[k % 4] / 4 * 16);
    return jit_value(e, "shufflevector <16 x i32> %%v%u, <16 x i32> %%v%u, <16 x i32> <%s>", a, b, places);
}

/* Concatenates two vectors of `count` words. */
static unsigned emit_concatenation(jit_emitter *e, unsigned a, unsigned b, unsigned count)
{
    char places[32 * 10];
    return jit_value(e, "shufflevector <%u x i32> %%v%u, <%u x i32> %%v%u, <%u x i32> <%s>", count, a, count, b,
                     2 * count, write_places(places, sizeof places, 2 * count, 0, 1));
}

/* Loads four consecutive words of each lane, from the host addresses `host` + `offset`. words[k] gets word k of all
 * lanes. Loading 16 bytes for each lane and transposing takes a third of the time of four gathers. All lanes must have
 * readable addresses. */
static void load_fours(jit_emitter *e, unsigned host, int64_t offset, unsigned words[4])
{
    static const uint8_t low[] = {0, 4, 1, 5}, high[] = {2, 6, 3, 7}, first[] = {0, 1, 4, 5}, second[] = {2, 3, 6, 7};
    unsigned half[2][4];
    if (offset)
        host = jit_value(e, "add " I64V " %%v%u, %%v%u", host, jit_splat64(e, (uint64_t)offset));
    for (unsigned h = 0; h < 2; h++) {
        unsigned row[4], by[4];
        for (unsigned k = 0; k < 4; k++) { /* row k has the lanes k, k + 4, k + 8, k + 12 of the half */
            for (unsigned n = 0; n < 4; n++) {
                by[n] = jit_value(e, "extractelement " I64V " %%v%u, i32 %u", host, 16 * h + 4 * n + k);
                by[n] = emit_pointer(e, by[n], 0, "<4 x i32>");
                by[n] = jit_value(e, "load <4 x i32>, %s %%v%u, align 4", jit_pointer(e, "<4 x i32>"), by[n]);
            }
            row[k] = emit_concatenation(e, emit_concatenation(e, by[0], by[1], 4),
                                        emit_concatenation(e, by[2], by[3], 4), 8);
        }
        const unsigned a = emit_interleave(e, row[0], row[1], low), b = emit_interleave(e, row[2], row[3], low);
        const unsigned c = emit_interleave(e, row[0], row[1], high), d = emit_interleave(e, row[2], row[3], high);
        half[h][0] = emit_interleave(e, a, b, first);
        half[h][1] = emit_interleave(e, a, b, second);
        half[h][2] = emit_interleave(e, c, d, first);
        half[h][3] = emit_interleave(e, c, d, second);
    }
    for (unsigned k = 0; k < 4; k++)
        words[k] = emit_concatenation(e, half[0][k], half[1][k], 16);
}

/* Gathers or scatters in the lanes of `mask`. `mask` is a vector of i1. `host` is a vector of the lanes' host addresses
 * at offset 0. If `put` is not 0, a load changes only the registers of the lanes in `put`. If a lane has two words, they
 * move as one element. */
static void emit_lanes(jit_emitter *e, const access *a, unsigned host, unsigned mask, unsigned put)
{
    const bool load = a->shape->form == JIT_LOAD, pair = a->i->count == 2 && a->element == 4;
    const char *type = pair ? "i64" : a->type;
    for (unsigned k = 0; k < a->i->count; k += pair ? 2 : 1) {
        const unsigned to = emit_pointers(e, host, a->offset + k * a->element, type);
        if (load && pair) {
            const unsigned both = emit_gather(e, type, to, a->element, mask);
            const unsigned low = jit_value(e, "trunc " I64V " %%v%u to " I32V, both);
            unsigned high = jit_value(e, "lshr " I64V " %%v%u, %%v%u", both, jit_splat64(e, 32));
            high = jit_value(e, "trunc " I64V " %%v%u to " I32V, high);
            jit_put(e, get_slot(a, k), JIT_32, low, put);
            jit_put(e, get_slot(a, k + 1), JIT_32, high, put);
        } else if (load) {
            jit_put(e, get_slot(a, k), get_width(a), widen_value(e, a, emit_gather(e, type, to, a->element, mask)),
                    put);
        } else if (pair) {
            const unsigned low = jit_value(e, "zext " I32V " %%v%u to " I64V, jit_get(e, get_slot(a, k), JIT_32));
            unsigned high = jit_value(e, "zext " I32V " %%v%u to " I64V, jit_get(e, get_slot(a, k + 1), JIT_32));
            high = jit_value(e, "shl " I64V " %%v%u, %%v%u", high, jit_splat64(e, 32));
            emit_scatter(e, type, jit_value(e, "or " I64V " %%v%u, %%v%u", low, high), to, a->element, mask);
        } else {
            emit_scatter(e, type, narrow_value(e, a, jit_get(e, get_slot(a, k), get_width(a))), to, a->element, mask);
        }
    }
}

static void move_at(jit_emitter *e, const access *a, unsigned pattern, unsigned address)
{
    access whole = *a;
    whole.pattern = pattern;
    if (a->shape->form == JIT_LOAD)
        load_at(e, &whole, address);
    else
        store_at(e, &whole, address);
}

/* Writes a load or store at any addresses. In some iterations or launches the addresses may form a row. The code tests
 * whether they do, and moves a row as a whole, which takes a fifth of the time. A load also tests whether all lanes
 * have the same address. */
static void emit_anywhere(jit_emitter *e, const access *a, unsigned host)
{
    const unsigned count = a->i->count, all = jit_value(e, "icmp eq " I32V " zeroinitializer, zeroinitializer");
    if (count != 1 && count != 2 && count != 4) {
        emit_lanes(e, a, host, all, 0);
        return;
    }
    const unsigned row = ++e->labels, other = ++e->labels, on = ++e->labels, one = ++e->labels, any = ++e->labels;
    const unsigned lane = jit_value(e, "extractelement " I64V " %%v%u, i32 0", host);
    const unsigned address = jit_value(e, "add i64 %%v%u, %lld", lane, (long long)a->offset);
    const unsigned is_row = emit_row_test(e, host, I64V, "i64", a->span, VM_LANES, 0);
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", is_row, row, other);
    jit_label(e, row);
    move_at(e, a, JIT_ROW, address);
    jit_line(e, "br label %%l%u", on);
    jit_label(e, other);
    if (a->shape->form == JIT_LOAD) {
        const unsigned is_one = emit_row_test(e, host, I64V, "i64", 0, VM_LANES, 0);
        jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", is_one, one, any);
        jit_label(e, one);
        move_at(e, a, JIT_ONE, address);
        jit_line(e, "br label %%l%u", on);
        jit_label(e, any);
    }
    emit_lanes(e, a, host, all, 0);
    jit_line(e, "br label %%l%u", on);
    jit_label(e, on);
}

/* Moves one element of a row for each lane of `mask`, a vector of i1. `address` is the host address of the first lane's
 * element, which need not be readable if the first lane is not in `mask`. `put` has the same meaning as in
 * emit_lanes(). */
static void move_some(jit_emitter *e, const access *a, unsigned address, unsigned mask, unsigned put)
{
    char type[24], pointer[24];
    snprintf(type, sizeof type, "<32 x %s>", a->type);
    snprintf(pointer, sizeof pointer, "v32%s%s%s", a->type, e->u->typed ? ".p0v32" : ".p0", e->u->typed ? a->type : "");
    const unsigned to = emit_pointer(e, address, 0, type);
    if (a->shape->form == JIT_LOAD) {
        const unsigned value =
            jit_value(e, "call %s @llvm.masked.load.%s(%s %%v%u, i32 %u, " B1V " %%v%u, %s zeroinitializer)", type,
                      pointer, jit_pointer(e, type), to, a->element, mask, type);
        jit_put(e, get_slot(a, 0), get_width(a), widen_value(e, a, value), put);
        return;
    }
    const unsigned value = narrow_value(e, a, jit_get(e, get_slot(a, 0), get_width(a)));
    jit_line(e, "call void @llvm.masked.store.%s(%s %%v%u, %s %%v%u, i32 %u, " B1V " %%v%u)", pointer, type, value,
             jit_pointer(e, type), to, a->element, mask);
}

/* Loads one element, the same for all lanes. */
static void load_one(jit_emitter *e, const access *a, unsigned address, unsigned put)
{
    unsigned value = emit_pointer(e, address, 0, a->type);
    value = jit_value(e, "load %s, %s %%v%u, align %u", a->type, jit_pointer(e, a->type), value, a->element);
    value = jit_value(e, "insertelement <32 x %s> poison, %s %%v%u, i32 0", a->type, a->type, value);
    value = jit_value(e, "shufflevector <32 x %s> %%v%u, <32 x %s> poison, " I32V " zeroinitializer", a->type, value,
                      a->type);
    jit_put(e, get_slot(a, 0), get_width(a), widen_value(e, a, value), put);
}

/* Writes a load or store of the lanes `bits` at any addresses, as emit_anywhere() does for all lanes. The first lane
 * need not be one of these lanes. The code uses its address only if the addresses of these lanes match it. */
static void emit_some(jit_emitter *e, const access *a, unsigned host, unsigned bits, unsigned put)
{
    const unsigned mask = jit_value(e, "bitcast i32 %%v%u to " B1V, bits);
    if (a->i->count != 1) {
        emit_lanes(e, a, host, mask, put);
        return;
    }
    const unsigned row = ++e->labels, other = ++e->labels, on = ++e->labels, one = ++e->labels, any = ++e->labels;
    const unsigned lane = jit_value(e, "extractelement " I64V " %%v%u, i32 0", host);
    const unsigned address = jit_value(e, "add i64 %%v%u, %lld", lane, (long long)a->offset);
    const unsigned is_row = emit_row_test(e, host, I64V, "i64", a->span, VM_LANES, bits);
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", is_row, row, other);
    jit_label(e, row);
    move_some(e, a, address, mask, put);
    jit_line(e, "br label %%l%u", on);
    jit_label(e, other);
    if (a->shape->form == JIT_LOAD) { /* here at least one lane loads, because without lanes the row test succeeds */
        const unsigned is_one = emit_row_test(e, host, I64V, "i64", 0, VM_LANES, bits);
        jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", is_one, one, any);
        jit_label(e, one);
        load_one(e, a, address, put);
        jit_line(e, "br label %%l%u", on);
        jit_label(e, any);
    }
    emit_lanes(e, a, host, mask, put);
    jit_line(e, "br label %%l%u", on);
    jit_label(e, on);
}

/* Finds four consecutive words that hold the access and at least two more of the loads that follow it in the basic
 * block before any store. Such loads come from an unrolled loop in which each lane reads its own part of an array. Sets
 * g->from and g->until. Returns false if no such words exist. */
static bool find_fours(const jit_emitter *e, const access *a, jit_group *g)
{
    unsigned seen = 0; /* bit 3 + k is set if a load reads the word k words behind the access */
    if (a->shape->form != JIT_LOAD || a->span != 4 || a->element != 4 || a->i->guard & ~2u)
        return false;
    for (uint32_t at = e->at; at <= e->last && (at == e->at || jit_in_block(e, at)); at++) {
        const jit_insn *insn = &e->u->insns[at];
        bool over = insn->kind != JIT_PLAIN || (jit_is_access(insn) && jit_shapes[insn->id].form == JIT_STORE);
        if (!over && jit_is_access(insn)) {
            const access b = get_access(e, at);
            const int64_t away = (b.offset - a->offset) / 4;
            if (b.slot == a->slot && get_kind(&b) == get_kind(a) && b.span == 4 && b.element == 4 &&
                b.pattern == a->pattern && !(b.i->guard & ~2u) && (b.offset - a->offset) % 4 == 0 && away >= -3 &&
                away <= 3)
                seen |= 1u << (3 + away);
        }
        for (unsigned k = 0; k < insn->use_count && !over; k++)
            over = insn->uses[k].write && insn->uses[k].slot == a->slot;
        g->until = at;
        if (over)
            break;
    }
    for (unsigned k = 0; k < 4; k++) {
        g->from = a->offset + 4 * ((int64_t)k - 3);
        if (__builtin_popcount(seen >> k & 15) >= 3 && g->from >= g->low && g->from + 16 <= g->high)
            return true;
    }
    return false;
}

/* Loads the words of a group together, if this saves time. `bits` has the same meaning as in open_anywhere(). In all
 * other lanes, g->first is replaced by a readable address, which open_anywhere() has tested. */
static void open_fours(jit_emitter *e, const access *a, const window *w, unsigned bits, jit_group *g)
{
    if (!find_fours(e, a, g))
        return;
    unsigned host = g->first;
    if (bits) {
        unsigned safe = jit_value(e, "add i64 %%v%u, %%v%u", w->base, w->host);
        safe = jit_splat_of(e, jit_value(e, "sub i64 %%v%u, %lld", safe, (long long)g->low));
        host = jit_value(e, "select " B1V " %%v%u, " I64V " %%v%u, " I64V " %%v%u",
                         jit_value(e, "bitcast i32 %%v%u to " B1V, bits), host, safe);
    }
    load_fours(e, host, g->from, g->words);
}

/* Opens a group for lanes at any addresses. g->first is a vector of the lanes' host addresses at offset 0. `bits` is
 * the number of an i32 value, the lanes to test. If it is 0, the code tests all lanes. The function ignores the
 * addresses of other lanes. */
static void open_anywhere(jit_emitter *e, const access *a, unsigned row, unsigned bits, jit_group *g)
{
    const window w = get_window(e, a);
    *g = (jit_group){.slot = a->slot, .span = a->span, .kind = get_kind(a), .pattern = (uint8_t)a->pattern};
    find_extent(e, a, &g->low, &g->high);
    if (a->shape->shared)
        row = jit_value(e, "zext " I32V " %%v%u to " I64V, row);
    const unsigned long long size = (unsigned long long)(g->high - g->low);
    unsigned base = w.base;
    if (a->span > 1) { /* the first address of the window that is aligned */
        base = jit_value(e, "add i64 %%v%u, %u", base, a->span - 1);
        base = jit_value(e, "and i64 %%v%u, -%u", base, a->span);
    }
    const unsigned room = jit_value(e, "sub i64 %%v%u, %%v%u", w.end, base);
    unsigned fits = jit_value(e, "icmp uge i64 %%v%u, %llu", room, size);
    fits = emit_and(e, fits, jit_value(e, "icmp ult i64 %%v%u, %%v%u", base, w.end));
    /* an empty span has an `end` before its beginning */
    fits = emit_and(e, fits, jit_value(e, "icmp ult i64 %%v%u, %%v%u", w.base, w.end));
    unsigned most = jit_value(e, "sub i64 %%v%u, %llu", room, size);
    const unsigned from = jit_splat_of(e, jit_value(e, "sub i64 %%v%u, %lld", base, (long long)g->low));
    unsigned far = jit_value(e, "sub " I64V " %%v%u, %%v%u", row, from);
    if (a->span > 1) { /* after this rotation, an offset that is not aligned is a large number */
        const unsigned by = (unsigned)__builtin_ctz(a->span), places = jit_splat64(e, by);
        far = jit_value(e, "call " I64V " @llvm.fshr.v32i64(" I64V " %%v%u, " I64V " %%v%u, " I64V " %%v%u)", far, far,
                        places);
        most = jit_value(e, "lshr i64 %%v%u, %u", most, by);
    }
    unsigned bad = jit_value(e, "icmp ugt " I64V " %%v%u, %%v%u", far, jit_splat_of(e, most));
    bad = jit_value(e, "bitcast " B1V " %%v%u to i32", bad);
    if (bits)
        bad = jit_value(e, "and i32 %%v%u, %%v%u", bad, bits);
    jit_test(e, emit_and(e, fits, jit_value(e, "icmp eq i32 %%v%u, 0", bad)));
    g->first = jit_value(e, "add " I64V " %%v%u, %%v%u", row, jit_splat_of(e, w.host));
    if (g->kind == 0 && !(a->i->guard & ~2u))
        emit_prefetch_parts(e, a, &w, row);
    open_fours(e, a, &w, bits, g);
}

/* Takes the element of a load from the words that were loaded with the group. Returns false if these words do not have
 * the element, or if the access is a store. In shared memory, loads and stores share the same groups. `put` has the same
 * meaning as in emit_lanes(). */
static bool take_word(jit_emitter *e, const access *a, const jit_group *g, unsigned put)
{
    const int64_t away = a->offset - g->from;
    if (!g->words[0] || a->shape->form != JIT_LOAD || e->at > g->until || a->element != 4 || away < 0 || away > 12)
        return false;
    jit_put(e, get_slot(a, 0), JIT_32, g->words[away / 4], put);
    return true;
}

/* Writes a load or store. If no group has the addresses of the access, opens a group. Then loads or stores by the
 * pattern of the group. */
void jit_emit_memory(jit_emitter *e, const vm_code *i, const jit_insn *insn)
{
    const access a = get_access(e, e->at);
    jit_emit_watch(e, i, insn);
    const unsigned row = jit_get(e, i->a, a.shape->shared ? JIT_32 : JIT_64);
    jit_group made, *g = find_group(e, &a);
    if (!g) {
        if (a.pattern == JIT_ANY)
            open_anywhere(e, &a, row, 0, &made);
        else
            open_group(e, &a, row, &made);
        if (e->group_count == JIT_GROUPS)
            e->groups[0] = e->groups[--e->group_count];
        g = &e->groups[e->group_count++];
        *g = made;
    }
    if (a.pattern == JIT_ANY) {
        made = *g; /* a copy of the group, because jit_put() may drop the group */
        if (!take_word(e, &a, &made, 0))
            emit_anywhere(e, &a, made.first);
        return;
    }
    unsigned address = jit_value(e, "add i64 %%v%u, %%v%u", g->host, g->first);
    address = jit_value(e, "add i64 %%v%u, %lld", address, (long long)a.offset);
    if (a.pattern == JIT_ONES || a.pattern == JIT_ROWS) {
        unsigned upper = jit_value(e, "add i64 %%v%u, %%v%u", g->host, g->second);
        upper = jit_value(e, "add i64 %%v%u, %lld", upper, (long long)a.offset);
        (a.shape->form == JIT_LOAD ? load_halves : store_halves)(e, &a, address, upper);
        return;
    }
    if (a.shape->form == JIT_LOAD)
        load_at(e, &a, address);
    else
        store_at(e, &a, address);
}

/* Opens a group for some lanes, or returns the group that has the addresses of the access already. Accesses with a
 * guard share no group, because their lanes may differ. */
static jit_group get_group_of_some(jit_emitter *e, const access *a, unsigned bits)
{
    const bool guarded = a->i->guard & ~2u;
    const unsigned row = jit_get(e, a->i->a, a->shape->shared ? JIT_32 : JIT_64);
    const jit_group *known = guarded ? NULL : find_group(e, a);
    jit_group made;
    if (known)
        return *known;
    open_anywhere(e, a, row, bits, &made);
    if (!guarded && e->group_count == JIT_GROUPS)
        e->groups[0] = e->groups[--e->group_count];
    if (!guarded)
        e->groups[e->group_count++] = made;
    return made;
}

/* Returns false in two cases. First, no host can gather elements of 1 or 2 bytes. Second, hosts without AVX-512 would
 * gather and scatter lane by lane. */
bool jit_may_be_some(const jit_emitter *e, uint32_t at)
{
    return e->u->wide && jit_is_access(&e->u->insns[at]) && get_access(e, at).element >= 4;
}

void jit_emit_some(jit_emitter *e, unsigned bits, unsigned put)
{
    access a = get_access(e, e->at);
    const bool quiet = e->quiet;
    a.pattern = JIT_ANY;
    e->quiet = true;
    const jit_group g = get_group_of_some(e, &a, bits);
    if (!take_word(e, &a, &g, put))
        emit_some(e, &a, g.first, bits, put);
    e->quiet = quiet;
}

/* Returns false if the region must call the handler. */
bool jit_emit_partial_memory(jit_emitter *e, const vm_code *i, unsigned bits)
{
    if (!jit_may_be_some(e, e->at))
        return false;
    const access a = get_access(e, e->at);
    const jit_group g = get_group_of_some(e, &a, bits);
    const unsigned mask = jit_value(e, "bitcast i32 %%v%u to " B1V, bits);
    if (!take_word(e, &a, &g, 0))
        emit_lanes(e, &a, g.first, mask, i->guard & ~2u ? mask : 0);
    return true;
}

/* ---- atomic operations on shared memory ---- */

/* Returns a pointer to an element of a row on the stack. The index of the element is the LLVM value `k` plus the
 * constant `more`. */
static unsigned stack_at(jit_emitter *e, const char *row, unsigned k, unsigned more, const char *type)
{
    unsigned at = jit_value(e, "ptrtoint %s %s to i64", jit_pointer(e, I32V), row);
    at = jit_value(e, "add i64 %%v%u, %u", at, more * 4);
    at = jit_value(e, "add i64 %%v%u, %%v%u", at, jit_value(e, "mul i64 %%v%u, 4", k));
    return jit_value(e, "inttoptr i64 %%v%u to %s", at, jit_pointer(e, type));
}

/* Writes the update of the word at base + offset for the lane k + `lane`. `base` and `offset` are i64 values. `operand`
 * is the constant operand of all lanes, or NULL if the operands of the lanes are on the stack (%ub). If `wanted` is
 * true, the old value goes to the stack (%ud). */
static void update_lane(jit_emitter *e, const char *op, unsigned base, unsigned offset, const uint32_t *operand,
                        unsigned k, unsigned lane, bool wanted)
{
    const char *word = e->u->typed ? "i32*" : "ptr";
    unsigned to = jit_value(e, "add i64 %%v%u, %%v%u", base, offset), z;
    to = jit_value(e, "inttoptr i64 %%v%u to %s", to, word);
    const unsigned x = jit_value(e, "load i32, %s %%v%u, align 4", word, to);
    if (operand) {
        z = jit_value(e, "%s i32 %%v%u, %u", op, x, *operand);
    } else {
        const unsigned y = jit_value(e, "load i32, %s %%v%u", word, stack_at(e, "%ub", k, lane, "i32"));
        z = jit_value(e, "%s i32 %%v%u, %%v%u", op, x, y);
    }
    jit_line(e, "store i32 %%v%u, %s %%v%u, align 4", z, word, to);
    if (wanted)
        jit_line(e, "store i32 %%v%u, %s %%v%u", x, word, stack_at(e, "%ud", k, lane, "i32"));
}

/* Writes a loop that updates the words of one lane after the other, as update_shared() of device/ops/atomic.c does,
 * because several lanes may share a word. The offsets are on the stack (%ua), and the loop reads them in pairs. */
static void update_lanes(jit_emitter *e, const char *op, unsigned base, const uint32_t *operand, bool wanted)
{
    enum { AT_ONCE = 8 };
    const char *counter = e->u->typed ? "i64*" : "ptr";
    const unsigned loop = ++e->labels, out = ++e->labels;
    jit_line(e, "store i64 0, %s %%uk", counter);
    jit_line(e, "br label %%l%u", loop);
    jit_label(e, loop);
    const unsigned k = jit_value(e, "load i64, %s %%uk", counter);
    for (unsigned n = 0; n < AT_ONCE; n += 2) {
        const unsigned two = jit_value(e, "load i64, %s %%v%u, align 8", counter, stack_at(e, "%ua", k, n, "i64"));
        update_lane(e, op, base, jit_value(e, "and i64 %%v%u, 4294967295", two), operand, k, n, wanted);
        update_lane(e, op, base, jit_value(e, "lshr i64 %%v%u, 32", two), operand, k, n + 1, wanted);
    }
    const unsigned next = jit_value(e, "add i64 %%v%u, %u", k, AT_ONCE);
    jit_line(e, "store i64 %%v%u, %s %%uk", next, counter);
    const unsigned more = jit_value(e, "icmp ult i64 %%v%u, %u", next, VM_LANES);
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", more, loop, out);
    jit_label(e, out);
}

/* Writes a test that the addresses of all lanes are aligned words of the block's shared memory. Sets *good to the
 * number of an i1 value, the result of the test. Returns the offsets of the words from the beginning of the block's
 * shared memory, as an I32V. */
static unsigned update_offsets(jit_emitter *e, const vm_code *i, unsigned *good)
{
    const bool narrow = i->flags & VM_ADDR32;
    const char *vector = narrow ? I32V : I64V;
    unsigned row = jit_get(e, i->a, narrow ? JIT_32 : JIT_64), room, low = e->shared_low;
    room = jit_value(e, "sub i64 %%v%u, %%v%u", e->shared_end, low);
    room = jit_value(e, "lshr i64 %%v%u, 2", room); /* the size of the memory in words; both ends are multiples of 4 */
    if (narrow) {
        row = jit_value(e, "add " I32V " %%v%u, %%v%u", row, jit_splat32(e, (uint32_t)i->imm));
        low = jit_splat32_of(e, jit_value(e, "trunc i64 %%v%u to i32", low));
        room = jit_splat32_of(e, jit_value(e, "trunc i64 %%v%u to i32", room));
    } else {
        row = jit_value(e, "add " I64V " %%v%u, %%v%u", row, jit_splat64(e, i->imm));
        low = jit_splat_of(e, low);
        room = jit_splat_of(e, room);
    }
    const unsigned far = jit_value(e, "sub %s %%v%u, %%v%u", vector, row, low);
    const unsigned two = narrow ? jit_splat32(e, 2)
                                /* after this rotation, an offset that is not a multiple of 4 is large: */
                                : jit_splat64(e, 2);
    unsigned bad = jit_value(e, "call %s @llvm.fshr.%s(%s %%v%u, %s %%v%u, %s %%v%u)", vector,
                             narrow ? "v32i32" : "v32i64", vector, far, vector, far, vector, two);
    bad = jit_value(e, "icmp uge %s %%v%u, %%v%u", vector, bad, room);
    *good = jit_value(e, "icmp eq i32 %%v%u, 0", jit_value(e, "bitcast " B1V " %%v%u to i32", bad));
    return narrow ? far : jit_value(e, "trunc " I64V " %%v%u to " I32V, far);
}

void jit_emit_update(jit_emitter *e, const vm_code *i)
{
    const bool constant = i->b & 1, wanted = i->d && jit_live_at(e->u->live, e->at + 1, i->d, JIT_32);
    const unsigned b = jit_get(e, i->b, JIT_32);
    uint32_t operand = 0;
    unsigned good;
    const unsigned offsets = update_offsets(e, i, &good);
    if (constant)
        memcpy(&operand, e->u->function->constants + (i->b & ~1u), sizeof operand);
    if (i->d) { /* if an atomic adds 0 in all lanes, it may be a wait, so the interpreter executes it and counts it */
        const unsigned some = jit_value(e, "icmp ne " I32V " %%v%u, zeroinitializer", b);
        const unsigned bits = jit_value(e, "bitcast " B1V " %%v%u to i32", some);
        good = emit_and(e, good, jit_value(e, "icmp ne i32 %%v%u, 0", bits));
    }
    jit_test(e, good);
    const unsigned base = jit_value(e, "add i64 %%v%u, %%v%u", e->shared, e->shared_low);
    jit_line(e, "store " I32V " %%v%u, %s %%ua", offsets, jit_pointer(e, I32V));
    if (!constant)
        jit_line(e, "store " I32V " %%v%u, %s %%ub", b, jit_pointer(e, I32V));
    update_lanes(e, jit_update(i), base, constant ? &operand : NULL, wanted);
    if (!i->d)
        return;
    void (*const changed)(vm_warp *, const vm_code *) = vm_poll_changed;
    uint64_t address = 0;
    memcpy(&address, &changed, sizeof changed);
    jit_line(e, "call void inttoptr (i64 %llu to %s)(i64 %%w, i64 %llu)", (unsigned long long)address,
             e->u->typed ? "void (i64, i64)*" : "ptr", (unsigned long long)(uintptr_t)i);
    if (wanted)
        jit_put(e, i->d, JIT_32, jit_value(e, "load " I32V ", %s %%ud", jit_pointer(e, I32V)), 0);
}
