/* Tests the compiler in processes that are not prepared for it. They have a small stack, signals, no memory, no
 * executable memory, another LLVM, errors of LLVM, or exits and forks at the same time. Each case runs in a separate
 * process. */
#include <dlfcn.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "llvm.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* Processes exit while a thread compiles, or after LLVM has failed. They do not free the memory of the compiler, so the
 * leak checker is off. */
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void) { return "detect_leaks=0"; }
/* One case calls exit() in the handler of a signal, although a program should not do this. */
const char *__tsan_default_options(void) __attribute__((visibility("default")));
const char *__tsan_default_options(void) { return "report_signal_unsafe=0:report_thread_leaks=0"; }

enum { FINE = 0, SKIPPED = 77, WRONG = 1 };

/* Runs a case in a separate process and returns its result. If a signal ended the process, the result is negative. */
static int apart(int (*what)(void))
{
    int status = 0;
    fflush(stdout);
    fflush(stderr);
    const pid_t child = fork();
    if (child == 0) {
        alarm(600);
        exit(what());
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return WRONG;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void check_apart(int (*what)(void), const char *name)
{
    const int code = apart(what);
    if (code == SKIPPED)
        printf("SKIP build: %s: not under sanitizers, or without seccomp\n", name);
    else
        CU_ASSERT_EQUAL(code, FINE);
}

#define NEED(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "test_jit_host.c:%d: %s\n", __LINE__, #condition);                                         \
            return WRONG;                                                                                              \
        }                                                                                                              \
    } while (0)

static const char add_one[] = "define i64 @f(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n";

static uint64_t call(uint64_t address, uint64_t x)
{
    uint64_t (*function)(uint64_t);
    memcpy(&function, &address, sizeof function);
    return function(x);
}

/* Compiles a function and calls it. */
static bool works(jit_llvm *llvm)
{
    jit_symbol f = {.name = "f"};
    jit_code *code = jit_code_new(llvm);
    const bool good = code && jit_code_add(llvm, code, add_one, strlen(add_one), &f, 1) && f.address &&
                      call(f.address, 41) == 42;
    jit_code_free(llvm, code);
    return good;
}

static bool refuses(jit_llvm *llvm, const char *text)
{
    jit_symbol f = {.name = "f"};
    jit_code *code = jit_code_new(llvm);
    const bool refused = code && !jit_code_add(llvm, code, text, strlen(text), &f, 1);
    jit_code_free(llvm, code);
    return refused;
}

/* ---- errors of LLVM ---- */

static int wrong_text(void)
{
    jit_llvm *llvm = jit_llvm_open(NULL, NULL);
    NEED(llvm && works(llvm));
    NEED(refuses(llvm, "nonsense"));
    NEED(refuses(llvm, "define i64 @f(i64 %x) {\n  ret i32 %x\n}\n"));
    NEED(jit_llvm_alive() && works(llvm));
    jit_llvm_close(llvm);
    return FINE;
}

static int fatal_error(void)
{
    jit_llvm *llvm = jit_llvm_open(NULL, NULL);
    NEED(llvm && works(llvm));
    NEED(refuses(llvm, "declare i64 @llvm.read_register.i64(metadata)\ndefine i64 @f(i64 %x) {\n"
                       "  %y = call i64 @llvm.read_register.i64(metadata !0)\n  ret i64 %y\n}\n"
                       "!0 = !{!\"nosuchregister\\00\"}\n"));
    NEED(!jit_llvm_alive() && !works(llvm)); /* after this error the compiler must not be used any more */
    NEED(!jit_llvm_open(NULL, NULL));
    jit_llvm_close(llvm);
    return FINE;
}

/* ---- the process ---- */

static void *in_little_stack(void *llvm) { return works(llvm) ? llvm : NULL; }
static int little_stack(void)
{
    jit_llvm *llvm = jit_llvm_open(NULL, NULL);
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    NEED(llvm);
    pthread_attr_init(&attributes);
    NEED(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + (64 << 10)) == 0);
    NEED(pthread_create(&thread, &attributes, in_little_stack, llvm) == 0 && pthread_join(thread, &result) == 0);
    pthread_attr_destroy(&attributes);
    NEED(result == llvm);
    jit_llvm_close(llvm);
    return FINE;
}

static pthread_t first_thread;
static volatile sig_atomic_t elsewhere, ticks;
static void tick(int signal)
{
    (void)signal;
    ticks = ticks + 1;
    if (!pthread_equal(pthread_self(), first_thread))
        elsewhere = 1;
}
static int signals(void)
{
    jit_llvm *llvm = jit_llvm_open(NULL, NULL);
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    first_thread = pthread_self();
    NEED(llvm && signal(SIGALRM, tick) != SIG_ERR && setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (unsigned k = 0; k < 200 && (k < 20 || ticks < 5); k++)
        NEED(works(llvm));
    setitimer(ITIMER_REAL, &never, NULL);
    NEED(ticks && !elsewhere);
    jit_llvm_close(llvm);
    return FINE;
}

static int forked(void)
{
    jit_llvm *llvm = jit_llvm_open(NULL, NULL);
    jit_symbol f = {.name = "f"};
    jit_code *code = llvm ? jit_code_new(llvm) : NULL;
    int status = 0;
    NEED(code && jit_code_add(llvm, code, add_one, strlen(add_one), &f, 1));
    const pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) { /* compiled code still runs in the child, which compiles nothing more */
        const bool good = call(f.address, 1) == 2 && !jit_llvm_alive() && !works(llvm) && !jit_llvm_open(NULL, NULL);
        jit_code_free(llvm, code);
        jit_llvm_close(llvm);
        exit(good ? FINE : WRONG);
    }
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == FINE);
    NEED(works(llvm));
    jit_code_free(llvm, code);
    jit_llvm_close(llvm);
    return FINE;
}

static void *compile_on(void *llvm)
{
    while (works(llvm))
        ;
    return NULL; /* the process exits, so nothing is compiled any more */
}
static int exits(void)
{
    jit_llvm *llvm = jit_llvm_open(NULL, NULL);
    pthread_t thread;
    NEED(llvm && works(llvm) && pthread_create(&thread, NULL, compile_on, llvm) == 0);
    usleep(2000);
    pthread_detach(thread);
    exit(FINE); /* runs the exit handlers of LLVM while the other thread is in LLVM or wants to enter it */
}

/* The linker puts this function in place of pthread_join() (--wrap). In one case a signal comes while the thread
 * waits for the thread that compiles. */
int __real_pthread_join(pthread_t thread, void **result); /* NOLINT */
int __wrap_pthread_join(pthread_t thread, void **result); /* NOLINT */
static bool disturbed;
int __wrap_pthread_join(pthread_t thread, void **result)
{
    if (disturbed)
        raise(SIGUSR1);
    return __real_pthread_join(thread, result);
}

static jit_llvm *at_exit_llvm;
static void at_last(void) /* runs before the exit handlers that LLVM and its user registered later */
{
    if (works(at_exit_llvm) || jit_llvm_open(NULL, NULL))
        _exit(WRONG);
    jit_llvm_close(at_exit_llvm);
}
static void leave(int signal)
{
    (void)signal;
    exit(FINE);
}
/* The exit handler of the program also calls the compiler. It runs as the first or as the last handler. */
static int exits_in_handler(bool first)
{
    if (!first && atexit(at_last) != 0)
        return WRONG;
    at_exit_llvm = jit_llvm_open(NULL, NULL);
    NEED(at_exit_llvm && works(at_exit_llvm) && (!first || atexit(at_last) == 0));
    NEED(signal(SIGUSR1, leave) != SIG_ERR);
    disturbed = true;
    works(at_exit_llvm);
    return WRONG;
}
static int handler_first(void) { return exits_in_handler(true); }
static int handler_last(void) { return exits_in_handler(false); }

/* ---- memory and files that the system refuses ---- */

static int no_execution(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4 /* PROT_EXEC */, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13 /* EACCES */),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = (unsigned short)KILN__COUNT(rules), .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return SKIPPED;
    NEED(!jit_llvm_open(NULL, NULL));
    return FINE;
#else
    return SKIPPED;
#endif
}

static int no_memory(void)
{
    if (SANITIZED) /* sanitizers reserve terabytes */
        return SKIPPED;
    jit_llvm *llvm = jit_llvm_open(NULL, NULL);
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    NEED(llvm && works(llvm) && file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (128 << 20);
    NEED(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) == 0);
    NEED(!works(llvm) && jit_llvm_alive());
    NEED(!jit_llvm_open(NULL, NULL));
    jit_llvm_close(llvm);
    return FINE;
}

static int another_llvm(void)
{
    NEED(dlopen(FAKE_LLVM, RTLD_NOW | RTLD_GLOBAL));
    NEED(!jit_llvm_open(NULL, NULL));
    return FINE;
}

/* The linker puts this function in place of atexit() (--wrap). */
int __real_atexit(void (*handler)(void)); /* NOLINT */
int __wrap_atexit(void (*handler)(void)); /* NOLINT */
static unsigned handlers;
int __wrap_atexit(void (*handler)(void))
{
    handlers++;
    return __real_atexit(handler);
}
static int many_devices(void)
{
    for (unsigned k = 0; k < 6; k++) {
        jit_llvm *llvm = jit_llvm_open(NULL, NULL);
        NEED(llvm && (k < 4 || works(llvm)));
        jit_llvm_close(llvm);
    }
    NEED(handlers == 2); /* one handler from the first opening, and one from the first use of LLVM */
    return FINE;
}

static int have_llvm(void)
{
    jit_llvm *llvm = jit_llvm_open(NULL, NULL);
    const bool good = llvm && works(llvm);
    jit_llvm_close(llvm);
    return good ? FINE : SKIPPED;
}

#define CASE(name)                                                                                                     \
    static void check_##name(void) { check_apart(name, #name); }
CASE(wrong_text)
CASE(fatal_error)
CASE(little_stack)
CASE(signals)
CASE(forked)
CASE(handler_first)
CASE(handler_last)
CASE(no_execution)
CASE(no_memory)
CASE(another_llvm)
CASE(many_devices)
static void check_exits(void)
{
    for (unsigned k = 0; k < 8; k++)
        CU_ASSERT_EQUAL(apart(exits), FINE);
}

static const check_case cases[] = {{"text that is refused", check_wrong_text},
                                   {"an error of which LLVM would end the process", check_fatal_error},
                                   {"threads with little stack", check_little_stack},
                                   {"signals go to the program's threads", check_signals},
                                   {"a forked process", check_forked},
                                   {"exit while a thread compiles", check_exits},
                                   {"exit in a signal's handler while it compiles", check_handler_first},
                                   {"the same, and a handler of exits after LLVM's", check_handler_last},
                                   {"hosts that execute no written memory", check_no_execution},
                                   {"limits of memory", check_no_memory},
                                   {"another LLVM whose symbols are global", check_another_llvm},
                                   {"one handler of exits for many devices", check_many_devices}};

int main(int count, char **arguments)
{
    if (apart(have_llvm) != FINE) { /* this process never opens LLVM, so that its children can */
        printf("SKIP llvm: no libLLVM that can be used\n");
        return 77;
    }
    return check_main(count, arguments, "jit host", cases, sizeof cases / sizeof *cases);
}
