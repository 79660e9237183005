/* pinned.c - guards of pinned memory. An asynchronous copy uses pinned memory until the host has waited for the copy.
 * During this time the host must neither touch the target of the copy nor change its source. A guard protects the pages
 * of such memory with mprotect(). The first access of the host to a protected page raises SIGSEGV. The handler records
 * the access and makes the pages accessible again. Then the program continues. Guards exist only if the environment
 * switches on the checks, because a signal handler is for the whole process. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "cu_work.h"

enum { GUARDS = 256, LATE_MOST = 1000 };

/* Guarded pages of memory. The driver changes guards under the state lock. The signal handler reads and changes guards
 * on any thread without a lock. */
typedef struct guard {
    /* bounds of the guarded pages, which keep their values when the guard is removed */
    _Atomic uintptr_t first, end;
    atomic_bool set;
    _Atomic uintptr_t touched; /* the address that the host touched, or 0 */
    /* The address of the instruction that touched the pages. `fired` is 1 if this address is unknown, and 0 if the host
     * has not touched the pages. */
    _Atomic uintptr_t fired;
    /* Number of faults that the handler saw after the guard was removed. Such a fault comes from a thread that accessed
     * the pages just before the removal. */
    atomic_uint late;
} guard;
static guard guards[GUARDS];
static struct sigaction before;

static uintptr_t get_code(const void *context)
{
#if defined(__x86_64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return 1;
#endif
}

/* Calls the handler that the program had installed before this file. on_fault() stays installed, because other memory
 * may still be guarded. */
static void call_old_handler(int number, siginfo_t *info, void *context)
{
    if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)
        sigaction(number, &before, NULL);
    else if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
}

/* Handles SIGSEGV. When the handler returns, the thread repeats its access. If the access was to guarded pages, the
 * repeated access succeeds. A fault at any other address goes to the handler that the program had installed before, or
 * ends the process. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    bool ours = false;
    for (size_t i = 0; i < GUARDS; i++) {
        uintptr_t first = atomic_load(&guards[i].first), end = atomic_load(&guards[i].end);
        if (address < first || address >= end)
            continue;
        /* A thread may have faulted just before the guard was removed. Such a thread only needs to repeat its access.
         * After LATE_MOST such faults, the memory no longer exists, and the fault is an error of the program. */
        if (!atomic_load(&guards[i].set)) {
            ours |= atomic_fetch_add(&guards[i].late, 1) < LATE_MOST;
            continue;
        }
        uintptr_t none = 0;
        if (atomic_load(&guards[i].fired) == 0)
            atomic_store(&guards[i].touched, address);
        atomic_compare_exchange_strong(&guards[i].fired, &none, get_code(context));
        mprotect((void *)first, end - first, PROT_READ | PROT_WRITE);
        ours = true;
    }
    if (!ours)
        call_old_handler(number, info, context);
}

static void install_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before);
}

int sim_guard_set(uint64_t address, uint64_t bytes, bool reads)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sigaction now;
    pthread_once(&once, install_handler);
    /* If the program has installed its own handler, this handler gets the signals. So no guard is set. */
    if (sigaction(SIGSEGV, NULL, &now) != 0 || !(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_fault)
        return -1;
    for (int i = 0; i < GUARDS; i++) {
        if (atomic_load(&guards[i].set))
            continue;
        atomic_store(&guards[i].fired, 0);
        atomic_store(&guards[i].late, 0);
        atomic_store(&guards[i].end, (uintptr_t)(address + bytes));
        atomic_store(&guards[i].first, (uintptr_t)address);
        atomic_store(&guards[i].set, true);
        if (mprotect((void *)(uintptr_t)address, bytes, reads ? PROT_READ : PROT_NONE) == 0)
            return i;
        atomic_store(&guards[i].set, false);
        break;
    }
    return -1;
}

bool sim_guard_clear(int number, uint64_t *address, char *where, size_t room)
{
    guard *g = &guards[number];
    uintptr_t first = atomic_load(&g->first), end = atomic_load(&g->end);
    mprotect((void *)first, end - first, PROT_READ | PROT_WRITE);
    atomic_store(&g->set, false);
    uintptr_t fired = atomic_load(&g->fired);
    *address = atomic_load(&g->touched);
    Dl_info code;
    where[0] = '\0';
    if (fired > 1 && dladdr((void *)fired, &code) && code.dli_fname) {
        const char *file = strrchr(code.dli_fname, '/');
        const uintptr_t from = (uintptr_t)(code.dli_sname ? code.dli_saddr : code.dli_fbase);
        snprintf(where, room, " by code at %s(%s+0x%zx)", file ? file + 1 : code.dli_fname,
                 code.dli_sname ? code.dli_sname : "", (size_t)(fired - from));
    }
    return fired != 0;
}
