/* nvml.c - calls NVML, which it loads by dlopen(). The header of NVML is part of the toolkit and not of the driver. So
 * this file declares the functions itself. Their ABI is stable and documented (NVML API reference manual). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml.h"

typedef struct nvml_device *nvml_device;

/* X(name, signature, required) for the functions of NVML that this file uses. All of them return 0 for success. */
#define FUNCTIONS(X)                                                                                                   \
    X(nvmlInit_v2, (void), 1)                                                                                          \
    X(nvmlShutdown, (void), 1)                                                                                         \
    X(nvmlDeviceGetHandleByUUID, (const char *uuid, nvml_device *device), 1)                                           \
    X(nvmlSystemGetDriverVersion, (char *version, unsigned length), 0)                                                 \
    X(nvmlDeviceGetClockInfo, (nvml_device device, int which, unsigned *megahertz), 0)                                 \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_device device, unsigned long long *reasons), 0)                 \
    X(nvmlDeviceGetTemperature, (nvml_device device, int sensor, unsigned *celsius), 0)                                \
    X(nvmlDeviceGetPowerUsage, (nvml_device device, unsigned *milliwatts), 0)                                          \
    X(nvmlDeviceGetTotalEnergyConsumption, (nvml_device device, unsigned long long *millijoules), 0)

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

struct kiln__nvml {
    const kiln_allocator *mem;
    void *library;
    char path[256];
    bool begun; /* nvmlInit_v2 has succeeded */
    nvml_device device;
#define KILN_X(name, signature, needed) int(*name) signature;
    FUNCTIONS(KILN_X)
#undef KILN_X
    const char *(*nvmlErrorString)(int result);
};

static void load(void *library, const char *name, void *pointer)
{
    void *symbol = dlsym(library, name);
    /* memcpy, because ISO C does not allow a cast from a data pointer to a function pointer */
    memcpy(pointer, &symbol, sizeof symbol);
}

/* Fills the table. Returns the name of the first required function that is missing, or NULL. */
static const char *fill(kiln__nvml *n)
{
    const char *missing = NULL;
#define KILN_X(name, signature, needed)                                                                                \
    load(n->library, #name, &n->name);                                                                                 \
    if (needed && !n->name && !missing)                                                                                \
        missing = #name;
    FUNCTIONS(KILN_X)
#undef KILN_X
    load(n->library, "nvmlErrorString", &n->nvmlErrorString);
    return missing;
}

static bool begin(kiln__nvml *n, const char *uuid, kiln__text *why)
{
    n->library = dlopen(n->path, RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        kiln__text_printf(why, "%s was not found or cannot be loaded", n->path);
        return false;
    }
    const char *missing = fill(n);
    if (missing) {
        kiln__text_printf(why, "%s is too old: it lacks %s", n->path, missing);
        return false;
    }
    int result = n->nvmlInit_v2();
    n->begun = result == 0;
    if (n->begun)
        result = n->nvmlDeviceGetHandleByUUID(uuid, &n->device);
    if (result)
        kiln__text_printf(why, "%s: %s: %s", n->path, n->begun ? uuid : "it does not start",
                          n->nvmlErrorString ? n->nvmlErrorString(result) : "an error");
    return result == 0;
}

kiln__nvml *kiln__nvml_open(const kiln_allocator *mem, const char *uuid, kiln__text *why)
{
    const char *path = getenv("KILN_LIBNVML");
    kiln__text unheard = {.mem = mem};
    kiln__nvml *n = kiln__calloc(mem, 1, sizeof *n);
    if (!n)
        return NULL;
    n->mem = mem;
    snprintf(n->path, sizeof n->path, "%s", path && *path ? path : "libnvidia-ml.so.1");
    bool good = begin(n, uuid, why ? why : &unheard);
    kiln__text_free(&unheard);
    if (good)
        return n;
    kiln__nvml_close(n);
    return NULL;
}

void kiln__nvml_close(kiln__nvml *n)
{
    if (!n)
        return;
    if (n->begun)
        n->nvmlShutdown();
    if (n->library)
        dlclose(n->library);
    kiln__free(n->mem, n);
}

/* ---- reading ---- */

static double clock_now(const kiln__nvml *n, int which)
{
    unsigned megahertz = 0;
    bool told = n->nvmlDeviceGetClockInfo && n->nvmlDeviceGetClockInfo(n->device, which, &megahertz) == 0;
    return told ? megahertz * 1e6 : 0;
}

/* Translates the bits of nvmlDeviceGetCurrentClocksThrottleReasons(). The function ignores bit 0 (idle), because an
 * idle GPU is not throttled. Returns false if the function of NVML is missing or fails. */
static bool throttle_now(const kiln__nvml *n, unsigned *throttle)
{
    static const struct {
        unsigned long long bits;
        unsigned is;
    } reasons[] = {
        {0x4 | 0x80, KILN_THROTTLE_POWER},           /* software power cap, or power brake by an external signal */
        {0x20 | 0x40, KILN_THROTTLE_THERMAL},        /* software or hardware thermal slowdown */
        {0x8, KILN_THROTTLE_HARDWARE},               /* hardware slowdown by temperature, power brake or power draw */
        {0x2 | 0x10 | 0x100, KILN_THROTTLE_SETTING}, /* application clocks, sync boost or display clocks */
    };
    unsigned long long now = 0;
    *throttle = 0;
    if (!n->nvmlDeviceGetCurrentClocksThrottleReasons ||
        n->nvmlDeviceGetCurrentClocksThrottleReasons(n->device, &now) != 0)
        return false;
    for (size_t i = 0; i < KILN__COUNT(reasons); i++)
        *throttle |= now & reasons[i].bits ? reasons[i].is : 0;
    return true;
}

void kiln__nvml_clocks_now(kiln__nvml *n, kiln__nvml_clocks *clocks)
{
    *clocks = (kiln__nvml_clocks){0};
    if (!n)
        return;
    clocks->sm_hz = clock_now(n, CLOCK_SM);
    clocks->memory_hz = clock_now(n, CLOCK_MEMORY);
    throttle_now(n, &clocks->throttle);
}

double kiln__nvml_temperature(kiln__nvml *n)
{
    unsigned celsius = 0;
    bool told = n && n->nvmlDeviceGetTemperature && n->nvmlDeviceGetTemperature(n->device, SENSOR_GPU, &celsius) == 0;
    return told ? celsius : 0;
}

double kiln__nvml_power(kiln__nvml *n)
{
    unsigned milliwatts = 0;
    bool told = n && n->nvmlDeviceGetPowerUsage && n->nvmlDeviceGetPowerUsage(n->device, &milliwatts) == 0;
    return told ? milliwatts * 1e-3 : 0;
}

bool kiln__nvml_energy(kiln__nvml *n, double *joules)
{
    unsigned long long millijoules = 0;
    if (!n || !n->nvmlDeviceGetTotalEnergyConsumption ||
        n->nvmlDeviceGetTotalEnergyConsumption(n->device, &millijoules) != 0)
        return false;
    *joules = (double)millijoules * 1e-3;
    return true;
}

void kiln__nvml_describe(kiln__nvml *n, kiln__text *out)
{
    char version[80] = "";
    unsigned throttle;
    double joules;
    const struct {
        const char *name;
        bool told;
    } all[] = {
        {"clocks", clock_now(n, CLOCK_SM) > 0},         {"throttling", throttle_now(n, &throttle)},
        {"temperature", kiln__nvml_temperature(n) > 0}, {"power", kiln__nvml_power(n) > 0},
        {"energy", kiln__nvml_energy(n, &joules)},
    };
    if (n->nvmlSystemGetDriverVersion)
        n->nvmlSystemGetDriverVersion(version, sizeof version);
    kiln__text_printf(out, "%s%s%.*s", n->path, *version ? " of driver " : "", (int)sizeof version, version);
    for (size_t i = 0, told = 0; i < KILN__COUNT(all); i++)
        if (all[i].told)
            kiln__text_printf(out, "%s %s", told++ ? "," : ":", all[i].name);
}
