/* tensor_map.c - tensor maps. This file checks the rules that cuda.h has for cuTensorMapEncode*, and makes the maps. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cu_objects.h"
#include "sim.h"

/* ---- the rules ---- */

static const uint8_t element_bits[] = {
    [CU_TENSOR_MAP_DATA_TYPE_UINT8] = 8,         [CU_TENSOR_MAP_DATA_TYPE_UINT16] = 16,
    [CU_TENSOR_MAP_DATA_TYPE_UINT32] = 32,       [CU_TENSOR_MAP_DATA_TYPE_INT32] = 32,
    [CU_TENSOR_MAP_DATA_TYPE_UINT64] = 64,       [CU_TENSOR_MAP_DATA_TYPE_INT64] = 64,
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT16] = 16,      [CU_TENSOR_MAP_DATA_TYPE_FLOAT32] = 32,
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT64] = 64,      [CU_TENSOR_MAP_DATA_TYPE_BFLOAT16] = 16,
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ] = 32,  [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32] = 32,
    [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ] = 32, [CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B] = 4,
    [CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B] = 4, [CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B] = 6,
};

static bool is_float(int type)
{
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

/* Returns true for a type whose packed values have gaps between them in shared memory. */
static bool is_spread(int type)
{
    return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B || type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

static bool set_fault(kiln__tensor_fault *fault, kiln__tensor_field field, unsigned dim, const char *format, ...)
    KILN__PRINTF(4, 5);
/* Stores in *fault which rule a map breaks, and returns false. */
static bool set_fault(kiln__tensor_fault *fault, kiln__tensor_field field, unsigned dim, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fault->field = field;
    fault->dim = dim;
    kiln__vformat(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return false;
}

/* Checks the enumerations of a map, its rank, and the combination of these. */
static bool check_kinds(const kiln__tensor_map *map, kiln__tensor_fault *fault)
{
    const bool apart = map->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
    if (map->type < 0 || (size_t)map->type >= KILN__COUNT(element_bits))
        return set_fault(fault, KILN__TENSOR_TYPE, 0, "no tensor map has elements of this type");
    if (map->interleave < 0 || map->interleave > CU_TENSOR_MAP_INTERLEAVE_32B)
        return set_fault(fault, KILN__TENSOR_INTERLEAVE, 0, "there is no such interleave");
    if (map->swizzle < 0 || map->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B)
        return set_fault(fault, KILN__TENSOR_SWIZZLE, 0, "there is no such swizzle");
    if (map->promotion < 0 || map->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
        return set_fault(fault, KILN__TENSOR_PROMOTION, 0, "there is no such promotion to the L2");
    if (map->fill < 0 || map->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return set_fault(fault, KILN__TENSOR_FILL, 0, "there is no such fill");
    if (map->rank < 1 || map->rank > KILN__TENSOR_DIMS)
        return set_fault(fault, KILN__TENSOR_RANK, 0, "a tensor map has 1 to 5 dimensions, not %u", map->rank);
    if (map->rank < 3 && (apart || map->im2col))
        return set_fault(fault, KILN__TENSOR_RANK, 0, "%s needs at least 3 dimensions, not %u",
                         map->im2col ? "im2col" : "an interleaved tensor map", map->rank);
    if (map->interleave == CU_TENSOR_MAP_INTERLEAVE_32B && map->swizzle != CU_TENSOR_MAP_SWIZZLE_32B)
        return set_fault(fault, KILN__TENSOR_SWIZZLE, 0, "an interleave of 32 bytes needs a swizzle of 32 bytes");
    if (map->type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B && apart)
        return set_fault(fault, KILN__TENSOR_INTERLEAVE, 0, "packed 6-bit values cannot be interleaved");
    if (is_spread(map->type) &&
        (map->swizzle == CU_TENSOR_MAP_SWIZZLE_32B || map->swizzle == CU_TENSOR_MAP_SWIZZLE_64B ||
         map->swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B))
        return set_fault(fault, KILN__TENSOR_SWIZZLE, 0, "packed values with gaps cannot have this swizzle");
    if (map->fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float(map->type))
        return set_fault(fault, KILN__TENSOR_FILL, 0, "only floats can be filled with NaN");
    return true;
}

static bool check_memory(const kiln__tensor_map *map, kiln__tensor_fault *fault)
{
    const unsigned align = map->interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_spread(map->type) ? 32 : 16;
    if (map->address % align)
        return set_fault(fault, KILN__TENSOR_ADDRESS, 0,
                         "its first element must lie at a multiple of %u bytes, not at 0x%" PRIx64, align,
                         map->address);
    for (unsigned d = 0; d < map->rank; d++)
        if (map->shape[d] < 1 || map->shape[d] > UINT64_C(1) << 32)
            return set_fault(fault, KILN__TENSOR_SHAPE, d, "a dimension has 1 to 2^32 elements, not %" PRIu64,
                             map->shape[d]);
    const unsigned whole = is_spread(map->type) ? 128 : map->type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B ? 2 : 1;
    if (map->shape[0] % whole)
        return set_fault(fault, KILN__TENSOR_SHAPE, 0, "the inner dimension of packed values is a multiple of %u",
                         whole);
    for (unsigned d = 1; d < map->rank; d++)
        if (map->strides[d] % align || map->strides[d] >= UINT64_C(1) << 40)
            return set_fault(fault, KILN__TENSOR_STRIDES, d,
                             "a stride is a multiple of %u bytes and less than 2^40, not %" PRIu64 " bytes", align,
                             map->strides[d]);
    return true;
}

/* Checks the number of bytes that `count` elements of the inner dimension take in shared memory. This number must be a
 * multiple of 16, and at most the span of the swizzle. This rule does not apply to interleaved maps. */
static bool check_inner(const kiln__tensor_map *map, kiln__tensor_field field, uint32_t count,
                        kiln__tensor_fault *fault)
{
    static const unsigned spans[] = {0, 32, 64, 128, 128, 128, 128}; /* indexed by swizzle */
    const unsigned bytes = is_spread(map->type) ? count : count * element_bits[map->type] / 8;
    if (map->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
        return true;
    if (bytes % 16)
        return set_fault(fault, field, 0, "the inner extent must be a multiple of 16 bytes; %u elements are %u bytes",
                         count, bytes);
    if (spans[map->swizzle] && bytes > spans[map->swizzle])
        return set_fault(fault, field, 0,
                         "with this swizzle the inner extent has at most %u bytes; %u elements are %u bytes",
                         spans[map->swizzle], count, bytes);
    return true;
}

static bool check_tiled(const kiln__tensor_map *map, kiln__tensor_fault *fault)
{
    for (unsigned d = 0; d < map->rank; d++)
        if (map->box[d] < 1 || map->box[d] > 256)
            return set_fault(fault, KILN__TENSOR_BOX, d, "an extent of the box is 1 to 256, not %" PRIu32, map->box[d]);
    if (is_spread(map->type) && map->box[0] != 128)
        return set_fault(fault, KILN__TENSOR_BOX, 0, "the box of packed values with gaps has an inner extent of 128");
    return check_inner(map, KILN__TENSOR_BOX, map->box[0], fault);
}

static bool check_im2col(const kiln__tensor_map *map, kiln__tensor_fault *fault)
{
    static const int32_t most[] = {32767, 127, 15}; /* indexed by rank - 3 */
    const int32_t high = most[map->wide ? 0 : map->rank - 3], low = -high - 1;
    for (unsigned d = 0; d + 2 < map->rank && (d == 0 || !map->wide); d++) {
        if (map->lower[d] < low || map->lower[d] > high)
            return set_fault(fault, KILN__TENSOR_LOWER, d, "a corner is %" PRId32 " to %" PRId32 ", not %" PRId32, low,
                             high, map->lower[d]);
        if (map->upper[d] < low || map->upper[d] > high)
            return set_fault(fault, KILN__TENSOR_UPPER, d, "a corner is %" PRId32 " to %" PRId32 ", not %" PRId32, low,
                             high, map->upper[d]);
        if ((int64_t)map->shape[d + 1] + map->upper[d] - map->lower[d] <= 0)
            return set_fault(fault, KILN__TENSOR_UPPER, d, "the box from corner to corner is empty");
    }
    if (map->channels < 1 || map->channels > 256 || (is_spread(map->type) && map->channels != 128))
        return set_fault(fault, KILN__TENSOR_CHANNELS, 0, "the channels of a pixel are %s, not %" PRIu32,
                         is_spread(map->type) ? "128" : "1 to 256", map->channels);
    if (map->wide != 2 && (map->pixels < 1 || map->pixels > 1024))
        return set_fault(fault, KILN__TENSOR_PIXELS_PER_COLUMN, 0, "the pixels of a column are 1 to 1024, not %" PRIu32,
                         map->pixels);
    return check_inner(map, KILN__TENSOR_CHANNELS, map->channels, fault);
}

bool kiln__tensor_map_check(const kiln__tensor_map *map, kiln__tensor_fault *fault)
{
    if (!check_kinds(map, fault) || !check_memory(map, fault))
        return false;
    for (unsigned d = 0; d < map->rank; d++)
        if (map->steps[d] < 1 || map->steps[d] > 8)
            return set_fault(fault, KILN__TENSOR_STEPS, d, "a step is 1 to 8 elements, not %" PRIu32, map->steps[d]);
    return map->im2col ? check_im2col(map, fault) : check_tiled(map, fault);
}

/* ---- the functions ---- */

bool kiln__tensor_map_simulated(const kiln__tensor_map *map, kiln__tensor_fault *fault)
{
    if (map->interleave == CU_TENSOR_MAP_INTERLEAVE_16B || map->interleave == CU_TENSOR_MAP_INTERLEAVE_32B)
        return set_fault(fault, KILN__TENSOR_INTERLEAVE, 0, "the simulated device has no interleaved layouts");
    if (map->swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B ||
        map->swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B)
        return set_fault(fault, KILN__TENSOR_SWIZZLE, 0,
                         "the simulated device has swizzles with atoms of 16 and 32 bytes only, and none with a flip");
    return true;
}

/* Checks a map. If it is valid, writes it in the form that kernels read (vm_tensor_map). */
static CUresult encode_map(CUtensorMap *out, const kiln__tensor_map *map)
{
    kiln__tensor_fault fault;
    SIM_TRY(sim_begin_bare());
    if (!out || (uintptr_t)out % KILN__TENSOR_MAP_ALIGN)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) < (map->wide ? 10 : 9) ||
        !kiln__tensor_map_simulated(map, &fault))
        return sim_end(CUDA_ERROR_NOT_SUPPORTED);
    if (!kiln__tensor_map_check(map, &fault))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    vm_tensor_map made = {.mark = VM_TENSOR_MAP,
                          .address = map->address,
                          .im2col = (uint8_t)(!map->im2col     ? VM_TILED
                                              : map->wide == 0 ? VM_IM2COL
                                              : map->wide == 1 ? VM_IM2COL_W
                                                               : VM_IM2COL_W128),
                          .rank = (uint8_t)map->rank,
                          .type = (uint8_t)map->type,
                          .swizzle = (uint8_t)map->swizzle,
                          .fill = map->fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
                          .channels = (uint16_t)map->channels,
                          .pixels = (uint16_t)map->pixels};
    for (unsigned d = 0; d < VM_TENSOR_RANK; d++) {
        const bool used = d < map->rank;
        made.last[d] = used ? (uint32_t)(map->shape[d] - 1) : 0;
        made.box[d] = used && !map->im2col ? (uint16_t)map->box[d] : 1;
        made.step[d] = used ? (uint8_t)map->steps[d] : 1;
        if (used && d > 0)
            made.stride[d - 1] = map->strides[d];
        if (map->im2col && d + 2 < map->rank) {
            made.lower[d] = (int16_t)map->lower[d];
            made.upper[d] = (int16_t)map->upper[d];
        }
    }
    memset(out, 0, sizeof *out);
    memcpy(out, &made, sizeof made);
    return sim_end(CUDA_SUCCESS);
}

/* Copies the parameters that the two kinds of map have in common. Returns false if an array is missing, or if the rank
 * is not between 1 and KILN__TENSOR_DIMS. */
static bool map_values(kiln__tensor_map *map, CUtensorMapDataType type, cuuint32_t rank, const void *address,
                       const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *steps)
{
    if (rank < 1 || rank > KILN__TENSOR_DIMS || !extents || !steps || (rank > 1 && !strides))
        return false;
    map->type = (int)type;
    map->rank = rank;
    map->address = (uintptr_t)address;
    for (unsigned d = 0; d < rank; d++) {
        map->shape[d] = extents[d];
        map->steps[d] = steps[d];
        if (d > 0)
            map->strides[d] = strides[d - 1];
    }
    if (map->interleave == CU_TENSOR_MAP_INTERLEAVE_NONE)
        map->steps[0] = 1; /* cuTensorMapEncode* ignores the step of the innermost dimension */
    return true;
}

CUresult sim_cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                    const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                                    const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                    CUtensorMapFloatOOBfill fill)
{
    kiln__tensor_map map = {
        .interleave = (int)interleave, .swizzle = (int)swizzle, .promotion = (int)promotion, .fill = (int)fill};
    if (!box || !map_values(&map, type, rank, address, extents, strides, steps))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(map.box, box, rank * sizeof *box);
    return encode_map(out, &map);
}

CUresult sim_cuTensorMapEncodeIm2col(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                     const cuuint64_t *extents, const cuuint64_t *strides, const int *lower,
                                     const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    kiln__tensor_map map = {.interleave = (int)interleave,
                            .swizzle = (int)swizzle,
                            .promotion = (int)promotion,
                            .fill = (int)fill,
                            .im2col = true,
                            .channels = channels,
                            .pixels = pixels};
    if (!lower || !upper || rank < 3 || !map_values(&map, type, rank, address, extents, strides, steps))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(map.lower, lower, (rank - 2) * sizeof *lower);
    memcpy(map.upper, upper, (rank - 2) * sizeof *upper);
    return encode_map(out, &map);
}

CUresult sim_cuTensorMapEncodeIm2colWide(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                         const cuuint64_t *extents, const cuuint64_t *strides, int lower, int upper,
                                         cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                         CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                         CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                         CUtensorMapFloatOOBfill fill)
{
    kiln__tensor_map map = {.interleave = (int)interleave,
                            .swizzle = (int)swizzle,
                            .promotion = (int)promotion,
                            .fill = (int)fill,
                            .im2col = true,
                            .wide = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 ? 2 : 1,
                            .lower = {lower},
                            .upper = {upper},
                            .channels = channels,
                            .pixels = pixels};
    if (mode != CU_TENSOR_MAP_IM2COL_WIDE_MODE_W && mode != CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128)
        return CUDA_ERROR_INVALID_VALUE;
    /* this function supports no other swizzle */
    if (map.swizzle != CU_TENSOR_MAP_SWIZZLE_64B && map.swizzle != CU_TENSOR_MAP_SWIZZLE_128B &&
        map.swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B)
        return CUDA_ERROR_INVALID_VALUE;
    if (rank < 3 || !map_values(&map, type, rank, address, extents, strides, steps))
        return CUDA_ERROR_INVALID_VALUE;
    return encode_map(out, &map);
}

CUresult sim_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    vm_tensor_map held;
    SIM_TRY(sim_begin_bare());
    if (!map || (uintptr_t)map % KILN__TENSOR_MAP_ALIGN)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    memcpy(&held, map, sizeof held);
    if (held.mark != VM_TENSOR_MAP || (uintptr_t)address % 16)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    held.address = (uintptr_t)address;
    memcpy(map, &held, sizeof held);
    return sim_end(CUDA_SUCCESS);
}
