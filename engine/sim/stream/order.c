/* order.c - which work of checked contexts is ordered before which. Work is done at once, so streams that do not wait for
 * each other are found by their clocks alone: for each stream, how much of each other stream's work is ordered before its
 * next. Launches and copies that are not ordered and touch the same memory, of which one writes, are a race.
 *
 * All contexts of the process have one such order, and their checks one time, so that streams of two devices are compared as
 * those of one. What the host learns by a call that waits, all that it enqueues later is ordered after; its threads count as
 * one. What a program learns without the driver (a flag in mapped memory that a kernel writes) is not seen. Nodes of one
 * graph count as ordered. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cu_graph.h"
#include "vm_checks.h"

enum { LANES = 256, WORKS_MOST = 4096, RANGES_MOST = 1 << 14 };
#define HOST LANES                 /* the host's clock, after those of the lanes */
#define TIME_MOST (UINT32_MAX / 4) /* of the checks, before they begin anew */

typedef struct work {
    uint32_t lane, number; /* of the lane's works, from 1 */
    vm_period span;
    const sim_context *context;
} work;
typedef struct range { /* of memory that a copy or a fill touches */
    uint32_t lane, number;
    bool write, pinned; /* pinned: memory that the host is guarded against */
    bool managed;       /* used by kernels, in that span, not by a copy */
    vm_period span;
    int guard;        /* its number; -1: none */
    const char *what; /* "the host's copy" */
    uint64_t address, bytes;
    sim_context *context; /* whose memory it is */
} range;

struct sim_order {
    unsigned users;                   /* contexts */
    uint32_t lanes;                   /* in use, from 1; of streams, also of destroyed ones */
    uint32_t done[LANES];             /* works of each */
    uint32_t known[LANES + 1][LANES]; /* by lane, and HOST: how many works of each lane are ordered before its next */
    const sim_context *owner[LANES];  /* NULL: it is gone */
    bool legacy[LANES];               /* it is its context's legacy stream */
    bool blocking[LANES];             /* the legacy stream waits for it, and it for that */
    bool vacant[LANES];               /* its stream was destroyed */
    bool lost;                        /* too many streams: all count as ordered */
    work *works;
    range *ranges;
    vm_period *spans; /* not ordered before the running work */
    size_t work_count, work_room, range_count, range_room, span_count, span_room;
    size_t first_range; /* of the running work */
};

/* ---- pinned memory ---- */

static void unguard(range *r)
{
    char where[160];
    uint64_t address;
    sim_context *context = r->context;
    if (r->guard >= 0 && sim_guard_clear(r->guard, &address, where, sizeof where)) {
        if (r->managed)
            vm_check_managed_race(context->device, address, r->write, r->span, where);
        else
            vm_check_pinned_race(context->device, r->address, r->bytes, r->write, where);
        r->pinned = false; /* said once */
    }
    r->guard = -1;
}

static void unguard_all(sim_order *o)
{
    for (size_t i = 0; i < o->range_count; i++)
        unguard(&o->ranges[i]);
}

/* The memory of host and device that holds the address, a managed variable too. */
static bool shared_at(const sim_context *context, uint64_t address, uint64_t *base, uint64_t *bytes)
{
    vm_info info;
    const sim_host *host = sim_host_at(context, address);
    const bool variable = !host && vm_about(context->device, address, &info) && info.variable && info.shared;
    *base = host ? (uintptr_t)host->pointer : variable ? info.base : 0;
    *bytes = host ? host->bytes : variable ? info.bytes : 0;
    return host || variable;
}

/* Pages that have other data of the host too are left open. */
static int guard_range(const range *r)
{
    const sim_context *context = r->context;
    uint64_t base, bytes;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (!shared_at(context, r->address, &base, &bytes) || base % page != 0 || r->address + r->bytes > base + bytes)
        return -1;
    const uint64_t first = (r->address + page - 1) / page * page;
    uint64_t end = r->address + r->bytes;
    end = end == base + bytes ? (end + page - 1) / page * page : end / page * page;
    return first < end ? sim_guard_set(first, end - first, !r->write) : -1;
}

/* ---- the order ---- */

/* Nothing is concurrent with what runs from now on. */
static void clear_spans(sim_order *o)
{
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->check)
            vm_check_concurrent(any->check, NULL, 0);
    o->span_count = 0;
}

/* Forgets works and ranges: those of the context, or (NULL) those that the host knows. */
static void forget(sim_order *o, const sim_context *context)
{
    const uint32_t *known = o->known[HOST];
    size_t kept = 0, before = 0;
    for (size_t i = 0; i < o->work_count; i++)
        if (context ? o->works[i].context != context : o->works[i].number > known[o->works[i].lane])
            o->works[kept++] = o->works[i];
    o->work_count = kept;
    kept = 0;
    for (size_t i = 0; i < o->range_count; i++)
        if (context ? o->ranges[i].context != context : o->ranges[i].number > known[o->ranges[i].lane]) {
            before += i < o->first_range;
            o->ranges[kept++] = o->ranges[i];
        } else {
            unguard(&o->ranges[i]);
        }
    o->range_count = kept;
    o->first_range = before;
}

/* The context leaves it. */
static void free_order(sim_context *context)
{
    sim_order *o = context->order;
    clear_spans(o);
    forget(o, context);
    for (uint32_t k = 1; k < o->lanes; k++)
        if (o->owner[k] == context) {
            o->owner[k] = NULL;
            o->vacant[k] = true;
        }
    context->order = NULL;
    if (--o->users > 0)
        return;
    unguard_all(o);
    kiln__free(sim_memory(), o->works);
    kiln__free(sim_memory(), o->ranges);
    kiln__free(sim_memory(), o->spans);
    kiln__free(sim_memory(), o);
}

/* What streams and events know from checks that have ended. */
static void forget_old(sim_context *context)
{
    for (sim_object *object = context->objects; object; object = object->next) {
        if (object->kind == SIM_STREAM)
            ((sim_stream *)object)->lane = 0;
        if (object->kind != SIM_EVENT)
            continue;
        kiln__free(sim_memory(), ((sim_event *)object)->known);
        ((sim_event *)object)->known = NULL;
    }
}

/* NULL: nothing is checked, or there is no memory: then all counts as ordered. */
static sim_order *order_of(sim_context *context)
{
    if (!context || !context->check)
        return NULL;
    sim_order *o = context->order;
    for (sim_context *any = sim_context_after(NULL); any && !o; any = sim_context_after(any))
        o = any->order;
    if (!o && (o = kiln__calloc(sim_memory(), 1, sizeof *o)))
        o->lanes = 1;
    if (o && !context->order) {
        o->users++;
        context->order = o;
        context->order_end = free_order;
        context->order_let = sim_order_waited_all;
        forget_old(context);
    }
    return o && !o->lost ? o : NULL;
}

static void join(uint32_t *to, const uint32_t *from)
{
    for (uint32_t k = 0; k < LANES; k++)
        to[k] = from[k] > to[k] ? from[k] : to[k];
}

static work *running(sim_order *o)
{
    return o->work_count > 0 && o->works[o->work_count - 1].span.until == UINT32_MAX ? &o->works[o->work_count - 1]
                                                                                     : NULL;
}

/* A lane for the context. 0: there is none left, and all counts as ordered. */
static uint32_t lane_new(sim_context *context, sim_order *o, bool blocking, bool legacy)
{
    uint32_t lane = o->lanes;
    if (lane == LANES) /* one of a destroyed stream: its work counts as ordered before the new one's */
        for (lane = 1; lane < LANES; lane++)
            if (o->vacant[lane] && (!o->owner[lane] || (o->owner[lane] == context && o->blocking[lane] == blocking)))
                break;
    if (lane == LANES) {
        o->lost = true;
        unguard_all(o);
        if (!running(o)) /* a kernel of another thread may read them: when that ends */
            clear_spans(o);
        return 0;
    }
    o->lanes += lane == o->lanes;
    o->owner[lane] = context;
    o->blocking[lane] = blocking;
    o->legacy[lane] = legacy;
    o->vacant[lane] = false;
    return lane;
}

/* That of the context's legacy stream; 0: it has none yet. */
static uint32_t legacy_of(const sim_order *o, const sim_context *context)
{
    for (uint32_t k = 1; k < o->lanes; k++)
        if (o->owner[k] == context && o->legacy[k])
            return k;
    return 0;
}

static uint32_t lane_of(sim_context *context, sim_order *o, CUstream handle)
{
    sim_stream *stream = sim_stream_at(context, handle, true);
    if (!stream) {
        const uint32_t lane = legacy_of(o, context);
        return lane ? lane : lane_new(context, o, false, true);
    }
    if (!stream->lane)
        stream->lane = lane_new(context, o, !(stream->flags & CU_STREAM_NON_BLOCKING), false);
    return stream->lane;
}

void sim_order_stream_gone(sim_context *context, const sim_stream *stream)
{
    sim_order *o = order_of(context);
    if (o && stream->lane)
        o->vacant[stream->lane] = true;
}

/* What the stream's next work is ordered after. */
static uint32_t *known_of(sim_order *o, uint32_t lane)
{
    uint32_t *known = o->known[lane];
    const sim_context *owner = o->owner[lane];
    join(known, o->known[HOST]);
    if (o->blocking[lane])
        join(known, o->known[legacy_of(o, owner)]); /* of no lane: nothing */
    for (uint32_t k = 1; k < o->lanes && o->legacy[lane]; k++)
        if (o->blocking[k] && o->owner[k] == owner)
            join(known, o->known[k]);
    return known;
}

/* All work of the context, and what it is ordered after; of all contexts: NULL. */
static void all_of(sim_order *o, const sim_context *context, uint32_t *known)
{
    memset(known, 0, sizeof o->done);
    for (uint32_t k = 1; k < o->lanes; k++)
        if (!context || o->owner[k] == context) {
            join(known, known_of(o, k));
            known[k] = o->done[k];
        }
}

/* ---- waiting ---- */

/* A thread may ask while another one's work is running, which the answer does not include. */
static void host_learns(sim_order *o, const uint32_t *known)
{
    const work *now = running(o);
    uint32_t *host = o->known[HOST];
    join(host, known);
    if (now && host[now->lane] >= now->number)
        host[now->lane] = now->number - 1;
    forget(o, NULL); /* what all later work is ordered after */
}

void sim_order_waited(sim_context *context, CUstream stream)
{
    sim_order *o = order_of(context);
    const uint32_t lane = o ? lane_of(context, o, stream) : 0;
    if (lane)
        host_learns(o, known_of(o, lane));
}

void sim_order_waited_all(sim_context *context)
{
    sim_order *o = order_of(context);
    uint32_t known[LANES];
    if (!o)
        return;
    all_of(o, context, known);
    host_learns(o, known);
}

void sim_order_waited_event(sim_context *context, const sim_event *event)
{
    sim_order *o = order_of(context);
    if (o && event->known)
        host_learns(o, event->known);
}

void sim_order_record(sim_context *context, const CUstream *stream, sim_event *event)
{
    sim_order *o = order_of(context);
    const uint32_t lane = o && stream ? lane_of(context, o, *stream) : 0;
    if (!o || o->lost)
        return;
    if (!event->known)
        event->known = kiln__alloc(sim_memory(), sizeof o->done);
    if (event->known && lane)
        memcpy(event->known, known_of(o, lane), sizeof o->done);
    else if (event->known)
        all_of(o, context, event->known);
}

void sim_order_stream_waits(sim_context *context, CUstream stream, const sim_event *event)
{
    sim_order *o = order_of(context);
    const uint32_t lane = o ? lane_of(context, o, stream) : 0;
    uint32_t known[LANES];
    if (!lane)
        return;
    if (!event || !event->known)
        all_of(o, event ? event->object.context : NULL, known);
    join(o->known[lane], event && event->known ? event->known : known);
}

void sim_order_devices_wait(sim_context *const *contexts, size_t count)
{
    sim_order *o = order_of(contexts[0]);
    uint32_t known[LANES] = {0}, more[LANES];
    for (size_t i = 0; o && i < count; i++) {
        all_of(o, contexts[i], more);
        join(known, more);
    }
    for (uint32_t k = 1; o && k < o->lanes; k++)
        for (size_t i = 0; i < count; i++)
            if (o->owner[k] == contexts[i])
                join(o->known[k], known);
}

/* ---- work ---- */

/* The checks of all contexts have one time. With the order: it may begin anew. */
static void keep_time(sim_order *o)
{
    uint32_t most = 0;
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any)) {
        const uint32_t now = any->check ? vm_check_tick_host(any->check) : 0;
        most = now > most ? now : most;
    }
    const bool anew = o && most > TIME_MOST;
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->check && anew)
            vm_check_anew(any->device, any->check);
        else if (any->check)
            vm_check_time(any->check, most + 1);
    if (!anew)
        return;
    o->work_count = o->range_count = 0; /* nothing is guarded now */
    o->first_range = 0;
    for (uint32_t k = 0; k <= LANES; k++)
        join(o->known[k], o->done);
}

void sim_order_time(void) { keep_time(NULL); }

/* Makes room by taking the older half for ordered. */
static void drop_old(sim_order *o)
{
    uint32_t known[LANES] = {0};
    for (size_t i = 0; i < (o->work_count + 1) / 2; i++)
        known[o->works[i].lane] = o->works[i].number;
    host_learns(o, known);
}

/* The next work in the lane; 0: of none, and nothing is noted. */
static void begin_in(sim_context *context, sim_order *o, uint32_t lane)
{
    if (!lane)
        return;
    if (o->work_count == WORKS_MOST || o->range_count >= RANGES_MOST)
        drop_old(o);
    o->first_range = o->range_count;
    uint32_t *known = known_of(o, lane);
    o->span_count = 0;
    for (size_t i = 0; i < o->work_count; i++) {
        const work *w = &o->works[i];
        if (w->number <= known[w->lane])
            continue;
        if (!kiln__grow(sim_memory(), &o->spans, &o->span_room, o->span_count + 1, sizeof *o->spans))
            break;
        o->spans[o->span_count++] = w->span;
    }
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->check) /* a graph's nodes run in several */
            vm_check_concurrent(any->check, o->spans, o->span_count);
    if (!kiln__grow(sim_memory(), &o->works, &o->work_room, o->work_count + 1, sizeof *o->works))
        return;
    known[lane] = ++o->done[lane];
    o->works[o->work_count++] = (work){.lane = lane,
                                       .number = known[lane],
                                       .span = {.after = vm_check_tick_host(context->check), .until = UINT32_MAX},
                                       .context = context};
}

/* Ready for new work: what was guarded is not. */
static sim_order *order_ready(sim_context *context)
{
    sim_order *o = order_of(context);
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->order) { /* the work may be with that memory, which all contexts may use */
            unguard_all(any->order);
            break; /* they have one */
        }
    if (context->check)
        keep_time(o);
    return o;
}

void sim_order_begin(sim_context *context, CUstream stream)
{
    sim_order *o = order_ready(context);
    begin_in(context, o, o ? lane_of(context, o, stream) : 0);
}

static bool overlap(const range *a, const range *b)
{
    return a->context == b->context && a->address < b->address + b->bytes && b->address < a->address + a->bytes &&
           (a->write || b->write);
}

/* A range of work that is not ordered before the running one. */
static bool is_concurrent(const sim_order *o, const work *now, const range *r)
{
    return (r->lane != now->lane || r->number != now->number) && r->number > o->known[now->lane][r->lane];
}

void sim_order_touch(sim_context *context, const char *what, uint64_t address, uint64_t bytes, bool write)
{
    sim_order *o = order_of(context);
    work *now = o ? running(o) : NULL;
    if (!now || bytes == 0)
        return;
    sim_context *home = sim_home(context, address);
    const sim_host *host = sim_host_at(home, address);
    const range made = {.lane = now->lane,
                        .number = now->number,
                        .write = write,
                        .pinned = host && host->sharing == SIM_PINNED && home->check_shown,
                        .guard = -1,
                        .what = what,
                        .address = address,
                        .bytes = bytes,
                        .context = home};
    for (size_t i = 0; i < o->span_count; i++)
        vm_check_host_race(home->device, what, address, bytes, write, o->spans[i]);
    for (size_t i = 0; i < o->first_range; i++)
        if (!o->ranges[i].managed && overlap(&o->ranges[i], &made) && is_concurrent(o, now, &o->ranges[i]))
            vm_check_copies_race(home->device, what, o->ranges[i].what,
                                 address > o->ranges[i].address ? address : o->ranges[i].address);
    if (kiln__grow(sim_memory(), &o->ranges, &o->range_room, o->range_count + 1, sizeof *o->ranges))
        o->ranges[o->range_count++] = made;
}

/* What of that managed memory the work's kernels have used. False: out of memory. */
static bool add_used(sim_context *context, sim_order *o, const work *now, uint64_t address, uint64_t bytes)
{
    vm_used used = {.address = address};
    for (uint64_t from = address; from < address + bytes; from = used.address + used.bytes) {
        if (!vm_check_used(context->device, from, now->span, &used))
            return true;
        if (!kiln__grow(sim_memory(), &o->ranges, &o->range_room, o->range_count + 1, sizeof *o->ranges))
            return false;
        o->ranges[o->range_count++] = (range){.lane = now->lane,
                                              .number = now->number,
                                              .write = used.written,
                                              .pinned = true,
                                              .managed = true,
                                              .span = now->span,
                                              .guard = -1,
                                              .what = "a launch",
                                              .address = used.address,
                                              .bytes = used.bytes,
                                              .context = context};
    }
    return true;
}

/* Managed memory and variables that the work's kernels have used are guarded too, unless they have told something to the
 * host meanwhile: a flag that it waits for orders what it does then. */
static void guard_managed(sim_context *context, sim_order *o, const work *now)
{
    vm_info v;
    if (!context->check_shown || !vm_check_has_launched(context->check, now->span))
        return;
    for (sim_object *object = context->objects; object; object = object->next)
        if (object->kind == SIM_HOST &&
            vm_check_flagged(context->device, (uintptr_t)((sim_host *)object)->pointer, now->span))
            return;
    for (uint64_t from = 0; vm_managed_variable(context->device, from, &v); from = v.base + 1)
        if (vm_check_flagged(context->device, v.base, now->span))
            return;
    for (sim_object *object = context->objects; object; object = object->next) {
        const sim_host *host = (sim_host *)object;
        if (object->kind == SIM_HOST && host->sharing == SIM_MANAGED &&
            !add_used(context, o, now, (uintptr_t)host->pointer, host->bytes))
            return;
    }
    for (uint64_t from = 0; vm_managed_variable(context->device, from, &v); from = v.base + 1)
        if (!add_used(context, o, now, v.base, v.bytes))
            return;
}

/* Each check keeps the names of the launches that the others have seen meanwhile. */
static void tell_launches(vm_period span)
{
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        for (sim_context *other = sim_context_after(NULL); other && any->check; other = sim_context_after(other))
            if (other != any && other->check)
                vm_check_heard(other->check, any->check, span);
}

void sim_order_end(sim_context *context)
{
    if (context->order && context->order->lost)
        clear_spans(context->order);
    sim_order *o = order_of(context);
    work *now = o ? running(o) : NULL;
    if (!now)
        return;
    keep_time(NULL);
    now->span.until = vm_check_tick_host(context->check);
    tell_launches(now->span);
    for (size_t i = 0; i < o->range_count; i++) { /* what kernels have touched of earlier copies' memory */
        const range *r = &o->ranges[i];
        if (!r->managed && is_concurrent(o, now, r))
            vm_check_host_race(r->context->device, r->what, r->address, r->bytes, r->write, now->span);
    }
    clear_spans(o);
    guard_managed(context, o, now);
}

/* Other threads' work may begin and end meanwhile, so the running one ends before, and what follows it is work of its own.
 * The host's function may read what was before it. */
bool sim_order_call_out(sim_context *context, void (*function)(void *), void *user)
{
    sim_order *o = order_of(context);
    const work *now = o ? running(o) : NULL;
    const uint32_t lane = now ? now->lane : 0;
    if (lane) {
        sim_order_end(context);
        host_learns(o, known_of(o, lane));
    }
    if (!sim_call_out(context, function, user))
        return false;
    o = lane ? order_ready(context) : NULL;
    if (o && lane < o->lanes && o->owner[lane] == context)
        begin_in(context, o, lane);
    return true;
}

void sim_order_guard(void)
{
    sim_order *o = NULL;
    for (sim_context *any = sim_context_after(NULL); any && !o; any = sim_context_after(any))
        o = any->order;
    for (size_t i = 0; o && !o->lost && i < o->range_count; i++)
        if (o->ranges[i].pinned && o->ranges[i].guard < 0)
            o->ranges[i].guard = guard_range(&o->ranges[i]);
}
