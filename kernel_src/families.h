/* families.h - the families of the catalogue that have host functions, one on each line. FAMILY.c defines a family's
 * functions with KILN__FAMILY (host/catalogue.h). `kiln help hosts` lists them in this order. */
#ifndef KILN_FAMILIES_H
#define KILN_FAMILIES_H

#define KILN__FAMILIES(X)                                                                                              \
    X(attention)                                                                                                       \
    X(attention_backward)                                                                                              \
    X(axpby)                                                                                                           \
    X(barneshut)                                                                                                       \
    X(bezier)                                                                                                          \
    X(bfs)                                                                                                             \
    X(convnet)                                                                                                         \
    X(convolution)                                                                                                     \
    X(cutoff)                                                                                                          \
    X(dcs)                                                                                                             \
    X(decode)                                                                                                          \
    X(grouped)                                                                                                         \
    X(histogram)                                                                                                       \
    X(matmul)                                                                                                          \
    X(memory)                                                                                                          \
    X(mergesort)                                                                                                       \
    X(mri)                                                                                                             \
    X(normalise)                                                                                                       \
    X(quadtree)                                                                                                        \
    X(radixsort)                                                                                                       \
    X(reduction)                                                                                                       \
    X(scan)                                                                                                            \
    X(spmv)                                                                                                            \
    X(stencil)                                                                                                         \
    X(transpose)

#endif
