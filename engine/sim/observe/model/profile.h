/* profile.h - device profiles as text. profile.c reads them, and driver/objects/device.c has the built-in profiles. */
#ifndef KILN_SIM_PROFILE_H
#define KILN_SIM_PROFILE_H

#include <cuda.h>

#include "base.h"
#include "model.h"

typedef struct sim_attribute {
    CUdevice_attribute attribute;
    int value;
} sim_attribute;

#define SIM_PROFILE_ATTRIBUTES 12
typedef struct sim_profile_data {
    char title[96];
    uint64_t memory;
    sim_attribute attributes[SIM_PROFILE_ATTRIBUTES];
    sim_model model;
} sim_profile_data;

/* Reads a profile. If the text has errors, the function adds a line for each error to `log` and returns false. The line
 * has `name` and the number of the wrong line. */
bool sim_profile_read(const char *text, size_t length, const char *name, sim_profile_data *data, kiln__text *log);
#endif
