/* state.c - the simulated devices of the process: initialisation, contexts, handles, locks.
 *
 * The file is long because the state of the process is one static object, and all functions that change this object are
 * here. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cu_objects.h"
#include "jit.h"
#include "profile.h"
#include "vm_checks.h"

typedef struct slot {
    sim_object *object;
    uint32_t generation;
    uint32_t next_free;
} slot;

#define NO_SLOT UINT32_MAX
#define SLOT_BITS 24
#define STACK_DEPTH 64

static struct {
    pthread_mutex_t work, state;
    bool initialized;
    const sim_profile *profile;
    const kiln_allocator *mem;
    slot *slots;
    size_t slot_capacity;
    uint32_t slot_count, free_slot;
    /* The generation repeats only after 2^32 objects. So a stale handle does not match a newer object. */
    uint32_t generation;
    /* number of devices of the process; 0 means one device, where a CUdevice is the index of a profile */
    unsigned count;
    unsigned all;                      /* number of devices of the machine; 0 means one device */
    unsigned places[SIM_DEVICES_MOST]; /* the numbers that the devices of the process have on the machine */
    sim_context primary[SIM_DEVICES_MOST];
    unsigned primary_flags[SIM_DEVICES_MOST];
    vm_group group;    /* the group of all devices, used if there are several */
    sim_context *made; /* the list of contexts from cuCtxCreate */
    sim_context homeless;
    uint64_t serial;     /* the serial number that the next context gets */
    uint64_t work_start; /* when the running call began; the `work` lock guards it */
    unsigned outside;    /* number of threads that run a host function of a stream */
    /* A thread that returns from a host function signals this condition. The condition belongs to the `state` lock. */
    pthread_cond_t idle;
    volatile int ending; /* becomes 1 when the process ends, so that running kernels stop */
} sim = {.work = PTHREAD_MUTEX_INITIALIZER,
         .state = PTHREAD_MUTEX_INITIALIZER,
         .free_slot = NO_SLOT,
         .group = {.lock = PTHREAD_RWLOCK_INITIALIZER},
         .homeless = {.ordinal = SIM_DEVICES_MOST},
         .idle = PTHREAD_COND_INITIALIZER};

static atomic_ullong total_ns, total_instructions;

/* The stack of current contexts of a thread. The depth of the stack is fixed, so that nothing must be freed when the
 * thread ends. */
static _Thread_local struct {
    CUcontext contexts[STACK_DEPTH];
    unsigned depth;
} stack;
static _Thread_local bool called_out; /* true while the thread runs a host function of a stream */
/* The context whose work has called the host function that this thread runs. A later primary context may have the same
 * handle, but it never has the same id. */
static _Thread_local struct {
    CUcontext handle;
    uint64_t id;
} caller;

/* Contexts are not in the table of objects. The reason is that a primary context must have the same handle when it is
 * created again. The handle of any other context contains a serial number. */
#ifndef SIM_MARK
#define SIM_MARK 0x51u
#endif
#define CONTEXT_MARK ((uint64_t)SIM_MARK << 56)
#define PRIMARY_HANDLE(ordinal) (CONTEXT_MARK | (uint64_t)(ordinal) << 48 | 0x10)

const kiln_allocator *sim_memory(void) { return sim.mem; }

void sim_set_memory(const kiln_allocator *mem)
{
    pthread_mutex_lock(&sim.state);
    sim.mem = mem;
    pthread_mutex_unlock(&sim.state);
}

/* ---- handles: 32 bits of generation, 24 of slot, 5 of kind, 3 zero ---- */

static uint64_t handle_of(uint32_t index, uint32_t generation, sim_kind kind)
{
    return (uint64_t)generation << 32 | (uint64_t)index << 8 | (uint64_t)kind << 3;
}

void *sim_object_find(const sim_context *context, const void *handle, sim_kind kind)
{
    uint64_t number = (uintptr_t)handle;
    uint32_t index = (uint32_t)(number >> 8) & ((1u << SLOT_BITS) - 1);
    if (index >= sim.slot_count || !sim.slots[index].object || sim.slots[index].object->handle != number ||
        sim.slots[index].object->kind != kind || sim.slots[index].object->context != context)
        return NULL;
    return sim.slots[index].object;
}

static bool slot_take(uint32_t *index)
{
    if (sim.free_slot != NO_SLOT) {
        *index = sim.free_slot;
        sim.free_slot = sim.slots[*index].next_free;
        return true;
    }
    if (sim.slot_count >= 1u << SLOT_BITS ||
        !kiln__grow(sim.mem, &sim.slots, &sim.slot_capacity, (size_t)sim.slot_count + 1, sizeof *sim.slots))
        return false;
    *index = sim.slot_count++;
    return true;
}

static void link_object(sim_context *context, sim_object *object)
{
    object->context = context;
    object->previous = NULL;
    object->next = context->objects;
    if (object->next)
        object->next->previous = object;
    context->objects = object;
}

static void unlink_object(sim_context *context, sim_object *object)
{
    if (object->previous)
        object->previous->next = object->next;
    else
        context->objects = object->next;
    if (object->next)
        object->next->previous = object->previous;
}

void *sim_object_new(sim_context *context, sim_kind kind, size_t size)
{
    uint32_t index;
    sim_object *object = kiln__calloc(sim.mem, 1, size);
    if (!object || !slot_take(&index)) {
        kiln__free(sim.mem, object);
        return NULL;
    }
    if (++sim.generation == 0)
        sim.generation = 1;
    object->kind = kind;
    object->handle = handle_of(index, sim.generation, kind);
    link_object(context, object);
    sim.slots[index] = (slot){.object = object, .generation = sim.generation};
    return object;
}

void sim_object_free(sim_context *context, void *pointer)
{
    sim_object *object = pointer;
    if (object->drop)
        object->drop(object);
    uint32_t index = (uint32_t)(object->handle >> 8) & ((1u << SLOT_BITS) - 1);
    sim.slots[index].object = NULL;
    sim.slots[index].next_free = sim.free_slot;
    sim.free_slot = index;
    unlink_object(context, object);
    kiln__free(sim.mem, object);
}

/* ---- calls ---- */

const sim_profile *sim_current_profile(void) { return sim.profile ? sim.profile : &sim_profiles[0]; }

CUresult sim_begin_bare(void)
{
    pthread_mutex_lock(&sim.state);
    return sim.initialized ? CUDA_SUCCESS : sim_end(CUDA_ERROR_NOT_INITIALIZED);
}

CUresult(sim_end)(CUresult result)
{
    pthread_mutex_unlock(&sim.state);
    return result;
}

/* Returns the device whose primary context has this handle, or -1 if no device has it. */
static int primary_of(CUcontext handle)
{
    for (unsigned i = 0; i < sim_device_count(); i++)
        if ((uintptr_t)handle == PRIMARY_HANDLE(i))
            return (int)i;
    return -1;
}

static bool any_context(void)
{
    bool any = sim.made != NULL;
    for (unsigned i = 0; i < SIM_DEVICES_MOST; i++)
        any |= sim.primary[i].retained > 0;
    return any;
}

sim_context *sim_context_find(CUcontext handle)
{
    const int ordinal = primary_of(handle);
    if (ordinal >= 0)
        return sim.primary[ordinal].retained ? &sim.primary[ordinal] : NULL;
    sim_context *context = sim.made;
    while (context && context->object.handle != (uintptr_t)handle)
        context = context->next;
    return context;
}

sim_context *sim_context_after(const sim_context *context)
{
    unsigned i = 0;
    if (context && (context < sim.primary || context >= sim.primary + SIM_DEVICES_MOST))
        return context->next;
    for (i = context ? (unsigned)(context - sim.primary) + 1 : 0; i < SIM_DEVICES_MOST; i++)
        if (sim.primary[i].retained)
            return &sim.primary[i];
    return sim.made;
}

sim_context *sim_context_on(unsigned ordinal)
{
    if (ordinal < SIM_DEVICES_MOST && sim.primary[ordinal].retained)
        return &sim.primary[ordinal];
    sim_context *context = sim.made;
    while (context && context->ordinal != ordinal)
        context = context->next;
    return context;
}

sim_context *sim_home(sim_context *context, uint64_t address)
{
    uint64_t base, bytes;
    if (sim_device_count() == 1 || !address || vm_range(context->device, address, &base, &bytes))
        return context;
    for (unsigned i = 0; i < sim_device_count(); i++)
        if (i != context->ordinal && sim.primary[i].retained && vm_range(sim.primary[i].device, address, &base, &bytes))
            return &sim.primary[i];
    for (sim_context *other = sim.made; other; other = other->next)
        if (other->ordinal != context->ordinal && vm_range(other->device, address, &base, &bytes))
            return other;
    return context;
}

sim_context *sim_owner(sim_context *context, const void *handle, sim_kind kind)
{
    const uint64_t number = (uintptr_t)handle;
    const uint32_t index = (uint32_t)(number >> 8) & ((1u << SLOT_BITS) - 1);
    const sim_object *object = index < sim.slot_count ? sim.slots[index].object : NULL;
    return object && object->handle == number && object->kind == kind ? object->context : context;
}

sim_context *sim_follow(sim_context *context, const void *handle, sim_kind kind)
{
    sim_context *owner = sim_owner(context, handle, kind);
    return owner->ordinal != context->ordinal ? owner : context;
}

/* Finds the current context of the thread. Returns an error if the context cannot be used. The caller must hold the
 * state lock. */
static CUresult get_current(sim_context **context)
{
    if (!sim.initialized)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (stack.depth == 0 || !stack.contexts[stack.depth - 1])
        return CUDA_ERROR_INVALID_CONTEXT;
    *context = sim_context_find(stack.contexts[stack.depth - 1]);
    return *context ? (*context)->sticky : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

sim_context *sim_current(void)
{
    sim_context *context = NULL;
    CUresult result = get_current(&context);
    return result == CUDA_SUCCESS || context ? context : NULL;
}

/* Begins a call in the current context of the thread. If `pool` is true and the thread has no current context, takes
 * the first primary context that is retained. On success returns CUDA_SUCCESS and holds the state lock. */
static CUresult begin_with(sim_context **context, bool pool)
{
    pthread_mutex_lock(&sim.state);
    CUresult result = get_current(context);
    for (unsigned i = 0; pool && result == CUDA_ERROR_INVALID_CONTEXT && i < sim_device_count(); i++)
        if (sim.primary[i].retained) {
            *context = &sim.primary[i];
            result = sim.primary[i].sticky;
            pool = false;
        }
    return result == CUDA_SUCCESS ? CUDA_SUCCESS : sim_end(result);
}

CUresult sim_begin(sim_context **context) { return begin_with(context, false); }
CUresult sim_begin_pool(sim_context **context) { return begin_with(context, true); }

void *sim_begin_object(sim_context **context, const void *handle, sim_kind kind, CUresult *result)
{
    *result = sim_begin(context);
    void *object = *result == CUDA_SUCCESS ? sim_object_find(*context, handle, kind) : NULL;
    if (*result == CUDA_SUCCESS && !object)
        *result = sim_end(CUDA_ERROR_INVALID_HANDLE);
    return object;
}

CUresult sim_begin_work(sim_context **context)
{
    if (called_out) /* a host function of a stream must not call the driver */
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&sim.work);
    CUresult result = sim_begin(context);
    if (result != CUDA_SUCCESS) {
        pthread_mutex_unlock(&sim.work);
        return result;
    }
    sim.work_start = kiln__now_ns();
    return CUDA_SUCCESS;
}

CUresult sim_begin_any(sim_context **context)
{
    pthread_mutex_lock(&sim.work);
    pthread_mutex_lock(&sim.state);
    *context = NULL;
    CUresult result = get_current(context);
    if (!*context) {
        pthread_mutex_unlock(&sim.state);
        pthread_mutex_unlock(&sim.work);
        return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_CONTEXT : result;
    }
    sim.work_start = kiln__now_ns();
    return CUDA_SUCCESS;
}

CUresult sim_begin_called(sim_context **context)
{
    if (!called_out)
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&sim.work);
    pthread_mutex_lock(&sim.state);
    *context = sim_context_find(caller.handle);
    if (!*context || (*context)->id != caller.id) {
        pthread_mutex_unlock(&sim.state);
        pthread_mutex_unlock(&sim.work);
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    sim.work_start = kiln__now_ns();
    return CUDA_SUCCESS;
}

sim_context *sim_homeless(void) { return &sim.homeless; }

CUresult sim_begin_process(sim_context **context)
{
    if (called_out)
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&sim.work);
    pthread_mutex_lock(&sim.state);
    CUresult result = get_current(context);
    if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
        *context = &sim.homeless;
        result = CUDA_SUCCESS;
    }
    if (result != CUDA_SUCCESS) {
        pthread_mutex_unlock(&sim.state);
        pthread_mutex_unlock(&sim.work);
        return result;
    }
    sim.work_start = kiln__now_ns();
    return CUDA_SUCCESS;
}

CUresult(sim_end_work)(sim_context *context, CUresult result)
{
    if (context) {
        context->clock_ns = sim_clock(context);
        sim_report_new(context);
    }
    pthread_mutex_unlock(&sim.state);
    pthread_mutex_unlock(&sim.work);
    return result;
}

uint64_t sim_clock(const sim_context *context) { return context->clock_ns + (kiln__now_ns() - sim.work_start); }

bool sim_call_out(sim_context *context, void (*function)(void *), void *user)
{
    CUcontext handle = SIM_HANDLE(CUcontext, context);
    uint64_t id = context->id;
    context->clock_ns = sim_clock(context);
    sim.outside++;
    pthread_mutex_unlock(&sim.state);
    pthread_mutex_unlock(&sim.work);
    called_out = true;
    caller.handle = handle;
    caller.id = id;
    function(user);
    called_out = false;
    pthread_mutex_lock(&sim.work);
    pthread_mutex_lock(&sim.state);
    sim.outside--;
    pthread_cond_broadcast(&sim.idle);
    sim.work_start = kiln__now_ns();
    return sim_context_find(handle) == context && context->id == id;
}

void sim_wait_idle(void)
{
    pthread_mutex_lock(&sim.state);
    while (sim.outside > 0 && !called_out)
        pthread_cond_wait(&sim.idle, &sim.state);
    pthread_mutex_unlock(&sim.state);
}

void sim_pause(void) { pthread_mutex_unlock(&sim.state); }

void sim_resume(void) { pthread_mutex_lock(&sim.state); }

/* ---- initialisation ---- */

CUresult sim_cuInit(unsigned flags)
{
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult chosen = SIM_CHOOSE();
    if (chosen != CUDA_SUCCESS)
        return chosen;
    pthread_mutex_lock(&sim.state);
    sim.initialized = true;
    return sim_end(CUDA_SUCCESS);
}

bool kiln__sim_profile(const char *name)
{
    bool done = false;
    pthread_mutex_lock(&sim.state);
    for (size_t i = 0; i < sim_profile_count && !done; i++) {
        if (strcmp(sim_profiles[i].name, name ? name : "generic") != 0)
            continue;
        if (any_context() && sim_current_profile() != &sim_profiles[i])
            break;
        sim.profile = &sim_profiles[i];
        done = true;
    }
    pthread_mutex_unlock(&sim.state);
    return done;
}

unsigned sim_device_count(void) { return sim.count ? sim.count : 1; }

int sim_device_ordinal(CUdevice device)
{
    if (sim.count)
        return device >= 0 && device < (int)sim.count ? device : -1;
    return device >= 0 && (size_t)device < sim_profile_count && &sim_profiles[device] == sim_current_profile() ? 0 : -1;
}

CUdevice sim_device_at(unsigned ordinal)
{
    return sim.count ? (CUdevice)ordinal : (CUdevice)(sim_current_profile() - sim_profiles);
}

const sim_profile *sim_device_profile(CUdevice device)
{
    if (sim.count)
        return sim_device_ordinal(device) >= 0 ? sim_current_profile() : NULL;
    return device >= 0 && (size_t)device < sim_profile_count ? &sim_profiles[device] : NULL;
}

unsigned sim_device_place(CUdevice device)
{
    const int ordinal = sim_device_ordinal(device);
    return sim.count && ordinal >= 0 ? sim.places[ordinal] : 0;
}

unsigned sim_machine_devices(void) { return sim.all ? sim.all : 1; }

bool sim_set_devices(const unsigned *places, unsigned count, unsigned all)
{
    pthread_mutex_lock(&sim.state);
    const bool can = count > 0 && count <= SIM_DEVICES_MOST && !any_context();
    sim.all = all;
    if (can) {
        memcpy(sim.places, places, count * sizeof *places);
        sim.count = count;
    }
    pthread_mutex_unlock(&sim.state);
    return can;
}

bool kiln__sim_kernel_registers(const void *handle, int registers, const kiln__sim_spills *spills)
{
    sim_context *context;
    if (sim_begin(&context) != CUDA_SUCCESS)
        return false;
    sim_function *function = sim_object_find(context, handle, SIM_FUNCTION);
    if (function && registers > 0 && registers <= 255)
        function->resources.register_estimate = (uint32_t)registers;
    if (function)
        function->spills = *spills;
    sim_end(CUDA_SUCCESS);
    return function != NULL;
}

const char *kiln__sim_last_fault(void)
{
    static _Thread_local char copy[sizeof sim.made->fault];
    pthread_mutex_lock(&sim.state);
    const sim_context *context = stack.depth > 0 ? sim_context_find(stack.contexts[stack.depth - 1]) : NULL;
    memcpy(copy, context ? context->fault : "", context ? sizeof copy : 1);
    pthread_mutex_unlock(&sim.state);
    return copy;
}

void kiln__sim_totals(double *seconds, uint64_t *warp_instructions)
{
    *seconds = (double)atomic_load(&total_ns) * 1e-9;
    *warp_instructions = atomic_load(&total_instructions);
}

void sim_count_work(uint64_t nanoseconds, uint64_t warp_instructions)
{
    atomic_fetch_add(&total_ns, nanoseconds);
    atomic_fetch_add(&total_instructions, warp_instructions);
}

/* ---- creating and ending contexts ---- */

static void pool_init(sim_context *context)
{
    context->pool = (sim_pool){.reuse = {1, 1, 1}};
    context->pool.object.handle = SIM_POOL_HANDLE(context->ordinal);
    context->pool.object.context = context;
}

/* Sets the range of addresses that one of several devices has. All contexts of a device have the same range. */
static void divide_addresses(unsigned ordinal, vm_limits *limits)
{
    enum { GRAIN = 1 << 30 };
    const uint64_t part = (SIM_DEVICE_ONLY_END - VM_GLOBAL_BASE) / sim.count / GRAIN * GRAIN;
    limits->group = &sim.group;
    limits->number = ordinal;
    limits->first_address = VM_GLOBAL_BASE + part * ordinal;
    limits->end_address = limits->first_address + part;
}

/* Opens a context on a device: memory, addresses, interpreter, checks and compiler. If a step fails, undoes all steps
 * before it. */
static CUresult context_open(sim_context *made, unsigned ordinal, uint64_t handle, unsigned flags)
{
    const sim_profile *profile = sim_current_profile();
    uint64_t optin = (uint64_t)sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    uint64_t memory, threads, steps;
    uint32_t jit;
    if (!sim_device_memory(profile, &memory) || !sim_environment("KILN_SIM_THREADS", &threads) ||
        !sim_environment("KILN_SIM_STEPS", &steps) || !sim_jit_asked(&jit) || !sim_right_words() ||
        !sim_programs()->program_open())
        return CUDA_ERROR_INVALID_VALUE;
    vm_limits limits = {
        .memory = memory,
        .shared_per_block = optin,
        .threads = threads < UINT_MAX ? (unsigned)threads : UINT_MAX,
        .step_budget = steps,
        .page = SIM_PAGE,
        .zeroed = SIM_ZEROED,
        .sm_count = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        .cc = sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
              sim_profile_int(profile, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        .attribute = sim_kernel_attribute,
        .occupancy = sim_kernel_occupancy,
        .user = profile,
    };
    if (sim.count > 1)
        divide_addresses(ordinal, &limits);
    vm_device *device = vm_device_new(sim.mem, &limits);
    if (!device || !sim_jit_open(device, jit)) {
        vm_device_free(device);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (sim_context){.object = {.kind = SIM_CONTEXT, .handle = handle},
                          .ordinal = ordinal,
                          .device = device,
                          .memory = limits.memory,
                          .steps = limits.step_budget,
                          .id = ++sim.serial,
                          .flags = flags,
                          .limits = {[CU_LIMIT_STACK_SIZE] = 1024,
                                     [CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
                                     [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
                                     [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
                                     [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
                                     [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64}};
    pool_init(made);
    for (sim_object *object = sim.homeless.objects; object; object = object->next)
        if (object->meet)
            object->meet(object, made);
    made->check_shown = sim_check_wanted() && sim_check_open(made);
    if (made->check_shown) {
        sim_report_begin();
        check_suppress(made->check, sim_report_suppresses);
    }
    return CUDA_SUCCESS;
}

/* Frees the memory of the context and all its objects that are still alive, as NVIDIA's driver does. Objects that
 * belong to the process do not end, but move to the context `homeless`. If no other context remains, frees the table of
 * handles too. The function does not free the struct itself. The caller must hold both locks. */
static void context_close(sim_context *context)
{
    sim_object *object = context->objects;
    sim_count_stop(context);
    sim_check_show(context, true, true);
    while (object) { /* freeing a module also frees its functions, so the loop starts again at the head of the list */
        if (object->kind == SIM_LINK)
            sim_link_drop(object);
        if (object->kind == SIM_MODULE)
            sim_module_close(context, (sim_module *)object);
        else if (object->kind == SIM_FUNCTION) {
            object = object->next; /* a module frees this object */
            continue;
        } else if (object->kind == SIM_ARRAY)
            sim_array_close(context, (sim_array *)object);
        else if (object->kind == SIM_TEXTURE)
            sim_texture_close(context, (sim_texture *)object);
        else if (object->leave && !sim.mem) { /* the allocator of a test may not outlive its contexts */
            object->leave(object);
            unlink_object(context, object);
            link_object(&sim.homeless, object);
        } else
            sim_object_free(context, object);
        object = context->objects;
    }
    if (context->order)
        context->order_end(context);
    vm_device_free(context->device);
    check_free(context->check);
    *context = (sim_context){0};
    if (any_context() || sim.homeless.objects)
        return;
    kiln__free(sim.mem, sim.slots);
    sim.slots = NULL;
    sim.slot_capacity = 0;
    sim.slot_count = 0;
    sim.free_slot = NO_SLOT;
}

const volatile int *sim_ending(void) { return &sim.ending; }

/* Reports the findings of all contexts at the end of the process. A program need not destroy its contexts before.
 * sim_report_end() may end the process. At this time, another thread may still run a kernel that adds findings. So the
 * function stops the kernel and waits until the other thread releases the lock. The wait has a limit, because the
 * thread that ends the process may hold the lock itself. A signal handler can do this. If the wait ends without the
 * lock, the function prints the findings all the same, but does not search for leaks. */
static void __attribute__((destructor)) show_checks(void)
{
    enum { SECONDS = 5 };
    struct timespec until;
    if (!sim_check_wanted())
        return;
    __atomic_store_n(&sim.ending, 1, __ATOMIC_RELAXED);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SECONDS;
    const bool working = pthread_mutex_timedlock(&sim.work, &until) == 0;
    const bool locked = working && pthread_mutex_timedlock(&sim.state, &until) == 0;
    for (unsigned i = 0; i < SIM_DEVICES_MOST; i++)
        if (sim.primary[i].retained)
            sim_check_show(&sim.primary[i], locked, false);
    for (sim_context *context = sim.made; context; context = context->next)
        sim_check_show(context, locked, false);
    sim_report_end();
    if (locked)
        pthread_mutex_unlock(&sim.state);
    if (working)
        pthread_mutex_unlock(&sim.work);
}

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = sim_begin_bare();
    if (result != CUDA_SUCCESS)
        return result;
    const int ordinal = sim_device_ordinal(device);
    if (ordinal < 0)
        return sim_end(CUDA_ERROR_INVALID_DEVICE);
    if (!context)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim_context *primary = &sim.primary[ordinal];
    if (!primary->retained)
        result = context_open(primary, (unsigned)ordinal, PRIMARY_HANDLE(ordinal), sim.primary_flags[ordinal]);
    if (result != CUDA_SUCCESS)
        return sim_end(result);
    primary->retained++;
    *context = (CUcontext)(uintptr_t)PRIMARY_HANDLE(ordinal);
    return sim_end(CUDA_SUCCESS);
}

static CUresult release_primary(CUdevice device, bool all)
{
    pthread_mutex_lock(&sim.work); /* the last release of a primary context waits for running work */
    CUresult result = sim_begin_bare();
    if (result == CUDA_SUCCESS) {
        const int ordinal = sim_device_ordinal(device);
        sim_context *primary = ordinal >= 0 ? &sim.primary[ordinal] : NULL;
        if (!primary)
            result = CUDA_ERROR_INVALID_DEVICE;
        else if (!primary->retained)
            result = all ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
        else if (all || primary->retained == 1) {
            primary->retained = 0;
            context_close(primary);
        } else
            primary->retained--;
        sim_end(result);
    }
    pthread_mutex_unlock(&sim.work);
    sim_bury_users();
    return result;
}

CUresult sim_cuDevicePrimaryCtxRelease(CUdevice device) { return release_primary(device, false); }

CUresult sim_cuDevicePrimaryCtxReset(CUdevice device) { return release_primary(device, true); }

/* Returns true if the flags of a context are valid. A flag must be known, and at most one scheduling flag may be set.
 * The scheduling flags choose how a thread waits, and have no effect in the simulator. */
static bool right_flags(unsigned flags)
{
    unsigned way = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && (way & (way - 1)) == 0;
}

CUresult sim_cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags)
{
    SIM_TRY(sim_begin_bare());
    const int ordinal = sim_device_ordinal(device);
    if (ordinal < 0)
        return sim_end(CUDA_ERROR_INVALID_DEVICE);
    if (!right_flags(flags))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim.primary_flags[ordinal] = flags;
    sim.primary[ordinal].flags = flags;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    SIM_TRY(sim_begin_bare());
    const int ordinal = sim_device_ordinal(device);
    if (ordinal < 0)
        return sim_end(CUDA_ERROR_INVALID_DEVICE);
    if (!flags || !active)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *flags = sim.primary_flags[ordinal];
    *active = sim.primary[ordinal].retained > 0;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice device)
{
    SIM_TRY(sim_begin_bare());
    const int ordinal = sim_device_ordinal(device);
    if (ordinal < 0)
        return sim_end(CUDA_ERROR_INVALID_DEVICE);
    if (!handle || !right_flags(flags))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (stack.depth == STACK_DEPTH)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    sim_context *made = kiln__calloc(sim.mem, 1, sizeof *made);
    if (!made)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = context_open(made, (unsigned)ordinal, CONTEXT_MARK | (sim.serial + 1) << 8 | 0x10, flags);
    if (result != CUDA_SUCCESS) {
        kiln__free(sim.mem, made);
        return sim_end(result);
    }
    made->next = sim.made;
    sim.made = made;
    *handle = (CUcontext)(uintptr_t)made->object.handle;
    stack.contexts[stack.depth++] = *handle;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *affinity, int count, unsigned flags,
                            CUdevice device)
{
    if (count < 0 || (count > 0 && !affinity))
        return CUDA_ERROR_INVALID_VALUE;
    return count > 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : sim_cuCtxCreate_v2(handle, flags, device);
}

CUresult sim_cuCtxCreate(CUcontext *handle, CUctxCreateParams *params, unsigned flags, CUdevice device)
{
    if (!params)
        return sim_cuCtxCreate_v2(handle, flags, device);
    if (params->cigParams)
        return CUDA_ERROR_NOT_SUPPORTED;
    return sim_cuCtxCreate_v3(handle, params->execAffinityParams, params->numExecAffinityParams, flags, device);
}

/* Destroys a context of cuCtxCreate. Returns an error for a primary context, because a primary context ends when its
 * last user releases it. If the current context of a thread is destroyed, the next call of this thread returns an
 * error. */
CUresult sim_cuCtxDestroy(CUcontext handle)
{
    pthread_mutex_lock(&sim.work);
    CUresult result = sim_begin_bare();
    if (result == CUDA_SUCCESS) {
        sim_context **at = &sim.made, *gone;
        while (*at && (*at)->object.handle != (uintptr_t)handle)
            at = &(*at)->next;
        gone = *at;
        if (gone) {
            *at = gone->next;
            context_close(gone);
            kiln__free(sim.mem, gone);
            if (stack.depth > 0 && stack.contexts[stack.depth - 1] == handle)
                stack.depth--;
        }
        result = sim_end(gone ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
    }
    pthread_mutex_unlock(&sim.work);
    sim_bury_users();
    return result;
}

/* ---- the thread's current context ---- */

/* Returns true for each live context and for every primary context. As in libcuda, a thread may make a primary context
 * current even if nobody has retained the context. */
static bool is_context(CUcontext context) { return primary_of(context) >= 0 || sim_context_find(context); }

bool kiln__sim_has_context(const void *context) { return ((uintptr_t)context & (uint64_t)0xff << 56) == CONTEXT_MARK; }

const char *kiln__sim_compiler(const kiln_allocator *mem) { return sim_jit_library(mem); }

CUresult sim_cuCtxGetCurrent(CUcontext *context)
{
    SIM_TRY(sim_begin_bare());
    if (!context)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *context = stack.depth ? stack.contexts[stack.depth - 1] : NULL;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxSetCurrent(CUcontext context)
{
    SIM_TRY(sim_begin_bare());
    if (context && !is_context(context))
        return sim_end(CUDA_ERROR_INVALID_CONTEXT);
    if (context && stack.depth == 0)
        stack.depth = 1;
    if (context)
        stack.contexts[stack.depth - 1] = context;
    else if (stack.depth > 0)
        stack.depth--;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxPushCurrent(CUcontext context)
{
    SIM_TRY(sim_begin_bare());
    if (!context)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (!is_context(context))
        return sim_end(CUDA_ERROR_INVALID_CONTEXT);
    if (stack.depth == STACK_DEPTH)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    stack.contexts[stack.depth++] = context;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxPopCurrent(CUcontext *context)
{
    SIM_TRY(sim_begin_bare());
    if (stack.depth == 0)
        return sim_end(CUDA_ERROR_INVALID_CONTEXT);
    stack.depth--;
    if (context)
        *context = stack.contexts[stack.depth];
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuCtxGetDevice(CUdevice *device)
{
    SIM_TRY(sim_begin_bare());
    if (!device)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (stack.depth == 0)
        return sim_end(CUDA_ERROR_INVALID_CONTEXT);
    const int primary = primary_of(stack.contexts[stack.depth - 1]);
    const sim_context *context = sim_context_find(stack.contexts[stack.depth - 1]);
    *device = sim_device_at(primary >= 0 ? (unsigned)primary : context ? context->ordinal : 0);
    return sim_end(CUDA_SUCCESS);
}
