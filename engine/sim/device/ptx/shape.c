/* shape.c - the shapes of matrices that tensor core instructions name. */
#include "ptx.h"

/* The shapes: X(modifier, m, n, k). */
#define SHAPE_MAP(X)                                                                                                   \
    X(M8N8K4, 8, 8, 4)                                                                                                 \
    X(M8N8K16, 8, 8, 16)                                                                                               \
    X(M8N8K32, 8, 8, 32)                                                                                               \
    X(M8N8K128, 8, 8, 128)                                                                                             \
    X(M16N8K4, 16, 8, 4)                                                                                               \
    X(M16N8K8, 16, 8, 8)                                                                                               \
    X(M16N8K16, 16, 8, 16)                                                                                             \
    X(M16N8K32, 16, 8, 32)                                                                                             \
    X(M16N8K64, 16, 8, 64)                                                                                             \
    X(M16N8K128, 16, 8, 128)                                                                                           \
    X(M16N8K256, 16, 8, 256)                                                                                           \
    X(M16N16K16, 16, 16, 16)                                                                                           \
    X(M8N32K16, 8, 32, 16)                                                                                             \
    X(M32N8K16, 32, 8, 16)                                                                                             \
    X(M16N16K8, 16, 16, 8)                                                                                             \
    /* wgmma: the part of the matrix that a warp computes in one step */                                               \
    X(M64K8, 16, 8, 8)                                                                                                 \
    X(M64K16, 16, 8, 16)                                                                                               \
    X(M64K32, 16, 8, 32)                                                                                               \
    X(M64K64, 16, 8, 64)                                                                                               \
    X(M64K256, 16, 8, 256)

ptx_shape ptx_shape_of(const ptx_insn *insn)
{
    static const struct {
        ptx_mod mod;
        ptx_shape shape;
    } shapes[] = {
#define X(name, rows, columns, depth) {PTX_MOD_##name, {rows, columns, depth}},
        SHAPE_MAP(X)
#undef X
    };
    for (unsigned k = 0; k < KILN__COUNT(shapes); k++)
        if (ptx_has(insn, shapes[k].mod))
            return shapes[k].shape;
    return (ptx_shape){0, 0, 0};
}
