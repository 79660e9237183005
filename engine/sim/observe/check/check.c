/* check.c - findings: each place once, with a count and the first example. Also the beginning and the end of a launch,
 * and findings about the host's own work. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm_checks_internal.h"

static const char none[] = "";

bool vm_check_can_quick(void)
{
#if defined(__x86_64__)
    const char *asked = getenv("KILN_SIM_ISA");
    return vm_check_has_vectors && (!asked || strcmp(asked, "base") != 0) && __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

vm_check *vm_check_new(const kiln_allocator *mem)
{
    vm_check *check = kiln__calloc(mem, 1, sizeof *check);
    if (!check)
        return NULL;
    check->mem = mem;
    check->arena.mem = mem;
    check->time = 1;
    check->quick = vm_check_can_quick();
    check->often = VM_PATTERN_OFTEN;
    check->found = kiln__calloc(mem, VM_FOUND_MOST, sizeof *check->found);
    if (!check->found) {
        vm_check_free(check);
        return NULL;
    }
    return check;
}

void vm_check_free(vm_check *check)
{
    if (!check)
        return;
    kiln__arena_free(&check->arena);
    kiln__free(check->mem, check->found);
    kiln__free(check->mem, check->flights);
    kiln__free(check->mem, check->fars);
    kiln__free(check->mem, check->launches);
    kiln__free(check->mem, (void *)check->kernels);
    for (size_t k = 0; k < VM_PATTERNS; k++) {
        if (check->patterns[k])
            vm_parts_drop(check, check->patterns[k]);
        kiln__free(check->mem, check->patterns[k]);
    }
    kiln__free(check->mem, check);
}

size_t vm_check_count(const vm_check *check) { return check->found_count; }
const kiln_check_finding *vm_check_at(const vm_check *check, size_t index) { return &check->found[index].finding; }
uint64_t vm_check_dropped(const vm_check *check) { return check->dropped; }
bool vm_check_starved(const vm_check *check) { return check->starved; }

const char *vm_check_print(vm_check *check, const char *format, ...)
{
    char text[768];
    va_list arguments;
    va_start(arguments, format);
    int length = kiln__vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = length < 0 ? NULL : kiln__arena_strdup(&check->arena, text);
    return kept ? kept : none;
}

void vm_check_label(vm_check *check, vm_device *device, kiln_check_finding *f)
{
    vm_labelled at;
    if (!vm_labelled_at(device, f->address, &at))
        return;
    f->buffer = vm_check_print(check, "%s", at.name);
    f->role = vm_check_print(check, "%s", at.role);
    f->offset = at.offset;
    f->buffer_bytes = at.bytes;
}

/* ---- places ---- */

/* Returns a text like "in f, called at a.cu:12, in g, called at b.cu:7" for an inlined place. */
static const char *describe_inlining(vm_check *check, const ptx_module *ptx, const ptx_loc *loc)
{
    enum { MOST = 16 };
    kiln__text text = {.mem = check->mem};
    for (unsigned k = 0; k < MOST && loc->inlined_at && loc->inlined_at < ptx->loc_count; k++) {
        const ptx_loc *outer = &ptx->locs[loc->inlined_at];
        const char *file = outer->file < ptx->file_count && ptx->files[outer->file] ? ptx->files[outer->file] : "?";
        const char *name = strrchr(file, '/');
        kiln__text_printf(&text, "%sin %s, called at %s:%u", k ? ", " : "",
                          loc->inlined_from ? loc->inlined_from : "a function", name ? name + 1 : file, outer->line);
        loc = outer;
    }
    const char *kept = text.length ? kiln__arena_strdup(&check->arena, kiln__text_get(&text)) : none;
    kiln__text_free(&text);
    return kept ? kept : none;
}

/* Looks for the function that holds the instruction, then for its line in the debug information. */
void vm_check_side_place(vm_check *check, const vm_module *module, uint32_t insn, kiln_check_side *side)
{
    const ptx_module *ptx = module->ptx;
    side->file = side->inlined = side->text = none;
    for (uint32_t f = 0; f < ptx->function_count; f++) {
        size_t first = module->functions[f].first_tally;
        if (insn < first || insn - first >= ptx->functions[f].insn_count)
            continue;
        const ptx_insn *in = &ptx->functions[f].insns[insn - first];
        side->ptx_line = in->line;
        if (in->loc == 0 || in->loc >= ptx->loc_count)
            return;
        const ptx_loc *loc = &ptx->locs[in->loc];
        side->line = loc->line;
        if (loc->file < ptx->file_count && ptx->files[loc->file])
            side->file = vm_check_print(check, "%s", ptx->files[loc->file]);
        side->inlined = describe_inlining(check, ptx, loc);
        return;
    }
}

/* Sets the coordinates of a thread from its number in the block. */
static void set_thread(const vm_run_state *run, uint32_t number, unsigned out[3])
{
    const uint32_t *size = run->launch->block;
    out[0] = number % size[0];
    out[1] = number / size[0] % size[1];
    out[2] = number / size[0] / size[1];
}

/* Sets the coordinates of a block from its number in the grid. */
static void set_block(const vm_run_state *run, uint64_t number, unsigned out[3])
{
    const uint32_t *grid = run->launch->grid;
    out[0] = (unsigned)(number % grid[0]);
    out[1] = (unsigned)(number / grid[0] % grid[1]);
    out[2] = (unsigned)(number / grid[0] / grid[1]);
}

void vm_check_side_thread(const vm_warp *w, const vm_mark *s, kiln_check_side *side)
{
    set_block(w->runner->run, s->block, side->block);
    set_thread(w->runner->run, s->who & VM_WHO, side->thread);
    side->has_block = side->has_thread = 1;
}

/* ---- findings ---- */

/* Returns the finding with that key, or a new one; `known` says which. Counts the finding as dropped and returns NULL
 * if there are VM_FOUND_MOST already. A linear search is enough for so few. */
static vm_found *find_or_add(vm_check *check, const vm_module *module, kiln_check_kind kind, bool note, uint32_t insn,
                             uint32_t other, bool *known)
{
    *known = true;
    for (size_t k = 0; k < check->found_count; k++) {
        vm_found *f = &check->found[k];
        if (f->module == module && f->insn == insn && f->other == other && f->finding.kind == kind &&
            f->finding.note == note)
            return f;
    }
    *known = false;
    if (check->found_count == VM_FOUND_MOST) {
        check->dropped++;
        return NULL;
    }
    vm_found *made = &check->found[check->found_count++];
    *made = (vm_found){.module = module, .insn = insn, .other = other};
    kiln_check_side empty = {.file = none, .inlined = none, .text = none};
    made->finding = (kiln_check_finding){.kind = kind,
                                         .note = note,
                                         .kernel = none,
                                         .message = none,
                                         .at = empty,
                                         .other = empty,
                                         .space = none,
                                         .allocation = none,
                                         .buffer = none,
                                         .role = none};
    return made;
}

/* The key is the module, both instructions, the kind and the weight. Only a new finding gets texts. */
kiln_check_finding *vm_check_find(vm_warp *w, kiln_check_kind kind, bool note, uint32_t insn, uint32_t other,
                                  uint32_t lane, unsigned times)
{
    vm_check *check = w->runner->run->device->check;
    const vm_module *module = w->runner->run->launch->module;
    bool known;
    vm_found *found = find_or_add(check, module, kind, note, insn, other, &known);
    if (!found)
        return NULL;
    found->finding.count += times;
    if (known)
        return NULL;
    kiln_check_finding *f = &found->finding;
    f->kernel = vm_check_print(check, "%s", w->runner->run->kernel->ptx->name);
    vm_check_side_place(check, module, insn, &f->at);
    if (other != VM_NO_INSN)
        vm_check_side_place(check, module, other, &f->other);
    vm_mark me = {.who = w->index * VM_LANES + lane, .block = (uint32_t)w->block->number};
    vm_check_side_thread(w, &me, &f->at);
    return f;
}

kiln_check_finding *vm_check_host(vm_check *check, kiln_check_kind kind, bool note, uint64_t key)
{
    bool known;
    vm_found *found = find_or_add(check, NULL, kind, note, (uint32_t)key, (uint32_t)(key >> 32), &known);
    if (!found)
        return NULL;
    found->finding.count++;
    return known ? NULL : &found->finding;
}

/* ---- a launch ---- */

void vm_check_anew(vm_device *device, vm_check *check)
{
    vm_check_attach(device, check);
    check->time = 1;
    check->launch_count = 0;
}

/* Analyses the module at its first launch, and remembers the launch for later findings. */
bool vm_check_begin(vm_run_state *run)
{
    vm_check *check = run->device->check;
    /* the analysis of the module is kept in the module */
    vm_module *module = (vm_module *)(uintptr_t)run->launch->module;
    if (!vm_check_analyse_module(module, run->device->mem))
        return false;
    /* Without streams everything so far is ordered before this launch, so the time may restart. */
    if (check->time > UINT32_MAX / 2)
        vm_check_anew(run->device, check);
    check->launch = check->time;
    vm_check_launched(check, run);
    vm_check_known(check);
    check->launch_flight = check->flight;
    check->told = false;
    vm_check_tick(check);
    return true;
}

/* Reports a fault that has ended the launch. Memory faults were reported already as accesses out of bounds. */
void vm_check_end(vm_run_state *run)
{
    vm_check *check = run->device->check;
    const vm_fault *fault = run->family->fault;
    if (check->told || fault->kind == VM_OK || fault->kind == VM_FAULT_MEMORY || fault->kind == VM_FAULT_STOPPED)
        return;
    bool known;
    vm_found *found = find_or_add(check, run->launch->module, KILN_CHECK_FAULT, false, fault->ptx_line, VM_NO_INSN - 1,
                                  &known);
    if (!found)
        return;
    found->finding.count++;
    if (known)
        return;
    kiln_check_finding *f = &found->finding;
    f->kernel = vm_check_print(check, "%s", fault->kernel);
    f->message = vm_check_print(check, "%s", fault->message);
    f->at = (kiln_check_side){.what = "end of the launch",
                              .file = vm_check_print(check, "%s", fault->file),
                              .inlined = none,
                              .text = none,
                              .line = fault->file_line,
                              .ptx_line = fault->ptx_line,
                              .has_block = 1,
                              .has_thread = 1};
    memcpy(f->at.block, fault->block, sizeof f->at.block);
    memcpy(f->at.thread, fault->thread, sizeof f->at.thread);
    f->address = fault->address;
    f->bytes = fault->bytes;
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

void vm_check_host_free(vm_device *device, uint64_t address)
{
    vm_check *check = device->check;
    kiln_check_finding *f = check ? vm_check_host(check, KILN_CHECK_BAD_FREE, false, address) : NULL;
    if (!f)
        return;
    char where[200];
    vm_describe(device, address, where, sizeof where);
    f->address = address;
    f->space = "global";
    f->allocation = vm_check_print(check, "%s", where);
    f->at.what = "free by the host";
    f->message = vm_check_print(check, "free of 0x%" PRIx64 ", which is not an allocation of the host: it is %s",
                                address, where);
}

/* One finding for each allocation, with the number of unwritten bytes and the first of them. */
void vm_check_host_reads(vm_device *device, uint64_t address, uint64_t bytes)
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
    kiln_check_finding *f = missing ? vm_check_host(check, KILN_CHECK_UNINITIALISED, true, a->base) : NULL;
    if (!f)
        return;
    f->address = a->base + first;
    f->bytes = missing;
    f->space = "global";
    f->at.what = "read by the host";
    char where[200];
    vm_describe(device, f->address, where, sizeof where);
    f->allocation = vm_check_print(check, "%s", where);
    vm_check_label(check, device, f);
    f->message = vm_check_print(check, "the host reads %" PRIu64 " bytes that were never written, the first %s",
                                missing, f->allocation);
}

void vm_check_host_bounds(vm_device *device, const char *what, uint64_t address, uint64_t bytes, bool write)
{
    vm_check *check = device->check;
    const bool freed = check && vm_was_freed(device, address);
    kiln_check_finding *f = check ? vm_check_host(check, freed ? KILN_CHECK_FREED : KILN_CHECK_BOUNDS, false, address)
                                  : NULL;
    if (!f)
        return;
    char where[200];
    vm_describe(device, address, where, sizeof where);
    f->address = address;
    f->bytes = bytes;
    f->space = "global";
    f->allocation = vm_check_print(check, "%s", where);
    f->at.what = vm_check_print(check, "%s by %s", write ? "write" : "read", what);
    vm_check_label(check, device, f);
    f->message =
        vm_check_print(check, "%s of %" PRIu64 " bytes at global address 0x%" PRIx64 ", of which not all is there: %s",
                       f->at.what, bytes, address, where);
}

void vm_check_host_launch(vm_device *device, const char *kernel, const char *why)
{
    vm_check *check = device->check;
    uint64_t key = 0;
    for (const char *c = kernel; check && *c; c++)
        key = key * 31 + (unsigned char)*c;
    kiln_check_finding *f = check ? vm_check_host(check, KILN_CHECK_FAULT, false, key) : NULL;
    if (!f)
        return;
    f->kernel = vm_check_print(check, "%s", kernel);
    f->at.what = "launch by the host";
    f->message = vm_check_print(check, "the launch was refused: %s", why);
}

void vm_check_leaks(vm_device *device, bool all)
{
    vm_check *check = device->check;
    for (size_t k = 0; check && k < device->live_count; k++) {
        const vm_allocation *a = device->live[k];
        if (a->name || !a->shadow || a->internal || (!all && !a->shadow->by_kernel))
            continue;
        kiln_check_finding *f = vm_check_host(check, KILN_CHECK_LEAK, false, a->base);
        if (!f)
            continue;
        f->address = a->base;
        f->bytes = a->bytes;
        f->space = "global";
        f->allocation = vm_check_print(check, "an allocation of %" PRIu64 " bytes at 0x%" PRIx64, a->bytes, a->base);
        f->at = a->shadow->made;
        f->at.what = a->shadow->by_kernel ? "malloc in device code" : "allocation by the host";
        f->at.file = f->at.file ? f->at.file : none;
        f->at.inlined = f->at.inlined ? f->at.inlined : none;
        f->at.text = none;
        f->message = vm_check_print(check, "%" PRIu64 " bytes at 0x%" PRIx64 ", allocated by %s, were never freed",
                                    a->bytes, a->base, a->shadow->by_kernel ? "a kernel" : "the host");
    }
}
