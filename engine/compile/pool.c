/* pool.c - the worker pool: a queue of compiles and the threads that perform them. Each thread owns one slot, and each
 * slot owns one worker process. So compiles continue while the host does something else.
 *
 * States of a job, which the lock guards:
 * - QUEUED: the job is in `waiting` or `held`. A slot takes the oldest job of `waiting` -> RUNNING.
 *   kiln__compile_cancel() frees the job.
 * - RUNNING: a slot waits for its worker. An answer -> DONE. If the worker's machine is gone -> QUEUED, at the front of
 *   its queue. kiln__compile_cancel() only marks it `abandoned`; the slot frees it after the answer.
 * - FOLLOWING: an equal request is QUEUED or RUNNING (its leader). The leader's answer -> DONE. If a queued leader is
 *   cancelled, the first follower becomes QUEUED in its place.
 * - DONE: kiln__compile_take() takes the outcome and frees the job.
 *
 * A group is a job that the pool makes from several QUEUED jobs, because NVRTC can compile them as one program
 * (group.c). These jobs become followers of the group. The group is RUNNING until the pool frees it. If the group
 * fails, its followers become QUEUED again, and the pool compiles each of them alone, so that every job gets the error
 * of its own kernels.
 *
 * States of a slot's thread, in serve_jobs():
 * - idle: waits until there is a job and no other slot retries alone (`lone`).
 * - compiling: without the lock, in compile_there() or compile_here().
 * - retrying: the worker died. retry_alone() waits until nothing else compiles, then compiles once more with a new
 *   worker.
 * - ending: the pool closes, or the worker's machine is gone.
 *
 * Condition variables:
 * - work: a job waits, or `lone` ended.
 * - done: a job is DONE.
 * - quiet: a compile ended.
 *
 * One mutex guards all fields except `closing` and `warned`. kiln__compiler_close() joins all threads. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "pool.h"

enum { QUEUED, RUNNING, FOLLOWING, DONE };

enum { GROUP_MOST = 8 }; /* the code of each job contains the kernels of its whole group, so a group must be small */

/* One request. The job belongs to the pool until kiln__compile_take() or kiln__compile_cancel(). */
struct kiln__compile_job {
    kiln__compiler *compiler;
    kiln__compile_job *next;
    int state;
    bool abandoned; /* the caller cancelled the job while it ran */
    /* Jobs with equal requests: followers get copies of their leader's outcome. */
    kiln__compile_job *leader, *followers; /* the followers are a list, linked by `next` */
    kiln__text message;                    /* the encoded request of the job */
    size_t names;                          /* position of the names in the message */
    /* the request may be compiled in a group, and no group with this request has failed */
    bool together;
    bool member;  /* the job is a member of a group and follows the group */
    size_t group; /* number of members of the group, or 0 if this job is not a group */
    bool prelude; /* the request has a prelude */
    bool again;   /* `again` of the request */
    /* number of the hold during which the job was requested, or 0 if there was no hold */
    size_t hold;
    kiln__outcome outcome;
};

typedef struct queue { /* a singly linked list of jobs, first in first out */
    kiln__compile_job *first, *last;
    size_t count;
} queue;

typedef struct slot { /* a thread and its worker; the slots of other machines come after the slots of this machine */
    kiln__compiler *compiler;
    kiln__compile_job *running;
    pthread_t thread;
    kiln__worker worker;
} slot;

/* The pool. It starts a slot when jobs need it, up to slot_room slots. */
struct kiln__compiler {
    const kiln_allocator *mem;
    kiln__log log;
    kiln__nvrtc *nvrtc;
    char *worker, *library; /* `worker` is NULL if compiles run in this process */
    /* other machines; their slots follow the slots of this machine, in the same order */
    const kiln__compile_place *places;
    size_t place_count, own; /* `own` is the number of slots of this machine */
    double timeout;
    uint64_t share;              /* bytes of address space for one worker */
    int wake;                    /* an eventfd, readable when the pool closes */
    int ended;                   /* an eventfd that is readable if a job has ended since the last read */
    atomic_bool closing, warned; /* `warned` means that the message "not confined" was logged */

    pthread_mutex_t lock;
    pthread_cond_t work, done, quiet;
    queue waiting, held; /* `held` is the queue of the jobs that wait until the last hold is released */
    size_t holds;
    size_t last_hold; /* number of the newest hold; the first is 1 */
    size_t idle;
    size_t running; /* number of running compiles */
    kiln__pch *pch; /* state of the precompiled headers, or NULL if the pool has none */
    /* largest number of jobs of a group: grows by one after each good group up to GROUP_MOST, halves after a failed
     * group */
    size_t group_most;
    /* longest time of a compile whose job allows groups and was compiled alone, in nanoseconds */
    uint64_t longest_together;
    bool lone; /* a slot retries a job alone, or waits until it can; no other compile starts */
    slot *slots;
    size_t slot_count, slot_room;
};

static void free_job(kiln__compile_job *job)
{
    kiln__text_free(&job->message);
    kiln__unit_free(&job->outcome.unit);
    kiln_error_free(job->outcome.error);
    kiln__free(job->compiler->mem, job);
}

/* ---- queues. The caller of these functions holds the lock ---- */

static void push_job(queue *into, kiln__compile_job *job)
{
    if (into->last)
        into->last->next = job;
    else
        into->first = job;
    into->last = job;
    into->count++;
}

static void push_front(queue *into, kiln__compile_job *job)
{
    job->next = into->first;
    into->first = job;
    into->last = into->last ? into->last : job;
    into->count++;
}

static kiln__compile_job *take_first(queue *from)
{
    kiln__compile_job *job = from->first;
    from->first = job->next;
    if (!from->first)
        from->last = NULL;
    from->count--;
    job->next = NULL;
    return job;
}

/* Removes a job from a queue. Returns false if the job is not in this queue. */
static bool remove_job(queue *from, const kiln__compile_job *job)
{
    kiln__compile_job **link = &from->first, *before = NULL;
    while (*link && *link != job) {
        before = *link;
        link = &before->next;
    }
    if (!*link)
        return false;
    *link = job->next;
    if (from->last == job)
        from->last = before;
    from->count--;
    return true;
}

/* Returns the first job of a list whose request is `message`, or NULL. */
static kiln__compile_job *find_same(kiln__compile_job *job, const kiln__text *message)
{
    while (job &&
           (job->message.length != message->length || memcmp(job->message.data, message->data, message->length) != 0))
        job = job->next;
    return job;
}

/* Turns the first follower of a job into a queued job, which takes over the other followers. */
static void promote_follower(kiln__compile_job *old, queue *into)
{
    kiln__compile_job *job = old->followers;
    old->followers = NULL;
    job->followers = job->next;
    job->next = job->leader = NULL;
    job->state = QUEUED;
    for (kiln__compile_job *at = job->followers; at; at = at->next)
        at->leader = job;
    push_job(into, job);
}

static void remove_follower(kiln__compile_job *job)
{
    kiln__compile_job **link = &job->leader->followers;
    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
}

/* Turns a job and its own followers into followers of `leader`. */
static void add_follower(kiln__compile_job *leader, kiln__compile_job *job)
{
    kiln__compile_job *own = job->followers, *next;
    job->followers = NULL;
    job->state = FOLLOWING;
    job->leader = leader;
    job->next = leader->followers;
    leader->followers = job;
    for (; own; own = next) { /* a follower has no followers, so the recursion is one level deep */
        next = own->next;
        add_follower(leader, own);
    }
}

/* Appends all jobs of one queue to another. */
static void move_jobs(queue *from, queue *into)
{
    while (from->first)
        push_job(into, take_first(from));
}

/* Makes an eventfd readable. A failed write does not matter, because the counter of the eventfd is then full, and the
 * eventfd is readable. */
static void signal_event(int fd)
{
    uint64_t one = 1;
    if (write(fd, &one, sizeof one) != sizeof one)
        return;
}

/* ---- a slot's thread ---- */

/* Compiles in this process, on the slot's thread. The function decodes the request from the job's message. */
static void compile_here(kiln__compiler *compiler, const kiln__text *message, kiln__outcome *outcome)
{
    kiln__arena arena = {.mem = compiler->mem};
    kiln__compile_request request;
    const size_t skip = sizeof(kiln__message_header);
    if (kiln__message_read_request(message->data + skip, message->length - skip, &arena, &request)) {
        outcome->status = kiln__nesting_check(compiler->mem, &request, &outcome->error);
        if (outcome->status == KILN_OK)
            outcome->status = kiln__compile_here(compiler->mem, compiler->nvrtc, &request, &compiler->closing,
                                                 compiler->timeout, &outcome->unit, &outcome->ns, &outcome->error);
    } else
        outcome->status = arena.failed ? kiln__fail_memory(&outcome->error)
                                       : kiln__fail(compiler->mem, &outcome->error, KILN_ERROR_INTERNAL,
                                                    "a compile request cannot be read back");
    kiln__arena_free(&arena);
}

/* Starts a separate worker that makes a file of precompiled headers. This worker can read only CUDA's headers and write
 * only to the folder of these files. Returns false if the worker made no usable file. */
static bool make_headers(slot *self, const kiln__compile_request *request, const kiln__pch_use *use)
{
    kiln__compiler *compiler = self->compiler;
    kiln__compile_request headers = *request;
    kiln__text message = {.mem = compiler->mem};
    kiln__outcome outcome = {0};
    kiln__worker maker = self->worker;
    maker.child = (kiln__child){.socket = -1, .pidfd = -1, .wake = compiler->wake};
    maker.pch = kiln__pch_folder(compiler->pch);
    maker.pch_makes = true;
    char *source = kiln__alloc(compiler->mem, request->prelude + 1), digest[33] = "";
    if (source) {
        memcpy(source, request->source, request->prelude);
        source[request->prelude] = '\0';
        headers.source = source;
        headers.include_count = headers.name_count = 0;
        kiln__message_request(&message, &headers);
        if (!message.failed)
            kiln__worker_compile(&maker, &message, use->path, false, &outcome);
    }
    kiln__worker_end(&maker);
    /* If a header changed during the compile, nobody knows which version the file contains. */
    bool good = outcome.pch &&
                kiln__nvrtc_headers(compiler->nvrtc, request->header_names, request->header_name_count, true, digest,
                                    NULL) == KILN_OK &&
                strcmp(digest, request->headers) == 0;
    if (!good)
        kiln__logf(&compiler->log, KILN_LOG_INFO, "no precompiled headers: %s",
                   outcome.error ? kiln_error_message(outcome.error) : "NVRTC made none");
    kiln__unit_free(&outcome.unit);
    kiln_error_free(outcome.error);
    kiln__text_free(&message);
    kiln__free(compiler->mem, source);
    return good;
}

/* Compiles a job in the slot's worker, with precompiled headers if there are any for its prelude. The caller does not
 * hold the lock. */
static void compile_there(slot *self, kiln__compile_job *job)
{
    kiln__compiler *compiler = self->compiler;
    kiln__arena arena = {.mem = compiler->mem};
    kiln__compile_request request;
    kiln__pch_use use = {0};
    const size_t skip = sizeof(kiln__message_header);
    /* another machine does not share this machine's folder of precompiled headers */
    bool read = compiler->pch && job->prelude && !self->worker.child.place &&
                kiln__message_read_request(job->message.data + skip, job->message.length - skip, &arena, &request);
    if (read) {
        pthread_mutex_lock(&compiler->lock);
        request.again = job->again; /* the worker does not need `again`, so the message does not contain it */
        kiln__pch_plan(compiler->pch, compiler->nvrtc, &request, &use);
        pthread_mutex_unlock(&compiler->lock);
    }
    if (use.make) {
        bool good = make_headers(self, &request, &use);
        pthread_mutex_lock(&compiler->lock);
        kiln__pch_made(compiler->pch, &use, good);
        pthread_mutex_unlock(&compiler->lock);
    }
    if (use.set)
        self->worker.pch = kiln__pch_folder(compiler->pch);
    kiln__worker_compile(&self->worker, &job->message, use.set ? use.path : NULL, false, &job->outcome);
    if (use.set) {
        pthread_mutex_lock(&compiler->lock);
        kiln__pch_used(compiler->pch, &use, job->outcome.pch || (job->outcome.status != KILN_OK && !job->outcome.died),
                       job->outcome.died);
        pthread_mutex_unlock(&compiler->lock);
    }
    kiln__arena_free(&arena);
}

/* Compiles a job a second time after its worker died, while nothing else compiles. The system may have killed the
 * worker for lack of memory, and another compile may have used that memory. The caller holds the lock. The function
 * releases the lock while it compiles. */
static void retry_alone(slot *self, kiln__compile_job *job)
{
    kiln__compiler *compiler = self->compiler;
    compiler->running--;
    pthread_cond_broadcast(&compiler->quiet);
    while (compiler->lone && !atomic_load(&compiler->closing))
        pthread_cond_wait(&compiler->quiet, &compiler->lock);
    bool mine = !compiler->lone;
    compiler->lone = true;
    while (compiler->running > 0 && !atomic_load(&compiler->closing))
        pthread_cond_wait(&compiler->quiet, &compiler->lock);
    compiler->running++;
    if (mine && (!job->abandoned || job->followers) && !atomic_load(&compiler->closing)) {
        pthread_mutex_unlock(&compiler->lock);
        kiln__logf(&compiler->log, KILN_LOG_WARNING, "%s; retrying it once, while nothing else compiles",
                   kiln_error_message(job->outcome.error));
        kiln_error_free(job->outcome.error);
        job->outcome = (kiln__outcome){0};
        kiln__worker_compile(&self->worker, &job->message, NULL, true, &job->outcome);
        pthread_mutex_lock(&compiler->lock);
    }
    compiler->lone = compiler->lone && !mine;
    pthread_cond_broadcast(&compiler->quiet);
    pthread_cond_broadcast(&compiler->work);
}

/* Returns the queue for a job that goes back into a queue. A job that was requested during the hold must not wait for
 * the release, because its caller may release the hold only after the job is done. The same is true for the leader of
 * such a job. The caller holds the lock. */
static queue *queue_for(kiln__compiler *compiler, const kiln__compile_job *job)
{
    if (!compiler->holds || job->hold == compiler->last_hold)
        return &compiler->waiting;
    for (const kiln__compile_job *at = job->followers; at; at = at->next)
        if (at->hold == compiler->last_hold)
            return &compiler->waiting;
    return &compiler->held;
}

/* Puts a job back to the front of its queue, because the machine of its worker is gone. The job did not cause the loss,
 * so another slot takes the job next. The caller holds the lock. */
static void requeue_job(slot *self, kiln__compile_job *job)
{
    kiln__compiler *compiler = self->compiler;
    self->running = NULL;
    compiler->running--;
    pthread_cond_broadcast(&compiler->quiet);
    kiln__unit_free(&job->outcome.unit);
    kiln_error_free(job->outcome.error);
    job->outcome = (kiln__outcome){0};
    queue *into = queue_for(compiler, job);
    if (job->abandoned && job->followers)
        promote_follower(job, into);
    if (job->abandoned) {
        free_job(job);
    } else {
        job->state = QUEUED;
        push_front(into, job);
    }
    pthread_cond_broadcast(&compiler->work);
}

/* Puts the jobs of one queue in front of the jobs of another queue. */
static void move_to_front(queue *from, queue *into)
{
    move_jobs(into, from);
    *into = *from;
    *from = (queue){0};
}

/* Puts the followers of a group back to the front of their queues, in the order of their requests, and frees the group.
 * The pool compiles each of these jobs alone next. After the loss of a machine (`gone`), which the group did not cause,
 * the pool may group them again. The caller holds the lock. */
static void split_group(slot *self, kiln__compile_job *group, bool gone)
{
    kiln__compiler *compiler = self->compiler;
    queue waiting = {0}, held = {0};
    for (kiln__compile_job *at = group->followers, *next; at; at = next) { /* the newest first */
        next = at->next;
        at->leader = NULL;
        at->member = false;
        at->together = gone;
        kiln__compile_job *same = find_same(waiting.first, &at->message);
        if (!same)
            same = find_same(held.first, &at->message);
        if (same) {
            add_follower(same, at);
        } else {
            at->state = QUEUED;
            push_front(queue_for(compiler, at) == &compiler->waiting ? &waiting : &held, at);
        }
    }
    group->followers = NULL;
    move_to_front(&waiting, &compiler->waiting);
    move_to_front(&held, &compiler->held);
    if (!gone && compiler->group_most > 1)
        compiler->group_most /= 2;
    if (self->running) {
        self->running = NULL;
        compiler->running--;
        pthread_cond_broadcast(&compiler->quiet);
    }
    free_job(group);
    pthread_cond_broadcast(&compiler->work);
}

/* Returns the largest number of jobs that the next group may have. Each slot should get an equal part of the queue. The
 * compile of a group should need at most half of the time limit, even if compiling the jobs together saves nothing. */
static size_t count_for_group(const kiln__compiler *compiler)
{
    size_t most = (compiler->waiting.count + compiler->slot_room - 1) / compiler->slot_room;
    if (most > compiler->group_most)
        most = compiler->group_most;
    const double longest = (double)compiler->longest_together * 1e-9, limit = compiler->timeout / 2;
    return limit > 0 && longest > 0 && (double)most * longest > limit ? (size_t)(limit / longest) : most;
}

/* Makes an empty group for jobs that can be compiled together with `first`. The group's own outcome has no taker.
 * Returns NULL if memory runs out. */
static kiln__compile_job *make_group(kiln__compiler *compiler, const kiln__compile_job *first)
{
    kiln__compile_job *group = kiln__calloc(compiler->mem, 1, sizeof *group);
    if (!group)
        return NULL;
    group->compiler = compiler;
    group->message.mem = compiler->mem;
    group->names = first->names;
    group->prelude = first->prelude;
    group->again = group->abandoned = true;
    return group;
}

static void add_member(kiln__compile_job *group, kiln__compile_job *job)
{
    kiln__group_add(&group->message, &job->message, job->names);
    add_follower(group, job);
    job->member = true;
    group->group++;
}

/* Takes the oldest job of the queue. If other jobs can be compiled together with this job, the function takes them too,
 * and returns a group of all of them. The caller holds the lock, and the queue is not empty. */
static kiln__compile_job *take_next(slot *self)
{
    kiln__compiler *compiler = self->compiler;
    const size_t most = compiler->worker ? count_for_group(compiler) : 1;
    kiln__compile_job *first = take_first(&compiler->waiting), *group = NULL;
    if (most < 2 || !first->together)
        return first;
    for (kiln__compile_job *job = compiler->waiting.first, *next; job; job = next) {
        next = job->next;
        if (!job->together || !kiln__group_fits(&first->message, first->names, &job->message, job->names))
            continue;
        if (!group) {
            group = make_group(compiler, first);
            if (!group)
                return first;
            add_member(group, first);
        }
        remove_job(&compiler->waiting, job);
        add_member(group, job);
        if (group->group >= most)
            break;
    }
    if (!group)
        return first;
    if (!group->message.failed && group->message.length <= KILN__MESSAGE_MAX)
        return group;
    split_group(self, group, false); /* the members of the group become the first jobs of the queue again */
    return take_first(&compiler->waiting);
}

/* Adapts the largest size of groups to the result of a compile. */
static void note_compile(kiln__compiler *compiler, const kiln__compile_job *job)
{
    if (job->outcome.status != KILN_OK)
        return;
    if (job->group && compiler->group_most < GROUP_MOST)
        compiler->group_most++;
    if (!job->group && job->together && job->outcome.ns > compiler->longest_together)
        compiler->longest_together = job->outcome.ns;
}

/* Gives the followers of a job copies of its outcome. The time of a follower stays 0, so that the time of the compile
 * counts once. If the job is a group, each member gets its part of the result (kiln__group_part), and an equal part of
 * the time. The caller holds the lock. */
static void share_outcome(const kiln__compiler *compiler, kiln__compile_job *job)
{
    for (kiln__compile_job *at = job->followers, *next; at; at = next) {
        next = at->next;
        at->next = at->leader = NULL;
        at->outcome.status = job->outcome.status;
        if (at->member)
            at->outcome.ns = job->outcome.ns / job->group;
        if (job->outcome.status == KILN_OK && job->group)
            at->outcome.status = kiln__group_part(compiler->mem, &job->outcome.unit, &at->message, at->names,
                                                  &at->outcome.unit, &at->outcome.error);
        else if (job->outcome.status == KILN_OK)
            at->outcome.status = kiln__unit_make(compiler->mem, &job->outcome.unit, &at->outcome.unit,
                                                 &at->outcome.error);
        else if (job->outcome.error)
            kiln__fail(compiler->mem, &at->outcome.error, job->outcome.status, "%s",
                       kiln_error_message(job->outcome.error));
        if (kiln__error_is_passing(job->outcome.error))
            kiln__error_mark_passing(at->outcome.error);
        at->state = DONE;
    }
    job->followers = NULL;
}

/* Runs as the thread of a slot. The comment at the head of the file lists the states of the thread. */
static void *serve_jobs(void *user)
{
    slot *self = user;
    kiln__compiler *compiler = self->compiler;
    pthread_mutex_lock(&compiler->lock);
    for (;;) {
        while ((!compiler->waiting.first || compiler->lone) && !atomic_load(&compiler->closing)) {
            compiler->idle++;
            pthread_cond_wait(&compiler->work, &compiler->lock);
            compiler->idle--;
        }
        if (atomic_load(&compiler->closing))
            break;
        kiln__compile_job *job = take_next(self);
        job->state = RUNNING;
        self->running = job;
        compiler->running++;
        pthread_mutex_unlock(&compiler->lock);
        if (compiler->worker)
            compile_there(self, job);
        else
            compile_here(compiler, &job->message, &job->outcome);
        pthread_mutex_lock(&compiler->lock);
        note_compile(compiler, job);
        const bool gone = kiln__child_place_gone(&self->worker.child);
        if (job->group && job->outcome.status != KILN_OK) {
            split_group(self, job, gone);
            if (gone)
                break;
            continue;
        }
        if (job->outcome.died && (!job->abandoned || job->followers) && !gone)
            retry_alone(self, job);
        if (job->outcome.status != KILN_OK && kiln__child_place_gone(&self->worker.child)) {
            requeue_job(self, job);
            break;
        }
        self->running = NULL;
        job->state = DONE;
        share_outcome(compiler, job);
        compiler->running--;
        pthread_cond_broadcast(&compiler->quiet);
        if (job->abandoned)
            free_job(job);
        pthread_cond_broadcast(&compiler->done);
        signal_event(compiler->ended);
    }
    pthread_mutex_unlock(&compiler->lock);
    kiln__worker_end(&self->worker);
    return NULL;
}

/* Returns the machine on which the worker of a slot runs, or NULL for this machine. */
static const kiln__place *find_place(const kiln__compiler *compiler, size_t slot_index)
{
    size_t before = compiler->own;
    if (slot_index < before)
        return NULL;
    for (size_t i = 0; i < compiler->place_count; i++) {
        before += compiler->places[i].jobs;
        if (slot_index < before)
            return compiler->places[i].place;
    }
    return NULL;
}

/* Starts one more slot. The thread of the slot starts with all signals blocked, because it must not handle signals of
 * the host. The caller holds the lock. Returns 0 or an error number. */
static int add_slot(kiln__compiler *compiler)
{
    slot *self = &compiler->slots[compiler->slot_count];
    self->compiler = compiler;
    self->worker = (kiln__worker){
        .mem = compiler->mem,
        .log = compiler->log,
        .program = compiler->worker,
        .library = compiler->library,
        .include = kiln__nvrtc_include(compiler->nvrtc),
        .identity = kiln__nvrtc_identity(compiler->nvrtc),
        .timeout = compiler->timeout,
        .memory = compiler->share,
        .warned = &compiler->warned,
        .child = {
            .socket = -1, .pidfd = -1, .wake = compiler->wake, .place = find_place(compiler, compiler->slot_count)}};
    pthread_attr_t attributes;
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    /* If there are no workers, NVRTC runs in this thread and recurses deeply. A thread that waits for a worker needs
     * little stack. Unused pages of a stack take no memory. */
    pthread_attr_setstacksize(&attributes, compiler->worker ? (size_t)1 << 20 : (size_t)512 << 20);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&self->thread, &attributes, serve_jobs, self);
    if (failed && !compiler->worker) { /* the host may have limited its address space */
        pthread_attr_setstacksize(&attributes, (size_t)64 << 20);
        failed = pthread_create(&self->thread, &attributes, serve_jobs, self);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!failed)
        compiler->slot_count++;
    return failed;
}

/* ---- the compiler ---- */

static void free_compiler(kiln__compiler *compiler)
{
    if (compiler->wake >= 0)
        close(compiler->wake);
    if (compiler->ended >= 0)
        close(compiler->ended);
    kiln__free(compiler->mem, compiler->worker);
    kiln__free(compiler->mem, compiler->library);
    kiln__free(compiler->mem, compiler->slots);
    kiln__pch_close(compiler->mem, compiler->pch);
    kiln__free(compiler->mem, compiler);
}

static bool init_sync(kiln__compiler *compiler)
{
    pthread_condattr_t attributes;
    if (pthread_mutex_init(&compiler->lock, NULL) != 0)
        return false;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool good = pthread_cond_init(&compiler->work, NULL) == 0;
    if (good && pthread_cond_init(&compiler->quiet, NULL) != 0) {
        pthread_cond_destroy(&compiler->work);
        good = false;
    }
    if (good && pthread_cond_init(&compiler->done, &attributes) != 0) {
        pthread_cond_destroy(&compiler->work);
        pthread_cond_destroy(&compiler->quiet);
        good = false;
    }
    pthread_condattr_destroy(&attributes);
    if (!good)
        pthread_mutex_destroy(&compiler->lock);
    return good;
}

/* Gives each worker an equal share of memory. If NVRTC needs too much memory for a source, only this compile fails, and
 * the host continues. NVRTC needs a minimum of memory, so there are fewer workers if memory is short. */
static void divide_memory(kiln__compiler *compiler, uint64_t memory)
{
    static const uint64_t least = (uint64_t)1 << 30, most = (uint64_t)16 << 30;
    if (memory == 0)
        memory = kiln__host_memory_free() / 4 * 3;
    uint64_t wanted = compiler->slot_room, possible = memory / least;
    if (possible < 1)
        possible = 1;
    if (possible < wanted) {
        kiln__logf(&compiler->log, KILN_LOG_INFO, "little memory for compiles (%.1f GB): %llu workers instead of %llu",
                   (double)memory * 1e-9, (unsigned long long)possible, (unsigned long long)wanted);
        compiler->slot_room = (size_t)possible;
    }
    compiler->share = memory / compiler->slot_room;
    if (compiler->share < least)
        compiler->share = least;
    if (compiler->share > most)
        compiler->share = most;
}

/* Prepares a pool: chooses between worker processes and this process, divides the memory, and creates the eventfds. The
 * function starts no thread. */
kiln_status kiln__compiler_open(const kiln_allocator *mem, const kiln__compiler_options *options, kiln__nvrtc *nvrtc,
                                kiln__compiler **compiler, kiln_error **error)
{
    kiln__compiler *made = kiln__calloc(mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    made->mem = mem;
    made->nvrtc = nvrtc;
    made->timeout = options->timeout;
    made->group_most = GROUP_MOST;
    made->wake = made->ended = -1;
    if (options->log)
        made->log = *options->log;
    const char *worker = options->worker;
    if (worker && access(worker, X_OK) != 0) {
        kiln__logf(&made->log, KILN_LOG_WARNING,
                   "the compile worker %s cannot be used (%s): compiling in this process, one at a time", worker,
                   kiln__error_text(errno));
        worker = NULL;
    }
    const char *library = options->nvrtc ? options->nvrtc : kiln__nvrtc_path(nvrtc);
    made->worker = worker ? kiln__strdup(mem, worker) : NULL;
    made->library = kiln__strdup(mem, library);
    made->slot_room = !worker ? 1 : options->jobs ? options->jobs : kiln__cpu_count();
    if (made->slot_room > 1024)
        made->slot_room = 1024;
    if (worker)
        divide_memory(made, options->memory);
    made->own = made->slot_room;
    for (size_t i = 0; i < options->place_count && worker; i++)
        made->slot_room += options->places[i].jobs;
    made->places = worker ? options->places : NULL;
    made->place_count = worker ? options->place_count : 0;
    made->slots = kiln__calloc(mem, made->slot_room, sizeof *made->slots);
    bool opened = !worker || kiln__pch_open(mem, options->pch, &made->pch);
    if (!opened || !made->library || !made->slots || (worker && !made->worker)) {
        free_compiler(made);
        return kiln__fail_memory(error);
    }
    made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    made->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made->wake < 0 || made->ended < 0 || !init_sync(made)) {
        kiln_status status = kiln__fail(mem, error, KILN_ERROR_IO, "cannot create the compile queue: %s",
                                        kiln__error_text(errno));
        free_compiler(made);
        return status;
    }
    *compiler = made;
    return KILN_OK;
}

void kiln__compiler_close(kiln__compiler *compiler)
{
    if (!compiler)
        return;
    pthread_mutex_lock(&compiler->lock);
    atomic_store(&compiler->closing, true);
    pthread_cond_broadcast(&compiler->work);
    pthread_cond_broadcast(&compiler->quiet);
    pthread_mutex_unlock(&compiler->lock);
    signal_event(compiler->wake);
    for (size_t i = 0; i < compiler->slot_count; i++)
        pthread_join(compiler->slots[i].thread, NULL);
    pthread_cond_destroy(&compiler->work);
    pthread_cond_destroy(&compiler->done);
    pthread_cond_destroy(&compiler->quiet);
    pthread_mutex_destroy(&compiler->lock);
    free_compiler(compiler);
}

int kiln__compiler_ended(const kiln__compiler *compiler) { return compiler->ended; }

void kiln__compiler_hold(kiln__compiler *compiler)
{
    pthread_mutex_lock(&compiler->lock);
    compiler->holds++;
    compiler->last_hold++;
    move_jobs(&compiler->waiting, &compiler->held);
    pthread_mutex_unlock(&compiler->lock);
}

void kiln__compiler_release(kiln__compiler *compiler)
{
    pthread_mutex_lock(&compiler->lock);
    if (--compiler->holds == 0) {
        move_jobs(&compiler->waiting, &compiler->held); /* older jobs first */
        move_jobs(&compiler->held, &compiler->waiting);
    }
    pthread_cond_broadcast(&compiler->work);
    pthread_mutex_unlock(&compiler->lock);
}

bool kiln__compiler_is_quiet(kiln__compiler *compiler)
{
    pthread_mutex_lock(&compiler->lock);
    bool quiet = compiler->running == 0 && !compiler->lone;
    pthread_mutex_unlock(&compiler->lock);
    return quiet;
}

/* ---- jobs ---- */

/* Makes a job the follower of an equal job that is queued or running. Returns false if no job is equal. The caller
 * holds the lock. */
static bool follow_same(kiln__compiler *compiler, kiln__compile_job *job)
{
    /* the search leaves out `held`, because the new job may start during the hold, but held jobs may not */
    kiln__compile_job *same = find_same(compiler->waiting.first, &job->message);
    for (size_t i = 0; i < compiler->slot_count && !same; i++) {
        kiln__compile_job *running = compiler->slots[i].running;
        const bool in_group = running && running->group && find_same(running->followers, &job->message);
        same = in_group ? running : find_same(running, &job->message);
    }
    if (same)
        add_follower(same, job);
    return same != NULL;
}

/* Encodes the request. If an equal job exists, the new job joins it. Otherwise queues the job, and starts one more slot
 * if no slot is idle. */
kiln_status kiln__compile_start(kiln__compiler *compiler, const kiln__compile_request *request, kiln__compile_job **job,
                                kiln_error **error)
{
    kiln__compile_job *made = kiln__calloc(compiler->mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    made->compiler = compiler;
    made->message.mem = compiler->mem;
    made->prelude = request->prelude > 0;
    made->again = request->again;
    made->together = request->together;
    made->names = kiln__message_request(&made->message, request);
    if (made->message.failed || made->message.length > KILN__MESSAGE_MAX) {
        kiln_status status = made->message.failed
                                 ? kiln__fail_memory(error)
                                 : kiln__fail(compiler->mem, error, KILN_ERROR_REFUSED,
                                              "%s: the source and its headers are too large", request->name);
        free_job(made);
        return status;
    }
    pthread_mutex_lock(&compiler->lock);
    made->hold = compiler->holds ? compiler->last_hold : 0;
    if (follow_same(compiler, made)) {
        pthread_mutex_unlock(&compiler->lock);
        *job = made;
        return KILN_OK;
    }
    if (compiler->waiting.count + 1 > compiler->idle && compiler->slot_count < compiler->slot_room) {
        int failed = add_slot(compiler);
        if (failed && compiler->slot_count == 0) {
            pthread_mutex_unlock(&compiler->lock);
            free_job(made);
            return kiln__fail(compiler->mem, error, KILN_ERROR_IO, "cannot start a thread: %s",
                              kiln__error_text(failed));
        }
    }
    push_job(&compiler->waiting, made);
    pthread_cond_signal(&compiler->work);
    pthread_mutex_unlock(&compiler->lock);
    *job = made;
    return KILN_OK;
}

bool kiln__compile_begun(kiln__compile_job *job)
{
    kiln__compiler *compiler = job->compiler;
    pthread_mutex_lock(&compiler->lock);
    const bool begun = job->state != QUEUED && (job->state != FOLLOWING || job->leader->state != QUEUED);
    pthread_mutex_unlock(&compiler->lock);
    return begun;
}

bool kiln__compile_done(kiln__compile_job *job) { return kiln__compile_wait(job, 0); }

bool kiln__compile_wait(kiln__compile_job *job, double seconds)
{
    kiln__compiler *compiler = job->compiler;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (seconds > 1e8)
        seconds = -1;
    if (seconds > 0) {
        until.tv_sec += (time_t)seconds;
        until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
    }
    int result = 0;
    pthread_mutex_lock(&compiler->lock);
    while (job->state != DONE && result == 0 && seconds != 0)
        result = seconds < 0 ? pthread_cond_wait(&compiler->done, &compiler->lock)
                             : pthread_cond_timedwait(&compiler->done, &compiler->lock, &until);
    bool done = job->state == DONE;
    pthread_mutex_unlock(&compiler->lock);
    return done;
}

kiln_status kiln__compile_take(kiln__compile_job *job, kiln__unit *unit, uint64_t *ns, kiln_error **error)
{
    if (!kiln__compile_wait(job, -1))
        return kiln__fail(job->compiler->mem, error, KILN_ERROR_INTERNAL, "cannot wait for a compile job");
    kiln_status status = job->outcome.status;
    if (ns)
        *ns = job->outcome.ns;
    *unit = (kiln__unit){0};
    if (status == KILN_OK) {
        *unit = job->outcome.unit;
        job->outcome.unit = (kiln__unit){0};
    } else if (error && !*error) {
        *error = job->outcome.error;
        job->outcome.error = NULL;
    }
    free_job(job);
    return status;
}

void kiln__compile_cancel(kiln__compile_job *job)
{
    if (!job)
        return;
    kiln__compiler *compiler = job->compiler;
    pthread_mutex_lock(&compiler->lock);
    int state = job->state;
    if (state == RUNNING) {
        job->abandoned = true;
    } else if (state == FOLLOWING) {
        remove_follower(job);
    } else if (state == QUEUED) {
        bool waits = remove_job(&compiler->waiting, job);
        if (!waits)
            remove_job(&compiler->held, job);
        if (job->followers) {
            promote_follower(job, waits ? &compiler->waiting : &compiler->held);
            pthread_cond_signal(&compiler->work);
        }
    }
    pthread_mutex_unlock(&compiler->lock);
    if (state != RUNNING)
        free_job(job);
}
