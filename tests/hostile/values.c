/* values.c - hostile values. Most faults of a check show only where all other operands are right, so in most sets one or
 * two operands are hostile; the others are what a correct kernel would have. */
#include <string.h>

#include "hostile.h"
#include "vm_machine.h"

uint64_t hostile_next(hostile_source *s)
{
    if (s->left) {
        uint64_t value = 0;
        const size_t count = s->left < 2 ? s->left : 2;
        memcpy(&value, s->data, count);
        s->data += count, s->left -= count;
        s->state = (s->state ^ value) * 0x100000001b3ull;
        return value * 0x9e3779b97f4a7c15ull;
    }
    s->state += 0x9e3779b97f4a7c15ull; /* splitmix64 */
    uint64_t z = s->state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

uint32_t hostile_below(hostile_source *s, uint32_t limit)
{
    return limit ? (uint32_t)((hostile_next(s) >> 32) * limit >> 32) : 0;
}

bool hostile_chance(hostile_source *s, uint32_t percent) { return hostile_below(s, 100) < percent; }

#define PICK(s, list) ((list)[hostile_below(s, KILN__COUNT(list))])

/* Returns a distance from a boundary. */
static uint64_t step(hostile_source *s)
{
    static const int64_t steps[] = {0,   0,  0,   -1, 1,    -2,  2,    -4,  4,    -8,   8,    -16,   16,
                                    -32, 32, -64, 64, -128, 128, -256, 256, -112, -120, 1024, -1024, 12};
    return (uint64_t)PICK(s, steps);
}

static uint64_t point(hostile_source *s, const hostile_world *w) { return w->points[hostile_below(s, w->point_count)]; }

/* Returns a number that is often at the edge of a range, or a random one. */
static uint64_t any_value(hostile_source *s)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      7,
                                      8,
                                      15,
                                      16,
                                      17,
                                      31,
                                      32,
                                      33,
                                      63,
                                      64,
                                      127,
                                      128,
                                      255,
                                      256,
                                      4095,
                                      4096,
                                      65535,
                                      65536,
                                      0xffffff,
                                      0x1000000,
                                      0x7fffffff,
                                      0x80000000,
                                      0xfffffff0,
                                      0xffffffff,
                                      0x100000000,
                                      0x7fffffffffffffff,
                                      0x8000000000000000,
                                      0xfffffffffffffff0,
                                      0xffffffffffffffff,
                                      0xfffffffffffff000};
    return hostile_chance(s, 80) ? PICK(s, values) : hostile_next(s) >> hostile_below(s, 64);
}

/* Returns a size: small, huge, or the distance from `from` to some boundary. */
static uint64_t hostile_size(hostile_source *s, const hostile_world *w, uint64_t from)
{
    static const uint64_t sizes[] = {VM_SHARED_WINDOW,
                                     2 * VM_SHARED_WINDOW,
                                     3 * VM_SHARED_WINDOW,
                                     HOSTILE_SHARED,
                                     (uint64_t)1 << 32,
                                     (uint64_t)1 << 31,
                                     4096,
                                     48 << 10};
    switch (hostile_below(s, 4)) {
    case 0: return any_value(s);
    case 1: return PICK(s, sizes) + step(s);
    case 2: return (PICK(s, sizes) + step(s)) & ~(uint64_t)15;
    default: return point(s, w) + step(s) - from;
    }
}

static uint64_t target(hostile_source *s, const hostile_world *w, uint64_t bytes)
{
    for (unsigned tries = 0; tries < 8; tries++) {
        const unsigned k = hostile_below(s, w->target_count);
        if (w->target_bytes[k] >= bytes)
            return w->targets[k] + hostile_below(s, (uint32_t)(w->target_bytes[k] - bytes) / 16 + 1) * 16;
    }
    return w->targets[3];
}

static uint64_t shared_offset(const hostile_world *w, uint64_t at) { return vm_shared_low(w->device) + at; }

/* Returns an object that the instruction can use, if there is such an object. */
static uint64_t fitting_handle(hostile_source *s, const hostile_world *w, const hostile_kernel *kernel)
{
    const char *name = ptx_op_name(kernel->op), *geometry = kernel->geometry;
    const bool surface = name[0] == 's';
    for (unsigned tries = 0; tries < 64; tries++) {
        const unsigned k = hostile_below(s, w->handle_count);
        const vm_image *i = &w->images[k];
        const bool layered = geometry && geometry[0] == 'a', cube = geometry && strstr(geometry, "cube");
        const unsigned dims = geometry && !cube ? (unsigned)(geometry[layered] - '0') : 2;
        if (i->surface == surface &&
            (!geometry || (cube ? i->cube : i->dims == dims && (i->layers != 0) == layered && !i->cube)))
            return w->handles[k];
    }
    return w->handles[hostile_below(s, w->handle_count)];
}

/* Returns a valid instruction descriptor for the kernel's tcgen05.mma. The result D has up to 64 columns. */
static uint64_t product_of(hostile_source *s, const hostile_kernel *kernel)
{
    const char *text = kiln__text_get(&kernel->text);
    const bool ints = strstr(text, ".kind::i8"), tf32 = strstr(text, ".kind::tf32");
    const bool fours = strstr(text, ".kind::mxf4"), scaled = fours || strstr(text, ".kind::mxf8f6f4");
    const bool weights = strstr(text, "tcgen05.mma.ws"), sparse = strstr(text, ".sp.");
    const uint32_t blocks = strstr(text, ".cta_group::2") ? 2 : 1;
    const uint32_t rows = weights ? 32u << hostile_below(s, 3) : scaled ? 128 : 64u << hostile_below(s, 2);
    const uint32_t step = weights ? 64 : blocks == 2 && ints ? 32 : blocks == 1 && rows == 64 && !ints ? 8 : 16;
    /* the types of D, A and B, or of the scale factors */
    const uint32_t types = ints    ? 2u << 4
                           : tf32  ? 1u << 4 | 2u << 7 | 2u << 10
                           : fours ? 1u << 7 | 1u << 10 | 1u << 23
                                   : 1u << (scaled ? 23 : 4);
    const uint32_t across = fours ? 0 : hostile_below(s, 4) << 15, shift = weights ? hostile_below(s, 4) << 30 : 0;
    return types | across | (sparse ? 4u : 0) | shift | (1 + hostile_below(s, 64 / step)) * step / 8 << 17 |
           rows * blocks / 16 << 24;
}

/* Returns a zero-column mask: spans of used columns and of zeros, and a shift. */
static uint64_t zeros_of(hostile_source *s)
{
    return (uint64_t)hostile_below(s, 2) << 39 | (uint64_t)hostile_below(s, 16) << 32 |
           (uint64_t)hostile_below(s, 256) << 40 | (uint64_t)hostile_below(s, 256) << 48 |
           (uint64_t)(hostile_chance(s, 50) ? 0 : hostile_below(s, 33)) << 56;
}

/* Returns the value that a correct kernel has in this place. */
static uint64_t benign(hostile_source *s, const hostile_world *w, const hostile_kernel *kernel, char kind)
{
    static const uint32_t floats[] = {0, 0x3f000000, 0x3f800000, 0x40400000, 0xbf800000, 0x41000000};
    const uint64_t data = 1024 + 128 * (uint64_t)hostile_below(s, 16);
    switch (kind) {
    case 'g':
    case 'G':
        if (w->heap && hostile_chance(s, 50))
            return 1;
        if (kind == 'G')
            return target(s, w, 2048);
        return hostile_chance(s, 20) ? VM_SHARED_BASE + shared_offset(w, data) : target(s, w, 2048);
    case 's': return shared_offset(w, data);
    case 'l': return 16 * (uint64_t)hostile_below(s, 8);
    // the constants of the module, whose points were added last
    case 'c': return w->points[w->point_count - 2] + 16 * (uint64_t)hostile_below(s, 32);
    case 'p': return 48 + 8 * (uint64_t)hostile_below(s, 16);
    case 'S': return VM_SHARED_BASE + shared_offset(w, data);
    case 'b': return shared_offset(w, 8 * (uint64_t)hostile_below(s, hostile_chance(s, 90) ? 2 : HOSTILE_BARS));
    case 'B': return VM_SHARED_BASE + shared_offset(w, 8 * (uint64_t)hostile_below(s, 2));
    case 'm': return w->maps + (hostile_chance(s, 80) ? 0 : 3968);
    case 'z': return 16 * (uint64_t)(1 + hostile_below(s, 16));
    case 'r': return 1 + hostile_below(s, (1u << kernel->cluster) - 1);
    case 'R': return hostile_below(s, kernel->cluster);
    case 'k': return UINT32_MAX;
    case 'n': return hostile_below(s, 4);
    case 'w':
        return shared_offset(w, 1024) >> 4 | (uint64_t)hostile_below(s, 8) << 16 | (uint64_t)hostile_below(s, 8) << 32 |
               (uint64_t)hostile_below(s, 4) << 62;
    case 'T': return hostile_chance(s, 50) ? 0 : hostile_below(s, 48);
    case 'C': return 32u << hostile_below(s, 2);
    case 'D': /* a matrix descriptor with the swizzles that both layouts of a matrix have */
        return shared_offset(w, 1024) >> 4 | (uint64_t)hostile_below(s, 16) << 16 |
               (uint64_t)hostile_below(s, 16) << 32 | (uint64_t)1 << 46 | (uint64_t)hostile_below(s, 4) << 62;
    case 'I': return product_of(s, kernel);
    case 'Z': return zeros_of(s);
    case 'x': return hostile_below(s, 12);
    case 'X': return PICK(s, floats);
    case 'h': return fitting_handle(s, w, kernel);
    case 't': return 1 + hostile_below(s, 4);
    case 'e': return 64 * (uint64_t)hostile_below(s, 64);
    case 'y': return 16 * (uint64_t)(1 + hostile_below(s, 4));
    case 'd': return 1 + hostile_below(s, 2);
    case 'o': return hostile_below(s, 5);
    case 'W': return w->team_address + 16 * (uint64_t)hostile_below(s, 128);
    case 'f':
    case 'a':
    case 'i':
    case 'j':
    case 'M':
    case 'u': return 1;
    default: return any_value(s);
    }
}

/* Returns a hostile value of a kind (hostile.h): an address near the ends of memory, a size, a handle, a field. */
static uint64_t hostile(hostile_source *s, const hostile_world *w, const hostile_kernel *kernel, char kind,
                        uint64_t from)
{
    static const uint64_t field[] = {0,  1,   2,   3,   4,    5,    12,         13,        15,
                                     16, 255, 256, 257, 1023, 1024, 0x80000000, 0xffffffff};
    /* addresses of tensor memory: lane and column */
    static const uint64_t cells[] = {0,   192,    224,      248,       256,       448,
                                     512, 0xffff, 16 << 16, 112 << 16, 127 << 16, 128 << 16};
    switch (kind) {
    case 'G':
    case 'c':
    case 'g':
    case 'm':
    case 'a':
    case 'f':
    case 'i':
    case 'j':
    case 'M':
    case 'u': return point(s, w) + step(s);
    case 'W':
        return hostile_chance(s, 70) ? w->team_address + 2048 * (uint64_t)hostile_below(s, 5) + step(s)
                                     : point(s, w) + step(s);
    case 'S': return hostile(s, w, kernel, 's', from) + VM_SHARED_BASE;
    case 'B': return hostile(s, w, kernel, 'b', from) + VM_SHARED_BASE;
    case 's':
    case 'b': {
        const uint64_t window = hostile_chance(s, 40) ? 0 : VM_SHARED_WINDOW * hostile_below(s, 18);
        static const uint64_t places[] = {0, 0x400, 0x400 + HOSTILE_SHARED, HOSTILE_SHARED, VM_SHARED_WINDOW, 48 << 10};
        return hostile_chance(s, 80) ? window + PICK(s, places) + step(s) : point(s, w) + step(s);
    }
    case 'l': {
        static const uint64_t places[] = {0, 256, 8192, 272, UINT32_MAX, (uint64_t)1 << 32};
        return PICK(s, places) + step(s);
    }
    case 'p': {
        static const uint64_t places[] = {0, 48, 48 + HOSTILE_PARAMS, 4096, UINT32_MAX};
        return PICK(s, places) + step(s);
    }
    case 'z': return hostile_size(s, w, from);
    case 'w': return hostile_next(s);
    case 'T': return hostile_chance(s, 60) ? PICK(s, cells) + step(s) : any_value(s);
    case 'D': /* one part of a valid descriptor is changed */
        return hostile_chance(s, 20)
                   ? hostile_next(s)
                   : shared_offset(w, 1024) >> 4 | (uint64_t)1 << 46 |
                         (PICK(s, field) & 0x3fff) << 16 * hostile_below(s, 3) | (uint64_t)hostile_below(s, 8) << 61;
    case 'I': /* the descriptor of a valid product, with some bits changed */
        return hostile_chance(s, 20) ? hostile_next(s)
                                     : product_of(s, kernel) ^ 1u << hostile_below(s, 32) ^ 1u << hostile_below(s, 32);
    case 't': return hostile_chance(s, 60) ? PICK(s, field) : point(s, w) + step(s);
    case 'x': return hostile_chance(s, 50) ? PICK(s, field) - hostile_below(s, 9) : any_value(s);
    case 'h': return hostile_chance(s, 50) ? w->handles[hostile_below(s, w->handle_count)] + step(s) : any_value(s);
    case 'e':
        return hostile_chance(s, 50) ? 8192 + step(s) : hostile_chance(s, 50) ? VM_LOCAL_BASE + step(s) : any_value(s);
    case 'o': return hostile_chance(s, 50) ? 0x0800000000ull + hostile_below(s, 6) : point(s, w) + step(s);
    default: return hostile_chance(s, 80) ? any_value(s) : point(s, w) + step(s);
    }
}

/* ---- tensor maps ---- */

static void make_map(hostile_source *s, const hostile_world *w, const hostile_kernel *kernel, unsigned hostility,
                     uint64_t out[HOSTILE_MAP_WORDS])
{
    static const uint16_t boxes[] = {1, 2, 4, 8, 16, 32, 64, 128, 255, 256, 256, 256};
    static const uint8_t bytes[VM_TENSOR_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 1, 1, 1};
    static const uint32_t last[] = {0, 1, 7, 63, 255, 0x7fffffff, 0x80000000, 0xffffffff};
    vm_tensor_map m = {.mark = VM_TENSOR_MAP,
                       .rank = (uint8_t)(kernel->rank ? kernel->rank : 2),
                       .type = (uint8_t)(kernel->op == PTX_OP_CP_REDUCE_TENSOR && hostile_chance(s, 70)
                                             ? 2 + hostile_below(s, 4)
                                             : hostile_below(s, VM_TENSOR_TYPES)),
                       .swizzle = (uint8_t)(hostile_chance(s, 60) ? 0 : hostile_below(s, 5)),
                       .fill = (uint8_t)hostile_below(s, 2),
                       .address = target(s, w, 4096),
                       .im2col = (uint8_t)kernel->mode,
                       .channels = 16,
                       .pixels = (uint16_t)(1 + hostile_below(s, 8))};
    const unsigned element = bytes[m.type];
    if (m.swizzle && m.swizzle < 3 && hostile_chance(s, 80))
        m.swizzle = 3; /* rows of up to 128 bytes */
    m.box[0] = (uint16_t)(16 * (1 + hostile_below(s, 2)) / element);
    m.box[0] = m.box[0] ? m.box[0] : 1;
    for (unsigned k = 0; k < VM_TENSOR_RANK; k++) {
        m.step[k] = 1;
        m.last[k] = 3 + hostile_below(s, 13);
        if (k) {
            m.box[k] = (uint16_t)(1 + hostile_below(s, 3));
            m.stride[k - 1] = 16 * (uint64_t)(1 + hostile_below(s, 16));
        }
    }
    if (kernel->rows_listed)
        m.box[1] = 1;
    for (unsigned n = 0; n < hostility; n++) {
        const unsigned axis = hostile_below(s, VM_TENSOR_RANK);
        switch (hostile_below(s, 12)) {
        case 0: /* a box of the largest allowed size, because a check depends on the product of its sides */
            for (unsigned k = 0; k < VM_TENSOR_RANK; k++)
                m.box[k] = hostile_chance(s, 60) ? 256 : PICK(s, boxes);
            m.type = hostile_chance(s, 50) ? 0 : m.type;
            break;
        case 1: m.box[axis] = PICK(s, boxes); break;
        case 2: m.last[axis] = PICK(s, last); break;
        case 3: m.stride[axis % 4] = any_value(s); break;
        case 4: m.stride[axis % 4] = point(s, w) + step(s) - m.address; break;
        case 5: m.address = point(s, w) + step(s); break;
        case 6: m.step[axis] = (uint8_t)any_value(s); break;
        case 7: m.lower[axis % 3] = (int16_t)any_value(s), m.upper[axis % 3] = (int16_t)any_value(s); break;
        case 8: m.channels = hostile_chance(s, 50) ? 256 : (uint16_t)any_value(s); break;
        case 9: m.pixels = hostile_chance(s, 50) ? 1024 : (uint16_t)any_value(s); break;
        case 10: m.swizzle = (uint8_t)hostile_below(s, 5), m.box[0] = PICK(s, boxes); break;
        default: ((unsigned char *)&m)[hostile_below(s, sizeof m)] = (unsigned char)hostile_next(s); break;
        }
    }
    memset(out, 0, HOSTILE_MAP_WORDS * 8);
    memcpy(out, &m, sizeof m);
}

/* ---- formats of printf ---- */

void hostile_format_make(hostile_source *s, char *out, size_t size)
{
    static const char flags[] = "-+ #0", lengths[] = "hlLjztq", kinds[] = "diuoxXcsfFeEgGaApn%?*";
    size_t n = 0;
    const unsigned conversions = 1 + hostile_below(s, 6);
    for (unsigned k = 0; k < conversions && n + 2 < size; k++) {
        for (unsigned plain = hostile_below(s, 3); plain && n + 1 < size; plain--)
            out[n++] = (char)('a' + hostile_below(s, 26));
        if (n + 1 < size)
            out[n++] = '%';
        static const unsigned counts[] = {0, 0, 0, 1, 2, 5, 20, 63, 85, 96, 100, 200, 400};
        const char flag = flags[hostile_below(s, sizeof flags - 1)];
        for (unsigned count = PICK(s, counts); count && n + 1 < size; count--)
            out[n++] = flag;
        for (unsigned digits = hostile_chance(s, 60) ? 0 : hostile_below(s, 25); digits && n + 1 < size; digits--)
            out[n++] = "0123456789.*.*"[hostile_below(s, 14)];
        for (unsigned count = hostile_chance(s, 50) ? 0 : hostile_below(s, 4) * hostile_below(s, 8);
             count && n + 1 < size; count--)
            out[n++] = lengths[hostile_below(s, sizeof lengths - 1)];
        if (n + 1 < size && !hostile_chance(s, 3))
            out[n++] = kinds[hostile_below(s, sizeof kinds - 1)];
    }
    out[n < size ? n : size - 1] = '\0';
}

static void make_frame(hostile_source *s, const hostile_world *w, const hostile_kernel *kernel, unsigned hostility,
                       uint64_t *words, bool copy)
{
    for (unsigned k = 0; k < 32; k++)
        words[k] = hostile_chance(s, 60)   ? any_value(s)
                   : hostile_chance(s, 50) ? target(s, w, 1)
                                           : point(s, w) + step(s);
    if (!copy)
        return;
    /* cudaMemcpy3DParms: array, x, y, z, pointer, pitch, two sizes, then the same fields of the target, extent, kind */
    static const char kinds[] = "0zzzGzzz0zzzGzzzzzzv";
    for (unsigned k = 0; k < sizeof kinds - 1; k++)
        words[k] = kinds[k] == '0'                             ? 0
                   : hostility && hostile_chance(s, 15)        ? hostile(s, w, kernel, kinds[k], words[4])
                   : (k >= 1 && k <= 3) || (k >= 9 && k <= 11) ? 0
                   : k >= 17 && k <= 18                        ? 2
                                                               : benign(s, w, kernel, kinds[k]);
}

/* ---- sets ---- */

void hostile_set_make(hostile_source *s, const hostile_world *w, const hostile_kernel *kernel, uint64_t *set)
{
    static const uint64_t strides[] = {1,         2,          4,           8,          16,          32,
                                       0x1000000, 0x80000000, 0x100000000, UINT64_MAX, (uint64_t)-8};
    const unsigned flags = kernel->kind->flags, count = kernel->operand_count ? kernel->operand_count : 1;
    const bool uniform = flags & HOSTILE_UNIFORM;
    /* 0 if no operand is hostile, or 9 if all operands may be hostile */
    const unsigned many = hostile_below(s, 10);
    /* true if the tensor map is hostile, and not an operand */
    const bool changed = kernel->rank && hostile_chance(s, 60);
    uint32_t mask = uniform || hostile_chance(s, 60) ? UINT32_MAX
                    : hostile_chance(s, 50)          ? 1
                                                     : (uint32_t)hostile_next(s);
    set[0] = mask | (uint64_t)(uniform || hostile_chance(s, 70) ? 99 : hostile_below(s, 32)) << 32;
    make_map(s, w, kernel, changed ? 1 + hostile_below(s, 3) : 0, set + 1);
    uint64_t *at = set + 1 + HOSTILE_MAP_WORDS, last = 0;
    if (kernel->frame) {
        const bool copy = kernel->operand_count && kernel->operands[0].kind == 'i';
        hostile_format_make(s, (char *)at, 512);
        make_frame(s, w, kernel, many, at + 64, copy);
        at += 64 + 32;
    }
    const unsigned first = hostile_below(s, count), second = hostile_below(s, count);
    for (unsigned k = 0; k < kernel->operand_count; k++, at += 3) {
        const char kind = kernel->operands[k].kind;
        const bool bad = many == 9 ? hostile_chance(s, 60)
                                   : many > 1 && !changed && (k == first || (many > 6 && k == second));
        at[0] = bad ? hostile(s, w, kernel, kind, last) : benign(s, w, kernel, kind);
        if (strchr("gGslcS", kind))
            last = kind == 's' ? at[0] + VM_SHARED_BASE : at[0];
        const bool wide = strchr("gGslcS", kind) && !kernel->rank && hostile_chance(s, 40);
        at[1] = uniform ? 0 : wide ? 16 : bad && hostile_chance(s, 30) ? PICK(s, strides) : 0;
        at[2] = uniform || !hostile_chance(s, 50) ? at[0] : hostile(s, w, kernel, kind, last);
    }
}
