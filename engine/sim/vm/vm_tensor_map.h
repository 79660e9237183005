/* vm_tensor_map.h - the 128 bytes of a tensor map as the simulated driver writes them. NVIDIA documents no layout: only the
 * driver's functions and instructions look into a map, so this one is the simulated device's own. */
#ifndef VM_TENSOR_MAP_H
#define VM_TENSOR_MAP_H

#include <stdint.h>

#define VM_TENSOR_MAP_MARK 0x70614d546e6c694bu /* "KilnTMap": what has it is a map */

enum { VM_TENSOR_TILED, VM_TENSOR_IM2COL };

/* Dimension 0 is the innermost. The small numbers are those of cuda.h's enums. */
typedef struct vm_tensor_map {
    uint64_t mark;
    uint64_t address;
    uint64_t strides[4]; /* bytes from one element to the next of dimensions 1 to 4 */
    uint32_t last[5];    /* of each dimension, its size - 1 */
    uint16_t box[5];     /* elements, tiled */
    uint8_t steps[5];    /* the driver's elementStrides */
    uint8_t mode, rank, type, interleave, swizzle, promotion, fill;
    int16_t lower[3], upper[3]; /* im2col: of W, H, D, rank - 2 of them */
    uint16_t channels, pixels;
} vm_tensor_map;

_Static_assert(sizeof(vm_tensor_map) <= 128, "it fits in a CUtensorMap");
#endif
