/* count.c - compares an output with its reference on the device.
 *
 * Copying an output of 256 MiB to the host and comparing it there takes longer than most samples. So a sweep keeps a
 * copy of the reference on the device. A kernel counts there the same numbers as kiln__array_compare(): wrong elements,
 * elements that a sampled reference lacks, the largest error, and the errors by class. The kernel does the same
 * operations of IEEE 754 doubles in the same order, without fused multiply-add. So every number is the same as on the
 * host.
 *
 * The device can only decide that an answer is right. If the device counts a wrong element, the host compares the
 * answer too and writes the message. A kernel that writes out of bounds may change the copy of the reference. So the
 * sweep drops the copies after a wrong answer, and compares the answer of the best configuration on the host
 * (engine/tune/confirm.c). */
#include <inttypes.h>
#include <string.h>

#include "count_internal.h"
#include "layout_internal.h"
#include "limit_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"

#define LEAST_BYTES ((uint64_t)1 << 20) /* copying a smaller output to the host takes no longer than a launch */
enum {
    FREE_TIMES = 4, /* a reference is copied to the device only if the free memory has room for this number of copies */
    THREADS = 256,
    BLOCKS_MOST = 1024
};

/* The kernel writes its counts as 64-bit numbers in the order of the fields of kiln__counted. */
_Static_assert(sizeof(kiln__counted) == (3 + KILN__ERROR_CLASSES) * sizeof(uint64_t), "it has no gaps");
_Static_assert(KILN__ERROR_CLASSES == 2048 && KILN__ERROR_LEAST == -48 && KILN__ERROR_BITS == 5,
               "the numbers in the kernel below");

/* Describes how the kernel reads two elements of a type into the registers %g1 and %g2. `load` sets the registers %d12
 * and %d13 to the bits of the two elements. If the type has at most 32 bits, %r9 and %r10 also have these bits. */
typedef struct numeric {
    kiln_type type;
    int shift; /* the size of an element is 1 << shift bytes */
    const char *load, *convert;
    enum { FLOATS, INTEGERS, LONG, UNSIGNED_LONG } kind;
} numeric;

#define LOAD(size)                                                                                                     \
    "ld.global.u" #size " %r9, [%d9];\nld.global.u" #size " %r10, [%d10];\n"                                           \
    "cvt.u64.u32 %d12, %r9;\ncvt.u64.u32 %d13, %r10;\n"
#define LOAD_64 "ld.global.u64 %d12, [%d9];\nld.global.u64 %d13, [%d10];\n"
#define BOTH(by) "cvt" by " %g1, %r9;\ncvt" by " %g2, %r10;\n"
#define FLOAT_32 "mov.b32 %f1, %r9;\nmov.b32 %f2, %r10;\ncvt.f64.f32 %g1, %f1;\ncvt.f64.f32 %g2, %f2;\n"
#define EXTEND(bits)                                                                                                   \
    "shl.b32 %r9, %r9, " #bits ";\nshr.s32 %r9, %r9, " #bits ";\n"                                                     \
    "shl.b32 %r10, %r10, " #bits ";\nshr.s32 %r10, %r10, " #bits ";\n"
static const numeric numerics[] = {
    {KILN_f32, 2, LOAD(32), FLOAT_32, FLOATS},
    {KILN_f64, 3, LOAD_64, "mov.b64 %g1, %d12;\nmov.b64 %g2, %d13;\n", FLOATS},
    {KILN_f16, 1, LOAD(16),
     "cvt.u16.u32 %h1, %r9;\ncvt.u16.u32 %h2, %r10;\ncvt.f64.f16 %g1, %h1;\ncvt.f64.f16 %g2, %h2;\n", FLOATS},
    {KILN_bf16, 1, LOAD(16), "shl.b32 %r9, %r9, 16;\nshl.b32 %r10, %r10, 16;\n" FLOAT_32, FLOATS},
    {KILN_i8, 0, LOAD(8), EXTEND(24) BOTH(".rn.f64.s32"), INTEGERS},
    {KILN_i16, 1, LOAD(16), EXTEND(16) BOTH(".rn.f64.s32"), INTEGERS},
    {KILN_i32, 2, LOAD(32), BOTH(".rn.f64.s32"), INTEGERS},
    {KILN_u8, 0, LOAD(8), BOTH(".rn.f64.u32"), INTEGERS},
    {KILN_bool, 0, LOAD(8), BOTH(".rn.f64.u32"), INTEGERS},
    {KILN_u16, 1, LOAD(16), BOTH(".rn.f64.u32"), INTEGERS},
    {KILN_u32, 2, LOAD(32), BOTH(".rn.f64.u32"), INTEGERS},
    {KILN_i64, 3, LOAD_64, "cvt.rn.f64.s64 %g2, %d13;\n", LONG},
    {KILN_u64, 3, LOAD_64, "cvt.rn.f64.u64 %g2, %d13;\n", UNSIGNED_LONG},
};

/* PTX that computes %g3 = |got - want|, like distance_of() of data/compare.c. The bits of the two elements differ when
 * this PTX runs. So if the two floats are equal, one of them is 0 and the other is -0. If `exact` is set, 0 and -0
 * count as different, because %g10 is 2^-1074. If `exact` is not set, %g10 is 0. */
static const char *const distances[] = {
    [FLOATS] = "sub.rn.f64 %g3, %g1, %g2;\nabs.f64 %g3, %g3;\n"
               "setp.eq.f64 %p3, %g1, %g2;\n@%p3 mov.f64 %g3, %g10;\n"
               "setp.nan.f64 %p4, %g1, %g1;\nsetp.nan.f64 %p5, %g2, %g2;\nand.pred %p4, %p4, %p5;\n"
               "@%p4 mov.f64 %g3, 0d0000000000000000;\n",
    [INTEGERS] = "sub.rn.f64 %g3, %g1, %g2;\nabs.f64 %g3, %g3;\n",
    [LONG] = "setp.gt.s64 %p3, %d12, %d13;\n",
    [UNSIGNED_LONG] = "setp.gt.u64 %p3, %d12, %d13;\n",
};
static const char long_distance[] = "sub.s64 %d14, %d12, %d13;\nsub.s64 %d15, %d13, %d12;\n"
                                    "selp.b64 %d14, %d14, %d15, %p3;\ncvt.rn.f64.u64 %g3, %d14;\n";

/* Each block of the counting kernel counts error classes in shared memory, because many elements have the same class.
 * At its end the block adds its counts to the totals. */
static const char head[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry count_errors(.param .u64 got, .param .u64 want, .param .u64 count, .param .u64 counted,\n"
    "                      .param .f64 rtol, .param .f64 atol, .param .u32 exact, .param .u32 sampled,\n"
    "                      .param .u64 poison)\n{\n"
    ".reg .pred %p<12>;\n.reg .b16 %h<4>;\n.reg .b32 %r<20>;\n.reg .b64 %d<32>;\n.reg .f32 %f<4>;\n.reg .f64 %g<16>;\n"
    ".shared .align 4 .b8 classes[8192];\n"
    "ld.param.u64 %d1, [got];\nld.param.u64 %d2, [want];\nld.param.u64 %d3, [count];\nld.param.u64 %d4, [counted];\n"
    "ld.param.f64 %g11, [rtol];\nld.param.f64 %g12, [atol];\nld.param.u32 %r1, [exact];\nld.param.u32 %r2, [sampled];\n"
    "ld.param.u64 %d5, [poison];\n"
    "cvta.to.global.u64 %d1, %d1;\ncvta.to.global.u64 %d2, %d2;\ncvta.to.global.u64 %d4, %d4;\n"
    "setp.ne.u32 %p10, %r1, 0;\nsetp.ne.u32 %p11, %r2, 0;\n"
    "selp.f64 %g10, 0d0000000000000001, 0d0000000000000000, %p10;\n"
    "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %ctaid.x;\nmov.u32 %r6, %nctaid.x;\n"
    "mov.u32 %r8, classes;\nmov.u32 %r7, %r3;\n"
    "ZERO:\nsetp.ge.u32 %p1, %r7, 2048;\n@%p1 bra ZEROED;\nshl.b32 %r11, %r7, 2;\nadd.u32 %r11, %r11, %r8;\n"
    "st.shared.u32 [%r11], 0;\nadd.u32 %r7, %r7, %r4;\nbra ZERO;\n"
    "ZEROED:\nbar.sync 0;\n"
    "cvt.u64.u32 %d6, %r3;\nmul.wide.u32 %d7, %r5, %r4;\nadd.u64 %d6, %d6, %d7;\nmul.wide.u32 %d7, %r6, %r4;\n"
    "mov.u64 %d20, 0;\nmov.u64 %d21, 0;\nmov.u64 %d22, 0;\n" /* %d20 counts wrong elements, %d21 elements that the
                                                              * reference lacks; %d22 is the largest error */
    "NEXT:\nsetp.ge.u64 %p1, %d6, %d3;\n@%p1 bra DONE;\n";
static const char middle[] = "@!%p11 bra COMPARE;\n" /* a sampled reference */
                             "setp.ne.u64 %p1, %d13, %d5;\n@%p1 bra COMPARE;\nadd.u64 %d21, %d21, 1;\n"
                             "setp.eq.u64 %p1, %d12, %d5;\n@%p1 add.u64 %d20, %d20, 1;\nbra STEP;\n"
                             "COMPARE:\nsetp.eq.u64 %p1, %d12, %d13;\n@%p1 bra STEP;\n";
static const char tail[] =
    "setp.eq.f64 %p1, %g3, 0d0000000000000000;\n@%p1 bra STEP;\n"
    "abs.f64 %g4, %g2;\nmul.rn.f64 %g4, %g11, %g4;\nadd.rn.f64 %g4, %g12, %g4;\n" /* the tolerance */
    "@%p10 mov.f64 %g4, 0d0000000000000000;\n"
    "mov.f64 %g5, 0d7FF0000000000000;\n" /* the error */
    "setp.nan.f64 %p1, %g3, %g4;\n@%p1 bra COUNT;\n"
    "setp.eq.f64 %p1, %g3, 0d7FF0000000000000;\n@%p1 bra COUNT;\n"
    "setp.gt.f64 %p1, %g4, 0d0000000000000000;\n@%p1 div.rn.f64 %g5, %g3, %g4;\n"
    "COUNT:\nmov.b64 %d14, %g5;\nmax.u64 %d22, %d22, %d14;\n"
    "setp.gt.f64 %p1, %g5, 0d3FF0000000000000;\n@%p1 add.u64 %d20, %d20, 1;\n"
    "setp.lt.f64 %p1, %g5, 0d3CF0000000000000;\n@%p1 bra STEP;\n"
    "shr.u64 %d14, %d14, 47;\nsub.u64 %d14, %d14, 31200;\nmin.u64 %d14, %d14, 2047;\n"
    "cvt.u32.u64 %r11, %d14;\nshl.b32 %r11, %r11, 2;\nadd.u32 %r11, %r11, %r8;\nred.shared.add.u32 [%r11], 1;\n"
    "STEP:\nadd.u64 %d6, %d6, %d7;\nbra NEXT;\n"
    "DONE:\nbar.sync 0;\nmov.u32 %r7, %r3;\n"
    "FLUSH:\nsetp.ge.u32 %p1, %r7, 2048;\n@%p1 bra FLUSHED;\nshl.b32 %r11, %r7, 2;\nadd.u32 %r11, %r11, %r8;\n"
    "ld.shared.u32 %r12, [%r11];\nsetp.eq.u32 %p1, %r12, 0;\n@%p1 bra SKIP;\ncvt.u64.u32 %d14, %r12;\n"
    "mul.wide.u32 %d15, %r7, 8;\nadd.u64 %d15, %d15, %d4;\nred.global.add.u64 [%d15+24], %d14;\n"
    "SKIP:\nadd.u32 %r7, %r7, %r4;\nbra FLUSH;\n"
    "FLUSHED:\nsetp.eq.u64 %p1, %d20, 0;\n@!%p1 red.global.add.u64 [%d4], %d20;\n"
    "setp.eq.u64 %p1, %d21, 0;\n@!%p1 red.global.add.u64 [%d4+8], %d21;\n"
    "setp.eq.u64 %p1, %d22, 0;\n@!%p1 red.global.max.u64 [%d4+16], %d22;\nret;\n}\n";

static const numeric *find_numeric(kiln_type type)
{
    for (size_t i = 0; i < KILN__COUNT(numerics); i++)
        if (numerics[i].type == type)
            return &numerics[i];
    return NULL;
}

static bool make_ptx(const numeric *of, kiln__text *ptx)
{
    kiln__text_puts(ptx, head);
    kiln__text_printf(ptx, "shl.b64 %%d8, %%d6, %d;\nadd.u64 %%d9, %%d1, %%d8;\nadd.u64 %%d10, %%d2, %%d8;\n",
                      of->shift);
    kiln__text_puts(ptx, of->load);
    kiln__text_puts(ptx, middle);
    kiln__text_puts(ptx, of->convert);
    kiln__text_puts(ptx, distances[of->kind]);
    kiln__text_puts(ptx, of->kind == LONG || of->kind == UNSIGNED_LONG ? long_distance : "");
    kiln__text_puts(ptx, tail);
    return !ptx->failed;
}

/* Loads the kernel that compares elements of the type, for all plans that share the object `shared`. Returns NULL if
 * the device refuses the kernel, or if memory is exhausted. */
static CUfunction load_counter(kiln__shared *shared, const numeric *of)
{
    const kiln__driver *driver = &shared->engine->driver;
    kiln__counter *counter = &shared->counters[of->type];
    if (!counter->module && !counter->refused) {
        kiln__text ptx = {.mem = shared->mem};
        counter->refused = true;
        if (make_ptx(of, &ptx) &&
            driver->cuModuleLoadDataEx_(&counter->module, ptx.data, 0, NULL, NULL) == CUDA_SUCCESS)
            counter->refused = driver->cuModuleGetFunction_(&counter->function, counter->module, "count_errors") !=
                               CUDA_SUCCESS;
        kiln__text_free(&ptx);
    }
    if (!counter->refused && !shared->counted &&
        driver->cuMemAlloc_(&shared->counted, sizeof(kiln__counted)) != CUDA_SUCCESS)
        shared->counted = 0;
    return counter->refused || !shared->counted ? NULL : counter->function;
}

bool kiln__counts_on_device(const kiln_plan *plan, uint64_t bytes)
{
    const kiln__shared *shared = plan->shared;
    const uint64_t least = shared->count_least ? shared->count_least
                           /* On a simulated device the host compares faster than the device. */
                           : plan->engine->info.simulated ? UINT64_MAX
                                                          : LEAST_BYTES;
    return shared->sweep && plan->answer_use == KILN__ANSWER_NONE && bytes >= least;
}

/* Finds the copy of a reference in device memory, or makes it. Returns 0 if the host has to make the comparison. */
static CUdeviceptr find_copy(kiln_plan *plan, const kiln__counting *of, uint64_t bytes)
{
    const kiln__driver *driver = &plan->engine->driver;
    kiln__text key = {.mem = plan->mem};
    size_t available = 0, total = 0;
    CUdeviceptr copy = 0;
    kiln__text_printf(&key, "device reference %s %s", of->buffer, of->key);
    kiln__plan_entry *entry = key.failed ? NULL : kiln__shared_find(plan->shared, key.data);
    if (entry) {
        copy = entry->device;
    } else if (!key.failed && driver->cuMemGetInfo_(&available, &total) == CUDA_SUCCESS &&
               available / FREE_TIMES >= bytes && available - bytes >= total / FREE_TIMES &&
               driver->cuMemAlloc_(&copy, (size_t)bytes) == CUDA_SUCCESS) {
        if (driver->cuMemcpyHtoD_(copy, of->want->data, (size_t)bytes) == CUDA_SUCCESS &&
            kiln__shared_add(plan->shared, key.data, NULL, &entry, NULL) == KILN_OK) {
            entry->device = copy;
            entry->device_bytes = bytes;
        } else {
            driver->cuMemFree_(copy);
            copy = 0;
        }
    }
    kiln__text_free(&key);
    return copy;
}

kiln_status kiln__count_on_device(kiln_plan *plan, const kiln__plan_buffer *b, const kiln__counting *of,
                                  kiln__counted *counted, bool *done, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    const numeric *type = find_numeric(b->type);
    *done = false;
    if (!type || of->want->type != b->type || b->elements == 0)
        return KILN_OK;
    CUfunction function = load_counter(plan->shared, type);
    CUdeviceptr want = function ? find_copy(plan, of, b->bytes) : 0, got = b->pointer, out = plan->shared->counted;
    if (!want)
        return KILN_OK;
    size_t width;
    uint64_t poison = kiln__poison_pattern(b->type, &width), count = b->elements;
    for (size_t have = width; have < kiln__type_bytes(b->type); have *= 2)
        poison |= poison << 8 * have;
    uint32_t exact = of->exact, sampled = of->sampled;
    double rtol = of->rtol, atol = of->atol;
    void *args[] = {&got, &want, &count, &out, &rtol, &atol, &exact, &sampled, &poison};
    const uint64_t blocks = (count + THREADS - 1) / THREADS;
    CUresult result = driver->cuMemsetD32Async_(out, 0, sizeof *counted / sizeof(uint32_t), NULL);
    if (result == CUDA_SUCCESS)
        result = driver->cuLaunchKernel_(function, blocks < BLOCKS_MOST ? (unsigned)blocks : BLOCKS_MOST, 1, 1, THREADS,
                                         1, 1, 0, NULL, args, NULL);
    if (result ==
        /* waits without the time limit, because the limit is only for kernels of the spec, and exceeding it would mark
         * the engine as stuck
         * */
        CUDA_SUCCESS)
        result = driver->cuMemcpyDtoH_(counted, out, sizeof *counted);
    *done = result == CUDA_SUCCESS;
    return *done ? KILN_OK : kiln__limit_fail(plan, result, error, "comparing %s with its reference", of->buffer);
}
