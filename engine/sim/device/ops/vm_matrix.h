/* vm_matrix.h - the data that the decoder prepares about an instruction on matrices (mma, wmma, wgmma, ldmatrix and
 * similar instructions). */
#ifndef KILN_SIM_VM_MATRIX_H
#define KILN_SIM_VM_MATRIX_H

#include <string.h>

#include "vm_ops.h"

#define VM_FRAGMENT 8u /* largest number of registers of a fragment */

/* The way in which a fragment is distributed over the registers of a warp. One rule gives all layouts of PTX, except
 * the layout of m8n8k4 with halves. A warp has eight groups of four lanes. Each of the groups has one of eight rows of
 * A, C or D, or one of eight columns of B. Consecutive elements of A and B follow each other along k. Consecutive
 * elements of C and D follow each other along the row. Consecutive elements first fill a register, and then the
 * register of the next lane of the group. place() in matrix.c computes the place of an element by this rule. */
typedef struct vm_fragment {
    uint32_t slots[VM_FRAGMENT];
    uint8_t count,
        /* `count` is the number of registers of a fragment. The registers after the first `used` registers repeat the
         * first `used` registers (wmma with halves). */
        used;
    uint8_t type; /* type of an element of the fragment */
} vm_fragment;

/* The scale factors of one side of a product with block scales. A word has four factors of one byte each. Each factor
 * belongs to a block of columns of a row of A, or to a block of rows of a column of B. */
typedef struct vm_scales {
    /* slots of the words with the factors, and of the selectors that choose bytes and lanes */
    uint32_t data, byte, thread;
} vm_scales;

typedef struct vm_matrix {
    vm_fragment a, b, c, d;
    vm_scales scale_a, scale_b;
    uint8_t blocks;    /* number of scale factors of a row of A: 1, 2 or 4; 0 if the product has no scale factors */
    bool ue4m3;        /* the factors have the format ue4m3 if this is true, otherwise ue8m0 */
    uint32_t metadata; /* slot of the metadata of a sparse A (mma.sp) */
    uint16_t m, n, k;
    uint8_t selector; /* selector of mma.sp */
    uint8_t rounding; /* rounding of .f64 */
    uint8_t terms;    /* number of products that are summed in one step */
    uint8_t fraction; /* number of bits that a sum keeps below the exponent of its greatest term */
    uint8_t kept;     /* number of bits of the mantissa that a single-precision result keeps */
    bool sparse, quads, satfinite, and_popc;
    bool a_column, b_column; /* the layouts of A and B, if `quads` is set */
    bool chain;              /* the product is computed without a tensor core: see matrix_row_chain() */
} vm_matrix;

/* wgmma.mma_async. Each of the four warps has 16 rows of A and D, and computes 8 columns of D at a time. */
typedef struct vm_wgmma {
    vm_matrix tile;    /* the product of one warp and 8 columns; c and d are set again for each such product */
    const uint32_t *d; /* slots of the registers of D; `each` is their number for 8 columns */
    uint32_t a, b;     /* slots of the descriptors of A and B */
    uint32_t scale;    /* slot of the predicate that tells whether the product is added to the old D */
    uint8_t tiles, each;
    bool a_shared;           /* true if A is in shared memory; otherwise A is in the registers of tile.a */
    bool a_across, b_across; /* the elements are consecutive in memory along M or N, and not along K */
    bool a_negative, b_negative;
} vm_wgmma;

static inline unsigned vm_element_bits(unsigned type)
{
    switch (type) {
    case PTX_B1: return 1;
    case PTX_S4:
    case PTX_U4:
    /* two elements share a byte, unlike elements of PTX_E2M1, which have a byte of their own */
    case PTX_E2M1X2: return 4;
    default: return 8 * ptx_type_bytes((ptx_type)type);
    }
}
static inline unsigned vm_per_register(unsigned type)
{
    unsigned bits = vm_element_bits(type);
    return bits >= 32 ? 1 : 32 / bits;
}

void ops_ldmatrix(vm_warp *w, const vm_code *i, uint32_t m);
void ops_stmatrix(vm_warp *w, const vm_code *i, uint32_t m);
void ops_movmatrix(vm_warp *w, const vm_code *i, uint32_t m);
void ops_wmma_load(vm_warp *w, const vm_code *i, uint32_t m);
void ops_wmma_store(vm_warp *w, const vm_code *i, uint32_t m);
/* The memory of a matrix, for wmma.load and wmma.store. ops_tile_of() sets it from the operands of the lane `first`,
 * which takes part. ops_tile_address() returns the address of element s of register r of a lane. */
typedef struct vm_tile {
    vm_matrix scaled;
    uint64_t base, stride;
    unsigned bits, bytes, per; /* bits of an element, bytes that one move copies, moves for one register */
    char which;
    bool across, narrow;
} vm_tile;
vm_tile ops_tile_of(const vm_warp *w, const vm_code *i, uint32_t first);
uint64_t ops_tile_address(const vm_tile *tile, unsigned r, unsigned s, uint32_t lane);

/* The rest of this header is for the handlers in vm_matrix.inc. */
/* Returns the value of a matrix element as a double. The bits above the element must be zero. Subnormal numbers of the
 * narrow formats become normal numbers in double. */
static inline double vm_matrix_value(unsigned type, uint32_t bits)
{
    unsigned mantissa = 10, exponent = 5;
    switch (type) {
    case PTX_F32: mantissa = 23, exponent = 8; break;
    case PTX_TF32: bits = bits >> 13, mantissa = 10, exponent = 8; break; /* the low bits of the register are ignored */
    case PTX_BF16: mantissa = 7, exponent = 8; break;
    case PTX_E4M3: mantissa = 3, exponent = 4; break;
    case PTX_E5M2: mantissa = 2, exponent = 5; break;
    case PTX_E2M3: mantissa = 3, exponent = 2; break;
    case PTX_E3M2: mantissa = 2, exponent = 3; break;
    case PTX_E2M1:
    case PTX_E2M1X2: mantissa = 1, exponent = 2; break;
    default: break;
    }
    uint64_t sign = (uint64_t)(bits >> (mantissa + exponent) & 1) << 63, fraction = bits & ((1u << mantissa) - 1), r;
    uint32_t all = (1u << exponent) - 1, power = bits >> mantissa & all, bias = all >> 1;
    /* true if the format has infinities or NaNs */
    const bool has_special = type != PTX_E2M3 && type != PTX_E3M2 && type != PTX_E2M1 && type != PTX_E2M1X2;
    if (power == all && has_special && (type != PTX_E4M3 || fraction == 7))
        r = (uint64_t)0x7ff << 52 | (type == PTX_E4M3 ? (uint64_t)1 << 51 : fraction << (52 - mantissa));
    else if (power)
        r = (uint64_t)(power + 1023 - bias) << 52 | fraction << (52 - mantissa);
    else { /* fraction * 2^(1 - bias - mantissa), computed as a difference of two normal numbers */
        uint64_t unit = (uint64_t)(1024 - bias) << 52;
        double x, least;
        uint64_t with = unit | fraction << (52 - mantissa);
        memcpy(&x, &with, 8);
        memcpy(&least, &unit, 8);
        x -= least;
        memcpy(&r, &x, 8);
    }
    r |= sign;
    double value;
    memcpy(&value, &r, 8);
    return value;
}
double ops_matrix_round(unsigned type, unsigned kept, double sum);

/* A scale factor: its value is eighths / 8 * 2^power. The value is below 2 * 2^power. The value is at least 2^power
 * unless the factor is subnormal or 0. */
typedef struct vm_scale {
    int32_t eighths;
    int32_t power; /* -126 if the scale factor is 0 */
    bool number;   /* false if the scale factor is NaN; the other members are then 0 */
} vm_scale;
/* Converts a byte to a scale factor. The byte has the format ue4m3 if `ue4m3` is true, otherwise ue8m0. The highest bit
 * of a ue4m3 byte is ignored. */
vm_scale ops_scale_of(bool ue4m3, uint32_t byte);
/* number of elements of a group, and the largest number of groups of a sum */
enum { VM_SCALED_TERMS = 16, VM_SCALED_GROUPS = 16 };
/* Returns the sum of `start` and `count` groups. Tensor cores compute products of 4-bit elements with block scales by
 * this sum. A group has the products of 16 elements along K. They are summed exactly: `quarters` has the sums of the
 * groups in units of 1/4. The product of a group's sum and the group's two factors is a term. The power of two of a
 * term is the sum of the factors' powers, even if the term is 0. Each term is truncated towards zero to 35 bits below
 * the greatest power of two of all terms. The sum of the truncated terms is truncated to single precision. The result
 * is NaN if a factor or `start` is NaN. */
double ops_scaled_sum(double start, const int32_t *quarters, const vm_scale *a, const vm_scale *b, unsigned count);
uint32_t ops_matrix_bits(unsigned type, double value);
/* Sets `column[k]` to the column that the stored element k has in the whole matrix A. */
void ops_matrix_columns(const vm_warp *w, const vm_matrix *x, uint16_t *column);

/* returns the shared address of a piece of 16 bytes of a matrix; wgmma.c explains the parameters */
uint32_t ops_wgmma_address(uint64_t descriptor, bool across, unsigned at, unsigned part);
enum { VM_WGMMA_BYTES = 64 }; /* largest number of bytes in a row of A or a column of B */
/* Reads `count` rows of A, or columns of B, from shared memory, beginning with row `first`. The function reads `bytes`
 * bytes along K of each row. If `across` is true, the elements have 16 bits and are not consecutive along K. Returns
 * false after raising a fault. */
bool ops_wgmma_fetch(vm_warp *w, const vm_code *i, uint64_t descriptor, bool across, unsigned first, unsigned count,
                     unsigned bytes, unsigned char (*out)[VM_WGMMA_BYTES]);
/* Reads the descriptor whose slot is `slot`. If the descriptor is not equal in all threads of the warpgroup, raises a
 * fault and returns false. */
bool ops_wgmma_descriptor(vm_warp *w, const vm_code *i, uint32_t slot, uint64_t *descriptor);

#endif
