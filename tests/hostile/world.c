/* world.c - a device with allocations of every kind, and guards: memory that no kernel may change. Under the address
 * sanitizer the bytes about memory that a device adopts are poisoned, so an access one byte outside is seen. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hostile.h"
#include "jit.h"
#include "vm_checks_internal.h"
#include "vm_machine.h"

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HOSTILE_ASAN 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ && !defined HOSTILE_ASAN
#define HOSTILE_ASAN 1
#endif
#ifdef HOSTILE_ASAN
#include <sanitizer/asan_interface.h>
static void poison(const unsigned char *from, const unsigned char *to)
{
    if (to > from)
        ASAN_POISON_MEMORY_REGION(from, (size_t)(to - from));
}
#else
static void poison(const unsigned char *from, const unsigned char *to) { (void)from, (void)to; }
#endif

enum {
    MEMORY = 32 << 20,
    SHARED_MOST = 48 << 10,
    LOCAL = 32 << 10, /* kernels that use alloca have 16 KiB for it */
    ARENA = 1 << 18,
    PART = 4096,
    IMAGE = 64 << 10,
    STEPS = 300000,
    LIST = 65536
};

/* ---- points: where memory and windows begin and end ---- */

static void add_point(hostile_world *w, uint64_t begin, uint64_t bytes)
{
    if (w->point_count + 2 > HOSTILE_POINTS)
        return;
    w->points[w->point_count++] = begin;
    w->points[w->point_count++] = begin + bytes;
}

static void add_target(hostile_world *w, uint64_t address, uint64_t bytes)
{
    if (!address)
        return;
    add_point(w, address, bytes);
    if (w->target_count < KILN__COUNT(w->targets)) {
        w->targets[w->target_count] = address;
        w->target_bytes[w->target_count++] = bytes;
    }
}

static void add_windows(hostile_world *w)
{
    const uint64_t low = vm_shared_low(w->device);
    add_point(w, VM_SHARED_BASE, low);
    add_point(w, VM_SHARED_BASE + low, HOSTILE_SHARED);
    for (unsigned k = 1; k <= 4; k++)
        add_point(w, VM_SHARED_BASE + k * VM_SHARED_WINDOW, low + HOSTILE_SHARED);
    add_point(w, VM_SHARED_BASE + VM_CLUSTER_WINDOW, 0);
    add_point(w, VM_LOCAL_BASE, 256);
    add_point(w, VM_LOCAL_BASE + LOCAL, (1ull << 32) - LOCAL);
    add_point(w, VM_CONST_BASE, 65536);
    add_point(w, VM_PARAM_BASE, 48 + HOSTILE_PARAMS);
    add_point(w, VM_PARAM_BASE + UINT32_MAX, 0);
    add_point(w, VM_GLOBAL_BASE, VM_GLOBAL_END - VM_GLOBAL_BASE);
    add_point(w, 0, 4096);
    add_point(w, UINT32_MAX, 1);
    add_point(w, (uint64_t)1 << 47, 0);
    add_point(w, (uint64_t)1 << 63, UINT64_MAX >> 1);
}

/* ---- guards ---- */

bool hostile_guard_add(hostile_world *w, const char *name, unsigned char *memory, size_t bytes)
{
    if (w->guard_count >= KILN__COUNT(w->guards))
        return false;
    unsigned char *copy = malloc(bytes);
    if (!copy)
        return false;
    memcpy(copy, memory, bytes);
    w->guards[w->guard_count++] = (hostile_guard){name, memory, copy, bytes};
    return true;
}

void hostile_guard_module(hostile_world *w, const vm_module *module)
{
    for (size_t k = 0; k < w->device->live_count; k++) {
        const vm_allocation *a = w->device->live[k];
        if (a->constant) {
            hostile_guard_add(w, "constant memory", a->host, (size_t)a->reach);
            add_point(w, a->base, a->bytes);
        } else if (a->name) {
            add_target(w, a->base, a->bytes);
        }
    }
    (void)module;
}

static unsigned char pattern(size_t k) { return (unsigned char)(0x5a ^ k ^ k >> 8); }

static void fill(unsigned char *to, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        to[k] = pattern(k);
}

/* ---- parts of a world ---- */

/* Adopts three parts of a reserved range, which are neighbours on the device but not on the host. The middle part is
 * read-only. */
static bool adopt_neighbours(hostile_world *w)
{
    const uint64_t base = vm_reserve(w->device, 3 * PART, PART);
    unsigned char *block = base ? malloc(3 * (PART + 512)) : NULL;
    if (!block)
        return false;
    w->storage = block;
    fill(block, 3 * (PART + 512));
    bool done = true;
    for (unsigned k = 0; k < 3; k++) { /* the order differs from the order on the device */
        unsigned char *host = block + 256 + (2 - k) * (PART + 512);
        done = done && vm_adopt(w->device, base + k * PART, host, PART, k == 1);
        if (k == 1)
            done = done && hostile_guard_add(w, "read-only memory beside writable memory", host, PART);
        add_target(w, base + k * PART, PART);
        poison(host - 256, host);
        poison(host + PART, host + PART + 256);
    }
    return done;
}

/* Makes a multicast object of two devices. The second device has bound only a half of it. */
static bool adopt_team(hostile_world *w)
{
    w->team_address = vm_reserve(w->device, 2 * PART, PART);
    unsigned char *block = w->team_address ? malloc(4 * (PART + 512)) : NULL;
    if (!block)
        return false;
    w->team_storage = block;
    fill(block, 4 * (PART + 512));
    for (uint32_t k = 0; k < 2; k++) {
        unsigned char *host = block + 256 + k * (2 * PART + 512);
        w->replicas[k] = (vm_replica){.member = k, .bytes = (2 - k) * PART, .host = host};
        poison(host - 256, host);
        poison(host + (2 - k) * PART, host + (2 - k) * PART + 256);
    }
    w->team = (vm_team){.count = 2, .number = {0, 1}, .replicas = w->replicas, .replica_count = 2};
    add_point(w, w->team_address, 2 * PART);
    return vm_adopt_team(w->device, w->team_address, &w->team, 0, 2 * PART, false);
}

/* Adopts memory of the host. The guest may write one part and read another, and knows the addresses of all parts. */
static bool adopt_arena(hostile_world *w)
{
    w->arena_bytes = ARENA;
    w->arena = hostile_map(ARENA);
    if (w->arena == MAP_FAILED) {
        w->arena = NULL;
        return false;
    }
    fill(w->arena, ARENA);
    unsigned char *own = w->arena + ARENA / 4, *only_read = w->arena + ARENA / 2;
    if (!vm_adopt(w->device, (uintptr_t)own, own, PART + 40, false) ||
        !vm_adopt(w->device, (uintptr_t)only_read, only_read, PART, true))
        return false;
    add_target(w, (uintptr_t)own, PART + 40);
    add_point(w, (uintptr_t)only_read, PART);
    add_point(w, (uintptr_t)w->arena, 64);
    return hostile_guard_add(w, "host memory below what the guest may use", w->arena, ARENA / 4) &&
           hostile_guard_add(w, "host memory beyond what the guest may use", own + PART + 40, ARENA / 4 - PART - 40) &&
           hostile_guard_add(w, "host memory that the guest may read", only_read, PART) &&
           hostile_guard_add(w, "host memory behind what the guest may read", only_read + PART, ARENA / 2 - PART);
}

/* Adds textures and surfaces of all geometries. One of them is destroyed, so its handle is stale. */
static bool add_objects(hostile_world *w, uint64_t memory)
{
    static const struct {
        vm_format format;
        unsigned channels, dims, layers, levels;
        bool cube, surface, host;
    } kinds[] = {{VM_F32, 4, 2, 0, 3, false, false, true},  {VM_U8, 4, 2, 0, 1, false, true, true},
                 {VM_U16, 1, 3, 0, 2, false, false, true},  {VM_F16, 2, 2, 12, 2, true, false, true},
                 {VM_S32, 1, 1, 0, 1, false, false, false}, {VM_U32, 1, 1, 5, 1, false, true, true},
                 {VM_S8, 2, 2, 3, 1, false, false, true},   {VM_F32, 1, 3, 0, 1, false, true, true},
                 {VM_F32, 2, 2, 0, 1, false, true, true},   {VM_F32, 1, 1, 0, 1, false, false, true},
                 {VM_U32, 4, 2, 3, 1, false, true, true},   {VM_U32, 2, 1, 0, 1, false, true, true}};
    w->linear = vm_storage_new(w->device, IMAGE);
    if (!w->linear)
        return false;
    memset(w->linear, 0x3f, IMAGE);
    for (unsigned k = 0; k < KILN__COUNT(kinds); k++) {
        vm_texture t = {.surface = kinds[k].surface,
                        .stale = k == 9,
                        .linear = k % 3 == 0,
                        .mip_linear = k % 2 == 0,
                        .normalized = k % 4 != 2,
                        .integer = k == 2,
                        .srgb = k == 6,
                        .seamless = kinds[k].cube,
                        .most = 8};
        t.image = (vm_image){.host = kinds[k].host ? w->linear : NULL,
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
        for (unsigned axis = 0; axis < 3; axis++)
            t.edge[axis] = (vm_edge)((k + axis) % 4);
        w->handles[w->handle_count] = (uint64_t)(k + 1) << 8;
        w->images[w->handle_count] = t.image;
        w->images[w->handle_count].surface = t.surface; /* tells whether the object is a surface */
        if (offset > IMAGE || !vm_texture_add(w->device, w->handles[w->handle_count++], &t))
            return false;
    }
    return true;
}

/* Guards the bytes between the end of each allocation and the end of its host memory. */
static bool guard_slack(hostile_world *w)
{
    bool done = true;
    for (size_t k = 0; k < w->device->live_count; k++) {
        const vm_allocation *a = w->device->live[k];
        const size_t slack = a->raw ? (size_t)((unsigned char *)a->raw + a->taken - (a->host + a->reach)) : 0;
        if (slack)
            done = done && hostile_guard_add(w, "memory behind an allocation", a->host + a->reach, slack);
    }
    return done;
}

static bool allocate_all(hostile_source *s, hostile_world *w)
{
    static const uint64_t sizes[] = {1, 24, 256, 4096 - 8, 65536 + 16};
    for (unsigned k = 0; k < KILN__COUNT(sizes); k++)
        add_target(w, vm_alloc(w->device, sizes[k]), sizes[k]);
    w->freed = vm_alloc(w->device, 4096);
    w->maps = vm_alloc(w->device, 4096); /* the last 128 bytes of the allocation are also a tensor map */
    w->results = vm_alloc(w->device, (uint64_t)HOSTILE_RING * VM_LANES * HOSTILE_RESULTS * 16);
    w->progress = vm_alloc(w->device, 8);
    if (!w->maps || !w->results || !w->progress || !vm_free(w->device, w->freed))
        return false;
    add_point(w, w->freed, 4096);
    add_point(w, w->maps, 4096);
    void *both = vm_alloc_host(w->device, 300, hostile_chance(s, 50));
    add_target(w, (uintptr_t)both, 300);
    return both != NULL;
}

/* Opens a world: the device, its memory of every kind, the guards, and the table of sets. Returns false if memory
 * runs out. */
bool hostile_world_open(hostile_source *s, hostile_world *w, const hostile_kernel *kernel, hostile_engine engine,
                        size_t table_words)
{
    enum { OWN = 1, OTHER = 2, COMPILED = 4 };
    *w = (hostile_world){.grouped = hostile_chance(s, 30), .allowed = hostile_chance(s, 30), .heap = kernel->heap};
    const uint64_t span = (uint64_t)1 << 40;
    vm_limits limits = {.memory = MEMORY,
                        .shared_per_block = SHARED_MOST,
                        .threads = kernel->blocks > 1 ? kernel->blocks : 1,
                        .step_budget = STEPS,
                        .local_bytes = LOCAL,
                        .page = engine != HOSTILE_CHECKS && hostile_chance(s, 40) ? 2 << 20 : 0,
                        .zeroed = hostile_chance(s, 50),
                        .sm_count = 4,
                        .cc = kernel->cc};
    if (w->grouped) {
        if (pthread_rwlock_init(&w->group.lock, NULL) != 0)
            return false;
        limits.group = &w->group;
        limits.first_address = VM_GLOBAL_BASE, limits.end_address = VM_GLOBAL_BASE + span;
    }
    w->device = vm_device_new(NULL, &limits);
    if (w->grouped) {
        limits.number = 1;
        limits.first_address = limits.end_address, limits.end_address += span;
        w->other = vm_device_new(NULL, &limits);
    }
    if (!w->device || (w->grouped && !w->other))
        return false;
    if (engine == HOSTILE_CHECKS) {
        w->check = check_new(NULL);
        if (!w->check)
            return false;
        check_attach(w->device, w->check);
        w->check->often = 1; /* the launches are short */
    }
    /* Under the checks, code is compiled too, but seldom, because compiling takes longer than the launches. */
    if ((engine == HOSTILE_JIT || (w->check && hostile_chance(s, COMPILED))) && !sim_jit_open(w->device, 1))
        return false;
    add_windows(w);
    if (!allocate_all(s, w) || !adopt_neighbours(w) || !adopt_team(w) || !adopt_arena(w) ||
        !add_objects(w, w->targets[3]))
        return false;
    if (w->other) {
        const uint64_t far = vm_alloc(w->other, PART);
        unsigned char *host = far ? vm_pointer(w->other, far, PART) : NULL;
        if (!host)
            return false;
        fill(host, PART);
        vm_allow(w->device, w->other, w->allowed);
        add_point(w, far, PART);
        if (!w->allowed && !hostile_guard_add(w, "another device's memory", host, PART))
            return false;
    }
    w->table_words = table_words;
    w->table = vm_reserve(w->device, table_words * 8, PART);
    w->sets = calloc(table_words, 8);
    if (!w->table || !w->sets || !vm_adopt(w->device, w->table, w->sets, table_words * 8, true))
        return false;
    return guard_slack(w);
}

void hostile_world_close(hostile_world *w)
{
    vm_device_free(w->device);
    vm_device_free(w->other);
    check_free(w->check);
    if (w->grouped)
        pthread_rwlock_destroy(&w->group.lock);
    for (unsigned k = 0; k < w->guard_count; k++)
        free(w->guards[k].copy);
    if (w->arena)
        munmap(w->arena, w->arena_bytes);
#ifdef HOSTILE_ASAN
    if (w->storage)
        ASAN_UNPOISON_MEMORY_REGION(w->storage, 3 * (PART + 512));
    if (w->team_storage)
        ASAN_UNPOISON_MEMORY_REGION(w->team_storage, 4 * (PART + 512));
#endif
    free(w->storage);
    free(w->team_storage);
    free(w->sets);
    *w = (hostile_world){0};
}

/* ---- the state after a launch ---- */

bool hostile_world_check(const hostile_world *w, kiln__text *out)
{
    bool good = true;
    for (unsigned k = 0; k < w->guard_count; k++) {
        const hostile_guard *g = &w->guards[k];
        size_t at = 0;
        if (memcmp(g->memory, g->copy, g->bytes) == 0)
            continue;
        while (g->memory[at] == g->copy[at])
            at++;
        kiln__text_printf(out, "%s changed at byte %zu of %zu\n", g->name, at, g->bytes);
        good = false;
    }
    return good;
}
