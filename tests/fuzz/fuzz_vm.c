/* Runs any bytes as PTX text. If ptx_parse() accepts the text, the interpreter executes it to its end. The end is
 * success or a fault, for any use of registers, memory and stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_mutator.h"
#include "vm_checks_internal.h"
#include "vm_count.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

static void swallow(void *user, const char *text, size_t length)
{
    size_t *sum = user;
    for (size_t k = 0; k < length; k++) /* if the pointer or the length is wrong, the sanitizer reports it */
        *sum += (unsigned char)text[k];
}

/* Sets the amount of freed memory that the address sanitizer keeps and watches. With the default of 256 MiB, touching
 * fresh pages took most of the time. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=8:malloc_context_size=6"; }

/* Makes small numbers and addresses in turn, so that a register that a kernel uses as a pointer often holds one. */
static void fill(unsigned char *params, uint64_t bytes, const uint64_t address[2], unsigned turn)
{
    for (uint64_t at = 0; at + 8 <= bytes; at += 8) {
        unsigned what = (unsigned)(at / 8 + turn) % 5;
        uint64_t value = what < 2 ? address[what] : what == 2 ? 0 : what == 3 ? 7 : (uint64_t)3 << 32 | 40;
        memcpy(params + at, &value, 8);
    }
}

/* Runs one of two launches. Turn 0 is plain and has one warp. Turn 1 is larger and cooperative, has dynamic shared
 * memory, and is counted if checks are on. If there are few kernels, each half of an execution has both launches;
 * otherwise it has one of them. */
static void run(vm_device *device, const vm_module *module, int kernel, const uint64_t address[2], unsigned turn,
                bool checked)
{
    const ptx_function *function = &vm_module_ptx(module)->functions[kernel];
    uint64_t bytes = function->param_bytes;
    unsigned char *params = calloc(1, bytes ? bytes : 1);
    WANT(params);
    vm_resources resources;
    vm_kernel_resources(module, kernel, &resources);
    size_t sum = 0;
    vm_profile *profile = turn && checked ? count_profile_new(NULL, module) : NULL;
    WANT(profile || !turn || !checked);
    {
        uint32_t threads = turn ? 33 + (uint32_t)(bytes / 8 + function->insn_count) % 32 : 32;
        if (function->max_threads[0] == 128) /* the kernel needs a warpgroup */
            threads = 128;
        /* the grid must be a multiple of the cluster, so that small clusters fit */
        const uint32_t *cluster = function->req_cluster;
        const bool clustered = cluster[0] && cluster[0] <= 16 && cluster[1] == 1 && cluster[2] == 1;
        vm_launch launch = {.module = module,
                            .kernel = kernel,
                            .grid = {(turn + 1) * (clustered ? cluster[0] : 1), 1, 1},
                            .block = {threads, 1, 1},
                            .dynamic_shared = turn ? 256 : 0,
                            .params = params,
                            .cooperative = turn != 0,
                            .print = swallow,
                            .user = &sum};
        struct vm_watch watch = {.checks = &check_hooks, .profile = profile};
        launch.watch = checked ? &watch : NULL;
        launch.hooks = checked ? &count_watch_hooks : NULL;
        vm_counters counters;
        vm_fault fault;
        fill(params, bytes, address, turn);
        vm_fault_kind kind = vm_run(device, &launch, &counters, &fault);
        WANT(kind == fault.kind && (kind == VM_OK || fault.message[0]));
        WANT(kind != VM_OK || counters.blocks >= turn + 1); /* more blocks if the kernel launches some */
        WANT(memchr(fault.message, 0, sizeof fault.message) && memchr(fault.file, 0, sizeof fault.file));
    }
    kiln_counters sums = {0};
    if (profile)
        count_profile_sum(profile, &sums, NULL);
    WANT(sums.lanes <= sums.executed * 32 && sums.global_load_sectors <= sums.global_load_lanes * 2);
    count_profile_free(profile);
    free(params);
}

/* Runs the turns of the bit set `turns`. */
static void run_turns(vm_device *device, const vm_module *module, int kernel, const uint64_t address[2], unsigned turns,
                      bool checked)
{
    for (unsigned turn = 0; turn < 2; turn++)
        if (turns >> turn & 1)
            run(device, module, kernel, address, turn, checked);
}

/* Textures and surfaces of every kind have the handles 0x100, 0x200, ..., which corpus/fuzz_vm/texture.ptx uses. */
enum { OBJECTS = 9, IMAGE = 64 << 10 };

/* Adds textures and surfaces of several formats and geometries to the device, so that kernels can use their handles. */
static void add_objects(vm_device *device, unsigned char *storage, uint64_t memory)
{
    static const struct {
        vm_format format;
        unsigned channels, dims, layers, levels;
        bool cube, surface;
    } kinds[OBJECTS] = {
        {VM_F32, 4, 2, 0, 3, false, false}, {VM_U8, 4, 2, 0, 1, false, true},   {VM_U16, 1, 3, 0, 2, false, false},
        {VM_F16, 2, 2, 12, 2, true, false}, {VM_S32, 1, 1, 0, 1, false, false}, {VM_U32, 1, 1, 5, 1, false, true},
        {VM_S8, 2, 2, 3, 1, false, false},  {VM_F32, 1, 3, 0, 1, false, true},  {VM_F32, 1, 1, 0, 1, false, false}};
    memset(storage, 0x3f, IMAGE);
    for (unsigned k = 0; k < OBJECTS; k++) {
        vm_texture t = {.surface = kinds[k].surface,
                        .stale = k == 8,
                        .linear = k % 3 == 0,
                        .mip_linear = k % 2 == 0,
                        .normalized = k % 4 != 2,
                        .integer = k == 2,
                        .srgb = k == 6,
                        .seamless = kinds[k].cube,
                        .most = 8,
                        .border = {0.5f}};
        t.image = (vm_image){.host = k == 4 ? NULL : storage,
                             .address = memory,
                             .format = kinds[k].format,
                             .channels = kinds[k].channels,
                             .dims = kinds[k].dims,
                             .layers = kinds[k].layers,
                             .cube = kinds[k].cube,
                             .surface = kinds[k].surface,
                             .level_count = kinds[k].levels};
        uint64_t offset = 0;
        for (unsigned n = 0; n < kinds[k].levels; n++) {
            const uint32_t side = 8u >> n;
            vm_level *level = &t.image.levels[n];
            *level = (vm_level){.size = {side, t.image.dims > 1 ? side : 1, t.image.dims > 2 ? side : 1},
                                .offset = offset,
                                .pitch = 128,
                                .slice = 128 * (t.image.dims > 1 ? side : 1)};
            offset += level->slice * (t.image.layers ? t.image.layers : level->size[2]);
        }
        WANT(offset <= IMAGE);
        for (unsigned axis = 0; axis < 3; axis++)
            t.edge[axis] = (vm_edge)((k + axis) % 4);
        WANT(vm_texture_add(device, (uint64_t)(k + 1) << 8, &t));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum {
        MEMORY = 1 << 20,
        SHARED = 16 << 10,
        LOCAL = 8 << 10,
        STEPS = 6000,
        STEPS_LEAST = 250,
        STEPS_MOST = 1000,
        SMALL = 4096,
        KERNELS = 16,
        FEW = 2
    };
    ptx_module *ptx;
    vm_module *module;
    kiln__text log = {0};
    if (ptx_parse(NULL, (const char *)data, size, &ptx, &log) != PTX_OK) {
        kiln__text_free(&log);
        return 0;
    }
    uint32_t entries = 0, parity = 0;
    for (uint32_t k = 0; k < ptx->function_count; k++)
        entries += ptx->functions[k].entry && ptx->functions[k].defined;
    for (size_t k = 0; k < size; k++)
        parity = parity * 31 + data[k];
    uint32_t each = STEPS / (entries ? entries : 1);
    each = each < STEPS_LEAST ? STEPS_LEAST : each > STEPS_MOST ? STEPS_MOST : each;
    vm_limits limits = {.memory = MEMORY,
                        .shared_per_block = SHARED,
                        .threads = 1,
                        .step_budget = each,
                        .local_bytes = LOCAL,
                        .sm_count = 4,
                        .cc = 90};
    vm_device *device = vm_device_new(NULL, &limits);
    WANT(device);
    uint64_t address[2] = {vm_alloc(device, SMALL), vm_alloc(device, SMALL - 8)};
    WANT(address[0] && address[1]);
    memset(vm_pointer(device, address[0], SMALL), 0, SMALL);
    unsigned char *storage = vm_storage_new(device, IMAGE);
    WANT(storage);
    add_objects(device, storage, address[0]);
    uint64_t used = vm_memory_used(device);
    ptx_result result = decode_module_load(device, ptx, &module, &log);
    WANT((result == PTX_OK) == (module != NULL));
    for (uint32_t k = 0, kernels = 0; module && k < vm_module_ptx(module)->function_count; k++)
        if (vm_module_ptx(module)->functions[k].entry && vm_module_ptx(module)->functions[k].defined &&
            kernels++ < KERNELS)
            run_turns(device, module, (int)k, address, entries > FEW ? 1u << (parity + k) % 2 : 3, false);
    vm_check *check = check_new(NULL); /* runs once more under the checks */
    WANT(check);
    check->often = 1; /* the launches are short */
    check_attach(device, check);
    for (uint32_t k = 0, kernels = 0; module && k < vm_module_ptx(module)->function_count; k++)
        if (vm_module_ptx(module)->functions[k].entry && vm_module_ptx(module)->functions[k].defined &&
            kernels++ < KERNELS)
            run_turns(device, module, (int)k, address, entries > FEW ? 2u >> (parity + k) % 2 : 3, true);
    for (size_t k = 0; k < check_count_findings(check); k++)
        WANT(check_get_finding(check, k)->message && check_get_finding(check, k)->count);
    /* the number of findings decides whether the checks are detached before the device is freed, or are freed after it */
    if (check_count_findings(check) & 1)
        check_attach(device, NULL);
    vm_module_unload(device, module);
    WANT(vm_memory_used(device) >= used); /* memory that a kernel has allocated with malloc() stays allocated */
    vm_storage_free(device, storage, IMAGE);
    vm_device_free(device);
    check_free(check);
    kiln__text_free(&log);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return ptx_mutate(data, size, most, seed);
}
