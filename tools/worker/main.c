/* kiln-worker: compiles for the process of Kiln that started it. With --run it runs and measures kernels instead. It is
 * not for use by hand, because its standard input is a socket. Before it compiles, it limits its own resources, because
 * a kernel may make NVRTC use any amount of time and memory. */
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../stack.h"
#include "compile.h"
#include "kiln_catalogue.h"
#include "runner.h"

enum { STACK_BYTES = 512 << 20, LEAST_STACK_BYTES = 64 << 20, NICE = 5, MOST_PCH = 1 << 30 };

static void set_limit(__rlimit_resource_t resource, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0)
        return;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most)
        most = now.rlim_max;
    now.rlim_cur = most;
    setrlimit(resource, &now); /* if a limit cannot be set, the process continues without it */
}

static const char *find_option(int count, char **arguments, const char *name)
{
    for (int i = 1; i + 1 < count; i += 2)
        if (strcmp(arguments[i], name) == 0)
            return arguments[i + 1];
    return NULL;
}

/* Keeps freed memory in the process. NVRTC takes and returns 20 to 60 MB for each compile. If this memory went back
 * to the system, the next compile would get it again page by page, with a fault for each: 5,000 faults for a typical
 * kernel, 4 % of its time. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the largest value that mallopt accepts */
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, 4 << 20);
}

/* Precompiled headers hold addresses, so the processes that share them must not have random ones. The system decides
 * that at exec, so this program executes itself once more without randomisation. Returns false if this is not
 * possible. */
static bool has_fixed_addresses(char **arguments)
{
    int now = personality(0xffffffff);
    if (now < 0)
        return false;
    if (now & ADDR_NO_RANDOMIZE)
        return true;
    if (personality((unsigned long)now | ADDR_NO_RANDOMIZE) >= 0)
        execv("/proc/self/exe", arguments);
    return false;
}

static int run(int count, char **arguments)
{
    uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)); /* the thread keeps this locale, also if a loaded library sets
                                                          * the locale of the process */
    const char *library = find_option(count, arguments, "--nvrtc");
    const char *parent = find_option(count, arguments, "--parent");
    const char *uses = find_option(count, arguments, "--pch"), *makes = find_option(count, arguments, "--pch-make");
    bool runs = find_option(count, arguments, "--run") != NULL;
    if ((!library && !runs) || !parent) {
        static const char usage[] = "kiln-worker: started by kiln itself, not by hand\n";
        return write(STDERR_FILENO, usage, sizeof usage - 1) > 0 ? 2 : 3;
    }
    /* the signal comes when the thread that started this process ends; this thread lives longer than this process,
     * unless its whole process dies */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)strtol(parent, NULL, 10))
        return 0; /* the parent died before the previous line */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if ((uses || makes) && !has_fixed_addresses(arguments))
        uses = makes = NULL;
    if (close_range(3, ~0u, 0) != 0 && errno != ENOSYS) /* descriptors that the host did not mark close-on-exec */
        return 3;
    set_limit(RLIMIT_CORE, 0);
    signal(SIGXFSZ, SIG_IGN); /* writing to a file that may not grow then fails with an error that can be reported */
    if (runs)                 /* a driver reserves address space and keeps a cache without a known limit */
        return kiln__runner_serve(STDIN_FILENO, kiln_catalogue_register);
    set_limit(RLIMIT_FSIZE, uses || makes ? MOST_PCH : 0); /* with 0 no option can make NVRTC write a file */
    if (!KILN__SANITIZED) {                                /* the shadow memory of sanitizers takes terabytes of address
                                                            * space */
        const char *given = find_option(count, arguments, "--memory");
        uint64_t memory = given ? strtoull(given, NULL, 10) : 0;
        set_limit(RLIMIT_AS, memory ? memory : (uint64_t)4 << 30);
    }
    keep_memory();
    setpriority(PRIO_PROCESS, 0, NICE); /* a process that measures on this machine has priority */
    int code = kiln__worker_run(STDIN_FILENO, library, find_option(count, arguments, "--include"), makes ? makes : uses,
                                makes != NULL, true);
    if (!KILN__SANITIZED) /* sanitizers look for leaks at the end */
        _exit(code);      /* NVRTC's own clean-up takes 3 ms, in which the host waits */
    return code;
}

/* Raises the soft limit of the stack. If the hard limit forbids that, NVRTC runs on the stack of a thread. This stack
 * is smaller, because its full size counts as address space. */
int main(int count, char **arguments)
{
    set_limit(RLIMIT_STACK, STACK_BYTES);
    return stack_run(LEAST_STACK_BYTES, run, count, arguments);
}
