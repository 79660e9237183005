/* doctor.c - kiln doctor: lists the parts that were found on this machine, the parts that are missing, and the
 * remedies. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine.h"
#include "core_internal.h"

typedef struct doctor {
    kiln_engine *engine;
    kiln_finding_fn report;
    void *user;
    bool failed; /* memory ran out while the text of a finding was made */
    bool ended;  /* the caller's function asked for the end of the list */
    bool gpu;    /* a GPU works */
    int driver_version;
} doctor;

typedef enum grade { FINE, POORER, BROKEN } grade; /* POORER means that Kiln works without this part, but less well */

/* Adds a finding. `format` gives the text of the finding, and `remedy` is a complete sentence. */
static void add_finding(doctor *check, const char *topic, grade how, const char *remedy, const char *format, ...)
    KILN__PRINTF(5, 6);
static void add_finding(doctor *check, const char *topic, grade how, const char *remedy, const char *format, ...)
{
    kiln__text found = {.mem = check->engine->mem};
    va_list arguments;
    va_start(arguments, format);
    kiln__text_vprintf(&found, format, arguments);
    va_end(arguments);
    if (found.failed) {
        check->failed = true;
    } else {
        kiln_finding finding = {.topic = topic,
                                .ok = how == FINE,
                                .needed = how == BROKEN,
                                .found = kiln__text_get(&found),
                                .remedy = how == FINE ? "" : remedy};
        check->ended = check->ended || check->report(check->user, &finding) != 0;
    }
    kiln__text_free(&found);
}

/* Reports an error. A message about the driver or NVRTC has two sentences, the fault and the remedy. If the message of
 * `error` has a second sentence, it replaces `remedy`. */
static void say_error(doctor *check, const char *topic, grade how, const kiln_error *error, const char *remedy)
{
    const char *message = kiln_error_message(error), *end = strstr(message, ". ");
    int length = end ? (int)(end - message) : (int)strlen(message);
    add_finding(check, topic, how, end ? end + 2 : remedy, "%.*s", length, message);
}

static void look_at_nvml(doctor *check, const kiln__driver *driver, CUdevice device, int ordinal)
{
    char uuid[KILN__UUID_TEXT];
    kiln__text found = {.mem = check->engine->mem};
    if (!kiln__driver_uuid(driver, device, uuid))
        kiln__text_puts(&found, "the driver gives no UUID of the device");
    kiln__nvml *nvml = *uuid ? kiln__nvml_open(check->engine->mem, uuid, &found) : NULL;
    if (nvml)
        kiln__nvml_describe(nvml, &found);
    add_finding(
        check, "nvml", nvml ? FINE : POORER,
        "Clocks, throttling and energy of measurements are not known without NVML: "
        "install libnvidia-ml.so.1 of the driver's version, or give it to the container (the capability 'utility').",
        "cuda:%d: %s", ordinal, kiln__text_get(&found));
    check->failed |= found.failed;
    kiln__text_free(&found);
    kiln__nvml_close(nvml);
}

/* Reports the driver, and each GPU with the state of its NVML. Sets `gpu` if there is a driver. The function does not
 * report a missing driver as BROKEN, because Kiln can use the simulated device. */
static void look_at_driver(doctor *check)
{
    kiln__driver driver;
    kiln_error *why = NULL;
    if (kiln__driver_open_cuda(check->engine->mem, &driver, &why) != KILN_OK) {
        say_error(check, "driver", POORER, why, "Install the NVIDIA driver, or use the simulated device.");
        kiln_error_free(why);
        return;
    }
    check->gpu = true;
    check->driver_version = driver.version;
    add_finding(check, "driver", FINE, "", "%s, for CUDA %d.%d", driver.path, driver.version / 1000,
                driver.version % 1000 / 10);
    int count = 0;
    if (driver.cuDeviceGetCount_(&count) != CUDA_SUCCESS)
        count = 0;
    for (int i = 0; i < count; i++) {
        CUdevice device;
        kiln_device_info info;
        if (driver.cuDeviceGet_(&device, i) != CUDA_SUCCESS)
            continue;
        kiln__driver_device_info(&driver, device, &info);
        add_finding(check, "device", FINE, "", "%s: %s, compute capability %d.%d, %.0f GB", info.id, info.name,
                    info.cc_major, info.cc_minor, (double)info.memory_bytes * 1e-9);
        look_at_nvml(check, &driver, device, i);
    }
    kiln__driver_close(&driver);
}

/* Reports every profile of the simulated device, and the LLVM library that compiles hot code of kernels. Without LLVM
 * the simulated device interprets kernels, which is slower but correct. */
static void look_at_simulator(doctor *check)
{
    kiln__driver driver;
    kiln_error *why = NULL;
    if (kiln__driver_open_sim(check->engine->mem, &driver, &why) != KILN_OK) {
        say_error(check, "device", BROKEN, why, "Build kiln again.");
        kiln_error_free(why);
        return;
    }
    kiln_device_info info;
    const kiln__simulator *simulator = kiln__driver_simulator();
    kiln__profile_find_all(check->engine);
    for (size_t i = 0; simulator->profile_at(i); i++) {
        kiln__driver_device_info(&driver, (CUdevice)i, &info);
        const bool usual = !check->gpu && strcmp(simulator->profile_at(i), KILN__DEFAULT_PROFILE) == 0;
        add_finding(check, "device", FINE, "", "%s: compute capability %d.%d, %.1f GB of host memory%s%s", info.id,
                    info.cc_major, info.cc_minor, (double)info.memory_bytes * 1e-9,
                    simulator->model_at(i) ? ", estimated times" : "", usual ? "; the default without a GPU" : "");
    }
    kiln__driver_close(&driver);
    const char *library = simulator->compiler(check->engine->mem);
    if (library)
        add_finding(check, "llvm", FINE, "", "%s: compiles the often executed code of simulated kernels", library);
    else
        add_finding(
            check, "llvm", POORER,
            "With libLLVM 14, 15, 16, 18 or 19, long simulated kernels run several times as fast: apt-get install "
            "libllvm14 (Debian 12).",
            "no supported libLLVM was found: simulated kernels are interpreted");
}

/* Reports whether the driver can load the output of NVRTC. An older driver rejects PTX of a newer toolkit, but accepts
 * machine code of the same major version. */
static void compare_versions(doctor *check, int nvrtc)
{
    int driver = check->driver_version;
    if (!check->gpu)
        return;
    if (nvrtc / 1000 > driver / 1000)
        add_finding(check, "versions", BROKEN,
                    "Update the NVIDIA driver, or set KILN_NVRTC to a libnvrtc of the driver's "
                    "CUDA version.",
                    "NVRTC %d.%d is a major version newer than the driver (CUDA %d.%d), which cannot load its "
                    "code",
                    nvrtc / 1000, nvrtc % 1000 / 10, driver / 1000, driver % 1000 / 10);
    else if (nvrtc > driver)
        add_finding(
            check, "versions", POORER,
            "Update the NVIDIA driver, or set KILN_NVRTC to a libnvrtc of the driver's "
            "CUDA version.",
            "NVRTC %d.%d is newer than the driver (CUDA %d.%d): the driver would reject its PTX, so kiln uses machine "
            "code",
            nvrtc / 1000, nvrtc % 1000 / 10, driver / 1000, driver % 1000 / 10);
    else
        add_finding(check, "versions", FINE, "", "the driver (CUDA %d.%d) accepts the output of NVRTC %d.%d",
                    driver / 1000, driver % 1000 / 10, nvrtc / 1000, nvrtc % 1000 / 10);
}

/* Reports whether a small kernel compiles. NVRTC loads libnvrtc-builtins at the first compile, so only a compile shows
 * whether that library exists. */
static void look_at_builtins(doctor *check, kiln__nvrtc *nvrtc)
{
    static const char source[] = "extern \"C\" __global__ void probe(float *x) { x[threadIdx.x] = sqrtf(x[0]); }\n";
    static const char *const names[] = {"probe"};
    int archs[64];
    size_t count = kiln__nvrtc_archs(nvrtc, archs, KILN__COUNT(archs));
    kiln__compile_request request = {
        .name = "probe.cu", .source = source, .arch = count ? archs[0] : 75, .names = names, .name_count = 1};
    kiln__unit unit = {0};
    uint64_t ns = 0;
    kiln_error *why = NULL;
    if (kiln__compile_here(check->engine->mem, nvrtc, &request, NULL, 0, &unit, &ns, &why) == KILN_OK) {
        add_finding(check, "compile", FINE, "", "a small kernel compiles in %.0f ms", (double)ns * 1e-6);
        kiln__unit_free(&unit);
    } else {
        const char *message = kiln_error_message(why);
        add_finding(check, "compile", BROKEN,
                    "Reinstall NVRTC completely (libnvrtc and libnvrtc-builtins of one version in one "
                    "folder), or run " KILN__GET_NVRTC ".",
                    "a small kernel does not compile: %.*s", (int)strcspn(message, "\n"), message);
    }
    kiln_error_free(why);
}

static void look_at_compiler(doctor *check)
{
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *why = NULL;
    if (kiln__nvrtc_open(check->engine->mem, &nvrtc, &why) != KILN_OK) {
        say_error(check, "nvrtc", BROKEN, why,
                  "Run " KILN__GET_NVRTC ", or set KILN_NVRTC to the path of libnvrtc.so.");
        kiln_error_free(why);
        return;
    }
    int version = kiln__nvrtc_version(nvrtc), archs[64];
    size_t count = kiln__nvrtc_archs(nvrtc, archs, KILN__COUNT(archs));
    if (count > KILN__COUNT(archs))
        count = KILN__COUNT(archs);
    add_finding(check, "nvrtc", FINE, "", "%s, version %d.%d, sm_%d to sm_%d", kiln__nvrtc_path(nvrtc), version / 1000,
                version % 1000 / 10, count ? archs[0] : 0, count ? archs[count - 1] : 0);
    compare_versions(check, version);
    look_at_builtins(check, nvrtc);
    const char *include = kiln__nvrtc_include(nvrtc);
    if (*include)
        add_finding(check, "headers", FINE, "", "%s", include);
    else
        add_finding(check, "headers", POORER, "Run " KILN__GET_NVRTC ", or set CUDA_HOME to the toolkit's folder.",
                    "the CUDA headers were not found: sources that include them do not compile");
    kiln__nvrtc_close(nvrtc);
}

/* Reports how workers are confined. The function asks a worker, because a container may forbid mechanisms that the
 * kernel offers.
 */
static void look_at_confinement(doctor *check)
{
    static const char remedy[] =
        "Compile only sources that you trust: one with a hidden #include can make the compiler "
        "read any of your files. Confinement needs Landlock (kernel 5.13, not forbidden to the container) or user "
        "namespaces.";
    kiln_engine *engine = check->engine;
    kiln_error *why = NULL;
    char *how = NULL;
    bool confined = false;
    if (kiln__engine_nvrtc(engine, NULL) != KILN_OK)
        return; /* reported already */
    if (kiln__worker_look(engine->mem, engine->worker, engine->nvrtc, &confined, &how, &why) != KILN_OK)
        say_error(check, "confined", BROKEN, why,
                  "Install the kiln-worker of this version, or set KILN_WORKER to its path.");
    else if (confined)
        add_finding(check, "confined", FINE, "", "workers can read the CUDA headers and no other files (%s)", how);
    else
        add_finding(check, "confined", POORER, remedy, "workers can read all your files (%s)", how);
    kiln__free(engine->mem, how);
    kiln_error_free(why);
}

static void look_at_worker(doctor *check)
{
    const char *worker = check->engine->worker;
    if (check->engine->flags & KILN_NO_WORKERS)
        add_finding(check, "worker", FINE, "", "switched off: compiles run in this process");
    else if (!worker)
        add_finding(check, "worker", POORER, "Install kiln-worker, or set KILN_WORKER to its path.",
                    "kiln-worker was not found: compiles run one at a time and without a time limit");
    else if (access(worker, X_OK) != 0)
        add_finding(check, "worker", BROKEN, "Correct KILN_WORKER (or the worker option), or unset it.", "%s: %s",
                    worker, kiln__error_text(errno));
    else {
        add_finding(check, "worker", FINE, "", "%s, %u at once", worker, check->engine->jobs);
        look_at_confinement(check);
        return;
    }
    add_finding(check, "confined", POORER, "Use worker processes for compiles (kiln-worker).",
                "compiles run in this process, which can read all your files");
}

static void look_at_sandbox(doctor *check)
{
    static const char remedy[] =
        "Simulate only kernels that you trust, or use a kernel with Landlock (5.13) and seccomp, in a container that "
        "does not forbid them.";
    char how[256];
    unsigned got = kiln__confine_look(how, sizeof how);
    if (KILN__SANITIZED)
        add_finding(check, "sandbox", FINE, "", "none in this build, which has sanitizers");
    else if (!(got & KILN__CONFINED_CALLS))
        add_finding(check, "sandbox", POORER, remedy, "kernels of the simulated device run without a sandbox (%s)",
                    how);
    else if (!(got & KILN__CONFINED_FILES))
        add_finding(check, "sandbox", POORER, remedy,
                    "kernels of the simulated device run in a process that can read your files (%s)", how);
    else
        add_finding(check, "sandbox", FINE, "",
                    "kernels of the simulated device run in a process that can only read what a spec may name (%s)",
                    how);
}

static void look_at_cache(doctor *check)
{
    const char *folder = check->engine->cache_dir;
    struct stat info;
    if (!folder) {
        add_finding(check, "cache", check->engine->flags & KILN_NO_CACHE ? FINE : POORER,
                    "Set KILN_CACHE_DIR to a folder of your own.", "switched off");
    } else if (!kiln__engine_cache(check->engine)) { /* creates the folder */
        check->failed = true;
    } else if (stat(folder, &info) != 0) {
        add_finding(check, "cache", POORER, "Set KILN_CACHE_DIR to a folder that you may write to.", "%s: %s", folder,
                    kiln__error_text(errno));
    } else if (!S_ISDIR(info.st_mode)) {
        add_finding(check, "cache", POORER, "Remove the file, or set KILN_CACHE_DIR to a folder.", "%s is not a folder",
                    folder);
    } else if (info.st_uid != geteuid()) {
        add_finding(check, "cache", POORER, "Set KILN_CACHE_DIR to a folder of your own.",
                    "%s belongs to another user and is not trusted", folder);
    } else if (info.st_mode & (S_IWGRP | S_IWOTH)) {
        add_finding(check, "cache", POORER, "Remove the write permission of others: chmod go-w on that folder.",
                    "%s can be written by others and is not trusted", folder);
    } else if (access(folder, W_OK) != 0) {
        add_finding(check, "cache", POORER, "Set KILN_CACHE_DIR to a folder that you may write to.",
                    "%s is read-only: nothing new is stored", folder);
    } else {
        add_finding(check, "cache", FINE, "", "%s", folder);
    }
}

static void look_at_specs(doctor *check)
{
    const kiln_engine *engine = check->engine;
    kiln__text list = {.mem = engine->mem};
    for (size_t i = 0; i < engine->search_count; i++)
        kiln__text_printf(&list, "%s%s", i ? ", " : "", engine->search_path[i]);
    if (list.failed)
        check->failed = true;
    else if (engine->search_count > 0)
        add_finding(check, "specs", FINE, "", "by name in ., specs, %s", kiln__text_get(&list));
    else
        add_finding(check, "specs", POORER, "Set KILN_PATH to the folder of the specs.",
                    "the installed specs were not found: only . and specs are searched");
    kiln__text_free(&list);
}

static void look_at_host(doctor *check)
{
    double gigabytes = (double)kiln__host_memory() * 1e-9;
    unsigned cores = kiln__cpu_count();
    const char *vectors = "baseline vector instructions";
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        vectors = "AVX-512";
    else if (__builtin_cpu_supports("avx2"))
        vectors = "AVX2";
#endif
    add_finding(check, "host", gigabytes >= 2 ? FINE : POORER, "Give the machine or container at least 2 GB of memory.",
                "%u core%s, %.1f GB of memory, %s", cores, cores == 1 ? "" : "s", gigabytes, vectors);
}

kiln_status kiln_doctor(kiln_engine *engine, kiln_finding_fn report, void *user, kiln_error **error)
{
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, report);
    doctor check = {.engine = engine, .report = report, .user = user};
    look_at_driver(&check);
    look_at_simulator(&check);
    look_at_compiler(&check);
    look_at_worker(&check);
    look_at_sandbox(&check);
    look_at_cache(&check);
    look_at_specs(&check);
    look_at_host(&check);
    return check.failed ? kiln__fail_memory(error) : KILN_OK;
}
