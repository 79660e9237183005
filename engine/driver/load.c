/* load.c - fills the table of the driver from libcuda or from the simulated device, and explains why a driver fails. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver_internal.h"
#include "sim.h"

/* Checks at compile time that the signatures of the table and of cuda.h agree. If a toolkit changed a function, calling
 * the function by its old signature would be wrong. cuda.h maps cuMemAlloc to cuMemAlloc_v2 and so on, and the check
 * compares the types of these mapped names. */
#define KILN_X(name, signature, required)                                                                              \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), CUresult(CUDAAPI *) signature),                     \
                   #name " has another signature in cuda.h");
KILN__DRIVER_MAP(KILN_X)
#undef KILN_X

/* EXPORTED(cuMemAlloc) is "cuMemAlloc_v2": the name under which libcuda exports the function. */
#define EXPORTED_(name) #name
#define EXPORTED(name) EXPORTED_(name)

typedef struct entry {
    const char *name, *exported;
    size_t offset; /* offset of the function pointer in kiln__driver */
    bool required;
} entry;

static const entry entries[] = {
#define KILN_X(name, signature, required) {#name, EXPORTED(name), offsetof(kiln__driver, name##_), required},
    KILN__DRIVER_MAP(KILN_X)
#undef KILN_X
};

/* Fills the table of the driver. Returns the name of the first required function that is missing, or NULL. The function
 * uses the names to which cuda.h maps, as a linker would do. cuGetProcAddress would return the newest version of a
 * name, even if the header declares the older signature. An example is cuCtxSynchronize of CUDA 13. */
static const char *fill(kiln__driver *driver)
{
    for (size_t i = 0; i < KILN__COUNT(entries); i++) {
        void *symbol = dlsym(driver->library, entries[i].exported);
        /* an older driver lacks the name with the suffix; cuEventElapsedTime_v2 of 12.8 has the same types */
        if (!symbol)
            symbol = dlsym(driver->library, entries[i].name);
        /* memcpy, because ISO C does not allow a cast from a data pointer to a function pointer */
        memcpy((char *)driver + entries[i].offset, &symbol, sizeof symbol);
        if (!symbol && entries[i].required)
            return entries[i].name;
    }
    return NULL;
}

typedef struct reason {
    CUresult result;
    const char *text; /* a text where "%s" stands for the path of the library */
} reason;
static const reason reasons[] = {
    {CUDA_ERROR_STUB_LIBRARY, "%s is the toolkit's stub library, not the driver. Take its folder out of "
                              "LD_LIBRARY_PATH; the real libcuda.so.1 comes with the NVIDIA driver."},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
     "The CUDA driver library %s and the loaded NVIDIA kernel module have different versions. Reboot, or reload the "
     "module, so that both have the installed version."},
    {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
     "The forward-compatibility driver library %s does not support this GPU. Remove the cuda-compat package (or its "
     "folder from LD_LIBRARY_PATH), or update the NVIDIA driver."},
    {CUDA_ERROR_SYSTEM_NOT_READY, "The CUDA driver %s reports that the system is not ready. Start its services: "
                                  "`systemctl start nvidia-fabricmanager nvidia-persistenced`."},
    {CUDA_ERROR_DEVICE_UNAVAILABLE,
     "The CUDA driver %s reports that the GPU is busy or in exclusive mode. `nvidia-smi` shows the process that uses "
     "it, and `nvidia-smi -c DEFAULT` sets the mode."},
    {CUDA_ERROR_DEVICE_NOT_LICENSED,
     "The CUDA driver %s reports that the virtual GPU has no licence. Check the vGPU licence server."},
    {CUDA_ERROR_OUT_OF_MEMORY, "The CUDA driver %s could not start: out of memory. Free memory or raise the limit "
                               "(`ulimit -v` must be unlimited)."},
    {CUDA_ERROR_MPS_CONNECTION_FAILED, "The CUDA driver %s cannot reach the MPS server. Start it with "
                                       "`nvidia-cuda-mps-control -d`, or unset CUDA_MPS_PIPE_DIRECTORY."},
    {CUDA_ERROR_OPERATING_SYSTEM, "The operating system refused a request of the CUDA driver %s. See `dmesg`; in a "
                                  "container check its device rules and seccomp profile."},
};

bool kiln__driver_tensor_map_check(const kiln__tensor_map *map, kiln__tensor_fault *fault)
{
    return kiln__tensor_map_check(map, fault);
}

bool kiln__driver_tensor_map_runs(const kiln__driver *driver, const kiln__tensor_map *map, kiln__tensor_fault *fault)
{
    return !driver->simulator || kiln__tensor_map_simulated(map, fault);
}

/* Returns 0 if the process can open the device node, and the errno of the failure if not. */
static int node_error(const char *node)
{
    int fd = open(node, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

void kiln__driver_explain(CUresult result, const char *library, const char *node, kiln__text *out)
{
    for (size_t i = 0; i < KILN__COUNT(reasons); i++)
        if (reasons[i].result == result) {
            const char *rest = strstr(reasons[i].text, "%s"); /* every text contains "%s" exactly once */
            kiln__text_add(out, reasons[i].text, (size_t)(rest - reasons[i].text));
            kiln__text_puts(out, library);
            kiln__text_puts(out, rest + 2);
            return;
        }
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int why = node_error(node);
    if (result == CUDA_ERROR_NO_DEVICE && visible && why == 0)
        kiln__text_printf(out,
                          "The CUDA driver %s shows no GPU because CUDA_VISIBLE_DEVICES is '%s'. Unset it, or "
                          "name a GPU that `nvidia-smi -L` lists.",
                          library, visible);
    else if (why == EACCES || why == EPERM)
        kiln__text_printf(out,
                          "This user may not open %s, which the CUDA driver %s needs. Join the group that owns it "
                          "(`ls -l %s`), or start the container with the GPU.",
                          node, library, node);
    else if (why != 0)
        kiln__text_printf(out,
                          "The CUDA driver %s is installed but there is no %s (%s). Load the kernel module "
                          "(`modprobe nvidia`, `nvidia-smi`), or start the container with the GPU (`--gpus all`).",
                          library, node, kiln__error_text(why));
    else if (result == CUDA_ERROR_NO_DEVICE)
        kiln__text_printf(out, "The CUDA driver %s finds no GPU. Check `nvidia-smi -L` and `dmesg`.", library);
    else
        kiln__text_printf(out,
                          "The CUDA driver %s does not start (error %d). Check `nvidia-smi` and `dmesg`; a reboot "
                          "resets a lost GPU.",
                          library, (int)result);
}

static void note_path(kiln__driver *driver, const char *name)
{
    struct link_map *map = NULL;
    if (dlinfo(driver->library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0])
        name = map->l_name;
    snprintf(driver->path, sizeof driver->path, "%s", name);
}

static kiln_status start(const kiln_allocator *mem, kiln__driver *driver, kiln_error **error)
{
    const char *missing = fill(driver);
    CUresult versioned = driver->cuDriverGetVersion_ ? driver->cuDriverGetVersion_(&driver->version) : CUDA_SUCCESS;
    if (versioned != CUDA_SUCCESS)
        driver->version = 0;
    if (missing)
        return kiln__fail(mem, error, KILN_ERROR_NO_DEVICE,
                          "The CUDA driver %s (for CUDA %d.%d) is too old: it lacks %s. Update the NVIDIA driver; "
                          "`kiln doctor` shows what is installed.",
                          driver->path, driver->version / 1000, driver->version % 1000 / 10, missing);
    CUresult result = driver->cuInit_(0);
    int count = 0;
    if (result == CUDA_SUCCESS)
        result = driver->cuDeviceGetCount_(&count);
    if (result == CUDA_SUCCESS)
        result = versioned; /* the version of the driver is a part of a sample's key */
    if (result == CUDA_SUCCESS && count == 0)
        result = CUDA_ERROR_NO_DEVICE;
    if (result == CUDA_SUCCESS)
        return KILN_OK;
    kiln__text why = {.mem = mem};
    kiln__driver_explain(result, driver->path, "/dev/nvidiactl", &why);
    kiln_status status = why.failed ? kiln__fail_memory(error)
                                    : kiln__fail_cuda(mem, error, KILN_ERROR_NO_DEVICE, (int)result, "%s",
                                                      kiln__text_get(&why));
    kiln__text_free(&why);
    return status;
}

kiln_status kiln__driver_open_cuda(const kiln_allocator *mem, kiln__driver *driver, kiln_error **error)
{
    const char *name = getenv("KILN_LIBCUDA");
    if (!name || !*name)
        name = "libcuda.so.1";
    kiln__driver made = {0};
    /* RTLD_NODELETE, because libcuda has its own threads and exit handlers and must never be unmapped. */
    made.library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!made.library) {
        const char *why = dlerror();
        if (why && strstr(why, "No such file"))
            return kiln__fail(mem, error, KILN_ERROR_NO_DEVICE,
                              "The CUDA driver library %s was not found. Install the NVIDIA driver (it is not part of "
                              "the toolkit), start the container with the GPU, or use the simulated device "
                              "(--device sim).",
                              name);
        return kiln__fail(mem, error, KILN_ERROR_NO_DEVICE,
                          "The CUDA driver library %s cannot be loaded: %s. "
                          "Reinstall the NVIDIA driver, or use the simulated device (--device sim).",
                          name, why ? why : "no reason");
    }
    note_path(&made, name);
    kiln_status status = start(mem, &made, error);
    if (status == KILN_OK)
        *driver = made;
    else
        dlclose(made.library);
    return status;
}

kiln_status kiln__driver_open_sim(const kiln_allocator *mem, kiln__driver *driver, kiln_error **error)
{
    kiln__driver made = {.simulator = &kiln__sim_simulator, .path = "built-in"};
#ifdef KILN_SIM_PROGRAMS
    /* tests and profiles of programs need these functions; the engine itself calls none of them */
    kiln__sim_add_programs();
#endif
    for (size_t i = 0; i < KILN__COUNT(entries); i++) {
        void *symbol = kiln__sim_symbol(entries[i].name);
        memcpy((char *)&made + entries[i].offset, &symbol, sizeof symbol);
        if (!symbol && entries[i].required)
            return kiln__fail(mem, error, KILN_ERROR_INTERNAL, "the simulated device lacks %s", entries[i].name);
    }
    CUresult result = made.cuInit_(0);
    if (result != CUDA_SUCCESS)
        return kiln__fail_cuda(mem, error, KILN_ERROR_NO_DEVICE, (int)result, "the simulated device does not start");
    if (made.cuDriverGetVersion_(&made.version) != CUDA_SUCCESS)
        made.version = 0;
    *driver = made;
    return KILN_OK;
}

const kiln__simulator *kiln__driver_simulator(void) { return &kiln__sim_simulator; }

void kiln__driver_close(kiln__driver *driver)
{
    if (driver->library)
        dlclose(driver->library);
    *driver = (kiln__driver){0};
}
