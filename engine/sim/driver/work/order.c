/* order.c - the happens-before order of streams. The checks need it.
 *
 * The simulator completes work when the work is enqueued. So streams never run concurrently. With vector clocks, this
 * file computes which work could run concurrently on a GPU. A *lane* is a stream, as the vector clocks see it. The
 * pieces of work of a lane, its *works*, have the numbers 1, 2, 3 and so on. `known[lane]` is the vector clock of the
 * lane. For each other lane it has a number: the works of that lane up to this number happened before the next work of
 * this lane. Two launches or copies race if nothing orders them, if they access the same memory, and if one of them
 * writes.
 *
 * There is one order for all contexts of the process, and the checks of these contexts have one time. So streams of two
 * devices are compared in the same way as streams of one device. The host has one more clock, which all of its threads
 * share. When the host has waited for some work, all work that it enqueues later is ordered after this work. A flag
 * that a kernel writes to mapped memory does not pass through the driver. So the order knows nothing of such flags.
 * Nodes of one graph count as ordered, except the nodes that sim_order_part() names.
 *
 * **Dependent launches.** A dependent launch may begin before earlier launches of its stream have ended. So the clock
 * of a lane must also tell which works of the lane itself are ordered before its next work. Two sets of the last 64
 * works of the lane tell this. The set `begun` has the works that are ordered before the start of a dependent launch.
 * The set `waited` has the works that are ordered before the accesses after griddepcontrol.wait. In both sets, bit i
 * stands for the work that is i + 1 works before the next work. All works that are older than the sets count as
 * ordered. If a work is not a dependent launch, it is ordered after all earlier works of its lane. The function
 * finish_launch() computes the sets for the next launch from the sets for this launch, and from the way in which this
 * launch waited (vm_dependence). The next launch begins when each block of this launch has executed launch_dependents
 * or has ended. If a block waited for work before this, the next launch therefore begins after that work.
 *
 * A work has two states. A work runs from sim_order_begin() until sim_order_end(). While a work runs, its `span.until`
 * is UINT32_MAX, and sim_order_touch() adds ranges of memory to it. When a work has ended, later works are compared
 * with it. The work is removed from the list in four cases:
 *   forget_works  the host has waited for it, so all later work is ordered after it
 *   drop_old      the list of works or the list of ranges is full
 *   keep_time     the time restarts
 *   leave_order   its context ends */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cu_work.h"
#include "vm_checks.h"

enum { LANES = 256, WORKS_MOST = 4096, RANGES_MOST = 1 << 14 };
#define HOST LANES                 /* the index of the clock of the host */
#define TIME_MOST (UINT32_MAX / 4) /* if the time of the checks exceeds this value, it restarts at 1 */

/* A launch, a copy or a fill that has begun. */
typedef struct work {
    uint32_t lane, number; /* number: the number of the work in its lane, from 1 */
    vm_period span;
    const sim_context *context;
} work;
typedef struct range { /* memory that a copy or a fill touches, or managed memory that the kernels of a work touch */
    uint32_t lane, number;
    bool write, pinned; /* pinned: a guard protects the memory against accesses of the host */
    /* True for managed memory that kernels have used during the span. False for memory that a copy or a fill
     * touches. */
    bool managed;
    vm_period span;
    int guard;        /* the number of the guard, or -1 if there is no guard */
    const char *what; /* name of the operation for findings, such as "the host's copy" */
    uint64_t address, bytes;
    sim_context *context; /* the context to which the memory belongs */
} range;

/* The happens-before order of all checked contexts. */
struct sim_order {
    unsigned users; /* number of contexts that use this order */
    /* One more than the number of lanes that streams have been given. When all lanes are given, take_lane() reuses
     * vacant lanes. */
    uint32_t lanes;
    uint32_t done[LANES];             /* indexed by lane: number of works that have begun in the lane */
    uint32_t known[LANES + 1][LANES]; /* the vector clocks of the lanes, and then the clock of the host */
    const sim_context *owner[LANES];  /* indexed by lane: the context of the lane, or NULL if this context has ended */
    bool legacy[LANES];               /* indexed by lane: true if the lane is the legacy stream of a context */
    /* indexed by lane: true if the stream and the legacy stream wait for each other */
    bool blocking[LANES];
    bool vacant[LANES]; /* indexed by lane: true if the stream of the lane was destroyed */
    bool lost;          /* true if there are too many streams; then everything counts as ordered */
    work *works;
    range *ranges;
    vm_prior *spans;    /* the works that are not ordered before the work that runs now */
    size_t whole_spans; /* number of spans that do not come from sim_order_part() */
    size_t work_count, work_room, range_count, range_room, span_count, span_room;
    size_t first_range; /* index of the first range of the work that runs now */
    uint64_t begun[LANES],
        /* Indexed by lane: the sets that the lane's next work gets if it is a dependent launch. */
        waited[LANES];
    uint64_t now_begun, now_waited; /* the sets of the work that runs now */
    bool now_kernel;                /* the work that runs now is the launch of one kernel */
    /* Indexed by lane: the vector clock that the next work of the lane acquires by griddepcontrol.wait. This clock
     * comes from events that mark the trigger of a launch. */
    uint32_t promised[LANES][LANES];
};

/* ---- pinned memory ---- */

/* Removes the guard of a range. If the host has touched the memory, reports this. */
static void remove_guard(range *r)
{
    char where[160];
    uint64_t address;
    sim_context *context = r->context;
    if (r->guard >= 0 && sim_guard_clear(r->guard, &address, where, sizeof where)) {
        if (r->managed)
            check_managed_race(context->device, address, r->write, r->span, where);
        else
            check_pinned_race(context->device, r->address, r->bytes, r->write, where);
        r->pinned = false; /* the range must be reported only once */
    }
    r->guard = -1;
}

static void remove_all_guards(sim_order *o)
{
    for (size_t i = 0; i < o->range_count; i++)
        remove_guard(&o->ranges[i]);
}

/* Finds the piece of memory that contains the address and that host and device share. Such memory is pinned, registered
 * or managed memory, or a managed variable. Sets *base and *bytes to the bounds of this memory. Returns false if the
 * address does not lie in such memory. */
static bool find_shared(const sim_context *context, uint64_t address, uint64_t *base, uint64_t *bytes)
{
    vm_info info;
    const sim_host *host = sim_host_at(context, address);
    const bool variable = !host && vm_about(context->device, address, &info) && info.variable && info.shared;
    *base = host ? (uintptr_t)host->pointer : variable ? info.base : 0;
    *bytes = host ? host->bytes : variable ? info.bytes : 0;
    return host || variable;
}

/* Guards the whole pages of a range. If a page at an end of the range also has other data of the host, the page is not
 * guarded. Returns the number of the guard, or -1 if it guards nothing. */
static int guard_range(const range *r)
{
    const sim_context *context = r->context;
    uint64_t base, bytes;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (!find_shared(context, r->address, &base, &bytes) || base % page != 0 || r->address + r->bytes > base + bytes)
        return -1;
    const uint64_t first = (r->address + page - 1) / page * page;
    uint64_t end = r->address + r->bytes;
    end = end == base + bytes ? (end + page - 1) / page * page : end / page * page;
    return first < end ? sim_guard_set(first, end - first, !r->write) : -1;
}

void sim_order_shared_gone(const sim_context *home, uint64_t address)
{
    sim_order *o = home->order;
    uint64_t base, bytes;
    if (!o || !find_shared(home, address, &base, &bytes))
        return;
    for (size_t i = 0; i < o->range_count; i++)
        if (o->ranges[i].address < base + bytes && base < o->ranges[i].address + o->ranges[i].bytes) {
            remove_guard(&o->ranges[i]);
            /* the range gets no further guard, because other memory may get this address */
            o->ranges[i].pinned = false;
        }
}

/* ---- the order ---- */

/* Tells the checks that no work is concurrent with the next work. */
static void clear_spans(sim_order *o)
{
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->check)
            check_concurrent(any->check, NULL, 0);
    o->span_count = o->whole_spans = 0;
}

/* Removes works and the ranges of these works. If `context` is not NULL, removes the works of this context. Otherwise
 * removes all works for which the host has waited. */
static void forget_works(sim_order *o, const sim_context *context)
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
            remove_guard(&o->ranges[i]);
        }
    o->range_count = kept;
    o->first_range = before;
}

/* Removes a context from the order. If it is the last context, frees the order. */
static void leave_order(sim_context *context)
{
    sim_order *o = context->order;
    clear_spans(o);
    forget_works(o, context);
    for (uint32_t k = 1; k < o->lanes; k++)
        if (o->owner[k] == context) {
            o->owner[k] = NULL;
            o->vacant[k] = true;
        }
    context->order = NULL;
    if (--o->users > 0)
        return;
    remove_all_guards(o);
    kiln__free(sim_memory(), o->works);
    kiln__free(sim_memory(), o->ranges);
    kiln__free(sim_memory(), o->spans);
    kiln__free(sim_memory(), o);
}

/* Resets the lanes that the streams of the context have, and the clocks that its events have. These lanes and clocks
 * may come from an earlier check of the same context. */
static void forget_clocks(sim_context *context)
{
    for (sim_object *object = context->objects; object; object = object->next) {
        if (object->kind == SIM_STREAM)
            ((sim_stream *)object)->lane = 0;
        if (object->kind != SIM_EVENT)
            continue;
        kiln__free(sim_memory(), ((sim_event *)object)->known);
        kiln__free(sim_memory(), ((sim_event *)object)->promised);
        ((sim_event *)object)->known = ((sim_event *)object)->promised = NULL;
    }
}

/* Returns the order. The first checked context creates it. Returns NULL if the context is not checked, if there are too
 * many streams, or if memory runs out. In the last two cases, everything counts as ordered. */
static sim_order *get_order(sim_context *context)
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
        context->order_end = leave_order;
        context->order_let = sim_order_waited_all;
        forget_clocks(context);
    }
    return o && !o->lost ? o : NULL;
}

/* Joins the clock `from` into the clock `to` (pointwise maximum). */
static void join_clocks(uint32_t *to, const uint32_t *from)
{
    for (uint32_t k = 0; k < LANES; k++)
        to[k] = from[k] > to[k] ? from[k] : to[k];
}

/* Joins a clock into the clock of the next work of a lane. The joined clock also has an entry for this lane itself,
 * because it may order earlier works of the lane before the next work. The function adds the works of this entry to the
 * sets of the lane. */
static void join_lane(sim_order *o, uint32_t lane, const uint32_t *from)
{
    join_clocks(o->known[lane], from);
    const uint32_t newer = o->done[lane] - from[lane]; /* number of works of the lane that are later than the entry */
    const uint64_t named = newer < 64 ? UINT64_MAX << newer : 0;
    o->begun[lane] |= named;
    o->waited[lane] |= named;
}

/* Returns the work that runs now, or NULL. */
static work *get_running(sim_order *o)
{
    return o->work_count > 0 && o->works[o->work_count - 1].span.until == UINT32_MAX ? &o->works[o->work_count - 1]
                                                                                     : NULL;
}

/* Returns a lane for a stream of the context. Returns 0 if all lanes are in use. Then everything counts as ordered. */
static uint32_t take_lane(sim_context *context, sim_order *o, bool blocking, bool legacy)
{
    uint32_t lane = o->lanes;
    /* reuses the lane of a destroyed stream; the work of that stream then counts as ordered before the work of the new
     * stream */
    if (lane == LANES)
        for (lane = 1; lane < LANES; lane++)
            if (o->vacant[lane] && (!o->owner[lane] || (o->owner[lane] == context && o->blocking[lane] == blocking)))
                break;
    if (lane == LANES) {
        o->lost = true;
        remove_all_guards(o);
        /* While a work runs, its kernel may read the spans on another thread. In this case sim_order_end() clears the
         * spans later. */
        if (!get_running(o))
            clear_spans(o);
        return 0;
    }
    o->lanes += lane == o->lanes;
    o->owner[lane] = context;
    o->begun[lane] = o->waited[lane] = UINT64_MAX;
    o->blocking[lane] = blocking;
    o->legacy[lane] = legacy;
    o->vacant[lane] = false;
    return lane;
}

/* Returns the lane of the context's legacy stream. Returns 0 if the legacy stream has no lane yet. */
static uint32_t get_legacy_lane(const sim_order *o, const sim_context *context)
{
    for (uint32_t k = 1; k < o->lanes; k++)
        if (o->owner[k] == context && o->legacy[k])
            return k;
    return 0;
}

/* Returns the lane of a stream. A stream gets its lane with its first work. */
static uint32_t get_lane(sim_context *context, sim_order *o, CUstream handle)
{
    sim_stream *stream = sim_stream_at(context, handle, true);
    if (!stream) {
        const uint32_t lane = get_legacy_lane(o, context);
        return lane ? lane : take_lane(context, o, false, true);
    }
    if (!stream->lane)
        stream->lane = take_lane(context, o, !(stream->flags & CU_STREAM_NON_BLOCKING), false);
    return stream->lane;
}

void sim_order_stream_gone(sim_context *context, const sim_stream *stream)
{
    sim_order *o = get_order(context);
    if (o && stream->lane)
        o->vacant[stream->lane] = true;
}

/* Returns the clock of the next work of the lane. First joins the clock of the host into it, and the implicit edges of
 * the legacy stream. The legacy stream waits for all blocking streams of its context, and these streams wait for the
 * legacy stream. */
static uint32_t *get_clock(sim_order *o, uint32_t lane)
{
    const sim_context *owner = o->owner[lane];
    join_lane(o, lane, o->known[HOST]);
    if (o->blocking[lane])
        /* if there is no legacy lane, this is lane 0, whose clock is empty */
        join_lane(o, lane, o->known[get_legacy_lane(o, owner)]);
    for (uint32_t k = 1; k < o->lanes && o->legacy[lane]; k++)
        if (o->blocking[k] && o->owner[k] == owner)
            join_lane(o, lane, o->known[k]);
    return o->known[lane];
}

/* Sets `known` to the clock of all work that the context has enqueued until now. If `context` is NULL, sets it to the
 * clock of the work of all contexts. */
static void get_clock_of_all(sim_order *o, const sim_context *context, uint32_t *known)
{
    memset(known, 0, sizeof o->done);
    for (uint32_t k = 1; k < o->lanes; k++)
        if (!context || o->owner[k] == context) {
            join_clocks(known, get_clock(o, k));
            known[k] = o->done[k];
        }
}

/* ---- waiting ---- */

/* Joins a clock into the clock of the host. Work that another thread still runs does not count as done. */
static void join_host(sim_order *o, const uint32_t *known)
{
    const work *now = get_running(o);
    uint32_t *host = o->known[HOST];
    join_clocks(host, known);
    if (now && host[now->lane] >= now->number)
        host[now->lane] = now->number - 1;
    forget_works(o, NULL); /* all later work is ordered after these works */
}

void sim_order_waited(sim_context *context, CUstream stream)
{
    sim_order *o = get_order(context);
    const uint32_t lane = o ? get_lane(context, o, stream) : 0;
    if (lane)
        join_host(o, get_clock(o, lane));
}

void sim_order_waited_all(sim_context *context)
{
    sim_order *o = get_order(context);
    uint32_t known[LANES];
    if (!o)
        return;
    get_clock_of_all(o, context, known);
    join_host(o, known);
}

void sim_order_waited_event(sim_context *context, const sim_event *event)
{
    sim_order *o = get_order(context);
    if (o && event->known)
        join_host(o, event->known);
}

void sim_order_record(sim_context *context, const CUstream *stream, sim_event *event)
{
    sim_order *o = get_order(context);
    const uint32_t lane = o && stream ? get_lane(context, o, *stream) : 0;
    if (!o || o->lost)
        return;
    if (!event->known)
        event->known = kiln__alloc(sim_memory(), sizeof o->done);
    kiln__free(sim_memory(), event->promised);
    event->promised = NULL;
    if (event->known && lane)
        memcpy(event->known, get_clock(o, lane), sizeof o->done);
    else if (event->known)
        get_clock_of_all(o, context, event->known);
}

/* The event gets the clock that the launch had when it began, or when it had triggered. An entry of a clock stands for
 * all works of a lane up to one work. For the lane of the launch itself, this is the last work in the set of the
 * launch, although the set may lack some earlier works. So the event may order too many works, and the checks miss some
 * races. */
void sim_order_triggered(sim_context *context, CUstream stream, sim_event *event, sim_trigger trigger)
{
    sim_order_record(context, &stream, event);
    sim_order *o = get_order(context);
    const uint32_t lane = o ? get_lane(context, o, stream) : 0;
    if (!lane || !event->known || !o->now_kernel)
        return;
    const bool late = trigger == SIM_TRIGGER_BLOCKS && check_dependence(context->check).waited_first;
    const uint64_t set = late ? o->now_waited : o->now_begun;
    const uint32_t before = o->done[lane] - 1, missing = set ? (uint32_t)__builtin_ctzll(set) : 64;
    if (trigger != SIM_TRIGGER_BEGUN && (event->promised = kiln__alloc(sim_memory(), sizeof o->done)))
        memcpy(event->promised, event->known, sizeof o->done);
    event->known[lane] = missing < before ? before - missing : 0;
}

void sim_order_stream_waits(sim_context *context, CUstream stream, const sim_event *event)
{
    sim_order *o = get_order(context);
    const uint32_t lane = o ? get_lane(context, o, stream) : 0;
    uint32_t known[LANES];
    if (!lane)
        return;
    if (!event || !event->known)
        get_clock_of_all(o, event ? event->object.context : NULL, known);
    join_lane(o, lane, event && event->known ? event->known : known);
    if (event && event->promised)
        join_clocks(o->promised[lane], event->promised);
}

void sim_order_devices_wait(sim_context *const *contexts, size_t count)
{
    sim_order *o = get_order(contexts[0]);
    uint32_t known[LANES] = {0}, more[LANES];
    for (size_t i = 0; o && i < count; i++) {
        get_clock_of_all(o, contexts[i], more);
        join_clocks(known, more);
    }
    for (uint32_t k = 1; o && k < o->lanes; k++)
        for (size_t i = 0; i < count; i++)
            if (o->owner[k] == contexts[i])
                join_lane(o, k, known);
}

/* ---- work ---- */

/* Sets the checks of all contexts to the same time, which is 1 later than the latest time of any of them. If there is
 * an order and its time is above TIME_MOST, the time restarts at 1. After a restart, all earlier work counts as ordered
 * before all later work. */
static void keep_time(sim_order *o)
{
    uint32_t most = 0;
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any)) {
        const uint32_t now = any->check ? check_host_advance_time(any->check) : 0;
        most = now > most ? now : most;
    }
    const bool anew = o && most > TIME_MOST;
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->check && anew)
            check_forget_accesses(any->device, any->check);
        else if (any->check)
            check_raise_time(any->check, most + 1);
    if (!anew)
        return;
    o->work_count = o->range_count = 0; /* no guard is set at this point, so no guard is lost */
    o->first_range = 0;
    for (uint32_t k = 0; k <= LANES; k++)
        join_clocks(o->known[k], o->done);
    memset(o->begun, 0xff, sizeof o->begun);
    memset(o->waited, 0xff, sizeof o->waited);
}

void sim_order_time(void) { keep_time(NULL); }

/* Makes room in the list of works: the host counts as having waited for the older half of them. The checks miss races
 * with the works that are dropped. */
static void drop_old(sim_order *o)
{
    uint32_t known[LANES] = {0};
    for (size_t i = 0; i < (o->work_count + 1) / 2; i++)
        known[o->works[i].lane] = o->works[i].number;
    join_host(o, known);
}

/* Computes `now_begun` and `now_waited`, the sets of the running work. Only a dependent launch can begin before earlier
 * works of its lane have ended. */
static void start_sets(sim_order *o, uint32_t lane, const sim_op *op)
{
    o->now_kernel = op && op->what.type == CU_GRAPH_NODE_TYPE_KERNEL;
    const bool dependent = o->now_kernel && op->dependent;
    o->now_begun = dependent ? o->begun[lane] : UINT64_MAX;
    o->now_waited = dependent ? o->waited[lane] : UINT64_MAX;
    o->begun[lane] = o->waited[lane] = UINT64_MAX;
}

/* Computes the sets that the lane has for the work after a launch. The launch itself is not ordered before the start of
 * the next launch. If a launch never waits, it may end before its prerequisite launches end. */
static void finish_launch(sim_order *o, uint32_t lane, vm_dependence did)
{
    o->begun[lane] = (did.waited_first ? o->now_waited : o->now_begun) << 1;
    o->waited[lane] = (did.waited ? o->now_waited : o->now_begun) << 1 | 1;
}

/* Returns true if the set contains the work with this number of its lane. `next` is the number of the work to which the
 * set belongs. */
static bool is_in_set(uint64_t set, uint32_t next, uint32_t number)
{
    return next - number > 64 || set >> (next - number - 1) & 1;
}

/* Returns true if an earlier work is not ordered before the next work of the lane. Then sets *why to the reason. */
static bool is_apart(const sim_order *o, uint32_t lane, const work *earlier, vm_apart *why)
{
    *why = VM_APART_STREAM;
    if (earlier->lane != lane) {
        if (o->now_kernel && earlier->number <= o->promised[lane][earlier->lane])
            *why = VM_APART_UNTIL_WAIT;
        return earlier->number > o->known[lane][earlier->lane];
    }
    const uint32_t next = o->done[lane] + 1;
    *why = is_in_set(o->now_waited, next, earlier->number) ? VM_APART_UNTIL_WAIT : VM_APART_BEYOND_WAIT;
    return !is_in_set(o->now_begun, next, earlier->number);
}

/* Tells the checks which works are concurrent with the next launches. All contexts get these spans, because the nodes
 * of a graph may run in several contexts. */
static void tell_spans(const sim_order *o)
{
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->check)
            check_concurrent(any->check, o->spans, o->span_count);
}

/* Begins the next work of the lane. Tells the checks which earlier works are not ordered before it. `op` is the
 * operation, or NULL for work that is not a single operation. Does nothing if `lane` is 0. */
static void begin_work(sim_context *context, sim_order *o, uint32_t lane, const sim_op *op)
{
    if (!lane)
        return;
    if (o->work_count == WORKS_MOST || o->range_count >= RANGES_MOST)
        drop_old(o);
    o->first_range = o->range_count;
    uint32_t *known = get_clock(o, lane);
    start_sets(o, lane, op);
    o->span_count = 0;
    for (size_t i = 0; i < o->work_count; i++) {
        vm_apart why;
        if (!is_apart(o, lane, &o->works[i], &why))
            continue;
        if (!kiln__grow(sim_memory(), &o->spans, &o->span_room, o->span_count + 1, sizeof *o->spans))
            break;
        o->spans[o->span_count++] = (vm_prior){.span = o->works[i].span, .why = why};
    }
    o->whole_spans = o->span_count;
    tell_spans(o);
    if (!kiln__grow(sim_memory(), &o->works, &o->work_room, o->work_count + 1, sizeof *o->works))
        return;
    known[lane] = ++o->done[lane];
    o->works[o->work_count++] = (work){.lane = lane,
                                       .number = known[lane],
                                       .span = {.after = check_host_advance_time(context->check), .until = UINT32_MAX},
                                       .context = context};
}

/* Returns the order for a new work. First removes all guards, because the driver runs the work on the host, and the
 * work may use guarded memory. */
static sim_order *prepare_order(sim_context *context)
{
    sim_order *o = get_order(context);
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->order) { /* the work may use the guarded memory of all contexts */
            remove_all_guards(any->order);
            break; /* all contexts share one order */
        }
    if (context->check)
        keep_time(o);
    return o;
}

void sim_order_begin(sim_context *context, CUstream stream, const sim_op *op)
{
    sim_order *o = prepare_order(context);
    begin_work(context, o, o ? get_lane(context, o, stream) : 0, op);
}

void sim_order_part(sim_context *context, const vm_prior *priors, size_t count)
{
    sim_order *o = get_order(context);
    if (!o || !get_running(o) ||
        !kiln__grow(sim_memory(), &o->spans, &o->span_room, o->whole_spans + count, sizeof *o->spans))
        return;
    o->span_count = o->whole_spans + count;
    if (count > 0)
        memcpy(o->spans + o->whole_spans, priors, count * sizeof *priors);
    tell_spans(o);
}

/* Returns true if two ranges overlap and at least one of them is written. */
static bool conflicts(const range *a, const range *b)
{
    return a->context == b->context && a->address < b->address + b->bytes && b->address < a->address + a->bytes &&
           (a->write || b->write);
}

/* Returns true if the range belongs to a work that is concurrent with the work `now`, which runs now. */
static bool is_concurrent(const sim_order *o, const work *now, const range *r)
{
    return (r->lane != now->lane || r->number != now->number) && r->number > o->known[now->lane][r->lane];
}

/* Adds a range to the work that runs now. Reports races of this range with concurrent kernels, which the checks find in
 * shadow memory. Also reports races with the ranges of concurrent copies and fills. */
void sim_order_touch(sim_context *context, const char *what, uint64_t address, uint64_t bytes, bool write)
{
    sim_order *o = get_order(context);
    work *now = o ? get_running(o) : NULL;
    if (!now || bytes == 0)
        return;
    sim_context *home = sim_home(context, address);
    /* The context of the memory joins the order. So the order forgets the range when this context ends. */
    if (!get_order(home))
        return;
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
        check_host_race(home->device, what, address, bytes, write, o->spans[i].span);
    for (size_t i = 0; i < o->first_range; i++)
        if (!o->ranges[i].managed && conflicts(&o->ranges[i], &made) && is_concurrent(o, now, &o->ranges[i]))
            check_copies_race(home->device, what, o->ranges[i].what,
                              address > o->ranges[i].address ? address : o->ranges[i].address);
    if (kiln__grow(sim_memory(), &o->ranges, &o->range_room, o->range_count + 1, sizeof *o->ranges))
        o->ranges[o->range_count++] = made;
}

/* Adds ranges for the managed memory that the kernels of the work have used. Returns false if memory runs out. */
static bool add_used(sim_context *context, sim_order *o, const work *now, uint64_t address, uint64_t bytes)
{
    vm_used used = {.address = address};
    for (uint64_t from = address; from < address + bytes; from = used.address + used.bytes) {
        if (!check_used(context->device, from, now->span, &used))
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

/* Guards the managed memory and the managed variables that the kernels of the work have used. If a kernel may have
 * written a flag to memory that the host shares, the function guards nothing. If the host reads that flag, the later
 * accesses of the host are ordered after the kernel, but this file cannot know this. */
static void guard_managed(sim_context *context, sim_order *o, const work *now)
{
    vm_info v;
    if (!context->check_shown || !check_has_launched(context->check, now->span))
        return;
    for (sim_object *object = context->objects; object; object = object->next)
        if (object->kind == SIM_HOST &&
            check_flagged(context->device, (uintptr_t)((sim_host *)object)->pointer, now->span))
            return;
    for (uint64_t from = 0; vm_managed_variable(context->device, from, &v); from = v.base + 1)
        if (check_flagged(context->device, v.base, now->span))
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

/* Copies the names of launches to the checks of all contexts. The findings of a context may name launches of other
 * contexts. */
static void share_launches(vm_period span)
{
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        for (sim_context *other = sim_context_after(NULL); other && any->check; other = sim_context_after(other))
            if (other != any && other->check)
                check_copy_launches(other->check, any->check, span);
}

/* Ends the work that runs now. Closes its span, compares the memory that its kernels have touched with earlier
 * concurrent copies, and adds managed memory that must be guarded. */
void sim_order_end(sim_context *context)
{
    if (context->order && context->order->lost)
        clear_spans(context->order);
    sim_order *o = get_order(context);
    work *now = o ? get_running(o) : NULL;
    if (!now)
        return;
    keep_time(NULL);
    now->span.until = check_host_advance_time(context->check);
    const vm_dependence did = check_dependence(context->check);
    if (o->now_kernel)
        finish_launch(o, now->lane, did);
    /* later work of the lane is then also ordered after the launches that these events mark */
    if (o->now_kernel && did.waited)
        join_clocks(o->known[now->lane], o->promised[now->lane]);
    memset(o->promised[now->lane], 0, sizeof o->promised[now->lane]);
    share_launches(now->span);
    /* compares the work with the memory that earlier copies have touched */
    for (size_t i = 0; i < o->range_count; i++) {
        const range *r = &o->ranges[i];
        if (!r->managed && is_concurrent(o, now, r))
            check_host_race(r->context->device, r->what, r->address, r->bytes, r->write, now->span);
    }
    clear_spans(o);
    guard_managed(context, o, now);
}

/* Calls a host function from the work that runs now. While the host function runs, other threads may begin and end
 * works. So the work that runs now ends before the call. The rest of its operation counts as a new work of the same
 * lane. The host function is ordered after all works that came before it. Returns false if the function has destroyed
 * the context. */
bool sim_order_call_out(sim_context *context, void (*function)(void *), void *user)
{
    sim_order *o = get_order(context);
    const work *now = o ? get_running(o) : NULL;
    const uint32_t lane = now ? now->lane : 0;
    if (lane) {
        sim_order_end(context);
        join_host(o, get_clock(o, lane));
    }
    if (!sim_call_out(context, function, user))
        return false;
    o = lane ? prepare_order(context) : NULL;
    if (o && lane < o->lanes && o->owner[lane] == context)
        begin_work(context, o, lane, NULL);
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
