/* Passes hostile arguments to Kiln's NVML, nvJitLink and NVRTC: buffers of every length, invented handles and names,
 * and damaged options and inputs. The exit code is 0 if each call returned an error or a right answer. The address
 * sanitizer finds wrong accesses. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvjitlink.h"
#include "nvml.h"

int nvrtcCompileProgram(void *program, int count, const char *const *options);

static int failures;
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

/* ---- NVML ---- */

static nvml_device *first;

static nvml_result get_name(char *to, unsigned length) { return nvmlDeviceGetName(first, to, length); }
static nvml_result get_uuid(char *to, unsigned length) { return nvmlDeviceGetUUID(first, to, length); }

/* Calls a function with buffers of 0 to 200 bytes. The function must write the whole answer or nothing. */
static void fill_buffers(nvml_result (*get)(char *to, unsigned length))
{
    char whole[256] = "";
    CHECK(get(whole, sizeof whole) == NVML_SUCCESS);
    CHECK(get(NULL, 0) == NVML_INVALID_ARGUMENT && get(NULL, sizeof whole) == NVML_INVALID_ARGUMENT);
    for (unsigned length = 0; length <= 200; length++) {
        char *to = malloc(length ? length : 1);
        if (!to)
            exit(2);
        memset(to, 'x', length ? length : 1);
        const nvml_result got = get(to, length);
        CHECK(got == (strlen(whole) < length ? NVML_SUCCESS : NVML_INSUFFICIENT_SIZE));
        CHECK(got == NVML_SUCCESS ? strcmp(to, whole) == 0 : to[0] == 'x');
        free(to);
    }
}

/* Calls NVML with handles that it has not given out. Each call must return an error, and must not end the process. */
static void ask_devices(void)
{
    static const uintptr_t numbers[] = {0, 2, 17, UINT32_MAX, (uintptr_t)UINT32_MAX + 1, UINTPTR_MAX};
    char text[96];
    unsigned number;
    int major, minor;
    nvml_memory memory;
    nvml_memory_v2 more;
    nvml_pci pci;
    nvml_utilization rates;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        nvml_device *none = (nvml_device *)numbers[i];
        CHECK(nvmlDeviceGetName(none, text, sizeof text) == NVML_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetUUID(none, text, sizeof text) == NVML_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetIndex(none, &number) == NVML_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetMemoryInfo(none, &memory) == NVML_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetMemoryInfo_v2(none, &more) == NVML_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetPciInfo_v3(none, &pci) == NVML_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetCudaComputeCapability(none, &major, &minor) == NVML_INVALID_ARGUMENT);
        CHECK(nvmlDeviceGetUtilizationRates(none, &rates) == NVML_INVALID_ARGUMENT);
    }
    CHECK(nvmlDeviceGetIndex(first, NULL) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetMemoryInfo(first, NULL) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetMemoryInfo_v2(first, NULL) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetPciInfo_v3(first, NULL) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetCudaComputeCapability(first, NULL, &minor) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetUtilizationRates(first, NULL) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetCount_v2(NULL) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlSystemGetCudaDriverVersion_v2(NULL) == NVML_INVALID_ARGUMENT);
}

static void find_devices(void)
{
    static const unsigned indices[] = {1, 16, INT32_MAX, UINT32_MAX};
    static const char *const names[] = {"",       ":",         "0000:01:00.0", "ffffffff:ff:ff.f",
                                        "-1:0:0", "0:0:0:0:0", "%s%n%x",       "00000000000000000000:1"};
    nvml_device *found = NULL;
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++)
        CHECK(nvmlDeviceGetHandleByIndex_v2(indices[i], &found) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetHandleByIndex_v2(0, NULL) == NVML_INVALID_ARGUMENT);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const nvml_result got = nvmlDeviceGetHandleByPciBusId_v2(names[i], &found);
        CHECK(got == NVML_INVALID_ARGUMENT || got == NVML_NOT_FOUND || (got == NVML_SUCCESS && found == first));
        CHECK(nvmlDeviceGetHandleByUUID(names[i], &found) == NVML_NOT_FOUND);
    }
    CHECK(nvmlDeviceGetHandleByPciBusId_v2(NULL, &found) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetHandleByPciBusId_v2("0:0:0", NULL) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetHandleByUUID(NULL, &found) == NVML_INVALID_ARGUMENT);
    CHECK(nvmlDeviceGetHandleByUUID("GPU-", NULL) == NVML_INVALID_ARGUMENT);
    for (int error = -2; error < 40; error++)
        CHECK(nvmlErrorString((nvml_result)error)[0]);
}

/* ---- nvJitLink ---- */

enum { CUBIN = 1, PTX, LTOIR, FATBIN, OBJECT, LIBRARY, INDEX, ANY = 10 };

/* Returns a new link for the architecture, or NULL. */
static nvJitLinkHandle new_link(const char *option)
{
    nvJitLinkHandle link = NULL;
    return nvJitLinkCreate(&link, 1, &option) == 0 ? link : NULL;
}

static void give_options(void)
{
    static const char *const wrong[] = {"",
                                        "-",
                                        "-arch=",
                                        "-arch=sm_",
                                        "-arch=sm_x",
                                        "-arch=sm_-90",
                                        "-arch=compute_0",
                                        "arch=sm_90",
                                        "-arch=sm_9999999999999999999999",
                                        "-O3",
                                        "-Xptxas",
                                        "-arch=compute"};
    nvJitLinkHandle link = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!new_link(wrong[i]));
    const char *list[] = {"-arch=sm_90", NULL, "-O3"};
    CHECK(nvJitLinkCreate(&link, 3, list) != 0 && !link);
    CHECK(nvJitLinkCreate(&link, 1, NULL) != 0 && nvJitLinkCreate(NULL, 1, list) != 0);
    CHECK(nvJitLinkDestroy(NULL) != 0 && nvJitLinkDestroy(&link) != 0);
    link = new_link("-arch=sm_2147483647");
    CHECK(link && nvJitLinkComplete(link) != 0);
    CHECK(!link || nvJitLinkDestroy(&link) == 0);
}

/* Adds an input, completes the link, and reads everything that the link gives. */
static void add_one(int type, const void *data, size_t size, const char *name)
{
    nvJitLinkHandle link = new_link("-arch=sm_90");
    size_t length = 0, image = 0;
    CHECK(link);
    const int added = nvJitLinkAddData(link, type, data, size, name);
    const int done = nvJitLinkComplete(link);
    CHECK(nvJitLinkGetErrorLogSize(link, &length) == 0 && length > 0);
    char *log = malloc(length);
    if (!log)
        exit(2);
    CHECK(nvJitLinkGetErrorLog(link, log) == 0 && strlen(log) + 1 == length);
    free(log);
    CHECK((nvJitLinkGetLinkedCubinSize(link, &image) == 0) == (done == 0));
    if (done == 0) {
        unsigned char *to = malloc(image);
        if (!to)
            exit(2);
        CHECK(nvJitLinkGetLinkedCubin(link, to) == 0);
        add_one(ANY, to, image - 1, NULL); /* a part of the input is damaged */
        free(to);
    }
    (void)added;
    CHECK(nvJitLinkDestroy(&link) == 0 && !link);
}

static void add_inputs(void)
{
    static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    static const unsigned char elf[64] = "\177ELF\2\1\1", archive[] = "!<arch>\n/               0           ",
                               fatbin[] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0xff, 0xff, 0xff, 0xff,
                                           0xff, 0xff, 0xff, 0xff, 1, 0, 1,  1, 64,   0,    0,    0},
                               linked[] = "\177kilnPTX"
                                          "hash    "
                                          "\xff\xff\xff\xff\xff\xff\xff\x7f"
                                          "\xff\xff\xff\xff";
    static const struct {
        const void *data;
        size_t size;
    } inputs[] = {{ptx, sizeof ptx},
                  {ptx, 1},
                  {ptx, 0},
                  {elf, sizeof elf},
                  {archive, sizeof archive},
                  {fatbin, sizeof fatbin},
                  {linked, sizeof linked},
                  {"", 1}};
    static const int types[] = {-1, 0, CUBIN, PTX, FATBIN, OBJECT, LIBRARY, INDEX, 8, 9, ANY, 11, INT32_MAX};
    static char name[100000];
    memset(name, '%', sizeof name - 1);
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
            /* a read after the end of the block is an error */
            void *exact = malloc(inputs[i].size ? inputs[i].size : 1);
            if (!exact)
                exit(2);
            memcpy(exact, inputs[i].data, inputs[i].size);
            add_one(types[k], exact, inputs[i].size, k % 2 ? name : NULL);
            free(exact);
        }
    nvJitLinkHandle link = new_link("-arch=sm_90");
    CHECK(nvJitLinkAddData(NULL, PTX, ptx, sizeof ptx, NULL) != 0 && nvJitLinkAddData(link, PTX, NULL, 9, NULL) != 0);
    CHECK(nvJitLinkAddFile(link, PTX, NULL) != 0 && nvJitLinkAddFile(link, PTX, "") != 0);
    CHECK(nvJitLinkAddFile(link, PTX, "/proc/self") != 0 && nvJitLinkAddFile(NULL, PTX, "/dev/null") != 0);
    CHECK(nvJitLinkComplete(NULL) != 0 && nvJitLinkGetInfoLogSize(link, NULL) != 0 &&
          nvJitLinkGetInfoLog(NULL, name) != 0);
    CHECK(nvJitLinkGetLinkedCubin(link, name) != 0 && nvJitLinkGetErrorLog(link, NULL) != 0);
    CHECK(nvJitLinkVersion(NULL, NULL) != 0);
    CHECK(nvrtcCompileProgram(NULL, 3, NULL) != 0); /* the call fails also without an NVRTC */
    CHECK(nvJitLinkDestroy(&link) == 0);
}

int main(void)
{
    CHECK(nvmlInit_v2() == NVML_SUCCESS && nvmlDeviceGetHandleByIndex_v2(0, &first) == NVML_SUCCESS);
    if (failures)
        return 1;
    fill_buffers(get_name);
    fill_buffers(get_uuid);
    fill_buffers(nvmlSystemGetDriverVersion);
    fill_buffers(nvmlSystemGetNVMLVersion);
    ask_devices();
    find_devices();
    give_options();
    add_inputs();
    return failures ? 1 : 0;
}
