/* link.c - links machine code that launches kernels with the library of the device runtime, libcudadevrt.a, before the
 * code is loaded. The simulated device has the functions of the device runtime built in. */
#include <string.h>

#include "plan_internal.h"

static kiln_status link_failed(kiln_plan *plan, CUresult result, char *log, size_t room, kiln_error **error)
{
    log[room - 1] = '\0';
    return kiln__driver_fail(&plan->engine->driver, plan->mem, result, error,
                             "linking the code of %s %s with the device runtime%s%s", plan->spec->name,
                             plan->variant->name, log[0] ? ":\n" : "", log);
}

/* Finds the library of the device runtime, links it with the machine code, and loads the result. If linking fails, the
 * log of the linker becomes part of the error. */
kiln_status kiln__load_linked(kiln_plan *plan, const void *cubin, size_t length, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    if (!driver->cuLinkCreate_ || !driver->cuLinkAddData_ || !driver->cuLinkAddFile_ || !driver->cuLinkComplete_ ||
        !driver->cuLinkDestroy_)
        return kiln__fail(plan->mem, error, KILN_ERROR_DEVICE,
                          "%s %s: compiled with -rdc=true, and the driver has no functions to link it",
                          plan->spec->name, plan->variant->name);
    /* the CUDA toolkit is found by the folder of NVRTC; a machine may have no NVRTC */
    kiln_status status = kiln__engine_nvrtc(plan->engine, NULL);
    kiln__arena arena = {.mem = plan->mem};
    const char *runtime = kiln__device_runtime(status == KILN_OK ? plan->engine->nvrtc : NULL, &arena);
    if (!runtime) {
        kiln__arena_free(&arena);
        return kiln__fail(plan->mem, error, KILN_ERROR_NOT_FOUND,
                          "%s %s: compiled with -rdc=true, so it has to be linked with libcudadevrt.a, which is "
                          "neither beside NVRTC nor in the toolkit's folder; set CUDA_HOME to a toolkit that has it",
                          plan->spec->name, plan->variant->name);
    }
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log}, *image = NULL;
    size_t size = 0;
    CUlinkState state = NULL;
    CUresult result = driver->cuLinkCreate_(2, options, values, &state);
    if (result == CUDA_SUCCESS) {
        result = driver->cuLinkAddData_(state, CU_JIT_INPUT_CUBIN, (void *)(uintptr_t)cubin, length, plan->spec->name,
                                        0, NULL, NULL);
        if (result == CUDA_SUCCESS)
            result = driver->cuLinkAddFile_(state, CU_JIT_INPUT_LIBRARY, runtime, 0, NULL, NULL);
        if (result == CUDA_SUCCESS)
            result = driver->cuLinkComplete_(state, &image, &size);
        if (result == CUDA_SUCCESS)
            result = driver->cuModuleLoadDataEx_(&plan->module, image, 0, NULL, NULL);
        driver->cuLinkDestroy_(state); /* cuLinkDestroy() frees the linked image too */
    }
    kiln__arena_free(&arena);
    return result == CUDA_SUCCESS ? KILN_OK : link_failed(plan, result, log, sizeof log, error);
}
