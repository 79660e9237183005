/* peaks.c - the peak rates of the arithmetic units of a GPU. */
#include <string.h>

#include "driver_internal.h"

/* The number of dense fused multiply-adds that one SM executes in a clock. The numbers for lanes are from the CUDA C++
 * Programming Guide 13.0, table of arithmetic throughput by compute capability. The numbers for tensor cores are from
 * NVIDIA's architecture whitepapers of Volta, Turing, Ampere (GA100, GA102), Ada, Hopper and Blackwell. They are the
 * dense TFLOP/s in the whitepaper divided by 2, by the number of SMs and by the boost clock. The units add in fp32
 * (int8: in int32), unless the column says fp16. specs/devices/ has the same numbers with their sources, and a test
 * compares them. */
typedef struct rates {
    int cc; /* the row applies to this compute capability and later ones, up to the next row */
    int fma[KILN_UNIT_TENSOR_FP8_FP16];
} rates;
#define RATES(cc, fp32, fp64, fp16, tensor_fp64, tf32, tensor_fp16, fp8, int8, fp16_fp16, fp8_fp16)                    \
    {                                                                                                                  \
        cc, { fp32, fp64, fp16, tensor_fp64, tf32, tensor_fp16, fp8, int8, fp16_fp16, fp8_fp16 }                       \
    }
static const rates table[] = {
    RATES(0, 192, 64, 192, 0, 0, 0, 0, 0, 0, 0),
    RATES(50, 128, 4, 128, 0, 0, 0, 0, 0, 0, 0),
    RATES(60, 64, 32, 128, 0, 0, 0, 0, 0, 0, 0),
    RATES(61, 128, 4, 2, 0, 0, 0, 0, 0, 0, 0),
    RATES(62, 128, 4, 256, 0, 0, 0, 0, 0, 0, 0),
    RATES(70, 64, 32, 128, 0, 0, 512, 0, 0, 512, 0),
    RATES(75, 64, 2, 128, 0, 0, 512, 0, 1024, 512, 0),
    RATES(80, 64, 32, 256, 64, 512, 1024, 0, 2048, 1024, 0),
    RATES(86, 128, 2, 128, 2, 256, 512, 0, 1024, 512, 0),
    RATES(89, 128, 2, 128, 2, 256, 512, 1024, 1024, 512, 1024),
    RATES(90, 128, 64, 256, 128, 1024, 2048, 4096, 4096, 2048, 4096),
    RATES(100, 128, 64, 256, 64, 2048, 4096, 8192, 8192, 4096, 8192),
    RATES(120, 128, 2, 128, 2, 256, 512, 1024, 1024, 512, 1024),
};

/* Returns true for GeForce products, which have half the rate if the unit adds in fp32. The whitepapers show this in
 * the tables of the RTX 2080 Ti, 3090, 4090 and 5090, beside the professional products. */
static bool is_halved(const kiln_device_info *info, int cc, unsigned unit)
{
    bool sums = unit == KILN_UNIT_TENSOR_FP16 || unit == KILN_UNIT_TENSOR_TF32 || unit == KILN_UNIT_TENSOR_FP8;
    bool chip = cc == 75 || cc == 86 || cc == 89 || cc == 120;
    return sums && chip && strstr(info->name, "GeForce");
}

void kiln__peaks_set(kiln_device_info *info)
{
    const int cc = 10 * info->cc_major + info->cc_minor;
    const rates *row = table;
    for (size_t i = 1; i < KILN__COUNT(table) && table[i].cc <= cc; i++)
        row = &table[i];
    for (unsigned unit = KILN_UNIT_FP32; unit <= KILN_UNIT_TENSOR_FP8_FP16; unit++) {
        double fma = row->fma[unit - 1] * (is_halved(info, cc, unit) ? 0.5 : 1);
        info->unit_flops[unit] = 2 * fma * info->sm_count * info->clock_hz;
    }
    info->peak_flops = info->unit_flops[KILN_UNIT_FP32];
}
