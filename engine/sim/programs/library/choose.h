/* choose.h - the parts of the library that the driver does not have. choose.c chooses the device, nvidia.c searches
 * objects that contain another runtime, and tell.c prints the reasons of errors. */
#ifndef KILN_SIM_LIBRARY_CHOOSE_H
#define KILN_SIM_LIBRARY_CHOOSE_H
#include "cu_objects.h"
#include "device.h"

/* Called at cuInit. Reads the environment once. Prints a message if it returns an error. Returns CUDA_ERROR_NO_DEVICE
 * if all devices are hidden. */
CUresult sim_library_choose(void);

/* Called at cuGetExportTable, the first function that NVIDIA's runtime calls. `caller` is an address in the object that
 * contains the runtime. Prints one line for each such object. Any thread may call it. */
void sim_library_nvidia(const void *caller);

/* Called when a kernel has raised a fault or a launch is refused, because the error that the program gets has no
 * reason. Prints a line with the reason. Prints at most 16 lines in a process. Any thread may call it. */
void sim_library_tell(const char *reason);
#endif
