/* launch.c - launches of kernels. When the call that launches a kernel returns, the kernel has already run. If the
 * kernel has a fault, the call returns success, as on a GPU. After the fault every call returns its error, until the
 * context ends. */
#include <stdio.h>
#include <string.h>

#include "cu_work.h"
#include "vm_checks.h"

typedef struct shape {
    unsigned grid[3], block[3];
    unsigned shared;
    bool cooperative;
    /* requested size of a cluster in blocks; 0 if the launch requests none, so that the kernel's directives decide */
    unsigned cluster[3];
    /* size of the preferred cluster, which is checked but has no effect; 0 if the launch has none */
    unsigned preferred[3];
    /* number of a launch attribute that the simulated device does not support; 0 if it supports all attributes */
    unsigned unknown;
    CUaccessPolicyWindow window; /* has no effect; programs can query it from a graph's node */
    bool dependent;              /* the launch may begin before the previous kernel of its stream has ended */
    CUevent marks[SIM_TRIGGERS]; /* the events that mark moments of the launch; NULL if no event marks the moment */
} shape;

/* The shape of the clusters of a launch, and how many blocks and clusters the device holds at once. */
typedef struct residence {
    unsigned cluster[3];
    /* `cluster_size` is the number of blocks of a cluster. `clusters` is the number of clusters that the device holds
     * at once, or 0 if the launch has no clusters of several blocks. */
    uint64_t cluster_size, blocks_per_sm, clusters;
} residence;

static const CUdevice_attribute grid_most[3] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
static const CUdevice_attribute block_most[3] = {
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};

/* ---- checks ---- */

/* Checks the grid, the blocks, the shared memory and the clusters of a launch. Returns an error if one of them exceeds
 * a limit of the device or of the kernel. Fills in `made`. */
static CUresult check_shape(const sim_function *function, const shape *launch, residence *made)
{
    const sim_profile *profile = sim_current_profile();
    uint64_t threads = 1, blocks = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] == 0 || launch->grid[i] > (unsigned)sim_profile_int(profile, grid_most[i]) ||
            launch->block[i] == 0 || launch->block[i] > (unsigned)sim_profile_int(profile, block_most[i]))
            return CUDA_ERROR_INVALID_VALUE;
        threads *= launch->block[i]; /* the product is at most 2^26, so it does not overflow */
        blocks *= launch->grid[i];   /* at most 2^63 */
    }
    if (threads > (unsigned)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
        threads > function->resources.max_threads || launch->shared > (unsigned)function->dynamic_limit)
        return CUDA_ERROR_INVALID_VALUE;
    const ptx_function *source = &vm_module_ptx(function->module->vm)->functions[function->kernel];
    for (int i = 0; i < 3; i++)
        if (source->req_threads[i] != 0 && source->req_threads[i] != launch->block[i])
            return CUDA_ERROR_INVALID_VALUE;
    if (function->resources.static_shared + launch->shared >
        (uint64_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    memcpy(made->cluster, launch->cluster, sizeof made->cluster);
    SIM_TRY(sim_cluster_of(function, launch->grid, made->cluster));
    const uint64_t size = (uint64_t)made->cluster[0] * made->cluster[1] * made->cluster[2];
    const uint64_t per_sm = (uint64_t)sim_blocks_per_sm(function, threads, launch->shared);
    const uint64_t sms = (uint64_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    made->cluster_size = size;
    made->blocks_per_sm = per_sm;
    made->clusters = size > 1 ? sim_resident_clusters(per_sm, size) : 0;
    /* number of blocks that the device holds at once */
    const uint64_t held = size > 1 ? size * made->clusters : sms * per_sm;
    if (size > 1 && !held)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (launch->cooperative && blocks > held)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return CUDA_SUCCESS;
}

/* Copies the arguments of a launch into `block`, the kernel's parameter memory. A program passes either a pointer for
 * each parameter in `arguments`, or a copy of the whole parameter memory in `extra`. */
static CUresult gather_arguments(const sim_function *function, void **arguments, void **extra, unsigned char *block)
{
    const ptx_module *ptx = vm_module_ptx(function->module->vm);
    const ptx_function *source = &ptx->functions[function->kernel];
    if (arguments && extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (arguments) {
        for (uint32_t i = 0; i < source->param_count; i++) {
            const ptx_symbol *param = &ptx->symbols[source->params[i]];
            if (!arguments[i])
                return CUDA_ERROR_INVALID_VALUE;
            memcpy(block + param->offset, arguments[i], (size_t)param->bytes);
        }
        return CUDA_SUCCESS;
    }
    if (!extra)
        return source->param_count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    const void *buffer = NULL;
    size_t size = 0;
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
            size = *(const size_t *)extra[i + 1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (size != source->param_bytes || (size > 0 && !buffer))
        return CUDA_ERROR_INVALID_VALUE;
    if (size > 0)
        memcpy(block, buffer, size);
    return CUDA_SUCCESS;
}

/* ---- running ---- */

/* Returns the driver API's error code for a fault of a kernel. */
static CUresult get_result(vm_fault_kind kind)
{
    switch (kind) {
    case VM_OK: return CUDA_SUCCESS;
    case VM_FAULT_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case VM_FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case VM_FAULT_INSTRUCTION: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case VM_FAULT_ASSERT: return CUDA_ERROR_ASSERT;
    case VM_FAULT_STEPS: /* in these three cases the watchdog of a GPU would end the kernel */
    case VM_FAULT_DEADLOCK:
    case VM_FAULT_TIME: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case VM_FAULT_STACK: return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case VM_FAULT_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case VM_FAULT_TRAP:
    case VM_FAULT_STOPPED: break;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

/* Settings of the four functions below. They hold for launches of the thread that calls these functions, not for the
 * device. */
static _Thread_local struct {
    uint64_t deadline, *steps;
    const volatile int *stop;
    uint64_t order;
    bool keep;
} limited;

void kiln__sim_limit(uint64_t deadline, const volatile int *stop)
{
    limited.deadline = deadline;
    limited.stop = stop;
}

void kiln__sim_steps(uint64_t *left) { limited.steps = left; }

void kiln__sim_keep(bool keep) { limited.keep = keep; }

void kiln__sim_order(uint64_t order) { limited.order = order; }

/* Prints why a kernel has failed, for a program that runs on the simulated libcuda. In libkiln this function does
 * nothing, because libkiln returns the reason to its caller. */
static void tell_reason(const char *reason)
{
#ifdef SIM_TELL
    SIM_TELL(reason);
#else
    (void)reason;
#endif
}

/* Runs a kernel with the limits of the context (CU_LIMIT_*), the observers of the context, and the settings of the
 * thread. If the kernel has a fault, stores the message of the fault in the context. Such a fault makes the context
 * unusable (`sticky`), and the function returns CUDA_SUCCESS. If memory runs out, or if the caller has stopped the
 * kernel, the function returns an error. */
static CUresult run_launch(sim_context *context, const sim_function *function, const shape *launch,
                           const residence *made, const void *params)
{
    size_t limits[VM_LIMITS]; /* a copy of the limits, because another thread may set limits while the kernel runs */
    vm_launch what = {.module = function->module->vm,
                      .kernel = function->kernel,
                      .dynamic_shared = launch->shared,
                      .params = params,
                      .cooperative = launch->cooperative,
                      .limits = limits,
                      .order = limited.order,
                      .deadline = limited.deadline,
                      .steps_left = limited.steps,
                      .stop = limited.stop ? limited.stop : sim_ending()};
    _Static_assert(KILN__SIM_LATE == VM_LATE, "the order has the same bits");
    _Static_assert(CU_LIMIT_MAX >= VM_LIMITS && CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT == VM_LIMITS - 1,
                   "the driver's numbers are the runtime's");
    memcpy(limits, context->limits, sizeof limits);
    memcpy(what.grid, launch->grid, sizeof what.grid);
    memcpy(what.block, launch->block, sizeof what.block);
    memcpy(what.cluster, made->cluster, sizeof what.cluster);
    struct vm_watch watch = {0};
    if (!sim_count_launch(context, function, &what, &watch))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (context->check)
        sim_order_time();
    /* must be set before sim_estimate_launch(), which tests whether the trace is the only observer of the launch */
    watch.checks = context->check ? &check_hooks : NULL;
    sim_estimate estimate;
    const uint64_t resident = sim_limit_by_columns(function, made->blocks_per_sm),
                   clusters = made->clusters ? sim_resident_clusters(resident, made->cluster_size) : 0;
    sim_noted noted;
    sim_timed timed;
    sim_programs()->program_launch(function, (uint32_t)resident, &what, &watch, &noted);
    sim_estimate_launch(function, (uint32_t)resident, made->cluster_size * clusters, &what, noted.estimated, &watch,
                        &estimate);
    what.watch = watch.profile || watch.trace || watch.checks ? &watch : NULL;
    what.hooks = what.watch ? &count_watch_hooks : NULL;
    vm_counters counters = {0};
    vm_fault fault = {.kind = VM_OK};
    uint64_t start = kiln__now_ns();
    /* this thread still holds the work lock, so no other thread can free memory or objects that the kernel uses */
    sim_pause();
    vm_fault_kind kind = vm_run(context->device, &what, &counters, &fault);
    sim_resume();
    sim_estimate_ran(context, &estimate, kind == VM_OK, &timed);
    sim_programs()->program_ran(context, &noted, kind == VM_OK, &timed);
    sim_count_ran(context, function, &counters);
    sim_count_work(kiln__now_ns() - start, counters.warp_instructions);
    if (kind == VM_OK)
        return CUDA_SUCCESS;
    snprintf(context->fault, sizeof context->fault, "%s", fault.message);
    /* if the context is checked, a finding of the checks reports the fault */
    if (kind != VM_FAULT_STOPPED && !context->check)
        tell_reason(fault.message);
    if (kind == VM_FAULT_MEMORY) /* the host is out of memory; the context stays usable */
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (kind == VM_FAULT_STOPPED || (limited.keep && (kind == VM_FAULT_STEPS || kind == VM_FAULT_TIME)))
        /* the caller's stop flag or limit has ended the kernel; the context stays usable */
        return CUDA_ERROR_TIMEOUT;
    context->sticky = get_result(kind);
    return CUDA_SUCCESS;
}

/* ---- kernels as ops ---- */

static const sim_function *find_kernel(const sim_context *context, const CUDA_KERNEL_NODE_PARAMS *what)
{
    return sim_object_find(context, what->func ? (const void *)what->func : (const void *)what->kern, SIM_FUNCTION);
}

static shape get_shape(const sim_op *op)
{
    const CUDA_KERNEL_NODE_PARAMS_v3 *what = &op->what.kernel;
    return (shape){.grid = {what->gridDimX, what->gridDimY, what->gridDimZ},
                   .block = {what->blockDimX, what->blockDimY, what->blockDimZ},
                   .shared = what->sharedMemBytes,
                   .cooperative = op->cooperative,
                   .cluster = {op->cluster[0], op->cluster[1], op->cluster[2]},
                   .window = op->window};
}

/* Returns the offset of the kernel's parameter memory in `owned` of its operation. `owned` begins with an array of
 * pointers to the parameters. */
static size_t get_block_start(const ptx_function *source)
{
    enum { ALIGN = 16 };
    return ((size_t)source->param_count * sizeof(void *) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Makes the operation of a kernel launch. Checks the launch, and copies its arguments into memory that the operation
 * owns. */
CUresult sim_kernel_make(sim_context *context, const CUDA_KERNEL_NODE_PARAMS *what, sim_op *op)
{
    const sim_function *function = find_kernel(context, what);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    op->what = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&op->what.kernel, what, sizeof *what);
    op->what.kernel.kernelParams = op->what.kernel.extra = NULL;
    op->what.kernel.func = SIM_HANDLE(CUfunction, function);
    op->what.kernel.kern = NULL;
    op->what.kernel.ctx = SIM_HANDLE(CUcontext, context);
    shape launch = get_shape(op);
    residence made;
    SIM_TRY(check_shape(function, &launch, &made));
    const ptx_module *ptx = vm_module_ptx(function->module->vm);
    const ptx_function *source = &ptx->functions[function->kernel];
    size_t start = get_block_start(source);
    op->owned_bytes = start + (size_t)source->param_bytes + 1;
    op->pointers = source->param_count;
    op->owned = kiln__calloc(sim_memory(), 1, op->owned_bytes);
    if (!op->owned)
        return CUDA_ERROR_OUT_OF_MEMORY;
    void **pointers = op->owned;
    unsigned char *block = (unsigned char *)op->owned + start;
    CUresult result = gather_arguments(function, what->kernelParams, what->extra, block);
    if (result != CUDA_SUCCESS) {
        kiln__free(sim_memory(), op->owned);
        op->owned = NULL;
        return result;
    }
    for (uint32_t i = 0; i < source->param_count; i++)
        pointers[i] = block + ptx->symbols[source->params[i]].offset;
    op->what.kernel.kernelParams = pointers;
    return CUDA_SUCCESS;
}

/* Checks the launch again before it runs. A node of a graph may run long after sim_kernel_make(). By then the module
 * may have been unloaded, and the limits of the function may have changed. */
CUresult sim_kernel_run(sim_context *context, const sim_op *op)
{
    const sim_function *function = sim_object_find(context, op->what.kernel.func, SIM_FUNCTION);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    shape launch = get_shape(op);
    residence made;
    CUresult result = check_shape(function, &launch, &made);
    const ptx_function *source = &vm_module_ptx(function->module->vm)->functions[function->kernel];
    return result == CUDA_SUCCESS ? run_launch(context, function, &launch, &made,
                                               (const unsigned char *)op->owned + get_block_start(source))
                                  : result;
}

/* Reports to the checks why the driver has refused a launch. A program that launches with <<<>>> may never query the
 * error of the launch. If the launch has an attribute that the simulated device does not support, the function prints
 * the reason even without checks. */
static void report_refused(sim_context *context, CUfunction handle, const shape *launch, CUresult why)
{
    const sim_function *function = context->check || launch->unknown ? sim_object_find(context, handle, SIM_FUNCTION)
                                                                     : NULL;
    if (!function)
        return;
    char text[512];
    const char *name = NULL, *kernel = vm_module_ptx(function->module->vm)->functions[function->kernel].name;
    if (launch->unknown) {
        snprintf(text, sizeof text,
                 "the simulated device does not support launch attribute %u of cuda.h: kernel '%.200s'",
                 launch->unknown, kernel);
        check_host_launch(context->device, kernel, text);
        if (!context->check)
            tell_reason(text);
        return;
    }
    sim_cuGetErrorName(why, &name);
    snprintf(
        text, sizeof text,
        "%s, grid (%u,%u,%u), block (%u,%u,%u), %u bytes of dynamic shared memory; the kernel may have up to %u threads "
        "in a block and %d bytes",
        name ? name : "an error", launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
        launch->block[2], launch->shared, (unsigned)function->resources.max_threads, function->dynamic_limit);
    check_host_launch(context->device, kernel, text);
}

/* Checks the events that mark moments of the launch. Such an event must record no times, and processes must not share
 * it. */
static CUresult check_marks(const sim_context *context, const shape *launch)
{
    for (unsigned k = 0; k < SIM_TRIGGERS; k++) {
        const sim_event *event = launch->marks[k] ? sim_object_find(context, launch->marks[k], SIM_EVENT) : NULL;
        if (launch->marks[k] && !event)
            return CUDA_ERROR_INVALID_HANDLE;
        if (event && (!(event->flags & CU_EVENT_DISABLE_TIMING) || event->flags & CU_EVENT_INTERPROCESS))
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

/* Checks the preferred cluster of a launch. In x and y the size of the preferred cluster must be a multiple of the size
 * of the regular cluster. In z the two must be equal. The preferred cluster must divide the grid. The size of the
 * regular cluster comes from the launch attribute. If only the kernel's directives give a size, it counts as 1 here. A
 * device may always launch regular clusters instead of preferred ones, and the simulated device does so. */
static CUresult check_preferred(const shape *launch)
{
    for (int i = 0; launch->preferred[0] && i < 3; i++) {
        const unsigned regular = launch->cluster[0] ? launch->cluster[i] : 1, preferred = launch->preferred[i];
        if (!regular || !preferred || preferred % regular || launch->grid[i] % preferred ||
            (i == 2 && preferred != regular))
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    return CUDA_SUCCESS;
}

/* Makes the operation of a launch and submits it to the stream. */
static CUresult launch_kernel(CUfunction handle, const shape *launch, CUstream stream, void **arguments, void **extra)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    if (!sim_stream_known(context, stream)) {
        report_refused(context, handle, launch, CUDA_ERROR_INVALID_HANDLE);
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    }
    CUDA_KERNEL_NODE_PARAMS what = {.func = handle,
                                    .gridDimX = launch->grid[0],
                                    .gridDimY = launch->grid[1],
                                    .gridDimZ = launch->grid[2],
                                    .blockDimX = launch->block[0],
                                    .blockDimY = launch->block[1],
                                    .blockDimZ = launch->block[2],
                                    .sharedMemBytes = launch->shared,
                                    .kernelParams = arguments,
                                    .extra = extra};
    sim_op op = {.cooperative = launch->cooperative, .dependent = launch->dependent, .window = launch->window};
    memcpy(op.marks, launch->marks, sizeof op.marks);
    memcpy(op.cluster, launch->cluster, sizeof op.cluster);
    CUresult result = launch->unknown ? CUDA_ERROR_NOT_SUPPORTED : check_marks(context, launch);
    if (result == CUDA_SUCCESS)
        result = check_preferred(launch);
    if (result == CUDA_SUCCESS)
        result = sim_right_window(&launch->window) ? sim_kernel_make(context, &what, &op) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sim_submit(&context, stream, &op);
    else if (result != CUDA_ERROR_OUT_OF_MEMORY)
        report_refused(context, handle, launch, result);
    kiln__free(sim_memory(), op.owned);
    return sim_end_work(context, result);
}

CUresult sim_cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **arguments,
                            void **extra)
{
    shape launch = {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .shared = shared};
    return launch_kernel(function, &launch, stream, arguments, extra);
}

CUresult sim_cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                       CUstream stream, void **arguments)
{
    shape launch = {
        .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .shared = shared, .cooperative = true};
    return launch_kernel(function, &launch, stream, arguments, NULL);
}

static CUresult add_mark(shape *launch, sim_trigger trigger, CUevent event, int flags)
{
    launch->marks[trigger] = event;
    return !event ? CUDA_ERROR_INVALID_HANDLE : flags != 0 ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

/* Reads one attribute of a launch. A hint, such as a priority, has no effect. The function stores the number of an
 * unsupported attribute in `unknown`, and launch_kernel() then refuses the launch. */
static CUresult read_attribute(const CUlaunchAttribute *attribute, shape *launch)
{
    switch (attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: launch->cooperative = attribute->value.cooperative != 0; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        launch->cluster[0] = attribute->value.clusterDim.x;
        launch->cluster[1] = attribute->value.clusterDim.y;
        launch->cluster[2] = attribute->value.clusterDim.z;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        launch->preferred[0] = attribute->value.preferredClusterDim.x;
        launch->preferred[1] = attribute->value.preferredClusterDim.y;
        launch->preferred[2] = attribute->value.preferredClusterDim.z;
        return launch->preferred[0] ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        launch->window = attribute->value.accessPolicyWindow;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        launch->dependent = attribute->value.programmaticStreamSerializationAllowed != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        return add_mark(launch,
                        attribute->value.programmaticEvent.triggerAtBlockStart ? SIM_TRIGGER_START : SIM_TRIGGER_BLOCKS,
                        attribute->value.programmaticEvent.event, attribute->value.programmaticEvent.flags);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        return add_mark(launch, SIM_TRIGGER_BEGUN, attribute->value.launchCompletionEvent.event,
                        attribute->value.launchCompletionEvent.flags);
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return CUDA_SUCCESS;
    default: launch->unknown = (unsigned)attribute->id; return CUDA_SUCCESS; /* launch_kernel() refuses the launch */
    }
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra)
{
    if (!config || (config->numAttrs > 0 && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    shape launch = {.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                    .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                    .shared = config->sharedMemBytes};
    for (unsigned i = 0; i < config->numAttrs; i++) {
        SIM_TRY(read_attribute(&config->attrs[i], &launch));
    }
    return launch_kernel(function, &launch, config->hStream, arguments, extra);
}
