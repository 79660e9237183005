/* thread.c - starts threads with a stack of a fixed size. */
#include "base.h"

int kiln__thread_start(pthread_t *thread, void *(*run)(void *user), void *user)
{
    enum { STACK_BYTES = 8 << 20 };
    pthread_attr_t attributes;
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (!failed)
        failed = pthread_create(thread, &attributes, run, user);
    pthread_attr_destroy(&attributes);
    return failed;
}
