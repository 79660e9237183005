/* parallel.c - runs a function on several threads at the same time. */
#include <pthread.h>
#include <stdatomic.h>

#include "data.h"

typedef struct crew {
    void (*work)(void *user, size_t index, size_t worker);
    void *user;
    size_t count;
    atomic_size_t next, workers;
} crew;

static void *run_worker(void *user)
{
    crew *all = user;
    size_t worker = atomic_fetch_add_explicit(&all->workers, 1, memory_order_relaxed);
    for (;;) {
        size_t index = atomic_fetch_add_explicit(&all->next, 1, memory_order_relaxed);
        if (index >= all->count)
            return NULL;
        all->work(all->user, index, worker);
    }
}

void kiln__parallel(size_t threads, size_t count, void (*work)(void *user, size_t index, size_t worker), void *user)
{
    enum { MOST = 256 };
    pthread_t ids[MOST];
    crew all = {.work = work, .user = user, .count = count};
    atomic_init(&all.next, 0);
    atomic_init(&all.workers, 0);
    size_t want = threads ? threads : kiln__cpu_count(), started = 0;
    if (want > count)
        want = count;
    /* Starts one thread less than wanted, because the calling thread works too. It is not an error if a thread cannot
     * be created. */
    while (started + 1 < want && started < MOST && kiln__thread_start(&ids[started], run_worker, &all) == 0)
        started++;
    run_worker(&all);
    for (size_t i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
}
