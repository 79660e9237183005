/* A libnvidia-ml.so.1 that takes its answers from the environment. FAKE_NVML_INIT is the result of nvmlInit, and
 * FAKE_NVML_CLOCK and FAKE_NVML_MEMORY_CLOCK are in MHz. The other variables are FAKE_NVML_REASONS,
 * FAKE_NVML_CELSIUS and FAKE_NVML_MILLIWATTS. If a variable is not set, the function is not supported. With
 * FAKE_NVML_ENERGY the counter grows by that many millijoules every tenth of a second. If the build defines
 * FAKE_NVML_OLD, a function is missing that Kiln needs. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
enum { NOT_SUPPORTED = 3, NOT_FOUND = 6 };

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int result);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned length);
EXPORT int nvmlDeviceGetClockInfo(void *device, int which, unsigned *megahertz);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);

static int number(const char *name, unsigned long long *value)
{
    const char *text = getenv(name);
    *value = text ? strtoull(text, NULL, 0) : 0;
    return text ? 0 : NOT_SUPPORTED;
}

static int small(const char *name, unsigned *value)
{
    unsigned long long wide;
    int result = number(name, &wide);
    *value = (unsigned)wide;
    return result;
}

int nvmlInit_v2(void)
{
    unsigned result;
    small("FAKE_NVML_INIT", &result);
    return (int)result;
}

#ifndef FAKE_NVML_OLD
int nvmlShutdown(void) { return 0; }
#endif

const char *nvmlErrorString(int result) { return result == NOT_FOUND ? "Not Found" : "Some Error"; }

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    static int it;
    *device = &it;
    return strcmp(uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f") == 0 ? 0 : NOT_FOUND;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    strncpy(version, "580.1", length);
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *megahertz)
{
    (void)device;
    return small(which == 1 ? "FAKE_NVML_CLOCK" : "FAKE_NVML_MEMORY_CLOCK", megahertz);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    (void)device;
    return number("FAKE_NVML_REASONS", reasons);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    (void)device;
    return sensor == 0 ? small("FAKE_NVML_CELSIUS", celsius) : NOT_SUPPORTED;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    (void)device;
    return small("FAKE_NVML_MILLIWATTS", milliwatts);
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    (void)device;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int result = number("FAKE_NVML_ENERGY", millijoules);
    *millijoules *= (unsigned long long)now.tv_sec * 10 + (unsigned long long)now.tv_nsec / 100000000;
    return result;
}
