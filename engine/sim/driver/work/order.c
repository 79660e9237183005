/* order.c - the happens-before order of streams, which the checks need.
 *
 * The simulator completes work when the work is enqueued. So streams never run concurrently. With vector clocks, this
 * file computes which work could run concurrently on a GPU. A *lane* is the index of a stream in the vector clocks. A
 * piece of work (struct work) is a launch, a copy, a fill or another operation of a stream. The pieces of work of a
 * stream are numbered 1, 2, 3 and so on. `known[lane]` is the vector clock of the stream with this lane. For each other
 * stream it has a number. The pieces of work of the other stream up to this number happened before the next piece of
 * work of this stream. Two launches or copies race if they are unordered, access the same memory, and one of them
 * writes.
 *
 * All contexts of the process share one happens-before order, and their checks share one time. So streams of two
 * devices are compared in the same way as streams of one device. All threads of the host share one more vector clock.
 * When the host has waited for some work, all work that it enqueues later is ordered after this work. A flag that a
 * kernel writes to mapped memory does not pass through the driver. So this file does not know such flags. Nodes of one
 * graph count as ordered, except the nodes that sim_order_part() names.
 *
 * **Dependent launches.** A dependent launch may begin before earlier launches of its stream have ended. So each stream
 * also needs to know which of its own earlier pieces of work are ordered before its next one. Two bit sets of the
 * stream's last 64 pieces of work tell this. The set `begun` has the work that is ordered before the start of a
 * dependent launch. The set `waited` has the work that is ordered before the accesses after griddepcontrol.wait. In
 * both sets, bit i stands for the piece of work i + 1 places before the next one. All older work of the stream counts
 * as ordered. A piece of work that is not a dependent launch is ordered after all earlier work of its stream. The
 * function finish_launch() computes both sets for the launch after a launch. It needs the sets of the launch that has
 * run, and the way in which this launch waited (vm_dependence). A dependent launch begins when each block of the
 * previous launch has executed launch_dependents or has ended. If a block waited for earlier work before
 * launch_dependents, the dependent launch therefore begins after that work.
 *
 * A piece of work has two states. It runs from sim_order_begin() until sim_order_end(). While it runs, its `span.until`
 * is UINT32_MAX, and sim_order_touch() adds memory ranges to it. After the end, later pieces of work are compared with
 * it. Four functions remove it from the list `works`:
 *   forget_works  the host has waited for the piece of work, so all later work is ordered after it
 *   drop_old      the list `works` or the list `ranges` is full
 *   keep_time     the time restarts
 *   leave_order   the context of the piece of work ends */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cu_work.h"
#include "vm_checks.h"

enum { LANES = 256, WORKS_MOST = 4096, RANGES_MOST = 1 << 14 };
#define HOST LANES                 /* the index of the host's vector clock in `known` */
#define TIME_MOST (UINT32_MAX / 4) /* if the time of the checks exceeds this value, it restarts at 1 */

/* A piece of work of a stream: a launch, a copy, a fill or another operation that has begun. */
typedef struct work {
    uint32_t lane, number; /* number: the number of this piece of work in its stream, from 1 */
    vm_period span;
    const sim_context *context;
} work;
typedef struct range { /* memory that a copy or a fill accesses, or managed memory that kernels access */
    uint32_t lane, number;
    bool write, pinned; /* pinned: a guard protects the memory against accesses of the host */
    /* True for managed memory that kernels have accessed during `span`. False for memory that a copy or a fill
     * accesses. */
    bool managed;
    vm_period span;
    int guard;        /* the number of the page guard (pinned.c), or -1 if there is none */
    const char *what; /* name of the operation for findings, such as "the host's copy" */
    uint64_t address, bytes;
    sim_context *context; /* the context to which the memory belongs */
} range;

/* The happens-before order of all checked contexts. */
struct sim_order {
    unsigned users; /* number of contexts that use this struct */
    /* One more than the number of lanes in use. Streams get the lanes 1, 2, 3 and so on. When all lanes are in use,
     * take_lane() reuses vacant lanes. */
    uint32_t lanes;
    uint32_t done[LANES];             /* indexed by lane: number of pieces of work that have begun in the stream */
    uint32_t known[LANES + 1][LANES]; /* the vector clocks of the streams, and then the vector clock of the host */
    /* indexed by lane: the context of the stream, or NULL if this context has ended */
    const sim_context *owner[LANES];
    bool legacy[LANES]; /* indexed by lane: true if the stream is the legacy stream of its context */
    /* indexed by lane: true if the stream and the legacy stream wait for each other */
    bool blocking[LANES];
    bool vacant[LANES]; /* indexed by lane: true if the stream was destroyed */
    bool lost;          /* true if there are too many streams; then all work counts as ordered */
    work *works;
    range *ranges;
    vm_prior *spans;    /* the time spans of earlier work that is not ordered before the work that runs now */
    size_t whole_spans; /* number of elements of `spans` that do not come from sim_order_part() */
    size_t work_count, work_room, range_count, range_room, span_count, span_room;
    size_t first_range; /* index in `ranges` of the first memory range of the work that runs now */
    uint64_t begun[LANES],
        /* Indexed by lane: the two bit sets for the stream's next piece of work, if it is a dependent launch. */
        waited[LANES];
    uint64_t now_begun, now_waited; /* the two bit sets of the work that runs now */
    bool now_kernel;                /* true if the work that runs now is the launch of one kernel */
    /* Indexed by lane: the vector clock that the stream's next piece of work acquires by griddepcontrol.wait. This
     * clock comes from events that mark the trigger of a launch. */
    uint32_t promised[LANES][LANES];
};

/* ---- pinned memory ---- */

/* Removes the page guard of a memory range. If the host has accessed the guarded pages, reports a race. */
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
        r->pinned = false; /* a race on this memory range must be reported only once */
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

/* Sets a page guard on the whole pages of a memory range. A page at an end of the range may also contain other data of
 * the host. Such a page is not guarded. Returns the number of the page guard, or -1 if no page is guarded. */
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
            /* this memory range must get no new page guard, because other memory may get the same address */
            o->ranges[i].pinned = false;
        }
}

/* ---- the order ---- */

/* Tells the checks that no earlier work is concurrent with the next piece of work. */
static void clear_spans(sim_order *o)
{
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->check)
            check_concurrent(any->check, NULL, 0);
    o->span_count = o->whole_spans = 0;
}

/* Removes pieces of work and their memory ranges. If `context` is not NULL, removes all work of this context. Otherwise
 * removes all work for which the host has waited. */
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

/* Removes a context from the happens-before order. With the last context, frees the struct sim_order. */
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

/* Resets the lanes of the context's streams and the vector clocks of its events. They may come from an earlier check of
 * the same context. */
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

/* Returns the happens-before order, which the first checked context creates. Returns NULL if the context is not
 * checked, if there are too many streams, or if memory runs out. In the last two cases, all work counts as ordered. */
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

/* Joins the vector clock `from` into the vector clock `to` (pointwise maximum). */
static void join_clocks(uint32_t *to, const uint32_t *from)
{
    for (uint32_t k = 0; k < LANES; k++)
        to[k] = from[k] > to[k] ? from[k] : to[k];
}

/* Joins the vector clock `from` into the vector clock of a stream's next piece of work. `from` also has an entry for
 * this stream, because `from` may order earlier work of the stream before its next piece of work. The function adds the
 * work that this entry orders to the sets `begun` and `waited` of the stream. */
static void join_lane(sim_order *o, uint32_t lane, const uint32_t *from)
{
    join_clocks(o->known[lane], from);
    /* number of pieces of work of the stream that are later than the entry */
    const uint32_t newer = o->done[lane] - from[lane];
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

/* Returns a lane for a stream of the context. Returns 0 if all lanes are in use. All work then counts as ordered. */
static uint32_t take_lane(sim_context *context, sim_order *o, bool blocking, bool legacy)
{
    uint32_t lane = o->lanes;
    /* Reuses the lane of a destroyed stream. The work of the destroyed stream then counts as ordered before the work of
     * the new stream. */
    if (lane == LANES)
        for (lane = 1; lane < LANES; lane++)
            if (o->vacant[lane] && (!o->owner[lane] || (o->owner[lane] == context && o->blocking[lane] == blocking)))
                break;
    if (lane == LANES) {
        o->lost = true;
        remove_all_guards(o);
        /* A kernel that runs now may read the time spans on another thread. In this case sim_order_end() clears the
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

/* Returns the lane of a stream. A stream gets its lane with its first piece of work. */
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

/* Returns the vector clock of the stream's next piece of work. First joins the host's vector clock into it, and the
 * clocks of the streams that the implicit rules of the legacy stream order before it. The legacy stream waits for all
 * blocking streams of its context, and these streams wait for the legacy stream. */
static uint32_t *get_clock(sim_order *o, uint32_t lane)
{
    const sim_context *owner = o->owner[lane];
    join_lane(o, lane, o->known[HOST]);
    if (o->blocking[lane])
        /* if the context has no legacy stream, this is lane 0, whose vector clock is empty */
        join_lane(o, lane, o->known[get_legacy_lane(o, owner)]);
    for (uint32_t k = 1; k < o->lanes && o->legacy[lane]; k++)
        if (o->blocking[k] && o->owner[k] == owner)
            join_lane(o, lane, o->known[k]);
    return o->known[lane];
}

/* Sets `known` to the vector clock of all work that the context has enqueued until now. If `context` is NULL, sets
 * `known` to the vector clock of the work of all contexts. */
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

/* Joins the vector clock `known` into the host's vector clock. Work that another thread still runs does not count as
 * done. */
static void join_host(sim_order *o, const uint32_t *known)
{
    const work *now = get_running(o);
    uint32_t *host = o->known[HOST];
    join_clocks(host, known);
    if (now && host[now->lane] >= now->number)
        host[now->lane] = now->number - 1;
    forget_works(o, NULL); /* all later work is ordered after the work that this call removes */
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

/* The event gets the vector clock that the launch had when it began, or when it had triggered. An entry of a vector
 * clock orders all work of a stream up to one piece of work. In the entry of the launch's own stream, this piece is the
 * latest work in the bit set of the launch. The set may lack some earlier work, which the entry nevertheless orders. So
 * the event may order too much work, and the checks then miss races. */
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

/* Sets the checks of all contexts to the same time, which is 1 later than the latest time of any of them. If `o` is not
 * NULL and the time is above TIME_MOST, the time restarts at 1. After a restart, all earlier work counts as ordered
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

/* Makes room in the list `works`: the host counts as having waited for the older half of the list. The checks miss
 * races with this older half. */
static void drop_old(sim_order *o)
{
    uint32_t known[LANES] = {0};
    for (size_t i = 0; i < (o->work_count + 1) / 2; i++)
        known[o->works[i].lane] = o->works[i].number;
    join_host(o, known);
}

/* Computes `now_begun` and `now_waited`, the bit sets of the work that begins now. Only a dependent launch can begin
 * before earlier work of its stream has ended. */
static void start_sets(sim_order *o, uint32_t lane, const sim_op *op)
{
    o->now_kernel = op && op->what.type == CU_GRAPH_NODE_TYPE_KERNEL;
    const bool dependent = o->now_kernel && op->dependent;
    o->now_begun = dependent ? o->begun[lane] : UINT64_MAX;
    o->now_waited = dependent ? o->waited[lane] : UINT64_MAX;
    o->begun[lane] = o->waited[lane] = UINT64_MAX;
}

/* Computes the sets `begun` and `waited` of the stream after a launch has run. The launch itself is not ordered before
 * the start of the next dependent launch. If a launch never executes griddepcontrol.wait, it may end before the
 * launches before it end. */
static void finish_launch(sim_order *o, uint32_t lane, vm_dependence did)
{
    o->begun[lane] = (did.waited_first ? o->now_waited : o->now_begun) << 1;
    o->waited[lane] = (did.waited ? o->now_waited : o->now_begun) << 1 | 1;
}

/* Returns true if a bit set contains the stream's piece of work `number`. `next` is the number of the piece of work to
 * which the set belongs. */
static bool is_in_set(uint64_t set, uint32_t next, uint32_t number)
{
    return next - number > 64 || set >> (next - number - 1) & 1;
}

/* Returns true if an earlier piece of work is not ordered before the stream's next piece of work. Then sets *why to the
 * reason. */
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

/* Tells the checks the time spans of the earlier work that is concurrent with the next launches. The checks of all
 * contexts get these spans, because the nodes of a graph may run in several contexts. */
static void tell_spans(const sim_order *o)
{
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->check)
            check_concurrent(any->check, o->spans, o->span_count);
}

/* Begins the next piece of work of a stream, and tells the checks which earlier work is not ordered before it. `op` is
 * the operation, or NULL for work that is not a single operation. Does nothing if `lane` is 0. */
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

/* Returns the happens-before order for a new piece of work. First removes all page guards, because the driver runs the
 * work on the host, and the work may access guarded memory. */
static sim_order *prepare_order(sim_context *context)
{
    sim_order *o = get_order(context);
    for (sim_context *any = sim_context_after(NULL); any; any = sim_context_after(any))
        if (any->order) { /* the new work may access guarded memory of any context */
            remove_all_guards(any->order);
            break; /* all contexts share one happens-before order */
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

/* Returns true if two memory ranges overlap and at least one of them is written. */
static bool conflicts(const range *a, const range *b)
{
    return a->context == b->context && a->address < b->address + b->bytes && b->address < a->address + a->bytes &&
           (a->write || b->write);
}

/* Returns true if the memory range belongs to other work that is concurrent with `now`, the work that runs now. */
static bool is_concurrent(const sim_order *o, const work *now, const range *r)
{
    return (r->lane != now->lane || r->number != now->number) && r->number > o->known[now->lane][r->lane];
}

/* Adds a memory range to the work that runs now. Reports races of this access with concurrent kernels, which the checks
 * find in shadow memory. Also reports races with the memory ranges of concurrent copies and fills. */
void sim_order_touch(sim_context *context, const char *what, uint64_t address, uint64_t bytes, bool write)
{
    sim_order *o = get_order(context);
    work *now = o ? get_running(o) : NULL;
    if (!now || bytes == 0)
        return;
    sim_context *home = sim_home(context, address);
    /* The context of the memory joins the happens-before order. So leave_order() removes the memory range when this
     * context ends. */
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

/* Adds memory ranges for the managed memory that the kernels of this piece of work have accessed. Returns false if
 * memory runs out. */
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

/* Adds memory ranges, which sim_order_guard() later guards, for the managed memory and managed variables that the
 * kernels of this piece of work have accessed. If a kernel may have written a flag to memory that it shares with the
 * host, the function adds no range. The host may read that flag, and its later accesses are then ordered after the
 * kernel. This file cannot observe such a read. */
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

/* Ends the work that runs now: sets the end of its time span. Compares the memory that its kernels have accessed with
 * earlier concurrent copies and fills. Adds the managed memory that must be guarded. */
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
    /* Later work of the stream is then also ordered after the launches whose triggers the events of `promised` mark. */
    if (o->now_kernel && did.waited)
        join_clocks(o->known[now->lane], o->promised[now->lane]);
    memset(o->promised[now->lane], 0, sizeof o->promised[now->lane]);
    share_launches(now->span);
    /* compares the work with the memory that earlier copies and fills have accessed */
    for (size_t i = 0; i < o->range_count; i++) {
        const range *r = &o->ranges[i];
        if (!r->managed && is_concurrent(o, now, r))
            check_host_race(r->context->device, r->what, r->address, r->bytes, r->write, now->span);
    }
    clear_spans(o);
    guard_managed(context, o, now);
}

/* Calls a host function from the work that runs now. While the host function runs, other threads may begin and end
 * work. So the work that runs now ends before the call. The rest of its operation counts as a new piece of work of the
 * same stream. The host function is ordered after all earlier work of the stream. Returns false if the function has
 * destroyed the context. */
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
