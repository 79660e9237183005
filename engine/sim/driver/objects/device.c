/* device.c - device profiles, which have the attributes of the simulated device. This file has two built-in profiles.
 * Other profiles are read from text (profile.c). Profiles from text also have figures for the estimate of times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu_objects.h"

#define A(name, value)                                                                                                 \
    {                                                                                                                  \
        CU_DEVICE_ATTRIBUTE_##name, value                                                                              \
    }

/* The attributes that all devices of the supported generations have in common (CUDA C++ Programming Guide, technical
 * specifications by compute capability). The table leaves out attributes of features that the simulator lacks. */
static const sim_attribute common[] = {
    A(MAX_THREADS_PER_BLOCK, 1024),
    A(MAX_BLOCK_DIM_X, 1024),
    A(MAX_BLOCK_DIM_Y, 1024),
    A(MAX_BLOCK_DIM_Z, 64),
    A(MAX_GRID_DIM_X, 2147483647),
    A(MAX_GRID_DIM_Y, 65535),
    A(MAX_GRID_DIM_Z, 65535),
    A(MAX_SHARED_MEMORY_PER_BLOCK, 49152),
    A(TOTAL_CONSTANT_MEMORY, 65536),
    A(WARP_SIZE, 32),
    A(MAX_PITCH, 2147483647),
    A(MAX_REGISTERS_PER_BLOCK, 65536),
    A(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536),
    A(MAX_THREADS_PER_MULTIPROCESSOR, 2048),
    A(RESERVED_SHARED_MEMORY_PER_BLOCK, 1024),
    A(TEXTURE_ALIGNMENT, 512),
    A(TEXTURE_PITCH_ALIGNMENT, 32),
    A(SURFACE_ALIGNMENT, 512),
    A(GPU_OVERLAP, 0),
    A(ASYNC_ENGINE_COUNT, 0),
    A(KERNEL_EXEC_TIMEOUT, 0),
    A(INTEGRATED, 0),
    A(CAN_MAP_HOST_MEMORY, 1),
    A(COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT),
    A(CONCURRENT_KERNELS, 0),
    A(ECC_ENABLED, 0),
    A(PCI_BUS_ID, 0),
    A(PCI_DEVICE_ID, 0),
    A(PCI_DOMAIN_ID, 0),
    A(TCC_DRIVER, 0),
    A(UNIFIED_ADDRESSING, 1),
    A(STREAM_PRIORITIES_SUPPORTED, 1),
    A(GLOBAL_L1_CACHE_SUPPORTED, 1),
    A(LOCAL_L1_CACHE_SUPPORTED, 1),
    A(MANAGED_MEMORY, 1),
    A(MULTI_GPU_BOARD, 0),
    A(MULTI_GPU_BOARD_GROUP_ID, 0),
    A(HOST_NATIVE_ATOMIC_SUPPORTED, 1),
    A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2),
    A(PAGEABLE_MEMORY_ACCESS, 0),
    A(CONCURRENT_MANAGED_ACCESS, 1),
    A(COMPUTE_PREEMPTION_SUPPORTED, 0),
    A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
    A(COOPERATIVE_LAUNCH, 1),
    A(MEMORY_POOLS_SUPPORTED, 1),
    A(MEMPOOL_SUPPORTED_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
    A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
    A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
    A(IPC_EVENT_SUPPORTED, 1),
    A(HOST_REGISTER_SUPPORTED, 1),
    A(READ_ONLY_HOST_REGISTER_SUPPORTED, 1),
    A(CAN_USE_64_BIT_STREAM_MEM_OPS, 1),
    A(CAN_USE_STREAM_WAIT_VALUE_NOR, 1),
    A(CAN_USE_STREAM_MEM_OPS_V1, 1),
    A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 1),
    A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1),
    A(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 1),
    A(MEM_SYNC_DOMAIN_COUNT, 1),
    A(MAXIMUM_TEXTURE1D_WIDTH, 131072),
    A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 268435456),
    A(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 32768),
    A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768),
    A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048),
    A(MAXIMUM_TEXTURE2D_WIDTH, 131072),
    A(MAXIMUM_TEXTURE2D_HEIGHT, 65536),
    A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072),
    A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000),
    A(MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120),
    A(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 32768),
    A(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 32768),
    A(MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32768),
    A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32768),
    A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768),
    A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768),
    A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048),
    A(MAXIMUM_TEXTURE3D_WIDTH, 16384),
    A(MAXIMUM_TEXTURE3D_HEIGHT, 16384),
    A(MAXIMUM_TEXTURE3D_DEPTH, 16384),
    A(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, 8192),
    A(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, 8192),
    A(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 32768),
    A(MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768),
    A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32768),
    A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046),
    A(MAXIMUM_SURFACE1D_WIDTH, 32768),
    A(MAXIMUM_SURFACE1D_LAYERED_WIDTH, 32768),
    A(MAXIMUM_SURFACE1D_LAYERED_LAYERS, 2048),
    A(MAXIMUM_SURFACE2D_WIDTH, 131072),
    A(MAXIMUM_SURFACE2D_HEIGHT, 65536),
    A(MAXIMUM_SURFACE2D_LAYERED_WIDTH, 32768),
    A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 32768),
    A(MAXIMUM_SURFACE2D_LAYERED_LAYERS, 2048),
    A(MAXIMUM_SURFACE3D_WIDTH, 16384),
    A(MAXIMUM_SURFACE3D_HEIGHT, 16384),
    A(MAXIMUM_SURFACE3D_DEPTH, 16384),
    A(MAXIMUM_SURFACECUBEMAP_WIDTH, 32768),
    A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 32768),
    A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 2046),
    A(UNIFIED_FUNCTION_POINTERS, 0),
    A(GPU_DIRECT_RDMA_SUPPORTED, 0),
};

/* The figures resemble an H200 SXM, as its driver reports them: 132 SMs at 1980 MHz, 50 MB of L2, HBM3e of 6144 bits at
 * 3201 MHz. The profile has the name `generic`, because it is not a model of that product. */
static const sim_attribute generic[] = {
    A(COMPUTE_CAPABILITY_MAJOR, 9),
    A(COMPUTE_CAPABILITY_MINOR, 0),
    A(MULTIPROCESSOR_COUNT, 132),
    A(CLOCK_RATE, 1980000),
    A(MEMORY_CLOCK_RATE, 3201000),
    A(GLOBAL_MEMORY_BUS_WIDTH, 6144),
    A(L2_CACHE_SIZE, 52428800),
    A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472),
    A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448),
    A(MAX_BLOCKS_PER_MULTIPROCESSOR, 32),
};

/* The figures resemble an A100 SXM. The profile is for code that must be compiled for compute capability 8.0. */
static const sim_attribute ampere[] = {
    A(COMPUTE_CAPABILITY_MAJOR, 8),
    A(COMPUTE_CAPABILITY_MINOR, 0),
    A(MULTIPROCESSOR_COUNT, 108),
    A(CLOCK_RATE, 1410000),
    A(MEMORY_CLOCK_RATE, 1215000),
    A(GLOBAL_MEMORY_BUS_WIDTH, 5120),
    A(L2_CACHE_SIZE, 41943040),
    A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 167936),
    A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 166912),
    A(MAX_BLOCKS_PER_MULTIPROCESSOR, 32),
};

sim_profile sim_profiles[SIM_PROFILES_MOST] = {
    {"generic", "Kiln simulated device (generic)", (uint64_t)141 << 30, generic, KILN__COUNT(generic), NULL},
    {"ampere", "Kiln simulated device (ampere)", (uint64_t)40 << 30, ampere, KILN__COUNT(ampere), NULL},
};
size_t sim_profile_count = 2;

/* Computes an attribute that the compute capability determines. Returns false for all other attributes. Persisting
 * lines may take 3/4 of the L2 on compute capability 8.x, as on an A100. On later devices they may take 5/8 of it,
 * which was not measured. In the simulator, persisting lines and compression do not change times. Devices of data
 * centres count as connected by switches, because multicast needs a switch. */
static bool derive_attribute(const sim_profile *profile, CUdevice_attribute attribute, int *value)
{
    enum { WINDOW_MOST = 128 << 20 };
    const int major = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
              l2 = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: *value = major >= 9; return true;
    case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED: *value = major >= 8; return true;
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED: *value = major == 9 || major == 10; return true;
    case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
        *value = major < 8 ? 0 : major == 8 ? l2 / 4 * 3 : l2 / 8 * 5;
        return true;
    case CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE: *value = major < 8 ? 0 : WINDOW_MOST; return true;
    default: return false;
    }
}

bool sim_profile_attribute(const sim_profile *profile, CUdevice_attribute attribute, int *value)
{
    for (size_t i = 0; i < profile->attribute_count; i++)
        if (profile->attributes[i].attribute == attribute) {
            *value = profile->attributes[i].value;
            return true;
        }
    for (size_t i = 0; i < KILN__COUNT(common); i++)
        if (common[i].attribute == attribute) {
            *value = common[i].value;
            return true;
        }
    return derive_attribute(profile, attribute, value);
}

int sim_profile_int(const sim_profile *profile, CUdevice_attribute attribute)
{
    int value = 0;
    sim_profile_attribute(profile, attribute, &value);
    return value;
}

int kiln__sim_model_at(size_t index)
{
    if (index >= __atomic_load_n(&sim_profile_count, __ATOMIC_ACQUIRE) || !sim_profiles[index].model)
        return 0;
    return sim_profile_int(&sim_profiles[index], CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
           sim_profile_int(&sim_profiles[index], CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

double kiln__sim_unit_rate(size_t index, unsigned unit)
{
    if (index >= __atomic_load_n(&sim_profile_count, __ATOMIC_ACQUIRE) || !sim_profiles[index].model)
        return -1;
    const sim_model *m = sim_profiles[index].model;
    switch (unit) {
    case KILN_UNIT_FP32: return m->fp32;
    case KILN_UNIT_FP64: return m->fp64;
    case KILN_UNIT_FP16: return m->fp16;
    case KILN_UNIT_TENSOR_FP64: return m->tensor_fp64;
    case KILN_UNIT_TENSOR_TF32: return m->tensor_tf32;
    case KILN_UNIT_TENSOR_FP16: return m->tensor_fp16;
    case KILN_UNIT_TENSOR_FP8: return m->tensor_fp8;
    case KILN_UNIT_TENSOR_INT8: return m->tensor_int8;
    case KILN_UNIT_TENSOR_FP16_FP16: return m->tensor_fp16_fp16;
    case KILN_UNIT_TENSOR_FP8_FP16: return m->tensor_fp8_fp16;
    default: return -1;
    }
}

/* Computes the size in bytes of a device's memory. All devices of the machine share half of the host's memory.
 * $KILN_SIM_MEMORY can set another size for each device. A device never has more memory than its profile. Without the
 * limit the host could run out of memory, because device memory is host memory, and an allocation fills it with a
 * pattern. */
bool sim_device_memory(const sim_profile *profile, uint64_t *bytes)
{
    uint64_t wanted;
    if (!sim_environment("KILN_SIM_MEMORY", &wanted))
        return false;
    uint64_t most = wanted ? wanted : kiln__host_memory() / 2 / sim_machine_devices();
    *bytes = most < profile->memory ? most : profile->memory;
    return true;
}

typedef struct looked_for {
    const char *name;
    bool runs;
} looked_for;

static int find_instruction(void *user, const kiln_sim_instruction *instruction)
{
    looked_for *what = user;
    what->runs = instruction->kind == KILN_SIM_RUNS && strcmp(instruction->name, what->name) == 0;
    return what->runs;
}

bool kiln__sim_runs(const char *instruction)
{
    looked_for what = {.name = instruction};
    kiln_sim_instructions(find_instruction, &what);
    return what.runs;
}

/* Returns true if the device has tensor maps. The device's architecture must have tensor maps, and the simulator must
 * be able to run their instructions. */
static bool has_tensor_maps(const sim_profile *profile)
{
    return sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9 &&
           kiln__sim_runs("cp.async.bulk.tensor");
}

CUresult sim_cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetCount(int *count)
{
    SIM_TRY(sim_begin_bare());
    if (!count)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *count = (int)sim_device_count();
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceGet(CUdevice *device, int ordinal)
{
    SIM_TRY(sim_begin_bare());
    if (!device)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (ordinal < 0 || (unsigned)ordinal >= sim_device_count())
        return sim_end(CUDA_ERROR_INVALID_DEVICE);
    *device = sim_device_at((unsigned)ordinal);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_begin_device(CUdevice device, const void *out)
{
    SIM_TRY(sim_begin_bare());
    if (!sim_device_profile(device))
        return sim_end(CUDA_ERROR_INVALID_DEVICE);
    return out ? CUDA_SUCCESS : sim_end(CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuDeviceGetName(char *name, int length, CUdevice device)
{
    SIM_TRY(sim_begin_device(device, name));
    if (length <= 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const char *title = sim_device_profile(device)->title;
    size_t room = (size_t)length - 1, used = strlen(title);
    if (used > room)
        used = room;
    memcpy(name, title, used);
    name[used] = '\0';
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    SIM_TRY(sim_begin_device(device, value));
    if ((int)attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    int found = 0; /* if no table has the attribute, the device lacks the feature, and the value is 0 */
    if (attribute == CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED)
        found = has_tensor_maps(sim_device_profile(device));
    else if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
        found = (int)sim_device_place(device);
    else
        sim_profile_attribute(sim_device_profile(device), attribute, &found);
    *value = found;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    SIM_TRY(sim_begin_device(device, bytes));
    uint64_t memory = 0;
    bool right = sim_device_memory(sim_device_profile(device), &memory);
    *bytes = (size_t)memory;
    return sim_end(right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

void sim_device_uuid(const sim_profile *profile, unsigned place, CUuuid *uuid)
{
    char text[300];
    snprintf(text, sizeof text, place ? "%s %u" : "%s", profile->title, place);
    kiln__hash128 hash = kiln__hash(text, strlen(text));
    _Static_assert(sizeof uuid->bytes == sizeof hash, "a UUID has 128 bits");
    memcpy(uuid->bytes, &hash, sizeof hash);
}

CUresult sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    SIM_TRY(sim_begin_device(device, uuid));
    sim_device_uuid(sim_device_profile(device), sim_device_place(device), uuid);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    SIM_TRY(sim_begin_device(device, major && minor ? major : NULL));
    *major = sim_profile_int(sim_device_profile(device), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    *minor = sim_profile_int(sim_device_profile(device), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceGetProperties(CUdevprop *properties, CUdevice device)
{
    SIM_TRY(sim_begin_device(device, properties));
    const sim_profile *of = sim_device_profile(device);
    *properties = (CUdevprop){
        .maxThreadsPerBlock = sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                          sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                        sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                        sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock = sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = sim_profile_int(of, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = sim_profile_int(of, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = sim_profile_int(of, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = sim_profile_int(of, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = sim_profile_int(of, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
    return sim_end(CUDA_SUCCESS);
}

/* Writes the address of the device on the PCI bus. The bus is the number of the device on the machine. The domain and
 * the unit are 0. */
CUresult sim_cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
    SIM_TRY(sim_begin_device(device, id));
    if (length <= 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    snprintf(id, (size_t)length, "0000:%02x:00.0", sim_device_place(device));
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    unsigned domain = 0, bus = 0, unit = 0;
    if (!device || !id)
        return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(id, "%x:%x:%x", &domain, &bus, &unit) != 3) { /* the domain may be missing in the text */
        domain = 0;
        if (sscanf(id, "%x:%x", &bus, &unit) != 2)
            return CUDA_ERROR_INVALID_VALUE;
    }
    SIM_TRY(sim_begin_bare());
    for (unsigned i = 0; i < sim_device_count() && !domain && !unit; i++)
        if (sim_device_place(sim_device_at(i)) == bus) {
            *device = sim_device_at(i);
            return sim_end(CUDA_SUCCESS);
        }
    return sim_end(CUDA_ERROR_INVALID_DEVICE);
}

/* LUIDs exist only on Windows, so this function returns an error. */
CUresult sim_cuDeviceGetLuid(char *luid, unsigned *mask, CUdevice device)
{
    CUresult result = sim_begin_device(device, luid && mask ? luid : NULL);
    return result == CUDA_SUCCESS ? sim_end(CUDA_ERROR_NOT_SUPPORTED) : result;
}

/* Returns true if the two arguments are different devices of the process. Each device can use the memory of every other
 * device. */
static bool are_two(CUdevice device, CUdevice peer)
{
    return device != peer && sim_device_ordinal(device) >= 0 && sim_device_ordinal(peer) >= 0;
}

CUresult sim_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    SIM_TRY(sim_begin_device(device, can));
    if (!sim_device_profile(peer))
        return sim_end(CUDA_ERROR_INVALID_DEVICE);
    *can = are_two(device, peer); /* a device is not its own peer */
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer)
{
    SIM_TRY(sim_begin_device(device, value));
    if (!are_two(device, peer))
        return sim_end(CUDA_ERROR_INVALID_DEVICE);
    switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: *value = 1; break;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: /* every pair of devices has the same rank */
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: *value = 0; break;
    default: return sim_end(CUDA_ERROR_INVALID_VALUE);
    }
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice device)
{
    SIM_TRY(sim_begin_device(device, supported));
    if ((unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *supported = 0; /* a context always has all multiprocessors of its device */
    return sim_end(CUDA_SUCCESS);
}
