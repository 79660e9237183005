/* vm_tensor.h - copies by tensor maps: the decoder's data about such a copy, and the box of the tensor that it
 * copies. */
#ifndef KILN_SIM_VM_TENSOR_H
#define KILN_SIM_VM_TENSOR_H

#include "vm_async.h"

typedef struct vm_tensor {
    /* shared: the box in shared memory; bar: the mbarrier of a load, whose space is 0 for a store */
    vm_side shared, bar;
    /* Slots of the map's address, of the coordinates, and of the offsets of im2col. */
    uint32_t map, at[VM_TENSOR_RANK], offset[3];
    uint32_t multicast; /* slot of the mask of blocks; 0 if the copy is not a multicast */
    uint8_t rank, op;   /* op: the ptx_mod of a reduction, or 0 for a copy */
    uint8_t im2col;     /* a vm_im2col. In the modes along W, offset[0] is wHalo and offset[1] is wOffset. */
    bool rows;          /* gather4 or scatter4: at[1] to at[4] are the rows */
    bool pair;          /* cta_group::2: the mbarrier may be in the other block of the pair */
} vm_tensor;

/* A box of a tensor, row by row: rows lie one after the other in shared memory, `pitch` bytes apart. */
typedef struct vm_box {
    vm_tensor_map map;
    uint64_t shared; /* address */
    /* A unit is one element, or 2 or 16 packed elements. `bytes` is its size in global memory, `room` its size in
     * shared memory, where gaps may follow packed elements. The inner coordinates of the box are in units. */
    uint32_t bytes, room, packed;
    uint32_t inner, pitch; /* units of a row; bytes from one row to the next in shared memory */
    uint64_t rows, row;    /* rows: the number of rows; row: the number of the current row */
    bool listed;           /* first[1] to first[4] are the second coordinates of the four rows */
    /* for im2col along W: `halo` rows follow each `group` rows; `group` is 0 in other modes */
    uint32_t group, halo;
    /* for im2col along W: the pixel (W, image) of the last row that does not belong to a halo */
    int64_t main[2];
    int64_t at[VM_TENSOR_RANK]; /* position of the current row */
    /* first: position of the first row; offset: added to the position, for im2col */
    int64_t first[VM_TENSOR_RANK], offset[VM_TENSOR_RANK];
    /* The part of the current row that is inside the tensor: its first unit in the row, its number of units, and the
     * global address of its first unit. */
    uint32_t from, count;
    uint64_t address;
} vm_box;
/* Sets `box` to the box of one lane, at its first row. Returns false after raising a fault. */
bool ops_box_open(vm_warp *w, const vm_code *i, uint32_t lane, vm_box *box);
bool ops_box_next(vm_box *box); /* moves to the next row; returns false after the last row */
/* The current row in shared memory consists of pieces of 16 bytes. vm_box_piece() returns the swizzled address of a
 * piece. */
enum { VM_BOX_PIECE = 16 };
static inline uint32_t vm_box_pieces(const vm_box *box) { return box->inner * box->room / VM_BOX_PIECE; }
static inline uint64_t vm_box_piece(const vm_box *box, uint32_t piece)
{
    uint64_t address = box->shared + box->row * box->pitch + (uint64_t)piece * VM_BOX_PIECE;
    if (box->map.swizzle == VM_SWIZZLE_ATOM32)
        return address ^ (address >> 7 & 3) << 5;
    return address ^ (address >> 7 & ((1u << box->map.swizzle) - 1)) << 4;
}
static inline uint64_t vm_box_bytes(const vm_box *box) { return box->rows * box->inner * box->bytes; }

/* Returns the address of the mbarrier on which a copy to the shared address `to` completes. `bar` is the address in the
 * instruction. With cta_group::2 it chooses the mbarrier of the even or of the odd block of the pair that contains the
 * target. */
uint64_t ops_tensor_bar(const vm_tensor *x, uint64_t bar, uint32_t ranks, uint64_t to);
void ops_tensor(vm_warp *w, const vm_code *i, uint32_t m);
void ops_tensormap(vm_warp *w, const vm_code *i, uint32_t m);

#endif
