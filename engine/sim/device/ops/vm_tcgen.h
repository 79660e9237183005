/* vm_tcgen.h - tcgen05: the decoder's data, and the description of one matrix product (tcgen.c; TENSOR_MEMORY.md). */
#ifndef KILN_SIM_VM_TCGEN_H
#define KILN_SIM_VM_TCGEN_H

#include "vm_async.h"
#include "vm_tensor_memory.h"

/* tcgen05.alloc, dealloc and relinquish_alloc_permit: vm_code.size. */
enum { VM_TCGEN_ALLOC, VM_TCGEN_DEALLOC, VM_TCGEN_GIVE_UP };

/* How the registers of a warp lie in tensor memory; the names are the PTX ISA's. */
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
    uint32_t split;   /* 16x32bx2: columns from the first access to the second */
    const uint32_t *slots;
    /* ld.red: the type of the reduction (PTX_NONE without one), how it compares, the slot of its result */
    uint8_t type;
    bool max, absolute, keeps_nan;
    uint32_t result;
} vm_tcgen_move;

/* A place in tensor memory, relative to the address of the instruction. */
typedef struct vm_tcgen_place {
    uint32_t lane, column;
} vm_tcgen_place;
/* Returns the place of register r of a lane. If the registers are packed, the next column belongs to it, too. */
vm_tcgen_place ops_tcgen_place_of(const vm_tcgen_move *x, uint32_t r, uint32_t lane);
/* Returns how many lanes the instruction accesses, and in *columns how many neighbouring columns. 16x32bx2 accesses
 * such columns twice. */
uint32_t ops_tcgen_extent(const vm_tcgen_move *x, uint32_t *columns);
/* Sets *address to the address that all lanes of `m` have. Returns false with a fault recorded if they differ, or if
 * the warp may not access these lanes of tensor memory. */
bool ops_tcgen_move_address(vm_warp *w, const vm_code *i, uint32_t m, uint32_t *address);

typedef enum vm_tcgen_kind {
    VM_TCGEN_F16,
    VM_TCGEN_TF32,
    VM_TCGEN_F8F6F4,
    VM_TCGEN_I8,
    VM_TCGEN_MXF8F6F4, /* this kind and the next ones have scale factors */
    VM_TCGEN_MXF4,     /* this kind and the next one have packed elements of 4 bits */
    VM_TCGEN_MXF4NVF4
} vm_tcgen_kind;

/* tcgen05.mma. */
typedef struct vm_tcgen_mma {
    vm_side d, a;                                             /* a: only if matrix A is in tensor memory */
    vm_side scales[2];                                        /* the scale factors of A and of B */
    vm_side metadata;                                         /* which elements of a sparse A are stored */
    uint32_t a_descriptor, b_descriptor, description, enable; /* slots */
    uint32_t zero_mask;                                       /* slot of the zero-column mask of .ws */
    /* slots of masks; a set bit is a lane of D that is not written */
    uint32_t masks[8];
    uint8_t mask_count, kind, group; /* group: blocks that work together, 1 or 2 */
    uint8_t scale;                   /* the sums are divided by two to this power before the products are added */
    uint8_t block;                   /* elements along K that share a scale factor: 16 or 32 */
    bool by_count;                   /* .scale_vec: the instruction names the number of scale factors */
    bool a_tensor, sparse;
    bool stationary, masks_columns; /* .ws; it has a zero-column mask */
    bool shift;                     /* .ashift */
} vm_tcgen_mma;
static inline bool vm_tcgen_is_scaled(const vm_tcgen_mma *x) { return x->kind >= VM_TCGEN_MXF8F6F4; }
static inline bool vm_tcgen_is_packed(const vm_tcgen_mma *x) { return x->kind >= VM_TCGEN_MXF4; }

/* One matrix product, as one lane describes it. */
typedef struct vm_tcgen_product {
    uint32_t m, n, k;          /* of the whole product; m and n are divided between the blocks of a pair */
    uint32_t stored;           /* elements of a row of A in memory */
    uint32_t a_bytes, b_bytes; /* bytes of a row of A, and of a column of B, in memory */
    uint8_t a_type, b_type, d_type;
    bool a_across, b_across; /* elements are consecutive in shared memory along M or N, and not along K */
    bool a_negative, b_negative, saturate, add;
    uint32_t d, a; /* addresses in tensor memory */
    uint64_t a_descriptor, b_descriptor;
    uint32_t masks[8];
    /* Scale factors of A and B: where they begin, the first byte of a column, how many there are along K, their
     * type. */
    uint32_t scales[2], scale_byte[2], factors;
    bool ue8m0;
    uint32_t metadata, selector; /* where the metadata of a sparse A begins; the column of the first two that has it */
    uint64_t zero_mask;
    uint32_t blocks, rows; /* rows: of each block */
    /* The lanes of D are divided into `banks` equal parts, which have the same rows and different columns. If `half` is
     * true, D takes the first half of each 32 lanes. */
    uint32_t banks;
    bool half;
    vm_block *block[2]; /* the two blocks of the pair, the even rank first; with cta_group::1 the warp's block */
} vm_tcgen_product;
/* Reads the operands of one lane, sets *p, and checks descriptors, shapes and the lanes of addresses. Bounds of tensor
 * memory are checked by vm_tensor_reach(). Returns false with a fault recorded. */
bool ops_tcgen_open(vm_warp *w, const vm_code *i, uint32_t lane, vm_tcgen_product *p);

/* Returns the lane that has row `row` of a block, and sets *column to the column of element `j` of D. The lane and the
 * column are relative to the address of D or A. */
uint32_t ops_tcgen_row(const vm_tcgen_product *p, uint32_t row, uint32_t j, uint32_t *column);
/* Returns how many lanes and columns of tensor memory D takes in each block. */
uint32_t ops_tcgen_d_extent(const vm_tcgen_product *p, uint32_t *columns);
/* The same for matrix A in tensor memory. */
uint32_t ops_tcgen_a_extent(const vm_tcgen_product *p, uint32_t *columns);

enum {
    VM_TCGEN_PIECE = 16, /* bytes of a piece in shared memory */
    VM_TCGEN_LINE = 64,  /* largest number of bytes of a row of A, or a column of B, along K */
    VM_TCGEN_TERMS = 128 /* largest number of elements along K */
};
/* Returns the shared address of a piece of 16 bytes. If `across` is false, returns piece `part` of row (or column)
 * `at`. If `across` is true, returns the piece that contains element `part` along K of row `at`. `bytes` is the size
 * of an element. */
uint32_t ops_tcgen_piece(uint64_t descriptor, bool across, uint32_t at, uint32_t part, uint32_t bytes);
/* Reads `count` rows of A or columns of B from shared memory of `block`, each `bytes` bytes. Across, `first` and
 * `count` are multiples of the elements in a piece. If the elements are not packed, an element with 4 or 6 bits becomes
 * a byte. Returns false with a fault recorded. */
bool ops_tcgen_fetch(vm_warp *w, const vm_code *i, uint32_t lane, const vm_block *block, uint64_t descriptor,
                     bool across, unsigned type, bool packed, uint32_t bytes, uint32_t first, uint32_t count,
                     unsigned char (*out)[VM_TCGEN_LINE]);

/* Sets `column` to the columns of the whole A to which the stored elements of a row belong. `cells` is the block's
 * metadata, which begins at p->metadata. */
void ops_tcgen_columns(const vm_tcgen_mma *x, const vm_tcgen_product *p, uint32_t row, uint32_t bank,
                       const uint32_t *cells, uint16_t column[VM_TCGEN_TERMS]);
/* Returns how many lanes and columns the metadata takes in each block. */
uint32_t ops_tcgen_metadata_extent(const vm_tcgen_mma *x, const vm_tcgen_product *p, uint32_t *columns);

/* Checks a zero-column mask. Returns false with a fault recorded. */
bool ops_tcgen_check_mask(vm_warp *w, const vm_code *i, uint32_t lane, const vm_tcgen_product *p, uint32_t description);
/* Returns the column of B that is multiplied for column j of D, and sets *zero if it counts as a column of zeros. */
uint32_t ops_tcgen_masked_column(const vm_tcgen_product *p, uint32_t j, bool *zero);

/* The largest numbers of scale factors of a row along K, and of columns of B. */
enum { VM_TCGEN_FACTORS = 6, VM_TCGEN_MOST = 256 };
/* Returns how many rows of A (`side` 0) or columns of B (1) have scale factors in each part of the lanes, and sets
 * *columns to the columns that they take. */
uint32_t ops_tcgen_scales_extent(const vm_tcgen_product *p, unsigned side, uint32_t *columns);
/* Reads the scale factors of a block's rows of A (`side` 0) or of all columns of B (`side` 1) from the block's tensor
 * memory. Returns false with a fault recorded, also if the copies in the four quarters of the lanes differ. */
bool ops_tcgen_scales(vm_warp *w, const vm_code *i, uint32_t lane, const vm_tcgen_product *p, uint32_t block,
                      unsigned side, uint8_t (*out)[VM_TCGEN_FACTORS]);

/* Checks a descriptor of a matrix in shared memory, with `bytes` bytes along K. Returns false with a fault recorded. */
bool ops_tcgen_check_descriptor(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t d, bool across, uint32_t bytes);
/* Moves the columns of each lane of tensor memory to the lane before. The last lane of a quarter keeps its own. `cells`
 * is the first of `lanes` lanes, and begins a quarter. */
void ops_tcgen_move_down(uint32_t *cells, uint32_t lanes, uint32_t columns);

/* tcgen05.ld and st: returns the address in the warp's own quarter of the lanes, if it is in the first quarter. */
uint32_t ops_tcgen_own_lanes(const vm_warp *w, uint32_t address);

/* The shapes of tcgen05.cp. The names are the PTX ISA's. In 02_13 and 01_23 the digits are two pairs of warps: the
 * instruction copies the same rows to the lanes of both pairs. */
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
    uint8_t type; /* PTX_E2M1 or PTX_E3M2: elements of 4 or 6 bits become bytes. PTX_B8: the copy changes no elements */
} vm_tcgen_copy;

/* Sets the number of rows that tcgen05.cp copies, and their size. The checks use it. The lanes of the rows are not part
 * of the result: check_copy() of the checks has them a second time. */
void ops_tcgen_copy_extent(const vm_tcgen_copy *x, uint32_t *rows, uint32_t *bytes);
/* Finds the blocks whose tensor memory tcgen05.cp or shift changes: the warp's own, or both blocks of its pair. Returns
 * their number, or 0 with a fault recorded. */
uint32_t ops_tcgen_copy_blocks(vm_warp *w, const vm_code *i, uint32_t lane, uint32_t group, vm_block *blocks[2]);

void ops_tcgen_alloc(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_move(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_commit(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_copy(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_shift(vm_warp *w, const vm_code *i, uint32_t m);

#endif
