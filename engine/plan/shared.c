/* shared.c - contents that are made once for all plans of a sweep. The object has a list of entries with keys, spare
 * device memory, and a staging area. Only one thread at a time may use such an object. */
#include <inttypes.h>
#include <string.h>

#include "plan_internal.h"
#include "shared_internal.h"

kiln_status kiln__shared_open(kiln_engine *engine, const kiln_spec *spec, kiln__shared **shared, kiln_error **error)
{
    (void)spec; /* `spec` is not needed, because the keys identify the contents */
    kiln__shared *made = kiln__calloc(engine->mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    made->engine = engine;
    made->mem = engine->mem;
    made->sweep = true;
    *shared = made;
    return KILN_OK;
}

void kiln__shared_on_launch(kiln__shared *shared, void (*notify)(void *user), void *user)
{
    shared->on_launch = notify;
    shared->on_launch_user = user;
}

void kiln__shared_on_wait(kiln__shared *shared, void (*notify)(void *user, const char *why), void *user)
{
    shared->on_wait = notify;
    shared->on_wait_user = user;
}

void kiln__shared_on_ask(kiln__shared *shared, bool (*ends)(void *user), void *user)
{
    shared->on_ask = ends;
    shared->on_ask_user = user;
}

void kiln__shared_on_keep(kiln__shared *shared, void (*keep)(void *user, const kiln__kept_reference *kept), void *user)
{
    shared->on_keep = keep;
    shared->on_keep_user = user;
}

kiln__plan_entry *kiln__shared_find(kiln__shared *shared, const char *key)
{
    kiln__plan_entry *entry = shared->entries;
    while (entry && strcmp(entry->key, key) != 0)
        entry = entry->next;
    return entry;
}

kiln_status kiln__shared_add(kiln__shared *shared, const char *key, kiln__export *values, kiln__plan_entry **entry,
                             kiln_error **error)
{
    size_t length = strlen(key) + 1;
    kiln__plan_entry *made = kiln__calloc(shared->mem, 1, sizeof *made + length);
    if (!made) {
        kiln__exports_free(shared->mem, values);
        return kiln__fail_memory(error);
    }
    made->key = memcpy(made + 1, key, length);
    made->values = values;
    made->next = shared->entries;
    shared->entries = made;
    *entry = made;
    return KILN_OK;
}

/* Frees device memory. The driver waits for the kernels that may use the memory. So this function does nothing on a
 * stuck engine. */
static void free_device(const kiln__shared *shared, CUdeviceptr pointer)
{
    if (!atomic_load(&shared->engine->stuck))
        shared->engine->driver.cuMemFree_(pointer);
}

static void free_entry(kiln__shared *shared, kiln__plan_entry *entry)
{
    if (entry->device)
        free_device(shared, entry->device);
    kiln__exports_free(shared->mem, entry->values);
    kiln__unit_free(&entry->unit);
    kiln__free(shared->mem, entry);
}

void kiln__shared_drop(kiln__shared *shared, const char *prefix)
{
    size_t length = strlen(prefix);
    for (kiln__plan_entry **at = &shared->entries; *at;) {
        kiln__plan_entry *entry = *at;
        if (strncmp(entry->key, prefix, length) != 0) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        free_entry(shared, entry);
    }
}

void kiln__shared_drop_device(kiln__shared *shared)
{
    kiln__shared_drop(shared, "device ");
    for (size_t i = 0; i < shared->spare_count; i++)
        free_device(shared, shared->spare[i].pointer);
    shared->spare_count = 0;
    if (shared->flush)
        free_device(shared, shared->flush);
    shared->flush = 0;
}

kiln_status kiln__shared_alloc(kiln__shared *shared, uint64_t bytes, const char *what, CUdeviceptr *pointer,
                               kiln_error **error)
{
    const kiln__driver *driver = &shared->engine->driver;
    for (size_t i = 0; i < shared->spare_count; i++)
        if (shared->spare[i].bytes == bytes) {
            *pointer = shared->spare[i].pointer;
            shared->spare[i] = shared->spare[--shared->spare_count];
            return KILN_OK;
        }
    CUresult result = driver->cuMemAlloc_(pointer, (size_t)bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && (shared->spare_count || shared->entries)) {
        kiln__shared_drop_device(shared);
        result = driver->cuMemAlloc_(pointer, (size_t)bytes);
    }
    if (result == CUDA_SUCCESS)
        return KILN_OK;
    return kiln__driver_fail(driver, shared->mem, result, error, "cuMemAlloc of %" PRIu64 " bytes for %s", bytes, what);
}

void kiln__shared_release(kiln__shared *shared, CUdeviceptr pointer, uint64_t bytes)
{
    if (!pointer)
        return;
    if (shared->sweep && shared->spare_count < 64 &&
        kiln__grow(shared->mem, &shared->spare, &shared->spare_capacity, shared->spare_count + 1,
                   sizeof *shared->spare)) {
        shared->spare[shared->spare_count++] = (kiln__device_block){pointer, bytes};
        return;
    }
    free_device(shared, pointer);
}

void *kiln__shared_staging(kiln__shared *shared, uint64_t bytes)
{
    if (shared->staging && bytes <= shared->staging_bytes)
        return shared->staging;
    kiln__free(shared->mem, shared->staging);
    shared->staging_bytes = bytes;
    shared->staging = kiln__alloc(shared->mem, (size_t)bytes);
    return shared->staging;
}

static void free_comparer(kiln__shared *shared)
{
    if (!shared->comparer.module || atomic_load(&shared->engine->stuck))
        return;
    shared->engine->driver.cuMemFree_(shared->comparer.found);
    shared->engine->driver.cuModuleUnload_(shared->comparer.module);
    shared->comparer = (kiln__comparer){0};
}

static void free_counters(kiln__shared *shared)
{
    if (atomic_load(&shared->engine->stuck))
        return;
    for (size_t i = 0; i < KILN__COUNT(shared->counters); i++)
        if (shared->counters[i].module)
            shared->engine->driver.cuModuleUnload_(shared->counters[i].module);
    if (shared->counted)
        shared->engine->driver.cuMemFree_(shared->counted);
    memset(shared->counters, 0, sizeof shared->counters);
    shared->counted = 0;
}

void kiln__shared_free(kiln__shared *shared)
{
    if (!shared)
        return;
    CUcontext previous = NULL;
    bool device = shared->engine->context && kiln__engine_enter(shared->engine, &previous, NULL) == KILN_OK;
    if (device) {
        free_comparer(shared);
        free_counters(shared);
    }
    if (device)
        kiln__shared_drop_device(shared); /* if the context is gone, the driver has already freed the device memory */
    kiln__shared_drop(shared, "");
    if (device)
        kiln__engine_leave(shared->engine, previous);
    kiln__free(shared->mem, shared->spare);
    kiln__free(shared->mem, shared->staging);
    kiln__free(shared->mem, shared);
}

kiln__export *kiln__export_of(const kiln_allocator *mem, const char *name, const kiln_array *array)
{
    size_t length = strlen(name) + 1;
    kiln__export *made = kiln__calloc(mem, 1, sizeof *made + length);
    if (!made)
        return NULL;
    made->name = memcpy(made + 1, name, length);
    made->is_array = true;
    made->array = *array;
    return made;
}
