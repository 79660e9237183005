/* hosts.h - Kiln's own host functions, one file per family. Knows nothing of how they are found. */
#ifndef KILN_DATA_HOSTS_H
#define KILN_DATA_HOSTS_H

#include "data.h"

/* X(name, uses, function, what it takes, what it writes or exports): for `kiln help hosts`. What is in brackets has a
 * default. */
#define KILN__HOSTS(X)                                                                                                 \
    X(increment_exact, KILN_HOST_REFERENCE, kiln__host_increment, "x", "y")                                            \
    X(attention_f64, KILN_HOST_REFERENCE, kiln__host_attention, "q, k, v, CAUSAL", "o")                                \
    X(bezier_curves, KILN_HOST_INPUT, kiln__host_bezier_curves, "control (a kind of points), count, scale, seed",      \
      "curves, total, largest, mean, deviation")                                                                       \
    X(bezier_f64, KILN_HOST_REFERENCE, kiln__host_bezier, "curves, SCALE", "offsets, points")                          \
    X(captured, KILN_HOST_INPUT, kiln__host_captured, "any: numbers, and .npy files", "the same names")                \
    X(convnet_f64, KILN_HOST_REFERENCE, kiln__host_convnet,                                                            \
      "x, w, STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS, NHWC", "y")                             \
    X(convolution_f64, KILN_HOST_REFERENCE, kiln__host_convolution, "x, mask", "y")                                    \
    X(cutoff_atoms, KILN_HOST_INPUT, kiln__host_cutoff_atoms,                                                          \
      "atoms (a file, or a kind), count, seed, nx, ny, nz, spacing, radius", "atoms, count, most, width, pairs")       \
    X(cutoff_bins, KILN_HOST_STEP, kiln__host_cutoff_bins, "atoms, bin, nx, ny, nz, spacing, radius",                  \
      "bins, counts, overflow, taken")                                                                                 \
    X(cutoff_blocked_c, KILN_HOST_STEP, kiln__host_cutoff_blocked, "atoms, nx, ny, nz, spacing, radius", "energy")     \
    X(cutoff_f64, KILN_HOST_REFERENCE, kiln__host_cutoff, "atoms, SPACING, RADIUS", "energy")                          \
    X(cutoff_gather_c, KILN_HOST_STEP, kiln__host_cutoff_gather, "atoms, nx, ny, nz, spacing, radius", "energy")       \
    X(cutoff_near, KILN_HOST_INPUT, kiln__host_cutoff_near, "bin, test, nx, ny, nz, spacing, radius",                  \
      "offsets, offset_count, rows, row_count")                                                                        \
    X(cutoff_overflow, KILN_HOST_STEP, kiln__host_cutoff_overflow, "overflow, taken, nx, ny, nz, spacing, radius",     \
      "energy")                                                                                                        \
    X(cutoff_scatter_c, KILN_HOST_STEP, kiln__host_cutoff_scatter, "atoms, nx, ny, nz, spacing, radius", "energy")     \
    X(cutoff_shares, KILN_HOST_INPUT, kiln__host_cutoff_shares,                                                        \
      "of (atoms), bin, test, [capacity, box, box_y, box_z], nx, ny, nz, spacing, radius", "overflow, within")         \
    X(dcs_atoms, KILN_HOST_INPUT, kiln__host_dcs_atoms, "atoms (a file, or a kind), count, seed, nx, ny, nz, spacing", \
      "atoms, count, charge, extent")                                                                                  \
    X(dcs_blocked_c, KILN_HOST_STEP, kiln__host_dcs_blocked, "atoms, spacing", "energy")                               \
    X(dcs_f64, KILN_HOST_REFERENCE, kiln__host_dcs, "atoms, SPACING", "energy")                                        \
    X(dcs_gather_c, KILN_HOST_STEP, kiln__host_dcs_gather, "atoms, spacing", "energy")                                 \
    X(dcs_scatter_c, KILN_HOST_STEP, kiln__host_dcs_scatter, "atoms, spacing", "energy")                               \
    X(decode_cache, KILN_HOST_INPUT, kiln__host_decode_cache, "sequences, keys, page, lengths, seed",                  \
      "lengths, table, total")                                                                                         \
    X(decode_f64, KILN_HOST_REFERENCE, kiln__host_decode, "q, k, v, lengths, table", "o")                              \
    X(gemm_f64, KILN_HOST_REFERENCE, kiln__host_gemm, "A, B, [COLUMNS], [BATCH]", "C")                                 \
    X(histogram_exact, KILN_HOST_REFERENCE, kiln__host_histogram, "keys", "counts")                                    \
    X(matmul_f64, KILN_HOST_REFERENCE, kiln__host_matmul, "A, B", "P")                                                 \
    X(mri_f64, KILN_HOST_REFERENCE, kiln__host_mri, "kx, ky, kz, phi, d, Q", "re, im")                                 \
    X(mri_samples, KILN_HOST_INPUT, kiln__host_mri_samples, "samples, line, q, seed, trajectory, nx, ny, nz",          \
      "kx, ky, kz, phi, d, rms")                                                                                       \
    X(normalise_f64, KILN_HOST_REFERENCE, kiln__host_normalise, "x, gamma, beta, KIND, EPSILON", "y")                  \
    X(outer_product, KILN_HOST_INPUT, kiln__host_outer_product, "rows, columns, [seed]", "column, row, product")       \
    X(quadtree_exact, KILN_HOST_REFERENCE, kiln__host_quadtree, "points, CAP, DEPTH", "order, nodes, levels")          \
    X(quadtree_host, KILN_HOST_STEP, kiln__host_quadtree_build, "points, CAP, DEPTH", "order, nodes, levels")          \
    X(quadtree_points, KILN_HOST_INPUT, kiln__host_quadtree_points, "points (a kind), count, seed, CAP, DEPTH",        \
      "points, nodes")                                                                                                 \
    X(radixsort_exact, KILN_HOST_REFERENCE, kiln__host_radixsort, "keys, values, BEGIN, END",                          \
      "sorted_keys, sorted_values")                                                                                    \
    X(radixsort_keys, KILN_HOST_INPUT, kiln__host_radixsort_keys, "keys (a kind), type, n, [seed]", "keys")            \
    X(reduction_f64, KILN_HOST_REFERENCE, kiln__host_reduction, "x, OP", "y, at")                                      \
    X(scan_f64, KILN_HOST_REFERENCE, kiln__host_scan, "x, EXCLUSIVE", "y")                                             \
    X(sort_exact, KILN_HOST_REFERENCE, kiln__host_sort, "keys, values", "sorted_keys, sorted_values")                  \
    X(sort_keys, KILN_HOST_INPUT, kiln__host_sort_keys, "keys (a kind), type, n, [seed]",                              \
      "keys, and facts about them")                                                                                    \
    X(stencil_f64, KILN_HOST_REFERENCE, kiln__host_stencil, "x, STEPS", "y")                                           \
    X(syrk_f64, KILN_HOST_REFERENCE, kiln__host_syrk, "A", "C")                                                        \
    X(transpose_exact, KILN_HOST_REFERENCE, kiln__host_transpose, "A", "T")

#define KILN_X(name, uses, function, ...) kiln_status function(void *user, kiln_call *call);
KILN__HOSTS(KILN_X)
#undef KILN_X
#endif
