/* tensor_map.h - the members of a tensor map, and the rules of cuTensorMapEncode* for them. The engine checks a spec's
 * map by these rules before it asks a driver. The simulated driver checks every map by them
 * (sim/driver/objects/tensor_map.c). */
#ifndef KILN_TENSOR_MAP_H
#define KILN_TENSOR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KILN__TENSOR_DIMS = 5, KILN__TENSOR_PIXELS = 3, KILN__TENSOR_MAP_BYTES = 128, KILN__TENSOR_MAP_ALIGN = 64 };

/* Dimension 0 is the innermost, as in the driver's arrays. The enums have the values of cuda.h. */
typedef struct kiln__tensor_map {
    int type;
    unsigned rank;
    uint64_t address;
    uint64_t shape[KILN__TENSOR_DIMS];   /* elements */
    uint64_t strides[KILN__TENSOR_DIMS]; /* in bytes; strides[0] is the size of an element */
    uint32_t steps[KILN__TENSOR_DIMS];   /* the driver's elementStrides */
    int interleave, swizzle, promotion, fill;
    bool im2col;
    /* for im2col along the dimension W only: 1 is im2col::w, 2 is im2col::w::128; otherwise 0 */
    int wide;
    uint32_t box[KILN__TENSOR_DIMS]; /* box of a tiled map */
    /* corners of an im2col box; rank - 2 numbers are used */
    int32_t lower[KILN__TENSOR_PIXELS], upper[KILN__TENSOR_PIXELS];
    uint32_t channels, pixels;
} kiln__tensor_map;

/* The field that a rule is about. The reader of a spec uses it to find the place of an error. */
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
    unsigned dim;   /* the dimension, if the field has one value for each dimension */
    char text[160]; /* a sentence without the full stop */
} kiln__tensor_fault;
#endif
