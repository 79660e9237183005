/* library.c - the functions of the library API, module files, and functions that list the contents of modules. A
 * library belongs to the context that is current when it is loaded. A CUkernel and its CUfunction are the same handle,
 * so a program can launch either of the two. */
#include <string.h>

#include "cu_graph.h"

/* ---- files ---- */

CUresult sim_cuModuleLoad(CUmodule *module, const char *path)
{
    sim_context *context = NULL;
    char *image = NULL;
    size_t length = 0;
    SIM_TRY(sim_begin_work(&context));
    sim_module *made = NULL;
    CUresult result = module ? sim_file_read(path, &image, &length) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sim_module_load(context, image, length, 0, NULL, NULL, NULL, &made);
    if (result == CUDA_SUCCESS)
        *module = SIM_HANDLE(CUmodule, made);
    kiln__free(sim_memory(), image);
    return sim_end_work(context, result);
}

/* ---- libraries ---- */

static CUresult load_library(CUlibrary *library, const void *image, size_t length, CUjit_option *options, void **values,
                             unsigned count, CUlibraryOption *library_options, void **library_values,
                             unsigned library_count)
{
    sim_context *context = NULL;
    SIM_TRY(sim_begin_work(&context));
    if (!library || (library_count > 0 && (!library_options || !library_values)))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    bool kept = false;
    for (unsigned i = 0; i < library_count; i++)
        kept |= library_options[i] == CU_LIBRARY_BINARY_IS_PRESERVED && library_values[i];
    const sim_module *twin = kept ? sim_module_twin(context, image) : NULL;
    sim_module *module = NULL;
    CUresult result = sim_module_load(context, image, length, count, options, values, twin, &module);
    if (result != CUDA_SUCCESS)
        return sim_end_work(context, result);
    sim_library *made = sim_object_new(context, SIM_LIBRARY, sizeof *made);
    if (!made) {
        sim_module_close(context, module);
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->module = module;
    module->image = kept ? image : NULL;
    module->library = made;
    *library = SIM_HANDLE(CUlibrary, made);
    return sim_end_work(context, CUDA_SUCCESS);
}

CUresult sim_cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *options, void **values,
                               unsigned count, CUlibraryOption *library_options, void **library_values,
                               unsigned library_count)
{
    return load_library(library, image, SIZE_MAX, options, values, count, library_options, library_values,
                        library_count);
}

CUresult sim_cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *options, void **values,
                                   unsigned count, CUlibraryOption *library_options, void **library_values,
                                   unsigned library_count)
{
    char *image = NULL;
    size_t length = 0;
    CUresult result = sim_file_read(path, &image, &length);
    if (result == CUDA_SUCCESS)
        result = load_library(library, image, length, options, values, count, library_options, library_values,
                              library_count);
    kiln__free(sim_memory(), image);
    return result;
}

CUresult sim_cuLibraryUnload(CUlibrary handle)
{
    sim_context *context = NULL;
    SIM_TRY(sim_begin_work(&context));
    sim_library *library = sim_object_find(context, handle, SIM_LIBRARY);
    if (!library)
        return sim_end_work(context, CUDA_ERROR_INVALID_HANDLE);
    sim_module_close(context, library->module);
    sim_object_free(context, library);
    return sim_end_work(context, CUDA_SUCCESS);
}

/* Begins a call about a library, and sets *module to its module. On success holds the state lock and returns
 * CUDA_SUCCESS. */
static CUresult begin_library(CUlibrary handle, sim_context **context, sim_module **module)
{
    SIM_TRY(sim_begin(context));
    const sim_library *library = sim_object_find(*context, handle, SIM_LIBRARY);
    if (!library)
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    *module = library->module;
    return CUDA_SUCCESS;
}

CUresult sim_cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
    sim_context *context = NULL;
    sim_module *module = NULL;
    SIM_TRY(begin_library(handle, &context, &module));
    if (!out)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *out = SIM_HANDLE(CUmodule, module);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name)
{
    CUmodule module = NULL;
    CUfunction function = NULL;
    SIM_TRY(sim_cuLibraryGetModule(&module, handle));
    if (!kernel)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_cuModuleGetFunction(&function, module, name);
    if (result == CUDA_SUCCESS)
        *kernel = (CUkernel)(uintptr_t)function;
    return result;
}

CUresult sim_cuLibraryGetGlobal(CUdeviceptr *pointer, size_t *bytes, CUlibrary handle, const char *name)
{
    CUmodule module = NULL;
    CUresult result = sim_cuLibraryGetModule(&module, handle);
    return result == CUDA_SUCCESS ? sim_cuModuleGetGlobal(pointer, bytes, module, name) : result;
}

CUresult sim_cuLibraryGetManaged(CUdeviceptr *pointer, size_t *bytes, CUlibrary handle, const char *name)
{
    sim_context *context = NULL;
    sim_module *module = NULL;
    SIM_TRY(begin_library(handle, &context, &module));
    if (!name || !*name)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const ptx_module *ptx = vm_module_ptx(module->vm);
    for (uint32_t i = 0; i < ptx->symbol_count; i++) {
        uint64_t address = 0, size = 0;
        if (!ptx->symbols[i].managed || strcmp(ptx->symbols[i].name, name) != 0 ||
            !vm_module_global(module->vm, name, &address, &size))
            continue;
        if (pointer)
            *pointer = address;
        if (bytes)
            *bytes = (size_t)size;
        return sim_end(CUDA_SUCCESS);
    }
    return sim_end(CUDA_ERROR_NOT_FOUND);
}

/* The function never finds anything, because PTX that the simulator can load has no unified functions. */
CUresult sim_cuLibraryGetUnifiedFunction(void **function, CUlibrary handle, const char *name)
{
    CUmodule module = NULL;
    CUresult result = sim_cuLibraryGetModule(&module, handle);
    (void)function;
    return result != CUDA_SUCCESS ? result : name && *name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}

/* ---- listing ---- */

static unsigned count_kernels(const sim_module *module)
{
    const ptx_module *ptx = vm_module_ptx(module->vm);
    unsigned count = 0;
    for (uint32_t i = 0; i < ptx->function_count; i++)
        count += vm_module_kernel(module->vm, ptx->functions[i].name) == (int)i;
    return count;
}

CUresult sim_cuModuleGetFunctionCount(unsigned *count, CUmodule handle)
{
    sim_context *context;
    CUresult result;
    const sim_module *module = sim_begin_object(&context, handle, SIM_MODULE, &result);
    if (!module)
        return result;
    if (!count)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *count = count_kernels(module);
    return sim_end(CUDA_SUCCESS);
}

/* Returns at most `room` kernels, in the order of the module. */
CUresult sim_cuModuleEnumerateFunctions(CUfunction *functions, unsigned room, CUmodule handle)
{
    sim_context *context;
    CUresult result;
    sim_module *module = sim_begin_object(&context, handle, SIM_MODULE, &result);
    if (!module)
        return result;
    if (!functions || room == 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    const ptx_module *ptx = vm_module_ptx(module->vm);
    unsigned used = 0;
    for (uint32_t i = 0; i < ptx->function_count && used < room; i++) {
        if (vm_module_kernel(module->vm, ptx->functions[i].name) != (int)i)
            continue;
        sim_function *function = sim_function_of(context, module, (int)i);
        if (!function)
            return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
        functions[used++] = SIM_HANDLE(CUfunction, function);
    }
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuLibraryGetKernelCount(unsigned *count, CUlibrary handle)
{
    CUmodule module = NULL;
    CUresult result = sim_cuLibraryGetModule(&module, handle);
    return result == CUDA_SUCCESS ? sim_cuModuleGetFunctionCount(count, module) : result;
}

CUresult sim_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned room, CUlibrary handle)
{
    CUmodule module = NULL;
    CUresult result = sim_cuLibraryGetModule(&module, handle);
    /* CUfunction and CUkernel are pointers to incomplete types, and both contain the same number */
    return result == CUDA_SUCCESS ? sim_cuModuleEnumerateFunctions((CUfunction *)(void *)kernels, room, module)
                                  : result;
}

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

/* ---- properties of a function or kernel ---- */

static CUresult begin_function(const void *handle, const void *out, sim_context **context, sim_function **function)
{
    SIM_TRY(sim_begin(context));
    *function = sim_object_find(*context, handle, SIM_FUNCTION);
    if (!*function)
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    return out ? CUDA_SUCCESS : sim_end(CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuFuncGetName(const char **name, CUfunction handle)
{
    sim_context *context = NULL;
    sim_function *function = NULL;
    SIM_TRY(begin_function(handle, name, &context, &function));
    *name = vm_module_ptx(function->module->vm)->functions[function->kernel].name;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuFuncGetModule(CUmodule *module, CUfunction handle)
{
    sim_context *context = NULL;
    sim_function *function = NULL;
    SIM_TRY(begin_function(handle, module, &context, &function));
    *module = SIM_HANDLE(CUmodule, function->module);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
    sim_context *context = NULL;
    sim_function *function = NULL;
    SIM_TRY(begin_function(handle, state, &context, &function));
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuFuncLoad(CUfunction handle)
{
    CUfunctionLoadingState state;
    return sim_cuFuncIsLoaded(&state, handle);
}

CUresult sim_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    sim_context *context = NULL;
    sim_function *function = NULL;
    SIM_TRY(begin_function(handle, handle, &context, &function));
    return sim_end((unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
    sim_context *context = NULL;
    sim_function *function = NULL;
    SIM_TRY(begin_function(handle, handle, &context, &function));
    return sim_end((unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                                                 : CUDA_ERROR_INVALID_VALUE);
}

static CUfunction function_of(CUkernel kernel) { return (CUfunction)(uintptr_t)kernel; }

CUresult sim_cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
    sim_context *context = NULL;
    sim_function *function = NULL;
    SIM_TRY(begin_function(kernel, out, &context, &function));
    *out = function_of(kernel);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    sim_context *context = NULL;
    sim_function *function = NULL;
    SIM_TRY(begin_function(kernel, library, &context, &function));
    if (!function->module->library)
        return sim_end(CUDA_ERROR_INVALID_HANDLE);
    *library = SIM_HANDLE(CUlibrary, function->module->library);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuKernelGetName(const char **name, CUkernel kernel)
{
    return sim_cuFuncGetName(name, function_of(kernel));
}

CUresult sim_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    return sim_cuFuncGetParamInfo(function_of(kernel), index, offset, size);
}

static bool other_device(CUdevice device) { return !sim_device_profile(device); }

CUresult sim_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)
{
    return other_device(device) ? CUDA_ERROR_INVALID_DEVICE
                                : sim_cuFuncGetAttribute(value, attribute, function_of(kernel));
}

CUresult sim_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
    return other_device(device) ? CUDA_ERROR_INVALID_DEVICE
                                : sim_cuFuncSetAttribute(function_of(kernel), attribute, value);
}

CUresult sim_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
    return other_device(device) ? CUDA_ERROR_INVALID_DEVICE : sim_cuFuncSetCacheConfig(function_of(kernel), config);
}
