/* vm_tcgen.h - tcgen05: the decoder's data, and the description of one matrix product (tcgen.c; TENSOR_MEMORY.md). */
#ifndef KILN_SIM_VM_TCGEN_H
#define KILN_SIM_VM_TCGEN_H

#include "vm_async.h"
#include "vm_tensor_memory.h"

/* tcgen05.alloc, dealloc and relinquish_alloc_permit: vm_code.size. */
enum { VM_TCGEN_ALLOC, VM_TCGEN_DEALLOC, VM_TCGEN_GIVE_UP };

/* The way in which the registers of a warp lie in tensor memory. The names of the shapes are the PTX ISA's. */
typedef enum vm_tcgen_shape {
    VM_TCGEN_32X32B,
    VM_TCGEN_16X64B,
    VM_TCGEN_16X128B,
    VM_TCGEN_16X256B,
    VM_TCGEN_16X32BX2
} vm_tcgen_shape;

/* tcgen05.ld and tcgen05.st. */
typedef struct vm_tcgen_move {
    vm_side at;
    uint8_t shape;
    bool store, pack; /* pack: a register has two elements of 16 bits, from two neighbouring columns */
    uint16_t count;   /* number of registers of a lane */
    uint32_t split;   /* for .16x32bx2: the number of columns from the first access to the second */
    const uint32_t *slots;
    /* For tcgen05.ld.red: the type of the reduction (PTX_NONE if there is no reduction), the way in which it compares,
     * and the slot of its result. */
    uint8_t type;
    bool max, absolute, keeps_nan;
    uint32_t result;
} vm_tcgen_move;

/* A place in tensor memory, relative to the address of the instruction. */
typedef struct vm_tcgen_place {
    uint32_t lane, column;
} vm_tcgen_place;
/* Returns the place of register r of a lane. If the registers are packed, the upper half of the register is in the next
 * column. */
vm_tcgen_place ops_tcgen_place_of(const vm_tcgen_move *x, uint32_t r, uint32_t lane);
/* Returns how many lanes the instruction accesses, and sets *columns to the number of neighbouring columns. .16x32bx2
 * has two accesses of this size. */
uint32_t ops_tcgen_extent(const vm_tcgen_move *x, uint32_t *columns);
/* Sets *address to the address that all lanes of `m` have. If the addresses differ, or if the warp must not access
 * these lanes of tensor memory, records a fault and returns false. */
bool ops_tcgen_move_address(vm_warp *w, const vm_code *i, uint32_t m, uint32_t *address);

typedef enum vm_tcgen_kind {
    VM_TCGEN_F16,
    VM_TCGEN_TF32,
    VM_TCGEN_F8F6F4,
    VM_TCGEN_I8,
    VM_TCGEN_MXF8F6F4, /* this kind and the kinds after it have scale factors */
    VM_TCGEN_MXF4,     /* this kind and the kind after it have packed elements of 4 bits */
    VM_TCGEN_MXF4NVF4
} vm_tcgen_kind;

/* tcgen05.mma. */
typedef struct vm_tcgen_mma {
    /* the side `a` is used only if matrix A is in tensor memory */
    vm_side d, a;
    vm_side scales[2]; /* the scale factors of A and of B */
    /* the metadata, which tells which elements of a sparse A are stored */
    vm_side metadata;
    uint32_t a_descriptor, b_descriptor, description, enable; /* slots */
    uint32_t zero_mask;                                       /* slot of the zero-column mask of tcgen05.mma.ws */
    /* slots of masks; a set bit is a lane of D that is not written */
    uint32_t masks[8];
    uint8_t mask_count, kind, group; /* group: the number of blocks that work together, 1 or 2 */
    /* the sums are divided by two to the power of this number before the products are added */
    uint8_t scale;
    uint8_t block; /* number of elements along K that share a scale factor: 16 or 32 */
    bool by_count; /* .scale_vec is given, so the instruction names the number of scale factors */
    bool a_tensor, sparse;
    bool stationary, masks_columns; /* stationary: .ws is given; masks_columns: there is a zero-column mask */
    bool shift;                     /* .ashift is given */
} vm_tcgen_mma;
static inline bool vm_tcgen_is_scaled(const vm_tcgen_mma *x) { return x->kind >= VM_TCGEN_MXF8F6F4; }
static inline bool vm_tcgen_is_packed(const vm_tcgen_mma *x) { return x->kind >= VM_TCGEN_MXF4; }

/* One matrix product, as one lane describes it. */
typedef struct vm_tcgen_product {
    uint32_t m, n, k;          /* the sizes of the whole product; a pair of blocks divides m and n between its blocks */
    uint32_t stored;           /* number of elements that a row of A has in memory */
    uint32_t a_bytes, b_bytes; /* bytes of a row of A, and of a column of B, in memory */
    uint8_t a_type, b_type, d_type;
    bool a_across, b_across; /* the elements are consecutive in shared memory along M or N, and not along K */
    bool a_negative, b_negative, saturate, add;
    uint32_t d, a; /* the addresses of D and A in tensor memory */
    uint64_t a_descriptor, b_descriptor;
    uint32_t masks[8];
    /* The scale factors of A and B: the address of the first factor, the byte of this factor in its cell, the number of
     * factors along K, and whether their type is ue8m0. */
    uint32_t scales[2], scale_byte[2], factors;
    bool ue8m0;
    /* metadata: address of the metadata of a sparse A; selector: 0 or 1, which of its first two columns has the
     * metadata */
    uint32_t metadata, selector;
    uint64_t zero_mask;
    uint32_t blocks, rows; /* rows: the number of rows of each block */
    /* The lanes of D are divided into `banks` equal parts, which have the same rows and different columns. If `half` is
     * true, D takes only the first 16 of each 32 lanes. */
    uint32_t banks;
    bool half;
    /* the two blocks of the pair, the even rank first; with cta_group::1 only the block of the warp */
    vm_block *block[2];
} vm_tcgen_product;
/* Reads the operands of one lane and sets *p. The function checks descriptors, shapes and the lanes of addresses. Later
 * vm_tensor_reach() checks the bounds of tensor memory. If a check fails, records a fault and returns false. */
bool ops_tcgen_open(vm_warp *w, const vm_code *i, uint32_t lane, vm_tcgen_product *p);

/* Returns the lane that has row `row` of a block, and sets *column to the column of element `j` of D. The lane and the
 * column are relative to the address of D or A. */
uint32_t ops_tcgen_row(const vm_tcgen_product *p, uint32_t row, uint32_t j, uint32_t *column);
/* Returns how many lanes and columns of tensor memory D takes in each block. */
uint32_t ops_tcgen_d_extent(const vm_tcgen_product *p, uint32_t *columns);
/* Returns how many lanes and columns of tensor memory a matrix A in tensor memory takes in each block. */
uint32_t ops_tcgen_a_extent(const vm_tcgen_product *p, uint32_t *columns);

enum {
    VM_TCGEN_PIECE = 16, /* number of bytes of a piece in shared memory */
    VM_TCGEN_LINE = 64,  /* largest number of bytes of a row of A, or a column of B, along K */
    VM_TCGEN_TERMS = 128 /* largest number of elements along K */
};
/* Returns the shared address of a piece of 16 bytes. If `across` is false, this is piece number `part` of the row (or
 * column) `at`. If `across` is true, the piece is the one that contains element number `part` along K of the row `at`.
 * `bytes` is the size of an element. */
uint32_t ops_tcgen_piece(uint64_t descriptor, bool across, uint32_t at, uint32_t part, uint32_t bytes);
/* Reads `count` rows of A, or columns of B, from the shared memory of `block`. Each row or column has `bytes` bytes. If
 * `across` is true, `first` and `count` must be multiples of the number of elements in a piece. Unless `packed` is set,
 * each element of 4 or 6 bits becomes a byte. If an address is invalid, records a fault and returns false. */
bool ops_tcgen_fetch(vm_warp *w, const vm_code *i, uint32_t lane, const vm_block *block, uint64_t descriptor,
                     bool across, unsigned type, bool packed, uint32_t bytes, uint32_t first, uint32_t count,
                     unsigned char (*out)[VM_TCGEN_LINE]);

/* Sets column[k] to the column that the stored element k of a row has in the whole matrix A. `cells` is the block's
 * metadata, which begins at p->metadata. */
void ops_tcgen_columns(const vm_tcgen_mma *x, const vm_tcgen_product *p, uint32_t row, uint32_t bank,
                       const uint32_t *cells, uint16_t column[VM_TCGEN_TERMS]);
/* Returns how many lanes the metadata takes in each block, and sets *columns to the number of its columns. */
uint32_t ops_tcgen_metadata_extent(const vm_tcgen_mma *x, const vm_tcgen_product *p, uint32_t *columns);

/* Checks a zero-column mask. If the mask is invalid, records a fault and returns false. */
bool ops_tcgen_check_mask(vm_warp *w, const vm_code *i, uint32_t lane, const vm_tcgen_product *p, uint32_t description);
/* Returns the column of B that is multiplied for column j of D, and sets *zero to true if this column counts as
 * zeros. */
uint32_t ops_tcgen_masked_column(const vm_tcgen_product *p, uint32_t j, bool *zero);

/* The largest number of scale factors of a row along K, and the largest number of columns of B. */
enum { VM_TCGEN_FACTORS = 6, VM_TCGEN_MOST = 256 };
/* Returns how many rows of A (`side` 0) or columns of B (`side` 1) have their scale factors in each bank of the lanes.
 * Sets *columns to the number of columns that these scale factors take. */
uint32_t ops_tcgen_scales_extent(const vm_tcgen_product *p, unsigned side, uint32_t *columns);
/* Reads the scale factors of a block's rows of A (`side` 0) or of all columns of B (`side` 1) from the block's tensor
 * memory. If an address is invalid, or if the copies in the quarters of the lanes differ, records a fault and returns
 * false. */
bool ops_tcgen_scales(vm_warp *w, const vm_code *i, uint32_t lane, const vm_tcgen_product *p, uint32_t block,
                      unsigned side, uint8_t (*out)[VM_TCGEN_FACTORS]);

/* Checks a descriptor of a matrix in shared memory, with `bytes` bytes along K. If the descriptor is invalid, records a
 * fault and returns false. */
bool ops_tcgen_check_descriptor(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t d, bool across, uint32_t bytes);
/* Moves the columns of each lane of tensor memory to the lane before it. The last lane of a quarter keeps its own
 * content. `cells` points to the first of `lanes` lanes, which is the first lane of a quarter. */
void ops_tcgen_move_down(uint32_t *cells, uint32_t lanes, uint32_t columns);

/* For tcgen05.ld and tcgen05.st: converts an address in the first quarter of the lanes to the same place in the warp's
 * own quarter. Returns any other address unchanged. */
uint32_t ops_tcgen_own_lanes(const vm_warp *w, uint32_t address);

/* The shapes of tcgen05.cp. The names of the shapes are the PTX ISA's. The digits of 02_13 and 01_23 name two pairs of
 * warps: the two warps of a pair get the same rows. */
typedef enum vm_tcgen_copy_shape {
    VM_TCGEN_128X256B,
    VM_TCGEN_4X256B,
    VM_TCGEN_128X128B,
    VM_TCGEN_64X128B_02_13,
    VM_TCGEN_64X128B_01_23,
    VM_TCGEN_32X128B
} vm_tcgen_copy_shape;
/* The operands of tcgen05.cp. tcgen05.shift uses `to` and `group`. */
typedef struct vm_tcgen_copy {
    vm_side to;
    uint32_t descriptor; /* slot */
    uint8_t shape, group;
    /* PTX_E2M1 or PTX_E3M2 if elements of 4 or 6 bits become bytes; PTX_B8 if the copy does not change the elements */
    uint8_t type;
} vm_tcgen_copy;

/* Sets the number of rows that tcgen05.cp copies, and their size. The checks use this function. The result does not say
 * to which lanes the rows go. check_copy() of the checks has its own table of these lanes. */
void ops_tcgen_copy_extent(const vm_tcgen_copy *x, uint32_t *rows, uint32_t *bytes);
/* Finds the blocks whose tensor memory tcgen05.cp or shift changes: the warp's own block, or both blocks of its pair.
 * Returns their number. If a block is missing, records a fault and returns 0. */
uint32_t ops_tcgen_copy_blocks(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t group, vm_block *blocks[2]);

void ops_tcgen_alloc(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_move(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_commit(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_copy(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_shift(vm_warp *w, const vm_code *i, uint32_t m);

#endif
