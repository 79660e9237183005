/* captured: makes an input of a captured launch. The function exports the values that the input's own function exported
 * when the launch was captured. Numbers are given as arguments, and arrays are read from .npy files. */
#include <string.h>

#include "call.h"

static kiln_status export_file(kiln_call *call, const char *name, const char *file)
{
    const char *path;
    kiln_array read, *made;
    uint64_t bytes = 0;
    kiln_status status = kiln_call_file(call, file, &path);
    if (status == KILN_OK)
        status = kiln__npy_read_resolved(call->mem, path, kiln__host_memory(), &read, &call->failure);
    if (status != KILN_OK)
        return status;
    status = kiln_call_export_array(call, name, read.type, read.dims, read.shape, &made);
    if (status == KILN_OK && kiln__array_bytes(read.type, read.dims, read.shape, &bytes) && bytes)
        memcpy(made->data, read.data, (size_t)bytes);
    kiln__array_free(call->mem, &read);
    return status;
}

static kiln_status set_exports(void *user, kiln_call *call)
{
    (void)user;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < call->arg_count && status == KILN_OK; i++) {
        const kiln__call_arg *arg = &call->args[i];
        if (arg->kind == KILN__CALL_ARRAY)
            status = kiln_call_fail(call, "argument '%s' is an array; an export must be a number or a .npy file",
                                    arg->name);
        else if (arg->value.kind == KILN_TEXT)
            status = export_file(call, arg->name, arg->value.as.text);
        else if (arg->value.kind == KILN_FLOAT)
            status = kiln_call_export_float(call, arg->name, arg->value.as.f);
        else
            status = kiln_call_export_int(call, arg->name, arg->value.as.i);
    }
    return status;
}

static const kiln_host_info infos[] = {{"captured", KILN_HOST_INPUT, "any: numbers, and .npy files", "the same names"}};
const kiln__host kiln__builtin_hosts[] = {{"captured", KILN_HOST_INPUT | KILN_HOST_SHIPPED, set_exports, NULL, NULL}};
const size_t kiln__builtin_host_count = KILN__COUNT(kiln__builtin_hosts);
_Static_assert(KILN__COUNT(infos) == KILN__COUNT(kiln__builtin_hosts), "each function is described");

const kiln_host_info *kiln_host(size_t number) { return number < KILN__COUNT(infos) ? &infos[number] : NULL; }
