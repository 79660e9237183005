/* device.c - runs cases on a device of the driver table. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { LOG = 4096 };
static const size_t IN_BYTES = (size_t)CONF_TUPLES * CONF_INPUTS * 8,
                    OUT_BYTES = (size_t)CONF_TUPLES * CONF_OUTPUTS * 8;
static const size_t SCRATCH_BYTES = (size_t)CONF_TUPLES * CONF_SCRATCH;

static CUresult context_open(conf_device *d)
{
    CUdevice ordinal;
    CUresult r = d->driver.cuDeviceGet_(&ordinal, 0);
    r = r ? r : d->driver.cuDevicePrimaryCtxRetain_(&d->context, ordinal);
    r = r ? r : d->driver.cuCtxSetCurrent_(d->context);
    r = r ? r : d->driver.cuMemAlloc_(&d->in, IN_BYTES);
    r = r ? r : d->driver.cuMemAlloc_(&d->out, OUT_BYTES);
    return r ? r : d->driver.cuMemAlloc_(&d->scratch, SCRATCH_BYTES);
}

static void context_close(conf_device *d)
{
    d->driver.cuMemFree_(d->in);
    d->driver.cuMemFree_(d->out);
    d->driver.cuMemFree_(d->scratch);
    d->driver.cuCtxSetCurrent_(NULL);
    d->driver.cuDevicePrimaryCtxRelease_(0);
}

bool conf_device_open(conf_device *d, bool simulated)
{
    kiln_error *error = NULL;
    *d = (conf_device){0};
    const kiln_status status = simulated ? kiln__driver_open_sim(NULL, &d->driver, &error)
                                         : kiln__driver_open_cuda(NULL, &d->driver, &error);
    if (status != KILN_OK) {
        fprintf(stderr, "conformance: %s\n", error ? kiln_error_message(error) : "no device");
        kiln_error_free(error);
        return false;
    }
    if (context_open(d) != CUDA_SUCCESS) {
        fprintf(stderr, "conformance: no context on the device\n");
        kiln__driver_close(&d->driver);
        return false;
    }
    d->pattern = conf_alloc(SCRATCH_BYTES);
    for (size_t i = 0; i < SCRATCH_BYTES; i++)
        d->pattern[i] = (unsigned char)(conf_hash(&i, sizeof i, 5) >> 21);
    return true;
}

void conf_device_close(conf_device *d)
{
    context_close(d);
    kiln__driver_close(&d->driver);
    free(d->pattern);
}

static char *message(const conf_device *d, CUresult r, const char *what, const char *log)
{
    const char *name = "?";
    d->driver.cuGetErrorName_(r, &name);
    char *text = conf_alloc(LOG + 256);
    snprintf(text, LOG + 256, "%s: %s%s%s", what, name, *log ? ": " : "", log);
    for (char *c = text; *c; c++)
        if (*c == '\n')
            *c = c[1] ? '|' : 0;
    return text;
}

static CUresult run_one(conf_device *d, CUmodule module, const conf_case *each, size_t index, uint64_t *in,
                        uint64_t *out)
{
    char name[32];
    CUfunction function = NULL;
    char object[CONF_OBJECT];
    conf_object_made made = {0};
    snprintf(name, sizeof name, "k%zu", index);
    conf_object(each, object);
    CUresult r = d->driver.cuModuleGetFunction_(&function, module, name);
    conf_inputs(each, in);
    r = r ? r : d->driver.cuMemcpyHtoD_(d->in, in, (size_t)each->tuples * CONF_INPUTS * 8);
    r = r ? r : d->driver.cuMemcpyHtoD_(d->scratch, d->pattern, (size_t)each->tuples * CONF_SCRATCH);
    r = r ? r : d->driver.cuMemsetD8_(d->out, 0xee, (size_t)each->tuples * CONF_OUTPUTS * 8);
    r = r ? r : conf_object_make(d, object, &made);
    void *arguments[] = {&d->in, &d->out, &d->scratch, d->pattern, &made.handle};
    r = r ? r
          : d->driver.cuLaunchKernel_(function, (unsigned)each->tuples / CONF_THREADS, 1, 1, CONF_THREADS, 1, 1, 0,
                                      NULL, arguments, NULL);
    r = r ? r : d->driver.cuCtxSynchronize_();
    if (r == CUDA_SUCCESS) /* after a failure the context is destroyed with all its memory */
        conf_object_end(d, &made);
    return r ? r : d->driver.cuMemcpyDtoH_(out, d->out, (size_t)each->tuples * CONF_OUTPUTS * 8);
}

static CUresult load(conf_device *d, const conf_suite *suite, const size_t *cases, size_t count, CUmodule *module,
                     char *log)
{
    char *text = conf_module(suite, cases, count);
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(LOG - 1)};
    log[0] = 0;
    const CUresult r = d->driver.cuModuleLoadDataEx_(module, text, 2, options, values);
    free(text);
    return r;
}

void conf_device_run(conf_device *d, const conf_suite *suite, const size_t *cases, size_t count, conf_result *results)
{
    char log[LOG] = "";
    CUmodule module = NULL;
    const CUresult loaded = load(d, suite, cases, count, &module, log);
    if (loaded != CUDA_SUCCESS && count > 1) {
        for (size_t i = 0; i < count; i++)
            conf_device_run(d, suite, &cases[i], 1, &results[i]);
        return;
    }
    if (loaded != CUDA_SUCCESS) {
        results[0] = (conf_result){.error = message(d, loaded, "load", log)};
        return;
    }
    uint64_t *in = conf_alloc(IN_BYTES), *out = conf_alloc(OUT_BYTES);
    for (size_t i = 0; i < count; i++) {
        const conf_case *each = &suite->cases[cases[i]];
        results[i] = (conf_result){0};
        const CUresult r = run_one(d, module, each, cases[i], in, out);
        if (r != CUDA_SUCCESS) { /* the context may be lost, so the remaining cases run in a new context */
            results[i].error = message(d, r, "run", "");
            context_close(d);
            const CUresult again = context_open(d);
            if (again || (i + 1 < count && load(d, suite, cases, count, &module, log))) {
                fprintf(stderr, "conformance: the device is lost after %s\n", each->name);
                exit(2);
            }
            continue;
        }
        results[i].values = conf_alloc((size_t)each->tuples * (size_t)each->output_count * 8);
        for (int n = 0; n < each->tuples; n++)
            for (int o = 0; o < each->output_count; o++)
                results[i].values[n * each->output_count + o] = out[n * CONF_OUTPUTS + o];
    }
    d->driver.cuModuleUnload_(module);
    free(in);
    free(out);
}

void conf_results_free(conf_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(results[i].error);
        free(results[i].values);
    }
}
