/* choose.h - what the library has beyond the driver: which device it is (choose.c), who holds another runtime (nvidia.c). */
#ifndef KILN_SIM_LIBRARY_CHOOSE_H
#define KILN_SIM_LIBRARY_CHOOSE_H
#include "cu_objects.h"
#include "device.h"

/* At cuInit: reads the environment once. An error was printed. CUDA_ERROR_NO_DEVICE: all devices are hidden. */
CUresult sim_library_choose(void);

/* At cuGetExportTable, which NVIDIA's runtime calls first: `caller` is an address in the object that holds it. Prints one
 * line for each object. Any thread. */
void sim_library_nvidia(const void *caller);
#endif
