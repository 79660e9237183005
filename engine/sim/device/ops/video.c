/* video.c - the video instructions, which add, compare or average parts of registers. The scalar forms compute one
 * part. The SIMD forms compute two or four parts at once. */
#include "vm_math.h"
#include "vm_ops.h"
#include "vm_video.h"

static int64_t part_of(uint64_t x, unsigned bits, unsigned at, bool sign)
{
    uint64_t part = x >> at * bits & (((uint64_t)1 << bits) - 1);
    return sign && part >> (bits - 1) ? (int64_t)part - ((int64_t)1 << bits) : (int64_t)part;
}

/* Returns the part of a register that a selector such as .b2 or .h1 names. A selector of 0 means the whole register. */
static int64_t selected(uint32_t x, uint32_t select, bool sign)
{
    if (!select)
        return part_of(x, 32, 0, sign);
    return part_of(x, PTX_SELECT_BITS(select), PTX_SELECT_DIGIT(select, 0), sign);
}

static int64_t clamp(int64_t x, unsigned bits, bool sign)
{
    int64_t most = sign ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1, least = sign ? -most - 1 : 0;
    return x < least ? least : x > most ? most : x;
}

static bool compare(unsigned op, int64_t a, int64_t b)
{
    switch (op) {
    case PTX_MOD_EQ: return a == b;
    case PTX_MOD_NE: return a != b;
    case PTX_MOD_LT: return a < b;
    case PTX_MOD_LE: return a <= b;
    case PTX_MOD_GT: return a > b;
    default: return a >= b;
    }
}

static int64_t combine(const vm_video *v, int64_t a, int64_t b)
{
    switch (v->op) {
    case VM_VIDEO_ADD: return a + b;
    case VM_VIDEO_SUB: return a - b;
    case VM_VIDEO_ABSDIFF: return a < b ? b - a : a - b;
    case VM_VIDEO_MIN: return a < b ? a : b;
    case VM_VIDEO_MAX: return a > b ? a : b;
    case VM_VIDEO_AVERAGE: return (a + b + (a + b >= 0)) >> 1;
    case VM_VIDEO_SET: return compare(v->compare, a, b);
    default: {
        uint32_t by = (uint32_t)b;
        by = v->wrap ? by & 31 : by > 32 ? 32 : by;
        return v->op == VM_VIDEO_SHL ? (int64_t)((uint64_t)a << by) : a >> by;
    }
    }
}

/* Computes one value. GPUs since Maxwell emulate the video instructions. In five points the emulation of an H200
 * differs from the manual, and the simulator follows the emulation (tests/conformance):
 * 1. Saturation to u32 stops at 0 and wraps at the upper end.
 * 2. Saturation to a part of d gives the greatest value, both for values below the range and for values above it.
 * 3. The part d.h1 gets the upper half of the result.
 * 4. A min or max after a vadd or vsub to u32 treats a result of 2^31 or more as larger than every c.
 * 5. The third operand of vset is signed. */
static uint32_t scalar(const vm_video *v, uint32_t a, uint32_t b, uint32_t c)
{
    unsigned width = v->d_select ? PTX_SELECT_BITS(v->d_select) : 32;
    int64_t r = combine(v, selected(a, v->a_select, v->a_signed), selected(b, v->b_select, v->b_signed));
    if (v->d_select) {
        int64_t most = ((int64_t)1 << (width - v->d_signed)) - 1;
        if (v->sat && (r < 0 || r > most))
            r = most;
        unsigned at = PTX_SELECT_DIGIT(v->d_select, 0), shift = width * at;
        uint32_t keep = ((1u << width) - 1) << shift, x = (uint32_t)(uint64_t)r;
        return (c & ~keep) | ((width == 16 && at ? x : x << shift) & keep);
    }
    if (v->sat && v->d_signed)
        r = clamp(r, 32, true);
    else if (v->sat && r < 0)
        r = 0;
    uint32_t x = (uint32_t)(uint64_t)r;
    if (v->second == PTX_MOD_ADD)
        return x + c;
    if (!v->second)
        return x;
    bool extreme = v->op == VM_VIDEO_MIN || v->op == VM_VIDEO_MAX;
    int64_t left = !v->d_signed ? (int64_t)x : extreme ? r : (int32_t)x;
    int64_t right = v->d_signed || v->op == VM_VIDEO_SET ? (int32_t)c : (int64_t)c;
    bool less = left < right && (v->d_signed || extreme || !(x >> 31));
    return less == (v->second == PTX_MOD_MIN) ? x : c;
}

/* Computes two or four elements of a SIMD instruction. An element of an operand may come from any position in the pair
 * of a and b. Only the elements in the mask are written. The other elements of the result come from c. */
static uint32_t several(const vm_video *v, uint32_t a, uint32_t b, uint32_t c)
{
    unsigned count = v->lanes, bits = 32 / count;
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t d = v->second ? c : 0;
    for (unsigned k = 0; k < count; k++) {
        unsigned ka = v->a_select ? PTX_SELECT_DIGIT(v->a_select, count - 1 - k) : k;
        unsigned kb = v->b_select ? PTX_SELECT_DIGIT(v->b_select, count - 1 - k) : count + k;
        int64_t r = combine(v, part_of(both, bits, ka, v->a_signed), part_of(both, bits, kb, v->b_signed));
        bool take = !v->d_select;
        for (unsigned n = 0; v->d_select && n < PTX_SELECT_COUNT(v->d_select); n++)
            take |= PTX_SELECT_DIGIT(v->d_select, n) == k;
        if (v->sat)
            r = clamp(r, bits, v->d_signed);
        uint32_t keep = ((1u << bits) - 1) << k * bits;
        if (v->second)
            d += take ? (uint32_t)(uint64_t)r : 0;
        else
            d |= take ? (uint32_t)(uint64_t)r << k * bits & keep : c & keep;
    }
    return d;
}

__extension__ typedef __int128 wide;

/* Executes vmad: computes the exact product plus the addend, then scales the sum, and truncates or saturates it. The
 * addend is always signed. A factor that is a full word is also signed, even if its type is unsigned. Both rules follow
 * the emulation on GPUs, as in scalar(). */
static uint32_t product(const vm_video *v, uint32_t a, uint32_t b, uint32_t c)
{
    bool sign = v->a_signed || v->b_signed || v->a_negate != v->b_negate || v->c_negate;
    int64_t x = selected(a, v->a_select, v->a_signed || !v->a_select);
    int64_t y = selected(b, v->b_select, v->b_signed || !v->b_select);
    wide r = (wide)x * y;
    if (v->a_negate != v->b_negate)
        r = -r;
    r += v->c_negate ? -(wide)(int32_t)c : (wide)(int32_t)c;
    r += v->plus_one;
    r >>= v->scale;
    if (v->sat && sign)
        r = r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r;
    else if (v->sat)
        r = r < 0 ? (v->scale ? UINT32_MAX : 0) : r > UINT32_MAX ? UINT32_MAX : r;
    return (uint32_t)r;
}

void ops_video(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_video *v = i->extra;
    VM_EACH(lane, m) {
        uint32_t a = vm_r32(w, i->a)[lane], b = vm_r32(w, i->b)[lane], c = i->c ? vm_r32(w, i->c)[lane] : 0;
        vm_r32(w, i->d)[lane] = v->op == VM_VIDEO_MAD ? product(v, a, b, c)
                                : v->lanes > 1        ? several(v, a, b, c)
                                                      : scalar(v, a, b, c);
    }
}
