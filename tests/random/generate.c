/* generate.c - random kernels that are right by construction. They end. No lane's result depends on the order of
 * lanes, warps or blocks. Warp operations name exactly the lanes that execute them. Every NaN of an arithmetic
 * result becomes one fixed NaN, because the ISA leaves the payload open. On every other result the devices must
 * agree. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "templates.h"

enum { DEPTH = 3, MASKS = 12, STRIDE = 16 };

typedef struct generator {
    uint64_t rng;
    char *text;
    size_t length, capacity;
    unsigned labels, depth;
    unsigned mask;  /* the number of the %m register with the mask of the active lanes */
    unsigned masks; /* the number of %m registers in use */
    bool uniform;   /* true if all live threads of the block come here together */
    /* true in a function, which uses only registers, and neither memory of the kernel nor warp operations */
    bool in_function;
    /* the labels that leave the innermost loop and that continue it, or -1 if there is no such label */
    int breaks, skips;
} generator;

uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

static unsigned below(generator *g, unsigned n) { return (unsigned)((random_next(&g->rng) >> 33) % n); }
static bool chance(generator *g, unsigned percent) { return below(g, 100) < percent; }

static void put(generator *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(generator *g, const char *format, ...)
{
    va_list arguments;
    if (g->capacity - g->length < 512) {
        g->capacity = g->capacity ? 2 * g->capacity : 1 << 14;
        g->text = realloc(g->text, g->capacity);
        if (!g->text) {
            fputs("random: out of memory\n", stderr);
            exit(2);
        }
    }
    va_start(arguments, format);
    g->length += (size_t)vsnprintf(g->text + g->length, g->capacity - g->length, format, arguments);
    va_end(arguments);
}

typedef struct word {
    char text[40];
} word;

/* ---- templates ---- */

/* Returns one of the alternatives before `end`, which | separates. */
static word pick(generator *g, const char *list, char end)
{
    unsigned count = 1;
    for (const char *c = list; *c && *c != end; c++)
        count += *c == '|';
    for (unsigned at = below(g, count); at; at--)
        list = strchr(list, '|') + 1;
    word w = {""};
    size_t n = 0;
    while (list[n] && list[n] != '|' && list[n] != end && n + 1 < sizeof w.text)
        n++;
    memcpy(w.text, list, n);
    return w;
}

static word operand(generator *g, char letter)
{
    const struct kind *kind = kinds;
    word w;
    while (kind->letter != letter)
        kind++;
    if (kind->immediates && chance(g, 28))
        return pick(g, kind->immediates, '\0');
    snprintf(w.text, sizeof w.text, "%%%s%u", kind->name, below(g, kind->count));
    return w;
}

/* Writes instructions from a template, left to right. $r is a register (and $s an immediate) with this letter in
 * `kinds`, <a|b> is one of the alternatives, and $1 repeats the first choice. Returns the first choice. */
static word emit(generator *g, const char *template)
{
    word chosen[9];
    unsigned count = 0;
    put(g, "  ");
    for (const char *c = template; *c; c++) {
        if (*c == ';') {
            put(g, ";\n  ");
            continue;
        }
        if (*c != '$' && *c != '<') {
            put(g, "%c", *c);
            continue;
        }
        if (*c == '$' && c[1] >= '1' && c[1] <= '9') {
            put(g, "%s", chosen[*++c - '1'].text);
            continue;
        }
        chosen[count] = *c == '$' ? operand(g, c[1]) : pick(g, c + 1, '>');
        put(g, "%s", chosen[count++].text);
        c = *c == '$' ? c + 1 : strchr(c, '>');
    }
    put(g, strcmp(template + strlen(template) - 2, " }") == 0 ? "\n" : ";\n");
    return chosen[0];
}

static word emit_one(generator *g, const char *const *templates, unsigned count)
{
    return emit(g, templates[below(g, count)]);
}
#define EMIT_ONE(g, templates) emit_one((g), (templates), (unsigned)(sizeof(templates) / sizeof *(templates)))

/* Writes instructions that replace a NaN in d by one fixed NaN. */
static void settle(generator *g, const char *type, const char *nan, word d)
{
    put(g, "  setp.nan.%s %%q, %s, %s;\n  selp.%s %s, %s, %s, %%q;\n", type, d.text, d.text,
        type[1] == '1' ? "b16" : type, d.text, nan, d.text);
}
static void settle32(generator *g, word d) { settle(g, "f32", "0f7FFFFFFF", d); }
static void settle64(generator *g, word d) { settle(g, "f64", "0d7FF8000000000000", d); }
static void settle16(generator *g, word d) { settle(g, "f16", "0x7fff", d); }
static void settle_pair(generator *g, word d)
{
    put(g, "  mov.b32 {%%x0, %%x1}, %s;\n", d.text);
    settle16(g, (word){"%x0"});
    settle16(g, (word){"%x1"});
    put(g, "  mov.b32 %s, {%%x0, %%x1};\n", d.text);
}

/* ---- arithmetic ---- */

/* Adds a random arithmetic instruction. The functions `settle...` replace values on which devices may differ, such as
 * the payload of a NaN. */
static void arithmetic(generator *g)
{
    if (chance(g, 15))
        EMIT_ONE(g, guarded);
    switch (below(g, 14)) {
    case 0:
    case 1:
    case 2:
    case 3: EMIT_ONE(g, integer32); return;
    case 4: EMIT_ONE(g, integer64); return;
    case 5: EMIT_ONE(g, integer16); return;
    case 6:
    case 7: settle32(g, EMIT_ONE(g, single)); return;
    case 8: settle64(g, EMIT_ONE(g, dual)); return;
    case 9: settle16(g, EMIT_ONE(g, half)); return;
    case 10: settle_pair(g, EMIT_ONE(g, half_pair)); return;
    case 11: EMIT_ONE(g, convert); return;
    case 12:
        if (chance(g, 50))
            settle32(g, EMIT_ONE(g, convert_single));
        else if (chance(g, 60))
            settle64(g, EMIT_ONE(g, convert_dual));
        else
            settle16(g, EMIT_ONE(g, convert_half));
        return;
    default: EMIT_ONE(g, compare); return;
    }
}

/* ---- memory ---- */

static const char *const memory[] = {
    /* reads the inputs at an index that depends on data: a word, vectors, a byte */
    "and.b32 %a, $r, 1023;mad.wide.u32 %b, %a, 4, %in;ld.global<||.nc>.<u32|s32|b32> $r, [%b]",
    "and.b32 %a, $r, 1022;mad.wide.u32 %b, %a, 4, %in;ld.global.v2.u32 {<%r0|%r1|%r2|%r3>, %r9}, [%b]",
    "and.b32 %a, $r, 1020;mad.wide.u32 %b, %a, 4, %in;ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%b]",
    "and.b32 %a, $r, 4095;cvt.u64.u32 %b, %a;add.u64 %b, %b, %in;ld.global.<u8|s8> $r, [%b]",
    "and.b32 %a, $r, 1023;mad.wide.u32 %b, %a, 4, %in;ld.global.<u16|s16> $h, [%b]",
    /* the thread's local memory, by its local address and by its generic address */
    "and.b32 %a, $r, 60;cvt.u64.u32 %b, %a;add.u64 %b, %b, %loc;st.local.b32 [%b], $r",
    "and.b32 %a, $r, 56;cvt.u64.u32 %b, %a;add.u64 %b, %b, %loc;ld.local.b64 $d, [%b]",
    "and.b32 %a, $r, 56;cvt.u64.u32 %b, %a;add.u64 %b, %b, %loc;ld.local.<u8|s8> $r, [%b+<0|1|2|3|5|7>]",
    "and.b32 %a, $r, 60;cvt.u64.u32 %b, %a;add.u64 %b, %b, %gloc;st.u32 [%b], $r",
    "and.b32 %a, $r, 60;cvt.u64.u32 %b, %a;add.u64 %b, %b, %gloc;ld.u32 $r, [%b]",
    /* the thread's own slots in shared memory and in the output */
    "st.shared.b32 [%slot+<0|4|8>], $r",
    "st.shared.v2.b32 [%slot], {$r, $r}",
    "ld.shared.b32 $r, [%slot+<0|4|8>]",
    "ld.shared.v2.b32 {%r4, %r5}, [%slot]",
    "ld.shared.b64 $d, [%slot]",
    "st.global.b64 [%mine+<288|296|304|312>], $d",
};

/* Each shared cell has only one kind of operation, so the order of updates does not matter. The kernel uses the old
 * value of an update only in the thread's own slot. */
static const char *const atomics[] = {
    "and.b32 %a, $r, 7;mad.wide.u32 %b, %a, 32, %cells;red.global.<add.u32 [%b]|min.u32 [%b+4]|max.s32 [%b+8]|xor.b32 [%b+12]>, $r",
    "and.b32 %a, $r, 7;mad.wide.u32 %b, %a, 32, %cells;red.global.<or.b32 [%b+16]|and.b32 [%b+20]|max.u32 [%b+24]|min.s32 [%b+28]>, $r",
    "atom.shared.cas.b32 $r, [%slot+12], $r, $r",
    "atom.shared.<inc|dec>.u32 $r, [%slot+12], $s",
    "atom.shared.exch.b32 $r, [%slot+12], $r",
    "atom.shared.<add.u32|min.s32|max.u32|and.b32|xor.b32> $r, [%slot+12], $r",
};

/* ---- operations between lanes; %mask has the lanes that execute them ---- */

static const char *const together[] = {
    "vote.sync.ballot.b32 $r, <|!>$p, %mask",
    "vote.sync.<all|any|uni>.pred $p, $p, %mask",
    "redux.sync.<add.u32|add.s32|min.u32|min.s32|max.u32|max.s32|and.b32|or.b32|xor.b32> $r, $r, %mask",
    "and.b32 %a, $r, 3;match.any.sync.b32 $r, %a, %mask",
    "match.all.sync.b32 $r|$p, $r, %mask",
};
/* Shuffles. %a is the received value, and %c is the lane that sent it. The kernel ignores a value from a lane that does
 * not take part. */
static const char *const shuffles[] = {
    "mov.b32 %c, <0|1|5|17|31|32>;mov.b32 %x, $r;shfl.sync.idx.b32 %a|%q, %x, %c, 31, %mask",
    "mov.b32 %c, <1|2|3|8|16|31>;mov.b32 %x, $r;shfl.sync.bfly.b32 %a|%q, %x, %c, 31, %mask;xor.b32 %c, %c, %lane",
    "mov.b32 %c, <0|1|2|8|31|32>;mov.b32 %x, $r;shfl.sync.down.b32 %a|%q, %x, %c, 31, %mask;add.u32 %c, %c, %lane",
    "mov.b32 %c, <0|1|2|8|31|32>;mov.b32 %x, $r;shfl.sync.up.b32 %a|%q, %x, %c, 0, %mask;sub.u32 %c, %lane, %c",
    "mov.b32 %c, <1|2|3|4>;mov.b32 %x, $r;shfl.sync.down.b32 %a|%q, %x, %c, 0x181f, %mask;add.u32 %c, %c, %lane",
};

static void lanes(generator *g)
{
    put(g, "  mov.b32 %%mask, %%m%u;\n", g->mask);
    if (chance(g, 60)) {
        EMIT_ONE(g, together);
        return;
    }
    EMIT_ONE(g, shuffles);
    emit(
        g,
        "and.b32 %c, %c, 31;shr.u32 %c, %mask, %c;and.b32 %c, %c, 1;setp.ne.and.u32 %q2, %c, 0, %q;selp.b32 $r, %a, %x, %q2");
}

static const char *const barriers[] = {
    "barrier.sync 0;barrier.red.popc.u32 $r, 1, <|!>$p",
    "bar.red.<and|or>.pred $p, 0, <|!>$p",
    /* reads another thread's slot, between two barriers */
    "bar.sync 0;add.u32 %a, %index, <1|2|13|31|32|64|127>;rem.u32 %a, %a, %threads;mad.lo.u32 %a, %a, 16, %shared;"
    "ld.shared.b32 $r, [%a+<0|4|8|12>];bar.sync 0",
    "bar.sync 0;xor.b32 %a, %index, <1|2|16|33>;rem.u32 %a, %a, %threads;mad.lo.u32 %a, %a, 16, %shared;"
    "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%a];bar.sync 0",
};

/* ---- control ---- */

static void statements(generator *g, unsigned count);

static unsigned mask_new(generator *g) { return g->masks++; }

static void branch(generator *g)
{
    unsigned other = g->labels++, end = g->labels++, outer = g->mask;
    bool uniform = g->uniform, masks = !g->in_function && g->masks + 2 <= MASKS;
    word p = operand(g, 'p');
    unsigned then = masks ? mask_new(g) : 0, rest = masks ? mask_new(g) : 0;
    if (masks)
        put(g, "  vote.sync.ballot.b32 %%m%u, %s, %%m%u;\n  not.b32 %%a, %%m%u;\n  and.b32 %%m%u, %%a, %%m%u;\n", then,
            p.text, outer, then, rest, outer);
    bool function = g->in_function;
    g->in_function |= !masks; /* a function without a mask has no warp operations */
    g->uniform = false;
    put(g, "  @!%s bra L%u;\n", p.text, other);
    g->mask = then;
    statements(g, 1 + below(g, 4));
    put(g, "  bra L%u;\nL%u:\n", end, other);
    g->mask = rest;
    if (chance(g, 60))
        statements(g, 1 + below(g, 3));
    put(g, "L%u:\n", end);
    g->mask = outer;
    g->uniform = uniform;
    g->in_function = function;
    if (masks)
        g->masks -= 2;
}

/* Writes a loop. Its number of iterations is the same for all lanes, or differs between them. Lanes may leave the loop
 * or skip the rest of an iteration. */
static void loop(generator *g)
{
    unsigned head = g->labels++, end = g->labels++, next = g->labels++, outer = g->mask, counter = g->depth;
    bool uniform = g->uniform, same = chance(g, 40), function = g->in_function;
    bool masks = !same && !g->in_function && g->masks + 2 <= MASKS;
    int breaks = g->breaks, skips = g->skips;
    if (same)
        put(g, "  mov.u32 %%n%u, %u;\n", counter, 1 + below(g, 5));
    else
        put(g, "  and.b32 %%n%u, %s, 7;\n", counter, operand(g, 'r').text);
    unsigned iteration = masks ? mask_new(g) : 0, body = masks ? mask_new(g) : 0;
    if (masks)
        put(g, "  mov.b32 %%m%u, %%m%u;\n", iteration, outer);
    put(g, "  mov.u32 %%i%u, 0;\nL%u:\n  setp.ge.u32 %%q%u, %%i%u, %%n%u;\n", counter, head, counter + 3, counter,
        counter);
    if (masks)
        put(g,
            "  vote.sync.ballot.b32 %%a, %%q%u, %%m%u;\n  not.b32 %%a, %%a;\n  and.b32 %%m%u, %%a, %%m%u;\n"
            "  mov.b32 %%m%u, %%m%u;\n",
            counter + 3, iteration, iteration, iteration, body, iteration);
    word moving = operand(g, 'r');
    put(g, "  @%%q%u bra L%u;\n  xor.b32 %s, %s, %%i%u;\n", counter + 3, end, moving.text, moving.text, counter);
    if (masks)
        g->mask = body;
    g->in_function |= !same && !masks;
    g->uniform = uniform && same;
    g->breaks = g->skips = -1;
    if (masks && chance(g, 30))
        g->breaks = (int)end;
    else if (masks && chance(g, 30))
        g->skips = (int)next;
    unsigned count = 1 + below(g, 4), at = g->breaks >= 0 || g->skips >= 0 ? below(g, count) : count;
    for (unsigned k = 0; k < count; k++) {
        statements(g, 1);
        if (k != at)
            continue;
        word p = operand(g, 'p');
        put(g, "  vote.sync.ballot.b32 %%a, %s, %%m%u;\n  not.b32 %%a, %%a;\n  and.b32 %%c, %%a, %%m%u;\n", p.text,
            body, body);
        if (g->breaks >= 0)
            put(g, "  selp.b32 %%m%u, %%m%u, %%c, %s;\n", iteration, iteration, p.text);
        put(g, "  mov.b32 %%m%u, %%c;\n  @%s bra L%d;\n", body, p.text, g->breaks >= 0 ? g->breaks : g->skips);
    }
    put(g, "L%u:\n  add.u32 %%i%u, %%i%u, 1;\n  bra L%u;\nL%u:\n", next, counter, counter, head, end);
    g->mask = outer;
    g->uniform = uniform;
    g->in_function = function;
    g->breaks = breaks, g->skips = skips;
    if (masks)
        g->masks -= 2;
}

/* Writes a switch: an index chooses one of several ways. The ways have no warp operations. */
static void many(generator *g)
{
    unsigned first = g->labels, ways = 2 + below(g, 4), end = first + ways;
    bool uniform = g->uniform, function = g->in_function;
    g->labels += ways + 2;
    put(g, "T%u: .branchtargets ", end + 1);
    for (unsigned k = 0; k < ways; k++)
        put(g, "%sL%u", k ? ", " : "", first + k);
    put(g, ";\n  rem.u32 %%a, %s, %u;\n  brx.idx %%a, T%u;\n", operand(g, 'r').text, ways, end + 1);
    g->uniform = false;
    g->in_function = true;
    for (unsigned k = 0; k < ways; k++) {
        put(g, "L%u:\n", first + k);
        statements(g, 1 + below(g, 2));
        if (k + 1 < ways && chance(g, 80)) /* otherwise the way falls into the next one */
            put(g, "  bra L%u;\n", end);
    }
    put(g, "L%u:\n", end);
    g->uniform = uniform;
    g->in_function = function;
}

/* Adds a random statement. Branches, loops and calls nest up to DEPTH. */
static void statement(generator *g)
{
    unsigned what = below(g, 100);
    if (g->depth < DEPTH && what < 22 && !(g->in_function && g->depth >= 2)) {
        g->depth++;
        if (what < 10)
            branch(g);
        else if (what < 18)
            loop(g);
        else
            many(g);
        g->depth--;
        return;
    }
    if (g->in_function) {
        arithmetic(g);
        return;
    }
    if (what < 40)
        EMIT_ONE(g, memory);
    else if (what < 47)
        EMIT_ONE(g, atomics);
    else if (what < 57)
        lanes(g);
    else if (what < 62 && g->uniform)
        EMIT_ONE(g, barriers);
    else if (what < 66)
        emit(g, "{ .param .b32 A;.param .b64 B;.param .b32 R;st.param.b32 [A], $r;st.param.b64 [B], $d;"
                "call (R), <f0|f1>, (A, B);ld.param.b32 $r, [R]; }");
    else
        arithmetic(g);
}

static void statements(generator *g, unsigned count)
{
    while (count--)
        statement(g);
}

/* ---- the whole kernel ---- */

static void registers(generator *g)
{
    put(g,
        "  .reg .b32 %%r<%d>, %%m<%d>, %%i<%d>, %%n<%d>, %%a, %%c, %%x, %%mask, %%lane, %%index, %%threads, %%slot, %%shared;\n",
        R32, MASKS, DEPTH + 1, DEPTH + 1);
    put(g,
        "  .reg .b64 %%d<%d>, %%b, %%in, %%out, %%cells, %%mine, %%loc, %%gloc;\n  .reg .f32 %%f<%d>;\n  .reg .f64 %%g<%d>;\n",
        R64, F32, F64);
    put(g, "  .reg .b16 %%h<%d>, %%x0, %%x1;\n  .reg .pred %%p<%d>, %%q, %%q<%d>;\n", R16, PREDS, DEPTH + 5);
}

static void initial(generator *g, const char *from32, const char *from64)
{
    for (unsigned k = 0; k < R32; k++) {
        uint64_t factors = random_next(&g->rng);
        put(g, "  mad.lo.u32 %%r%u, %s, %u, %u;\n", k, from32, (uint32_t)factors | 1, (uint32_t)(factors >> 32));
    }
    for (unsigned k = 0; k < R64; k++) {
        uint64_t factor = random_next(&g->rng) >> 2 | 1;
        put(g, "  mad.lo.u64 %%d%u, %s, %" PRIu64 ", %u;\n", k, from64, factor, (uint32_t)(factor >> 17));
    }
    for (unsigned k = 0; k < F32; k++) {
        put(g, "  cvt.rn.f32.s32 %%f%u, %%r%u;\n  mul.rn.f32 %%f%u, %%f%u, 0f%08X;\n", k, k, k, k,
            (127 - 30 + below(g, 20)) << 23);
    }
    for (unsigned k = 0; k < F64; k++)
        put(g, "  cvt.rn.f64.s64 %%g%u, %%d%u;\n  mul.rn.f64 %%g%u, %%g%u, 0d%08X00000000;\n", k, k, k, k,
            (1023 - 62 + below(g, 30)) << 20);
    for (unsigned k = 0; k < R16; k++)
        put(g, "  cvt.u16.u32 %%h%u, %%r%u;\n", k, k);
    for (unsigned k = 0; k < PREDS; k++)
        put(g, "  setp.lt.s32 %%p%u, %%r%u, %%r%u;\n", k, k, k + 1);
}

static void function(generator *g, unsigned n)
{
    put(g, ".func (.param .b32 R) f%u(.param .b32 A, .param .b64 B)\n{\n", n);
    registers(g);
    put(g, "  ld.param.b32 %%a, [A];\n  ld.param.b64 %%b, [B];\n");
    initial(g, "%a", "%b");
    g->in_function = true;
    g->depth = 1;
    statements(g, 2 + below(g, 5));
    g->in_function = false;
    g->depth = 0;
    put(g, "  mov.b64 {%%a, %%c}, %%d0;\n  xor.b32 %%r0, %%r0, %%a;\n  mov.b32 %%a, %%f0;\n  add.u32 %%r0, %%r0, %%a;\n"
           "  st.param.b32 [R], %%r0;\n  ret;\n}\n");
}

static void entry(generator *g, random_kernel *kernel)
{
    unsigned threads = kernel->block[0] * kernel->block[1] * kernel->block[2];
    put(g, ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 cells)\n{\n");
    registers(g);
    put(g, "  .shared .align 16 .b8 slots[%u];\n  .local .align 16 .b8 own[64];\n", threads * STRIDE);
    put(g,
        "  ld.param.u64 %%in, [in];\n  cvta.to.global.u64 %%in, %%in;\n  ld.param.u64 %%out, [out];\n"
        "  cvta.to.global.u64 %%out, %%out;\n  ld.param.u64 %%cells, [cells];\n  cvta.to.global.u64 %%cells, %%cells;\n"
        "  activemask.b32 %%m0;\n  mov.u32 %%lane, %%laneid;\n  mov.u32 %%a, %%tid.z;\n  mov.u32 %%c, %%ntid.y;\n"
        "  mov.u32 %%index, %%tid.y;\n  mad.lo.u32 %%a, %%a, %%c, %%index;\n  mov.u32 %%c, %%ntid.x;\n  mov.u32 %%index, %%tid.x;\n"
        "  mad.lo.u32 %%index, %%a, %%c, %%index;\n  mov.u32 %%threads, %u;\n  mov.u32 %%shared, slots;\n"
        "  mad.lo.u32 %%slot, %%index, %d, %%shared;\n  mov.u64 %%loc, own;\n  cvta.local.u64 %%gloc, %%loc;\n",
        threads, STRIDE);
    put(g,
        "  mov.u32 %%a, %%ctaid.x;\n  mad.lo.u32 %%a, %%a, %%threads, %%index;\n  mad.wide.u32 %%mine, %%a, %d, %%out;\n",
        8 * RANDOM_WORDS);
    for (unsigned k = 0; k < 16; k++)
        put(g, "  %s [%s+%u], %u;\n", k < STRIDE / 4 ? "st.shared.b32" : "st.local.b32",
            k < STRIDE / 4 ? "%slot" : "%loc", 4 * k, below(g, 1u << 31));
    for (unsigned k = 0; k < STRIDE / 4; k++)
        put(g, "  st.local.b32 [%%loc+%u], %%a;\n", 4 * k);
    put(g, "  mad.wide.u32 %%b, %%a, 4, %%in;\n  ld.global.u32 %%c, [%%b];\n  cvt.u64.u32 %%b, %%c;\n");
    initial(g, "%c", "%b");
    g->masks = 1;
    g->uniform = true;
}

static void finish(generator *g)
{
    unsigned at = 0;
    put(g, "  bar.sync 0;\n  ld.shared.v4.b32 {%%r0, %%r1, %%r2, %%n0}, [%%slot];\n");
    put(g, "  st.global.b32 [%%mine+%u], %%n0;\n", 8 * at++);
    for (unsigned k = 0; k < R32; k++)
        put(g, "  st.global.b32 [%%mine+%u], %%r%u;\n", 8 * at++, k);
    for (unsigned k = 0; k < R64; k++)
        put(g, "  st.global.b64 [%%mine+%u], %%d%u;\n", 8 * at++, k);
    for (unsigned k = 0; k < F32; k++)
        put(g, "  st.global.f32 [%%mine+%u], %%f%u;\n", 8 * at++, k);
    for (unsigned k = 0; k < F64; k++)
        put(g, "  st.global.f64 [%%mine+%u], %%g%u;\n", 8 * at++, k);
    for (unsigned k = 0; k < R16; k++)
        put(g, "  st.global.b16 [%%mine+%u], %%h%u;\n", 8 * at++, k);
    for (unsigned k = 0; k < PREDS; k++)
        put(g, "  selp.b32 %%a, 1, 0, %%p%u;\n  st.global.b32 [%%mine+%u], %%a;\n", k, 8 * at++);
    put(g, "  ld.local.v2.b64 {%%d0, %%d1}, [%%loc+16];\n  st.global.v2.b64 [%%mine+%u], {%%d0, %%d1};\n  ret;\n}\n",
        8 * (at + (at & 1)));
}

void random_kernel_make(uint64_t seed, unsigned most, random_kernel *kernel)
{
    static const unsigned shapes[][3] = {{32, 1, 1}, {64, 1, 1}, {70, 1, 1}, {128, 1, 1},
                                         {10, 7, 1}, {4, 3, 5},  {33, 2, 1}, {1, 1, 1}};
    generator g = {.rng = seed * 0x9e3779b97f4a7c15ull + 0x1234567, .breaks = -1, .skips = -1};
    for (unsigned k = 0; k < 8; k++)
        random_next(&g.rng);
    memcpy(kernel->block, shapes[below(&g, 8)], sizeof kernel->block);
    kernel->grid = 1 + below(&g, 3);
    put(&g, ".version 8.0\n.target sm_80\n.address_size 64\n");
    function(&g, 0);
    function(&g, 1);
    entry(&g, kernel);
    unsigned count = 4 + below(&g, 28);
    kernel->statements = count;
    for (unsigned k = 0; k < count && k < most; k++) {
        put(&g, "  // %u\n", k + 1);
        statement(&g);
    }
    finish(&g);
    kernel->text = g.text;
}
