#include <pthread.h>

#include "engine.h"
#include "core_internal.h"
#include "scratch.h"
#include "sim.h"

static const char *const variables[] = {"KILN_DEVICE",  "KILN_CACHE_DIR", "KILN_PATH", "KILN_INCLUDE",  "KILN_WORKER",
                                        "KILN_LIBCUDA", "FAKE_COUNT",     "FAKE_INIT", "XDG_CACHE_HOME"};

/* Unsets the variables that the engine reads, and hides the machine's GPUs. */
static void reset(void)
{
    for (size_t i = 0; i < KILN__COUNT(variables); i++)
        unsetenv(variables[i]);
    setenv("KILN_LIBCUDA", "/nowhere/libcuda.so.1", 1);
}

static kiln_options options_for(const char *device)
{
    return (kiln_options){.size = sizeof(kiln_options), .device = device, .flags = KILN_NO_CACHE};
}

static kiln_engine *open_engine(const kiln_options *options)
{
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_engine_open(options, &engine, &error), error);
    return engine;
}

static void open_fails(const kiln_options *options, kiln_status want, const char *message)
{
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    CHECK(kiln_engine_open(options, &engine, &error) == want);
    CHECK(engine == NULL);
    CHECK_TEXT(kiln_error_message(error), message);
    kiln_error_free(error);
}

static void test_options(void)
{
    reset();
    kiln_options options = {0};
    open_fails(&options, KILN_ERROR_ARGUMENT, "kiln_engine_open: options.size is 0; set options.size = sizeof options");
    options = options_for("sim");
    options.flags = 1u << 31;
    open_fails(&options, KILN_ERROR_ARGUMENT, "kiln_engine_open: options.flags has unknown bits 0x80000000");
    options = options_for("sim");
    options.compile_timeout = -1;
    open_fails(&options, KILN_ERROR_ARGUMENT, "kiln_engine_open: options.compile_timeout is -1; it must be 0 or more");
    kiln_allocator none = {0};
    options = options_for("sim");
    options.allocator = &none;
    open_fails(&options, KILN_ERROR_ARGUMENT, "kiln_engine_open: options.allocator->resize is NULL");
    CHECK(kiln_engine_open(NULL, NULL, NULL) == KILN_ERROR_ARGUMENT);
    char set[] = "small";
    options = options_for("sim");
    options.size_set = set;
    kiln_engine *engine = open_engine(&options);
    set[0] = '?'; /* the library must have copied the text */
    CHECK_TEXT(engine->size_set, "small");
    kiln_engine_close(engine);
    struct {
        kiln_options known;
        unsigned long more;
    } newer = {options_for("sim"), 0};
    newer.known.size = sizeof newer;
    kiln_engine_close(open_engine(&newer.known));
    newer.more = 1;
    open_fails(&newer.known, KILN_ERROR_UNSUPPORTED,
               "kiln_engine_open: options uses an option that this library (" KILN_VERSION
               ") does not know: it is older "
               "than the header that the caller was compiled with");
    options = options_for("sim");
    options.size = offsetof(kiln_options, cache_dir); /* the size that an older header had */
    options.flags = 1u << 31;
    kiln_engine_close(open_engine(&options));
    kiln_engine_close(NULL);
    CHECK_TEXT(kiln_version(), KILN_VERSION);
}

static void test_device_names(void)
{
    reset();
    kiln_options options = options_for("gpu0");
    open_fails(&options, KILN_ERROR_ARGUMENT, "device 'gpu0': write cuda:0, sim or sim:PROFILE");
    static const char *const bad[] = {"cuda:",     "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999999999999",
                                      "simulated", ""};
    for (size_t i = 0; i < KILN__COUNT(bad); i++) {
        options.device = bad[i];
        kiln_engine *engine = NULL;
        CHECK(kiln_engine_open(&options, &engine, NULL) == KILN_ERROR_ARGUMENT);
    }
    options.device = "sim:generik";
    open_fails(&options, KILN_ERROR_ARGUMENT,
               "device 'sim:generik': unknown profile; did you mean "
               "sim:generic?; `kiln devices` lists them");
    setenv("KILN_DEVICE", "gpu1", 1);
    options.device = NULL;
    open_fails(&options, KILN_ERROR_ARGUMENT, "device 'gpu1': write cuda:0, sim or sim:PROFILE");
    options.device = "sim"; /* the option takes precedence over the variable */
    kiln_engine_close(open_engine(&options));
}

static const kiln_setting *device_setting(const kiln_engine *engine, const char *name)
{
    for (size_t i = 0; i < engine->device_setting_count; i++)
        if (strcmp(engine->device_settings[i].name, name) == 0)
            return &engine->device_settings[i];
    return NULL;
}

static void test_simulated(void)
{
    reset();
    static const struct {
        const char *name, *id;
        int cc;
    } devices[] = {{"sim", "sim:generic", 90}, {"sim:generic", "sim:generic", 90}, {"sim:ampere", "sim:ampere", 80}};
    for (size_t i = 0; i < KILN__COUNT(devices); i++) {
        kiln_options options = options_for(devices[i].name);
        kiln_engine *engine = open_engine(&options);
        kiln_error *error = NULL;
        const kiln_device_info *info = NULL;
        CHECK(!engine->device_open); /* the engine opens the device when it first needs it */
        CHECK_OK(kiln_engine_device(engine, &info, &error), error);
        CHECK(engine->device_open && engine->driver.simulator && !engine->want_cubin);
        CHECK_TEXT(info->id, devices[i].id);
        CHECK(engine->arch == devices[i].cc);
        const kiln_setting *cc = device_setting(engine, "device.cc"), *sim = device_setting(engine, "device.simulated");
        CHECK(cc && cc->value.kind == KILN_INT && cc->value.as.i == devices[i].cc);
        CHECK(sim && sim->value.kind == KILN_BOOL && sim->value.as.i == 1);
        kiln_engine_close(engine);
    }
    /* A process has one simulated device: another profile is refused while the first device is open. */
    kiln_options options = options_for("sim:ampere");
    kiln_engine *first = open_engine(&options);
    options.device = "sim";
    kiln_engine *second = open_engine(&options);
    kiln_error *error = NULL;
    CHECK_OK(kiln__engine_device(first, &error), error);
    CHECK(kiln__engine_device(second, &error) == KILN_ERROR_NO_DEVICE);
    CHECK_TEXT(kiln_error_message(error), "the simulated device of this process is in use as sim:ampere and cannot be "
                                          "sim:generic at the same time");
    kiln_error_free(error);
    error = NULL;
    kiln_engine_close(first);
    CHECK_OK(kiln__engine_device(second, &error), error); /* the first device is closed now */
    kiln_engine_close(second);
}

typedef struct heard {
    char text[1024];
    int count;
} heard;
static void hear(void *user, kiln_log_level level, const char *message)
{
    heard *got = user;
    if (level == KILN_LOG_INFO) {
        snprintf(got->text, sizeof got->text, "%s", message);
        got->count++;
    }
}

static void test_choice(void)
{
    reset();
    heard got = {.count = 0};
    kiln_options options = options_for(NULL);
    options.log = hear;
    options.log_user = &got;
    kiln_engine *engine = open_engine(&options);
    kiln_error *error = NULL;
    CHECK_OK(kiln__engine_device(engine, &error), error);
    CHECK(engine->info.simulated && got.count == 1);
    CHECK(strncmp(got.text, "running on the simulated device, as sim:", 40) == 0);
    CHECK(strstr(got.text, ": The CUDA driver library /nowhere/libcuda.so.1 was not") != NULL);
    kiln_engine_close(engine);
    /* If the caller requests a GPU, the simulated device does not replace it. */
    setenv("KILN_DEVICE", "cuda:0", 1);
    engine = open_engine(&options);
    CHECK(kiln__engine_device(engine, &error) == KILN_ERROR_NO_DEVICE);
    kiln_error_free(error);
    error = NULL;
    CHECK(!engine->device_open);
    kiln_engine_close(engine);
    setenv("KILN_LIBCUDA", FAKE_CUDA, 1);
    options.device = "cuda:3";
    engine = open_engine(&options);
    CHECK(kiln__engine_device(engine, &error) == KILN_ERROR_NO_DEVICE);
    CHECK_TEXT(kiln_error_message(error), "there is no device cuda:3: this machine has 1 GPU, cuda:0 to cuda:0; `kiln "
                                          "devices` lists them");
    kiln_error_free(error);
    kiln_engine_close(engine);
}

static void named(const char *device, const char *id)
{
    kiln_options options = options_for(device);
    options.search_path = KILN_SOURCE_DIR "/specs";
    kiln_engine *engine = open_engine(&options);
    const kiln_device_info *info = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_engine_device(engine, &info, &error), error);
    CHECK_TEXT(info ? info->id : "", id);
    kiln_engine_close(engine);
}

/* Tests the default without a GPU: the profile with which times are estimated. For an architecture it is the nearest
 * such profile. */
static void test_estimating(void)
{
    reset();
    named(NULL, "sim:h200");
    setenv("KILN_DEVICE", "", 1);
    named(NULL, "sim:h200");
    static const struct {
        const char *name, *id;
    } near[] = {{"sim:sm_50", "sim:t4"},        {"sim:sm_75", "sim:t4"},      {"sim:sm_80", "sim:a100"},
                {"sim:sm_86", "sim:rtx4090"},   {"sim:sm_89", "sim:rtx4090"}, {"sim:sm_90", "sim:h200"},
                {"sim:sm_90a", "sim:h200"},     {"sim:sm_100a", "sim:b200"},  {"sim:sm_103f", "sim:b200"},
                {"sim:sm_120a", "sim:rtx5090"}, {"h200", "sim:h200"},         {"generic", "sim:generic"}};
    for (size_t i = 0; i < KILN__COUNT(near); i++)
        named(near[i].name, near[i].id);
    static const char *const bad[] = {"sim:sm_",     "sim:sm_a",   "sim:sm_90b", "sim:sm_x",
                                      "sim:sm_8000", "sim:sm_80x", "sim:sm-80"};
    for (size_t i = 0; i < KILN__COUNT(bad); i++) {
        kiln_options options = options_for(bad[i]);
        kiln_engine *engine = NULL;
        CHECK(kiln_engine_open(&options, &engine, NULL) == KILN_ERROR_ARGUMENT);
    }
    /* A caller that names no device gets the simulated device that is in use. */
    kiln_options options = options_for("sim:ampere");
    kiln_engine *engine = open_engine(&options);
    kiln_error *error = NULL;
    CHECK_OK(kiln__engine_device(engine, &error), error);
    named(NULL, "sim:ampere");
    kiln_engine_close(engine);
    named(NULL, "sim:h200");
}

static int releases;
static CUresult CUDAAPI count_release(CUdevice device)
{
    (void)device;
    releases++;
    return CUDA_SUCCESS;
}
static CUresult CUDAAPI refuse_retain(CUcontext *context, CUdevice device)
{
    (void)context, (void)device;
    return CUDA_ERROR_DEVICE_UNAVAILABLE;
}

/* If a context cannot be retained again, closing the engine does not release it for a second time. */
static void test_renewing(void)
{
    reset();
    kiln_options options = options_for("sim:h200");
    kiln_engine *engine = open_engine(&options);
    kiln_error *error = NULL;
    CHECK_OK(kiln__engine_device(engine, &error), error);
    const kiln__driver driver = engine->driver;
    CHECK_OK(kiln__engine_renew(engine, &error), error);
    const CUdevice device = engine->device;
    releases = 0;
    engine->driver.cuDevicePrimaryCtxRelease_ = count_release;
    engine->driver.cuDevicePrimaryCtxRetain_ = refuse_retain;
    CHECK(kiln__engine_renew(engine, &error) == KILN_ERROR_DEVICE);
    kiln_error_free(error);
    CHECK(releases == 1 && !engine->context);
    kiln_engine_close(engine);
    CHECK(releases == 1);
    /* the engine's release was only counted, so the context is still retained */
    CHECK(driver.cuDevicePrimaryCtxRelease_(device) == CUDA_SUCCESS);
}

static void test_context(void)
{
    reset();
    kiln__driver driver;
    kiln_error *error = NULL;
    CUcontext context = NULL, current = NULL, previous = NULL;
    CHECK_OK(kiln__driver_open_sim(NULL, &driver, &error), error);
    CHECK(kiln__sim_profile("ampere"));
    CUdevice device;
    CHECK(driver.cuDeviceGet_(&device, 0) == CUDA_SUCCESS);
    CHECK(driver.cuDevicePrimaryCtxRetain_(&context, device) == CUDA_SUCCESS);
    kiln_options options = options_for(NULL);
    options.context = context;
    kiln_engine *engine = open_engine(&options);
    CHECK(engine->device_open && !engine->owns_context && engine->context == context);
    CHECK_TEXT(engine->info.id, "sim:ampere"); /* the id comes from the profile of the context, not from the default */
    CHECK_OK(kiln__engine_enter(engine, &previous, &error), error);
    CHECK(previous == NULL);
    CHECK(driver.cuCtxGetCurrent_(&current) == CUDA_SUCCESS && current == context);
    CUcontext inner = NULL;
    CHECK_OK(kiln__engine_enter(engine, &inner, &error), error);
    CHECK(inner == context);
    kiln__engine_leave(engine, inner);
    CHECK(driver.cuCtxGetCurrent_(&current) == CUDA_SUCCESS && current == context);
    kiln__engine_leave(engine, previous);
    CHECK(driver.cuCtxGetCurrent_(&current) == CUDA_SUCCESS && current == NULL);
    kiln_engine_close(engine);
    /* The context still belongs to the caller, who alone releases it. */
    CHECK(driver.cuCtxPushCurrent_(context) == CUDA_SUCCESS);
    CHECK(driver.cuCtxSynchronize_() == CUDA_SUCCESS);
    CHECK(driver.cuCtxPopCurrent_(&current) == CUDA_SUCCESS);
    CHECK(driver.cuDevicePrimaryCtxRelease_(device) == CUDA_SUCCESS);
    CHECK(kiln__sim_profile(NULL));
    options.device = "sim";
    options.context = (CUcontext)(uintptr_t)0x1230;
    open_fails(&options, KILN_ERROR_DEVICE,
               "kiln_options.context: cuCtxPushCurrent: CUDA_ERROR_INVALID_CONTEXT "
               "(invalid device context)");
}

typedef struct seen_devices {
    kiln_device_info infos[16];
    size_t count, most;
} seen_devices;
static int see_device(void *user, const kiln_device_info *info)
{
    seen_devices *seen = user;
    if (seen->count < 16)
        seen->infos[seen->count++] = *info;
    return seen->count == seen->most;
}

static void test_devices(void)
{
    reset();
    kiln_options options = options_for("sim");
    kiln_engine *engine = open_engine(&options);
    kiln_error *error = NULL;
    seen_devices seen = {0};
    CHECK_OK(kiln_devices(engine, see_device, &seen, &error), error);
    CHECK(seen.count == 9); /* the built-in devices, and the devices of the folder `devices` */
    const kiln_device_info *infos = seen.infos;
    CHECK_TEXT(infos[0].id, "sim:generic");
    CHECK_TEXT(infos[1].id, "sim:ampere");
    CHECK_TEXT(infos[2].id, "sim:a100");
    CHECK_TEXT(infos[8].id, "sim:t4");
    CHECK(infos[8].cc_major == 7 && infos[8].cc_minor == 5 && infos[8].sm_count == 40);
    seen = (seen_devices){.most = 2};
    CHECK_OK(kiln_devices(engine, see_device, &seen, &error), error);
    CHECK(seen.count == 2); /* both devices are listed, and no other */
    CHECK(kiln_devices(engine, NULL, NULL, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    kiln_engine_close(engine);
}

static void test_memory(void)
{
    reset();
    setenv("KILN_SIM_MEMORY", "1000000", 1);
    kiln_options options = options_for("sim");
    kiln_engine *engine = open_engine(&options);
    kiln_error *error = NULL;
    CHECK_OK(kiln__engine_check_memory(engine, 1000000, false, "matmul", &error), error);
    CHECK_OK(kiln__engine_check_memory(engine, 1000000, true, "matmul", &error), error);
    CHECK(kiln__engine_check_memory(engine, 1000001, false, "matmul", &error) == KILN_ERROR_DEVICE_MEMORY);
    CHECK_TEXT(kiln_error_message(error), "matmul: 0.001 GB of buffers on the device, where at most 0.001 GB may be "
                                          "used; choose smaller sizes or free memory of the device");
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln__engine_check_memory(engine, UINT64_MAX, true, "matmul", &error) == KILN_ERROR_REFUSED);
    kiln_error_free(error);
    error = NULL;
    kiln_engine_close(engine);
    options.memory_limit = 5000000000u;
    engine = open_engine(&options);
    CHECK(kiln__engine_check_memory(engine, 6000000000u, true, "matmul", &error) == KILN_ERROR_REFUSED);
    CHECK_TEXT(kiln_error_message(error), "matmul: 6.000 GB of buffers on the host, where at most 5.000 GB may be "
                                          "used; choose smaller sizes or raise the memory limit");
    kiln_error_free(error);
    kiln_engine_close(engine);
    unsetenv("KILN_SIM_MEMORY");
}

static kiln_status nothing(void *user, kiln_call *call)
{
    (void)user;
    (void)call;
    return KILN_OK;
}

static void test_hosts(void)
{
    reset();
    kiln_options options = options_for("sim");
    kiln_engine *engine = open_engine(&options);
    kiln_error *error = NULL;
    int user = 0;
    CHECK(kiln__engine_host(engine, "captured", KILN_HOST_INPUT) != NULL);
    CHECK_OK(kiln_register_host(engine, "my_input", KILN_HOST_INPUT | KILN_HOST_STEP, nothing, &user, &error), error);
    const kiln__host *found = kiln__engine_host(engine, "my_input", KILN_HOST_STEP);
    CHECK(found && found->user == &user && found->function == nothing);
    CHECK(kiln__engine_host(engine, "my_input", KILN_HOST_REFERENCE) == NULL);
    CHECK(kiln_register_host(engine, "my_input", KILN_HOST_INPUT, nothing, NULL, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error), "kiln_register_host: a host function 'my_input' is registered already");
    kiln_error_free(error);
    CHECK(kiln_register_host(engine, "captured", KILN_HOST_INPUT, nothing, NULL, NULL) == KILN_ERROR_ARGUMENT);
    CHECK(kiln_register_host(engine, "2nd", KILN_HOST_INPUT, nothing, NULL, NULL) == KILN_ERROR_ARGUMENT);
    CHECK(kiln_register_host(engine, "other", 0, nothing, NULL, NULL) == KILN_ERROR_ARGUMENT);
    CHECK(kiln_register_host(engine, "other", 16, nothing, NULL, NULL) == KILN_ERROR_ARGUMENT);
    CHECK(kiln_register_host(engine, "other", KILN_HOST_SHIPPED, nothing, NULL, NULL) == KILN_ERROR_ARGUMENT);
    CHECK(kiln_register_host(engine, "other", KILN_HOST_INPUT, NULL, NULL, NULL) == KILN_ERROR_ARGUMENT);
    error = NULL;
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%d", i);
        CHECK_OK(kiln_register_host(engine, name, KILN_HOST_STEP, nothing, NULL, &error), error);
    }
    /* The process that measures has the shipped functions too. `my_input` is not shipped. */
    CHECK_TEXT(kiln__engine_own_host(engine), "my_input");
    CHECK(kiln__engine_host_is_shipped(engine, "captured") && !kiln__engine_host_is_shipped(engine, "my_input"));
    CHECK(!kiln__engine_host_is_shipped(engine, "no_such"));
    CHECK_OK(kiln_register_host(engine, "theirs", KILN_HOST_STEP | KILN_HOST_SHIPPED, nothing, NULL, &error), error);
    CHECK(kiln__engine_host_is_shipped(engine, "theirs"));
    CHECK(kiln__engine_host(engine, "theirs", KILN_HOST_STEP) && !kiln__engine_host(engine, "theirs", KILN_HOST_INPUT));
    CHECK_TEXT(found->name, "my_input"); /* the function is still there after the list has grown */
    kiln__host_lookup lookup = kiln__engine_hosts(engine);
    CHECK(lookup.known(lookup.user, "function_99", KILN_HOST_STEP));
    CHECK(!lookup.known(lookup.user, "function_100", KILN_HOST_STEP));
    const char *names[200];
    CHECK(lookup.names(lookup.user, names, 3) == 3);
    CHECK(lookup.names(lookup.user, names, 200) == 102 + kiln__builtin_host_count);
    kiln_engine_close(engine);
}

/* ---- doctor ---- */

typedef struct findings {
    int count, broken;
    char cache[256], driver[512], remedy[512];
} findings;
static int take(void *user, const kiln_finding *finding)
{
    findings *got = user;
    got->count++;
    CHECK(finding->topic && *finding->topic && finding->found && *finding->found && finding->remedy);
    CHECK(finding->ok == (*finding->remedy == '\0'));
    CHECK(!(finding->ok && finding->needed));
    got->broken += !finding->ok && finding->needed;
    if (strcmp(finding->topic, "cache") == 0)
        snprintf(got->cache, sizeof got->cache, "%s", finding->found);
    if (strcmp(finding->topic, "driver") == 0) {
        snprintf(got->driver, sizeof got->driver, "%s", finding->found);
        snprintf(got->remedy, sizeof got->remedy, "%s", finding->remedy);
    }
    return 0;
}

static void test_doctor(void)
{
    reset();
    scratch_enter();
    findings got = {0};
    kiln_error *error = NULL;
    kiln_options options = {.size = sizeof options, .device = "sim", .cache_dir = "kept"};
    kiln_engine *engine = open_engine(&options);
    CHECK_OK(kiln_doctor(engine, take, &got, &error), error);
    CHECK(got.count >= 8);
    CHECK_TEXT(got.cache, "kept");
    CHECK_TEXT(got.driver, "The CUDA driver library /nowhere/libcuda.so.1 was not found");
    CHECK_TEXT(got.remedy, "Install the NVIDIA driver (it is not part of the toolkit), start the container with the "
                           "GPU, or use the simulated device (--device sim).");
    CHECK(kiln_doctor(engine, NULL, NULL, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    error = NULL;
    kiln_engine_close(engine);
    CHECK(chmod("kept", 0777) == 0);
    engine = open_engine(&options);
    CHECK_OK(kiln_doctor(engine, take, &got, &error), error);
    CHECK_TEXT(got.cache, "kept can be written by others and is not trusted");
    kiln_engine_close(engine);
    options.worker = "kiln-worker"; /* a worker process could put precompiled headers into the cache */
    engine = open_engine(&options);
    CHECK(rmdir("kept/pch/temporary") != 0 && rmdir("kept/pch") != 0);
    kiln_status opened = kiln__engine_compiler(engine, &error);
    kiln_error_free(error); /* the error is expected if this machine has no NVRTC */
    error = NULL;
    CHECK(opened == KILN_OK || opened == KILN_ERROR_NO_COMPILER);
    CHECK(access("kept/pch", F_OK) != 0); /* a refused folder stays unchanged */
    kiln_engine_close(engine);
    scratch_file("file", "x");
    options.cache_dir = "file";
    engine = open_engine(&options);
    CHECK_OK(kiln_doctor(engine, take, &got, &error), error);
    CHECK_TEXT(got.cache, "file is not a folder");
    kiln_engine_close(engine);
    scratch_leave();
}

/* ---- the cache's public functions ---- */

static int count_entry(void *user, const kiln_cache_entry *entry)
{
    (void)entry;
    ++*(int *)user;
    return 0;
}

/* The cache through the public functions: listing, verifying, showing, removing. */
static void test_cache(void)
{
    reset();
    scratch_enter();
    kiln_error *error = NULL;
    int entries = 0;
    uint64_t removed = 7, kept = 7;
    kiln_options options = {.size = sizeof options, .device = "sim", .cache_dir = "kept"};
    kiln_engine *engine = open_engine(&options);
    CHECK_TEXT(kiln_cache_dir(engine), "kept");
    kiln__cache *cache = kiln__engine_cache(engine);
    CHECK(cache != NULL && kiln__engine_cache(engine) == cache);
    kiln__cache_key key = {.material = "material",
                           .length = 8,
                           .source = "a.cu",
                           .arch = "sm_90",
                           .compiler = "nvrtc 13.0",
                           .options = ""};
    kiln__unit unit = {.ptx = "ptx", .ptx_length = 3};
    kiln__cache_put(cache, &key, &unit);
    CHECK_OK(kiln_cache_list(engine, count_entry, &entries, &error), error);
    CHECK(entries == 1);
    CHECK_OK(kiln_cache_verify(engine, count_entry, &entries, &error), error);
    CHECK(entries == 2);
    CHECK(kiln_cache_list(engine, NULL, NULL, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    error = NULL;
    CHECK_OK(kiln_cache_gc(engine, UINT64_MAX, &removed, &kept, &error), error);
    CHECK(removed == 0 && kept > 0);
    CHECK_OK(kiln_cache_clear(engine, &removed, &error), error);
    CHECK(removed == 1);
    entries = 0;
    CHECK_OK(kiln_cache_list(engine, count_entry, &entries, &error), error);
    CHECK(entries == 0);
    kiln_engine_close(engine);
    options.flags = KILN_NO_CACHE;
    engine = open_engine(&options);
    CHECK(kiln_cache_dir(engine) == NULL && kiln__engine_cache(engine) == NULL);
    CHECK(kiln_cache_list(engine, count_entry, &entries, &error) == KILN_ERROR_ARGUMENT);
    CHECK_TEXT(kiln_error_message(error), "the cache is switched off");
    kiln_error_free(error);
    kiln_engine_close(engine);
    scratch_leave();
}

/* ---- threads, and shortage of memory ---- */

static void *use_engine(void *user)
{
    kiln_engine *engine = user;
    kiln__driver *driver = &engine->driver;
    long bad = 0;
    for (int i = 0; i < 50; i++) {
        CUcontext previous;
        CUdeviceptr pointer = 0;
        unsigned got = 0;
        if (kiln__engine_enter(engine, &previous, NULL) != KILN_OK)
            return (void *)1;
        bad += driver->cuMemAlloc_(&pointer, 64) != CUDA_SUCCESS;
        bad += driver->cuMemsetD32Async_(pointer, (unsigned)i, 16, NULL) != CUDA_SUCCESS;
        bad += driver->cuMemcpyDtoH_(&got, pointer, 4) != CUDA_SUCCESS;
        bad += got != (unsigned)i;
        bad += driver->cuMemFree_(pointer) != CUDA_SUCCESS;
        kiln__engine_leave(engine, previous);
        bad += kiln__engine_host(engine, "captured", KILN_HOST_INPUT) == NULL;
    }
    return bad ? (void *)1 : NULL;
}

static void test_threads(void)
{
    reset();
    kiln_options options = options_for("sim");
    kiln_engine *engines[2] = {open_engine(&options), open_engine(&options)};
    pthread_t threads[4]; /* two engines, each opened by two threads at the same time */
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, use_engine, engines[i % 2]) == 0);
    for (int i = 0; i < 4; i++) {
        void *bad = NULL;
        pthread_join(threads[i], &bad);
        CHECK(bad == NULL);
    }
    CHECK(engines[0]->context == engines[1]->context); /* both engines use the primary context of the device */
    kiln_engine_close(engines[0]);
    CHECK(use_engine(engines[1]) == NULL); /* the primary context was retained once more */
    kiln_engine_close(engines[1]);
}

/* Fails the first, second, ... allocation of kiln_engine_open() and of the registration of host functions. */
static void test_oom(void)
{
    reset();
    setenv("KILN_PATH", "/tmp:/var", 1);
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_options options = options_for("sim");
        options.allocator = &mem;
        options.search_path = "a:b::c";
        kiln_engine *engine = NULL;
        kiln_error *error = NULL;
        kiln_status status = kiln_engine_open(&options, &engine, &error);
        CHECK(status == KILN_OK || (oom.failed && status == KILN_ERROR_MEMORY && !engine));
        if (status == KILN_OK) {
            status = kiln__engine_device(engine, &error);
            CHECK(status == KILN_OK || oom.failed);
            kiln_error_free(error);
            error = NULL;
            for (int i = 0; i < 20; i++) {
                char name[16];
                snprintf(name, sizeof name, "f%d", i);
                status = kiln_register_host(engine, name, KILN_HOST_STEP, nothing, NULL, NULL);
                CHECK(status == KILN_OK || (oom.failed && status == KILN_ERROR_MEMORY));
            }
            CHECK(kiln__engine_check_memory(engine, UINT64_MAX, true, "x", &error) != KILN_OK);
        }
        kiln_error_free(error);
        kiln_engine_close(engine);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    reset();
}

static const check_case cases[] = {{"options", test_options},
                                   {"device names", test_device_names},
                                   {"simulated device", test_simulated},
                                   {"estimated times by default", test_estimating},
                                   {"choice of a device", test_choice},
                                   {"the caller's context", test_context},
                                   {"a context that cannot be renewed", test_renewing},
                                   {"list of devices", test_devices},
                                   {"memory limits", test_memory},
                                   {"host functions", test_hosts},
                                   {"doctor", test_doctor},
                                   {"cache", test_cache},
                                   {"threads", test_threads},
                                   {"out of memory", test_oom}};
KILN_SUITE("core engine", cases)
