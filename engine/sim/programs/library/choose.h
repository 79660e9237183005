/* choose.h - the parts of the library that the driver lacks. choose.c chooses the device, nvidia.c searches for objects
 * that contain another runtime, and tell.c prints the reasons of errors. */
#ifndef KILN_SIM_LIBRARY_CHOOSE_H
#define KILN_SIM_LIBRARY_CHOOSE_H
#include "cu_objects.h"
#include "device.h"

/* cuInit calls this function. It reads the environment variables once. If it returns an error, it has printed a
 * message. Returns CUDA_ERROR_NO_DEVICE if all devices are hidden. */
CUresult sim_library_choose(void);

/* This function runs in cuGetExportTable, which NVIDIA's runtime calls. `caller` is an address in the object that
 * contains the runtime. The function prints one line for each such object. Any thread may call the function. */
void sim_library_nvidia(const void *caller);

/* This function runs when a kernel has raised a fault or a launch is refused, because the error code for the program
 * contains no reason. The function prints a line with the reason. It prints at most 16 lines per process. Any thread
 * may call the function. */
void sim_library_tell(const char *reason);
#endif
