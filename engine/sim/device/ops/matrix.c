/* matrix.c - moves matrices between memory and registers. It also has functions that the handlers of vm_matrix.inc
 * share. */
#include <math.h>
#include <string.h>

#include "vm_access.h"
#include "vm_math.h"
#include "vm_matrix.h"
#include "vm_memory.h"
#include "vm_ops.h"
#include "vm_path.h"

uint32_t ops_matrix_bits(unsigned type, double value)
{
    if (type == PTX_F16)
        return ops_half_put(PTX_F16, value, PTX_MOD_RN);
    return value != value ? 0x7fffffffu : vm_bits32((float)value);
}

double ops_matrix_round(unsigned type, unsigned kept, double sum)
{
    if (type == PTX_F16)
        return ops_half_get(PTX_F16, ops_half_put(PTX_F16, sum, PTX_MOD_RN));
    if (fabs(sum) < 0x1p-126)
        return trunc(sum * 0x1p149) * 0x1p-149;
    double cut = vm_double(vm_bits64(sum) & ~(((uint64_t)1 << (52 - kept)) - 1));
    return fabs(cut) >= 0x1p128 ? copysign(INFINITY, cut) : cut;
}

vm_scale ops_scale_of(bool ue4m3, uint32_t byte)
{
    enum { ONE = 8, BIAS8 = 127, BIAS4 = 7, NAN8 = 255, NAN4 = 127, LEAST = -126 };
    const int32_t code = (int32_t)(byte & (ue4m3 ? 127u : 255u)), power = code / ONE, fraction = code % ONE;
    if (code == (ue4m3 ? NAN4 : NAN8))
        return (vm_scale){0, 0, false};
    if (!ue4m3)
        return (vm_scale){ONE, code - BIAS8, true};
    if (power)
        return (vm_scale){ONE + fraction, power - BIAS4, true};
    return (vm_scale){fraction, fraction ? 1 - BIAS4 : LEAST, true};
}

/* The terms of the sum are whole numbers of 64 bits. A group's term is the sum of its products, in quarters (2^-2),
 * times two scale factors, each in eighths (2^-3). So the unit of the term is 2^-8. A term is below 2^22 units. The
 * value `start` is in units of 2^-23. */
double ops_scaled_sum(double start, const int32_t *quarters, const vm_scale *a, const vm_scale *b, unsigned count)
{
    enum { BELOW = 35, GROUP = 8, KEPT = 23, LEAST = -126 };
    int64_t term[VM_SCALED_GROUPS + 1], sum = 0;
    int32_t power[VM_SCALED_GROUPS + 1];
    bool number = start == start;
    power[count] = isfinite(start) && fabs(start) >= 0x1p-126 ? ilogb(start) : LEAST;
    term[count] = isfinite(start) ? (int64_t)ldexp(start, KEPT - power[count]) : 0;
    int32_t top = power[count];
    for (unsigned k = 0; k < count; k++) {
        term[k] = (int64_t)quarters[k] * a[k].eighths * b[k].eighths;
        power[k] = a[k].power + b[k].power;
        number &= a[k].number && b[k].number;
        top = power[k] > top ? power[k] : top;
    }
    if (!number)
        return NAN;
    if (isinf(start))
        return start;
    for (unsigned k = 0; k <= count; k++) {
        const int32_t shift = BELOW - (k < count ? GROUP : KEPT) + power[k] - top;
        const int64_t size = term[k] < 0 ? -term[k] : term[k];
        const int64_t cut = shift >= 0 ? size << shift : shift > -63 ? size >> -shift : 0;
        sum += term[k] < 0 ? -cut : cut;
    }
    return ops_matrix_round(PTX_F32, KEPT, ldexp((double)sum, top - BELOW));
}

/* Finds the columns of A to which the stored elements of a row belong. In a dense matrix, the stored element k belongs
 * to column k. A sparse matrix stores half of each group of neighbouring elements, and four bits of metadata tell which
 * elements are stored. A group of s4 or u4 has eight elements, of which two pairs are stored. A group of tf32 has two
 * elements, of which one is stored. A group of any other type has four elements, of which two are stored.
 *
 * The registers of the lanes hold the metadata. With elements of 16 bits and more, the low half of a lane's word
 * describes four groups of row r, and the high half describes four groups of row r + 8. With narrower elements, a word
 * describes eight groups of one row. Rows r and r + 8 then lie in neighbouring lanes. */
void ops_matrix_columns(const vm_warp *w, const vm_matrix *x, uint16_t *column)
{
    unsigned terms = x->sparse ? x->k / 2u : x->k;
    if (!x->sparse) {
        for (unsigned k = 0; k < terms; k++)
            column[k] = (uint16_t)k;
        return;
    }
    unsigned bits = vm_element_bits(x->a.type), group = bits == 32 ? 2 : bits == 4 ? 8 : 4, groups = x->k / group;
    unsigned lanes = groups / 4 ? groups / 4 : 1; /* number of lanes that have metadata */
    const vm_u32 *metadata = vm_r32(w, x->metadata);
    for (unsigned row = 0; row < x->m; row++) {
        for (unsigned g = 0; g < groups; g++) {
            unsigned high = row / 8, lane = bits >= 16 ? g / 4 : g / 8 * 2 + high;
            unsigned shift = bits >= 16 ? high * 16 + g % 4 * 4 : g % 8 * 4;
            unsigned where = metadata[row % 8 * 4 + (x->selector * lanes + lane) % 4] >> shift & 15;
            uint16_t *out = column + row * terms + g * group / 2;
            for (unsigned e = 0; e < group / 2; e++) {
                unsigned at = bits == 32  ? where >> 3
                              : bits == 4 ? (where >> e / 2 * 2 & 3) * 2 + e % 2
                                          : where >> 2 * e & 3;
                out[e] = (uint16_t)(g * group + at);
            }
        }
    }
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

/* Each lane has the address of a row in `a` and `imm`. `extra` holds the slots of the matrices' registers, and `count`
 * is the number of matrices. `c` is a set of the flags below: transposed matrices, rows of 16 elements of 8 bits,
 * packed elements of 6 bits, packed elements of 4 bits. */
enum { TRANSPOSED = 1, BYTES = 2, SIX = 4, FOUR = 8 };

static unsigned char *row_of(vm_warp *w, const vm_code *i, uint32_t lane, bool write)
{
    return vm_reach(w, i, lane, i->space, vm_lane_address(w, i, i->a, lane), 16, write);
}

/* Unpacks 16 elements of `bits` bits from the start of a row, so that each element becomes a byte. */
static void unpack_row(unsigned char *row, unsigned bits)
{
    unsigned char packed[16];
    memcpy(packed, row, sizeof packed);
    for (unsigned k = 0; k < 16; k++) {
        unsigned at = k * bits, low = packed[at / 8], high = at / 8 + 1 < 16 ? packed[at / 8 + 1] : 0;
        row[k] = (unsigned char)((low | high << 8) >> at % 8 & ((1u << bits) - 1));
    }
}

void ops_ldmatrix(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    /* true for m16n16, where a matrix has sixteen rows and two registers */
    bool tall = i->c & BYTES && i->c & TRANSPOSED;
    unsigned rows_each = tall ? 16 : 8, rows = rows_each * i->count;
    unsigned char tile[32][16];
    uint32_t have = vm_gather(w, i, m);
    if (!have)
        return;
    for (uint32_t lane = 0; lane < rows; lane++) {
        const unsigned char *p = row_of(w, i, lane, false);
        if (!p)
            return;
        memcpy(tile[lane], p, 16);
        if (i->c & (SIX | FOUR))
            unpack_row(tile[lane], i->c & SIX ? 6 : 4);
    }
    for (unsigned k = 0; k < i->count; k++) {
        VM_EACH(lane, have) {
            unsigned char part[8] = {0};
            unsigned char(*t)[16] = &tile[k * rows_each];
            if (tall) { /* element (r, c) of the transposed matrix is element r of row c */
                for (unsigned e = 0; e < 8; e++)
                    part[e] = t[lane % 4 * 4 + e % 4][lane / 4 + e / 4 * 8];
                vm_r32(w, slots[2 * k + 1])[lane] = (uint32_t)part[4] | (uint32_t)part[5] << 8 |
                                                    (uint32_t)part[6] << 16 | (uint32_t)part[7] << 24;
            } else if (i->c & TRANSPOSED) {
                memcpy(part, &t[lane % 4 * 2][lane / 4 * 2], 2);
                memcpy(part + 2, &t[lane % 4 * 2 + 1][lane / 4 * 2], 2);
            } else {
                memcpy(part, &t[lane / 4][lane % 4 * 4], 4);
            }
            uint32_t value = (uint32_t)part[0] | (uint32_t)part[1] << 8 | (uint32_t)part[2] << 16 |
                             (uint32_t)part[3] << 24;
            vm_r32(w, slots[tall ? 2 * k : k])[lane] = value;
        }
    }
}

void ops_stmatrix(vm_warp *w, const vm_code *i, uint32_t m)
{
    const uint32_t *slots = i->extra;
    /* true for m16n8, where a row of the transposed matrix has sixteen bytes, and a matrix has one register */
    bool bytes = i->c & BYTES;
    uint32_t have = vm_gather(w, i, m);
    if (!have)
        return;
    for (unsigned row = 0; row < 8u * i->count; row++) {
        unsigned char *p = row_of(w, i, row, true);
        if (!p)
            return;
        const vm_u32 *reg = vm_r32(w, slots[row / 8]);
        unsigned r = row % 8;
        for (unsigned at = 0; at < 16; at++) {
            /* p gets column r of a matrix of 16 rows and 8 columns, which the lanes hold in the layout of fragment C */
            if (bytes)
                p[at] = (unsigned char)(reg[at % 8 * 4 + r / 2] >> (r % 2 + at / 8 * 2) * 8);
            else if (i->c & TRANSPOSED)
                p[at] = (unsigned char)(reg[at / 2 * 4 + r / 2] >> (r % 2 * 16 + at % 2 * 8));
            else
                p[at] = (unsigned char)(reg[r * 4 + at / 4] >> at % 4 * 8);
        }
    }
}

void ops_movmatrix(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint32_t have = vm_gather(w, i, m), from[VM_LANES];
    if (!have)
        return;
    memcpy(from, vm_r32(w, i->a), sizeof from);
    VM_EACH(lane, have) {
        unsigned row = lane / 4, column = lane % 4 * 2;
        uint32_t low = from[column * 4 + row / 2] >> row % 2 * 16 & 0xffff;
        uint32_t high = from[(column + 1) * 4 + row / 2] >> row % 2 * 16 & 0xffff;
        vm_r32(w, i->d)[lane] = low | high << 16;
    }
}

/* ---- wmma.load and wmma.store ---- */

/* Computes the row and the column of the first element that lane l has in register r. `which` is the matrix: 'a', 'b',
 * or 'c' for C and D. `per` is the number of elements in a register. vm_fragment describes the rule of the layout. */
static void place(const vm_matrix *x, char which, unsigned per, unsigned r, uint32_t l, unsigned *row, unsigned *column)
{
    unsigned k_bands = x->k / (4 * per);
    switch (which) {
    case 'a':
        *row = r % (x->m / 8u) * 8 + l / 4;
        *column = r / (x->m / 8u) * 4 * per + l % 4 * per;
        break;
    case 'b':
        *row = r % k_bands * 4 * per + l % 4 * per;
        *column = r / k_bands * 8 + l / 4;
        break;
    default: {
        unsigned halves = 2 / per;
        *row = r / halves % (x->m / 8u) * 8 + l / 4;
        *column = r / halves / (x->m / 8u) * 8 + l % 4 * 2 + r % halves;
        break;
    }
    }
}

vm_tile ops_tile_of(const vm_warp *w, const vm_code *i, uint32_t first)
{
    const vm_matrix *x = i->extra;
    unsigned bits = vm_element_bits(x->d.type), unit = bits < 8 ? 32 / bits : 1;
    vm_tile t = {.which = (char)i->count, .across = i->c & 1, .scaled = *x, .bits = bits};
    t.bytes = bits >= 8 ? bits / 8 : 4;
    /* elements of less than a byte are moved as 32-bit words, which never cross a row */
    t.per = bits >= 8 ? vm_per_register(x->d.type) : 1;
    t.scaled.k = (uint16_t)(x->k / unit);
    unsigned wide = t.which == 'a' ? x->k : x->n, tall = t.which == 'b' ? x->k : x->m;
    t.stride = (i->b ? vm_r32(w, i->b)[first] : t.across ? tall : wide) / unit;
    t.base = vm_lane_address(w, i, i->a, first);
    t.narrow = i->flags & VM_ADDR32;
    return t;
}

uint64_t ops_tile_address(const vm_tile *t, unsigned r, unsigned s, uint32_t lane)
{
    unsigned row, column;
    place(&t->scaled, t->which, t->per, r % t->scaled.d.used, lane, &row, &column);
    unsigned y = t->which == 'b' ? row + s : row, z = t->which == 'b' ? column : column + s;
    uint64_t at = t->base + (t->across ? z * t->stride + y : y * t->stride + z) * t->bytes;
    return t->narrow ? (uint32_t)at : at;
}

/* Returns the host memory of [low, high) if the whole range lies in the block's shared memory or in one allocation.
 * Otherwise returns NULL without a fault. */
static unsigned char *reach_all(vm_warp *w, const vm_code *i, uint64_t low, uint64_t high, bool write)
{
    const vm_block *block = w->block;
    uint32_t space = i->space;
    if (space == PTX_SPACE_GENERIC && low >= VM_GLOBAL_BASE)
        space = PTX_SPACE_GLOBAL;
    else if (space == PTX_SPACE_GENERIC && low - VM_SHARED_BASE < VM_CLUSTER_WINDOW)
        space = PTX_SPACE_SHARED, low -= VM_SHARED_BASE, high -= VM_SHARED_BASE;
    if (space == PTX_SPACE_SHARED)
        return low >= block->shared_low && low < high && high <= block->shared_reach
                   ? block->shared + (low - block->window)
                   : NULL;
    const vm_span *c = &w->runner->cache[i->e];
    if (space != PTX_SPACE_GLOBAL || low >= high)
        return NULL;
    if ((low < c->base || high > c->end || (write && c->read_only)) && !vm_refill(w, i, low, high, write))
        return NULL;
    return c->host + (low - c->base);
}

/* Copies `count` elements of `bytes` bytes between the register of each lane and memory. In memory the elements are
 * `step` bytes apart. The function is inlined so that the sizes are constants. */
VM_RACY static inline __attribute__((always_inline)) void move_lanes(unsigned char *p, const uint64_t *lane,
                                                                     unsigned char *reg, unsigned bytes, unsigned count,
                                                                     uint64_t step, bool write)
{
    for (uint32_t l = 0; l < VM_LANES; l++)
        for (unsigned s = 0; s < count; s++) {
            unsigned char *at = p + lane[l] + s * step, *own = reg + (l * count + s) * bytes;
            memcpy(write ? at : own, write ? own : at, bytes);
        }
}

/* Moves the whole fragment after one check, if all its elements are aligned and lie in one piece of memory. Otherwise
 * returns false and moves nothing. The place of an element, which place() gives, is the sum of three offsets. The three
 * offsets depend on the register, on lane / 4 and on lane % 4. */
VM_RACY static bool move_whole(vm_warp *w, const vm_code *i, const vm_tile *t, bool write)
{
    enum { STRIDE_MOST = 1 << 20 };
    const vm_fragment *f = &((const vm_matrix *)i->extra)->d;
    const uint64_t y = t->across ? 1 : t->stride, x = t->across ? t->stride : 1, bytes = t->bytes, per = t->per;
    const uint64_t next = t->which == 'b' ? y : x; /* distance in memory to the next element of a register */
    /* distances in memory between lanes whose l / 4 differs by one, and between lanes whose l % 4 differs by one */
    const uint64_t by_four = t->which == 'b' ? x : y, by_one = next * (t->which == 'c' ? 2 : per);
    uint64_t from[VM_FRAGMENT], least = UINT64_MAX, most = 0, lane[VM_LANES];
    if (t->stride > STRIDE_MOST || t->base % bytes || bytes * per < 4)
        return false;
    for (unsigned r = 0; r < f->count; r++) {
        unsigned row, column;
        place(&t->scaled, t->which, t->per, r % f->used, 0, &row, &column);
        from[r] = row * y + column * x;
        least = from[r] < least ? from[r] : least;
        most = from[r] > most ? from[r] : most;
    }
    most += 7 * by_four + 3 * by_one + (per - 1) * next + 1;
    /* the address of the last byte must not overflow */
    if (t->base > (t->narrow ? UINT32_MAX : UINT64_MAX >> 1) - most * bytes)
        return false;
    unsigned char *host = reach_all(w, i, t->base + least * bytes, t->base + most * bytes, write);
    if (!host)
        return false;
    for (uint32_t l = 0; l < VM_LANES; l++)
        lane[l] = (l / 4 * by_four + l % 4 * by_one) * bytes;
    for (unsigned r = 0; r < f->count; r++) {
        unsigned char *p = host + (from[r] - least) * bytes, *reg = vm_at(w, f->slots[r]);
        if (bytes == 8)
            move_lanes(p, lane, reg, 8, 1, 0, write);
        else if (bytes == 4 || next == 1)
            move_lanes(p, lane, reg, 4, 1, 0, write);
        else if (bytes == 2)
            move_lanes(p, lane, reg, 2, 2, next * 2, write);
        else
            move_lanes(p, lane, reg, 1, 4, next, write);
    }
    return true;
}

/* Moves fragment d of the matrix in `extra` between registers and memory. `count` is the name of the fragment's matrix:
 * 'a', 'b' or 'c'. `a` and `imm` form the address of the matrix. `b` is the slot of the stride between rows or columns.
 * If `b` is 0, the matrix is stored without gaps. `c` is 1 if the matrix is stored column by column. */
static void wmma_move(vm_warp *w, const vm_code *i, uint32_t m, bool write)
{
    const vm_matrix *x = i->extra;
    const vm_fragment *f = &x->d;
    uint32_t have = vm_gather(w, i, m);
    if (!have)
        return;
    const vm_tile t = ops_tile_of(w, i, (uint32_t)__builtin_ctz(have));
    if (have == VM_ALL && move_whole(w, i, &t, write))
        return;
    const unsigned bits = t.bits, bytes = t.bytes, per = t.per;
    for (unsigned r = 0; r < f->count; r++) {
        VM_EACH(l, have) {
            uint64_t value = 0;
            if (write)
                value = bytes == 8 ? vm_r64(w, f->slots[r])[l] : vm_r32(w, f->slots[r])[l];
            for (unsigned s = 0; s < per; s++) {
                uint64_t part = 0;
                unsigned char *p = vm_reach(w, i, l, i->space, ops_tile_address(&t, r, s, l), bytes, write);
                if (!p)
                    return;
                if (write) {
                    part = value >> (per > 1 ? s * bits : 0);
                    memcpy(p, &part, bytes);
                } else {
                    memcpy(&part, p, bytes);
                    value |= part << (per > 1 ? s * bits : 0);
                }
            }
            if (!write && bytes == 8)
                vm_r64(w, f->slots[r])[l] = value;
            else if (!write)
                vm_r32(w, f->slots[r])[l] = (uint32_t)value;
        }
    }
}

void ops_wmma_load(vm_warp *w, const vm_code *i, uint32_t m) { wmma_move(w, i, m, false); }
void ops_wmma_store(vm_warp *w, const vm_code *i, uint32_t m) { wmma_move(w, i, m, true); }
