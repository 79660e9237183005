/* Tests the tensor maps that the driver accepts, and compares copies by these maps with loops over coordinates. A
 * kernel loads one box and copies shared memory to `out`, or copies `out` to shared memory and stores the box. */
#include "cu_check.h"

enum { SHARED = 32768, GLOBAL = 1 << 16, MOST = 5 };

typedef struct box {
    unsigned rank, bytes, swizzle; /* `swizzle` is 0, or selects a swizzle of 16 << swizzle bytes */
    CUtensorMapDataType type;
    cuuint64_t size[MOST], stride[MOST - 1];
    cuuint32_t box[MOST], step[MOST];
    int at[MOST];
    bool im2col, nan;
    int lower[3], upper[3];
    unsigned offset[3], channels, pixels;
} box;

static unsigned char tensor[GLOBAL], shared[SHARED], want[SHARED], out[SHARED];

static uint32_t seed = 3;
static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % below; /* lower bits repeat early */
}
static void noise(unsigned char *to, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        to[k] = (unsigned char)draw(256);
}

/* Returns the place in shared memory of byte `at` of a row. The swizzle exchanges pieces of 16 bytes in a line of 128
 * bytes, by the number of the line. */
static unsigned place(const box *b, unsigned row, unsigned at, unsigned row_bytes)
{
    switch (b->swizzle) {
    case 1: return row * 32 + ((at / 16) ^ (row >> 2 & 1)) * 16 + at % 16;
    case 2: return row * 64 + ((at / 16) ^ (row >> 1 & 3)) * 16 + at % 16;
    case 3: return row * 128 + ((at / 16) ^ (row & 7)) * 16 + at % 16;
    case 4: return row * 128 + ((at / 32) ^ (row & 3)) * 32 + at % 32; /* atoms of 32 bytes */
    default: return row * row_bytes + at;
    }
}

/* Returns the bytes of the element at these coordinates, or NULL if they are outside the tensor. */
static unsigned char *element(const box *b, const long at[MOST])
{
    size_t where = 0;
    for (unsigned k = 0; k < b->rank; k++) {
        if (at[k] < 0 || (cuuint64_t)at[k] >= b->size[k])
            return NULL;
        where += (size_t)at[k] * (k ? b->stride[k - 1] : b->bytes);
    }
    return tensor + where;
}

/* Calls f(row, coordinates of its first element) for all rows of the box. Returns the number of rows. */
typedef void row_function(const box *b, unsigned row, const long at[MOST], void *user);
static unsigned rows_of(const box *b, row_function *f, void *user)
{
    unsigned row = 0;
    if (b->im2col) {
        long c[MOST] = {0};
        for (unsigned k = 0; k < b->rank; k++)
            c[k] = b->at[k];
        while (row < b->pixels) { /* w changes first, then h and d, and then the image, whose number has no limit */
            long at[MOST] = {c[0], c[1], c[2], c[3], c[4]};
            for (unsigned k = 1; k + 1 < b->rank; k++)
                at[k] += b->offset[k - 1];
            f(b, row++, at, user);
            unsigned k = 1;
            while (k + 1 < b->rank && c[k] + (long)b->step[k] > (long)b->size[k] - 1 + b->upper[k - 1]) {
                c[k] = b->lower[k - 1];
                k++;
            }
            c[k] += b->step[k];
        }
        return row;
    }
    unsigned count[MOST] = {1, 1, 1, 1, 1};
    for (unsigned k = 1; k < b->rank; k++)
        count[k] = (b->box[k] + b->step[k] - 1) / b->step[k];
    for (unsigned e = 0; e < count[4]; e++)
        for (unsigned d = 0; d < count[3]; d++)
            for (unsigned c = 0; c < count[2]; c++)
                for (unsigned r = 0; r < count[1]; r++) {
                    const unsigned n[MOST] = {0, r, c, d, e};
                    long at[MOST] = {b->at[0]};
                    for (unsigned k = 1; k < b->rank; k++)
                        at[k] = b->at[k] + (long)(n[k] * b->step[k]);
                    f(b, row++, at, user);
                }
    return row;
}

static unsigned inner_of(const box *b) { return b->im2col ? b->channels : b->box[0]; }

static void load_row(const box *b, unsigned row, const long at[MOST], void *user)
{
    static const unsigned char nan[] = {0xff, 0x7f};
    (void)user;
    for (unsigned k = 0; k < inner_of(b); k++) {
        long c[MOST] = {at[0] + k, at[1], at[2], at[3], at[4]};
        const unsigned char *from = element(b, c);
        unsigned char *to = want + place(b, row, k * b->bytes, inner_of(b) * b->bytes);
        memset(to, 0, b->bytes);
        if (from)
            memcpy(to, from, b->bytes);
        else if (b->nan) /* of halves */
            memcpy(to, nan, b->bytes);
    }
}

static void store_row(const box *b, unsigned row, const long at[MOST], void *user)
{
    const char *operation = user;
    for (unsigned k = 0; k < inner_of(b); k++) {
        long c[MOST] = {at[0] + k, at[1], at[2], at[3], at[4]};
        unsigned char *to = element(b, c);
        const unsigned char *from = shared + place(b, row, k * b->bytes, inner_of(b) * b->bytes);
        uint32_t old, new;
        if (!to)
            continue;
        if (!*operation) {
            memcpy(to, from, b->bytes);
            continue;
        }
        memcpy(&old, to, 4); /* the words have 32 bits */
        memcpy(&new, from, 4);
        old = strcmp(operation, "add") == 0   ? old + new
              : strcmp(operation, "max") == 0 ? (old > new ? old : new)
              : strcmp(operation, "and") == 0 ? old &new
                                              : old ^ new;
        memcpy(to, &old, 4);
    }
}

static CUresult encode(CUtensorMap *map, const box *b, CUdeviceptr at)
{
    const CUtensorMapFloatOOBfill fill = b->nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                                : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    if (b->im2col)
        return call_cuTensorMapEncodeIm2col(map, b->type, b->rank, (void *)(uintptr_t)at, b->size, b->stride, b->lower,
                                            b->upper, b->channels, b->pixels, b->step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                            (CUtensorMapSwizzle)b->swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, fill);
    return call_cuTensorMapEncodeTiled(map, b->type, b->rank, (void *)(uintptr_t)at, b->size, b->stride, b->box,
                                       b->step, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)b->swizzle,
                                       CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
}

#define START                                                                                                             \
    ".version 8.8\n.target sm_90a\n.address_size 64\n"                                                                    \
    ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 data) {\n"                                              \
    ".shared .align 1024 .b8 sh[%d];\n.shared .align 8 .b64 bar;\n.reg .b32 %%r<16>; .reg .b16 %%h<8>;"                   \
    ".reg .b64 %%d<16>; .reg .pred %%p<4>;\n"                                                                             \
    "mov.b64 %%d0, map; cvta.param.u64 %%d1, %%d0; ld.param.u64 %%d2, [data]; mov.u32 %%r0, %%tid.x; mov.u32 %%r1, sh;\n" \
    "mov.u32 %%r2, bar; setp.ne.u32 %%p0, %%r0, 0; mov.b16 %%h7, 1;\n"
/* 128 threads copy all of shared memory. `first` loads a word, and `second` stores it. */
#define ALL(name, first, second)                                                                                       \
    "shl.b32 %%r3, %%r0, 2;\n" name                                                                                    \
    ": cvt.u64.u32 %%d3, %%r3; add.u64 %%d3, %%d3, %%d2; add.u32 %%r4, %%r1, %%r3;\n" first " " second                 \
    "\nadd.u32 %%r3, %%r3, 512; setp.lt.u32 %%p1, %%r3, %d; @%%p1 bra " name ";\n"

static void coordinates(kiln__text *text, const box *b)
{
    kiln__text_printf(text, "[%%d1, {");
    for (unsigned k = 0; k < b->rank; k++)
        kiln__text_printf(text, "%s%d", k ? ", " : "", b->at[k]);
    kiln__text_printf(text, "}]");
}

static void load_text(kiln__text *text, const box *b, unsigned bytes, bool multicast)
{
    kiln__text_printf(text, START ALL("F", "mov.b32 %%r5, 0xa5a5a5a5;", "st.shared.b32 [%%r4], %%r5;"), SHARED, SHARED);
    kiln__text_printf(text,
                      "@%%p0 bra W;\nmbarrier.init.shared::cta.b64 [%%r2], 1; fence.mbarrier_init.release.cluster;\n"
                      "fence.proxy.async; W: bar.sync 0;\n@%%p0 bra V;\n"
                      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%r2], %u;\n"
                      "cp.async.bulk.prefetch.tensor.%ud.L2.global",
                      bytes, b->rank);
    if (b->im2col)
        kiln__text_printf(text, ".im2col");
    kiln__text_printf(text, " ");
    coordinates(text, b);
    for (unsigned k = 0; b->im2col && k + 2 < b->rank; k++)
        kiln__text_printf(text, "%s%u%s", k ? ", " : ", {", b->offset[k], k + 3 == b->rank ? "}" : "");
    kiln__text_printf(text,
                      ";\ncp.async.bulk.tensor.%ud.shared::cluster.global%s.mbarrier::complete_tx::bytes%s [%%r1], ",
                      b->rank, b->im2col ? ".im2col" : "", multicast ? ".multicast::cluster" : "");
    coordinates(text, b);
    kiln__text_printf(text, ", [%%r2]");
    for (unsigned k = 0; b->im2col && k + 2 < b->rank; k++)
        kiln__text_printf(text, "%s%u%s", k ? ", " : ", {", b->offset[k], k + 3 == b->rank ? "}" : "");
    kiln__text_printf(text,
                      "%s;\nV: mbarrier.try_wait.parity.shared::cta.b64 %%p2, [%%r2], 0; @!%%p2 bra V;\n" ALL(
                          "G", "ld.shared.b32 %%r5, [%%r4];", "st.global.b32 [%%d3], %%r5;") "ret;\n}\n",
                      multicast ? ", %h7" : "", SHARED);
}

static void store_text(kiln__text *text, const box *b, const char *operation)
{
    kiln__text_printf(text, START ALL("F", "ld.global.b32 %%r5, [%%d3];", "st.shared.b32 [%%r4], %%r5;"), SHARED,
                      SHARED);
    kiln__text_printf(text,
                      "fence.proxy.async.shared::cta; bar.sync 0; @%%p0 exit;\n%s.async.bulk.tensor.%ud.global."
                      "shared::cta%s%s%s.bulk_group ",
                      *operation ? "cp.reduce" : "cp", b->rank, *operation ? "." : "", operation,
                      b->im2col ? ".im2col_no_offs" : "");
    coordinates(text, b);
    kiln__text_printf(text, ", [%%r1];\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nret;\n}\n");
}

/* Runs the kernel of the text on a tensor and `data`, and copies both back. */
static CUresult run(const kiln__text *text, const box *b, unsigned char *data)
{
    CUtensorMap map;
    CUdeviceptr at, other;
    OK(call_cuMemAlloc(&at, GLOBAL));
    OK(call_cuMemAlloc(&other, SHARED));
    OK(call_cuMemcpyHtoD(at, tensor, GLOBAL));
    OK(call_cuMemcpyHtoD(other, data, SHARED));
    OK(encode(&map, b, at));
    CUmodule module = load(kiln__text_get((kiln__text *)(uintptr_t)text));
    CUresult result = launch(kernel(module, "k"), 1, 128, 0, (void *[]){&map, &other});
    result = result ? result : call_cuCtxSynchronize();
    if (result == CUDA_SUCCESS) {
        OK(call_cuMemcpyDtoH(tensor, at, GLOBAL));
        OK(call_cuMemcpyDtoH(data, other, SHARED));
        OK(call_cuModuleUnload(module));
        OK(call_cuMemFree(at));
        OK(call_cuMemFree(other));
    }
    return result;
}

static void load_box(const box *b, bool multicast)
{
    kiln__text text = {0};
    noise(tensor, sizeof tensor);
    memset(want, 0xa5, sizeof want);
    unsigned rows = rows_of(b, load_row, NULL);
    load_text(&text, b, rows * inner_of(b) * b->bytes, multicast);
    OK(run(&text, b, out));
    kiln__text_free(&text);
    size_t wrong = 0;
    for (size_t k = 0; k < SHARED; k++)
        wrong += out[k] != want[k];
    if (wrong)
        fprintf(stderr, "load: rank %u bytes %u swizzle %u im2col %d: %zu bytes wrong\n", b->rank, b->bytes, b->swizzle,
                b->im2col, wrong);
    CHECK(wrong == 0);
}

static void store_box(const box *b, const char *operation)
{
    static unsigned char before[GLOBAL], wanted[GLOBAL];
    kiln__text text = {0};
    noise(tensor, sizeof tensor);
    noise(shared, sizeof shared);
    memcpy(before, tensor, sizeof before);
    rows_of(b, store_row, (void *)(uintptr_t)operation);
    memcpy(wanted, tensor, sizeof wanted);
    memcpy(tensor, before, sizeof tensor);
    store_text(&text, b, operation);
    OK(run(&text, b, shared));
    kiln__text_free(&text);
    CHECK(memcmp(tensor, wanted, sizeof tensor) == 0);
    CHECK(*operation || memcmp(wanted, before, sizeof wanted) != 0);
}

/* Draws a tensor of `rank` dimensions in GLOBAL bytes, and a box that is partly outside of it. */
static box draw_box(unsigned rank, unsigned bytes, unsigned swizzle)
{
    static const CUtensorMapDataType types[] = {[1] = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                                                [2] = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                                [4] = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                                                [8] = CU_TENSOR_MAP_DATA_TYPE_FLOAT64};
    static const unsigned sizes[] = {0, 200, 40, 11, 6, 4};
    box b = {.rank = rank, .bytes = bytes, .swizzle = swizzle, .type = types[bytes]};
    cuuint64_t stride = 0;
    for (unsigned k = 0; k < MOST; k++)
        b.step[k] = b.box[k] = 1;
    for (unsigned k = 0; k < rank; k++) {
        b.size[k] = 1 + draw(sizes[rank]);
        b.box[k] = 1 + draw(6);
        b.step[k] = k ? 1 + draw(3) : 1;
        b.at[k] = (int)draw((uint32_t)b.size[k] + 4) - 3;
        stride = k ? stride * b.size[k] : (b.size[0] * bytes + 31) / 16 * 16;
        if (k + 1 < rank)
            b.stride[k] = stride;
    }
    b.box[0] = 16 / bytes * (1 + draw(swizzle == 4 ? 8 : swizzle ? 1u << swizzle : 8));
    return b;
}

static void test_loads(void)
{
    open_device();
    for (unsigned rank = 1; rank <= MOST; rank++)
        for (unsigned bytes = 1; bytes <= 8; bytes *= 2)
            for (unsigned swizzle = 0; swizzle < 5; swizzle++) {
                box b = draw_box(rank, bytes, swizzle);
                b.nan = bytes == 2 && swizzle & 1;
                load_box(&b, rank == 2);
            }
    /* Loads 64 rows of 128 bytes, as matrix products need them. */
    load_box(&(box){.rank = 2,
                    .bytes = 2,
                    .swizzle = 3,
                    .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                    .size = {100, 100},
                    .stride = {208},
                    .box = {64, 64},
                    .step = {1, 1},
                    .at = {50, 60}},
             false);
    close_device();
}

/* Loads rows of packed elements of 4 and 6 bits. In shared memory, groups of 16 elements can have gaps after them, which are
 * zero. The mbarrier counts the bytes without the gaps. */
static void test_packed(void)
{
    static const struct {
        CUtensorMapDataType type;
        unsigned bits, group, room; /* bytes of a group in global and in shared memory */
        unsigned extent, box, at;   /* elements along a row */
    } kinds[] = {{CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, 4, 8, 8, 200, 64, 160},
                 {CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, 4, 8, 16, 256, 128, 128},
                 {CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B, 6, 12, 16, 256, 128, 128}};
    enum { ROWS = 4, TALL = 6, FIRST = 3, PITCH = 224 };
    open_device();
    for (unsigned n = 0; n < 6; n++) {
        const unsigned k = n % 3, swizzle = n < 3 ? 0 : 3, row_bytes = kinds[k].box / 16 * kinds[k].room;
        const box b = {.rank = 2,
                       .swizzle = swizzle,
                       .type = kinds[k].type,
                       .size = {kinds[k].extent, TALL},
                       .stride = {PITCH},
                       .box = {kinds[k].box, ROWS},
                       .step = {1, 1},
                       .at = {(int)kinds[k].at, FIRST}};
        kiln__text text = {0};
        noise(tensor, sizeof tensor);
        memset(want, 0xa5, sizeof want);
        for (unsigned row = 0; row < ROWS; row++)
            for (unsigned byte = 0; byte < row_bytes; byte++) {
                const unsigned group = byte / kinds[k].room, rest = byte % kinds[k].room;
                const unsigned from = kinds[k].at * kinds[k].bits / 8 + group * kinds[k].group + rest;
                const bool inside = rest < kinds[k].group && FIRST + row < TALL &&
                                    from < kinds[k].extent * kinds[k].bits / 8;
                want[place(&b, row, byte, row_bytes)] = inside ? tensor[(FIRST + row) * PITCH + from] : 0;
            }
        load_text(&text, &b, ROWS * kinds[k].box * kinds[k].bits / 8, false);
        OK(run(&text, &b, out));
        CHECK(memcmp(out, want, SHARED) == 0);
        kiln__text_free(&text);
    }
    close_device();
}

/* Stores packed elements of 4 bits without gaps, and refuses a store of elements with gaps. */
static void test_packed_stores(void)
{
    static unsigned char wanted[GLOBAL];
    box b = {.rank = 2,
             .type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B,
             .size = {200, 6},
             .stride = {128},
             .box = {64, 4},
             .step = {1, 1},
             .at = {160, 3}};
    kiln__text text = {0};
    open_device();
    noise(tensor, sizeof tensor);
    noise(shared, sizeof shared);
    memcpy(wanted, tensor, sizeof wanted);
    for (unsigned row = 0; row < 3; row++)
        memcpy(wanted + (3 + row) * 128 + 80, shared + row * 32, 20);
    store_text(&text, &b, "");
    OK(run(&text, &b, shared));
    CHECK(memcmp(tensor, wanted, sizeof tensor) == 0);
    b.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
    b.size[0] = 256, b.box[0] = 128, b.at[0] = 128;
    CHECK(run(&text, &b, shared) != CUDA_SUCCESS);
    kiln__text_free(&text);
    close_device();
}

static void test_stores(void)
{
    open_device();
    for (unsigned rank = 1; rank <= MOST; rank++)
        for (unsigned bytes = 1; bytes <= 8; bytes *= 2)
            for (unsigned swizzle = 0; swizzle < 5; swizzle++) {
                box b = draw_box(rank, bytes, swizzle);
                for (unsigned k = 0; k < rank; k++)
                    b.at[k] = b.at[k] < 0 ? 0 : b.at[k] % (int)b.size[k]; /* a part of the box is inside */
                store_box(&b, "");
                static const char *const operations[] = {"add", "max", "and", "xor", "add"};
                if (bytes == 4)
                    store_box(&b, operations[swizzle]);
            }
    close_device();
}

/* Compares copies by im2col maps with a plain loop, for random boxes of each rank. */
static void test_im2col(void)
{
    open_device();
    for (unsigned rank = 3; rank <= MOST; rank++)
        for (unsigned n = 0; n < 12; n++) {
            box b = draw_box(rank, 2, n & 3);
            b.im2col = true;
            b.channels = b.box[0];
            b.pixels = 1 + draw(60);
            for (unsigned k = 1; k + 1 < rank; k++) {
                b.lower[k - 1] = -(int)draw(3);
                b.upper[k - 1] = -b.lower[k - 1] - (int)draw(3);
                if ((int)b.size[k] - 1 + b.upper[k - 1] < b.lower[k - 1])
                    b.upper[k - 1] = 1;
                b.offset[k - 1] = draw(3);
                b.at[k] = b.lower[k - 1];
            }
            b.step[rank - 1] = 1;
            b.at[rank - 1] = 0;
            load_box(&b, n & 1);
            for (unsigned k = 0; k < 3; k++)
                b.offset[k] = 0;
            b.at[0] = 0;
            for (unsigned k = 1; k + 1 < rank; k++)
                b.at[k] = 0;
            store_box(&b, "");
        }
    close_device();
}

/* Tests maps that the manual forbids, and maps that do not exist. */
static void test_maps(void)
{
    const box good = {.rank = 2,
                      .bytes = 2,
                      .swizzle = 3,
                      .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                      .size = {64, 64},
                      .stride = {128},
                      .box = {64, 64},
                      .step = {1, 1}};
    CUtensorMap map;
    box b = good;
    open_device();
    OK(encode(&map, &b, 0x100));
    FAILS(INVALID_VALUE, encode(NULL, &b, 0x100));
    FAILS(INVALID_VALUE, encode(&map, &b, 0x108));
#define BAD(error, change) FAILS(error, (b = good, change, encode(&map, &b, 0x100)))
    BAD(INVALID_VALUE, b.rank = 0);
    BAD(INVALID_VALUE, b.rank = 6);
    BAD(INVALID_VALUE, b.size[1] = 0);
    BAD(INVALID_VALUE, b.size[1] = ((cuuint64_t)1 << 32) + 1);
    BAD(INVALID_VALUE, b.stride[0] = 136);
    BAD(INVALID_VALUE, b.stride[0] = (cuuint64_t)1 << 40);
    BAD(INVALID_VALUE, b.box[1] = 257);
    BAD(INVALID_VALUE, b.box[1] = 0);
    BAD(INVALID_VALUE, b.box[0] = 65); /* the size of the box is not a multiple of 16 bytes */
    BAD(INVALID_VALUE, b.box[0] = 72); /* the box has more than 128 bytes */
    BAD(INVALID_VALUE, b.step[1] = 9);
    BAD(INVALID_VALUE, b.step[1] = 0);
    BAD(INVALID_VALUE, (b.type = CU_TENSOR_MAP_DATA_TYPE_UINT16, b.nan = true));
    BAD(NOT_SUPPORTED, b.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B);
    BAD(INVALID_VALUE, (b.im2col = true, b.channels = 8, b.pixels = 8));
    b = good;
    b.step[0] = 0; /* ignored */
    OK(encode(&map, &b, 0x100));
    OK(call_cuTensorMapReplaceAddress(&map, (void *)0x200));
    FAILS(INVALID_VALUE, call_cuTensorMapReplaceAddress(&map, (void *)0x208));
    memset(&map, 0, sizeof map);
    FAILS(INVALID_VALUE, call_cuTensorMapReplaceAddress(&map, (void *)0x200));
    close_device();
}

/* Tests copies that fault. Each fault destroys its context. */
static void fails(const box *b, const char *from, const char *to, CUresult error)
{
    open_device();
    kiln__text text = {0}, changed = {0};
    load_text(&text, b, 64, true);
    const char *all = kiln__text_get(&text), *found = *from ? strstr(all, from) : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    kiln__text_add(&changed, all, (size_t)(found - all));
    kiln__text_puts(&changed, to);
    kiln__text_puts(&changed, found + strlen(from));
    CUresult got = run(&changed, b, out);
    if (got != error)
        fprintf(stderr, "%s for %s: %d, want %d\n", to, from, (int)got, (int)error);
    CHECK(got == error);
    kiln__text_free(&text);
    kiln__text_free(&changed);
    close_device();
}

static void test_faults(void)
{
    const box b = {.rank = 2,
                   .bytes = 2,
                   .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                   .size = {64, 64},
                   .stride = {128},
                   .box = {16, 2},
                   .step = {1, 1}};
    box far = b;
    fails(&b, "%h7, 1", "%h7, 1", CUDA_SUCCESS);
    fails(&b, "%h7, 1", "%h7, 3", CUDA_ERROR_ILLEGAL_INSTRUCTION);
    fails(&b, "[data];", "[data]; mov.b64 %d1, %d2;", CUDA_ERROR_ILLEGAL_INSTRUCTION); /* no map */
    fails(&b, "cluster [%r1]", "cluster [%r1+64]", CUDA_ERROR_MISALIGNED_ADDRESS);
    fails(&b, "cluster [%r1]", "cluster [%r1+1048576]", CUDA_ERROR_ILLEGAL_ADDRESS);
    far.size[1] = 100000; /* the tensor ends beyond the allocation */
    far.at[1] = 90000;
    fails(&far, "%h7, 1", "%h7, 1", CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- a typical kernel for a matrix product ---- */

static uint16_t half_of(int x) /* x is from -8 to 8 */
{
    const uint32_t size = (uint32_t)(x < 0 ? -x : x), top = size >= 8 ? 3 : size >= 4 ? 2 : size >= 2 ? 1 : 0;
    return (uint16_t)(x == 0 ? 0 : (x < 0 ? 0x8000u : 0) | (15 + top) << 10 | (size << (10 - top) & 1023));
}

/* Multiplies matrices in 5 steps, through a ring of 3 stages. One thread of each multiplying warpgroup releases a
 * stage. */
static void test_product(void)
{
    enum { M = 256, N = 128, K = 320, ROOM = 3 * (128 + 64) * 64 * 2 + 1024 };
    static int a[M][K], b[N][K];
    static uint16_t halves[M][K];
    static float got[M][N];
    const box maps[2] = {{.rank = 2,
                          .swizzle = 3,
                          .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                          .size = {K, M},
                          .stride = {K * 2},
                          .box = {64, 128},
                          .step = {1, 1}},
                         {.rank = 2,
                          .swizzle = 3,
                          .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                          .size = {K, N},
                          .stride = {K * 2},
                          .box = {64, 64},
                          .step = {1, 1}}};
    char *text;
    size_t length;
    CUdeviceptr at[3];
    CUtensorMap map[2];
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_read(NULL, KILN_TEST_PTX "/vm/gemm_wgmma.ptx", 0, &text, &length, &error), error);
    open_device();
    CUmodule module = load(text);
    kiln__free(NULL, text);
    for (int k = 0; k < 3; k++)
        OK(call_cuMemAlloc(&at[k], sizeof got + sizeof halves));
    for (int i = 0; i < M; i++)
        for (int l = 0; l < K; l++)
            halves[i][l] = half_of(a[i][l] = (int)draw(17) - 8);
    OK(call_cuMemcpyHtoD(at[0], halves, sizeof halves));
    for (int i = 0; i < N; i++)
        for (int l = 0; l < K; l++)
            halves[i][l] = half_of(b[i][l] = (int)draw(17) - 8);
    OK(call_cuMemcpyHtoD(at[1], halves, sizeof halves));
    OK(encode(&map[0], &maps[0], at[0]));
    OK(encode(&map[1], &maps[1], at[1]));
    CUfunction gemm = kernel(module, "gemm");
    OK(call_cuFuncSetAttribute(gemm, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, ROOM));
    OK(call_cuLaunchKernel(gemm, N / 64, M / 128, 1, 384, 1, 1, ROOM, NULL,
                           (void *[]){&map[0], &map[1], &at[2], &(int){N}, &(int){K}}, NULL));
    OK(call_cuMemcpyDtoH(got, at[2], sizeof got));
    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0;
            for (int l = 0; l < K; l++)
                sum += a[i][l] * b[j][l];
            wrong += got[i][j] != (float)sum;
        }
    CHECK(wrong == 0);
    OK(call_cuModuleUnload(module));
    close_device();
}

/* Launches `blocks` blocks, of which block 1 copies a box to the blocks of `mask`. `to` is a suffix of the copy
 * instruction. Each even block waits at its own mbarrier. `bar` is code that changes %r2, the address of the sender's
 * mbarrier. At the end, `out` has the shared memory of each block. */
enum { MULTICAST_LINE = 128, MULTICAST_BYTES = 32 * MULTICAST_LINE, MULTICAST_FIRST = 5 };

static void multicast(const char *target, unsigned blocks, unsigned mask, const char *suffix, const char *bar)
{
    static const char format[] =
        ".version 8.8\n.target %s\n.address_size 64\n"
        ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 data) .explicitcluster .reqnctapercluster %u, 1, 1 {\n"
        ".shared .align 1024 .b8 sh[4096];\n.shared .align 8 .b64 bar;\n.reg .b32 %%r<16>; .reg .b16 %%h; .reg .b64 "
        "%%d<8>;\n.reg .pred %%p<4>;\n"
        "mov.b64 %%d0, map; cvta.param.u64 %%d1, %%d0; ld.param.u64 %%d2, [data]; mov.u32 %%r0, %%tid.x; mov.u32 %%r1, "
        "sh;\nmov.u32 %%r2, bar; mov.u32 %%r3, %%cluster_ctarank; mad.wide.u32 %%d2, %%r3, 4096, %%d2; shl.b32 %%r4, %%r0, "
        "2;\nadd.u32 %%r1, %%r1, %%r4; cvt.u64.u32 %%d3, %%r4; add.u64 %%d2, %%d2, %%d3; mov.u32 %%r5, 0;\n"
        "F: add.u32 %%r6, %%r1, %%r5; st.shared.b32 [%%r6], 0xa5a5a5a5; add.u32 %%r5, %%r5, 512;\n"
        "setp.lt.u32 %%p1, %%r5, 4096; @%%p1 bra F;\n"
        "setp.ne.u32 %%p0, %%r0, 0; @%%p0 bra S; mbarrier.init.shared::cta.b64 [%%r2], 1;\n"
        "fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%r2], 4096;\n"
        "S: fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;\n"
        "setp.ne.or.u32 %%p2, %%r3, 1, %%p0; @%%p2 bra W; mov.u16 %%h, %u; mov.u32 %%r7, 0; mov.u32 %%r8, %d; %s\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster%s [%%r1], "
        "[%%d1, {%%r7, %%r8}], [%%r2], %%h;\n"
        "W: and.b32 %%r9, %%r3, 1; setp.ne.u32 %%p3, %%r9, 0; @%%p3 bra G;\n"
        "V: mbarrier.try_wait.parity.shared::cta.b64 %%p3, [%%r2], 0; @!%%p3 bra V;\n"
        "G: barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %%r5, 0;\n"
        "H: add.u32 %%r6, %%r1, %%r5; ld.shared.b32 %%r9, [%%r6]; cvt.u64.u32 %%d4, %%r5; add.u64 %%d5, %%d2, %%d4;\n"
        "st.global.b32 [%%d5], %%r9; add.u32 %%r5, %%r5, 512; setp.lt.u32 %%p1, %%r5, 4096; @%%p1 bra H; ret;\n}\n";
    const box b = {.rank = 2,
                   .bytes = 4,
                   .type = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                   .size = {MULTICAST_LINE / 4, 64},
                   .stride = {MULTICAST_LINE},
                   .box = {MULTICAST_LINE / 4, MULTICAST_BYTES / MULTICAST_LINE},
                   .step = {1, 1}};
    CUtensorMap map;
    CUdeviceptr at, data;
    kiln__text text = {0};
    kiln__text_printf(&text, format, target, blocks, mask, MULTICAST_FIRST, bar, suffix);
    open_device();
    noise(tensor, sizeof tensor);
    OK(call_cuMemAlloc(&at, GLOBAL));
    OK(call_cuMemAlloc(&data, SHARED));
    OK(call_cuMemcpyHtoD(at, tensor, GLOBAL));
    OK(encode(&map, &b, at));
    OK(launch(kernel(load(text.data), "k"), blocks, 128, 0, (void *[]){&map, &data}));
    OK(call_cuMemcpyDtoH(out, data, SHARED));
    close_device();
    kiln__text_free(&text);
    memset(want, 0xa5, sizeof want);
    for (unsigned k = 0; k < blocks; k++)
        CHECK(memcmp(out + k * MULTICAST_BYTES, mask >> k & 1 ? tensor + MULTICAST_FIRST * MULTICAST_LINE : want,
                     MULTICAST_BYTES) == 0);
}

/* The second of three blocks copies a box to the first and the third block. Each of these two waits at its own
 * mbarrier. */
static void test_multicast(void) { multicast("sm_90a", 3, 5, "", ""); }

/* A cluster has two pairs of blocks. The box goes to the odd blocks, but the mbarriers of the even blocks are
 * signalled, because the sender names the mbarrier of block 0. The suffix cta_group::1 has no effect. */
static void test_pairs(void)
{
    char path[1024], *profile;
    size_t length;
    kiln__text log = {0};
    snprintf(path, sizeof path, "%s/specs/devices/b200.profile", KILN_SOURCE_DIR);
    CHECK(kiln__file_read(NULL, path, 0, &profile, &length, NULL) == KILN_OK);
    CHECK(kiln__sim_profile_add("b200", profile, length, &log) == KILN__SIM_ADDED && kiln__sim_profile("b200"));
    multicast("sm_100a", 4, 0xa, ".cta_group::2", "mapa.shared::cluster.u32 %r2, %r2, 0;");
    multicast("sm_100a", 4, 0x5, ".cta_group::1", "");
    CHECK(kiln__sim_profile(NULL));
    kiln__free(NULL, profile);
    kiln__text_free(&log);
}

static const check_case cases[] = {
    {"maps", test_maps},
    {"loads", test_loads},
    {"stores", test_stores},
    {"packed", test_packed},
    {"packed_stores", test_packed_stores},
    {"im2col", test_im2col},
    {"faults", test_faults},
    {"product", test_product},
    {"multicast", test_multicast},
    {"pairs", test_pairs},
};
CU_SUITE("sim.tensor", cases)
