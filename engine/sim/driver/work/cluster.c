/* cluster.c - the clusters of a launch. This file checks the size of clusters, and computes how many clusters fit on
 * the device. */
#include <string.h>

#include "cu_work.h"

/* PORTABLE is the largest size of a cluster that every device can run (CUDA C++ Programming Guide, Thread Block
 * Clusters). LARGEST is the largest size with CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED. GPCS is the number
 * of GPCs that a device is assumed to have, and GPC_SMS is the assumed number of SMs of a GPC. */
enum { PORTABLE = 8, LARGEST = 16, GPCS = 8, GPC_SMS = 16 };

static const ptx_function *get_source(const sim_function *function)
{
    return &vm_module_ptx(function->module->vm)->functions[function->kernel];
}

static uint64_t get_most_blocks(const sim_function *function)
{
    const uint32_t own = get_source(function)->max_cluster, most = function->wide_cluster ? LARGEST : PORTABLE;
    return own && own < most ? own : most;
}

/* cuda.h calls CUDA_ERROR_INVALID_CLUSTER_SIZE "a kernel launch error due to cluster misconfiguration". NVIDIA's
 * documentation does not say for which misconfigurations the driver returns another error. So this function returns
 * CUDA_ERROR_INVALID_CLUSTER_SIZE for every misconfiguration. */
CUresult sim_cluster_of(const sim_function *function, const unsigned grid[3], unsigned cluster[3])
{
    const ptx_function *source = get_source(function);
    const uint32_t *fixed = source->req_cluster[0] ? source->req_cluster : function->cluster;
    uint64_t blocks = 1;
    if (source->blocks_are_clusters)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (fixed[0] && cluster[0] && memcmp(fixed, cluster, 3 * sizeof *cluster) != 0)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (fixed[0])
        memcpy(cluster, fixed, 3 * sizeof *cluster);
    if (!cluster[0])
        return source->explicit_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
    for (int axis = 0; axis < 3; axis++) {
        if (cluster[axis] == 0 || cluster[axis] > LARGEST || grid[axis] % cluster[axis])
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        blocks *= cluster[axis];
    }
    if (blocks > 1 && !sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH))
        return CUDA_ERROR_NOT_SUPPORTED;
    return blocks <= get_most_blocks(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

/* ---- occupancy ---- */

/* All blocks of a cluster run on one GPC. If the profile does not state how many SMs each GPC has, the function assumes
 * that pairs of SMs are spread evenly over the GPCs. */
uint64_t sim_resident_clusters(uint64_t per_sm, uint64_t size)
{
    const sim_model *model = sim_current_profile()->model;
    uint64_t found = 0;
    if (model && model->gpc_count) {
        for (unsigned gpc = 0; gpc < model->gpc_count; gpc++)
            found += (uint64_t)model->gpcs[gpc] * per_sm / size;
        return found;
    }
    const uint64_t sms = (uint64_t)sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    const uint64_t gpcs = sms < GPC_SMS ? 1 : sms / GPC_SMS > GPCS ? GPCS : sms / GPC_SMS;
    const uint64_t pairs = sms / 2, more = pairs % gpcs, odd = sms % 2;
    for (uint64_t gpc = 0; gpc < gpcs; gpc++) {
        const uint64_t here = 2 * (pairs / gpcs + (gpc < more)) + (gpc == 0 ? odd : 0);
        found += here * per_sm / size;
    }
    return found;
}

/* Begins a query about the clusters that a launch would have. Sets `per_sm` to the number of blocks of the kernel that
 * fit on an SM. Sets `cluster` to the requested size of a cluster, which is 0 if the launch requests no clusters. On
 * success returns CUDA_SUCCESS and holds the state lock. Otherwise returns an error and holds no lock. */
static CUresult begin_clusters(CUfunction handle, const CUlaunchConfig *config, const sim_function **function,
                               uint64_t *per_sm, unsigned cluster[3])
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    *function = sim_object_find(context, handle, SIM_FUNCTION);
    if (!*function)
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    if (!config || (config->numAttrs > 0 && !config->attrs))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const unsigned block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
    uint64_t threads = 1;
    /* a block extent above max_threads makes the product 0, so that the product cannot overflow */
    for (int axis = 0; axis < 3; axis++)
        threads *= block[axis] <= (*function)->resources.max_threads ? block[axis] : 0;
    if (threads == 0 || threads > (*function)->resources.max_threads ||
        config->sharedMemBytes > (unsigned)(*function)->dynamic_limit)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (!sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH))
        return sim_end(CUDA_ERROR_NOT_SUPPORTED);
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            memcpy(cluster, &config->attrs[i].value.clusterDim, 3 * sizeof *cluster);
    *per_sm = (uint64_t)sim_blocks_per_sm(*function, threads, config->sharedMemBytes);
    return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveClusters(int *clusters, CUfunction handle, const CUlaunchConfig *config)
{
    const sim_function *function;
    uint64_t per_sm = 0;
    unsigned cluster[3] = {0};
    SIM_TRY(begin_clusters(handle, config, &function, &per_sm, cluster));
    if (!clusters)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const unsigned grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
    CUresult result = sim_cluster_of(function, grid, cluster);
    if (result == CUDA_SUCCESS && !cluster[0])
        result = CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (result == CUDA_SUCCESS)
        *clusters = (int)sim_resident_clusters(per_sm, (uint64_t)cluster[0] * cluster[1] * cluster[2]);
    return sim_end(result);
}

CUresult sim_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *config)
{
    const sim_function *function;
    uint64_t per_sm = 0;
    unsigned cluster[3] = {0};
    SIM_TRY(begin_clusters(handle, config, &function, &per_sm, cluster));
    if (!size)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    uint64_t most = get_most_blocks(function);
    while (most && !sim_resident_clusters(per_sm, most))
        most--;
    *size = (int)most;
    return sim_end(CUDA_SUCCESS);
}
