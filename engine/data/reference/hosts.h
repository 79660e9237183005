/* hosts.h - Kiln's own host functions, one file per family. Knows nothing of how they are found. */
#ifndef KILN_DATA_HOSTS_H
#define KILN_DATA_HOSTS_H

#include "data.h"

/* X(name, uses, function) */
#define KILN__HOSTS(X)                                                                                                 \
    X(increment_exact, KILN_HOST_REFERENCE, kiln__host_increment)                                                      \
    X(bezier_curves, KILN_HOST_INPUT, kiln__host_bezier_curves)                                                        \
    X(bezier_f64, KILN_HOST_REFERENCE, kiln__host_bezier)                                                              \
    X(captured, KILN_HOST_INPUT, kiln__host_captured)                                                                  \
    X(convnet_f64, KILN_HOST_REFERENCE, kiln__host_convnet)                                                            \
    X(convolution_f64, KILN_HOST_REFERENCE, kiln__host_convolution)                                                    \
    X(histogram_exact, KILN_HOST_REFERENCE, kiln__host_histogram)                                                      \
    X(matmul_f64, KILN_HOST_REFERENCE, kiln__host_matmul)                                                              \
    X(outer_product, KILN_HOST_INPUT, kiln__host_outer_product)                                                        \
    X(reduction_f64, KILN_HOST_REFERENCE, kiln__host_reduction)                                                        \
    X(scan_f64, KILN_HOST_REFERENCE, kiln__host_scan)                                                                  \
    X(sort_exact, KILN_HOST_REFERENCE, kiln__host_sort)                                                                \
    X(sort_keys, KILN_HOST_INPUT, kiln__host_sort_keys)                                                                \
    X(stencil_f64, KILN_HOST_REFERENCE, kiln__host_stencil)                                                            \
    X(syrk_f64, KILN_HOST_REFERENCE, kiln__host_syrk)                                                                  \
    X(transpose_exact, KILN_HOST_REFERENCE, kiln__host_transpose)

#define KILN_X(name, uses, function) kiln_status function(void *user, kiln_call *call);
KILN__HOSTS(KILN_X)
#undef KILN_X
#endif
