/* tensor.c - tensor maps: checked as the manual says, and written as vm.h has them. */
#include <string.h>

#include "cu_objects.h"

enum { BOX_MOST = 256, STEP_MOST = 8, PIXELS_MOST = 1024, ALIGNED = 16 };

/* Swizzles of newer devices, interleaved layouts and packed types are there for none of the simulated ones. */
static CUresult begin(vm_tensor_map *map, const CUtensorMap *to, CUtensorMapDataType type, cuuint32_t rank,
                      const void *address, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    if (!to || (uintptr_t)to % 64 || rank == 0 || rank > VM_TENSOR_RANK || (uintptr_t)address % ALIGNED ||
        (unsigned)interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        (unsigned)promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        (unsigned)fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)type >= VM_TENSOR_TYPES || (unsigned)swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
        interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    *map = (vm_tensor_map){.mark = VM_TENSOR_MAP,
                           .rank = (uint8_t)rank,
                           .type = (uint8_t)type,
                           .swizzle = (uint8_t)swizzle,
                           .fill = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
                           .address = (uintptr_t)address};
    for (unsigned k = 0; k < VM_TENSOR_RANK; k++)
        map->box[k] = map->step[k] = 1;
    return CUDA_SUCCESS;
}

static unsigned bytes_of(CUtensorMapDataType type)
{
    static const uint8_t bytes[VM_TENSOR_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return bytes[type];
}

static bool is_float(CUtensorMapDataType type) { return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16; }

/* Sizes, strides and steps. */
static bool shape(vm_tensor_map *map, const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *steps)
{
    if (!sizes || (map->rank > 1 && !strides) || !steps)
        return false;
    for (unsigned k = 0; k < map->rank; k++) {
        if (sizes[k] == 0 || sizes[k] > (cuuint64_t)1 << 32)
            return false;
        map->last[k] = (uint32_t)(sizes[k] - 1);
        if (k && (steps[k] == 0 || steps[k] > STEP_MOST)) /* the first one is ignored */
            return false;
        if (k)
            map->step[k] = (uint8_t)steps[k];
        if (k && (strides[k - 1] % ALIGNED || strides[k - 1] >= (cuuint64_t)1 << 40))
            return false;
        if (k)
            map->stride[k - 1] = strides[k - 1];
    }
    return !map->fill || is_float((CUtensorMapDataType)map->type);
}

/* A row of a box: whole pieces of 16 bytes, and no more than a swizzle spans. */
static bool row_fits(const vm_tensor_map *map, unsigned elements)
{
    unsigned bytes = elements * bytes_of((CUtensorMapDataType)map->type);
    return bytes % ALIGNED == 0 && (!map->swizzle || bytes <= (unsigned)ALIGNED << map->swizzle);
}

static CUresult finish(CUtensorMap *to, const vm_tensor_map *map)
{
    memset(to, 0, sizeof *to);
    memcpy(to, map, sizeof *map);
    return CUDA_SUCCESS;
}

CUresult sim_cuTensorMapEncodeTiled(CUtensorMap *to, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                    const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                    const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                    CUtensorMapFloatOOBfill fill)
{
    vm_tensor_map map;
    CUresult result = begin(&map, to, type, rank, address, interleave, swizzle, promotion, fill);
    if (result != CUDA_SUCCESS)
        return result;
    if (!box || !shape(&map, sizes, strides, steps))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < rank; k++) {
        if (box[k] == 0 || box[k] > BOX_MOST)
            return CUDA_ERROR_INVALID_VALUE;
        map.box[k] = (uint16_t)box[k];
    }
    return row_fits(&map, box[0]) ? finish(to, &map) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuTensorMapEncodeIm2col(CUtensorMap *to, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                     const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower,
                                     const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
                                     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    static const int least[] = {-32768, -128, -16}, most[] = {32767, 127, 15}; /* of three, four, five dimensions */
    vm_tensor_map map;
    CUresult result = begin(&map, to, type, rank, address, interleave, swizzle, promotion, fill);
    if (result != CUDA_SUCCESS)
        return result;
    if (rank < 3 || !lower || !upper || !shape(&map, sizes, strides, steps) || channels == 0 || channels > BOX_MOST ||
        pixels == 0 || pixels > PIXELS_MOST)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k + 2 < rank; k++) {
        if (lower[k] < least[rank - 3] || lower[k] > most[rank - 3] || upper[k] < least[rank - 3] ||
            upper[k] > most[rank - 3] || (int64_t)map.last[k + 1] + upper[k] < lower[k])
            return CUDA_ERROR_INVALID_VALUE;
        map.lower[k] = (int16_t)lower[k];
        map.upper[k] = (int16_t)upper[k];
    }
    map.im2col = 1;
    map.channels = (uint16_t)channels;
    map.pixels = (uint16_t)pixels;
    return row_fits(&map, channels) ? finish(to, &map) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuTensorMapReplaceAddress(CUtensorMap *to, void *address)
{
    vm_tensor_map map;
    if (!to || (uintptr_t)address % ALIGNED)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&map, to, sizeof map);
    if (map.mark != VM_TENSOR_MAP)
        return CUDA_ERROR_INVALID_VALUE;
    map.address = (uintptr_t)address;
    return finish(to, &map);
}
