/* runtime.c - the functions of the device runtime (libcudadevrt) by name. The functions of both generations, cuda* and
 * __cudaCDP2*, have the same implementation. */
#include <string.h>

#include "vm_access.h"
#include "vm_builtin.h"
#include "vm_child.h"
#include "vm_memory.h"
#include "vm_runtime.h"

typedef enum vm_runtime {
#define VM_X(name, ...) VM_RUNTIME_##name,
    VM_RUNTIME_MAP(VM_X)
#undef VM_X
} vm_runtime;

static const struct {
    const char *name;
    uint32_t result;
    const char *parameters;
} functions[] = {
#define VM_X(name, text, result, parameters) {text, result, parameters},
    VM_RUNTIME_MAP(VM_X)
#undef VM_X
};

uint32_t vm_runtime_find(const char *name)
{
    static const char second[] = "__cudaCDP2", per_thread[] = "_ptsz";
    if (strcmp(name, "__cudaDeviceSynchronizeDeprecationAvoidance") == 0)
        return VM_RUNTIME_SYNCHRONIZE + 1;
    bool generation_2 = strncmp(name, second, sizeof second - 1) == 0;
    if (!generation_2 && strncmp(name, "cuda", 4) != 0)
        return 0;
    name += generation_2 ? sizeof second - 1 : 4;
    size_t length = strlen(name);
    if (length > sizeof per_thread && strcmp(name + length - (sizeof per_thread - 1), per_thread) == 0)
        /* the functions with the suffix for per-thread streams use the default stream of the block */
        length -= sizeof per_thread - 1;
    for (uint32_t k = 0; k < KILN__COUNT(functions); k++)
        if (strncmp(functions[k].name, name, length) == 0 && functions[k].name[length] == '\0')
            return k + 1;
    return 0;
}

static uint64_t size_of(char kind)
{
    return kind == 'c' ? 12 : kind == 'e' ? 24 : kind == 'p' ? 32 : (uint64_t)(kind - '0');
}

bool vm_runtime_fits(uint32_t function, const ptx_function *declared, const ptx_module *ptx)
{
    const char *parameters = functions[function].parameters;
    const uint32_t results = functions[function].result > 0;
    bool fits = declared->return_count == results && declared->param_count == strlen(parameters) &&
                (!results || ptx->symbols[declared->params[0]].bytes == functions[function].result);
    for (uint32_t k = 0; fits && k < declared->param_count; k++)
        fits = ptx->symbols[declared->params[results + k]].bytes == size_of(parameters[k]);
    return fits;
}

/* ---- names and texts of errors, in memory that kernels can read ---- */

static const struct {
    uint32_t code;
    const char *name, *text;
} errors[] = {
#define VM_X(name, code, title, text) {code, title, text},
    VM_CUDA_MAP(VM_X)
#undef VM_X
};

bool vm_runtime_texts(vm_module *module, uint32_t function)
{
    uint64_t bytes = 0;
    if (module->error_texts || (function != VM_RUNTIME_ERROR_NAME && function != VM_RUNTIME_ERROR_STRING))
        return true;
    for (size_t k = 0; k < KILN__COUNT(errors); k++)
        bytes += strlen(errors[k].name) + strlen(errors[k].text) + 2;
    module->error_texts = vm_allocate(module->device, bytes, "error texts");
    if (!module->error_texts)
        return false;
    module->error_texts->constant = true;
    char *at = (char *)module->error_texts->host;
    for (size_t k = 0; k < KILN__COUNT(errors); k++) {
        at = stpcpy(at, errors[k].name) + 1;
        at = stpcpy(at, errors[k].text) + 1;
    }
    return true;
}

static uint64_t text_of(const vm_module *module, uint32_t code, bool name)
{
    uint64_t at = module->error_texts->base;
    for (size_t k = 0; k < KILN__COUNT(errors); k++) {
        if (errors[k].code == code || k + 1 == KILN__COUNT(errors))
            return name ? at : at + strlen(errors[k].name) + 1;
        at += strlen(errors[k].name) + strlen(errors[k].text) + 2;
    }
    return 0;
}

/* ---- arguments and results ---- */

typedef struct call_state {
    vm_warp *w;
    const vm_code *i;
    uint32_t lane;
} call_state;

static uint64_t get_argument(const call_state *s, uint32_t index)
{
    return vm_argument(s->w, s->i->extra, s->lane, index);
}

static uint32_t get_argument32(const call_state *s, uint32_t index) { return (uint32_t)get_argument(s, index); }

static void get_bytes(const call_state *s, uint32_t index, void *out, size_t bytes)
{
    vm_argument_bytes(s->w, s->i->extra, s->lane, index, out, bytes);
}

/* Sets the thread's last error unless the call has succeeded. Returns the error. */
static uint32_t set_error(const call_state *s, uint32_t error)
{
    return error == VM_CUDA_SUCCESS ? error : vm_child_fail(s->w, s->lane, error);
}

/* Writes a result through a pointer argument. An invalid pointer raises a fault in the kernel, as on a GPU. */
static uint32_t write_result(const call_state *s, uint32_t index, const void *value, uint32_t bytes)
{
    const uint32_t align = bytes > 8 ? 8 : bytes; /* the alignment of a structure's widest member */
    unsigned char *to = vm_reach_span(s->w, s->i, s->lane, PTX_SPACE_GENERIC, get_argument(s, index), bytes, align,
                                      VM_REACH_WRITE);
    if (to)
        memcpy(to, value, bytes);
    return VM_CUDA_SUCCESS;
}

static uint32_t write_int(const call_state *s, uint32_t index, int value)
{
    return write_result(s, index, &value, sizeof value);
}

static uint32_t write_wide(const call_state *s, uint32_t index, uint64_t value)
{
    return write_result(s, index, &value, sizeof value);
}

/* ---- queries ---- */

static uint32_t get_attribute(const call_state *s)
{
    const vm_limits *limits = &s->w->runner->run->device->limits;
    int value;
    if (get_argument32(s, 2) != 0)
        return set_error(s, VM_CUDA_DEVICE);
    if (!limits->attribute || !limits->attribute(limits->user, (int)get_argument32(s, 1), &value))
        return set_error(s, VM_CUDA_INVALID_VALUE);
    return write_int(s, 0, value);
}

static uint32_t get_limit(const call_state *s)
{
    uint32_t which = get_argument32(s, 1);
    if (which >= VM_LIMITS)
        return set_error(s, VM_CUDA_LIMIT);
    return write_wide(s, 0, vm_child_limit(s->w->runner->run, which));
}

/* Writes the members of cudaFuncAttributes up to preferredShmemCarveout, which all versions of the structure have. */
static uint32_t get_function(const call_state *s)
{
    struct {
        uint64_t shared, constant, local;
        int32_t threads, registers, ptx_version, binary_version, cache_ca, dynamic_most, carveout;
    } out = {0};
    const vm_run_state *run = s->w->runner->run;
    const vm_module *module = run->launch->module;
    uint32_t kernel;
    if (!vm_child_kernel(s->w, get_argument(s, 1), &kernel))
        return set_error(s, VM_CUDA_FUNCTION);
    vm_resources r;
    vm_kernel_resources(module, (int)kernel, &r);
    vm_charge(s->w, module->ptx->functions[kernel].insn_count >> 6);
    out.shared = r.static_shared, out.constant = r.const_bytes, out.local = r.local_bytes;
    out.threads = (int32_t)r.max_threads, out.registers = (int32_t)r.register_estimate;
    out.ptx_version = out.binary_version = module->ptx->target;
    uint64_t most = run->device->limits.shared_per_block;
    out.dynamic_most = r.static_shared < most ? (int32_t)(most - r.static_shared) : 0;
    out.carveout = -1;
    return write_result(s, 0, &out, 24 + 7 * 4);
}

static uint32_t get_occupancy(const call_state *s)
{
    const vm_limits *limits = &s->w->runner->run->device->limits;
    uint32_t kernel;
    int blocks = 0, threads = (int)get_argument32(s, 2);
    if (!vm_child_kernel(s->w, get_argument(s, 1), &kernel))
        return set_error(s, VM_CUDA_FUNCTION);
    if (!limits->occupancy)
        return set_error(s, VM_CUDA_NOT_SUPPORTED);
    const vm_module *module = s->w->runner->run->launch->module;
    vm_resources r;
    vm_kernel_resources(module, (int)kernel, &r);
    vm_charge(s->w, module->ptx->functions[kernel].insn_count >> 6);
    if (threads <= 0 || !limits->occupancy(limits->user, &r, threads, get_argument(s, 3), &blocks))
        return set_error(s, VM_CUDA_INVALID_VALUE);
    return write_int(s, 0, blocks);
}

/* ---- streams and events; they are only handles, because the launched work runs in the order of the calls ---- */

static uint32_t create_handle(const call_state *s, bool stream)
{
    /* The manual allows only non-blocking streams in a kernel, but a GPU also accepts streams without this flag. */
    enum { STREAM_DEFAULT = 0, STREAM_NON_BLOCKING = 1, DISABLE_TIMING = 2 };
    uint32_t flags = get_argument32(s, 1);
    if (stream ? flags != STREAM_NON_BLOCKING && flags != STREAM_DEFAULT : flags != DISABLE_TIMING)
        return set_error(s, VM_CUDA_INVALID_VALUE);
    uint64_t handle = vm_child_handle(s->w, stream);
    return handle ? write_wide(s, 0, handle) : set_error(s, VM_CUDA_MEMORY);
}

static uint32_t destroy_handle(const call_state *s, bool stream)
{
    return set_error(s, vm_child_handle_drop(s->w, get_argument(s, 0), stream) ? VM_CUDA_SUCCESS : VM_CUDA_HANDLE);
}

static uint32_t record_or_wait(const call_state *s, uint32_t stream, uint32_t event)
{
    bool known = vm_child_stream_known(s->w, get_argument(s, stream)) &&
                 vm_child_handle_known(s->w, get_argument(s, event), false);
    return set_error(s, known ? VM_CUDA_SUCCESS : VM_CUDA_HANDLE);
}

/* ---- memory ---- */

static uint32_t allocate_memory(const call_state *s)
{
    const uint64_t bytes = get_argument(s, 1);
    const vm_allocation *got = bytes ? vm_allocate_from_kernel(s->w->runner->run->device, bytes) : NULL;
    const uint64_t made = got ? got->base : 0;
    if (bytes && !made)
        return set_error(s, VM_CUDA_MEMORY);
    vm_charge(s->w, 1 + (bytes >> 14));
    return write_wide(s, 0, made);
}

static uint32_t free_memory(const call_state *s)
{
    const uint64_t address = get_argument(s, 0);
    s->w->event |= VM_EVENT_SWITCH; /* the freed memory is released once this warp has refreshed its caches */
    const bool good = !address || vm_free_from_kernel(s->w, address);
    return set_error(s, good ? VM_CUDA_SUCCESS : VM_CUDA_INVALID_VALUE);
}

static uint32_t copy_1d(const call_state *s)
{
    vm_task t = {.target = get_argument(s, 0),
                 .source = get_argument(s, 1),
                 .width = get_argument(s, 2),
                 .height = 1,
                 .depth = 1};
    if (!t.source && t.width)
        return set_error(s, VM_CUDA_INVALID_VALUE);
    return vm_child_move(s->w, s->i, s->lane, &t, get_argument(s, 4));
}

static uint32_t copy_2d(const call_state *s)
{
    vm_task t = {.target = get_argument(s, 0),
                 .target_pitch = get_argument(s, 1),
                 .source = get_argument(s, 2),
                 .source_pitch = get_argument(s, 3),
                 .width = get_argument(s, 4),
                 .height = get_argument(s, 5),
                 .depth = 1};
    if (!t.source && t.width && t.height)
        return set_error(s, VM_CUDA_INVALID_VALUE);
    return vm_child_move(s->w, s->i, s->lane, &t, get_argument(s, 7));
}

/* Executes cudaMemcpy3D with a cudaMemcpy3DParms, whose arrays must be NULL. */
static uint32_t copy_3d(const call_state *s)
{
    struct {
        uint64_t source_array, source_at[3], source, source_pitch, source_size[2], target_array, target_at[3], target,
            target_pitch, target_size[2], extent[3];
    } p;
    const unsigned char *from = vm_reach_span(s->w, s->i, s->lane, PTX_SPACE_GENERIC, get_argument(s, 0), sizeof p, 8,
                                              VM_REACH_READ);
    if (!from)
        return VM_CUDA_INVALID_VALUE; /* a fault was raised */
    memcpy(&p, from, sizeof p);
    vm_task t = {.width = p.extent[0],
                 .height = p.extent[1],
                 .depth = p.extent[2],
                 .target_pitch = p.target_pitch,
                 .source_pitch = p.source_pitch};
    bool bad = p.source_array || p.target_array || !p.source || !p.target ||
               __builtin_mul_overflow(p.source_pitch, p.source_size[1], &t.source_slice) ||
               __builtin_mul_overflow(p.target_pitch, p.target_size[1], &t.target_slice);
    if (bad)
        return set_error(s, VM_CUDA_INVALID_VALUE);
    t.source = p.source + p.source_at[2] * t.source_slice + p.source_at[1] * t.source_pitch + p.source_at[0];
    t.target = p.target + p.target_at[2] * t.target_slice + p.target_at[1] * t.target_pitch + p.target_at[0];
    return vm_child_move(s->w, s->i, s->lane, &t, get_argument(s, 1));
}

static uint32_t fill_1d(const call_state *s)
{
    vm_task t = {.target = get_argument(s, 0),
                 .value = (unsigned char)get_argument32(s, 1),
                 .width = get_argument(s, 2),
                 .height = 1,
                 .depth = 1};
    return vm_child_move(s->w, s->i, s->lane, &t, get_argument(s, 3));
}

static uint32_t fill_2d(const call_state *s)
{
    vm_task t = {.target = get_argument(s, 0),
                 .target_pitch = get_argument(s, 1),
                 .value = (unsigned char)get_argument32(s, 2),
                 .width = get_argument(s, 3),
                 .height = get_argument(s, 4),
                 .depth = 1};
    return vm_child_move(s->w, s->i, s->lane, &t, get_argument(s, 5));
}

static uint32_t fill_3d(const call_state *s)
{
    struct {
        uint64_t pointer, pitch, size[2];
    } p;
    uint64_t extent[3];
    get_bytes(s, 0, &p, sizeof p);
    get_bytes(s, 2, extent, sizeof extent);
    vm_task t = {.target = p.pointer,
                 .target_pitch = p.pitch,
                 .value = (unsigned char)get_argument32(s, 1),
                 .width = extent[0],
                 .height = extent[1],
                 .depth = extent[2]};
    if (__builtin_mul_overflow(p.pitch, p.size[1], &t.target_slice))
        return set_error(s, VM_CUDA_INVALID_VALUE);
    return vm_child_move(s->w, s->i, s->lane, &t, get_argument(s, 3));
}

/* ---- launches ---- */

static uint64_t get_buffer_for(const call_state *s)
{
    uint32_t grid[3], block[3];
    get_bytes(s, 1, grid, sizeof grid);
    get_bytes(s, 2, block, sizeof block);
    return vm_child_buffer_for(s->w, s->lane, get_argument(s, 0), grid, block, get_argument32(s, 3));
}

static uint32_t launch_as(const call_state *s)
{
    uint32_t grid[3], block[3];
    get_bytes(s, 2, grid, sizeof grid);
    get_bytes(s, 3, block, sizeof block);
    return vm_child_launch_as(s->w, s->i, s->lane, get_argument(s, 0), get_argument(s, 1), grid, block,
                              get_argument32(s, 4), get_argument(s, 5));
}

static uint64_t call_one(const call_state *s, vm_runtime function)
{
    enum { RUNTIME_VERSION = 13000, PREFER_NONE = 0, FOUR_BYTE_BANKS = 1 };
    const vm_module *module = s->w->frame->function->module;
    switch (function) {
    case VM_RUNTIME_BUFFER: return vm_child_buffer(s->w, s->lane, get_argument(s, 1));
    case VM_RUNTIME_BUFFER_V2: return get_buffer_for(s);
    case VM_RUNTIME_LAUNCH: return launch_as(s);
    case VM_RUNTIME_LAUNCH_V2: return vm_child_launch(s->w, s->i, s->lane, get_argument(s, 0), get_argument(s, 1));
    case VM_RUNTIME_SYNCHRONIZE: break; /* vm_runtime_run() synchronises for all lanes together */
    case VM_RUNTIME_LAST_ERROR: return vm_child_error(s->w, s->lane, true);
    case VM_RUNTIME_PEEK_ERROR: return vm_child_error(s->w, s->lane, false);
    case VM_RUNTIME_ERROR_NAME: return text_of(module, get_argument32(s, 0), true);
    case VM_RUNTIME_ERROR_STRING: return text_of(module, get_argument32(s, 0), false);
    case VM_RUNTIME_DEVICE_COUNT: return write_int(s, 0, 1);
    case VM_RUNTIME_DEVICE: return write_int(s, 0, 0);
    case VM_RUNTIME_ATTRIBUTE: return get_attribute(s);
    case VM_RUNTIME_LIMIT: return get_limit(s);
    case VM_RUNTIME_CACHE_CONFIG: return write_int(s, 0, PREFER_NONE);
    case VM_RUNTIME_SHARED_CONFIG: return write_int(s, 0, FOUR_BYTE_BANKS);
    case VM_RUNTIME_VERSION: return write_int(s, 0, RUNTIME_VERSION);
    case VM_RUNTIME_STREAM_CREATE: return create_handle(s, true);
    case VM_RUNTIME_STREAM_DESTROY: return destroy_handle(s, true);
    case VM_RUNTIME_STREAM_WAIT: return record_or_wait(s, 0, 1);
    case VM_RUNTIME_EVENT_CREATE: return create_handle(s, false);
    case VM_RUNTIME_EVENT_DESTROY: return destroy_handle(s, false);
    case VM_RUNTIME_EVENT_RECORD:
    case VM_RUNTIME_EVENT_RECORD_FLAGS: return record_or_wait(s, 1, 0);
    case VM_RUNTIME_FUNCTION_ATTRIBUTES: return get_function(s);
    case VM_RUNTIME_OCCUPANCY:
    case VM_RUNTIME_OCCUPANCY_FLAGS: return get_occupancy(s);
    case VM_RUNTIME_MALLOC: return allocate_memory(s);
    case VM_RUNTIME_FREE: return free_memory(s);
    case VM_RUNTIME_COPY: return copy_1d(s);
    case VM_RUNTIME_COPY_2D: return copy_2d(s);
    case VM_RUNTIME_COPY_3D: return copy_3d(s);
    case VM_RUNTIME_FILL: return fill_1d(s);
    case VM_RUNTIME_FILL_2D: return fill_2d(s);
    case VM_RUNTIME_FILL_3D: return fill_3d(s);
    case VM_RUNTIME_SET_CONDITION: { /* the handle of the condition is the address of its value */
        const uint32_t value = get_argument32(s, 1);
        return write_result(s, 0, &value, sizeof value);
    }
    }
    return VM_CUDA_UNKNOWN;
}

void vm_runtime_run(vm_warp *w, const vm_code *i, uint32_t m, uint32_t function)
{
    bool together = function == VM_RUNTIME_SYNCHRONIZE;
    uint64_t result = together ? vm_child_synchronize(w, m) : 0;
    VM_EACH(lane, m) {
        const call_state state = {w, i, lane};
        if (!together)
            result = call_one(&state, (vm_runtime)function);
        if (w->event & VM_EVENT_FAULT)
            return;
        if (functions[function].result)
            vm_answer(w, i->extra, lane, result);
    }
}
