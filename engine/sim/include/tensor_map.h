/* tensor_map.h - the members of a tensor map, and the rules of cuTensorMapEncode* for these members. The engine checks
 * the tensor map of a spec by these rules before it calls a driver. The simulated driver checks every tensor map by
 * these rules (sim/driver/objects/tensor_map.c). */
#ifndef KILN_TENSOR_MAP_H
#define KILN_TENSOR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KILN__TENSOR_DIMS = 5, KILN__TENSOR_PIXELS = 3, KILN__TENSOR_MAP_BYTES = 128, KILN__TENSOR_MAP_ALIGN = 64 };

/* A tensor map. Dimension 0 is the innermost dimension, as in the driver's arrays. The enums have the same values as in
 * cuda.h. */
typedef struct kiln__tensor_map {
    int type;
    unsigned rank;
    uint64_t address;
    uint64_t shape[KILN__TENSOR_DIMS];   /* elements */
    uint64_t strides[KILN__TENSOR_DIMS]; /* strides in bytes, where strides[0] is the size of an element */
    uint32_t steps[KILN__TENSOR_DIMS];   /* the driver's elementStrides */
    int interleave, swizzle, promotion, fill;
    bool im2col;
    /* kind of im2col along the dimension W only: 1 for im2col::w, 2 for im2col::w::128, 0 for any other map */
    int wide;
    uint32_t box[KILN__TENSOR_DIMS]; /* size of the box of a tiled map */
    /* corners of an im2col box, where rank - 2 numbers are used */
    int32_t lower[KILN__TENSOR_PIXELS], upper[KILN__TENSOR_PIXELS];
    uint32_t channels, pixels;
} kiln__tensor_map;

/* The member of a tensor map that a rule is about. The reader of a spec uses the member to find the place of an
 * error. */
typedef enum kiln__tensor_field {
    KILN__TENSOR_RANK,
    KILN__TENSOR_TYPE,
    KILN__TENSOR_ADDRESS,
    KILN__TENSOR_SHAPE,
    KILN__TENSOR_STRIDES,
    KILN__TENSOR_BOX,
    KILN__TENSOR_STEPS,
    KILN__TENSOR_INTERLEAVE,
    KILN__TENSOR_SWIZZLE,
    KILN__TENSOR_PROMOTION,
    KILN__TENSOR_FILL,
    KILN__TENSOR_LOWER,
    KILN__TENSOR_UPPER,
    KILN__TENSOR_CHANNELS,
    KILN__TENSOR_PIXELS_PER_COLUMN
} kiln__tensor_field;

/* A rule that a map breaks. */
typedef struct kiln__tensor_fault {
    kiln__tensor_field field;
    unsigned dim;   /* number of the dimension, if the member has one value for each dimension */
    char text[160]; /* a sentence without the full stop */
} kiln__tensor_fault;
#endif
