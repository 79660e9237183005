/* streams.c - races between streams: launches and copies of streams that do not wait for each other.
 * driver/work/order.c determines which streams wait for each other. In a race of two launches, the accesses of the
 * second launch find the race, as they find any other race. For a race of a launch and a copy, the check looks at each
 * cell of the memory that is copied. */
#include <inttypes.h>
#include <string.h>

#include "finding_internal.h"
#include "line_internal.h"
#include "streams_internal.h"
#include "vm_checks_internal.h"
#include "vm_memory.h"

void check_concurrent(vm_check *check, const vm_prior *priors, size_t count)
{
    check->concurrent = priors;
    check->concurrent_count = count;
    check->dependence = (vm_dependence){0};
}

uint32_t check_host_advance_time(vm_check *check) { return check_advance_time(check); }

void check_raise_time(vm_check *check, uint32_t time) { check->time = time > check->time ? time : check->time; }

void check_known(vm_check *check)
{
    check->known = check->early = check->launch;
    for (size_t i = check->concurrent_count; i-- > 0;) { /* from the latest interval to the earliest */
        const vm_prior *prior = &check->concurrent[i];
        uint32_t *at = prior->why == VM_APART_UNTIL_WAIT ? &check->early : &check->known;
        *at = prior->span.after < *at ? prior->span.after : *at;
    }
    check->first_wait = 0;
}

const vm_prior *check_prior_at(const vm_check *check, uint32_t stamp)
{
    for (size_t i = 0; i < check->concurrent_count; i++)
        if (stamp > check->concurrent[i].span.after && stamp <= check->concurrent[i].span.until)
            return &check->concurrent[i];
    return NULL;
}

/* The mark of an asynchronous operation has no time. The function takes the first time of the operation's launch
 * instead. The list of launches gives this time, by the numbers of operations. If all earlier work is ordered before
 * this launch, any earlier time gives the right result. */
uint32_t check_earlier_stamp(const vm_check *check, const vm_mark *s)
{
    if (!(s->who & VM_PENDING))
        return s->stamp <= check->launch ? s->stamp : 0;
    if (s->insn <= check->launch_flight && check->concurrent_count == 0)
        return check->launch;
    for (size_t k = check->launch_count; s->insn <= check->launch_flight && k-- > 0;)
        if (check->launches[k].module && check->launches[k].flight < s->insn)
            return check->launches[k].after + 1;
    return 0;
}

/* Returns a copy of a kernel's name that lives as long as the check. Equal names have the same copy. Returns NULL if
 * memory runs out. */
static const char *intern_name(vm_check *check, const char *name)
{
    for (size_t k = 0; k < check->kernel_count; k++)
        if (strcmp(check->kernels[k], name) == 0)
            return check->kernels[k];
    const char *kept = kiln__arena_strdup(&check->arena, name);
    if (!kept || !kiln__grow(check->mem, (void *)&check->kernels, &check->kernel_room, check->kernel_count + 1,
                             sizeof *check->kernels))
        return NULL;
    return check->kernels[check->kernel_count++] = kept;
}

/* Appends a launch to the list of launches, which is sorted by time. If the launch is not the latest one, the caller
 * must move it to its place. Returns false if memory runs out. */
static bool add_launch(vm_check *check, const char *kernel, vm_launched launch)
{
    const char *name = intern_name(check, kernel);
    if (check->launch_count == VM_LAUNCHES_MOST) { /* the list is full, so the older half is forgotten */
        check->launch_count /= 2;
        memmove(check->launches, check->launches + check->launch_count, check->launch_count * sizeof *check->launches);
    }
    if (!name || !kiln__grow(check->mem, &check->launches, &check->launch_room, check->launch_count + 1,
                             sizeof *check->launches))
        return false;
    launch.kernel = name;
    check->launches[check->launch_count++] = launch;
    return true;
}

void check_launched(vm_check *check, const vm_run_state *run)
{
    vm_check_code *code = run->launch->module->check;
    if (!code->serial)
        code->serial = ++check->modules;
    add_launch(
        check, run->kernel->ptx->name,
        (vm_launched){
            .after = check->launch, .module = code->serial, .flight = check->flight, .code = run->launch->module});
}

/* Inserts launches of the check `from` into the list of this check, so that the list stays sorted by time. Skips
 * launches that `from` itself has copied from another check. */
void check_copy_launches(vm_check *check, const vm_check *from, vm_period span)
{
    size_t first = from->launch_count;
    while (first > 0 && from->launches[first - 1].after >= span.after)
        first--;
    for (size_t k = first; k < from->launch_count; k++) {
        const vm_launched *l = &from->launches[k];
        /* either `from` has copied the launch from another check, or the launch is too late */
        if (l->module == 0 || l->after > span.until)
            continue;
        if (!add_launch(check, l->kernel, (vm_launched){.after = l->after}))
            return;
        vm_launched *at = check->launches + check->launch_count - 1;
        /* insertion sort by time */
        for (vm_launched made = *at; at > check->launches && at[-1].after > made.after; at--) {
            *at = at[-1];
            at[-1] = made;
        }
    }
}

const vm_launched *check_launch_at(const vm_check *check, uint32_t stamp)
{
    for (size_t k = check->launch_count; k-- > 0;)
        if (check->launches[k].after < stamp)
            return &check->launches[k];
    return NULL;
}

static bool is_within(const vm_mark *mark, vm_period span)
{
    return !(mark->who & VM_PENDING) && mark->stamp > span.after && mark->stamp <= span.until;
}

/* Returns the mark of the cell that conflicts with the host's access. If the host reads, only the write of the cell
 * can conflict. If the host writes, a read of the cell can conflict too. Returns NULL if none of these marks is in the
 * interval. */
static const vm_mark *find_conflict(const vm_cell *cell, bool write, vm_period span)
{
    return is_within(&cell->w, span)             ? &cell->w
           : write && is_within(&cell->r1, span) ? &cell->r1
           : write && is_within(&cell->r2, span) ? &cell->r2
                                                 : NULL;
}

/* Sets the address of a finding, and describes the memory at this address. */
static void set_address(vm_check *check, vm_device *device, kiln_check_finding *f, uint64_t address)
{
    char where[200];
    vm_describe(device, address, where, sizeof where);
    f->address = address;
    f->space = "global";
    f->allocation = check_print(check, "%s", where);
    check_label(check, device, f);
}

/* Reports a race between the host and a launch. */
static void report_race(vm_device *device, const char *what, const vm_allocation *a, uint64_t offset, bool write,
                        bool kernel_writes, const vm_mark *mark)
{
    vm_check *check = device->check;
    const vm_launched *launch = check_launch_at(check, mark->stamp);
    kiln_check_finding *f = check_host_finding(check, KILN_CHECK_RACE, false, a->base + (write ? 1 : 0));
    if (!f)
        return;
    set_address(check, device, f, a->base + offset);
    f->at.what = check_print(check, "%s by %s", write ? "write" : "read", what);
    f->message = check_print(check,
                             "%s at global address 0x%" PRIx64
                             " and %s by a launch%s%s, in streams that do not wait for "
                             "each other, are not ordered, %s",
                             f->at.what, f->address, kernel_writes ? "a write" : "a read", launch ? " of " : "",
                             launch ? launch->kernel : "", f->allocation);
}

/* Scans the cells of the range and stops at the first conflict. The scan skips pages that no kernel has touched. */
void check_host_race(vm_device *device, const char *what, uint64_t address, uint64_t bytes, bool write, vm_period span)
{
    const vm_allocation *a = device->check ? vm_allocation_of(device, address) : NULL;
    const vm_shadow *shadow = a ? a->shadow : NULL;
    if (!shadow || address - a->base >= a->bytes)
        return;
    const uint64_t first = address - a->base, end = bytes < a->bytes - first ? first + bytes : a->bytes;
    const uint64_t step = (uint64_t)1 << shadow->shift;
    for (uint64_t at = first / step * step; at < end; at += step) {
        const vm_line *page = shadow->pages[at / VM_SHADOW_PAGE];
        if (!page) {
            at = (at / VM_SHADOW_PAGE + 1) * VM_SHADOW_PAGE - step;
            continue;
        }
        const vm_cell cell = check_page_get(page, at % VM_SHADOW_PAGE >> shadow->shift);
        const vm_mark *mark = find_conflict(&cell, write, span);
        if (!mark)
            continue;
        report_race(device, what, a, at < first ? first : at, write, mark == &cell.w, mark);
        return; /* the copy has its finding, and gets no second one */
    }
}

void check_copies_race(vm_device *device, const char *one, const char *other, uint64_t address)
{
    vm_check *check = device->check;
    const vm_allocation *a = check ? vm_allocation_of(device, address) : NULL;
    kiln_check_finding *f = a && a->shadow ? check_host_finding(check, KILN_CHECK_RACE, false, a->base + 2) : NULL;
    if (!f)
        return;
    set_address(check, device, f, address);
    f->at.what = check_print(check, "%s", one);
    f->message = check_print(check,
                             "%s and %s, in streams that do not wait for each other, touch global address 0x%" PRIx64
                             ", and one of them writes, %s",
                             one, other, address, f->allocation);
}

void check_pinned_race(vm_device *device, uint64_t address, uint64_t bytes, bool written, const char *where)
{
    vm_check *check = device->check;
    kiln_check_finding *f = check ? check_host_finding(check, KILN_CHECK_RACE, false, address + 3) : NULL;
    if (!f)
        return;
    set_address(check, device, f, address);
    f->bytes = bytes;
    f->at.what = written ? "access by the host" : "write by the host";
    f->message = check_print(check,
                             "%s%s to pinned memory of an asynchronous copy %s it (%" PRIu64 " bytes at 0x%" PRIx64
                             ") for which the host has not waited",
                             f->at.what, where, written ? "to" : "from", bytes, address);
}

/* ---- managed memory, which the host touches without a call ---- */

bool check_has_launched(const vm_check *check, vm_period span)
{
    return check->launch_count > 0 && check->launches[check->launch_count - 1].after >= span.after;
}

static bool is_in(uint32_t stamp, vm_period span) { return stamp > span.after && stamp <= span.until; }

/* Skips pages that kernels have not used in the interval. Then the function extends the range by the following pages
 * that kernels have used in the same way. */
bool check_used(vm_device *device, uint64_t from, vm_period span, vm_used *used)
{
    const vm_allocation *a = device->check ? vm_allocation_of(device, from) : NULL;
    const vm_shadow *shadow = a ? a->shadow : NULL;
    if (!shadow || !shadow->used)
        return false;
    const uint64_t count = (a->bytes + VM_SHADOW_PAGE - 1) / VM_SHADOW_PAGE;
    uint64_t page = (from - a->base + VM_SHADOW_PAGE - 1) / VM_SHADOW_PAGE, first;
    while (page < count && !is_in(shadow->used[2 * page], span) && !is_in(shadow->used[2 * page + 1], span))
        page++;
    if (page == count)
        return false;
    used->written = is_in(shadow->used[2 * page + 1], span);
    for (first = page; page < count && is_in(shadow->used[2 * page + 1], span) == used->written; page++)
        if (!used->written && !is_in(shadow->used[2 * page], span))
            break;
    const uint64_t end = page * VM_SHADOW_PAGE;
    used->address = a->base + first * VM_SHADOW_PAGE;
    used->bytes = (end < a->bytes ? end : a->bytes) - first * VM_SHADOW_PAGE;
    return true;
}

bool check_flagged(vm_device *device, uint64_t address, vm_period span)
{
    const vm_allocation *a = device->check ? vm_allocation_of(device, address) : NULL;
    return a && a->shadow && is_in(a->shadow->flagged, span);
}

void check_managed_race(vm_device *device, uint64_t address, bool written, vm_period span, const char *where)
{
    vm_check *check = device->check;
    const vm_allocation *a = check ? vm_allocation_of(device, address) : NULL;
    const vm_shadow *shadow = a ? a->shadow : NULL;
    const uint64_t at = address - (a ? a->base : 0);
    const vm_line *page = shadow && at < a->bytes ? shadow->pages[at / VM_SHADOW_PAGE] : NULL;
    const vm_cell cell = page ? check_page_get(page, at % VM_SHADOW_PAGE >> shadow->shift) : (vm_cell){0};
    /* If kernels write a page, the page is protected against reads and writes of the host. The signal does not tell
     * whether the host reads or writes, so only a write of a kernel counts as a conflict. If kernels only read a page,
     * the page is protected against writes of the host, so any mark is a conflict. */
    const vm_mark *mark = page ? find_conflict(&cell, !written, span) : NULL;
    kiln_check_finding *f = mark ? check_host_finding(check, KILN_CHECK_RACE, false, a->base + 4) : NULL;
    if (!f)
        return;
    const vm_launched *launch = check_launch_at(check, mark->stamp);
    set_address(check, device, f, address);
    f->at.what = written ? "access by the host" : "write by the host";
    f->message = check_print(check,
                             "%s%s to managed memory at 0x%" PRIx64 " that a launch%s%s %s, for which the host has "
                             "not waited, %s",
                             f->at.what, where, address, launch ? " of " : "", launch ? launch->kernel : "",
                             written ? "writes" : "reads", f->allocation);
}
