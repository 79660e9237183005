/* far.c - vector clocks for the threads of other blocks of a cluster, which arrivals at mbarriers carry from block to
 * block.
 *
 * Arrivals would be slow if each of them copied a clock of 32 warps for each of 16 blocks. So a thread has only the
 * number of a record for each block. Records are immutable, and threads share them. So a join copies nothing if one of
 * the two records contains the other. Only a phase that still collects arrivals may change records, and only those that
 * it owns. The check keeps the last VM_FARS records. If a record is no longer kept, its number means that everything is
 * ordered. */
#include <string.h>

#include "far_internal.h"
#include "vm_checks_internal.h"

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Returns the record with this number. Returns NULL if the number is 0, or if the record is too old. */
static vm_far *find_record(const vm_check *check, uint32_t id)
{
    vm_far *r = check->fars && id ? &check->fars[id % VM_FARS] : NULL;
    return r && r->id == id ? r : NULL;
}

/* Makes an empty record in the place of the oldest record. Returns NULL if memory runs out or all numbers are used. */
static vm_far *make_record(vm_check *check)
{
    if (!check->fars)
        check->fars = kiln__calloc(check->mem, VM_FARS, sizeof *check->fars);
    if (!check->fars || check->far == VM_FAR_ALL - 1) {
        check->starved = true;
        return NULL;
    }
    const uint32_t id = ++check->far;
    vm_far *r = &check->fars[id % VM_FARS];
    *r = (vm_far){.id = id};
    return r;
}

/* Adds accesses of these lanes of warp v up to a time. A record holds only one set of lanes for each warp. So two sets
 * become their union, with the later time. This rule may order too many accesses, but never too few. */
static void add_lanes(vm_far *r, uint32_t v, uint32_t when, uint32_t lanes)
{
    if (when <= r->know[v])
        return;
    if (lanes == VM_ALL) {
        r->know[v] = when;
        return;
    }
    if (r->part[v] <= r->know[v])
        r->lanes[v] = 0;
    r->part[v] = larger(r->part[v], when);
    r->lanes[v] |= lanes;
    if (r->lanes[v] == VM_ALL)
        r->know[v] = r->part[v];
}

/* Joins the record `from` into r. */
static void add_record(vm_far *r, const vm_far *from)
{
    for (uint32_t v = 0; v < VM_LANES; v++) {
        add_lanes(r, v, from->know[v], VM_ALL);
        if (from->lanes[v])
            add_lanes(r, v, from->part[v], from->lanes[v]);
    }
}

/* Returns true if `a` orders every access that `b` orders. */
static bool includes(const vm_far *a, const vm_far *b)
{
    for (uint32_t v = 0; v < VM_LANES; v++)
        if (b->know[v] > a->know[v] ||
            (b->part[v] > a->know[v] && (b->part[v] > a->part[v] || (b->lanes[v] & ~a->lanes[v]))))
            return false;
    return true;
}

uint32_t check_far_join(vm_check *check, uint32_t a, uint32_t b)
{
    if (a == b || !b || a == VM_FAR_ALL)
        return a;
    if (!a || b == VM_FAR_ALL)
        return b;
    const vm_far *x = find_record(check, a), *y = find_record(check, b);
    if (!x || !y) /* one of the two records is too old, so everything counts as ordered */
        return VM_FAR_ALL;
    if (includes(x, y))
        return a;
    if (includes(y, x))
        return b;
    const vm_far both[2] = {*x, *y};
    vm_far *r = make_record(check);
    if (!r)
        return VM_FAR_ALL;
    add_record(r, &both[0]);
    add_record(r, &both[1]);
    return r->id;
}

/* Returns a record that the phase `owner` may change. If the phase owns the record `to`, the result is this record,
 * otherwise a copy of it. Returns NULL if everything counts as ordered. */
static vm_far *own_record(vm_check *check, uint32_t to, uint32_t owner)
{
    vm_far *r = find_record(check, to);
    if (to == VM_FAR_ALL || (to && !r))
        return NULL;
    if (r && r->owner == owner)
        return r;
    const vm_far old = r ? *r : (vm_far){0};
    r = make_record(check);
    if (r)
        add_record(r, &old), r->owner = owner;
    return r;
}

/* The resulting record has the entries of the arriving warp's vector clock for the warp's own block, and the current
 * time for the arriving lanes. */
uint32_t check_far_arrive(const vm_warp *w, uint32_t to, uint32_t owner, uint32_t lanes, uint32_t now)
{
    const vm_block *block = w->block;
    const vm_clock *c = &block->check->warps[w->index];
    vm_far *r = own_record(w->runner->run->device->check, to, owner);
    if (!r)
        return VM_FAR_ALL;
    /* adds the lanes with which the arriving lanes have synchronised */
    for (uint32_t k = 0; c->lanes && k < VM_LANES * VM_LANES; k++)
        lanes |= (uint32_t)(lanes >> k / VM_LANES & 1 && c->lanes[k] > c->full) << k % VM_LANES;
    for (uint32_t v = 0; v < block->warp_count; v++) {
        const uint32_t know = v == w->index ? c->full : c->know[v];
        add_lanes(r, v, larger(know, c->horizon), VM_ALL);
        if (c->more->lanes[v])
            add_lanes(r, v, c->more->part[v], c->more->lanes[v] | block->warps[v].dead);
    }
    add_lanes(r, w->index, now, lanes | w->dead);
    return r->id;
}

bool check_far_knows(const vm_check *check, uint32_t id, uint32_t warp, uint32_t lanes, uint32_t when)
{
    const vm_far *r = find_record(check, id);
    if (!r)
        return id != 0;
    return when <= r->know[warp] || (when <= r->part[warp] && r->lanes[warp] & lanes);
}

bool check_far_any(const vm_check *check, uint32_t id, uint32_t when)
{
    const vm_far *r = find_record(check, id);
    bool any = !r && id;
    for (uint32_t v = 0; r && v < VM_LANES && !any; v++)
        any = when <= r->know[v] || when <= r->part[v];
    return any;
}

/* Joins a record about the block `home` into a phase of an mbarrier of the block `home`. */
void check_far_return(const vm_block *home, vm_view *to, uint32_t id)
{
    const vm_far *r = find_record(home->runner->run->device->check, id);
    for (uint32_t v = 0; r && v < home->warp_count; v++) {
        to->gate.know[v] = larger(to->gate.know[v], r->know[v]);
        if (r->lanes[v] && r->part[v] > to->gate.know[v]) {
            to->more.part[v] = larger(to->more.part[v], r->part[v]);
            to->more.lanes[v] |= r->lanes[v];
        }
    }
}
