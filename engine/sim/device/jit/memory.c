/* memory.c - loads and stores in a region. The layout of the lanes' addresses was observed before the region was made
 * (jit_pattern). A running region tests that the addresses have this layout. It also tests that they lie in the
 * allocation that the instruction accessed last, or in the block's shared memory. If a test fails, the region ends
 * before the access. Accesses through the same register share one test. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "vm_poll.h"

static const unsigned bytes_of[] = {[JIT_u8] = 1,  [JIT_s8] = 1,  [JIT_u16] = 2, [JIT_s16] = 2, [JIT_u32] = 4,
                                    [JIT_s32] = 4, [JIT_u64] = 8, [JIT_s64] = 8, [JIT_f32] = 4, [JIT_f64] = 8};

/* One access of an instruction. */
typedef struct access {
    const vm_code *i;
    const jit_shape *shape;
    uint32_t slot;          /* the register of the address, from jit_address() */
    unsigned element, span; /* bytes of an element; bytes that a lane accesses */
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
    a.pattern = e->partial ? JIT_ANY : e->u->seen[at];
    a.offset = a.shape->shared ? (int32_t)(uint32_t)i->imm : (int64_t)i->imm;
    a.type = a.element == 1 ? "i8" : a.element == 2 ? "i16" : a.element == 4 ? "i32" : "i64";
    return a;
}

/* Returns the kind of an access. Accesses of different kinds share no test: memory that a load may read is not always
 * writable. */
static uint8_t get_kind(const access *a) { return a->shape->shared ? 2 : a->shape->form == JIT_STORE; }

/* Finds the range of offsets, [*low, *high), of this access and of similar accesses after it in the basic block. */
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
 * after each `width` lanes. Returns an i1 value. */
static unsigned emit_row_test(jit_emitter *e, unsigned row, const char *vector, const char *scalar, unsigned stride,
                              unsigned width)
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
    return jit_value(e, "icmp eq i32 %%v%u, 0", jit_value(e, "bitcast " B1V " %%v%u to i32", odd));
}

/* The memory that may be accessed, [base, end), and the difference between a host address and its device address. All
 * these values are i64. */
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

/* Writes a test that [first + from, first + to) lies in the window and is aligned. Returns an i1 value. */
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

/* Prefetches the row that a load in a loop will read AHEAD iterations later, if its address changes by equal steps. A
 * warp runs many iterations of a loop in one turn. In a grid-stride loop its rows lie far apart, so the host's own
 * prefetcher does not predict them. If the later row is outside of the window, the region prefetches the current row
 * again, so that the processor never gets an address that the kernel must not read. */
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

/* Opens a group for a fixed pattern: writes a test of the addresses for this access and for all similar accesses that
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
                                  width);
    good = emit_and(e, good, emit_bounds_test(e, a, &w, g->first, g->low, end));
    if (halves) {
        g->second = emit_lane(e, a, row, VM_LANES / 2);
        good = emit_and(e, good, emit_bounds_test(e, a, &w, g->second, g->low, end));
    }
    jit_test(e, good);
    if (a->pattern == JIT_ROW && g->kind == 0 && e->streams < JIT_STREAMS && is_in_loop(e, e->at))
        emit_prefetch(e, &w, g->first);
}

/* Opens a group for lanes at any addresses. g->first is a vector of their host addresses at offset 0. `bits` is an i32
 * value: the lanes to test. 0 means all lanes. The function ignores the addresses of other lanes. */
static void open_anywhere(jit_emitter *e, const access *a, unsigned row, unsigned bits, jit_group *g)
{
    const window w = get_window(e, a);
    *g = (jit_group){.slot = a->slot, .span = a->span, .kind = get_kind(a), .pattern = (uint8_t)a->pattern};
    find_extent(e, a, &g->low, &g->high);
    if (a->shape->shared)
        row = jit_value(e, "zext " I32V " %%v%u to " I64V, row);
    const unsigned low = jit_value(e, "add " I64V " %%v%u, %%v%u", row, jit_splat64(e, (uint64_t)g->low));
    const unsigned room = jit_value(e, "sub i64 %%v%u, %%v%u", w.end, w.base);
    unsigned fits = jit_value(e, "icmp uge i64 %%v%u, %llu", room, (unsigned long long)(g->high - g->low));
    fits = emit_and(e, fits,
                    /* an empty span ends before its beginning */
                    jit_value(e, "icmp ult i64 %%v%u, %%v%u", w.base, w.end));
    const unsigned most = jit_value(e, "sub i64 %%v%u, %llu", room, (unsigned long long)(g->high - g->low));
    const unsigned from = jit_splat_of(e, w.base), limit = jit_splat_of(e, most);
    const unsigned far = jit_value(e, "sub " I64V " %%v%u, %%v%u", low, from);
    unsigned bad = jit_value(e, "icmp ugt " I64V " %%v%u, %%v%u", far, limit);
    if (a->span > 1) {
        const unsigned odd = jit_value(e, "and " I64V " %%v%u, %%v%u", low, jit_splat64(e, a->span - 1));
        bad = jit_value(e, "or " B1V " %%v%u, %%v%u", bad,
                        jit_value(e, "icmp ne " I64V " %%v%u, zeroinitializer", odd));
    }
    bad = jit_value(e, "bitcast " B1V " %%v%u to i32", bad);
    if (bits)
        bad = jit_value(e, "and i32 %%v%u, %%v%u", bad, bits);
    jit_test(e, emit_and(e, fits, jit_value(e, "icmp eq i32 %%v%u, 0", bad)));
    g->first = jit_value(e, "add " I64V " %%v%u, %%v%u", row, jit_splat_of(e, w.host));
}

/* ---- elements ---- */

/* Converts an element to the type of its register. narrow_value() converts back. */
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
    if (a->pattern == JIT_ONE) { /* all lanes store to one address, so memory keeps the value of the last lane */
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

/* Loads one element for each lane of a warp whose halves have the pattern ROW or ONE. */
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

/* Stores the lower half first: if both halves store to the same place, memory keeps the values of the later lanes. */
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

static void emit_scattered(jit_emitter *e, const access *a, unsigned first)
{
    const char *typed = e->u->typed ? a->type : "";
    char pointer[24], all[32 * 9] = "";
    unsigned value[JIT_ELEMENTS] = {0};
    snprintf(pointer, sizeof pointer, "<32 x %s>", jit_pointer(e, a->type));
    for (unsigned l = 0; l < VM_LANES; l++)
        snprintf(all + l * 9, sizeof all - l * 9, "i1 true%s", l < 31 ? ", " : "");
    const bool load = a->shape->form == JIT_LOAD;
    for (unsigned k = 0; k < a->i->count && !load; k++)
        value[k] = narrow_value(e, a, jit_get(e, get_slot(a, k), get_width(a)));
    for (unsigned k = 0; k < a->i->count; k++) {
        const uint64_t offset = (uint64_t)a->offset + k * a->element;
        unsigned to = jit_value(e, "add " I64V " %%v%u, %%v%u", first, jit_splat64(e, offset));
        to = jit_value(e, "inttoptr " I64V " %%v%u to %s", to, pointer);
        if (load) {
            const unsigned got = jit_value(e,
                                           "call <32 x %s> @llvm.masked.gather.v32%s.v32p0%s(%s %%v%u, i32 %u, " B1V
                                           " <%s>, <32 x %s> zeroinitializer)",
                                           a->type, a->type, typed, pointer, to, a->element, all, a->type);
            jit_put(e, get_slot(a, k), get_width(a), widen_value(e, a, got), 0);
        } else {
            jit_line(e, "call void @llvm.masked.scatter.v32%s.v32p0%s(<32 x %s> %%v%u, %s %%v%u, i32 %u, " B1V " <%s>)",
                     a->type, typed, a->type, value[k], pointer, to, a->element, all);
        }
    }
}

/* Loads or stores at any addresses. In some iterations or launches the addresses may form a row. The code tests this,
 * and moves a row as a whole, which takes a fifth of the time. */
static void emit_anywhere(jit_emitter *e, const access *a, unsigned host)
{
    const unsigned count = a->i->count;
    if (count != 1 && count != 2 && count != 4) {
        emit_scattered(e, a, host);
        return;
    }
    const unsigned row = ++e->labels, other = ++e->labels, on = ++e->labels;
    const unsigned is_row = emit_row_test(e, host, I64V, "i64", a->span, VM_LANES);
    access whole = *a;
    whole.pattern = JIT_ROW;
    jit_line(e, "br i1 %%v%u, label %%l%u, label %%l%u", is_row, row, other);
    jit_label(e, row);
    unsigned address = jit_value(e, "extractelement " I64V " %%v%u, i32 0", host);
    address = jit_value(e, "add i64 %%v%u, %lld", address, (long long)a->offset);
    if (a->shape->form == JIT_LOAD)
        load_at(e, &whole, address);
    else
        store_at(e, &whole, address);
    jit_line(e, "br label %%l%u", on);
    jit_label(e, other);
    emit_scattered(e, a, host);
    jit_line(e, "br label %%l%u", on);
    jit_label(e, on);
}

/* Gathers or scatters in the lanes of `mask`, a vector of i1. `host` is a vector: the host addresses of the lanes at
 * offset 0. If `guarded` is true, a load changes only the registers of the lanes in `mask`. */
static void emit_lanes(jit_emitter *e, const access *a, unsigned host, unsigned mask, bool guarded)
{
    const char *typed = e->u->typed ? a->type : "";
    char pointer[24];
    unsigned value[JIT_ELEMENTS] = {0};
    snprintf(pointer, sizeof pointer, "<32 x %s>", jit_pointer(e, a->type));
    const bool load = a->shape->form == JIT_LOAD;
    for (unsigned k = 0; k < a->i->count && !load; k++)
        value[k] = narrow_value(e, a, jit_get(e, get_slot(a, k), get_width(a)));
    for (unsigned k = 0; k < a->i->count; k++) {
        const uint64_t offset = (uint64_t)a->offset + k * a->element;
        unsigned to = jit_value(e, "add " I64V " %%v%u, %%v%u", host, jit_splat64(e, offset));
        to = jit_value(e, "inttoptr " I64V " %%v%u to %s", to, pointer);
        if (load) {
            const unsigned got = jit_value(e,
                                           "call <32 x %s> @llvm.masked.gather.v32%s.v32p0%s(%s %%v%u, i32 %u, " B1V
                                           " %%v%u, <32 x %s> zeroinitializer)",
                                           a->type, a->type, typed, pointer, to, a->element, mask, a->type);
            jit_put(e, get_slot(a, k), get_width(a), widen_value(e, a, got), guarded ? mask : 0);
        } else {
            jit_line(e,
                     "call void @llvm.masked.scatter.v32%s.v32p0%s(<32 x %s> %%v%u, %s %%v%u, i32 %u, " B1V " %%v%u)",
                     a->type, typed, a->type, value[k], pointer, to, a->element, mask);
        }
    }
}

/* Writes a load or store: opens a group for its addresses if there is none, then loads or stores by its pattern. */
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
        emit_anywhere(e, &a, g->first);
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

/* Returns false, so that the region calls the handler, in two cases: for elements of 1 or 2 bytes, which no host can
 * gather, and on hosts without AVX-512, which gather and scatter lane by lane. */
bool jit_emit_partial_memory(jit_emitter *e, const vm_code *i, unsigned bits)
{
    const access a = get_access(e, e->at);
    const bool guarded = i->guard & ~2u;
    if (!e->u->wide || a.element < 4)
        return false;
    const unsigned row = jit_get(e, i->a, a.shape->shared ? JIT_32 : JIT_64);
    jit_group made, *g = guarded ? NULL : find_group(e, &a);
    if (!g) {
        open_anywhere(e, &a, row, bits, &made);
        if (!guarded && e->group_count == JIT_GROUPS)
            e->groups[0] = e->groups[--e->group_count];
        if (!guarded)
            e->groups[e->group_count++] = made;
        g = &made;
    }
    emit_lanes(e, &a, g->first, jit_value(e, "bitcast i32 %%v%u to " B1V, bits), guarded);
    return true;
}

/* ---- atomic operations on shared memory ---- */

/* Returns a pointer to an element of a row on the stack. The index is the LLVM value `k` plus the constant `more`. */
static unsigned stack_at(jit_emitter *e, const char *row, unsigned k, unsigned more, const char *type)
{
    unsigned at = jit_value(e, "ptrtoint %s %s to i64", jit_pointer(e, I32V), row);
    at = jit_value(e, "add i64 %%v%u, %u", at, more * 4);
    at = jit_value(e, "add i64 %%v%u, %%v%u", at, jit_value(e, "mul i64 %%v%u, 4", k));
    return jit_value(e, "inttoptr i64 %%v%u to %s", at, jit_pointer(e, type));
}

/* Writes the update of the word at base + offset (both i64 values) for the lane k + `lane`. `operand` is the constant
 * operand of all lanes, or NULL if the operands are on the stack (%ub). If `wanted` is true, the old value goes to the
 * stack (%ud). */
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

/* Writes a loop that updates one lane after the other, as update_shared() of device/ops/atomic.c does, because lanes
 * may share words. The offsets are on the stack (%ua), and the loop reads them in pairs. */
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

/* Writes a test that all addresses are aligned words of the block's shared memory. Sets *good to its result, an i1
 * value. Returns the offsets of the words from the beginning of that memory, an I32V. */
static unsigned update_offsets(jit_emitter *e, const vm_code *i, unsigned *good)
{
    const bool narrow = i->flags & VM_ADDR32;
    const char *vector = narrow ? I32V : I64V;
    unsigned row = jit_get(e, i->a, narrow ? JIT_32 : JIT_64), room, low = e->shared_low;
    room = jit_value(e, "sub i64 %%v%u, %%v%u", e->shared_end, low);
    room = jit_value(e, "lshr i64 %%v%u, 2", room); /* the size in words; both ends are multiples of 4 */
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
    if (i->d) { /* an atomic that adds 0 in all lanes may be a wait, so the interpreter executes it and counts it */
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
