/* peaks.c - the peak rates of the units that do arithmetic. */
#include "driver_internal.h"

/* Fused multiply-adds that one SM does in a clock, dense. Lanes: CUDA C++ Programming Guide 13.0, table of arithmetic
 * throughput by compute capability. Tensor cores: NVIDIA's architecture whitepapers of Volta, Turing, Ampere (GA100,
 * GA102), Ada, Hopper and Blackwell, their TFLOP/s divided by 2, SMs and boost clock. Where products of one compute
 * capability differ (GeForce halves some rates), the highest, so that no kernel can be above it. */
typedef struct rates {
    int cc; /* this compute capability and later ones up to the next row */
    int fma[KILN_UNIT_TENSOR_INT8];
} rates;
#define RATES(cc, fp32, fp64, fp16, tensor_fp64, tf32, tensor_fp16, fp8, int8)                                         \
    {                                                                                                                  \
        cc, { fp32, fp64, fp16, tensor_fp64, tf32, tensor_fp16, fp8, int8 }                                            \
    }
static const rates table[] = {
    RATES(0, 192, 64, 192, 0, 0, 0, 0, 0),
    RATES(50, 128, 4, 128, 0, 0, 0, 0, 0),
    RATES(60, 64, 32, 128, 0, 0, 0, 0, 0),
    RATES(61, 128, 4, 2, 0, 0, 0, 0, 0),
    RATES(62, 128, 4, 256, 0, 0, 0, 0, 0),
    RATES(70, 64, 32, 128, 0, 0, 512, 0, 0),
    RATES(75, 64, 2, 128, 0, 0, 512, 0, 1024),
    RATES(80, 64, 32, 256, 64, 512, 1024, 0, 2048),
    RATES(86, 128, 2, 128, 2, 256, 512, 0, 1024),
    RATES(89, 128, 2, 128, 2, 256, 512, 1024, 1024),
    RATES(90, 128, 64, 256, 128, 1024, 2048, 4096, 4096),
    RATES(100, 128, 64, 256, 64, 2048, 4096, 8192, 8192),
    RATES(120, 128, 2, 128, 2, 256, 512, 1024, 1024),
};

double kiln__peak_flops(const kiln_device_info *info, unsigned unit)
{
    const int cc = 10 * info->cc_major + info->cc_minor;
    const rates *row = table;
    for (size_t i = 1; i < KILN__COUNT(table) && table[i].cc <= cc; i++)
        row = &table[i];
    if (unit < KILN_UNIT_FP32 || unit > KILN_UNIT_TENSOR_INT8)
        return 0;
    return 2.0 * row->fma[unit - 1] * info->sm_count * info->clock_hz;
}
