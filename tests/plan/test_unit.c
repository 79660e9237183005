#include "check.h"
#include "measure_internal.h"
#include "plan_internal.h"

static void units(void)
{
    static const struct {
        const char *ptx;
        unsigned unit;
    } table[] = {
        {"", KILN_UNIT_FP32},
        {"ld.global.f32 %f1, [%rd1];\nst.global.f64 [%rd1], %fd1;", KILN_UNIT_FP32}, /* no arithmetic */
        {"fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", KILN_UNIT_FP64},
        {"{ add.f64 %fd1, %fd2, %fd3; }", KILN_UNIT_FP64},
        {"add.f64 %fd1, %fd2, %fd3;\n\tmul.ftz.f32\t%f1, %f2, %f3;", KILN_UNIT_FP32},
        {"// fma.rn.f32 %f1, %f1, %f1, %f1;\nsub.f64 %fd1, %fd2, %fd3;", KILN_UNIT_FP64},
        {"// no end of the line: fma.rn.f16x2", KILN_UNIT_FP32},
        {"fma.rn.f32 %f1, %f1, %f1, %f1; fma.rn.bf16x2 %r1, %r1, %r2, %r3;", KILN_UNIT_FP16},
        {"add.s32 %r1, %r2, %r3; mul.wide.u32 %rd1, %r1, 4;", KILN_UNIT_FP32},
        {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1", KILN_UNIT_TENSOR_FP16},
        {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1", KILN_UNIT_TENSOR_TF32},
        {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1", KILN_UNIT_TENSOR_FP64},
        {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f1", KILN_UNIT_TENSOR_FP8},
        {"mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%r1", KILN_UNIT_TENSOR_INT8},
        {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1", KILN_UNIT_TENSOR_FP16},
        {"wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1", KILN_UNIT_FP32},
        {"wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%f1", KILN_UNIT_TENSOR_FP16},
        {"wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {%f1", KILN_UNIT_TENSOR_TF32},
        {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%f1", KILN_UNIT_TENSOR_FP16_FP16},
        {"mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16 {%f1", KILN_UNIT_TENSOR_FP8_FP16},
        {"wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%f1", KILN_UNIT_TENSOR_FP16_FP16},
        {"wgmma.fence.sync.aligned;", KILN_UNIT_FP32},
        {"call fma.rn.f64, (x);", KILN_UNIT_FP64},
        {"bra $fma.rn.f64;\nmov.u32 %mma.sync.e4m3, 1;", KILN_UNIT_FP32}, /* these texts are parts of other words */
    };
    kiln_device_info info = {.cc_major = 9, .sm_count = 132, .clock_hz = 1.98e9};
    kiln__peaks_set(&info);
    for (size_t i = 0; i < KILN__COUNT(table); i++) {
        unsigned unit = kiln__fastest_unit(&info, table[i].ptx, strlen(table[i].ptx));
        if (unit != table[i].unit)
            fprintf(stderr, "%s: %u, not %u\n", table[i].ptx, unit, table[i].unit);
        CHECK(unit == table[i].unit);
    }
    info.cc_major = 7;
    kiln__peaks_set(&info); /* no unit has a known peak for it, so the peak of fp32 counts */
    CHECK(kiln__fastest_unit(&info, "mma.sync.x.e4m3 ", 16) == KILN_UNIT_FP32);
    CHECK(kiln__fastest_unit(&info, NULL, 0) == KILN_UNIT_FP32);
}

static const check_case cases[] = {{"units", units}};
KILN_SUITE("plan unit", cases)
