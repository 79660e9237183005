/* host.c - see host.h. */
#include "host.h"

#include <signal.h>

const char *kiln_py_code(int type)
{
    static const char *const codes[] = {
#define KILN_X(name, bytes, code, ...) code,
        KILN_TYPE_MAP(KILN_X)
#undef KILN_X
    };
    return type >= 0 && type < KILN_TYPE_COUNT ? codes[type] : NULL;
}

/* These variables are static, because signal handlers belong to the whole process. Only the main thread changes these
 * variables, but any thread may handle a signal. */
volatile int kiln_py_stop;
static struct sigaction before;
static unsigned depth;
static int installed;

static void on_interrupt(int number, siginfo_t *info, void *context)
{
    kiln_py_stop = 1;
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
}

void kiln_py_watch(void)
{
    if (depth++ > 0)
        return;
    sigaction(SIGINT, NULL, &before);
    if (!(before.sa_flags & SA_SIGINFO) && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))
        return;
    struct sigaction action = before;
    action.sa_flags |= SA_SIGINFO;
    action.sa_sigaction = on_interrupt;
    installed = sigaction(SIGINT, &action, NULL) == 0;
}

void kiln_py_unwatch(void)
{
    if (--depth > 0 || !installed)
        return;
    struct sigaction now;
    installed = 0;
    sigaction(SIGINT, NULL, &now);
    /* If a callback has set another handler, this handler stays. */
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_interrupt)
        sigaction(SIGINT, &before, NULL);
    kiln_py_stop = 0;
}
