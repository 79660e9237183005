/* Compares kernels that are compiled to host code with the same kernels interpreted. Memory, counts and faults must be
 * equal. The bytes choose a kernel with loops, branches, guards, accesses of all kinds and arithmetic of all types. Its
 * numbers are special values as words or as floats. At the end of the kernel every thread stores its registers. Bytes
 * behind a '!' make a short kernel of if-statements and barriers, whose blocks may run in series. Bytes behind a '~'
 * make a kernel that addresses shared memory by registers of 64 bits. Bytes behind a '?' let some launches
 * run under the checks, whose findings must be equal too. Input that begins with '.' or '/' is a text of PTX instead,
 * as in fuzz_vm. If its length is odd, some launches run under the checks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit.h"
#include "ptx_mutator.h"
#include "templates.h"
#include "vm_checks_internal.h"
#include "vm_count.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "fuzz_jit.c:%d: %s\n", __LINE__, #condition);                                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=8:malloc_context_size=6"; }

/* ---- choices: the input's bytes, then numbers that follow from them ---- */

typedef struct maker {
    const uint8_t *data;
    size_t left;
    uint64_t rng;
    kiln__text text;
    unsigned labels, depth, apart; /* `apart` is the number of nested branches in which lanes may be divergent */
    /* true if no thread sees the writes of others, so that several host threads give the same results */
    bool tame;
    bool wide;    /* addresses of shared memory are in registers of 64 bits */
    bool checked; /* some launches run under the checks */
} maker;

static unsigned below(maker *m, unsigned n)
{
    if (m->left) {
        m->left--;
        return *m->data++ % n;
    }
    m->rng ^= m->rng >> 12;
    m->rng ^= m->rng << 25;
    m->rng ^= m->rng >> 27;
    return (unsigned)(m->rng * 0x2545f4914f6cdd1dull >> 33) % n;
}
static bool chance(maker *m, unsigned percent) { return below(m, 100) < percent; }

typedef struct word {
    char text[64];
} word;

/* Returns one of the alternatives before `end`, which | separates. */
static word pick(maker *m, const char *list, char end)
{
    unsigned count = 1;
    for (const char *c = list; *c && *c != end; c++)
        count += *c == '|';
    for (unsigned at = below(m, count); at; at--)
        list = strchr(list, '|') + 1;
    word w = {""};
    size_t n = 0;
    while (list[n] && list[n] != '|' && list[n] != end && n + 1 < sizeof w.text)
        n++;
    memcpy(w.text, list, n);
    return w;
}

static word operand(maker *m, char letter)
{
    const struct kind *kind = kinds;
    word w;
    while (kind->letter != letter)
        kind++;
    if (kind->immediates && chance(m, 28))
        return pick(m, kind->immediates, '\0');
    snprintf(w.text, sizeof w.text, "%%%s%u", kind->name, below(m, kind->count));
    return w;
}

/* Writes a template as emit() of tests/random/generate.c does. `guard` stands before the last instruction. */
static void emit(maker *m, const char *template, const char *guard)
{
    word chosen[9];
    unsigned count = 0;
    const char *last = strrchr(template, ';');
    kiln__text_printf(&m->text, "  %s", last ? "" : guard);
    for (const char *c = template; *c; c++) {
        if (*c == ';') {
            kiln__text_printf(&m->text, ";\n  %s", c == last ? guard : "");
        } else if (*c != '$' && *c != '<') {
            kiln__text_printf(&m->text, "%c", *c);
        } else if (*c == '$' && c[1] >= '1' && c[1] <= '9') {
            kiln__text_puts(&m->text, chosen[*++c - '1'].text);
        } else {
            chosen[count] = *c == '$' ? operand(m, c[1]) : pick(m, c + 1, '>');
            kiln__text_puts(&m->text, chosen[count++].text);
            c = *c == '$' ? c + 1 : strchr(c, '>');
        }
    }
    kiln__text_puts(&m->text, ";\n");
}

#define LIST(name)                                                                                                     \
    {                                                                                                                  \
        name, sizeof(name) / sizeof *(name)                                                                            \
    }
typedef struct list {
    const char *const *templates;
    size_t count;
} list;

static void some(maker *m, const list *lists, unsigned count)
{
    const list *l = &lists[below(m, count)];
    const char *template = l->templates[below(m, (unsigned)l->count)];
    char guard[16] = "";
    if (template[0] != '@' && !strstr(template, ".cc") && chance(m, 20))
        snprintf(guard, sizeof guard, "@%s%%p%u ", chance(m, 50) ? "!" : "", below(m, PREDS));
    emit(m, template, guard);
}

/* Instructions for which the compiler makes code itself, without a call of a handler. */
static const char *const native[] = {
    "<add|sub|mul.lo|min|max>.<u32|s32> $r, $r, $s",
    "<and|or|xor>.b32 $r, $r, $s",
    "mul.hi.<u32|s32> $r, $r, $s",
    "mad.lo.<u32|s32> $r, $r, $s, $s",
    "<neg|abs>.s32 $r, $r",
    "<not|popc>.b32 $r, $r",
    "<shl.b32|shr.u32|shr.s32> $r, $r, $n",
    "shf.<l|r>.wrap.b32 $r, $r, $r, $n",
    "lop3.b32 $r, $r, $r, $s, <0x01|0x96|0xe8|0xca|0x7f|0x35|0xd4|0x1b>",
    "bfe.u32 $r, $r, <0|1|8|31>, <0|1|8|31>",
    "selp.b32 $r, $r, $s, $p",
    "selp.b64 $d, $d, $l, $p",
    "<add|sub|mul.lo|min|max>.<u64|s64> $d, $d, $l",
    "<and|or|xor>.b64 $d, $d, $l",
    "<shl.b64|shr.u64|shr.s64> $d, $d, $n",
    "<not.b64|neg.s64> $d, $d",
    "mul.wide.<u32|s32> $d, $r, $s",
    "mad.wide.<u32|s32> $d, $r, $s, $d",
    "mad.lo.u64 $d, $d, $l, $d",
    "<add|sub|min|max|mul.lo>.<u16|s16> $h, $h, $h",
    "<shl.b16|shr.u16|shr.s16> $h, $h, $n",
    "mul.wide.<u16|s16> $r, $h, $h",
    "mad.lo.<u16|s16> $h, $h, $h, $h",
    "<add|sub|mul><|.ftz><||.sat>.f32 $f, $e, $e",
    "fma.rn<|.ftz><||.sat>.f32 $f, $e, $e, $e",
    "div.rn<|.ftz>.f32 $f, $e, $e",
    "<sqrt|rcp>.rn<|.ftz>.f32 $f, $e",
    "<min|max|min.ftz|max.NaN>.f32 $f, $e, $e",
    "<abs|neg><|.ftz>.f32 $f, $e",
    "cvt.rn.f32.<u32|s32> $f, $r",
    "cvt.rzi.<u32|s32>.f32 $r, $f",
    "cvt.rn.f64.<u32|s32> $g, $r",
    "cvt.f64.f32 $g, $f",
    "cvt.rn.f32.f64 $f, $g",
    "<add|sub|mul>.f64 $g, $g, $k",
    "fma.rn.f64 $g, $g, $k, $g",
    "<neg|abs>.f64 $g, $g",
    "<min|max>.f64 $g, $g, $k",
    "cvt.<u32|s32>.<u8|s8|u16|s16> $r, $r",
    "cvt.<u64|s64>.<u32|s32> $d, $r",
    "cvt.u32.u64 $r, $d",
    "cvt.u16.u32 $h, $r",
    "cvt.<u32.u16|s32.s16> $r, $h",
    "mov.b64 $d, {$r, $r}",
    "mov.b64 {$r, $r}, $d",
    "mov.b32 $f, $r",
    "mov.b32 $r, $f",
    "setp.<eq|ne|lt|le|gt|ge>.<u32|s32> $p, $r, $s",
    "setp.<eq|ne|lt|le|gt|ge>.<and|or|xor>.<u64|s64> $p|$p, $d, $l, <|!>$p",
    "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan><|.ftz>.f32 $p, $f, $e",
    "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.f64 $p, $g, $k",
    "setp.<eq|lt|ge>.<u16|s16> $p, $h, $h",
    "<and|or|xor>.pred $p, $p, $p",
    "<not|mov>.pred $p, $p",
};
static const char *const more[] = {
    "mov.b32 $r, $s",
    "add<|.ftz>.f32 $f, $f, $e",
    "<add|sub|mul><|.ftz><||.sat>.f32 $f, $e, $e",
    "fma.rn<|.ftz><||.sat>.f32 $f, $e, $e, $e",
    "<rsqrt|rcp|sqrt>.approx<|.ftz>.f32 $f, $e",
    "div.<approx|full><|.ftz>.f32 $f, $e, $e",
    "<min|max><|.ftz><|.NaN>.f32 $f, $e, $e",
    "testp.<finite|infinite|number|notanumber|normal|subnormal>.f32 $p, $f",
    "setp.<eq|ne|lt|ge>.u16 $p, $h, $h",
    "setp.<eq|ne|lt|le|gt|ge>.<and|or|xor>.s32 $p|$p, $r, $s, <|!>$p",
    "setp.<lt|gt|le|ge|lo|hi|ls|hs>.u32 $p|$p, $r, $s",
    "mov.pred $p, $p",
    "not.pred $p, $p",
    "mov.u32 $r, <%tid.x|%laneid|%ctaid.x|%ntid.x|%nctaid.x|%warpid|%lanemask_lt|%tid.y>",
    "mov.b64 {$r, $r}, $d",
    "mov.b64 $d, $g",
    "mov.b64 $g, $d",
    "mov.b32 $r, {$h, $h}",
    "cvt.<u16.u8|s16.s8|u16.u32> $h, <%r1|%r2>",
    "selp.f32 $f, $f, $e, $p",
    "vadd4.u32.u32.u32 $r, $r, $r, $r",
    "ld.const.u32 $r, [table+<0|4|60|252>]",
    "and.b32 %a, $r, 63;mad.wide.u32 %b, %a, 4, %tab;ld.const.<u32|s32|b32> $r, [%b]",
    "and.b32 %a, $r, 60;cvt.u64.u32 %b, %a;add.u64 %b, %b, %loc;st.local.b32 [%b], $r",
    "and.b32 %a, $r, 56;cvt.u64.u32 %b, %a;add.u64 %b, %b, %loc;ld.local.b64 $d, [%b]",
    "ld.param.<u32 %r3, [N]|u64 %d2, [X]|u16 %h1, [S]|s8 %r2, [S+1]|f32 %f2, [N]>",
    "prefetch.global.L2 [%row]",
    "membar.<cta|gl>",
};
static const char *const warp[] = {
    "shfl.sync.<down|up|bfly|idx>.b32 $r|$p, $r, <1|2|16|31|0|33>, <31|0|0x181f|0x1c03>, -1",
    "shfl.sync.<down|up|bfly|idx>.b32 $r, $r, $s, <31|0|0x181f>, <-1|-1|%full>",
    "mov.b32 %a, <1|2|4|8|16>;shfl.sync.<down|up|bfly>.b32 $r|$p, $r, %a, <31|0>, <-1|%full>",
    "shfl.sync.<down|bfly|idx>.b32 $r, $r, <%four|%most>, %most, <-1|%full>",
    "<add.u32 %four, %four, 1|mov.b32 %four, 4|mov.b32 %most, 31|xor.b32 %full, %full, $r>",
    "vote.sync.ballot.b32 $r, <|!>$p, <-1|%full>",
    "vote.sync.<all|any|uni>.pred $p, <|!>$p, <-1|%full>",
    "bar.warp.sync <-1|%full>",
    "activemask.b32 $r",
    "redux.sync.<add.u32|min.s32|max.u32|xor.b32> $r, $r, -1",
    "match.any.sync.b32 $r, $r, -1",
    "mov.b32 %full, -1",
};
static const char *const atomics[] = {
    "and.b32 %a, $r, 60;add.u32 %a, %a, %box;atom.shared.<add.u32|min.s32|max.u32|and.b32|xor.b32|exch.b32|inc.u32> $r, [%a], $s",
    "and.b32 %a, $r, 63;add.u32 %a, %a, %box;red.shared.<add.u32|add.s32|or.b32> [%a<+0|+4|+64>], $s",
    "and.b32 %a, $r, 60;add.u32 %a, %a, %box;red.shared.<add.u32|add.s32|or.b32|max.s32> [%a], $s",
    "and.b32 %a, $r, 56;add.u32 %a, %a, %box;atom.shared.<add.u64|min.s64|exch.b64> $d, [%a], $l",
    "and.b32 %a, $r, 60;add.u32 %a, %a, %box;atom.shared.cas.b32 $r, [%a], $r, $s",
    "and.b32 %a, $r, 60;cvt.u64.u32 %b, %a;add.u64 %b, %b, %x;atom.global.<add.u32|min.s32|exch.b32|or.b32> $r, [%b], $s",
    "and.b32 %a, $r, 60;cvt.u64.u32 %b, %a;add.u64 %b, %b, %x;red.global.<add.u32|max.u32|xor.b32> [%b], $s",
    "red.global.add.f32 [%row], $f",
    "atom.shared.add.f32 $f, [%box+<0|4|8>], $e",
    "red.global.add.u32 [%row<|+4>], $s",
    "mov.u32 $r, %clock", /* the clock counts the instructions of all host threads */
};
static const char *const wide_atomics[] = {
    "and.b32 %a, $r, <60|63>;cvt.u64.u32 %b, %a;add.u64 %b, %b, %wbox;red.shared.<add.u32|add.s32> [%b<+0|+4|+64>], $s",
    "and.b32 %a, $r, <60|63>;cvt.u64.u32 %b, %a;add.u64 %b, %b, %wbox;atom.shared.add.<u32|s32> $r, [%b<+0|+4|+64>], $s",
    "and.b32 %a, $r, 60;cvt.u64.u32 %b, %a;add.u64 %b, %b, %wbox;red.shared.<or.b32|xor.b32|max.s32> [%b], $s",
    "atom.shared.<add.u32|exch.b32|inc.u32> $r, [<%wbox|%wslot|%wspot>+<0|4|8>], $s",
    "mov.b64 %b, {%slot, $r};ld.shared.b32 $r, [%b+4]",
    "and.b32 %a, $r, 60;cvt.u64.u32 %b, %a;add.u64 %b, %b, %x;red.global.<add.u32|max.u32|xor.b32> [%b], $s",
    "xor.b64 %wspot, %wspot, <4|16|256>",
};
static const char *const tame_atomics[] = {
    "atom.shared.<add.u32|min.s32|max.u32|and.b32|xor.b32|exch.b32|inc.u32> $r, [%slot+<0|4>], $s",
    "red.shared.<add.u32|add.s32|or.b32> [%slot+<0|4>], $s",
    "red.global.<add.u32|xor.b32> [%mine+<256|260>], $s",
};

/* ---- memory ---- */

/* Puts an index for lanes into %a: a row, rows of 16 lanes, a number that 16 lanes share, or any small number. */
static void make_index(maker *m, unsigned how)
{
    if (how < 2)
        kiln__text_puts(&m->text, "  mov.u32 %a, %tid;\n");
    else if (how < 4)
        emit(m, "<and.b32 %a, %tid, 15|shr.u32 %a, %tid, 4|shr.u32 %a, %tid, 4;mad.lo.u32 %a, %a, 15, %tid>", "");
    else
        emit(m, "and.b32 %a, $r, <127|3|31>", "");
}

/* Writes the computation of an address of the space, and returns the address with its offset. Most addresses are
 * valid: rows, one address for all lanes, or any place in a part of the memory. */
static word narrow_address(maker *m, const char *space, unsigned bytes, bool store)
{
    static const char *const offsets[] = {"0", "0", "0", "1", "2", "3", "31", "-1"};
    const bool odd = !m->tame && chance(m, 1), shared = strcmp(space, ".shared") == 0;
    const int offset = (int)(odd ? 1 : bytes) * atoi(offsets[below(m, chance(m, 5) ? 8 : 6)]);
    const unsigned base = below(m, 8);
    word w;
    if (m->tame && store) {
        snprintf(w.text, sizeof w.text, shared ? "%%slot" : "%%mine+256");
    } else if (shared && m->tame) {
        snprintf(w.text, sizeof w.text, "%%slot");
    } else if (shared && base < 2) {
        snprintf(w.text, sizeof w.text, "%%%s+%d", base ? "spot" : "box", offset);
    } else if (shared) {
        make_index(m, base - 2);
        kiln__text_printf(&m->text, "  mad.lo.u32 %%a, %%a, %u, %%box;\n", bytes);
        snprintf(w.text, sizeof w.text, "%%a+%d", offset);
    } else if (strcmp(space, "") == 0 && base < 3) { /* a generic address of shared memory */
        snprintf(w.text, sizeof w.text, "%%gslot");
    } else if (base < 3 && bytes <= 4) {
        snprintf(w.text, sizeof w.text, "%%%s+%d",
                 base == 0   ? "edge"
                 : base == 1 ? "walk"
                             : "row",
                 base == 0 && m->tame ? 0 : offset);
    } else if (base < 4) {
        snprintf(w.text, sizeof w.text, "%%one+%d", offset);
    } else {
        make_index(m, base - 3);
        kiln__text_printf(&m->text, "  mad.wide.u32 %%b, %%a, %u, %%x;\n", bytes);
        snprintf(w.text, sizeof w.text, "%%b+%d", offset);
    }
    return w;
}

static word address(maker *m, const char *space, unsigned bytes, bool store)
{
    const word narrow = narrow_address(m, space, bytes, store);
    word w = narrow;
    if (!m->wide || strcmp(space, ".shared") != 0)
        return w;
    if (strncmp(narrow.text, "%a", 2) == 0) {
        kiln__text_puts(&m->text, "  cvt.u64.u32 %b, %a;\n");
        snprintf(w.text, sizeof w.text, "%%b%s", narrow.text + 2);
    } else {
        snprintf(w.text, sizeof w.text, "%%w%.*s", (int)sizeof w.text - 3, narrow.text + 1);
    }
    return w;
}

/* Writes a load or a store of a random type, width and space, at an address inside the memory of the lane. */
static void access_memory(maker *m)
{
    static const struct {
        const char *type;
        char letter;
        unsigned bytes;
    } types[] = {{"u32", 'r', 4}, {"f32", 'f', 4}, {"b64", 'd', 8}, {"f64", 'g', 8}, {"u8", 'r', 1},
                 {"s8", 'r', 1},  {"u16", 'h', 2}, {"s16", 'h', 2}, {"b32", 'r', 4}, {"u32", 'r', 4}};
    static const char *const spaces[] = {".global", ".global", ".shared", ".shared", ""};
    const unsigned t = below(m, KILN__COUNT(types)), store = chance(m, 40);
    const char *space = spaces[below(m, KILN__COUNT(spaces))];
    unsigned count = 1u << below(m, 3);
    count = below(m, 2) ? 1 : types[t].bytes * count > 16 ? 2 : count;
    const word at = address(m, space, types[t].bytes * count, store);
    const char *how = chance(m, 5) ? ".volatile" : "";
    if (chance(m, 15))
        kiln__text_printf(&m->text, "  @%s%%p%u", chance(m, 50) ? "!" : "", below(m, PREDS));
    kiln__text_printf(&m->text, "  %s%s%s%s.%s ", store ? "st" : "ld", how, space,
                      count == 1   ? ""
                      : count == 2 ? ".v2"
                                   : ".v4",
                      types[t].type);
    if (store)
        kiln__text_printf(&m->text, "[%s], ", at.text);
    if (count > 1)
        kiln__text_puts(&m->text, "{");
    const unsigned from = below(m, 16);
    for (unsigned k = 0; k < count; k++) {
        const unsigned most = types[t].letter == 'r'   ? R32
                              : types[t].letter == 'd' ? R64
                              : types[t].letter == 'f' ? F32
                              : types[t].letter == 'g' ? F64
                                                       : R16;
        kiln__text_printf(&m->text, "%s%%%c%u", k ? ", " : "", types[t].letter, (from + k) % most);
    }
    kiln__text_printf(&m->text, "%s%s", count > 1 ? "}" : "", store ? "" : ", ");
    if (!store)
        kiln__text_printf(&m->text, "[%s]", at.text);
    kiln__text_puts(&m->text, ";\n");
}

/* Loads neighbouring words through one register, which differs from lane to lane, then stores to one of them. */
static void access_neighbours(maker *m)
{
    const unsigned shared = below(m, 2), first = below(m, 8);
    const char *space = shared ? "shared" : "global", *at = !shared ? "%b" : m->wide ? "%wn" : "%a";
    emit(m, "<and.b32 %a, $r, 15|xor.b32 %a, %lane, 5|mov.u32 %a, %lane>;mad.lo.u32 %a, %a, <16|16|4|0>, %box", "");
    if (!shared)
        kiln__text_puts(&m->text, "  sub.u32 %a, %a, %box;\n  cvt.u64.u32 %b, %a;\n  add.u64 %b, %b, %x;\n");
    else if (m->wide)
        kiln__text_puts(&m->text, "  cvt.u64.u32 %wn, %a;\n");
    for (unsigned k = 0, count = 2 + below(m, 4); k < count; k++)
        kiln__text_printf(&m->text, "  ld.%s.u32 %%r%u, [%s+%u];\n", space, (first + k) % R32, at,
                          4 * (chance(m, 80) ? k & 3 : below(m, 5)));
    if (chance(m, 60))
        kiln__text_printf(&m->text, "  st.%s.u32 [%s+%u], %%r%u;\n  ld.%s.u32 %%r%u, [%s+%u];\n", space, at,
                          4 * below(m, 4), below(m, R32), space, below(m, R32), at, 4 * below(m, 4));
}

/* ---- flow ---- */

static void statements(maker *m, unsigned count);

static void branch(maker *m)
{
    const unsigned other = m->labels++, end = m->labels++, same = chance(m, 40);
    if (same) /* the condition holds in all lanes, or in all lanes of some warps */
        kiln__text_printf(&m->text, "  setp.%s.u32 %%q0, %%%s, %u;\n", chance(m, 50) ? "lt" : "eq",
                          pick(m, "ctaid|i0|n|wid", '\0').text, below(m, 5));
    kiln__text_printf(&m->text, "  @%s%%%s%u bra L%u;\n", chance(m, 50) ? "!" : "", same ? "q" : "p",
                      same ? 0 : below(m, PREDS), other);
    m->apart += !same;
    m->depth++;
    statements(m, 1 + below(m, 4));
    if (chance(m, 50)) {
        kiln__text_printf(&m->text, "  bra L%u;\nL%u:\n", end, other);
        statements(m, 1 + below(m, 3));
    } else {
        kiln__text_printf(&m->text, "L%u:\n", other);
    }
    kiln__text_printf(&m->text, "L%u:\n", end);
    m->depth--;
    m->apart -= !same;
}

static void loop(maker *m)
{
    const unsigned head = m->labels++, end = m->labels++, depth = m->depth, kind = below(m, 6), test = below(m, 2);
    kiln__text_printf(&m->text, "  mov.u32 %%i%u, 0;\n  mov.u32 %%n%u, %%n;\n", depth, depth);
    if (depth)
        kiln__text_printf(&m->text, "  and.b32 %%n%u, %%n, 7;\n", depth);
    if (kind == 1) /* lanes leave the loop at different times */
        kiln__text_printf(&m->text, "  and.b32 %%a, %%lane, %u;\n  add.u32 %%n%u, %%n%u, %%a;\n",
                          (unsigned[]){1, 3, 16, 31}[below(m, 4)], depth, depth);
    if (kind == 2) /* warps leave the loop at different times */
        kiln__text_printf(&m->text, "  add.u32 %%n%u, %%n%u, %%wid;\n", depth, depth);
    kiln__text_printf(&m->text, "L%u:\n", head);
    if (test)
        kiln__text_printf(&m->text, "  setp.ge.u32 %%q1, %%i%u, %%n%u;\n  @%%q1 bra L%u;\n", depth, depth, end);
    m->depth++;
    m->apart += kind == 1 || kind == 3;
    statements(m, 2 + below(m, 10));
    if (kind == 3)
        kiln__text_printf(&m->text, "  @%s%%p%u bra L%u;\n", chance(m, 50) ? "!" : "", below(m, PREDS), end);
    if (chance(m, 70))
        statements(m, 1 + below(m, 5));
    if (chance(m, 15))
        kiln__text_puts(&m->text, "  add.u64 %walk, %walk, %step;\n");
    m->apart -= kind == 1 || kind == 3;
    m->depth--;
    kiln__text_printf(&m->text, "  add.u32 %%i%u, %%i%u, 1;\n", depth, depth);
    if (test)
        kiln__text_printf(&m->text, "  bra L%u;\nL%u:\n", head, end);
    else
        kiln__text_printf(&m->text, "  setp.lt.u32 %%q1, %%i%u, %%n%u;\n  @%%q1 bra L%u;\nL%u:\n", depth, depth, head,
                          end);
}

/* Adds a random statement to the kernel: a branch, a loop, an access, an operation between lanes, or arithmetic. */
static void statement(maker *m)
{
    static const list plain[] = {
        LIST(integer32),      LIST(integer32),    LIST(integer64),    LIST(integer16), LIST(single),
        LIST(single),         LIST(dual),         LIST(half),         LIST(half_pair), LIST(convert),
        LIST(convert_single), LIST(convert_dual), LIST(convert_half), LIST(compare),   LIST(compare),
        LIST(guarded),        LIST(more),         LIST(more),         LIST(more)};
    static const list easy[] = {LIST(native)};
    static const list together[] = {LIST(warp)}, updates[] = {LIST(atomics)}, tame[] = {LIST(tame_atomics)},
                      wide[] = {LIST(wide_atomics)};
    const unsigned what = below(m, 200);
    if (m->depth < 3 && what < 8)
        branch(m);
    else if (m->depth < 3 && what < 14)
        loop(m);
    else if (what < 60)
        access_memory(m);
    else if (what < 66)
        some(m, m->tame ? tame : m->wide ? wide : updates, 1);
    else if (what < 73 && (!m->apart || chance(m, 5)))
        some(m, together, 1);
    else if (what < 76 && !m->apart)
        kiln__text_puts(&m->text, "  bar.sync 0;\n");
    else if (what == 77)
        kiln__text_printf(&m->text, "  @%%p%u %s;\n", below(m, PREDS), chance(m, 80) ? "ret" : "exit");
    else if (what < (m->checked ? 84 : 77) && !m->tame)
        access_neighbours(m);
    else if (what < 90)
        some(m, plain, KILN__COUNT(plain));
    else
        some(m, easy, 1);
}

static void statements(maker *m, unsigned count)
{
    while (count--)
        statement(m);
}

/* ---- a kernel ---- */

enum { WORDS = 4096, EDGE = 1024, OUT = 512 /* bytes of a thread */, THREADS_MOST = 4 * 128, CHECKED_STEPS = 50000 };

/* Writes the head of the kernel: declarations, and registers with the positions and addresses that statements use. */
static void begin(maker *m)
{
    kiln__text_puts(
        &m->text,
        ".version 8.0\n.target sm_90\n.address_size 64\n.const .align 16 .u32 table[64] = {1, 2, 0x7fffffff, 4, "
        "0xff800000, 77};\n.visible .entry k(.param .u64 X, .param .u64 Y, .param .u64 E, .param .u32 N, "
        ".param .u32 S)\n{\n  .shared .align 16 .b8 shared[4096];\n  .local .align 16 .b8 own[64];\n");
    kiln__text_printf(
        &m->text,
        "  .reg .b32 %%r<%d>, %%i<4>, %%n<4>, %%n, %%a, %%c, %%lane, %%slot, %%box, %%spot, %%full, %%wid, "
        "%%ctaid, %%s, %%tid, %%gid, %%four, %%most;\n  .reg .b64 %%d<%d>, %%b, %%x, %%row, %%one, %%walk, %%edge, "
        "%%mine, %%loc, %%step, %%gslot, %%tab, %%wn, %%wbox, %%wslot, %%wspot;\n  .reg .f32 %%f<%d>;\n  .reg .f64 %%g<%d>;\n  .reg .b16 "
        "%%h<%d>;\n  .reg .pred %%p<%d>, %%q<2>;\n",
        R32, R64, F32, F64, R16, PREDS);
    kiln__text_puts(
        &m->text,
        "  ld.param.u64 %x, [X];\n  ld.param.u64 %mine, [Y];\n  ld.param.u64 %edge, [E];\n  ld.param.u32 %n, [N];\n"
        "  ld.param.u32 %s, [S];\n  mov.u32 %lane, %laneid;\n  mov.u32 %ctaid, %ctaid.x;\n  mov.u32 %a, %tid.x;\n"
        "  shr.u32 %wid, %a, 5;\n  mov.u32 %box, shared;\n  mad.lo.u32 %slot, %a, 16, %box;\n"
        "  mad.lo.u32 %spot, %s, 4, %box;\n  cvt.u64.u32 %gslot, %slot;\n  cvta.shared.u64 %gslot, %gslot;\n"
        "  mov.u32 %c, %ntid.x;\n  mad.lo.u32 %c, %ctaid, %c, %a;\n  mad.wide.u32 %mine, %c, 512, %mine;\n"
        "  mad.wide.u32 %row, %c, 4, %x;\n  mov.u32 %gid, %c;\n  mov.u32 %tid, %a;\n"
        "  mad.wide.u32 %one, %s, 16, %x;\n  mov.u64 %walk, %row;\n  mul.wide.u32 %step, %s, 4;\n"
        "  mad.wide.u32 %edge, %lane, 4, %edge;\n  mov.u64 %loc, own;\n  cvta.const.u64 %tab, table;\n"
        "  mov.b32 %full, -1;\n  mov.b32 %four, 4;\n  mov.b32 %most, 31;\n  mov.u64 %tab, table;\n  st.shared.v4.b32 [%slot], {%a, %c, %s, %lane};\n");
    if (m->wide)
        kiln__text_puts(&m->text, "  cvt.u64.u32 %wbox, %box;\n  cvt.u64.u32 %wslot, %slot;\n  cvt.u64.u32 %wspot, "
                                  "%spot;\n");
    for (unsigned k = 0; k < R32; k++)
        kiln__text_printf(&m->text, "  ld.global.u32 %%r%u, [%%row+%u];\n", k, 4 * k * (k & 3));
    for (unsigned k = 0; k < R64; k++)
        kiln__text_printf(&m->text, "  mov.b64 %%d%u, {%%r%u, %%r%u};\n", k, k, k + 1);
    for (unsigned k = 0; k < F32; k++)
        kiln__text_printf(&m->text, "  mov.b32 %%f%u, %%r%u;\n", k, k + 2);
    for (unsigned k = 0; k < F64; k++)
        kiln__text_printf(&m->text, "  cvt.f64.f32 %%g%u, %%f%u;\n", k, k + 1);
    for (unsigned k = 0; k < R16; k++)
        kiln__text_printf(&m->text, "  cvt.u16.u32 %%h%u, %%r%u;\n", k, k + 3);
    for (unsigned k = 0; k < PREDS; k++)
        kiln__text_printf(&m->text, "  setp.lt.s32 %%p%u, %%r%u, %%r%u;\n", k, k, k + 1);
}

static void finish(maker *m)
{
    unsigned at = 0;
    for (unsigned k = 0; k < R32; k++)
        kiln__text_printf(&m->text, "  st.global.b32 [%%mine+%u], %%r%u;\n", 8 * at++, k);
    for (unsigned k = 0; k < R64; k++)
        kiln__text_printf(&m->text, "  st.global.b64 [%%mine+%u], %%d%u;\n", 8 * at++, k);
    for (unsigned k = 0; k < F32; k++)
        kiln__text_printf(&m->text, "  st.global.f32 [%%mine+%u], %%f%u;\n", 8 * at++, k);
    for (unsigned k = 0; k < F64; k++)
        kiln__text_printf(&m->text, "  st.global.f64 [%%mine+%u], %%g%u;\n", 8 * at++, k);
    at = 34; /* skips bytes 256 to 271, which the kernel itself stores */
    for (unsigned k = 0; k < R16; k++)
        kiln__text_printf(&m->text, "  st.global.b16 [%%mine+%u], %%h%u;\n", 8 * at++, k);
    for (unsigned k = 0; k < PREDS; k++)
        kiln__text_printf(&m->text, "  selp.b32 %%a, 1, 0, %%p%u;\n  st.global.b32 [%%mine+%u], %%a;\n", k, 8 * at++);
    kiln__text_printf(&m->text,
                      "  st.global.b64 [%%mine+%u], %%walk;\n  ld.shared.v2.b64 {%%d0, %%d1}, [%%slot];\n"
                      "  st.global.v2.b64 [%%mine+%u], {%%d0, %%d1};\n  ret;\n}\n",
                      8 * at, 8 * (at + 2 - at % 2));
}

/* ---- a short kernel ---- */

/* Writes a statement of a short kernel: an if-statement, a jump to the kernel's end, a barrier, an access, or
 * arithmetic. */
static void short_statement(maker *m)
{
    static const char *const sums[] = {"add.u32 %%r%u, %%r%u, %%r%u", "xor.b32 %%r%u, %%r%u, %%r%u",
                                       "mad.lo.u32 %%r%u, %%r%u, 5, %%r%u", "min.s32 %%r%u, %%r%u, %%r%u",
                                       "shf.l.wrap.b32 %%r%u, %%r%u, %%r%u, 7"};
    static const char *const places[] = {
        "ld.shared.u32 %%r%u, [%%slot+%u]",         "ld.shared.u32 %%r%u, [%%box+%u]",
        "ld.global.u32 %%r%u, [%%row+%u]",          "ld.global.u32 %%r%u, [%%x+%u]",
        "st.shared.u32 [%%slot+%2$u], %%r%1$u",     "st.global.u32 [%%mine+%2$u], %%r%1$u",
        "ld.shared.v2.u32 {%%r%u, %%r8}, [%%box+8]"};
    const unsigned what = below(m, 24), p = below(m, 4);
    char guard[16] = "";
    if (chance(m, 15))
        snprintf(guard, sizeof guard, "@%s%%p%u ", chance(m, 50) ? "!" : "", below(m, 4));
    if (what < 5) {
        const char *const values[] = {"lane", "wid", "ctaid", "s", "r0", "r1", "tid"};
        const char *const ways[] = {"lt.u32", "eq.u32", "gt.u32"};
        kiln__text_printf(&m->text, "  setp.%s %%p%u, %%%s, %u;\n", ways[below(m, 3)], p,
                          values[below(m, KILN__COUNT(values))], below(m, 40));
    } else if (what < 9 && m->depth < 3) {
        const unsigned end = m->labels++;
        kiln__text_printf(&m->text, "  @%s%%p%u bra L%u;\n", chance(m, 50) ? "!" : "", p, end);
        m->depth++;
        for (unsigned k = 1 + below(m, 5); k; k--)
            short_statement(m);
        m->depth--;
        kiln__text_printf(&m->text, "L%u:\n", end);
    } else if (what < 10) {
        kiln__text_printf(&m->text, "  @%%p%u bra %s;\n", p, chance(m, 70) ? "LAST" : "QUIT");
    } else if (what < 12 && !m->depth) {
        kiln__text_printf(&m->text, "  bar.sync %u;\n", below(m, 2));
    } else if (what < 17) {
        kiln__text_printf(&m->text, "  %s", guard);
        kiln__text_printf(&m->text, places[below(m, KILN__COUNT(places))], below(m, 8), 4 * below(m, 8));
        kiln__text_puts(&m->text, ";\n");
    } else {
        kiln__text_printf(&m->text, "  %s", guard);
        kiln__text_printf(&m->text, sums[below(m, KILN__COUNT(sums))], below(m, 8), below(m, 8), below(m, 8));
        kiln__text_puts(&m->text, ";\n");
    }
}

/* Writes a short kernel without local memory. It may have a loop whose trips are the same in all lanes. */
static void make_short(maker *m)
{
    const bool loops = chance(m, 40);
    kiln__text_puts(
        &m->text,
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 X, .param .u64 Y, .param .u64 E, "
        ".param .u32 N, .param .u32 S)\n{\n  .shared .align 16 .b8 shared[4096];\n  .reg .b32 %r<9>, %i, %n, %c, "
        "%lane, %slot, %box, %wid, %ctaid, %s, %tid;\n  .reg .b64 %x, %row, %mine;\n  .reg .pred %p<5>, %q;\n"
        "  ld.param.u64 %x, [X];\n  ld.param.u64 %mine, [Y];\n  ld.param.u32 %n, [N];\n  ld.param.u32 %s, [S];\n"
        "  mov.u32 %lane, %laneid;\n  mov.u32 %ctaid, %ctaid.x;\n  mov.u32 %tid, %tid.x;\n  shr.u32 %wid, %tid, 5;\n"
        "  mov.u32 %box, shared;\n  mad.lo.u32 %slot, %tid, 4, %box;\n  mov.u32 %c, %ntid.x;\n"
        "  mad.lo.u32 %c, %ctaid, %c, %tid;\n  mad.wide.u32 %mine, %c, 512, %mine;\n  mad.wide.u32 %row, %c, 4, %x;\n"
        "  ld.global.u32 %r0, [%row];\n  and.b32 %r1, %r0, 15;\n");
    for (unsigned k = 1 + below(m, 5); k; k--)
        short_statement(m);
    if (loops)
        kiln__text_puts(&m->text, "  mov.u32 %i, 0;\n  and.b32 %n, %n, 31;\nAGAIN:\n");
    for (unsigned k = 2 + below(m, 10); k; k--)
        short_statement(m);
    if (loops)
        kiln__text_puts(&m->text, "  add.u32 %i, %i, 1;\n  setp.lt.u32 %q, %i, %n;\n  @%q bra AGAIN;\n");
    for (unsigned k = below(m, 6); k; k--)
        short_statement(m);
    for (unsigned k = 0; k < 8; k++)
        kiln__text_printf(&m->text, "  st.global.u32 [%%mine+%u], %%r%u;\n", 64 + 4 * k, k);
    kiln__text_puts(&m->text, "LAST:\n  ret;\nQUIT:\n  exit;\n}\n");
}

/* ---- two devices ---- */

typedef struct plan {
    const char *text;
    size_t length;
    vm_limits limits;
    uint32_t threshold;
    bool exact;   /* true if everything must be equal; otherwise only results and lanes must be equal */
    bool checked; /* true if the devices have checks, under which some launches run */
} plan;

typedef struct side {
    vm_device *device;
    vm_check *check;
    vm_module *module;
    uint64_t at[3];
    size_t bytes[3];
} side;

/* Returns a number at which the kind of results changes, such as the largest float, or another number. */
static uint32_t number(uint32_t k, uint32_t salt)
{
    static const uint32_t special[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x80800001,
                                       0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffa00000,
                                       0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x4f800000, 0x7f7fffff,
                                       0xffffffff, 0x7fffffff, 0x1fffffff, 0x20000000, 0x00ffffff, 0x3f7fffff,
                                       0x40490fdb, 31,         32,         0xffff8000, 0x7c007bff, 0x00010400};
    const uint32_t x = (k + 1 + salt * 977) * 0x9e3779b1u;
    return x >> 30 ? x ^ x >> 15 : special[(x >> 8) % KILN__COUNT(special)];
}

static bool side_open(side *s, const plan *p, bool compiles)
{
    kiln__text log = {0};
    ptx_module *ptx = NULL;
    *s = (side){.bytes = {WORDS * 4, THREADS_MOST * OUT, EDGE}};
    if (ptx_parse(NULL, p->text, p->length, &ptx, &log) != PTX_OK) {
        kiln__text_free(&log);
        return false;
    }
    s->device = vm_device_new(NULL, &p->limits);
    WANT(s->device);
    if (compiles)
        WANT(sim_jit_open(s->device, p->threshold));
    if (p->checked) {
        s->check = check_new(NULL);
        WANT(s->check);
        s->check->often = 1; /* the launches are short */
        check_attach(s->device, s->check);
    }
    for (unsigned k = 0; k < 3; k++) {
        s->at[k] = vm_alloc(s->device, s->bytes[k]);
        WANT(s->at[k]);
        uint32_t *words = vm_pointer(s->device, s->at[k], s->bytes[k]);
        for (uint32_t n = 0; n < s->bytes[k] / 4; n++)
            words[n] = k == 1 ? 0 : number(n, k);
    }
    decode_module_load(s->device, ptx, &s->module, &log);
    kiln__text_free(&log);
    return true;
}

static void side_close(side *s)
{
    vm_module_unload(s->device, s->module);
    vm_device_free(s->device);
    check_free(s->check);
}

static bool is_same_place(const kiln_check_side *a, const kiln_check_side *b)
{
    return a->ptx_line == b->ptx_line && memcmp(a->block, b->block, sizeof a->block) == 0 &&
           memcmp(a->thread, b->thread, sizeof a->thread) == 0;
}

static void compare_findings(const vm_check *a, const vm_check *b)
{
    const size_t count = check_count_findings(a), other = check_count_findings(b);
    for (size_t k = 0; k < count || k < other; k++) {
        const kiln_check_finding *x = k < count ? check_get_finding(a, k) : NULL,
                                 *y = k < other ? check_get_finding(b, k) : NULL;
        const bool same = x && y && x->kind == y->kind && x->note == y->note && x->count == y->count &&
                          x->address == y->address && x->bytes == y->bytes && is_same_place(&x->at, &y->at) &&
                          is_same_place(&x->other, &y->other) && strcmp(x->message, y->message) == 0;
        if (!same)
            fprintf(stderr, "finding %zu\ninterpreted: %s (%" PRIu64 ")\ncompiled: %s (%" PRIu64 ")\n", k,
                    x ? x->message : "none", x ? x->count : 0, y ? y->message : "none", y ? y->count : 0);
        WANT(same);
    }
    WANT(check_dropped(a) == check_dropped(b) && check_starved(a) == check_starved(b));
}

/* Runs the kernel both ways and compares. Returns false if memory may differ from here on. */
static bool both(const plan *p, side *a, side *b, vm_launch *launch)
{
    vm_counters ca, cb;
    vm_fault fa, fb;
    launch->module = a->module;
    vm_run(a->device, launch, &ca, &fa);
    launch->module = b->module;
    vm_run(b->device, launch, &cb, &fb);
    if (p->checked) {
        WANT(check_host_advance_time(a->check) == check_host_advance_time(b->check));
        compare_findings(a->check, b->check);
    }
    if (getenv("FUZZ_JIT_SHOW"))
        fprintf(stderr, "%" PRIu64 " instructions: %s\n", ca.warp_instructions, fa.message);
    if (fa.kind != fb.kind || (p->exact && strcmp(fa.message, fb.message) != 0))
        fprintf(stderr, "interpreted: %s\ncompiled: %s\n", fa.message, fb.message);
    /* until the fault, the other host threads may have run any number of instructions */
    if (!p->exact && (fa.kind == VM_FAULT_STEPS || fb.kind == VM_FAULT_STEPS))
        return false;
    WANT(fa.kind == fb.kind);
    if (!p->exact && fa.kind != VM_OK)
        return false;
    WANT(strcmp(fa.message, fb.message) == 0 && fa.address == fb.address && fa.ptx_line == fb.ptx_line);
    WANT(memcmp(fa.block, fb.block, sizeof fa.block) == 0 && memcmp(fa.thread, fb.thread, sizeof fa.thread) == 0);
    if (ca.warp_instructions != cb.warp_instructions || ca.lane_instructions != cb.lane_instructions)
        fprintf(stderr, "interpreted: %" PRIu64 " %" PRIu64 ", compiled: %" PRIu64 " %" PRIu64 "\n",
                ca.warp_instructions, ca.lane_instructions, cb.warp_instructions, cb.lane_instructions);
    /* The time at which divergent lanes reconverge depends on other host threads. Compiled code does not keep registers
     * that nothing reads. So it may detect a deadlock one round later, and the counts may differ. */
    if (fa.kind == VM_FAULT_DEADLOCK)
        return true;
    WANT(!p->exact || ca.warp_instructions == cb.warp_instructions);
    WANT(ca.lane_instructions == cb.lane_instructions);
    for (unsigned k = 0; k < 3; k++) {
        const unsigned char *x = vm_pointer_read(a->device, a->at[k], a->bytes[k]);
        const unsigned char *y = vm_pointer_read(b->device, b->at[k], b->bytes[k]);
        for (size_t n = 0; n < a->bytes[k]; n++)
            if (x[n] != y[n]) {
                fprintf(stderr, "memory %u, thread %zu, byte %zu: interpreted %02x, compiled %02x\n", k, n / OUT,
                        n % OUT, x[n], y[n]);
                WANT(x[n] == y[n]);
            }
    }
    return true;
}

static void swallow(void *user, const char *text, size_t length) { (void)user, (void)text, (void)length; }

/* Lets the launch run under the checks. */
static void watch(vm_launch *launch, struct vm_watch *checks)
{
    *checks = (struct vm_watch){.checks = &check_hooks};
    launch->hooks = &count_watch_hooks;
    launch->watch = checks;
}

/* ---- texts ---- */

static bool has(const uint8_t *data, size_t size, const char *name)
{
    const size_t length = strlen(name);
    for (size_t at = 0; at + length <= size; at++)
        if (memcmp(data + at, name, length) == 0)
            return true;
    return false;
}

static void run_text(const uint8_t *data, size_t size)
{
    enum { KERNELS = 4 };
    if (has(data, size, "globaltimer")) /* the timer differs between the runs */
        return;
    const plan p = {.text = (const char *)data,
                    .length = size,
                    .limits = {.memory = 8 << 20,
                               .shared_per_block = 16 << 10,
                               .threads = 1,
                               .step_budget = 3000,
                               .local_bytes = 8 << 10,
                               .sm_count = 4,
                               .cc = 90},
                    .threshold = 1,
                    .exact = true,
                    /* the addresses of managed variables, which findings show, are pointers of the host */
                    .checked = size % 2 && !has(data, size, "managed")};
    side a, b;
    if (!side_open(&a, &p, false))
        return;
    WANT(side_open(&b, &p, true));
    WANT((a.module != NULL) == (b.module != NULL));
    for (uint32_t k = 0, kernels = 0; a.module && k < vm_module_ptx(a.module)->function_count && kernels < KERNELS;
         k++) {
        const ptx_function *function = &vm_module_ptx(a.module)->functions[k];
        if (!function->entry || !function->defined)
            continue;
        kernels++;
        for (unsigned turn = 0; turn < 3; turn++) { /* turn 0 runs without the checks, and turn 1 has a partial warp */
            unsigned char *params = calloc(1, function->param_bytes + 8);
            WANT(params);
            for (uint64_t at = 0; at + 8 <= function->param_bytes; at += 8) {
                const unsigned what = (unsigned)(at / 8 + turn) % 5;
                const uint64_t value = what < 2 ? a.at[what] : what == 2 ? 0 : what == 3 ? 7 : (uint64_t)3 << 32 | 40;
                memcpy(params + at, &value, 8);
            }
            vm_launch launch = {.kernel = (int)k,
                                .grid = {1 + turn % 2, 1, 1},
                                .block = {turn == 1 ? 70 : 128, 1, 1},
                                .params = params,
                                .print = swallow};
            struct vm_watch checks;
            if (p.checked && turn)
                watch(&launch, &checks);
            both(&p, &a, &b, &launch);
            free(params);
        }
    }
    if (getenv("FUZZ_JIT_SHOW"))
        fprintf(stderr, "%" PRIu64 " regions\n", sim_jit_regions(b.device));
    side_close(&a);
    side_close(&b);
}

/* ---- kernels of bytes ---- */

static void run_bytes(const uint8_t *data, size_t size)
{
    static const uint32_t thresholds[] = {1, 1, 1, 2, 5, 20}, threads[] = {32, 64, 128, 96, 70, 33, 31, 128};
    static const uint32_t trips[] = {5, 12, 3, 1, 40, 0, 300, 3000}, steps[] = {1, 0, 2, 5, 64, 31, 3};
    /* The first byte makes this choice, so that older inputs keep their meaning. */
    const bool wide = data[0] == '~';
    data += wide, size -= wide;
    const bool checked = size > 1 && data[0] == '?';
    data += checked, size -= checked;
    const bool brief = size > 1 && data[0] == '!';
    data += brief, size -= brief;
    maker m = {.data = data, .left = size, .rng = 0x9e3779b97f4a7c15ull, .wide = wide, .checked = checked};
    for (size_t k = 0; k < size; k++)
        m.rng = (m.rng ^ data[k]) * 0x100000001b3ull | 1;
    const uint32_t block = threads[below(&m, KILN__COUNT(threads))], grid = 1 + below(&m, 4);
    m.tame = chance(&m, 15) && !checked;
    plan p = {.limits = {.memory = 8 << 20,
                         .shared_per_block = 64 << 10,
                         .threads = m.tame ? 1 + below(&m, 4) : 1,
                         .step_budget = chance(&m, 80) ? 400000 : 1000 + below(&m, 256) * 97,
                         .sm_count = 4,
                         .cc = 90},
              .threshold = thresholds[below(&m, KILN__COUNT(thresholds))],
              .exact = !m.tame,
              .checked = checked};
    if (checked && p.limits.step_budget > CHECKED_STEPS)
        p.limits.step_budget = CHECKED_STEPS;
    if (brief) {
        make_short(&m);
    } else {
        begin(&m);
        statements(&m, below(&m, 3));
        loop(&m);
        statements(&m, below(&m, 3));
        finish(&m);
    }
    WANT(!m.text.failed);
    p.text = kiln__text_get(&m.text);
    p.length = m.text.length;
    // a text that replaces the kernel's text in the same launches; it helps to make a failing text smaller
    char *other = NULL;
    if (getenv("FUZZ_JIT_TEXT"))
        WANT(kiln__file_read(NULL, getenv("FUZZ_JIT_TEXT"), 0, &other, &p.length, NULL) == KILN_OK && (p.text = other));
    if (getenv("FUZZ_JIT_SHOW"))
        fprintf(stderr, "%s%u host threads\n", p.text, p.limits.threads);
    side a, b;
    if (side_open(&a, &p, false)) {
        WANT(side_open(&b, &p, true));
        WANT(a.module && b.module);
        volatile int stop = 0;
        const unsigned launches = brief ? 40 : 2 + below(&m, 3);
        for (unsigned k = 0; k < launches; k++) {
            const unsigned odd = k ? below(&m, 48) : 7;
            const uint64_t x = a.at[0] + (odd == 0   ? 4u
                                          : odd == 1 ? 2u
                                                     : 0u),
                           edge = a.at[2] + 4 * (k ? below(&m, 256) : 0);
            const struct {
                uint64_t x, y, edge;
                uint32_t n, step;
            } params = {odd == 2 ? 0 : x, a.at[1], edge, trips[below(&m, KILN__COUNT(trips))],
                        steps[below(&m, KILN__COUNT(steps))]};
            stop = odd == 4 && !m.tame;
            vm_launch launch = {.kernel = vm_module_kernel(a.module, "k"),
                                .grid = {grid, 1, 1},
                                .block = {block, 1, 1},
                                .params = &params,
                                .stop = &stop};
            struct vm_watch checks;
            if (checked && below(&m, 4))
                watch(&launch, &checks);
            if (!both(&p, &a, &b, &launch))
                break;
        }
        if (getenv("FUZZ_JIT_SHOW"))
            fprintf(stderr, "%" PRIu64 " regions\n", sim_jit_regions(b.device));
        side_close(&a);
        side_close(&b);
    } else if (getenv("FUZZ_JIT_SHOW")) {
        ptx_module *ptx;
        kiln__text log = {0};
        ptx_parse(NULL, p.text, p.length, &ptx, &log);
        fprintf(stderr, "%s", kiln__text_get(&log));
        kiln__text_free(&log);
    }
    kiln__text_free(&m.text);
    kiln__free(NULL, other);
}

static bool have_llvm(void)
{
    vm_device *device = vm_device_new(NULL, &(vm_limits){.memory = 1 << 20});
    const bool have = device && sim_jit_open(device, 1) && sim_jit_usable(device);
    vm_device_free(device);
    return have;
}

static bool is_text(const uint8_t *data, size_t size) { return size && (data[0] == '.' || data[0] == '/'); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool asked;
    if (!asked && !have_llvm()) {
        printf("SKIP llvm: no libLLVM that can be used\n");
        fflush(stdout);
        _exit(77); /* exit() is an error to libFuzzer */
    }
    asked = true;
    if (is_text(data, size))
        run_text(data, size);
    else if (size > 1)
        run_bytes(data, size);
    return 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak)); /* absent without libFuzzer */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return is_text(data, size) ? ptx_mutate(data, size, most, seed)
                               : LLVMFuzzerMutate(data, size, most > 512 ? 512 : most);
}
