/* module.c - modules and kernels. */
#include <stdlib.h>
#include <string.h>

#include "cu_objects.h"
#include "vm_checks.h"

/* ---- options of cuModuleLoadDataEx ---- */

static void put_number(void **value, size_t number)
{
    if (value)
        *value = (void *)(uintptr_t)number;
}

/* Reads JIT options. In the option array each value is a pointer. If a value is a number, the pointer itself has this
 * number. If a value is a buffer, the pointer is its address. Options other than the logs and the time are accepted if
 * they are known, but they have no effect, because the simulator has no optimising compiler. An unknown option is an
 * error. */
CUresult sim_jit_read(unsigned count, const CUjit_option *options, void **values, sim_jit *jit)
{
    memset(jit, 0, sizeof *jit);
    if (count > 0 && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        switch (options[i]) {
        case CU_JIT_INFO_LOG_BUFFER: jit->info.buffer = values[i]; break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            jit->info.size = (size_t)(uintptr_t)values[i];
            jit->info.written = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER: jit->error.buffer = values[i]; break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            jit->error.size = (size_t)(uintptr_t)values[i];
            jit->error.written = &values[i];
            break;
        case CU_JIT_WALL_TIME: jit->wall_time = &values[i]; break;
        default:
            if ((int)options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS)
                return CUDA_ERROR_INVALID_VALUE;
            break;
        }
    }
    return CUDA_SUCCESS;
}

void sim_jit_log_put(const sim_jit_log *log, const char *text)
{
    size_t used = 0;
    if (log->buffer && log->size > 0) {
        used = strlen(text);
        if (used > log->size - 1)
            used = log->size - 1;
        memcpy(log->buffer, text, used);
        log->buffer[used] = '\0';
    }
    put_number(log->written, used);
}

/* ---- loading ---- */

/* The major version of the PTX ISA in the CUDA 13 toolkits. The driver does not check minor versions, because the
 * parser checks each instruction. */
enum { PTX_MAJOR = 9 };

CUresult sim_ptx_result(ptx_result result)
{
    switch (result) {
    case PTX_OK: return CUDA_SUCCESS;
    case PTX_INVALID: return CUDA_ERROR_INVALID_PTX;
    /* the simulator lacks an instruction, and the log names it */
    case PTX_UNSUPPORTED: return CUDA_ERROR_NOT_SUPPORTED;
    case PTX_MEMORY: break;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_image_error(sim_image_result result)
{
    switch (result) {
    case SIM_IMAGE_OK: return CUDA_SUCCESS;
    case SIM_IMAGE_INVALID: return CUDA_ERROR_INVALID_IMAGE;
    case SIM_IMAGE_NO_BINARY: return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case SIM_IMAGE_MEMORY: break;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

int sim_device_cc(void)
{
    return sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
           sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

CUresult sim_ptx_parse(const char *text, size_t length, ptx_module **ptx, kiln__text *log)
{
    *ptx = NULL;
    const char *version = strstr(text, ".version");
    if (!version) {
        kiln__text_puts(log, "the image is not PTX: it has no .version directive\n");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    long major = strtol(version + strlen(".version"), NULL, 10);
    if (major > PTX_MAJOR) {
        kiln__text_printf(log,
                          "ptxas application ptx input; fatal   : Unsupported .version %ld; the simulated device "
                          "reads PTX up to %d\n",
                          major, PTX_MAJOR);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    int cc = sim_device_cc();
    CUresult result = sim_ptx_result(ptx_parse_for(cc, sim_memory(), text, length, ptx, log));
    if (result != CUDA_SUCCESS)
        return result;
    bool other = (*ptx)->target_kind == 'a' ? (*ptx)->target != cc
                                            : (*ptx)->target_kind == 'f' && (*ptx)->target / 10 != cc / 10;
    if (other && (*ptx)->target <= cc) {
        kiln__text_printf(log,
                          "ptxas application ptx input; fatal   : the .target sm_%d%c runs on that architecture "
                          "alone; the device has sm_%d\n",
                          (*ptx)->target, (*ptx)->target_kind, cc);
        result = CUDA_ERROR_INVALID_PTX;
    }
    if ((*ptx)->target > cc && sim_strict_target()) {
        kiln__text_printf(log,
                          "ptxas application ptx input; fatal   : the .target sm_%d is newer than the device's "
                          "sm_%d\n",
                          (*ptx)->target, cc);
        result = CUDA_ERROR_INVALID_PTX;
    }
    /* since this compute capability, a kernel cannot wait for kernels that it has launched */
    enum { NO_WAITING = 90 };
    for (uint32_t f = 0; cc >= NO_WAITING && f < (*ptx)->function_count && result == CUDA_SUCCESS; f++)
        if (!(*ptx)->functions[f].defined && strcmp((*ptx)->functions[f].name, "cudaDeviceSynchronize") == 0) {
            kiln__text_printf(log,
                              "error   : the module calls cudaDeviceSynchronize from device code, which sm_%d "
                              "does not have\n",
                              cc);
            result = CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC;
        }
    if (result != CUDA_SUCCESS) {
        ptx_free(sim_memory(), *ptx);
        *ptx = NULL;
    }
    return result;
}

/* Parses all texts. If there are several, links them into one module. */
static CUresult parse_all(const sim_texts *texts, ptx_module **ptx, kiln__text *log)
{
    if (texts->count == 1 && !texts->linked)
        return sim_ptx_parse(texts->items[0].data, texts->items[0].length, ptx, log);
    if (texts->count == 0) {
        kiln__text_puts(log, "error   : the image is empty\n");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    ptx_input *inputs = kiln__calloc(sim_memory(), texts->count, sizeof *inputs);
    CUresult result = inputs ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t count = 0;
    while (result == CUDA_SUCCESS && count < texts->count) {
        const sim_text *text = &texts->items[count];
        inputs[count].name = text->name;
        inputs[count].lazy = text->lazy;
        result = sim_ptx_parse(text->data, text->length, &inputs[count].module, log);
        count += result == CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS)
        result = sim_ptx_result(ptx_link(sim_memory(), inputs, count, sim_is_builtin, ptx, log));
    else
        for (uint32_t k = 0; k < count; k++)
            ptx_free(sim_memory(), inputs[k].module);
    kiln__free(sim_memory(), inputs);
    return result;
}

/* Makes the checks track the managed variables of the modules of a context. The host must not touch such a variable
 * while a kernel that uses it may run. */
static void track_variables(const sim_context *context)
{
    vm_info info;
    for (uint64_t from = 0; context->check && vm_managed_variable(context->device, from, &info); from = info.base + 1)
        check_track(context->device, info.base);
}

static CUresult load_image(sim_context *context, const void *image, size_t length, const sim_module *twin,
                           sim_module **module, kiln__text *log)
{
    sim_texts texts = {.mem = sim_memory()};
    ptx_module *ptx = NULL;
    int cc = sim_device_cc();
    CUresult result = sim_image_error(length == SIZE_MAX ? sim_image_load(&texts, image, cc, log)
                                                         : sim_image_read(&texts, image, length, "image", cc, log));
    if (result == CUDA_SUCCESS)
        result = parse_all(&texts, &ptx, log);
    sim_texts_free(&texts);
    if (result != CUDA_SUCCESS)
        return result;
    vm_module *vm = NULL;
    result = sim_ptx_result(
        /* this call takes ownership of ptx, even if it fails */
        decode_module_load_beside(context->device, ptx, twin ? twin->vm : NULL, &vm, log));
    if (result != CUDA_SUCCESS)
        return result;
    sim_module *made = sim_object_new(context, SIM_MODULE, sizeof *made);
    if (!made) {
        vm_module_unload(context->device, vm);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->vm = vm;
    track_variables(context);
    *module = made;
    return CUDA_SUCCESS;
}

void sim_jit_time_put(const sim_jit *jit, uint64_t nanoseconds)
{
    float milliseconds = (float)((double)nanoseconds * 1e-6);
    if (jit->wall_time) /* a float whose bytes are stored in the bytes of the pointer */
        memcpy(jit->wall_time, &milliseconds, sizeof milliseconds);
}

CUresult sim_module_load(sim_context *context, const void *image, size_t length, unsigned count,
                         const CUjit_option *options, void **values, const sim_module *twin, sim_module **module)
{
    sim_jit jit;
    SIM_TRY(image ? sim_jit_read(count, options, values, &jit) : CUDA_ERROR_INVALID_VALUE);
    uint64_t start = kiln__now_ns();
    kiln__text log = {.mem = sim_memory()};
    CUresult result = load_image(context, image, length, twin, module, &log);
    sim_jit_log_put(&jit.error, result == CUDA_SUCCESS ? "" : kiln__text_get(&log));
    sim_jit_log_put(&jit.info, result == CUDA_SUCCESS ? kiln__text_get(&log) : "");
    kiln__text_free(&log);
    sim_jit_time_put(&jit, kiln__now_ns() - start);
    return result;
}

CUresult sim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                void **values)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_module *made = NULL;
    CUresult result = module ? sim_module_load(context, image, SIZE_MAX, count, options, values, NULL, &made)
                             : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *module = SIM_HANDLE(CUmodule, made);
    return sim_end_work(context, result);
}

CUresult sim_cuModuleLoadData(CUmodule *module, const void *image)
{
    return sim_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult sim_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return sim_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

const sim_module *sim_module_on(unsigned ordinal, const void *image)
{
    const sim_context *context = sim_context_on(ordinal);
    for (const sim_object *object = context ? context->objects : NULL; object; object = object->next)
        if (object->kind == SIM_MODULE && ((const sim_module *)object)->image == image)
            return (const sim_module *)object;
    return NULL;
}

/* Finds the module of the same image on another device. All devices must share one copy of a managed variable. */
const sim_module *sim_module_twin(const sim_context *context, const void *image)
{
    const sim_module *twin = NULL;
    for (unsigned i = 0; i < sim_device_count() && !twin; i++)
        twin = i != context->ordinal ? sim_module_on(i, image) : NULL;
    return twin;
}

/* Hands the managed variables of a module over to modules in the context `to` that were loaded from the same image and
 * also use these variables. Such a module may lack a variable, because a program may change the image before it loads
 * the image on the next device. */
static void give_variables(const sim_module *module, sim_context *to)
{
    bool any = false;
    for (const sim_object *object = to->objects; module->image && object; object = object->next) {
        const sim_module *heir = (const sim_module *)object;
        if (object->kind != SIM_MODULE || heir == module || heir->image != module->image)
            continue;
        vm_module_give(module->vm, heir->vm);
        any = true;
    }
    if (any)
        track_variables(to);
}

/* Frees a module. If other modules use the managed variables of this module, they become the owners of the
 * variables. */
void sim_module_close(sim_context *context, sim_module *module)
{
    sim_count_forget(context, module);
    while (module->functions) {
        sim_function *function = module->functions;
        module->functions = function->sibling;
        kiln__free(sim_memory(), function->old_params);
        sim_object_free(context, function);
    }
    if (context->order) /* the managed variables of the module may be guarded */
        context->order_let(context);
    give_variables(module, context); /* the loop also visits a context that is being closed */
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any != context)
            give_variables(module, any);
    vm_module_unload(context->device, module->vm);
    sim_object_free(context, module);
}

CUresult sim_cuModuleUnload(CUmodule handle)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    sim_module *module = sim_object_find(context, handle, SIM_MODULE);
    if (!module)
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    if (module->library) /* if the module belongs to a library, cuLibraryUnload frees it */
        return sim_end_work(context, CUDA_ERROR_NOT_PERMITTED);
    sim_module_close(context, module);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuModuleGetGlobal(CUdeviceptr *pointer, size_t *bytes, CUmodule handle, const char *name)
{
    sim_context *context;
    CUresult result;
    const sim_module *module = sim_begin_object(&context, handle, SIM_MODULE, &result);
    if (!module)
        return result;
    if (!name || !*name)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    uint64_t address = 0, size = 0;
    if (!vm_module_global(module->vm, name, &address, &size))
        return sim_end(CUDA_ERROR_NOT_FOUND);
    if (pointer)
        *pointer = address;
    if (bytes)
        *bytes = (size_t)size;
    return sim_end(CUDA_SUCCESS);
}

/* ---- kernels ---- */

/* Returns the object of a kernel. The first call for a kernel creates the object. Later calls return the same object,
 * so attributes that a program has set stay set. Returns NULL if memory runs out. */
sim_function *sim_function_of(sim_context *context, sim_module *module, int kernel)
{
    for (sim_function *function = module->functions; function; function = function->sibling)
        if (function->kernel == kernel)
            return function;
    sim_function *made = sim_object_new(context, SIM_FUNCTION, sizeof *made);
    if (!made)
        return NULL;
    made->module = module;
    made->kernel = kernel;
    made->carveout = -1;
    vm_kernel_resources(module->vm, kernel, &made->resources);
    int most = sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    made->dynamic_limit = made->resources.static_shared < (uint64_t)most ? most - (int)made->resources.static_shared
                                                                         : 0;
    made->sibling = module->functions;
    module->functions = made;
    return made;
}

CUresult sim_cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name)
{
    sim_context *context;
    CUresult result;
    sim_module *module = sim_begin_object(&context, handle, SIM_MODULE, &result);
    if (!module)
        return result;
    if (!function || !name || !*name)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    int kernel = vm_module_kernel(module->vm, name);
    if (kernel < 0)
        return sim_end(CUDA_ERROR_NOT_FOUND);
    sim_function *found = sim_function_of(context, module, kernel);
    if (!found)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    *function = SIM_HANDLE(CUfunction, found);
    return sim_end(CUDA_SUCCESS);
}

static int clamp_int(uint64_t value) { return value > INT32_MAX ? INT32_MAX : (int)value; }

static bool function_attribute(const sim_function *function, CUfunction_attribute attribute, int *value)
{
    const ptx_module *ptx = vm_module_ptx(function->module->vm);
    const ptx_function *source = &ptx->functions[function->kernel];
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = clamp_int(function->resources.max_threads); return true;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = clamp_int(function->resources.static_shared); return true;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = clamp_int(function->resources.const_bytes); return true;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = clamp_int(function->resources.local_bytes); return true;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = clamp_int(function->resources.register_estimate); return true;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: /* the version of the virtual architecture, and not of the PTX language */
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = ptx->target; return true;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; return true;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->dynamic_limit; return true;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function->carveout; return true;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
        const uint32_t *cluster = source->req_cluster[0] ? source->req_cluster : function->cluster;
        *value = clamp_int(cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH]);
        return true;
    }
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = source->explicit_cluster; return true;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = function->wide_cluster; return true;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = 0; return true;
    default: return false;
    }
}

CUresult sim_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    sim_context *context;
    CUresult result;
    const sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    bool known = value && function_attribute(function, attribute, value);
    return sim_end(known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static CUresult set_attribute(sim_function *function, CUfunction_attribute attribute, int value)
{
    int most = sim_profile_int(sim_current_profile(), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || (uint64_t)value + function->resources.static_shared > (uint64_t)most)
            return CUDA_ERROR_INVALID_VALUE;
        function->dynamic_limit = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: /* a hint in per cent; -1 means no hint */
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        if (value != 0 && value != 1)
            return CUDA_ERROR_INVALID_VALUE;
        function->wide_cluster = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (vm_module_ptx(function->module->vm)->functions[function->kernel].req_cluster[0])
            return CUDA_ERROR_NOT_PERMITTED;
        if (value < 0)
            return CUDA_ERROR_INVALID_VALUE;
        function->cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (uint32_t)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: /* a hint */
        return value >= CU_CLUSTER_SCHEDULING_POLICY_DEFAULT && value <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult sim_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    sim_function *function = sim_object_find(context, handle, SIM_FUNCTION);
    return sim_end(function ? set_attribute(function, attribute, value) : CUDA_ERROR_INVALID_HANDLE);
}

CUresult sim_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
    sim_context *context;
    CUresult result;
    const sim_function *function = sim_begin_object(&context, handle, SIM_FUNCTION, &result);
    if (!function)
        return result;
    const ptx_module *ptx = vm_module_ptx(function->module->vm);
    const ptx_function *source = &ptx->functions[function->kernel];
    if (!offset || index >= source->param_count)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const ptx_symbol *param = &ptx->symbols[source->params[index]];
    *offset = (size_t)param->offset;
    if (size)
        *size = (size_t)param->bytes;
    return sim_end(CUDA_SUCCESS);
}
