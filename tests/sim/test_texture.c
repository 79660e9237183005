/* Tests textures and surfaces through the driver's table. Reads and writes of kernels are compared with numbers that
 * were computed by hand. */
#include "textures.h"

/* ---- addresses and filters ---- */

static const float four[4] = {10, 20, 30, 40};

static void test_point(void)
{
    static const struct {
        float x;
        CUaddress_mode mode;
        unsigned flags;
        float want;
    } rows[] = {
        {0, CLAMP, 0, 10},
        {0.999f, CLAMP, 0, 10},
        {1, CLAMP, 0, 20},
        {3.5f, CLAMP, 0, 40},
        {4, CLAMP, 0, 40},
        {1e30f, CLAMP, 0, 40},
        {-0.5f, CLAMP, 0, 10},
        {-1e30f, CLAMP, 0, 10},
        {NAN, CLAMP, 0, 10},
        {4.5f, BORDER, 0, 0.25f},
        {-0.5f, BORDER, 0, 0.25f},
        {2.5f, BORDER, 0, 30},
        {5.5f, WRAP, 0, 40},
        {-2, MIRROR, 0, 10}, /* MIRROR only works for normalised coordinates, so this coordinate is clamped */
        {0.125f, CLAMP, NORMAL, 10},
        {0.625f, CLAMP, NORMAL, 30},
        {1.5f, CLAMP, NORMAL, 40},
        {1.125f, WRAP, NORMAL, 10},
        {-0.125f, WRAP, NORMAL, 40},
        {-7.375f, WRAP, NORMAL, 30},
        {1.125f, MIRROR, NORMAL, 40},
        {-0.125f, MIRROR, NORMAL, 10},
        {1.9f, MIRROR, NORMAL, 10},
        {2.125f, MIRROR, NORMAL, 10},
        {-0.875f, MIRROR, NORMAL, 40},
        {1.125f, BORDER, NORMAL, 0.25f},
    };
    open_device();
    CUarray array = array_of(4, 0, 0, FLOATS, 1, 0, four);
    for (size_t k = 0; k < KILN__COUNT(rows); k++) {
        CUtexObject t = texture_of(array, POINT, rows[k].mode, rows[k].flags);
        quad got = one(TEX1D, t, rows[k].x, 0, 0, 0);
        if (got.f[0] != rows[k].want)
            fprintf(stderr, "row %zu: %g\n", k, (double)got.f[0]);
        CU_ASSERT(got.f[0] == rows[k].want && got.f[1] == 0 && got.f[2] == 0 && got.f[3] == 0);
        OK(call_cuTexObjectDestroy(t));
    }
    OK(call_cuArrayDestroy(array));
    close_device();
}

static void test_linear(void)
{
    static const struct {
        float x;
        CUaddress_mode mode;
        unsigned flags;
        float want;
    } rows[] = {
        {0.5f, CLAMP, 0, 10},
        {1, CLAMP, 0, 15},
        {1.5f, CLAMP, 0, 20},
        {0.25f, CLAMP, 0, 10},
        {3.75f, CLAMP, 0, 40},
        {1.75f, CLAMP, 0, 22.5f},
        {2.5f + 3 / 256.0f, CLAMP, 0, 30 + 30 / 256.0f},
        {2.5f + 3.25f / 256, CLAMP, 0, 30 + 30 / 256.0f}, /* weights have eight fractional bits */
        /* a texture of one dimension is filtered like the upper edge of two dimensions, so half of the weight is the
         * border (1/4) */
        {0, BORDER, 0, (5.125f + 0.25f) / 2},
        {4.25f, BORDER, 0, (40 * 0.25f + 0.25f * 0.75f + 0.25f) / 2},
        {-0.5f, BORDER, 0, 0.25f},
        {0, WRAP, NORMAL, 25},
        {0.25f, WRAP, NORMAL, 15},
        {1, WRAP, NORMAL, 25},
        {-0.0625f, WRAP, NORMAL, 32.5f},
        {0, MIRROR, NORMAL, 10},
        {1, MIRROR, NORMAL, 40},
        {1.25f, MIRROR, NORMAL, 35},
        {0.5f, CLAMP, NORMAL, 25},
    };
    open_device();
    CUarray array = array_of(4, 0, 0, FLOATS, 1, 0, four);
    for (size_t k = 0; k < KILN__COUNT(rows); k++) {
        CUtexObject t = texture_of(array, LINEAR, rows[k].mode, rows[k].flags);
        quad got = one(TEX1D, t, rows[k].x, 0, 0, 0);
        if (got.f[0] != rows[k].want)
            fprintf(stderr, "row %zu: %.9g\n", k, (double)got.f[0]);
        CU_ASSERT(got.f[0] == rows[k].want);
        OK(call_cuTexObjectDestroy(t));
    }
    OK(call_cuArrayDestroy(array));
    static const float grid[2][3] = {{0, 4, 8}, {16, 20, 32}};
    array = array_of(3, 2, 0, FLOATS, 1, 0, grid);
    CUtexObject t = texture_of(array, LINEAR, CLAMP, 0);
    WANT(one(TEX2D, t, 1, 1, 0, 0), (0 + 4 + 16 + 20) / 4.0);
    WANT(one(TEX2D, t, 1.75f, 0.75f, 0, 0), (4 * 0.75 + 8 * 0.25) * 0.75 + (20 * 0.75 + 32 * 0.25) * 0.25);
    WANT(one(TEX2D, t, 9, 0.5f, 0, 0), 8);
    OK(call_cuTexObjectDestroy(t));
    OK(call_cuArrayDestroy(array));
    static const float cube[2][2][2] = {{{0, 1}, {2, 3}}, {{4, 5}, {6, 7}}};
    array = array_of(2, 2, 2, FLOATS, 1, 0, cube);
    t = texture_of(array, LINEAR, CLAMP, 0);
    WANT(one(TEX3D, t, 1, 1, 1, 0), 3.5);
    WANT(one(TEX3D, t, 1.25f, 0.5f, 1.5f, 0), 4.75);
    OK(call_cuTexObjectDestroy(t));
    t = texture_of(array, POINT, BORDER, 0);
    WANT(one(TEX3D, t, 1.5f, 0.5f, 1.5f, 0), 5);
    WANT(one(TEX3D, t, 1.5f, 0.5f, 2.5f, 0), 0.25);
    WANT(one("tex.3d.v4.f32.f32 {%f5, _, _, _}, [%t, {%f1, %f2, %f3, %f3}], {-1, 1, 0, 0};", t, 1.5f, 0.5f, 1.5f, 0),
         6);
    WANT(one_int("tex.3d.v4.f32.s32 {%f5, _, _, _}, [%t, {%r1, %r2, %r3, 0}];", t, 0, 1, 1, 0), 6);
    WANT(one_int("tex.3d.v4.f32.s32 {%f5, _, _, _}, [%t, {%r1, %r2, %r3, 0}];", t, 0, 2, 1, 0), 0);
    OK(call_cuTexObjectDestroy(t));
    OK(call_cuArrayDestroy(array));
    close_device();
}

static void test_formats(void)
{
    static const uint8_t u8[] = {0, 51, 255, 128};
    static const int8_t s8[] = {-128, -127, 127, 64};
    static const uint16_t u16[] = {65535, 13107}, half[] = {0x3c00, 0xc200};
    static const int16_t s16[] = {-32768, 32767};
    static const uint32_t u32[] = {0xdeadbeef, 7};
    static const struct {
        CUarray_format format;
        unsigned channels;
        const void *texels;
        unsigned flags;
        quad want;
    } rows[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, 4, u8, 0, {.f = {0, 51 / 255.0f, 1, 128 / 255.0f}}},
        {CU_AD_FORMAT_UNSIGNED_INT8, 4, u8, INTEGER, {.i = {0, 51, 255, 128}}},
        {CU_AD_FORMAT_SIGNED_INT8, 4, s8, 0, {.f = {-1, -1, 1, 64 / 127.0f}}},
        {CU_AD_FORMAT_SIGNED_INT8, 4, s8, INTEGER, {.i = {-128, -127, 127, 64}}},
        {CU_AD_FORMAT_UNSIGNED_INT16, 2, u16, 0, {.f = {1, 0.2f, 0, 0}}},
        {CU_AD_FORMAT_UNSIGNED_INT16, 2, u16, INTEGER, {.i = {65535, 13107, 0, 0}}},
        {CU_AD_FORMAT_SIGNED_INT16, 2, s16, 0, {.f = {-1, 1, 0, 0}}},
        {CU_AD_FORMAT_HALF, 2, half, 0, {.f = {1, -3, 0, 0}}},
        {CU_AD_FORMAT_UNSIGNED_INT32, 2, u32, 0, {.u = {0xdeadbeef, 7, 0, 0}}},
        {CU_AD_FORMAT_UNSIGNED_INT8, 4, u8, CU_TRSF_SRGB, {.f = {0, 0.033104766f, 1, 128 / 255.0f}}},
    };
    open_device();
    for (size_t k = 0; k < KILN__COUNT(rows); k++) {
        CUarray array = array_of(1, 1, 0, rows[k].format, rows[k].channels, 0, rows[k].texels);
        CUtexObject t = texture_of(array, POINT, CLAMP, rows[k].flags);
        quad got = one("tex.2d.v4.u32.f32 {%r5, %r6, %r7, %r8}, [%t, {%f1, %f2}];", t, 0.5f, 0.5f, 0, 0);
        for (unsigned c = 0; c < 4; c++) {
            bool near = got.u[c] == rows[k].want.u[c] ||
                        (rows[k].flags & CU_TRSF_SRGB && got.f[c] > rows[k].want.f[c] - 1e-7f &&
                         got.f[c] < rows[k].want.f[c] + 1e-7f);
            if (!near)
                fprintf(stderr, "row %zu channel %u: %08x want %08x\n", k, c, got.u[c], rows[k].want.u[c]);
            CU_ASSERT(near);
        }
        OK(call_cuTexObjectDestroy(t));
        OK(call_cuArrayDestroy(array));
    }
    /* 51 / 255 is 0.2, which is 0x3266 as a half; a register has a pair of halves */
    CUarray array = array_of(1, 1, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0, u8);
    CUtexObject t = texture_of(array, POINT, CLAMP, 0);
    quad got = one("tex.2d.v2.f16x2.f32 {%r5, %r6}, [%t, {%f1, %f2}];", t, 0, 0, 0, 0);
    CHECK(got.u[0] == 0x32660000 && got.u[1] == 0x38043c00);
    got =
        one("tex.2d.v4.f16.f32 {%h1, %h2, %h3, %h4}|%p, [%t, {%f1, %f2}]; cvt.u32.u16 %r5, %h2; cvt.u32.u16 %r6, %h3; "
            "selp.b32 %r7, 1, 0, %p;",
            t, 0, 0, 0, 0);
    CHECK(got.u[0] == 0x3266 && got.u[1] == 0x3c00 && got.u[2] == 1);
    OK(call_cuTexObjectDestroy(t));
    OK(call_cuArrayDestroy(array));
    close_device();
}

static void test_gather(void)
{
    static const float texels[2][2][4] = {{{1, 2, 3, 4}, {5, 6, 7, 8}}, {{9, 10, 11, 12}, {13, 14, 15, 16}}};
    open_device();
    CUarray array = array_of(2, 2, 0, FLOATS, 4, CUDA_ARRAY3D_TEXTURE_GATHER, texels);
    CUtexObject t = texture_of(array, LINEAR, CLAMP, 0);
    /* the four results are the texels lower left, lower right, upper right, upper left */
    quad got = one("tld4.r.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%f1, %f2}];", t, 1, 1, 0, 0);
    CHECK(got.f[0] == 9 && got.f[1] == 13 && got.f[2] == 5 && got.f[3] == 1);
    got = one("tld4.a.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%f1, %f2}], {-1, 0};", t, 1, 1, 0, 0);
    CHECK(got.f[0] == 12 && got.f[1] == 12 && got.f[2] == 4 && got.f[3] == 4);
    OK(call_cuTexObjectDestroy(t));
    OK(call_cuArrayDestroy(array));
    close_device();
}

/* ---- layers, cubemaps, mipmaps ---- */

static void test_layers(void)
{
    static const float texels[3][2][2] = {{{0, 1}, {2, 3}}, {{10, 11}, {12, 13}}, {{20, 21}, {22, 23}}};
    static const char read[] = "tex.a2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%r3, %f1, %f2, %f2}];";
    open_device();
    CUarray array = array_of(2, 2, 3, FLOATS, 1, CUDA_ARRAY3D_LAYERED, texels);
    CUtexObject t = texture_of(array, POINT, CLAMP, 0);
    quad in = {.f = {1.5f, 0.5f}};
    for (int layer = -1; layer < 5; layer++) { /* the layer is clamped as an unsigned number */
        in.i[2] = layer;
        WANT(run(read, t, &in, 1).at[0], layer == 0 ? 1 : layer == 1 ? 11 : 21);
    }
    OK(call_cuTexObjectDestroy(t));
    OK(call_cuArrayDestroy(array));
    array = array_of(4, 0, 3, FLOATS, 1, CUDA_ARRAY3D_LAYERED, texels);
    t = texture_of(array, LINEAR, CLAMP, 0);
    in = (quad){0};
    in.f[0] = 2;
    in.i[1] = 1;
    WANT(run("tex.a1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%r2, %f1}];", t, &in, 1).at[0], 11.5);
    OK(call_cuTexObjectDestroy(t));
    OK(call_cuArrayDestroy(array));
    close_device();
}

static void test_cube(void)
{
    /* Texel (x, y) of face f of cube c is 100 c + 10 f + 2 y + x. */
    float texels[12][2][2];
    for (int f = 0; f < 12; f++)
        for (int k = 0; k < 4; k++)
            texels[f][k / 2][k % 2] = (float)(f / 6 * 100 + f % 6 * 10 + k);
    /* As in the table of the CUDA guide, the axis with the largest coordinate selects the face. s and t are divided by
     * the magnitude of this coordinate. x = (s + 1) * 2 / 2. */
    static const struct {
        float d[3], want;
    } rows[] = {
        {{1, 0.5f, 0.5f}, 0 + 0}, /* s = -z and t = -y, so this is the left upper texel */
        {{1, -0.5f, -0.5f}, 0 + 3}, {{-1, 0.5f, 0.5f}, 10 + 1}, {{-2, 1, -1}, 10 + 0},
        {{0.5f, 1, 0.5f}, 20 + 3},  {{0.5f, -1, 0.5f}, 30 + 1}, {{-0.5f, -1, -0.5f}, 30 + 2},
        {{0.5f, 0.5f, 1}, 40 + 1},  {{0.5f, 0.5f, -1}, 50 + 0}, {{-0.5f, -0.5f, -4}, 50 + 3},
    };
    open_device();
    CUarray array = array_of(2, 2, 6, FLOATS, 1, CUDA_ARRAY3D_CUBEMAP, texels);
    CUtexObject t = texture_of(array, POINT, CLAMP, NORMAL);
    for (size_t k = 0; k < KILN__COUNT(rows); k++)
        WANT(one(CUBEMAP, t, rows[k].d[0], rows[k].d[1], rows[k].d[2], 0), rows[k].want);
    OK(call_cuTexObjectDestroy(t));
    t = texture_of(array, LINEAR, CLAMP, NORMAL);
    WANT(one(CUBEMAP, t, 1, 0, 0, 0), 1.5);
    /* at the edge, but without the neighbouring face, the mean is (0 + 2) / 2 */
    WANT(one(CUBEMAP, t, 1, 0, 0.999f, 0), 1);
    OK(call_cuTexObjectDestroy(t));
    /* Beyond the left edge of face +x is the right edge of face +z, with the texels 41 and 43. */
    t = texture_of(array, LINEAR, CLAMP, NORMAL | CU_TRSF_SEAMLESS_CUBEMAP);
    WANT(one(CUBEMAP, t, 1, 0, 0.9999999f, 0), (1 + 42) / 2.0);
    OK(call_cuTexObjectDestroy(t));
    OK(call_cuArrayDestroy(array));
    array = array_of(2, 2, 12, FLOATS, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, texels);
    t = texture_of(array, POINT, CLAMP, NORMAL);
    quad in = {0};
    in.f[0] = in.f[1] = -0.5f, in.f[2] = -4, in.i[3] = 1;
    WANT(run("tex.acube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%r4, %f1, %f2, %f3}];", t, &in, 1).at[0], 153);
    OK(call_cuTexObjectDestroy(t));
    OK(call_cuArrayDestroy(array));
    close_device();
}

/* Makes levels of 8, 4, 2 and 1 texels. The value of each texel is 10 times the number of its level. */
static CUmipmappedArray pyramid(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR d = {8, 0, 0, FLOATS, 1, 0};
    CUmipmappedArray mip = NULL;
    CUarray level = NULL, again = NULL;
    OK(call_cuMipmappedArrayCreate(&mip, &d, 9)); /* more levels than the 4 that this size can have */
    FAILS(INVALID_VALUE, call_cuMipmappedArrayGetLevel(&level, mip, 4));
    for (unsigned k = 0; k < 4; k++) {
        float texels[8];
        for (unsigned x = 0; x < 8; x++)
            texels[x] = (float)k * 10;
        OK(call_cuMipmappedArrayGetLevel(&level, mip, k));
        OK(call_cuMipmappedArrayGetLevel(&again, mip, k));
        CHECK(level == again);
        CUDA_ARRAY_DESCRIPTOR of;
        OK(call_cuArrayGetDescriptor(&of, level));
        CHECK(of.Width == 8u >> k && of.Height == 0);
        OK(call_cuMemcpyHtoA(level, 0, texels, (8u >> k) * sizeof *texels));
    }
    FAILS(INVALID_HANDLE, call_cuArrayDestroy(level));
    return mip;
}

static void test_mipmap(void)
{
    open_device();
    CUmipmappedArray mip = pyramid();
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                         .res.mipmap.hMipmappedArray = mip};
    CUDA_TEXTURE_DESC sampling = {.addressMode = {CLAMP, CLAMP, CLAMP},
                                  .filterMode = LINEAR,
                                  .flags = NORMAL,
                                  .mipmapFilterMode = LINEAR,
                                  .maxMipmapLevelClamp = 10};
    static const char level[] = "tex.level.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%f1}], %f4;";
    static const char grad[] = "tex.grad.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%t, {%f1}], {%f3}, {%f4};";
    CUtexObject t = 0;
    OK(call_cuTexObjectCreate(&t, &resource, &sampling, NULL));
    WANT(one(TEX1D, t, 0.5f, 0, 0, 0), 0);
    WANT(one(level, t, 0.5f, 0, 0, 1), 10);
    WANT(one(level, t, 0.5f, 0, 0, 1.25f), 12.5);
    WANT(one(level, t, 0.5f, 0, 0, -3), 0);
    WANT(one(level, t, 0.5f, 0, 0, 99), 30);
    WANT(one(grad, t, 0.5f, 0, 0.25f, 0.125f), 10); /* a pixel covers two texels of level 0, so level 1 is read */
    WANT(one(grad, t, 0.5f, 0, 0, 0.5f), 20);
    WANT(one(grad, t, 0.5f, 0, 0, 0), 0);
    quad got = one("txq.num_mipmap_levels.b32 %r5, [%t]; txq.width.b32 %r6, [%t]; txq.level.width.b32 %r7, [%t], 2; "
                   "txq.level.height.b32 %r8, [%t], 9;",
                   t, 0, 0, 0, 0);
    CHECK(got.u[0] == 4 && got.u[1] == 8 && got.u[2] == 2 && got.u[3] == 0);
    OK(call_cuTexObjectDestroy(t));
    sampling.mipmapFilterMode = POINT;
    OK(call_cuTexObjectCreate(&t, &resource, &sampling, NULL));
    WANT(one(level, t, 0.5f, 0, 0, 1.25f), 10);
    WANT(one(level, t, 0.5f, 0, 0, 1.75f), 20);
    OK(call_cuTexObjectDestroy(t));
    sampling.mipmapLevelBias = 1;
    sampling.maxMipmapLevelClamp = 2;
    sampling.minMipmapLevelClamp = 1.75f;
    OK(call_cuTexObjectCreate(&t, &resource, &sampling, NULL));
    WANT(one(level, t, 0.5f, 0, 0, 0.25f), 20); /* 1.25, raised to 1.75 */
    WANT(one(level, t, 0.5f, 0, 0, 3), 20);     /* 4, lowered to 2 */
    OK(call_cuTexObjectDestroy(t));
    /* Makes a view of the levels 1 to 2. */
    sampling.mipmapLevelBias = sampling.minMipmapLevelClamp = 0;
    CUDA_RESOURCE_VIEW_DESC view = {
        .format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = 8, .firstMipmapLevel = 1, .lastMipmapLevel = 2};
    OK(call_cuTexObjectCreate(&t, &resource, &sampling, &view));
    WANT(one(level, t, 0.5f, 0, 0, 0), 10);
    WANT(one(level, t, 0.5f, 0, 0, 5), 20);
    CUDA_RESOURCE_VIEW_DESC given;
    OK(call_cuTexObjectGetResourceViewDesc(&given, t));
    CHECK(given.firstMipmapLevel == 1 && given.lastMipmapLevel == 2);
    OK(call_cuTexObjectDestroy(t));
    view.format = CU_RES_VIEW_FORMAT_SINT_4X8; /* another format with texels of the same size */
    sampling.filterMode = POINT;
    sampling.flags = NORMAL | INTEGER;
    OK(call_cuTexObjectCreate(&t, &resource, &sampling, &view)); /* 10.0f is 0x41200000 */
    got = one("tex.1d.v4.s32.f32 {%r5, %r6, %r7, %r8}, [%t, {%f1}];", t, 0, 0, 0, 0);
    CHECK(got.i[0] == 0 && got.i[1] == 0 && got.i[2] == 0x20 && got.i[3] == 0x41);
    OK(call_cuTexObjectDestroy(t));
    view.format = CU_RES_VIEW_FORMAT_UINT_4X32;
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &resource, &sampling, &view));
    view.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
    FAILS(NOT_SUPPORTED, call_cuTexObjectCreate(&t, &resource, &sampling, &view));
    view.format = CU_RES_VIEW_FORMAT_NONE;
    view.lastMipmapLevel = 4;
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &resource, &sampling, &view));
    sampling.flags = 0; /* mipmaps need normalised coordinates */
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &resource, &sampling, NULL));
    OK(call_cuMipmappedArrayDestroy(mip));
    FAILS(INVALID_HANDLE, call_cuMipmappedArrayDestroy(mip));
    close_device();
}

/* ---- linear memory ---- */

static void test_memory(void)
{
    open_device();
    CUdeviceptr memory = 0;
    uint16_t texels[64];
    for (unsigned k = 0; k < 64; k++)
        texels[k] = (uint16_t)(k * 100);
    OK(call_cuMemAlloc(&memory, sizeof texels));
    OK(call_cuMemcpyHtoD(memory, texels, sizeof texels));
    CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_LINEAR,
                            .res.linear = {memory, CU_AD_FORMAT_UNSIGNED_INT16, 2, sizeof texels}};
    CUDA_TEXTURE_DESC sampling = {.flags = INTEGER};
    CUtexObject t = 0;
    OK(call_cuTexObjectCreate(&t, &r, &sampling, NULL));
    static const char fetch[] = "tex.1d.v4.u32.s32 {%r5, %r6, %r7, %r8}, [%t, {%r1}];";
    quad got = one_int(fetch, t, 3, 0, 0, 0);
    CHECK(got.u[0] == 600 && got.u[1] == 700);
    CHECK(one_int(fetch, t, 32, 0, 0, 0).u[0] == 0 && one_int(fetch, t, -1, 0, 0, 0).u[0] == 0);
    CUDA_RESOURCE_DESC given;
    CUDA_TEXTURE_DESC flags;
    OK(call_cuTexObjectGetResourceDesc(&given, t));
    OK(call_cuTexObjectGetTextureDesc(&flags, t));
    CHECK(given.resType == CU_RESOURCE_TYPE_LINEAR && given.res.linear.devPtr == memory && flags.flags == INTEGER);
    FAILS(INVALID_VALUE, call_cuTexObjectGetResourceViewDesc(&(CUDA_RESOURCE_VIEW_DESC){0}, t));
    OK(call_cuTexObjectDestroy(t));
    r = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D,
                             .res.pitch2D = {memory, CU_AD_FORMAT_UNSIGNED_INT16, 1, 10, 4, 32}};
    sampling = (CUDA_TEXTURE_DESC){.addressMode = {CLAMP, CLAMP}, .filterMode = LINEAR};
    OK(call_cuTexObjectCreate(&t, &r, &sampling, NULL));
    /* a row has 16 numbers; number 2 * 16 + 3 is 3500, and its neighbour is 3600 */
    WANT(one(TEX2D, t, 4, 2.5f, 0, 0), (float)((3500 / 65535.0f + 3600 / 65535.0f) / 2.0));
    OK(call_cuTexObjectDestroy(t));
    r.res.pitch2D.pitchInBytes = 24; /* the pitch is not a multiple of the device's alignment */
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, &sampling, NULL));
    r.res.pitch2D.pitchInBytes = 32, r.res.pitch2D.width = 17;
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, &sampling, NULL));
    r = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR, .res.linear = {memory + 4, FLOATS, 1, 64}};
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, &sampling, NULL));
    r.res.linear.devPtr = memory;
    r.res.linear.numChannels = 3;
    FAILS(INVALID_VALUE, call_cuTexObjectCreate(&t, &r, &sampling, NULL));
    FAILS(INVALID_VALUE, call_cuSurfObjectCreate(&t, &r));
    /* Frees memory while a texture uses it. A kernel that reads the texture must fault. */
    r.res.linear.numChannels = 1;
    OK(call_cuTexObjectCreate(&t, &r, &sampling, NULL));
    OK(call_cuMemFree(memory));
    results none;
    FAILS(ILLEGAL_ADDRESS, try_run(fetch, t, &(quad){.i = {1}}, 1, &none));
    CHECK(strstr(kiln__sim_last_fault(), "in an allocation of 128 bytes that was freed") != NULL);
    close_device();
}

/* ---- surfaces ---- */

static void test_surface(void)
{
    static const uint32_t texels[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    open_device();
    CUarray array = array_of(4, 2, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST, texels);
    CUsurfObject s = surface_of(array);
    CHECK(one_int("suld.b.2d.b32.trap {%r5}, [%t, {%r1, %r2}];", s, 8, 1, 0, 0).u[0] == 7);
    quad got =
        one_int("suld.b.2d.v2.b16.trap {%h1, %h2}, [%t, {%r1, %r2}]; cvt.u32.u16 %r5, %h1; cvt.u32.u16 %r6, %h2;", s,
                12, 0, 0, 0);
    CHECK(got.u[0] == 4 && got.u[1] == 0);
    got = one_int("suld.b.2d.v4.b32.trap {%r5, %r6, %r7, %r8}, [%t, {%r1, %r2}];", s, 0, 1, 0, 0);
    CHECK(got.u[0] == 5 && got.u[3] == 8);
    got = one_int("suld.b.2d.b32.clamp {%r5}, [%t, {%r1, %r2}]; suld.b.2d.b32.zero %r6, [%t, {%r1, %r2}];", s, 400, -3,
                  0, 0);
    CHECK(got.u[0] == 4 && got.u[1] == 0);
    /* Stores by byte coordinates. One coordinate is clamped, one store is dropped, and the values are read again. */
    one_int(
        "sust.b.2d.b32.trap [%t, {4, 1}], 60; sust.b.2d.b32.clamp [%t, {-4, 9}], 50; sust.b.2d.b32.zero [%t, {16, 0}], 99;",
        s, 0, 0, 0, 0);
    uint32_t back[2][4];
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = array,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .dstPitch = 16,
                          .WidthInBytes = 16,
                          .Height = 2};
    OK(call_cuMemcpy2D(&copy));
    CHECK(memcmp(back, (uint32_t[2][4]){{1, 2, 3, 4}, {50, 60, 7, 8}}, sizeof back) == 0);
    /* All threads reduce into one place. */
    quad in[32];
    for (int k = 0; k < 32; k++)
        in[k] = (quad){.i = {k, 0, 0, 0}};
    run("sured.b.add.2d.u32.trap [%t, {0, 0}], %r1; sured.b.max.2d.s32.trap [%t, {4, 0}], %r1; "
        "sured.p.and.2d.b32.trap [%t, {2, 0}], %r1; sured.b.or.2d.b32.zero [%t, {100, 0}], %r1;",
        s, in, 32);
    OK(call_cuMemcpy2D(&copy));
    CHECK(back[0][0] == 1 + 31 * 16 && back[0][1] == 31 && back[0][2] == 0 && back[0][3] == 4);
    got = one("suq.width.b32 %r5, [%t]; suq.height.b32 %r6, [%t]; suq.channel_data_type.b32 %r7, [%t]; "
              "suq.channel_order.b32 %r8, [%t];",
              s, 0, 0, 0, 0);
    CHECK(got.u[0] == 4 && got.u[1] == 2 && got.u[2] == 0x10dc && got.u[3] == 0x10b0);
    got = one("istypep.surfref %p, %t; selp.b32 %r5, 1, 0, %p; istypep.texref %p, %t; selp.b32 %r6, 1, 0, %p;", s, 0, 0,
              0, 0);
    CHECK(got.u[0] == 1 && got.u[1] == 0);
    OK(call_cuSurfObjectDestroy(s));
    OK(call_cuArrayDestroy(array));
    /* Makes formatted stores, which have texel coordinates, and cut the values to the format. */
    array = array_of(2, 0, 3, CU_AD_FORMAT_SIGNED_INT8, 4, CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_LAYERED, NULL);
    s = surface_of(array);
    one_int("sust.p.a1d.v4.b32.trap [%t, {2, 1}], {300, -300, 5, -6};", s, 0, 0, 0, 0);
    CHECK(one_int("suld.b.a1d.b32.trap %r5, [%t, {2, 4}];", s, 0, 0, 0, 0).u[0] == 0xfa05807f);
    OK(call_cuSurfObjectDestroy(s));
    OK(call_cuArrayDestroy(array));
    /* Stores to the faces of a cubemap by their numbers. Each store writes 8 bytes, which are four halves. */
    array = array_of(4, 4, 6, CU_AD_FORMAT_HALF, 4, CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP, NULL);
    s = surface_of(array);
    one_int("sust.p.a2d.v4.b32.trap [%t, {5, 1, 2, 0}], {0x3f800000, 0xc0400000, 0x7f800000, 0};", s, 0, 0, 0, 0);
    got = one_int("suld.b.a2d.b64.trap {%d1}, [%t, {5, 8, 2, 0}]; mov.b64 {%r5, %r6}, %d1;", s, 0, 0, 0, 0);
    CHECK(got.u[0] == 0xc2003c00 && got.u[1] == 0x7c00);
    CUDA_RESOURCE_DESC given;
    OK(call_cuSurfObjectGetResourceDesc(&given, s));
    CHECK(given.res.array.hArray == array);
    OK(call_cuSurfObjectDestroy(s));
    FAILS(INVALID_VALUE, call_cuSurfObjectDestroy(s));
    OK(call_cuArrayDestroy(array));
    close_device();
}

/* ---- faults ---- */

static void fault_of(const char *instruction, uint64_t object, int x, int y, CUresult wanted, const char *text)
{
    results none;
    CUresult got = try_run(instruction, object, &(quad){.i = {x, y}}, 1, &none);
    if (got != wanted || !strstr(kiln__sim_last_fault(), text))
        fprintf(stderr, "%s: %d: %s\n", instruction, (int)got, kiln__sim_last_fault());
    CU_ASSERT(got == wanted && strstr(kiln__sim_last_fault(), text));
    close_device(); /* destroys all objects that are left */
    open_device();
}

/* Tests accesses to textures and surfaces that fault, each with its message: wrong handles, formats and coordinates. */
static void test_faults(void)
{
    static const char read[] = "suld.b.2d.b32.trap {%r5}, [%t, {%r1, %r2}];";
    open_device();
    for (int k = 0; k < 8; k++) {
        CUarray array = array_of(4, 2, 0, FLOATS, 1, CUDA_ARRAY3D_SURFACE_LDST, NULL);
        CUtexObject t = texture_of(array, POINT, CLAMP, 0);
        CUsurfObject s = surface_of(array);
        switch (k) {
        case 0: fault_of(read, s, 16, 1, CUDA_ERROR_ILLEGAL_ADDRESS, "suld.b of 4 bytes at byte 16 of row 1"); break;
        case 1:
            fault_of(read, s, 0, -1, CUDA_ERROR_ILLEGAL_ADDRESS, "is outside a surface of 16 bytes per row, 2 rows");
            break;
        case 2: fault_of(read, s, 6, 0, CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned suld.b of 4 bytes at byte 6"); break;
        case 3:
            fault_of(TEX2D, 0x1234500, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS,
                     "tex with 0x1234500, which is not the handle of a texture object");
            break;
        case 4:
            fault_of(TEX2D, s, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS,
                     "tex with the handle of a surface object instead of a texture object");
            break;
        case 5: fault_of(TEX3D, t, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS, "tex.3d of a resource with 2 dimensions"); break;
        case 6:
            OK(call_cuTexObjectDestroy(t));
            FAILS(INVALID_VALUE, call_cuTexObjectDestroy(t));
            fault_of(TEX2D, t, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS, "which is not the handle of a texture object");
            break;
        default:
            OK(call_cuArrayDestroy(array));
            fault_of(read, s, 0, 0, CUDA_ERROR_ILLEGAL_ADDRESS, "suld.b on a surface object whose array was destroyed");
            break;
        }
    }
    close_device();
}

static const check_case cases[] = {
    {"point", test_point},     {"linear", test_linear}, {"formats", test_formats}, {"gather", test_gather},
    {"layers", test_layers},   {"cube", test_cube},     {"mipmap", test_mipmap},   {"memory", test_memory},
    {"surface", test_surface}, {"faults", test_faults},
};

int main(int count, char **arguments)
{
    return texture_main(count, arguments, "sim texture", cases, sizeof cases / sizeof *cases);
}
