/* race.c - reports races. A race is two accesses to one granule by different threads. At least one of the two accesses
 * writes, and before.c finds no happens-before edges between them. The file also reports lanes of one store that write
 * different values, and writes to data that the launch reads as read-only. */
#include <inttypes.h>
#include <string.h>

#include "before_internal.h"
#include "bounds_internal.h"
#include "finding_internal.h"
#include "flight_internal.h"
#include "look_internal.h"
#include "race_internal.h"
#include "streams_internal.h"
#include "vm_checks_internal.h"
#include "vm_access.h"
#include "vm_block.h"

/* Returns true if a plain store would write the value that the memory already has. A race of such a store is only a
 * note. */
static bool writes_same(const vm_look *k, uint32_t lane)
{
    const vm_code *i = k->code;
    if (k->see != VM_SEE_STORE || i->size > 8)
        return false;
    const uint32_t *slots = i->extra;
    uint64_t address = k->a->address[lane];
    if (k->shared)
        address = vm_rank_address(address, k->home->rank);
    const unsigned char *host = vm_reach(k->w, i, lane, k->a->space, address, k->a->bytes, true);
    bool same = host != NULL;
    for (uint32_t e = 0; e < i->count && same; e++) {
        uint32_t slot = i->count == 1 ? i->d : slots[e];
        uint64_t value = i->flags & VM_REG64 ? vm_r64(k->w, slot)[lane] : vm_r32(k->w, slot)[lane];
        same = memcmp(host + e * i->size, &value, i->size) == 0;
    }
    return same;
}

/* Returns the reason why two strong accesses race although they are strong, for the message. */
static const char *explain_strong(const vm_look *k, const vm_mark *s)
{
    if (!(s->who & k->sides & VM_STRONG_SIDE))
        return "";
    return s->block != k->block ? " (the scope .cta is one block)" : " (lanes of a warp, by volatile alone)";
}

/* Explains for the message why this access is not ordered after an access of an earlier launch. */
static const char *explain_apart(vm_check *check, const vm_prior *prior, const vm_mark *s)
{
    if (!prior || prior->why == VM_APART_STREAM)
        return ", in streams that do not wait for each other, are not ordered";
    if (prior->why == VM_APART_BEYOND_WAIT)
        return " are not ordered: griddepcontrol.wait waits for the launch before this one, which has not waited for "
               "that earlier launch";
    return check_print(check,
                       "%s are not ordered: this dependent launch may begin before that launch has ended, and no "
                       "griddepcontrol.wait comes before this access",
                       s->who & VM_LATE_SIDE ? " after griddepcontrol.launch_dependents" : "");
}

/* Returns the instruction that made an access of an earlier launch. Returns VM_NO_INSN if the access was made by an
 * asynchronous operation that the checks no longer keep. */
static uint32_t get_earlier_insn(const vm_check *check, const vm_mark *s)
{
    if (!(s->who & VM_PENDING))
        return s->insn;
    const vm_flight *f = check->flights ? &check->flights[s->insn % VM_FLIGHTS] : NULL;
    return f && f->id == s->insn ? f->insn : VM_NO_INSN;
}

/* Makes the finding of a race between this access and an access that an earlier launch made at the time `stamp`. The
 * earlier launch may have run another module. In the key of the finding, an instruction of that module gets a number
 * above all instructions of this module. */
static void report_earlier(vm_look *k, const vm_mark *s, uint32_t stamp, bool other_writes, uint32_t lane,
                           uint64_t offset)
{
    enum { OTHER_MODULE = 1 << 30 };
    const vm_launched *launch = check_launch_at(k->check, stamp);
    const uint32_t insn = get_earlier_insn(k->check, s);
    const vm_module *code = launch && insn != VM_NO_INSN ? launch->code : NULL;
    const uint32_t key = !code                                                                ? VM_NO_INSN
                         : launch->module == k->w->runner->run->launch->module->check->serial ? insn
                                                                                              : insn | OTHER_MODULE;
    bool note = k->write && other_writes && !(s->who & VM_PENDING) && writes_same(k, lane);
    kiln_check_finding *f = check_start(k, KILN_CHECK_RACE, note, key, lane, 1u << lane);
    if (!f)
        return;
    f->address += offset;
    f->bytes = k->a->bytes;
    f->allocation = check_describe(k, lane);
    if (code) {
        check_side_place(k->check, code, insn, &f->other);
        f->other.what = other_writes ? "write by an earlier launch" : "read by an earlier launch";
    }
    f->message = check_print(k->check, "%s at global address 0x%" PRIx64 " and %s by an earlier launch%s%s%s, %s",
                             f->at.what, f->address, other_writes ? "a write" : "a read", launch ? " of " : "",
                             launch ? launch->kernel : "", explain_apart(k->check, check_prior_at(k->check, stamp), s),
                             f->allocation);
}

/* Makes the finding. The other access was made by an operation in flight, by an earlier launch, or by another thread of
 * this launch. Only in the last case its block and its thread are known. */
static void report_race(vm_look *k, const vm_mark *s, bool other_writes, uint32_t lane, uint64_t offset)
{
    const uint32_t stamp = k->shared ? 0 : check_earlier_stamp(k->check, s);
    if (stamp) {
        report_earlier(k, s, stamp, other_writes, lane, offset);
        return;
    }
    const vm_flight *pending = s->who & VM_PENDING ? check_flight_at(k->check, s->insn) : NULL;
    bool note = k->write && other_writes && !pending && writes_same(k, lane);
    kiln_check_finding *f = check_start(k, KILN_CHECK_RACE, note, pending ? pending->insn : s->insn, lane, 1u << lane);
    if (!f)
        return;
    f->address += offset;
    f->bytes = k->a->bytes;
    f->other.what = pending        ? "asynchronous copy"
                    : other_writes ? (s->who & VM_STRONG_SIDE ? "atomic or ordered write" : "write")
                                   : "read";
    check_side_thread(k->w, s, &f->other);
    f->other.has_thread = !(s->who & VM_MANY);
    f->allocation = check_describe(k, lane);
    if (pending)
        f->message = check_print(k->check,
                                 "%s at %s address 0x%" PRIx64 " while a copy to it (%s) was not waited for, %s",
                                 f->at.what, f->space, f->address, check_flight_name(pending), f->allocation);
    else
        f->message = check_print(k->check, "%s and %s by %s at %s address 0x%" PRIx64 " are not ordered%s%s, %s",
                                 f->at.what, f->other.what, s->block != k->block ? "another block" : "another thread",
                                 f->space, f->address, note ? " (the value is the same)" : "", explain_strong(k, s),
                                 f->allocation);
}

/* Returns true if another block of the cluster made the read, and this warp knows that the read is complete. */
static bool is_far_read(const vm_look *k, const vm_mark *s)
{
    const vm_block *own = k->w->block;
    return k->shared && s->block != (uint32_t)own->number && check_is_near(own, s->block) &&
           check_far_done(k->w, s->block, (s->who & VM_WHO) / VM_LANES, 1u << s->who % VM_LANES, s->stamp);
}

/* Returns true if both accesses are strong (atomic, volatile, relaxed or stronger), and therefore cannot race.
 *
 * Strong accesses of two blocks still race if one of them has the scope .cta. Lanes of one warp still race if they
 * exchange values in shared memory only by volatile accesses, as if the lanes ran in step. The second rule does not
 * apply to a flag that was written after a fence. */
static bool are_ordered(const vm_look *k, const vm_mark *s)
{
    if (!(s->who & k->sides & VM_STRONG_SIDE))
        return false;
    if (s->block != k->block)
        return !((s->who | k->sides) & VM_BLOCK_SIDE);
    const bool same_warp = (s->who & VM_WHO) / VM_LANES == k->w->index;
    return !(k->shared && same_warp && s->who & k->sides & VM_VOLATILE_SIDE && !k->flagged);
}

/* Returns true if another lane of the warp made the write, and between the write and this read of shared memory there
 * are only shuffles, votes or similar operations. In PTX such operations order no memory. */
static bool is_loose(const vm_look *k, const vm_mark *s, uint32_t lane)
{
    const vm_clock *c = k->clock;
    const uint32_t other = s->who % VM_LANES;
    return k->shared && k->home == k->w->block && k->a->kind & VM_READS && !k->flight && s->block == k->block &&
           !(s->who & (VM_PENDING | VM_MANY | VM_STRONG_SIDE)) && (s->who & VM_WHO) / VM_LANES == k->w->index &&
           other != lane && s->stamp > c->firm && s->stamp > c->horizon &&
           !(c->lanes && s->stamp <= c->lanes[lane * VM_LANES + other]);
}

static void report_loose(vm_look *k, const vm_mark *s, uint32_t lane, uint64_t offset)
{
    kiln_check_finding *f = check_start(k, KILN_CHECK_RACE, true, s->insn, lane, 1u << lane);
    if (!f)
        return;
    f->address += offset;
    f->bytes = k->a->bytes;
    f->other.what = "write";
    check_side_thread(k->w, s, &f->other);
    f->allocation = check_describe(k, lane);
    f->message = check_print(k->check,
                             "%s of bytes that another lane wrote at shared address 0x%" PRIx64
                             ", without __syncwarp(): shuffles, votes and products order no memory, %s",
                             f->at.what, f->address, f->allocation);
}

/* access.c calls this function for a mark that is newer than the limit, the time up to which all marks are ordered. A
 * mark that is newer than the limit is only a candidate for a race. The function tests for each lane whether the access
 * of the mark happened before. If one lane races, there is a finding. */
void check_conflict(vm_look *k, const vm_mark *s, bool other_writes, uint32_t lanes, uint64_t offset)
{
    if (are_ordered(k, s) || k->told)
        return;
    VM_EACH(lane, lanes)
        if (!check_happened_before(k->w, s, lane, k->shared) && (other_writes || !is_far_read(k, s))) {
            /* An access gets one finding, even if it touches many cells. But after a note about two stores of the same
             * value, the search continues, because the store may also race with a read of another thread. */
            k->told = !(k->write && other_writes && !(s->who & VM_PENDING) && writes_same(k, lane));
            report_race(k, s, other_writes, lane, offset);
            return;
        }
    VM_EACH(lane, lanes)
        if (other_writes && is_loose(k, s, lane)) {
            report_loose(k, s, lane, offset);
            return;
        }
}

/* Compares a read-only load with the last write of this launch, and a write with the last read-only load of this
 * launch. Records a read-only load for later writes. Either order is an error, because read-only data must not change
 * during a launch. */
void check_constant(vm_look *k, vm_cell *c, uint32_t lane)
{
    const vm_flight *copy = c->w.who & VM_PENDING ? check_flight_at(k->check, c->w.insn) : NULL;
    bool written = c->w.who & VM_PENDING ? copy != NULL : c->w.stamp > k->check->launch;
    bool clash = k->constant ? written : k->write && c->constant > k->check->launch;
    uint32_t other = !k->constant ? c->constant_insn : copy ? copy->insn : c->w.insn;
    if (k->constant)
        c->constant = k->now, c->constant_insn = k->insn;
    kiln_check_finding *f = clash ? check_start(k, KILN_CHECK_READ_ONLY, false, other, lane, 1u << lane) : NULL;
    if (!f)
        return;
    f->other.what = k->constant ? "write" : "read as read-only data";
    f->allocation = check_describe(k, lane);
    f->message = check_print(
        k->check, "%s at global address 0x%" PRIx64 ", which the launch %s (ld.global.nc), %s", f->at.what, f->address,
        k->constant ? "has written but reads as read-only data" : "reads as read-only data", f->allocation);
}

/* Compares the registers that lanes with the same address store, element by element. An element of 16 bytes is compared
 * as two halves. */
void check_one_store(vm_look *k)
{
    const vm_code *i = k->code;
    for (uint32_t n = 0; n < k->p->count; n++) {
        uint32_t lanes = k->p->who[n], first = k->p->lane[n];
        if (!(lanes & (lanes - 1)))
            continue;
        const uint32_t *slots = i->extra;
        for (uint32_t e = 0; e < i->count * (i->size == 16 ? 2u : 1u); e++) {
            uint32_t slot = i->size == 16   ? (i->count == 1 ? i->d : slots[e / 2]) + (e % 2) * 8 * VM_LANES
                            : i->count == 1 ? i->d
                                            : slots[e];
            uint32_t apart = 0;
            uint64_t mask = i->size < 8 ? ((uint64_t)1 << 8 * i->size) - 1 : UINT64_MAX;
            VM_EACH(lane, lanes) {
                uint64_t x = i->flags & VM_REG64 ? vm_r64(k->w, slot)[lane] ^ vm_r64(k->w, slot)[first]
                                                 : vm_r32(k->w, slot)[lane] ^ vm_r32(k->w, slot)[first];
                apart |= (uint32_t)((x & mask) != 0) << lane;
            }
            if (!apart)
                continue;
            uint32_t lane = (uint32_t)__builtin_ctz(apart);
            kiln_check_finding *f = check_start(k, KILN_CHECK_RACE, false, k->insn, first, apart);
            if (f) {
                vm_mark other = {.who = k->w->index * VM_LANES + lane, .block = k->block};
                f->other.what = f->at.what;
                check_side_thread(k->w, &other, &f->other);
                f->allocation = check_describe(k, first);
                f->message = check_print(
                    k->check,
                    "lanes %u and %u of one instruction write different values to %s address 0x%" PRIx64 ", %s", first,
                    lane, f->space, f->address, f->allocation);
            }
            break;
        }
    }
}
