/* Tests that threads of the library have stacks of the library's own size. */
#include <pthread.h>

#include "check.h"

enum { DEEP = 1 << 20 };

static void *use_stack(void *user)
{
    volatile char deep[DEEP];
    for (size_t k = 0; k < sizeof deep; k += 1024)
        deep[k] = 1;
    *(int *)user = deep[0] + deep[DEEP - 1024];
    return NULL;
}

/* Sets the limit that `ulimit -s 64` sets. If a thread asks for no size of its stack, the C library uses this limit. */
static void stacks_are_large(void)
{
    pthread_attr_t before, small;
    pthread_t thread;
    int used = 0;
    CU_ASSERT_EQUAL_FATAL(pthread_getattr_default_np(&before), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_attr_init(&small), 0);
    CU_ASSERT_EQUAL(pthread_attr_setstacksize(&small, 64 << 10), 0);
    CU_ASSERT_EQUAL(pthread_setattr_default_np(&small), 0);
    CU_ASSERT_EQUAL_FATAL(kiln__thread_start(&thread, use_stack, &used), 0);
    CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
    CU_ASSERT_EQUAL(used, 2);
    CU_ASSERT_EQUAL(pthread_setattr_default_np(&before), 0);
}

static const check_case tests[] = {{"stacks are large", stacks_are_large}};
KILN_SUITE("base.thread", tests)
