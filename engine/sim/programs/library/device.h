/* device.h - the data that libnvidia-ml reads from libcuda: the devices of the machine, including the devices that
 * $CUDA_VISIBLE_DEVICES hides. */
#ifndef KILN_SIM_LIBRARY_DEVICE_H
#define KILN_SIM_LIBRARY_DEVICE_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct kiln_sim_device {
    char name[256];
    CUuuid uuid;
    uint64_t memory; /* bytes */
    int major, minor;
} kiln_sim_device;
/* Describes the device `place` of the machine. Returns false if there is no such device. */
__attribute__((visibility("default"))) bool kiln_sim_device_at(unsigned place, kiln_sim_device *device);
#endif
