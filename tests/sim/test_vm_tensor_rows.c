/* Tests copies by tensor maps that are new on Blackwell: gather4, scatter4, im2col along W, and mbarriers in the other
 * block of a pair. Loops over coordinates compute which elements must be copied. The results were not compared with
 * hardware. */
#include <stdlib.h>

#include "vm_check.h"
#include "vm_tensor.h"

enum { TENSOR = 1 << 14, SHARED = 32 << 10, THREADS = 128, C = 16, W = 9, H = 5, N = 6 };

static uint32_t seed = 5;
static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % below;
}

/* The beginning of a kernel with a map, a tensor, and shared memory in each block. %r1 is the address of `sh`, and %r2
 * the address of the mbarrier. */
#define HEAD                                                                                                           \
    ".version 9.0\n.target sm_100a\n.address_size 64\n"                                                                \
    ".visible .entry k(.param .u64 map, .param .u64 image) {\n"                                                        \
    ".shared .align 1024 .b8 sh[32768]; .shared .align 8 .b64 bar;\n"                                                  \
    ".reg .b32 %r<24>; .reg .b16 %h<8>; .reg .b64 %d<16>; .reg .pred %p<6>;\n"                                         \
    "ld.param.u64 %d1, [map]; ld.param.u64 %d2, [image]; mov.u32 %r0, %tid.x; mov.u32 %r1, sh; mov.u32 %r2, bar;\n"    \
    "mov.u32 %r8, %cluster_ctarank; mul.wide.u32 %d4, %r8, 32768; add.u64 %d2, %d2, %d4; setp.ne.u32 %p0, %r0, 0;\n"
#define ALL(name, body)                                                                                                \
    "shl.b32 %r3, %r0, 2;\n" name ": cvt.u64.u32 %d3, %r3; add.u64 %d3, %d3, %d2; add.u32 %r4, %r1, %r3;\n" body       \
    "add.u32 %r3, %r3, 512; setp.lt.u32 %p1, %r3, 32768; @%p1 bra " name ";\n"
#define IN ALL("I", "ld.global.b32 %r5, [%d3]; st.shared.b32 [%r4], %r5;\n")
#define OUT ALL("O", "ld.shared.b32 %r5, [%r4]; st.global.b32 [%d3], %r5;\n")
#define BEGIN(bytes)                                                                                                   \
    "@%p0 bra W; mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;\n"                            \
    "mbarrier.arrive.expect_tx.shared.b64 _, [bar], " bytes ";\n"                                                      \
    "W: fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;\n"
#define WAIT "V: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra V;\n"
#define END "ret;\n}\n"

typedef struct bench {
    vm_bench b;
    uint64_t map_at, image_at;
    vm_tensor_map *map;
    unsigned char *tensor, *image;
} bench;

static bench bench_new(const char *text)
{
    bench x = {.b = vm_bench_text(text, strlen(text), (vm_limits){.cc = 100, .threads = 1})};
    void *tensor, *map, *image;
    const uint64_t at = vm_bench_zeros(&x.b, TENSOR, &tensor);
    x.map_at = vm_bench_zeros(&x.b, VM_TENSOR_BYTES, &map);
    x.image_at = vm_bench_zeros(&x.b, (uint64_t)2 * SHARED, &image);
    x.map = map, x.tensor = tensor, x.image = image;
    for (unsigned k = 0; k < TENSOR; k++)
        x.tensor[k] = (unsigned char)draw(256);
    for (unsigned k = 0; k < 2 * SHARED; k++)
        x.image[k] = (unsigned char)draw(256);
    *x.map = (vm_tensor_map){.mark = VM_TENSOR_MAP, .address = at};
    return x;
}

static vm_fault_kind bench_run(bench *x, uint32_t blocks)
{
    const uint64_t params[2] = {x->map_at, x->image_at};
    const vm_launch launch = {.module = x->b.module,
                              .grid = {blocks, 1, 1},
                              .block = {THREADS, 1, 1},
                              .cluster = {blocks, 1, 1},
                              .params = params};
    const vm_fault_kind kind = vm_run(x->b.device, &launch, &x->b.counters, &x->b.fault);
    return kind;
}

/* ---- gather4 and scatter4: a tensor of 20 rows of 40 halves, and boxes of 16 columns ---- */

enum { TALL = 20, WIDE = 40, PITCH = 96, COLUMNS = 16, ROW = COLUMNS * 2 };

static void set_tiled(vm_tensor_map *map, unsigned swizzle)
{
    map->rank = 2;
    map->type = 6; /* halves */
    map->swizzle = (uint8_t)swizzle;
    map->stride[0] = PITCH;
    map->last[0] = WIDE - 1, map->last[1] = TALL - 1;
    map->box[0] = COLUMNS, map->box[1] = 1;
    map->step[0] = map->step[1] = 1;
}

/* Returns the address of an element of the tensor, or NULL if the element is outside of the tensor. */
static unsigned char *half_at(const bench *x, int column, int row)
{
    return column < 0 || column >= WIDE || row < 0 || row >= TALL ? NULL : x->tensor + row * PITCH + column * 2;
}

/* Returns the place of byte `at` of a row in shared memory. */
static unsigned place(unsigned swizzle, unsigned row, unsigned at)
{
    if (!swizzle)
        return row * ROW + at;
    return row * 32 + ((at / 16) ^ (row >> 2 & 1)) * 16 + at % 16; /* 32 bytes */
}

static void put_rows(kiln__text *text, const int *at)
{
    kiln__text_printf(text, "[%%d1, {%d, %d, %d, %d, %d}]", at[0], at[1], at[2], at[3], at[4]);
}

static void draw_rows(int *at)
{
    at[0] = (int)draw(WIDE + 8) - 8;
    for (unsigned k = 1; k < 5; k++)
        at[k] = (int)draw(TALL + 4) - 2;
}

static void test_gather(void)
{
    static unsigned char want[SHARED];
    for (unsigned round = 0; round < 9; round++) {
        int at[5];
        kiln__text text = {0};
        draw_rows(at);
        kiln__text_puts(&text, HEAD IN BEGIN("128"));
        kiln__text_printf(
            &text,
            "@%%p0 bra V;\ncp.async.bulk.tensor.2d.shared::%s.global.tile::gather4.mbarrier::complete_tx::bytes"
            "%s [%%r1], ",
            round & 1 ? "cta" : "cluster", round & 2 ? ".cta_group::1" : "");
        put_rows(&text, at);
        kiln__text_puts(&text, ", [%r2];\n" WAIT OUT END);
        bench x = bench_new(kiln__text_get(&text));
        const unsigned swizzle = round % 3 == 1;
        set_tiled(x.map, swizzle);
        memcpy(want, x.image, SHARED);
        for (unsigned row = 0; row < 4; row++)
            for (int k = 0; k < COLUMNS; k++) {
                const unsigned char *from = half_at(&x, at[0] + k, at[1 + row]);
                for (unsigned byte = 0; byte < 2; byte++)
                    want[place(swizzle, row, (unsigned)k * 2 + byte)] = from ? from[byte] : 0;
            }
        const vm_fault_kind kind = bench_run(&x, 1);
        if (kind != VM_OK)
            fprintf(stderr, "%s\n", x.b.fault.message);
        CU_ASSERT_EQUAL(kind, VM_OK);
        CU_ASSERT_EQUAL(memcmp(x.image, want, SHARED), 0);
        vm_bench_end(&x.b);
        kiln__text_free(&text);
    }
}

static void test_scatter(void)
{
    static unsigned char want[TENSOR];
    for (unsigned round = 0; round < 9; round++) {
        int at[5];
        kiln__text text = {0};
        const bool add = round & 1;
        draw_rows(at);
        for (unsigned k = 2; k < 5; k++) /* rows that differ */
            at[k] = at[1] + (int)(k - 1) * (round & 2 ? 3 : -2);
        kiln__text_puts(&text, HEAD IN "fence.proxy.async; bar.sync 0; @%p0 exit;\n");
        kiln__text_printf(&text, "%s.async.bulk.tensor.2d.global.shared::cta%s.tile::scatter4.bulk_group ",
                          add ? "cp.reduce" : "cp", add ? ".xor" : "");
        put_rows(&text, at);
        kiln__text_puts(&text, ", [%r1];\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n" END);
        bench x = bench_new(kiln__text_get(&text));
        const unsigned swizzle = round % 3 == 1;
        set_tiled(x.map, swizzle);
        if (add) { /* words of 32 bits */
            x.map->type = 2;
            x.map->box[0] = COLUMNS / 2;
            x.map->last[0] = WIDE / 2 - 1;
        }
        memcpy(want, x.tensor, TENSOR);
        for (unsigned row = 0; row < 4; row++)
            for (int k = 0; k < COLUMNS; k++) {
                const int column = add ? at[0] * 2 + k : at[0] + k;
                const unsigned char *old = half_at(&x, column, at[1 + row]);
                for (unsigned byte = 0; old && byte < 2; byte++) {
                    unsigned char *to = want + (old - x.tensor) + byte;
                    const unsigned char from = x.image[place(swizzle, row, (unsigned)k * 2 + byte)];
                    *to = add ? *to ^ from : from;
                }
            }
        CU_ASSERT_EQUAL(bench_run(&x, 1), VM_OK);
        CU_ASSERT_EQUAL(memcmp(x.tensor, want, TENSOR), 0);
        vm_bench_end(&x.b);
        kiln__text_free(&text);
    }
}

/* ---- im2col along W: images of 5 rows of 9 pixels of 16 bytes ---- */

typedef struct wide {
    bool fixed; /* im2col::w::128 */
    unsigned pixels, halo, offset, step;
    int lower, upper, w, h, n;
} wide;

/* Writes a pixel to the next row of `want`. Pixels outside of the tensor are zero. */
static void put_pixel(const bench *x, const wide *how, unsigned char *want, unsigned *row, int w, int n)
{
    const int real = w + (int)how->offset;
    const bool inside = real >= 0 && real < W && how->h >= 0 && how->h < H && n >= 0 && n < N;
    memset(want + *row * C, 0, C);
    if (inside)
        memcpy(want + *row * C, x->tensor + ((n * H + how->h) * W + real) * C, C);
    ++*row;
}

static unsigned expect_wide(const bench *x, const wide *how, unsigned char *want)
{
    const unsigned groups = how->fixed ? 4 : 1, each = how->fixed ? 32 : how->pixels;
    unsigned row = 0;
    int w = how->w, n = how->n;
    for (unsigned g = 0; g < groups; g++) {
        int last = w, last_n = n;
        for (unsigned k = 0; k < each; k++) {
            put_pixel(x, how, want, &row, w, n);
            last = w, last_n = n;
            w += (int)how->step;
            if (w > W - 1 + how->upper)
                w = how->lower, n++;
        }
        for (unsigned k = 1; k <= how->halo; k++)
            put_pixel(x, how, want, &row, last + (int)(k * how->step), last_n);
    }
    return row;
}

static void test_wide(void)
{
    static unsigned char want[SHARED];
    for (unsigned round = 0; round < 12; round++) {
        const wide how = {.fixed = round & 1,
                          .pixels = 1 + draw(60),
                          .halo = draw(round & 1 ? 4 : 40),
                          .offset = draw(4),
                          .step = 1 + draw(3),
                          .lower = -(int)draw(3),
                          .upper = (int)draw(3) - 1,
                          .w = (int)draw(W) - 2,
                          .h = (int)draw(H + 1),
                          .n = (int)draw(N)};
        kiln__text text = {0};
        const unsigned rows = how.fixed ? 128 + 4 * how.halo : how.pixels + how.halo;
        kiln__text_puts(&text, HEAD IN);
        kiln__text_printf(&text, "mov.u32 %%r9, %u;\n", rows * C);
        kiln__text_puts(&text, BEGIN("%r9"));
        kiln__text_printf(
            &text,
            "@%%p0 bra V;\ncp.async.bulk.tensor.4d.shared::cta.global.%s.mbarrier::complete_tx::bytes [%%r1], "
            "[%%d1, {0, %d, %d, %d}], [%%r2], {%u, %u};\n",
            how.fixed ? "im2col::w::128" : "im2col::w", how.w, how.h, how.n, how.halo, how.offset);
        kiln__text_puts(&text, WAIT OUT END);
        bench x = bench_new(kiln__text_get(&text));
        *x.map = (vm_tensor_map){.mark = VM_TENSOR_MAP,
                                 .address = x.map->address,
                                 .rank = 4,
                                 .type = 0,
                                 .stride = {C, C * W, C * W * H},
                                 .last = {C - 1, W - 1, H - 1, N - 1},
                                 .step = {1, (uint8_t)how.step, 1, 1},
                                 .box = {1, 1, 1, 1},
                                 .im2col = how.fixed ? VM_IM2COL_W128 : VM_IM2COL_W,
                                 .lower = {(int16_t)how.lower},
                                 .upper = {(int16_t)how.upper},
                                 .channels = C,
                                 .pixels = (uint16_t)(how.fixed ? 1 : how.pixels)};
        memcpy(want, x.image, SHARED);
        CU_ASSERT_EQUAL(expect_wide(&x, &how, want), rows);
        const vm_fault_kind kind = bench_run(&x, 1);
        if (kind != VM_OK)
            fprintf(stderr, "%s\n", x.b.fault.message);
        CU_ASSERT_EQUAL(kind, VM_OK);
        CU_ASSERT_EQUAL(memcmp(x.image, want, SHARED), 0);
        vm_bench_end(&x.b);
        kiln__text_free(&text);
    }
}

/* ---- pairs ---- */

#define PAIR_LOAD(mask, bar)                                                                                           \
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" mask ".cta_group::2 [%r1], "    \
    "[%d1, {0, 1}], " bar ";\n"

/* Both blocks of a pair load a box, and both copies complete on the mbarrier of the even block. The odd block waits until the
 * even block has seen both copies. */
static void test_pairs(void)
{
    static const char *const texts[] = {
        /* CUTLASS clears the lowest bit of the rank in the address, which names the even block */
        HEAD IN BEGIN("64") "and.b32 %r10, %r2, 0xFEFFFFFF;\n@%p0 bra X;\n" PAIR_LOAD(
            "", "[%r10]") "X: setp.ne.u32 %p3, %r8, 0; @%p3 bra Y;\n" WAIT
                          "Y: barrier.cluster.arrive; barrier.cluster.wait;\n" OUT END,
        /* uses the address of the even block's mbarrier */
        HEAD IN BEGIN("64") "mapa.shared::cluster.u32 %r10, %r2, 0;\n@%p0 bra X;\n" PAIR_LOAD(
            "", "[%r10]") "X: setp.ne.u32 %p3, %r8, 0; @%p3 bra Y;\n" WAIT
                          "Y: barrier.cluster.arrive; barrier.cluster.wait;\n" OUT END,
        /* the odd block's mbarrier */
        HEAD IN BEGIN("64") "mapa.shared::cluster.u32 %r10, %r2, 1;\n@%p0 bra X;\n" PAIR_LOAD(
            "", "[%r10]") "X: setp.ne.u32 %p3, %r8, 1; @%p3 bra Y;\n" WAIT
                          "Y: barrier.cluster.arrive; barrier.cluster.wait;\n" OUT END,
        /* uses the generic address of the odd block's mbarrier */
        HEAD IN
            BEGIN("64") "cvt.u64.u32 %d9, %r2; cvta.shared.u64 %d9, %d9; mapa.u64 %d10, %d9, 1;\n@%p0 bra X;\n" PAIR_LOAD(
                "", "[%d10]") "X: setp.ne.u32 %p3, %r8, 1; @%p3 bra Y;\n" WAIT
                              "Y: barrier.cluster.arrive; barrier.cluster.wait;\n" OUT END,
        /* the odd block makes a multicast to both blocks */
        HEAD IN BEGIN(
            "64") "mov.b16 %h1, 3; and.b32 %r10, %r2, 0xFEFFFFFF; setp.ne.or.u32 %p4, %r8, 1, %p0;\n@%p4 bra X;\n"
                  "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 "
                  "[%r1], [%d1, {0, 1}], [%r10], %h1;\n"
                  "X: setp.ne.u32 %p3, %r8, 0; @%p3 bra Y;\n" WAIT
                  "Y: barrier.cluster.arrive; barrier.cluster.wait;\n" OUT END};
    for (unsigned k = 0; k < KILN__COUNT(texts); k++) {
        bench x = bench_new(texts[k]);
        set_tiled(x.map, 0);
        unsigned char want[ROW];
        memcpy(want, x.tensor + PITCH, ROW);
        const vm_fault_kind kind = bench_run(&x, 2);
        if (kind != VM_OK)
            fprintf(stderr, "pair %u: %s\n", k, x.b.fault.message);
        CU_ASSERT_EQUAL(kind, VM_OK);
        CU_ASSERT_EQUAL(memcmp(x.image, want, ROW), 0);
        CU_ASSERT_EQUAL(memcmp(x.image + SHARED, want, ROW), 0);
        vm_bench_end(&x.b);
    }
}

static void fails(const char *text, uint32_t blocks, void (*change)(vm_tensor_map *map), const char *message)
{
    bench x = bench_new(text);
    set_tiled(x.map, 0);
    if (change)
        change(x.map);
    const vm_fault_kind kind = bench_run(&x, blocks);
    if (kind == VM_OK || !strstr(x.b.fault.message, message))
        fprintf(stderr, "%s: %s\n", message, x.b.fault.message);
    CU_ASSERT_NOT_EQUAL(kind, VM_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(x.b.fault.message, message));
    vm_bench_end(&x.b);
}

static void two_rows(vm_tensor_map *map) { map->box[1] = 2; }
static void along_w(vm_tensor_map *map)
{
    map->im2col = VM_IM2COL_W;
    map->rank = 3;
    map->type = 0;
    map->channels = 16;
    map->pixels = 4;
    map->step[2] = 1, map->box[2] = 1;
}
static void no_pixels(vm_tensor_map *map)
{
    along_w(map);
    map->pixels = 0;
}
static void normal_im2col(vm_tensor_map *map)
{
    along_w(map);
    map->im2col = VM_IM2COL;
}

static void test_faults(void)
{
#define GATHER                                                                                                         \
    HEAD BEGIN("128") "@%p0 exit;\ncp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::"                \
                      "complete_tx::bytes [%r1], [%d1, {0, 1, 2, 3, 4}], [%r2];\n" END
#define ALONG(offsets)                                                                                                 \
    HEAD BEGIN("128") "@%p0 exit;\ncp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::"                    \
                      "complete_tx::bytes [%r1], [%d1, {0, 1, 2}], [%r2], " offsets ";\n" END
    fails(GATHER, 1, two_rows, "a box with one row");
    fails(GATHER, 1, along_w, "other dimensions, or another mode");
    fails(ALONG("{1, 1}"), 1, NULL, "other dimensions, or another mode");
    fails(ALONG("{1, 1}"), 1, normal_im2col, "other dimensions, or another mode");
    fails(ALONG("{512, 1}"), 1, along_w, "a halo or an offset");
    fails(ALONG("{1, 1}"), 1, no_pixels, "no valid box");
    fails(ALONG("{1, 32}"), 1, along_w, "a halo or an offset");
    fails(HEAD BEGIN("64") "mapa.shared::cluster.u32 %r10, %r2, 2;\n@%p0 exit;\n" PAIR_LOAD("", "[%r10]") END, 4, NULL,
          "not in the pair of blocks");
}

static const check_case cases[] = {
    {"gather4", test_gather}, {"scatter4", test_scatter}, {"im2col along W", test_wide},
    {"pairs", test_pairs},    {"faults", test_faults},
};
KILN_SUITE("sim.vm_tensor_rows", cases)
