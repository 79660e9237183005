#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "driver_internal.h"
#include "sim.h"

static const char *const knobs[] = {"FAKE_INIT",    "FAKE_COUNT",   "FAKE_COUNT_RESULT",
                                    "FAKE_VERSION", "KILN_LIBCUDA", "CUDA_VISIBLE_DEVICES"};

static void reset(void)
{
    for (size_t i = 0; i < KILN__COUNT(knobs); i++)
        unsetenv(knobs[i]);
}

/* Opens the fake with NAME=VALUE set. Compares the start of the message and a text that the rest must contain. */
static void fails(const char *library, const char *name, const char *value, int cuda, const char *start,
                  const char *inside)
{
    reset();
    setenv("KILN_LIBCUDA", library, 1);
    if (name)
        setenv(name, value, 1);
    kiln__driver driver = {0};
    kiln_error *error = NULL;
    CHECK(kiln__driver_open_cuda(NULL, &driver, &error) == KILN_ERROR_NO_DEVICE);
    const char *message = kiln_error_message(error);
    CHECK(kiln_error_cuda(error) == cuda);
    if (strncmp(message, start, strlen(start)) != 0 || !strstr(message, inside) || strchr(message, '\n'))
        CHECK_TEXT(message, start);
    CHECK(driver.library == NULL);
    kiln_error_free(error);
    reset();
}

static void test_opens(void)
{
    reset();
    setenv("KILN_LIBCUDA", FAKE_CUDA, 1);
    setenv("FAKE_VERSION", "12040", 1);
    kiln__driver driver = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__driver_open_cuda(NULL, &driver, &error), error);
    CHECK(driver.version == 12040);
    CHECK(!driver.simulator);
    CHECK_TEXT(driver.path, FAKE_CUDA);
    CHECK(driver.cuLaunchKernel_ != NULL);
    /* The table must have the exported function, because cuGetProcAddress returns a function with a newer signature for
     * this name. */
    CHECK(driver.cuCtxSynchronize_() == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(driver.cuFuncGetParamInfo_ == NULL); /* the fake driver lacks this function, which is optional */
    kiln__driver_close(&driver);
    CHECK(driver.cuLaunchKernel_ == NULL);
    reset();
}

/* Tests that every failure of a driver has a message with its cause and its remedy. */
static void test_fails(void)
{
    fails("/nowhere/libcuda.so.1", NULL, NULL, 0, "The CUDA driver library /nowhere/libcuda.so.1 was not found. ",
          "Install the NVIDIA driver");
    fails(KILN_SOURCE_DIR "/tests/driver/test_load.c", NULL, NULL, 0, "The CUDA driver library ", "cannot be loaded");
    fails(FAKE_CUDA_OLD, "FAKE_VERSION", "10020", 0, "The CUDA driver ", "(for CUDA 10.2) is too old: it lacks cu");
    static const struct {
        CUresult result;
        const char *inside;
    } results[] = {
        {CUDA_ERROR_STUB_LIBRARY, "LD_LIBRARY_PATH"},
        {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "Reboot"},
        {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "cuda-compat"},
        {CUDA_ERROR_SYSTEM_NOT_READY, "nvidia-fabricmanager"},
        {CUDA_ERROR_DEVICE_UNAVAILABLE, "nvidia-smi"},
        {CUDA_ERROR_OUT_OF_MEMORY, "ulimit"},
        {CUDA_ERROR_MPS_CONNECTION_FAILED, "MPS"},
        {CUDA_ERROR_OPERATING_SYSTEM, "dmesg"},
        {CUDA_ERROR_DEVICE_NOT_LICENSED, "licence"},
    };
    for (size_t i = 0; i < KILN__COUNT(results); i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", (int)results[i].result);
        fails(FAKE_CUDA, "FAKE_INIT", text, (int)results[i].result, "", results[i].inside);
        fails(FAKE_CUDA, "FAKE_COUNT_RESULT", text, (int)results[i].result, "", results[i].inside);
    }
    fails(FAKE_CUDA, "FAKE_INIT", "100", CUDA_ERROR_NO_DEVICE, "", "nvidia-smi");
    fails(FAKE_CUDA, "FAKE_COUNT", "0", CUDA_ERROR_NO_DEVICE, "", "nvidia-smi");
    fails(FAKE_CUDA, "FAKE_INIT", "999", CUDA_ERROR_UNKNOWN, "", "nvidia-smi");
}

static void explains(CUresult result, const char *node, const char *want)
{
    kiln__text text = {0};
    kiln__driver_explain(result, "libcuda.so.1", node, &text);
    CHECK_TEXT(kiln__text_get(&text), want);
    kiln__text_free(&text);
}

static void test_nodes(void)
{
    reset();
    explains(CUDA_ERROR_NO_DEVICE, "/nowhere/nvidiactl",
             "The CUDA driver libcuda.so.1 is installed but there is no /nowhere/nvidiactl (No such file or "
             "directory). Load the kernel module (`modprobe nvidia`, `nvidia-smi`), or start the container with the "
             "GPU (`--gpus all`).");
    explains(CUDA_ERROR_NO_DEVICE, "/dev/null",
             "The CUDA driver libcuda.so.1 finds no GPU. Check `nvidia-smi -L` and "
             "`dmesg`.");
    explains(CUDA_ERROR_UNKNOWN, "/dev/null",
             "The CUDA driver libcuda.so.1 does not start (error 999). Check "
             "`nvidia-smi` and `dmesg`; a reboot resets a lost GPU.");
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    explains(CUDA_ERROR_NO_DEVICE, "/dev/null",
             "The CUDA driver libcuda.so.1 shows no GPU because CUDA_VISIBLE_DEVICES is '7'. Unset it, or name a GPU "
             "that `nvidia-smi -L` lists.");
    reset();
    char path[] = "/tmp/kiln-node-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    CHECK(chmod(path, 0) == 0);
    char want[512];
    snprintf(want, sizeof want,
             "This user may not open %s, which the CUDA driver libcuda.so.1 needs. Join the group "
             "that owns it (`ls -l %s`), or start the container with the GPU.",
             path, path);
    bool root = geteuid() == 0; /* root may open files in spite of every mode */
    CHECK(!root || seteuid(65534) == 0);
    explains(CUDA_ERROR_NO_DEVICE, path, want);
    CHECK(!root || seteuid(0) == 0);
    unlink(path);
}

static void test_fail(void)
{
    kiln__driver driver = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__driver_open_sim(NULL, &driver, &error), error);
    CHECK(driver.simulator);
    CHECK_TEXT(driver.path, "built-in");
    CHECK(kiln__driver_fail(&driver, NULL, CUDA_ERROR_OUT_OF_MEMORY, &error, "cuMemAlloc of %d bytes", 7) ==
          KILN_ERROR_DEVICE_MEMORY);
    CHECK_TEXT(kiln_error_message(error), "cuMemAlloc of 7 bytes: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    CHECK(kiln_error_cuda(error) == CUDA_ERROR_OUT_OF_MEMORY);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln__driver_fail(&driver, NULL, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, &error, "launch") ==
          KILN_ERROR_LAUNCH);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln__driver_fail(&driver, NULL, CUDA_ERROR_NOT_SUPPORTED, NULL, "launch") == KILN_ERROR_UNSUPPORTED);
    CHECK(kiln__driver_fail(&driver, NULL, (CUresult)12345, &error, "launch") == KILN_ERROR_DEVICE);
    CHECK_TEXT(kiln_error_message(error), "launch: an error without a name (no description)");
    kiln_error_free(error);
    CHECK(kiln__driver_is_sticky(CUDA_ERROR_ILLEGAL_ADDRESS));
    CHECK(!kiln__driver_is_sticky(CUDA_ERROR_INVALID_VALUE));
    kiln__driver_close(&driver);
}

static void test_info(void)
{
    kiln__driver driver = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__driver_open_sim(NULL, &driver, &error), error);
    kiln_device_info info;
    kiln__driver_device_info(&driver, 0, &info);
    CHECK_TEXT(info.id, "sim:generic");
    CHECK_TEXT(info.name, "Kiln simulated device (generic)");
    CHECK(info.simulated == 1 && info.cc_major == 9 && info.cc_minor == 0 && info.sm_count == 132);
    CHECK(info.driver_version == 0);
    CHECK(info.shared_per_block == 49152 && info.shared_per_block_optin == 232448);
    CHECK(info.memory_bytes > 0);
    CHECK(info.peak_flops > 66.8e12 && info.peak_flops < 67.0e12);        /* 132 * 128 * 2 * 1.98e9 */
    CHECK(info.peak_bandwidth > 4.9e12 && info.peak_bandwidth < 4.95e12); /* 2 * 3.201e9 * 6144 / 8 */
    CHECK(kiln__peak_flops(&info, KILN_UNIT_FP32) == info.peak_flops);
    CHECK(kiln__peak_flops(&info, KILN_UNIT_FP64) == info.peak_flops / 2);
    CHECK(kiln__peak_flops(&info, KILN_UNIT_TENSOR_FP16) == info.peak_flops * 16);
    CHECK(kiln__peak_flops(&info, KILN_UNIT_TENSOR_INT8) == info.peak_flops * 32);
    CHECK(kiln__peak_flops(&info, 0) == 0 && kiln__peak_flops(&info, KILN_UNIT_TENSOR_FP8_FP16 + 1) == 0);
    CHECK(kiln__peak_flops(&info, 1000) == 0);
    info.cc_major = 7, info.cc_minor = 2; /* the table has no row for 7.2, so the row before it applies */
    kiln__peaks_set(&info);
    CHECK(kiln__peak_flops(&info, KILN_UNIT_TENSOR_FP16) == 2.0 * 512 * 132 * info.clock_hz);
    CHECK(kiln__peak_flops(&info, KILN_UNIT_TENSOR_INT8) == 0);
    info.cc_major = 99; /* the version is later than all rows of the table */
    kiln__peaks_set(&info);
    CHECK(kiln__peak_flops(&info, KILN_UNIT_TENSOR_FP8) > 0);
    kiln__driver_device_info(&driver, 1, &info);
    CHECK_TEXT(info.id, "sim:ampere");
    CHECK(info.cc_major == 8);
    kiln__driver_close(&driver);
}

/* Compares peaks with the dense TFLOP/s of data sheets, at the clocks for which the sheets give them. */
static void test_peaks(void)
{
    static const struct {
        const char *name;
        int cc, sms;
        double ghz;
        unsigned unit;
        double tera;
    } table[] = {
        {"NVIDIA H100 80GB HBM3", 90, 132, 1.83, KILN_UNIT_TENSOR_FP16, 989.4},
        {"NVIDIA H100 80GB HBM3", 90, 132, 1.83, KILN_UNIT_TENSOR_FP8, 1978.9},
        {"NVIDIA H100 80GB HBM3", 90, 132, 1.83, KILN_UNIT_TENSOR_TF32, 494.7},
        {"NVIDIA A100-SXM4-40GB", 80, 108, 1.41, KILN_UNIT_TENSOR_FP16, 312},
        {"NVIDIA A100-SXM4-40GB", 80, 108, 1.41, KILN_UNIT_TENSOR_FP64, 19.5},
        {"Tesla T4", 75, 40, 1.59, KILN_UNIT_TENSOR_FP16, 65},
        {"NVIDIA GeForce RTX 2080 Ti", 75, 68, 1.545, KILN_UNIT_TENSOR_FP16, 53.8},
        {"NVIDIA GeForce RTX 2080 Ti", 75, 68, 1.545, KILN_UNIT_TENSOR_FP16_FP16, 107.6},
        {"NVIDIA GeForce RTX 3090", 86, 82, 1.695, KILN_UNIT_TENSOR_FP16, 71},
        {"NVIDIA RTX A6000", 86, 84, 1.8, KILN_UNIT_TENSOR_FP16, 154.8},
        {"NVIDIA GeForce RTX 4090", 89, 128, 2.52, KILN_UNIT_TENSOR_FP16, 165.2},
        {"NVIDIA GeForce RTX 4090", 89, 128, 2.52, KILN_UNIT_TENSOR_FP16_FP16, 330.3},
        {"NVIDIA GeForce RTX 4090", 89, 128, 2.52, KILN_UNIT_TENSOR_TF32, 82.6},
        {"NVIDIA GeForce RTX 4090", 89, 128, 2.52, KILN_UNIT_TENSOR_FP8, 330.3},
        {"NVIDIA GeForce RTX 4090", 89, 128, 2.52, KILN_UNIT_TENSOR_FP8_FP16, 660.6},
        {"NVIDIA GeForce RTX 4090", 89, 128, 2.52, KILN_UNIT_TENSOR_INT8, 660.6},
        {"NVIDIA L4", 89, 58, 2.04, KILN_UNIT_TENSOR_FP16, 121},
        {"NVIDIA GeForce RTX 5090", 120, 170, 2.407, KILN_UNIT_TENSOR_FP16, 209.5},
    };
    for (size_t i = 0; i < KILN__COUNT(table); i++) {
        kiln_device_info info = {.cc_major = table[i].cc / 10,
                                 .cc_minor = table[i].cc % 10,
                                 .sm_count = table[i].sms,
                                 .clock_hz = table[i].ghz * 1e9};
        snprintf(info.name, sizeof info.name, "%s", table[i].name);
        kiln__peaks_set(&info);
        double share = kiln__peak_flops(&info, table[i].unit) / (table[i].tera * 1e12);
        if (!(share > 0.99 && share < 1.01))
            fprintf(stderr, "%s, unit %u: %g of the data sheet's\n", table[i].name, table[i].unit, share);
        CHECK(share > 0.99 && share < 1.01);
    }
}

/* The figures of a device profile equal the figures in the table for the same product. */
static void test_profiles(void)
{
    static const char *const names[] = {"h200", "h100", "a100", "rtx4090", "t4", "b200", "rtx5090"};
    kiln__driver driver = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__driver_open_sim(NULL, &driver, &error), error);
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        char path[1024], *text;
        size_t length, at = 0;
        kiln__text log = {0};
        snprintf(path, sizeof path, "%s/specs/devices/%s.profile", KILN_SOURCE_DIR, names[i]);
        CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
        CHECK(driver.simulator->profile_add(names[i], text, length, &log) == KILN__SIM_ADDED);
        kiln__free(NULL, text);
        kiln__text_free(&log);
        while (driver.simulator->profile_at(at) && strcmp(driver.simulator->profile_at(at), names[i]) != 0)
            at++;
        kiln_device_info profile, product;
        kiln__driver_device_info(&driver, (CUdevice)at, &profile);
        product = profile;
        kiln__peaks_set(&product);
        for (unsigned unit = 0; unit < KILN__COUNT(profile.unit_flops); unit++) {
            if (profile.unit_flops[unit] != product.unit_flops[unit])
                fprintf(stderr, "%s, unit %u: %g, not %g\n", names[i], unit, profile.unit_flops[unit],
                        product.unit_flops[unit]);
            CHECK(profile.unit_flops[unit] == product.unit_flops[unit]);
        }
        CHECK(profile.peak_flops == profile.unit_flops[KILN_UNIT_FP32]);
    }
    kiln__driver_close(&driver);
}

static void test_oom(void)
{
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__driver driver = {0};
        kiln_error *error = NULL;
        reset();
        setenv("KILN_LIBCUDA", FAKE_CUDA, 1);
        setenv("FAKE_INIT", "803", 1);
        kiln_status status = kiln__driver_open_cuda(&mem, &driver, &error);
        CHECK(status == KILN_ERROR_NO_DEVICE || (oom.failed && status == KILN_ERROR_MEMORY));
        CHECK(error != NULL);
        kiln_error_free(error);
        error = NULL;
        CHECK_OK(kiln__driver_open_sim(&mem, &driver, &error), error);
        status = kiln__driver_fail(&driver, &mem, CUDA_ERROR_NOT_FOUND, &error, "%200s", "x");
        CHECK(status == KILN_ERROR_DEVICE || (oom.failed && status == KILN_ERROR_MEMORY));
        kiln_error_free(error);
        kiln__driver_close(&driver);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    reset();
}

static const check_case cases[] = {{"opens", test_opens},        {"ways to fail", test_fails},
                                   {"device nodes", test_nodes}, {"error texts", test_fail},
                                   {"device info", test_info},   {"peaks", test_peaks},
                                   {"profiles", test_profiles},  {"out of memory", test_oom}};
KILN_SUITE("driver load", cases)
