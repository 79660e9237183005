/* unit.c - finds the arithmetic units that a kernel's PTX uses. These units decide the bound of the roofline. */
#include <string.h>

#include "chars.h"
#include "measure_internal.h"
#include "plan_internal.h"

static bool in_word(char c) { return kiln__is_name_part(c) || c == '.' || c == ':' || c == '%' || c == '$'; }

typedef struct word {
    const char *text;
    size_t length;
} word;

static bool begins(word w, const char *with)
{
    size_t length = strlen(with);
    return w.length >= length && memcmp(w.text, with, length) == 0;
}

/* Returns whether `part` (such as ".f16") is one of the word's modifiers. */
static bool has(word w, const char *part)
{
    size_t length = strlen(part);
    for (size_t at = 0; at + length <= w.length; at++)
        if (memcmp(w.text + at, part, length) == 0 &&
            (at + length == w.length || w.text[at + length] == '.' || w.text[at + length] == ':'))
            return true;
    return false;
}

typedef struct rule {
    const char *part; /* "" matches any */
    unsigned unit;
} rule;

static unsigned first_of(word w, const rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!*rules[i].part || has(w, rules[i].part))
            return rules[i].unit;
    return 0;
}

/* Returns the tensor unit of an mma instruction. Some devices are faster with sums in f16. Such an instruction has no
 * f32 among the types of its matrices and sums. */
static unsigned tensor_unit(word w, const rule *rules, size_t count)
{
    unsigned unit = first_of(w, rules, count);
    if (!has(w, ".f16") || has(w, ".f32") || has(w, ".kind::f16") || has(w, ".kind::f8f6f4"))
        return unit;
    return unit == KILN_UNIT_TENSOR_FP16  ? KILN_UNIT_TENSOR_FP16_FP16
           : unit == KILN_UNIT_TENSOR_FP8 ? KILN_UNIT_TENSOR_FP8_FP16
                                          : unit;
}

/* Returns the unit that executes an instruction. Returns 0 if no unit that the `flops` of a spec count executes it. */
static unsigned unit_of(word w)
{
    static const rule tensor[] = {
        {".e4m3", KILN_UNIT_TENSOR_FP8},  {".e5m2", KILN_UNIT_TENSOR_FP8}, {".kind::f8f6f4", KILN_UNIT_TENSOR_FP8},
        {".tf32", KILN_UNIT_TENSOR_TF32}, {".f64", KILN_UNIT_TENSOR_FP64}, {".kind::tf32", KILN_UNIT_TENSOR_TF32},
        {".s8", KILN_UNIT_TENSOR_INT8},   {".u8", KILN_UNIT_TENSOR_INT8},  {".kind::i8", KILN_UNIT_TENSOR_INT8},
        {".s4", KILN_UNIT_TENSOR_INT8},   {".u4", KILN_UNIT_TENSOR_INT8},  {".b1", KILN_UNIT_TENSOR_INT8},
        {"", KILN_UNIT_TENSOR_FP16},
    };
    static const rule lanes[] = {
        {".f32", KILN_UNIT_FP32},   {".f32x2", KILN_UNIT_FP32}, {".f64", KILN_UNIT_FP64},    {".f16", KILN_UNIT_FP16},
        {".f16x2", KILN_UNIT_FP16}, {".bf16", KILN_UNIT_FP16},  {".bf16x2", KILN_UNIT_FP16},
    };
    static const char *const products[] = {"mma.", "wmma.mma.", "wgmma.mma_async.", "tcgen05.mma."};
    static const char *const sums[] = {"fma.", "mul.", "add.", "sub."};
    for (size_t i = 0; i < KILN__COUNT(products); i++)
        if (begins(w, products[i]))
            return tensor_unit(w, tensor, KILN__COUNT(tensor));
    for (size_t i = 0; i < KILN__COUNT(sums); i++)
        if (begins(w, sums[i]))
            return first_of(w, lanes, KILN__COUNT(lanes));
    return 0;
}

unsigned kiln__fastest_unit(const kiln_device_info *info, const char *ptx, size_t length)
{
    unsigned fastest = 0;
    for (size_t at = 0; at < length;) {
        if (ptx[at] == '/' && at + 1 < length && ptx[at + 1] == '/') { /* skips a comment up to the end of its line */
            const char *end = memchr(ptx + at, '\n', length - at);
            at = end ? (size_t)(end - ptx) : length;
            continue;
        }
        word w = {ptx + at, 0};
        while (at + w.length < length && in_word(w.text[w.length]))
            w.length++;
        unsigned unit = unit_of(w);
        if (unit && kiln__peak_flops(info, unit) > (fastest ? kiln__peak_flops(info, fastest) : 0))
            fastest = unit;
        at += w.length ? w.length : 1;
    }
    return fastest ? fastest : KILN_UNIT_FP32;
}
