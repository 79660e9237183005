/* check.c - makes, attaches and frees the checks of a device, begins a launch, and reports findings about the work of
 * the host. The interpreter calls the checks through the hooks at the end of the file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access_internal.h"
#include "bounds_internal.h"
#include "code_internal.h"
#include "finding_internal.h"
#include "flight_internal.h"
#include "line_internal.h"
#include "order_internal.h"
#include "quick_internal.h"
#include "shadow_internal.h"
#include "streams_internal.h"
#include "tensor_memory_internal.h"
#include "vm_checks_internal.h"
#include "vm_memory.h"

static const char none[] = "";

bool check_can_quick(void)
{
#if defined(__x86_64__)
    const char *asked = getenv("KILN_SIM_ISA");
    return check_has_vectors && (!asked || strcmp(asked, "base") != 0) && __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

vm_check *check_new(const kiln_allocator *mem)
{
    vm_check *check = kiln__calloc(mem, 1, sizeof *check);
    if (!check)
        return NULL;
    check->mem = mem;
    check->arena.mem = mem;
    check->time = 1;
    check->quick = check_can_quick();
    check->often = VM_PATTERN_OFTEN;
    check->record_few = VM_RECORDS_FEW;
    check->found[0] = kiln__calloc(mem, VM_FOUND_MOST, sizeof *check->found[0]);
    if (!check->found[0]) {
        check_free(check);
        return NULL;
    }
    return check;
}

void check_free(vm_check *check)
{
    if (!check)
        return;
    kiln__arena_free(&check->arena);
    for (size_t k = 0; k < VM_FOUND_PIECES; k++)
        kiln__free(check->mem, check->found[k]);
    kiln__free(check->mem, check->allocating);
    kiln__free(check->mem, check->flights);
    kiln__free(check->mem, check->records);
    kiln__free(check->mem, check->fars);
    kiln__free(check->mem, check->launches);
    kiln__free(check->mem, (void *)check->kernels);
    for (size_t k = 0; k < VM_PATTERNS; k++) {
        if (check->patterns[k])
            check_parts_drop(check, check->patterns[k]);
        kiln__free(check->mem, check->patterns[k]);
    }
    kiln__free(check->mem, check);
}

size_t check_count_findings(const vm_check *check) { return check->found_count; }
const kiln_check_finding *check_get_finding(const vm_check *check, size_t index)
{
    return &check->found[index / VM_FOUND_MOST][index % VM_FOUND_MOST].finding;
}
void check_suppress(vm_check *check, bool (*is_suppressed)(const kiln_check_finding *finding))
{
    check->is_suppressed = is_suppressed;
}
uint64_t check_dropped(const vm_check *check) { return check->dropped; }
bool check_starved(const vm_check *check) { return check->starved; }

/* Holds the write lock of the device, so that no other thread changes the list of allocations. If an allocation has a
 * shadow of the same check, keeps the shadow and empties it. */
void check_attach(vm_device *device, vm_check *check)
{
    pthread_rwlock_wrlock(&device->lock);
    vm_check *before = device->check;
    vm_bury(device); /* no kernel runs now, so freed memory needs no shadow memory */
    for (size_t k = 0; k < device->live_count; k++) {
        vm_allocation *a = device->live[k];
        if (a->shadow && before != check) {
            check_shadow_free(before, a->shadow, a->bytes);
            a->shadow = NULL;
        }
        if (a->shadow)
            check_shadow_renew(check, a->shadow, a->bytes);
        else if (check)
            /* NULL if memory runs out; then this allocation is not checked */
            a->shadow = check_shadow_new(check, a->bytes, true);
    }
    device->check = check;
    device->hooks = check ? &check_hooks : NULL;
    if (check)
        check->device = device;
    pthread_rwlock_unlock(&device->lock);
}

/* ---- a launch ---- */

void check_forget_accesses(vm_device *device, vm_check *check)
{
    check_attach(device, check);
    check_records_clear(check);
    check->time = 1;
    check->launch_count = 0;
}

/* Analyses the module at its first checked launch, and records the launch so that later findings can name it. */
static bool begin_launch(vm_run_state *run)
{
    vm_check *check = run->device->check;
    /* the module stores its analysis, although the launch has it as const */
    vm_module *module = (vm_module *)(uintptr_t)run->launch->module;
    if (!check_analyse_module(module, run->device->mem))
        return false;
    /* The time restarts only if there are no streams, because only then all earlier work is ordered before this
     * launch. */
    if (check->time > UINT32_MAX / 2)
        check_forget_accesses(run->device, check);
    check_records_trim(run->device, check);
    check->launch = check->time;
    check_launched(check, run);
    check_known(check);
    check->launch_flight = check->flight;
    check->told = check->fence_told = false;
    check_advance_time(check);
    return true;
}

/* ---- the host's side ---- */

const char *kiln_check_text(kiln_check_kind kind)
{
    static const char *const texts[] = {
#define KILN_X(name, text) text,
        KILN_CHECK_MAP(KILN_X)
#undef KILN_X
    };
    return (unsigned)kind < KILN__COUNT(texts) ? texts[kind] : "";
}

void check_host_free(vm_device *device, uint64_t address)
{
    vm_check *check = device->check;
    kiln_check_finding *f = check ? check_host_finding(check, KILN_CHECK_BAD_FREE, false, address) : NULL;
    if (!f)
        return;
    char where[200];
    vm_describe(device, address, where, sizeof where);
    f->address = address;
    f->space = "global";
    f->allocation = check_print(check, "%s", where);
    f->at.what = "free by the host";
    f->message = check_print(check, "free of 0x%" PRIx64 ", which the host did not allocate: this is %s", address,
                             where);
}

/* Makes one finding for each allocation, with the number of unwritten bytes and the address of the first one. */
void check_host_reads(vm_device *device, uint64_t address, uint64_t bytes)
{
    vm_check *check = device->check;
    const vm_allocation *a = check ? vm_allocation_of(device, address) : NULL;
    if (!a || a->home != device || !a->shadow || a->shadow->unwritten == 0 || address - a->base >= a->bytes)
        return;
    uint64_t at = address - a->base, end = at + bytes < a->bytes ? at + bytes : a->bytes, missing = 0, first = 0;
    for (; at < end; at++) {
        if (a->shadow->written[at / 64] >> at % 64 & 1)
            continue;
        first = missing ? first : at;
        missing++;
    }
    kiln_check_finding *f = missing ? check_host_finding(check, KILN_CHECK_UNINITIALISED, true, a->base) : NULL;
    if (!f)
        return;
    f->address = a->base + first;
    f->bytes = missing;
    f->space = "global";
    f->at.what = "read by the host";
    char where[200];
    vm_describe(device, f->address, where, sizeof where);
    f->allocation = check_print(check, "%s", where);
    check_label(check, device, f);
    f->message = check_print(check, "the host reads %" PRIu64 " bytes that were never written, the first %s", missing,
                             f->allocation);
}

void check_host_bounds(vm_device *device, const char *what, uint64_t address, uint64_t bytes, bool write)
{
    vm_check *check = device->check;
    const bool there = check && vm_pointer_read(device, address, bytes), freed = check && vm_was_freed(device, address);
    const kiln_check_kind kind = there ? KILN_CHECK_READ_ONLY : freed ? KILN_CHECK_FREED : KILN_CHECK_BOUNDS;
    kiln_check_finding *f = check ? check_host_finding(check, kind, false, address) : NULL;
    if (!f)
        return;
    char where[200];
    vm_describe(device, address, where, sizeof where);
    f->address = address;
    f->bytes = bytes;
    f->space = "global";
    f->allocation = check_print(check, "%s", where);
    f->at.what = check_print(check, "%s by %s", write ? "write" : "read", what);
    check_label(check, device, f);
    f->message = check_print(
        check, "%s of %" PRIu64 " bytes at global address 0x%" PRIx64 ", %s: %s", f->at.what, bytes, address,
        there ? "which the program has registered as read-only" : "of which not all is there", where);
}

void check_host_launch(vm_device *device, const char *kernel, const char *why)
{
    vm_check *check = device->check;
    uint64_t key = 0;
    for (const char *c = kernel; check && *c; c++)
        key = key * 31 + (unsigned char)*c;
    kiln_check_finding *f = check ? check_host_finding(check, KILN_CHECK_FAULT, false, key) : NULL;
    if (!f)
        return;
    f->kernel = check_print(check, "%s", kernel);
    f->at.what = "launch by the host";
    f->message = check_print(check, "the launch was refused: %s", why);
}

void check_leaks(vm_device *device, bool all)
{
    vm_check *check = device->check;
    for (size_t k = 0; check && k < device->live_count; k++) {
        const vm_allocation *a = device->live[k];
        if (a->name || !a->shadow || a->internal || (!all && !a->shadow->by_kernel))
            continue;
        kiln_check_finding *f = check_host_finding(check, KILN_CHECK_LEAK, false, a->base);
        if (!f)
            continue;
        f->address = a->base;
        f->bytes = a->bytes;
        f->space = "global";
        f->allocation = check_print(check, "an allocation of %" PRIu64 " bytes at 0x%" PRIx64, a->bytes, a->base);
        f->at = a->shadow->made;
        f->at.what = a->shadow->by_kernel ? "malloc in device code" : "allocation by the host";
        f->at.file = f->at.file ? f->at.file : none;
        f->at.inlined = f->at.inlined ? f->at.inlined : none;
        f->at.text = none;
        f->message = check_print(check, "%" PRIu64 " bytes at 0x%" PRIx64 ", allocated by %s, were never freed",
                                 a->bytes, a->base, a->shadow->by_kernel ? "a kernel" : "the host");
    }
}

/* ---- the hooks ---- */

static vm_shadow *shadow_new(vm_device *device, uint64_t bytes, bool written)
{
    return check_shadow_new(device->check, bytes, written);
}
static void shadow_free(vm_device *device, vm_shadow *shadow, uint64_t bytes)
{
    check_shadow_free(device->check, shadow, bytes);
}

static void end_block(vm_block *block)
{
    check_tensor_end(block);
    check_block_end(block);
}

static const uint8_t *shown(const vm_runner *runner) { return runner->run->launch->module->check->kind; }

static bool compiles(const vm_runner *runner) { return runner->run->device->check->quick; }

const struct vm_hooks check_hooks = {
    .begin = begin_launch,
    .end = check_end_launch,
    .block_new = check_block_new,
    .block_free = check_block_free,
    .block_start = check_block_start,
    .block_end = end_block,
    .barrier = check_open,
    .stuck = check_stuck,
    .deadlock = check_deadlock,
    .children = check_children,
    .insn = check_insn,
    .shown = shown,
    .access = check_compiled_access,
    .compiles = compiles,
    .met = check_order_meeting,
    .outside = check_outside,
    .malloced = check_malloced,
    .shadow_new = shadow_new,
    .shadow_free = shadow_free,
    .shadow_write = check_shadow_write,
};
