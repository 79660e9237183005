/* Tests products of tcgen05.mma. Compares random tiles of every kind, type, layout and size with an oracle on the host:
 * dense, sparse, with scale factors, and weight-stationary.
 *
 * The oracle does not use the simulator's code. It uses the whole matrices, in which a sparse matrix A has zeros. Sums
 * of small whole numbers are exact in any order. For other numbers the oracle uses the arithmetic of the page "Tensor
 * memory": the products of one instruction are cut at 25 bits below the largest product. For packed elements of 4 bits,
 * groups of products are cut at 35 bits below the largest scale factor. The results were not compared with hardware. */
#include "tcgen_matrix.h"

enum { MOST_K = 128, MOST_ROWS = 256 + 32 };

typedef enum sums { SUM_F16, SUM_F32, SUM_S32 } sums;
typedef enum kind { KIND_F16, KIND_TF32, KIND_F8F6F4, KIND_I8, KIND_MXF8F6F4, KIND_MXF4, KIND_MXF4NVF4, KINDS } kind;
static const char *const kind_names[KINDS] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};

typedef struct product {
    kind kind;
    matrix a, b; /* a.k is the number of stored elements of a row */
    sums d;
    unsigned m, n, k; /* `k` is the number of elements in a row of the whole matrix A */
    bool add, a_tensor, saturate, exact;
    unsigned scale; /* 0 if the instruction has no scale */
    bool masked;
    unsigned pair; /* blocks: 1 or 2 */
    bool sparse, stationary, shift;
    /* the product has scale factors, of type ue8m0, whose number the instruction names */
    bool scaled, ue8m0, by_count;
    unsigned factors, first[2]; /* the number of a row's scale factors; the bytes of the first factors of A and B */
    unsigned selector;
    uint64_t zero_mask; /* used if `has_mask` is set; has the same contents as `zeros` and the shift */
    bool has_mask, zeros[256];
    unsigned b_shift, shift_code;
    unsigned banks;
    bool half;
    unsigned lane, column, a_column, e_column, scale_column[2];
    uint32_t masks[8];
} product;

static bool is_packed(const product *p) { return p->kind >= KIND_MXF4; }

/* ---- the kernel ---- */

/* Writes the suffixes and the operands of the instruction. */
static void write_instruction(kiln__text *text, const product *p)
{
    kiln__text_printf(text, "tcgen05.mma%s%s.cta_group::%u.kind::%s", p->stationary ? ".ws" : "",
                      p->sparse ? ".sp" : "", p->pair, kind_names[p->kind]);
    if (p->scaled) {
        static const char *const counts[] = {"", ".scale_vec::1X", ".scale_vec::2X", "", ".scale_vec::4X"};
        const bool sixteen = p->kind == KIND_MXF4NVF4 && p->factors >= 4;
        kiln__text_printf(text, ".block_scale%s", p->by_count ? counts[p->factors] : sixteen ? ".block16" : ".block32");
    }
    kiln__text_printf(text, "%s [%%r21], %s, %%d6, %s%%r20", p->shift ? ".ashift" : "", p->a_tensor ? "[%r22]" : "%d5",
                      p->sparse ? "[%r31], " : "");
    if (p->scaled)
        kiln__text_puts(text, ", [%r32], [%r33]");
    if (p->masked)
        kiln__text_puts(text,
                        p->pair == 2 ? ", {%r24, %r25, %r26, %r27, %r4, %r5, %r6, %r7}" : ", {%r24, %r25, %r26, %r27}");
    kiln__text_puts(text, ", %p4");
    if (p->scale)
        kiln__text_printf(text, ", %u", p->scale);
    kiln__text_printf(text, "%s;\n", p->has_mask ? ", %d7" : "");
}

static void write_kernel(kiln__text *text, const product *p)
{
    write_begin(text, p->pair);
    write_instruction(text, p);
    write_end(text, p->pair);
}

/* ---- the oracle ---- */

/* Returns the cell of element (row, j) of D, which combines the lane and the column. Sets *block to its block. */
static unsigned cell_of(const product *p, unsigned row, unsigned j, unsigned *block)
{
    const unsigned each = p->m / p->pair, width = p->n / p->banks;
    *block = row / each;
    row %= each;
    const unsigned lane = p->half ? row % 16 + row / 16 * 32 : row + j / width * (LANES / p->banks);
    return (lane + p->lane) * COLUMNS + p->column + j % width;
}

/* The elements of a matrix, with p->k elements in each row. Has their values, and the powers of two that count for the
 * cut. `factor` has the scale factors of a row. */
typedef struct numbers {
    double value[MOST_ROWS * MOST_K];
    int power[MOST_ROWS * MOST_K];
    uint8_t factor[MOST_ROWS][6];
} numbers;

/* Adds products to a sum as README.md describes. The sum and all products are cut towards zero, at 25 bits below the
 * power of two of the largest. The result is cut to single precision, and the caller may round it to a half. */
static double add_products(const product *p, double start, const double *x, const int *px, const double *y,
                           const int *py, unsigned k)
{
    const int least = p->d == SUM_F16 ? -14 : -126;
    int top = start == 0 ? -1000 : ilogb(start) < least ? least : ilogb(start);
    for (unsigned n = 0; n < k; n++)
        if (x[n] != 0 && y[n] != 0)
            top = top > px[n] + py[n] ? top : px[n] + py[n];
    top = top < -126 ? -126 : top;
    const double scale = ldexp(1, 25 - top);
    double total = trunc(start * scale);
    for (unsigned n = 0; n < k; n++)
        total += trunc(x[n] * y[n] * scale);
    total = ldexp(total, top - 25);
    if (p->d == SUM_F16 || total == 0)
        return total;
    const int unit = ilogb(total) - 23 < -149 ? -149 : ilogb(total) - 23;
    return ldexp(trunc(ldexp(total, -unit)), unit);
}

/* Rounds to the nearest half; ties go to even. */
static uint32_t round_half(double x)
{
    if (x == 0)
        return 0; /* sums of products are never -0 here, because they begin with +0 */
    const uint32_t sign = x < 0 ? 0x8000 : 0;
    const int power = ilogb(x) < -14 ? -14 : ilogb(x);
    double units = rint(ldexp(fabs(x), 10 - power));
    uint32_t bits = (uint32_t)((power + 14) << 10) + (uint32_t)units;
    return sign | (bits > 0x7c00 ? 0x7c00 : bits);
}

/* Returns the power of two of a factor. A subnormal number has the power of its format's smallest normal number. */
static int power_of(type t, double x)
{
    const int least = t == TF32 || t == BF16 ? -126 : 2 - (1 << (types[t].exponent - 1));
    return x == 0 ? -1000 : ilogb(x) < least ? least : ilogb(x);
}

/* Returns the value of a scale factor, and its power of two. */
static double value_of_factor(bool ue8m0, uint8_t bits, int *power)
{
    const double value = ue8m0                 ? (bits == 255 ? NAN : ldexp(1, bits - 127))
                         : (bits & 127) == 127 ? NAN
                                               : value_of(E4M3, bits & 127);
    *power = value == 0 || isnan(value) ? -126 : ue8m0 || ilogb(value) > -6 ? ilogb(value) : -6;
    return value;
}

/* Sets the values of a matrix with p->k elements in each row. */
static void prepare(numbers *to, const product *p, const matrix *x, const uint32_t *bits, unsigned rows)
{
    for (unsigned n = 0; n < rows * p->k; n++) {
        to->value[n] = value_of(x->type, bits[n]) * (x->negative ? -1 : 1);
        to->power[n] = x->type == U8 || x->type == S8 ? 0 : power_of(x->type, to->value[n]);
        int power = 0;
        if (p->kind == KIND_MXF8F6F4)
            to->value[n] *= value_of_factor(true, to->factor[n / p->k][0], &power);
        to->power[n] += power;
    }
}

/* Adds groups of sixteen products of stored elements to a sum. A group has the scale factors of its first element. */
static double add_groups(const product *p, double start, const double *x, const uint8_t *fx, const double *y,
                         const uint8_t *fy)
{
    const unsigned size = p->sparse ? 32 : 16, count = p->k / size;
    double terms[8];
    int powers[8], top = start == 0 || ilogb(start) < -126 ? -126 : ilogb(start);
    for (unsigned g = 0; g < count; g++) {
        int px, py;
        const unsigned f = g * size / (p->k / p->factors);
        const double scale = value_of_factor(p->ue8m0, fx[f], &px) * value_of_factor(p->ue8m0, fy[f], &py);
        double sum = 0;
        for (unsigned n = g * size; n < (g + 1) * size; n++)
            sum += x[n] * y[n];
        terms[g] = sum * scale;
        powers[g] = px + py;
        top = top > powers[g] ? top : powers[g];
        if (isnan(scale))
            return NAN;
    }
    double total = trunc(ldexp(start, 35 - top));
    for (unsigned g = 0; g < count; g++)
        total += trunc(ldexp(terms[g], 35 - top));
    total = ldexp(total, top - 35);
    const int unit = total == 0 || ilogb(total) - 23 < -149 ? -149 : ilogb(total) - 23;
    return ldexp(trunc(ldexp(total, -unit)), unit);
}

/* Returns the expected element of D. `before` is the value of the element before the product. */
static uint32_t oracle(const product *p, uint32_t before, const numbers *a, unsigned row, const numbers *b, unsigned j)
{
    static const double nothing[MOST_K];
    const double *x = a->value + row * p->k, *y = p->zeros[j] ? nothing : b->value + (j + p->b_shift) * p->k;
    double start = !p->add ? 0 : p->d == SUM_F16 ? value_of(F16, before & 0xffff) : (double)float_of(before);
    double total = p->d == SUM_S32 ? (p->add ? (int32_t)before : 0) : (start = ldexp(start, -(int)p->scale));
    if (!p->exact && is_packed(p))
        total = add_groups(p, start, x, a->factor[row], y, b->factor[j]);
    for (unsigned n = 0; n < p->k && (p->exact || p->d == SUM_S32); n++) {
        int unused;
        const unsigned f = n / (p->k / (p->factors ? p->factors : 1));
        total += x[n] * y[n] * /* x and y are whole numbers, so the sum is exact */
                 (!is_packed(p) ? 1
                                : value_of_factor(p->ue8m0, a->factor[row][f], &unused) *
                                      value_of_factor(p->ue8m0, b->factor[j][f], &unused));
    }
    if (p->d == SUM_S32 && p->saturate)
        total = total > INT32_MAX ? INT32_MAX : total < INT32_MIN ? INT32_MIN : total;
    if (p->d == SUM_S32)
        return (uint32_t)(int64_t)total;
    if (!p->exact && !is_packed(p)) {
        for (unsigned n = 0; n < p->k; n++)
            if (isnan(x[n] * y[n]))
                return 0x7fffffff;
        total = add_products(p, start, x, a->power + row * p->k, y, b->power + (j + p->b_shift) * p->k, p->k);
    }
    if (isnan(total))
        return 0x7fffffff;
    return p->d == SUM_F16 ? round_half(total) : bits_of_float((float)total);
}

/* ---- trials ---- */

/* Draws M and N, and whether the product is weight-stationary. */
static void draw_shape(product *p)
{
    const bool ints = p->kind == KIND_I8, wide = p->b.across && types[p->b.type].bytes == 1;
    p->stationary = !p->scaled && p->pair == 1 && draw(3) == 0;
    if (p->stationary) {
        p->m = 32u << draw(3);
        p->n = 64u << draw(p->sparse ? 2 : 3);
        p->banks = 128 / p->m;
        return;
    }
    p->m = p->scaled && (p->pair == 1 || p->sparse) ? 128 * p->pair : (draw(2) ? 128 : 64) * p->pair;
    const unsigned step = p->pair == 2 ? (ints || wide ? 32 : 16) : wide ? 16 : 8;
    do
        p->n = step * (1 + draw(draw(4) ? 64 / step : 256 / step));
    while (ints && p->n > 24 && p->n % 16);
    p->banks = p->m / p->pair == 64 && p->pair == 2 && !p->sparse ? 2 : 1;
    p->half = p->m / p->pair == 64 && p->banks == 1;
}

/* Draws the number, the type and the place of scale factors. */
static void draw_scales(product *p)
{
    const bool sixteen = p->kind == KIND_MXF4NVF4 && draw(2);
    p->factors = p->kind == KIND_MXF8F6F4 ? 1 : p->k == 96 ? (sixteen ? 6 : 3) : sixteen ? 4 : 2;
    p->ue8m0 = !sixteen || draw(2);
    p->by_count = p->k != 96 && draw(2);
    for (unsigned side = 0; side < 2; side++)
        p->first[side] = p->factors % 2 ? draw(4) : p->factors == 4 ? 0 : 2 * draw(2);
}

/* Draws a zero-column mask. Marks the columns of random spans as zeros, and encodes the same spans. */
static void draw_zeros(product *p)
{
    const unsigned used = 1 + draw(40), zero = 1 + draw(40), width = p->n / p->banks;
    p->has_mask = true;
    p->shift_code = draw(4);
    const unsigned most = p->shift_code ? 4u << p->shift_code : 0;
    p->b_shift = draw(most + 1);
    if (p->m == 32 && p->b_shift > 16)
        p->b_shift = 16;
    p->zero_mask = (uint64_t)p->b_shift << 56 | (uint64_t)(used - 1) << 48 | (uint64_t)(zero - 1) << 40;
    const bool some = draw(4);
    p->zero_mask |= (uint64_t)some << 39;
    for (unsigned bank = 0; bank < p->banks; bank++) {
        bool now = draw(2);
        unsigned skipped = draw(now ? zero : used), left = (now ? zero : used) - skipped;
        p->zero_mask |= (uint64_t)now << (32 + bank) | (uint64_t)skipped << 8 * bank;
        for (unsigned j = 0; j < width; j++) {
            p->zeros[bank * width + j] = some && now;
            if (--left == 0) {
                now = !now;
                left = now ? zero : used;
            }
        }
    }
}

/* Places D, A, the metadata and the scale factors one after the other in tensor memory. */
static void place_all(product *p)
{
    unsigned widths[5] = {p->n / p->banks, p->a_tensor ? 12 : 0, p->sparse ? 3 : 0, p->scaled ? 8 : 0,
                          p->scaled ? 16 : 0};
    unsigned *const places[5] = {&p->column, &p->a_column, &p->e_column, &p->scale_column[0], &p->scale_column[1]};
    unsigned total = 0, order = draw(5);
    for (unsigned k = 0; k < 5; k++)
        total += widths[k];
    unsigned at = draw(COLUMNS - total + 1);
    for (unsigned k = 0; k < 5; k++, order = (order + 1) % 5) {
        *places[order] = order == 2 ? at + at % 2 : at;
        at += widths[order];
    }
}

static product draw_product(kind of, type a, type b, unsigned pair)
{
    product p = {.kind = of, .a.type = a, .b.type = b, .pair = pair, .scaled = of >= KIND_MXF8F6F4};
    const bool ints = of == KIND_I8, halves = a == F16 || of == KIND_F8F6F4;
    p.d = ints ? SUM_S32 : !p.scaled && halves && draw(2) ? SUM_F16 : SUM_F32;
    p.sparse = draw(3) == 0;
    const bool longer = is_packed(&p) && !p.sparse && draw(4) == 0;
    p.a.packed = p.b.packed = is_packed(&p);
    p.a.k = longer ? 96u : is_packed(&p) ? 64u : 32u / types[a].bytes;
    p.k = p.b.k = p.sparse ? 2 * p.a.k : p.a.k;
    p.a.rows = 128;
    p.b.rows = 256 + 32;
    lay_out(&p.a, 0);
    lay_out(&p.b, 64 * 1024);
    p.a_tensor = draw(3) == 0;
    p.a.across = p.a.across && !p.a_tensor;
    draw_shape(&p);
    if (p.scaled)
        draw_scales(&p);
    if (p.stationary && draw(2))
        draw_zeros(&p);
    p.shift = p.a_tensor && !p.scaled && !p.stationary && p.m / pair == 128 && draw(3) == 0;
    p.selector = p.sparse && (of == KIND_F16 || of == KIND_TF32) ? draw(2) : 0;
    p.a.negative = !ints && draw(4) == 0;
    p.b.negative = !ints && draw(4) == 0;
    p.add = draw(3) != 0;
    p.saturate = ints && draw(2);
    p.scale = (of == KIND_F16 || of == KIND_TF32) && !p.stationary && draw(3) == 0 ? 1 + draw(15) : 0;
    p.exact = !p.scale && draw(2) && !(p.scaled && (a == E3M2 || b == E3M2));
    p.masked = !p.scaled && !p.stationary && draw(3) == 0;
    for (unsigned n = 0; n < 8; n++)
        p.masks[n] = tcgen_seed(&seed) << 8 ^ tcgen_seed(&seed);
    p.lane = p.half ? 16 * draw(2) : 0;
    place_all(&p);
    return p;
}

static uint32_t describe(const product *p)
{
    const uint32_t both = (uint32_t)p->sparse << 2 | (uint32_t)p->a.negative << 13 | (uint32_t)p->b.negative << 14 |
                          (uint32_t)p->a.across << 15 | (uint32_t)p->b.across << 16 | p->n / 8 << 17 | p->m / 16 << 24;
    const uint32_t a = is_packed(p) ? 1 : types[p->a.type].code, b = is_packed(p) ? 1 : types[p->b.type].code;
    if (p->scaled)
        return both | p->first[1] << 4 | a << 7 | b << 10 | (uint32_t)p->ue8m0 << 23 | p->first[0] << 29 |
               (uint32_t)(p->k == 96) << 31;
    return both | p->selector | (uint32_t)p->saturate << 3 | (uint32_t)p->d << 4 | a << 7 | b << 10 |
           p->shift_code << 30;
}

/* Writes a stored element of A to each bank of tensor memory. */
static void put_tensor(trial *t, const product *p, unsigned row, unsigned n, uint32_t bits)
{
    const unsigned each = p->m / p->pair, own = row % each, width = types[p->a.type].bytes;
    for (unsigned bank = 0; bank < p->banks; bank++) {
        const unsigned lane = (p->half ? own % 16 + own / 16 * 32 : own + bank * (LANES / p->banks)) + p->lane;
        unsigned char *at = (unsigned char *)(t->fill + row / each * CELLS + lane * COLUMNS + p->a_column);
        const uint32_t box = p->a.type == E2M1 && !is_packed(p) ? bits << 2 : bits;
        if (is_packed(p))
            at[n / 2] = (unsigned char)(n % 2 ? (at[n / 2] & 0x0f) | bits << 4 : (at[n / 2] & 0xf0) | bits);
        else
            memcpy(at + n * width, &box, width);
    }
}

/* Writes the four bits of metadata for a group of elements in a row to each bank of tensor memory. */
static void put_metadata(trial *t, const product *p, unsigned row, unsigned group, uint32_t bits)
{
    const unsigned each = p->m / p->pair, own = row % each;
    for (unsigned bank = 0; bank < p->banks; bank++) {
        const unsigned at = p->half ? own % 16 + own / 16 * 32 : own + bank * (LANES / p->banks);
        /* 16 bits and more: rows (8, 2, n): a lane, half a column, 16 lanes; groups (4, 2): 4 bits, 8 lanes */
        const bool shared = p->kind == KIND_F16 || p->kind == KIND_TF32;
        const unsigned lane = shared ? (at & 7) + (at >> 4 << 4) + (group >> 2 << 3) : at;
        const unsigned bit = shared ? p->selector * 32 + (at >> 3 & 1) * 16 + (group & 3) * 4 : group * 4;
        uint32_t *cell = t->fill + row / each * CELLS + (lane + p->lane) * COLUMNS + p->e_column + bit / 32;
        *cell = (*cell & ~(15u << bit % 32)) | bits << bit % 32;
    }
}

/* Draws a row of A with p->k elements. A sparse matrix stores half of them. */
static void fill_row(trial *t, const product *p, unsigned row, uint32_t *whole)
{
    const unsigned each = p->m / p->pair, block = row / each;
    /* a group has `most` units of which `most / 2` are stored; a unit is an element, or two packed elements */
    const unsigned unit = is_packed(p) ? 2 : 1, most = p->kind == KIND_TF32 ? 2 : 4, size = most * unit;
    memset(whole, 0, p->k * sizeof *whole);
    for (unsigned n = 0; n < p->a.k; n++) {
        static unsigned chosen[2];
        const unsigned group = n / (size / 2), own = n % (size / 2);
        if (p->sparse && own == 0) {
            chosen[0] = draw(most == 2 ? 2 : 3);
            chosen[1] = chosen[0] + 1 + (most == 2 ? 0 : draw(3 - chosen[0]));
            put_metadata(t, p, row, group, most == 2 ? (chosen[0] ? 14 : 4) : chosen[0] | chosen[1] << 2);
        }
        const uint32_t bits = draw_bits(p->a.type, p->exact);
        whole[p->sparse ? group * size + chosen[own / unit] * unit + own % unit : n] = bits;
        if (p->a_tensor)
            put_tensor(t, p, row, n, bits);
        else
            put_element(t->image + block * IMAGE, &p->a, row % each, n, bits);
    }
}

/* Draws a scale factor, and writes it to the four quarters of a block's lanes. If a product has two banks, the second
 * bank has other columns of B. `row` is a row of A in the block, or a column of B. */
static void fill_factor(trial *t, const product *p, unsigned side, unsigned block, unsigned row, unsigned f,
                        uint8_t bits)
{
    const unsigned parts = side ? p->banks : 1, rows = side ? p->n / parts : p->m / p->pair, own = row % rows;
    const unsigned byte = p->first[side] + f;
    for (unsigned quarter = row / rows * (4 / parts); quarter < (row / rows + 1) * (4 / parts); quarter++) {
        const unsigned column = p->scale_column[side] + own / 32 + (byte > 3 ? (rows > 128 ? 8 : 4) : 0);
        uint32_t *cells = t->fill + block * CELLS + (32 * quarter + own % 32) * COLUMNS;
        ((unsigned char *)(cells + column))[byte % 4] = bits;
    }
}

static void fill_factors(trial *t, const product *p, numbers *x, numbers *y)
{
    for (unsigned side = 0; side < 2 && p->scaled; side++)
        for (unsigned row = 0; row < (side ? p->n : p->m); row++)
            for (unsigned f = 0; f < p->factors; f++) {
                const uint32_t any = p->ue8m0 ? 127 - 20 + draw(41) : draw(127);
                const uint8_t bits = (uint8_t)(p->exact          ? (p->ue8m0 ? 127 + draw(2) : 0x38 + 8 * draw(2))
                                               : draw(3000) == 0 ? 255
                                                                 : any);
                (side ? y : x)->factor[row][f] = bits;
                const unsigned each = p->m / p->pair;
                for (unsigned block = side ? 0 : row / each; block < (side ? p->pair : row / each + 1); block++)
                    fill_factor(t, p, side, block, side ? row : row % each, f, bits);
            }
}

/* Fills tensor memory and both matrices. a and b get the elements, with p->k elements in each row. */
static void fill_trial(trial *t, const product *p, uint32_t *a, uint32_t *b, numbers *x, numbers *y)
{
    const unsigned each = p->n / p->pair;
    for (unsigned n = 0; n < CELLS * p->pair; n++) {
        const uint32_t bits = p->d == SUM_S32 ? tcgen_seed(&seed) << 8 ^ tcgen_seed(&seed)
                              : p->d == SUM_F16
                                  ? draw_bits(F16, p->exact)
                                  : bits_of_float((float)((int)draw(2001) - 1000) / (p->exact ? 1.0f : 64.0f));
        t->fill[n] = bits;
    }
    for (unsigned row = 0; row < p->m; row++)
        fill_row(t, p, row, a + row * p->k);
    for (unsigned j = 0; j < p->n + p->b_shift; j++)
        for (unsigned n = 0; n < p->k; n++) {
            const uint32_t bits = b[j * p->k + n] = draw_bits(p->b.type, p->exact);
            put_element(t->image + j / (each + p->b_shift) * IMAGE, &p->b, j % (each + p->b_shift), n, bits);
        }
    fill_factors(t, p, x, y);
}

/* Moves the rows of A in the expected tensor memory like .ashift. In each group of 32 lanes, 31 lanes get the row of
 * the next lane. */
static void shift_wanted(const trial *t, const product *p)
{
    for (unsigned block = 0; block < p->pair; block++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned column = 0; lane % 32 < 31 && column < 8; column++)
                t->want[block * CELLS + lane * COLUMNS + p->a_column + column] =
                    t->fill[block * CELLS + (lane + 1) * COLUMNS + p->a_column + column];
}

static void report(const product *p, const trial *t, vm_fault_kind fault, unsigned wrong, unsigned first)
{
    fprintf(stderr,
            "kind %s, types %d %d, sums %d, %ux%ux%u, pair %u%s%s%s: A swizzle %d %s%s, B swizzle %d %s, add %d, scale "
            "%u, masked %d, factors %u%s from bytes %u and %u, mask 0x%llx, exact %d: %s%u cells differ, first lane %u "
            "column %u: %x, not %x\n",
            kind_names[p->kind], (int)p->a.type, (int)p->b.type, (int)p->d, p->m, p->n, p->k, p->pair,
            p->sparse ? " sparse" : "", p->stationary ? " ws" : "", p->shift ? " ashift" : "", (int)p->a.swizzle,
            p->a.across ? "across" : "along", p->a_tensor ? " in tensor memory" : "", (int)p->b.swizzle,
            p->b.across ? "across" : "along", p->add, p->scale, p->masked, p->factors, p->ue8m0 ? " ue8m0" : "",
            p->first[0], p->first[1], (unsigned long long)p->zero_mask, p->exact, fault ? t->bench.fault.message : "",
            wrong, first / COLUMNS, first % COLUMNS, t->shown[first], t->want[first]);
}

static void run_product(const product *p, uint64_t *tiles)
{
    static uint32_t a[MOST_ROWS * MOST_K], b[MOST_ROWS * MOST_K];
    static numbers x, y;
    kiln__text text = {0};
    write_kernel(&text, p);
    parameter list = {.description = describe(p),
                      .d = p->lane << 16 | p->column,
                      .a_tensor = p->lane << 16 | p->a_column,
                      .metadata = p->lane << 16 | p->e_column,
                      .scales = {p->scale_column[0], p->scale_column[1] | 0x40000000},
                      .enable = p->add,
                      .zero_mask = p->zero_mask,
                      .a = descriptor_of(&p->a),
                      .b = descriptor_of(&p->b)};
    memcpy(list.masks, p->masks, sizeof list.masks);
    trial t = trial_open(&text, &list, p->pair, p->k == 96); /* K 96 is a feature of sm_103 */
    fill_trial(&t, p, a, b, &x, &y);
    memcpy(t.want, t.fill, CELLS * 4 * p->pair);
    prepare(&x, p, &p->a, a, p->m);
    prepare(&y, p, &p->b, b, p->n + p->b_shift);
    for (unsigned row = 0; row < p->m; row++)
        for (unsigned j = 0; j < p->n; j++) {
            unsigned block;
            const unsigned cell = cell_of(p, row, j, &block), lane = cell / COLUMNS;
            if (p->masked && p->masks[block * 4 + lane / 32] >> lane % 32 & 1)
                continue;
            t.want[block * CELLS + cell] = oracle(p, t.fill[block * CELLS + cell], &x, row, &y, j);
        }
    if (p->shift)
        shift_wanted(&t, p);
    vm_fault_kind outcome;
    unsigned first;
    const unsigned wrong = trial_run(&t, p->pair, &outcome, &first);
    if (outcome != VM_OK || wrong)
        report(p, &t, outcome, wrong, first);
    CHECK(outcome == VM_OK && !wrong);
    *tiles += (uint64_t)p->m * p->n / 64;
    trial_close(&t);
    kiln__text_free(&text);
}

/* Returns the number of trials for each pair of types. The variable KILN_TCGEN_ROUNDS sets another number, and
 * KILN_TCGEN_SEED sets another seed. */
static unsigned count_rounds(void)
{
    const char *wanted = getenv("KILN_TCGEN_ROUNDS"), *start = getenv("KILN_TCGEN_SEED");
    if (start)
        seed = (uint32_t)strtoul(start, NULL, 10);
    return wanted ? (unsigned)strtoul(wanted, NULL, 10) : 2;
}

/* Returns true if a product of this kind can have factors of these two types. */
static bool fits(kind of, type a, type b)
{
    const bool small = a >= E4M3 && a <= E2M1 && b >= E4M3 && b <= E2M1;
    switch (of) {
    case KIND_F16: return a <= BF16 && a == b;
    case KIND_TF32: return a == TF32 && b == TF32;
    case KIND_I8: return a >= U8 && b >= U8;
    case KIND_F8F6F4:
    case KIND_MXF8F6F4: return small;
    default: return a == E2M1 && b == E2M1;
    }
}

/* Tests all pairs of types of each kind. A kind with few pairs has as many trials as a kind with many. With compiled
 * code each kind has one trial, alternately with one block and with two, because LLVM takes nearly all of the time. */
static void try_all(unsigned pair)
{
    uint64_t tiles[KINDS] = {0};
    const unsigned rounds = count_rounds();
    const bool compiled = getenv("KILN_SIM_JIT") != NULL;
    for (unsigned round = 0; round < rounds; round++)
        for (kind of = KIND_F16; of < KINDS; of++)
            for (type a = F16; a <= S8; a++)
                for (type b = F16; b <= S8; b++)
                    for (unsigned again = fits(of, a, b) ? (a == b && of != KIND_F8F6F4 && of != KIND_MXF8F6F4 ? 4 : 1)
                                                         : 0;
                         again && !(compiled && (tiles[of] || of % 2 != pair - 1)); again--) {
                        const product p = draw_product(of, a, b, pair);
                        run_product(&p, &tiles[of]);
                    }
    for (kind of = KIND_F16; of < KINDS && getenv("KILN_TCGEN_ROUNDS"); of++)
        printf("%s: %llu tiles of 8 x 8\n", kind_names[of], (unsigned long long)tiles[of]);
}

static void test_products(void) { try_all(1); }
static void test_pairs(void) { try_all(2); }

/* ---- special numbers ---- */

/* An infinity or a NaN in one element must reach all sums of its row, and no other sum. */
static void test_special(void)
{
    product p = {.a = {.type = F16, .rows = 64},
                 .b = {.type = F16, .rows = 16},
                 .d = SUM_F32,
                 .m = 64,
                 .n = 16,
                 .k = 16,
                 .pair = 1,
                 .banks = 1,
                 .half = true};
    kiln__text text = {0};
    write_kernel(&text, &p);
    vm_bench b = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.cc = 100});
    uint32_t *fill, *shown;
    unsigned char *image;
    parameter *list;
    p.a.sbo = p.b.sbo = 128, p.a.lbo = 1024, p.b.lbo = 256, p.b.at = 4096;
    parameter values = {.description = describe(&p), .a = descriptor_of(&p.a), .b = descriptor_of(&p.b)};
    values.fill = vm_bench_zeros(&b, CELLS * 4, &fill);
    values.shown = vm_bench_zeros(&b, CELLS * 4, &shown);
    values.image = vm_bench_zeros(&b, IMAGE, &image);
    const uint64_t address = vm_bench_zeros(&b, sizeof values, &list);
    *list = values;
    for (unsigned row = 0; row < 64; row++)
        for (unsigned k = 0; k < 16; k++) {
            put_element(image, &p.a, row, k, row == 3 && k == 5 ? 0x7c00 : row == 20 && k == 1 ? 0x7e01 : 0x3c00);
            if (row < 16)
                put_element(image, &p.b, row, k, row == 7 ? 0xbc00 : 0x3c00);
        }
    CHECK(vm_bench_try(&b, "k", 1, WARPGROUP, &address, DYNAMIC) == VM_OK);
    for (unsigned row = 0; row < 64; row++)
        for (unsigned j = 0; j < 16; j++) {
            unsigned block;
            const uint32_t got = shown[cell_of(&p, row, j, &block)];
            const float total = j == 7 ? -16.0f : 16.0f;
            CHECK(got == (row == 3    ? (j == 7 ? 0xff800000u : 0x7f800000u)
                          : row == 20 ? 0x7fffffffu
                                      : bits_of_float(total)));
        }
    kiln__text_free(&text);
    vm_bench_end(&b);
}

/* ---- faults ---- */

typedef struct fault {
    const char *what;
    uint32_t description, d;
    uint64_t b;
    vm_fault_kind kind;
    const char *kind_name, *group;
    bool a_tensor;
} fault;

static void test_faults(void)
{
    /* M is 64, N is 16, the elements are f16 with sums of f32, and there is no swizzle */
    const uint32_t good = 1u << 4 | 2u << 17 | 4u << 24;
    const uint64_t b = (uint64_t)SHARED_AT >> 4 | (uint64_t)8 << 16 | (uint64_t)16 << 32 | (uint64_t)1 << 46;
    const fault table[] = {
        {NULL, good, 0, b, VM_OK, "f16", NULL, false},
        {NULL, good, 0x100000, b, VM_OK, "f16", NULL, false},
        {NULL, good, 0, b, VM_OK, "f16", NULL, true},
        {"its sparsity flag is 1", good | 4, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 1u << 7, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 2u << 7, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 3u << 4, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 8, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good | 1u << 30, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"types or flags do not fit", good, 0, b, VM_FAULT_INSTRUCTION, "tf32", NULL, false},
        {"types or flags do not fit", good, 0, b, VM_FAULT_INSTRUCTION, "i8", NULL, false},
        {"types or flags do not fit", good | 2u << 7, 0, b, VM_FAULT_INSTRUCTION, "f8f6f4", NULL, false},
        {"M 0 and N 16", good & 0xffffff, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"M 256 and N 16", good ^ 20u << 24, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"M 64 and N 0", good ^ 2u << 17, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"M 64 and N 504", good | 63u << 17, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {NULL, 1u << 4 | 1u << 17 | 8u << 24, 0, b, VM_OK, "f16", NULL, false}, /* M 128, N 8 */
        {"M 128 and N 8", 1u << 4 | 1u << 16 | 1u << 17 | 8u << 24, 0, b, VM_FAULT_INSTRUCTION, "f8f6f4", NULL, false},
        {"M 64 and N 40", 2u << 4 | 5u << 17 | 4u << 24, 0, b, VM_FAULT_INSTRUCTION, "i8", NULL, false},
        {"4 or 6 bits is transposed", good | 5u << 10 | 1u << 16, 0, b, VM_FAULT_INSTRUCTION, "f8f6f4", NULL, false},
        {"types or flags do not fit", good | 1u << 15, 0, b, VM_FAULT_INSTRUCTION, "f16", NULL, true},
        {"column 64: the block has not allocated", good, 50, b, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"tensor memory has 512 columns", good, 0xffff, b, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"cannot begin at lane 8", good, 0x80000, b, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"cannot begin at lane 16", good ^ 12u << 24, 0x100000, b, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"bits 46 to 48 are not 1", good, 0, b ^ (uint64_t)1 << 46, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"bits 53 to 60 are not 0", good, 0, b | (uint64_t)1 << 55, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"absolute leading dimension", good, 0, b | (uint64_t)1 << 52, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"no such swizzle", good, 0, b | (uint64_t)3 << 61, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"only a transposed matrix", good, 0, b | (uint64_t)1 << 61, VM_FAULT_INSTRUCTION, "f16", NULL, false},
        {"invalid read", good, 0, b | 0x3fff, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"invalid read", good, 0, b | (uint64_t)0x2000 << 32, VM_FAULT_ADDRESS, "f16", NULL, false},
        {"a cluster without a second block", good ^ 12u << 24, 0, b, VM_FAULT_INSTRUCTION, "f16", "cta_group::2",
         false},
    };
    for (size_t k = 0; k < KILN__COUNT(table); k += vm_bench_step()) {
        const fault *f = &table[k];
        kiln__text text = {0};
        kiln__text_puts(&text, TCGEN_HEAD TCGEN_KERNEL("k") TCGEN_ALLOC(64));
        kiln__text_printf(&text,
                          "setp.ne.u32 %%p2, %%r0, 0; @%%p2 bra done; mov.b64 %%d5, %llu; mov.b64 %%d6, %llu;\n"
                          "mov.u32 %%r20, %u; mov.u32 %%r21, %u; mov.u32 %%r22, 32; setp.eq.u32 %%p4, %%r0, 0;\n"
                          "tcgen05.mma.%s.kind::%s [%%r21], %s, %%d6, %%r20, %%p4;\ndone:\n",
                          (unsigned long long)b, (unsigned long long)f->b, f->description, f->d,
                          f->group ? f->group : "cta_group::1", f->kind_name, f->a_tensor ? "[%r22]" : "%d5");
        kiln__text_puts(&text, TCGEN_FREE(64) "ret;\n}\n");
        vm_bench bench = vm_bench_text(kiln__text_get(&text), text.length, (vm_limits){.cc = 100});
        uint32_t *out;
        const uint64_t address = vm_bench_zeros(&bench, 256, &out);
        const vm_fault_kind outcome = vm_bench_try(&bench, "k", 1, WARPGROUP, &address, 8192);
        if (outcome != f->kind || (f->what && !strstr(bench.fault.message, f->what)))
            fprintf(stderr, "%zu: %s: %s\n", k, f->what ? f->what : "", bench.fault.message);
        CHECK(outcome == f->kind && (!f->what || strstr(bench.fault.message, f->what)));
        kiln__text_free(&text);
        vm_bench_end(&bench);
    }
}

/* ---- faults of scale factors, metadata, zero-column masks and .ashift ---- */

typedef struct other_fault {
    const char *instruction, *what;
    uint32_t description, d, a, e, scales[2];
    uint64_t zero_mask;
    vm_fault_kind kind;
} other_fault;

/* Runs one product. All scale factors are 1, except for one in lane 70 of column 100. */
static void check_other_fault(size_t number, const other_fault *f)
{
    const uint64_t b = (uint64_t)SHARED_AT >> 4 | (uint64_t)8 << 16 | (uint64_t)16 << 32 | (uint64_t)1 << 46;
    const parameter list = {.a = b,
                            .b = b,
                            .description = f->description,
                            .d = f->d,
                            .a_tensor = f->a,
                            .metadata = f->e,
                            .scales = {f->scales[0], f->scales[1]},
                            .zero_mask = f->zero_mask};
    kiln__text text = {0};
    write_begin(&text, 1);
    kiln__text_printf(&text, "tcgen05.mma%s\n", f->instruction);
    write_end(&text, 1);
    trial t = trial_open(&text, &list, 1, false);
    for (unsigned n = 0; n < CELLS; n++)
        t.fill[n] = n % COLUMNS < 64 ? 0 : 0x7f7f7f7f;
    t.fill[70 * COLUMNS + 100] = 0x7f7f7e7f;
    vm_fault_kind outcome;
    unsigned first;
    trial_run(&t, 1, &outcome, &first);
    const bool right = outcome == f->kind && (!f->what || strstr(t.bench.fault.message, f->what));
    if (!right)
        fprintf(stderr, "%zu: %s: %s\n", number, f->what ? f->what : "", t.bench.fault.message);
    CHECK(right);
    trial_close(&t);
    kiln__text_free(&text);
}

static void test_other_faults(void)
{
#define SCALED(kind) ".cta_group::1.kind::" kind " [%r21], %d5, %d6, %r20, [%r32], [%r33], %p4;"
#define SPARSE(kind) ".sp.cta_group::1.kind::" kind " [%r21], %d5, %d6, [%r31], %r20, %p4;"
#define STATIONARY ".ws.cta_group::1.kind::f16 [%r21], %d5, %d6, %r20, %p4, %d7;"
#define SHIFTED ".cta_group::1.kind::f16.ashift [%r21], [%r22], %d6, %r20, %p4;"
    const uint32_t mx8 = 1u << 23 | 2u << 17 | 8u << 24, mx4 = mx8 | 1u << 7 | 1u << 10;    /* M 128, N 16 */
    const uint32_t f16 = 1u << 4 | 2u << 17 | 8u << 24, ws = 1u << 4 | 8u << 17 | 8u << 24; /* N 16; M 128, N 64 */
    const char *fit = "types or flags do not fit";
    const other_fault table[] = {
        {SCALED("mxf8f6f4.block_scale"), NULL, mx8, 0, 0, 0, {64, 72}, 0, VM_OK},
        {SCALED("mxf8f6f4.block_scale"), NULL, mx8 | 3u << 29 | 3u << 4, 0, 0, 0, {64, 72}, 0, VM_OK},
        {SCALED("mxf8f6f4.block_scale"), fit, mx8 ^ 1u << 23, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf8f6f4.block_scale"), fit, mx8 | 1u, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf8f6f4.block_scale"),
         "its sparsity flag is 1",
         mx8 | 4u,
         0,
         0,
         0,
         {64, 72},
         0,
         VM_FAULT_INSTRUCTION},
        {SCALED("mxf8f6f4.block_scale"), fit, mx8 | 1u << 24, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf8f6f4.block_scale"), fit, mx8 | 1u << 31, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf8f6f4.block_scale"), fit, mx8 | 2u << 7, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf8f6f4.block_scale"), "M 256", mx8 ^ 24u << 24, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf8f6f4.block_scale"), "M 128 and N 0", mx8 ^ 2u << 17, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf4.block_scale"), NULL, mx4 | 2u << 29, 0, 0, 0, {64, 72}, 0, VM_OK},
        {SCALED("mxf4.block_scale"), fit, mx4 | 1u << 29, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf4.block_scale"), fit, mx4 ^ 1u << 23, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf4.block_scale"), fit, mx4 | 1u << 15, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf4.block_scale"), fit, mx8, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf4.block_scale.scale_vec::2X"), fit, mx4 | 1u << 31, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf4.block_scale"), "K 96 needs", mx4 | 1u << 31, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf4nvf4.block_scale.block16"), NULL, mx4 ^ 1u << 23, 0, 0, 0, {64, 72}, 0, VM_OK},
        {SCALED("mxf4nvf4.block_scale.block16"), fit, mx4 | 2u << 29, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf4nvf4.block_scale.block32"), fit, mx4 ^ 1u << 23, 0, 0, 0, {64, 72}, 0, VM_FAULT_INSTRUCTION},
        {SCALED("mxf8f6f4.block_scale"), "tensor memory has 512 columns", mx8, 0, 0, 0, {509, 72}, 0, VM_FAULT_ADDRESS},
        {SCALED("mxf8f6f4.block_scale"), "tensor memory has 512 columns", mx8, 0, 0, 0, {64, 512}, 0, VM_FAULT_ADDRESS},
        {SCALED("mxf8f6f4.block_scale"),
         "do not begin at lane 0",
         mx8,
         0,
         0,
         0,
         {64, 0x200048},
         0,
         VM_FAULT_INSTRUCTION},
        /* byte 0 of column 100 is the same in all copies */
        {SCALED("mxf8f6f4.block_scale"), NULL, mx8, 0, 0, 0, {98, 72}, 0, VM_OK},
        {SCALED("mxf8f6f4.block_scale"),
         "the copies of row 70 in lanes 6 and 70 differ",
         mx8 | 1u << 29,
         0,
         0,
         0,
         {98, 72},
         0,
         VM_FAULT_INSTRUCTION},
        {SPARSE("f16"), NULL, f16 | 4u, 0, 0, 64, {0}, 0, VM_OK},
        {SPARSE("f16"), NULL, f16 | 5u, 0, 0, 64, {0}, 0, VM_OK},
        {SPARSE("f16"), fit, f16 | 6u, 0, 0, 64, {0}, 0, VM_FAULT_INSTRUCTION},
        {SPARSE("f16"), "its sparsity flag is 0", f16, 0, 0, 64, {0}, 0, VM_FAULT_INSTRUCTION},
        {SPARSE("f8f6f4"), fit, f16 | 5u, 0, 0, 64, {0}, 0, VM_FAULT_INSTRUCTION},
        {SPARSE("f16"), "at an even column", f16 | 4u, 0, 0, 65, {0}, 0, VM_FAULT_ADDRESS},
        {SPARSE("f16"), "must begin at lane 0", f16 | 4u, 0, 0, 0x200040, {0}, 0, VM_FAULT_ADDRESS},
        {SPARSE("f8f6f4"), NULL, f16 | 4u, 0, 0, 510, {0}, 0, VM_OK},
        {SPARSE("f8f6f4"), "tensor memory has 512 columns", f16 | 4u, 0, 0, 512, {0}, 0, VM_FAULT_ADDRESS},
        {STATIONARY, NULL, ws, 0, 0, 0, {0}, 0, VM_OK},
        {STATIONARY, "M 128 and N 16", f16, 0, 0, 0, {0}, 0, VM_FAULT_INSTRUCTION},
        {STATIONARY, NULL, ws | 2u << 30, 0, 0, 0, {0}, (uint64_t)16 << 56, VM_OK},
        {STATIONARY,
         "exceeds the largest shift",
         ws | 1u << 30,
         0,
         0,
         0,
         {0},
         (uint64_t)16 << 56,
         VM_FAULT_INSTRUCTION},
        {STATIONARY,
         "exceeds the largest shift",
         (ws ^ 10u << 24) | 3u << 30,
         0,
         0,
         0,
         {0},
         (uint64_t)17 << 56,
         VM_FAULT_INSTRUCTION},
        {STATIONARY, "bits 36 to 38", ws, 0, 0, 0, {0}, (uint64_t)1 << 37, VM_FAULT_INSTRUCTION},
        {STATIONARY, "exceeds the first span", ws, 0, 0, 0, {0}, (uint64_t)1 << 39 | 1, VM_FAULT_INSTRUCTION},
        {STATIONARY, "cannot begin at lane 16", ws, 0x100000, 0, 0, {0}, 0, VM_FAULT_ADDRESS},
        {SHIFTED, NULL, f16, 0, 64, 0, {0}, 0, VM_OK},
        {SHIFTED, "needs 128 rows", f16 ^ 12u << 24, 0, 64, 0, {0}, 0, VM_FAULT_INSTRUCTION},
        {SHIFTED, "tensor memory has 512 columns", f16, 0, 505, 0, {0}, 0, VM_FAULT_ADDRESS},
    };
    for (size_t k = 0; k < KILN__COUNT(table); k += vm_bench_step())
        check_other_fault(k, &table[k]);
}

static const check_case cases[] = {
    {"products", test_products},
    {"products of two blocks", test_pairs},
    {"infinities and NaNs", test_special},
    {"faults", test_faults},
    {"faults of what a product has besides its matrices", test_other_faults},
};
KILN_SUITE("sim.vm_tcgen_mma", cases)
