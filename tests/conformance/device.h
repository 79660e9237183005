/* device.h - runs cases on a device of the driver table. */
#ifndef CONFORMANCE_DEVICE_H
#define CONFORMANCE_DEVICE_H

#include "conformance.h"
#include "driver.h"

/* A texture or surface object and its memory. */
typedef struct conf_object_made {
    CUarray array;
    CUmipmappedArray mipmap;
    CUdeviceptr memory;
    unsigned long long handle;
    bool surface;
} conf_object_made;

typedef struct conf_device {
    kiln__driver driver;
    CUcontext context;
    CUdeviceptr in, out, scratch;
    unsigned char *pattern; /* the first contents of scratch memory */
} conf_device;

typedef struct conf_result {
    char *error;      /* the reason why the case was refused or failed, or NULL if the case ran */
    uint64_t *values; /* [tuple * output_count + output], in the form in which the device wrote them */
} conf_result;

/* Opens the device. Returns false after a message on standard error if there is no such device. */
bool conf_device_open(conf_device *device, bool simulated);
void conf_device_close(conf_device *device);
/* Loads the cases as one module and runs each. If the driver refuses the module, it loads them one by one.
 * results[i] belongs to cases[i]. */
void conf_device_run(conf_device *device, const conf_suite *suite, const size_t *cases, size_t count,
                     conf_result *results);
/* Makes the object of that name, filled with a pattern that follows from the name (objects.c). Makes nothing for "". */
CUresult conf_object_make(const conf_device *device, const char *name, conf_object_made *made);
void conf_object_end(const conf_device *device, const conf_object_made *made);
void conf_results_free(conf_result *results, size_t count);
#endif
