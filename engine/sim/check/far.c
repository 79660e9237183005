/* far.c - what a thread knows of another block's threads from arrivals at mbarriers: of each warp of that block, up to
 * which time. A thread keeps the number of a record for each block of the cluster; a record does not change once a
 * thread has its number. */
#include <string.h>

#include "vm_checks_internal.h"

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

static vm_far *record(const vm_check *check, uint32_t id)
{
    vm_far *r = check->fars && id ? &check->fars[id % VM_FARS] : NULL;
    return r && r->id == id ? r : NULL;
}

static vm_far *record_new(vm_check *check)
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

/* Accesses of these lanes of warp v up to a time; of two such sets, all lanes up to the later time: too much rather than
 * too little. */
static void add(vm_far *r, uint32_t v, uint32_t when, uint32_t lanes)
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

static void add_all(vm_far *r, const vm_far *from)
{
    for (uint32_t v = 0; v < VM_LANES; v++) {
        add(r, v, from->know[v], VM_ALL);
        if (from->lanes[v])
            add(r, v, from->part[v], from->lanes[v]);
    }
}

/* `a` tells all that `b` does. */
static bool has_all(const vm_far *a, const vm_far *b)
{
    for (uint32_t v = 0; v < VM_LANES; v++)
        if (b->know[v] > a->know[v] ||
            (b->part[v] > a->know[v] && (b->part[v] > a->part[v] || (b->lanes[v] & ~a->lanes[v]))))
            return false;
    return true;
}

uint32_t vm_far_join(vm_check *check, uint32_t a, uint32_t b)
{
    if (a == b || !b || a == VM_FAR_ALL)
        return a;
    if (!a || b == VM_FAR_ALL)
        return b;
    const vm_far *x = record(check, a), *y = record(check, b);
    if (!x || !y) /* one is from too long ago: everything counts as ordered */
        return VM_FAR_ALL;
    if (has_all(x, y))
        return a;
    if (has_all(y, x))
        return b;
    const vm_far both[2] = {*x, *y};
    vm_far *r = record_new(check);
    if (!r)
        return VM_FAR_ALL;
    add_all(r, &both[0]);
    add_all(r, &both[1]);
    return r->id;
}

/* The record of an mbarrier's phase that is not complete, which nobody else has: `to`, or a copy of it. */
static vm_far *own(vm_check *check, uint32_t to, uint32_t owner)
{
    vm_far *r = record(check, to);
    if (to == VM_FAR_ALL || (to && !r))
        return NULL;
    if (r && r->owner == owner)
        return r;
    const vm_far old = r ? *r : (vm_far){0};
    r = record_new(check);
    if (r)
        add_all(r, &old), r->owner = owner;
    return r;
}

uint32_t vm_far_arrive(const vm_warp *w, uint32_t to, uint32_t owner, uint32_t lanes, uint32_t now)
{
    const vm_block *block = w->block;
    const vm_clock *c = &block->check->warps[w->index];
    vm_far *r = own(w->runner->run->device->check, to, owner);
    if (!r)
        return VM_FAR_ALL;
    for (uint32_t k = 0; c->lanes && k < VM_LANES * VM_LANES; k++) /* with lanes that they synchronised with */
        lanes |= (uint32_t)(lanes >> k / VM_LANES & 1 && c->lanes[k] > c->full) << k % VM_LANES;
    for (uint32_t v = 0; v < block->warp_count; v++) {
        const uint32_t know = v == w->index ? c->full : c->know[v];
        add(r, v, larger(know, c->horizon), VM_ALL);
        if (c->more->lanes[v])
            add(r, v, c->more->part[v], c->more->lanes[v] | block->warps[v].dead);
    }
    add(r, w->index, now, lanes | w->dead);
    return r->id;
}

bool vm_far_knows(const vm_check *check, uint32_t id, uint32_t warp, uint32_t lanes, uint32_t when)
{
    const vm_far *r = record(check, id);
    if (!r)
        return id != 0;
    return when <= r->know[warp] || (when <= r->part[warp] && r->lanes[warp] & lanes);
}

bool vm_far_any(const vm_check *check, uint32_t id, uint32_t when)
{
    const vm_far *r = record(check, id);
    bool any = !r && id;
    for (uint32_t v = 0; r && v < VM_LANES && !any; v++)
        any = when <= r->know[v] || when <= r->part[v];
    return any;
}

/* What another block has told of this one comes back to it. */
void vm_far_return(const vm_block *home, vm_view *to, uint32_t id)
{
    const vm_far *r = record(home->runner->run->device->check, id);
    for (uint32_t v = 0; r && v < home->warp_count; v++) {
        to->gate.know[v] = larger(to->gate.know[v], r->know[v]);
        if (r->lanes[v] && r->part[v] > to->gate.know[v]) {
            to->more.part[v] = larger(to->more.part[v], r->part[v]);
            to->more.lanes[v] |= r->lanes[v];
        }
    }
}
