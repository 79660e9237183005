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
    X(cutoff_atoms, KILN_HOST_INPUT, kiln__host_cutoff_atoms)                                                          \
    X(cutoff_bins, KILN_HOST_STEP, kiln__host_cutoff_bins)                                                             \
    X(cutoff_blocked_c, KILN_HOST_STEP, kiln__host_cutoff_blocked)                                                     \
    X(cutoff_f64, KILN_HOST_REFERENCE, kiln__host_cutoff)                                                              \
    X(cutoff_gather_c, KILN_HOST_STEP, kiln__host_cutoff_gather)                                                       \
    X(cutoff_near, KILN_HOST_INPUT, kiln__host_cutoff_near)                                                            \
    X(cutoff_overflow, KILN_HOST_STEP, kiln__host_cutoff_overflow)                                                     \
    X(cutoff_scatter_c, KILN_HOST_STEP, kiln__host_cutoff_scatter)                                                     \
    X(cutoff_shares, KILN_HOST_INPUT, kiln__host_cutoff_shares)                                                        \
    X(dcs_atoms, KILN_HOST_INPUT, kiln__host_dcs_atoms)                                                                \
    X(dcs_blocked_c, KILN_HOST_STEP, kiln__host_dcs_blocked)                                                           \
    X(dcs_f64, KILN_HOST_REFERENCE, kiln__host_dcs)                                                                    \
    X(dcs_gather_c, KILN_HOST_STEP, kiln__host_dcs_gather)                                                             \
    X(dcs_scatter_c, KILN_HOST_STEP, kiln__host_dcs_scatter)                                                           \
    X(histogram_exact, KILN_HOST_REFERENCE, kiln__host_histogram)                                                      \
    X(matmul_f64, KILN_HOST_REFERENCE, kiln__host_matmul)                                                              \
    X(mri_f64, KILN_HOST_REFERENCE, kiln__host_mri)                                                                    \
    X(mri_samples, KILN_HOST_INPUT, kiln__host_mri_samples)                                                            \
    X(outer_product, KILN_HOST_INPUT, kiln__host_outer_product)                                                        \
    X(quadtree_exact, KILN_HOST_REFERENCE, kiln__host_quadtree)                                                        \
    X(quadtree_host, KILN_HOST_STEP, kiln__host_quadtree_build)                                                        \
    X(quadtree_points, KILN_HOST_INPUT, kiln__host_quadtree_points)                                                    \
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
