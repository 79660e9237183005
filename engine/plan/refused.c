/* refused.c - explains why the driver refused a launch, because the error code of the driver has no numbers. The
 * functions query the driver only after a refused launch, so that a successful launch has no additional cost. */
#include <inttypes.h>

#include "launch_internal.h"
#include "plan_internal.h"

static bool is_known(CUresult result) { return result == CUDA_SUCCESS; }

/* Returns the number of blocks in a cluster, from the attributes of the launch or from the kernel's compilation. */
static uint64_t cluster_of(const kiln__driver *driver, const kiln__plan_op *op, unsigned cluster[3])
{
    static const CUfunction_attribute compiled[3] = {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                                     CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
                                                     CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH};
    uint64_t blocks = 1;
    for (int d = 0; d < 3; d++) {
        int value = 1;
        if (op->as.launch.attributes.clustered)
            value = (int)op->as.launch.attributes.cluster[d];
        else if (!is_known(driver->cuFuncGetAttribute_(&value, compiled[d], op->as.launch.function)) || value < 1)
            value = 1;
        cluster[d] = (unsigned)value;
        blocks *= cluster[d];
    }
    return blocks;
}

/* Queries the largest size of a cluster, and how many clusters of the size `cluster` the device can run at once. -1
 * means unknown. */
static void count_clusters(const kiln__driver *driver, const kiln__plan_op *op, const unsigned cluster[3], int *most,
                           int *held)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    attribute.value.clusterDim.x = cluster[0];
    attribute.value.clusterDim.y = cluster[1];
    attribute.value.clusterDim.z = cluster[2];
    CUlaunchConfig config = {.gridDimX = op->as.launch.grid[0],
                             .gridDimY = op->as.launch.grid[1],
                             .gridDimZ = op->as.launch.grid[2],
                             .blockDimX = op->as.launch.block[0],
                             .blockDimY = op->as.launch.block[1],
                             .blockDimZ = op->as.launch.block[2],
                             .sharedMemBytes = op->as.launch.shared};
    *most = *held = -1;
    if (!driver->cuOccupancyMaxPotentialClusterSize_ ||
        !is_known(driver->cuOccupancyMaxPotentialClusterSize_(most, op->as.launch.function, &config)))
        *most = -1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (!driver->cuOccupancyMaxActiveClusters_ ||
        !is_known(driver->cuOccupancyMaxActiveClusters_(held, op->as.launch.function, &config)))
        *held = -1;
}

static bool explain_cluster(const kiln_plan *plan, const kiln__plan_op *op, kiln__text *out)
{
    const kiln__driver *driver = &plan->engine->driver;
    unsigned cluster[3];
    int most, held;
    const uint64_t blocks = cluster_of(driver, op, cluster);
    if (blocks <= 1)
        return false;
    count_clusters(driver, op, cluster, &most, &held);
    if (most >= 0 && blocks > (uint64_t)most)
        kiln__text_printf(out, "; %s has clusters of at most %d such block%s, and this one has %" PRIu64,
                          plan->engine->info.name, most, most == 1 ? "" : "s", blocks);
    else if (held == 0)
        kiln__text_printf(out, "; no group of SMs of %s has room for a cluster of %" PRIu64 " such blocks",
                          plan->engine->info.name, blocks);
    else
        return false;
    return true;
}

static bool explain_cooperation(const kiln_plan *plan, const kiln__plan_op *op, kiln__text *out)
{
    const kiln_device_info *info = &plan->engine->info;
    const unsigned *grid = op->as.launch.grid, *block = op->as.launch.block;
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    int held = 0;
    if (!op->as.launch.attributes.cooperative ||
        !is_known(plan->engine->driver.cuOccupancyMaxActiveBlocksPerMultiprocessor_(
            &held, op->as.launch.function, (int)(block[0] * block[1] * block[2]), op->as.launch.shared)) ||
        blocks <= (uint64_t)held * (uint64_t)info->sm_count)
        return false;
    kiln__text_printf(out,
                      "; a cooperative launch needs room for all of its %" PRIu64
                      " blocks at once, and %s has room for "
                      "%" PRIu64 ", %d on each of %d multiprocessors",
                      blocks, info->name, (uint64_t)held * (uint64_t)info->sm_count, held, info->sm_count);
    return true;
}

/* Adds the reason why the clusters of a cooperative launch do not all fit on the device at once. A part of the device
 * may have room for some blocks of a cluster, but not for the whole cluster. */
static bool explain_clusters_at_once(const kiln_plan *plan, const kiln__plan_op *op, kiln__text *out)
{
    const unsigned *grid = op->as.launch.grid;
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    unsigned cluster[3];
    int most, held;
    const uint64_t size = cluster_of(&plan->engine->driver, op, cluster);
    if (!op->as.launch.attributes.cooperative || size <= 1)
        return false;
    count_clusters(&plan->engine->driver, op, cluster, &most, &held);
    if (held < 0 || blocks <= size * (uint64_t)held)
        return false;
    kiln__text_printf(out,
                      "; a cooperative launch needs room for all of its %" PRIu64 " clusters of %" PRIu64
                      " blocks at once, and %s has room for %d",
                      blocks / size, size, plan->engine->info.name, held);
    return true;
}

/* Names the attributes of the launch that an old driver may not support. */
static void explain_attributes(const kiln_plan *plan, const kiln__plan_op *op, kiln__text *out)
{
    const kiln__launch_attributes *has = &op->as.launch.attributes;
    const kiln__driver *driver = &plan->engine->driver;
    const bool lacks = !driver->cuLaunchKernelEx_;
    const struct {
        bool given;
        const char *name;
    } given[] = {{has->clustered, "cluster"},
                 {has->scheduling != KILN__SCHEDULING_DEFAULT, "cluster_scheduling"},
                 {has->overlap, "overlap"},
                 {has->prioritised, "priority"},
                 {has->carveout >= 0, "carveout"}};
    if (!has->any || (!lacks && (driver->simulator || driver->version >= CUDA_VERSION)))
        return;
    kiln__text_printf(out, "; the driver is for CUDA %d.%d and %s", driver->version / 1000, driver->version % 1000 / 10,
                      lacks ? "has no launches with" : "may not know");
    const char *between = " ";
    for (size_t k = 0; k < KILN__COUNT(given); k++)
        if (given[k].given) {
            kiln__text_printf(out, "%s'%s'", between, given[k].name);
            between = ", ";
        }
}

void kiln__launch_explain(const kiln_plan *plan, const kiln__plan_op *op, CUresult result, kiln__text *out)
{
    if (kiln__driver_is_sticky(result) || result == CUDA_ERROR_OUT_OF_MEMORY)
        return;
    if (!explain_cluster(plan, op, out) && !explain_cooperation(plan, op, out) &&
        !explain_clusters_at_once(plan, op, out) &&
        (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED))
        explain_attributes(plan, op, out);
}
