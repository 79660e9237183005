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

typedef enum vm_tcgen_kind { VM_TCGEN_F16, VM_TCGEN_TF32, VM_TCGEN_F8F6F4, VM_TCGEN_I8 } vm_tcgen_kind;

/* tcgen05.mma. */
typedef struct vm_tcgen_mma {
    vm_side d, a;                                             /* a: only if matrix A is in tensor memory */
    uint32_t a_descriptor, b_descriptor, description, enable; /* slots */
    /* slots of masks; a set bit is a lane of D that is not written */
    uint32_t masks[8];
    uint8_t mask_count, kind, group; /* group: blocks that work together, 1 or 2 */
    uint8_t scale;                   /* the sums are divided by two to this power before the products are added */
    bool a_tensor;
} vm_tcgen_mma;

/* One matrix product, as one lane describes it. ops_tcgen_open() fills it in and checks it. */
typedef struct vm_tcgen_product {
    uint32_t m, n, k; /* of the whole product; m and n are divided between the blocks of a pair */
    uint8_t a_type, b_type, d_type;
    bool a_across, b_across; /* elements are consecutive in shared memory along M or N, and not along K */
    bool a_negative, b_negative, saturate, add;
    uint32_t d, a; /* addresses in tensor memory */
    uint64_t a_descriptor, b_descriptor;
    uint32_t masks[8];
    uint32_t blocks, rows; /* rows: of each block */
    vm_block *block[2];    /* the two blocks of the pair, the even rank first */
} vm_tcgen_product;
bool ops_tcgen_open(vm_warp *w, const vm_code *i, uint32_t lane, vm_tcgen_product *p);

/* Returns the lane that has row `row` of a block, and sets *column to the column of element `j` of D. The lane and the
 * column are relative to the address of D or A. */
uint32_t ops_tcgen_row(const vm_tcgen_product *p, uint32_t row, uint32_t j, uint32_t *column);
/* Returns how many lanes and columns of tensor memory D takes in each block. */
uint32_t ops_tcgen_d_extent(const vm_tcgen_product *p, uint32_t *columns);
/* The same for matrix A in tensor memory. */
uint32_t ops_tcgen_a_extent(const vm_tcgen_product *p, uint32_t *columns);

enum { VM_TCGEN_PIECE = 16, VM_TCGEN_LINE = 32 }; /* bytes of a piece in shared memory; bytes of a row of A along K */
/* Returns the shared address of a piece of 16 bytes. If `across` is false, returns piece `part` of row (or column)
 * `at`. If `across` is true, returns the piece that contains element `part` along K of row `at`. `bytes` is the size
 * of an element. */
uint32_t ops_tcgen_piece(uint64_t descriptor, bool across, uint32_t at, uint32_t part, uint32_t bytes);
/* Reads `count` rows of A or columns of B from shared memory of `block`, each VM_TCGEN_LINE bytes. Across, `first`
 * and `count` are multiples of the elements in a piece. An element with 4 or 6 bits becomes a byte. Returns false
 * with a fault recorded. */
bool ops_tcgen_fetch(vm_warp *w, const vm_code *i, uint32_t lane, const vm_block *block, uint64_t descriptor,
                     bool across, unsigned type, uint32_t first, uint32_t count, unsigned char (*out)[VM_TCGEN_LINE]);

void ops_tcgen_alloc(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_move(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tcgen_commit(vm_warp *w, const vm_code *i, uint32_t m);

#endif
