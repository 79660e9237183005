/* device.c - chooses and opens the engine's device, and manages its names in expressions, its context and its
 * memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core_internal.h"

static bool is_simulated(const char *name)
{
    return name && (strcmp(name, "sim") == 0 || strncmp(name, "sim:", 4) == 0);
}

static const char *profile_of(const char *name) { return name && strncmp(name, "sim:", 4) == 0 ? name + 4 : NULL; }

/* Returns the number in the name of an architecture: 90 for "sm_90", "sm_90a" and "sm_90f". Returns 0 for any other
 * text. */
static int arch_of(const char *name)
{
    if (strncmp(name, "sm_", 3) != 0)
        return 0;
    size_t digits = strspn(name + 3, "0123456789");
    const char *rest = name + 3 + digits;
    bool right = digits <= 3 && (!*rest || strcmp(rest, "a") == 0 || strcmp(rest, "f") == 0);
    return right ? (int)strtol(name + 3, NULL, 10) : 0;
}

/* Returns the name of the profile with estimates whose compute capability is nearest to `arch`, or NULL if no profile
 * has estimates. */
static const char *nearest_estimate(const kiln_engine *engine, int arch)
{
    const kiln__simulator *simulator = kiln__driver_simulator();
    const char *nearest = NULL, *at;
    int least = 0;
    kiln__profile_find_all(engine);
    for (size_t i = 0; (at = simulator->profile_at(i)); i++) {
        int distance = simulator->model_at(i) ? abs(simulator->model_at(i) - arch) : -1;
        /* if two profiles are equally near, the default profile wins */
        bool usual = strcmp(at, KILN__DEFAULT_PROFILE) == 0;
        if (distance < 0 || (nearest && distance >= least + usual))
            continue;
        nearest = at;
        least = distance;
    }
    return nearest;
}

/* Returns N for the device name "cuda:N", 0 for "cuda", and -1 for any other name. */
static int ordinal_of(const char *name)
{
    if (strcmp(name, "cuda") == 0)
        return 0;
    if (strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    char *end;
    errno = 0;
    long ordinal = strtol(name + 5, &end, 10);
    return errno == 0 && *end == '\0' && ordinal <= 4096 ? (int)ordinal : -1;
}

/* Warns that the simulated device has the profile of another architecture, because no profile has the wanted
 * architecture. The features and the times of the two architectures are different. */
static void warn_of_arch(const kiln_engine *engine, const char *wanted, const char *found)
{
    const kiln__simulator *simulator = kiln__driver_simulator();
    const char *at;
    for (size_t i = 0; (at = simulator->profile_at(i)); i++)
        if (strcmp(at, found) == 0 && simulator->model_at(i) != arch_of(wanted))
            kiln__logf(
                &engine->log, KILN_LOG_WARNING,
                "no device profile has the architecture %s: sim:%s, whose architecture is sm_%d, takes its place",
                wanted, found, simulator->model_at(i));
}

/* Checks the engine's device name, and replaces the name of a profile or of an architecture by sim:PROFILE. The name of
 * a profile may have the prefix `sim:` or not, as in `kiln sim run --device`. */
kiln_status kiln__device_name_check(kiln_engine *engine, kiln_error **error)
{
    const char *name = engine->device_name;
    const bool simulated = is_simulated(name);
    if (!simulated && ordinal_of(name) >= 0)
        return KILN_OK;
    const char *wanted = simulated ? profile_of(name) : *name ? name : NULL, *known[64];
    if (simulated && !wanted)
        return KILN_OK;
    const char *found = simulated && arch_of(wanted) ? nearest_estimate(engine, arch_of(wanted)) : NULL;
    if (found)
        warn_of_arch(engine, wanted, found);
    kiln_status status = found || !wanted ? KILN_OK : kiln__profile_find(engine, wanted, &engine->arena, &found, error);
    if (status != KILN_OK)
        return status;
    size_t count = 0;
    for (const char *at; found && count < KILN__COUNT(known) && (at = kiln__driver_simulator()->profile_at(count));
         count++) {
        if (strcmp(at, found) == 0) {
            engine->device_name = kiln__arena_printf(&engine->arena, "sim:%s", found);
            return engine->device_name ? KILN_OK : kiln__fail_memory(error);
        }
        known[count] = at;
    }
    kiln__profile_find_all(engine);
    for (count = 0; count < KILN__COUNT(known) && kiln__driver_simulator()->profile_at(count); count++)
        known[count] = kiln__driver_simulator()->profile_at(count);
    const char *near = wanted ? kiln__nearest(wanted, known, count) : NULL;
    if (!simulated)
        return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                          "device '%s': write cuda:0, sim or sim:PROFILE%s%s%s", name,
                          near ? "; did you mean sim:" : "", near ? near : "", near ? "?" : "");
    /* no profile is installed, because the program was copied without Kiln's data */
    if (!near && !nearest_estimate(engine, 0))
        return kiln__fail(
            engine->mem, error, KILN_ERROR_ARGUMENT,
            "device '%s': neither the current folder nor a folder of the search path has a device profile; Kiln's own "
            "profiles are in its folder specs/devices: add the folder 'specs' with --path (search_path) or KILN_PATH",
            name);
    return kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                      "device '%s': unknown profile%s%s%s; `kiln devices` "
                      "lists them",
                      name, near ? "; did you mean sim:" : "", near ? near : "", near ? "?" : "");
}

/* ---- opening ---- */

static kiln_status open_simulated(kiln_engine *engine, const char *profile, kiln_error **error)
{
    kiln_status status = kiln__driver_open_sim(engine->mem, &engine->driver, error);
    if (status != KILN_OK)
        return status;
    if (!engine->context && !kiln__driver_simulator()->profile(profile))
        return kiln__fail(engine->mem, error, KILN_ERROR_NO_DEVICE,
                          "the simulated device of this process is in use as sim:%s and cannot be sim:%s at the same "
                          "time",
                          kiln__driver_simulator()->profile_name(), profile ? profile : "generic");
    return KILN_OK;
}

/* Opens the simulated device for a caller who named no device, because there is no GPU. `why` is the driver's message
 * about the missing GPU. The function prefers KILN__DEFAULT_PROFILE, because this profile gives estimates of times. If
 * KILN__DEFAULT_PROFILE is not installed, the function takes the generic device. If this process already uses the
 * simulated device with another profile, the function keeps that profile, because the caller accepts any device. */
static kiln_status open_default_simulated(kiln_engine *engine, const char *why, kiln_error **error)
{
    const char *found = NULL;
    kiln_error *unreadable = NULL;
    kiln_status status = kiln__driver_open_sim(engine->mem, &engine->driver, error);
    if (status != KILN_OK)
        return status;
    const kiln__simulator *simulator = kiln__driver_simulator();
    if (kiln__profile_find(engine, KILN__DEFAULT_PROFILE, &engine->arena, &found, &unreadable) != KILN_OK)
        kiln__logf(&engine->log, KILN_LOG_WARNING, "%s", kiln_error_message(unreadable));
    kiln_error_free(unreadable);
    if (!simulator->profile(KILN__DEFAULT_PROFILE))
        simulator->profile(NULL);
    kiln__logf(&engine->log, KILN_LOG_INFO, "running on the simulated device, as sim:%s%s: %s",
               simulator->profile_name(), simulator->has_model() ? ", with estimated times" : "", why);
    return KILN_OK;
}

/* Fills engine->driver by the device's name. If the engine has no device name, the function opens a GPU, or the
 * simulated device if there is no working GPU. */
static kiln_status open_driver(kiln_engine *engine, kiln_error **error)
{
    if (is_simulated(engine->device_name) ||
        (engine->context && kiln__driver_simulator()->has_context(engine->context)))
        return open_simulated(engine, profile_of(engine->device_name), error);
    if (engine->device_name || engine->context)
        return kiln__driver_open_cuda(engine->mem, &engine->driver, error);
    kiln_error *why = NULL;
    kiln_status status = kiln__driver_open_cuda(engine->mem, &engine->driver, &why);
    if (status == KILN_OK)
        return KILN_OK;
    status = open_default_simulated(engine, kiln_error_message(why), error);
    kiln_error_free(why);
    return status;
}

/* Sets engine->device to the device of the caller's context. */
static kiln_status device_of_context(kiln_engine *engine, kiln_error **error)
{
    const kiln__driver *driver = &engine->driver;
    CUresult result = driver->cuCtxPushCurrent_(engine->context);
    if (result != CUDA_SUCCESS)
        return kiln__driver_fail(driver, engine->mem, result, error, "kiln_options.context: cuCtxPushCurrent");
    result = driver->cuCtxGetDevice_(&engine->device);
    CUcontext popped;
    driver->cuCtxPopCurrent_(&popped);
    if (result != CUDA_SUCCESS)
        return kiln__driver_fail(driver, engine->mem, result, error, "kiln_options.context: cuCtxGetDevice");
    return KILN_OK;
}

/* Sets engine->device to the device that the caller named, or to the first device. */
static kiln_status find_device(kiln_engine *engine, kiln_error **error)
{
    const kiln__driver *driver = &engine->driver;
    const char *name = engine->device_name ? engine->device_name : driver->simulator ? "sim" : "cuda:0";
    int ordinal = is_simulated(name) ? 0 : ordinal_of(name), count = 0;
    CUresult result = driver->cuDeviceGetCount_(&count);
    if (result != CUDA_SUCCESS)
        return kiln__driver_fail(driver, engine->mem, result, error, "device %s: cuDeviceGetCount", name);
    if (ordinal >= count)
        return kiln__fail(engine->mem, error, KILN_ERROR_NO_DEVICE,
                          "there is no device %s: this machine has %d GPU%s, "
                          "cuda:0 to cuda:%d; `kiln devices` lists them",
                          name, count, count == 1 ? "" : "s", count - 1);
    result = driver->cuDeviceGet_(&engine->device, ordinal);
    if (result != CUDA_SUCCESS)
        return kiln__driver_fail(driver, engine->mem, result, error, "device %s: cuDeviceGet", name);
    engine->owns_context = true;
    return KILN_OK;
}

/* Retains the device's primary context if the engine has no context yet. Retaining the context of a GPU takes a tenth
 * of a second and some hundred MB of the GPU's memory. So the engine does it only before it runs something on the GPU.
 * A sweep that measures in another process needs no context. */
static kiln_status retain_primary_locked(kiln_engine *engine, kiln_error **error)
{
    if (engine->context)
        return KILN_OK;
    CUresult result = engine->driver.cuDevicePrimaryCtxRetain_(&engine->context, engine->device);
    if (result == CUDA_SUCCESS)
        return KILN_OK;
    engine->context = NULL;
    return kiln__driver_fail(&engine->driver, engine->mem, result, error, "device %s: cuDevicePrimaryCtxRetain",
                             engine->info.id);
}

kiln__nvml *kiln__engine_nvml(kiln_engine *engine)
{
    if (engine->nvml_looked)
        return engine->nvml;
    engine->nvml_looked = true;
    char uuid[KILN__UUID_TEXT];
    kiln__text why = {.mem = engine->mem};
    if (kiln__driver_uuid(&engine->driver, engine->device, uuid))
        engine->nvml = kiln__nvml_open(engine->mem, uuid, &why);
    if (why.length)
        kiln__logf(&engine->log, KILN_LOG_DEBUG, "clocks and power are not available: %s", kiln__text_get(&why));
    kiln__text_free(&why);
    return engine->nvml;
}

/* Sets engine->device_settings, which has the values of the names "device.NAME" in expressions. */
static void name_settings(kiln_engine *engine)
{
    const kiln_device_info *info = &engine->info;
    const struct {
        const char *name;
        uint64_t value;
    } values[] = {
        {"device.sm_count", (uint64_t)info->sm_count},
        {"device.warp_size", (uint64_t)info->warp_size},
        {"device.max_threads_per_block", (uint64_t)info->max_threads_per_block},
        {"device.max_threads_per_sm", (uint64_t)info->max_threads_per_sm},
        {"device.registers_per_block", (uint64_t)info->registers_per_block},
        {"device.registers_per_sm", (uint64_t)info->registers_per_sm},
        {"device.shared_per_block", info->shared_per_block},
        {"device.shared_per_block_optin", info->shared_per_block_optin},
        {"device.shared_per_sm", info->shared_per_sm},
        {"device.l2_bytes", info->l2_bytes},
        {"device.memory_bytes", info->memory_bytes},
        {"device.cc", (uint64_t)(info->cc_major * 10 + info->cc_minor)},
#define KILN_X(name, value, key, text) {"device." key, (info->features & value) != 0},
        KILN_FEATURE_MAP(KILN_X)
#undef KILN_X
            {"device.simulated", (uint64_t)(info->simulated != 0)},
    };
#define KILN_X(name, value, key, text) +1
    const size_t truths = 1 KILN_FEATURE_MAP(KILN_X); /* the names with boolean values are the last names of the list */
#undef KILN_X
#define KILN_X(name) +1
    _Static_assert(KILN__COUNT(values) == 0 KILN__DEVICE_NAMES(KILN_X), "every name of a device has a value");
#undef KILN_X
    _Static_assert(KILN__COUNT(values) <= KILN__DEVICE_NAME_COUNT, "there is room for every name");
    for (size_t i = 0; i < KILN__COUNT(values); i++) {
        kiln_setting *setting = &engine->device_settings[i];
        setting->name = values[i].name;
        setting->value.kind = i + truths >= KILN__COUNT(values) ? KILN_BOOL : KILN_INT;
        setting->value.as.i = (int64_t)values[i].value;
    }
    engine->device_setting_count = KILN__COUNT(values);
}

/* Returns the architecture to compile for: the device's architecture, or the newest lower architecture that NVRTC
 * knows.
 */
static int choose_arch(kiln_engine *engine)
{
    int cc = engine->info.cc_major * 10 + engine->info.cc_minor, best = cc;
    if (kiln__engine_nvrtc_locked(engine, NULL) != KILN_OK)
        return cc; /* NVRTC is missing, and the compile will report the reason */
    if (kiln__nvrtc_has_arch(engine->nvrtc, cc))
        return cc;
    int archs[64];
    size_t count = kiln__nvrtc_archs(engine->nvrtc, archs, KILN__COUNT(archs));
    if (count > KILN__COUNT(archs))
        count = KILN__COUNT(archs);
    bool found = false;
    for (size_t i = 0; i < count; i++)
        if (archs[i] <= cc && (!found || archs[i] > best)) {
            best = archs[i];
            found = true;
        }
    return best;
}

kiln_status kiln__engine_device_locked(kiln_engine *engine, kiln_error **error)
{
    if (engine->device_open)
        return KILN_OK;
    bool given = engine->context != NULL;
    kiln_status status = open_driver(engine, error);
    if (status == KILN_OK)
        status = given ? device_of_context(engine, error) : find_device(engine, error);
    CUresult asked = status == KILN_OK ? kiln__driver_device_info(&engine->driver, engine->device, &engine->info)
                                       : CUDA_SUCCESS;
    if (asked != CUDA_SUCCESS) {
        status = kiln__driver_fail(&engine->driver, engine->mem, asked, error, "reading the properties of %s",
                                   engine->info.id);
        engine->owns_context = false;
    }
    if (status == KILN_OK &&
        /* on the simulated device this costs nothing, and the context keeps other engines from changing the profile */
        engine->driver.simulator)
        status = retain_primary_locked(engine, error);
    if (status != KILN_OK) {
        kiln__driver_close(&engine->driver);
        return status;
    }
    name_settings(engine);
    engine->arch = choose_arch(engine);
    int cc = engine->info.cc_major * 10 + engine->info.cc_minor;
    /* Machine code runs only on devices with the same major number as the architecture. If NVRTC knows only an older
     * major number, the code is PTX. The simulated device does not execute machine code, but its estimates of times
     * need the number of registers in the machine code. */
    engine->want_cubin = engine->arch / 10 == cc / 10 &&
                         (!engine->driver.simulator || kiln__driver_simulator()->has_model());
    engine->device_open = true;
    kiln__logf(&engine->log, KILN_LOG_DEBUG, "device %s: %s, compute capability %d.%d", engine->info.id,
               engine->info.name, engine->info.cc_major, engine->info.cc_minor);
    return KILN_OK;
}

kiln_status kiln__engine_device(kiln_engine *engine, kiln_error **error)
{
    pthread_mutex_lock(&engine->lock);
    kiln_status status = kiln__engine_device_locked(engine, error);
    pthread_mutex_unlock(&engine->lock);
    return status;
}

kiln_status kiln_engine_device(kiln_engine *engine, const kiln_device_info **info, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, info);
    kiln_status status = kiln__engine_device(engine, error);
    if (status == KILN_OK)
        *info = &engine->info;
    return status;
}

/* ---- the context of the calling thread ---- */

kiln_status kiln__engine_enter(kiln_engine *engine, CUcontext *previous, kiln_error **error)
{
    pthread_mutex_lock(&engine->lock);
    kiln_status status = kiln__engine_device_locked(engine, error);
    if (status == KILN_OK)
        status = retain_primary_locked(engine, error);
    pthread_mutex_unlock(&engine->lock);
    if (status != KILN_OK)
        return status;
    if (atomic_load(&engine->stuck))
        return kiln__fail(engine->mem, error, KILN_ERROR_TIMEOUT,
                          "a kernel that exceeded its time limit still runs on %s, and "
                          "will until this process ends",
                          engine->info.id);
    CUcontext current = NULL;
    CUresult result = engine->driver.cuCtxGetCurrent_(&current);
    if (result == CUDA_SUCCESS && current != engine->context)
        result = engine->driver.cuCtxPushCurrent_(engine->context);
    if (result != CUDA_SUCCESS)
        return kiln__driver_fail(&engine->driver, engine->mem, result, error, "making the context of %s current",
                                 engine->info.id);
    *previous = current;
    return KILN_OK;
}

void kiln__engine_leave(kiln_engine *engine, CUcontext previous)
{
    CUcontext popped;
    if (previous != engine->context)
        engine->driver.cuCtxPopCurrent_(&popped);
}

kiln_status kiln__engine_renew(kiln_engine *engine, kiln_error **error)
{
    CUcontext fresh = NULL, previous = NULL;
    pthread_mutex_lock(&engine->lock);
    if (engine->context)
        engine->driver.cuDevicePrimaryCtxRelease_(engine->device);
    engine->context = NULL; /* if the next call fails, closing the engine must not release the old context again */
    CUresult result = engine->driver.cuDevicePrimaryCtxRetain_(&fresh, engine->device);
    if (result == CUDA_SUCCESS)
        engine->context = fresh;
    pthread_mutex_unlock(&engine->lock);
    kiln_status status = KILN_OK;
    if (result == CUDA_SUCCESS)
        status = kiln__engine_enter(engine, &previous, error);
    /* if another engine uses the same context, the driver kept the context together with its fault */
    if (result == CUDA_SUCCESS && status == KILN_OK) {
        result = engine->driver.cuCtxSynchronize_();
        kiln__engine_leave(engine, previous);
    }
    return result == CUDA_SUCCESS
               ? status
               : kiln__driver_fail(&engine->driver, engine->mem, result, error, "renewing the context after a fault");
}

/* ---- every device of the machine ---- */

static int show_device(const kiln__driver *driver, CUdevice device, kiln_device_fn each, void *user)
{
    kiln_device_info info = {0};
    kiln__driver_device_info(driver, device, &info);
    return each(user, &info);
}

/* Calls `each` for every GPU, then for every simulated device, until `each` ends the list. A machine without a driver
 * has no GPUs, which is not an error. The function opens drivers of its own, not the engine's driver. */
kiln_status kiln_devices(kiln_engine *engine, kiln_device_fn each, void *user, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, each);
    int ended = 0;
    kiln__driver driver;
    kiln_error *why = NULL;
    int gpus = 0;
    if (kiln__driver_open_cuda(engine->mem, &driver, &why) == KILN_OK) {
        if (driver.cuDeviceGetCount_(&gpus) != CUDA_SUCCESS)
            gpus = 0;
        for (int i = 0; i < gpus && !ended; i++) {
            CUdevice device;
            if (driver.cuDeviceGet_(&device, i) == CUDA_SUCCESS)
                ended = show_device(&driver, device, each, user);
        }
        kiln__driver_close(&driver);
    } else {
        kiln__logf(&engine->log, KILN_LOG_DEBUG, "no GPU: %s", kiln_error_message(why));
        kiln_error_free(why);
    }
    kiln_status status = kiln__driver_open_sim(engine->mem, &driver, error);
    if (status != KILN_OK)
        return status;
    kiln__profile_find_all(engine);
    for (size_t i = 0; !ended && kiln__driver_simulator()->profile_at(i); i++)
        ended = show_device(&driver, (CUdevice)i, each, user);
    kiln__driver_close(&driver);
    return KILN_OK;
}

static kiln_status find_simulated(kiln_engine *engine, const char *name, kiln__arena *arena, CUdevice *device,
                                  kiln_error **error)
{
    const char *found = profile_of(name), *at;
    if (found && arch_of(found))
        found = nearest_estimate(engine, arch_of(found));
    kiln_status status = found ? kiln__profile_find(engine, found, arena, &found, error) : KILN_OK;
    for (size_t i = 0; status == KILN_OK && (at = kiln__driver_simulator()->profile_at(i)); i++)
        if (strcmp(at, found ? found : "generic") == 0) {
            *device = (CUdevice)i;
            return KILN_OK;
        }
    return status == KILN_OK ? kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                                          "device '%s': unknown "
                                          "profile; `kiln devices` lists them",
                                          name)
                             : status;
}

kiln_status kiln__engine_peer(kiln_engine *engine, const char *name, CUdevice *device, kiln_device_info *info,
                              kiln_error **error)
{
    const kiln__driver *driver = &engine->driver;
    kiln__arena arena = {.mem = engine->mem};
    int ordinal = is_simulated(name) ? 0 : ordinal_of(name), count = 0;
    kiln_status status = KILN_OK;
    if (ordinal < 0)
        status = kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT, "device '%s': write cuda:0, sim or sim:PROFILE",
                            name);
    else if (is_simulated(name) != (driver->simulator != NULL))
        status = kiln__fail(engine->mem, error, KILN_ERROR_ARGUMENT,
                            "%s and %s: a simulated device and a GPU cannot take part in the same", name,
                            engine->info.id);
    else if (driver->simulator)
        status = find_simulated(engine, name, &arena, device, error);
    else if (driver->cuDeviceGetCount_(&count) != CUDA_SUCCESS || ordinal >= count ||
             driver->cuDeviceGet_(device, ordinal) != CUDA_SUCCESS)
        status = kiln__fail(engine->mem, error, KILN_ERROR_NO_DEVICE,
                            "there is no device %s; `kiln devices` lists them", name);
    kiln__arena_free(&arena);
    CUresult asked = status == KILN_OK ? kiln__driver_device_info(driver, *device, info) : CUDA_SUCCESS;
    if (asked != CUDA_SUCCESS)
        status = kiln__driver_fail(driver, engine->mem, asked, error, "reading the properties of %s", name);
    return status;
}

/* ---- memory ---- */

static kiln_status too_much(kiln_engine *engine, uint64_t bytes, uint64_t most, const char *what, const char *where,
                            kiln_status status, const char *remedy, kiln_error **error)
{
    /* the message below shows gigabytes, and would show these small numbers as 0 */
    if (most < 1000000 && bytes < 1000000000)
        return kiln__fail(engine->mem, error, status,
                          "%s: %llu bytes of buffers on the %s, where at most %llu may be "
                          "used; %s",
                          what, (unsigned long long)bytes, where, (unsigned long long)most, remedy);
    return kiln__fail(engine->mem, error, status,
                      "%s: %.3f GB of buffers on the %s, where at most %.3f GB may be used; %s", what,
                      (double)bytes * 1e-9, where, (double)most * 1e-9, remedy);
}

kiln_status kiln__engine_check_memory(kiln_engine *engine, uint64_t bytes, bool host, const char *what,
                                      kiln_error **error)
{
    const char *where = host ? "host" : "device";
    if (engine->memory_limit > 0 && bytes > engine->memory_limit)
        return too_much(engine, bytes, engine->memory_limit, what, where, KILN_ERROR_REFUSED,
                        "choose smaller sizes or raise the memory limit", error);
    if (host) {
        /* buffers get seven eighths of the memory, so that an eighth stays free for other uses */
        uint64_t most = kiln__host_memory() / 8 * 7;
        return bytes <= most
                   ? KILN_OK
                   : too_much(engine, bytes, most, what, where, KILN_ERROR_REFUSED, "choose smaller sizes", error);
    }
    CUcontext previous;
    kiln_status status = kiln__engine_enter(engine, &previous, error);
    if (status != KILN_OK)
        return status;
    size_t available = 0, total = 0;
    CUresult result = engine->driver.cuMemGetInfo_(&available, &total);
    if (result != CUDA_SUCCESS)
        status = kiln__driver_fail(&engine->driver, engine->mem, result, error, "%s: cuMemGetInfo", what);
    kiln__engine_leave(engine, previous);
    if (status == KILN_OK && bytes > available)
        status = too_much(engine, bytes, available, what, where, KILN_ERROR_DEVICE_MEMORY,
                          "choose smaller sizes or free memory of the device", error);
    return status;
}
