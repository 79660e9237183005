/* attributes.c - the attributes of a launch: clusters, cooperative launch, overlap with the previous step, priority,
 * shared memory carve-out. */
#include <inttypes.h>
#include <string.h>

#include "launch_internal.h"
#include "limit_internal.h"
#include "names_internal.h"
#include "plan_internal.h"

#define fail_at(plan, error, status, pos, ...) kiln__plan_fail_at(plan, error, status, pos, __VA_ARGS__)

static kiln_status evaluate(kiln_plan *plan, const kiln__expr *expr, const kiln__scope *scope, const char *what,
                            int64_t low, int64_t high, int *result, kiln_error **error)
{
    int64_t value = 0;
    kiln__diag diag = {.mem = plan->mem};
    kiln__expr_eval_int(expr, scope, what, &value, &diag);
    kiln_status status = kiln__plan_diag(plan, &diag, KILN_ERROR_SPEC, error);
    if (status == KILN_OK && (value < low || value > high))
        status = fail_at(plan, error, KILN_ERROR_LAUNCH, kiln__expr_pos(expr),
                         "%s = %" PRId64 " is outside %" PRId64 " .. %" PRId64, what, value, low, high);
    *result = (int)value;
    return status;
}

/* Checks the cluster of a launch against the grid and the limits of the device. A cluster of more than 8 blocks is not
 * portable. The function must allow it, and the device may have room for fewer blocks. */
static kiln_status check_cluster(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                 const unsigned grid[3], const unsigned cluster[3], kiln_error **error)
{
    enum { PORTABLE = 8, MOST = 16 };
    const kiln__pos pos = kiln__expr_pos(step->as.launch.cluster[0]);
    const kiln_device_info *info = &plan->engine->info;
    const kiln__driver *driver = &plan->engine->driver;
    const uint64_t blocks = (uint64_t)cluster[0] * cluster[1] * cluster[2];
    if (blocks <= 1)
        return KILN_OK;
    if (!(info->features & KILN_FEATURE_CLUSTERS))
        return fail_at(
            plan, error, KILN_ERROR_UNSUPPORTED, pos,
            "a cluster of %" PRIu64
            " blocks: %s, or its driver, has no clusters; with 'needs: device.clusters' kiln leaves the variant out "
            "on such devices",
            blocks, info->name);
    for (int d = 0; d < 3; d++)
        if (grid[d] % cluster[d])
            return fail_at(plan, error, KILN_ERROR_LAUNCH, pos, "grid %c = %u is not a multiple of the cluster's %u",
                           "xyz"[d], grid[d], cluster[d]);
    if (blocks > MOST)
        return fail_at(plan, error, KILN_ERROR_LAUNCH, pos,
                       "a cluster of %" PRIu64 " blocks is too large; %d is the "
                       "limit",
                       blocks, MOST);
    if (blocks <= PORTABLE)
        return KILN_OK;
    CUresult result = driver->cuFuncSetAttribute_(kernel->function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                                  1);
    if (result == CUDA_SUCCESS)
        return KILN_OK;
    return kiln__limit_fail(plan, result, error,
                            "allowing %s clusters of %" PRIu64
                            " blocks, more than the %d that every device with clusters supports",
                            kernel->name, blocks, PORTABLE);
}

/* Evaluates each attribute of a launch, checks its range, and checks that the device supports it. */
kiln_status kiln__attributes_set(kiln_plan *plan, const kiln__step *step, const kiln__plan_kernel *kernel,
                                 const kiln__scope *scope, const unsigned grid[3], kiln__launch_attributes *made,
                                 kiln_error **error)
{
    static const int schedulings[] = {[KILN__SCHEDULING_DEFAULT] = CU_CLUSTER_SCHEDULING_POLICY_DEFAULT,
                                      [KILN__SCHEDULING_SPREAD] = CU_CLUSTER_SCHEDULING_POLICY_SPREAD,
                                      [KILN__SCHEDULING_BALANCE] = CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING};
    kiln_status status = KILN_OK;
    made->cooperative = step->as.launch.cooperative;
    made->overlap = step->as.launch.overlap;
    made->scheduling = step->as.launch.scheduling;
    made->policy = schedulings[made->scheduling];
    made->carveout = -1;
    if (made->clustered)
        status = check_cluster(plan, step, kernel, grid, made->cluster, error);
    if (status == KILN_OK && made->overlap && plan->engine->info.cc_major < 9)
        status = fail_at(plan, error, KILN_ERROR_UNSUPPORTED, step->pos,
                         "a launch with 'overlap' needs compute capability 9.0, and %s has %d.%d",
                         plan->engine->info.name, plan->engine->info.cc_major, plan->engine->info.cc_minor);
    if (status == KILN_OK && step->as.launch.priority) {
        made->prioritised = true;
        status = evaluate(plan, step->as.launch.priority, scope, "priority", INT32_MIN, INT32_MAX, &made->priority,
                          error);
    }
    if (status == KILN_OK && step->as.launch.carveout)
        status = evaluate(plan, step->as.launch.carveout, scope, "carveout", 0, 100, &made->carveout, error);
    made->any = made->clustered || made->scheduling || made->overlap || made->prioritised || made->carveout >= 0;
    return status;
}

/* Launches the kernel with cuLaunchKernelEx(), which takes a list of attributes. */
CUresult kiln__attributes_launch(const kiln__driver *driver, const kiln__plan_op *op, CUstream stream, void **args)
{
    enum { MOST = 6 };
    const kiln__launch_attributes *has = &op->as.launch.attributes;
    CUlaunchAttribute attributes[MOST];
    unsigned count = 0;
    memset(attributes, 0, sizeof attributes);
    if (has->clustered) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim.x = has->cluster[0];
        attributes[count].value.clusterDim.y = has->cluster[1];
        attributes[count++].value.clusterDim.z = has->cluster[2];
    }
    if (has->cooperative) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[count++].value.cooperative = 1;
    }
    if (has->scheduling) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
        attributes[count++].value.clusterSchedulingPolicyPreference = (CUclusterSchedulingPolicy)has->policy;
    }
    if (has->overlap) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[count++].value.programmaticStreamSerializationAllowed = 1;
    }
    if (has->prioritised) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        attributes[count++].value.priority = has->priority;
    }
    if (has->carveout >= 0) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        attributes[count++].value.sharedMemCarveout = (unsigned)has->carveout;
    }
    CUlaunchConfig config = {
        .gridDimX = op->as.launch.grid[0],
        .gridDimY = op->as.launch.grid[1],
        .gridDimZ = op->as.launch.grid[2],
        .blockDimX = op->as.launch.block[0],
        .blockDimY = op->as.launch.block[1],
        .blockDimZ = op->as.launch.block[2],
        .sharedMemBytes = op->as.launch.shared,
        .hStream = stream,
        .attrs = attributes,
        .numAttrs = count,
    };
    if (!driver->cuLaunchKernelEx_)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver->cuLaunchKernelEx_(&config, op->as.launch.function, args, NULL);
}
