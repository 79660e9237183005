/* error.c - the thread's last error, and names and texts of errors. The driver and the runtime use the same numbers for
 * errors. */
#include "runtime.h"

static _Thread_local cudaError_t last;

/* Returns true if an error makes the context unusable. All calls return such an error until the device is reset. */
static bool is_sticky(cudaError_t error)
{
    switch ((int)error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return true;
    default: return false;
    }
}

cudaError_t kiln__rt_record(cudaError_t error)
{
    if (error != cudaSuccess && !is_sticky(last))
        last = error;
    return error;
}

cudaError_t kiln__rt_result(CUresult result) { return kiln__rt_record((cudaError_t)result); }

/* the declaration is here because absent.c, which calls the function, cannot include runtime.h */
int kiln__rt_absent(void);
int kiln__rt_absent(void) { return (int)kiln__rt_record(cudaErrorNotSupported); }

void kiln__rt_forget(void) { last = cudaSuccess; }

cudaError_t cudaPeekAtLastError(void) { return last; }

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    if (!is_sticky(error))
        last = cudaSuccess;
    return error;
}

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
#define E(name, text) {name, #name, text},
#include "errors.def"
#undef E
};

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == (int)error)
            return errors[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == (int)error)
            return errors[i].text;
    return "unrecognized error code";
}
