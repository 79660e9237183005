/* choose.h - which device the library has (choose.c). */
#ifndef KILN_SIM_LIBRARY_CHOOSE_H
#define KILN_SIM_LIBRARY_CHOOSE_H
#include "cu_objects.h"

/* At cuInit: reads the environment once. An error was printed. */
CUresult sim_library_choose(void);
#endif
