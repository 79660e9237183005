/* choose.h - which device the library has (choose.c). */
#ifndef KILN_SIM_LIBRARY_CHOOSE_H
#define KILN_SIM_LIBRARY_CHOOSE_H
#include "cu_objects.h"
#include "device.h"

/* At cuInit: reads the environment once. An error was printed. CUDA_ERROR_NO_DEVICE: all devices are hidden. */
CUresult sim_library_choose(void);
#endif
