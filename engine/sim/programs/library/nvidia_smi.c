/* nvidia_smi.c - nvidia-smi for scripts that ask whether there is a device. It implements the plain list, -L, and
 * --query-gpu. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nvml.h"

typedef struct device {
    unsigned index;
    char name[96], uuid[80], driver[32];
    nvml_pci pci;
    int major, minor;
    nvml_memory memory;
} device;

static bool read_device(unsigned index, device *to)
{
    nvml_device *handle;
    to->index = index;
    return nvmlDeviceGetHandleByIndex_v2(index, &handle) == NVML_SUCCESS &&
           nvmlDeviceGetName(handle, to->name, sizeof to->name) == NVML_SUCCESS &&
           nvmlDeviceGetUUID(handle, to->uuid, sizeof to->uuid) == NVML_SUCCESS &&
           nvmlDeviceGetMemoryInfo(handle, &to->memory) == NVML_SUCCESS &&
           nvmlDeviceGetPciInfo_v3(handle, &to->pci) == NVML_SUCCESS &&
           nvmlDeviceGetCudaComputeCapability(handle, &to->major, &to->minor) == NVML_SUCCESS &&
           nvmlSystemGetDriverVersion(to->driver, sizeof to->driver) == NVML_SUCCESS;
}

/* Prints the value of one field of --query-gpu. Returns false if the name of the field is unknown. */
static bool put_field(const device *of, const char *field, size_t length, unsigned count, const char *unit)
{
    static const char *const names[] = {"index",          "name",       "gpu_name",    "uuid",         "gpu_uuid",
                                        "driver_version", "count",      "compute_cap", "memory.total", "memory.free",
                                        "memory.used",    "pci.bus_id", "gpu_bus_id"};
    size_t k = 0;
    while (k < sizeof names / sizeof names[0] && (strlen(names[k]) != length || strncmp(names[k], field, length) != 0))
        k++;
    switch (k) {
    case 0: printf("%u", of->index); break;
    case 1:
    case 2: printf("%s", of->name); break;
    case 3:
    case 4: printf("%s", of->uuid); break;
    case 5: printf("%s", of->driver); break;
    case 6: printf("%u", count); break;
    case 7: printf("%d.%d", of->major, of->minor); break;
    case 8: printf("%llu%s", of->memory.total >> 20, unit); break;
    case 9: printf("%llu%s", of->memory.free >> 20, unit); break;
    case 10: printf("%llu%s", of->memory.used >> 20, unit); break;
    case 11:
    case 12: printf("%s", of->pci.id); break;
    default: return false;
    }
    return true;
}

/* Prints the fields of --query-gpu as CSV, one line per device. Returns the exit status: 0 for success, 1 if a device
 * cannot be read, 2 for an unknown field. */
static int query(const char *fields, const char *format, unsigned count)
{
    const char *unit = strstr(format, "nounits") ? "" : " MiB";
    if (!strstr(format, "noheader")) {
        for (const char *at = fields; *at; at++)
            *at == ',' ? printf(", ") : printf("%c", *at);
        printf("\n");
    }
    for (unsigned i = 0; i < count; i++) {
        device of;
        if (!read_device(i, &of))
            return 1;
        for (const char *at = fields; *at;) {
            size_t length = strcspn(at, ",");
            if (!put_field(&of, at, length, count, unit)) {
                printf("Field \"%.*s\" is not a valid field to query.\n", (int)length, at);
                return 2;
            }
            at += length;
            if (*at) {
                printf(", ");
                at++;
            }
        }
        printf("\n");
    }
    return 0;
}

/* Without an option, prints a list with one line per device. Returns the exit status: 0 for success, 1 if a device
 * cannot be read, 2 for a wrong option or field, 9 if NVML cannot be used. */
int main(int argc, char **argv)
{
    unsigned count = 0;
    const char *fields = NULL, *format = "csv";
    bool list = false;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--query-gpu=", 12) == 0)
            fields = argv[i] + 12;
        else if (strncmp(argv[i], "--format=", 9) == 0)
            format = argv[i] + 9;
        else if (strcmp(argv[i], "-L") == 0 || strcmp(argv[i], "--list-gpus") == 0)
            list = true;
        else {
            fprintf(stderr,
                    "nvidia-smi (of the simulated device): unknown option '%s'. It supports -L, --query-gpu=FIELDS and "
                    "--format=csv[,noheader][,nounits]\n",
                    argv[i]);
            return 2;
        }
    }
    nvml_result result = nvmlInit_v2();
    if (result == NVML_SUCCESS)
        result = nvmlDeviceGetCount_v2(&count);
    if (result != NVML_SUCCESS) {
        fprintf(stderr, "nvidia-smi (of the simulated device): %s\n", nvmlErrorString(result));
        return 9;
    }
    if (fields)
        return query(fields, format, count);
    for (unsigned i = 0; i < count; i++) {
        device of;
        if (!read_device(i, &of))
            return 1;
        if (list)
            printf("GPU %u: %s (UUID: %s)\n", i, of.name, of.uuid);
        else
            printf("%sGPU %u: %s, compute capability %d.%d, %llu MiB\n",
                   i ? "" : "Simulated device (Kiln); its values are not measurements\n", i, of.name, of.major,
                   of.minor, of.memory.total >> 20);
    }
    return 0;
}
