/* shim.c - a preloaded library with a function of the host that never returns (wedge.py). The printf of a simulated
 * kernel calls snprintf() for a floating-point number. If the text is the marker, the thread hangs. KILN_WEDGE selects
 * how:
 *
 *   spin     a loop without end
 *   lock     a lock that is never released, while allocations wait for it too
 *   masked   a loop in which the thread takes no signal
 *   crash    an access to unmapped memory, and a handler of SIGSEGV that does not return
 *
 * KILN_WEDGE_WITHOUT takes a part of the watchdog away (tools/kiln/cli/interrupt.c). `timers` forbids setting timers. `thread`
 * forbids starting the watchdog's thread, which is the thread with a stack of 128 KiB. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MARKER "271828.25"

void *__libc_malloc(size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_calloc(size_t count, size_t size);

static atomic_bool held;

/* Sleeps between the rounds, because other tests run at the same time. */
static void spin(void)
{
    for (;;)
        usleep(1000);
}

static void on_crash(int number)
{
    (void)number;
    spin();
}

static void get_stuck(void)
{
    static const char said[] = "wedged\n";
    const char *how = getenv("KILN_WEDGE");
    sigset_t all;
    (void)!write(STDERR_FILENO, said, sizeof said - 1);
    if (how && strcmp(how, "lock") == 0) {
        atomic_store(&held, true);
    } else if (how && strcmp(how, "masked") == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    } else if (how && strcmp(how, "crash") == 0) {
        struct sigaction action = {.sa_handler = on_crash};
        sigfillset(&action.sa_mask);
        sigaction(SIGSEGV, &action, NULL);
        raise(SIGSEGV);
    }
    spin();
}

static void wait_for_lock(void)
{
    while (atomic_load(&held))
        usleep(1000);
}

void *malloc(size_t size)
{
    wait_for_lock();
    return __libc_malloc(size);
}

void *realloc(void *pointer, size_t size)
{
    wait_for_lock();
    return __libc_realloc(pointer, size);
}

void *calloc(size_t count, size_t size)
{
    wait_for_lock();
    return __libc_calloc(count, size);
}

static void *next_of(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

static int (*real_vsnprintf)(char *text, size_t size, const char *how, va_list list);

__attribute__((constructor)) static void find_vsnprintf(void) { *(void **)&real_vsnprintf = next_of("vsnprintf"); }

static int format(char *text, size_t size, const char *how, va_list list)
{
    if (!real_vsnprintf)
        find_vsnprintf();
    const int length = real_vsnprintf(text, size, how, list);
    if (text && size && strcmp(text, MARKER) == 0)
        get_stuck();
    return length;
}

#undef snprintf
#undef vsnprintf
int vsnprintf(char *text, size_t size, const char *how, va_list list) { return format(text, size, how, list); }

int snprintf(char *text, size_t size, const char *how, ...)
{
    va_list list;
    va_start(list, how);
    const int length = format(text, size, how, list);
    va_end(list);
    return length;
}

/* The name of the same function in a build with _FORTIFY_SOURCE. */
int __vsnprintf_chk(char *text, size_t size, int flag, size_t room, const char *how, va_list list);
int __vsnprintf_chk(char *text, size_t size, int flag, size_t room, const char *how, va_list list)
{
    (void)flag, (void)room;
    return format(text, size, how, list);
}

int __snprintf_chk(char *text, size_t size, int flag, size_t room, const char *how, ...);
int __snprintf_chk(char *text, size_t size, int flag, size_t room, const char *how, ...)
{
    va_list list;
    (void)flag, (void)room;
    va_start(list, how);
    const int length = format(text, size, how, list);
    va_end(list);
    return length;
}

static bool is_without(const char *part)
{
    const char *without = getenv("KILN_WEDGE_WITHOUT");
    return without && strcmp(without, part) == 0;
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *when, struct itimerspec *before)
{
    if (is_without("timers")) {
        errno = EPERM;
        return -1;
    }
    int (*real)(timer_t, int, const struct itimerspec *, struct itimerspec *);
    *(void **)&real = next_of("timer_settime");
    return real(timer, flags, when, before);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user)
{
    size_t stack = 0;
    if (attributes && pthread_attr_getstacksize(attributes, &stack) == 0 && stack == 128 << 10 && is_without("thread"))
        return EAGAIN;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = next_of("pthread_create");
    return real(thread, attributes, run, user);
}
