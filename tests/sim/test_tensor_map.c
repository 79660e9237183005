/* Tests the bytes of tensor maps that the simulated driver writes, and one violation of each rule of cuda.h. */
#include "cu_check.h"
#include "sim.h"
#include "vm.h"

/* Returns a map of floats that violates no rule. */
static kiln__tensor_map good(unsigned rank)
{
    kiln__tensor_map map = {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, .rank = rank, .address = 0x1000};
    for (unsigned d = 0; d < rank; d++) {
        map.shape[d] = 64;
        map.strides[d] = d ? 256 : 4;
        map.steps[d] = 1;
        map.box[d] = d ? 2 : 4;
    }
    map.channels = 4;
    map.pixels = 16;
    return map;
}

static CUresult encode(CUtensorMap *to, const kiln__tensor_map *map)
{
    void *address = (void *)(uintptr_t)map->address;
    const cuuint64_t *shape = (const cuuint64_t *)map->shape, *strides = (const cuuint64_t *)(map->strides + 1);
    return map->im2col
               ? call_cuTensorMapEncodeIm2col(to, (CUtensorMapDataType)map->type, map->rank, address, shape, strides,
                                              map->lower, map->upper, map->channels, map->pixels, map->steps,
                                              (CUtensorMapInterleave)map->interleave, (CUtensorMapSwizzle)map->swizzle,
                                              (CUtensorMapL2promotion)map->promotion,
                                              (CUtensorMapFloatOOBfill)map->fill)
               : call_cuTensorMapEncodeTiled(to, (CUtensorMapDataType)map->type, map->rank, address, shape, strides,
                                             map->box, map->steps, (CUtensorMapInterleave)map->interleave,
                                             (CUtensorMapSwizzle)map->swizzle, (CUtensorMapL2promotion)map->promotion,
                                             (CUtensorMapFloatOOBfill)map->fill);
}

static void written(void)
{
    CUtensorMap to;
    vm_tensor_map made;
    kiln__tensor_map map = good(3);
    open_device();
    map.shape[2] = UINT64_C(1) << 32;
    map.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
    OK(encode(&to, &map));
    memcpy(&made, &to, sizeof made);
    CHECK(made.mark == VM_TENSOR_MAP && !made.im2col && made.rank == 3 && made.address == 0x1000);
    CHECK(made.last[0] == 63 && made.last[2] == UINT32_MAX && made.stride[0] == 256 && made.stride[2] == 0);
    CHECK(made.box[0] == 4 && made.box[1] == 2 && made.step[2] == 1 && made.swizzle == CU_TENSOR_MAP_SWIZZLE_64B);
    OK(call_cuTensorMapReplaceAddress(&to, (void *)(uintptr_t)0x2010));
    memcpy(&made, &to, sizeof made);
    CHECK(made.address == 0x2010 && made.rank == 3);
    FAILS(INVALID_VALUE, call_cuTensorMapReplaceAddress(&to, (void *)(uintptr_t)0x2011));
    FAILS(INVALID_VALUE, call_cuTensorMapReplaceAddress((CUtensorMap *)(void *)((char *)&to + 8), NULL));
    FAILS(INVALID_VALUE, encode((CUtensorMap *)(void *)((char *)&to + 8), &map));
    memset(&to, 0, sizeof to);
    FAILS(INVALID_VALUE, call_cuTensorMapReplaceAddress(&to, (void *)(uintptr_t)0x2010)); /* no map */

    map = good(4);
    map.im2col = true;
    map.lower[0] = -1;
    map.upper[1] = 127;
    OK(encode(&to, &map));
    memcpy(&made, &to, sizeof made);
    CHECK(made.im2col && made.lower[0] == -1 && made.upper[1] == 127);
    CHECK(made.channels == 4 && made.pixels == 16);
    close_device();
}

typedef struct broken {
    kiln__tensor_field field;
    unsigned rank;
    bool im2col;
    size_t offset, width; /* the place of the member that is changed to violate the rule */
    uint64_t value;
    int type, interleave, swizzle; /* 0 means the value of good() */
} broken;
#define AT(member) offsetof(kiln__tensor_map, member), sizeof((kiln__tensor_map *)0)->member

static void rules(void)
{
    enum { F32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, U6 = CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B };
    static const broken cases[] = {
        {KILN__TENSOR_TYPE, 2, false, AT(type), 16},
        {KILN__TENSOR_TYPE, 2, false, AT(type), UINT32_MAX},
        {KILN__TENSOR_RANK, 5, false, AT(rank), 6},
        {KILN__TENSOR_RANK, 1, false, AT(rank), 0},
        {KILN__TENSOR_RANK, 3, true, AT(rank), 2},
        {KILN__TENSOR_RANK, 2, false, AT(interleave), CU_TENSOR_MAP_INTERLEAVE_16B},
        {KILN__TENSOR_INTERLEAVE, 3, false, AT(interleave), 3},
        {KILN__TENSOR_SWIZZLE, 3, false, AT(swizzle), 7},
        {KILN__TENSOR_SWIZZLE, 3, false, AT(interleave), CU_TENSOR_MAP_INTERLEAVE_32B},
        {KILN__TENSOR_PROMOTION, 3, false, AT(promotion), 4},
        {KILN__TENSOR_FILL, 3, false, AT(fill), 2},
        {KILN__TENSOR_FILL, 3, false, AT(fill), 1, CU_TENSOR_MAP_DATA_TYPE_INT32, 0, 0},
        {KILN__TENSOR_ADDRESS, 2, false, AT(address), 0x1008},
        {KILN__TENSOR_ADDRESS, 3, false, AT(address), 0x1010, 0, CU_TENSOR_MAP_INTERLEAVE_32B,
         CU_TENSOR_MAP_SWIZZLE_32B},
        {KILN__TENSOR_SHAPE, 2, false, AT(shape[1]), 0},
        {KILN__TENSOR_SHAPE, 2, false, AT(shape[0]), (UINT64_C(1) << 32) + 1},
        {KILN__TENSOR_STRIDES, 2, false, AT(strides[1]), 264},
        {KILN__TENSOR_STRIDES, 2, false, AT(strides[1]), UINT64_C(1) << 40},
        {KILN__TENSOR_STEPS, 2, false, AT(steps[1]), 0},
        {KILN__TENSOR_STEPS, 2, false, AT(steps[1]), 9},
        {KILN__TENSOR_BOX, 2, false, AT(box[1]), 0},
        {KILN__TENSOR_BOX, 2, false, AT(box[1]), 257},
        {KILN__TENSOR_BOX, 2, false, AT(box[0]), 5},
        {KILN__TENSOR_BOX, 2, false, AT(box[0]), 12, 0, 0, CU_TENSOR_MAP_SWIZZLE_32B},
        {KILN__TENSOR_BOX, 2, false, AT(box[0]), 36, 0, 0, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B},
        {KILN__TENSOR_LOWER, 4, true, AT(lower[1]), (uint32_t)-129},
        {KILN__TENSOR_UPPER, 5, true, AT(upper[2]), 16},
        {KILN__TENSOR_UPPER, 3, true, AT(upper[0]), (uint32_t)-64},
        {KILN__TENSOR_CHANNELS, 3, true, AT(channels), 257},
        {KILN__TENSOR_CHANNELS, 3, true, AT(channels), 16, 0, 0, CU_TENSOR_MAP_SWIZZLE_32B},
        {KILN__TENSOR_PIXELS_PER_COLUMN, 3, true, AT(pixels), 1025},
    };
    open_device();
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        const broken *b = &cases[i];
        CUtensorMap to;
        kiln__tensor_fault fault = {.field = (kiln__tensor_field)-1};
        kiln__tensor_map map = good(b->rank);
        map.im2col = b->im2col;
        map.type = b->type ? b->type : F32;
        map.interleave = b->interleave;
        map.swizzle = b->swizzle;
        CHECK(kiln__tensor_map_check(&map, &fault)); /* this map violates no rule; each change below violates one */
        memcpy((char *)&map + b->offset, &b->value, b->width);
        CHECK(!kiln__tensor_map_check(&map, &fault) && fault.field == b->field && *fault.text);
        if (fault.field != b->field)
            fprintf(stderr, "case %zu: %s\n", i, fault.text);
        CHECK(encode(&to, &map) != CUDA_SUCCESS);
    }
    /* packed values */
    kiln__tensor_map map = good(2);
    kiln__tensor_fault fault;
    map.type = U6;
    map.shape[0] = map.box[0] = 128;
    CHECK(kiln__tensor_map_check(&map, &fault));
    map.shape[0] = 64;
    CHECK(!kiln__tensor_map_check(&map, &fault) && fault.field == KILN__TENSOR_SHAPE);
    map.shape[0] = 128, map.box[0] = 64;
    CHECK(!kiln__tensor_map_check(&map, &fault) && fault.field == KILN__TENSOR_BOX);
    map.box[0] = 128, map.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
    CHECK(!kiln__tensor_map_check(&map, &fault) && fault.field == KILN__TENSOR_SWIZZLE);
    close_device();
}

/* Tests the features that this device lacks, by their names. */
static void not_simulated(void)
{
    kiln__tensor_fault fault;
    kiln__tensor_map map = good(3);
    CHECK(kiln__tensor_map_simulated(&map, &fault));
    map.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
    CHECK(!kiln__tensor_map_simulated(&map, &fault) && fault.field == KILN__TENSOR_INTERLEAVE);
    CHECK_TEXT(fault.text, "the simulated device has no interleaved layouts");
    map = good(3);
    map.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B;
    CHECK(!kiln__tensor_map_simulated(&map, &fault) && fault.field == KILN__TENSOR_SWIZZLE);
}

static CUresult encode_wide(CUtensorMap *to, const kiln__tensor_map *map, int mode)
{
    return call_cuTensorMapEncodeIm2colWide(
        to, (CUtensorMapDataType)map->type, map->rank, (void *)(uintptr_t)map->address, (const cuuint64_t *)map->shape,
        (const cuuint64_t *)(map->strides + 1), map->lower[0], map->upper[0], map->channels, map->pixels, map->steps,
        (CUtensorMapInterleave)map->interleave, (CUtensorMapIm2ColWideMode)mode, (CUtensorMapSwizzle)map->swizzle,
        (CUtensorMapL2promotion)map->promotion, (CUtensorMapFloatOOBfill)map->fill);
}

/* Tests maps of im2col along W, which devices support from compute capability 10.0 on. */
static void along_w(void)
{
    static const char *const names[] = {"generic", "b200"};
    char path[1024], *text;
    size_t length;
    kiln_error *error = NULL;
    kiln__text log = {0};
    snprintf(path, sizeof path, "%s/specs/devices/b200.profile", KILN_SOURCE_DIR);
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    CHECK(kiln__sim_profile_add("b200", text, length, &log) == KILN__SIM_ADDED);
    kiln__free(NULL, text);
    kiln__text_free(&log);
    for (unsigned n = 0; n < KILN__COUNT(names); n++) {
        CUtensorMap to;
        vm_tensor_map made;
        kiln__tensor_map map = good(4);
        CHECK(kiln__sim_profile(names[n]));
        open_device();
        map.im2col = true;
        map.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
        map.lower[0] = -1, map.upper[0] = 32767;
        if (n == 0) {
            FAILS(NOT_SUPPORTED, encode_wide(&to, &map, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W));
            close_device();
            continue;
        }
        OK(encode_wide(&to, &map, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W));
        memcpy(&made, &to, sizeof made);
        CHECK(made.im2col == VM_IM2COL_W && made.lower[0] == -1 && made.upper[0] == 32767 && made.pixels == 16);
        map.pixels = 4000; /* ignored */
        OK(encode_wide(&to, &map, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128));
        memcpy(&made, &to, sizeof made);
        CHECK(made.im2col == VM_IM2COL_W128 && made.rank == 4 && made.lower[1] == 0);
        FAILS(INVALID_VALUE, encode_wide(&to, &map, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W));
        FAILS(INVALID_VALUE, encode_wide(&to, &map, 2));
        map.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
        FAILS(INVALID_VALUE, encode_wide(&to, &map, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128));
        map.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
        map.lower[0] = -32769;
        FAILS(INVALID_VALUE, encode_wide(&to, &map, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128));
        map.lower[0] = 64, map.upper[0] = 0; /* an empty box */
        FAILS(INVALID_VALUE, encode_wide(&to, &map, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128));
        close_device();
    }
    CHECK(kiln__sim_profile(NULL));
}

/* The device attribute tells whether the interpreter runs copies by these maps. The maps themselves can always be
 * made. */
static void attribute(void)
{
    int has = -1;
    open_device();
    OK(call_cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, device));
    CHECK(has == kiln__sim_runs("cp.async.bulk.tensor"));
    CHECK(kiln__sim_runs("ld") && !kiln__sim_runs("no.such.instruction") && !kiln__sim_runs("%tid.x"));
    close_device();
}

static const check_case cases[] = {{"what is written", written},
                                   {"rules", rules},
                                   {"not simulated", not_simulated},
                                   {"along W", along_w},
                                   {"attribute", attribute}};

CU_SUITE("sim.tensor_map", cases)
